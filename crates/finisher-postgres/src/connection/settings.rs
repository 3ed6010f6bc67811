//! Settings of a client's session that decide how values are read and written.

use std::sync::Arc;

use session_core::StatementError;

/// The settings that a question may bring along. Any other is refused: the answer would be computed
/// without it.
const ALLOWED: [&str; 21] = [
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
    "bytea_output",
    "extra_float_digits",
    "standard_conforming_strings",
    "default_text_search_config",
    "timezone_abbreviations",
    "transform_null_equals",
    "quote_all_identifiers",
    "xmlbinary",
    "xmloption",
    "backslash_quote",
    "escape_string_warning",
    "array_nulls",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "pg_trgm.similarity_threshold",
    "pg_trgm.word_similarity_threshold",
    "pg_trgm.strict_word_similarity_threshold",
];

/// What a connection was set to.
#[derive(Debug, Default)]
pub(super) struct Settings {
    set: Arc<[(String, String)]>,
}

impl Settings {
    /// SQL that sets what a question wants and the connection has not. None: nothing.
    ///
    /// Every setting is in it, since the server takes all of it or nothing.
    pub(super) fn change(
        &self,
        wanted: &Arc<[(String, String)]>,
    ) -> Result<Option<String>, StatementError> {
        if Arc::ptr_eq(&self.set, wanted) || self.set == *wanted {
            return Ok(None);
        }
        let mut sql = String::new();
        for (name, _) in self.set.iter() {
            if !has(wanted, name) {
                sql.push_str(&format!("RESET {};", allowed(name)?));
            }
        }
        for (name, value) in wanted.iter() {
            let value = literal(value)?;
            sql.push_str(&format!("SET {} TO {value};", allowed(name)?));
        }
        Ok(Some(sql))
    }

    /// The server has taken them.
    pub(super) fn changed(&mut self, settings: &Arc<[(String, String)]>) {
        self.set = Arc::clone(settings);
    }
}

fn has(settings: &[(String, String)], name: &str) -> bool {
    settings
        .iter()
        .any(|(other, _)| other.eq_ignore_ascii_case(name))
}

/// The setting's name as it is written in [`ALLOWED`].
fn allowed(name: &str) -> Result<&'static str, StatementError> {
    let known = ALLOWED.iter().find(|own| own.eq_ignore_ascii_case(name));
    known.copied().ok_or_else(|| {
        StatementError::defect(format!(
            "a question to the finisher has the setting \"{name}\", which it does not know"
        ))
    })
}

/// A literal that means the same whatever `standard_conforming_strings` is.
fn literal(value: &str) -> Result<String, StatementError> {
    if value.contains('\0') {
        let message = "a question to the finisher has a setting with a zero byte";
        return Err(StatementError::defect(message));
    }
    let value = value.replace('\\', r"\\").replace('\'', "''");
    Ok(format!("E'{value}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Arc<[(String, String)]> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn only_what_differs_is_set_and_what_is_gone_is_reset() {
        let mut own = Settings::default();
        assert_eq!(own.change(&settings(&[])), Ok(None));
        let berlin = settings(&[("timezone", "Europe/Berlin")]);
        let sql = own.change(&berlin).expect("allowed").expect("a change");
        assert_eq!(sql, "SET TimeZone TO E'Europe/Berlin';");
        own.changed(&berlin);
        let again = settings(&[("timezone", "Europe/Berlin")]);
        assert_eq!(own.change(&again), Ok(None));
        let german = settings(&[("DateStyle", "German")]);
        let sql = own.change(&german).expect("allowed").expect("a change");
        assert_eq!(sql, "RESET TimeZone;SET DateStyle TO E'German';");
    }

    #[test]
    fn no_value_leaves_its_literal() {
        let own = Settings::default();
        let hostile = settings(&[("TimeZone", r"a'; DROP\' x --")]);
        let sql = own.change(&hostile).expect("allowed").expect("a change");
        assert_eq!(sql, r"SET TimeZone TO E'a''; DROP\\'' x --';");
        assert!(own.change(&settings(&[("TimeZone", "a\0b")])).is_err());
    }

    #[test]
    fn other_settings_are_refused() {
        for name in [
            "session_authorization",
            "role",
            "statement_timeout",
            "a; b",
            "",
        ] {
            assert!(
                Settings::default()
                    .change(&settings(&[(name, "1")]))
                    .is_err()
            );
        }
    }
}
