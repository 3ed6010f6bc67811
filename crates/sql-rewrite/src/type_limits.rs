//! Types without length, precision and scale.

use column_value::LogicalType;

/// Whether a value of one type is written as one of the other: a length that it keeps does not
/// show.
pub(crate) fn look_alike(one: LogicalType, other: LogicalType) -> bool {
    let is_text = |own| matches!(own, LogicalType::Text | LogicalType::Varchar(_));
    one.with_all_digits() == other.with_all_digits() || (is_text(one) && is_text(other))
}

/// The type of a computed value: it has no length, precision or scale.
pub(crate) fn without_limits(logical: LogicalType) -> LogicalType {
    match logical {
        LogicalType::Numeric(_) => LogicalType::Numeric(None),
        LogicalType::Varchar(_) => LogicalType::Text,
        other => other.with_all_digits(),
    }
}
