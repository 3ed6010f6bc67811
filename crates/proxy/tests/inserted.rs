//! Rows that the finisher computes and one statement inserts: sessions, keys, and what the server
//! sees of them. What ordinary statements answer is in `everyday/inserted.rs`.

use postgres::Client;

use crate::common::Setup;
use crate::common::texts::{answer, code};

const RULES: &str = r#"
[columns.item]
name = { type = "varchar(10)" }
price = { type = "numeric(10,2)", default = "7" }
tags = { type = "integer[]" }
"#;

/// The tables `item`, with protected columns, and `twin`, without: its values are no canaries.
const TABLES: [&str; 2] = ["item", "twin"];

fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    for table in TABLES {
        for statement in [
            format!(
                "CREATE TABLE {table} (id serial PRIMARY KEY, code integer UNIQUE, name \
                 varchar(10) NOT NULL, price numeric(10,2), parent integer, tags integer[])"
            ),
            format!("ALTER TABLE {table} ADD FOREIGN KEY (parent) REFERENCES {table} (code)"),
        ] {
            client.batch_execute(&statement).expect(&statement);
        }
    }
    let default = "ALTER TABLE twin ALTER COLUMN price SET DEFAULT 7";
    client.batch_execute(default).expect(default);
    client
        .batch_execute("CREATE TABLE plain (number integer, word text)")
        .expect("made");
    Some((setup, client))
}

/// The same of both tables.
#[track_caller]
fn alike<T: PartialEq + std::fmt::Debug>(mut of_table: impl FnMut(&str) -> T) -> T {
    let [item, twin] = TABLES.map(&mut of_table);
    assert_eq!(item, twin);
    item
}

fn rows(client: &mut Client, table: &str) -> Vec<String> {
    let text = format!("SELECT code, name, price, parent FROM {table} ORDER BY id");
    answer(client, &text).expect("rows")
}

#[test]
fn a_thousand_rows_get_their_keys_in_order_each_time() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let last = alike(|table| {
        let text = format!(
            "INSERT INTO {table} (code, name, price) SELECT * FROM UNNEST($1::int[], \
             $2::varchar[], $3::float8[]) RETURNING id, code, name"
        );
        let prepared = client.prepare(&text).expect("prepared");
        let mut given = Vec::new();
        for start in [0, 1000, 2000] {
            let codes: Vec<i32> = (start..start + 1000).rev().collect();
            let names: Vec<String> = codes.iter().map(|code| format!("word{code}")).collect();
            let prices: Vec<f64> = codes.iter().map(|code| f64::from(*code) / 8.0).collect();
            let mut transaction = client.transaction().expect("begun");
            let returned = transaction
                .query(&prepared, &[&codes, &names, &prices])
                .expect("inserted");
            let returned = returned.iter().map(|row| {
                let (id, code, name): (i32, i32, String) = (row.get(0), row.get(1), row.get(2));
                format!("{id} {code} {name}")
            });
            given.push(returned.collect::<Vec<_>>());
            match start {
                1000 => transaction.rollback().expect("rolled back"),
                _ => transaction.commit().expect("committed"),
            }
        }
        (given, rows(&mut client, table))
    });
    assert_eq!((last.0[2].len(), last.1.len()), (1000, 2000));
    let count = client.execute(
        "INSERT INTO item (code, name) SELECT code + 5000, upper(name) FROM item",
        &[],
    );
    assert_eq!(count.expect("inserted"), 2000);
}

#[test]
fn all_rows_are_of_one_statement() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let outcomes = alike(|table| {
        let mut outcomes = Vec::new();
        for (codes, names, parents) in [
            // The first refers to the second, which is not there before it.
            ("{1,2}", "{worda,wordb}", "{2,NULL}"),
            ("{3,3}", "{wordc,wordd}", "{NULL,NULL}"),
            ("{4}", "{worde}", "{99}"),
            ("{5,6}", "{wordf,NULL}", "{NULL,NULL}"),
            ("{5,6}", "{wordf,a longer name}", "{NULL,NULL}"),
        ] {
            let text = format!(
                "INSERT INTO {table} (code, name, parent) SELECT * FROM \
                 UNNEST('{codes}'::int[], '{names}'::text[], '{parents}'::int[])"
            );
            let done = answer(&mut client, &text);
            outcomes.push(done.err().map(|error| code(&error).to_owned()));
        }
        let twice = format!(
            "INSERT INTO {table} (code, name) SELECT * FROM UNNEST('{{7,7}}'::int[], \
             '{{wordg,wordh}}'::text[]) ON CONFLICT (code) DO UPDATE SET name = EXCLUDED.name"
        );
        let error = answer(&mut client, &twice).expect_err("a row twice");
        outcomes.push(Some(code(&error).to_owned()));
        (outcomes, rows(&mut client, table))
    });
    let codes: Vec<&str> = outcomes.0.iter().flatten().map(String::as_str).collect();
    assert_eq!(codes, ["23505", "23503", "23502", "22001", "21000"]);
    assert_eq!(
        outcomes.1,
        ["1|worda|7.00|2", "2|wordb|7.00|NULL"],
        "the default of price is the proxy's"
    );
}

