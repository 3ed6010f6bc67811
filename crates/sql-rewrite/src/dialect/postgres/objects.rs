//! What a session has prepared and declared in SQL: `PREPARE`, `DECLARE … CURSOR`.
//!
//! The proxy keeps a statement that is prepared over protected tables. The server gets a statement
//! of the same name that fails when executed, so that it still manages the names; `EXECUTE` is
//! planned as the statement with the arguments in it. A cursor is the server's, over the translated
//! query; the proxy remembers what its columns are.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use sqlparser::ast::{DataType, Declare, Ident, Statement};
use sqlstate::SqlState;

use crate::dialect::lexeme::{Lexeme, Part};
use crate::dialect::postgres::lexer::lexemes;
use crate::dialect::postgres::names::{cut, folded, quoted};
use crate::dialect::postgres::parse::parse;
use crate::{Effects, ObjectEffect, Output, Piece, Plan, Refusal, Template, Translated};
use sql_plan::{Scroll, refuse, unsupported};

mod arguments;
mod cursors;

/// Fails when it is executed, and is no part of a transaction: the proxy knows what was meant.
const PLACEHOLDER: &str = "SELECT pg_catalog.current_setting('strongroom.prepared')";

/// Prepared statements, and cursors over protected tables, by the names that a session gave them.
#[derive(Clone, Default)]
pub struct Objects {
    /// Whether those that were prepared by messages are among them.
    knows_messages: bool,
    prepared: HashMap<String, Prepared>,
    /// The texts of those over no protected table.
    plain: HashMap<String, String>,
    cursors: HashMap<String, Cursor>,
    /// Those whose rows the proxy keeps.
    kept: HashMap<String, Until>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prepared = self.prepared.len();
        let cursors = self.cursors.len() + self.kept.len();
        write!(f, "Objects({prepared} prepared, {cursors} cursors)")
    }
}

#[derive(Clone)]
struct Prepared {
    types: Vec<String>,
    text: String,
}

/// What a name of a cursor means.
#[derive(Clone, Debug, Default)]
pub struct CursorMeaning {
    cursor: Option<Cursor>,
    kept: Option<Until>,
}

#[derive(Clone, Debug)]
struct Cursor {
    outputs: Vec<Output>,
    until: Until,
}

/// When a cursor goes at the latest.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// With its transaction.
    End,
    /// With its transaction, if that is rolled back.
    Rollback,
    Closed,
}

impl Until {
    fn of(hold: bool) -> Self {
        match hold {
            true => Self::Rollback,
            false => Self::End,
        }
    }
}

const EXECUTE: &[u8] = b"execute";

/// Whether [`Objects::concern`] may ever be true of a text.
pub fn may_name_objects(text: &str) -> bool {
    has(text, EXECUTE) || may_scroll(text)
}

/// Whether a text may move a cursor.
fn may_scroll(text: &str) -> bool {
    may_fetch(text) || has(text, b"move")
}

/// Whether a text may read from what it names: a cursor, or a portal of the protocol.
pub fn may_fetch(text: &str) -> bool {
    has(text, b"fetch")
}

/// The cursors, or portals of the protocol, that statements of a text fetch from, move or close by
/// their names.
pub fn scrolled(text: &str) -> Vec<String> {
    if !may_scroll(text) && !has(text, b"close") {
        return Vec::new();
    }
    let lexemes = lexemes(text);
    let parts = lexemes.split(|(lexeme, _)| *lexeme == Lexeme::Semicolon);
    let named = parts.filter_map(|part| {
        let (first, last) = (part.first()?, part.last()?);
        let word = |(_, span): &(Lexeme, Range<usize>)| text[span.clone()].to_ascii_lowercase();
        let verb = word(first);
        let is_named = match verb.as_str() {
            "fetch" | "move" => true,
            "close" => word(last) != "all",
            _ => false,
        };
        (is_named && part.len() > 1).then(|| name(text, last))
    });
    named.collect()
}

fn has(text: &str, word: &[u8]) -> bool {
    let mut windows = text.as_bytes().windows(word.len());
    windows.any(|part| part.eq_ignore_ascii_case(word))
}

