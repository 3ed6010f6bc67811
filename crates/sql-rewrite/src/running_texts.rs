//! Functions that run texts as SQL: what they touch, nobody can tell from the statement.

use crate::Schema;

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

/// The same by schema and function: their names alone are usual ones.
const RUN_TEXTS_OF: &[(&str, &str)] = &[
    ("cron", "schedule"),
    ("cron", "schedule_unique"),
    ("cron", "alter_job"),
    ("timetable", "add_job"),
    ("timetable", "add_task"),
];

/// Whether a function runs SQL out of a text.
pub(crate) fn runs_text(function_schema: Option<&str>, name: &str, schema: &Schema) -> bool {
    let is_in = |own: &str| match function_schema {
        Some(function_schema) => function_schema == own,
        None => schema.search_path.iter().any(|schema| schema == own),
    };
    let mut named = RUN_TEXTS_OF.iter();
    RUN_TEXTS.contains(&name) || named.any(|(own, function)| *function == name && is_in(own))
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

/// Whether `word` stands in `text` as a whole word. Both are in lower case.
pub(crate) fn names_word(text: &str, word: &str) -> bool {
    // `$` can stand in a name, and around one (`$function$SELECT … FROM people$function$`).
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            !inside(text[..at].chars().next_back())
                && !inside(text[at + word.len()..].chars().next())
        })
}
