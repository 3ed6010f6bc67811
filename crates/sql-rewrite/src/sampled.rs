//! `TABLESAMPLE`: the server chooses rows by chance, whatever they hold.

use sqlparser::ast::{
    Expr, TableSample, TableSampleKind, TableSampleMethod, TableSampleModifier, Value,
};

/// Whether a sample is of the form `TABLESAMPLE method (number) [REPEATABLE (number)]`, so that
/// nothing in it needs a look.
pub(crate) fn is_of_numbers(sample: &TableSampleKind) -> bool {
    let TableSampleKind::AfterTableAlias(sample) = sample else {
        return false;
    };
    let TableSample {
        modifier: TableSampleModifier::TableSample,
        name: Some(TableSampleMethod::Bernoulli | TableSampleMethod::System),
        quantity: Some(quantity),
        seed,
        bucket: None,
        offset: None,
    } = &**sample
    else {
        return false;
    };
    let is_number = |value: &Value| matches!(value, Value::Number(..));
    let has_number = match &quantity.value {
        Expr::Value(value) => is_number(&value.value),
        _ => false,
    };
    let seed = seed.as_ref().map(|seed| &seed.value.value);
    has_number && quantity.unit.is_none() && seed.is_none_or(is_number)
}