impl Objects {
    /// Whether the plan of a text may depend on these, or on what was prepared by messages of the
    /// protocol: it is to be made by [`crate::plan_with`], and to be kept for nobody else.
    pub fn concern(&self, text: &str) -> bool {
        has(text, EXECUTE)
            || (!self.cursors.is_empty() && may_fetch(text))
            || (!self.kept.is_empty() && may_scroll(text))
    }

    /// The same, and what else is prepared, by messages of the protocol too: each as the effect of
    /// preparing it by SQL. Without that `EXECUTE` of what is not known is refused: a statement of
    /// that name may take ciphertexts.
    pub fn including(&self, prepared: impl Iterator<Item = ObjectEffect>) -> Self {
        let mut all = self.clone();
        all.knows_messages = true;
        for effect in prepared {
            all.note_effect(&effect);
        }
        all
    }

    /// Portals of the protocol, which are cursors to SQL.
    pub fn note_portals(&mut self, portals: Vec<(String, Vec<Output>)>) {
        let cursors = portals.into_iter().map(|(name, outputs)| {
            let until = Until::End;
            (cut(name), Cursor { outputs, until })
        });
        self.cursors.extend(cursors);
    }

    /// Whether a cursor of this name is over protected columns.
    pub fn has_cursor(&self, name: &str) -> bool {
        self.cursors.contains_key(&cut(name.to_owned()))
    }

    /// Whether there may be a cursor of this name whose rows the proxy keeps.
    pub fn keeps(&self, name: &str) -> bool {
        self.kept.contains_key(name)
    }

    /// Takes note that a cursor was closed; None: all were.
    pub fn note_closed(&mut self, name: Option<&str>) {
        match name {
            Some(name) => drop(self.kept.remove(name)),
            None => self.kept.clear(),
        }
    }

    /// Takes note of a statement that is executed before others of its text. If it fails, none of
    /// them is executed.
    pub fn note(&mut self, effects: &Effects) {
        for effect in &effects.objects {
            if let ObjectEffect::Closes(name) = effect {
                self.note_closed(name.as_deref());
            }
            self.note_effect(effect);
        }
    }

    /// Takes note of what a statement does that is executed. A cursor whose rows are kept remains
    /// known until the server has closed it ([`Self::note_closed`]): under its name the server has
    /// one that must not be read.
    pub fn note_effect(&mut self, effect: &ObjectEffect) {
        match effect {
            ObjectEffect::Prepares { name, types, text } => {
                let (types, text) = (types.clone(), text.clone());
                let (prepared, name) = (Prepared { types, text }, cut(name.clone()));
                self.plain.remove(&name);
                self.prepared.insert(name, prepared);
            }
            ObjectEffect::PreparesPlain { name, text } => {
                let name = cut(name.clone());
                self.prepared.remove(&name);
                self.plain.insert(name, text.clone());
            }
            ObjectEffect::Deallocates(Some(name)) => {
                self.prepared.remove(name);
                self.plain.remove(name);
            }
            ObjectEffect::Deallocates(None) => {
                self.prepared.clear();
                self.plain.clear();
            }
            ObjectEffect::Declares { name, outputs, .. } if outputs.is_empty() => {
                self.cursors.remove(name);
            }
            ObjectEffect::Declares {
                name,
                outputs,
                hold,
            } => {
                let outputs = outputs.clone();
                let until = Until::of(*hold);
                self.cursors.insert(name.clone(), Cursor { outputs, until });
            }
            ObjectEffect::Keeps(kept) => {
                self.kept.insert(kept.name.clone(), Until::of(kept.hold));
            }
            ObjectEffect::Scrolls(_) => {}
            ObjectEffect::Closes(Some(name)) => drop(self.cursors.remove(name)),
            ObjectEffect::Closes(None) => self.cursors.clear(),
        }
    }

    /// What a name of a cursor means now.
    pub fn meaning_of_cursor(&self, name: &str) -> CursorMeaning {
        CursorMeaning {
            cursor: self.cursors.get(name).cloned(),
            kept: self.kept.get(name).copied(),
        }
    }

    /// The names of the cursors over protected columns that the server has the rows of.
    pub fn cursors(&self) -> impl Iterator<Item = &str> {
        self.cursors.keys().map(String::as_str)
    }

