//! Columns that are read beside those that the client asks for.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, SelectItem, SetExpr, Statement, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use crate::analysis::template;
use crate::names::quoted;
use crate::parse::parse;
use crate::{
    ColumnId, Dialect, LockedColumn, Output, OutputKind, Schema, Translated, guard, verify,
};

/// The same `SELECT … FOR UPDATE` with more sealed columns of the locked row, hidden from the
/// client, so that they need not be read again when they are incremented. None: the statement
/// locks no row by its key, or reads the columns already.
pub fn widen(translated: &Translated, columns: &[ColumnId], schema: &Schema) -> Option<Translated> {
    let locks = translated.locks.as_ref()?;
    let table = schema.tables.get(&locks.table)?;
    let missing: Vec<ColumnId> = columns
        .iter()
        .copied()
        .filter(|column| !locks.read.iter().any(|read| read.column == *column))
        .filter(|column| {
            table
                .columns
                .iter()
                .any(|own| own.protected == Some(*column))
        })
        .collect();
    if missing.is_empty() {
        return None;
    }
    let text = translated.template.render(|hole, text| {
        text.push('$');
        text.push_str(&(hole + 1).to_string());
    });
    // Each operator takes a few bytes.
    guard::on_a_stack_for(text.len() / 4, || wider(translated, &text, missing, schema))
}

fn wider(
    translated: &Translated,
    text: &str,
    missing: Vec<ColumnId>,
    schema: &Schema,
) -> Option<Translated> {
    let mut statement = parse(text, Dialect::Postgres).ok()?;
    let _: ControlFlow<()> = statement.visit(&mut Markers);
    let Statement::Query(query) = &mut statement else {
        return None;
    };
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    let mut wider = translated.clone();
    let mut locks = translated.locks.clone()?;
    if wider.outputs.is_empty() {
        let plain = Output {
            name: None,
            kind: OutputKind::Plain,
            hidden: false,
        };
        wider.outputs = vec![plain; select.projection.len()];
    }
    for column in missing {
        let name = quoted(&schema.column(column).column);
        select
            .projection
            .push(SelectItem::UnnamedExpr(Expr::Identifier(name)));
        locks.read.push(LockedColumn {
            column,
            output: wider.outputs.len(),
        });
        wider.outputs.push(Output {
            name: None,
            kind: OutputKind::Sealed(column),
            hidden: true,
        });
    }
    wider.template = template::of(&mut statement).ok()?;
    verify::check_translated(&wider, schema).ok()?;
    wider.locks = Some(locks);
    Some(wider)
}

/// Gives parameters the names of holes again.
struct Markers;

impl VisitorMut for Markers {
    type Break = ();

    fn post_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$')
            && let Ok(number) = number.parse::<usize>()
            && let Some(hole) = number.checked_sub(1)
        {
            value.value = template::marker_value(hole);
        }
        ControlFlow::Continue(())
    }
}
