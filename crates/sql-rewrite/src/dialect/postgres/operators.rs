//! Whether the parser splits operators as PostgreSQL does.
//!
//! PostgreSQL takes as many characters for an operator as it can (4.1.3): `a @@@ b` has one. The
//! parser knows a list of operators, and reads `@@` and `@`, which is another statement.

use std::ops::Range;

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::dialect::lexeme::{Lexeme, Part};

/// What operators consist of.
const CHARACTERS: &[u8] = b"+-*/<>=~!@#%^&|`?";

/// An operator of several characters ends with `+` or `-` only if it has one of these.
const SPECIAL: &[u8] = b"~!@#%^&|`?";

/// Whether the parser reads the operators that the server reads.
pub(super) fn are_those_of_the_server(text: &str, lexemes: &Part) -> bool {
    let is_part = |(lexeme, span): &(Lexeme, Range<usize>)| {
        *lexeme == Lexeme::Operator && CHARACTERS.contains(&text.as_bytes()[span.start])
    };
    let is_beside = |a: &(Lexeme, Range<usize>), b: &(Lexeme, Range<usize>)| {
        is_part(a) && is_part(b) && a.1.end == b.1.start
    };
    lexemes.chunk_by(is_beside).all(|run| match run {
        [first, .., last] => is_read_alike(&text[first.1.start..last.1.end]),
        _ => true,
    })
}

fn is_read_alike(run: &str) -> bool {
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, run).tokenize() else {
        return false;
    };
    let of_parser = tokens.iter().map(Token::to_string);
    of_parser
        .map(|token| token.len())
        .eq(of_server(run).map(str::len))
}

/// The operators of a run, as PostgreSQL's `scan.l` takes them.
fn of_server(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let mut end = bytes.len();
        if !bytes.iter().any(|byte| SPECIAL.contains(byte)) {
            while end > 1 && matches!(bytes[end - 1], b'+' | b'-') {
                end -= 1;
            }
        }
        let (operator, behind) = rest.split_at(end);
        rest = behind;
        (!operator.is_empty()).then_some(operator)
    })
}

#[cfg(test)]
mod tests {
    use super::are_those_of_the_server;
    use crate::dialect::postgres::lexer::lexemes;

    #[test]
    fn an_operator_is_as_long_as_it_can_be() {
        let is_read = |text: &str| are_those_of_the_server(text, &lexemes(text));
        for text in [
            "a = -1",
            "a=-1",
            "a*-1",
            "a - -1",
            "count(*)*-b",
            "a <= b AND c >= d AND e <> f AND g != h",
            "a || b -> 'c' ->> 'd' #>> 'e' @> 'f' <@ 'g' ?| h ?& i",
            "a ~* b AND c !~~* d",
            "a @@ b AND c @@/* a comment */@ d",
            "a @@--\n@ b",
            "a <@- b",
            "|/ 4 + ||/ 8",
            "x::int",
            "f(a => 1)",
        ] {
            assert!(is_read(text), "{text}");
        }
        for text in ["a @@@ b", "a *= b", "a *<> b", "a @-@@ b", "a =~ b"] {
            assert!(!is_read(text), "{text}");
        }
    }
}
