//! Settings of a session that texts of values depend on: those that the proxy knows are heeded, as
//! a table without rules beside shows; the others are refused before anything is sent.

use std::io::Read as _;

use crate::common::Setup;
use crate::common::raw::Raw;
use crate::common::texts::{Text, answer};
use crate::common::wire::Session;
use postgres::Client;
use postgres::types::ToSql;

const RULES: &str = r#"
[columns.event]
moment = { type = "timestamptz" }
due = { type = "timestamptz", mode = "order" }
day = { type = "date" }
name = { type = "text" }
data = { type = "bytea" }
rate = { type = "double precision" }
near = { type = "real", mode = "order" }
"#;

const COLUMNS: &str = "(id integer, moment timestamptz, due timestamptz, day date, name text, \
                       data bytea, rate double precision, near real)";

fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    for table in ["event", "plain"] {
        assert_eq!(setup.psql(&format!("CREATE TABLE {table} {COLUMNS}")), "");
    }
    Some(setup)
}

#[track_caller]
fn texts(client: &mut Client, query: &str) -> Vec<String> {
    answer(client, query).expect(query)
}

/// A query has the same answer of both tables: as text, in binary, and with its parameter, `$1`.
#[track_caller]
fn assert_same(client: &mut Client, query: &str, value: &str) {
    let of = |table: &str| query.replace("TABLE", table);
    let literal = |table: &str| of(table).replace("$1", &format!("'{value}'"));
    let plain = texts(client, &literal("plain"));
    assert!(!plain.is_empty(), "{query} of {value} finds nothing");
    assert_eq!(
        texts(client, &literal("event")),
        plain,
        "{query} of {value}"
    );
    let mut raw = |table: &str| {
        let statement = client.prepare(&of(table)).expect(query);
        let all: [&(dyn ToSql + Sync); 1] = [&Text(value)];
        let values = &all[..statement.params().len()];
        let rows = client.query(&statement, values).expect(query);
        let rows = rows.iter().map(|row| {
            let values = (0..row.len()).map(|place| row.get::<_, Option<Raw>>(place));
            values.map(|value| value.map(|raw| raw.0)).collect()
        });
        rows.collect::<Vec<Vec<_>>>()
    };
    let plain = raw("plain");
    assert!(!plain.is_empty(), "{query} of {value} finds nothing");
    assert_eq!(raw("event"), plain, "{query} of {value}");
}

const ZONES: [&str; 5] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "<+03>-03",
];

/// Winter, summer, what is not in Berlin, what is there twice, and twice in New York; with a zone
/// of its own; no time at all.
const MOMENTS: [&str; 7] = [
    "2024-01-15 12:00:00",
    "2024-07-15 23:59:59.999999",
    "2024-03-31 02:30:00",
    "2024-10-27 02:30:00",
    "2024-11-03 01:30:00",
    "2024-06-01 00:00:00+05:30",
    "infinity",
];

#[test]
fn a_moment_that_is_written_in_one_time_zone_is_read_in_another() {
    let Some(setup) = start() else { return };
    let mut id = 0;
    for zone in ZONES {
        let mut client = setup.connect();
        let set = format!("SET TimeZone TO '{zone}'");
        client.batch_execute(&set).expect("the server knows it");
        for moment in MOMENTS {
            id += 2;
            for table in ["event", "plain"] {
                let literal = format!(
                    "INSERT INTO {table} (id, moment, due) VALUES ({id}, '{moment}', '{moment}')"
                );
                client.batch_execute(&literal).expect("inserted");
                let by_parameter =
                    format!("INSERT INTO {table} (id, moment, due) VALUES ($1, $2, $3)");
                let values: [&(dyn ToSql + Sync); 3] = [&(id + 1), &Text(moment), &Text(moment)];
                let count = client.execute(&by_parameter, &values).expect("inserted");
                assert_eq!(count, 1);
            }
        }
    }
    for zone in ZONES {
        let mut client = setup.connect();
        let set = format!("SET TimeZone TO '{zone}'");
        client.batch_execute(&set).expect("the server knows it");
        assert_same(
            &mut client,
            "SELECT id, moment, due FROM TABLE ORDER BY id",
            "",
        );
        for moment in MOMENTS {
            for condition in ["due <= $1", "due = $1", "moment >= $1", "moment = $1"] {
                let query = format!("SELECT id, moment FROM TABLE WHERE {condition} ORDER BY id");
                assert_same(&mut client, &query, moment);
            }
        }
    }
}

