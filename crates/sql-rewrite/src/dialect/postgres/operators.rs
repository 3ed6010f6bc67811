//! Operators that the parser splits otherwise than PostgreSQL does.
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

/// The operators that the parser would split otherwise than the server, or join.
pub(super) fn unread(text: &str, lexemes: &Part) -> Vec<Range<usize>> {
    let is_part = |(lexeme, span): &(Lexeme, Range<usize>)| {
        *lexeme == Lexeme::Operator && CHARACTERS.contains(&text.as_bytes()[span.start])
    };
    let is_beside = |a: &(Lexeme, Range<usize>), b: &(Lexeme, Range<usize>)| {
        is_part(a) && is_part(b) && a.1.end == b.1.start
    };
    let mut unread = Vec::new();
    for run in lexemes.chunk_by(is_beside) {
        let [first, .., last] = run else { continue };
        let own = &text[first.1.start..last.1.end];
        if is_read_alike(own) {
            continue;
        }
        let mut start = first.1.start;
        for operator in of_server(own) {
            let end = start + operator.len();
            // One character may be a sign or a star.
            if operator.len() > 1 {
                unread.push(start..end);
            }
            start = end;
        }
    }
    unread
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
    use super::unread;
    use crate::dialect::postgres::lexer::lexemes;

    #[test]
    fn an_operator_is_as_long_as_it_can_be() {
        let found = |text: &'static str| {
            let spans = unread(text, &lexemes(text)).into_iter();
            spans.map(|span| &text[span]).collect::<Vec<_>>()
        };
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
            assert_eq!(found(text), [""; 0], "{text}");
        }
        for (text, operators) in [
            ("a @@@ b", ["@@@"]),
            ("a *= b", ["*="]),
            ("a *<>-b", ["*<>"]),
            ("a @-@@ b", ["@-@@"]),
            ("a =~ b", ["=~"]),
        ] {
            assert_eq!(found(text), operators, "{text}");
        }
    }
}
