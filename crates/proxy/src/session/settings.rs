//! Settings of a session that the server reports, and that texts of values depend on.

use column_types::{DateOrder, TextContext, TimeZone};
use wire_postgres::backend::Failure;

/// How the client writes texts.
#[derive(Debug)]
pub(super) struct Encoding {
    is_utf8: bool,
    is_iso: bool,
    zone_is_known: bool,
    strings_conform: bool,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            is_utf8: true,
            is_iso: true,
            zone_is_known: true,
            strings_conform: true,
        }
    }
}

impl Encoding {
    /// # Errors
    /// Texts would be read otherwise than they are meant.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let (what, hint) = if !self.is_utf8 {
            (
                "client_encoding other than UTF8",
                "SET client_encoding TO 'UTF8'",
            )
        } else if !self.is_iso {
            ("DateStyle other than ISO", "SET DateStyle TO 'ISO'")
        } else if !self.zone_is_known {
            (
                "this TimeZone",
                "SET TimeZone TO a name of the IANA database",
            )
        } else if !self.strings_conform {
            (
                "standard_conforming_strings = off",
                "SET standard_conforming_strings TO on",
            )
        } else {
            return Ok(());
        };
        let message = format!("{what} is not supported before protected columns");
        Err(Failure::error("0A000", message).hint(format!("{hint} when connecting.")))
    }
}

/// Notes a ParameterStatus.
pub(super) fn note(name: &[u8], value: &[u8], context: &mut TextContext, encoding: &mut Encoding) {
    let value = String::from_utf8_lossy(value);
    match name {
        b"client_encoding" => {
            encoding.is_utf8 = matches!(&*value, "UTF8" | "UTF-8" | "UNICODE");
        }
        b"DateStyle" => {
            encoding.is_iso = value.starts_with("ISO");
            context.date_order = if value.ends_with("DMY") {
                DateOrder::DayMonthYear
            } else if value.ends_with("YMD") {
                DateOrder::YearMonthDay
            } else {
                DateOrder::MonthDayYear
            };
        }
        b"standard_conforming_strings" => encoding.strings_conform = value == "on",
        b"TimeZone" => {
            let zone = TimeZone::named(&value);
            encoding.zone_is_known = zone.is_some();
            context.time_zone = zone.unwrap_or_else(TimeZone::utc);
        }
        _ => {}
    }
}