    /// Takes back what was noted of a cursor.
    pub fn restore_cursor(&mut self, name: &str, meaning: CursorMeaning) {
        match meaning.cursor {
            Some(cursor) => drop(self.cursors.insert(name.to_owned(), cursor)),
            None => drop(self.cursors.remove(name)),
        }
        match meaning.kept {
            Some(until) => drop(self.kept.insert(name.to_owned(), until)),
            None => drop(self.kept.remove(name)),
        }
    }

    /// No transaction is open, and no statement is under way. `rolled_back`: for sure nothing was
    /// committed since this was said last.
    pub fn end_transactions(&mut self, rolled_back: bool) {
        let remains = |until: Until| match until {
            Until::End => false,
            Until::Rollback => !rolled_back,
            Until::Closed => true,
        };
        self.cursors.retain(|_, cursor| remains(cursor.until));
        self.kept.retain(|_, until| remains(*until));
        for until in self.kept.values_mut() {
            *until = Until::Closed;
        }
        for cursor in self.cursors.values_mut() {
            cursor.until = Until::Closed;
        }
    }

    /// The plan of `FETCH` and `MOVE` of a cursor whose rows the proxy keeps; None: it is another
    /// statement.
    ///
    /// # Errors
    /// It has a form that is not known.
    pub(crate) fn scroll(&self, text: &str, part: &Part) -> Result<Option<Plan>, Refusal> {
        let (Some(first), Some(last)) = (part.first(), part.last()) else {
            return Ok(None);
        };
        let is_first = |word: &str| text[first.1.clone()].eq_ignore_ascii_case(word);
        let is_move = is_first("move");
        let name = name(text, last);
        if !(is_move || is_first("fetch")) || part.len() < 2 || !self.keeps(&name) {
            return Ok(None);
        }
        let between = part[1..part.len() - 1].iter();
        let words: Vec<String> = between
            .map(|(_, span)| text[span.clone()].to_ascii_lowercase())
            .collect();
        let direction = cursors::direction(&words).ok_or_else(|| {
            unsupported("FETCH or MOVE of this form").with_state(SqlState::SYNTAX_ERROR)
        })?;
        let statement = format!("MOVE 0 FROM {}", quoted(&name));
        let scroll = Scroll {
            name,
            is_move,
            direction,
        };
        let effects = with(ObjectEffect::Scrolls(scroll));
        Ok(Some(one(statement, Vec::new(), effects)))
    }

    /// The plan of `FETCH` from a cursor over protected columns; None: it is another statement.
    pub(crate) fn fetch(&self, text: &str, part: &Part) -> Option<Plan> {
        let (first, last) = (part.first()?, part.last()?);
        if !text[first.1.clone()].eq_ignore_ascii_case("fetch") {
            return None;
        }
        let outputs = self.cursors.get(&name(text, last))?.outputs.clone();
        let statement = text[first.1.start..last.1.end].to_owned();
        Some(one(statement, outputs, Effects::default()))
    }

