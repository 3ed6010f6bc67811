//! Columns of answers: whether they are what was planned, and what clients see of them.

use column_value::{LogicalType, WholeType};
use session_core::{Fault, StatementError};
use sql_plan::{ColumnId, Literal, Output, OutputKind};
use sql_rewrite::{Dialect, ProtectedColumn, Schema};
use sqlstate::SqlState;
use wire_mysql::column::{BINARY, Column, flag};
use wire_mysql::value::FieldType;

use super::settings::Results;

/// The protected column whose sealed values an output has.
pub(super) fn sealed(output: &Output) -> Option<ColumnId> {
    match output.kind {
        OutputKind::Sealed(id) => Some(id),
        OutputKind::Plain | OutputKind::Gathered(..) => None,
    }
}

/// Checks that a column of an answer has no sealed values. Definitions name the table and the
/// column itself, also through views and other names.
///
/// # Errors
/// It has: the plan, or the schema, is not right.
pub(super) fn check_plain(column: &Column<'_>, schema: &Schema) -> Result<(), StatementError> {
    match protected(column, schema) {
        None => Ok(()),
        Some(id) => Err(other_answer(
            schema.column(id),
            "the answer has it where it was not planned",
        )),
    }
}

/// The protected column that a column of an answer is by its own names.
pub(super) fn protected(column: &Column<'_>, schema: &Schema) -> Option<ColumnId> {
    let folds = matches!(schema.dialect, Dialect::MySql(own) if own.folds_tables);
    let is_name = |own: &str, found: &[u8]| match folds {
        true => own.as_bytes().eq_ignore_ascii_case(found),
        false => own.as_bytes() == found,
    };
    let mut protected = schema.protected.iter();
    let found = protected.position(|own| {
        own.column
            .as_bytes()
            .eq_ignore_ascii_case(column.original_name)
            && is_name(&own.table, column.original_table)
            && is_name(&own.schema, column.schema)
    });
    found.and_then(|index| u32::try_from(index).ok().map(ColumnId))
}

/// What the server says of the default of a column of a type that is `NOT NULL` and has none.
pub(super) fn default_of(logical: LogicalType) -> String {
    let with_digits = |zero: &str, digits: usize| match digits {
        0 => zero.to_owned(),
        digits => format!("{zero}.{}", "0".repeat(digits)),
    };
    match logical {
        LogicalType::Whole(WholeType::Year) => "0000".to_owned(),
        LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::Whole(_)
        | LogicalType::Real
        | LogicalType::Double => "0".to_owned(),
        LogicalType::Numeric(limits) => {
            let scale = limits.map_or(0, |(_, scale)| scale);
            with_digits("0", scale.into())
        }
        LogicalType::Bits(count) => "\0".repeat(usize::from(count.div_ceil(8))),
        LogicalType::Date => "0000-00-00".to_owned(),
        LogicalType::SignedTime(digits) => with_digits("00:00:00", digits.into()),
        LogicalType::Timestamp(digits) | LogicalType::TimestampTz(digits) => {
            with_digits("0000-00-00 00:00:00", digits.unwrap_or_default().into())
        }
        _ => String::new(),
    }
}

