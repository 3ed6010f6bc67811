//! Options of `COPY`: how the client reads and writes rows, and what of that the server is told.

use std::fmt::Write as _;

use sql_plan::{refuse, unsupported};
use sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption, Ident};
use sqlstate::SqlState;

use crate::dialect::postgres::names::folded;
use crate::{CopyForced, CopyFormat, Refusal};

/// What options ask for.
pub(super) struct Options {
    format: CopyFormat,
    /// `FREEZE`
    is_frozen: bool,
    /// Columns of `FORCE_QUOTE`, `FORCE_NOT_NULL` and `FORCE_NULL`.
    quoted: Vec<Ident>,
    not_null: Vec<Ident>,
    null: Vec<Ident>,
}

/// Options as they were given.
#[derive(Default)]
struct Given {
    csv: bool,
    binary: bool,
    delimiter: Option<char>,
    null: Option<String>,
    header: bool,
    quote: Option<char>,
    escape: Option<char>,
    is_frozen: bool,
    forced_quote: Vec<Ident>,
    forced_not_null: Vec<Ident>,
    forced_null: Vec<Ident>,
}

impl Options {
    /// Reads them.
    pub(super) fn read(
        options: &[CopyOption],
        legacy: &[CopyLegacyOption],
    ) -> Result<Self, Refusal> {
        let mut given = Given::default();
        for option in options {
            given.take(option)?;
        }
        for option in legacy {
            given.take_legacy(option)?;
        }
        given.options()
    }

    /// How rows with these fields are written, and the options for the server.
    ///
    /// The fields that [`CopyForced`] names are read and written by the proxy alone: what it sends
    /// on has quotes where a field is not NULL.
    pub(super) fn of_fields(
        self,
        fields: &[String],
        into_server: bool,
    ) -> Result<(CopyFormat, String), Refusal> {
        if self.is_frozen && !into_server {
            return Err(unsupported("FREEZE of COPY TO"));
        }
        let mut text = String::new();
        write_format(&mut text, &self.format);
        if self.is_frozen {
            text.push_str(", FREEZE true");
        }
        let mut format = self.format;
        let lists = [
            ("FORCE_QUOTE", self.quoted, !into_server),
            ("FORCE_NOT_NULL", self.not_null, into_server),
            ("FORCE_NULL", self.null, into_server),
        ];
        for (option, names, is_that_way) in lists {
            if names.is_empty() {
                continue;
            }
            let CopyFormat::Csv { forced, .. } = &mut format else {
                return Err(unsupported(&format!("{option} without CSV")));
            };
            if !is_that_way {
                return Err(unsupported(&format!(
                    "{option} of a COPY in this direction"
                )));
            }
            let places = places(option, &names, fields)?;
            match option {
                "FORCE_QUOTE" => forced.quote = places,
                "FORCE_NOT_NULL" => forced.not_null = places,
                _ => forced.null = places,
            }
        }
        Ok((format, text))
    }
}

/// The places of named columns among the fields.
fn places(option: &str, names: &[Ident], fields: &[String]) -> Result<Vec<usize>, Refusal> {
    let place = |name: &Ident| {
        let name = folded(name);
        fields.iter().position(|own| *own == name).ok_or_else(|| {
            refuse(format!("{option} column {name:?} not referenced by COPY"))
                .with_state(SqlState::INVALID_COLUMN_REFERENCE)
        })
    };
    names.iter().map(place).collect()
}