    /// The name and the text of the statement over no protected table that `EXECUTE` runs, by
    /// itself or inside of another statement.
    pub(crate) fn executed_plain(&self, text: &str, part: &Part) -> Option<(&str, &str)> {
        let is = |lexeme: &(Lexeme, Range<usize>), word: &str| {
            text[lexeme.1.clone()].eq_ignore_ascii_case(word)
        };
        let first = part.first()?;
        if !["execute", "explain", "create"]
            .iter()
            .any(|word| is(first, word))
        {
            return None;
        }
        let mut pairs = part.windows(2).filter(|pair| is(&pair[0], "execute"));
        let found = pairs.find_map(|pair| self.plain.get_key_value(&name(text, &pair[1])));
        found.map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Refuses `EXECUTE` inside of another statement: the server's statement takes ciphertexts.
    pub(crate) fn check_inner_execute(&self, text: &str, part: &Part) -> Result<(), Refusal> {
        let first = part.first().map_or("", |(_, span)| &text[span.clone()]);
        let may_hold = ["explain", "create"]
            .iter()
            .any(|word| first.eq_ignore_ascii_case(word));
        let is = |lexeme: &(Lexeme, Range<usize>), word: &str| {
            text[lexeme.1.clone()].eq_ignore_ascii_case(word)
        };
        let executed = part.windows(3).filter(|_| may_hold).find_map(|three| {
            let [before, execute, named] = three else {
                return None;
            };
            let is_execute = is(execute, "execute");
            let name = name(text, named);
            // `CREATE TRIGGER … EXECUTE FUNCTION …`, and `GRANT EXECUTE ON` in CREATE SCHEMA. A
            // statement may be called so too: EXPLAIN stands before it, or AS.
            let is_statement = is(before, "as")
                || first.eq_ignore_ascii_case("explain")
                || !["function", "procedure", "on"]
                    .iter()
                    .any(|word| is(named, word));
            let may_be = self.prepared.contains_key(&name) || !self.knows_messages;
            (is_execute && is_statement && may_be).then_some(name)
        });
        match executed {
            None => Ok(()),
            Some(name) => Err(refuse(format!(
                "EXECUTE inside of another statement, of {name}, which may be prepared over a \
                 protected table"
            ))
            .with_hint("Send EXECUTE by itself, or the statement that it means.")),
        }
    }

    /// The statement that `EXECUTE` means, or `EXPLAIN … EXECUTE`; None: it is another one, or of
    /// no protected table.
    pub(crate) fn execute(&self, text: &str, part: &Part) -> Result<Option<Statement>, Refusal> {
        let is = |at: usize, word: &str| {
            let own = part.get(at);
            own.is_some_and(|(_, span)| text[span.clone()].eq_ignore_ascii_case(word))
        };
        let execute = match is(0, "explain") {
            true => (1..part.len()).find(|at| is(*at, "execute")),
            false => is(0, "execute").then_some(0),
        };
        let (Some(at), Some(first), Some(last)) = (execute, part.first(), part.last()) else {
            return Ok(None);
        };
        let Some(named) = part.get(at + 1) else {
            return Ok(None);
        };
        let name = name(text, named);
        let Some(own) = self.prepared.get(&name) else {
            return match self.knows_messages {
                true => Ok(None),
                false => Err(refuse(format!(
                    "EXECUTE of {name}, which may be prepared over a protected table"
                ))
                .with_hint("Send the statement itself.")),
            };
        };
        let parsed = parse(&text[first.1.start..last.1.end]);
        let mut parsed = parsed.map_err(|_| unsupported("EXECUTE of this form"))?;
        let executed = match &mut parsed {
            Statement::Explain { statement, .. } => &mut **statement,
            own => own,
        };
        let Statement::Execute { parameters, .. } = executed else {
            return Ok(None);
        };
        let parameters = std::mem::take(parameters);
        *executed = arguments::meant(&name, own, parameters)?;
        Ok(Some(parsed))
    }
}

/// `PREPARE` of a statement that has a plan.
pub(crate) fn prepare(name: &Ident, types: &[DataType], statement: &Statement) -> Plan {
    let text = format!("PREPARE {name} AS {PLACEHOLDER}");
    let effect = ObjectEffect::Prepares {
        name: folded(name),
        types: types.iter().map(ToString::to_string).collect(),
        text: crate::dialect::postgres::forms::for_server(statement.to_string()),
    };
    one(text, Vec::new(), with(effect))
}

/// `DECLARE … CURSOR` over a query with this plan. That of the finisher has each column twice.
pub(crate) fn declare(declare: &Declare, plan: Plan) -> Result<Plan, Refusal> {
    let Declare {
        names,
        data_type: None,
        assignment: None,
        declare_type: _,
        binary,
        sensitive,
        scroll,
        hold,
        for_query: Some(_),
    } = declare
    else {
        return Err(unsupported("a DECLARE of another dialect"));
    };
    let [name] = names.as_slice() else {
        return Err(unsupported("DECLARE of several cursors"));
    };
    if *binary == Some(true) {
        return Err(unsupported("a BINARY cursor").with_hint("Leave BINARY out."));
    }
    let word = |flag: &Option<bool>, yes: &'static str, no: &'static str| match flag {
        Some(true) => yes,
        Some(false) => no,
        None => "",
    };
    let prefix = format!(
        "DECLARE {} {}{}CURSOR {}FOR ",
        quoted(&folded(name)),
        word(sensitive, "INSENSITIVE ", "ASENSITIVE "),
        word(scroll, "SCROLL ", "NO SCROLL "),
        word(hold, "WITH HOLD ", "WITHOUT HOLD "),
    );
    let (mut translated, mut effects) = match plan {
        Plan::One(translated, effects) => (translated, effects),
        Plan::Finisher(query) => return cursors::keep(declare, &folded(name), prefix, query),
        _ => {
            return Err(
                unsupported("a cursor over a query that the proxy has to finish")
                    .with_hint("Send the query itself."),
            );
        }
    };
    translated.template.pieces.insert(0, Piece::Text(prefix));
    // The row is locked when it is fetched.
    translated.locks = None;
    effects.objects.push(ObjectEffect::Declares {
        name: folded(name),
        outputs: std::mem::take(&mut translated.outputs),
        hold: *hold == Some(true),
    });
    Ok(Plan::One(translated, effects))
}

/// What a statement that reads and writes no row does to names, by its words.
pub(crate) fn effects(text: &str, part: &Part) -> Vec<ObjectEffect> {
    let word = |at: usize| part.get(at).map_or("", |(_, span)| &text[span.clone()]);
    let is = |at: usize, own: &str| word(at).eq_ignore_ascii_case(own);
    let at_end = |all: bool| match (all, part.last()) {
        (false, Some(last)) => Some(name(text, last)),
        _ => None,
    };
    let is_all = part.len() > 1 && is(part.len() - 1, "all");
    let is_constant = part.get(2).is_some_and(|(kind, _)| *kind == Lexeme::Other);
    let ends_transaction = is(1, "transaction") && is_constant;
    if is(0, "deallocate") {
        vec![ObjectEffect::Deallocates(at_end(is_all))]
    } else if is(0, "close") {
        vec![ObjectEffect::Closes(at_end(is_all))]
    } else if is(0, "discard") && is_all {
        // The other kinds keep names; after PLANS the server plans what is prepared again.
        vec![ObjectEffect::Deallocates(None), ObjectEffect::Closes(None)]
    } else if let (true, Some(second)) = (is(0, "prepare") && !ends_transaction, part.get(1)) {
        vec![ObjectEffect::PreparesPlain {
            name: name(text, second),
            text: prepared_text(text, part).to_owned(),
        }]
    } else if let (true, Some(second)) = (is(0, "declare"), part.get(1)) {
        vec![ObjectEffect::Declares {
            name: name(text, second),
            outputs: Vec::new(),
            hold: (1..part.len()).any(|at| is(at, "with") && is(at + 1, "hold")),
        }]
    } else {
        Vec::new()
    }
}

/// The statement in a `PREPARE`: what stands behind the `AS` that follows its name and types.
fn prepared_text<'t>(text: &'t str, part: &Part) -> &'t str {
    let mut depth = 0_usize;
    let behind = part.iter().skip(2).find(|(_, span)| {
        match &text[span.clone()] {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            word => return depth == 0 && word.eq_ignore_ascii_case("as"),
        }
        false
    });
    let end = part.last().map_or(0, |(_, span)| span.end);
    let start = behind.map_or(end, |(_, span)| span.end);
    text.get(start..end).unwrap_or_default().trim_start()
}

/// A name as the catalogue would have it.
fn name(text: &str, (_, span): &(Lexeme, Range<usize>)) -> String {
    let word = &text[span.clone()];
    let inside = word
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    cut(match inside {
        Some(inside) => inside.replace("\"\"", "\""),
        None => word.to_ascii_lowercase(),
    })
}

fn with(effect: ObjectEffect) -> Effects {
    Effects {
        objects: vec![effect],
        ..Effects::default()
    }
}

fn one(text: String, outputs: Vec<Output>, effects: Effects) -> Plan {
    let translated = Translated {
        template: Template {
            pieces: vec![Piece::Text(text)],
        },
        holes: Vec::new(),
        outputs,
        parameter_types: Vec::new(),
        locks: None,
    };
    Plan::One(translated, effects)
}

#[cfg(test)]
mod tests;
