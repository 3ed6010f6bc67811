//! Syntax that the parser does not know is replaced by syntax that it reads:
//!
//! - `FOR NO KEY UPDATE` and `FOR KEY SHARE` become a lock that it knows, of a table whose name
//!   marks the difference.
//! - `FOR UPDATE OF a, b` becomes `FOR UPDATE OF a FOR UPDATE OF b`, which means the same.
//! - `ONLY t` becomes a name with one more part. Else the parser would read a relation `only` with
//!   the alias `t`.
//! - `TABLE t` as a query becomes `SELECT * FROM t`, which means the same.
//! - `a ISNULL` becomes `a IS NULL`. Else the parser would read the word as an alias.
//! - `trim(BOTH FROM a)` becomes `trim(BOTH a)`, which means the same.
//! - `'a'`, a new line, `'b'` becomes `'ab'`. Else the parser would read the second part as an
//!   alias.
//! - A constant in quotes as a bound of a window's frame gets parentheses.
//! - `EXCLUDE TIES` and the like, at the end of a window's frame, become a mark in its last bound.
//! - `((SELECT a) UNION (SELECT b))` within a statement becomes `(SELECT * FROM (SELECT a) AS
//!   operand UNION (SELECT b))`, which means the same. Else the parser would read an expression in
//!   the outer parentheses. So does `EXPLAIN (SELECT a) UNION …`, which it would read as options.
//! - `CREATE INDEX … TABLESPACE s` becomes a mark among its options.
//! - `CREATE MATERIALIZED VIEW … WITH NO DATA` loses its last words; a mark in the name of the view
//!   stands for them.
//! - `OVERRIDING SYSTEM VALUE` becomes a mark in the name of the table that rows go into.
//! - `BETWEEN SYMMETRIC` becomes `BETWEEN` with a mark around its lower bound.
//! - `a *= b`, and any other operator that the parser does not know as one, becomes `a
//!   OPERATOR("…") b` with a mark in the name.
//! - Joins within an operand of a join, and those that are the source of a `MERGE`, get
//!   parentheses.
//! - `pg_catalog.substr()` and the like get quotes around the name of the function.

mod frames;
mod joins;
mod operators;
mod overriding;
mod symmetric;
mod tablespace;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use self::frames::{exclusion, is_frame_offset, with_exclusions};
use crate::dialect::lexeme::{Lexeme, Part};
use crate::dialect::marks::{MARK, NO_DATA, ONLY};
use crate::dialect::postgres::lexer::{joints, lexemes};
use crate::dialect::postgres::names::FUNCTION_WORDS;

/// The words of the server's syntax, and what the parser is given for them.
const LOCKS: [(&[&str], &str); 2] = [
    (&["no", "key", "update"], "UPDATE OF \"\u{2}no key\""),
    (&["key", "share"], "SHARE OF \"\u{2}key\""),
];

/// The locks that the parser knows.
const KNOWN_LOCKS: [&str; 2] = ["update", "share"];

/// Functions whose arguments have a syntax of their own where no schema stands before them.
const WITH_SYNTAX: &[&str] = &[
    "ceil",
    "extract",
    "floor",
    "interval",
    "overlay",
    "position",
    "substr",
    "substring",
    "trim",
];

/// Statements that have relations after `FROM` and the like. Others, as `TRUNCATE ONLY t`, the
/// parser reads by itself.
const WITH_RELATIONS: &[&str] = &[
    "select", "with", "insert", "update", "delete", "merge", "values", "table", "declare",
    "explain", "prepare", "copy", "create", "",
];

/// What a relation follows.
const BEFORE_RELATION: &[&str] = &["from", "join", "update", "using", "lateral", ",", "("];

/// What a query follows; in `DECLARE` also `FOR`.
const BEFORE_QUERY: &[&str] = &[
    "",
    "(",
    ")",
    "as",
    "all",
    "distinct",
    "union",
    "except",
    "intersect",
    "explain",
    "analyze",
    "verbose",
];

/// A lexeme, prepared for comparison.
struct Word<'t> {
    /// A word in small letters, one of `,()`, or nothing.
    word: String,
    /// Its text.
    text: &'t str,
    span: Range<usize>,
    is_name: bool,
    is_constant: bool,
}

