//! What the analysis of a query has to know of its surroundings.

use crate::ColumnId;
use crate::analysis::scope::Scope;

/// Columns that a query's rows are stored in.
pub(crate) type Targets<'t> = Option<&'t [Option<ColumnId>]>;

/// What the analysis of a query knows of its surroundings.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueryContext<'c> {
    /// Relations of the outer queries.
    pub outer: Option<&'c Scope<'c>>,
    /// Columns that its rows are stored in.
    pub targets: Targets<'c>,
    /// Columns that the columns of a VALUES list in its FROM are stored in.
    pub values_targets: Targets<'c>,
    /// The order of its rows does not matter.
    pub order_is_free: bool,
}

impl<'c> QueryContext<'c> {
    /// A query whose rows are not stored.
    pub fn within(outer: Option<&'c Scope<'c>>) -> Self {
        Self {
            outer,
            ..Self::default()
        }
    }
}
