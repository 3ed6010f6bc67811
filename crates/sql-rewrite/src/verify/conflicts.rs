//! Rows that an `INSERT` finds in the table, and that get values which the finisher computes: each
//! of these is sealed for its column. What the statement takes in clear is what the `INSERT` stores
//! in a plain column.

use std::ops::ControlFlow;

use crate::walk;

use super::label::{Atom, Labels};
use super::{Computes, Doubt, check_outputs, computed, hidden_by, labelled};
use crate::analysis::Constant;
use crate::{FinisherWrite, Form, InsertedColumn, InsertedRows, Purpose, Source};
use sql_plan::Upsert;

/// Checks the statement that writes a row. Returns the values that may meet protected columns.
pub(super) fn check(
    plan: &FinisherWrite,
    (upsert, inserted): (&Upsert, &InsertedRows),
    labels: &mut Labels,
) -> Result<Vec<Atom>, Doubt> {
    let columns = labelled(&upsert.update, Computes::ARRAYS, labels)?;
    check_outputs(&upsert.update.outputs, &columns, labels)?;
    for hole in &upsert.update.holes {
        let Source::Computed(number) = hole.source else {
            continue;
        };
        let is_right = match number.checked_sub(upsert.columns.len()) {
            None => hole.form == Form::Sealed(upsert.columns[number], Purpose::Store),
            Some(number) => {
                let passed = upsert.passed.get(number).copied();
                hole.form == Form::Plain
                    && passed.is_some_and(|index| is_stored_plain(plan, inserted, index))
            }
        };
        if !is_right {
            return Err(Doubt(
                "a new value of a row that is there is not sealed for its column".to_owned(),
            ));
        }
    }
    let mut hidden = hidden_by(&upsert.update.holes);
    let parsed = labels.schema.dialect.parse(&upsert.text);
    let parsed = parsed.map_err(|_| Doubt("the query over pairs cannot be read".to_owned()))?;
    let _: ControlFlow<()> = walk::expressions(&parsed, |expression| {
        if let Ok(Some(constant)) = Constant::of(expression) {
            let of_client = match &constant.source {
                Source::Parameter(number) => *number < plan.query.parameters,
                _ => true,
            };
            if of_client {
                hidden.extend(computed::atoms_of(&constant.source));
            }
        }
        ControlFlow::Continue(())
    });
    Ok(hidden)
}

/// Whether the `INSERT` stores a column of the answer in a plain column: that of which it was
/// proved that no protected column took part in its values.
fn is_stored_plain(plan: &FinisherWrite, inserted: &InsertedRows, index: usize) -> bool {
    let is_plain = matches!(inserted.columns.get(index), Some(InsertedColumn::Plain(_)));
    let mut holes = plan.write.holes.iter();
    is_plain
        && holes.any(|hole| {
            matches!(hole.source, Source::Computed(own) if own == index) && hole.form == Form::Plain
        })
}
