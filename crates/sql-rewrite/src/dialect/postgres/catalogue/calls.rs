//! The functions that a query on catalogues may call.

use super::{Kind, Word};

/// Functions of the server that catalogues are read with, beside those that begin with `pg_` or
/// `has_`. None of them takes a text for SQL.
const FUNCTIONS: &[&str] = &[
    "abs",
    "acldefault",
    "aclexplode",
    "array",
    "array_agg",
    "array_length",
    "array_lower",
    "array_position",
    "array_remove",
    "array_to_string",
    "array_upper",
    "bit_and",
    "bool_and",
    "bool_or",
    "btrim",
    "cast",
    "ceil",
    "char_length",
    "coalesce",
    "col_description",
    "concat",
    "concat_ws",
    "count",
    "current_database",
    "current_schema",
    "current_schemas",
    "current_setting",
    "dense_rank",
    "every",
    "extract",
    "first_value",
    "floor",
    "format",
    "format_type",
    "generate_series",
    "generate_subscripts",
    "greatest",
    "information_schema",
    "jsonb_agg",
    "json_agg",
    "json_build_object",
    "jsonb_build_object",
    "lag",
    "last_value",
    "lead",
    "least",
    "left",
    "length",
    "lower",
    "ltrim",
    "max",
    "min",
    "nullif",
    "obj_description",
    "octet_length",
    "oidvectortypes",
    "parse_ident",
    "pg_catalog",
    "position",
    "quote_ident",
    "quote_literal",
    "rank",
    "regexp_match",
    "regexp_matches",
    "regexp_replace",
    "replace",
    "reverse",
    "right",
    "round",
    "row",
    "row_number",
    "row_to_json",
    "rtrim",
    "shobj_description",
    "split_part",
    "starts_with",
    "string_agg",
    "string_to_array",
    "strpos",
    "substr",
    "substring",
    "sum",
    "to_char",
    "to_regclass",
    "to_regtype",
    "trim",
    "txid_current",
    "unnest",
    "upper",
    "version",
    "width_bucket",
];

/// Key words and types before a parenthesis.
const KEY_WORDS: &[&str] = &[
    "all",
    "and",
    "any",
    "as",
    "between",
    "by",
    "case",
    "char",
    "character",
    "columns",
    "cross",
    "cube",
    "decimal",
    "distinct",
    "else",
    "except",
    "exists",
    "filter",
    "from",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "intersect",
    "is",
    "join",
    "lateral",
    "like",
    "limit",
    "materialized",
    "not",
    "numeric",
    "offset",
    "on",
    "only",
    "operator",
    "or",
    "over",
    "partition",
    "recursive",
    "rollup",
    "select",
    "sets",
    "similar",
    "some",
    "table",
    "then",
    "timestamp",
    "time",
    "to",
    "union",
    "using",
    "values",
    "varchar",
    "varying",
    "when",
    "where",
    "with",
    "within",
    "bit",
    "interval",
    "precision",
];

/// Functions with `pg_` before them that act, or read what is not a catalogue.
const ACTING: &[&str] = &[
    "pg_advisory",
    "pg_cancel",
    "pg_terminate",
    "pg_read",
    "pg_write",
    "pg_ls",
    "pg_file",
    "pg_logical",
    "pg_replication",
    "pg_create",
    "pg_drop",
    "pg_restore",
    "pg_sleep",
    "pg_switch",
    "pg_reload",
    "pg_rotate",
    "pg_promote",
    "pg_notify",
    "pg_import",
    "pg_export",
    "pg_stat_file",
];

/// Whether everything that is called is known not to take a constant for SQL.
pub(super) fn are_known(words: &[Word]) -> bool {
    words.windows(2).enumerate().all(|(at, pair)| {
        let (Some(name), Kind::Open) = (pair[0].name(), &pair[1].kind) else {
            return true;
        };
        let catalogue =
            (name.starts_with("pg_") || name.starts_with("_pg_") || name.starts_with("has_"))
                && !ACTING.iter().any(|own| name.starts_with(own));
        // `t(a, b)` behind AS or a call or subquery, and the names of WITH.
        catalogue || FUNCTIONS.contains(&name) || KEY_WORDS.contains(&name) || {
            let before = at.checked_sub(1).map(|before| &words[before]);
            before.is_some_and(|before| {
                before.is("as")
                    || before.is("with")
                    || before.is("recursive")
                    || before.is("ordinality")
                    || (before.kind == Kind::Close && !is_followed_by_a_call(words, at - 1))
            })
        }
    })
}

/// Whether an expression begins behind the parenthesis that closes at a word: `DISTINCT ON (…)`,
/// `OPERATOR(…)`.
fn is_followed_by_a_call(words: &[Word], close: usize) -> bool {
    let mut depth = 0;
    for (at, word) in words[..=close].iter().enumerate().rev() {
        match word.kind {
            Kind::Close => depth += 1,
            Kind::Open => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let before = at.checked_sub(1).map(|before| &words[before]);
            return before.is_none_or(|before| before.is("on") || before.is("operator"));
        }
    }
    true
}
