//! Which protected column.

/// A protected column, by its place in [`crate::Schema::protected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);
