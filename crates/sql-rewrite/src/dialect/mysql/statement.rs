//! Plans the texts of clients.

use std::borrow::Cow;

use sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
use sqlstate::SqlState;

use super::lexer::{self, Kind};
use super::misfit::{adds_columns, may_add_columns, misfit, only_drops_tables};
use super::readings::readings;
use super::relations::check_relations;
use super::{
    MySql, elsewhere, finisher, information, kinds, lax, load, never, parse, rowless, temporary,
    variables,
};
use crate::analysis::template;
use crate::dialect::lexeme::{is_word, lower, names_word};
use crate::finisher::tables;
use crate::mention::Mentions;
use crate::statement::{of_statement, worst};
use crate::{Effects, Piece, Plan, Planned, Refusal, Schema, guard, verify};
use sql_plan::{refuse, unsupported};

/// Words of statements behind which names may mean other tables, or there are others.
const CHANGE_SCHEMA: &[&str] = &[
    "alter",
    "call",
    "create",
    "drop",
    "execute",
    "grant",
    "import",
    "install",
    "rename",
    "revoke",
    "role",
    "uninstall",
];
/// Words of statements that change how texts are read.
const CHANGE_SETTINGS: &[&str] = &["call", "execute", "set", "use"];

/// Words of `SET TRANSACTION`, which is for the next one alone.
const OF_TRANSACTIONS: &[&str] = &[
    "set",
    "transaction",
    "isolation",
    "level",
    "repeatable",
    "read",
    "committed",
    "uncommitted",
    "serializable",
    "write",
    "only",
];

/// The plan of a text.
///
/// # Errors
/// It may touch a protected table and cannot be proved safe.
pub(crate) fn plan(text: &str, schema: &Schema, own: MySql) -> Result<Vec<Planned>, Refusal> {
    let readings = readings(text);
    let words: Vec<String> = readings.iter().flat_map(|text| words(text)).collect();
    let planned = |plan| {
        Ok(vec![Planned {
            span: 0..text.len(),
            plan,
        }])
    };
    if schema.protected.is_empty() {
        return planned(Plan::Pass(effects_of(text, &words, own)));
    }
    let mentions = Mentions::of(schema);
    let found = readings.iter().find_map(|text| mentions.find(text));
    let passes = match &found {
        None => Ok(true),
        Some(_) if elsewhere::is_meant(text, &mentions, schema, own) => Ok(true),
        Some(_) => rowless::passes(text, &mentions, schema),
    };
    let name = match (found, passes) {
        (Some(name), Ok(false)) => name,
        (found, Err(refusal)) => return Err(refusal.naming(found.as_deref())),
        _ => {
            check_unseen(text, &words, own)?;
            check_closed(text, &readings, schema, own)?;
            temporary::check(text, &words, schema, own)?;
            return planned(match information::translated(text, schema, own) {
                None => Plan::Pass(effects_of(text, &words, own)),
                Some(translated) => {
                    verify::check_information(text, &translated, own)?;
                    Plan::One(translated, effects_of(text, &words, own))
                }
            });
        }
    };
    let is_for_finisher = || tables::is_for(schema) && finisher::is_known(text, own);
    let plan = match load::planned(text, schema, own) {
        Some(loads) => loads.map(|(translated, effects)| Plan::One(translated, effects)),
        None => named(text, schema, own).or_else(|by_others| match is_for_finisher() {
            true => by_finisher(text, schema, own).map_err(|last| worst(by_others, last)),
            false => Err(by_others),
        }),
    };
    plan.map_err(|refusal| refusal.naming(Some(&name)))
        .and_then(planned)
}

/// Words wherever they stand, also in quotes and comments: whether they are there depends on
/// settings.
fn words(text: &str) -> Vec<String> {
    let words = text.as_bytes().split(|byte| !is_word(*byte));
    let words = words.filter(|word| !word.is_empty());
    words
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect()
}

/// Statements that read or write rows, and change no names and no settings.
const OF_ROWS: &[&str] = &[
    "delete", "insert", "replace", "select", "show", "update", "with",
];

/// What a text may change that names no protected table. In a statement that only reads or writes
/// rows, the words of other statements are names or values.
fn effects_of(text: &str, words: &[String], own: MySql) -> Effects {
    let has_versions = text.contains("/*!") || text.contains("/*M!");
    match !has_versions && is_one(text, own, OF_ROWS) {
        true => Effects::default(),
        false => effects(words),
    }
}

