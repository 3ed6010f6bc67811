//! The names that the server gives to output columns without one (`FigureColname`).
//!
//! Invariant: a column of a query in `FROM` or `WITH` has the same name in the server as here. Else
//! a name could mean a column of one query here, and of another one in the server. So each such
//! column is sent with an alias, unless it is a column name itself.

use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, DataType, Expr, SelectItem, SetExpr, Statement, TrimWhereField,
};

use super::names::{folded, quoted, split};

/// What the server calls a column that has no name.
pub(crate) const UNNAMED: &str = "?column?";

/// Gives the columns of a query the names that they have.
pub(crate) fn name_columns(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => name_items(&mut select.projection),
        SetExpr::Query(query) => name_columns(&mut query.body),
        SetExpr::SetOperation { left, .. } => name_columns(left),
        SetExpr::Insert(Statement::Insert(insert)) => {
            name_items(insert.returning.iter_mut().flatten());
        }
        SetExpr::Update(Statement::Update(update)) => {
            name_items(update.returning.iter_mut().flatten());
        }
        SetExpr::Delete(Statement::Delete(delete)) => {
            name_items(delete.returning.iter_mut().flatten());
        }
        _ => {}
    }
}

fn name_items<'i>(items: impl IntoIterator<Item = &'i mut SelectItem>) {
    items.into_iter().for_each(name_item);
}

/// Gives a column of a query the name that it has.
pub(crate) fn name_item(item: &mut SelectItem) {
    let SelectItem::UnnamedExpr(expression) = &*item else {
        return;
    };
    if matches!(
        expression,
        Expr::Identifier(_) | Expr::CompoundIdentifier(_)
    ) {
        return;
    }
    if has_unknown_name(expression) {
        return;
    }
    let name = output_name(expression).unwrap_or_else(|| UNNAMED.to_owned());
    *item = SelectItem::ExprWithAlias {
        expr: expression.clone(),
        alias: quoted(&name),
    };
}

/// The name that the server gives to a column of a query; None: `?column?`, or it is not known.
pub(crate) fn output_name(expression: &Expr) -> Option<String> {
    figured(expression).0
}

/// Whether the name of a column is not known as the text stands: it is that of the first column of
/// `*` in a query.
pub(crate) fn has_unknown_name(expression: &Expr) -> bool {
    matches!(figured(expression), (None, true))
}

/// A name, and whether it takes precedence over that of a cast or a CASE around it; None of
/// precedence: it is not known.
fn figured(expression: &Expr) -> (Option<String>, bool) {
    match expression {
        Expr::Identifier(name) => (Some(folded(name)), true),
        Expr::CompoundIdentifier(parts) => (parts.last().map(folded), true),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => figured(inner),
        Expr::Function(function) => (split(&function.name).map(|(_, name)| name), true),
        Expr::Cast {
            expr, data_type, ..
        } => match figured(expr) {
            (name, true) => (name, true),
            _ => (type_name(data_type), false),
        },
        Expr::TypedString(typed) => (type_name(&typed.data_type), false),
        Expr::Interval(_) => (Some("interval".to_owned()), false),
        Expr::Case { else_result, .. } => match else_result.as_deref().map(figured) {
            Some((name, true)) => (name, true),
            _ => (Some("case".to_owned()), false),
        },
        Expr::Subquery(query) => (first_name(&query.body), true),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let mut fields = access_chain.iter().rev().filter_map(|access| match access {
                AccessExpr::Dot(field) => Some(field),
                AccessExpr::Subscript(_) => None,
            });
            match fields.next() {
                Some(field) => (output_name(field), true),
                None => figured(root),
            }
        }
        _ => {
            let name = function_name(expression);
            (name.map(str::to_owned), name.is_some())
        }
    }
}

/// The name of what the server has a function or a word of its own for.
fn function_name(expression: &Expr) -> Option<&'static str> {
    Some(match expression {
        Expr::Exists { negated: false, .. } => "exists",
        Expr::Array(_) => "array",
        Expr::Tuple(_) => "row",
        Expr::Extract { .. } => "extract",
        Expr::Position { .. } => "position",
        Expr::Overlay { .. } => "overlay",
        Expr::Substring {
            shorthand: true, ..
        } => "substr",
        Expr::Substring { .. } => "substring",
        Expr::Ceil { .. } => "ceil",
        Expr::Floor { .. } => "floor",
        Expr::AtTimeZone { .. } => "timezone",
        Expr::Trim { trim_where, .. } => match trim_where {
            None | Some(TrimWhereField::Both) => "btrim",
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
        },
        _ => return None,
    })
}

