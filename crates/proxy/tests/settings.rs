//! Settings of a session that texts of values depend on: those that the proxy knows are heeded, as
//! a table without rules beside shows; the others are refused before anything is sent.

use std::io::Read as _;

use crate::common::Setup;
use crate::common::raw::Raw;
use crate::common::texts::{Text, answer};
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
