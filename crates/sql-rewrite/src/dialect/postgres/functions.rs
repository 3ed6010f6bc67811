//! Functions that run texts as SQL, so that a statement does not show which tables they touch; and
//! functions that stand in for aggregates of sealed values.

use sqlparser::ast::{
    AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    Ident, ObjectName, OrderByExpr, OrderByOptions, OrderBySort, Subscript, Value, ValueWithSpan,
};

use crate::dialect::lexeme::names_word;

/// Functions that run SQL out of a text, or read a relation that a text names.
const RUN_TEXTS: &[&str] = &[
    "query_to_xml",
    "query_to_xmlschema",
    "query_to_xml_and_xmlschema",
    "cursor_to_xml",
    "cursor_to_xmlschema",
    "table_to_xml",
    "table_to_xmlschema",
    "table_to_xml_and_xmlschema",
    "schema_to_xml",
    "schema_to_xmlschema",
    "schema_to_xml_and_xmlschema",
    "database_to_xml",
    "database_to_xmlschema",
    "database_to_xml_and_xmlschema",
    "ts_stat",
    "ts_rewrite",
    "dblink",
    "dblink_exec",
    "dblink_open",
    "dblink_send_query",
    "dblink_build_sql_insert",
    "dblink_build_sql_update",
    "dblink_build_sql_delete",
    "crosstab",
    "crosstab2",
    "crosstab3",
    "crosstab4",
    "crosstabn",
    "connectby",
    "xpath_table",
    "pg_background_launch",
    "query_export_to_s3",
    "table_import_from_s3",
    "schedule_in_database",
    "run_command_on_all_nodes",
    "run_command_on_coordinator",
    "run_command_on_workers",
    "run_command_on_shards",
    "run_command_on_placements",
    "run_command_on_colocated_placements",
];

/// The same by schema and function, since their names alone are common.
const RUN_TEXTS_OF: &[(&str, &str)] = &[
    ("cron", "schedule"),
    ("cron", "schedule_unique"),
    ("cron", "alter_job"),
    ("timetable", "add_job"),
    ("timetable", "add_task"),
];

/// Whether a function runs SQL out of a text.
pub(crate) fn runs_text(function_schema: Option<&str>, name: &str, search_path: &[String]) -> bool {
    let is_in = |own: &str| match function_schema {
        Some(function_schema) => function_schema == own,
        None => search_path.iter().any(|schema| schema == own),
    };
    let mut named = RUN_TEXTS_OF.iter();
    RUN_TEXTS.contains(&name) || named.any(|(own, function)| *function == name && is_in(own))
}

/// The names of all such functions.
pub(crate) fn running_functions() -> impl Iterator<Item = &'static str> {
    let named = RUN_TEXTS_OF.iter().map(|(_, function)| *function);
    RUN_TEXTS.iter().copied().chain(named)
}

/// Whether a text, in small letters, names a function that runs SQL out of a text.
pub(crate) fn names_running_text(text: &str) -> bool {
    let mut named = RUN_TEXTS_OF.iter();
    RUN_TEXTS.iter().any(|function| names_word(text, function))
        || named.any(|(own, function)| names_word(text, own) && names_word(text, function))
}

/// Whether the text of a function or block, in small letters, runs other texts as SQL.
pub(crate) fn runs_texts(body: &str) -> bool {
    names_word(body, "execute")
        || body.contains("spi_")
        || body.contains("plpy.")
        || names_running_text(body)
}

/// `pg_catalog.array_agg`
pub(crate) fn array_agg() -> ObjectName {
    ObjectName::from(vec![Ident::new("pg_catalog"), Ident::new("array_agg")])
}

/// Turns `MIN(x)` into `(array_agg(x ORDER BY x))[1]`, since before version 18 the server has no
/// `MIN` of `bytea`. NULL sorts last, so the result is NULL only if all values are.
pub(crate) fn first_of_sorted(expression: &mut Expr, greatest: bool) {
    let Expr::Function(function) = expression else {
        return;
    };
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first().cloned()
    else {
        return;
    };
    list.duplicate_treatment = None;
    list.clauses
        .push(FunctionArgumentClause::OrderBy(vec![OrderByExpr {
            expr: argument,
            options: OrderByOptions {
                sort: greatest.then_some(OrderBySort::Desc),
                nulls_first: greatest.then_some(false),
            },
            with_fill: None,
        }]));
    function.name = vec![Ident::new("array_agg")].into();
    let aggregate = std::mem::replace(expression, Expr::Tuple(Vec::new()));
    let one = Value::Number("1".to_owned(), false);
    *expression = Expr::CompoundFieldAccess {
        root: Box::new(Expr::Nested(Box::new(aggregate))),
        access_chain: vec![AccessExpr::Subscript(Subscript::Index {
            index: Expr::Value(ValueWithSpan::from(one)),
        })],
    };
}
