//! Constants and parameters on their way into statements: read by the types of their columns, and
//! sealed.

use std::fmt::Write as _;

use column_value::{LogicalType, Value as Stored, ValueError};
use semantics_mysql::{
    Given, Terms, bound, check_ending, digits_of_double, matched, matched_by_collation,
    stored_under,
};
use session_core::{KeylessText, Loaded, StatementError, behind};
use sql_plan::{ColumnId, Form, Hole, Literal, Mode, Piece, Purpose, Source, Translated};
use sql_rewrite::ProtectedColumn;
use sql_rewrite::mysql::zone;
use sqlstate::SqlState;
use wire_mysql::execute::ParameterType;
use wire_mysql::value::{DateTime, FieldType, Time, Value};
use zeroize::Zeroizing;

use super::settings::{Letters, Settings};

pub(super) mod grouped;
pub(super) mod numbers;
mod plain;

/// Sealed, it is compared with, and equal to no value of a column: it is shorter than each.
const NO_VALUE: &[u8] = &[2, 1];

/// What fills holes beside constants and parameters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Made<'a> {
    /// Values that the proxy has computed, sealed.
    pub(super) computed: &'a [Option<Vec<u8>>],
    /// Sealed values that the server gave.
    pub(super) given: &'a [Option<Vec<u8>>],
}

impl Made<'_> {
    /// The sealed value of a hole. None: another source fills it.
    pub(super) fn find(&self, source: &Source) -> Option<Option<Vec<u8>>> {
        match source {
            Source::Computed(number) => self.computed.get(*number).cloned(),
            Source::Locator(number) => self.given.get(*number).cloned(),
            _ => None,
        }
    }
}

/// The text that the server gets for a text without parameters.
///
/// # Errors
/// A constant is no value of its column, or the text has parameters.
pub(super) fn text(
    translated: &Translated,
    loaded: &Loaded,
    made: Made<'_>,
) -> Result<String, StatementError> {
    text_with(translated, |hole| {
        Ok(Written::Sealed(match made.find(&hole.source) {
            Some(sealed) => sealed,
            None => literal(hole, loaded)?,
        }))
    })
}

/// What is written in the place of a hole.
pub(super) enum Written {
    /// A sealed value. None: NULL.
    Sealed(Option<Vec<u8>>),
    /// A constant in clear, as it stands in SQL.
    Plain(String),
}

/// The text of a statement with what `fill` writes for its holes.
///
/// # Errors
/// The first of `fill`.
pub(super) fn text_with(
    translated: &Translated,
    fill: impl Fn(&Hole) -> Result<Written, StatementError>,
) -> Result<String, StatementError> {
    let mut text = String::new();
    write_pieces(
        &translated.template.pieces,
        &translated.holes,
        fill,
        &mut text,
    )?;
    Ok(text)
}

/// Writes pieces of a text with what `fill` writes for their holes.
///
/// # Errors
/// The first of `fill`.
pub(super) fn write_pieces(
    pieces: &[Piece],
    holes: &[Hole],
    fill: impl Fn(&Hole) -> Result<Written, StatementError>,
    text: &mut String,
) -> Result<(), StatementError> {
    for piece in pieces {
        let hole = match piece {
            Piece::Text(part) => {
                text.push_str(part);
                continue;
            }
            Piece::Hole(number) => &holes[*number],
        };
        match fill(hole)? {
            Written::Sealed(None) => text.push_str("NULL"),
            Written::Sealed(Some(sealed)) => {
                text.push_str("x'");
                for byte in sealed {
                    write!(text, "{byte:02x}").expect("a String takes everything");
                }
                text.push('\'');
            }
            Written::Plain(constant) => text.push_str(&constant),
        }
    }
    Ok(())
}

