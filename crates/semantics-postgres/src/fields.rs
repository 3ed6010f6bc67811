//! The fields of a text that holds a date, a time, a zone, in any of the orders that PostgreSQL
//! takes.
//!
//! First the text is cut into tokens, then each token is given its meaning, in order; numbers get
//! theirs by what is known already, as the server's own reader does.

use column_value::civil::{self, Date};
use column_value::{ValueError, is_space};
use sqlstate::SqlState;

use crate::context::DateOrder;
use crate::tokens::{Token, tokens};
use crate::words::{Special, Word, word};
use crate::zone::TimeZone;

/// The zone of a text.
#[derive(Debug)]
pub(crate) enum Zone {
    /// Seconds east of UTC.
    Offset(i64),
    /// A zone of the tables.
    Named(TimeZone),
}

impl Zone {
    pub(crate) fn offset_of_local(&self, local_us: i64) -> i64 {
        match self {
            Self::Offset(offset) => *offset,
            Self::Named(zone) => zone.offset_of_local(local_us),
        }
    }
}

/// What a text holds.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub date: Option<Date>,
    pub time_us: Option<i64>,
    pub zone: Option<Zone>,
    pub special: Option<Special>,
}

impl Fields {
    /// Reads a text; `name` is the type that the error names.
    ///
    /// # Errors
    /// 22007: not understood. 22008, 22009, 22023: understood, and out of range.
    pub(crate) fn read(text: &str, order: DateOrder, name: &str) -> Result<Self, ValueError> {
        if text.len() > 128 || text.trim_matches(is_space).is_empty() {
            return Err(syntax(name));
        }
        let lower = text.to_ascii_lowercase();
        let mut reader = Reader {
            order,
            // Of a `time`, a number alone is no date.
            time_follows: name == "time" && lower.trim().bytes().all(|byte| byte.is_ascii_digit()),
            ..Reader::default()
        };
        for token in tokens(&lower).ok_or_else(|| syntax(name))? {
            reader.token(token).map_err(|fault| match fault {
                Fault::Syntax => syntax(name),
                Fault::Error(error) => error,
            })?;
        }
        reader.finish().map_err(|fault| match fault {
            Fault::Syntax => syntax(name),
            Fault::Error(error) => error,
        })
    }
}

enum Fault {
    Syntax,
    Error(ValueError),
}

impl From<ValueError> for Fault {
    fn from(error: ValueError) -> Self {
        Self::Error(error)
    }
}

/// A year, and with how many digits it was written.
#[derive(Clone, Copy)]
struct Year {
    number: i64,
    digits: usize,
}

#[derive(Default)]
struct Reader {
    order: DateOrder,
    year: Option<Year>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    month_is_word: bool,
    before_christ: bool,
    afternoon: Option<bool>,
    time_us: Option<i64>,
    zone: Option<Zone>,
    special: Option<Special>,
    /// A `t` was read: what follows is a time.
    time_follows: bool,
    /// A `j` was read: what follows is a Julian day.
    julian_follows: bool,
}

