//! Plans of texts, and the cache of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sql_plan::{
    ColumnId, Copy, Effects, Form, Literal, Output, Plan, Planned, Source, TransactionEffect,
    Translated,
};
use sql_rewrite::{Dialect, catalogue};

use crate::loaded::Loaded;

/// Limit of the cached texts together, in bytes, with [`CONSTANT_SIZE`] for each of their constants
/// and parameters. A plan takes a few times as much.
const TEXTS_SIZE_MAX: usize = 4 << 20;
/// What a constant or parameter counts for: its plan has a hole and two pieces for it, however
/// short it is.
const CONSTANT_SIZE: usize = 32;
/// Longer texts are rarely sent twice.
const TEXT_SIZE_MAX: usize = 64 << 10;

/// One of the server's statements that a statement of the client becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerStatement {
    /// The index of the client's statement in its text.
    pub index: usize,
    /// Which of the plan's statements it is.
    pub role: Role,
}

/// What a statement of the server contributes to its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is the only statement.
    Only,
    /// It returns the rows that the proxy computes with.
    Read,
    /// It writes one row that was read.
    Write,
    /// It writes all rows that were read.
    WriteAll,
    /// It writes the row with a given key, whose old values are already known.
    WriteByKey,
    /// It writes one row that an `INSERT` has found in the table.
    Update,
}

/// The plan of a text, ready to be used.
#[derive(Debug)]
pub struct TextPlan {
    /// The schema that it was made for.
    pub loaded: Arc<Loaded>,
    /// Statements, in their order.
    pub planned: Vec<Planned>,
    /// The texts of the server's statements with parameters. They are made if the client's text is
    /// a single statement, or contains one that takes steps.
    texts: Vec<(ServerStatement, ServerText)>,
    /// Whether the text may drop prepared statements.
    pub forgets_statements: bool,
    /// Whether the text may name objects of its session. Determined once, not at each Bind.
    pub may_name_objects: bool,
    /// Whether the finisher is asked about values: the schema has protected columns whose values
    /// are kept unread, or are checked before they are stored.
    pub has_opaque: bool,
    /// For each statement that stores values of sequences: their columns, and how many of each.
    draws: Vec<(usize, ColumnId, usize)>,
}

/// Whether a plan is the wider variant of another.
fn is_wider(wide: &Plan, narrow: &Plan) -> bool {
    let (Plan::One(wide, wide_effects), Plan::One(narrow, narrow_effects)) = (wide, narrow) else {
        return false;
    };
    let variant = narrow.locks.as_ref().and_then(|locks| locks.wider.as_ref());
    wide_effects == narrow_effects && variant.is_some_and(|variant| **variant == *wide)
}

/// The text of a statement of the server, with parameters in place of holes.
#[derive(Debug)]
pub struct ServerText {
    /// The text.
    pub text: String,
    /// The hole of each parameter, by index.
    pub slots: Vec<usize>,
    /// Whether it may return rows. When unsure: yes.
    pub may_return_rows: bool,
}

impl TextPlan {
    /// Prepares a plan for use.
    pub fn new(text: &str, mut planned: Vec<Planned>, loaded: &Arc<Loaded>) -> Self {
        for one in &mut planned {
            if let Plan::One(translated, _) = &mut one.plan
                && let Some(locks) = &mut translated.locks
                && loaded.prefers_wider(locks)
                && let Some(wider) = locks.wider.take()
            {
                *translated = *wider;
            }
        }
        let mut texts = Vec::new();
        if planned.len() == 1 || planned.iter().any(|one| takes_steps(&one.plan)) {
            for (index, one) in planned.iter().enumerate() {
                let parts = parts(&one.plan).into_iter();
                texts.extend(parts.map(|(role, part)| {
                    (
                        ServerStatement { index, role },
                        ServerText::new(part, loaded.schema.dialect),
                    )
                }));
            }
        }
        Self {
            loaded: Arc::clone(loaded),
            texts,
            forgets_statements: planned
                .iter()
                .any(|one| one.plan.effects().forgets_statements),
            may_name_objects: sql_rewrite::may_name_objects(text),
            has_opaque: loaded.schema.has_opaque() || loaded.schema.has_checks(),
            draws: draws(&planned),
            planned,
        }
    }

    /// The same text with other statements of the server, which have no texts with parameters yet.
    pub fn with(&self, planned: Vec<Planned>) -> Self {
        Self {
            loaded: Arc::clone(&self.loaded),
            planned,
            texts: Vec::new(),
            draws: Vec::new(),
            ..*self
        }
    }