/// The text with `?` for each hole, and the hole of each of them.
pub(super) fn prepared_text(translated: &Translated) -> (String, Vec<usize>) {
    let (mut text, mut slots) = (String::new(), Vec::new());
    for piece in &translated.template.pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Hole(number) => {
                text.push('?');
                slots.push(*number);
            }
        }
    }
    (text, slots)
}

/// The sealed constant of a hole. None: NULL.
///
/// # Errors
/// It is no value of its column, or there is none.
pub(super) fn literal(hole: &Hole, loaded: &Loaded) -> Result<Option<Vec<u8>>, StatementError> {
    let Form::Sealed(column, purpose) = hole.form else {
        return Err(without_values());
    };
    match &hole.source {
        Source::Members(members) => return grouped::literals(members, column, loaded),
        Source::Calculated(value, _) => {
            return numbers::calculated(value, (column, purpose), None, loaded);
        }
        _ => {}
    }
    let given = given(&hole.source)?;
    let sealed = given.map(|given| seal_of_session(loaded, (column, purpose), given));
    sealed.transpose()
}

/// What is written for a constant or parameter of a prepared statement, as SQL.
///
/// # Errors
/// It is no value of its column, or cannot be written as a constant.
pub(super) fn written(
    hole: &Hole,
    values: &Values<'_>,
    (settings, loaded): (&Settings, &Loaded),
) -> Result<Written, StatementError> {
    match (&hole.source, hole.form) {
        (Source::Parameter(number), Form::Plain) => {
            plain::constant(&Bound::find(values, *number)?).map(Written::Plain)
        }
        (Source::Parameter(number), Form::Sealed(column, purpose)) => {
            let bound = Bound::find(values, *number)?;
            parameter(&bound, (column, purpose), settings, loaded).map(Written::Sealed)
        }
        (Source::Calculated(value, _), Form::Sealed(column, purpose)) => {
            let sealed = numbers::calculated(value, (column, purpose), Some(values), loaded);
            sealed.map(Written::Sealed)
        }
        _ => literal(hole, loaded).map(Written::Sealed),
    }
}

/// A constant. None: NULL.
fn given(source: &Source) -> Result<Option<Given<'_>>, StatementError> {
    Ok(Some(match source {
        Source::Literal(Literal::Null) => return Ok(None),
        Source::Literal(Literal::Number(digits)) => Given::Number(digits),
        Source::Literal(Literal::Text(text)) => Given::Text(text),
        Source::Literal(Literal::Bytes(bytes)) => Given::Bytes(bytes),
        Source::Parameter(_) => return Err(without_values()),
        _ => return Err(StatementError::other_plan()),
    }))
}

/// Seals a value of a file for its column.
///
/// # Errors
/// It is no value of the column.
pub(super) fn field(
    loaded: &Loaded,
    column: ColumnId,
    given: Given<'_>,
) -> Result<Vec<u8>, StatementError> {
    seal_of_session(loaded, (column, Purpose::Store), given)
}

pub(super) fn without_values() -> StatementError {
    StatementError::statement(
        SqlState::SYNTAX_ERROR,
        "the text has parameters, and was not prepared",
    )
}

/// Seals a value that a server of the same product has written as a text, moments in UTC.
///
/// # Errors
/// It is no value that can be sealed.
pub(super) fn sealed(
    loaded: &Loaded,
    column: ColumnId,
    text: &[u8],
) -> Result<Vec<u8>, StatementError> {
    let given = of_text(loaded, column, text)?;
    let terms = loaded.schema.terms_of_judged(column);
    seal(loaded, (column, Purpose::Store), given, terms)
}

/// A value of a column that a server of the same product has written as a text.
fn of_text<'t>(
    loaded: &Loaded,
    column: ColumnId,
    text: &'t [u8],
) -> Result<Given<'t>, StatementError> {
    let letters = || {
        let read = std::str::from_utf8(text);
        read.map_err(|_| StatementError::defect("a text of other letters than UTF-8"))
    };
    Ok(match loaded.schema.column(column).logical {
        LogicalType::Bytes | LogicalType::Bits(_) => Given::Bytes(text),
        LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::Whole(_)
        | LogicalType::Numeric(_)
        | LogicalType::Real
        | LogicalType::Double => Given::Number(letters()?),
        _ => Given::Text(letters()?),
    })
}

