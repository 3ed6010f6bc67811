//! Splits a text into statements, and plans each of them.

use std::borrow::Cow;

use sqlparser::ast::Statement;
use sqlstate::SqlState;

use crate::analysis::function::NO_OTHER_PATH;
use crate::dialect::lexeme::{self, Lexeme, Part, words};
use crate::dialect::{Unread, has_rows, mysql};
use crate::finisher::{inserts, merges, returned};
use crate::mention::Mentions;
use crate::translate::translate;
use crate::{
    Dialect, Effects, Objects, Plan, Planned, Refusal, Schema, TransactionEffect, finish, finisher,
    guard, increment, inline, lacking, reading, verify,
};
use sql_plan::{refuse, unsupported};

/// The plans of a text that may hold several statements; none for a text without any.
///
/// # Errors
/// A statement may touch a protected table and cannot be proved safe.
pub fn plan(text: &str, schema: &Schema) -> Result<Vec<Planned>, Refusal> {
    plan_with(text, schema, &Objects::default())
}

/// The same for a text that uses what its session has prepared or declared
/// ([`Objects::concern`]).
///
/// # Errors
/// As those of [`plan`].
pub fn plan_with(text: &str, schema: &Schema, objects: &Objects) -> Result<Vec<Planned>, Refusal> {
    if let Dialect::MySql(own) = schema.dialect {
        return mysql::statement::plan(text, schema, own);
    }
    let lexemes = schema.dialect.lexemes(text);
    let mut planning = Planning {
        text,
        dialect: schema.dialect,
        mentions: Mentions::of(schema),
        schema: Cow::Borrowed(schema),
        objects: Cow::Borrowed(objects),
        before: Before::default(),
        makes_names: false,
    };
    if planning.mentions.find(text).is_some() {
        guard::check_constants(text, &lexemes)?;
    }
    let parts = lexemes.split(|(lexeme, _)| *lexeme == Lexeme::Semicolon);
    parts
        .filter_map(|part| planning.statement(part).transpose())
        .collect()
}

/// A text whose statements are planned one after the other.
struct Planning<'a> {
    text: &'a str,
    dialect: Dialect,
    mentions: Mentions,
    /// The schema after the statement that was planned last.
    schema: Cow<'a, Schema>,
    objects: Cow<'a, Objects>,
    before: Before,
    /// A statement has created names that are not known.
    makes_names: bool,
}

/// What earlier statements of a text mean for the planning of the next one.
#[derive(Default)]
struct Before {
    /// Names may mean other tables and functions.
    moves_names: bool,
    /// Values may be written as text in another way, which the server has not reported yet.
    moves_texts: bool,
    /// What an earlier text has set or defined may be undone.
    takes_back: bool,
    /// The transaction began in this text, as far as the text shows.
    begins: bool,
    /// A statement has changed the schema.
    defines: bool,
    /// Savepoints of this text.
    savepoints: Vec<String>,
}

