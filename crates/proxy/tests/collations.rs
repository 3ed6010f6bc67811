//! Texts that a collation compares otherwise than by their bytes: the answers are those of a plain
//! table, or the statement is refused.

use crate::common::Setup;
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