/// What a text may change, by the words in it.
pub(crate) fn effects(words: &[String]) -> Effects {
    let has = |own: &[&str]| words.iter().any(|word| own.contains(&word.as_str()));
    Effects {
        changes_schema: has(CHANGE_SCHEMA),
        changes_settings: has(CHANGE_SETTINGS) && !sets_transaction(words),
        ..Effects::default()
    }
}

/// Whether a text only says how the next transaction is isolated. To ask about the session behind
/// it would be that transaction.
fn sets_transaction(words: &[String]) -> bool {
    let mut all = words.iter().map(String::as_str);
    let is_known = |word: &&str| OF_TRANSACTIONS.contains(word);
    matches!(words, [first, second, _, ..] if first == "set" && second == "transaction")
        && all.all(|word| is_known(&word))
}

/// A text that is put together can name what stands in no text. Words within a constant are no
/// such statement, where it is known how the server reads the text.
fn check_unseen(text: &str, words: &[String], own: MySql) -> Result<(), Refusal> {
    let runs = |has: &dyn Fn(&str) -> bool| {
        (has("prepare") && has("from"))
            || (has("execute") && has("immediate"))
            || lexer::RUNNING_FUNCTIONS.iter().any(|name| has(name))
    };
    if !runs(&|word| words.iter().any(|own| own == word)) {
        return Ok(());
    }
    if let Ok(found) = lexer::lexemes(text, own) {
        let is_name = |lexeme: &&lexer::Lexeme| matches!(lexeme.kind, Kind::Word | Kind::Name);
        let names: Vec<String> = found
            .iter()
            .filter(is_name)
            .map(|lexeme| lexeme.value.to_ascii_lowercase())
            .collect();
        if !runs(&|word| names.iter().any(|own| own == word)) {
            return Ok(());
        }
    }
    Err(refuse(
        "PREPARE … FROM, EXECUTE IMMEDIATE and functions of SPIDER run a text as SQL, which may \
         name a protected table",
    )
    .with_hint("Prepare statements by the driver (the binary protocol), or send them as they are."))
}