#[test]
fn a_time_zone_ends_with_its_transaction() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    client.batch_execute("SET TimeZone TO 'UTC'").expect("set");
    let mut id = 0;
    for end in ["COMMIT", "ROLLBACK TO before; COMMIT"] {
        client
            .batch_execute("BEGIN; SAVEPOINT before")
            .expect("begun");
        let set = "SET LOCAL TimeZone TO 'Asia/Kolkata'";
        client.batch_execute(set).expect("set");
        let mut insert = |client: &mut Client| {
            id += 1;
            for table in ["event", "plain"] {
                let text = format!("INSERT INTO {table} (id, moment, due) VALUES ($1, $2, $2)");
                let values: [&(dyn ToSql + Sync); 2] = [&id, &Text("2024-01-15 12:00:00")];
                client.execute(&text, &values).expect("inserted");
            }
        };
        insert(&mut client);
        client.batch_execute(end).expect("ended");
        insert(&mut client);
    }
    assert_same(
        &mut client,
        "SELECT id, moment, due FROM TABLE ORDER BY id",
        "",
    );
}

#[test]
fn the_order_of_day_and_month_is_the_sessions() {
    let Some(setup) = start() else { return };
    let mut id = 0;
    for (style, value) in [
        ("ISO, DMY", "02/03/2001"),
        ("ISO, MDY", "02/03/2001"),
        ("ISO, YMD", "01/02/03"),
    ] {
        let mut client = setup.connect();
        let set = format!("SET DateStyle TO '{style}'");
        client.batch_execute(&set).expect("the server knows it");
        id += 1;
        for table in ["event", "plain"] {
            let text =
                format!("INSERT INTO {table} (id, day, due) VALUES ({id}, '{value}', '{value}')");
            client.batch_execute(&text).expect("inserted");
            let text = format!("INSERT INTO {table} (id, day, due) VALUES ({id}, $1, $2)");
            let values: [&(dyn ToSql + Sync); 2] = [&Text(value), &Text(value)];
            client.execute(&text, &values).expect("inserted");
        }
        let query = "SELECT day, due FROM TABLE WHERE day = $1 ORDER BY id";
        assert_same(&mut client, query, value);
    }
    let mut client = setup.connect();
    assert_same(
        &mut client,
        "SELECT id, day, due FROM TABLE ORDER BY id, due",
        "",
    );
}

/// Rows of the table for what follows; a plain one has the same.
fn insert_bytes_and_floats(setup: &Setup) {
    for table in ["event", "plain"] {
        let said = setup.psql(&format!(
            "INSERT INTO {table} (id, data, rate, near) VALUES \
             (1, E'\\\\x00615c0a7fff20', 0.1, 0.1), (2, '', 0.30000000000000004, 16777217), \
             (3, 'ab', 1e-300, 1e20), (4, NULL, 'NaN', '-Infinity'), \
             (5, E'\\\\xe4', 1234567.891, 1234567.891)"
        ));
        assert_eq!(said, "");
    }
}

fn copied(client: &mut Client, table: &str) -> String {
    let copy = format!("COPY {table} (id, data, rate, near) TO STDOUT");
    let mut text = String::new();
    let mut rows = client.copy_out(&copy).expect("rows");
    rows.read_to_string(&mut text).expect("a text");
    text
}

/// The server does not report these settings.
#[test]
fn bytes_and_floats_are_written_as_the_session_wants_them() {
    let Some(setup) = start() else { return };
    insert_bytes_and_floats(&setup);
    let mut client = setup.connect();
    for set in [
        "SET bytea_output TO 'escape'",
        "SET extra_float_digits TO 0",
        "BEGIN",
        "SET LOCAL extra_float_digits TO -15",
        "SAVEPOINT here",
        "SET LOCAL bytea_output TO 'hex'",
        "ROLLBACK TO here",
        "ROLLBACK",
        "SET extra_float_digits = 3",
        "SELECT set_config('extra_float_digits', '-6', false)",
        "RESET ALL",
    ] {
        client.batch_execute(set).expect(set);
        let query = "SELECT id, data, rate, near, CAST(rate AS text) FROM TABLE ORDER BY id";
        assert_same(&mut client, query, "");
        let plain = copied(&mut client, "plain");
        assert_eq!(copied(&mut client, "event"), plain, "{set}");
    }
    // The same where it is so from the beginning.
    let options = "-c bytea_output=escape -c extra_float_digits=-2";
    let port = setup.proxy.address.port();
    let [event, plain] = ["event", "plain"].map(|table| {
        let query = format!("SELECT data, rate, near FROM {table} ORDER BY id");
        let arguments = ["-XAtq", "-c", &query];
        let variable = ("PGOPTIONS", options);
        let said = setup.server.run_with(port, "psql", &arguments, &[variable]);
        assert!(said.status.success(), "{table}");
        String::from_utf8_lossy(&said.stdout).into_owned()
    });
    assert!(plain.contains("\\000a"), "{plain}");
    assert_eq!(event, plain);
}

