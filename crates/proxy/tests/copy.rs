//! COPY of protected tables on a real server, in every format and both ways.

use std::io::{Read as _, Write as _};

use crate::common::{Setup, open_to_all};
use postgres::Client;
use postgres::error::SqlState;

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(24)" }
born = { type = "date" }
credit = { type = "numeric(8,2)" }
"#;

const CREATE: &str = "CREATE TABLE person (id integer PRIMARY KEY, name varchar(24) NOT NULL, \
                      remark text, born date, credit numeric(8,2))";

fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    assert_eq!(setup.psql(CREATE), "");
    Some(setup)
}

fn copy_in(client: &mut Client, sql: &str, pieces: &[&[u8]]) -> Result<u64, postgres::Error> {
    let mut writer = client.copy_in(sql)?;
    for piece in pieces {
        writer.write_all(piece).expect("it is buffered");
        writer.flush().expect("it is sent");
    }
    writer.finish()
}

fn copy_out(client: &mut Client, sql: &str) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut reader = client.copy_out(sql).expect("it begins");
    reader.read_to_end(&mut stream).expect("it ends");
    stream
}

const ROWS: &str = "1|CANARYone|a remark|2001-02-03|10.50\n2|CANARY\ttab|||\n\
                    3|CANARY\"q,|\\N|1999-12-31|-1.00\n";

fn rows(setup: &Setup) -> String {
    setup.psql("SELECT * FROM person ORDER BY id")
}

#[test]
fn text_goes_in_and_out_however_it_is_cut() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let stream: &[u8] =
        b"1\tCANARYone\ta remark\t2001-02-03\t10.5\n2\tCANARY\\ttab\t\\N\t\\N\t\\N\n\
                          3\tCANARY\"q,\t\\\\N\t1999-12-31\t-1\n";
    for size in [1, 7, stream.len()] {
        let pieces: Vec<&[u8]> = stream.chunks(size).collect();
        let copied = copy_in(&mut client, "COPY person FROM STDIN", &pieces);
        assert_eq!(copied.expect("copied"), 3);
        assert_eq!(rows(&setup), ROWS, "pieces of {size}");
        client.batch_execute("DELETE FROM person").expect("deleted");
    }
    copy_in(&mut client, "COPY person FROM STDIN", &[stream]).expect("copied");
    let out = copy_out(&mut client, "COPY person TO STDOUT");
    let wanted = "1\tCANARYone\ta remark\t2001-02-03\t10.50\n2\tCANARY\\ttab\t\\N\t\\N\t\\N\n\
                  3\tCANARY\"q,\t\\\\N\t1999-12-31\t-1.00\n";
    assert_eq!(String::from_utf8_lossy(&out), wanted);
    let some = copy_out(
        &mut client,
        "COPY person (credit, id) TO STDOUT WITH (DELIMITER ';')",
    );
    assert_eq!(String::from_utf8_lossy(&some), "10.50;1\n\\N;2\n-1.00;3\n");
    setup.assert_unseen(&["CANARY", "2001-02-03"]);
}

#[test]
fn what_the_server_computes_is_left_out() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let added = "ALTER TABLE person ADD size integer GENERATED ALWAYS AS (length(remark)) STORED";
    client.batch_execute(added).expect("added");
    let stream: &[u8] = b"1\tCANARYone\tremark\t\\N\t\\N\n";
    copy_in(&mut client, "COPY person FROM STDIN", &[stream]).expect("copied");
    let out = copy_out(&mut client, "COPY person TO STDOUT");
    assert_eq!(out, stream, "{}", String::from_utf8_lossy(&out));
    assert_eq!(rows(&setup), "1|CANARYone|remark|||6\n");
    let named = client.copy_out("COPY person (size) TO STDOUT");
    assert!(named.is_err(), "the server refuses it");
    setup.assert_unseen(&["CANARY"]);
}