    /// The values of sequences that a statement stores, by column.
    pub fn draws(&self, index: usize) -> impl Iterator<Item = (ColumnId, usize)> {
        let own = self.draws.iter().filter(move |(at, ..)| *at == index);
        own.map(|(_, column, count)| (*column, *count))
    }

    /// Whether every statement is forwarded unchanged.
    pub fn passes(&self) -> bool {
        self.planned
            .iter()
            .all(|one| matches!(one.plan, Plan::Pass(_)))
    }

    /// Whether it only begins and ends transactions.
    pub fn only_frames(&self) -> bool {
        self.planned
            .iter()
            .all(|one| matches!(&one.plan, Plan::Pass(effects) if effects.transaction.is_some()))
    }

    /// Whether the proxy takes the rows of one of its statements itself.
    pub fn takes_steps(&self) -> bool {
        self.planned.iter().any(|one| takes_steps(&one.plan))
    }

    /// Whether a plan made now would read more columns from a row that it locks.
    pub fn is_narrow(&self) -> bool {
        let locks = self.planned.first().and_then(|one| match &one.plan {
            Plan::One(translated, _) => translated.locks.as_ref(),
            _ => None,
        });
        locks.is_some_and(|locks| self.loaded.prefers_wider(locks))
    }

    /// Whether its statements mean what those of another plan of the text mean. A statement that
    /// locks rows may read more columns in one of them.
    pub fn means_the_same(&self, other: &Self) -> bool {
        let mut pairs = self.planned.iter().zip(&other.planned);
        self.planned.len() == other.planned.len()
            && pairs.all(|(one, other)| {
                one.span == other.span
                    && (one.plan == other.plan
                        || is_wider(&one.plan, &other.plan)
                        || is_wider(&other.plan, &one.plan))
            })
    }

    /// Whether it only reads catalogues. The text for the server then has the tables with rules
    /// that there are, and its columns are the same with others.
    pub fn reads_catalogues(&self, text: &str) -> bool {
        self.planned.len() == 1 && catalogue::plan(text, &self.loaded.schema).is_some()
    }

    /// The server's statement that gets the name of the client's. None: the client's statement is
    /// forwarded unchanged.
    pub fn front(&self, index: usize) -> Option<ServerStatement> {
        let role = match &self.planned.get(index)?.plan {
            Plan::Pass(_) | Plan::Copy(_) | Plan::FinisherTables(_) => return None,
            Plan::One(..) => Role::Only,
            Plan::ReadModifyWrite(_)
            | Plan::Finish(_)
            | Plan::Finisher(_)
            | Plan::FinisherWrite(_)
            | Plan::FinisherMerge(_) => Role::Read,
        };
        Some(ServerStatement { index, role })
    }

    /// The COPY at an index of a text.
    pub fn copy(&self, index: usize) -> Option<&Copy> {
        match &self.planned.get(index)?.plan {
            Plan::Copy(copy) => Some(copy),
            _ => None,
        }
    }

    /// The server's statement whose rows the client gets. None: the client's statement is forwarded
    /// unchanged, or the proxy makes the rows.
    pub fn answering(&self, index: usize) -> Option<ServerStatement> {
        match &self.planned.get(index)?.plan {
            Plan::FinisherWrite(plan) if plan.returning.is_some() => None,
            Plan::FinisherWrite(plan) if plan.upsert.is_some() => Some(ServerStatement {
                index,
                role: Role::Update,
            }),
            Plan::ReadModifyWrite(_) | Plan::FinisherWrite(_) => Some(ServerStatement {
                index,
                role: Role::Write,
            }),
            Plan::Finish(_)
            | Plan::Finisher(_)
            | Plan::FinisherTables(_)
            | Plan::FinisherMerge(_) => None,
            Plan::Pass(_) | Plan::One(..) | Plan::Copy(_) => self.front(index),
        }
    }

    /// A statement of the server.
    #[inline]
    pub fn translated(&self, at: ServerStatement) -> Option<&Translated> {
        match (&self.planned.get(at.index)?.plan, at.role) {
            (Plan::One(translated, _), Role::Only) => Some(translated),
            (Plan::ReadModifyWrite(modify), Role::Read) => Some(&modify.read),
            (Plan::ReadModifyWrite(modify), Role::Write) => Some(&modify.write),
            (Plan::ReadModifyWrite(modify), Role::WriteAll) => modify.write_all.as_ref(),
            (Plan::ReadModifyWrite(modify), Role::WriteByKey) => modify.write_by_key.as_ref(),
            (Plan::Finish(finish), Role::Read) => Some(&finish.fetch),
            (Plan::Finisher(query), Role::Read) => Some(&query.fetch),
            (Plan::FinisherWrite(plan), Role::Read) => Some(&plan.query.fetch),
            (Plan::FinisherWrite(plan), Role::Write) => Some(&plan.write),
            (Plan::FinisherWrite(plan), Role::Update) => {
                plan.upsert.as_ref().map(|upsert| &upsert.update)
            }
            (Plan::FinisherMerge(plan), Role::Read) => Some(&plan.query.fetch),
            (Plan::FinisherMerge(plan), Role::Write) => Some(&plan.write),
            _ => None,
        }
    }