/// A table whose triggers may write a protected one is read, and not written.
fn check_closed(
    text: &str,
    readings: &[Cow<'_, str>],
    schema: &Schema,
    own: MySql,
) -> Result<(), Refusal> {
    if schema.closed.is_empty() || is_read(text, own) {
        return Ok(());
    }
    let readings: Vec<String> = readings.iter().map(|text| lower(text)).collect();
    let mut closed = schema.closed.iter();
    let found = closed.find(|((_, table), _)| {
        let name = lower(table);
        readings.iter().any(|text| names_word(text, &name))
    });
    match found {
        None => Ok(()),
        Some((_, why)) => Err(refuse(why.clone())),
    }
}

/// Whether a text is a single statement that writes nothing.
fn is_read(text: &str, own: MySql) -> bool {
    is_one(text, own, &["select", "show", "describe"])
}

/// Whether a text is a single statement that begins with one of these words.
fn is_one(text: &str, own: MySql, beginnings: &[&str]) -> bool {
    let Ok(found) = lexer::lexemes(text, own) else {
        return false;
    };
    let first = found.first().filter(|first| first.kind == Kind::Word);
    let is_end = |own: &lexer::Lexeme| own.kind == Kind::Symbol && own.value == ";";
    let end = found.iter().position(is_end).unwrap_or(found.len());
    let is_begun = |first: &lexer::Lexeme| {
        let mut beginnings = beginnings.iter();
        beginnings.any(|word| first.value.eq_ignore_ascii_case(word))
    };
    first.is_some_and(is_begun) && found[end..].iter().all(is_end)
}

/// The plan of a text that names a protected table.
fn named(text: &str, schema: &Schema, own: MySql) -> Result<Plan, Refusal> {
    let error = misfit(text, schema).filter(|_| !only_drops_tables(text, own));
    let unfit = error.map(|error| {
        refuse(format!("rules and server do not fit: {error}"))
            .with_state(SqlState::CONFIG_FILE_ERROR)
            .with_hint(
                "Mend the rule or the table; the log of the proxy lists all that does not fit.",
            )
    });
    if let Some(refusal) = &unfit
        && !may_add_columns(text, own)
    {
        return Err(refusal.clone());
    }
    if text.len() > STATEMENT_SIZE_MAX {
        return Err(refuse(format!(
            "a statement that names a protected table has at most {STATEMENT_SIZE_MAX} bytes"
        ))
        .with_state(SqlState::PROGRAM_LIMIT_EXCEEDED)
        .with_hint("Split it."));
    }
    // To the server, U+0000 ends a comment.
    if text.contains(['\0', template::MARK, lexer::HOLE]) {
        return Err(unsupported("the character U+0000, U+0001 or U+0002"));
    }
    if let Some(refusal) = never::refused(text, own) {
        return Err(refusal);
    }
    let chain = check_chains(text, own)?;
    guard::on_a_stack_for(chain, || {
        let parsed =
            parse::parse(text, own).map_err(|unread| variables::unread(unread, text, own))?;
        if let Some(refusal) = unfit
            && !adds_columns(&parsed, text, schema, own)
        {
            return Err(refusal);
        }
        check_relations(&parsed, schema, own)?;
        check_names(&parsed, text)?;
        if own.is_lax {
            lax::check(&parsed, schema, own)?;
        }
        let plan = of_statement(&parsed, schema);
        let plan = plan.map_err(|refusal| variables::refused(refusal, &parsed))?;
        kinds::check(&plan, schema)?;
        check_sent_names(&parsed, &plan, own)?;
        Ok(plan)
    })
}

/// The plan of a text that is left to the finisher.
fn by_finisher(text: &str, schema: &Schema, own: MySql) -> Result<Plan, Refusal> {
    let is_fit = misfit(text, schema).is_none() && text.len() <= STATEMENT_SIZE_MAX;
    if !is_fit || text.contains(['\0', template::MARK, lexer::HOLE]) {
        return Err(unsupported("the statement"));
    }
    let chain = check_chains(text, own)?;
    guard::on_a_stack_for(chain, || tables::of_text(text, schema, own))
}

/// Bytes of a statement that names a protected table. Its tree takes many times that.
const STATEMENT_SIZE_MAX: usize = 8 << 20;
/// Operators, signs and words that may follow one another without a comma.
const CHAIN_MAX: usize = 1000;

/// Refuses what is too deep to analyse. Gives the longest chain.
fn check_chains(text: &str, own: MySql) -> Result<usize, Refusal> {
    let mut longest = chain_of(text);
    if longest > CHAIN_MAX
        && let Ok(found) = lexer::lexemes(text, own)
    {
        // Most of it may be a long constant.
        longest = chain_of_lexemes(&found);
    }
    match longest > CHAIN_MAX {
        false => Ok(longest),
        true => Err(refuse(
            "the statement is nested too deeply, or its chains of operators are too long",
        )
        .with_state(SqlState::STATEMENT_TOO_COMPLEX)
        .with_hint("Split the statement.")),
    }
}

fn chain_of_lexemes(found: &[lexer::Lexeme]) -> usize {
    let (mut chain, mut longest, mut depth) = (0_usize, 0, 0_usize);
    // How long the chain was before each CASE that is open, and how many parentheses were.
    let mut cases: Vec<(usize, usize)> = Vec::new();
    for lexeme in found {
        let word = match lexeme.kind {
            Kind::Word => lower(&lexeme.value),
            _ => String::new(),
        };
        let case = cases.last().filter(|(_, own)| *own == depth).copied();
        match (lexeme.kind, lexeme.value.as_str(), word.as_str(), case) {
            (Kind::Symbol, ",", ..) if depth < 2 => chain = 0,
            (Kind::Symbol, "(", ..) => (chain, depth) = (chain + 1, depth + 1),
            (Kind::Symbol, ")", ..) => {
                depth = depth.saturating_sub(1);
                cases.retain(|(_, own)| *own <= depth);
            }
            (_, _, "case", _) => {
                cases.push((chain, depth));
                chain += 1;
            }
            // The arms of a CASE lie beside each other.
            (_, _, "when" | "then" | "else", Some((start, _))) => chain = start + 2,
            (_, _, "end", Some((start, _))) => {
                cases.pop();
                chain = start + 2;
            }
            _ => chain += 1,
        }
        longest = longest.max(chain);
    }
    longest
}

fn chain_of(text: &str) -> usize {
    let (mut chain, mut longest, mut depth) = (0_usize, 0, 0_usize);
    let mut is_in_word = false;
    for byte in text.bytes() {
        match byte {
            b',' if depth < 2 => chain = 0,
            b'(' => (chain, depth) = (chain + 1, depth + 1),
            b')' => depth = depth.saturating_sub(1),
            b'+' | b'-' | b'*' | b'/' | b'=' | b'<' | b'>' | b'%' | b'!' => chain += 1,
            _ if is_word(byte) && !is_in_word => chain += 1,
            _ => {}
        }
        is_in_word = is_word(byte);
        longest = longest.max(chain);
    }
    longest
}

/// The server names an output by its text. It must be the same text when it is sent.
fn check_names(statement: &Statement, text: &str) -> Result<(), Refusal> {
    let Statement::Query(query) = statement else {
        return Ok(());
    };
    let SetExpr::Select(select) = &*query.body else {
        return Ok(());
    };
    // The texts of outputs follow one another, before those of tables.
    let end = text.to_ascii_lowercase().find("from");
    let mut rest = &text[..end.unwrap_or(text.len())];
    let mut is_changed = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => false,
        SelectItem::UnnamedExpr(value) => {
            let printed = value.to_string();
            let found = rest.find(&printed).filter(|_| !printed.contains('$'));
            rest = found.map_or("", |at| &rest[at + printed.len()..]);
            found.is_none()
        }
        _ => false,
    };
    match select.projection.iter().any(&mut is_changed) {
        false => Ok(()),
        // Its text may have a confidential constant.
        true => Err(unnamed()),
    }
}