/// What is made of a constant or parameter of the session, with moments in UTC.
///
/// # Errors
/// It is no moment, or the session's time zone is not followed, or nothing can be made of it.
fn of_session<T>(
    loaded: &Loaded,
    column: ColumnId,
    given: Given<'_>,
    make: impl FnOnce(Given<'_>) -> Result<T, StatementError>,
) -> Result<T, StatementError> {
    let own = loaded.schema.column(column);
    let utc = zone::in_utc(given, own.logical, &loaded.schema);
    match utc.map_err(|error| of_column(own, error))? {
        Some(text) => make(Given::Text(&text)),
        None => make(given),
    }
}

/// Seals a constant or parameter of the session for its purpose in a column.
fn seal_of_session(
    loaded: &Loaded,
    target: (ColumnId, Purpose),
    given: Given<'_>,
) -> Result<Vec<u8>, StatementError> {
    let terms = loaded.schema.terms(target.0);
    of_session(loaded, target.0, given, |given| {
        seal(loaded, target, given, terms)
    })
}

/// Seals a value for its purpose in a column, which stores it on some terms.
fn seal(
    loaded: &Loaded,
    (column, purpose): (ColumnId, Purpose),
    given: Given<'_>,
    terms: Terms,
) -> Result<Vec<u8>, StatementError> {
    let own = loaded.schema.column(column);
    if own.form.tokens.is_some() {
        return seal_by_token(loaded, (column, purpose), given);
    }
    let value = match purpose {
        Purpose::Store => stored_value(own, given, terms).map(Some),
        Purpose::Match => matched(given, own.logical),
        Purpose::MatchEnd => return Err(StatementError::other_plan()),
        Purpose::Bound => bound(given, own.logical).map(Some),
    };
    let sealed = value.and_then(|value| {
        let mut out = Vec::new();
        match value {
            Some(value) => loaded.sealer.seal(column, purpose, &value, &mut out)?,
            None => out.extend_from_slice(NO_VALUE),
        }
        Ok(out)
    });
    sealed.map_err(|error| of_column(own, error))
}

/// The value that a column stores of a constant or parameter.
fn stored_value(
    own: &ProtectedColumn,
    given: Given<'_>,
    terms: Terms,
) -> Result<Stored, ValueError> {
    let value = stored_under(given, own.logical, terms)?;
    if own.mode == Mode::Equality && !matches!(own.logical, LogicalType::Char(_)) {
        check_ending(&value)?;
    }
    Ok(value)
}

fn of_column(own: &ProtectedColumn, error: ValueError) -> StatementError {
    let error = StatementError::from(error);
    StatementError {
        message: format!(
            "protected column {}.{}: {}",
            own.table, own.column, error.message
        ),
        ..error
    }
}

/// The same for a column whose values begin with a token of their collation key.
///
/// # Errors
/// It is no value of the column, or its collation key is not known.
fn seal_by_token(
    loaded: &Loaded,
    (column, purpose): (ColumnId, Purpose),
    given: Given<'_>,
) -> Result<Vec<u8>, StatementError> {
    let own = loaded.schema.column(column);
    let wrong = |error| of_column(own, error);
    let prefix = |text: &str| {
        let found = loaded.sealer.token(column, text);
        found.ok_or_else(|| {
            StatementError::keyless(KeylessText {
                column,
                text: Zeroizing::new(text.to_owned()),
            })
        })
    };
    match purpose {
        Purpose::Store => {
            let terms = loaded.schema.terms(column);
            let value = stored_under(given, own.logical, terms).map_err(wrong)?;
            let Stored::Text(text) = &value else {
                return Err(StatementError::defect("a text is none"));
            };
            let (prefix, mut out) = (prefix(text)?, Vec::new());
            let sealed = loaded.sealer.seal_behind(column, &prefix, &value, &mut out);
            sealed.map_err(wrong).map(|()| out)
        }
        Purpose::Match | Purpose::MatchEnd => {
            let prefix = prefix(matched_by_collation(given).map_err(wrong)?)?;
            Ok(match purpose {
                Purpose::Match => prefix.to_vec(),
                _ => behind(&prefix).to_vec(),
            })
        }
        Purpose::Bound => Err(StatementError::other_plan()),
    }
}

/// Types and values of parameters.
pub(super) type Values<'a> = (Vec<ParameterType>, Vec<Value<'a>>);

