//! Refusals before parsing: texts that are too large or too deep to analyse, and statements that
//! may touch a protected table without naming one.

use std::ops::Range;

use sqlstate::SqlState;

use crate::analysis::template;
use crate::dialect::lexeme::{Lexeme, Part, is_word, lower};
use crate::dialect::marks;
use crate::schema::is_of_temporaries;
use crate::{Dialect, Expression, Refusal, Schema};
use sql_plan::{refuse, unsupported};

/// Bytes of a statement that names a protected table. Its tree takes many times that.
const STATEMENT_SIZE_MAX: usize = 8 << 20;

/// Operators and words like them that may follow each other between two commas of one pair of
/// parentheses: printing, comparing and dropping a tree recurses that deep.
const CHAIN_MAX: usize = 1000;

/// The same over all parentheses that are open.
const CHAIN_SUM_MAX: usize = 1500;

/// Nested parentheses; the parser allows no more either.
const NESTING_MAX: usize = 50;

/// Any stack is large enough for so many operators and words; longer chains get a stack of their
/// own.
const CHAIN_USUAL: usize = 40;

/// Enough for the longest chains in the deepest parentheses.
const STACK_SIZE: usize = 64 << 20;

/// Refuses a name that some servers fold to that of a protected table, column or function, and the
/// proxy does not: with an encoding of single bytes a server folds more letters than A to Z, and
/// cuts names later.
pub(crate) fn check_folding(text: &str, part: &Part, schema: &Schema) -> Result<(), Refusal> {
    let is_known = |name: &str| {
        let shown = schema.tables.values().flat_map(|table| &table.columns);
        let shown = shown.filter(|column| column.protected.is_some());
        let ruled = schema.protected.iter().map(|rule| &rule.column);
        let columns = shown.map(|column| &column.name).chain(ruled);
        let mut names = columns.chain(&schema.suspect_functions);
        schema.has_protected(name) || names.any(|own| lower(own) == name)
    };
    for (lexeme, span) in part {
        let own = &text[span.start..span.end.min(text.len())];
        let (read, meant) = match lexeme {
            _ if own.is_ascii() => continue,
            Lexeme::Word => (schema.dialect.cut(own.to_ascii_lowercase()), lower(own)),
            Lexeme::Other if own.starts_with('"') => {
                let inner = own.strip_prefix('"').and_then(|own| own.strip_suffix('"'));
                let name = inner.unwrap_or(own).replace("\"\"", "\"");
                (schema.dialect.cut(name.clone()), name)
            }
            _ => continue,
        };
        if read != meant && is_known(&meant) {
            return Err(refuse(format!(
                "{own}: some servers take it for the protected name {meant}, and others do not"
            ))
            .with_state(SqlState::UNDEFINED_TABLE)
            .with_hint("Write the name as the rules have it."));
        }
    }
    Ok(())
}

/// Refuses statements that are too deep to analyse. Returns the longest chain, summed over open
/// parentheses. `text` is what the spans of `part` are of; the statement is a part of it.
pub(crate) fn check_form(text: &str, statement: &str, part: &Part) -> Result<usize, Refusal> {
    if statement.len() > STATEMENT_SIZE_MAX {
        return Err(refuse(format!(
            "a statement that names a protected table has at most {STATEMENT_SIZE_MAX} bytes"
        ))
        .with_state(SqlState::PROGRAM_LIMIT_EXCEEDED)
        .with_hint("Split it, pass values as parameters, or use COPY."));
    }
    if statement.contains([template::MARK, marks::MARK]) {
        return Err(unsupported("the character U+0001 or U+0002"));
    }
    let mut chains = vec![Chain::default()];
    let mut longest = 0;
    for (lexeme, span) in part {
        let chain = chains.last_mut().expect("the outermost chain stays");
        match lexeme {
            Lexeme::Comma => chain.length = 0,
            Lexeme::Operator => chain.length += 1,
            Lexeme::Word => match Word::of(&text[span.clone()]) {
                Some(Word::Case) => chains.push(Chain {
                    is_case: true,
                    length: 1,
                }),
                // The arms of a CASE lie beside each other.
                Some(Word::Arm) if chain.is_case => chain.length = 1,
                Some(Word::End) if chain.is_case => drop(chains.pop()),
                Some(_) => chain.length += 1,
                None => {}
            },
            Lexeme::Open => chains.push(Chain::default()),
            Lexeme::Close => {
                // One that is open here still is no expression that anybody parses.
                while chains.len() > 1 && chains.pop().is_some_and(|chain| chain.is_case) {}
            }
            Lexeme::Other | Lexeme::Semicolon => {}
        }
        let sum: usize = chains.iter().map(|chain| chain.length).sum();
        if chains.len() > NESTING_MAX
            || sum > CHAIN_SUM_MAX
            || chains.last().is_some_and(|chain| chain.length > CHAIN_MAX)
        {
            let reason =
                "the statement is nested too deeply, or its chains of operators are too long";
            return Err(refuse(reason)
                .with_state(SqlState::STATEMENT_TOO_COMPLEX)
                .with_hint("Pass long lists as arrays (= ANY($1)), or split the statement."));
        }
        longest = longest.max(sum);
    }
    Ok(longest)
}

