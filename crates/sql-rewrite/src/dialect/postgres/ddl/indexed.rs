//! What holds of every index over a protected table.

use sqlparser::ast::{CreateIndex, Expr, Ident, IndexType, Statement};

use super::refusal;
use crate::{Refusal, Table};

/// Whether an index is of a kind that finds equal bytes.
pub(super) fn is_sorted(create: &CreateIndex) -> bool {
    matches!(
        create.using,
        None | Some(IndexType::BTree | IndexType::Hash)
    )
}

/// The text of an index. The parser itself would write `DESC text_ops`, which nobody reads: the
/// operator class stands before the order.
pub(super) fn text_of(create: &CreateIndex) -> String {
    let mut shown = create.clone();
    for column in &mut shown.columns {
        if let Some(class) = column.operator_class.take() {
            let expr = &mut column.column.expr;
            // A name without quotes is written as it stands.
            *expr = Expr::Identifier(Ident::new(format!("{expr} {class}")));
        }
    }
    Statement::CreateIndex(shown).to_string()
}

/// The server makes the name of an index from its columns.
pub(super) fn other_name(table: &Table) -> Refusal {
    refusal(
        &format!("protected table {}.{}", table.schema, table.name),
        "an index without a name, of which columns are left out, would get another name than usual",
        "Give the index a name, or leave the columns out: the server finds nothing by them.",
    )
}