/// A parameter of a prepared statement, as the client has bound it.
pub(super) struct Bound<'a> {
    pub(super) kind: ParameterType,
    pub(super) value: Value<'a>,
}

impl<'a> Bound<'a> {
    /// The parameter of a number.
    ///
    /// # Errors
    /// There are fewer.
    pub(super) fn find(
        (types, values): &Values<'a>,
        number: usize,
    ) -> Result<Self, StatementError> {
        match (types.get(number), values.get(number)) {
            (Some(&kind), Some(&value)) => Ok(Self { kind, value }),
            _ => Err(without_values()),
        }
    }

    /// Whether it is a decimal number, by its digits.
    fn is_decimal(&self) -> bool {
        matches!(self.kind.kind, FieldType::DECIMAL | FieldType::NEWDECIMAL)
    }

    /// The whole number that it is; None: it is none.
    pub(super) fn whole(&self) -> Option<i128> {
        self.value.whole(self.kind.is_unsigned)
    }
}

/// The sealed value of a parameter. None: NULL.
///
/// # Errors
/// It is no value of its column, or of a type that is not understood there.
pub(super) fn parameter(
    bound: &Bound<'_>,
    (column, purpose): (ColumnId, Purpose),
    settings: &Settings,
    loaded: &Loaded,
) -> Result<Option<Vec<u8>>, StatementError> {
    with_given(bound, (column, purpose), settings, loaded, |given| {
        seal_of_session(loaded, (column, purpose), given)
    })
}

/// What is made of a parameter. None: it is NULL.
///
/// # Errors
/// It is of a type that is not understood there, or nothing can be made of it.
fn with_given<T>(
    bound: &Bound<'_>,
    (column, purpose): (ColumnId, Purpose),
    settings: &Settings,
    loaded: &Loaded,
    make: impl FnOnce(Given<'_>) -> Result<T, StatementError>,
) -> Result<Option<T>, StatementError> {
    let own = loaded.schema.column(column);
    let other_kind = || {
        StatementError::unsupported(format!(
            "a parameter of this type beside protected column {}.{}",
            own.table, own.column
        ))
        .hint("Pass a value of the column's own type, or a text.")
    };
    let mut memory = String::new();
    let given = match bound.value {
        Value::Null => return Ok(None),
        // A server may read digits, or the bytes of a number.
        Value::Bytes(_)
            if purpose != Purpose::Store
                && matches!(own.logical, LogicalType::Bits(_))
                && !bound.is_decimal() =>
        {
            None
        }
        Value::Bytes(bytes) => {
            return make(of_bytes(bytes, bound, own, settings)?).map(Some);
        }
        // A driver that has one kind of number alone sends whole numbers so.
        Value::Float(number) => double(f64::from(number), (own.logical, purpose), &mut memory),
        Value::Double(number) => double(number, (own.logical, purpose), &mut memory),
        Value::DateTime(moment) => moment_text(moment, bound.kind.kind, own.logical, &mut memory),
        Value::Time(time) => time_text(time, own.logical, &mut memory),
        Value::Tiny(_) | Value::Short(_) | Value::Long(_) | Value::LongLong(_) => {
            bound.whole().map(|whole| {
                memory = whole.to_string();
                Given::Number(&memory)
            })
        }
    };
    make(given.ok_or_else(other_kind)?).map(Some)
}

/// A floating-point number for its purpose in a column.
fn double(
    number: f64,
    (logical, purpose): (LogicalType, Purpose),
    memory: &mut String,
) -> Option<Given<'_>> {
    let is_stored = purpose == Purpose::Store;
    match logical {
        // It may be minus zero, which no number of a text is.
        LogicalType::Real | LogicalType::Double if is_stored && number.is_finite() => {
            *memory = number.to_string();
            Some(Given::Text(memory))
        }
        logical => {
            *memory = digits_of_double(number, logical, is_stored)?;
            Some(Given::Number(memory))
        }
    }
}

