//! The columns that an `INSERT` through the finisher writes.

use sqlparser::ast::{Expr, ObjectName};

use crate::Column;

/// A column that is written.
pub(super) struct Target<'s> {
    pub name: ObjectName,
    pub column: &'s Column,
    pub value: Value,
}

/// What a column gets.
#[derive(Clone)]
pub(super) enum Value {
    /// A column of the finisher's answer.
    Computed,
    /// An expression that the server evaluates.
    Kept(Box<Expr>),
    /// `DEFAULT`
    Default,
}
