//! What stands around a query: an argument of its analysis, where it is not a state of it.

use crate::ColumnId;
use crate::analysis::scope::Scope;

/// Columns that a query's rows are stored in.
pub(crate) type Targets<'t> = Option<&'t [Option<ColumnId>]>;

/// What stands around a query.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueryContext<'c> {
    /// Relations of the queries around.
    pub outer: Option<&'c Scope<'c>>,
    /// Columns that its rows are stored in.
    pub targets: Targets<'c>,
    /// Columns that those of VALUES in its FROM are stored in.
    pub values_targets: Targets<'c>,
    /// Its order means nothing.
    pub order_is_free: bool,
}

impl<'c> QueryContext<'c> {
    /// A query whose rows are stored nowhere.
    pub fn within(outer: Option<&'c Scope<'c>>) -> Self {
        Self {
            outer,
            ..Self::default()
        }
    }
}
