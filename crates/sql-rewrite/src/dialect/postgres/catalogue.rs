//! Queries on the server's catalogues, answered with the logical types.
//!
//! The server has protected columns as `bytea`. Drivers, `\d` of psql and mappers ask it for the
//! types of columns, and must see those of the rules. So `pg_attribute` and
//! `information_schema.columns` in `FROM` are replaced by a subquery that has the same columns, and
//! the logical types of protected ones. Guards are hidden from clients in the same way: what lists
//! constraints leaves them out, and `pg_class` does not count them. The rest of the text stays byte
//! for byte: such queries use syntax that the parser may not know, and hold no values of protected
//! columns.
//!
//! The lexemes of a text show whether it is such a query: it only reads; no name in it is that of a
//! protected relation, except in constants, where catalogues are searched for it; and it calls no
//! function that could run a constant as SQL.

use std::collections::HashSet;
use std::ops::Range;

use crate::dialect::lexeme::Lexeme;
use crate::dialect::lexeme::lower;
use crate::dialect::postgres::lexer::lexemes;
use crate::dialect::postgres::names::NAME_SIZE_MAX;
use crate::{Effects, Form, Hole, Piece, Plan, Schema, Source, Template, Translated};

mod calls;
mod hidden;
mod shown;

#[cfg(test)]
mod tests;

/// The plan of a query on catalogues; None: the text is something else, or not for sure.
pub fn plan(text: &str, schema: &Schema) -> Option<Plan> {
    let lower = text.to_ascii_lowercase();
    if !lower.contains("pg_") && !lower.contains("information_schema") {
        return None;
    }
    let words = words(text)?;
    if !only_reads(&words) || !names_are_free(&words, schema) || !calls::are_known(&words) {
        return None;
    }
    let replaced: Vec<(Relation, String)> = relations(&words)
        .into_iter()
        .filter_map(|relation| {
            let subquery = relation.subquery(text, &words, schema)?;
            Some((relation, subquery))
        })
        .collect();
    if !reads_catalogues(&words) {
        return None;
    }
    if replaced.is_empty() {
        return Some(Plan::Pass(Effects::default()));
    }
    let names = qualifiers(&words, &replaced);
    let replacements = replaced.into_iter().map(Relation::replacement);
    Some(Plan::One(
        translated(text, &words, replacements.chain(names)),
        Effects::default(),
    ))
}

/// What a lexeme is for this module.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A key word or a name, in small letters.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// `$1` as 0.
    Parameter(usize),
    /// A constant.
    Constant,
    Comma,
    Dot,
    Open,
    Close,
    Operator,
}

#[derive(Clone, Debug)]
struct Word {
    kind: Kind,
    span: Range<usize>,
}

impl Word {
    /// The name that it may be.
    fn name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(name) | Kind::Quoted(name) => Some(name),
            _ => None,
        }
    }

    fn is(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(own) if own == word)
    }
}

/// The lexemes of one statement; None for one that has forms which hide what they say.
fn words(text: &str) -> Option<Vec<Word>> {
    let found = lexemes(text);
    let mut words = Vec::with_capacity(found.len());
    for (at, (lexeme, span)) in found.iter().enumerate() {
        let part = text.get(span.clone())?;
        let kind = match lexeme {
            Lexeme::Word => Kind::Word(part.to_lowercase()),
            Lexeme::Comma => Kind::Comma,
            // `names[1]` calls nothing.
            Lexeme::Open | Lexeme::Close if part == "[" || part == "]" => Kind::Operator,
            Lexeme::Open => Kind::Open,
            Lexeme::Close => Kind::Close,
            Lexeme::Operator if part == "." => Kind::Dot,
            Lexeme::Operator => Kind::Operator,
            Lexeme::Semicolon if at + 1 == found.len() => break,
            Lexeme::Semicolon => return None,
            Lexeme::Other => other(part)?,
        };
        let escapes =
            matches!(&kind, Kind::Word(word) if word == "u") && text[span.end..].starts_with('&');
        if escapes {
            return None;
        }
        words.push(Word {
            kind,
            span: span.clone(),
        });
    }
    Some(words)
}