#[test]
fn rows_of_no_table_take_one_round_trip() {
    if !server_testkit::is_installed() {
        return;
    }
    // A look at the catalogues would count.
    let more = crate::common::with_finish("schema_check_seconds = 3600");
    let setup = Setup::start_with(RULES, &more);
    let mut client = setup.connect();
    let text = "CREATE TABLE item (code integer UNIQUE, name varchar(10), price numeric(10,2))";
    client.batch_execute(text).expect(text);
    let text = "INSERT INTO item (code, name) VALUES ($1, upper($2))";
    let prepared = client.prepare(text).expect(text);
    // The first one has more to ask.
    for code in 1..4_i32 {
        let before = setup.tap.round_trips();
        client.execute(&prepared, &[&code, &"a"]).expect(text);
        assert!(code == 1 || setup.tap.round_trips() == before + 1, "{code}");
    }
    // In a transaction that has failed it fails as any other does.
    let mut transaction = client.transaction().expect("begun");
    let twice = transaction.execute(&prepared, &[&1_i32, &"a"]);
    assert_eq!(code(&twice.expect_err("twice")), "23505");
    let failed = transaction.execute(&prepared, &[&5_i32, &"a"]);
    assert_eq!(code(&failed.expect_err("failed")), "25P02");
}

#[test]
fn a_type_that_does_not_fit_is_told_with_the_column() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (text, wanted) in [
        (
            "INSERT INTO TABLE (code, name, tags) SELECT g, upper('x'), ARRAY[upper('a')] FROM \
             generate_series(1, 1) g",
            "column \"tags\" is of type integer[] but expression is of type text[]",
        ),
        (
            "INSERT INTO TABLE (code, name, tags) SELECT g, upper('x'), NULL::date[] FROM \
             generate_series(1, 1) g",
            "column \"tags\" is of type integer[] but expression is of type date[]",
        ),
        (
            "INSERT INTO TABLE (code, name, price) SELECT g, upper('x'), make_date(2020, 1, g) \
             FROM generate_series(1, 0) g",
            "column \"price\" is of type numeric but expression is of type date",
        ),
        (
            "UPDATE TABLE SET tags = ARRAY[upper(name)] WHERE upper(name) = 'X'",
            "column \"tags\" is of type integer[] but expression is of type text[]",
        ),
    ] {
        let told = alike(|table| {
            let error = answer(&mut client, &text.replace("TABLE", table)).expect_err(text);
            let error = error.as_db_error().expect("an error of the server").clone();
            let hint = error.hint().map(str::to_owned);
            (error.code().clone(), error.message().to_owned(), hint)
        });
        assert_eq!(
            (told.0.code(), told.1.as_str()),
            ("42804", wanted),
            "{text}"
        );
    }
}

#[test]
fn a_default_is_sealed_anew_for_each_row() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let text = "INSERT INTO item (code, name) SELECT g, upper('same') FROM generate_series(1, 3) g";
    client.batch_execute(text).expect(text);
    let text = "INSERT INTO item (code, name, price) VALUES (8, lower('A'), DEFAULT), (9, 'b', \
                DEFAULT)";
    client.batch_execute(text).expect(text);
    let count = "SELECT count(DISTINCT price), count(DISTINCT name), count(*) FROM item";
    let row = setup.server.connect().query_one(count, &[]).expect(count);
    let counts: (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(counts, (5, 5, 5));
    let prices = answer(&mut client, "SELECT price FROM item");
    assert_eq!(prices.expect("prices"), ["7.00"; 5]);
}

#[test]
fn values_of_protected_columns_do_not_reach_the_server() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let text = "INSERT INTO item (code, name) SELECT * FROM UNNEST($1::int[], $2::text[])";
    let names = ["CANARYone", "CANARYtwo"];
    client
        .execute(text, &[&vec![1, 2], &names.to_vec()])
        .expect(text);
    for text in [
        "INSERT INTO plain (word) SELECT name FROM item",
        "INSERT INTO plain (word) SELECT lower(name) FROM item",
        "INSERT INTO plain (word) SELECT n FROM (SELECT upper(name) AS n FROM item) AS item",
        "INSERT INTO plain (word) SELECT upper(i.name) FROM item i UNION ALL SELECT 'x'",
        "INSERT INTO plain (word) WITH i AS (SELECT upper(name) AS word FROM item) SELECT word \
         FROM i",
        "INSERT INTO plain (word) SELECT i::text FROM item i WHERE upper(name) > ''",
        "INSERT INTO plain (word) VALUES ((SELECT max(upper(name)) FROM item))",
        "INSERT INTO plain SELECT i.id, t.w FROM item i, LATERAL (SELECT reverse(i.name) AS w) t",
        "INSERT INTO item (parent, name) SELECT length(name), upper(name) FROM item",
    ] {
        let error = answer(&mut client, text).expect_err(text);
        assert_eq!(code(&error), "0A000", "{text}: {error:?}");
    }
    let text = "INSERT INTO plain SELECT code, 'one' FROM item WHERE upper(name) LIKE '%ONE'";
    client.batch_execute(text).expect(text);
    let text = "INSERT INTO item (code, name) SELECT code + 10, left('x' || name, 10) FROM item";
    client.batch_execute(text).expect(text);
    let plain = answer(&mut client, "SELECT * FROM plain").expect("a row");
    assert_eq!(plain, ["1|one"]);
    setup.assert_unseen(&["CANARYone", "CANARYtwo", "CANARY", "canaryone"]);
}
