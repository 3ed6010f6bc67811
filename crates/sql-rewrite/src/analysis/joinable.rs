//! Which protected columns the server may compare with each other.

use crate::{ColumnId, Mode, ProtectedColumn, Refusal, Schema};
use sql_plan::refuse;

/// Whether two columns can be compared with each other.
pub(crate) fn joinable(
    schema: &Schema,
    left: Option<ColumnId>,
    right: Option<ColumnId>,
) -> Result<(), Refusal> {
    let title = |column: &ProtectedColumn| format!("{}.{}", column.table, column.column);
    match (left, right) {
        (None, None) => Ok(()),
        (Some(one), None) | (None, Some(one)) => Err(refuse(format!(
            "protected column {} is compared with a value that is not protected and no constant",
            title(schema.column(one))
        ))),
        (Some(left), Some(right)) => {
            let (left, right) = (schema.column(left), schema.column(right));
            let comparable = left.mode == right.mode && left.mode != Mode::Random;
            if comparable && left.domain == right.domain {
                return Ok(());
            }
            Err(refuse(format!(
                "protected columns {} and {} cannot be compared by the server",
                title(left),
                title(right)
            ))
            .with_hint("Give both the same domain, and the same mode, equality or order."))
        }
    }
}
