//! A text to its statements, and each to its plan.

use std::ops::Range;

use crate::lexer::{Lexeme, lexemes};
use crate::mention::Mentions;
use crate::{Plan, Planned, Refusal, Schema, effects};

/// Whose SQL a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL's.
    #[default]
    Postgres,
}

/// The plans of a text that may hold several statements; none for a text without any.
///
/// # Errors
/// A statement that may touch a protected table, and that cannot be proved safe, refuses the text.
pub fn plan(text: &str, schema: &Schema, dialect: Dialect) -> Result<Vec<Planned>, Refusal> {
    let mentions = Mentions::of(schema);
    let lexemes = lexemes(text);
    let mut planned = Vec::new();
    for part in lexemes.split(|(lexeme, _)| *lexeme == Lexeme::Semicolon) {
        let (Some((_, first)), Some((_, last))) = (part.first(), part.last()) else {
            continue;
        };
        let span = first.start..last.end.min(text.len());
        let plan = plan_statement(text, &span, part, (schema, &mentions, dialect))?;
        planned.push(Planned { span, plan });
    }
    Ok(planned)
}

fn plan_statement(
    text: &str,
    span: &Range<usize>,
    part: &[(Lexeme, Range<usize>)],
    (schema, mentions, _dialect): (&Schema, &Mentions, Dialect),
) -> Result<Plan, Refusal> {
    let statement = &text[span.clone()];
    let Some(name) = mentions.find(statement) else {
        let words: Vec<String> = part
            .iter()
            .filter(|(lexeme, _)| *lexeme == Lexeme::Word)
            .map(|(_, place)| text[place.clone()].to_ascii_lowercase())
            .collect();
        return Ok(Plan::Pass(effects::of_words(&words, schema)));
    };
    Err(Refusal {
        sqlstate: "0A000",
        message: format!("this statement on protected columns is not supported: {name}"),
        hint: None,
    })
}
