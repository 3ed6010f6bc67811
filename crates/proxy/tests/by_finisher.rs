//! Sessions whose statements the finisher evaluates: portions, errors, pipelines, limits, locks.

use std::thread;
use std::time::Duration;

use postgres::Client;

use crate::common::raw::Raw;
use crate::common::texts::{answer, code};
use crate::common::wire::{SYNC, Session, put_text};
use crate::common::{Setup, with_finish};

const RULES: &str = r#"
[columns.item]
name = { type = "text" }
price = { type = "numeric(10,2)" }
made = { type = "date" }

[columns.tree]
name = { type = "text" }
n = { type = "integer" }
"#;

/// A query and a statement that only the finisher can evaluate.
const YEARS: &str = "SELECT extract(year FROM made)::integer FROM item ORDER BY round(price)";
pub const RAISE: &str = "UPDATE item SET price = round(price) WHERE extract(year FROM made) < 2003";

/// The table `item` with five rows.
pub fn start_with(more: &str) -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with(RULES, &with_finish(more));
    let mut client = setup.connect();
    let create = "CREATE TABLE item (id integer PRIMARY KEY, name text, price numeric(10,2), \
                  made date)";
    client.batch_execute(create).expect("made");
    for id in 1..=5 {
        let insert =
            format!("INSERT INTO item VALUES ({id}, 'CANARY{id}', {id}.50, '200{id}-01-02')");
        client.batch_execute(&insert).expect("inserted");
    }
    Some(setup)
}

pub fn start() -> Option<Setup> {
    start_with("")
}

fn years(client: &mut Client) -> Vec<String> {
    answer(client, YEARS).expect(YEARS)
}

#[test]
fn rows_are_fetched_in_portions() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut transaction = client.transaction().expect("begun");
    let portal = transaction.bind(YEARS, &[]).expect("bound");
    let mut portions = Vec::new();
    loop {
        let rows = transaction.query_portal(&portal, 2).expect("a portion");
        let rows: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        if rows.is_empty() {
            break;
        }
        portions.push(rows);
    }
    assert_eq!(portions, [vec![2001, 2002], vec![2003, 2004], vec![2005]]);
}

#[test]
fn returned_rows_are_fetched_in_portions() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for update in [
        "UPDATE item SET name = 'CANARY' RETURNING upper(name)",
        "UPDATE item SET name = upper(name) RETURNING length(name)",
    ] {
        let mut transaction = client.transaction().expect("begun");
        let portal = transaction.bind(update, &[]).expect("bound");
        let sizes = [2, 2, 2, 2].map(|rows_max| {
            let rows = transaction.query_portal(&portal, rows_max);
            rows.expect("a portion").len()
        });
        assert_eq!(sizes, [2, 2, 1, 0], "{update}");
        transaction.commit().expect("committed");
    }
}

#[test]
fn an_error_of_the_finisher_fails_the_transaction() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    client.batch_execute("BEGIN").expect("begun");
    client
        .batch_execute("INSERT INTO item (id) VALUES (6)")
        .expect("inserted");
    let error = answer(
        &mut client,
        "SELECT 1 / (extract(year FROM made) - 2003) FROM item",
    );
    assert_eq!(code(&error.expect_err("by zero")), "22012");
    let error = answer(&mut client, "SELECT 1").expect_err("the transaction has failed");
    assert_eq!(code(&error), "25P02");
    client.batch_execute("ROLLBACK").expect("rolled back");
    assert_eq!(years(&mut client).len(), 5);
    // An implicit transaction of several statements: nothing of it stays.
    let text = "INSERT INTO item (id) VALUES (6); SELECT round(name) FROM item";
    let error = answer(&mut client, text).expect_err("no such function");
    assert_eq!(code(&error), "42883");
    assert_eq!(years(&mut client).len(), 5);
    let error = client.prepare("SELECT no_such FROM item WHERE round(price) = 1");
    assert_eq!(code(&error.expect_err("no such column")), "42703");
    assert_eq!(years(&mut client).len(), 5);
}