impl Given {
    fn take(&mut self, option: &CopyOption) -> Result<(), Refusal> {
        match option {
            CopyOption::Format(name) => match folded(name).as_str() {
                "text" => {}
                "csv" => self.csv = true,
                "binary" => self.binary = true,
                _ => return Err(unsupported("a format of COPY")),
            },
            CopyOption::Freeze(freeze) => self.is_frozen = *freeze,
            CopyOption::Delimiter(delimiter) => self.delimiter = Some(*delimiter),
            CopyOption::Null(null) => self.null = Some(null.clone()),
            CopyOption::Header(header) => self.header = *header,
            CopyOption::Quote(quote) => self.quote = Some(*quote),
            CopyOption::Escape(escape) => self.escape = Some(*escape),
            CopyOption::ForceQuote(names) => self.forced_quote.clone_from(names),
            CopyOption::ForceNotNull(names) => self.forced_not_null.clone_from(names),
            CopyOption::ForceNull(names) => self.forced_null.clone_from(names),
            CopyOption::Encoding(name) if is_utf8(name) => {}
            CopyOption::Encoding(_) => return Err(unsupported("an option of this COPY")),
        }
        Ok(())
    }

    fn take_legacy(&mut self, option: &CopyLegacyOption) -> Result<(), Refusal> {
        match option {
            CopyLegacyOption::Binary => self.binary = true,
            CopyLegacyOption::Delimiter(delimiter) => self.delimiter = Some(*delimiter),
            CopyLegacyOption::Null(null) => self.null = Some(null.clone()),
            CopyLegacyOption::Header => self.header = true,
            CopyLegacyOption::Csv(options) => {
                self.csv = true;
                for option in options {
                    match option {
                        CopyLegacyCsvOption::Header => self.header = true,
                        CopyLegacyCsvOption::Quote(quote) => self.quote = Some(*quote),
                        CopyLegacyCsvOption::Escape(escape) => self.escape = Some(*escape),
                        CopyLegacyCsvOption::ForceQuote(names) => {
                            self.forced_quote.clone_from(names);
                        }
                        CopyLegacyCsvOption::ForceNotNull(names) => {
                            self.forced_not_null.clone_from(names);
                        }
                    }
                }
            }
            _ => return Err(unsupported("an option of this COPY")),
        }
        Ok(())
    }

    fn options(self) -> Result<Options, Refusal> {
        let backslash_n = || "\\N".to_owned();
        let format = match (self.binary, self.csv) {
            (true, true) => return Err(unsupported("COPY in two formats")),
            (true, false) => CopyFormat::Binary,
            (false, true) => CopyFormat::Csv {
                delimiter: self.delimiter.unwrap_or(','),
                null: self.null.unwrap_or_default(),
                header: self.header,
                quote: self.quote.unwrap_or('"'),
                escape: self.escape.or(self.quote).unwrap_or('"'),
                forced: CopyForced::default(),
            },
            (false, false) => CopyFormat::Text {
                delimiter: self.delimiter.unwrap_or('\t'),
                null: self.null.unwrap_or_else(backslash_n),
                header: self.header,
            },
        };
        Ok(Options {
            format,
            is_frozen: self.is_frozen,
            quoted: self.forced_quote,
            not_null: self.forced_not_null,
            null: self.forced_null,
        })
    }
}

fn is_utf8(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "utf8" | "utf-8" | "unicode"
    )
}

fn write_format(text: &mut String, format: &CopyFormat) {
    let constant = |value: &str| format!("'{}'", value.replace('\'', "''"));
    let option = |text: &mut String, name: &str, value: &str| {
        write!(text, ", {name} {}", constant(value)).expect("a String takes all");
    };
    match format {
        CopyFormat::Binary => text.push_str("FORMAT binary"),
        CopyFormat::Text {
            delimiter,
            null,
            header,
        } => {
            text.push_str("FORMAT text");
            option(text, "DELIMITER", &delimiter.to_string());
            option(text, "NULL", null);
            if *header {
                text.push_str(", HEADER true");
            }
        }
        CopyFormat::Csv {
            delimiter,
            null,
            header,
            quote,
            escape,
            forced: _,
        } => {
            text.push_str("FORMAT csv");
            option(text, "DELIMITER", &delimiter.to_string());
            option(text, "NULL", null);
            option(text, "QUOTE", &quote.to_string());
            option(text, "ESCAPE", &escape.to_string());
            if *header {
                text.push_str(", HEADER true");
            }
        }
    }
}