/// What the client sees of a column of sealed values.
///
/// # Errors
/// It is another column.
pub(super) fn shown<'a>(
    column: Column<'a>,
    (schema, id): (&'a Schema, ColumnId),
    results: Results,
) -> Result<Column<'a>, StatementError> {
    let own = schema.column(id);
    // MIN and MAX have no column of their own. Their value opens only if it is of this domain.
    let is_computed = column.original_name.is_empty() && column.original_table.is_empty();
    let holder = schema.holder_of(id).map(|holder| schema.column(holder));
    let is_same = is_computed
        || holder.is_some_and(|holder| {
            let name = holder.column.as_bytes();
            column.original_name.eq_ignore_ascii_case(name)
        }) && column
            .original_table
            .eq_ignore_ascii_case(own.table.as_bytes())
            && column.schema.eq_ignore_ascii_case(own.schema.as_bytes());
    if !is_same {
        return Err(other_answer(
            own,
            "the answer has another column in its place",
        ));
    }
    let is_binary = matches!(
        column.kind,
        FieldType::VAR_STRING | FieldType::BLOB | FieldType::MEDIUM_BLOB | FieldType::LONG_BLOB
    ) && column.character_set == BINARY;
    if !is_binary {
        return Err(other_answer(
            own,
            "its type in the server is no longer that of sealed values",
        ));
    }
    let mut kept = column.flags & !(flag::BLOB | flag::BINARY);
    if own.default.is_some() {
        kept &= !flag::NO_DEFAULT_VALUE;
    }
    let mut original_name = column.original_name;
    if schema.is_member(id) {
        original_name = own.column.as_bytes();
        if !own.not_null {
            kept &= !(flag::NOT_NULL | flag::NO_DEFAULT_VALUE);
        }
    }
    let mut form = form(own.logical, results).of_server(own.logical, schema);
    if own.default == Some(Literal::TransactionTime) && form.kind == FieldType::TIMESTAMP {
        form.flags |= flag::TIMESTAMP;
    }
    if schema.is_long(id) {
        form.length = u32::MAX;
    }
    if is_computed {
        form.flags &= !flag::TIMESTAMP;
        form = form.of_function(own.logical, schema, results);
    }
    if schema.catalogue.binary_texts.contains(&id) {
        form.flags |= flag::BINARY;
    }
    Ok(Column {
        character_set: form.character_set,
        length: form.length,
        kind: form.kind,
        flags: kept | form.flags,
        decimals: form.decimals,
        original_name,
        ..column
    })
}

/// What the client sees of a column that the proxy computes.
pub(super) fn computed<'a>(
    name: &'a str,
    (logical, schema): (LogicalType, &Schema),
    results: Results,
    not_null: bool,
) -> Column<'a> {
    let form = form(logical, results).of_server(logical, schema);
    let form = form.of_function(logical, schema, results);
    let length = match (logical, not_null) {
        // A count.
        (LogicalType::BigInt, true) => 21,
        _ => form.length,
    };
    Column {
        catalog: b"def",
        schema: b"",
        table: b"",
        original_table: b"",
        name: name.as_bytes(),
        original_name: b"",
        character_set: form.character_set,
        length,
        kind: form.kind,
        flags: form.flags | if not_null { flag::NOT_NULL } else { 0 },
        decimals: form.decimals,
    }
}

impl Form {
    /// With what one of the products alone says.
    fn of_server(self, logical: LogicalType, schema: &Schema) -> Self {
        let is_mariadb = matches!(schema.dialect, Dialect::MySql(own) if own.is_mariadb);
        let is_zoned = matches!(logical, LogicalType::TimestampTz(_));
        Self {
            flags: self.flags
                | if is_zoned && is_mariadb {
                    flag::UNSIGNED
                } else {
                    0
                },
            ..self
        }
    }

    /// What the server says of `MIN`, `MAX` or `SUM` instead of a column.
    fn of_function(self, logical: LogicalType, schema: &Schema, results: Results) -> Self {
        let is_mariadb = matches!(schema.dialect, Dialect::MySql(own) if own.is_mariadb);
        let is_time = logical.is_moment() || matches!(logical, LogicalType::SignedTime(_));
        if is_time && !is_mariadb {
            // MySQL takes it for a text.
            return Self {
                character_set: results.number,
                length: self.length * results.letter_size(),
                flags: 0,
                ..self
            };
        }
        let length = match logical {
            LogicalType::Double => 23,
            LogicalType::Whole(WholeType::Flag) => 4,
            _ => self.length,
        };
        Self {
            length,
            flags: (self.flags & !flag::ZEROFILL) | flag::BINARY,
            ..self
        }
    }
}

fn other_answer(own: &ProtectedColumn, what: &str) -> StatementError {
    let message = format!(
        "{}.{}.{}: {what}. The session ends, since tables were changed without the proxy",
        own.schema, own.table, own.column
    );
    StatementError {
        ends_session: true,
        ..StatementError::new(Fault::Server, SqlState::CONFIG_FILE_ERROR, message)
    }
}

struct Form {
    kind: FieldType,
    length: u32,
    character_set: u16,
    flags: u16,
    decimals: u8,
}

