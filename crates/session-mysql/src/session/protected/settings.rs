//! What of a session's settings decides how its texts are read, and its values written.

use sql_rewrite::mysql::zone::offset_of;
use sql_rewrite::mysql::{ModeError, MySql};
use sql_rewrite::{Answer, SessionFacts};

use session_core::StatementError;
use wire_mysql::capabilities::Status;
use wire_mysql::column::BINARY;

/// What is asked of the server. A limit set by the session (`sql_select_limit`) does not hold where
/// there is another one.
pub(super) const QUESTION: &str = "\
    SELECT @@version, @@lower_case_table_names, @@sql_mode, CURRENT_USER(), DATABASE(), \
    @@character_set_client, @@character_set_connection, @@character_set_results, CURRENT_ROLE(), \
    @@character_set_database, GREATEST(@@max_allowed_packet, @@net_buffer_length), \
    @@sql_select_limit, @@time_zone, @@system_time_zone, @@explicit_defaults_for_timestamp, \
    @@max_sort_length LIMIT 1";
/// Bytes of each value by which a server sorts unless the session says otherwise. All that decides
/// about the order of sealed values is among them.
const SORTED_BYTES: u64 = 1024;

/// How letters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// UTF-8.
    Utf8,
    /// UTF-8 without letters of four bytes.
    ShortUtf8,
    /// A byte for each; those of ASCII as there.
    Bytes,
}

impl Letters {
    /// Of a character set by its name. None: texts in it may be other ones than their bytes show.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "utf8mb4" => Self::Utf8,
            "utf8" | "utf8mb3" => Self::ShortUtf8,
            "latin1" | "ascii" | "binary" => Self::Bytes,
            _ => return None,
        })
    }

    /// Whether it writes all letters of a text as UTF-8 does.
    pub(super) fn has(self, text: &str) -> bool {
        match self {
            Self::Utf8 => true,
            // Those of four bytes in UTF-8 begin behind U+FFFF.
            Self::ShortUtf8 => text.chars().all(|letter| letter <= '\u{ffff}'),
            Self::Bytes => text.is_ascii(),
        }
    }
}

/// How texts of rows are written for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Results {
    pub(super) letters: Letters,
    /// The number of the character set in definitions.
    pub(super) number: u16,
    /// Each column comes in the character set in which it is stored.
    pub(super) is_unconverted: bool,
}

impl Results {
    /// The longest letter, in bytes.
    pub(super) fn letter_size(self) -> u32 {
        match self.letters {
            // `SET NAMES binary`: letters are bytes to the server, whatever they stand for.
            _ if self.number == BINARY => 1,
            Letters::Utf8 => 4,
            Letters::ShortUtf8 => 3,
            Letters::Bytes => 1,
        }
    }
}

/// Settings of a session at one moment.
#[derive(Debug)]
pub(super) struct Settings {
    /// The server in the session's SQL mode, and whether that is strict.
    pub(super) own: Result<(MySql, bool), ModeError>,
    pub(super) client: Letters,
    pub(super) connection: Letters,
    pub(super) results: Results,
    /// Of files, where a statement does not say another one. None: it is not understood.
    pub(super) files: Option<Letters>,
    pub(super) database: Option<String>,
    /// The server takes payloads that are shorter.
    pub(super) packet_end: usize,
    /// Whether the server ends each query behind a number of rows (`sql_select_limit`).
    pub(super) limits_rows: bool,
    /// Whether it sorts by fewer bytes of each value than are needed (`max_sort_length`).
    pub(super) sorts_short: bool,
    /// Under what its schema is shared: it depends on account, database and how texts are read.
    pub(super) key: String,
}

