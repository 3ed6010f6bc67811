//! Rows that views, prepared statements and queries write are those that the server would write:
//! before a real server.

use crate::common::texts::{Text, answer, assert_refused};
use crate::common::{Setup, with_twin};
use postgres::Client;
use postgres::error::SqlState;
use postgres::types::ToSql;

const RULES: &str = r#"
[columns.event]
seen = { type = "timestamptz", mode = "order" }
made = { type = "timestamp", mode = "order" }
born = { type = "date", mode = "order" }
name = { type = "varchar(20)" }
fee = { type = "numeric(6,2)", default = "7" }
"#;

const COLUMNS: &str = "(id integer, seen timestamptz, made timestamp, born date)";

const ROWS: &str = "(1, NULL, NULL, NULL), (2, NULL, NULL, NULL), (3, NULL, NULL, NULL), \
    (4, '2024-01-01 00:00+01', NULL, NULL), (5, NULL, NULL, '2024-02-02')";

fn start() -> Option<(Setup, Client)> {
    with_twin(RULES, "event", COLUMNS, ROWS)
}

#[test]
fn a_default_is_not_lost_through_a_view_that_hides_it() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "ALTER TABLE event ADD COLUMN fee numeric(6,2)",
        "CREATE VIEW ids AS SELECT id FROM event",
        "CREATE VIEW few AS SELECT id FROM ids WHERE id > 0",
        "CREATE VIEW whole AS SELECT id, fee FROM event",
    ] {
        client.batch_execute(statement).expect(statement);
    }
    for text in [
        "INSERT INTO ids (id) VALUES (7)",
        "INSERT INTO few VALUES (7)",
        "CREATE VIEW more AS SELECT id FROM event; INSERT INTO more VALUES (7)",
        "CREATE TEMP VIEW more AS SELECT id FROM ids",
        "MERGE INTO ids USING plain ON ids.id = -plain.id \
         WHEN NOT MATCHED THEN INSERT (id) VALUES (plain.id)",
    ] {
        assert_refused(&mut client, text);
    }
    for statement in [
        "INSERT INTO whole (id) VALUES (7)",
        "UPDATE ids SET id = 8 WHERE id = 7",
        "DELETE FROM few WHERE id = 1",
    ] {
        client.batch_execute(statement).expect(statement);
    }
    let left = answer(&mut client, "SELECT count(*) FROM few");
    assert_eq!(left.expect("a number"), ["5"]);
    let fee = answer(&mut client, "SELECT fee FROM event WHERE id = 8");
    assert_eq!(fee.expect("a row"), ["7.00"]);
}

#[test]
fn an_argument_is_no_expression_of_each_place() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "CREATE SEQUENCE own",
        "PREPARE put AS INSERT INTO event (id, made) VALUES ($1, '2024-05-05'), ($1, NULL)",
        "PREPARE find AS SELECT id FROM event WHERE id = $1 AND seen IS NOT NULL",
    ] {
        client.batch_execute(statement).expect(statement);
    }
    for text in ["EXECUTE put(nextval('own'))", "EXECUTE find(id)"] {
        assert_refused(&mut client, text);
    }
    client.batch_execute("EXECUTE put(77)").expect("a constant");
    let found = answer(&mut client, "EXECUTE find('4'::integer)");
    assert_eq!(found.expect("a row"), ["4"]);
}

/// As SQLAlchemy sends objects whose keys the server makes.
#[test]
fn rows_that_are_sent_in_an_order_are_sealed_and_get_their_keys() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let mut given = Vec::new();
    for table in ["event", "plain"] {
        for column in ["name varchar(20)", "fee numeric(6,2)", "seat serial"] {
            let text = format!("ALTER TABLE {table} ADD COLUMN {column}");
            client.batch_execute(&text).expect(&text);
        }
        let insert = |first: &str, second: &str| {
            format!(
                "INSERT INTO {table} (name, fee, born, id) SELECT p0::VARCHAR, \
                 p1::NUMERIC(6, 2), p2::DATE, p3::INTEGER FROM (VALUES ({first}, 0), \
                 ({second}, 1)) AS imp_sen(p0, p1, p2, p3, sen_counter) ORDER BY sen_counter \
                 RETURNING {table}.seat, {table}.seat AS seat__1"
            )
        };
        let text = insert(
            "'ann'::VARCHAR, 1.005, '2024-02-29'::DATE, 11",
            "NULL, NULL, NULL, 12",
        );
        given.push(answer(&mut client, &text).expect("two keys"));
        let text = insert(
            "$1::VARCHAR, $2, $3::DATE, $4::INTEGER",
            "$5::VARCHAR, $6, $7::DATE, $8::INTEGER",
        );
        let values = [
            "bob",
            "2.555",
            "2024-03-01",
            "13",
            "",
            "-1",
            "1999-12-31",
            "14",
        ]
        .map(Text);
        let values: Vec<_> = values
            .iter()
            .map(|one| one as &(dyn ToSql + Sync))
            .collect();
        let rows = client.query(&text, &values).expect("two rows");
        let keys = rows.iter().map(|row| row.get::<_, i32>(0).to_string());
        given.push(keys.collect());
        let text = insert(
            "'no name is as long as this', 1, NULL, 15",
            "NULL, 1, NULL, 16",
        );
        let error = answer(&mut client, &text).expect_err("it is too long");
        assert_eq!(error.code(), Some(&SqlState::STRING_DATA_RIGHT_TRUNCATION));
        let text = format!("SELECT id, name, fee, born FROM {table} WHERE id > 10 ORDER BY seat");
        given.push(answer(&mut client, &text).expect("four rows"));
    }
    let (by_proxy, by_server) = given.split_at(3);
    assert_eq!(by_proxy, by_server);
    assert_eq!(by_proxy[0], ["6|6", "7|7"]);
}

#[test]
fn in_a_failed_transaction_a_value_is_not_looked_at() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (statement, code) in [
        (
            "INSERT INTO event (id, born) VALUES (9, '2024-13-01')",
            "22008",
        ),
        ("SELECT nothing FROM event", "42703"),
        ("SELECT FROM event WHERE ) = 1", "42601"),
    ] {
        let fails = |client: &mut Client, text: &str| {
            let error = client.batch_execute(text).expect_err(text);
            error.code().map(SqlState::code).map(str::to_owned)
        };
        assert_eq!(fails(&mut client, statement).as_deref(), Some(code));
        client.batch_execute("BEGIN").expect("a transaction");
        fails(&mut client, "SELECT 1 / 0");
        let behind = if code == "42601" { code } else { "25P02" };
        assert_eq!(
            fails(&mut client, statement).as_deref(),
            Some(behind),
            "{statement}"
        );
        client.batch_execute("ROLLBACK").expect("its end");
        assert_eq!(fails(&mut client, statement).as_deref(), Some(code));
    }
}