#[test]
fn csv_goes_in_and_out() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let stream: &[u8] = b"id,name,remark,born,credit\r\n1,CANARYone,a remark,2001-02-03,10.5\r\n\
        2,\"CANARY\ttab\",,,\r\n3,\"CANARY\"\"q,\",\\N,1999-12-31,-1\r\n";
    let copied = copy_in(
        &mut client,
        "COPY person FROM STDIN (FORMAT csv, HEADER)",
        &[stream],
    );
    assert_eq!(copied.expect("copied"), 3);
    assert_eq!(rows(&setup), ROWS);
    let out = copy_out(&mut client, "COPY person TO STDOUT (FORMAT csv, HEADER)");
    let wanted = "id,name,remark,born,credit\n1,CANARYone,a remark,2001-02-03,10.50\n\
                  2,CANARY\ttab,,,\n3,\"CANARY\"\"q,\",\\N,1999-12-31,-1.00\n";
    assert_eq!(String::from_utf8_lossy(&out), wanted);
    setup.assert_unseen(&["CANARY"]);
}

/// Up to PostgreSQL 17 such a line is the end, for the server as for the proxy; later it is data.
#[test]
fn fields_of_csv_are_forced_as_the_server_does() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let plain = "CREATE TABLE plain (id integer PRIMARY KEY, name varchar(24) NOT NULL, remark \
                 text, born date, credit numeric(8,2))";
    client.batch_execute(plain).expect("made");
    let stream: &[u8] = b"1,,\"\",\"\",1\n2,\"\",,,\n3,three,r,2001-02-03,\"\"\n";
    let into = "FROM STDIN WITH (FORMAT csv, FORCE_NOT_NULL (name), FORCE_NULL (born, remark, \
                credit))";
    let out = "(remark, name, id) TO STDOUT WITH (FORMAT csv, FORCE_QUOTE (name, id))";
    let legacy = "FROM STDIN CSV FORCE NOT NULL name, remark";
    let mut done = |table: &str| {
        let taken = copy_in(&mut client, &format!("COPY {table} {into}"), &[stream]);
        assert_eq!(taken.expect("copied"), 3);
        let more: &[u8] = b"4,,,2001-02-03,5\n";
        copy_in(&mut client, &format!("COPY {table} {legacy}"), &[more]).expect("copied");
        copy_out(&mut client, &format!("COPY {table} {out}"))
    };
    let (ours, theirs) = (done("person"), done("plain"));
    assert_eq!(
        String::from_utf8_lossy(&ours),
        String::from_utf8_lossy(&theirs)
    );
    assert_eq!(rows(&setup), setup.psql("SELECT * FROM plain ORDER BY id"));
    for (options, code) in [
        ("FORMAT csv, FORCE_NULL (nothing)", "42P10"),
        ("FORMAT csv, FORCE_QUOTE (name)", "0A000"),
        ("FORCE_NULL (name)", "0A000"),
    ] {
        let text = format!("COPY person FROM STDIN WITH ({options})");
        let error = copy_in(&mut client, &text, &[]).expect_err(&text);
        assert_eq!(error.code().map(SqlState::code), Some(code), "{text}");
    }
}

#[test]
fn rows_are_frozen_where_the_server_can() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let stream: &[u8] = b"1\tCANARYone\tremark\t\\N\t\\N\n";
    let copy = "COPY person FROM STDIN WITH (FREEZE)";
    client
        .batch_execute("BEGIN; TRUNCATE person")
        .expect("empty");
    copy_in(&mut client, copy, &[stream]).expect("copied");
    client.batch_execute("COMMIT").expect("committed");
    assert_eq!(rows(&setup), "1|CANARYone|remark||\n");
    let error = client.copy_out("COPY person TO STDOUT WITH (FREEZE)").err();
    let error = error.expect("it is for rows that come");
    assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
    setup.assert_unseen(&["CANARY"]);
}

