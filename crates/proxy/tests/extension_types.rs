//! Columns of `hstore` and `citext`, and arrays of them, protected and plain, beside a twin.

use std::io::{Read, Write};

use postgres::Client;
use server_testkit::Postgres;

use crate::common::Setup;
use crate::common::texts::{Text, answer, assert_refused, code};

const RULES: &str = r#"
[columns.item]
tags = { type = "hstore" }
mail = { type = "citext" }
more = { type = "hstore[]" }
name = { type = "text" }
mails = { type = "citext[]" }
"#;

const ROWS: &str = "
    (1, 'colour=>red, size=>L', 'Ann@Example.org', '{\"a=>1\",\"b=>NULL\"}', 'Ann', '{A,b}', \
     'colour=>red', 'Red', '{\"x=>1\"}'),
    (2, 'colour=>NULL', 'bob@example.org', '{}', 'Bob', '{}', 'size=>M', 'blue', NULL),
    (3, '', '', NULL, 'Cy', NULL, '', '', '{}'),
    (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";

/// A protected table, its twin, and plain columns of the types in both. The types are not on the
/// search path of whoever creates the extensions, and other types came before them.
fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() || !Postgres::has_library("hstore") {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    let mut make = |sql: &str| client.batch_execute(sql).expect(sql);
    make("CREATE SCHEMA \"Own ext\"; CREATE TYPE mood AS ENUM ('sad', 'happy')");
    make("CREATE EXTENSION citext; CREATE EXTENSION hstore SCHEMA \"Own ext\"");
    make("CREATE TYPE colour AS ENUM ('red', 'green', 'blue')");
    make("SET search_path = public, \"Own ext\"");
    for table in ["item", "plain"] {
        make(&format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, tags \"Own ext\".hstore, mail citext, \
             more hstore[], name text, mails citext[], paint hstore, word citext, \
             paints hstore[])"
        ));
        make(&format!("INSERT INTO {table} VALUES {ROWS}"));
    }
    Some((setup, client))
}

/// The rows, or the code of the error.
fn said(client: &mut Client, statement: &str) -> Result<Vec<String>, String> {
    answer(client, statement).map_err(|error| code(&error).to_owned())
}

#[track_caller]
fn assert_same(client: &mut Client, statement: &str) {
    let own = said(client, statement);
    let twin = said(client, &statement.replace("item", "plain"));
    assert_eq!(own, twin, "{statement}");
}

#[test]
fn queries_over_types_of_extensions_answer_as_over_plain_columns() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for query in [
        "SELECT * FROM item ORDER BY id",
        "SELECT id FROM item WHERE tags ? 'colour' ORDER BY id",
        "SELECT id FROM item WHERE tags ?| ARRAY['size', 'weight'] ORDER BY id",
        "SELECT id FROM item WHERE tags ?& ARRAY['size', 'colour'] ORDER BY id",
        "SELECT id FROM item WHERE tags @> 'size=>L' ORDER BY id",
        "SELECT id FROM item WHERE tags -> 'colour' = 'red' ORDER BY id",
        "SELECT id, tags -> 'colour', tags || 'x=>y' FROM item ORDER BY tags -> 'colour', id",
        "SELECT id, tags - 'colour'::text, exist(tags, 'size') FROM item ORDER BY id",
        "SELECT akeys(tags), avals(tags), hstore_to_json(tags), slice(tags, '{size}') FROM item \
         ORDER BY id",
        "SELECT id, k FROM item, skeys(tags) AS k ORDER BY id, k",
        "SELECT id, e.key, e.value FROM item, each(tags) AS e ORDER BY id, e.key",
        "SELECT tags::text, mail::text FROM item ORDER BY id",
        "SELECT id FROM item WHERE tags = 'size=>L, colour=>red'::hstore",
        "SELECT id FROM item WHERE tags = '' OR tags IS NULL ORDER BY id",
        "SELECT id FROM item WHERE 'red' = ANY (avals(tags))",
        "SELECT tags['colour'], more[1] -> 'a', array_length(more, 1) FROM item ORDER BY id",
        "SELECT hstore(name, mail::text), hstore('a', name) FROM item ORDER BY id",
        "SELECT count(DISTINCT tags), max(mail), min(mail) FROM item",
        "SELECT array_agg(tags ORDER BY id), array_agg(mail ORDER BY id) FROM item",
        "SELECT json_agg(i ORDER BY id) FROM (SELECT id, tags, mail, more, mails FROM item) i",
        "SELECT id FROM item WHERE mail = 'ANN@example.ORG'",
        "SELECT id FROM item WHERE mail = 'ANN@example.ORG'::text",
        "SELECT id FROM item WHERE mail LIKE 'ann%' OR mail ~ '^BOB' ORDER BY id",
        "SELECT id FROM item WHERE mail IN ('ann@example.org', 'BOB@EXAMPLE.ORG') ORDER BY id",
        "SELECT replace(mail, 'EXAMPLE', 'x'), split_part(mail, 'EXAMPLE', 1) FROM item \
         ORDER BY mail DESC NULLS LAST, id",
        "SELECT id FROM item WHERE 'a'::citext = ANY (mails) AND 'B' = ANY (mails)",
        "SELECT lower(mail), pg_typeof(mail), pg_typeof(tags) FROM item WHERE id = 1",
        "SELECT id FROM item WHERE paint ? 'colour' AND name = 'Ann'",
        "SELECT word, max(name) FROM item GROUP BY word ORDER BY word",
        "SELECT id, paints[1] -> 'x' FROM item WHERE name LIKE 'A%' AND word = 'RED'",
        "SELECT a.id FROM item a JOIN item b ON a.word = b.word AND a.name = b.name ORDER BY 1",
        "SELECT a.id, b.id FROM item a JOIN item b ON a.tags @> b.tags ORDER BY 1, 2",
        "SELECT tags FROM item UNION SELECT paint FROM item ORDER BY 1",
        "SELECT id FROM item WHERE tags = 'no pair'",
        "SELECT 'a=>b'::\"Own ext\".hstore, 'X'::citext = 'x', id FROM item WHERE name = 'Cy'",
        "SELECT id, ('2001-02-0' || id)::citext::date FROM item WHERE id < 10 AND upper(name) <> \
         '' ORDER BY id",
        "SELECT id FROM item WHERE tags = 1",
        "SELECT tags + tags FROM item",
    ] {
        assert_same(&mut client, query);
    }
    let moment = "SELECT id FROM item WHERE ('n' || 'OW')::citext::timestamptz < now() AND \
                  upper(name) <> ''";
    assert_refused(&mut client, moment);
    client
        .batch_execute("SET search_path = public")
        .expect("set");
    for query in [
        "SELECT * FROM item ORDER BY id",
        "SELECT id FROM item WHERE tags OPERATOR(\"Own ext\".?) 'size'",
        "SELECT id FROM item WHERE tags::text LIKE '%red%' AND \"Own ext\".exist(tags, 'size')",
        "SELECT id FROM item WHERE tags ? 'size'",
    ] {
        assert_same(&mut client, query);
    }
}

