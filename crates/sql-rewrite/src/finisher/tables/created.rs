//! The statement that makes a temporary table of the finisher: as the server declares the table,
//! as far as a text and the definitions of columns tell of it.

use super::{declared, full_name, is_mariadb};
use crate::dialect::mysql::names;
use crate::dialect::mysql::schema::type_name;
use crate::{ColumnId, FilledTable, Literal, Refusal, Schema, Table};
use column_value::LogicalType;
use sql_plan::unsupported;

/// What a statement does with a table.
#[derive(Clone, Copy)]
pub(super) enum Role<'a> {
    /// It reads rows.
    Read,
    /// It changes or deletes rows, which have numbers.
    Changed,
    /// It puts rows into it, with values of these columns. They get numbers in their order.
    Gets(&'a [usize]),
}

/// The statement that makes the temporary table.
pub(super) fn create(
    (table, role): (&Table, Role<'_>),
    columns: &[usize],
    schema: &Schema,
) -> Result<String, Refusal> {
    let keys = schema.catalogue.finisher.declared_keys.get(&table.oid);
    let given = match role {
        Role::Gets(given) => Some(given),
        Role::Read | Role::Changed => None,
    };
    // The keys of rows that are inserted are the server's business.
    let keys: Vec<(usize, String)> = keys
        .filter(|_| given.is_none())
        .into_iter()
        .flatten()
        .filter_map(|key| {
            Some((
                key.columns.first()?.0,
                key_text(key, (table, columns), schema)?,
            ))
        })
        .collect();
    let mut parts = Vec::new();
    for index in columns {
        let column = &table.columns[*index];
        let name = names::quote(column.written());
        let declared = declared(table, *index, schema);
        let declared = declared.ok_or_else(|| unsupported("a column that is not known"))?;
        let tail = &declared.tail;
        parts.push(match column.protected {
            Some(id) => {
                let is_given = given.is_none_or(|own| own.contains(index));
                protected(table, (*index, id, is_given), schema)?
            }
            None => {
                let collation = declared
                    .collation
                    .as_deref()
                    .map_or_else(String::new, collate);
                let is_date = declared.type_name.starts_with("date");
                let is_numbered = keys.iter().any(|(first, _)| first == index);
                let tail = match given {
                    Some(given) => tail_of_given(tail, given.contains(index), is_date),
                    None if is_numbered => tail.clone(),
                    None => tail.replace(NUMBERS, ""),
                };
                format!("{name} {}{collation}{tail}", declared.type_name)
            }
        });
    }
    let is_mariadb = is_mariadb(schema)?;
    parts.extend(added(role, is_mariadb));
    parts.extend(keys.into_iter().map(|(_, key)| key));
    let engine = if is_mariadb { "Aria" } else { "InnoDB" };
    let text = format!(
        "CREATE TEMPORARY TABLE {} ({}) ENGINE = {engine}",
        full_name(table),
        parts.join(", ")
    );
    Ok(text)
}

/// The columns that no text of a client means: no name without these letters does, and neither does
/// `*`. MySQL had no such columns before 8.0.23: `*` reads no table there that is changed, and a
/// table without keys gives its rows in the order in which it got them.
fn added(role: Role<'_>, is_mariadb: bool) -> Vec<String> {
    let row = FilledTable::ROW;
    match role {
        Role::Read => Vec::new(),
        Role::Gets(_) if !is_mariadb => Vec::new(),
        Role::Changed if !is_mariadb => vec![
            format!("{row} BIGINT UNSIGNED NOT NULL DEFAULT 0"),
            format!(
                "{} DATETIME NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP",
                FilledTable::CHANGED
            ),
        ],
        Role::Changed => vec![
            format!("{row} BIGINT UNSIGNED INVISIBLE NOT NULL DEFAULT 0"),
            format!(
                "{} DATETIME INVISIBLE NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP",
                FilledTable::CHANGED
            ),
        ],
        Role::Gets(_) => vec![
            format!("{row} BIGINT UNSIGNED INVISIBLE NOT NULL AUTO_INCREMENT"),
            format!("KEY ({row})"),
        ],
    }
}

/// What numbers rows.
const NUMBERS: &str = " AUTO_INCREMENT";

/// What is behind the type of a column whose table gets rows: one that gets no value never fails,
/// and one that numbers rows is numbered by the server, where it gets NULL or 0.
fn tail_of_given(tail: &str, is_given: bool, is_date: bool) -> String {
    if tail.contains(NUMBERS) {
        return " NULL".to_owned();
    }
    match (is_given, is_date) {
        (true, _) => tail.to_owned(),
        // Such a column IS NULL where it has the zero date.
        (false, true) if !tail.contains(" DEFAULT") => {
            tail.replace(" NOT NULL", " NOT NULL DEFAULT 0")
        }
        (false, true) => tail.to_owned(),
        (false, false) => tail.replace(" NOT NULL", " NULL"),
    }
}

/// A protected column, with the type of its rule.
fn protected(
    table: &Table,
    (index, id, is_given): (usize, ColumnId, bool),
    schema: &Schema,
) -> Result<String, Refusal> {
    let column = &table.columns[index];
    let rule = schema.column(id);
    let key = (table.schema.clone(), table.name.clone());
    let collation = schema.catalogue.collations.get(&key);
    let collation = collation.filter(|_| rule.logical.has_collation());
    if collation.is_some_and(|name| !name.starts_with("utf8mb4_")) {
        return Err(unsupported(&format!(
            "protected text {}.{} of a table with another character set than utf8mb4, in a \
             statement that the finisher evaluates",
            table.name, column.name
        ))
        .with_hint("Let the default of the table be utf8mb4."));
    }
    if let Some(own) = rule.form.tokens {
        return Ok(declared_as(
            (column, is_given),
            rule,
            schema,
            &collate(own.name()),
        ));
    }
    let is_binary = schema.catalogue.binary_texts.contains(&id);
    let collation = match collation {
        Some(_) if is_binary => " COLLATE utf8mb4_bin".to_owned(),
        Some(name) => collate(name),
        None => String::new(),
    };
    Ok(declared_as((column, is_given), rule, schema, &collation))
}

fn declared_as(
    (column, is_given): (&crate::Column, bool),
    rule: &crate::ProtectedColumn,
    schema: &Schema,
    collation: &str,
) -> String {
    let name = names::quote(column.written());
    // Such a column IS NULL where it has the zero date.
    let has_zero = matches!(rule.logical, LogicalType::Date | LogicalType::Timestamp(_));
    let null = if column.not_null && (is_given || has_zero) {
        " NOT NULL"
    } else if matches!(rule.logical, LogicalType::TimestampTz(_)) {
        " NULL"
    } else {
        ""
    };
    let long = if schema.is_long(rule.id) { "long" } else { "" };
    let type_name = type_name(rule.logical);
    let default = match default_of(rule) {
        none if none.is_empty() && column.not_null && !is_given && has_zero => {
            " DEFAULT 0".to_owned()
        }
        default => default,
    };
    format!("{name} {long}{type_name}{collation}{null}{default}")
}

/// What makes definitions of a column tell that it has a default. No row takes it.
fn default_of(rule: &crate::ProtectedColumn) -> String {
    let digits = rule.logical.second_digits().unwrap_or(0);
    match (&rule.default, rule.logical) {
        (None, _) => String::new(),
        (Some(Literal::TransactionTime), _) => format!(" DEFAULT CURRENT_TIMESTAMP({digits})"),
        (Some(_), LogicalType::Set(_)) => " DEFAULT ''".to_owned(),
        (Some(_), logical) if logical.is_text() => " DEFAULT ''".to_owned(),
        (Some(_), LogicalType::Enum(own)) => {
            let label = own.labels().next().unwrap_or_default();
            format!(" DEFAULT '{label}'")
        }
        (Some(_), _) => " DEFAULT 0".to_owned(),
    }
}

fn collate(name: &str) -> String {
    match name.split_once('_') {
        Some((charset, _)) => format!(" CHARACTER SET {charset} COLLATE {name}"),
        None => format!(" COLLATE {name}"),
    }
}

/// How long the values of a column of texts or bytes may be.
enum Length {
    Letters(u32),
    Tiny,
    Long,
}

/// None: it is of another type.
fn length_of(type_name: &str) -> Option<Length> {
    let (word, rest) = match type_name.split_once('(') {
        Some((word, rest)) => (word, rest.split(')').next()),
        None => (type_name, None),
    };
    match word {
        "char" | "varchar" | "binary" | "varbinary" => {
            rest.and_then(|own| own.parse().ok()).map(Length::Letters)
        }
        "tinytext" | "tinyblob" => Some(Length::Tiny),
        own if own.ends_with("text") || own.ends_with("blob") => Some(Length::Long),
        _ => None,
    }
}

/// The type of a column, as it is declared in the finisher.
fn type_of(table: &Table, index: usize, schema: &Schema) -> Option<String> {
    let own = match table.columns[index].protected {
        Some(id) => type_name(schema.column(id).logical),
        None => declared(table, index, schema)?.type_name.clone(),
    };
    Some(own.to_ascii_lowercase())
}

/// A key over columns that are there: unique ones as a whole, others up to the first that is not.
/// Values of protected columns are unique by their bytes, and not by a collation.
fn key_text(
    key: &crate::DeclaredKey,
    (table, columns): (&Table, &[usize]),
    schema: &Schema,
) -> Option<String> {
    /// Letters of a text: Aria's keys have 2,000 bytes.
    const LETTERS_MAX: u32 = 100;
    /// Those of all texts of a key.
    const LETTERS_SUM_MAX: u32 = 400;
    /// Letters that fit in a `TINYTEXT`.
    const TINY_MAX: u32 = 50;
    let is_there = |(index, _): &&(usize, Option<u32>)| columns.contains(index);
    let is_plain = |(index, _): &(usize, Option<u32>)| table.columns[*index].protected.is_none();
    let is_whole = key
        .columns
        .iter()
        .all(|own| columns.contains(&own.0) && is_plain(own));
    let kind = match (is_whole, key.is_primary, key.is_unique) {
        (true, true, _) => "PRIMARY KEY".to_owned(),
        (true, false, true) => format!("UNIQUE KEY {}", names::quote(&key.name)),
        _ => "KEY".to_owned(),
    };
    let there = key.columns.iter().take_while(is_there);
    let mut parts = Vec::new();
    let mut sum = 0;
    for (index, letters) in there {
        let name = names::quote(&table.columns[*index].name);
        if kind != "KEY" {
            parts.push(match letters {
                Some(letters) => format!("{name}({letters})"),
                None => name.to_string(),
            });
            continue;
        }
        let declared_type = type_of(table, *index, schema)?;
        let length = match length_of(&declared_type) {
            Some(Length::Letters(length)) => Some((length, letters.unwrap_or(length))),
            Some(Length::Tiny) => Some((0, letters.unwrap_or(TINY_MAX).min(TINY_MAX))),
            Some(Length::Long) => Some((0, letters.unwrap_or(LETTERS_MAX))),
            None => None,
        };
        let length = length.map(|(whole, letters)| (whole, letters.min(LETTERS_MAX)));
        sum += length.map_or(0, |(_, letters)| letters);
        if sum > LETTERS_SUM_MAX {
            break;
        }
        parts.push(match length {
            Some((whole, letters)) if letters != whole => format!("{name}({letters})"),
            _ => name.to_string(),
        });
    }
    (!parts.is_empty()).then(|| format!("{kind} ({})", parts.join(", ")))
}
