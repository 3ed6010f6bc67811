//! Questions to `information_schema` about columns and checks. In the place of its table stands a
//! query of the same columns that has the declared types in the place of those of sealed values,
//! and no guards. The rest of the text is sent as it came.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use column_value::{Collation, LogicalType, WholeType};

use super::finisher::is_alias;
use super::lexer::{self, Kind, Lexeme};
use super::shown::{is_symbol, shown_type};
use super::{MySql, defaults};
use crate::{Form, Hole, Piece, ProtectedColumn, Schema, Source, Template, Translated};

/// Columns of `information_schema.columns` on both servers.
const COLUMNS: [&str; 21] = [
    "TABLE_CATALOG",
    "TABLE_SCHEMA",
    "TABLE_NAME",
    "COLUMN_NAME",
    "ORDINAL_POSITION",
    "COLUMN_DEFAULT",
    "IS_NULLABLE",
    "DATA_TYPE",
    "CHARACTER_MAXIMUM_LENGTH",
    "CHARACTER_OCTET_LENGTH",
    "NUMERIC_PRECISION",
    "NUMERIC_SCALE",
    "DATETIME_PRECISION",
    "CHARACTER_SET_NAME",
    "COLLATION_NAME",
    "COLUMN_TYPE",
    "COLUMN_KEY",
    "EXTRA",
    "PRIVILEGES",
    "COLUMN_COMMENT",
    "GENERATION_EXPRESSION",
];
/// Columns of the tables of checks, of MariaDB since 10.5.10.
const CHECKS: [&str; 6] = [
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "TABLE_NAME",
    "CONSTRAINT_NAME",
    "LEVEL",
    "CHECK_CLAUSE",
];
const CONSTRAINTS: [&str; 6] = [
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "CONSTRAINT_NAME",
    "TABLE_SCHEMA",
    "TABLE_NAME",
    "CONSTRAINT_TYPE",
];
/// MariaDB from this version on writes a default as it stands in SQL.
const DEFAULTS_IN_WORDS: u32 = 100_207;
const MARIADB_KNOWN: u32 = 100_510;
/// MySQL from this version on tells whether a constraint is enforced.
const MYSQL_ENFORCES: u32 = 80_016;
/// MariaDB from this version on may have others.
const MARIADB_UNKNOWN: u32 = 110_400;

/// A table of `information_schema` that would show how values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Types,
    Checks,
    Constraints,
}

/// The text for the server, if a question is about such tables and it is understood where they
/// stand in it.
pub(super) fn translated(text: &str, schema: &Schema, own: MySql) -> Option<Translated> {
    let mut found = lexer::lexemes(text, own).ok()?;
    while found.last().is_some_and(|last| is_symbol(last, ";")) {
        found.pop();
    }
    let first = found.first()?;
    let is_query = first.kind == Kind::Word && first.value == "select";
    if !is_query || found.iter().any(|one| is_symbol(one, ";")) {
        return None;
    }
    let places = places(&found)?;
    if places.is_empty() || (own.is_mariadb && own.version >= MARIADB_UNKNOWN) {
        return None;
    }
    let mut changes: Vec<(Range<usize>, Option<String>)> = Vec::new();
    for (index, shows) in places {
        let span = found[index].span.start..found[index + 2].span.end;
        let mut query = match shows {
            Shows::Types => types(&found, text, schema, own)?,
            Shows::Checks => without_guards("check_constraints", &found, text, (schema, own)),
            Shows::Constraints => without_guards("table_constraints", &found, text, (schema, own)),
        };
        if !is_alias(found.get(index + 3)) {
            write!(query, " AS {}", &text[found[index + 2].span.clone()]).ok()?;
        }
        changes.push((span, Some(query)));
    }
    let parameters = found.iter().filter(|one| one.kind == Kind::Parameter);
    changes.extend(parameters.map(|one| (one.span.clone(), None)));
    changes.sort_by_key(|(span, _)| span.start);
    Some(with_changes(text, changes))
}

fn with_changes(text: &str, changes: Vec<(Range<usize>, Option<String>)>) -> Translated {
    let (mut pieces, mut holes) = (Vec::new(), Vec::new());
    let (mut part, mut at) = (String::new(), 0);
    for (span, change) in changes {
        part.push_str(&text[at..span.start]);
        at = span.end;
        match change {
            Some(query) => part.push_str(&query),
            None => {
                pieces.push(Piece::Text(std::mem::take(&mut part)));
                pieces.push(Piece::Hole(holes.len()));
                holes.push(Hole {
                    source: Source::Parameter(holes.len()),
                    form: Form::Plain,
                });
            }
        }
    }
    part.push_str(&text[at..]);
    pieces.push(Piece::Text(part));
    let parameter_types = vec![None; holes.len()];
    Translated {
        template: Template { pieces },
        holes,
        outputs: Vec::new(),
        parameter_types,
        locks: None,
    }
}

