//! What the proxy fetches from the server to compute with.

use column_value::LogicalType;
use sqlparser::ast::Expr;

use super::scope::Gathered;
use crate::dialect::postgres::calls;
use crate::{ColumnId, Output, OutputKind, Schema};

/// An expression that the server evaluates for the proxy.
#[derive(Clone)]
pub(crate) struct Fetched {
    /// The expression as it is sent.
    pub expression: Expr,
    pub sealed: Option<ColumnId>,
    pub gathered: Option<Gathered>,
    pub logical: Option<LogicalType>,
    /// Whether it is made of constants or parameters, which are sent in clear.
    pub is_free: bool,
}

impl Fetched {
    /// Whether it is this expression, for this column: columns that are sealed together are read
    /// from one. What gives another value each time is evaluated each time.
    pub fn is(&self, expression: &Expr, sealed: Option<ColumnId>) -> bool {
        self.expression == *expression && self.sealed == sealed && !calls::varies(expression, None)
    }

    /// The column of the answer to the proxy.
    pub fn output(&self, schema: &Schema) -> Output {
        let own = self.sealed.map(|column| schema.column(column).logical);
        let is_other = self.gathered.is_none() && own.is_some() && own != self.logical;
        Output {
            shown_as: self.logical.filter(|_| is_other),
            ..Output::shown(self.kind())
        }
    }

    fn kind(&self) -> OutputKind {
        match (self.gathered, self.sealed) {
            (Some((column, function)), _) => OutputKind::Gathered(column, function),
            (None, Some(column)) => OutputKind::Sealed(column),
            (None, None) => OutputKind::Plain,
        }
    }
}
