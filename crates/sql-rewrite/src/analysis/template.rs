//! Prints the changed tree as a text with holes, and proves that the text means the tree.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Statement, Value, ValueWithSpan, VisitorMut};

use crate::walk;
use crate::{Dialect, Hole, Piece, Refusal, Template};
use sql_plan::{refuse, unsupported};

/// Stands around the number of a hole. A text of a client that has it is refused.
pub(crate) const MARK: char = '\u{1}';

/// The expression that stands for a hole.
pub(crate) fn marker(hole: usize) -> Expr {
    Expr::Value(ValueWithSpan::from(marker_value(hole)))
}

pub(crate) fn marker_value(hole: usize) -> Value {
    Value::Placeholder(format!("{MARK}{hole}{MARK}"))
}

/// The number of the hole that an expression stands for.
pub(crate) fn marked(expression: &Expr) -> Option<usize> {
    match expression {
        Expr::Value(ValueWithSpan {
            value: Value::Placeholder(name),
            ..
        }) => name.strip_prefix(MARK)?.strip_suffix(MARK)?.parse().ok(),
        Expr::Nested(inner) => marked(inner),
        _ => None,
    }
}

/// What the server has in the column of the last member of a group: a value without bytes.
pub(crate) fn empty_value() -> Expr {
    Expr::value(Value::SingleQuotedString(String::new()))
}

/// The text of a statement. It is read again, and must be the same statement: what the printer
/// would lose or change is refused.
pub(crate) fn of(statement: &mut Statement, dialect: Dialect) -> Result<Template, Refusal> {
    let template = of_text(&statement.to_string(), dialect)?;
    let text = dialect.with_parameters(&template);
    let _: ControlFlow<()> = walk::visit_mut(statement, &mut Numbers);
    if dialect.reads_back(&text, statement) {
        Ok(template)
    } else {
        Err(refuse(
            "this form of the statement cannot be sent on safely: it prints as another one",
        ))
    }
}

fn of_text(text: &str, dialect: Dialect) -> Result<Template, Refusal> {
    let mut pieces = Vec::new();
    for (index, part) in text.split(MARK).enumerate() {
        match (index % 2, part) {
            (0, "") => {}
            (0, text) => pieces.push(Piece::Text(dialect.for_server(text.to_owned()))),
            (_, number) => {
                let hole = number
                    .parse()
                    .map_err(|_| unsupported("the character U+0001"))?;
                pieces.push(Piece::Hole(hole));
            }
        }
    }
    Ok(Template { pieces })
}

/// The same text over the holes that it has only, with indices of a key that follow them.
pub(crate) fn compact(
    mut template: Template,
    holes: &[Hole],
    key: Vec<(usize, usize)>,
) -> (Template, Vec<Hole>, Vec<(usize, usize)>) {
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut used = Vec::new();
    for piece in &mut template.pieces {
        if let Piece::Hole(hole) = piece {
            let number = *numbers.entry(*hole).or_insert_with(|| {
                used.push(holes[*hole].clone());
                used.len() - 1
            });
            *hole = number;
        }
    }
    let key = key
        .into_iter()
        .filter_map(|(column, hole)| Some((column, *numbers.get(&hole)?)));
    let key = key.collect();
    (template, used, key)
}

/// Gives holes the names that parameters have in the trees of all dialects.
struct Numbers;

impl VisitorMut for Numbers {
    type Break = ();

    fn post_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &mut value.value
            && let Some(hole) = name
                .strip_prefix(MARK)
                .and_then(|rest| rest.strip_suffix(MARK))
                .and_then(|digits| digits.parse::<usize>().ok())
        {
            *name = format!("${}", hole + 1);
        }
        ControlFlow::Continue(())
    }
}