#[test]
fn writes_of_types_of_extensions_do_what_they_do_to_plain_columns() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "INSERT INTO item (id, tags) VALUES (10, 'no pair')",
        "INSERT INTO item (id, tags) VALUES (10, 'a=>1'::text)",
        "INSERT INTO item (id, tags, mail) VALUES (10, 'a=>1'::hstore, 'B'::citext) RETURNING *",
        "INSERT INTO item (id, more, mails) VALUES (11, '{\"a=>2\"}', '{x,NULL}') RETURNING *",
        "INSERT INTO item (id, more, mails) VALUES (12, ARRAY['a=>1'::hstore], ARRAY['X'::citext])",
        "UPDATE item SET tags = tags || 'seen=>t' WHERE tags ? 'size' RETURNING id, tags",
        "UPDATE item SET mail = upper(mail::text), paint = 'x=>1' WHERE mail = 'BOB@example.org' \
         RETURNING id, mail, paint",
        "UPDATE item SET tags = DEFAULT, mail = NULL WHERE id = 1 RETURNING id, tags",
        "INSERT INTO item (id, tags, mail) SELECT id + 20, tags, mail FROM item WHERE mail = 'b' \
         RETURNING id, tags",
        "INSERT INTO item (id, tags) VALUES (1, 'k=>v') \
         ON CONFLICT (id) DO UPDATE SET tags = excluded.tags RETURNING tags",
        "DELETE FROM item WHERE tags -> 'k' = 'v' RETURNING id",
        "SELECT * FROM item ORDER BY id",
    ] {
        assert_same(&mut client, statement);
    }
    for format in ["text", "csv", "binary"] {
        let columns = "(id, tags, mail, more, mails)";
        let copy = |table: &str| format!("COPY {table} {columns} TO STDOUT (FORMAT {format})");
        let mut read = |table: &str| {
            let mut bytes = Vec::new();
            let mut reader = client.copy_out(&copy(table)).expect("a copy");
            reader.read_to_end(&mut bytes).expect("read");
            bytes
        };
        let bytes = read("item");
        assert_eq!(bytes, read("plain"), "{format}");
        client.batch_execute("DELETE FROM item").expect("emptied");
        let copy = format!("COPY item {columns} FROM STDIN (FORMAT {format})");
        let mut writer = client.copy_in(&copy).expect("a copy");
        writer.write_all(&bytes).expect("written");
        writer.finish().expect("copied");
        assert_same(
            &mut client,
            "SELECT id, tags, mail, more, mails FROM item ORDER BY id",
        );
    }
    let mut direct = setup.server.connect();
    let seen = "SELECT id FROM item WHERE position('red'::bytea IN tags) > 0 \
                OR position('example'::bytea IN mail) > 0";
    assert_eq!(answer(&mut direct, seen).expect("rows"), [""; 0]);
    for change in [
        "DROP EXTENSION hstore",
        "DROP EXTENSION IF EXISTS citext CASCADE",
    ] {
        assert_refused(&mut client, change);
    }
}

#[test]
fn parameters_of_types_of_extensions_have_the_number_of_the_type() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (query, value) in [
        (
            "SELECT tags, id FROM item WHERE tags = $1",
            "size=>L, colour=>red",
        ),
        (
            "SELECT mail, id FROM item WHERE mail = $1",
            "ANN@example.org",
        ),
        (
            "SELECT more, id FROM item WHERE more = $1",
            "{\"a=>1\",\"b=>NULL\"}",
        ),
        (
            "SELECT paint, id FROM item WHERE paint = $1 AND name = 'Ann'",
            "colour=>red",
        ),
    ] {
        let own = client.prepare(query).expect(query);
        let twin = client
            .prepare(&query.replace("item", "plain"))
            .expect(query);
        assert_eq!(own.params(), twin.params(), "{query}");
        let types = |columns: &[postgres::Column]| -> Vec<postgres::types::Type> {
            columns.iter().map(|own| own.type_().clone()).collect()
        };
        assert_eq!(types(own.columns()), types(twin.columns()), "{query}");
        let rows = client.query(&own, &[&Text(value)]).expect(query);
        let ids: Vec<i32> = rows.iter().map(|row| row.get(1)).collect();
        assert_eq!(ids, [1], "{query}");
    }
}
