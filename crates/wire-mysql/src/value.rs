//! Types of columns and parameters, and values in the binary form.

use crate::reader::{Malformed, Reader, put_counted};

/// The number of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldType(pub u8);

impl FieldType {
    #![allow(
        missing_docs,
        reason = "each is the name of the type in the documentation, without MYSQL_TYPE_"
    )]
    pub const DECIMAL: Self = Self(0);
    pub const TINY: Self = Self(1);
    pub const SHORT: Self = Self(2);
    pub const LONG: Self = Self(3);
    pub const FLOAT: Self = Self(4);
    pub const DOUBLE: Self = Self(5);
    pub const NULL: Self = Self(6);
    pub const TIMESTAMP: Self = Self(7);
    pub const LONGLONG: Self = Self(8);
    pub const INT24: Self = Self(9);
    pub const DATE: Self = Self(10);
    pub const TIME: Self = Self(11);
    pub const DATETIME: Self = Self(12);
    pub const YEAR: Self = Self(13);
    pub const VARCHAR: Self = Self(15);
    pub const BIT: Self = Self(16);
    /// MySQL 9.
    pub const VECTOR: Self = Self(242);
    pub const JSON: Self = Self(245);
    pub const NEWDECIMAL: Self = Self(246);
    pub const ENUM: Self = Self(247);
    pub const SET: Self = Self(248);
    pub const TINY_BLOB: Self = Self(249);
    pub const MEDIUM_BLOB: Self = Self(250);
    pub const LONG_BLOB: Self = Self(251);
    pub const BLOB: Self = Self(252);
    pub const VAR_STRING: Self = Self(253);
    pub const STRING: Self = Self(254);
    pub const GEOMETRY: Self = Self(255);
}

/// Date and time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DateTime {
    /// 0 to 9999; 0 is a year to these servers.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
    /// Hour of the day.
    pub hour: u8,
    /// Minute of the hour.
    pub minute: u8,
    /// Second of the minute.
    pub second: u8,
    /// Millionths of a second.
    pub microsecond: u32,
}

/// An interval of time, as the type TIME has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Time {
    /// Whether it is below zero.
    pub is_negative: bool,
    /// Whole days.
    pub days: u32,
    /// Hour of the day.
    pub hour: u8,
    /// Minute of the hour.
    pub minute: u8,
    /// Second of the minute.
    pub second: u8,
    /// Millionths of a second.
    pub microsecond: u32,
}

/// A value in the binary form. Numbers are given by their bits: whether they have a sign stands
/// with the type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// One byte.
    Tiny(u8),
    /// Two bytes.
    Short(u16),
    /// Four bytes.
    Long(u32),
    /// Eight bytes.
    LongLong(u64),
    /// Single precision.
    Float(f32),
    /// Double precision.
    Double(f64),
    /// DATE, DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
    /// Every other type: text, bytes, and digits of DECIMAL.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Reads a value that is not NULL. Ranges of date and time are not checked.
    pub(crate) fn read(kind: FieldType, reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match kind {
            FieldType::NULL => Self::Null,
            FieldType::TINY => Self::Tiny(reader.u8()?),
            FieldType::SHORT | FieldType::YEAR => Self::Short(reader.u16()?),
            FieldType::LONG | FieldType::INT24 => Self::Long(reader.u32()?),
            FieldType::LONGLONG => Self::LongLong(reader.array().map(u64::from_le_bytes)?),
            FieldType::FLOAT => Self::Float(reader.array().map(f32::from_le_bytes)?),
            FieldType::DOUBLE => Self::Double(reader.array().map(f64::from_le_bytes)?),
            FieldType::DATE | FieldType::DATETIME | FieldType::TIMESTAMP => {
                Self::DateTime(DateTime::read(reader)?)
            }
            FieldType::TIME => Self::Time(Time::read(reader)?),
            FieldType::DECIMAL
            | FieldType::VARCHAR
            | FieldType::BIT
            | FieldType::VECTOR
            | FieldType::JSON
            | FieldType::NEWDECIMAL
            | FieldType::ENUM
            | FieldType::SET
            | FieldType::TINY_BLOB
            | FieldType::MEDIUM_BLOB
            | FieldType::LONG_BLOB
            | FieldType::BLOB
            | FieldType::VAR_STRING
            | FieldType::STRING
            | FieldType::GEOMETRY => Self::Bytes(reader.counted()?),
            _ => return Err(Malformed),
        })
    }

    /// The whole number that the bits stand for. None: it is a value of another kind.
    pub fn whole(&self, is_unsigned: bool) -> Option<i128> {
        let (signed, unsigned) = match *self {
            Self::Tiny(bits) => ((bits as i8).into(), bits.into()),
            Self::Short(bits) => ((bits as i16).into(), bits.into()),
            Self::Long(bits) => ((bits as i32).into(), bits.into()),
            Self::LongLong(bits) => (bits as i64, bits),
            _ => return None,
        };
        Some(match is_unsigned {
            true => unsigned.into(),
            false => signed.into(),
        })
    }

    /// Appends the value in the binary form. NULL has no bytes: a bit stands for it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Tiny(bits) => out.push(*bits),
            Self::Short(bits) => out.extend_from_slice(&bits.to_le_bytes()),
            Self::Long(bits) => out.extend_from_slice(&bits.to_le_bytes()),
            Self::LongLong(bits) => out.extend_from_slice(&bits.to_le_bytes()),
            Self::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::DateTime(moment) => moment.write(out),
            Self::Time(time) => time.write(out),
            Self::Bytes(bytes) => put_counted(out, bytes),
        }
    }
}

