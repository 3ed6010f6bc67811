//! A query computes, and does nothing else.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use finisher_postgres::{FinisherOptions, Finishers};
use sqlstate::SqlState;
use wire_postgres::{HEADER_SIZE, Header, backend, frontend, startup};

use crate::common::{
    description, failure, finishers, folders, kind, options, place, question, rows,
};

/// Queries that would read, write, wait, or tell of the server.
const FORBIDDEN: &[&str] = &[
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
    "SELECT setseed(0.5)",
    "SELECT clock_timestamp()",
    "SELECT * FROM pg_class",
    "SELECT * FROM pg_proc",
    "SELECT * FROM pg_stat_activity",
    "SELECT * FROM pg_settings",
    "SELECT * FROM pg_authid",
    "SELECT * FROM pg_prepared_statements",
    "SELECT * FROM information_schema.tables",
];

/// Names that the server does not know, and a second statement.
const UNKNOWN: &[&str] = &[
    "SELECT nextval('a')",
    "SELECT dblink('dbname=template1', 'SELECT 1')",
    "SELECT 1; SELECT 2",
];

/// Statements that would write or get more privileges: the role alone may execute none.
const WRITING: &[&str] = &[
    "UPDATE pg_settings SET setting = 'off' WHERE name = 'default_transaction_read_only'",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "COPY (SELECT 1) TO '/tmp/x'",
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
    "DO 'BEGIN END'",
    "DO LANGUAGE sql 'SELECT 1'",
    "LOAD 'auto_explain'",
    "SET SESSION AUTHORIZATION strongroom_owner",
    "SET ROLE strongroom_owner",
    "LOCK TABLE pg_class",
    "CHECKPOINT",
];

/// Statements that change a session, if anything.
const OF_SESSIONS: &[&str] = &[
    "COPY (SELECT 1) TO STDOUT",
    "LISTEN a",
    "NOTIFY a, 'b'",
    "SET default_transaction_read_only TO off",
    "RESET ALL",
    "BEGIN READ WRITE",
    "PREPARE p AS SELECT 1",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "VACUUM",
    "DISCARD ALL",
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
    for query in FORBIDDEN {
        let error = failure(&finishers, question(&kind, query, &[])).await;
        assert_eq!(error.sqlstate, SqlState::INSUFFICIENT_PRIVILEGE, "{query}");
        // Describing alone does nothing, whether it fails or not.
        let _described = finishers.ask(description(&kind, query)).await;
    }
    for query in UNKNOWN {
        failure(&finishers, question(&kind, query, &[])).await;
    }
    for query in WRITING.iter().chain(OF_SESSIONS) {
        let error = failure(&finishers, question(&kind, query, &[])).await;
        assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED, "{query}");
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

/// Whoever comes past the statements that are executed at all still has only the role.
#[tokio::test]
async fn the_role_of_queries_may_write_nothing() {
    let Some(options) = options() else {
        return;
    };
    let place = place();
    let finishers = Finishers::new(FinisherOptions {
        folder: Some(place.path().to_owned()),
        ..options
    });
    let question = question(&kind(&finishers), "SELECT 1", &[]);
    assert_eq!(rows(&finishers, question).await, ["1"]);
    let socket = folders(place.path())[0].join(".s.PGSQL.5432");
    let mut session = Session::start(&socket, "strongroom_queries", "kind_1").expect("let in");
    assert_eq!(session.query("SELECT 1"), None);
    for transaction in ["on", "off"] {
        // A role may change that of its own session.
        let set = format!("SET default_transaction_read_only TO {transaction}");
        assert_eq!(session.query(&set), None);
        for query in WRITING {
            assert!(session.query(query).is_some(), "{query}");
        }
    }
    for (user, database) in [
        ("strongroom_queries", "template1"),
        ("strongroom_queries", "postgres"),
        ("postgres", "kind_1"),
    ] {
        assert!(
            Session::start(&socket, user, database).is_none(),
            "{user}, {database}"
        );
    }
}

/// A connection past the finisher's own.
struct Session(UnixStream);

impl Session {
    /// None: the server refuses it.
    fn start(socket: &Path, user: &str, database: &str) -> Option<Self> {
        let mut session = Self(UnixStream::connect(socket).expect("it listens"));
        let mut out = Vec::new();
        let parameters = [("user", user), ("database", database)];
        let parameters = parameters.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        startup::write_startup(&parameters, &mut out);
        session.0.write_all(&out).expect("it reads");
        session.error().is_none().then_some(session)
    }

    /// The error of a statement.
    fn query(&mut self, sql: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        frontend::write_query(sql.as_bytes(), &mut out);
        self.0.write_all(&out).expect("it reads");
        self.error()
    }

    /// The error among the messages until the server is ready, or has closed.
    fn error(&mut self) -> Option<Vec<u8>> {
        let mut error = None;
        let mut header = [0; HEADER_SIZE];
        while self.0.read_exact(&mut header).is_ok() {
            let header = Header::read(&header, usize::MAX).expect("a header");
            let header = header.expect("a whole one");
            let mut body = vec![0; header.size - HEADER_SIZE];
            self.0.read_exact(&mut body).expect("a body");
            match header.kind {
                backend::kind::READY_FOR_QUERY => break,
                backend::kind::ERROR => error = Some(body),
                _ => {}
            }
        }
        error
    }
}
