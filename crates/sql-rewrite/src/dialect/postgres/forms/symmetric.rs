//! `a BETWEEN SYMMETRIC b AND c`, and `ASYMMETRIC`, which changes nothing.

use super::{Changes, Word};
use crate::dialect::marks::SYMMETRIC;

/// `SYMMETRIC` becomes the name of a function around the lower bound, which no server has.
pub(super) fn symmetric(words: &[Word], at: usize) -> Option<Changes> {
    let before = at
        .checked_sub(1)
        .map(|before| words[before].word.as_str())?;
    let own = words[at].word.as_str();
    if before != "between" || words[at].text.starts_with('"') {
        return None;
    }
    match own {
        "asymmetric" => return Some(vec![(words[at].span.clone(), String::new())]),
        "symmetric" => {}
        _ => return None,
    }
    // A bound has no AND of its own but in parentheses, brackets and CASE (PostgreSQL, `b_expr`).
    let mut depth = 0usize;
    let mut closed = None;
    let and = (at + 1..words.len()).find(|&next| {
        match words[next].word.as_str() {
            "(" | "case" => depth += 1,
            ")" | "end" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && closed.is_none() {
                    closed = Some(next);
                }
            }
            "and" => return depth == 0,
            _ => match words[next].text {
                "[" => depth += 1,
                "]" => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        false
    })?;
    let start = words[at].span.clone();
    if words[at + 1].word == "(" && closed == Some(and - 1) {
        // The text that is printed has them: read again, it must be the same.
        return Some(vec![(start, format!("\"{SYMMETRIC}\""))]);
    }
    let end = words[and].span.start;
    Some(vec![
        (start, format!("\"{SYMMETRIC}\"(")),
        (end..end, ") ".to_owned()),
    ])
}

/// A printed text, with the server's syntax in place of the mark.
pub(super) fn for_server(text: String) -> String {
    text.replace(&format!("\"{SYMMETRIC}\""), "SYMMETRIC ")
}

#[cfg(test)]
mod tests {
    use crate::dialect::postgres::forms::{for_parser, for_server};

    #[test]
    fn symmetric_bounds_are_replaced_for_the_parser_and_restored() {
        for (text, marked, restored) in [
            (
                "SELECT a BETWEEN SYMMETRIC 5 AND 1 AND b",
                "SELECT a BETWEEN \"\u{2}symmetric\"( 5 ) AND 1 AND b",
                "SELECT a BETWEEN SYMMETRIC ( 5 ) AND 1 AND b",
            ),
            (
                "SELECT a BETWEEN SYMMETRIC ((5)) AND 1",
                "SELECT a BETWEEN \"\u{2}symmetric\" ((5)) AND 1",
                "SELECT a BETWEEN SYMMETRIC  ((5)) AND 1",
            ),
            (
                "SELECT 1 WHERE a not between symmetric (b AND c) + ARRAY[d AND e] AND 'x'\n'y'",
                "SELECT 1 WHERE a not between \"\u{2}symmetric\"( (b AND c) + ARRAY[d AND e] ) AND \
                 'xy'",
                "SELECT 1 WHERE a not between SYMMETRIC ( (b AND c) + ARRAY[d AND e] ) AND 'xy'",
            ),
            (
                "SELECT a BETWEEN SYMMETRIC CASE WHEN b AND c THEN 1 END AND $1",
                "SELECT a BETWEEN \"\u{2}symmetric\"( CASE WHEN b AND c THEN 1 END ) AND $1",
                "SELECT a BETWEEN SYMMETRIC ( CASE WHEN b AND c THEN 1 END ) AND $1",
            ),
            (
                "SELECT a BETWEEN ASYMMETRIC 1 AND 2",
                "SELECT a BETWEEN  1 AND 2",
                "SELECT a BETWEEN  1 AND 2",
            ),
        ] {
            let own = for_parser(text).into_owned();
            assert_eq!(own, marked);
            assert_eq!(for_server(own), restored);
        }
        for text in [
            "SELECT a BETWEEN \"symmetric\" AND 2",
            "SELECT symmetric(a) AND b",
            "SELECT a BETWEEN SYMMETRIC 1",
        ] {
            assert_eq!(for_parser(text), text);
        }
    }
}