/// The text for the parser.
pub(crate) fn for_parser(text: &str) -> Cow<'_, str> {
    of_lexemes(text, &lexemes(text))
}

/// The same of a text whose lexemes are known.
pub(crate) fn of_lexemes<'t>(text: &'t str, lexemes: &Part) -> Cow<'t, str> {
    let words = words_of(text, lexemes);
    let mut changed = operators::operators(text, lexemes, &words);
    changed.extend(joins::joins(&words));
    for at in 0..words.len() {
        let known = lock(&words, at).or_else(|| only(&words, at));
        let known = known.or_else(|| symmetric::symmetric(&words, at));
        let known = known.or_else(|| overriding::overriding(&words, at));
        if let Some(change) = known.or_else(|| tablespace::tablespace(&words, at)) {
            changed.extend(change);
        } else if words[at].is_constant {
            let span = &words[at].span;
            let joints = joints(text, span);
            let joints = joints.into_iter().map(|joint| (joint, String::new()));
            match is_frame_offset(&words, at) {
                true => {
                    changed.push((span.start..span.start, "(".to_owned()));
                    changed.extend(joints);
                    changed.push((span.end..span.end, ")".to_owned()));
                }
                false => changed.extend(joints),
            }
        } else if is_null_test(&words, at) {
            changed.push((words[at].span.clone(), "IS NULL".to_owned()));
        } else if let Some(change) = exclusion(&words, at) {
            changed.push(change);
        } else if is_table_query(&words, at) {
            changed.push((words[at].span.clone(), "SELECT * FROM".to_owned()));
        } else if is_needless(&words, at) {
            changed.push((words[at].span.clone(), String::new()));
        } else if is_word_called(&words, at) {
            changed.push((words[at].span.clone(), format!("\"{}\"", words[at].word)));
        } else if let Some(change) = operand(&words, at) {
            changed.extend(change);
        }
    }
    changed.sort_by_key(|(span, _)| span.start);
    let without_data = without_data(&words);
    if let Some((name, _)) = without_data {
        // The name stands before all that a query has.
        changed.insert(0, (name..name, format!("\"{NO_DATA}\".")));
    }
    if let Some((_, span)) = &without_data {
        changed.push((span.clone(), String::new()));
    }
    if changed.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut taken = 0;
    for (span, change) in changed {
        out.push_str(&text[taken..span.start]);
        out.push_str(&change);
        taken = span.end;
    }
    Cow::Owned(out + &text[taken..])
}

fn words_of<'t>(text: &'t str, lexemes: &Part) -> Vec<Word<'t>> {
    let words = lexemes.iter();
    words
        .map(|(lexeme, span)| word(text, *lexeme, span.clone()))
        .collect()
}

fn word(text: &str, lexeme: Lexeme, span: Range<usize>) -> Word<'_> {
    let part = &text[span.start..span.end.min(text.len())];
    let is_quoted = lexeme == Lexeme::Other && part.starts_with('"');
    Word {
        word: match lexeme {
            Lexeme::Word => part.to_ascii_lowercase(),
            Lexeme::Comma | Lexeme::Open | Lexeme::Close => part.to_owned(),
            Lexeme::Operator | Lexeme::Other | Lexeme::Semicolon => "*".to_owned(),
        },
        text: part,
        span,
        is_constant: lexeme == Lexeme::Other && part.ends_with('\''),
        is_name: is_quoted || lexeme == Lexeme::Word,
    }
}

type Changes = Vec<(Range<usize>, String)>;