/// Operators and words that follow each other.
#[derive(Default)]
struct Chain {
    /// Begun by CASE, and not by a parenthesis.
    is_case: bool,
    length: usize,
}

/// A word that may nest.
enum Word {
    Case,
    /// Begins a part of a CASE.
    Arm,
    End,
    Other,
}

impl Word {
    fn of(word: &str) -> Option<Self> {
        let is = |own: &&str| word.eq_ignore_ascii_case(own);
        match word.len() {
            4 if is(&"case") => Some(Self::Case),
            4 if ["when", "then", "else"].iter().any(is) => Some(Self::Arm),
            3 if is(&"end") => Some(Self::End),
            // No key word that nests is longer.
            0..=9 => Some(Self::Other),
            _ => None,
        }
    }
}

/// Nested expressions that the proxy computes on any stack.
const EXPRESSION_DEPTH_MAX: usize = 64;

/// Refuses expressions that are nested too deep to compute.
pub(crate) fn check_depth<'e>(
    mut expressions: impl Iterator<Item = &'e Expression>,
) -> Result<(), Refusal> {
    match expressions.any(|expression| expression.depth() > EXPRESSION_DEPTH_MAX) {
        false => Ok(()),
        true => Err(refuse(format!(
            "more than {EXPRESSION_DEPTH_MAX} operators within each other that the proxy has to \
             compute"
        ))
        .with_state(SqlState::STATEMENT_TOO_COMPLEX)
        .with_hint("Split the statement, or compute in the program.")),
    }
}

/// Does work that recurses as deep as a chain is long, on a stack that is large enough.
pub(crate) fn on_a_stack_for<T>(chain: usize, work: impl FnOnce() -> T) -> T {
    match chain > CHAIN_USUAL {
        false => work(),
        true => stacker::grow(STACK_SIZE, work),
    }
}

/// Refuses a text whose constants would end elsewhere if `standard_conforming_strings` were off: a
/// part of a constant or comment could then be SQL.
pub(crate) fn check_constants(text: &str, lexemes: &Part) -> Result<(), Refusal> {
    let is_doubtful = |(lexeme, span): &(Lexeme, Range<usize>)| {
        let constant = text.get(span.clone()).unwrap_or_default();
        *lexeme == Lexeme::Other && constant.starts_with('\'') && constant.contains("\\'")
    };
    match lexemes.iter().any(is_doubtful) {
        false => Ok(()),
        true => Err(unsupported("a constant with a backslash before a quote")
            .with_hint("Write it as E'…', with two backslashes.")),
    }
}

/// Refuses statements that may read or write a protected table though their text names none.
///
/// # Errors
/// The statement runs an unknown text as SQL, or moves a table to another schema.
pub(crate) fn check_unseen(text: &str, part: &Part, schema: &Schema) -> Result<(), Refusal> {
    if schema.protected.is_empty() {
        return Ok(());
    }
    let words = part.iter().map(|(lexeme, span)| match lexeme {
        Lexeme::Word => text[span.clone()].to_ascii_lowercase(),
        _ => String::new(),
    });
    let words: Vec<String> = words.take(3).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Texts that are put together may name what is there; what is made and what is prepared may be
    // used when a table is there.
    let is_for_later = matches!(words.first(), Some(&("create" | "prepare")));
    let may_name = is_for_later || schema.has_ruled_tables();
    // Statements of names call nothing.
    let calls = may_name
        && !matches!(
            words.first(),
            Some(&("alter" | "comment" | "drop" | "grant" | "revoke"))
        );
    if let Some(name) = called_with_texts(text, part, schema).filter(|_| calls) {
        return Err(refuse(format!(
            "function {name} runs a text as SQL, which may name a protected table"
        ))
        .with_hint("Send the statement itself, or call the function directly on the server."));
    }
    match words.as_slice() {
        ["do", ..] => {
            check_hidden_renaming(text, part, schema)?;
            match may_name {
                true => check_do(text, part, schema.dialect),
                false => Ok(()),
            }
        }
        ["create", ..] => {
            check_hidden_renaming(text, part, schema)?;
            check_temporary_function(text, part, schema)
        }
        ["import", "foreign", "schema", ..] => Err(refuse(
            "IMPORT FOREIGN SCHEMA may give a protected table another name, under which it is not \
             protected",
        )
        .with_hint("Create the foreign tables one by one.")),
        ["alter", "schema", ..] => check_schema_name(text, part, schema),
        _ => Ok(()),
    }
}

/// The name of a function that runs a text as SQL, followed by a parenthesis.
fn called_with_texts(text: &str, part: &Part, schema: &Schema) -> Option<String> {
    let mut pairs = part.windows(2).enumerate();
    pairs.find_map(|(at, pair)| {
        let [lexeme, (Lexeme::Open, _)] = pair else {
            return None;
        };
        let name = name_of(text, lexeme)?;
        let before = at.checked_sub(2).map(|before| &part[before..at]);
        let function_schema = match before {
            Some([own, dot]) if is_dot(text, dot) => name_of(text, own),
            _ => None,
        };
        let path = &schema.search_path;
        let runs = schema
            .dialect
            .runs_text(function_schema.as_deref(), &name, path);
        runs.then_some(name)
    })
}

