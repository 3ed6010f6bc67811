//! Rows that the finisher has computed, in a statement for the server: an array for each column.

use sqlparser::ast::{Expr, Ident, Query, SelectItem, Statement, TableFactor};

use super::legs::{read, select_of};
use crate::analysis::{Analysis, template};
use crate::{
    Dialect, FinisherQuery, FinisherWrite, Form, Hole, InsertedColumn, InsertedRows, Output, Plan,
    Purpose, Refusal, Source, Translated,
};

/// The relation of the arrays.
const ROWS: &str = "strongroom_rows";

/// The rows of a statement while it is written.
#[derive(Default)]
pub(super) struct Rows {
    /// What is sent for each row ([`Source::Computed`]).
    pub columns: Vec<InsertedColumn>,
    /// The arrays.
    pub arrays: Vec<Expr>,
    /// How many arrays come before those of the columns.
    before: usize,
}

impl Rows {
    /// Rows whose first arrays are these.
    pub fn behind(arrays: Vec<Expr>) -> Self {
        Self {
            columns: Vec::new(),
            before: arrays.len(),
            arrays,
        }
    }

    /// A column of the rows, by its index in [`Self::columns`].
    pub fn column(&self, index: usize) -> Expr {
        column(self.before + index)
    }

    /// Puts a column of the rows in the place of a computed value, or of the default of a protected
    /// column.
    ///
    /// # Errors
    /// The value is not the next one.
    pub fn take(&mut self, value: &mut Expr, analysis: &mut Analysis) -> Result<(), Refusal> {
        let Some(number) = template::marked(value) else {
            return Ok(());
        };
        let hole = &mut analysis.holes[number];
        let index = match (&hole.source, hole.form) {
            (Source::Computed(index), _) => *index,
            (Source::Literal(literal), Form::Sealed(id, Purpose::Store)) => {
                let default = InsertedColumn::Default(literal.clone(), id);
                self.columns.push(default);
                self.columns.len() - 1
            }
            _ => return Ok(()),
        };
        if self.arrays.len() != self.before + index {
            return Err(sql_plan::unsupported("values in this order"));
        }
        hole.source = Source::Computed(index);
        if let Form::Sealed(id, purpose) = hole.form {
            hole.form = Form::SealedArray(id, purpose);
        }
        let column = self.column(index);
        self.arrays.push(std::mem::replace(value, column));
        Ok(())
    }
}

/// `UNNEST(NULL) AS strongroom_rows (c0, c1, …)`, for so many arrays.
pub(super) fn relation(count: usize) -> String {
    let names: Vec<String> = (0..count).map(name).collect();
    format!("UNNEST(NULL) AS {ROWS} ({})", names.join(", "))
}

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
    let text = format!("SELECT 1 FROM {}", relation(arrays.len()));
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