#[test]
fn statements_of_one_text_are_answered_in_their_order() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let text = format!("SELECT 1; {YEARS} LIMIT 1; {RAISE}; SELECT 2; {YEARS} DESC LIMIT 1");
    let answers = answer(&mut client, &text).expect("answered");
    assert_eq!(answers, ["1", "2001", "2", "2005"]);
    let raised = answer(&mut client, "SELECT price FROM item ORDER BY id LIMIT 3");
    assert_eq!(raised.expect("prices"), ["2.00", "3.00", "3.50"]);
}

#[test]
fn a_pipeline_is_answered_in_its_order() {
    let Some(setup) = start() else { return };
    let mut session = Session::connect(setup.proxy.address.port());
    let mut messages = Vec::new();
    for text in [
        "SELECT 1",
        YEARS,
        "SELECT name FROM item WHERE id = 2",
        RAISE,
        "SELECT sum(round(price)) FROM item",
    ] {
        put_text(text, &mut messages);
    }
    messages.extend_from_slice(SYNC);
    let answer = session.say(&messages);
    let rows: Vec<String> = answer
        .rows
        .iter()
        .map(|row| row[0].clone().unwrap_or_default())
        .collect();
    let wanted = ["1", "2001", "2002", "2003", "2004", "2005", "CANARY2", "20"];
    assert_eq!(rows, wanted, "{answer:?}");
    // What follows an error is skipped.
    let mut messages = Vec::new();
    for text in ["SELECT round(name) FROM item", YEARS] {
        put_text(text, &mut messages);
    }
    messages.extend_from_slice(SYNC);
    let answer = session.say(&messages);
    assert_eq!((answer.code.as_str(), answer.rows.len()), ("42883", 0));
    assert_eq!(session.query(YEARS).rows.len(), 5);
}

#[test]
fn types_of_the_servers_catalogues_are_left_to_it() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    client
        .batch_execute(
            "CREATE DOMAIN relation AS regclass; CREATE TABLE w (id integer, r regclass, \
             a regrole[], o aclitem, d relation); INSERT INTO w VALUES (1, 'item', '{postgres}', \
             'postgres=r/postgres', 'item')",
        )
        .expect("made");
    for column in ["r", "a", "o", "d", "r::text", "w.*"] {
        let join = format!("SELECT {column}, upper(item.name) FROM w JOIN item USING (id)");
        let join = join.replace("w.*", "w");
        let error = answer(&mut client, &join).expect_err(&join);
        assert_eq!(code(&error), "0A000", "{join}: {error:?}");
    }
    let insert = "INSERT INTO item (id, name) SELECT 9, w.r || upper(item.name) FROM w, item";
    let error = answer(&mut client, insert).expect_err("refused");
    assert_eq!(code(&error), "0A000", "{error:?}");
    let others = "SELECT upper(item.name) FROM w JOIN item USING (id)";
    assert_eq!(answer(&mut client, others).expect("answered"), ["CANARY1"]);
}

#[test]
fn limits_hold_and_the_session_goes_on() {
    let Some(setup) = start_with("max_finish_rows = 4\nmax_finish_bytes = 1000000\n") else {
        return;
    };
    let mut client = setup.connect();
    for text in [YEARS, RAISE] {
        let error = answer(&mut client, text).expect_err("five rows");
        assert_eq!(code(&error), "54000", "{error:?}");
    }
    let narrow = YEARS.replace("FROM item", "FROM item WHERE id < 4");
    assert_eq!(answer(&mut client, &narrow).expect("three").len(), 3);
    let large = "SELECT repeat(name, 1000), generate_series(1, 1000) FROM item WHERE id = 1 AND \
                 round(price) > 0";
    let error = answer(&mut client, large).expect_err("more than max_finish_bytes");
    assert_eq!(code(&error), "54000", "{error:?}");
    assert_eq!(answer(&mut client, &narrow).expect("three").len(), 3);
}

#[test]
fn a_row_that_changes_meanwhile_is_looked_at_again() {
    let Some(setup) = start() else { return };
    assert_looked_at_again(&setup, RAISE);
    let mut client = setup.connect();
    let again = "UPDATE item SET price = id + 0.5, made = '2001-01-01' WHERE id < 3";
    client.batch_execute(again).expect(again);
    let raised = format!("WITH raised AS ({RAISE} RETURNING id) SELECT id FROM raised");
    assert_looked_at_again(&setup, &raised);
}

