//! Settings of a session that the text form of values depends on.

use std::borrow::Cow;
use std::sync::Arc;

use semantics_postgres::{DateOrder, Drawn, Letters, OpaqueForms, TextContext, TimeZone};
use session_core::StatementError;
use session_core::plans::TextPlan;
use sql_rewrite::{Schema, SessionFacts};
use sqlstate::SqlState;

use crate::finisher::FinisherKind;

/// The first version whose COPY takes a line `\.` of CSV for data, as CSV has it.
const CSV_WITHOUT_MARKER: u32 = 18;

/// How letters beyond ASCII are written. All others are the same in every encoding that a client
/// may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LetterBytes {
    Utf8,
    /// Each byte of such a letter is at least 0x80, so the bytes of ASCII stand for themselves.
    High,
    /// Not known, or a letter may have bytes of ASCII in it, such as a backslash.
    Mixed,
}

impl LetterBytes {
    /// Those of an encoding by the server's name for it.
    fn of(encoding: &str) -> Self {
        const HIGH: [&str; 8] = [
            "EUC_",
            "ISO_8859_",
            "KOI8",
            "LATIN",
            "MULE_INTERNAL",
            "SQL_ASCII",
            "WIN125",
            "WIN8",
        ];
        match encoding {
            "UTF8" | "UTF-8" | "UNICODE" => Self::Utf8,
            other if HIGH.iter().any(|start| other.starts_with(start)) => Self::High,
            _ => Self::Mixed,
        }
    }
}

/// How the client writes texts.
#[derive(Debug)]
pub(super) struct Encoding {
    letters: LetterBytes,
    is_iso: bool,
    zone_is_known: bool,
    abbreviations_are_known: bool,
    strings_conform: bool,
    marker_ends_csv: bool,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            letters: LetterBytes::Utf8,
            is_iso: true,
            zone_is_known: true,
            abbreviations_are_known: true,
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

    /// A text of the client's. Letters that the proxy does not know stand for themselves alone:
    /// [`Self::check_plan`] says whether that is enough.
    ///
    /// # Errors
    /// It is no text, or where its constants end depends on what the proxy does not know.
    pub(super) fn read<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, str>, StatementError> {
        if !self.strings_conform && text.contains(&b'\\') {
            let message = "a text with a backslash is not supported before protected columns while \
                           standard_conforming_strings is off";
            return Err(StatementError::unsupported(message)
                .hint("SET standard_conforming_strings TO on when connecting."));
        }
        match (std::str::from_utf8(text), self.letters) {
            (Ok(text), letters) if letters == LetterBytes::Utf8 || text.is_ascii() => {
                Ok(Cow::Borrowed(text))
            }
            (_, LetterBytes::Utf8) => Err(StatementError::statement(
                SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                "invalid byte sequence for encoding \"UTF8\"",
            )),
            (_, LetterBytes::High) => Ok(text.iter().copied().map(char::from).collect()),
            (_, LetterBytes::Mixed) => Err(self.misread()),
        }
    }

    /// Whether the proxy may send what was planned for a text that [`Self::read`] has read.
    ///
    /// # Errors
    /// Values would be misread, or the text may mean something else.
    pub(super) fn check_plan(&self, text: &[u8], plan: &TextPlan) -> Result<(), StatementError> {
        self.check_values(plan)?;
        if self.letters == LetterBytes::Utf8 || text.is_ascii() {
            return Ok(());
        }
        let names_none = plan.passes()
            && !plan.may_name_objects
            && (0..plan.planned.len())
                .filter_map(|index| plan.effects(index))
                .all(|effects| effects.objects.is_empty())
            && !plan.loaded.schema.may_be_named_in(text);
        match names_none {
            true => Ok(()),
            false => Err(self.misread()),
        }
    }

    /// Whether the values of a plan are read and written as the client expects, and its texts as
    /// the server does.
    ///
    /// # Errors
    /// They are not.
    pub(super) fn check_values(&self, plan: &TextPlan) -> Result<(), StatementError> {
        let mut plans = plan.planned.iter().map(|one| &one.plan);
        let is_ascii =
            self.letters == LetterBytes::Utf8 || plans.clone().all(sql_plan::Plan::is_ascii);
        match is_ascii && !plans.any(sql_plan::Plan::has_sealed_values) {
            true => Ok(()),
            false => self.check(),
        }
    }

    /// Whether the names that the server has told of a session are those of the catalogues.
    ///
    /// # Errors
    /// Their letters are not known.
    pub(super) fn check_names(&self, session: &SessionFacts) -> Result<(), StatementError> {
        let mut names = session.search_path.iter().chain(session.temporary.all());
        match self.letters == LetterBytes::Utf8 || names.all(|name| name.is_ascii()) {
            true => Ok(()),
            false => Err(self.misread()),
        }
    }