/// A lock at `FOR`.
fn lock(words: &[Word], at: usize) -> Option<Changes> {
    if words[at].word != "for" {
        return None;
    }
    let behind = &words[at + 1..];
    let starts = |lock: &[&str]| {
        behind.len() >= lock.len() && behind.iter().zip(lock).all(|(own, word)| own.word == *word)
    };
    let marked = LOCKS.iter().find(|(lock, _)| starts(lock));
    let known = KNOWN_LOCKS.iter().find(|lock| starts(&[*lock]));
    let (length, start, is_marked) = match (marked, known) {
        (Some((lock, mark)), _) => (lock.len(), (*mark).to_owned(), true),
        (None, Some(lock)) => (1, lock.to_uppercase(), false),
        (None, None) => return None,
    };
    let of = behind.get(length).filter(|next| next.word == "of");
    let with_name = match is_marked {
        true => format!("{start}."),
        false => format!("{start} OF "),
    };
    let mut changes = Vec::new();
    if is_marked {
        let last = of.unwrap_or(&behind[length - 1]);
        let mark = if of.is_some() { &with_name } else { &start };
        changes.push((behind[0].span.start..last.span.end, mark.clone()));
    }
    if of.is_some() {
        changes.extend(further_locks(&behind[length + 1..], &with_name));
    }
    Some(changes)
}

/// In a list of names after `OF`: each comma becomes the start of another lock.
fn further_locks(names: &[Word], with_name: &str) -> Changes {
    let is_part = |word: &&Word| word.is_name || word.text == ".";
    let mut commas = Vec::new();
    let mut rest = names;
    loop {
        // A name of one word, since those behind may be of the next clause.
        let length = match rest {
            [_, dot, _, ..] if dot.text == "." => 3,
            _ => 1,
        };
        let is_name = rest.len() >= length && rest[..length].iter().all(|word| is_part(&word));
        if !is_name {
            return Vec::new();
        }
        rest = &rest[length..];
        match rest {
            [comma, next @ ..] if comma.word == "," => {
                commas.push(comma.span.clone());
                rest = next;
            }
            _ => break,
        }
    }
    let are = |own: &[&str]| {
        rest.len() >= own.len() && rest.iter().zip(own).all(|(word, own)| word.word == *own)
    };
    let waits = if are(&["nowait"]) {
        " NOWAIT"
    } else if are(&["skip", "locked"]) {
        " SKIP LOCKED"
    } else {
        ""
    };
    let changed = commas.into_iter();
    changed
        .map(|comma| (comma, format!("{waits} FOR {with_name}")))
        .collect()
}

/// `ONLY t` and `ONLY (t)` where a relation is meant.
fn only(words: &[Word], at: usize) -> Option<Changes> {
    if words[at].word != "only" {
        return None;
    }
    let before = at.checked_sub(1)?;
    let has_relations = WITH_RELATIONS.contains(&words[0].word.as_str()) || words[0].word == "(";
    let is_behind = BEFORE_RELATION.contains(&words[before].word.as_str());
    if !has_relations || !(is_behind || is_table_query(words, before)) {
        return None;
    }
    let opens = words.get(at + 1).is_some_and(|next| next.word == "(");
    let name = at + 1 + usize::from(opens);
    if !words.get(name).is_some_and(|next| next.is_name) {
        return None;
    }
    let mark = format!("\"{ONLY}\".");
    if !opens {
        let span = words[at].span.start..words[name].span.start;
        return Some(vec![(span, mark)]);
    }
    let close = (name..words.len()).find(|close| words[*close].word == ")")?;
    let in_name = words[name..close]
        .iter()
        .all(|part| part.is_name || part.text == ".");
    in_name.then(|| {
        vec![
            (words[at].span.start..words[name].span.start, mark),
            (words[close].span.clone(), String::new()),
        ]
    })
}

/// In `CREATE MATERIALIZED VIEW … WITH NO DATA`: where the name begins, and the last words.
fn without_data(words: &[Word]) -> Option<(usize, Range<usize>)> {
    let are = |at: usize, own: &[&str]| {
        words.len() >= at + own.len()
            && words[at..]
                .iter()
                .zip(own)
                .all(|(word, own)| word.word == *own)
    };
    let last = words.len().checked_sub(3)?;
    if !are(0, &["create", "materialized", "view"]) || !are(last, &["with", "no", "data"]) {
        return None;
    }
    let name = if are(3, &["if", "not", "exists"]) {
        6
    } else {
        3
    };
    (name < last).then(|| {
        let end = words[words.len() - 1].span.end;
        (words[name].span.start, words[last].span.start..end)
    })
}