/// Of two rows that a statement would raise, another session moves the first to another year.
fn assert_looked_at_again(setup: &Setup, raise: &str) {
    let mut first = setup.connect();
    let mut second = setup.connect();
    first.batch_execute("BEGIN").expect("begun");
    first
        .batch_execute("UPDATE item SET made = '2020-01-01' WHERE id = 1")
        .expect("changed");
    let raise = raise.to_owned();
    let waiting = thread::spawn(move || {
        let count = second.execute(&raise, &[]).expect("it waits for the lock");
        (second, count)
    });
    thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished(), "the row is locked");
    first.batch_execute("COMMIT").expect("committed");
    let (mut second, count) = waiting.join().expect("no panic");
    assert_eq!(count, 1, "of two rows, one is of another year now");
    let prices = answer(&mut second, "SELECT price FROM item ORDER BY id LIMIT 2");
    assert_eq!(prices.expect("prices"), ["1.50", "3.00"]);
}

#[test]
fn settings_of_the_session_are_those_of_the_finisher() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let text = "SELECT (made + interval '1 hour')::timestamptz FROM item WHERE round(price) = 2";
    client
        .batch_execute("SET TimeZone TO 'Asia/Tokyo'")
        .expect("set");
    let tokyo = answer(&mut client, text).expect("answered");
    assert_eq!(tokyo, ["2001-01-02 01:00:00+09"]);
    client.batch_execute("SET TimeZone TO 'UTC'").expect("set");
    let utc = answer(&mut client, text).expect("answered");
    assert_eq!(utc, ["2001-01-02 01:00:00+00"]);
    for (set, query, wanted) in [
        (
            "quote_all_identifiers TO on",
            "quote_ident(lower(name))",
            "\"canary2\"",
        ),
        (
            "array_nulls TO off",
            "('{NULL}'::text[])[1] || upper(name)",
            "NULLCANARY2",
        ),
        (
            "transform_null_equals TO on",
            "(upper(name) = NULL)::text",
            "false",
        ),
    ] {
        client.batch_execute(&format!("SET {set}")).expect(set);
        let text = format!("SELECT {query} FROM item WHERE round(price) = 3");
        assert_eq!(answer(&mut client, &text).expect(&text), [wanted], "{set}");
        client.batch_execute("RESET ALL").expect("reset");
    }
    client
        .batch_execute("SET timezone_abbreviations TO 'India'")
        .expect("set");
    let error = answer(&mut client, text).expect_err("other abbreviations");
    assert_eq!(code(&error), "0A000", "{error:?}");
}

/// The hint of the error that refuses a query, as there is no finisher.
fn refusal_hint(client: &mut Client) -> Option<String> {
    client
        .batch_execute("CREATE TABLE item (id integer, name text, price numeric(10,2), made date)")
        .expect("made");
    let error = answer(client, YEARS).expect_err("no finisher");
    assert_eq!(code(&error), "0A000", "{error:?}");
    let hint = error.as_db_error().and_then(|error| error.hint());
    hint.map(str::to_owned)
}

#[test]
fn without_its_programs_statements_are_refused() {
    let Some(setup) = start_with_programs("/nowhere") else {
        return;
    };
    let mut client = setup.connect();
    let hint = refusal_hint(&mut client).expect("a remedy");
    let number = answer(&mut client, "SHOW server_version_num").expect("shown");
    let major = number[0].parse::<u32>().expect("a number") / 10_000;
    assert!(
        hint.contains(&format!("install PostgreSQL {major} ")),
        "{hint}"
    );
    assert!(hint.contains("[finish] programs"), "{hint}");
}

#[test]
fn an_engine_of_none_is_no_finisher() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with(RULES, "\n[finish]\nengine = \"none\"\n");
    let hint = refusal_hint(&mut setup.connect());
    assert!(
        !hint.as_ref().is_some_and(|hint| hint.contains("install")),
        "{hint:?}"
    );
}

fn start_with_programs(programs: &str) -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let finish = format!("{}programs = \"{programs}\"\n", with_finish(""));
    Some(Setup::start_with(RULES, &finish))
}

