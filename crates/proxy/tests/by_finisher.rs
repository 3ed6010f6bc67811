//! Sessions whose statements the finisher evaluates: portions, errors, pipelines, limits, locks.

use std::iter::empty;
use std::thread;
use std::time::Duration;

use postgres::Client;
use wire_postgres::frontend::{write_bind, write_execute, write_parse};

use crate::common::raw::Raw;
use crate::common::texts::{answer, code};
use crate::common::wire::{Answer, SYNC, Session, put_text};
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
const RAISE: &str = "UPDATE item SET price = round(price) WHERE extract(year FROM made) < 2003";

/// The table `item` with five rows.
fn start_with(more: &str) -> Option<Setup> {
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

fn start() -> Option<Setup> {
    start_with("")
}

/// Does the same with table `tree` and its plain twin. Returns what is there afterwards, which is
/// alike.
#[track_caller]
fn same_of_trees(client: &mut Client, statements: &[&str]) -> Vec<String> {
    let mut given = Vec::new();
    for table in ["tree", "plain_tree"] {
        let create = "DROP TABLE IF EXISTS tree; CREATE TABLE tree (id integer PRIMARY KEY, up \
                      integer REFERENCES tree ON DELETE SET NULL, name text, n integer, k integer \
                      UNIQUE, upk integer REFERENCES tree (k) ON UPDATE CASCADE ON DELETE SET \
                      NULL)";
        client
            .batch_execute(&create.replace("tree", table))
            .expect(create);
        for (id, name) in [(1, "ax"), (2, "bx"), (3, "cx"), (4, "dx"), (5, "e")] {
            let up = match id {
                1 => "NULL".to_owned(),
                _ => (id - 1).to_string(),
            };
            let insert =
                format!("INSERT INTO {table} VALUES ({id}, {up}, '{name}', {id}, {id}, {up})");
            client.batch_execute(&insert).expect(&insert);
        }
        let mut all = Vec::new();
        for statement in statements {
            let statement = statement.replace("tree", table);
            all.push(match client.query(&statement, &[]) {
                Ok(rows) => format!("{} rows", rows.len()),
                Err(error) => code(&error).to_owned(),
            });
        }
        let left = format!("SELECT * FROM {table} ORDER BY id");
        all.extend(answer(client, &left).expect(&left));
        given.push(all);
    }
    assert_eq!(given[0], given[1], "{statements:?}");
    given.swap_remove(0)
}

/// The foreign keys of the table to itself give rows another place while others are written.
#[test]
fn rows_that_move_while_others_are_written_are_written_too() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let left = same_of_trees(&mut client, &["DELETE FROM tree WHERE name LIKE '%x'"]);
    assert_eq!(left, ["0 rows", "5|NULL|e|5|5|NULL"]);
    for statement in [
        "DELETE FROM tree AS t USING (VALUES ('ax'), ('bx')) AS v (name) WHERE upper(t.name) = \
         upper(v.name) RETURNING t.*",
        "UPDATE tree SET k = k + 100 WHERE upper(name) LIKE '%X'",
        "UPDATE tree SET k = k + 100, n = n + 1",
        "UPDATE tree SET k = k + 100, n = n + 1 RETURNING *",
        "UPDATE tree AS t SET id = t.id + 10, up = NULL, n = n * 2 RETURNING n, t.name, t.id",
        "UPDATE tree SET k = 6 - k, n = n + 1",
        "MERGE INTO tree AS t USING (VALUES (1)) AS s (a) ON true WHEN MATCHED AND t.name LIKE \
         '%x' THEN DELETE",
        "MERGE INTO tree AS t USING (VALUES (1)) AS s (a) ON true WHEN MATCHED AND t.name LIKE \
         '%x' THEN UPDATE SET k = t.k + 100, n = t.n + 1",
        "UPDATE tree SET k = 6 - k, name = reverse(name) RETURNING *",
    ] {
        same_of_trees(&mut client, &[statement]);
    }
}

/// Where the server decides more about rows than what is sent shows, the proxy refuses.
#[test]
fn rows_that_the_server_decides_about_are_left_to_it() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    same_of_trees(&mut client, &[]);
    let upsert = "INSERT INTO tree (id, name, n) VALUES (1, 'y', 1) ON CONFLICT (id) DO UPDATE SET \
                  name = tree.name || EXCLUDED.name";
    let merge = "MERGE INTO tree AS t USING (VALUES (1)) AS s (a) ON true WHEN MATCHED AND t.name \
                 LIKE 'a%' THEN DELETE WHEN MATCHED THEN UPDATE SET k = t.k + 100";
    let delete = "DELETE FROM tree WHERE upper(name) = 'AX'";
    let moved =
        "WITH d AS (DELETE FROM tree WHERE upper(name) = 'AX' RETURNING id) SELECT id FROM d";
    for text in [upsert, merge] {
        assert_eq!(
            code(&answer(&mut client, text).expect_err(text)),
            "0A000",
            "{text}"
        );
    }
    let keys = "ALTER TABLE tree DROP CONSTRAINT tree_up_fkey, DROP CONSTRAINT tree_upk_fkey";
    client.batch_execute(keys).expect(keys);
    client.batch_execute(upsert).expect(upsert);
    client.batch_execute(merge).expect(merge);
    let check = "ALTER TABLE tree ADD CHECK (k > 100) NOT VALID";
    client.batch_execute(check).expect(check);
    let error = answer(&mut client, upsert).expect_err("a row may break it");
    assert_eq!(code(&error), "0A000");
    client.batch_execute(delete).expect(delete);
    let policies = "ALTER TABLE tree ENABLE ROW LEVEL SECURITY";
    client.batch_execute(policies).expect(policies);
    for text in [delete, moved, upsert, merge] {
        assert_eq!(
            code(&answer(&mut client, text).expect_err(text)),
            "0A000",
            "{text}"
        );
    }
}

