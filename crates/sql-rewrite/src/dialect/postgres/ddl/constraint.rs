//! Keys, foreign keys and checks over protected columns.

use sqlparser::ast::{
    ColumnDef, ColumnOption, ExcludeConstraint, Expr, ForeignKeyConstraint, Ident, IndexColumn,
    ReferentialAction, TableConstraint,
};

use super::{find, guarded, refusal, refuse_reading, subject_of};
use crate::dialect::lexeme::names_word;
use crate::dialect::postgres::names::{folded, split};
use crate::schema::build::fitting::foreign_key_problem;
use crate::schema::views::View;
use crate::{Mode, ProtectedColumn, Refusal, Schema, Table};

/// Checks a constraint of a table, as it will be.
pub(super) fn check(own: &TableConstraint, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    if let Some(name) = name(own) {
        guarded::refuse_name(name, table)?;
    }
    match own {
        TableConstraint::PrimaryKey(key) => check_key(&key.columns, table, schema),
        TableConstraint::Unique(key) => check_key(&key.columns, table, schema),
        TableConstraint::ForeignKey(key) => check_foreign_key(key, &key.columns, table, schema),
        TableConstraint::Check(check) => check_expression(&check.expr, "a check", table, schema),
        // The index has been checked when it was made.
        TableConstraint::PrimaryKeyUsingIndex(_) | TableConstraint::UniqueUsingIndex(_) => Ok(()),
        TableConstraint::Exclude(own) => check_exclusion(own, table, schema),
        TableConstraint::Index(_) | TableConstraint::FulltextOrSpatial(_) => {
            if table.is_protected() {
                return Err(refusal(
                    &format!("protected table {}.{}", table.schema, table.name),
                    "only primary keys, unique and foreign keys and checks are supported",
                    "Leave the constraint out.",
                ));
            }
            Ok(())
        }
    }
}

fn name(own: &TableConstraint) -> Option<&Ident> {
    match own {
        TableConstraint::PrimaryKey(key) => key.name.as_ref(),
        TableConstraint::Unique(key) => key.name.as_ref(),
        TableConstraint::ForeignKey(key) => key.name.as_ref(),
        TableConstraint::Check(check) => check.name.as_ref(),
        TableConstraint::PrimaryKeyUsingIndex(key) | TableConstraint::UniqueUsingIndex(key) => {
            key.name.as_ref()
        }
        TableConstraint::Exclude(own) => own.name.as_ref(),
        TableConstraint::Index(_) | TableConstraint::FulltextOrSpatial(_) => None,
    }
}

/// Checks an option of a column that is a constraint, or reads other columns.
pub(super) fn check_option(
    option: &ColumnOption,
    column: &Ident,
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    match option {
        ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_) => {
            check_unique(&folded(column), table, schema)
        }
        ColumnOption::ForeignKey(key) => {
            check_foreign_key(key, std::slice::from_ref(column), table, schema)
        }
        ColumnOption::Check(check) => check_expression(&check.expr, "a check", table, schema),
        ColumnOption::Generated {
            generation_expr: Some(expr),
            ..
        } => check_expression(expr, "a generated column", table, schema),
        ColumnOption::Default(expr) => refuse_reading(expr, "DEFAULT", schema),
        _ => Ok(()),
    }
}

fn rule<'a>(column: &str, table: &Table, schema: &'a Schema) -> Option<&'a ProtectedColumn> {
    let at = table.position(column)?;
    table.columns[at].protected.map(|id| schema.column(id))
}

fn check_key(columns: &[IndexColumn], table: &Table, schema: &Schema) -> Result<(), Refusal> {
    for column in columns {
        match &column.column.expr {
            Expr::Identifier(name) => check_unique(&folded(name), table, schema)?,
            other => check_expression(other, "a key", table, schema)?,
        }
    }
    Ok(())
}

/// `EXCLUDE`: the server compares values by operators, which mean nothing for ciphertext.
fn check_exclusion(own: &ExcludeConstraint, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    for element in &own.elements {
        let mut compared = &element.column.column.expr;
        while let Expr::Nested(inner) = compared {
            compared = inner;
        }
        match compared {
            Expr::Identifier(name) if rule(&folded(name), table, schema).is_some() => {
                return Err(refusal(
                    &subject_of(table, &folded(name)),
                    "EXCLUDE compares values by its operators, and the server has ciphertext",
                    "Exclude by plain columns only. Where the operator is =, use UNIQUE over a \
                     column of mode \"equality\".",
                ));
            }
            Expr::Identifier(_) => {}
            other => check_expression(other, "EXCLUDE", table, schema)?,
        }
    }
    let condition = own.where_clause.iter();
    let mut condition = condition.map(|own| check_expression(own, "EXCLUDE", table, schema));
    condition.try_for_each(|checked| checked)
}

/// Equal values must be equal in the server.
pub(super) fn check_unique(column: &str, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    match rule(column, table, schema) {
        Some(rule) if rule.mode == Mode::Random => Err(refusal(
            &subject_of(table, column),
            "a key needs equality, and equal values of mode \"random\" look different",
            "Give the rule mode = \"equality\".",
        )),
        _ => Ok(()),
    }
}

/// An expression that the server computes.
pub(super) fn check_expression(
    expr: &Expr,
    what: &str,
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    if !table.is_protected() {
        return refuse_reading(expr, what, schema);
    }
    // Not even a test for NULL: what the catalogues show of the expression does not tell it from
    // others.
    if View::of_table(schema, table).is_free(expr) {
        return Ok(());
    }
    Err(refusal(
        &format!("protected table {}.{}", table.schema, table.name),
        &format!("{what} over protected columns would compute on ciphertext"),
        "Write it over other columns, or check the values in the application.",
    ))
}