impl Settings {
    /// Reads the answer to [`QUESTION`]. `number` is that of the character set that the texts of
    /// the answer have. `has_zone` says that rules have moments with a time zone.
    ///
    /// # Errors
    /// It is not known how texts of the session are read.
    pub(super) fn read(
        answer: &Answer,
        number: u16,
        has_zone: bool,
    ) -> Result<Self, StatementError> {
        let [row] = &answer[..] else {
            return Err(not_understood("the answer of the server about the session"));
        };
        let text = |index: usize| row.get(index).and_then(Option::as_deref);
        let version = text(0).unwrap_or_default();
        let letters = |index: usize| {
            let name = match text(index).unwrap_or_default() {
                // The server takes the bytes of a text as they are, and those for UTF-8 where it
                // stores them in a text or compares them with one.
                "binary" => "utf8mb4",
                name => name,
            };
            Letters::of(name).ok_or_else(|| not_understood(&format!("the character set {name:?}")))
        };
        let mut plain = MySql::of_version(version, text(1) != Some("0"));
        if has_zone && text(14) != Some("0") {
            let of_system = text(13).unwrap_or_default();
            plain.offset_s = text(12).and_then(|zone| offset_of(zone, of_system));
        }
        let own = plain.in_mode(text(2).unwrap_or_default());
        let database = text(4).map(str::to_owned);
        let (read_as, mode) = match &own {
            Ok((own, _)) => (*own, ""),
            Err(_) => (plain, text(2).unwrap_or_default()),
        };
        // What tables it sees depends on its roles, too.
        let account = (text(3).unwrap_or_default(), text(8).unwrap_or_default());
        Ok(Self {
            client: letters(5)?,
            connection: letters(6)?,
            results: match text(7) {
                // Each column comes as it is stored.
                None => Results {
                    letters: Letters::Utf8,
                    number: if plain.is_mariadb { 45 } else { 255 },
                    is_unconverted: true,
                },
                Some("binary") => Results {
                    letters: Letters::Utf8,
                    number: BINARY,
                    is_unconverted: true,
                },
                Some(_) => Results {
                    letters: letters(7)?,
                    number,
                    is_unconverted: false,
                },
            },
            files: text(9).and_then(Letters::of),
            packet_end: text(10).and_then(|size| size.parse().ok()).unwrap_or(0),
            // `HA_POS_ERROR` of the server: none.
            limits_rows: text(11).is_some_and(|limit| limit != u64::MAX.to_string()),
            sorts_short: text(15)
                .and_then(|size| size.parse().ok())
                .is_some_and(|size: u64| size < SORTED_BYTES),
            key: format!(
                "{account:?}\n{}\n{read_as:?}\n{mode}",
                database.as_deref().unwrap_or_default()
            ),
            own,
            database,
        })
    }

    /// What the shared schema is looked up by.
    pub(super) fn facts(&self) -> SessionFacts {
        SessionFacts {
            search_path: self.path(),
            ..SessionFacts::default()
        }
    }

    /// Whether the session sees the catalogues as they were at one moment. MySQL keeps them in
    /// tables of InnoDB, and reads them as a transaction reads any table; MariaDB looks at files.
    pub(super) fn sees_one_moment(&self, status: Status) -> bool {
        let is_mariadb = matches!(&self.own, Ok((own, _)) if own.is_mariadb);
        !is_mariadb && status.has(Status::IN_TRANSACTION)
    }

    fn path(&self) -> Vec<String> {
        let folds = matches!(&self.own, Ok((own, _)) if own.folds_tables);
        let name = |name: &String| match folds {
            true => name.to_ascii_lowercase(),
            false => name.clone(),
        };
        self.database.iter().map(name).collect()
    }
}

fn not_understood(what: &str) -> StatementError {
    StatementError::unsupported(format!(
        "{what} is not one with which the proxy reads statements safely"
    ))
    .hint("Use SET NAMES utf8mb4.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(mode: &str, charsets: [Option<&str>; 3]) -> Answer {
        let mut row = vec!["8.0.15", "0", mode, "anna@%", "shop"];
        row.extend([charsets[0].unwrap_or(""), charsets[1].unwrap_or("")]);
        let mut row: Vec<Option<String>> =
            row.into_iter().map(|own| Some(own.to_owned())).collect();
        row.push(charsets[2].map(str::to_owned));
        row.push(Some("staff".to_owned()));
        vec![row]
    }

    #[test]
    fn settings_are_read_and_what_is_not_known_is_an_error() {
        let names = [Some("utf8mb4"); 3];
        let strict =
            Settings::read(&answer("STRICT_TRANS_TABLES", names), 255, false).expect("known");
        let (own, is_strict) = strict.own.clone().expect("a known mode");
        assert_eq!(
            (own.version, own.is_mariadb, is_strict),
            (80_015, false, true)
        );
        let lax = Settings::read(&answer("", names), 255, false).expect("known");
        assert!(!lax.own.expect("a known mode").1);
        let oracle = Settings::read(&answer("ORACLE", names), 255, false).expect("read");
        assert!(oracle.own.is_err());
        assert_ne!(oracle.key, strict.key);
        for index in 0..2 {
            let mut charsets = names;
            charsets[index] = Some("gbk");
            assert!(Settings::read(&answer("", charsets), 255, false).is_err());
        }
        let unconverted = [Some("utf8mb4"), Some("latin1"), None];
        let settings = Settings::read(&answer("", unconverted), 33, false).expect("known");
        assert_eq!(settings.results.letters, Letters::Utf8);
        assert!(Settings::read(&Answer::new(), 33, false).is_err());
        assert_eq!(
            MySql::of_version("10.11.19-MariaDB-0", true).version,
            101_119
        );
    }
}
