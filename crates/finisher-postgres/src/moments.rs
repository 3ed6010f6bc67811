//! Constants that are the moment at which they are read: `'now'`, `'today'`. The server that reads
//! them is the proxy's own, whose transaction is another one than the client's, and it reads the
//! constants of a query once, when it prepares it.
//!
//! A `timetz` without an offset takes that of the moment. So does one that is made from a `time`.
//! That of the proxy's server is the right one unless the clock of the zone is changed between
//! the client's transaction and now, or has been since a constant was read.

use session_core::StatementError;

use crate::tree::Tree;

/// The words, as PostgreSQL's documentation has them ("Special Date/Time Inputs").
pub(crate) const WORDS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// What a text begins with that a cast refuses, so that the error shows why.
pub(crate) const MARK: &str = "strongroom moment ";

/// Dates, times, their ranges, and the arrays of each (`pg_type.dat`).
pub(crate) const TYPES: [u32; 22] = [
    1082, 1083, 1114, 1184, 1266, 1115, 1182, 1183, 1185, 1270, 3908, 3909, 3910, 3911, 3912, 3913,
    4533, 4534, 4535, 6152, 6153, 6155,
];

/// `timetz`, and its array.
const WITH_OFFSET: [u32; 2] = [1266, 1270];

/// Functions that take the offset of the moment: of `time` to `timetz`, and of a `timetz` to
/// another zone (`pg_proc.dat`).
const BY_MOMENT: [u32; 3] = [2037, 2047, 6336];

/// The first number of what is not PostgreSQL's own.
const OWN_FUNCTIONS: u32 = 16384;

/// Whether the offset of the session's time zone is the same around the moment. Transactions are
/// not longer, and clocks do not differ more.
pub(crate) const HAS_ONE_OFFSET: &str = "\
    SELECT pg_catalog.date_part('timezone', pg_catalog.now() - '2 days'::interval) \
    = pg_catalog.date_part('timezone', pg_catalog.now() + '2 days'::interval)";

/// What the names of functions have that read fields of texts as values of types.
const FIELD_READERS: [&str; 5] = [
    "to_record",
    "populate_record",
    "xmltable",
    "json_table",
    "json_value",
];

/// Whether a query may have such a constant, also one whose letters are escapes.
pub(crate) fn may_freeze(query: &str) -> bool {
    may_name(query) || query.contains('\\')
}

/// Whether a query or one of its parameters may have a value of `timetz`.
pub(crate) fn has_offsets(query: &str, parameters: &[u32]) -> bool {
    names_offset_type(query) || parameters.iter().any(|own| WITH_OFFSET.contains(own))
}

/// Whether a query makes values of `timetz` by the offset of the moment.
pub(crate) fn takes_offset(query: &str, tree: Option<&str>) -> bool {
    tree.and_then(Tree::parse)
        .is_none_or(|tree| makes_offset(&tree) || lacks_offset(&tree, query))
}

fn makes_offset(tree: &Tree) -> bool {
    let number = |field: &str| tree.word(field).parse::<u32>().unwrap_or_default();
    match tree {
        Tree::Word(_) => false,
        Tree::List(parts) => parts.iter().any(makes_offset),
        Tree::Node(name, fields) => {
            let makes = match name.as_str() {
                // The casts of texts are functions of the database's own.
                "FUNCEXPR" => {
                    BY_MOMENT.contains(&number("funcid"))
                        || number("funcid") >= OWN_FUNCTIONS
                            && WITH_OFFSET.contains(&number("funcresulttype"))
                }
                "COERCEVIAIO" => WITH_OFFSET.contains(&number("resulttype")),
                _ => false,
            };
            makes
                || fields
                    .iter()
                    .any(|(_, parts)| parts.iter().any(makes_offset))
        }
    }
}

/// Whether a parameter of this type takes the offset of the moment.
pub(crate) fn lacks_own_offset(type_oid: u32, text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    WITH_OFFSET.contains(&type_oid) && !has_own_offsets(&text)
}

/// Whether each time in a text has an offset, or a date, for which its zone has one.
fn has_own_offsets(text: &str) -> bool {
    let mut times = text.split(',');
    times.all(|time| time.contains(['+', '-']))
}

