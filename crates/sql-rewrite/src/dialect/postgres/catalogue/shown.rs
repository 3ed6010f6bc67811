//! The subquery that replaces a catalogue in `FROM`.

use std::fmt::Write;

use column_value::LogicalType;

use crate::{ColumnId, Literal, Schema};

/// What of `pg_attribute` depends on the type: column, and the type's own column in `pg_type`.
const OF_THE_TYPE: &[(&str, &str)] = &[
    ("attlen", "typlen"),
    ("attbyval", "typbyval"),
    ("attalign", "typalign"),
    ("attstorage", "typstorage"),
    ("attcollation", "typcollation"),
];

/// `pg_attribute` with the logical types; None where no column of the server is protected.
pub(super) fn attributes(schema: &Schema) -> Option<String> {
    let mut rows = String::new();
    for (relation, number, id) in placed(schema) {
        let logical = schema.column(id).logical;
        separate(&mut rows);
        write!(
            rows,
            "({relation}::pg_catalog.oid, {number}::pg_catalog.int2, {}, {}{})",
            type_number(logical),
            modifier(logical),
            not_null(id, schema)
        )
        .expect("a String takes all");
    }
    if rows.is_empty() || schema.catalogue.attribute_columns.is_empty() {
        return None;
    }
    let mut columns = String::new();
    for name in &schema.catalogue.attribute_columns {
        let of_type = OF_THE_TYPE.iter().find(|(own, _)| own == name);
        separate(&mut columns);
        match (name.as_str(), of_type) {
            ("atttypid", _) => columns.push_str("COALESCE(m.typid, a.atttypid) AS atttypid"),
            ("atttypmod", _) => columns.push_str("COALESCE(m.typmod, a.atttypmod) AS atttypmod"),
            ("attnotnull", _) if has_groups(schema) => {
                columns.push_str("COALESCE(m.always, a.attnotnull) AS attnotnull");
            }
            (_, Some((own, other))) => {
                write!(columns, "COALESCE(l.{other}, a.{own}) AS {own}").expect("a String");
            }
            (name, None) => write!(columns, "a.{}", quoted(name)).expect("a String"),
        }
    }
    let always = always(schema);
    Some(format!(
        "SELECT {columns} FROM pg_catalog.pg_attribute AS a \
         LEFT JOIN (VALUES {rows}) AS m (relid, num, typid, typmod{always}) \
         ON m.relid = a.attrelid AND m.num = a.attnum \
         LEFT JOIN pg_catalog.pg_type AS l ON l.oid = m.typid"
    ))
}

/// What of `information_schema.columns` depends on the type: the column, the type that it has
/// there, and how the server itself computes it from number and modifier of a type.
const INFORMATION: &[(&str, &str, &str)] = &[
    (
        "data_type",
        "character_data",
        "CASE WHEN l.typcategory OPERATOR(pg_catalog.=) 'A' THEN 'ARRAY' \
         ELSE pg_catalog.format_type(m.typid, NULL) END",
    ),
    (
        "character_maximum_length",
        "cardinal_number",
        "information_schema._pg_char_max_length(m.typid, m.typmod)",
    ),
    (
        "character_octet_length",
        "cardinal_number",
        "information_schema._pg_char_octet_length(m.typid, m.typmod)",
    ),
    (
        "numeric_precision",
        "cardinal_number",
        "information_schema._pg_numeric_precision(m.typid, m.typmod)",
    ),
    (
        "numeric_precision_radix",
        "cardinal_number",
        "information_schema._pg_numeric_precision_radix(m.typid, m.typmod)",
    ),
    (
        "numeric_scale",
        "cardinal_number",
        "information_schema._pg_numeric_scale(m.typid, m.typmod)",
    ),
    (
        "datetime_precision",
        "cardinal_number",
        "information_schema._pg_datetime_precision(m.typid, m.typmod)",
    ),
    ("udt_name", "sql_identifier", "l.typname"),
    ("column_default", "character_data", "m.filled"),
];