/// What psql says of a text under a variable of its environment.
fn messages(setup: &Setup, variable: (&str, &str), text: &str) -> String {
    let arguments = ["-XAtq", "-v", "VERBOSITY=verbose", "-c", text];
    let port = setup.proxy.address.port();
    let said = setup.server.run_with(port, "psql", &arguments, &[variable]);
    assert!(!said.status.success(), "{variable:?}: {text} was done");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "", "{variable:?}");
    String::from_utf8_lossy(&said.stderr).into_owned()
}

#[test]
fn texts_that_would_be_read_otherwise_are_refused() {
    let Some(setup) = start() else { return };
    let kept = "INSERT INTO event (id, name) VALUES (1, 'CANARYkept')";
    assert_eq!(setup.psql(kept), "");
    for (what, variable, set) in [
        (
            "client_encoding other than UTF8",
            ("PGCLIENTENCODING", "LATIN1"),
            "SET client_encoding TO 'LATIN1'",
        ),
        (
            "DateStyle other than ISO",
            ("PGOPTIONS", "-c DateStyle=German"),
            "SET DateStyle TO 'German'",
        ),
        (
            "standard_conforming_strings = off",
            ("PGOPTIONS", "-c standard_conforming_strings=off"),
            "SET standard_conforming_strings TO off",
        ),
    ] {
        let wanted = format!("ERROR:  0A000: {what} is not supported before protected columns");
        for text in [
            "INSERT INTO event (id, name) VALUES (2, 'CANARYrefused')",
            "UPDATE event SET name = 'CANARYrefused', day = '2001-02-03'",
            "SELECT name FROM event WHERE name = 'CANARYkept'",
        ] {
            let said = messages(&setup, variable, text);
            assert!(said.contains(&wanted), "{text}: {said}");
            assert!(said.contains("HINT:  SET "), "{text}: {said}");
        }
        // The same for a session that changes its mind.
        let mut client = setup.connect();
        client.batch_execute(set).expect("the server does it");
        let text = "INSERT INTO event (id, name) VALUES ($1, $2)";
        let error = client.execute(text, &[&3, &"CANARYrefused"]);
        let error = error.expect_err("another setting");
        let error = error.as_db_error().expect("it was told");
        assert_eq!(error.code().code(), "0A000");
        assert!(error.message().starts_with(what), "{error:?}");
    }
    assert_eq!(setup.psql("SELECT id, name FROM event"), "1|CANARYkept\n");
}

/// The server reads the second statement of a text under the setting of the first, which the proxy
/// has not seen when it seals.
#[test]
fn a_setting_is_not_changed_in_the_text_that_depends_on_it() {
    let Some(setup) = start() else { return };
    for set in [
        "SET TimeZone TO 'Asia/Kolkata'",
        "SET TIME ZONE 'Asia/Kolkata'",
        "SET LOCAL TimeZone TO 'Asia/Kolkata'",
        "RESET TimeZone",
        "SELECT set_config('TimeZone', 'Asia/Kolkata', false)",
        "SET DateStyle TO 'ISO, DMY'",
        "SET client_encoding TO 'LATIN1'",
        "SET NAMES 'LATIN1'",
        "SET standard_conforming_strings TO off",
        "SET bytea_output TO 'escape'",
        "SET LOCAL extra_float_digits TO 0",
    ] {
        let mut client = setup.connect();
        let insert = "INSERT INTO event (id, moment, day) VALUES (1, '2024-01-15 12:00', '1/2/3')";
        let error = client.batch_execute(&format!("{set}; {insert}"));
        let error = error.expect_err(set);
        assert_eq!(error.code().map(|code| code.code()), Some("0A000"), "{set}");
        // A text without protected tables is not the proxy's business.
        let plain = format!("{set}; {}", insert.replace("event", "plain"));
        setup.connect().batch_execute(&plain).expect(set);
    }
    assert_eq!(setup.psql("SELECT count(*) FROM event"), "0\n");
}