    /// What the client is told that was done, where the server would say otherwise.
    pub fn tag(&self, at: ServerStatement) -> Option<&'static str> {
        self.translated(at)?.tag()
    }

    /// The text of a statement of the server, with parameters.
    #[inline]
    pub fn server_text(&self, at: ServerStatement) -> Option<&ServerText> {
        let found = self.texts.iter().find(|(known, _)| *known == at);
        found.map(|(_, text)| text)
    }

    /// The parameters of the client that the server is sent for a statement, sealed or not.
    pub(crate) fn sent_parameters(&self, index: usize) -> HashSet<usize> {
        let planned = self.planned.get(index);
        let parts = planned.map_or_else(Vec::new, |one| parts(&one.plan));
        let holes = parts.iter().flat_map(|(_, part)| &part.holes);
        let numbers = holes.filter_map(|hole| match hole.source {
            Source::Parameter(number) => Some(number),
            _ => None,
        });
        numbers.collect()
    }

    /// Whether a statement has more parameters than a message can carry.
    pub fn is_too_long(&self) -> bool {
        let mut texts = self.texts.iter();
        texts.any(|(_, text)| text.slots.len() > usize::from(u16::MAX))
    }

    /// The columns that the server returns. Empty: rows are forwarded unchanged.
    #[inline]
    pub fn outputs(&self, at: ServerStatement) -> &[Output] {
        self.translated(at)
            .map_or(&[], |translated| &translated.outputs)
    }

    /// Whether a statement follows one that ends the transaction or rolls back to a savepoint.
    pub fn goes_on_behind_an_end(&self) -> bool {
        let transactions = (0..self.planned.len()).map(|index| {
            let effects = self.effects(index);
            effects.and_then(|effects| effects.transaction.as_ref())
        });
        let mut behind = transactions.skip_while(|transaction| {
            !matches!(
                transaction,
                Some(TransactionEffect::End | TransactionEffect::RollbackTo)
            )
        });
        behind.any(|transaction| transaction.is_none())
    }

    /// The effects of a statement.
    pub fn effects(&self, index: usize) -> Option<&Effects> {
        Some(self.planned.get(index)?.plan.effects())
    }
}

fn takes_steps(plan: &Plan) -> bool {
    match plan {
        Plan::One(_, effects) => effects.scroll().is_some(),
        Plan::Pass(_) | Plan::Copy(_) => false,
        Plan::ReadModifyWrite(_)
        | Plan::Finish(_)
        | Plan::Finisher(_)
        | Plan::FinisherTables(_)
        | Plan::FinisherWrite(_)
        | Plan::FinisherMerge(_) => true,
    }
}

/// The statements that the server gets for a plan.
fn parts(plan: &Plan) -> Vec<(Role, &Translated)> {
    match plan {
        // The session puts the fetches of all tables together.
        Plan::Pass(_) | Plan::Copy(_) | Plan::FinisherTables(_) => Vec::new(),
        Plan::One(translated, _) => vec![(Role::Only, translated)],
        Plan::ReadModifyWrite(modify) => {
            let by_key = modify.write_by_key.as_ref();
            let by_key = by_key.map(|write| (Role::WriteByKey, write));
            let all = modify.write_all.as_ref();
            let all = all.map(|write| (Role::WriteAll, write));
            let both = [(Role::Read, &modify.read), (Role::Write, &modify.write)];
            both.into_iter().chain(all).chain(by_key).collect()
        }
        Plan::Finish(finish) => vec![(Role::Read, &finish.fetch)],
        Plan::Finisher(query) => vec![(Role::Read, &query.fetch)],
        Plan::FinisherWrite(plan) => {
            let update = plan.upsert.as_ref().map(|upsert| &upsert.update);
            let both = [(Role::Read, &plan.query.fetch), (Role::Write, &plan.write)];
            let update = update.map(|update| (Role::Update, update));
            both.into_iter().chain(update).collect()
        }
        Plan::FinisherMerge(plan) => {
            vec![(Role::Read, &plan.query.fetch), (Role::Write, &plan.write)]
        }
    }
}