/// The name of the first column of a query within an expression; None: it is not known.
fn first_name(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(expression) if has_unknown_name(expression) => None,
            SelectItem::UnnamedExpr(expression) => {
                Some(output_name(expression).unwrap_or_else(|| UNNAMED.to_owned()))
            }
            SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
            _ => None,
        },
        SetExpr::Query(query) => first_name(&query.body),
        SetExpr::SetOperation { left, .. } => first_name(left),
        SetExpr::Values(_) => Some("column1".to_owned()),
        _ => None,
    }
}

/// The name of a type as the catalogue has it; None: it is not known.
fn type_name(data_type: &DataType) -> Option<String> {
    let text = match data_type {
        DataType::Custom(name, _) => return split(name).map(|(_, name)| name),
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
        ) => return type_name(element),
        _ => data_type.to_string().to_ascii_lowercase(),
    };
    // Without length, precision and scale.
    let words = match (text.find('('), text.find(')')) {
        (Some(open), Some(close)) if open < close => {
            format!("{}{}", &text[..open], &text[close + 1..])
        }
        _ => text,
    };
    let name = match words.trim_end() {
        "smallint" => "int2",
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "real" => "float4",
        "float" | "double precision" => "float8",
        "decimal" | "dec" => "numeric",
        "boolean" => "bool",
        "char" | "character" => "bpchar",
        "character varying" | "char varying" => "varchar",
        "bit varying" => "varbit",
        word if word.starts_with("interval ") => "interval",
        "time without time zone" => "time",
        "time with time zone" => "timetz",
        "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        word if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => word,
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::parse::statements;
    use super::name_columns;
    use sqlparser::ast::{SetExpr, Statement};

    #[track_caller]
    fn named(expression: &str) -> String {
        let text = format!("SELECT {expression}");
        let mut parsed = statements(&text).expect("an expression");
        let Some(Statement::Query(query)) = parsed.first_mut() else {
            panic!("{text} is a query");
        };
        name_columns(&mut query.body);
        let SetExpr::Select(select) = &*query.body else {
            panic!("{text} is a SELECT");
        };
        let item = select.projection[0].to_string();
        let name = item.rsplit_once(" AS ").map_or("", |(_, name)| name);
        name.trim_matches('"').to_owned()
    }

    /// As PostgreSQL 17 names them.
    #[test]
    fn columns_have_the_names_that_the_server_gives() {
        for (expression, name) in [
            ("CASE WHEN a THEN b END", "case"),
            ("CASE WHEN a THEN b ELSE c.d END", "d"),
            ("CASE WHEN a THEN b ELSE lower(c) END", "lower"),
            ("CASE WHEN a THEN b ELSE 1 END", "case"),
            ("CASE WHEN a THEN b ELSE CASE WHEN c THEN d END END", "case"),
            ("CASE WHEN a THEN b ELSE 1::integer END", "case"),
            ("CAST(a AS integer)", "a"),
            ("(1 + 1)::integer", "int4"),
            ("1::bigint[]", "int8"),
            ("CAST(CASE WHEN a THEN 1 END AS numeric(5,2))", "numeric"),
            ("DATE '2024-01-01'", "date"),
            ("'now'::timestamp(3) with time zone", "timestamptz"),
            ("'x'::s.kind", "kind"),
            ("(SELECT a FROM t UNION SELECT b FROM t)", "a"),
            ("(SELECT 1)", "?column?"),
            ("(array_agg(a))[1]", "array_agg"),
            ("COALESCE(a, b)", "coalesce"),
            ("NULLIF(a, b)", "nullif"),
            ("GREATEST(a, b)", "greatest"),
            ("ARRAY[a]", "array"),
            ("(a, b)", "row"),
            ("EXISTS (SELECT 1)", "exists"),
            ("NOT EXISTS (SELECT 1)", "?column?"),
            ("a COLLATE \"C\" || b", "?column?"),
            ("(a) COLLATE \"C\"", "a"),
            ("EXTRACT(year FROM a)", "extract"),
            ("a AT TIME ZONE 'UTC'", "timezone"),
            ("substring(a FROM 1)", "substring"),
            ("TRIM(LEADING 'x' FROM a)", "ltrim"),
            ("a IS NULL", "?column?"),
            ("(a - b)::interval day to second", "interval"),
            // A column name needs no alias.
            ("a.b", ""),
            // What it is called is known when `*` is written out.
            ("(SELECT * FROM t)", ""),
            ("(SELECT (SELECT t.* FROM t))::text", ""),
            ("CASE WHEN a THEN b ELSE (SELECT * FROM t) END", ""),
        ] {
            assert_eq!(named(expression), name, "{expression}");
        }
    }
}
