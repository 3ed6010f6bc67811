//! What a statement stores in the columns of a unique key, row by row: for the server's message
//! that a row with these values is there.

use sqlparser::ast::{AssignmentTarget, Expr, SetExpr, Statement, TableObject, Value};

use super::names;
use crate::{Schema, Table, Translated};

/// A value that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// That of a hole, by its number.
    Hole(usize),
    /// A whole number, as it is written.
    Whole(String),
}

/// What the statement stores in the columns of a key, for each row. Empty: that is not known.
pub fn stored(translated: &Translated, key: &str, schema: &Schema) -> Vec<Vec<Stored>> {
    let text = schema.dialect.with_parameters(&translated.template);
    let Ok(statement) = schema.dialect.parse(&text) else {
        return Vec::new();
    };
    let found = match &statement {
        Statement::Insert(insert) => {
            let TableObject::TableName(name) = &insert.table else {
                return Vec::new();
            };
            let columns = insert.columns.iter();
            let columns = columns.map(|name| name.0.last()?.as_ident().map(names::fold));
            let rows = match insert.source.as_ref().map(|source| &*source.body) {
                Some(SetExpr::Values(values)) => {
                    let rows = values.rows.iter();
                    rows.map(|row| row.content.iter().collect()).collect()
                }
                _ => Vec::new(),
            };
            Some((name, columns.collect::<Option<Vec<_>>>(), rows))
        }
        // In one of several tables it is not known whose columns are meant.
        Statement::Update(update) if update.table.joins.is_empty() => {
            let sqlparser::ast::TableFactor::Table { name, .. } = &update.table.relation else {
                return Vec::new();
            };
            let columns = update.assignments.iter().map(|one| match &one.target {
                AssignmentTarget::ColumnName(name) => name.0.last()?.as_ident().map(names::fold),
                AssignmentTarget::Tuple(_) => None,
            });
            let row: Vec<&Expr> = update.assignments.iter().map(|one| &one.value).collect();
            Some((name, columns.collect(), vec![row]))
        }
        _ => None,
    };
    let Some((name, Some(columns), rows)) = found else {
        return Vec::new();
    };
    let split = schema.dialect.split(name);
    let table = split.and_then(|(database, name)| schema.find(database.as_deref(), &name));
    let places = table.and_then(|table| places(table, key, &columns, schema));
    let Some(places) = places else {
        return Vec::new();
    };
    let values = rows.iter().map(|row| {
        let values = places
            .iter()
            .map(|place| row.get(*place).and_then(|own| value(own)));
        values.collect::<Option<Vec<_>>>()
    });
    values.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Where the columns of a key are among the given ones. Its name may have that of the table before
/// it.
fn places(table: &Table, key: &str, given: &[String], schema: &Schema) -> Option<Vec<usize>> {
    let own = (table.schema.clone(), table.name.clone());
    let keys = schema.catalogue.unique_key_names.get(&own)?;
    let key = key.strip_prefix(&format!("{}.", table.name)).unwrap_or(key);
    let number = keys.iter().position(|own| own == key)?;
    let columns = table.unique_keys.get(number)?.iter();
    let place = |column: &usize| {
        let name = &table.columns.get(*column)?.name;
        match given.is_empty() {
            true => Some(*column),
            false => given.iter().position(|own| own == name),
        }
    };
    columns.map(place).collect()
}

fn value(value: &Expr) -> Option<Stored> {
    let Expr::Value(value) = value else {
        return None;
    };
    match &value.value {
        Value::Placeholder(name) => {
            let number: usize = name.strip_prefix('$')?.parse().ok()?;
            number.checked_sub(1).map(Stored::Hole)
        }
        Value::Number(digits, _) => {
            let whole: u64 = digits.parse().ok()?;
            Some(Stored::Whole(whole.to_string()))
        }
        _ => None,
    }
}