impl Reader {
    fn token(&mut self, token: Token) -> Result<(), Fault> {
        if std::mem::take(&mut self.julian_follows) {
            return self.julian(token);
        }
        match token {
            Token::Number(digits) => self.number_token(digits),
            Token::Time(text) => self.time(text),
            Token::Date(text) => self.date(text),
            Token::Offset(text) => self.offset(text),
            Token::SignedWord(negative, text) => match word(text) {
                Some(Word::Special(Special::Infinity)) if negative => {
                    self.special(Special::NegativeInfinity)
                }
                Some(Word::Special(Special::Infinity)) => self.special(Special::Infinity),
                _ => Err(Fault::Syntax),
            },
            Token::Word(text) => self.word(text),
            Token::Zone(text) => {
                let Some(zone) = TimeZone::named(text) else {
                    return Err(ValueError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        "time zone not recognized",
                    )
                    .into());
                };
                self.set_zone(Zone::Named(zone))
            }
        }
    }

    fn word(&mut self, text: &str) -> Result<(), Fault> {
        match word(text).ok_or(Fault::Syntax)? {
            Word::Month(month) => {
                // A number that was taken for the month was the day.
                if let (Some(number), None) = (self.month, self.day)
                    && !self.month_is_word
                {
                    self.day = Some(number);
                    self.month = None;
                }
                self.month_is_word = true;
                set(&mut self.month, month)
            }
            Word::Ignored => Ok(()),
            Word::Christ { before } => {
                self.before_christ = before;
                Ok(())
            }
            Word::Noon { after } => set(&mut self.afternoon, after),
            Word::Midnight => {
                set(&mut self.time_us, 0)?;
                self.set_zone(Zone::Offset(0))
            }
            Word::Zone(offset) => self.set_zone(Zone::Offset(offset)),
            Word::Special(special) => self.special(special),
            Word::TimeFollows => {
                self.time_follows = true;
                Ok(())
            }
            Word::JulianFollows => {
                self.julian_follows = true;
                Ok(())
            }
        }
    }

    fn special(&mut self, special: Special) -> Result<(), Fault> {
        set(&mut self.special, special)
    }

    fn set_zone(&mut self, zone: Zone) -> Result<(), Fault> {
        if self.zone.is_some() {
            return Err(Fault::Syntax);
        }
        self.zone = Some(zone);
        Ok(())
    }

    fn has_date(&self) -> bool {
        let is_complete = self.year.is_some() && self.month.is_some() && self.day.is_some();
        let is_of_year = self.year.is_some() && self.day_of_year.is_some();
        is_complete || is_of_year || self.julian.is_some() || self.special.is_some()
    }

    fn julian(&mut self, token: Token) -> Result<(), Fault> {
        let Token::Number(digits) = token else {
            return Err(Fault::Syntax);
        };
        set(&mut self.julian, number(digits)?)
    }

    fn number_token(&mut self, digits: &str) -> Result<(), Fault> {
        if std::mem::take(&mut self.time_follows) || (self.has_date() && digits.len() >= 4) {
            return self.packed_time(digits);
        }
        // Six digits are a whole date, never a year.
        if digits.len() >= 6 {
            return self.packed_date(digits);
        }
        self.number(digits)
    }

    /// `19990108`, `990108`
    fn packed_date(&mut self, digits: &str) -> Result<(), Fault> {
        let (year, rest) = digits.split_at(digits.len() - 4);
        let (month, day) = rest.split_at(2);
        self.set_year(year)?;
        set(&mut self.month, number(month)?)?;
        set(&mut self.day, number(day)?)
    }

    /// `040506`, `0405`
    fn packed_time(&mut self, digits: &str) -> Result<(), Fault> {
        let (hour, minute, second) = match digits.len() {
            4 => (&digits[..2], &digits[2..], "0"),
            6 => (&digits[..2], &digits[2..4], &digits[4..]),
            _ => return Err(Fault::Syntax),
        };
        self.set_time(number(hour)?, number(minute)?, number(second)?, 0)
    }

    /// `1999-01-08`, `1/8/1999`, `08.01.1999`, `8-Jan-1999`, `1999.008`
    fn date(&mut self, text: &str) -> Result<(), Fault> {
        if self.year.is_some() || self.day.is_some() {
            return Err(Fault::Syntax);
        }
        let parts = || text.split(['-', '/', '.']);
        if !(2..=3).contains(&parts().count()) {
            return Err(Fault::Syntax);
        }
        // A month by name tells what the numbers are.
        for part in parts().filter(|part| !part.starts_with(|c: char| c.is_ascii_digit())) {
            match word(part) {
                Some(Word::Month(month)) => set(&mut self.month, month)?,
                _ => return Err(Fault::Syntax),
            }
            self.month_is_word = true;
        }
        for part in parts().filter(|part| part.starts_with(|c: char| c.is_ascii_digit())) {
            self.number(part)?;
        }
        Ok(())
    }

    /// Gives a number its meaning by what is known already.
    fn number(&mut self, digits: &str) -> Result<(), Fault> {
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Fault::Syntax);
        }
        let looks_like_year = digits.len() >= 3 || self.order == DateOrder::YearMonthDay;
        match (self.year, self.month, self.day) {
            (Some(_), None, None) if digits.len() == 3 => {
                let day = number(digits)?;
                if !(1..=366).contains(&day) {
                    return Err(field_overflow().into());
                }
                set(&mut self.day_of_year, day)
            }
            (None, None, None) if looks_like_year => self.set_year(digits),
            (None, None, None) if self.order == DateOrder::DayMonthYear => self.set_day(digits),
            (_, None, _) => set(&mut self.month, number(digits)?),
            (None, Some(_), None) if self.month_is_word && looks_like_year => self.set_year(digits),
            (None, Some(_), None) => self.set_day(digits),
            (Some(year), Some(_), None)
                if self.month_is_word && year.digits <= 2 && digits.len() >= 3 =>
            {
                // What was taken for a year of two digits was the day.
                self.day = Some(year.number);
                self.year = None;
                self.set_year(digits)
            }
            (Some(_), Some(_), None) => self.set_day(digits),
            (None, Some(_), Some(_)) => self.set_year(digits),
            (Some(_), Some(_), Some(_)) => Err(Fault::Syntax),
        }
    }

    fn set_year(&mut self, digits: &str) -> Result<(), Fault> {
        let year = Year {
            number: number(digits)?,
            digits: digits.len(),
        };
        set(&mut self.year, year)
    }

    fn set_day(&mut self, digits: &str) -> Result<(), Fault> {
        set(&mut self.day, number(digits)?)
    }

    /// `04:05`, `04:05:06.789`
    fn time(&mut self, text: &str) -> Result<(), Fault> {
        self.time_follows = false;
        let mut parts = text.split(':');
        let (Some(hour), Some(minute)) = (parts.next(), parts.next()) else {
            return Err(Fault::Syntax);
        };
        let second = parts.next().unwrap_or("0");
        if parts.next().is_some() {
            return Err(Fault::Syntax);
        }
        let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
        let second = if second.is_empty() {
            0
        } else {
            number(second)?
        };
        self.set_time(
            number(hour)?,
            number(minute)?,
            second,
            microseconds(fraction)?,
        )
    }

    fn set_time(
        &mut self,
        hour: i64,
        minute: i64,
        second: i64,
        fraction_us: i64,
    ) -> Result<(), Fault> {
        let is_clock = hour <= 24 && minute <= 59 && second <= 60;
        let time_us = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction_us;
        if !is_clock || time_us > civil::DAY_US {
            return Err(field_overflow().into());
        }
        set(&mut self.time_us, time_us)
    }

    /// `+02`, `-0330`, `+05:30:12`
    fn offset(&mut self, text: &str) -> Result<(), Fault> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let mut parts = digits.split(':');
        let first = parts.next().unwrap_or_default();
        let (hour, minute) = match parts.next() {
            Some(minute) => (number(first)?, number(minute)?),
            None if first.len() > 2 => (number(first)? / 100, number(first)? % 100),
            None => (number(first)?, 0),
        };
        let second = parts.next().map_or(Ok(0), number)?;
        if parts.next().is_some() {
            return Err(Fault::Syntax);
        }
        if hour > 15 || minute > 59 || second > 59 {
            let message = "time zone displacement out of range";
            return Err(
                ValueError::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, message).into(),
            );
        }
        let offset = (hour * 60 + minute) * 60 + second;
        self.set_zone(Zone::Offset(if negative { -offset } else { offset }))
    }

    fn finish(self) -> Result<Fields, Fault> {
        let date = self.finished_date()?;
        let mut time_us = self.time_us;
        if let (Some(after), Some(time)) = (self.afternoon, time_us) {
            const HALF_DAY: i64 = civil::DAY_US / 2;
            let hour = time / 3_600_000_000;
            if hour > 12 {
                return Err(field_overflow().into());
            }
            let on_dial = if hour == 12 { time - HALF_DAY } else { time };
            time_us = Some(if after { on_dial + HALF_DAY } else { on_dial });
        }
        let alone = matches!(
            self.special,
            Some(Special::Now | Special::Infinity | Special::NegativeInfinity | Special::Epoch)
        );
        let has_more = date.is_some() || time_us.is_some() || self.zone.is_some();
        if (alone && has_more)
            || (self.special.is_some() && date.is_some())
            || self.time_follows
            || self.julian_follows
            || (self.afternoon.is_some() && time_us.is_none())
        {
            return Err(Fault::Syntax);
        }
        Ok(Fields {
            date,
            time_us,
            zone: self.zone,
            special: self.special,
        })
    }

    fn finished_date(&self) -> Result<Option<Date>, Fault> {
        if let Some(julian) = self.julian {
            let day = julian + civil::FIRST_DAY;
            if day > civil::LAST_DAY || self.year.is_some() {
                return Err(field_overflow().into());
            }
            return Ok(Some(civil::date(day)));
        }
        let Some(year) = self.year else {
            let is_begun = self.month.is_some() || self.day.is_some();
            return if is_begun {
                Err(Fault::Syntax)
            } else {
                Ok(None)
            };
        };
        let year = match year {
            Year { number: 0, digits } if self.before_christ || digits > 2 => {
                return Err(field_overflow().into());
            }
            Year { number, .. } if self.before_christ => 1 - number,
            Year {
                number,
                digits: ..=2,
            } if number < 70 => number + 2000,
            Year {
                number,
                digits: ..=2,
            } => number + 1900,
            Year { number, .. } => number,
        };
        match (self.month, self.day, self.day_of_year) {
            (Some(month), Some(day), None) => Ok(Some(valid_date(Date { year, month, day })?)),
            (None, None, Some(day_of_year)) => {
                let first = civil::days(Date {
                    year,
                    month: 1,
                    day: 1,
                });
                Ok(Some(civil::date(first + day_of_year - 1)))
            }
            _ => Err(Fault::Syntax),
        }
    }
}