/// Where the tables stand. None: one is named in another place than behind `FROM` or `JOIN`.
fn places(found: &[Lexeme]) -> Option<Vec<(usize, Shows)>> {
    let is_name = |one: &Lexeme| matches!(one.kind, Kind::Word | Kind::Name);
    let mut places = Vec::new();
    for index in 0..found.len().saturating_sub(2) {
        let [database, point, table] = &found[index..index + 3] else {
            continue;
        };
        let is_its = is_name(database)
            && database.value.eq_ignore_ascii_case("information_schema")
            && is_symbol(point, ".")
            && is_name(table);
        let shows = match table.value.to_ascii_lowercase().as_str() {
            _ if !is_its => continue,
            "columns" => Shows::Types,
            "check_constraints" => Shows::Checks,
            "table_constraints" => Shows::Constraints,
            _ => continue,
        };
        let before = index.checked_sub(1).map(|before| &found[before])?;
        let is_behind = match before.kind {
            Kind::Word => matches!(before.value.as_str(), "from" | "join"),
            Kind::Symbol => matches!(before.value.as_str(), "," | "("),
            _ => false,
        };
        let is_part = found.get(index + 3).is_some_and(|own| is_symbol(own, "."));
        if !is_behind || is_part {
            return None;
        }
        places.push((index, shows));
    }
    Some(places)
}

/// A list of checks or constraints without those that refuse values in clear.
fn without_guards(
    table: &str,
    found: &[Lexeme],
    text: &str,
    (schema, own): (&Schema, MySql),
) -> String {
    let tables = schema.tables.values().filter(|table| table.is_protected());
    let mut guards: Vec<String> = tables
        .map(|table| quoted_hex(&[&table.schema, &super::schema::guard_name(&table.name)]))
        .collect();
    guards.sort_unstable();
    let names: &[&str] = match table {
        // Elsewhere the answer has the names of the table.
        "table_constraints" if !own.is_mariadb && own.version < MYSQL_ENFORCES => &CONSTRAINTS,
        _ if !own.is_mariadb || own.version < MARIADB_KNOWN => &[],
        "check_constraints" => &CHECKS,
        _ => &CONSTRAINTS,
    };
    let names = names.iter();
    let names = names.map(|name| format!("{name} AS {}", written(name, found, text)));
    let names = match names.collect::<Vec<_>>() {
        names if names.is_empty() => "*".to_owned(),
        names => names.join(", "),
    };
    let mut query = format!("(SELECT {names} FROM information_schema.{table}");
    if !guards.is_empty() {
        let own = "HEX(CONCAT(CONSTRAINT_SCHEMA, '.', CONSTRAINT_NAME))";
        write!(query, " WHERE NOT {own} IN ({})", guards.join(", ")).expect("a String");
    }
    query.push(')');
    query
}

/// A name of several parts as a constant that is compared byte by byte.
fn quoted_hex(parts: &[&str]) -> String {
    let mut hex = String::from("'");
    for byte in parts.join(".").bytes() {
        write!(hex, "{byte:02X}").expect("a String takes everything");
    }
    hex.push('\'');
    hex
}