impl Planning<'_> {
    fn statement(&mut self, part: &Part) -> Result<Option<Planned>, Refusal> {
        let (Some((_, first)), Some((_, last))) = (part.first(), part.last()) else {
            return Ok(None);
        };
        let text = self.text;
        let span = first.start..last.end.min(text.len());
        let statement = &text[span.clone()];
        let words = words(text, part);
        let dialect = self.dialect;
        let planned = |mut plan: Plan| {
            dialect.note_text(plan.effects_mut(), statement);
            Ok(Some(Planned {
                span: span.clone(),
                plan,
            }))
        };
        self.check_names(&words)?;
        dialect.check_type_change(statement, &words, &self.schema)?;
        if let Some(plan) = self.executed_plain(text, part)? {
            return planned(plan);
        }
        if let Some(plan) = self.named_objects(text, part)? {
            self.before.check(&plan)?;
            return planned(plan);
        }
        if let Some(plan) = dialect.catalogue(statement, &self.schema) {
            return planned(plan);
        }
        let first = words.first().map_or("", String::as_str);
        let mention = self.mentions.find_in(statement, first);
        guard::check_unseen(text, part, &self.schema)
            .map_err(|refusal| refusal.naming(mention.as_deref()))?;
        let passes = match &mention {
            None => Some(dialect.effects(&words, &self.schema)),
            Some(_) => dialect.passes(text, part),
        };
        if let Some(mut effects) = passes {
            dialect.note_objects(&mut effects, text, part);
            self.note(&words, &effects);
            return planned(Plan::Pass(effects));
        }
        let name = mention.unwrap_or_default();
        let plan = self.named(statement, part, &words);
        // What is mentioned may be a function that reads a table, or runs texts.
        let mut functions = self.schema.suspect_functions.iter();
        let is_function = functions.any(|own| lexeme::lower(own) == name);
        let table = (!is_function).then_some(name.as_str());
        let plan = plan.map_err(|refusal| refusal.naming(table))?;
        if let Plan::Finisher(query) = &plan
            && !query.effects.objects.is_empty()
        {
            self.objects.to_mut().note(&query.effects);
        }
        if let Plan::One(_, effects) | Plan::Pass(effects) = &plan {
            self.before.defines |= effects.changes_schema;
            if !effects.objects.is_empty() {
                self.objects.to_mut().note(effects);
            }
        }
        planned(plan)
    }

    /// The plan of `FETCH` or `EXECUTE` of an object of the session.
    fn named_objects(&self, text: &str, part: &Part) -> Result<Option<Plan>, Refusal> {
        if self.schema.protected.is_empty() {
            return Ok(None);
        }
        if let Some(plan) = self.objects.scroll(text, part)? {
            return Ok(Some(plan));
        }
        if let Some(plan) = self.objects.fetch(text, part) {
            return Ok(Some(plan));
        }
        if let Some(meant) = self.objects.execute(text, part)? {
            return self.executed(&meant).map(Some);
        }
        self.objects.check_inner_execute(text, part)?;
        Ok(None)
    }

    /// The plan of `EXECUTE` of a statement that was prepared over no protected table; None: it is
    /// another statement. The names in it may mean other relations by now, such as a view of a
    /// protected table: the server resolves them again, too.
    fn executed_plain(&mut self, text: &str, part: &Part) -> Result<Option<Plan>, Refusal> {
        let objects = Cow::clone(&self.objects);
        let Some((name, prepared)) = objects.executed_plain(text, part) else {
            return Ok(None);
        };
        let lexemes = self.dialect.lexemes(prepared);
        let words = words(prepared, &lexemes);
        let is_catalogue = self.dialect.catalogue(prepared, &self.schema).is_some();
        let effects = match (is_catalogue, &*plan(prepared, &self.schema)?) {
            (true, _) => Effects::default(),
            (false, [one]) if let Plan::Pass(effects) = &one.plan => effects.clone(),
            _ => {
                let message = format!(
                    "EXECUTE of {name}, which meant no protected table when it was prepared"
                );
                return Err(refuse(message).with_hint("DEALLOCATE it, and prepare it again."));
            }
        };
        let effects = Effects {
            forgets_locks: true,
            ..effects
        };
        self.before.check_names()?;
        self.note(&words, &effects);
        let is_alone = part
            .first()
            .is_some_and(|(_, span)| text[span.clone()].eq_ignore_ascii_case("execute"));
        Ok(is_alone.then_some(Plan::Pass(effects)))
    }

    /// The plan of a prepared statement with its arguments.
    fn executed(&self, meant: &Statement) -> Result<Plan, Refusal> {
        match of_statement(meant, &self.schema)? {
            // The text of the client would execute what stands for the statement.
            Plan::Pass(_) => Err(unsupported("EXECUTE of such a statement")),
            plan => Ok(plan),
        }
    }

    /// The plan of a statement that names a protected table.
    fn named(&mut self, statement: &str, part: &Part, words: &[String]) -> Result<Plan, Refusal> {
        self.before.check_names()?;
        if self.dialect.sets_by_rows(words) {
            return Err(
                unsupported("set_config in a statement on a protected table")
                    .with_hint("Call it in a statement of its own."),
            );
        }
        let chain = guard::check_form(self.text, statement, part)?;
        guard::check_folding(self.text, part, &self.schema)?;
        let is_last = self.text[part.last().map_or(0, |(_, last)| last.end)..]
            .bytes()
            .all(|byte| byte == b';' || byte.is_ascii_whitespace());
        guard::on_a_stack_for(chain, || {
            let parsed = self.dialect.parse(statement).map_err(Unread::refusal)?;
            let plan = of_statement(&parsed, &self.schema)?;
            self.before.check_texts(&plan)?;
            if !is_last {
                match self.dialect.after(&parsed, &self.schema) {
                    Some(schema) => self.schema = schema,
                    None => self.makes_names = true,
                }
                self.mentions = Mentions::of(&self.schema);
            }
            Ok(plan)
        })
    }

    /// Notes what a statement means for those after it.
    fn note(&mut self, words: &[String], effects: &Effects) {
        if !effects.objects.is_empty() {
            self.objects.to_mut().note(effects);
        }
        self.before.note(words, effects);
    }

    /// A name that an earlier statement created may be that of a view of a protected table.
    fn check_names(&self, words: &[String]) -> Result<(), Refusal> {
        let harmless = [
            "begin", "start", "commit", "end", "rollback", "abort", "analyze", "vacuum",
        ];
        let first = words.first().map_or("", String::as_str);
        if !self.makes_names || harmless.contains(&first) {
            return Ok(());
        }
        Err(refuse(
            "a statement behind one of the same text that changes names around a protected table",
        )
        .with_hint("Send the first one by itself."))
    }
}

