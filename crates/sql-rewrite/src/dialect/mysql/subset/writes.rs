//! The forms of `INSERT`, `UPDATE` and `DELETE` whose tree is the server's own.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, Insert, OnInsert, OrderByExpr, Query,
    SelectItem, SetExpr, SqliteOnConflict, TableObject, Update,
};

use super::{
    Checked, check_aliases, form, of_count, of_factor, of_name, of_object, of_query, of_tables,
    of_value, proposed,
};

pub(super) fn of_insert(insert: &Insert) -> Checked {
    let Insert {
        insert_token: _,
        optimizer_hints: _,
        or: None,
        ignore,
        into: _,
        table: TableObject::TableName(name),
        table_alias: None,
        columns,
        overwrite: false,
        source: Some(source),
        assignments,
        partitioned: None,
        after_columns,
        has_table_keyword: false,
        on,
        returning,
        output: None,
        replace_into,
        priority: None,
        insert_alias: None,
        settings: None,
        format_clause: None,
        multi_table_insert_type: None,
        multi_table_into_clauses: _,
        multi_table_when_clauses: _,
        multi_table_else_clause: None,
    } = insert
    else {
        return form("INSERT of this form (an alias, a priority)");
    };
    if *ignore && *replace_into {
        return form("REPLACE of this form");
    }
    if !assignments.is_empty() || !after_columns.is_empty() {
        return form("INSERT of this form");
    }
    of_object(name)?;
    columns.iter().try_for_each(of_object)?;
    of_returning(returning.as_deref())?;
    of_duplicates(on.as_ref(), source)?;
    let Query {
        with: None,
        body,
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks,
        ..
    } = &**source
    else {
        return of_source(source);
    };
    let SetExpr::Values(values) = &**body else {
        return of_source(source);
    };
    if !locks.is_empty() || values.explicit_row {
        return form("INSERT of this form");
    }
    let mut given = values.rows.iter().flat_map(|row| &row.content);
    given.try_for_each(of_value)
}

/// The query of an `INSERT … SELECT`.
fn of_source(source: &Query) -> Checked {
    match source.locks.is_empty() && matches!(&*source.body, SetExpr::Select(_)) {
        true => of_query(source),
        false => form("INSERT of this form"),
    }
}

/// What becomes of rows that are there.
fn of_duplicates(on: Option<&OnInsert>, source: &Query) -> Checked {
    let assignments = match on {
        None => return Ok(()),
        Some(OnInsert::DuplicateKeyUpdate(assignments)) => assignments,
        Some(_) => return form("ON CONFLICT"),
    };
    if !matches!(&*source.body, SetExpr::Values(_)) {
        // Names may mean columns of the query there.
        return form("INSERT … SELECT … ON DUPLICATE KEY UPDATE");
    }
    of_assignments(&proposed::as_columns(assignments))
}

pub(super) fn of_update(update: &Update) -> Checked {
    let Update {
        update_token: _,
        optimizer_hints: _,
        table,
        assignments,
        from: None,
        selection,
        returning: None,
        output: None,
        or,
        order_by,
        limit,
    } = update
    else {
        return form("UPDATE of this form (RETURNING)");
    };
    if or.is_some_and(|own| own != SqliteOnConflict::Ignore)
        || (or.is_some() && !table.joins.is_empty())
    {
        return form("UPDATE IGNORE of joined tables");
    }
    if !table.joins.is_empty() && (!order_by.is_empty() || limit.is_some()) {
        return form("UPDATE of joined tables with ORDER BY or LIMIT");
    }
    of_first(order_by, limit.as_ref())?;
    check_aliases(&of_tables(table)?)?;
    of_assignments(assignments)?;
    selection.iter().try_for_each(of_value)
}

fn of_assignments(assignments: &[Assignment]) -> Checked {
    assignments.iter().try_for_each(|assignment| {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return form("an assignment of this form");
        };
        of_object(name)?;
        of_value(&assignment.value)
    })
}

pub(super) fn of_delete(delete: &Delete) -> Checked {
    let Delete {
        delete_token: _,
        optimizer_hints: _,
        tables,
        from: FromTable::WithFromKeyword(from),
        using: None,
        selection,
        returning,
        output: None,
        order_by,
        limit,
    } = delete
    else {
        return form("DELETE of this form");
    };
    if !tables.is_empty() {
        if returning.is_some() || !order_by.is_empty() || limit.is_some() {
            return form("DELETE of joined tables with RETURNING, ORDER BY or LIMIT");
        }
        tables.iter().try_for_each(of_object)?;
        let found = from.iter().map(of_tables).collect::<Result<Vec<_>, _>>()?;
        check_aliases(&found.concat())?;
        return selection.iter().try_for_each(of_value);
    }
    let [one] = &from[..] else {
        return form("DELETE of several tables without their names behind DELETE");
    };
    of_first(order_by, limit.as_ref())?;
    of_returning(returning.as_deref())?;
    if !one.joins.is_empty() {
        return form("DELETE of joined tables without their names behind DELETE");
    }
    of_factor(&one.relation)?;
    selection.iter().try_for_each(of_value)
}

/// Columns of the rows that are written.
fn of_returning(items: Option<&[SelectItem]>) -> Checked {
    let mut items = items.unwrap_or_default().iter();
    items.try_for_each(|item| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => of_name(name),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.iter().try_for_each(of_name)
        }
        SelectItem::ExprWithAlias {
            expr: Expr::Identifier(name),
            alias,
        } => of_name(name).and_then(|()| of_name(alias)),
        SelectItem::ExprWithAlias {
            expr: Expr::CompoundIdentifier(parts),
            alias,
        } => parts.iter().chain([alias]).try_for_each(of_name),
        SelectItem::Wildcard(options) if options.to_string().is_empty() => Ok(()),
        _ => form("RETURNING of something else than columns"),
    })
}

/// `ORDER BY` and `LIMIT` of rows that are written.
fn of_first(order_by: &[OrderByExpr], limit: Option<&Expr>) -> Checked {
    for key in order_by {
        // A number would be the place of an output, and there is none.
        if matches!(&key.expr, Expr::Value(_) | Expr::Nested(_))
            || key.options.nulls_first.is_some()
        {
            return form("ORDER BY of this form");
        }
        of_value(&key.expr)?;
    }
    limit.map_or(Ok(()), of_count)
}