/// What is shown of a column in the place of what the server shows, by the name of its own.
fn declared(
    (logical, is_long): (LogicalType, bool),
    collation: Option<&str>,
    own: MySql,
) -> Declared {
    let column_type = shown_type((logical, is_long), own);
    let data_type = column_type.split(['(', ' ']).next().unwrap_or_default();
    let mut shown = BTreeMap::from([
        ("DATA_TYPE", format!("'{data_type}'")),
        (
            "COLUMN_TYPE",
            format!("'{}'", column_type.replace('\'', "''")),
        ),
    ]);
    let mut number = |name, value: u64| {
        shown.insert(name, value.to_string());
    };
    let text_size = u64::from(match is_long {
        true => u32::MAX,
        false => u16::MAX.into(),
    });
    match logical {
        LogicalType::Whole(WholeType::Year) => {}
        logical if logical.is_whole() => {
            number("NUMERIC_PRECISION", whole_digits(logical, own));
            number("NUMERIC_SCALE", 0);
        }
        LogicalType::Numeric(limits) => {
            let (precision, scale) = limits.unwrap_or((65, 30));
            number("NUMERIC_PRECISION", precision.into());
            number("NUMERIC_SCALE", scale.into());
        }
        LogicalType::Bits(count) => number("NUMERIC_PRECISION", count.into()),
        LogicalType::Real => number("NUMERIC_PRECISION", 12),
        LogicalType::Double => number("NUMERIC_PRECISION", 22),
        LogicalType::SignedTime(digits) => number("DATETIME_PRECISION", digits.into()),
        LogicalType::Timestamp(digits) | LogicalType::TimestampTz(digits) => {
            number("DATETIME_PRECISION", digits.unwrap_or(0).into());
        }
        LogicalType::Char(_)
        | LogicalType::Varchar(_)
        | LogicalType::Text
        | LogicalType::Enum(_)
        | LogicalType::Set(_) => {
            let letters = match logical {
                LogicalType::Char(letters) | LogicalType::Varchar(Some(letters)) => Some(letters),
                logical => logical.labels_size_max().map(|own| own as u32),
            };
            let bytes = letter_size(collation);
            let size = letters.map_or(text_size, |letters| u64::from(letters) * bytes);
            number(
                "CHARACTER_MAXIMUM_LENGTH",
                letters.map_or(text_size, u64::from),
            );
            number("CHARACTER_OCTET_LENGTH", size);
            if let Some(collation) = collation {
                let set = collation.split('_').next().unwrap_or_default();
                shown.insert("CHARACTER_SET_NAME", format!("'{set}'"));
                shown.insert("COLLATION_NAME", format!("'{collation}'"));
            }
        }
        LogicalType::Bytes => {
            number("CHARACTER_MAXIMUM_LENGTH", text_size);
            number("CHARACTER_OCTET_LENGTH", text_size);
        }
        _ => {}
    }
    shown
}

/// What is answered where columns are sealed together: the server does not know whether one of them
/// is NOT NULL.
const OF_GROUPS: [&str; 2] = ["IS_NULLABLE", "COLUMN_DEFAULT"];

