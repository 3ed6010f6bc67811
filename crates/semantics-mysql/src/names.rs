//! Names of types.

use column_value::LogicalType;

/// Digits of a decimal.
const PRECISION_MAX: u16 = 65;
/// Digits behind its point. MariaDB has some more.
const SCALE_MAX: u16 = 30;
/// The longest `varchar`, of letters of four bytes.
const VARCHAR_MAX: u32 = 16_383;

/// The longest `char`.
const CHAR_MAX: u32 = 255;

/// What a type is called in MySQL; None: none that the proxy protects there.
pub fn name_of_type(logical: LogicalType) -> Option<String> {
    Some(match logical {
        LogicalType::SmallInt => "smallint".to_owned(),
        LogicalType::Integer => "int".to_owned(),
        LogicalType::BigInt => "bigint".to_owned(),
        LogicalType::Whole(whole) => whole.name().to_owned(),
        LogicalType::Numeric(Some((precision @ ..=PRECISION_MAX, scale @ ..=SCALE_MAX))) => {
            format!("decimal({precision},{scale})")
        }
        LogicalType::Real => "float".to_owned(),
        LogicalType::Double => "double".to_owned(),
        LogicalType::Char(letters @ 1..=CHAR_MAX) => format!("char({letters})"),
        LogicalType::Varchar(Some(letters @ 1..=VARCHAR_MAX)) => format!("varchar({letters})"),
        LogicalType::Text => "text".to_owned(),
        LogicalType::Bytes => "blob".to_owned(),
        LogicalType::Date => "date".to_owned(),
        LogicalType::Enum(own) => own.to_string(),
        LogicalType::Set(own) => own.to_string(),
        LogicalType::Bits(bits) => format!("bit({bits})"),
        LogicalType::SignedTime(0) => "time".to_owned(),
        LogicalType::SignedTime(digits) => format!("time({digits})"),
        LogicalType::Timestamp(Some(0)) => "datetime".to_owned(),
        LogicalType::Timestamp(Some(digits)) => format!("datetime({digits})"),
        LogicalType::TimestampTz(Some(0)) => "timestamp".to_owned(),
        LogicalType::TimestampTz(Some(digits)) => format!("timestamp({digits})"),
        _ => return None,
    })
}
