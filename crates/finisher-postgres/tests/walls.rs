//! A query computes, and does nothing else.

use crate::common::{description, failure, finishers, kind, question, rows};

/// Each would read, write, wait, or tell of the server.
const NASTY: &[&str] = &[
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('/etc/passwd')",
    "SELECT pg_stat_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT pg_ls_tmpdir()",
    "SELECT pg_ls_logdir()",
    "SELECT pg_sleep(1)",
    "SELECT pg_sleep_for('1 s')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/x')",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_creat(1)",
    "SELECT set_config('default_transaction_read_only', 'off', false)",
    "SELECT current_setting('data_directory')",
    "SELECT pg_show_all_settings()",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_try_advisory_lock(1)",
    "SELECT pg_advisory_xact_lock_shared(1)",
    "SELECT pg_notify('a', 'b')",
    "SELECT pg_listening_channels()",
    "SELECT pg_terminate_backend(1)",
    "SELECT pg_cancel_backend(1)",
    "SELECT pg_reload_conf()",
    "SELECT pg_backend_pid()",
    "SELECT pg_postmaster_start_time()",
    "SELECT inet_server_addr()",
    "SELECT version()",
    "SELECT txid_current()",
    "SELECT pg_export_snapshot()",
    "SELECT pg_logical_emit_message(false, 'a', 'b')",
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    "SELECT database_to_xml(true, true, '')",
    "SELECT ts_stat('SELECT 1')",
    "SELECT pg_get_viewdef('pg_stat_activity'::regclass)",
    "SELECT pg_relation_filepath('pg_class'::regclass)",
    "SELECT pg_database_size('template1')",
    "SELECT nextval('a')",
    "SELECT setseed(0.5)",
    "SELECT random()",
    "SELECT dblink('dbname=template1', 'SELECT 1')",
    "SELECT * FROM pg_class",
    "SELECT * FROM pg_proc",
    "SELECT * FROM pg_stat_activity",
    "SELECT * FROM pg_settings",
    "SELECT * FROM pg_authid",
    "SELECT * FROM pg_prepared_statements",
    "SELECT * FROM information_schema.tables",
    "UPDATE pg_settings SET setting = 'off' WHERE name = 'default_transaction_read_only'",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "COPY (SELECT 1) TO '/tmp/x'",
    "COPY (SELECT 1) TO STDOUT",
    "CREATE TABLE t (a int)",
    "CREATE TABLE public.t (a int)",
    "CREATE TEMP TABLE t (a int)",
    "CREATE TEMP TABLE t AS SELECT 1 AS a",
    "SELECT 1 AS a INTO TEMP t",
    "CREATE SCHEMA s",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE EXTENSION plpgsql",
    "CREATE DATABASE d",
    "CREATE ROLE r",
    "ALTER ROLE strongroom_queries SUPERUSER",
    "ALTER SYSTEM SET fsync TO on",
    "GRANT strongroom_owner TO strongroom_queries",
    "LISTEN a",
    "NOTIFY a, 'b'",
    "DO 'BEGIN END'",
    "DO LANGUAGE sql 'SELECT 1'",
    "LOAD 'auto_explain'",
    "SET default_transaction_read_only TO off",
    "SET SESSION AUTHORIZATION strongroom_owner",
    "SET ROLE strongroom_owner",
    "RESET ALL",
    "BEGIN READ WRITE",
    "PREPARE p AS SELECT 1",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "LOCK TABLE pg_class",
    "VACUUM",
    "CHECKPOINT",
    "DISCARD ALL",
    "SELECT 1; SELECT 2",
];

/// Each computes.
const GOOD: &[(&str, &str)] = &[
    ("SELECT sum(a) FROM unnest('{1,2,3}'::int[]) AS t(a)", "6"),
    ("SELECT upper('a') || to_char(1.5, '9.99')", "A 1.50"),
    ("SELECT regexp_replace('abc', 'b+', 'x')", "axc"),
    (
        "SELECT date_trunc('month', '2026-05-06'::date)::date",
        "2026-05-01",
    ),
    ("SELECT age('2026-05-06', '2025-05-06')", "1 year"),
    ("SELECT jsonb_build_object('a', 1) -> 'a'", "1"),
    (
        "SELECT array_agg(a ORDER BY a DESC) FROM generate_series(1, 3) AS a",
        "{3,2,1}",
    ),
    (
        "SELECT row_number() OVER (ORDER BY a) FROM unnest('{5}'::int[]) AS a",
        "1",
    ),
    (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM generate_series(1, 3) a",
        "2",
    ),
    ("SELECT pg_typeof(1)", "integer"),
    (
        "SELECT to_tsvector('english', 'running dogs') @@ to_tsquery('english', 'dog')",
        "t",
    ),
    ("SELECT encode(sha256('a'), 'hex') LIKE 'ca978112%'", "t"),
    ("SELECT '10.0.0.1'::inet <<= '10.0.0.0/8'", "t"),
    ("SELECT int4range(1, 5) && int4range(4, 9)", "t"),
    ("SELECT format('%I %L', 'a b', 'c')", "\"a b\" 'c'"),
    ("SELECT md5('a')", "0cc175b9c0f1b6a831c399e269772661"),
    ("SELECT 1::text::int::numeric(10,2)::money::text", "$1.00"),
    (
        "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r WHERE a < 9) \
      SELECT max(a) FROM r",
        "9",
    ),
];

#[tokio::test]
async fn nothing_but_computing_works() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    for query in NASTY {
        let error = failure(&finishers, question(&kind, query, &[])).await;
        assert!(!error.ends_session, "{query}");
        // Describing alone does nothing, whether it fails or not.
        let _described = finishers.ask(description(&kind, query)).await;
    }
    for (query, value) in GOOD {
        assert_eq!(
            rows(&finishers, question(&kind, query, &[])).await,
            [*value],
            "{query}"
        );
    }
    // No nasty one has ended the server.
    let started = finishers.counters().rows().map(|row| row.3)[2];
    assert_eq!(started, 1);
}