impl DateTime {
    /// Parts that are zero at the end are left out.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let size = reader.u8()?;
        if !matches!(size, 0 | 4 | 7 | 11) {
            return Err(Malformed);
        }
        let mut moment = Self::default();
        if size >= 4 {
            moment.year = reader.u16()?;
            [moment.month, moment.day] = reader.array()?;
        }
        if size >= 7 {
            [moment.hour, moment.minute, moment.second] = reader.array()?;
        }
        if size == 11 {
            moment.microsecond = reader.u32()?;
        }
        Ok(moment)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let size = if self.microsecond != 0 {
            11
        } else if [self.hour, self.minute, self.second] != [0; 3] {
            7
        } else if *self != Self::default() {
            4
        } else {
            0
        };
        out.push(size);
        if size >= 4 {
            out.extend_from_slice(&self.year.to_le_bytes());
            out.extend_from_slice(&[self.month, self.day]);
        }
        if size >= 7 {
            out.extend_from_slice(&[self.hour, self.minute, self.second]);
        }
        if size == 11 {
            out.extend_from_slice(&self.microsecond.to_le_bytes());
        }
    }
}

impl Time {
    /// Parts that are zero at the end are left out.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let size = reader.u8()?;
        if !matches!(size, 0 | 8 | 12) {
            return Err(Malformed);
        }
        let mut time = Self::default();
        if size >= 8 {
            time.is_negative = reader.u8()? != 0;
            time.days = reader.u32()?;
            [time.hour, time.minute, time.second] = reader.array()?;
        }
        if size == 12 {
            time.microsecond = reader.u32()?;
        }
        Ok(time)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let size = if self.microsecond != 0 {
            12
        } else if *self != Self::default() {
            8
        } else {
            0
        };
        out.push(size);
        if size >= 8 {
            out.push(u8::from(self.is_negative));
            out.extend_from_slice(&self.days.to_le_bytes());
            out.extend_from_slice(&[self.hour, self.minute, self.second]);
        }
        if size == 12 {
            out.extend_from_slice(&self.microsecond.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: Value<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        value.write(&mut out);
        out
    }

    #[test]
    fn bits_of_whole_numbers_have_a_sign_or_none() {
        for (value, signed, unsigned) in [
            (Value::Tiny(0xff), -1, 255),
            (Value::Short(0x8000), -32_768, 32_768),
            (Value::Long(7), 7, 7),
            (Value::LongLong(u64::MAX), -1, u64::MAX.into()),
        ] {
            assert_eq!(value.whole(false), Some(signed), "{value:?}");
            assert_eq!(value.whole(true), Some(unsigned), "{value:?}");
        }
        assert_eq!(Value::Double(1.0).whole(false), None);
        assert_eq!(Value::Bytes(b"1").whole(true), None);
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let moment = DateTime {
            year: 2026,
            month: 11,
            day: 25,
            ..DateTime::default()
        };
        let noon = DateTime { hour: 12, ..moment };
        let exact = DateTime {
            microsecond: 1,
            ..moment
        };
        let time = Time {
            is_negative: true,
            days: 34,
            hour: 22,
            ..Time::default()
        };
        let exact_time = Time {
            microsecond: 999_999,
            ..Time::default()
        };
        let values = [
            (FieldType::TINY, Value::Tiny(0xff), 1),
            (FieldType::YEAR, Value::Short(2026), 2),
            (FieldType::INT24, Value::Long(u32::MAX), 4),
            (FieldType::LONGLONG, Value::LongLong(1 << 63), 8),
            (FieldType::FLOAT, Value::Float(0.1), 4),
            (FieldType::DOUBLE, Value::Double(-0.1), 8),
            (FieldType::DATE, Value::DateTime(DateTime::default()), 1),
            (FieldType::DATE, Value::DateTime(moment), 5),
            (FieldType::DATETIME, Value::DateTime(noon), 8),
            (FieldType::TIMESTAMP, Value::DateTime(exact), 12),
            (FieldType::TIME, Value::Time(Time::default()), 1),
            (FieldType::TIME, Value::Time(time), 9),
            (FieldType::TIME, Value::Time(exact_time), 13),
            (FieldType::NEWDECIMAL, Value::Bytes(b"1.50"), 5),
            (FieldType::VAR_STRING, Value::Bytes(b""), 1),
        ];
        for (kind, value, size) in values {
            let out = written(value);
            assert_eq!(out.len(), size, "{value:?}");
            let mut reader = Reader::new(&out);
            assert_eq!(Value::read(kind, &mut reader), Ok(value));
            assert!(reader.is_at_end());
            for cut in 0..size {
                let mut reader = Reader::new(&out[..cut]);
                assert_eq!(Value::read(kind, &mut reader), Err(Malformed), "{value:?}");
            }
        }
    }

    #[test]
    fn sizes_and_types_that_do_not_exist_are_malformed() {
        let wrong: [(FieldType, &[u8]); 4] = [
            (FieldType::DATE, &[5, 0, 0, 0, 0, 0]),
            (FieldType::TIME, &[7, 0, 0, 0, 0, 0, 0, 0]),
            (FieldType(14), &[0]),
            (FieldType(100), &[0]),
        ];
        for (kind, bytes) in wrong {
            let value = Value::read(kind, &mut Reader::new(bytes));
            assert_eq!(value, Err(Malformed), "{kind:?}");
        }
    }
}
