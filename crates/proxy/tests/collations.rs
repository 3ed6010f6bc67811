//! Texts that a collation compares otherwise than by their bytes: the answers are those of a plain
//! table, or the statement is refused.

use crate::common::Setup;
use crate::common::texts::answer;
use crate::letters::is_answered;
use postgres::{Client, NoTls};

const RULES: &str = "[columns.word]\nname = { type = \"text\", mode = \"equality\" }\n\
                     n = { type = \"integer\" }\n";

/// Columns and rows of `word` and `plain`, which are alike.
fn make(client: &mut Client, columns: &str, rows: &str) {
    for table in ["word", "plain"] {
        let made = format!("CREATE TABLE {table} ({columns}); INSERT INTO {table} VALUES {rows}");
        client.batch_execute(&made).expect("made");
    }
}

/// The finisher sorts as the database does.
#[test]
fn extremes_of_texts_within_a_query_are_those_of_the_database() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut setup = Setup::start_with_finisher(RULES);
    setup.is_searched = false;
    let create = "CREATE DATABASE german TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu \
                  ICU_LOCALE 'de' LOCALE 'C'";
    // Not every server has locales of ICU.
    if setup.server.connect().batch_execute(create).is_err() {
        return;
    }
    let port = setup.proxy.address.port();
    let url = format!("postgres://postgres@127.0.0.1:{port}/german");
    let mut client = Client::connect(&url, NoTls).expect("logged in");
    let rows = "(1, 'a', 1), (1, 'B', 2), (1, 'Ä', 3), (2, 'z', 4), (2, 'Z', 5), (2, 'ö', 6)";
    make(&mut client, "k integer, name text, n integer", rows);
    for text in [
        "SELECT s.m FROM (SELECT k, max(name) AS m FROM word GROUP BY k) s ORDER BY s.k",
        "SELECT s.m FROM (SELECT min(name) AS m FROM word) s",
        "SELECT k, (SELECT min(name) FROM word o WHERE o.k = w.k) FROM word w WHERE n IN (1, 4) \
         ORDER BY k",
        "SELECT max(name), min(name) FROM word",
    ] {
        assert!(is_answered(&mut client, text), "{text}");
    }
}

const ANSWERED: [&str; 4] = [
    "SELECT k, sum(n) FROM word GROUP BY k ORDER BY sum(n)",
    "SELECT city, n + 1 FROM word WHERE city = 'BERN' AND n > 1 ORDER BY n",
    "SELECT count(*), sum(n) FROM word WHERE city = 'BERN'",
    "SELECT city, count(*) FROM word WHERE name = 'x' GROUP BY city",
];

/// In these the proxy would have to compare texts of the column.
const COMPARED: [&str; 11] = [
    "SELECT count(*), sum(n) FROM word GROUP BY city",
    "SELECT DISTINCT lower(city), n / 10 FROM word",
    "SELECT count(DISTINCT city) FROM word WHERE n > 0",
    "SELECT sum(n) FROM word GROUP BY city::text",
    "SELECT sum(n) FROM word GROUP BY lower(city)",
    "SELECT sum(n) FROM word GROUP BY k COLLATE loose",
    "SELECT sum(s.n) FROM (SELECT city AS c, n FROM word) s GROUP BY s.c",
    "SELECT sum(s.n) FROM (SELECT city::varchar AS c, n FROM word) s GROUP BY s.c",
    "SELECT n FROM word WHERE CASE WHEN n > 1 THEN city::text END = 'BERN'",
    "SELECT n FROM word WHERE COALESCE(city::text, name) = 'BERN'",
    "SELECT sum(n) FROM word GROUP BY folded",
];

fn start(setup: &Setup) -> Client {
    let mut client = setup.connect();
    client
        .batch_execute(
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', \
             deterministic = false); CREATE DOMAIN folded AS text COLLATE loose",
        )
        .expect("made");
    make(
        &mut client,
        "k text, name text, n integer, city text COLLATE loose, folded folded",
        "('a', 'x', 1, 'Bern', 'Bern'), ('A', 'x', 2, 'bern', 'bern'), \
         ('a', 'y', 3, 'BERN', 'BERN')",
    );
    client
}

/// A client that got the answers that need no comparison in the proxy.
fn answering(setup: &Setup) -> Client {
    let mut client = start(setup);
    for text in ANSWERED {
        assert!(is_answered(&mut client, text), "{text}");
    }
    client
}

#[test]
fn texts_of_other_bytes_are_one_by_a_nondeterministic_collation() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut setup = Setup::start(RULES);
    setup.is_searched = false;
    let mut client = answering(&setup);
    for text in COMPARED {
        assert!(!is_answered(&mut client, text), "{text}");
    }
}

#[test]
fn the_finisher_compares_no_texts_by_a_collation_that_it_has_not() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut setup = Setup::start_with_finisher(RULES);
    setup.is_searched = false;
    let mut client = answering(&setup);
    for text in COMPARED {
        let given = answer(&mut client, text);
        assert!(given.is_err(), "{text}: {given:?}");
    }
}