/// Whether a column may be NULL, as its rule says.
fn null_of(rule: &ProtectedColumn, own: MySql) -> [(&'static str, String); 2] {
    let (nullable, default) = match (rule.form.group, rule.not_null) {
        (None, _) => ("IS_NULLABLE", "COLUMN_DEFAULT"),
        (Some(_), true) => ("'NO'", "NULL"),
        // MariaDB tells it from a column without a default.
        (Some(_), false) if own.is_mariadb && own.version >= DEFAULTS_IN_WORDS => {
            ("'YES'", "'NULL'")
        }
        (Some(_), false) => ("'YES'", "NULL"),
    };
    [
        (OF_GROUPS[0], nullable.to_owned()),
        (OF_GROUPS[1], default.to_owned()),
    ]
}

/// What is said of a default. The server's own stays where a column has none.
fn default_of(rule: &ProtectedColumn, own: MySql, shown: &Declared) -> Declared {
    let default = defaults::shown(rule, own);
    let is_generated = default.as_ref().is_some_and(defaults::Shown::is_moment) && !own.is_mariadb;
    let text = match default {
        Some(default) => quoted_text(&default.in_information(own)),
        None => shown
            .get(OF_GROUPS[1])
            .map_or(OF_GROUPS[1], String::as_str)
            .to_owned(),
    };
    let extra = if is_generated {
        "'DEFAULT_GENERATED'"
    } else {
        "EXTRA"
    };
    BTreeMap::from([(OF_GROUPS[1], text), ("EXTRA", extra.to_owned())])
}

/// A text as a constant that means the same in every SQL mode.
fn quoted_text(text: &str) -> String {
    let mut hex = String::from("CONVERT(x'");
    for byte in text.bytes() {
        write!(hex, "{byte:02X}").expect("a String takes everything");
    }
    hex.push_str("' USING utf8mb4)");
    hex
}

type Declared = BTreeMap<&'static str, String>;

/// Digits of whole numbers.
fn whole_digits(logical: LogicalType, own: MySql) -> u64 {
    match logical {
        LogicalType::SmallInt => 5,
        LogicalType::Integer => 10,
        LogicalType::Whole(whole) => match whole.bits() {
            8 => 3,
            16 => 5,
            24 if own.is_mariadb && whole.is_unsigned() => 8,
            24 => 7,
            32 => 10,
            _ => 20,
        },
        _ => 19,
    }
}

/// Bytes of a letter in the character set of a collation.
fn letter_size(collation: Option<&str>) -> u64 {
    match collation.and_then(|own| own.split('_').next()) {
        Some("utf8mb4" | "utf16" | "utf16le" | "utf32" | "gb18030") | None => 4,
        Some("utf8" | "utf8mb3" | "ujis" | "eucjpms") => 3,
        Some("ucs2" | "big5" | "gbk" | "sjis" | "cp932" | "euckr" | "gb2312") => 2,
        Some(_) => 1,
    }
}

/// What is answered of all types in the place of the server's own.
const OF_TYPES: [&str; 9] = [
    "DATA_TYPE",
    "CHARACTER_MAXIMUM_LENGTH",
    "CHARACTER_OCTET_LENGTH",
    "NUMERIC_PRECISION",
    "NUMERIC_SCALE",
    "DATETIME_PRECISION",
    "CHARACTER_SET_NAME",
    "COLLATION_NAME",
    "COLUMN_TYPE",
];

/// What is shown of protected columns: by the name of a column of the answer, each value and the
/// keys of those that have it; and the keys of all.
type Shown = (
    BTreeMap<&'static str, BTreeMap<String, Vec<String>>>,
    Vec<String>,
);

/// What the rules say. None: a collation is none.
fn shown_of_rules(schema: &Schema, own: MySql) -> Option<Shown> {
    let mut keys = Vec::new();
    let mut values: BTreeMap<&str, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let has_defaults = schema.protected.iter().any(|rule| rule.default.is_some());
    for rule in &schema.protected {
        let table = (rule.schema.clone(), rule.table.clone());
        let of_table = schema.catalogue.collations.get(&table).map(String::as_str);
        let collation = rule.form.tokens.map(Collation::name).or(of_table);
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !collation.is_none_or(|own| own.bytes().all(is_word)) {
            return None;
        }
        let key = quoted_hex(&[&rule.schema, &rule.table, &rule.column]);
        let mut shown = declared((rule.logical, schema.is_long(rule.id)), collation, own);
        if !schema.catalogue.groups.is_empty() {
            shown.extend(null_of(rule, own));
        }
        if has_defaults {
            shown.extend(default_of(rule, own, &shown));
        }
        for (name, value) in shown {
            let of_name = values.entry(name).or_default();
            of_name.entry(value).or_default().push(key.clone());
        }
        keys.push(key);
    }
    Some((values, keys))
}

/// `information_schema.columns` with the declared types. None: a collation is none.
fn types(found: &[Lexeme], text: &str, schema: &Schema, own: MySql) -> Option<String> {
    let (values, keys) = shown_of_rules(schema, own)?;
    let key = "HEX(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME, '.', LOWER(COLUMN_NAME)))";
    let is_sealed = "DATA_TYPE IN ('varbinary', 'mediumblob', 'longblob')";
    let mut query = String::from("(SELECT ");
    let of_mariadb = own.is_mariadb.then_some("IS_GENERATED");
    let names = COLUMNS[..20]
        .iter()
        .chain(&of_mariadb)
        .chain(&COLUMNS[20..]);
    for (index, name) in names
        .chain((!own.is_mariadb).then_some(&"SRS_ID"))
        .enumerate()
    {
        if index > 0 {
            query.push_str(", ");
        }
        let is_changed = OF_TYPES.contains(name) || values.contains_key(name);
        match is_changed && !keys.is_empty() {
            false => query.push_str(name),
            true => {
                // A mixed type would become a decimal number.
                let is_number = name.contains("NUMERIC_") || name.contains("_LENGTH");
                let is_number = is_number || name.contains("_PRECISION");
                query.push_str(if is_number { "CAST(CASE" } else { "CASE" });
                for (value, of_value) in values.get(name).into_iter().flatten() {
                    let of_value = of_value.join(", ");
                    write!(
                        query,
                        " WHEN {is_sealed} AND {key} IN ({of_value}) THEN {value}"
                    )
                    .expect("a String takes everything");
                }
                let all = keys.join(", ");
                write!(
                    query,
                    " WHEN {is_sealed} AND {key} IN ({all}) THEN NULL ELSE {name} END"
                )
                .expect("a String takes everything");
                if is_number {
                    query.push_str(" AS UNSIGNED)");
                }
            }
        }
        // MySQL has its own letters there.
        let shown = match own.is_mariadb {
            true => written(name, found, text),
            false => (*name).to_owned(),
        };
        write!(query, " AS {shown}").expect("a String");
    }
    query.push_str(" FROM information_schema.columns)");
    Some(query)
}

/// The name of a column with the letters of the select list, which the answer of the server would
/// have.
fn written(name: &str, found: &[Lexeme], text: &str) -> String {
    let is_name = |one: &&Lexeme| matches!(one.kind, Kind::Word | Kind::Name);
    let mut list = found
        .iter()
        .take_while(|one| one.kind != Kind::Word || one.value != "from")
        .filter(is_name);
    let said = list.find(|one| one.value.eq_ignore_ascii_case(name));
    match said {
        Some(one) if one.kind == Kind::Word => text[one.span.clone()].to_owned(),
        Some(one) => one.value.clone(),
        None => name.to_owned(),
    }
}