#[test]
fn a_line_of_backslash_and_dot_is_what_the_server_takes_it_for() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start("[columns.note]\nbody = { type = \"text\" }\n");
    let mut client = setup.connect();
    let create = "CREATE TABLE note (body text); CREATE TABLE plain (body text)";
    client.batch_execute(create).expect("tables");
    let version = client.query_one("SHOW server_version_num", &[]);
    let version: i32 = version
        .expect("an answer")
        .get::<_, &str>(0)
        .parse()
        .expect("a number");
    let wanted = if version >= 180_000 { 3 } else { 1 };
    let stream: &[u8] = b"CANARYa\n\\.\nCANARYb\n";
    for pieces in [vec![stream], stream.chunks(1).collect()] {
        let sql = "COPY note FROM STDIN (FORMAT csv)";
        assert_eq!(copy_in(&mut client, sql, &pieces).expect("copied"), wanted);
        let all = if wanted == 3 {
            "CANARYa\n\\.\nCANARYb\n"
        } else {
            "CANARYa\n"
        };
        assert_eq!(setup.psql("SELECT body FROM note"), all);
        client.batch_execute("DELETE FROM note").expect("deleted");
    }
    // Without rules it is the server that decides.
    let stream: &[u8] = b"a\n\\.\nb\n";
    let sql = "COPY plain FROM STDIN (FORMAT csv)";
    let copied = copy_in(&mut client, sql, &[stream]);
    assert_eq!(copied.expect("copied"), wanted);
}

#[test]
fn binary_goes_in_and_out() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let insert = "INSERT INTO person VALUES (1, 'CANARYone', 'a remark', '2001-02-03', 10.5), \
                  (2, E'CANARY\\ttab', NULL, NULL, NULL), \
                  (3, 'CANARY\"q,', E'\\\\N', '1999-12-31', -1)";
    client.batch_execute(insert).expect("inserted");
    let stream = copy_out(&mut client, "COPY person TO STDOUT (FORMAT binary)");
    client.batch_execute("DELETE FROM person").expect("deleted");
    let pieces: Vec<&[u8]> = stream.chunks(11).collect();
    let copied = copy_in(
        &mut client,
        "COPY person FROM STDIN (FORMAT binary)",
        &pieces,
    );
    assert_eq!(copied.expect("copied"), 3);
    assert_eq!(rows(&setup), ROWS);

    let mut direct = setup.server.connect();
    direct
        .batch_execute(
            "CREATE TABLE plain (id integer, name varchar(24), remark text, born date, \
             credit numeric(8,2))",
        )
        .expect("made past the proxy");
    let mut writer = direct
        .copy_in("COPY plain FROM STDIN (FORMAT binary)")
        .expect("it begins");
    let public = String::from_utf8_lossy(b"CANARY").replace("CANARY", "public");
    let stream = replace(&stream, b"CANARY", public.as_bytes());
    writer.write_all(&stream).expect("it is buffered");
    assert_eq!(
        writer
            .finish()
            .expect("the server reads what the client got"),
        3
    );
    setup.assert_unseen(&["CANARY"]);
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(from) {
            out[at..at + from.len()].copy_from_slice(to);
        }
    }
    out
}

#[test]
fn an_error_names_line_and_column_and_ends_the_copy_only() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for (stream, code, column) in [
        (
            "1\tCANARYa\t\\N\t\\N\t\\N\nx\tCANARYb\t\\N\t\\N\t\\N\n",
            "22P02",
            "id",
        ),
        (
            "1\tCANARYa\t\\N\t\\N\t\\N\n2\tCANARYb\t\\N\t2001-13-01\t\\N\n",
            "22008",
            "born",
        ),
        (
            "1\tCANARYa\t\\N\t\\N\t\\N\n2\tCANARYb\t\\N\t\\N\t1234567\n",
            "22003",
            "credit",
        ),
        (
            "1\tCANARYa\t\\N\t\\N\t\\N\n2\tCANARYthatismuchlongerthanitmaybe\t\\N\t\\N\t\\N\n",
            "22001",
            "name",
        ),
        ("1\tCANARYa\t\\N\t\\N\t\\N\n2\tCANARYb\n", "22P04", ""),
        (
            "1\tCANARYa\t\\N\t\\N\t\\N\n2\t\\N\t\\N\t\\N\t\\N\n",
            "23502",
            "",
        ),
        (
            "1\tCANARYa\t\\N\t\\N\t\\N\n1\tCANARYb\t\\N\t\\N\t\\N\n",
            "23505",
            "",
        ),
    ] {
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(9).collect();
        let failed = copy_in(&mut client, "COPY person FROM STDIN", &pieces);
        let failed = failed.expect_err(code);
        let error = failed
            .as_db_error()
            .expect("an error of the proxy or the server");
        assert_eq!(error.code().code(), code, "{stream:?}: {error}");
        let place = error.where_().unwrap_or_default();
        assert!(place.contains("COPY person, line 2"), "{code}: {place}");
        if !column.is_empty() {
            assert!(
                place.ends_with(&format!("line 2, column {column}")),
                "{place}"
            );
        }
        let next = client.query_one("SELECT count(*) FROM person", &[]);
        assert_eq!(next.expect("it goes on").get::<_, i64>(0), 0);
    }
    setup.assert_unseen(&["CANARY"]);
}