    fn misread(&self) -> StatementError {
        let message = "client_encoding other than UTF8 is not supported before protected columns, \
                       where letters beyond ASCII may be part of a name";
        StatementError::unsupported(message).hint("SET client_encoding TO 'UTF8' when connecting.")
    }

    /// # Errors
    /// Values would be misread.
    pub(super) fn check(&self) -> Result<(), StatementError> {
        let (what, hint) = if self.letters != LetterBytes::Utf8 {
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
        } else if !self.abbreviations_are_known {
            (
                "timezone_abbreviations other than Default",
                "SET timezone_abbreviations TO 'Default'",
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
    /// What the session shows of it.
    kind: Arc<FinisherKind>,
    /// The same with what the schema shows that was read last.
    of_schema: Arc<FinisherKind>,
    settings: Arc<[(String, String)]>,
}

impl FinisherSettings {
    fn kind_of(&self, schema: &Schema) -> Arc<FinisherKind> {
        Arc::new(FinisherKind {
            named_types: schema.catalogue.named_types.all().collect(),
            extensions: schema.catalogue.finisher.extensions.all.clone(),
            search_path: searched(schema).cloned().collect(),
            ..FinisherKind::clone(&self.kind)
        })
    }
}

impl FinisherKind {
    /// Whether a database with this schema needs no other.
    fn is_of(&self, schema: &Schema) -> bool {
        schema
            .catalogue
            .named_types
            .all()
            .eq(self.named_types.iter().copied())
            && schema.catalogue.finisher.extensions.all == self.extensions
            && searched(schema).eq(&self.search_path)
    }
}

/// Schemas of the search path in which the finisher has something.
fn searched(schema: &Schema) -> impl Iterator<Item = &String> {
    let extensions = &schema.catalogue.finisher.extensions.all;
    let types = &schema.catalogue.named_types;
    let has = move |name: &&String| {
        extensions.iter().any(|own| own.schema == **name) || types.has_in(name)
    };
    schema.search_path.iter().filter(has)
}

/// Settings by which a server reads and writes values, and reads queries.
const OF_FINISHER: [&str; 18] = [
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
    "bytea_output",
    "extra_float_digits",
    "default_text_search_config",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "timezone_abbreviations",
    "array_nulls",
    "transform_null_equals",
    "quote_all_identifiers",
    "xmlbinary",
    "xmloption",
    "pg_trgm.similarity_threshold",
    "pg_trgm.word_similarity_threshold",
    "pg_trgm.strict_word_similarity_threshold",
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

    /// Notes what is known of values that are kept unread.
    pub(super) fn set_forms(&mut self, forms: OpaqueForms) {
        Arc::make_mut(&mut self.context).opaque = forms;
    }

    /// Forgets what is known of values that are kept unread.
    pub(super) fn forget_forms(&mut self) {
        if !self.context.opaque.is_empty() {
            self.set_forms(OpaqueForms::default());
        }
    }

    /// The same settings, that note of which values another form is needed.
    pub(super) fn noting_context(&self) -> TextContext {
        TextContext {
            opaque: self.context.opaque.noting(),
            drawn: Drawn::counting(),
            ..TextContext::clone(&self.context)
        }
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
            collation_version: fact("collation_version"),
            named_types: Vec::new(),
            extensions: Vec::new(),
            search_path: Vec::new(),
        };
        let locale = match kind.icu_locale.as_str() {
            "" => &kind.ctype,
            locale => locale,
        };
        let letters = Letters::of(&kind.locale_provider, &fact("encoding"), locale);
        if self.context.letters != letters {
            Arc::make_mut(&mut self.context).letters = letters;
        }
        if *self.of_finisher.kind != kind {
            self.of_finisher.kind = Arc::new(kind);
            self.of_finisher.of_schema = Arc::clone(&self.of_finisher.kind);
        }
        let known = OF_FINISHER.iter();
        let known = known.filter_map(|name| session.settings.iter().find(|(own, _)| own == name));
        if !known.clone().eq(self.of_finisher.settings.iter()) {
            self.of_finisher.settings = known.cloned().collect();
        }
    }

    /// The kind of server that a finisher must be for a database with this schema, and settings
    /// that it must have.
    pub(super) fn of_finisher(
        &self,
        schema: &Schema,
    ) -> (Arc<FinisherKind>, Arc<[(String, String)]>) {
        let own = &self.of_finisher;
        let kind = match own.of_schema.is_of(schema) {
            true => Arc::clone(&own.of_schema),
            false => own.kind_of(schema),
        };
        (kind, Arc::clone(&own.settings))
    }

    /// Notes the schema that plans are made for.
    pub(super) fn note_schema(&mut self, schema: &Schema) {
        if !self.of_finisher.of_schema.is_of(schema) {
            self.of_finisher.of_schema = self.of_finisher.kind_of(schema);
        }
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
            encoding.letters = LetterBytes::of(&value);
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
        b"timezone_abbreviations" => encoding.abbreviations_are_known = value == "Default",
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
