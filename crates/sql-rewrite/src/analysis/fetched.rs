//! What the server is asked for, so that the proxy can compute.

use column_value::LogicalType;
use sqlparser::ast::Expr;

use super::scope::Gathered;
use crate::{ColumnId, OutputKind};

/// What the server is asked for.
#[derive(Clone)]
pub(crate) struct Fetched {
    /// As it is sent.
    pub expression: Expr,
    pub sealed: Option<ColumnId>,
    pub gathered: Option<Gathered>,
    pub logical: Option<LogicalType>,
    /// It is made of constants or parameters, which go to the server in clear.
    pub is_free: bool,
}

impl Fetched {
    pub fn kind(&self) -> OutputKind {
        match (self.gathered, self.sealed) {
            (Some((column, function)), _) => OutputKind::Gathered(column, function),
            (None, Some(column)) => OutputKind::Sealed(column),
            (None, None) => OutputKind::Plain,
        }
    }
}
