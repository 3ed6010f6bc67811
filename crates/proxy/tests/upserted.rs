//! `ON CONFLICT DO UPDATE` whose new values the finisher computes: with others at the same moment,
//! and what the server sees of it. What ordinary statements answer is in `everyday/upserted.rs`.

use std::thread;

use postgres::Client;

use crate::common::Setup;
use crate::common::texts::{answer, assert_not_visible, code};

const RULES: &str = r#"
[columns.item]
code = { type = "varchar(10)", mode = "equality" }
name = { type = "text", default = "'CANARYnone'" }
count = { type = "bigint" }
"#;

fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    let text = "CREATE TABLE item (id serial PRIMARY KEY, code varchar(10) UNIQUE, name text, \
                count bigint, stamp integer DEFAULT 3)";
    client.batch_execute(text).expect(text);
    Some((setup, client))
}

const COUNTED: &str = "INSERT INTO item (code, count) VALUES ($1, $2) ON CONFLICT (code) DO UPDATE \
                       SET count = item.count + EXCLUDED.count";

#[test]
fn clients_at_the_same_moment_lose_no_count() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    const CLIENTS: i64 = 6;
    const ROUNDS: i64 = 40;
    thread::scope(|scope| {
        for own in 0..CLIENTS {
            let mut client = setup.connect();
            scope.spawn(move || {
                let prepared = client.prepare(COUNTED).expect("prepared");
                for round in 0..ROUNDS {
                    // All are inserted by whoever comes first, and some vanish in between.
                    let key = format!("CANARY{}", round % 4);
                    let done = client.execute(&prepared, &[&key, &1_i64]);
                    assert_eq!(done.expect("counted"), 1);
                    if own == 0 && round % 8 == 7 {
                        let gone = "DELETE FROM item WHERE code = 'CANARYgone'";
                        client.batch_execute(gone).expect("deleted");
                    }
                    let gone = client.execute(&prepared, &[&"CANARYgone", &1_i64]);
                    assert_eq!(gone.expect("counted"), 1);
                }
            });
        }
    });
    let rows = answer(
        &mut client,
        "SELECT code, count FROM item WHERE code <> 'CANARYgone' ORDER BY code COLLATE \"C\"",
    );
    let each = CLIENTS * ROUNDS / 4;
    let expected = (0..4).map(|key| format!("CANARY{key}|{each}"));
    assert_eq!(rows.expect("rows"), expected.collect::<Vec<_>>());
}

#[test]
fn a_row_of_another_transaction_is_waited_for() {
    let Some((setup, mut first)) = start() else {
        return;
    };
    let mut second = setup.connect();
    let prepared = second.prepare(COUNTED).expect("prepared");
    let mut transaction = first.transaction().expect("begun");
    let done = transaction.execute(COUNTED, &[&"CANARYa", &5_i64]);
    assert_eq!(done.expect("inserted"), 1);
    let waiting = thread::spawn(move || {
        let done = second.execute(&prepared, &[&"CANARYa", &2_i64]);
        (done.expect("counted"), second)
    });
    transaction.commit().expect("committed");
    let (done, mut second) = waiting.join().expect("it ends");
    assert_eq!(done, 1);
    let rows = answer(&mut second, "SELECT count FROM item").expect("rows");
    assert_eq!(rows, ["7"]);
    // A snapshot from before cannot see the row.
    assert_not_visible(&mut first, &mut second, COUNTED, &[&"CANARYb", &1_i64]);
}

#[test]
fn a_statement_alone_is_one_transaction() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client
        .execute(COUNTED, &[&"CANARYa", &5_i64])
        .expect("inserted");
    let failing = "INSERT INTO item (code, count) VALUES ('CANARYb', 1), ('CANARYa', 0) ON \
                   CONFLICT (code) DO UPDATE SET count = item.count / EXCLUDED.count";
    let error = answer(&mut client, failing).expect_err("by zero");
    assert_eq!(code(&error), "22012");
    let error = client.execute(failing, &[]).expect_err("by zero");
    assert_eq!(code(&error), "22012");
    let rows = answer(&mut client, "SELECT code, name, count, stamp FROM item");
    assert_eq!(rows.expect("rows"), ["CANARYa|CANARYnone|5|3"]);
    // Several statements of one text are one transaction, too.
    let text = "INSERT INTO item (code, count) VALUES ('CANARYa', 1) ON CONFLICT (code) DO UPDATE \
                SET count = item.count + EXCLUDED.count RETURNING count, name; SELECT 1 / 0";
    let error = client.simple_query(text).expect_err("by zero");
    assert_eq!(code(&error), "22012");
    let text = text.replace("SELECT 1 / 0", "SELECT count FROM item");
    let rows = answer(&mut client, &text).expect("rows");
    assert_eq!(rows, ["6|CANARYnone", "6"]);
}

#[test]
fn what_the_server_computes_is_no_value_of_excluded() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client
        .execute(COUNTED, &[&"CANARYa", &5_i64])
        .expect("inserted");
    for (text, refused) in [
        ("stamp = EXCLUDED.stamp, count = item.count + 1", true),
        ("count = item.count + EXCLUDED.stamp", true),
        ("count = item.count + EXCLUDED.id", true),
        (
            "stamp = item.stamp + 1, count = item.count + item.stamp",
            false,
        ),
        ("name = item.name || EXCLUDED.name", false),
    ] {
        let text = format!(
            "INSERT INTO item (code) VALUES ('CANARYa') ON CONFLICT (code) DO UPDATE SET {text}"
        );
        match (client.batch_execute(&text), refused) {
            (Ok(()), false) => {}
            (Err(error), true) => assert_eq!(code(&error), "0A000", "{text}: {error}"),
            (done, _) => panic!("{text}: {done:?}"),
        }
    }
    let rows = answer(&mut client, "SELECT name, count, stamp FROM item");
    assert_eq!(rows.expect("rows"), ["CANARYnoneCANARYnone|8|4"]);
}

#[test]
fn a_table_with_triggers_is_refused_and_a_thousand_rows_are_not() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let text = "INSERT INTO item (code, count) SELECT 'CANARY' || n, n FROM \
                generate_series(1, $1::int) n ON CONFLICT (code) DO UPDATE SET count = item.count \
                + EXCLUDED.count RETURNING count";
    for (upto, total) in [(500_i32, 125_250_i64), (1000, 625_750)] {
        let rows = client.query(text, &[&upto]).expect("written");
        let counts = rows.iter().map(|row| row.get::<_, i64>(0));
        assert_eq!(counts.sum::<i64>(), total);
        assert_eq!(rows.len(), upto as usize);
    }
    for made in [
        "CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER seen BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION seen()",
    ] {
        setup.server.connect().batch_execute(made).expect(made);
    }
    // What is dropped has the session read the whole schema again.
    let mut client = setup.connect();
    client
        .batch_execute("CREATE TABLE other (); DROP TABLE other")
        .expect("made");
    let error = client.query(text, &[&1_i32]).expect_err("a trigger");
    assert_eq!(code(&error), "0A000", "{error}");
}