#[test]
fn explain_shows_what_the_server_does_and_what_the_finisher_does() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut explained = |text: &str| answer(&mut client, text).expect(text);
    let lines = explained(&format!("EXPLAIN {YEARS}"));
    assert!(lines[0].starts_with("Seq Scan on item"), "{lines:?}");
    let last = lines.last().expect("a line");
    assert!(last.starts_with("Finisher: WITH "), "{lines:?}");
    assert!(last.contains("extract(YEAR FROM made)") || last.contains("EXTRACT(YEAR FROM made)"));
    let lines = explained(
        "EXPLAIN (ANALYZE, COSTS false) SELECT name FROM item WHERE id = 2 AND \
                           name LIKE '%''2' OR id > 4 AND round(price) > 1",
    );
    assert!(
        lines.iter().any(|line| line.contains("actual time")),
        "{lines:?}"
    );
    assert!(
        lines.last().expect("a line").contains("LIKE '%''2'"),
        "{lines:?}"
    );
    let lines = explained(&format!("EXPLAIN {RAISE}"));
    assert!(
        lines.last().expect("a line").contains("UPDATE"),
        "{lines:?}"
    );
    // The server would find the rows, and write none.
    for text in [
        format!("EXPLAIN ANALYZE {RAISE}"),
        format!("EXPLAIN (VERBOSE, Analyze) {RAISE}"),
        format!("EXPLAIN (ANALYZE false, ANALYZE on) {RAISE}"),
        "EXPLAIN ANALYZE UPDATE item SET price = price + 1".to_owned(),
    ] {
        let error = answer(&mut client, &text).expect_err(&text);
        assert_eq!(code(&error), "0A000", "{text}");
    }
    let mut explained = |text: &str| answer(&mut client, text).expect(text);
    explained(&format!("EXPLAIN (ANALYZE false) {RAISE}"));
    // A document has the server's half alone.
    let lines = explained(&format!("EXPLAIN (FORMAT JSON) {YEARS}"));
    assert!(lines.concat().starts_with("[\n"), "{lines:?}");
    // Parameters: their types are the server's, so its half comes alone.
    let explain = "EXPLAIN SELECT round(price) FROM item WHERE id = $1 AND made < now()";
    let rows = client.query(explain, &[&2]).expect("explained");
    let first: &str = rows[0].get(0);
    assert!(first.contains("(cost="), "{first}");
    assert_eq!(years(&mut client).len(), 5);
}

#[test]
fn columns_are_described_with_their_modifiers() {
    const COLUMNS: &str = "(id integer, name varchar(40), code char(6), price numeric(10,2), \
                           made timestamp(3), total numeric(8,1), flags bit(3))";
    if !server_testkit::is_installed() {
        return;
    }
    let rules = "[columns.item]\nname = { type = \"varchar(40)\" }\ncode = { type = \"char(6)\" }\n\
                 price = { type = \"numeric(10,2)\" }\nmade = { type = \"timestamp(3)\" }\n";
    let setup = Setup::start_with(rules, &with_finish(""));
    let mut client = setup.connect();
    for table in ["item", "plain"] {
        let create = format!(
            "CREATE TABLE {table} {COLUMNS}; INSERT INTO {table} VALUES \
             (1, 'abcdef', 'ab', 1.5, '2024-01-02 03:04:05.678', 2.5, B'101')"
        );
        client.batch_execute(&create).expect("made");
    }
    let mut described = |sql: &str| -> Vec<(String, i32, Option<Vec<u8>>)> {
        let statement = client.prepare(sql).expect(sql);
        let rows = client.query(&statement, &[]).expect(sql);
        let columns = statement.columns().iter().enumerate();
        columns
            .map(|(index, column)| {
                let value = rows[0].get::<_, Option<Raw>>(index).map(|raw| raw.0);
                let type_name = column.type_().name().to_owned();
                (type_name, column.type_modifier(), value)
            })
            .collect()
    };
    for columns in [
        "name, code, price, made, total, flags",
        "NULLIF(name, 'x'), COALESCE(code, 'y'), (SELECT max(i.price) FROM item i), \
         (SELECT i.price FROM item i), CASE WHEN id = 1 THEN made END, name || code",
    ] {
        let sql = format!("SELECT {columns} FROM item WHERE length(reverse(name)) = 6");
        assert_eq!(
            described(&sql),
            described(&sql.replace("item", "plain")),
            "{sql}"
        );
    }
}

