//! Forms that are replaced, and what is left alone.

use super::{for_parser, for_server};

#[test]
fn what_is_trimmed_may_stand_alone() {
    for (text, expected) in [
        (
            "SELECT trim(BOTH FROM a) FROM t",
            "SELECT trim(BOTH  a) FROM t",
        ),
        ("SELECT TRIM ( from a)", "SELECT TRIM (  a)"),
        (
            "SELECT trim(trailing from trim(from a))",
            "SELECT trim(trailing  trim( a))",
        ),
    ] {
        assert_eq!(for_parser(text), expected);
    }
    for text in [
        "SELECT trim(LEADING 'x' FROM a)",
        "SELECT trim((SELECT a FROM t))",
        "SELECT \"trim\"(both) FROM t",
    ] {
        assert_eq!(for_parser(text), text);
    }
}

#[test]
fn a_lock_of_several_tables_becomes_several_locks() {
    for (text, expected) in [
        (
            "SELECT 1 FROM t, \"U\" FOR UPDATE OF t, \"U\"",
            "SELECT 1 FROM t, \"U\" FOR UPDATE OF t FOR UPDATE OF  \"U\"",
        ),
        (
            "SELECT 1 FROM t, u FOR SHARE OF t, u SKIP LOCKED FOR UPDATE OF t, u, v NOWAIT",
            "SELECT 1 FROM t, u FOR SHARE OF t SKIP LOCKED FOR SHARE OF  u SKIP LOCKED \
             FOR UPDATE OF t NOWAIT FOR UPDATE OF  u NOWAIT FOR UPDATE OF  v NOWAIT",
        ),
    ] {
        assert_eq!(for_parser(text), expected);
    }
    let printed = for_parser("SELECT 1 FROM t, u FOR KEY SHARE OF t, u").into_owned();
    assert_eq!(
        for_server(printed),
        "SELECT 1 FROM t, u FOR KEY SHARE OF  t FOR KEY SHARE OF  u"
    );
}

#[test]
fn a_lock_is_replaced_for_the_parser_and_restored() {
    for text in [
        "SELECT a FROM t FOR NO KEY UPDATE",
        "SELECT a FROM t FOR KEY SHARE OF t SKIP LOCKED",
        "SELECT a FROM t FOR NO KEY UPDATE OF u FOR KEY SHARE NOWAIT",
        "SELECT 'for key share' FROM t FOR UPDATE",
    ] {
        let marked = for_parser(text);
        assert!(
            !marked.contains("FOR NO") && !marked.contains("FOR KEY"),
            "{marked}"
        );
        let printed = marked.replace("\". ", "\".");
        assert_eq!(for_server(printed), text);
    }
}

