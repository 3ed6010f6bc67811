//! Rows that the finisher has computed, in a statement for the server: an array for each column.

use sqlparser::ast::{Expr, Ident, Query, SelectItem, TableFactor};

use super::legs::{read, select_of};
use crate::{Dialect, Refusal};

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
