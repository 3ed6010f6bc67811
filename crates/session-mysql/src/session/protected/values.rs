//! Opened values, as rows have them.

use std::borrow::Cow;

use column_value::civil::{self, DAY_US, Date};
use column_value::{LogicalType, Value};
use semantics_mysql::is_zero_date;
use session_core::{Fault, Loaded, OpenedGroup, StatementError};
use sql_plan::ColumnId;
use sql_rewrite::mysql::zone;
use sqlstate::SqlState;
use wire_mysql::value::{DateTime, Time, Value as WireValue};
use zeroize::Zeroize;

use super::settings::{Letters, Results};

/// Microseconds from 1970 to 2000.
const EPOCH_US: i64 = 946_684_800_000_000;
/// The zero of `TIMESTAMP` in seconds since 1970, as the server has it.
const NO_MOMENT: &[u8] = b"0.000000";

/// A value in the two forms of rows.
pub(super) struct Opened {
    value: Value,
    logical: LogicalType,
    /// As a text.
    text: Vec<u8>,
    /// By how much it is later than what is stored, as the session's time zone has it.
    shift_us: i64,
}

impl Opened {
    /// Opens the sealed value of a column of a row, of which `opened` has what was sealed together
    /// and opened last. None: it is NULL, among values that were sealed together.
    ///
    /// # Errors
    /// It does not open.
    pub(super) fn in_row(
        loaded: &Loaded,
        (column, sealed): (ColumnId, &[u8]),
        results: Results,
        opened: &mut OpenedGroup,
    ) -> Result<Option<Self>, StatementError> {
        let own = loaded.schema.column(column);
        let unopened = || StatementError::unopened(own);
        let value = loaded.sealer.open_in_row(column, sealed, opened);
        let value = value.map_err(|_| unopened())?;
        let unwritten = || unwritten(loaded, column);
        let Some(mut value) = value else {
            return Ok(None);
        };
        let mut shift_us = 0;
        // The zero date is the same in all zones.
        let is_zero = is_zero_date(&value);
        if let (Value::Timestamp(time_us), LogicalType::TimestampTz(_)) = (&mut value, own.logical)
        {
            let offset_s = zone::offset(&loaded.schema)?;
            if !is_zero {
                shift_us = i64::from(offset_s) * 1_000_000;
                *time_us = time_us.saturating_add(shift_us);
            }
        }
        let opened = Self::with(value, own.logical, results, (unopened, unwritten))?;
        Ok(Some(Self { shift_us, ..opened }))
    }

    /// A value that the proxy has computed.
    ///
    /// # Errors
    /// It is none of the type.
    pub(super) fn of(
        value: Value,
        logical: LogicalType,
        results: Results,
    ) -> Result<Self, StatementError> {
        let wrong = || StatementError::defect("a computed value is none of its type");
        Self::with(value, logical, results, (wrong, wrong))
    }

    fn with(
        value: Value,
        logical: LogicalType,
        results: Results,
        (unopened, unwritten): (impl Fn() -> StatementError, impl Fn() -> StatementError),
    ) -> Result<Self, StatementError> {
        let mut text = semantics_mysql::text(&value, logical).map_err(|_| unopened())?;
        if let Value::Text(own) = &value
            && !results.letters.has(own)
        {
            text = shortened(own, results.letters).ok_or_else(unwritten)?;
        }
        Ok(Self {
            value,
            logical,
            text,
            shift_us: 0,
        })
    }

    /// The value itself.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// Its type.
    pub(super) fn logical(&self) -> LogicalType {
        self.logical
    }