fn draws(planned: &[Planned]) -> Vec<(usize, ColumnId, usize)> {
    let mut draws: Vec<(usize, ColumnId, usize)> = Vec::new();
    for (index, one) in planned.iter().enumerate() {
        let mut parts = parts(&one.plan);
        // It stands for another one of them.
        parts.retain(|(role, _)| *role != Role::WriteAll);
        for hole in parts.iter().flat_map(|(_, part)| &part.holes) {
            let (Source::Literal(Literal::Drawn), Form::Sealed(column, _)) =
                (&hole.source, hole.form)
            else {
                continue;
            };
            let known = draws
                .iter_mut()
                .find(|(at, own, _)| (*at, *own) == (index, column));
            match known {
                Some((.., count)) => *count += 1,
                None => draws.push((index, column, 1)),
            }
        }
    }
    draws
}

impl ServerText {
    fn new(translated: &Translated, dialect: Dialect) -> Self {
        let mut slots = Vec::new();
        // By hole: a text of many rows has one for each literal.
        let mut known = vec![None; translated.holes.len()];
        let text = translated.template.render(|hole, out| {
            let of_hole = &translated.holes[hole];
            if let (Form::Plain, Source::Literal(literal)) = (of_hole.form, &of_hole.source) {
                return literal.write(out);
            }
            let slot = *known[hole].get_or_insert_with(|| {
                slots.push(hole);
                slots.len() - 1
            });
            dialect.write_hole(slot, out);
        });
        Self {
            may_return_rows: !translated.outputs.is_empty()
                || may_return_rows(&text.to_ascii_uppercase()),
            text,
            slots,
        }
    }
}

/// Whether a statement may have rows as its result, by its text in capitals.
fn may_return_rows(text: &str) -> bool {
    text.starts_with("SELECT") || text.starts_with("WITH") || text.contains("RETURNING")
}

/// The plan cache: plans by schema and text. It has two generations. When the young one is full it
/// becomes the old one, and plans of the old one that were not used since are dropped.
#[derive(Debug, Default)]
pub struct PlanCache {
    generations: Mutex<Generations>,
}

type Plans = HashMap<u64, HashMap<Box<str>, Arc<TextPlan>>>;

#[derive(Debug, Default)]
struct Generations {
    young: Plans,
    old: Plans,
    young_size: usize,
}

impl PlanCache {
    /// Finds the plan of a text under a schema.
    pub fn find(&self, version: u64, text: &str) -> Option<Arc<TextPlan>> {
        let mut generations = self.lock();
        let young = generations.young.get(&version);
        if let Some(plan) = young.and_then(|texts| texts.get(text)) {
            return Some(Arc::clone(plan));
        }
        let plan = generations.old.get_mut(&version)?.remove(text)?;
        generations.put(version, text, &plan);
        Some(plan)
    }

    /// Caches a plan, unless its schema is retired.
    pub fn keep(&self, text: &str, plan: &Arc<TextPlan>) {
        if text.len() > TEXT_SIZE_MAX {
            return;
        }
        let mut generations = self.lock();
        if !plan.loaded.is_retired() {
            generations.put(plan.loaded.version, text, plan);
        }
    }

    /// Drops the plans under a schema that is retired.
    pub fn forget(&self, version: u64) {
        self.lock().forget(version);
    }

    /// How many plans are cached.
    pub fn count(&self) -> usize {
        let generations = self.lock();
        let texts = generations.young.values().chain(generations.old.values());
        texts.map(HashMap::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        // A plan that is lost is made again.
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn put(&mut self, version: u64, text: &str, plan: &Arc<TextPlan>) {
        let size = size_of(text, plan);
        if self.young_size + size > TEXTS_SIZE_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_size = 0;
        }
        self.young_size += size;
        let texts = self.young.entry(version).or_default();
        texts.insert(text.into(), Arc::clone(plan));
    }

    fn forget(&mut self, version: u64) {
        self.old.remove(&version);
        let texts = self.young.remove(&version).unwrap_or_default();
        let size: usize = texts.iter().map(|(text, plan)| size_of(text, plan)).sum();
        self.young_size = self.young_size.saturating_sub(size);
    }
}

/// What a text counts for.
fn size_of(text: &str, plan: &TextPlan) -> usize {
    let holes = plan.planned.iter().map(|one| match &one.plan {
        Plan::One(translated, _) => translated.holes.len(),
        _ => 0,
    });
    text.len() + CONSTANT_SIZE * holes.sum::<usize>()
}
