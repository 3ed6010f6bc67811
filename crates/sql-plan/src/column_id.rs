//! The identifier of a protected column.

/// A protected column, by its index among the protected columns of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);
