//! Constants that are the moment at which they are read: `'now'`, `'today'`. The server that reads
//! them is the proxy's own, whose transaction is another one than the client's, and it reads the
//! constants of a query once, when it prepares it.

use session_core::StatementError;

use crate::tree::Tree;

/// The words, as PostgreSQL's documentation has them ("Special Date/Time Inputs").
const WORDS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Dates, times, their ranges, and the arrays of each (`pg_type.dat`).
const TYPES: [u32; 22] = [
    1082, 1083, 1114, 1184, 1266, 1115, 1182, 1183, 1185, 1270, 3908, 3909, 3910, 3911, 3912, 3913,
    4533, 4534, 4535, 6152, 6153, 6155,
];

/// Whether a text may be such a constant, or have one in it.
pub(crate) fn may_name(text: &str) -> bool {
    // Within arrays and ranges, what is quoted or escaped is what it stands for.
    let text = text.replace(['\\', '"'], "");
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    words.any(|word| WORDS.iter().any(|own| word.eq_ignore_ascii_case(own)))
}

/// Whether a parameter of this type may be the moment.
pub(crate) fn is_moment(type_oid: u32, text: &[u8]) -> bool {
    TYPES.contains(&type_oid) && may_name(&String::from_utf8_lossy(text))
}

/// Looks for such constants in a query, by its tree.
///
/// # Errors
/// It has one, or its tree is not known.
pub(crate) fn check(query: &str, tree: Option<&str>) -> Result<(), StatementError> {
    match tree.and_then(Tree::parse) {
        Some(tree) if !has_moment(&tree, query) => Ok(()),
        _ => Err(refusal()),
    }
}

/// The refusal of such a constant.
pub(crate) fn refusal() -> StatementError {
    let message = "'now', 'today', 'tomorrow' or 'yesterday' as a constant of a date or a time in \
                   a query that the finisher evaluates";
    StatementError::unsupported(message).hint(
        "Write now(), CURRENT_DATE, CURRENT_DATE + 1 or CURRENT_DATE - 1, which are the server's \
         own.",
    )
}

fn has_moment(tree: &Tree, query: &str) -> bool {
    match tree {
        Tree::Word(_) => false,
        Tree::List(parts) => parts.iter().any(|part| has_moment(part, query)),
        Tree::Node(name, _) if name == "CONST" => {
            let is_of_time = tree.word("consttype").parse::<u32>();
            let is_of_time = is_of_time.is_ok_and(|own| TYPES.contains(&own));
            let start = tree.word("location").parse().ok();
            is_of_time && may_name(literal_at(query, start).unwrap_or(query))
        }
        Tree::Node(_, fields) => fields
            .iter()
            .any(|(_, parts)| parts.iter().any(|part| has_moment(part, query))),
    }
}

/// The literal that begins somewhere in a query. None: it is of no form that is known.
fn literal_at(query: &str, start: Option<usize>) -> Option<&str> {
    let rest = query.get(start?..)?;
    let rest = rest.strip_prefix(['E', 'e']).unwrap_or(rest);
    let inner = rest.strip_prefix('\'')?;
    let mut from = 0;
    loop {
        let end = from + inner.get(from..)?.find('\'')?;
        match inner[end + 1..].starts_with('\'') {
            true => from = end + 2,
            false => return Some(&inner[..end]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_alone_and_within_arrays() {
        for text in [
            "now",
            " NOW ",
            "today 10:00",
            "{now,today}",
            r#"["to\day",)"#,
        ] {
            assert!(may_name(text), "{text}");
        }
        for text in ["know", "nowadays", "2024-01-01", "infinity", ""] {
            assert!(!may_name(text), "{text}");
        }
    }

    #[test]
    fn a_literal_ends_where_its_quote_does() {
        let query = "SELECT 'it''s now', E'x', 1";
        assert_eq!(literal_at(query, Some(7)), Some("it''s now"));
        assert_eq!(literal_at(query, Some(20)), Some("x"));
        assert_eq!(literal_at(query, Some(26)), None);
        assert_eq!(literal_at(query, Some(99)), None);
    }
}
