//! Settings of a session that the text form of values depends on.

use std::sync::Arc;

use semantics_postgres::{DateOrder, TextContext, TimeZone};
use session_core::StatementError;
use sql_rewrite::SessionFacts;

use crate::finisher::FinisherKind;

/// The first version whose COPY takes a line `\.` of CSV for data, as CSV has it.
const CSV_WITHOUT_MARKER: u32 = 18;

/// How the client writes texts.
#[derive(Debug)]
pub(super) struct Encoding {
    is_utf8: bool,
    is_iso: bool,
    zone_is_known: bool,
    strings_conform: bool,
    marker_ends_csv: bool,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            is_utf8: true,
            is_iso: true,
            zone_is_known: true,
            strings_conform: true,
            // If the version is unknown, an error is better than missing rows.
            marker_ends_csv: false,
        }
    }
}

impl Encoding {
    /// Whether the server takes a line `\.` for the end of CSV.
    pub(super) fn marker_ends_csv(&self) -> bool {
        self.marker_ends_csv
    }

    /// # Errors
    /// Texts would be misread.
    pub(super) fn check(&self) -> Result<(), StatementError> {
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
        Err(StatementError::unsupported(message).hint(format!("{hint} when connecting.")))
    }
}

/// Settings with which the text form of values is written and read.
#[derive(Debug, Default)]
pub(super) struct Settings {
    context: Arc<TextContext>,
    encoding: Encoding,
    /// When the transaction began, once that was asked: microseconds since 2000-01-01.
    began: Option<i64>,
    of_finisher: FinisherSettings,
}

/// What the finisher has to know of the session.
#[derive(Debug, Default)]
struct FinisherSettings {
    kind: Arc<FinisherKind>,
    settings: Arc<[(String, String)]>,
}

/// Settings by which a server reads and writes values.
const OF_FINISHER: [&str; 9] = [
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
    "bytea_output",
    "extra_float_digits",
    "default_text_search_config",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
];

impl Settings {
    /// Notes a setting that the server has reported, by ParameterStatus or in a query.
    pub(super) fn note(&mut self, name: &[u8], value: &[u8]) {
        note(
            name,
            value,
            Arc::make_mut(&mut self.context),
            &mut self.encoding,
        );
    }

    /// The settings, with the time of the last call of [`Self::context_now`].
    pub(super) fn context(&self) -> &TextContext {
        &self.context
    }

    /// The same for messages that are sent next; `now` is asked for once in a transaction.
    pub(super) fn context_now(&mut self, now: impl FnOnce() -> i64) -> Arc<TextContext> {
        let now = *self.began.get_or_insert_with(now);
        if self.context.now != now {
            Arc::make_mut(&mut self.context).now = now;
        }
        Arc::clone(&self.context)
    }

    /// Notes the end of the transaction: the next one has its own time.
    pub(super) fn end_transaction(&mut self) {
        self.began = None;
    }

    /// Notes what the server has said of the session.
    pub(super) fn note_session(&mut self, session: &SessionFacts) {
        for (name, value) in &session.settings {
            // The server reports them only before ReadyForQuery.
            self.note(name.as_bytes(), value.as_bytes());
        }
        let fact = |name: &str| session.setting(name).unwrap_or_default().to_owned();
        let kind = FinisherKind {
            major: major_of(session),
            locale_provider: fact("locale_provider"),
            collate: fact("collate"),
            ctype: fact("ctype"),
            icu_locale: fact("icu_locale"),
        };
        if *self.of_finisher.kind != kind {
            self.of_finisher.kind = Arc::new(kind);
        }
        let known = OF_FINISHER.iter();
        let known = known.filter_map(|name| session.settings.iter().find(|(own, _)| own == name));
        if !known.clone().eq(self.of_finisher.settings.iter()) {
            self.of_finisher.settings = known.cloned().collect();
        }
    }

    /// The kind of server that a finisher must be, and settings that it must have.
    pub(super) fn of_finisher(&self) -> (Arc<FinisherKind>, Arc<[(String, String)]>) {
        let FinisherSettings { kind, settings } = &self.of_finisher;
        (Arc::clone(kind), Arc::clone(settings))
    }

    pub(super) fn encoding(&self) -> &Encoding {
        &self.encoding
    }
}

/// The server's major version. 0: it is not known.
pub(super) fn major_of(session: &SessionFacts) -> u16 {
    let number = session.setting("server_version_num").unwrap_or_default();
    let number = number.parse::<u32>().unwrap_or_default();
    u16::try_from(number / 10_000).unwrap_or_default()
}

/// Notes a setting, of which the server has told by a ParameterStatus or because it was asked. Of
/// `bytea_output` and `extra_float_digits` it only tells who asks.
fn note(name: &[u8], value: &[u8], context: &mut TextContext, encoding: &mut Encoding) {
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
        b"server_version" => {
            let mut parts = value.split(|character: char| !character.is_ascii_digit());
            let digits = parts.next().unwrap_or_default();
            let major = digits.parse::<u32>();
            encoding.marker_ends_csv = major.is_ok_and(|major| major < CSV_WITHOUT_MARKER);
        }
        b"bytea_output" => context.escapes_bytes = value == "escape",
        b"extra_float_digits" => context.extra_float_digits = value.parse().unwrap_or(1),
        b"standard_conforming_strings" => encoding.strings_conform = value == "on",
        b"TimeZone" => {
            let zone = TimeZone::named(&value);
            encoding.zone_is_known = zone.is_some();
            context.time_zone = zone.unwrap_or_else(TimeZone::utc);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_csv_depends_on_the_servers_version() {
        for (version, ends) in [
            ("9.6.24", true),
            ("17.6 (Debian 17.6-1)", true),
            ("17beta1", true),
            ("18.0", false),
            ("18devel", false),
            ("19.1", false),
            ("unheard", false),
            ("", false),
        ] {
            let (mut context, mut encoding) = (TextContext::default(), Encoding::default());
            let value = version.as_bytes();
            note(b"server_version", value, &mut context, &mut encoding);
            assert_eq!(encoding.marker_ends_csv(), ends, "{version}");
        }
    }
}