impl Before {
    /// Notes what a statement means for those after it.
    fn note(&mut self, words: &[String], effects: &Effects) {
        let has = |own: &[&str]| words.iter().any(|word| own.contains(&word.as_str()));
        let first = words.first().map_or("", String::as_str);
        let path = [
            "search_path",
            "schema",
            "role",
            "session",
            "all",
            "set_config",
            "pg_settings",
        ];
        let sets = effects.changes_settings && has(&path);
        let begins_body = words
            .windows(2)
            .any(|pair| pair[0] == "begin" && pair[1] == "atomic");
        let makes = first == "create" && has(&["function", "procedure", "schema"]);
        self.moves_names |= sets || begins_body || makes || matches!(first, "do" | "call");
        self.moves_texts |= effects.changes_texts;
        self.defines |= effects.changes_schema;
        match first {
            "savepoint" => self.savepoints.extend(words.last().cloned()),
            // An earlier one of the name is seen again.
            "release" => self.savepoints.retain(|own| Some(own) != words.last()),
            _ => {}
        }
        match effects.transaction {
            Some(TransactionEffect::Begin) => self.begins = true,
            Some(TransactionEffect::End) => {
                // What COMMIT keeps is known here, if all of it is of this text.
                let keeps = matches!(first, "commit" | "end") || !self.defines;
                self.takes_back |= !self.begins || !keeps;
            }
            Some(TransactionEffect::RollbackTo) => {
                let is_own = words
                    .last()
                    .is_some_and(|name| self.savepoints.contains(name));
                self.takes_back |= !is_own || self.defines;
            }
            None => {}
        }
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        self.check_names()?;
        self.check_texts(plan)
    }

    fn check_names(&self) -> Result<(), Refusal> {
        let what = match (self.moves_names, self.takes_back) {
            (true, _) => "a statement that changes what names mean, and another,",
            (false, true) => {
                "a statement that ends a transaction which began before, or takes back what was \
                 defined, and another,"
            }
            (false, false) => return Ok(()),
        };
        Err(unsupported(what).with_hint("Send them one by one."))
    }

