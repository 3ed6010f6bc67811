//! Names of SQL: folding, quoting, their length in the catalogue, and names of types.

use std::borrow::Cow;

use sqlparser::ast::{ArrayElemTypeDef, DataType, Ident, ObjectName};

use crate::dialect::marks;

/// Longer names are cut (PostgreSQL, `NAMEDATALEN` - 1).
pub const NAME_SIZE_MAX: usize = 63;

/// Columns that every table has (PostgreSQL 5.5); none of them is ever sealed.
pub(crate) const SYSTEM_COLUMNS: &[&str] = &["ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"];

/// Where a row lies; partitions of one table number their rows alike.
pub(crate) const ROW_LOCATOR: [&str; 2] = ["ctid", "tableoid"];

/// The types of these.
pub(crate) const LOCATOR_TYPES: [&str; 2] = ["tid", "oid"];

/// The same, and which transaction has written it so.
pub(crate) const ROW_VERSION: [&str; 3] = ["ctid", "tableoid", "xmin"];

/// Words that are functions though they look like names (PostgreSQL 9.9.5, 9.27).
pub(crate) const FUNCTION_WORDS: &[&str] = &[
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// A name as the catalogue has it: A to Z are made small unless it was quoted. (Other letters stay
/// in an encoding of several bytes: PostgreSQL, `downcase_identifier`.)
pub(crate) fn folded(ident: &Ident) -> String {
    cut(match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    })
}

/// What the server leaves of a name, at a whole character (`truncate_identifier`).
pub(crate) fn cut(mut name: String) -> String {
    if name.len() > NAME_SIZE_MAX {
        let mut end = NAME_SIZE_MAX;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
    }
    name
}

/// Schema, if one is named, and name of an object; None for a name of more parts than two (a
/// database before it must be the own one, and is dropped), or one that is computed. A mark of
/// [`marks`] before it is left out.
pub(crate) fn split(name: &ObjectName) -> Option<(Option<String>, String)> {
    let is_marked = marks::is_marked(name);
    let parts: Option<Vec<String>> = name
        .0
        .iter()
        .skip(usize::from(is_marked))
        .map(|part| part.as_ident().map(folded))
        .collect();
    match parts?.as_slice() {
        [table] => Some((None, table.clone())),
        [schema, table] | [_, schema, table] => Some((Some(schema.clone()), table.clone())),
        _ => None,
    }
}

/// The name of a function that may be the server's own: it names no schema, or that of the server.
pub(crate) fn builtin(name: &ObjectName) -> Option<String> {
    let (schema, name) = split(name)?;
    schema
        .is_none_or(|schema| schema == "pg_catalog")
        .then_some(name)
}

/// A name in quotes, which means the same whatever word it is.
pub(crate) fn quoted(name: &str) -> Ident {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && name.bytes().all(plain) && !is_reserved(name) {
        Ident::new(name)
    } else {
        Ident::with_quote('"', name)
    }
}

fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    sqlparser::keywords::ALL_KEYWORDS
        .binary_search(&upper.as_str())
        .is_ok()
}

/// Types of the server itself that the parser knows by name only.
const TYPES: &str = "aclitem any anyarray anycompatible anycompatiblearray \
    anycompatiblemultirange anycompatiblenonarray anycompatiblerange anyelement anyenum \
    anymultirange anynonarray anyrange bit bool box bpchar bytea char cid cidr circle cstring date \
    datemultirange daterange event_trigger fdw_handler float4 float8 gtsvector \
    index_am_handler inet int2 int2vector int4 int4multirange int4range int8 int8multirange \
    int8range internal interval json jsonb jsonpath language_handler line lseg macaddr macaddr8 \
    money name numeric nummultirange numrange oid oidvector path pg_ddl_command pg_lsn \
    pg_node_tree pg_snapshot point polygon record refcursor table_am_handler text tid time \
    timestamp timestamptz timetz trigger tsm_handler tsmultirange tsquery tsrange tstzmultirange \
    tstzrange tsvector txid_snapshot unknown uuid varbit varchar void xid xid8 xml";

/// Whether a name is that of a type of the server itself.
pub(crate) fn is_type(name: &str) -> bool {
    TYPES.split_whitespace().any(|own| own == name)
}

/// Whether every server has the type, and not an extension or a user.
pub(crate) fn is_built_in(data_type: &DataType) -> bool {
    match data_type {
        DataType::Custom(name, _) => builtin(name).is_some_and(|name| {
            let name = name.strip_prefix('_').unwrap_or(&name);
            is_type(name)
        }),
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::Qualified(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => is_built_in(element),
        _ => true,
    }
}

/// The type of elements from which a cast makes this type, without its modifier where the name
/// can be without: `character` alone is of one character, and `bit` of one bit.
pub(crate) fn array_element(type_name: &str) -> Cow<'_, str> {
    let is_of_one = ["character(", "bit("]
        .iter()
        .any(|start| type_name.starts_with(start));
    match type_name.split_once('(') {
        Some((name, rest)) if !is_of_one => {
            let behind = rest.split_once(')').map_or("", |(_, behind)| behind);
            Cow::Owned(format!("{name}{behind}"))
        }
        _ => Cow::Borrowed(type_name),
    }
}

#[cfg(test)]
mod tests {
    use super::{TYPES, array_element};

    #[test]
    fn elements_have_no_modifier_but_where_a_name_means_one_without() {
        for (type_name, element) in [
            ("numeric(12,2)", "numeric"),
            ("character varying(40)", "character varying"),
            (
                "timestamp(3) without time zone",
                "timestamp without time zone",
            ),
            ("character(6)", "character(6)"),
            ("bit(3)", "bit(3)"),
            ("bit varying(3)", "bit varying"),
            ("bigint", "bigint"),
        ] {
            assert_eq!(array_element(type_name), element);
        }
    }

    #[cfg(unix)]
    #[test]
    fn types_are_listed_as_the_server_has_them() {
        if !server_testkit::is_installed() {
            return;
        }
        let server = server_testkit::Postgres::start();
        let query = "SELECT typname::text FROM pg_type
             WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype <> 'c'";
        let rows = server.connect().query(query, &[]).expect("names");
        let has: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let unknown = TYPES
            .split_whitespace()
            .filter(|name| !has.iter().any(|own| own == name));
        assert_eq!(
            unknown.collect::<Vec<_>>(),
            [""; 0],
            "no types of the server"
        );
    }
}
