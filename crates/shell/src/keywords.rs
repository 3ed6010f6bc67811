//! SQLite's keywords: <https://www.sqlite.org/lang_keywords.html>.

/// Whether a word cannot be a name without quotes.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word.to_ascii_uppercase().as_str())
}

/// Whether a word is a keyword, reserved or not.
pub(crate) fn is_keyword(word: &str) -> bool {
    is_reserved(word) || OTHERS.contains(&word.to_ascii_uppercase().as_str())
}

/// All keywords, in capitals.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    RESERVED.iter().chain(OTHERS).copied()
}

/// Keywords that cannot be a name without quotes.
const RESERVED: &[&str] = &[
    "ADD",
    "ALL",
    "ALTER",
    "AND",
    "AS",
    "AUTOINCREMENT",
    "BETWEEN",
    "CASE",
    "CHECK",
    "COLLATE",
    "COMMIT",
    "CONSTRAINT",
    "CREATE",
    "CROSS",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "DEFAULT",
    "DEFERRABLE",
    "DELETE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "FOREIGN",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IF",
    "IN",
    "INDEX",
    "INDEXED",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTO",
    "IS",
    "ISNULL",
    "JOIN",
    "LEFT",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NOTHING",
    "NOTNULL",
    "NULL",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "PRIMARY",
    "REFERENCES",
    "RETURNING",
    "RIGHT",
    "ROWID",
    "SELECT",
    "SET",
    "TABLE",
    "THEN",
    "TO",
    "TRANSACTION",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITHIN",
];

/// Keywords that SQLite also accepts as names.
const OTHERS: &[&str] = &[
    "ABORT",
    "ACTION",
    "AFTER",
    "ALWAYS",
    "ANALYZE",
    "ASC",
    "ATTACH",
    "BEFORE",
    "BEGIN",
    "BY",
    "CASCADE",
    "CAST",
    "COLUMN",
    "CONFLICT",
    "CURRENT",
    "DATABASE",
    "DEFERRED",
    "DESC",
    "DETACH",
    "DO",
    "EACH",
    "END",
    "EXCLUDE",
    "EXCLUSIVE",
    "EXPLAIN",
    "FAIL",
    "FILTER",
    "FIRST",
    "FOLLOWING",
    "FOR",
    "GENERATED",
    "GLOB",
    "GROUPS",
    "IGNORE",
    "IMMEDIATE",
    "INITIALLY",
    "INSTEAD",
    "KEY",
    "LAST",
    "LIKE",
    "MATCH",
    "MATERIALIZED",
    "NO",
    "NULLS",
    "OF",
    "OFFSET",
    "OTHERS",
    "OVER",
    "PARTITION",
    "PLAN",
    "PRAGMA",
    "PRECEDING",
    "QUERY",
    "RAISE",
    "RANGE",
    "RECURSIVE",
    "REGEXP",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPLACE",
    "RESTRICT",
    "ROLLBACK",
    "ROW",
    "ROWS",
    "SAVEPOINT",
    "STRICT",
    "TEMP",
    "TEMPORARY",
    "TIES",
    "TRIGGER",
    "UNBOUNDED",
    "VACUUM",
    "VIEW",
    "VIRTUAL",
    "WINDOW",
    "WITH",
    "WITHOUT",
];

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn sqlite_refuses_reserved_words_as_names_and_takes_others() {
        let connection = Connection::open_in_memory().unwrap();
        let is_name = |word: &str| {
            let sql = format!("CREATE TABLE temp.{word}(a)");
            let made = connection.execute_batch(&sql).is_ok();
            if made {
                let drop = format!("DROP TABLE temp.\"{word}\"");
                connection.execute_batch(&drop).unwrap();
            }
            made
        };
        for word in OTHERS {
            assert!(is_name(word), "{word}");
            assert!(is_keyword(&word.to_ascii_lowercase()) && !is_reserved(word));
        }
        // Only some: others are listed as a precaution.
        for word in ["SELECT", "TABLE", "ORDER", "JOIN", "VALUES"] {
            assert!(!is_name(word) && is_reserved(word), "{word}");
        }
    }
}
