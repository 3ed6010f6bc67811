//! Rows that the finisher has computed, in a statement for the server: an array for each column.

use sqlparser::ast::{Expr, Ident, Query, SelectItem, Statement, TableFactor};

use super::legs::{read, select_of};
use crate::analysis::template;
use crate::{
    Dialect, FinisherQuery, FinisherWrite, Hole, InsertedColumn, InsertedRows, Output, Plan,
    Refusal, Translated,
};

/// The relation of the arrays.
const ROWS: &str = "strongroom_rows";

/// A column of the rows.
pub(super) fn column(index: usize) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::new(ROWS), Ident::new(name(index))])
}

fn name(index: usize) -> String {
    format!("c{index}")
}

/// `SELECT items FROM UNNEST(arrays) AS strongroom_rows (c0, c1, …)`.
///
/// # Errors
/// The dialect has no such form.
pub(super) fn select(
    items: Vec<SelectItem>,
    arrays: Vec<Expr>,
    dialect: Dialect,
) -> Result<Query, Refusal> {
    let names: Vec<String> = (0..arrays.len()).map(name).collect();
    let text = format!(
        "SELECT 1 FROM UNNEST(NULL) AS {ROWS} ({})",
        names.join(", ")
    );
    let mut query = read(&text, dialect)?;
    let select = select_of(&mut query)?;
    select.projection = items;
    for from in &mut select.from {
        if let TableFactor::UNNEST { array_exprs, .. } = &mut from.relation {
            *array_exprs = arrays;
            return Ok(query);
        }
    }
    Err(sql_plan::unsupported("rows of this form"))
}

/// The statement for the server behind a query of the finisher, with the holes of the analysis.
///
/// # Errors
/// It does not print as it is.
pub(super) fn translated(
    mut statement: Statement,
    holes: &[Hole],
    outputs: Vec<Output>,
    query: &FinisherQuery,
    dialect: Dialect,
) -> Result<Translated, Refusal> {
    let template = template::of(&mut statement, dialect)?;
    let (template, holes, _) = template::compact(template, holes, Vec::new());
    Ok(Translated {
        template,
        holes,
        outputs,
        parameter_types: query.fetch.parameter_types.clone(),
        locks: None,
    })
}

/// The plan of a statement that takes the finisher's answer as arrays of these columns.
pub(super) fn plan(
    query: FinisherQuery,
    columns: Vec<InsertedColumn>,
    write: Translated,
    verb: &'static str,
) -> Plan {
    Plan::FinisherWrite(Box::new(FinisherWrite {
        query,
        columns: Vec::new(),
        inserted: Some(InsertedRows {
            width: columns.len(),
            columns,
        }),
        upsert: None,
        write,
        returning: None,
        verb,
    }))
}