/// Statements that touch no protected value work under every setting.
#[test]
fn settings_count_only_where_values_are_protected() {
    let Some(setup) = start() else { return };
    assert_eq!(
        setup.psql("INSERT INTO event (id, name) VALUES (1, 'CANARYx')"),
        ""
    );
    for set in [
        "SET DateStyle TO 'German'",
        "SET DateStyle TO 'SQL, DMY'",
        "SET TimeZone TO '<-05:30>+05:30'",
        "SET TimeZone TO '+01:30'",
        "SET TimeZone TO -3.5",
        "SET client_encoding TO 'LATIN1'",
        "SET client_encoding TO 'SJIS'",
        "SET standard_conforming_strings TO off",
    ] {
        let mut client = setup.connect();
        client.batch_execute(set).expect(set);
        let plain = "DELETE FROM plain; INSERT INTO plain (id, moment, name) \
                     VALUES (1, '2024-01-15 12:00Z', 'it''s')";
        client.batch_execute(plain).expect(set);
        let there = texts(&mut client, "SELECT moment, name FROM plain");
        let mut direct = setup.server.connect();
        direct.batch_execute(set).expect(set);
        assert_eq!(
            there,
            texts(&mut direct, "SELECT moment, name FROM plain"),
            "{set}"
        );
        let ids = client.query("SELECT id FROM plain WHERE name = $1", &[&"it's"]);
        assert_eq!(ids.expect(set).len(), 1);
        // No value of a protected column is read or written.
        assert_eq!(
            texts(&mut client, "SELECT count(*) FROM event"),
            ["1"],
            "{set}"
        );
        let columns = "SELECT attname FROM pg_attribute WHERE attrelid = 'event'::regclass AND \
                       attnum = 6";
        assert_eq!(texts(&mut client, columns), ["data"], "{set}");
        client
            .batch_execute("CREATE TABLE made (a date); DROP TABLE made")
            .expect(set);
    }
}

/// What was planned before is not carried out after.
#[test]
fn a_prepared_statement_heeds_a_setting_that_came_later() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let insert = client.prepare("INSERT INTO event (id, day) VALUES ($1, $2)");
    let insert = insert.expect("prepared");
    client
        .batch_execute("SET DateStyle TO 'German'")
        .expect("set");
    let values: [&(dyn ToSql + Sync); 2] = [&1_i32, &Text("01.02.2003")];
    let error = client.execute(&insert, &values).expect_err("another style");
    assert_eq!(error.code().map(|code| code.code()), Some("0A000"));
    client
        .batch_execute("SET DateStyle TO 'ISO, DMY'")
        .expect("set");
    assert_eq!(client.execute(&insert, &values).expect("as before"), 1);
    assert_eq!(texts(&mut client, "SELECT day FROM event"), ["2003-02-01"]);
}

fn said(session: &mut Session, text: &[u8]) -> crate::common::wire::Answer {
    let mut message = Vec::new();
    wire_postgres::frontend::write_query(text, &mut message);
    session.say(&message)
}

const LETTERS: &str = r#"
[columns."künde"]
name = { type = "text" }

[columns.person]
name = { type = "text" }
"größe" = { type = "text" }
"#;

/// The catalogues are read by the session that comes first, whatever its encoding is.
#[test]
fn another_encoding_hides_no_column() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(LETTERS);
    let made = "CREATE TABLE person (id integer, name bytea, \"größe\" bytea)";
    setup.server.connect().batch_execute(made).expect("made");
    let port = setup.proxy.address.port();
    let parameters = b"user\0postgres\0database\0postgres\0client_encoding\0LATIN1\0";
    let (mut session, _) = Session::begin(port, parameters);
    let answer = said(&mut session, b"SELECT 1");
    assert_eq!(answer.code, "");
    let mut client = setup.connect();
    for insert in [
        "INSERT INTO person VALUES (1, 'CANARYa', 'CANARYb')",
        "INSERT INTO person (\"größe\") VALUES ('CANARYb')",
    ] {
        client.batch_execute(insert).expect("it is sealed");
    }
    let read = texts(&mut client, "SELECT \"größe\" FROM person");
    assert_eq!(read, ["CANARYb", "CANARYb"]);
}