    /// Values are sealed and opened by the settings that the server has reported last.
    fn check_texts(&self, plan: &Plan) -> Result<(), Refusal> {
        let has_values = match plan {
            Plan::Pass(_) => false,
            Plan::One(translated, _) => {
                !translated.holes.is_empty() || !translated.outputs.is_empty()
            }
            Plan::ReadModifyWrite(_)
            | Plan::Finish(_)
            | Plan::Finisher(_)
            | Plan::FinisherTables(_)
            | Plan::FinisherWrite(_)
            | Plan::FinisherMerge(_)
            | Plan::Copy(_) => true,
        };
        if !self.moves_texts || !has_values {
            return Ok(());
        }
        Err(
            unsupported("a statement that changes how values are written, and another,")
                .with_hint("Send the first one by itself."),
        )
    }
}

/// The plan of a statement that names a protected table, proved where it reads or writes rows.
pub(crate) fn of_statement(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    let statement = &*schema.dialect.spelled(statement, schema);
    lacking::check(statement, schema)?;
    let mut plan = planned(statement, schema)?;
    if !has_rows(statement) {
        return Ok(plan);
    }
    note_writes(&mut plan, statement, schema);
    match (verify::check(&plan, schema), statement, &plan) {
        (Ok(()), ..) => Ok(plan),
        // What the proxy may not compute from a value that went in clear, the finisher may: it
        // sends no such value.
        (Err(doubt), Statement::Query(query), Plan::Finish(_))
            if schema.has_finisher() && !schema.dialect.leaves_all_to_the_server() =>
        {
            let mut plan = finisher::of_query(query, schema).map_err(|_| doubt)?;
            note_writes(&mut plan, statement, schema);
            verify::check(&plan, schema)?;
            Ok(plan)
        }
        (Err(doubt), ..) => Err(doubt.into()),
    }
}

/// Notes that the fetch of a query which the proxy finishes may write, by a function of users.
fn note_writes(plan: &mut Plan, statement: &Statement, schema: &Schema) {
    let effects = match plan {
        Plan::Finish(finish) => &mut finish.effects,
        Plan::Finisher(query) => &mut query.effects,
        _ => return,
    };
    if let Statement::Query(query) = statement
        && !schema.dialect.leaves_all_to_the_server()
        && !reading::only_reads(query, schema)
    {
        effects.forgets_locks = true;
    }
}

fn planned(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    if schema.dialect.leaves_all_to_the_server() && has_rows(statement) {
        return match (translate(statement, schema), statement) {
            (Ok((translated, effects)), _) => Ok(Plan::One(translated, effects)),
            (Err(refusal), Statement::Update(update)) => {
                mysql::modify::of_update(update, schema).map_err(|other| worse(refusal, other))
            }
            (Err(refusal), Statement::Query(query)) => {
                mysql::finish::of_query(query, schema).map_err(|other| worse(refusal, other))
            }
            (Err(refusal), _) => Err(refusal),
        };
    }
    match statement {
        Statement::Query(query) => match translate(statement, schema) {
            Ok((translated, effects)) => Ok(Plan::One(translated, effects)),
            Err(refusal) => finish::of_query(query, schema)
                .and_then(|plan| within_columns(plan, schema))
                .or_else(|other| match inline::constants(query, schema) {
                    // A constant of a derived table is sealed where it meets its column.
                    Some(query) => planned(&Statement::Query(Box::new(query)), schema),
                    None => Err(other),
                })
                .map_err(|other| worse(refusal, other))
                .or_else(|other| match schema.has_finisher() {
                    true => {
                        finisher::of_statement(statement, schema).map_err(|last| worst(other, last))
                    }
                    false => Err(other),
                }),
        },
        Statement::Update(_) | Statement::Delete(_) | Statement::Insert(_) => {
            match translate(statement, schema) {
                Ok((translated, effects)) => Ok(Plan::One(translated, effects)),
                Err(refusal) => written(statement, refusal, schema),
            }
        }
        Statement::Merge(merge) => merges::of_merge(merge, schema),
        Statement::Declare { .. } => schema.dialect.other(statement, schema, of_cursor),
        _ => schema.dialect.other(statement, schema, of_statement),
    }
}

