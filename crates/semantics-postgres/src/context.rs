//! The settings of a session that texts of values depend on.

use crate::drawn::Drawn;
use crate::letters::Letters;
use crate::noted::NotedValues;
use crate::opaque::OpaqueForms;
use crate::zone::TimeZone;

/// Settings of a session that texts depend on.
#[derive(Clone, Debug)]
pub struct TextContext {
    /// `DateStyle`, its second word.
    pub date_order: DateOrder,
    /// `TimeZone`
    pub time_zone: TimeZone,
    /// Start of the transaction, in microseconds since 2000-01-01 in UTC: what `now` and `today`
    /// mean.
    pub now: i64,
    /// `bytea_output` is `escape`: only what is written depends on it.
    pub escapes_bytes: bool,
    /// `extra_float_digits`: above 0, numbers are written so that they are read back as the same.
    pub extra_float_digits: i32,
    /// How the database changes the case of letters.
    pub letters: Letters,
    /// What is known of values that are kept unread.
    pub opaque: OpaqueForms,
    /// Values of sequences that wait to be stored.
    pub drawn: Drawn,
    /// Values that were sealed lately, which errors of the server show.
    pub noted: NotedValues,
}

impl Default for TextContext {
    fn default() -> Self {
        Self {
            date_order: DateOrder::MonthDayYear,
            time_zone: TimeZone::utc(),
            now: 0,
            escapes_bytes: false,
            extra_float_digits: 1,
            letters: Letters::default(),
            opaque: OpaqueForms::default(),
            drawn: Drawn::default(),
            noted: NotedValues::default(),
        }
    }
}

/// What `01/02/03` means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// `MDY`
    #[default]
    MonthDayYear,
    /// `DMY`
    DayMonthYear,
    /// `YMD`
    YearMonthDay,
}