fn other(part: &str) -> Option<Kind> {
    if let Some(quoted) = part.strip_prefix('"') {
        let name = quoted.strip_suffix('"')?.replace("\"\"", "\"");
        return Some(Kind::Quoted(name));
    }
    if let Some(number) = part.strip_prefix('$') {
        // A text between dollars may be SQL.
        let number: usize = number.parse().ok()?;
        return Some(Kind::Parameter(number.checked_sub(1)?));
    }
    Some(Kind::Constant)
}

fn only_reads(words: &[Word]) -> bool {
    let first = words
        .first()
        .is_some_and(|word| word.is("select") || word.is("with"));
    let writing = [
        "insert", "update", "delete", "merge", "into", "truncate", "create", "lock",
    ];
    first
        && !words
            .iter()
            .any(|word| writing.iter().any(|own| word.is(own)))
}

fn names_are_free(words: &[Word], schema: &Schema) -> bool {
    let tables = schema.tables.values().filter(|table| table.is_protected());
    let rules = schema.protected.iter().map(|rule| &rule.table);
    let protected: HashSet<String> = tables
        .map(|table| &table.name)
        .chain(rules)
        .chain(&schema.suspect_functions)
        .map(|name| lower(name))
        .collect();
    let mut names = words.iter().filter_map(Word::name);
    // The server cuts long names.
    names.all(|name| name.len() <= NAME_SIZE_MAX && !protected.contains(&lower(name)))
}

fn reads_catalogues(words: &[Word]) -> bool {
    words
        .iter()
        .filter_map(Word::name)
        .any(|name| name.starts_with("pg_") || name == "information_schema")
}

/// A relation in `FROM`.
struct Relation<'a> {
    schema: Option<&'a str>,
    name: &'a str,
    span: Range<usize>,
    has_alias: bool,
}

/// A piece of the text, and what stands there instead.
struct Replacement {
    span: Range<usize>,
    text: String,
}

/// The schema before the name of a catalogue that qualifies a column: what stands for the catalogue
/// is in no schema.
fn qualifiers(words: &[Word], replaced: &[(Relation, String)]) -> Vec<Replacement> {
    let is_dot = |at: usize| words.get(at).is_some_and(|word| word.kind == Kind::Dot);
    let name = |at: usize| words.get(at).and_then(Word::name);
    let is_replaced = |at: usize| {
        let mut own = replaced.iter().map(|(relation, _)| relation);
        own.any(|own| name(at) == Some(own.home()) && name(at + 2) == Some(own.name))
    };
    (0..words.len())
        .filter(|at| is_dot(at + 1) && is_dot(at + 3) && is_replaced(*at))
        .map(|at| words[at].span.start..words[at + 2].span.start)
        .filter(|span| {
            let mut own = replaced.iter().map(|(relation, _)| relation);
            own.all(|own| !own.span.contains(&span.start))
        })
        .map(|span| Replacement {
            span,
            text: String::new(),
        })
        .collect()
}

impl Relation<'_> {
    /// The schema of what is replaced.
    fn home(&self) -> &str {
        self.schema.unwrap_or("pg_catalog")
    }

    /// What stands for it; None: it stays.
    fn subquery(&self, text: &str, words: &[Word], schema: &Schema) -> Option<String> {
        match (self.home(), self.name) {
            ("pg_catalog", "pg_attribute") => shown::attributes(schema),
            ("information_schema", "columns") => shown::columns(schema),
            ("pg_catalog", "pg_constraint") => hidden::constraints(words, schema),
            ("pg_catalog", "pg_class") => hidden::classes(text, words, schema),
            ("information_schema", name) => hidden::information(name, schema),
            _ => None,
        }
    }

    fn replacement((own, subquery): (Self, String)) -> Replacement {
        let alias = if own.has_alias {
            String::new()
        } else {
            format!(" AS {}", own.name)
        };
        Replacement {
            span: own.span,
            text: format!("({subquery}){alias}"),
        }
    }
}

/// Words that may follow a relation and are no alias of it.
const BEHIND_RELATION: &[&str] = &[
    "where",
    "on",
    "using",
    "join",
    "left",
    "right",
    "full",
    "inner",
    "cross",
    "natural",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "fetch",
    "union",
    "except",
    "intersect",
    "window",
    "for",
    "tablesample",
    "lateral",
];

