//! Rows that the finisher finds and the server writes, all by one statement: what moves them
//! meanwhile, and what the server decides about.

use postgres::Client;

use crate::by_finisher::start;
use crate::common::texts::{answer, code};

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
        "MERGE INTO tree AS t USING (VALUES (1)) AS s (a) ON true WHEN MATCHED AND t.name LIKE \
         'a%' THEN DELETE WHEN MATCHED THEN UPDATE SET k = t.k + 100",
    ] {
        same_of_trees(&mut client, &[statement]);
    }
}

/// Foreign keys with actions matter where they lead back to the table.
#[test]
fn keys_that_lead_elsewhere_do_not_stop_an_upsert() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let create = "CREATE TABLE shelf (id integer PRIMARY KEY, top integer UNIQUE); CREATE TABLE \
                  book (id integer PRIMARY KEY REFERENCES shelf ON UPDATE CASCADE); CREATE TABLE \
                  tree (id integer PRIMARY KEY REFERENCES book ON UPDATE CASCADE ON DELETE \
                  CASCADE, name text); INSERT INTO shelf (id) VALUES (1); INSERT INTO book VALUES \
                  (1); ALTER TABLE tree ADD n integer";
    client.batch_execute(create).expect(create);
    let upsert = "INSERT INTO tree (id, name, n) VALUES (1, 'y', 1) ON CONFLICT (id) DO UPDATE SET \
                  name = tree.name || EXCLUDED.name";
    for _ in 0..2 {
        client.batch_execute(upsert).expect(upsert);
    }
    let left = answer(&mut client, "SELECT name FROM tree");
    assert_eq!(left.expect("a row"), ["yy"]);
    let back = "ALTER TABLE shelf ADD FOREIGN KEY (top) REFERENCES tree ON DELETE SET NULL";
    client.batch_execute(back).expect(back);
    let error = answer(&mut client, upsert).expect_err("keys lead back to it");
    assert_eq!(code(&error), "0A000");
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
    let error = answer(&mut client, upsert).expect_err("keys lead back to it");
    assert_eq!(code(&error), "0A000");
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

/// Triggers of statements fire once for each statement, also for one that finds no row: where the
/// proxy computes (by a unique key, and without one), and where the finisher does.
#[test]
fn triggers_of_statements_fire_once_and_without_rows() {
    let Some(setup) = start() else { return };
    let mut direct = setup.server.connect();
    let mut client = setup.connect();
    client
        .batch_execute(
            "CREATE TABLE plain_item (id integer PRIMARY KEY, name text, price numeric(10,2)); \
             INSERT INTO plain_item SELECT i, 'x' || i, i + 0.5 FROM generate_series(1, 5) i",
        )
        .expect("a twin");
    for made in [
        "CREATE TABLE fired (of text, n integer DEFAULT 1)",
        "CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO fired \
         VALUES (TG_TABLE_NAME); RETURN NULL; END'",
        "CREATE TRIGGER fires AFTER UPDATE ON item EXECUTE FUNCTION fires()",
        "CREATE TRIGGER fires AFTER UPDATE ON plain_item EXECUTE FUNCTION fires()",
    ] {
        direct.batch_execute(made).expect(made);
    }
    // What is dropped has the session read the whole schema again.
    let mut client = setup.connect();
    client
        .batch_execute("CREATE TABLE other (); DROP TABLE other")
        .expect("made");
    for (update, fired) in [
        ("UPDATE item SET price = price + 1 WHERE id = 3", 1),
        ("UPDATE item SET price = price + 1 WHERE id = 300", 1),
        ("UPDATE item SET price = price + 1 WHERE id > 300", 1),
        ("UPDATE item SET price = price + 1 WHERE id > 2", 1),
        ("UPDATE item SET price = round(price) WHERE id > 300", 1),
        (
            "UPDATE item SET price = price + 1 WHERE id = 300; UPDATE item SET price = price + 1 \
             WHERE id > 300 RETURNING id",
            2,
        ),
    ] {
        let mut given = Vec::new();
        for table in ["item", "plain_item"] {
            let update = update.replace("item", table);
            let mut own = answer(&mut client, &update).expect(&update);
            if !update.contains(';') {
                own.push(client.execute(&update, &[]).expect(&update).to_string());
            }
            let left = format!("SELECT sum(price) FROM {table}");
            own.extend(answer(&mut client, &left).expect(&left));
            let count = format!("DELETE FROM fired WHERE of = '{table}' RETURNING n");
            let times = match update.contains(';') {
                true => fired,
                false => 2 * fired,
            };
            let count = direct.query(&count, &[]).expect("counted").len();
            assert_eq!(count, times, "{update}");
            given.push(own);
        }
        assert_eq!(given[0], given[1], "{update}");
    }
}