    /// Its text.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Its text as the finisher takes it: a number with all digits, a moment with a zone in seconds
    /// since 1970.
    pub(super) fn exact_text(&self) -> Cow<'_, [u8]> {
        match (&self.value, self.logical) {
            (Value::Float(number), LogicalType::Real) => number.to_string().into_bytes().into(),
            (value, LogicalType::TimestampTz(_)) if is_zero_date(value) => Cow::Borrowed(NO_MOMENT),
            (Value::Timestamp(time_us), LogicalType::TimestampTz(_)) => {
                let time_us = time_us - self.shift_us + EPOCH_US;
                let (seconds, part_us) = (time_us / 1_000_000, time_us % 1_000_000);
                format!("{seconds}.{part_us:06}").into_bytes().into()
            }
            _ => Cow::Borrowed(&self.text),
        }
    }

    /// Wipes it, once it is needed no more.
    pub(super) fn wipe(&mut self) {
        self.text.zeroize();
        match &mut self.value {
            Value::Text(text) => text.zeroize(),
            Value::Bytes(bytes) => bytes.zeroize(),
            _ => {}
        }
    }

    /// Its binary form.
    pub(super) fn binary(&self) -> WireValue<'_> {
        match (&self.value, self.logical) {
            (Value::Integer(number), LogicalType::SmallInt) => WireValue::Short(*number as u16),
            (Value::Integer(number), LogicalType::Integer) => WireValue::Long(*number as u32),
            (Value::Integer(number), LogicalType::BigInt) => WireValue::LongLong(*number as u64),
            (Value::Integer(number), LogicalType::Whole(whole)) => match whole.bits() {
                8 => WireValue::Tiny(*number as u8),
                12 | 16 => WireValue::Short(*number as u16),
                _ => WireValue::Long(*number as u32),
            },
            (Value::Unsigned(number), LogicalType::Whole(_)) => WireValue::LongLong(*number),
            (Value::Float(number), LogicalType::Real) => WireValue::Float(*number as f32),
            (Value::Float(number), LogicalType::Double) => WireValue::Double(*number),
            (value, _) if is_zero_date(value) => WireValue::DateTime(DateTime::default()),
            (Value::Date(day), _) => WireValue::DateTime(date(i64::from(*day))),
            (Value::Time(time_us), _) => WireValue::Time(time(*time_us)),
            (Value::Timestamp(time_us), _) => WireValue::DateTime(moment(*time_us)),
            _ => WireValue::Bytes(&self.text),
        }
    }
}

/// The server, too, writes `?` for a letter that the character set does not have.
fn shortened(text: &str, letters: Letters) -> Option<Vec<u8>> {
    let short = |letter: char| if letter <= '\u{ffff}' { letter } else { '?' };
    match letters {
        Letters::ShortUtf8 => Some(text.chars().map(short).collect::<String>().into_bytes()),
        Letters::Utf8 | Letters::Bytes => None,
    }
}

fn unwritten(loaded: &Loaded, column: ColumnId) -> StatementError {
    let own = loaded.schema.column(column);
    let message = format!(
        "a value of {}.{} has letters that the character set of the results has not",
        own.table, own.column
    );
    StatementError::new(
        Fault::Statement,
        SqlState::UNTRANSLATABLE_CHARACTER,
        message,
    )
}

fn date(day: i64) -> DateTime {
    let Date { year, month, day } = civil::date(day);
    DateTime {
        year: year as u16,
        month: month as u8,
        day: day as u8,
        ..DateTime::default()
    }
}

fn moment(time_us: i64) -> DateTime {
    let of_day_us = time_us.rem_euclid(DAY_US);
    let seconds = of_day_us / 1_000_000;
    DateTime {
        hour: (seconds / 3600) as u8,
        minute: (seconds / 60 % 60) as u8,
        second: (seconds % 60) as u8,
        microsecond: (of_day_us % 1_000_000) as u32,
        ..date(time_us.div_euclid(DAY_US))
    }
}

fn time(time_us: i64) -> Time {
    let size_us = time_us.unsigned_abs();
    let seconds = size_us / 1_000_000;
    Time {
        is_negative: time_us < 0,
        days: (seconds / 86_400) as u32,
        hour: (seconds / 3600 % 24) as u8,
        minute: (seconds / 60 % 60) as u8,
        second: (seconds % 60) as u8,
        microsecond: (size_us % 1_000_000) as u32,
    }
}
