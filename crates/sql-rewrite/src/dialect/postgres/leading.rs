//! What the first words of a statement say of how it may be sent. Comments are no words.

use super::lexer::lexemes;
use crate::dialect::lexeme::words;

/// The first word of a statement that has its effect in a transaction block alone; None: it has it
/// everywhere.
pub fn needs_block(statement: &str) -> Option<&'static str> {
    let words = words(statement, &lexemes(statement));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["lock", ..] => Some("LOCK"),
        ["set", "local" | "transaction" | "constraints", ..] => Some("SET"),
        ["declare", rest @ ..] => {
            // Behind FOR is the query, in which the words may be a name.
            let before_query = rest.iter().position(|word| *word == "for");
            let options = &rest[..before_query.unwrap_or(rest.len())];
            let holds = options.windows(2).any(|pair| pair == ["with", "hold"]);
            (!holds).then_some("DECLARE")
        }
        _ => None,
    }
}

/// Whether a statement is a `COPY`.
pub fn is_copy(statement: &str) -> bool {
    let words = words(statement, &lexemes(statement));
    words.first().is_some_and(|word| word == "copy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_apart_from_comments_and_signs() {
        for (statement, wanted) in [
            ("LOCK/**/TABLE item", Some("LOCK")),
            ("SET /* LOCAL */ LOCAL x TO 1", Some("SET")),
            ("SET -- x\nTRANSACTION READ ONLY", Some("SET")),
            ("SET /* LOCAL */ x TO 1", None),
            ("DECLARE c CURSOR FOR SELECT 1", Some("DECLARE")),
            ("DECLARE c CURSOR WITH /* - */ HOLD FOR SELECT 1", None),
            (
                "DECLARE c CURSOR FOR WITH hold AS (SELECT 1) SELECT * FROM hold",
                Some("DECLARE"),
            ),
            ("SELECT 1", None),
            ("", None),
        ] {
            assert_eq!(needs_block(statement), wanted, "{statement}");
        }
        assert!(is_copy("COPY(SELECT 1) TO STDOUT") && is_copy("copy/**/item FROM STDIN"));
        assert!(!is_copy("SELECT copy FROM item"));
    }
}