/// `information_schema.columns` with the logical types.
pub(super) fn columns(schema: &Schema) -> Option<String> {
    let mut rows = String::new();
    for table in schema.tables.values() {
        for column in &table.columns {
            let Some(rule) = column.protected.map(|id| schema.column(id)) else {
                continue;
            };
            // Other defaults are values of the column: the server does not get to see them.
            let filled = match rule.default {
                Some(Literal::TransactionTime) => "'CURRENT_TIMESTAMP'",
                _ => "NULL",
            };
            separate(&mut rows);
            write!(
                rows,
                "({}, {}, {}, {}, {}, {filled}::pg_catalog.text{})",
                constant(&table.schema),
                constant(&table.name),
                constant(&column.name),
                type_number(rule.logical),
                modifier(rule.logical),
                not_null(rule.id, schema)
            )
            .expect("a String takes all");
        }
    }
    if rows.is_empty() || schema.catalogue.information_columns.is_empty() {
        return None;
    }
    let mut columns = String::new();
    for name in &schema.catalogue.information_columns {
        separate(&mut columns);
        match INFORMATION.iter().find(|(own, ..)| own == name) {
            None if name == "is_nullable" && has_groups(schema) => columns.write_str(
                "CASE WHEN m.always IS NULL THEN c.is_nullable ELSE (CASE WHEN m.always THEN 'NO' \
                 ELSE 'YES' END)::information_schema.yes_or_no END AS is_nullable",
            ),
            Some((own, domain, value)) => write!(
                columns,
                "CASE WHEN m.typid IS NULL THEN c.{own} \
                 ELSE ({value})::information_schema.{domain} END AS {own}"
            ),
            None => write!(columns, "c.{}", quoted(name)),
        }
        .expect("a String takes all");
    }
    let always = always(schema);
    Some(format!(
        "SELECT {columns} FROM information_schema.columns AS c \
         LEFT JOIN (VALUES {rows}) AS m (sch, tab, col, typid, typmod, filled{always}) \
         ON m.sch = c.table_schema AND m.tab = c.table_name AND m.col = c.column_name \
         LEFT JOIN pg_catalog.pg_type AS l ON l.oid = m.typid"
    ))
}

/// Whether columns are sealed together: what is NOT NULL is in their rules then.
fn has_groups(schema: &Schema) -> bool {
    !schema.catalogue.groups.is_empty()
}

/// The name of what [`not_null`] gives, behind other names.
fn always(schema: &Schema) -> &'static str {
    match has_groups(schema) {
        true => ", always",
        false => "",
    }
}

/// Whether a column is NOT NULL, behind other values; NULL: the server knows.
fn not_null(id: ColumnId, schema: &Schema) -> &'static str {
    match (has_groups(schema), schema.is_member(id)) {
        (false, _) => "",
        (true, false) => ", NULL::pg_catalog.bool",
        (true, true) if schema.column(id).not_null => ", TRUE",
        (true, true) => ", FALSE",
    }
}

/// Relation, number and rule of every protected column in the server, those of indexes too.
fn placed(schema: &Schema) -> Vec<(u32, i16, ColumnId)> {
    let of_tables = schema.tables.values().flat_map(|table| {
        let columns = table.columns.iter();
        columns.filter_map(|column| Some((table.oid, column.number, column.protected?)))
    });
    let mut placed: Vec<_> = of_tables.collect();
    placed.extend(&schema.catalogue.index_columns);
    // Maps give no order, and equal schemas shall give equal texts.
    placed.sort_unstable();
    placed
}

pub(super) fn separate(list: &mut String) {
    if !list.is_empty() {
        list.push_str(", ");
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A constant that no setting of the server reads otherwise.
pub(super) fn constant(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "''");
    let prefix = if text.contains('\\') { " E" } else { "" };
    format!("{prefix}'{escaped}'")
}

/// The number of a type, as an expression.
fn type_number(logical: LogicalType) -> String {
    let name = match logical {
        LogicalType::Boolean => "bool",
        LogicalType::SmallInt => "int2",
        LogicalType::Integer => "int4",
        LogicalType::BigInt => "int8",
        LogicalType::Real => "float4",
        LogicalType::Double => "float8",
        LogicalType::Numeric(_) => "numeric",
        LogicalType::Text => "text",
        LogicalType::Varchar(_) => "varchar",
        LogicalType::Char(_) => "bpchar",
        LogicalType::Bytes => "bytea",
        LogicalType::Date => "date",
        LogicalType::Time(_) => "time",
        LogicalType::Timestamp(_) => "timestamp",
        LogicalType::TimestampTz(_) => "timestamptz",
        LogicalType::Uuid => "uuid",
        LogicalType::Json => "json",
        LogicalType::Opaque(opaque) if opaque.named().is_some() => {
            return format!("'{}'::pg_catalog.oid", opaque.oid());
        }
        LogicalType::Whole(whole) => whole.name(),
        LogicalType::SignedTime(_) => "time signed",
        LogicalType::Enum(_) => "anyenum",
        LogicalType::Set(_) => "set",
        LogicalType::Bits(_) => "bit unsigned",
        LogicalType::Opaque(opaque) => &opaque.catalogue_name(),
    };
    format!("'pg_catalog.{name}'::pg_catalog.regtype::pg_catalog.oid")
}

/// PostgreSQL's `atttypmod`: limits of the type and the four bytes of a header (varchar.c,
/// numeric.c), or the digits of a second alone; -1: none.
fn modifier(logical: LogicalType) -> i64 {
    match logical {
        LogicalType::Varchar(Some(length)) | LogicalType::Char(length) => i64::from(length) + 4,
        LogicalType::Numeric(Some((precision, scale))) => {
            (i64::from(precision) << 16 | i64::from(scale)) + 4
        }
        LogicalType::Opaque(opaque) => i64::from(opaque.modifier()),
        logical => logical.second_digits().map_or(-1, i64::from),
    }
}
