//! `a JOIN b JOIN c ON x ON y`, and `MERGE INTO t USING a JOIN b ON x ON y`.

use super::{Changes, Word};

/// A join whose condition has not come yet.
struct Pending {
    /// Where its second operand begins.
    start: usize,
    /// Whether that has a join in it.
    has_join: bool,
}

/// What is open between two parentheses.
#[derive(Default)]
struct Level {
    pending: Vec<Pending>,
    is_merge: bool,
    /// The source of a `MERGE`.
    source: Option<Pending>,
}

/// Joins within an operand get parentheses, and so do those that are the source of a `MERGE`. That
/// means the same (PostgreSQL, `joined_table`).
pub(super) fn joins(words: &[Word]) -> Changes {
    let mut levels = vec![Level::default()];
    let mut changes = Vec::new();
    for (at, own) in words.iter().enumerate() {
        let next = words.get(at + 1);
        let is_inner = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            return Vec::new();
        };
        match own.word.as_str() {
            "(" | "[" => levels.push(Level::default()),
            ")" | "]" if is_inner => {
                levels.pop();
            }
            "merge" => level.is_merge = next.is_some_and(|next| next.word == "into"),
            "join" => {
                let outer = level.pending.last_mut().or(level.source.as_mut());
                if let Some(outer) = outer {
                    outer.has_join = true;
                }
                if has_condition(&words[..at]) {
                    level.pending.extend(next.map(operand));
                }
            }
            "using" if level.is_merge && level.source.is_none() => {
                level.is_merge = false;
                level.source = next.map(operand);
            }
            "on" | "using" => {
                let ended = level.pending.pop().or_else(|| level.source.take());
                if let Some(ended) = ended.filter(|ended| ended.has_join) {
                    let end = own.span.start;
                    changes.push((ended.start..ended.start, "(".to_owned()));
                    changes.push((end..end, ") ".to_owned()));
                }
            }
            _ => {}
        }
    }
    changes
}

fn operand(word: &Word) -> Pending {
    Pending {
        start: word.span.start,
        has_join: false,
    }
}

/// Whether a join with these words before it has `ON` or `USING`.
fn has_condition(before: &[Word]) -> bool {
    let kind = ["left", "right", "full", "inner", "outer"];
    let mut before = before.iter().rev().map(|word| word.word.as_str());
    let kept = before.find(|word| !kind.contains(word));
    !kept.is_some_and(|word| ["cross", "natural"].contains(&word))
}

#[cfg(test)]
mod tests {
    use crate::dialect::postgres::forms::for_parser;

    #[test]
    fn joins_within_operands_get_parentheses() {
        for (text, expected) in [
            (
                "SELECT * FROM a JOIN b LEFT JOIN c ON x ON y WHERE z",
                "SELECT * FROM a JOIN (b LEFT JOIN c ON x ) ON y WHERE z",
            ),
            (
                "SELECT * FROM a JOIN b JOIN c JOIN d USING (x) ON y ON z JOIN e ON w",
                "SELECT * FROM a JOIN (b JOIN (c JOIN d USING (x) ) ON y ) ON z JOIN e ON w",
            ),
            (
                "SELECT * FROM a JOIN LATERAL (SELECT 1 FROM d JOIN e ON f) b CROSS JOIN c ON x",
                "SELECT * FROM a JOIN (LATERAL (SELECT 1 FROM d JOIN e ON f) b CROSS JOIN c ) ON x",
            ),
            (
                "MERGE INTO t USING a RIGHT JOIN b JOIN c ON x ON y ON z WHEN MATCHED THEN DELETE",
                "MERGE INTO t USING (a RIGHT JOIN (b JOIN c ON x ) ON y ) ON z WHEN MATCHED THEN \
                 DELETE",
            ),
        ] {
            assert_eq!(for_parser(text), expected);
        }
        for text in [
            "SELECT DISTINCT ON (a) a FROM a JOIN b ON c NATURAL LEFT JOIN d JOIN e USING (f)",
            "MERGE INTO t USING (a JOIN b ON x) ON z WHEN MATCHED THEN DELETE",
            "DELETE FROM a USING b JOIN c ON d WHERE e",
            "SELECT * FROM a, b CROSS JOIN c JOIN d ON x",
        ] {
            assert_eq!(for_parser(text), text);
        }
    }
}
