//! `SELECT … FOR UPDATE` of one row by a unique key: the values that it reads stay true until the
//! transaction ends, so an increment need not read the row again.

use sqlparser::ast::{
    BinaryOperator, Expr, LockType, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
    Value,
};

use crate::analysis::{Analysis, template};
use crate::dialect::marks;
use crate::{
    ColumnId, Dialect, Form, Literal, LockKey, LockedColumn, Output, OutputKind, Schema, Source,
    Table, Translated,
};

/// The key of the row that an analysed query locks; None where it locks none, or may lock several.
pub(crate) fn of_query(
    analysis: &mut Analysis,
    query: &mut Query,
    outputs: &[Output],
) -> Option<LockKey> {
    let [lock] = query.locks.as_slice() else {
        return None;
    };
    if lock.lock_type != LockType::Update || query.with.is_some() {
        return None;
    }
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    let table = single_table(analysis, select)?;
    let condition = select.selection.as_mut()?;
    let (pairs, _) = equalities(analysis, table, condition);
    let key = unique_key(table, &pairs)?;
    let mut read = Vec::new();
    for (index, (item, output)) in select.projection.iter().zip(outputs).enumerate() {
        let (SelectItem::UnnamedExpr(expression)
        | SelectItem::ExprWithAlias {
            expr: expression, ..
        }) = item
        else {
            continue;
        };
        if let (OutputKind::Sealed(column), Some(_)) =
            (output.kind, column_name(expression, analysis.dialect()))
            // The lock cache keeps values of single columns.
            && !analysis.schema.is_member(column)
        {
            read.push(LockedColumn {
                column,
                output: index,
            });
        }
    }
    Some(LockKey {
        table: (table.schema.clone(), table.name.clone()),
        key,
        read,
        wider: None,
    })
}

/// An analysed query that locks a row, with the sealed numbers of the row that it leaves out: read
/// with the lock, they need not be read again to be incremented. A number that the key compares is
/// not incremented by it. None if there are no such numbers, or if the client need not be allowed
/// to read them.
pub(crate) fn wider(
    mut query: Box<Query>,
    narrow: &Translated,
    schema: &Schema,
) -> Option<Translated> {
    let locks = narrow.locks.as_ref()?;
    let table = schema.tables.get(&locks.table)?;
    if table.has_column_privileges {
        return None;
    }
    let columns = table.columns.iter().enumerate();
    let missing: Vec<ColumnId> = columns
        .filter(|(index, _)| !locks.key.iter().any(|(own, _)| own == index))
        .filter_map(|(_, column)| column.protected)
        .filter(|column| schema.column(*column).logical.is_number() && !locks.reads(*column))
        .filter(|column| !schema.is_member(*column))
        .collect();
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    if missing.is_empty() {
        return None;
    }
    let mut wider = narrow.clone();
    let locks = wider.locks.as_mut()?;
    // A list that is empty stands for columns that are all plain.
    let plain = Output::shown(OutputKind::Plain);
    wider.outputs.resize(select.projection.len(), plain);
    for column in missing {
        let name = Expr::Identifier(schema.dialect.quote(&schema.column(column).column));
        select.projection.push(SelectItem::UnnamedExpr(name));
        locks.read.push(LockedColumn {
            column,
            output: wider.outputs.len(),
        });
        wider.outputs.push(Output {
            hidden: true,
            ..Output::shown(OutputKind::Sealed(column))
        });
    }
    wider.template = template::of(&mut Statement::Query(query), schema.dialect).ok()?;
    Some(wider)
}

/// The table of a query over nothing else.
fn single_table<'s>(analysis: &Analysis<'s>, select: &Select) -> Option<&'s Table> {
    let [from] = select.from.as_slice() else {
        return None;
    };
    let TableFactor::Table { name, alias, .. } = &from.relation else {
        return None;
    };
    // An alias with columns renames those of the table.
    let renames = alias
        .as_ref()
        .is_some_and(|alias| !alias.columns.is_empty());
    // What is kept of a row found by ONLY would be taken for all rows of its key: those of children
    // too.
    if renames || !from.joins.is_empty() || select.distinct.is_some() || marks::has_only(name) {
        return None;
    }
    let (schema, name) = analysis.dialect().split(name)?;
    analysis.schema.find(Some(&schema?), &name)
}

/// Indices of columns, and the holes that they must equal; whether that is the whole condition.
pub(crate) fn equalities(
    analysis: &mut Analysis,
    table: &Table,
    condition: &mut Expr,
) -> (Vec<(usize, usize)>, bool) {
    let mut pairs = Vec::new();
    let mut whole = true;
    let mut rest = vec![condition];
    while let Some(part) = rest.pop() {
        match part {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => rest.extend([&mut **left, &mut **right]),
            Expr::Nested(inner) => rest.push(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => match equality(analysis, table, left, right) {
                Some(pair) => pairs.push(pair),
                None => whole = false,
            },
            _ => whole = false,
        }
    }
    (pairs, whole)
}

fn equality(
    analysis: &mut Analysis,
    table: &Table,
    left: &mut Expr,
    right: &mut Expr,
) -> Option<(usize, usize)> {
    let (column, value) = match (
        column_name(left, analysis.dialect()),
        column_name(right, analysis.dialect()),
    ) {
        (Some(column), None) => (column, right),
        (None, Some(column)) => (column, left),
        _ => return None,
    };
    let index = table.position(&column)?;
    if let Some(hole) = template::marked(value) {
        return Some((index, hole));
    }
    // A whole number that is compared with a plain column of whole numbers: as a parameter it means
    // the same.
    let is_whole = table.columns[index].physical.is_some_and(|physical| {
        use column_value::LogicalType as T;
        matches!(physical, T::SmallInt | T::Integer | T::BigInt)
    });
    match value {
        Expr::Value(literal) => match &literal.value {
            Value::Number(digits, false)
                if is_whole && digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_digit()) =>
            {
                let source = Source::Literal(Literal::Number(digits.clone()));
                let hole = analysis.hole_number(source, Form::Plain);
                *value = template::marker(hole);
                Some((index, hole))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The columns and holes of a unique key, if all of its columns are given.
pub(crate) fn unique_key(table: &Table, pairs: &[(usize, usize)]) -> Option<Vec<(usize, usize)>> {
    table.unique_keys.iter().find_map(|key| {
        let found = key
            .iter()
            .map(|index| pairs.iter().find(|(column, _)| column == index).copied());
        found.collect()
    })
}

/// The name of the column that an expression over one table is.
fn column_name(expression: &Expr, dialect: Dialect) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(dialect.fold(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|own| dialect.fold(own)),
        Expr::Nested(inner) => column_name(inner, dialect),
        _ => None,
    }
}
