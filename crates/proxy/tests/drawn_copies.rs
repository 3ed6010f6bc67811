//! COPY into protected tables that leaves columns with a default out, beside a twin in clear.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use postgres::Client;
use postgres::error::SqlState;
use server_testkit::Postgres;

use crate::common::texts::answer;
use crate::common::{Setup, client_of, open_to_all, with_finish};

const RULES: &str = "\
[columns.person]
id = { type = \"integer\", mode = \"equality\", default = \"serial\" }
name = { type = \"text\" }
state = { type = \"varchar(8)\", default = \"'new'\" }
since = { type = \"date\", default = \"CURRENT_TIMESTAMP\" }
tags = { type = \"text[]\", default = \"'{CANARY}'\" }
[columns.visit]
id = { type = \"bigint\", mode = \"equality\", default = \"GENERATED ALWAYS AS IDENTITY\" }
[columns.stamp]
at = { type = \"timestamptz\", default = \"now()\" }
";

const TABLES: &[&str] = &[
    "CREATE TABLE person (id serial PRIMARY KEY, name text, age integer,
     state varchar(8) NOT NULL DEFAULT 'new', since date DEFAULT CURRENT_TIMESTAMP,
     tags text[] DEFAULT '{CANARY}')",
    "CREATE TABLE visit (id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY 10 START WITH 100),
     note text)",
    "CREATE TABLE stamp (number integer, at timestamptz DEFAULT now())",
];
const ALL: &str = "SELECT id, name, age, state, since = CURRENT_DATE, tags FROM person ORDER BY id";

struct Twins {
    own: Client,
    twin: Client,
    setup: Setup,
    other: Postgres,
}

fn begin() -> Option<Twins> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with(RULES, &with_finish("max_finish_bytes = 100000\n"));
    let other = Postgres::start();
    let mut twins = Twins {
        own: client_of(&setup.proxy),
        twin: other.connect(),
        other,
        setup,
    };
    for table in TABLES {
        twins.same(table);
    }
    Some(twins)
}

fn copy_in(client: &mut Client, sql: &str, pieces: &[&[u8]]) -> Result<u64, String> {
    let mut copied = || {
        let mut writer = client.copy_in(sql)?;
        for piece in pieces {
            if let Err(error) = writer.write_all(piece).and_then(|()| writer.flush()) {
                return Err(*error
                    .into_inner()
                    .expect("of the server")
                    .downcast::<postgres::Error>()
                    .expect("of the server"));
            }
        }
        writer.finish()
    };
    copied().map_err(|error: postgres::Error| match error.as_db_error() {
        Some(own) => format!("{} {}", own.code().code(), own.message()),
        None => format!("{error:?}"),
    })
}

impl Twins {
    #[track_caller]
    fn same(&mut self, text: &str) -> Vec<String> {
        let own = answer(&mut self.own, text).expect(text);
        assert_eq!(own, answer(&mut self.twin, text).expect(text), "{text}");
        own
    }

    /// By the extended protocol.
    #[track_caller]
    fn same_copy(&mut self, sql: &str, pieces: &[&[u8]]) -> Result<u64, String> {
        let own = copy_in(&mut self.own, sql, pieces);
        assert_eq!(own, copy_in(&mut self.twin, sql, pieces), "{sql}");
        own
    }

    /// By psql, and so in a Query.
    #[track_caller]
    fn same_by_psql(&mut self, script: &str) -> String {
        let port = self.setup.proxy.address.port();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("script.sql");
        std::fs::write(&file, script).expect("written");
        open_to_all(folder.path());
        let name = file.display().to_string();
        let arguments = ["-XAtq", "-f", name.as_str()];
        let said = |server: &Postgres, port| {
            let said = server.run_at(port, "psql", &arguments);
            let both = [said.stdout, said.stderr].concat();
            String::from_utf8_lossy(&both).into_owned()
        };
        let own = said(&self.setup.server, port);
        assert_eq!(own, said(&self.other, self.other.port()), "{script}");
        own
    }
}

#[test]
fn rows_get_the_defaults_that_they_leave_out() {
    let Some(mut twins) = begin() else { return };
    let stream: &[u8] = b"CANARY a\t1\nCANARY b\t2\n\\N\t\\N\n";
    for pieces in [vec![stream], stream.chunks(1).collect()] {
        let sql = "COPY person (name, age) FROM STDIN";
        assert_eq!(twins.same_copy(sql, &pieces), Ok(3));
        let csv: &[u8] = b"age,name\r\n5,\"CANARY\nc\"\r\n6,\r\n";
        let sql = "COPY person (age, name) FROM STDIN (FORMAT csv, HEADER)";
        assert_eq!(twins.same_copy(sql, &[csv]), Ok(2));
    }
    let mut binary = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    binary.extend(b"\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff");
    binary.extend(b"\0\x02\0\0\0\x04\0\0\0\x08\0\0\0\x08CANARY d\xff\xff");
    let sql = "COPY person (age, name) FROM STDIN (FORMAT binary)";
    assert_eq!(twins.same_copy(sql, &[&binary]), Ok(2));
    // What is given is taken; `0` is also how NULL is written.
    let sql = "COPY person (state, id) FROM STDIN (NULL '0')";
    assert_eq!(twins.same_copy(sql, &[b"old\t1000\n"]), Ok(1));
    assert_eq!(
        twins.same_copy("COPY visit (note) FROM STDIN", &[b"x\ny\n"]),
        Ok(2)
    );
    assert_eq!(
        twins.same_copy("COPY visit (id, note) FROM STDIN", &[b"7\tz\n"]),
        Ok(1)
    );
    twins.same(ALL);
    twins.same("SELECT currval('person_id_seq'), lastval()");
    twins.same("SELECT id, note FROM visit ORDER BY id");
    twins.setup.assert_unseen(&["CANARY"]);
}

#[test]
fn a_query_copies_like_a_prepared_statement() {
    let Some(mut twins) = begin() else { return };
    twins.same_by_psql(
        "COPY person (name) FROM STDIN;\nCANARY a\nCANARY b\n\\.\n\
         BEGIN;\nCOPY person (name, age) FROM STDIN;\nCANARY c\t3\n\\.\n\
         SELECT id, name, age FROM person ORDER BY id;\nROLLBACK;\n\
         COPY person (name) FROM STDIN;\n\\.\n\
         COPY person (name) FROM STDIN;\nCANARY d\n\\.\n\
         SELECT id, name, state FROM person ORDER BY id;\n",
    );
    let said = twins.same_by_psql(
        "\\set VERBOSITY terse\nBEGIN;\nSELECT 1 / 0;\nCOPY person (name) FROM STDIN;\nROLLBACK;\n\
         COPY person (name, age) FROM STDIN;\nCANARY\tx\n\\.\nSELECT 1;\n\
         COPY person (name, age) FROM STDIN;\nCANARY\n\\.\nSELECT 2;\n\
         COPY person (name, none) FROM STDIN;\nother\n\\.\nSELECT 3;\n",
    );
    assert!(said.contains("missing data for column"), "{said}");
    twins.same("SELECT name FROM person ORDER BY id");
}

#[test]
fn a_copy_that_fails_behind_its_rows_leaves_the_session_whole() {
    let Some(mut twins) = begin() else { return };
    let sql = "COPY person (name, age) FROM STDIN";
    for stream in [&b"CANARY\t1\t2\n"[..], b"CANARY\n", b"CANARY\tx\n"] {
        twins.same_copy(sql, &[stream]).expect_err("it is refused");
        twins.same("SELECT count(*) FROM person");
    }
    {
        let mut writer = twins.own.copy_in(sql).expect("it begins");
        writer.write_all(b"CANARY a\t1\n").expect("it is buffered");
        writer.flush().expect("it is sent");
        // Dropped: CopyFail.
    }
    twins.same("SELECT count(*) FROM person");
    let line = b"CANARY\t1\n".repeat(12_000);
    let error = copy_in(&mut twins.own, sql, &[&line]).expect_err("they are too many");
    assert!(error.starts_with("54000"), "{error}");
    // Each row gets values, which are sealed.
    let error = copy_in(
        &mut twins.own,
        "COPY person (age) FROM STDIN",
        &[&b"1\n".repeat(500)],
    );
    let error = error.expect_err("they grow too large");
    assert!(error.starts_with("54000"), "{error}");
    twins.same("SELECT count(*) FROM person");
    assert_eq!(copy_in(&mut twins.own, sql, &[b"CANARY\t1\n"]), Ok(1));
    for text in [
        "CREATE ROLE some_client LOGIN; GRANT SELECT ON person TO some_client",
        "SET ROLE some_client",
    ] {
        answer(&mut twins.own, text).expect(text);
    }
    let error = copy_in(&mut twins.own, sql, &[b"CANARY\t1\n"]).expect_err("no right to it");
    assert!(
        error.starts_with(SqlState::INSUFFICIENT_PRIVILEGE.code()),
        "{error}"
    );
    answer(&mut twins.own, "RESET ROLE").expect("it goes on");
    let text = "COPY person (name) FROM STDIN; SELECT 1";
    let error = answer(&mut twins.own, text).expect_err("beside another");
    let error = error.as_db_error().expect("of the proxy");
    assert!(
        error.hint().unwrap_or_default().contains("by itself"),
        "{error:?}"
    );
    twins.setup.assert_unseen(&["CANARY"]);
}

#[test]
fn a_prepared_copy_has_the_time_of_its_execution() {
    let Some(mut twins) = begin() else { return };
    let copy = twins.own.prepare("COPY stamp (number) FROM STDIN");
    let copy = copy.expect("it is prepared");
    std::thread::sleep(Duration::from_millis(50));
    let before = SystemTime::now();
    let mut writer = twins.own.copy_in(&copy).expect("it begins");
    writer.write_all(b"1\n").expect("it is buffered");
    writer.finish().expect("a row");
    let row = twins.own.query_one("SELECT at FROM stamp", &[]);
    let at: SystemTime = row.expect("a row").get(0);
    assert!(at >= before, "{at:?} {before:?}");
}

#[test]
fn rows_are_not_sent_to_a_table_that_has_changed() {
    let Some(mut twins) = begin() else { return };
    let mut other = client_of(&twins.setup.proxy);
    let mut writer = twins.own.copy_in("COPY visit (note) FROM STDIN");
    let held = writer.as_mut().expect("it begins");
    held.write_all(b"CANARY\n").expect("it is buffered");
    held.flush().expect("it is sent");
    let text = "ALTER TABLE visit DROP COLUMN id";
    answer(&mut other, text).expect(text);
    let error = writer.expect("it has begun").finish();
    let error = error.expect_err("the table has no such key any more");
    assert!(error.as_db_error().is_some(), "{error:?}");
    answer(&mut twins.own, "SELECT 1").expect("the session goes on");
}