/// What the server says of whole numbers that only it has.
fn whole_form(whole: WholeType) -> Form {
    let (kind, length) = match whole {
        WholeType::Flag => (FieldType::TINY, 1),
        WholeType::Tiny => (FieldType::TINY, 4),
        WholeType::Medium => (FieldType::INT24, 9),
        WholeType::UnsignedTiny => (FieldType::TINY, 3),
        WholeType::UnsignedSmall => (FieldType::SHORT, 5),
        WholeType::UnsignedMedium => (FieldType::INT24, 8),
        WholeType::UnsignedInteger => (FieldType::LONG, 10),
        WholeType::UnsignedBig => (FieldType::LONGLONG, 20),
        WholeType::Year => (FieldType::YEAR, 4),
    };
    Form {
        kind,
        length,
        character_set: BINARY,
        flags: match whole {
            WholeType::Year => flag::UNSIGNED | flag::ZEROFILL,
            _ if whole.is_unsigned() => flag::UNSIGNED,
            _ => 0,
        },
        decimals: 0,
    }
}

/// What the server says of dates and moments, by how many digits of a second they have.
fn moment_form(kind: FieldType, digits: u8) -> Form {
    let length = match kind {
        FieldType::DATE | FieldType::TIME => 10,
        _ => 19,
    };
    let part = if digits > 0 { u32::from(digits) + 1 } else { 0 };
    Form {
        kind,
        length: length + part,
        character_set: BINARY,
        flags: flag::BINARY,
        decimals: digits,
    }
}

/// What the server says of floating-point numbers, which have no fixed number of digits.
fn float_form(kind: FieldType, length: u32) -> Form {
    Form {
        kind,
        length,
        character_set: BINARY,
        flags: 0,
        decimals: 31,
    }
}

/// What the server says of a plain column of a type.
fn form(logical: LogicalType, results: Results) -> Form {
    let number = |kind, length| Form {
        kind,
        length,
        character_set: BINARY,
        flags: 0,
        decimals: 0,
    };
    let text = |kind, length: u32, flags| Form {
        kind,
        length,
        character_set: results.number,
        flags,
        decimals: 0,
    };
    let labels = |letters: usize, flags| {
        let letters = u32::try_from(letters).unwrap_or(u32::MAX);
        let length = letters.saturating_mul(results.letter_size());
        text(FieldType::STRING, length, flags)
    };
    match logical {
        LogicalType::SmallInt => number(FieldType::SHORT, 6),
        LogicalType::Integer => number(FieldType::LONG, 11),
        LogicalType::BigInt => number(FieldType::LONGLONG, 20),
        LogicalType::Whole(whole) => whole_form(whole),
        LogicalType::Numeric(limits) => {
            let (precision, scale) = limits.unwrap_or((65, 30));
            let point = u32::from(scale > 0);
            Form {
                // A sign, and a point.
                decimals: u8::try_from(scale).unwrap_or(u8::MAX),
                ..number(FieldType::NEWDECIMAL, u32::from(precision) + 1 + point)
            }
        }
        LogicalType::Date => moment_form(FieldType::DATE, 0),
        LogicalType::SignedTime(digits) => moment_form(FieldType::TIME, digits),
        LogicalType::Timestamp(digits) => moment_form(FieldType::DATETIME, digits.unwrap_or(0)),
        LogicalType::TimestampTz(digits) => moment_form(FieldType::TIMESTAMP, digits.unwrap_or(0)),
        LogicalType::Varchar(letters) => {
            let letters = letters.unwrap_or(u32::from(u16::MAX));
            text(FieldType::VAR_STRING, letters * results.letter_size(), 0)
        }
        LogicalType::Char(letters) => text(FieldType::STRING, letters * results.letter_size(), 0),
        LogicalType::Enum(own) => labels(own.size_max(), flag::ENUM),
        LogicalType::Set(own) => labels(own.size_max(), flag::SET),
        LogicalType::Bits(count) => Form {
            flags: flag::UNSIGNED,
            ..number(FieldType::BIT, count.into())
        },
        LogicalType::Real => float_form(FieldType::FLOAT, 12),
        LogicalType::Double => float_form(FieldType::DOUBLE, 22),
        LogicalType::Text => {
            // To convert them, the server counts bytes as letters.
            let length = match results.is_unconverted {
                true => u32::from(u16::MAX),
                false => u32::from(u16::MAX) * results.letter_size(),
            };
            text(FieldType::BLOB, length, flag::BLOB)
        }
        _ => Form {
            kind: FieldType::BLOB,
            length: u16::MAX.into(),
            character_set: BINARY,
            flags: flag::BLOB | flag::BINARY,
            decimals: 0,
        },
    }
}