fn names_offset_type(query: &str) -> bool {
    let query = query.to_ascii_lowercase();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_time = |before: &str| {
        let before = before.trim_end();
        let before = match before.rsplit_once('(') {
            Some((name, _)) if before.ends_with(')') => name.trim_end(),
            _ => before,
        };
        before.rsplit(|letter| !is_letter(letter)).next() != Some("timestamp")
    };
    let mut words = query.match_indices("with time zone");
    query.contains("timetz") || words.any(|(at, _)| is_time(&query[..at]))
}

/// Whether a text may be such a constant, or have one in it.
pub(crate) fn may_name(text: &str) -> bool {
    // Within arrays and ranges, what is quoted or escaped is what it stands for.
    let text = text.replace(['\\', '"'], "");
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    words.any(|word| WORDS.iter().any(|own| word.eq_ignore_ascii_case(own)))
}

/// Whether a parameter of this type may be the moment, or have it in a field that the query reads.
pub(crate) fn is_moment(type_oid: u32, text: &[u8], reads_fields: bool) -> bool {
    let is_of_time = TYPES.contains(&type_oid);
    if !is_of_time && !reads_fields {
        return false;
    }
    let text = String::from_utf8_lossy(text);
    may_name(&text) || !is_of_time && text.contains("\\u")
}

/// Whether a query may read dates and times from the fields of a JSON or XML text: by their input
/// functions, without a cast.
pub(crate) fn reads_fields(query: &str) -> bool {
    let query = query.to_ascii_lowercase();
    let mut readers = FIELD_READERS.iter();
    readers.any(|own| query.contains(own))
}

/// Looks for such constants in a query, by its tree.
///
/// # Errors
/// It has one, or its tree is not known.
pub(crate) fn check(query: &str, tree: Option<&str>) -> Result<(), StatementError> {
    match tree.and_then(Tree::parse) {
        Some(tree) if !(has_moment(&tree, query) || may_name(query) && reads_fields(query)) => {
            Ok(())
        }
        _ => Err(refusal()),
    }
}