/// Fills a field that may be given once.
fn set<T>(field: &mut Option<T>, value: T) -> Result<(), Fault> {
    if field.is_some() {
        return Err(Fault::Syntax);
    }
    *field = Some(value);
    Ok(())
}

fn number(digits: &str) -> Result<i64, Fault> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Syntax);
    }
    let number = digits.parse::<i32>().map_err(|_| field_overflow())?;
    Ok(i64::from(number))
}

/// Digits behind the point of a second, rounded to microseconds.
fn microseconds(digits: &str) -> Result<i64, Fault> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Syntax);
    }
    if digits.is_empty() {
        return Ok(0);
    }
    let seconds: f64 = format!("0.{digits}").parse().map_err(|_| Fault::Syntax)?;
    Ok((seconds * 1_000_000.0).round_ties_even() as i64)
}

/// `invalid input syntax for type …`
pub(crate) fn syntax(name: &str) -> ValueError {
    let message = format!("invalid input syntax for type {name}");
    ValueError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

/// 22008
fn field_overflow() -> ValueError {
    ValueError::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        "date/time field value out of range",
    )
}

/// The date, where there is such a day.
///
/// # Errors
/// 22008
fn valid_date(date: Date) -> Result<Date, ValueError> {
    let exists = (1..=12).contains(&date.month)
        && (1..=civil::days_of_month(date.year, date.month)).contains(&date.day)
        && (-4713..=5_874_897).contains(&date.year);
    exists.then_some(date).ok_or_else(field_overflow)
}