#[test]
fn in_a_transaction_an_error_of_copy_ends_it() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut transaction = client.transaction().expect("begun");
    {
        let mut writer = transaction
            .copy_in("COPY person FROM STDIN")
            .expect("it begins");
        writer
            .write_all(b"1\tCANARYa\tr\tnever\t\\N\n")
            .expect("it is buffered");
        let failed = writer.finish().expect_err("no date");
        assert!(failed.code().is_some());
    }
    let next = transaction
        .query("SELECT 1", &[])
        .expect_err("it has failed");
    assert_eq!(next.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    transaction.rollback().expect("rolled back");
    assert!(client.query_one("SELECT 1", &[]).is_ok());
}

#[test]
fn a_client_may_give_up() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    {
        let mut writer = client.copy_in("COPY person FROM STDIN").expect("it begins");
        writer
            .write_all(b"1\tCANARYa\tr\t\\N\t\\N\n2\tCAN")
            .expect("it is buffered");
        writer.flush().expect("it is sent");
        // Dropped: CopyFail.
    }
    let count = client.query_one("SELECT count(*) FROM person", &[]);
    assert_eq!(count.expect("it goes on").get::<_, i64>(0), 0);
    setup.assert_unseen(&["CANARY"]);
}

#[test]
fn psql_copies_files() {
    let Some(setup) = start() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (folder.path().join("in.csv"), folder.path().join("out.csv"));
    std::fs::write(
        &from,
        "1,CANARYone,r,2001-02-03,10.5\n2,\"CANARY\nline\",,,\n",
    )
    .expect("written");
    open_to_all(folder.path());
    let copied = setup.psql(&format!(
        "\\copy person FROM '{}' (FORMAT csv)",
        from.display()
    ));
    assert_eq!(copied, "");
    std::fs::write(&to, "").expect("written");
    open_to_all(&to);
    let copied = setup.psql(&format!("\\copy person TO '{}' (FORMAT csv)", to.display()));
    assert_eq!(copied, "");
    let said = std::fs::read_to_string(&to).expect("psql wrote it");
    assert_eq!(
        said,
        "1,CANARYone,r,2001-02-03,10.50\n2,\"CANARY\nline\",,,\n"
    );
    assert_eq!(
        setup.psql("COPY (SELECT 1) TO STDOUT"),
        "1\n",
        "what is not protected passes"
    );
}

#[test]
fn a_hundred_thousand_rows_are_copied() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut stream = Vec::new();
    for id in 0..100_000 {
        writeln!(stream, "{id}\tCANARY{id}\tr{id}\t\\N\t{}.5", id % 1000).expect("memory takes it");
    }
    let mut writer = client.copy_in("COPY person FROM STDIN").expect("it begins");
    writer.write_all(&stream).expect("it is sent");
    assert_eq!(writer.finish().expect("copied"), 100_000);
    let out = copy_out(&mut client, "COPY person (id, name) TO STDOUT");
    let out = String::from_utf8(out).expect("UTF-8");
    assert_eq!(out.lines().count(), 100_000);
    assert!(
        out.lines()
            .zip(0..)
            .all(|(line, id)| line == format!("{id}\tCANARY{id}"))
    );
    setup.assert_unseen(&["CANARY"]);
}