/// Whether the server may compute an expression over the columns of a protected table.
pub(super) fn is_allowed(expr: &Expr, table: &Table, schema: &Schema) -> bool {
    View::of_table(schema, table).allowed(expr)
}

/// Both sides of a foreign key must be sealed alike.
fn check_foreign_key(
    key: &ForeignKeyConstraint,
    columns: &[Ident],
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    let names: Vec<String> = columns.iter().map(folded).collect();
    let own: Vec<_> = names.iter().map(|name| rule(name, table, schema)).collect();
    let other = referred(key, columns.len(), table, schema);
    for (at, name) in names.iter().enumerate() {
        let problem = match &other {
            Some(other) => foreign_key_problem(own[at], other[at]),
            None if own[at].is_some() => Some("the table that it refers to is not known"),
            None => None,
        };
        if let Some(problem) = problem {
            let subject = subject_of(table, name);
            return Err(refusal(
                &subject,
                &format!("foreign key to {}: {problem}", key.foreign_table),
                "Columns that a foreign key ties have one mode and one domain.",
            ));
        }
        let is_given_on = key.on_update == Some(ReferentialAction::Cascade);
        if let Some(problem) = own[at].and_then(|own| own.cascade_problem(is_given_on)) {
            return Err(refusal(
                &subject_of(table, name),
                problem,
                "Leave ON UPDATE CASCADE out, or the check of the column that refers.",
            ));
        }
    }
    let sets_default =
        [key.on_delete, key.on_update].contains(&Some(ReferentialAction::SetDefault));
    match own.iter().position(Option::is_some) {
        Some(at) if sets_default => Err(refusal(
            &subject_of(table, &names[at]),
            "SET DEFAULT: the server has no default for it, the proxy fills it in",
            "Use SET NULL, CASCADE or RESTRICT.",
        )),
        _ => Ok(()),
    }
}

/// The table that a foreign key refers to, once `table` is there as it will be.
fn referred_table<'a>(
    key: &ForeignKeyConstraint,
    table: &'a Table,
    schema: &'a Schema,
) -> Option<&'a Table> {
    let (named_schema, name) = split(&key.foreign_table)?;
    let found = find(&key.foreign_table, schema);
    let index = |own: &str| schema.search_path.iter().position(|one| one == own);
    let is_first = || match (index(&table.schema), found) {
        (Some(own), Some(found)) => index(&found.schema).is_none_or(|other| own <= other),
        // A temporary one comes before it.
        (Some(_), None) => !schema.temporary.relations.contains(&name),
        (None, _) => false,
    };
    let is_itself =
        name == table.name && named_schema.map_or_else(is_first, |named| named == table.schema);
    if is_itself { Some(table) } else { found }
}

/// Names the schema of what a foreign key refers to.
pub(super) fn put_schema(own: &mut TableConstraint, table: &Table, schema: &Schema) {
    if let TableConstraint::ForeignKey(key) = own {
        put_referred(key, table, schema);
    }
}

/// The same of the foreign keys of a column.
pub(super) fn put_schemas(definition: &mut ColumnDef, table: &Table, schema: &Schema) {
    for option in &mut definition.options {
        if let ColumnOption::ForeignKey(key) = &mut option.option {
            put_referred(key, table, schema);
        }
    }
}

fn put_referred(key: &mut ForeignKeyConstraint, table: &Table, schema: &Schema) {
    if let Some(other) = referred_table(key, table, schema) {
        super::put_schema(&mut key.foreign_table, &other.schema);
    }
}

/// The rules of the columns that a foreign key refers to; None: nothing is known of the table,
/// or it has no such key, which the server will say.
fn referred<'a>(
    key: &ForeignKeyConstraint,
    count: usize,
    table: &Table,
    schema: &'a Schema,
) -> Option<Vec<Option<&'a ProtectedColumn>>> {
    let other = referred_table(key, table, schema)?;
    let rules: Vec<_> = if key.referred_columns.is_empty() {
        let primary = other.primary_key()?;
        let columns = primary.iter().map(|at| &other.columns[*at]);
        columns
            .map(|column| column.protected.map(|id| schema.column(id)))
            .collect()
    } else {
        let names = key.referred_columns.iter().map(folded);
        names
            .map(|name| schema_rule(&name, other, schema))
            .collect()
    };
    (rules.len() == count).then_some(rules)
}

/// The rule of a column of a table that may not be there yet.
fn schema_rule<'a>(name: &str, table: &Table, schema: &'a Schema) -> Option<&'a ProtectedColumn> {
    rule(name, table, schema).or_else(|| schema.rule(&table.schema, &table.name, name))
}

/// Ciphertext has no ranges and lists; hashes of equal values are equal.
pub(super) fn check_partition_key(
    key: Option<&Expr>,
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    let Some(key) = key else {
        return Ok(());
    };
    // The parser takes `HASH (a, b)` for a call.
    let text = key.to_string().to_lowercase();
    let by_hash = text.starts_with("hash");
    for column in &table.columns {
        let Some(id) = column.protected else {
            continue;
        };
        let named = names_word(&text, &column.name.to_lowercase());
        if named && !(by_hash && schema.column(id).mode != Mode::Random) {
            return Err(refusal(
                &subject_of(table, &column.name),
                "decides on the partition of a row, and ciphertext has no ranges and lists",
                "Use PARTITION BY HASH over a column of mode \"equality\", or another column.",
            ));
        }
    }
    Ok(())
}