#[test]
fn only_is_replaced_for_the_parser_and_restored() {
    for (text, marked) in [
        ("SELECT a FROM ONLY t", "SELECT a FROM \"\u{2}only\".t"),
        (
            "UPDATE only s.\"T\" SET a = 1",
            "UPDATE \"\u{2}only\".s.\"T\" SET a = 1",
        ),
        (
            "SELECT 1 FROM a, ONLY ( s . b ) AS b JOIN ONLY c ON true",
            "SELECT 1 FROM a, \"\u{2}only\".s . b  AS b JOIN \"\u{2}only\".c ON true",
        ),
    ] {
        assert_eq!(for_parser(text), marked);
        let words = |text: &str| -> Vec<String> {
            text.to_uppercase()
                .split([' ', '(', ')'])
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(words(&for_server(marked.to_owned())), words(text));
    }
}

#[test]
fn table_as_a_query_becomes_a_select() {
    for (text, expected) in [
        ("TABLE t", "SELECT * FROM t"),
        ("TABLE ONLY s.t", "SELECT * FROM \"\u{2}only\".s.t"),
        ("INSERT INTO a TABLE t", "INSERT INTO a SELECT * FROM t"),
        (
            "WITH w AS (TABLE t) TABLE w UNION ALL TABLE u",
            "WITH w AS (SELECT * FROM t) SELECT * FROM w UNION ALL SELECT * FROM u",
        ),
        (
            "DECLARE c CURSOR FOR TABLE t",
            "DECLARE c CURSOR FOR SELECT * FROM t",
        ),
    ] {
        assert_eq!(for_parser(text), expected);
    }
}

#[test]
fn a_set_operation_in_parentheses_begins_with_a_select() {
    for (text, parsed) in [
        (
            "SELECT 1 WHERE ((SELECT a) UNION (SELECT b) LIMIT 1) = 1",
            "SELECT 1 WHERE (SELECT * FROM (SELECT a) AS operand UNION (SELECT b) LIMIT 1) = 1",
        ),
        (
            "SELECT (((TABLE t) EXCEPT (SELECT b)) UNION ALL VALUES (1))",
            "SELECT (((SELECT * FROM t) EXCEPT (SELECT b)) UNION ALL VALUES (1))",
        ),
        (
            "SELECT (((SELECT a) EXCEPT (SELECT b)) UNION ALL VALUES (1))",
            "SELECT (SELECT * FROM (SELECT * FROM (SELECT a) AS operand EXCEPT (SELECT b)) AS \
             operand UNION ALL VALUES (1))",
        ),
    ] {
        assert_eq!(for_parser(text), parsed, "{text}");
    }
    for text in [
        "((SELECT a) UNION (SELECT b))",
        "WITH x AS ((SELECT a) UNION (SELECT b)) SELECT 1",
        "SELECT ((SELECT a)) UNION (SELECT b)",
        "SELECT 1 IN ((SELECT a), (SELECT b))",
        "SELECT ((a)) UNION SELECT ((b))",
    ] {
        assert_eq!(for_parser(text), text, "{text}");
    }
}

#[test]
fn parts_of_a_constant_are_joined() {
    for (text, expected) in [
        ("SELECT 'a'\n'b' FROM t", "SELECT 'ab' FROM t"),
        (
            "SELECT E'a\\''--\n'b', U&'c'\r'd'",
            "SELECT E'a\\'b', U&'cd'",
        ),
        ("SELECT 'a' 'b', 'c'", "SELECT 'a' 'b', 'c'"),
    ] {
        assert_eq!(for_parser(text), expected);
    }
}

#[test]
fn isnull_becomes_is_null() {
    for (text, expected) in [
        ("SELECT a ISNULL FROM t", "SELECT a IS NULL FROM t"),
        (
            "SELECT (a) isnull, $1 IsNull, 'x' isnull AS isnull FROM t WHERE \"a\" isnull",
            "SELECT (a) IS NULL, $1 IS NULL, 'x' IS NULL AS isnull FROM t WHERE \"a\" IS NULL",
        ),
        (
            "SELECT isnull(a), s.isnull, a AS isnull, f(isnull => 1), \"isnull\" FROM t",
            "SELECT isnull(a), s.isnull, a AS isnull, f(isnull => 1), \"isnull\" FROM t",
        ),
    ] {
        assert_eq!(for_parser(text), expected);
    }
}

#[test]
fn with_no_data_is_replaced_for_the_parser_and_restored() {
    for text in [
        "CREATE MATERIALIZED VIEW v AS SELECT a FROM ONLY t WITH NO DATA",
        "CREATE MATERIALIZED VIEW IF NOT EXISTS s.v AS SELECT a FROM t WITH NO DATA",
    ] {
        let marked = for_parser(text);
        assert!(!marked.contains("WITH NO DATA"), "{marked}");
        assert_eq!(for_server(marked.trim_end().to_owned()), text);
    }
}

#[test]
fn other_uses_of_these_words_are_kept() {
    for text in [
        "CREATE TABLE t (a int)",
        "CREATE TABLE IF NOT EXISTS t (a int)",
        "ALTER TABLE ONLY t ADD PRIMARY KEY (a)",
        "TRUNCATE TABLE ONLY a, ONLY b",
        "LOCK TABLE a, ONLY b",
        "SELECT a FROM t FETCH FIRST 1 ROWS ONLY",
        "SELECT a AS only, b.only FROM t",
        "CREATE PUBLICATION p FOR TABLE t",
        "CREATE TABLE t AS SELECT 1 WITH NO DATA",
        "COMMENT ON TABLE t IS 'from only t'",
    ] {
        assert_eq!(for_parser(text), text);
    }
}

#[test]
fn functions_with_names_of_key_words_get_quotes_behind_a_schema() {
    for (text, expected) in [
        (
            "SELECT pg_catalog.current_user(), pg_catalog . SESSION_USER ()",
            "SELECT pg_catalog.\"current_user\"(), pg_catalog . \"session_user\" ()",
        ),
        (
            "SELECT pg_catalog.substr(a, 2), substr(a, 2), t.interval, a.f (substr(b, 1))",
            "SELECT pg_catalog.\"substr\"(a, 2), substr(a, 2), t.interval, a.f (substr(b, 1))",
        ),
        (
            "SELECT current_user, t.user, current_schema(), f(user)",
            "SELECT current_user, t.user, current_schema(), f(user)",
        ),
    ] {
        assert_eq!(for_parser(text), expected);
    }
}
