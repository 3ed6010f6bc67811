//! `INSERT INTO t (a) OVERRIDING SYSTEM VALUE …`, and `USER VALUE`.

use super::{Changes, Word, words_of};
use crate::dialect::marks::{OVERRIDING_SYSTEM, OVERRIDING_USER};
use crate::dialect::postgres::lexer::lexemes;

/// The words become a mark in the name of the table.
pub(super) fn overriding(words: &[Word], at: usize) -> Option<Changes> {
    let [own, kind, value, ..] = &words[at..] else {
        return None;
    };
    let mark = match (own.word.as_str(), kind.word.as_str(), value.word.as_str()) {
        ("overriding", "system", "value") => OVERRIDING_SYSTEM,
        ("overriding", "user", "value") => OVERRIDING_USER,
        _ => return None,
    };
    let is_into = |into: &usize| words[*into].word == "into" && words[into - 1].word == "insert";
    let into = (1..at).rev().find(is_into)?;
    let name = words.get(into + 1).filter(|name| name.is_name)?;
    let start = name.span.start;
    Some(vec![
        (start..start, format!("\"{mark}\".")),
        (own.span.start..value.span.end, String::new()),
    ])
}

/// A printed text, with the words in place of the mark.
pub(super) fn for_server(mut text: String) -> String {
    for (mark, words) in [
        (OVERRIDING_SYSTEM, "OVERRIDING SYSTEM VALUE "),
        (OVERRIDING_USER, "OVERRIDING USER VALUE "),
    ] {
        let mark = format!("\"{mark}\".");
        while let Some(start) = text.find(&mark) {
            let behind = &text[start + mark.len()..];
            let (before_words, behind_words) = behind.split_at(end_of_columns(behind));
            text = format!("{}{before_words}{words}{behind_words}", &text[..start]);
        }
    }
    text
}

/// Where the rows begin, behind the name of a table, its alias and a list of columns.
fn end_of_columns(text: &str) -> usize {
    let words = words_of(text, &lexemes(text));
    let is = |at: usize, own: &str| words.get(at).is_some_and(|word| word.text == own);
    let mut at = 1;
    while is(at, ".") {
        at += 2;
    }
    if words.get(at).is_some_and(|word| word.word == "as") {
        at += 2;
    }
    let is_name = words.get(at + 1).is_some_and(|word| {
        let starts_query = ["select", "values", "with", "table"].contains(&word.word.as_str());
        word.is_name && !starts_query
    });
    if is(at, "(") && is_name {
        let close = words.iter().skip(at).position(|word| word.word == ")");
        at += close.map_or(0, |close| close + 1);
    }
    words.get(at).map_or(text.len(), |word| word.span.start)
}

#[cfg(test)]
mod tests {
    use crate::dialect::postgres::forms::{for_parser, for_server};

    #[test]
    fn overriding_is_replaced_for_the_parser_and_restored() {
        for (text, marked) in [
            (
                "INSERT INTO t (a, \"b)\") OVERRIDING SYSTEM VALUE VALUES (1, 2)",
                "INSERT INTO \"\u{2}overriding system\".t (a, \"b)\")  VALUES (1, 2)",
            ),
            (
                "WITH x AS (SELECT 1) INSERT INTO s.\"T\" AS u OVERRIDING USER VALUE SELECT 1",
                "WITH x AS (SELECT 1) INSERT INTO \"\u{2}overriding user\".s.\"T\" AS u  SELECT 1",
            ),
            (
                "INSERT INTO t OVERRIDING SYSTEM VALUE (SELECT 1)",
                "INSERT INTO \"\u{2}overriding system\".t  (SELECT 1)",
            ),
        ] {
            let own = for_parser(text).into_owned();
            assert_eq!(own, marked);
            assert_eq!(for_server(own.replace("  ", " ")), text);
        }
        for text in [
            "SELECT overriding FROM system",
            "INSERT INTO t (overriding) VALUES ('OVERRIDING SYSTEM VALUE')",
            "MERGE INTO t USING u ON a = b WHEN NOT MATCHED THEN INSERT OVERRIDING USER VALUE \
             VALUES (1)",
        ] {
            assert_eq!(for_parser(text), text);
        }
    }
}
