//! `a *= b`, and other operators that the parser does not know as one.

use super::{Changes, Word};
use crate::dialect::lexeme::Part;
use crate::dialect::marks::OPERATOR;
use crate::dialect::postgres::operators::unread;

/// They become `OPERATOR("…")`, with a mark before the operator. `OPERATOR()` binds as these do
/// (PostgreSQL 4.1.6).
pub(super) fn operators(text: &str, lexemes: &Part, words: &[Word]) -> Changes {
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("", |word| word.text);
    let change = |span: std::ops::Range<usize>| {
        let at = words.partition_point(|word| word.span.start < span.start);
        let before = word(at.checked_sub(1));
        let outer = word(at.checked_sub(2));
        let is_named = before == "." || before == "(" && outer.eq_ignore_ascii_case("operator");
        let name = format!("\"{OPERATOR}{}\"", &text[span.clone()]);
        let name = if is_named {
            name
        } else {
            format!(" OPERATOR({name}) ")
        };
        (span, name)
    };
    unread(text, lexemes).into_iter().map(change).collect()
}

/// A printed text, with the operators in place of the marks.
pub(super) fn for_server(text: String) -> String {
    let mark = format!("\"{OPERATOR}");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once(&mark) {
        let (operator, behind) = behind.split_once('"').unwrap_or((behind, ""));
        out += before;
        out += operator;
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use crate::dialect::postgres::forms::{for_parser, for_server};

    #[test]
    fn operators_that_are_not_known_are_replaced_for_the_parser_and_restored() {
        for (text, marked, restored) in [
            (
                "SELECT a *= b",
                "SELECT a  OPERATOR(\"\u{2}operator *=\")  b",
                "SELECT a  OPERATOR(*=)  b",
            ),
            (
                "SELECT a@@@b, b OPERATOR(pg_catalog.*<) c",
                "SELECT a OPERATOR(\"\u{2}operator @@@\") b, b \
                 OPERATOR(pg_catalog.\"\u{2}operator *<\") c",
                "SELECT a OPERATOR(@@@) b, b OPERATOR(pg_catalog.*<) c",
            ),
            (
                "SELECT a *=-1, 'a *= b', \"*=\" -- *=",
                "SELECT a  OPERATOR(\"\u{2}operator *=\") -1, 'a *= b', \"*=\" -- *=",
                "SELECT a  OPERATOR(*=) -1, 'a *= b', \"*=\" -- *=",
            ),
            (
                "SELECT a operator ( *<> ) b",
                "SELECT a operator ( \"\u{2}operator *<>\" ) b",
                "SELECT a operator ( *<> ) b",
            ),
        ] {
            let own = for_parser(text).into_owned();
            assert_eq!(own, marked);
            assert_eq!(for_server(own), restored);
        }
    }
}