/// A name, quoted or not, in small letters.
fn name_of(text: &str, (kind, span): &(Lexeme, Range<usize>)) -> Option<String> {
    let name = &text[span.clone()];
    let is_name = match kind {
        Lexeme::Word => true,
        Lexeme::Other => name.starts_with('"'),
        _ => false,
    };
    is_name.then(|| lower(name.trim_matches('"')))
}

fn is_dot(text: &str, (_, span): &(Lexeme, Range<usize>)) -> bool {
    &text[span.clone()] == "."
}

/// The texts of temporary functions are not in the catalogue that the proxy reads, so such a
/// function must not run texts that it puts together.
fn check_temporary_function(text: &str, part: &Part, schema: &Schema) -> Result<(), Refusal> {
    // `CREATE FUNCTION`, `CREATE OR REPLACE FUNCTION`
    let is_function = |at: &usize| {
        let name = part.get(*at).and_then(|lexeme| name_of(text, lexeme));
        matches!(name.as_deref(), Some("function" | "procedure"))
    };
    let Some(at) = [1, 3].into_iter().find(is_function) else {
        return Ok(());
    };
    let own = part.get(at + 1).and_then(|lexeme| name_of(text, lexeme));
    let is_qualified = part.get(at + 2).is_some_and(|dot| is_dot(text, dot));
    let is_temporary = match is_qualified {
        true => own.is_some_and(|own| is_of_temporaries(&own)),
        // The path may be set in the same text.
        false => {
            let mut path = schema.search_path.iter();
            path.next().is_some_and(|own| is_of_temporaries(own)) || lower(text).contains("pg_temp")
        }
    };
    if !is_temporary || is_static(text, part, &["sql", "plpgsql"], schema.dialect) {
        return Ok(());
    }
    Err(refuse(
        "a temporary function that runs texts that it puts together, which may name a protected \
         table",
    )
    .with_hint("Send the statements themselves, or create and call it directly on the server."))
}

/// The names in a `DO` block are seen in its text, but texts that it puts together are not.
fn check_do(text: &str, part: &Part, dialect: Dialect) -> Result<(), Refusal> {
    if is_static(text, part, &["plpgsql"], dialect) {
        return Ok(());
    }
    Err(
        refuse("DO runs texts that it puts together, which may name a protected table")
            .with_hint("Send the statements themselves, or run the block directly on the server."),
    )
}

/// Whether the text of a function or block shows all that it runs: it is in one of these languages,
/// or names none, and runs no other texts.
fn is_static(text: &str, part: &Part, languages: &[&str], dialect: Dialect) -> bool {
    let language = part.windows(2).find_map(|pair| {
        let is_language = text[pair[0].1.clone()].eq_ignore_ascii_case("language");
        is_language.then(|| lower(text[pair[1].1.clone()].trim_matches(['"', '\''])))
    });
    let whole = match (part.first(), part.last()) {
        (Some((_, first)), Some((_, last))) => &text[first.start..last.end.min(text.len())],
        _ => "",
    };
    let is_known = language.is_none_or(|language| languages.contains(&language.as_str()));
    is_known && !dialect.runs_texts(&lower(whole))
}

/// Refuses a block or function that renames such a schema when it runs.
fn check_hidden_renaming(text: &str, part: &Part, schema: &Schema) -> Result<(), Refusal> {
    let (Some((_, first)), Some((_, last))) = (part.first(), part.last()) else {
        return Ok(());
    };
    let whole = lower(&text[first.start..last.end.min(text.len())]);
    let words: Vec<&[u8]> = whole
        .as_bytes()
        .split(|byte| !is_word(*byte))
        .filter(|word| !word.is_empty())
        .collect();
    let mut pairs = words.windows(2);
    if !pairs.any(|pair| pair == [&b"alter"[..], b"schema"]) || !words.contains(&&b"rename"[..]) {
        return Ok(());
    }
    let mut ruled = schema.protected.iter();
    match ruled.find(|column| words.contains(&lower(&column.schema).as_bytes())) {
        None => Ok(()),
        Some(column) => Err(bound_name(&column.schema)),
    }
}

/// Rules name the schema of their table, so a renamed schema would have no rules.
fn check_schema_name(text: &str, part: &Part, schema: &Schema) -> Result<(), Refusal> {
    let renames = part
        .iter()
        .any(|(_, span)| text[span.clone()].eq_ignore_ascii_case("rename"));
    let name = part.get(2).map_or("", |(_, span)| &text[span.clone()]);
    let name = lower(name.trim_matches('"'));
    let mut ruled = schema.protected.iter();
    if renames && ruled.any(|column| lower(&column.schema) == name) {
        return Err(bound_name(&name));
    }
    Ok(())
}

fn bound_name(name: &str) -> Refusal {
    refuse(format!(
        "schema {name:?} has protected tables: its name is bound into their ciphertexts"
    ))
    .with_hint("Create the tables anew in the other schema and copy the rows.")
}
