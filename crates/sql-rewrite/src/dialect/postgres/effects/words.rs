//! The effects of a statement that names no protected table, read from its words.

use super::{named, session};
use crate::{Effects, Schema, TransactionEffect};

/// Notes the effects that the text of a statement shows, for any plan.
pub(crate) fn note_text(effects: &mut Effects, statement: &str) {
    effects.keeps_locked_rows = session::keeps_locked_rows(statement);
    effects.forgets_statements = session::forgets_statements(statement);
    if effects.changes_schema {
        effects.changes_only = named::relations(statement);
    }
}

/// The effects of a statement whose words (in small letters, comments left out) are given.
pub(crate) fn of_words(words: &[String], schema: &Schema) -> Effects {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let mut effects = Effects::default();
    match word(0) {
        "begin" | "start" => effects.transaction = Some(TransactionEffect::Begin),
        // What was prepared may have defined anything.
        "commit" if word(1) == "prepared" => {
            effects.changes_schema = true;
            effects.forgets_locks = true;
        }
        "commit" | "end" | "abort" => effects.transaction = Some(TransactionEffect::End),
        "rollback" if word(1) != "prepared" => {
            let to = words.iter().skip(1).take(2).any(|word| word == "to");
            effects.transaction = Some(match to {
                true => TransactionEffect::RollbackTo,
                false => TransactionEffect::End,
            });
        }
        "prepare" if word(1) == "transaction" => {
            effects.transaction = Some(TransactionEffect::End);
        }
        "select" | "with" | "table" | "values" | "show" | "declare" | "fetch" | "move"
        | "close" | "savepoint" | "release" | "listen" | "unlisten" | "notify" | "checkpoint"
        | "prepare" | "deallocate" | "copy" | "lock" | "vacuum" | "analyze" | "explain" => {}
        "insert" | "update" | "delete" | "merge" | "truncate" => {}
        // Of the transaction, and no setting. Asking for the search path behind them would be a
        // query, which `SET TRANSACTION SNAPSHOT` must not follow.
        "set" if matches!(word(1), "transaction" | "constraints") => {}
        "set" if (word(1), word(2)) == ("session", "characteristics") => {}
        "set" | "reset" | "discard" => effects.changes_settings = true,
        // Whatever it runs may write, define and set. What a procedure defines around protected
        // tables it has to name: it is refused for that. Of a block the text is not looked into.
        "call" | "do" => {
            effects.forgets_locks = true;
            effects.changes_schema = word(0) == "do";
            effects.changes_settings = true;
        }
        "execute" => effects.forgets_locks = true,
        // CREATE, ALTER, DROP, GRANT, COMMENT and unknown statements.
        _ => {
            effects.changes_schema = true;
            effects.forgets_locks = true;
        }
    }
    effects.changes_settings |= sets_by_rows(words);
    effects.changes_texts = changes_texts(words);
    if words.iter().any(|word| word == "into") && matches!(word(0), "select" | "with") {
        effects.changes_schema = true;
    }
    if may_fire_triggers(words, schema) {
        effects.forgets_locks = true;
    }
    effects
}

/// Settings that decide how values are written as text, or what the finisher's answers are, by the
/// word that names them in a statement; `u`: a name in escapes.
const OF_TEXTS: &[&str] = &[
    "array_nulls",
    "bytea_output",
    "client_encoding",
    "datestyle",
    "default_text_search_config",
    "extra_float_digits",
    "intervalstyle",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "names",
    "pg_trgm",
    "quote_all_identifiers",
    "standard_conforming_strings",
    "time",
    "timezone",
    "timezone_abbreviations",
    "transform_null_equals",
    "u",
    "xml",
    "xmlbinary",
    "xmloption",
];

/// Whether a statement may change how values are written as text.
pub(crate) fn changes_texts(words: &[String]) -> bool {
    let mut words_left = words.iter().map(String::as_str);
    let first = words_left.next().unwrap_or_default();
    let name = match words_left.next().unwrap_or_default() {
        "local" | "session" if first == "set" => words_left.next().unwrap_or_default(),
        name => name,
    };
    match first {
        "set" => OF_TEXTS.contains(&name),
        "reset" => name == "all" || OF_TEXTS.contains(&name),
        "discard" => name == "all",
        "call" | "do" => true,
        _ => sets_by_rows(words),
    }
}