/// An error of a query, which may be that of a cast of a text with such a word.
pub(crate) fn explained(error: StatementError) -> StatementError {
    match error.message.contains(&format!("\"{MARK}")) {
        true => refusal(),
        false => error,
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

/// The refusal of a value that takes the offset of the moment.
pub(crate) fn offset_refusal() -> StatementError {
    let message = "a time with time zone without an offset, in a query that the finisher evaluates";
    StatementError::unsupported(message).hint(
        "Write the offset: '10:00+02'. Without one it would be that of the moment, which may be \
         another one here for two days before and after clocks are changed.",
    )
}

/// Whether a constant of `timetz` takes the offset of the moment at which the query is prepared.
fn lacks_offset(tree: &Tree, query: &str) -> bool {
    match tree {
        Tree::Word(_) => false,
        Tree::List(parts) => parts.iter().any(|part| lacks_offset(part, query)),
        Tree::Node(name, _) if name == "CONST" => {
            let type_oid = tree.word("consttype").parse();
            let is_value = tree.word("constisnull") != "true";
            let literal = literal_at(query, tree.word("location").parse().ok());
            let has_offset = |(literal, _): (&str, bool)| has_own_offsets(literal);
            type_oid.is_ok_and(|own| WITH_OFFSET.contains(&own))
                && is_value
                && !literal.is_some_and(has_offset)
        }
        Tree::Node(_, fields) => fields
            .iter()
            .any(|(_, parts)| parts.iter().any(|part| lacks_offset(part, query))),
    }
}

fn has_moment(tree: &Tree, query: &str) -> bool {
    match tree {
        Tree::Word(_) => false,
        Tree::List(parts) => parts.iter().any(|part| has_moment(part, query)),
        Tree::Node(name, _) if name == "CONST" => {
            let is_of_time = tree.word("consttype").parse::<u32>();
            let is_of_time = is_of_time.is_ok_and(|own| TYPES.contains(&own));
            let start = tree.word("location").parse().ok();
            let is_moment = match literal_at(query, start) {
                Some((literal, has_escapes)) => {
                    may_name(literal) || has_escapes && spells_letters(literal)
                }
                None => may_name(query) || query.contains('\\'),
            };
            is_of_time && is_moment
        }
        Tree::Node(_, fields) => fields
            .iter()
            .any(|(_, parts)| parts.iter().any(|part| has_moment(part, query))),
    }
}

/// Whether escapes of a literal may stand for letters (`E'\x6eow'`).
fn spells_letters(literal: &str) -> bool {
    let is_code = |part: &str| part.starts_with(['0', '1', 'x', 'u', 'U']);
    literal.split('\\').skip(1).any(is_code)
}

/// The literal that begins somewhere in a query, and whether it may have escapes. None: it is of no
/// form that is known.
fn literal_at(query: &str, start: Option<usize>) -> Option<(&str, bool)> {
    let rest = query.get(start?..)?;
    let escaped = rest.strip_prefix(['E', 'e']);
    let inner = escaped.unwrap_or(rest).strip_prefix('\'')?;
    let mut from = 0;
    loop {
        let end = from + inner.get(from..)?.find('\'')?;
        match inner[end + 1..].starts_with('\'') {
            true => from = end + 2,
            false => return Some((&inner[..end], escaped.is_some())),
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
    fn escapes_and_fields_may_spell_a_word() {
        for (literal, may_spell) in [
            (r"\x6eow", true),
            (r"\156ow", true),
            (r"\u006eow", true),
            (r"2001-01-01\t", false),
            ("2001-01-01", false),
        ] {
            assert_eq!(spells_letters(literal), may_spell, "{literal}");
        }
        let query = "SELECT * FROM json_to_recordset($1) AS x(d date)";
        for (query, text, is_read) in [
            (query, r#"[{"d": "now"}]"#, true),
            (query, r#"[{"d": "\u006eow"}]"#, true),
            (query, r#"[{"d": "2001-01-01"}]"#, false),
            ("SELECT $1::json", r#"[{"d": "now"}]"#, false),
        ] {
            assert_eq!(
                is_moment(114, text.as_bytes(), reads_fields(query)),
                is_read,
                "{text}"
            );
        }
    }

    #[test]
    fn times_with_time_zone_are_told_from_timestamps() {
        for (query, takes) in [
            ("SELECT $1::timetz", true),
            ("SELECT unnest($1::time(3) with time zone[])", true),
            ("SELECT cast(a AS TIME WITH TIME ZONE)", true),
            ("SELECT $1::timestamp with time zone, time '10:00'", false),
            ("SELECT cast(a AS timestamp (3) with time zone)", false),
            ("SELECT $1", false),
        ] {
            assert_eq!(has_offsets(query, &[1184]), takes, "{query}");
        }
        assert!(has_offsets("SELECT $1", &[1266]));
    }

    #[test]
    fn only_what_makes_a_time_by_the_moment_takes_its_offset() {
        for (tree, takes) in [
            (
                "({FUNCEXPR :funcid 2047 :funcresulttype 1266 :args ({VAR :varno 1})})",
                true,
            ),
            (
                "{ARRAYCOERCEEXPR :elemexpr {FUNCEXPR :funcid 16500 :funcresulttype 1266}}",
                true,
            ),
            ("{FUNCEXPR :funcid 16500 :funcresulttype 1184}", false),
            (
                "{CONST :consttype 1266 :constisnull false :location -1}",
                true,
            ),
            (
                "{CONST :consttype 1266 :constisnull true :location -1}",
                false,
            ),
            (
                "{FUNCEXPR :funcid 2331 :funcresulttype 1266 :args ({PARAM :paramtype 1270})}",
                false,
            ),
        ] {
            assert_eq!(takes_offset("", Some(tree)), takes, "{tree}");
        }
        assert!(takes_offset("", None));
        for (text, lacks) in [
            ("10:00", true),
            ("10:00+01", false),
            ("{10:00-01,11:00}", true),
            ("2001-01-01 10:00", false),
        ] {
            assert_eq!(lacks_own_offset(1266, text.as_bytes()), lacks, "{text}");
        }
    }

    #[test]
    fn a_literal_ends_where_its_quote_does() {
        let query = "SELECT 'it''s now', E'x', 1";
        assert_eq!(literal_at(query, Some(7)), Some(("it''s now", false)));
        assert_eq!(literal_at(query, Some(20)), Some(("x", true)));
        assert_eq!(literal_at(query, Some(26)), None);
        assert_eq!(literal_at(query, Some(99)), None);
    }
}
