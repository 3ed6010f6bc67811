//! `UPDATE` and `DELETE` of joined tables, as a write of the one table that they change: the
//! finisher executes the client's text, and each row that it has changed is written by itself.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, FromTable, Ident, Join, JoinConstraint, JoinOperator,
    ObjectName, Statement, TableFactor, TableWithJoins, Update,
};

use crate::{Dialect, Schema};

/// The write of a single table, without its condition. None: it has no joins, or changes several
/// tables.
pub(super) fn alone(statement: &Statement, schema: &Schema) -> Option<Statement> {
    match statement {
        Statement::Update(update) if !update.table.joins.is_empty() => {
            updated(update, schema).map(Statement::Update)
        }
        Statement::Delete(delete) if !delete.tables.is_empty() => {
            deleted(delete, schema.dialect).map(Statement::Delete)
        }
        _ => None,
    }
}

fn factors(table: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    let joined = table.joins.iter().map(|join| &join.relation);
    std::iter::once(&table.relation).chain(joined)
}

/// The name by which a table is known. None: it is none.
fn known_as(factor: &TableFactor) -> Option<&Ident> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = factor
    else {
        return None;
    };
    match alias {
        Some(alias) if alias.columns.is_empty() => Some(&alias.name),
        Some(_) => None,
        None => name.0.last()?.as_ident(),
    }
}

/// Whether each table keeps its own columns in a join: `USING` and `NATURAL` make one of two, which
/// a new value could mean.
fn keeps_columns(join: &Join) -> bool {
    let (JoinOperator::Join(constraint)
    | JoinOperator::Inner(constraint)
    | JoinOperator::CrossJoin(constraint)
    | JoinOperator::Left(constraint)
    | JoinOperator::LeftOuter(constraint)
    | JoinOperator::Right(constraint)
    | JoinOperator::RightOuter(constraint)) = &join.join_operator
    else {
        return false;
    };
    matches!(constraint, JoinConstraint::On(_) | JoinConstraint::None)
}

fn updated(update: &Update, schema: &Schema) -> Option<Update> {
    if !update.table.joins.iter().all(keeps_columns) {
        return None;
    }
    let mut found: Option<&TableFactor> = None;
    let mut assignments = Vec::new();
    for one in &update.assignments {
        let AssignmentTarget::ColumnName(name) = &one.target else {
            return None;
        };
        let column = name.0.last()?.as_ident()?;
        let factor = match name.0.len() {
            1 => sole(update, column, schema)?,
            2 => {
                let qualifier = name.0[0].as_ident()?;
                let mut all = factors(&update.table);
                all.find(|own| known_as(own).is_some_and(|own| own.value == qualifier.value))?
            }
            _ => return None,
        };
        if found.is_some_and(|own| !std::ptr::eq(own, factor)) {
            return None;
        }
        found = Some(factor);
        assignments.push(Assignment {
            target: AssignmentTarget::ColumnName(ObjectName::from(vec![column.clone()])),
            value: one.value.clone(),
        });
    }
    Some(Update {
        table: TableWithJoins {
            relation: found?.clone(),
            joins: Vec::new(),
        },
        assignments,
        selection: None,
        ..update.clone()
    })
}

/// The only table that has a column.
fn sole<'u>(update: &'u Update, column: &Ident, schema: &Schema) -> Option<&'u TableFactor> {
    let name = schema.dialect.fold(column);
    let mut having = Vec::new();
    for factor in factors(&update.table) {
        let TableFactor::Table { name: own, .. } = factor else {
            return None;
        };
        let (database, own) = schema.dialect.split(own)?;
        if schema
            .find(database.as_deref(), &own)?
            .position(&name)
            .is_some()
        {
            having.push(factor);
        }
    }
    match having[..] {
        [one] => Some(one),
        _ => None,
    }
}

fn deleted(delete: &Delete, dialect: Dialect) -> Option<Delete> {
    let ([target], FromTable::WithFromKeyword(from)) = (&delete.tables[..], &delete.from) else {
        return None;
    };
    let (database, _) = dialect.split(target)?;
    let mut all = from.iter().flat_map(factors);
    let factor = all.find(|factor| {
        let own = known_as(factor);
        let is_named =
            own.is_some_and(|own| Some(own) == target.0.last().and_then(|own| own.as_ident()));
        let of_database = match factor {
            TableFactor::Table {
                name, alias: None, ..
            } => dialect.split(name).and_then(|(own, _)| own),
            _ => None,
        };
        is_named && (database.is_none() || database == of_database)
    })?;
    let mut relation = factor.clone();
    if let TableFactor::Table { alias, .. } = &mut relation {
        // Its condition names no table, and such a statement has no alias before every server.
        *alias = None;
    }
    Some(Delete {
        tables: Vec::new(),
        from: FromTable::WithFromKeyword(vec![TableWithJoins {
            relation,
            joins: Vec::new(),
        }]),
        selection: None,
        ..delete.clone()
    })
}
