//! The settings of the client's session, which the finisher follows.

use std::fmt::Write as _;

use session_core::StatementError;
use sql_plan::FinisherTables;

use super::moment;
use super::zone::zone;
use crate::finisher::is_mariadb;

/// Settings that the finisher follows, behind the time and the zone.
const SETTINGS: [&str; 13] = [
    "sql_mode",
    "character_set_client",
    "character_set_results",
    "collation_connection",
    "div_precision_increment",
    "group_concat_max_len",
    "default_week_format",
    "lc_time_names",
    "max_sort_length",
    "sql_select_limit",
    "sql_auto_is_null",
    "max_allowed_packet",
    "sql_safe_updates",
];
/// Those that MariaDB alone has, behind the others.
const OF_MARIADB: [&str; 3] = [
    "old_mode",
    "default_regex_flags",
    "max_recursive_iterations",
];
/// Those that MySQL alone has, behind the others.
const OF_MYSQL: [&str; 3] = [
    "cte_max_recursion_depth",
    "windowing_use_high_precision",
    DEFAULT_COLLATION,
];
/// A setting for replication, which takes privileges.
const DEFAULT_COLLATION: &str = "default_collation_for_utf8mb4";
/// From 11.2 on: which collation a character set has.
const SETTING_OF_1102: &str = "character_set_collations";
/// Places of those that decide how a text is read.
pub(super) const READ_BY: [usize; 3] = [0, 1, 3];
/// The longest value that a function makes in the finisher, in bytes.
const VALUE_SIZE_MAX: u64 = 16 << 20;
/// How many values stand before them.
pub(super) const BEFORE_SETTINGS: usize = 4;
/// Names of the settings that are asked of a server of this series.
pub(super) fn settings_of(series: u16) -> impl Iterator<Item = &'static str> {
    let own = match is_mariadb(series) {
        true => OF_MARIADB,
        false => OF_MYSQL,
    };
    let more = (series >= 1102).then_some(SETTING_OF_1102);
    SETTINGS.into_iter().chain(own).chain(more)
}

fn no_text(_: std::fmt::Error) -> StatementError {
    StatementError::defect("a setting cannot be written")
}

/// What is asked of the server for them.
pub(super) fn of_session(series: u16) -> String {
    let mut parts = vec![
        "UNIX_TIMESTAMP(NOW(6))".to_owned(),
        "TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())".to_owned(),
        "@@time_zone".to_owned(),
        "@@system_time_zone".to_owned(),
    ];
    parts.extend(settings_of(series).map(|name| format!("IFNULL(@@{name}, 'NULL')")));
    format!("CAST(CONCAT_WS(0x1f, {}) AS BINARY)", parts.join(", "))
}

/// The statement that makes them those of the finisher's session.
///
/// # Errors
/// The finisher cannot follow one of them.
pub(super) fn settings(
    all: &[&str],
    query: &FinisherTables,
    series: u16,
) -> Result<String, StatementError> {
    let zone = zone(all[2], all[3], all[1], query.uses_zone)?;
    let moment = moment::exact(all[0], series);
    let mut text = format!("SET timestamp = {moment}, time_zone = '{zone}'");
    let connection = all.get(BEFORE_SETTINGS + READ_BY[2]).copied();
    for (name, value) in settings_of(series).zip(&all[BEFORE_SETTINGS..]) {
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        match (name, *value) {
            // Parameters have the collation that NAMES or the login gave the client's letters. No
            // variable shows it; both give it to the connection, too.
            ("character_set_client", value)
                if connection
                    .and_then(charset_of)
                    .is_some_and(|own| own == value) =>
            {
                let collation = connection.unwrap_or_default();
                write!(text, ", NAMES '{value}' COLLATE '{collation}'").map_err(no_text)?;
            }
            ("sql_auto_is_null", "1" | "ON") => {
                let message = "sql_auto_is_null in a session whose query the finisher answers";
                return Err(StatementError::unsupported(message).hint("Set it to 0."));
            }
            ("sql_safe_updates", "1" | "ON") if query.write.is_some() => {
                let message = "sql_safe_updates in a session whose write the finisher evaluates";
                return Err(StatementError::unsupported(message).hint("Set it to 0."));
            }
            ("max_allowed_packet", value) => {
                if !value.parse().is_ok_and(|size: u64| size >= VALUE_SIZE_MAX) {
                    let message = "max_allowed_packet below 16 MiB in a session whose statement \
                                   the finisher evaluates";
                    let hint = "Set it to 16 MiB or more in the server's configuration.";
                    return Err(StatementError::unsupported(message).hint(hint));
                }
            }
            (DEFAULT_COLLATION, value) if value != "utf8mb4_0900_ai_ci" => {
                let message = "default_collation_for_utf8mb4 in a session whose statement the \
                               finisher evaluates";
                return Err(StatementError::unsupported(message).hint("Set it to DEFAULT."));
            }
            ("sql_auto_is_null" | "sql_safe_updates" | DEFAULT_COLLATION, _) => {}
            // A table there has no transactions, and strictness would end with its first row.
            ("sql_mode", value) if query.write.is_some() || query.insert.is_some() => {
                write!(text, ", sql_mode = '{value},STRICT_ALL_TABLES'").map_err(no_text)?;
            }
            (name, value) if value == "NULL" || (is_number && !value.is_empty()) => {
                write!(text, ", {name} = {value}").map_err(no_text)?;
            }
            (name, value) => write!(text, ", {name} = '{value}'").map_err(no_text)?,
        }
    }
    Ok(text)
}

/// The character set of a collation.
fn charset_of(collation: &str) -> Option<&str> {
    collation.split_once('_').map(|(charset, _)| charset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a session in UTC whose other settings are 0.
    fn told(client: &str, collation: &str) -> String {
        let mut all = vec!["1", "0", "+00:00", "UTC", "", client, "utf8mb4", collation];
        all.resize(BEFORE_SETTINGS + settings_of(1011).count(), "0");
        let mut names = settings_of(1011);
        let packet = names.position(|name| name == "max_allowed_packet");
        all[BEFORE_SETTINGS + packet.expect("a setting")] = "16777216";
        let query = FinisherTables::default();
        settings(&all, &query, 1011).expect("they can be followed")
    }

    #[test]
    fn parameters_get_the_collation_of_names() {
        let names = told("utf8mb4", "utf8mb4_unicode_ci");
        assert!(
            names.contains(", NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci', "),
            "{names}"
        );
        // The letters of the client are other ones.
        let other = told("latin1", "utf8mb4_unicode_ci");
        assert!(
            other.contains(", character_set_client = 'latin1', "),
            "{other}"
        );
        let binary = told("binary", "binary");
        assert!(
            binary.contains(", character_set_client = 'binary', "),
            "{binary}"
        );
    }
}