/// A trigger of a plain table writes other rows of it.
#[test]
fn rows_that_a_trigger_moves_are_written_too() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for text in [
        "CREATE TABLE w (id integer PRIMARY KEY, v integer, st timestamptz)",
        "CREATE FUNCTION moves() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN UPDATE w SET v = v + \
         1 WHERE id <> NEW.id; RETURN NULL; END$$",
        "CREATE TRIGGER moved AFTER UPDATE ON w FOR EACH ROW WHEN (pg_trigger_depth() = 0) \
         EXECUTE FUNCTION moves()",
    ] {
        client.batch_execute(text).expect(text);
    }
    let found = "UPDATE w SET v = v + 100 WHERE id IN (SELECT id FROM item WHERE upper(name) LIKE \
                 'C%')";
    let mut given = Vec::new();
    for update in [found, "UPDATE w SET v = v + 100 WHERE id < 5"] {
        let fill = "TRUNCATE w; INSERT INTO w SELECT i, i FROM generate_series(1, 4) AS i";
        client.batch_execute(fill).expect(fill);
        given.push(client.execute(update, &[]).expect(update).to_string());
        let left = "SELECT id, v FROM w ORDER BY id";
        given.push(answer(&mut client, left).expect(left).join(","));
    }
    assert_eq!(given[..2], given[2..]);
    assert_eq!(given[0], "4");
}

/// One statement writes all rows: a function sees none of its own, and has one moment.
#[test]
fn a_function_does_not_see_the_rows_of_its_own_statement() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for text in [
        "CREATE TABLE w (id integer PRIMARY KEY, v integer, st timestamptz)",
        "INSERT INTO w SELECT i, i FROM generate_series(1, 3) AS i",
        "CREATE FUNCTION wmax() RETURNS integer LANGUAGE sql STABLE AS 'SELECT max(v) FROM w'",
    ] {
        client.batch_execute(text).expect(text);
    }
    let update = "UPDATE w SET v = wmax() + 1, st = statement_timestamp() WHERE id IN (SELECT id \
                  FROM item WHERE upper(name) LIKE 'C%')";
    assert_eq!(client.execute(update, &[]).expect(update), 3);
    let left = "SELECT min(v), max(v), count(DISTINCT st) FROM w";
    assert_eq!(answer(&mut client, left).expect(left), ["4|4|1"]);
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

/// Sends statements as one pipeline.
fn pipeline(session: &mut Session, statements: &[&str]) -> Answer {
    let mut messages = Vec::new();
    for text in statements {
        put_text(text, &mut messages);
    }
    messages.extend_from_slice(SYNC);
    session.say(&messages)
}

#[test]
fn a_pipeline_leaves_nothing_if_its_last_query_fails() {
    let Some(setup) = start_with("max_finish_bytes = 1000000\n") else {
        return;
    };
    let mut client = setup.connect();
    let twin = "CREATE TABLE twin (LIKE item); INSERT INTO twin SELECT id, 'a', id + 0.5, \
                make_date(2000 + id, 1, 2) FROM generate_series(1, 5) id; CREATE TABLE parent (id integer \
                PRIMARY KEY); CREATE TABLE child (id integer REFERENCES parent DEFERRABLE \
                INITIALLY DEFERRED)";
    let twin = twin.replace(
        "(LIKE item)",
        "(id integer, name text, price numeric(10,2), made date)",
    );
    client.batch_execute(&twin).expect("made");
    let mut session = Session::connect(setup.proxy.address.port());
    let insert = "INSERT INTO item (id, name) VALUES (77, 'CANARYnew')";
    let update = "UPDATE item SET price = round(price) + 10 WHERE extract(year FROM made) < 2003";
    let by_zero = "SELECT 1 / (price - 3.5), upper(name) FROM item";
    let own = "SELECT 1 / (price - 3.5) FROM item ORDER BY price";
    for (statements, wanted) in [
        (vec![insert, by_zero], "22012"),
        (vec![insert, own], "22012"),
        (vec![update, by_zero], "22012"),
        (vec![insert, by_zero, "SELECT 1"], "22012"),
        (vec!["BEGIN", "COMMIT", insert, by_zero], "22012"),
        (vec!["INSERT INTO child VALUES (1)", by_zero], "22012"),
    ] {
        let left = |client: &mut Client, table: &str| {
            let sql = format!(
                "SELECT count(*), sum(price), (SELECT count(*) FROM child) FROM {table}; \
                 DELETE FROM {table} WHERE id = 77"
            );
            answer(client, &sql).expect("left")
        };
        let answered = pipeline(&mut session, &statements);
        let own_left = left(&mut client, "item");
        let twins: Vec<String> = statements
            .iter()
            .map(|text| text.replace("item", "twin"))
            .collect();
        let twins: Vec<&str> = twins.iter().map(String::as_str).collect();
        let plain = pipeline(&mut session, &twins);
        assert_eq!(answered.code, wanted, "{statements:?}: {answered:?}");
        assert_eq!(plain.code, wanted, "{statements:?}: {plain:?}");
        assert_eq!(own_left, left(&mut client, "twin"), "{statements:?}");
    }
    // The limit of the answer, and what goes well.
    let large = "SELECT repeat(name, 1000), generate_series(1, 1000) FROM item WHERE id = 1";
    assert_eq!(pipeline(&mut session, &[insert, large]).code, "54000");
    assert_eq!(
        session
            .query("SELECT id FROM item WHERE id = 77")
            .rows
            .len(),
        0
    );
    let answered = pipeline(&mut session, &[insert, "SELECT upper(name) FROM item"]);
    assert_eq!((answered.code.as_str(), answered.rows.len()), ("", 6));
    assert_eq!(
        session
            .query("SELECT id FROM item WHERE id = 77")
            .rows
            .len(),
        1
    );
}