/// Letters beyond ASCII are looked through without knowing which they are.
#[test]
fn another_encoding_hides_no_name() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(LETTERS);
    let made = "CREATE TABLE \"künde\" (id integer, name text); \
                CREATE TABLE person (id integer, name text, \"größe\" bytea); \
                CREATE TABLE plain (id integer, name text)";
    // At the server itself, so that the first session of the proxy reads the names.
    let sealed = made.replacen("name text", "name bytea", 2);
    setup.server.connect().batch_execute(&sealed).expect("made");
    let port = setup.proxy.address.port();
    let parameters = b"user\0postgres\0database\0postgres\0client_encoding\0LATIN1\0";
    let (mut session, _) = Session::begin(port, parameters);
    let inserted = said(
        &mut session,
        b"INSERT INTO plain VALUES (1, 'Zo\xeb caf\xe9')",
    );
    assert_eq!(
        (inserted.code.as_str(), inserted.tag.as_str()),
        ("", "INSERT 0 1\0")
    );
    for text in [
        &b"INSERT INTO k\xfcnde (name) VALUES ('CANARYa')"[..],
        b"INSERT INTO \"k\xfcnde\" (name) VALUES ('CANARYa')",
        b"INSERT INTO K\xdcNDE (name) VALUES ('CANARYa')",
        b"INSERT INTO person (name) VALUES ('CANARY\xe9')",
        b"DO $$ BEGIN INSERT INTO k\xfcnde VALUES ('CANARYa'); END $$",
        b"SELECT name FROM k\xfcnde",
    ] {
        let answer = said(&mut session, text);
        // Also a name that only some servers fold to that of the table, and a block that names it.
        let is_refused = matches!(answer.code.as_str(), "0A000" | "42P01" | "42601");
        assert!(is_refused, "{answer:?}");
    }
    // What the first session has read is what all others plan by.
    let mut client = setup.connect();
    let insert = "INSERT INTO \"künde\" (name) VALUES ('CANARYb')";
    client.batch_execute(insert).expect("it is sealed");
    assert_eq!(
        texts(&mut client, "SELECT name FROM \"künde\""),
        ["CANARYb"]
    );
    assert_eq!(texts(&mut client, "SELECT name FROM plain"), ["Zoë café"]);
    let parameters = b"user\0postgres\0database\0postgres\0client_encoding\0SJIS\0";
    let (mut session, _) = Session::begin(port, parameters);
    // The second byte of a letter may be a backslash or a part of a name.
    let answer = said(&mut session, b"INSERT INTO plain VALUES (2, '\x83\x5c')");
    assert_eq!(answer.code, "0A000", "{answer:?}");
    let answer = said(&mut session, b"SELECT count(*) FROM plain");
    assert_eq!(answer.rows, [[Some("1".to_owned())]]);
}

#[test]
fn a_backslash_is_not_misread() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let set = "SET standard_conforming_strings TO off; SET escape_string_warning TO off";
    client.batch_execute(set).expect("set");
    for text in [
        r"INSERT INTO plain (id, name) VALUES (1, '\x65vent')",
        r"DO 'BEGIN INSERT INTO ev\x65nt (name) VALUES (1); END'",
        r"SELECT 'a\'; INSERT INTO plain (id) VALUES (1); --'",
    ] {
        let error = answer(&mut client, text).expect_err(text);
        assert_eq!(
            error.code().map(|code| code.code()),
            Some("0A000"),
            "{text}"
        );
    }
}

/// Rules hold for every database; most have none of the tables.
#[test]
fn texts_are_put_together_where_nothing_is_protected() {
    let Some(setup) = start() else { return };
    setup
        .server
        .connect()
        .batch_execute("CREATE DATABASE other")
        .expect("made");
    let port = setup.proxy.address.port();
    let url = format!("postgres://postgres@127.0.0.1:{port}/other");
    let mut client = Client::connect(&url, postgres::NoTls).expect("logged in");
    let block = "DO $$ BEGIN EXECUTE 'CREATE TABLE ' || 'made (a integer)'; END $$";
    let function = "CREATE FUNCTION run(q text) RETURNS void LANGUAGE plpgsql AS \
                    'BEGIN EXECUTE q; END'";
    let call = "SELECT run('INSERT INTO made VALUES (1)')";
    for statement in [
        block,
        function,
        call,
        "SELECT query_to_xml('SELECT 1', true, false, '')",
    ] {
        client.batch_execute(statement).expect(statement);
    }
    assert_eq!(texts(&mut client, "SELECT a FROM made"), ["1"]);
    // As soon as there is one, it counts.
    client
        .batch_execute("CREATE TABLE event (id integer, name text)")
        .expect("made");
    for statement in [block, call] {
        let error = client.batch_execute(statement).expect_err(statement);
        assert_eq!(
            error.code().map(|code| code.code()),
            Some("0A000"),
            "{statement}"
        );
    }
    let both = "DROP TABLE event; CREATE TABLE event (id integer, name text); \
                DO $$ BEGIN EXECUTE 'SELECT 1'; END $$";
    client
        .batch_execute(both)
        .expect_err("the table is there again");
}
