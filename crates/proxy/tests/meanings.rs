//! What a value or a statement means is told by its declared type, the clock of the session, and
//! what else stands in its text: before a real server, beside a plain table.

mod common;

use common::Setup;
use common::texts::{Text, answer};
use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Client, Error};

const RULES: &str = r#"
[columns.event]
seen = { type = "timestamptz", mode = "order" }
made = { type = "timestamp", mode = "order" }
born = { type = "date", mode = "order" }
same = { type = "timestamptz", mode = "equality" }
name = { type = "varchar(20)" }
fee = { type = "numeric(6,2)", default = "7" }
"#;

const COLUMNS: &str = "(id integer, seen timestamptz, made timestamp, born date, same timestamptz)";

/// A new year's night in Berlin and in London, as a clock there shows it.
const ROWS: &str = "\
    (1, '2024-01-01 00:00+01', '2024-01-01 00:00', '2024-01-01', '2024-01-01 00:00+01'), \
    (2, '2024-01-01 00:30+01', '2023-12-31 23:30', '2023-12-31', '2024-01-01 00:30+01'), \
    (3, '2024-01-01 01:00+01', '2024-01-01 01:00', '2024-01-02', '2024-01-01 01:00+01'), \
    (4, '2024-10-27 04:00+01', '2024-10-27 04:00', '2024-10-27', '2024-10-27 04:00+01'), \
    (5, 'infinity', '-infinity', 'infinity', 'infinity')";

/// The table with its rows, a plain one with the same, and a client whose clock is in Berlin.
fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    for statement in [
        "SET TimeZone TO 'Europe/Berlin'",
        &format!("CREATE TABLE event {COLUMNS}"),
        &format!("CREATE TABLE plain {COLUMNS}"),
        &format!("INSERT INTO event VALUES {ROWS}"),
        &format!("INSERT INTO plain VALUES {ROWS}"),
    ] {
        client.batch_execute(statement).expect(statement);
    }
    Some((setup, client))
}

fn found(client: &mut Client, sql: &str, declared: &Type, value: &str) -> Result<Vec<i32>, Error> {
    let statement = client.prepare_typed(sql, std::slice::from_ref(declared))?;
    let rows = client.query(&statement, &[&Text(value)])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

#[test]
fn moments_and_times_of_the_clock_meet_as_the_server_has_them_meet() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let values = [
        (Type::TIMESTAMP, "2024-01-01 00:00"),
        (Type::TIMESTAMP, "2023-12-31 23:30"),
        (Type::TIMESTAMP, "infinity"),
        (Type::TIMESTAMPTZ, "2024-01-01 00:00+01"),
        (Type::TIMESTAMPTZ, "2024-01-01 00:00+00"),
        (Type::TIMESTAMPTZ, "-infinity"),
        (Type::DATE, "2024-01-01"),
        (Type::DATE, "2023-12-31"),
    ];
    for column in ["seen", "made", "born", "same"] {
        for operator in ["=", "<>", "<", "<=", ">", ">="] {
            if column == "same" && !matches!(operator, "=" | "<>") {
                continue;
            }
            for (declared, value) in &values {
                let sql = format!("SELECT id FROM event WHERE {column} {operator} $1 ORDER BY id");
                let plain = sql.replace("event", "plain");
                let wanted = found(&mut client, &plain, declared, value).expect(&plain);
                let given = found(&mut client, &sql, declared, value).expect(&sql);
                assert_eq!(given, wanted, "{sql}, {declared} {value}");
            }
        }
    }
    for (column, declared, value) in [
        (
            "seen",
            Type::TIMESTAMP_ARRAY,
            "{2024-01-01 00:00,2024-01-01 01:00,NULL}",
        ),
        (
            "made",
            Type::TIMESTAMPTZ_ARRAY,
            "{2024-01-01 00:00Z,2023-12-31 22:30Z}",
        ),
        (
            "born",
            Type::TIMESTAMPTZ_ARRAY,
            "{2024-01-01 00:00Z,2024-01-01 00:00+01}",
        ),
        ("same", Type::DATE_ARRAY, "{2024-01-01}"),
    ] {
        let sql = format!("SELECT id FROM event WHERE {column} = ANY ($1) ORDER BY id");
        let plain = sql.replace("event", "plain");
        let wanted = found(&mut client, &plain, &declared, value).expect(&plain);
        assert!(!wanted.is_empty(), "{plain}");
        let given = found(&mut client, &sql, &declared, value).expect(&sql);
        assert_eq!(given, wanted, "{sql}, {declared} {value}");
    }
}