/// A date for a column of dates, and a moment for one of moments.
fn moment_text(
    moment: DateTime,
    kind: FieldType,
    logical: LogicalType,
    memory: &mut String,
) -> Option<Given<'_>> {
    let DateTime {
        year, month, day, ..
    } = moment;
    *memory = format!("{year:04}-{month:02}-{day:02}");
    let has_time = kind != FieldType::DATE
        && (
            moment.hour,
            moment.minute,
            moment.second,
            moment.microsecond,
        ) != (0, 0, 0, 0);
    match logical {
        LogicalType::Date if !has_time => {}
        LogicalType::Timestamp(_) | LogicalType::TimestampTz(_) => write!(
            memory,
            " {:02}:{:02}:{:02}.{:06}",
            moment.hour, moment.minute, moment.second, moment.microsecond
        )
        .expect("a String takes everything"),
        _ => return None,
    }
    Some(Given::Text(memory))
}

/// A time for a column of times, of which parts beyond their limits are not read.
fn time_text(time: Time, logical: LogicalType, memory: &mut String) -> Option<Given<'_>> {
    if !matches!(logical, LogicalType::SignedTime(_)) {
        return None;
    }
    let sign = if time.is_negative { "-" } else { "" };
    let hours = u64::from(time.days) * 24 + u64::from(time.hour);
    *memory = format!(
        "{sign}{hours:02}:{:02}:{:02}.{:06}",
        time.minute, time.second, time.microsecond
    );
    Some(Given::Text(memory))
}

/// A text, bytes, or the digits of a decimal number.
fn of_bytes<'a>(
    bytes: &'a [u8],
    bound: &Bound<'_>,
    own: &ProtectedColumn,
    settings: &Settings,
) -> Result<Given<'a>, StatementError> {
    let is_binary = matches!(
        bound.kind.kind,
        FieldType::TINY_BLOB | FieldType::MEDIUM_BLOB | FieldType::LONG_BLOB | FieldType::BLOB
    );
    let is_unchanged = is_binary
        || (settings.client, settings.connection) == (Letters::Utf8, Letters::Utf8)
        || bytes.is_ascii();
    let text = std::str::from_utf8(bytes).ok();
    Ok(match (own.logical, text) {
        (LogicalType::Bits(_), Some(digits)) if bound.is_decimal() => Given::Number(digits),
        (LogicalType::Bytes | LogicalType::Bits(_), _) if is_unchanged => Given::Bytes(bytes),
        (LogicalType::Bytes | LogicalType::Bits(_), _) => return Err(other_letters()),
        (_, Some(digits)) if bound.is_decimal() => Given::Number(digits),
        (_, Some(text)) if settings.client.has(text) && settings.connection.has(text) => {
            Given::Text(text)
        }
        _ => return Err(other_letters()),
    })
}

fn other_letters() -> StatementError {
    StatementError::unsupported(
        "a parameter over a protected column with letters that are not UTF-8, or not of the \
         character set of the session,",
    )
    .hint("Use SET NAMES utf8mb4, and send UTF-8.")
}
