//! What object-relational mappers send, on a protected table and on a twin: the clients in
//! `interop/` found each of these refused.

use std::time::{Duration, UNIX_EPOCH};

use postgres::Client;

use crate::common::Setup;
use crate::common::leaks::CANARY;
use crate::common::texts::answer;

const RULES: &str = r#"
[columns.item]
id = { type = "bigint", mode = "equality" }
note = { type = "varchar(40)" }
at = { type = "timestamp(6)" }
version = { type = "integer" }

[columns.missing]
note = { type = "text" }
"#;

/// The tables `item`, with protected columns, and `twin`, without.
const TABLES: [&str; 2] = ["item", "twin"];

fn run(client: &mut Client, statement: &str) {
    client.batch_execute(statement).expect(statement);
}

/// A server with both tables, made as Hibernate makes them where there may be older ones.
fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    for table in TABLES {
        for _ in 0..2 {
            for statement in [
                format!("alter table if exists {table} drop constraint if exists FK59d2"),
                format!("drop table if exists {table} cascade"),
                format!(
                    "create table {table} (id bigint not null, note varchar(40), at timestamp(6), \
                     version integer, seen timestamp(6) with time zone, primary key (id))"
                ),
            ] {
                run(&mut client, &statement);
            }
        }
        let rows = format!(
            "INSERT INTO {table} VALUES (1, '  {CANARY} one ', '2024-02-29 12:00:00.1234567', 0), \
             (2, NULL, NULL, 3)"
        );
        // The values of the twin are no canaries.
        let rows = match table {
            "twin" => rows.replace(CANARY, "word"),
            _ => rows,
        };
        run(&mut client, &rows);
    }
    Some((setup, client))
}

/// The rows that a query gives of both tables, which are the same.
#[track_caller]
fn alike(client: &mut Client, query: &str) -> Vec<String> {
    let [item, twin] = TABLES.map(|table| {
        let text = query.replace("TABLE", table);
        answer(client, &text).expect(&text)
    });
    let item: Vec<String> = item.iter().map(|row| row.replace(CANARY, "word")).collect();
    assert_eq!(item, twin, "{query}");
    twin
}

#[test]
fn constraints_are_dropped_of_a_table_that_is_not_there() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    run(
        &mut client,
        "ALTER TABLE IF EXISTS missing DROP CONSTRAINT IF EXISTS a",
    );
    for statement in [
        "ALTER TABLE IF EXISTS missing DROP CONSTRAINT IF EXISTS strongroom_guard_a",
        "ALTER TABLE IF EXISTS missing ADD COLUMN more text",
    ] {
        let error = client.batch_execute(statement).expect_err(statement);
        assert_eq!(error.code().map(|code| code.code()), Some("0A000"));
    }
}

#[test]
fn a_text_is_trimmed_without_saying_of_what() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let of = "trim(BOTH FROM note), trim( leading from note), TRIM(TRAILING FROM note) || '.', \
              trim(from note)";
    let rows = alike(&mut client, &format!("SELECT {of} FROM TABLE ORDER BY id"));
    assert_eq!(rows[0], "word one|word one |  word one.|word one");
}

#[test]
fn six_digits_of_a_second_are_those_that_there_are() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let rows = alike(&mut client, "SELECT at, version FROM TABLE ORDER BY id");
    assert_eq!(rows[0], "2024-02-29 12:00:00.123457|0");
    // An optimistic lock: only the finisher compares the version, and a plain column gets a
    // parameter of no declared type.
    let moment = UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001);
    for table in TABLES {
        let text = format!("UPDATE {table} SET seen = $1, at = $2, version = $3 WHERE id = $4");
        let update = client
            .prepare(&format!("{text} AND version = $5"))
            .expect("prepared");
        for (old, changed) in [(0i32, 1), (0, 0)] {
            let done = client.execute(&update, &[&moment, &moment, &(old + 1), &1i64, &old]);
            assert_eq!(done.expect("updated"), changed, "{table}");
        }
    }
    let rows = alike(
        &mut client,
        "SELECT at, version, seen FROM TABLE ORDER BY id",
    );
    assert!(
        rows[0].starts_with("2023-11-14 22:13:20.000001|1|"),
        "{}",
        rows[0]
    );
}