/// The plan of a statement that writes, and that the server cannot do alone.
fn written(statement: &Statement, refusal: Refusal, schema: &Schema) -> Result<Plan, Refusal> {
    if schema.has_finisher() {
        match returned::of_statement(statement, schema) {
            Ok(Some(plan)) => return Ok(plan),
            Ok(None) => {}
            Err(last) => return Err(worst(refusal, last)),
        }
    }
    let refusal = match statement {
        Statement::Update(update) => {
            let computed =
                increment::of_update(update, schema).and_then(|plan| within_columns(plan, schema));
            match computed {
                Ok(plan) => return Ok(plan),
                Err(other) => worse(refusal, other),
            }
        }
        _ => refusal,
    };
    if !schema.has_finisher() {
        return Err(refusal);
    }
    let found = |statement: &Statement| match statement {
        Statement::Insert(insert) => inserts::of_insert(insert, schema),
        _ => finisher::of_statement(statement, schema),
    };
    let planned =
        found(statement).or_else(|last| match returned::of_found(statement, schema, found)? {
            Some(plan) => Ok(plan),
            None => Err(last),
        });
    planned.map_err(|last| worst(refusal, last))
}

/// The plan of the query of a cursor.
fn of_cursor(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    match (of_statement(statement, schema)?, statement) {
        (Plan::Finish(_) | Plan::Finisher(_), Statement::Query(query)) if schema.has_finisher() => {
            let plan = finisher::of_cursor(query, schema)?;
            verify::check(&plan, schema)?;
            Ok(plan)
        }
        (plan, _) => Ok(plan),
    }
}

/// Refuses a plan with more columns than the server returns. The server decides each condition of a
/// `CASE` that the proxy evaluates, in a column of its own, and a mapper may update thousands of
/// rows by one `CASE`.
fn within_columns(plan: Plan, schema: &Schema) -> Result<Plan, Refusal> {
    let columns = match &plan {
        Plan::Finish(finish) => finish.fetch.outputs.len(),
        Plan::ReadModifyWrite(modify) => modify.read.outputs.len(),
        _ => 0,
    };
    match columns <= schema.dialect.output_columns_max() {
        true => Ok(plan),
        false => Err(unsupported("so many conditions over protected columns")
            .with_hint("Split the statement, or configure a finisher.")),
    }
}

/// Whether the reason of one path is that of all of them.
fn is_of_all_paths(refusal: &Refusal) -> bool {
    let hint = refusal.hint.as_deref();
    refusal.sqlstate != SqlState::FEATURE_NOT_SUPPORTED
        || hint == Some(NO_OTHER_PATH)
        || hint == Some(increment::NEEDS_CAST)
}

/// The refusal of a statement that the finisher cannot compute either. It computes most of what the
/// other paths cannot, so that its reason is the one to be told.
pub(crate) fn worst(by_others: Refusal, by_finisher: Refusal) -> Refusal {
    match is_of_all_paths(&by_others) {
        true => by_others,
        false => Refusal {
            hint: by_finisher.hint.or(by_others.hint),
            ..by_finisher
        },
    }
}

/// The refusal of a statement that neither the server nor the proxy can execute.
fn worse(by_server: Refusal, by_proxy: Refusal) -> Refusal {
    if is_of_all_paths(&by_server) {
        return by_server;
    }
    // The server itself would say so.
    if by_proxy.hint.as_deref() == Some(increment::NEEDS_CAST) {
        return by_proxy;
    }
    let message = match by_server.message == by_proxy.message {
        true => by_server.message,
        false => format!("{}; the proxy: {}", by_server.message, by_proxy.message),
    };
    Refusal {
        message,
        hint: by_server.hint.or(by_proxy.hint),
        ..by_proxy
    }
}
