//! Frames of windows: what the parser reads otherwise than the server, or not at all.

use std::ops::Range;

use super::Word;
use crate::dialect::marks::MARK;

/// What a window's frame leaves out.
const EXCLUSIONS: [&str; 4] = ["current row", "group", "ties", "no others"];

/// The ends of frames without an offset, and the direction that the parser is given for them.
const ENDS: [(&str, &str); 3] = [
    ("current row", "FOLLOWING"),
    ("unbounded following", "FOLLOWING"),
    ("unbounded preceding", "PRECEDING"),
];

/// Whether a constant begins a bound of a window's frame. Without parentheses the parser would take
/// it for an interval.
pub(super) fn is_frame_offset(words: &[Word], at: usize) -> bool {
    let is_unit = |at: Option<usize>| {
        at.is_some_and(|at| matches!(words[at].word.as_str(), "rows" | "range" | "groups"))
    };
    let Some(before) = at
        .checked_sub(1)
        .filter(|_| words[at].text.starts_with('\''))
    else {
        return false;
    };
    match words[before].word.as_str() {
        "between" => is_unit(before.checked_sub(1)),
        "and" => {
            let mut depth = 0;
            for at in (0..before).rev() {
                match words[at].word.as_str() {
                    ")" => depth += 1,
                    "(" if depth == 0 => return false,
                    "(" => depth -= 1,
                    "between" if depth == 0 => return is_unit(at.checked_sub(1)),
                    _ => {}
                }
            }
            false
        }
        _ => is_unit(Some(before)),
    }
}

/// `EXCLUDE` at the end of a window's frame, with the bound before it.
pub(super) fn exclusion(words: &[Word], at: usize) -> Option<(Range<usize>, String)> {
    if words[at].word != "exclude" {
        return None;
    }
    let close = (at..words.len().min(at + 4)).find(|close| words[*close].word == ")")?;
    let said = |words: &[Word]| -> String {
        let words: Vec<_> = words.iter().map(|word| word.word.as_str()).collect();
        words.join(" ")
    };
    let left_out = said(&words[at + 1..close]);
    if !EXCLUSIONS.contains(&left_out.as_str()) {
        return None;
    }
    let end = words[close - 1].span.end;
    let start = at.checked_sub(2)?;
    let bound = said(&words[start..at]);
    if let Some((bound, direction)) = ENDS.iter().find(|(own, _)| *own == bound) {
        let mark = format!("\"{MARK}{bound} exclude {left_out}\" {direction}");
        return Some((words[start].span.start..end, mark));
    }
    let direction = &words[at - 1];
    let mark = format!("COLLATE \"{MARK}exclude {left_out}\" {}", direction.text);
    matches!(direction.word.as_str(), "preceding" | "following")
        .then(|| (direction.span.start..end, mark))
}

/// A printed text with the bounds of frames in place of their marks.
pub(super) fn with_exclusions(mut text: String) -> String {
    for left_out in EXCLUSIONS {
        let exclude = format!("EXCLUDE {}", left_out.to_uppercase());
        for (bound, direction) in ENDS {
            let mark = format!("\"{MARK}{bound} exclude {left_out}\" {direction}");
            text = text.replace(&mark, &format!("{} {exclude}", bound.to_uppercase()));
        }
        for direction in ["PRECEDING", "FOLLOWING"] {
            let mark = format!("COLLATE \"{MARK}exclude {left_out}\" {direction}");
            text = text.replace(&mark, &format!("{direction} {exclude}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::dialect::postgres::forms::{for_parser, for_server};
    use crate::dialect::postgres::parse::statements;

    #[test]
    fn a_constant_in_a_frame_gets_parentheses() {
        for (text, expected) in [
            (
                "SELECT sum(a) OVER (ORDER BY b ROWS '1' PRECEDING) FROM t WHERE a BETWEEN '1' \
                 AND '2'",
                "SELECT sum(a) OVER (ORDER BY b ROWS ('1') PRECEDING) FROM t WHERE a BETWEEN '1' \
                 AND '2'",
            ),
            (
                "SELECT sum(a) OVER (RANGE BETWEEN '1' PRECEDING AND '2' + (1) FOLLOWING)",
                "SELECT sum(a) OVER (RANGE BETWEEN ('1') PRECEDING AND ('2') + (1) FOLLOWING)",
            ),
            (
                "SELECT sum(a) OVER (GROUPS BETWEEN (1) PRECEDING AND '2' FOLLOWING EXCLUDE NO \
                 OTHERS)",
                "SELECT sum(a) OVER (GROUPS BETWEEN (1) PRECEDING AND ('2') COLLATE \
                 \"\u{2}exclude no others\" FOLLOWING)",
            ),
        ] {
            assert_eq!(for_parser(text), expected);
            assert!(statements(expected).is_some());
        }
    }

    #[test]
    fn exclude_in_a_frame_is_replaced_for_the_parser_and_restored() {
        for text in [
            "SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES)",
            "SELECT sum(a) OVER (w GROUPS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) FROM t",
            "SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY b RANGE BETWEEN UNBOUNDED \
             PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP), v AS (ROWS BETWEEN 2 PRECEDING \
             AND $1 + 1 FOLLOWING EXCLUDE NO OTHERS)",
        ] {
            let marked = for_parser(text).into_owned();
            assert!(!marked.contains("EXCLUDE"), "{marked}");
            assert!(statements(&marked).is_some(), "{marked}");
            assert_eq!(for_server(marked), text);
        }
        for text in [
            "SELECT exclude FROM t",
            "SELECT (a FOLLOWING EXCLUDE) FROM t",
            "CREATE TABLE t (EXCLUDE USING gist (c WITH &&))",
        ] {
            assert_eq!(for_parser(text), text);
        }
    }
}