/// Binds a text to a named portal, and executes so many rows of it.
fn put_portal(name: &str, text: &str, rows_max: i32, out: &mut Vec<u8>) {
    write_parse(b"", text.as_bytes(), empty(), out);
    let nothing = |_: &mut Vec<u8>| Ok::<_, ()>(());
    write_bind((name.as_bytes(), b""), empty(), nothing, empty(), out).expect("no failure");
    if rows_max > 0 {
        write_execute(name.as_bytes(), rows_max, out);
    }
}

#[test]
fn portals_with_rows_are_counted_and_are_no_cursors() {
    let Some(setup) = start_with("max_finish_bytes = 1000000\n") else {
        return;
    };
    let mut session = Session::connect(setup.proxy.address.port());
    let large = "SELECT repeat(upper(name), 500), generate_series(1, 100) FROM item WHERE id = 1";
    assert_eq!(session.query("BEGIN").code, "");
    let mut messages = Vec::new();
    let mut codes = Vec::new();
    for number in 0..4 {
        messages.clear();
        put_portal(&format!("p{number}"), large, 1, &mut messages);
        messages.extend_from_slice(SYNC);
        codes.push(session.say(&messages).code);
        if codes.last().is_some_and(|code| !code.is_empty()) {
            break;
        }
    }
    assert_eq!(codes.last().map(String::as_str), Some("54000"), "{codes:?}");
    assert!(codes.len() > 1, "{codes:?}");
    session.query("ROLLBACK");
    // SQL finds them in the server, which does not have their rows.
    for (rows_max, sql) in [
        (1, "FETCH 1 FROM mine"),
        (0, "FETCH 1 FROM mine"),
        (1, "MOVE ALL IN \"mine\""),
        (1, "CLOSE mine"),
    ] {
        assert_eq!(session.query("BEGIN").code, "");
        messages.clear();
        put_portal(
            "mine",
            "SELECT upper(name) FROM item",
            rows_max,
            &mut messages,
        );
        messages.extend_from_slice(SYNC);
        assert_eq!(session.say(&messages).code, "");
        let told = session.query(sql);
        assert_eq!(told.code, "0A000", "{sql}: {told:?}");
        session.query("ROLLBACK");
    }
    // A portal outlives the statement without a name, which a simple query drops.
    assert_eq!(session.query("BEGIN").code, "");
    messages.clear();
    put_portal("mine", "SELECT upper(name) FROM item", 0, &mut messages);
    messages.extend_from_slice(SYNC);
    assert_eq!(session.say(&messages).code, "");
    assert_eq!(session.query("SELECT 1").code, "");
    messages.clear();
    write_execute(b"mine", 0, &mut messages);
    messages.extend_from_slice(SYNC);
    let answered = session.say(&messages);
    assert_eq!(
        (answered.code.as_str(), answered.rows.len()),
        ("", 5),
        "{answered:?}"
    );
    session.query("COMMIT");
}

#[test]
fn what_needs_a_block_is_refused_beside_steps_in_a_text_without_one() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for first in [
        "LOCK TABLE item",
        "SET LOCAL statement_timeout TO 10000",
        "DECLARE c CURSOR FOR SELECT 1",
    ] {
        let text = format!("{first}; {RAISE}");
        let error = answer(&mut client, &text).expect_err("refused");
        assert_eq!(code(&error), "0A000", "{text}: {error:?}");
        answer(&mut client, &format!("BEGIN; {text}; COMMIT")).expect("a block");
        client.batch_execute("BEGIN").expect("begun");
        answer(&mut client, &text).expect("in a block");
        client.batch_execute("COMMIT").expect("committed");
    }
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