fn is_table_query(words: &[Word], at: usize) -> bool {
    let first = words[0].word.as_str();
    let before = at.checked_sub(1).map_or("", |before| &words[before].word);
    let is_behind = BEFORE_QUERY.contains(&before)
        || (before == "for" && first == "declare")
        // The name of a table that rows go into.
        || (first == "insert" && at == 3 && words[1].word == "into");
    words[at].word == "table" && is_behind && words.get(at + 1).is_some_and(|next| next.is_name)
}

/// The first query of a set operation in parentheses, both its own and those of the operation.
fn operand(words: &[Word], at: usize) -> Option<Changes> {
    let inner = at + 1;
    let is_explained = ["explain", "analyze", "verbose"].contains(&words[at].word.as_str())
        && words[0].word == "explain";
    let is_within = || words[at].word == "(" && at > 0 && words[at - 1].word != "as";
    let is_open = words.get(inner).is_some_and(|next| next.word == "(");
    if !is_open || !(is_explained || is_within()) {
        return None;
    }
    let mut behind = words[inner..].iter().skip_while(|next| next.word == "(");
    let first = behind.next()?;
    if !["select", "with", "values"].contains(&first.word.as_str()) {
        return None;
    }
    let mut depth = 0usize;
    let close = (inner..words.len()).find(|&at| {
        match words[at].word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    let next = words.get(close + 1).map_or("", |next| next.word.as_str());
    let is_operand = ["union", "except", "intersect"].contains(&next);
    (is_operand || is_explained).then(|| {
        let (start, end) = (words[inner].span.start, words[close].span.end);
        vec![
            (start..start, "SELECT * FROM ".to_owned()),
            (end..end, " AS operand".to_owned()),
        ]
    })
}

/// `ISNULL` after an operand. Elsewhere it is a label after `AS` or `.`, or the name of a
/// function, of an argument or of a type: it is no name of a column (PostgreSQL, appendix C).
fn is_null_test(words: &[Word], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &words[before]) else {
        return false;
    };
    if words[at].word != "isnull" {
        return false;
    }
    let is_operand = match before.word.as_str() {
        "as" | "function" | "type" | "," | "(" | "[" => false,
        // The dot of a name, the second colon of a cast.
        "*" => !matches!(before.text, "." | ":" | ";"),
        _ => true,
    };
    let names_function = words.get(at + 1).is_some_and(|next| next.text == "(");
    is_operand && !names_function
}

/// `FROM` before the text that is trimmed, where no characters stand before it.
fn is_needless(words: &[Word], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).map_or("", |at| &words[at].word);
    let opens = match before(1) {
        "both" | "leading" | "trailing" => 2,
        _ => 1,
    };
    words[at].word == "from" && before(opens) == "(" && before(opens + 1) == "trim"
}

/// A function behind the name of its schema, whose name the parser would take for a key word.
fn is_word_called(words: &[Word], at: usize) -> bool {
    let is = |at: Option<usize>, own: &str| {
        let word = at.and_then(|at| words.get(at));
        word.is_some_and(|word| word.text == own)
    };
    let own = words[at].word.as_str();
    (FUNCTION_WORDS.contains(&own) || WITH_SYNTAX.contains(&own))
        && is(at.checked_sub(1), ".")
        && is(Some(at + 1), "(")
}

/// A printed text, with the server's syntax in place of the marks.
pub(crate) fn for_server(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let no_data = format!("\"{NO_DATA}\".");
    let text = match text.contains(&no_data) {
        true => text.replace(&no_data, "") + " WITH NO DATA",
        false => text,
    };
    let text = text.replace(&format!("\"{ONLY}\"."), "ONLY ");
    let text = overriding::for_server(symmetric::for_server(text));
    let text = operators::for_server(tablespace::for_server(text));
    let text = match text.contains("exclude ") {
        true => with_exclusions(text),
        false => text,
    };
    LOCKS.iter().fold(text, |text, (lock, mark)| {
        let lock = lock.join(" ").to_uppercase();
        text.replace(&format!("{mark}."), &format!("{lock} OF "))
            .replace(mark, &lock)
    })
}