/// Whether a statement changes settings through a function or view, so that its text need not name
/// the setting. `set_limit` is one of `pg_trgm`.
pub(crate) fn sets_by_rows(words: &[String]) -> bool {
    let has = |own: &str| words.iter().any(|word| word == own);
    has("set_config") || has("set_limit") || (has("pg_settings") && has("update"))
}

/// A trigger of a written table may write any other.
fn may_fire_triggers(words: &[String], schema: &Schema) -> bool {
    let writes = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "insert" | "update" | "delete" | "merge" | "truncate" | "copy"
        )
    });
    writes
        && schema.tables.values().any(|table| {
            table.has_triggers
                && words
                    .iter()
                    .any(|word| word.eq_ignore_ascii_case(&table.name))
        })
}

#[cfg(test)]
mod tests {
    use super::of_words;
    use crate::{Effects, Schema, TransactionEffect};

    fn effects(text: &str) -> Effects {
        let words: Vec<_> = text.split(' ').map(str::to_owned).collect();
        of_words(&words, &Schema::default())
    }

    fn transaction(text: &str) -> Option<TransactionEffect> {
        effects(text).transaction
    }

    #[test]
    fn set_transaction_changes_no_setting() {
        let changes = |text: &str| effects(text).changes_settings;
        for text in [
            "set transaction isolation level repeatable read read only",
            "set transaction snapshot",
            "set constraints all deferred",
            "set session characteristics as transaction read only",
        ] {
            assert!(!changes(text), "{text}");
        }
        for text in [
            "set search_path to a",
            "set local role a",
            "set session authorization default",
            "reset all",
            "discard all",
        ] {
            assert!(changes(text), "{text}");
        }
    }

    #[test]
    fn settings_that_change_how_values_are_written_are_known() {
        let changes = |text: &str| effects(text).changes_texts;
        for text in [
            "set timezone to utc",
            "set local time zone",
            "set session datestyle to iso dmy",
            "set names",
            "set bytea_output to escape",
            "reset extra_float_digits",
            "set standard_conforming_strings to off",
            "reset timezone",
            "reset all",
            "discard all",
            "select set_config",
            "explain analyze select pg_catalog set_config",
            "update pg_settings set setting where name",
            "call p",
            "do",
        ] {
            assert!(changes(text), "{text}");
        }
        for text in [
            "set search_path to names",
            "set local role timezone",
            "set transaction isolation level repeatable read",
            "reset search_path",
            "discard plans",
            "select setting from pg_settings",
            "commit",
        ] {
            assert!(!changes(text), "{text}");
        }
    }

    #[test]
    fn statements_that_may_define_or_set_are_known() {
        for text in ["call p", "do"] {
            let effects = effects(text);
            assert!(effects.changes_settings && effects.forgets_locks, "{text}");
            assert_eq!(effects.changes_schema, text == "do");
        }
        let prepared = effects("commit prepared");
        assert!(prepared.changes_schema && prepared.forgets_locks);
        assert_eq!(prepared.transaction, None);
        assert!(!effects("execute a").changes_schema);
    }

    #[test]
    fn transaction_statements_are_recognised() {
        use TransactionEffect::{Begin, End, RollbackTo};
        assert_eq!(transaction("begin"), Some(Begin));
        assert_eq!(transaction("start transaction"), Some(Begin));
        assert_eq!(transaction("commit"), Some(End));
        assert_eq!(transaction("end"), Some(End));
        assert_eq!(transaction("rollback"), Some(End));
        assert_eq!(transaction("abort"), Some(End));
        assert_eq!(transaction("rollback to savepoint a"), Some(RollbackTo));
        assert_eq!(transaction("rollback work to a"), Some(RollbackTo));
        assert_eq!(transaction("rollback prepared"), None);
        assert_eq!(transaction("commit prepared"), None);
        assert_eq!(transaction("prepare transaction"), Some(End));
        assert_eq!(transaction("savepoint a"), None);
    }
}