/// The same of what is sent: an output that compares a protected column would have a sealed
/// constant in its name.
fn check_sent_names(statement: &Statement, plan: &Plan, own: MySql) -> Result<(), Refusal> {
    let (Statement::Query(query), Plan::One(translated, _)) = (statement, plan) else {
        return Ok(());
    };
    let SetExpr::Select(select) = &*query.body else {
        return Ok(());
    };
    let is_sent = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => true,
        SelectItem::UnnamedExpr(value) => {
            let printed = lexer::for_server(value.to_string(), own);
            let mut pieces = translated.template.pieces.iter();
            pieces.any(|piece| matches!(piece, Piece::Text(text) if text.contains(&printed)))
        }
        _ => true,
    };
    match select.projection.iter().all(is_sent) {
        true => Ok(()),
        false => Err(unnamed()),
    }
}

fn unnamed() -> Refusal {
    refuse("a computed output has no name, and would get another one than its text")
        .with_hint("Give it a name with AS.")
}

/// What a text may change that passes although it is not read, such as one that is no UTF-8.
pub fn effects_of_unread(text: &[u8]) -> Effects {
    effects(&words(&String::from_utf8_lossy(text)))
}

/// Whether a text that is no UTF-8 may reach a protected table: one of the names is in its bytes,
/// or it may run another text as SQL.
pub fn may_name(text: &[u8], schema: &Schema) -> bool {
    if schema.protected.is_empty() {
        return false;
    }
    let text = text.to_ascii_lowercase();
    let is_in = |name: &str| {
        let name = lower(name).into_bytes();
        !name.is_empty() && text.windows(name.len()).any(|part| part == name)
    };
    let tables = schema.tables.values().filter(|table| table.is_protected());
    let names = tables
        .map(|table| table.name.as_str())
        .chain(schema.protected.iter().map(|rule| rule.table.as_str()))
        .chain(schema.suspect_functions.iter().map(String::as_str))
        .chain(schema.closed.keys().map(|(_, table)| table.as_str()))
        .chain(["prepare", "immediate"])
        .chain(lexer::RUNNING_FUNCTIONS);
    // A backslash may stand within a name: see `readings`.
    text.contains(&b'\\') || names.into_iter().any(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_of_a_case_are_beside_each_other_and_cases_within_it_are_not() {
        let chain = |text: &str| check_chains(text, MySql::default());
        let arms = "WHEN (id = 1) THEN 'a' ".repeat(3000);
        let beside = format!("UPDATE t SET a = CASE {arms}ELSE NULL END WHERE id IN (1, 2)");
        assert!(chain(&beside).is_ok());
        let two = format!("UPDATE t SET a = (CASE {arms}END), b = CASE id {arms}END");
        assert!(chain(&two).is_ok());
        let within = format!(
            "SELECT {}1{} FROM t",
            "CASE WHEN 1 THEN (".repeat(600),
            ") END".repeat(600)
        );
        assert!(chain(&within).is_err());
        // What is no arm of the CASE begins nothing anew.
        let other = format!("SELECT CASE ({}1", "+ 1 WHEN ".repeat(600));
        assert!(chain(&other).is_err());
    }
}