/// What part of a query the words of one pair of parentheses are in.
#[derive(Clone, Copy, PartialEq)]
enum Clause {
    /// In `FROM`; whether a relation comes next.
    From(bool),
    /// Anything else.
    Other,
}

/// The relations in every `FROM`.
fn relations(words: &[Word]) -> Vec<Relation<'_>> {
    let mut found = Vec::new();
    let mut clauses = vec![Clause::Other];
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let depth = clauses.len();
        let clause = clauses.last_mut().expect("the outermost clause stays");
        let mut next = at + 1;
        match &word.kind {
            Kind::Open => {
                let inside = *clause;
                if inside == Clause::From(true) {
                    *clause = Clause::From(false);
                    clauses.push(Clause::From(true));
                } else {
                    clauses.push(Clause::Other);
                }
            }
            Kind::Close if depth > 1 => {
                clauses.pop();
            }
            Kind::Comma => {
                if let Clause::From(expects) = clause {
                    *expects = true;
                }
            }
            Kind::Word(key) if matches!(key.as_str(), "from" | "join") => {
                *clause = Clause::From(true);
            }
            Kind::Word(key) if matches!(key.as_str(), "lateral" | "only") => {}
            Kind::Word(key)
                if matches!(
                    key.as_str(),
                    "select"
                        | "where"
                        | "group"
                        | "order"
                        | "having"
                        | "limit"
                        | "union"
                        | "except"
                        | "intersect"
                        | "window"
                        | "values"
                ) =>
            {
                *clause = Clause::Other;
            }
            Kind::Word(_) | Kind::Quoted(_) if *clause == Clause::From(true) => {
                *clause = Clause::From(false);
                let (relation, end) = relation(words, at);
                found.extend(relation);
                next = end;
            }
            _ => {}
        }
        at = next;
    }
    found
}

/// The relation that begins at a word, and the index after its name; None for a call.
fn relation(words: &[Word], at: usize) -> (Option<Relation<'_>>, usize) {
    let name_at = |span: usize| words.get(span).and_then(Word::name);
    let dotted = words.get(at + 1).is_some_and(|word| word.kind == Kind::Dot);
    let (schema, name, last) = match (dotted, name_at(at), name_at(at + 2)) {
        (true, Some(schema), Some(name)) => (Some(schema), name, at + 2),
        (false, Some(name), _) => (None, name, at),
        _ => return (None, at + 1),
    };
    let behind = words.get(last + 1);
    if behind.is_some_and(|word| matches!(word.kind, Kind::Open | Kind::Dot)) {
        return (None, last + 1);
    }
    let has_alias = behind.is_some_and(|word| match &word.kind {
        Kind::Quoted(_) => true,
        Kind::Word(key) => !BEHIND_RELATION.contains(&key.as_str()),
        _ => false,
    });
    let relation = Relation {
        schema,
        name,
        span: words[at].span.start..words[last].span.end,
        has_alias,
    };
    (Some(relation), last + 1)
}

/// The text with its replacements, and its parameters as holes.
fn translated(
    text: &str,
    words: &[Word],
    replacements: impl Iterator<Item = Replacement>,
) -> Translated {
    let mut cuts: Vec<(Range<usize>, Piece)> = replacements
        .map(|replacement| (replacement.span, Piece::Text(replacement.text)))
        .collect();
    let mut holes = Vec::new();
    let mut parameters = 0;
    for word in words {
        if let Kind::Parameter(parameter) = word.kind {
            cuts.push((word.span.clone(), Piece::Hole(holes.len())));
            parameters = parameters.max(parameter + 1);
            holes.push(Hole {
                source: Source::Parameter(parameter),
                form: Form::Plain,
            });
        }
    }
    cuts.sort_by_key(|(span, _)| span.start);
    let mut pieces = Vec::new();
    let mut done = 0;
    for (span, piece) in cuts {
        pieces.push(Piece::Text(text[done..span.start].to_owned()));
        pieces.push(piece);
        done = span.end;
    }
    pieces.push(Piece::Text(text[done..].to_owned()));
    Translated {
        template: Template { pieces },
        holes,
        outputs: Vec::new(),
        parameter_types: vec![None; parameters],
        locks: None,
    }
}
