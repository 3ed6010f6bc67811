//! The dialect of MySQL and MariaDB, as far as it is understood.
//!
//! A statement over a protected table is read in three steps, each of which refuses what it does
//! not know: [`lexer`] reads the bytes as this server does in this SQL mode, and writes them in one
//! plain form; the parser makes a tree of that form; [`subset`] lets those forms through whose tree
//! means the same to the server. Every other statement passes, unless it may reach a protected
//! table without its name ([`statement`]).

pub mod bytes;
pub mod calculated;
pub mod ddl;
pub(crate) mod defaults;
mod duplicates;
mod elsewhere;
pub mod entries;
pub(crate) mod finish;
pub(crate) mod finisher;
pub use finisher::copies;
mod information;
pub(crate) mod kinds;
mod lax;
pub(crate) mod lexer;
pub mod load;
mod misfit;
pub(crate) mod modify;
pub(crate) mod names;
mod never;
pub(crate) mod parse;
mod proposed;
mod readings;
mod relations;
mod rowless;
pub mod schema;
pub mod several;
pub mod shape;
pub mod shown;
pub mod statement;
pub(crate) mod subset;
mod temporary;
mod variables;
pub mod zone;

/// What decides how a server of MySQL or MariaDB reads a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MySql {
    /// Whether it is MariaDB.
    pub is_mariadb: bool,
    /// Its version, as 80015 or 101119.
    pub version: u32,
    /// Whether `"x"` is a name.
    pub ansi_quotes: bool,
    /// Whether a backslash in a text is one.
    pub plain_backslashes: bool,
    /// Whether names of tables are kept and compared in small letters (`lower_case_table_names`).
    pub folds_tables: bool,
    /// Whether the mode is not strict: the server changes values that do not fit.
    pub is_lax: bool,
    /// Whether it rounds digits of a second that a column does not have. It cuts them otherwise.
    pub rounds_seconds: bool,
    /// Whether it refuses the zero date, or stores it with a warning.
    pub refuses_zero_dates: bool,
    /// By how many seconds the session's time zone is before UTC. None: that changes, or it is not
    /// asked for, or the server gives `TIMESTAMP` columns defaults of its own.
    pub offset_s: Option<i32>,
}

/// SQL modes under which statements over protected tables mean what they mean without them, or
/// whose forms the subset refuses.
const KNOWN_MODES: &[&str] = &[
    "allow_invalid_dates",
    "ansi",
    "error_for_division_by_zero",
    "ignore_space",
    "no_auto_create_user",
    "no_auto_value_on_zero",
    "no_engine_substitution",
    "no_unsigned_subtraction",
    "no_zero_in_date",
    "only_full_group_by",
    "pipes_as_concat",
    "real_as_float",
    "traditional",
];

/// An SQL mode in which statements over protected tables are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// Texts mean something else in it.
    #[error("the SQL mode {0} is not supported with protected columns: leave it out of sql_mode")]
    Unknown(String),
    /// Values that do not fit are changed instead of refused.
    #[error(
        "protected columns need a strict SQL mode: add STRICT_TRANS_TABLES or STRICT_ALL_TABLES to \
         sql_mode"
    )]
    NotStrict,
}

impl MySql {
    /// Whether it has `INSERT … RETURNING`.
    pub(crate) fn returns_rows(self) -> bool {
        self.is_mariadb && self.version >= 100_500
    }

    /// A server by its version, as `@@version` has it.
    pub fn of_version(version: &str, folds_tables: bool) -> Self {
        let digits = version.split(|letter: char| !letter.is_ascii_digit());
        let parts = digits.take(3).map(|part| part.parse().unwrap_or(0_u32));
        Self {
            is_mariadb: version.to_ascii_lowercase().contains("mariadb"),
            version: parts.fold(0, |all, part| all * 100 + part.min(99)),
            folds_tables,
            ..Self::default()
        }
    }

    /// The same server in an SQL mode, as `@@sql_mode` has it.
    ///
    /// # Errors
    /// It is not known what statements mean in it, or it is not strict.
    pub fn with_mode(self, mode: &str) -> Result<Self, ModeError> {
        match self.in_mode(mode)? {
            (own, true) => Ok(own),
            (_, false) => Err(ModeError::NotStrict),
        }
    }

    /// The same server in an SQL mode, and whether that is strict.
    ///
    /// # Errors
    /// It is not known what statements mean in it.
    pub fn in_mode(self, mode: &str) -> Result<(Self, bool), ModeError> {
        let mut own = Self {
            ansi_quotes: false,
            plain_backslashes: false,
            rounds_seconds: !self.is_mariadb,
            refuses_zero_dates: false,
            ..self
        };
        let mut is_strict = false;
        for name in mode.split(',').filter(|name| !name.is_empty()) {
            match name.to_ascii_lowercase().as_str() {
                "ansi_quotes" => own.ansi_quotes = true,
                "no_backslash_escapes" => own.plain_backslashes = true,
                "no_zero_date" => own.refuses_zero_dates = true,
                "time_round_fractional" => own.rounds_seconds = true,
                "time_truncate_fractional" => own.rounds_seconds = false,
                "strict_trans_tables" | "strict_all_tables" => is_strict = true,
                known if KNOWN_MODES.contains(&known) => {}
                _ => return Err(ModeError::Unknown(name.to_owned())),
            }
        }
        own.is_lax = !is_strict;
        Ok((own, is_strict))
    }

    /// Product and version without the last part: 1011 is MariaDB 10.11, 804 MySQL 8.4.
    pub fn series(self) -> u16 {
        u16::try_from(self.version / 100).unwrap_or(u16::MAX)
    }

    /// Whether the server enforces `CHECK` (MySQL 8.0.16, MariaDB 10.2.1).
    pub fn enforces_checks(self) -> bool {
        match self.is_mariadb {
            true => self.version >= 100_201,
            false => self.version >= 80_016,
        }
    }
}