#[test]
fn a_moment_that_the_clock_does_not_show_alone_is_no_bound() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    // Twice 02:30 in Berlin.
    let (declared, value) = (Type::TIMESTAMPTZ, "2024-10-27 00:30Z");
    for column in ["made", "born"] {
        let sql = format!("SELECT id FROM event WHERE {column} >= $1");
        let error = found(&mut client, &sql, &declared, value).expect_err(&sql);
        assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
    }
    let sql = "SELECT id FROM event WHERE seen >= $1 ORDER BY id";
    assert_eq!(
        found(&mut client, sql, &declared, value).expect(sql),
        [4, 5]
    );
}

#[track_caller]
fn assert_refused(client: &mut Client, text: &str) {
    let error = answer(client, text).expect_err(text);
    let code = error.code();
    assert_eq!(
        code,
        Some(&SqlState::FEATURE_NOT_SUPPORTED),
        "{text}: {error:?}"
    );
}

/// The server tells of a setting when all of the text is done.
#[test]
fn values_are_not_read_by_a_clock_that_the_same_text_changes() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let select = "SELECT seen FROM event WHERE id = 1";
    for before in [
        "SET TimeZone TO 'Asia/Tokyo'",
        "BEGIN; SET LOCAL \"timezone\" = 'Asia/Tokyo'; COMMIT",
        "SELECT set_config('TimeZone', 'Asia/Tokyo', false)",
        "DO $$ BEGIN SET TimeZone TO 'Asia/Tokyo'; END $$",
        "RESET ALL",
        // It may take back what an earlier text has set.
        "COMMIT",
        "SAVEPOINT a; ROLLBACK TO b",
    ] {
        assert_refused(&mut client, &format!("{before}; {select}"));
    }
    let here = answer(&mut client, select).expect("a row");
    assert_eq!(here, ["2024-01-01 00:00:00+01"]);
    let around =
        format!("BEGIN; SET application_name TO 'x'; SAVEPOINT a; ROLLBACK TO a; COMMIT; {select}");
    assert_eq!(answer(&mut client, &around).expect("a row"), here);
    answer(&mut client, "SET TimeZone TO 'Asia/Tokyo'").expect("by itself");
    let there = answer(&mut client, select).expect("a row");
    assert_eq!(there, ["2024-01-01 08:00:00+09"]);
}

#[test]
fn a_block_may_change_where_names_are_looked_for() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "CREATE SCHEMA other",
        "CREATE TABLE other.event (id integer, seen text)",
        "INSERT INTO other.event VALUES (1, 'elsewhere')",
        "SELECT seen FROM event",
        "DO $$ BEGIN SET search_path TO other; END $$",
    ] {
        answer(&mut client, statement).expect(statement);
    }
    let found = answer(
        &mut client,
        "SELECT seen FROM event WHERE seen = 'elsewhere'",
    );
    assert_eq!(found.expect("a plain table"), ["elsewhere"]);
}

#[test]
fn no_definition_has_the_server_store_or_lose_a_value() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for text in [
        "CREATE TEMP TABLE kid () INHERITS (event)",
        "CREATE TABLE pg_temp.kid () INHERITS (event)",
        "ALTER TABLE event ALTER COLUMN id TYPE integer USING length(seen::text)",
        "ALTER TABLE event ADD COLUMN fee numeric(6,2) DEFAULT 7",
    ] {
        assert_refused(&mut client, text);
    }
    client
        .batch_execute("ALTER TABLE event ADD COLUMN fee numeric(6,2)")
        .expect("rows that are there have none");
    client
        .batch_execute("INSERT INTO event (id) VALUES (6)")
        .expect("this has that of the rule");
    let fees = answer(
        &mut client,
        "SELECT fee FROM event WHERE id >= 5 ORDER BY id",
    );
    assert_eq!(fees.expect("two rows"), ["NULL", "7.00"]);
    client
        .batch_execute("ALTER TABLE event ADD COLUMN name varchar(20) NOT NULL")
        .expect_err("there are rows");
    client
        .batch_execute("TRUNCATE event; ALTER TABLE event DROP COLUMN fee")
        .expect("no row is left");
    client
        .batch_execute("ALTER TABLE event ADD COLUMN fee numeric(6,2) DEFAULT 7 NOT NULL")
        .expect("no row lacks it");
    let insert = "INSERT INTO event (id) VALUES (1)";
    client.batch_execute(insert).expect("it has its default");
    assert_eq!(setup.psql("SELECT fee FROM event"), "7.00\n");
}