/// Mappers update many rows by one `CASE` (Django's `bulk_update`).
#[test]
fn a_case_may_have_more_arms_than_the_server_returns_columns() {
    const ARMS: usize = 1700;
    if !server_testkit::is_installed() {
        return;
    }
    let rules = "[columns.note]\nid = { type = \"integer\", mode = \"equality\" }\n\
                 text = { type = \"text\" }\n";
    let setup = Setup::start_with(rules, &with_finish(""));
    let mut client = setup.connect();
    let rows: Vec<String> = (1..=ARMS).map(|id| format!("({id}, 'old')")).collect();
    let create = format!(
        "CREATE TABLE note (id integer PRIMARY KEY, text text); INSERT INTO note VALUES {}",
        rows.join(", ")
    );
    client.batch_execute(&create).expect("made");
    let arms = |column: &str| -> String {
        let arms = (1..=ARMS).map(|id| format!(" WHEN {column} = {id} THEN 'CANARY{id}'"));
        format!("CASE{} END", arms.collect::<String>())
    };
    let update = format!("UPDATE note SET text = {}", arms("note.id"));
    assert_eq!(client.execute(&update, &[]).expect("updated"), ARMS as u64);
    let query = format!("SELECT count(*) FROM note WHERE text = {}", arms("id"));
    let row = client.query_one(&query, &[]).expect("counted");
    assert_eq!(row.get::<_, i64>(0), 1700);
}

/// Neither the proxy nor the finisher has the function by which users cast values of PostgreSQL's
/// own types, so a cast is refused that may mean it.
#[test]
fn casts_of_users_are_refused_and_not_left_out() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let casts = [
        "SELECT made::text::date FROM item ORDER BY price",
        "SELECT length((price * 2)::text) FROM item ORDER BY round(price)",
    ];
    for made in [
        "CREATE FUNCTION to_day(text) RETURNS date LANGUAGE sql AS 'SELECT make_date(1, 1, 1)'",
        "CREATE CAST (text AS date) WITH FUNCTION to_day(text)",
    ] {
        client.batch_execute(made).expect(made);
    }
    let hidden = [
        "SELECT upper(name || price) FROM item ORDER BY round(price)",
        "SELECT date(made::timestamp), upper(name) FROM item ORDER BY round(price)",
        "SELECT quote_literal(price), upper(name) FROM item ORDER BY round(price)",
    ];
    for text in casts.iter().chain(&hidden) {
        let error = answer(&mut client, text).expect_err(text);
        assert_eq!(code(&error), "0A000", "{text}: {error}");
    }
    let declared = "SELECT upper(name) FROM item WHERE made = $1::date AND round(price) > 1";
    let types = [postgres::types::Type::TEXT];
    let error = client.prepare_typed(declared, &types).expect_err(declared);
    assert_eq!(code(&error), "0A000", "{error}");
    let constant = "SELECT name FROM item WHERE made = '2003-01-02'::date AND round(price) > 1";
    assert_eq!(answer(&mut client, constant).expect(constant), ["CANARY3"]);
    client
        .batch_execute("DROP CAST (text AS date)")
        .expect("dropped");
    // Casts without a function of users, which the server applies by itself or when it is asked.
    for (cast, refused) in [
        ("CREATE CAST (integer AS text) WITH INOUT AS IMPLICIT", true),
        (
            "CREATE CAST (text AS integer) WITH INOUT AS ASSIGNMENT",
            true,
        ),
        ("CREATE CAST (text AS integer) WITH INOUT", false),
    ] {
        client.batch_execute(cast).expect(cast);
        let plain = "SELECT upper(name) FROM item ORDER BY round(price)";
        let answered = answer(&mut client, plain);
        assert_eq!(answered.is_err(), refused, "{cast}");
        let error = answer(&mut client, casts[1]).expect_err(cast);
        assert_eq!(code(&error), "0A000", "{cast}: {error}");
        let words: Vec<&str> = cast.split(' ').collect();
        let drop = format!("DROP CAST {}", words[2..5].join(" "));
        client.batch_execute(&drop).expect(&drop);
    }
    for text in casts.iter().chain(&hidden) {
        assert_eq!(answer(&mut client, text).expect(text).len(), 5, "{text}");
    }
}
