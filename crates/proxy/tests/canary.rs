//! The search for plaintexts finds what is there: else it would prove nothing.

use crate::common::Setup;
use crate::common::leaks;

const RULES: &str = "[columns.person]\nname = { type = \"text\" }\n";

#[test]
fn a_leak_is_found_on_the_wire_and_in_every_kind_of_file() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    // A table without a rule: what is written there passes, and is a leak if it was to be hidden.
    let planted = "PLANTED-7f3a";
    let said = setup.psql(&format!(
        "CREATE TABLE plain (name text DEFAULT '{planted}'); \
         INSERT INTO plain VALUES ('{planted}')"
    ));
    assert_eq!(said, "");
    let places = leaks::find(&setup.server, &setup.tap, &[planted]);
    for place in ["the wire", "/log", "/data/base/", "/data/pg_wal/"] {
        let is_found = places.iter().any(|found| found.contains(place));
        assert!(is_found, "not in {place}: {places:?}");
    }
    if server_testkit::Postgres::has_library("pg_stat_statements") {
        let is_found = places
            .iter()
            .any(|found| found.ends_with("pg_stat_statements"));
        assert!(is_found, "{places:?}");
    }
}

#[test]
fn a_leak_is_found_in_other_forms() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let word = "PLANTED-81bc";
    let hex: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
    let said = setup.psql(&format!("SELECT '\\x{hex}'::bytea IS NULL"));
    assert_eq!(said, "f\n");
    assert!(!leaks::find(&setup.server, &setup.tap, &[word]).is_empty());
    // What was never sent is nowhere.
    assert_eq!(
        leaks::find(&setup.server, &setup.tap, &["PLANTED-0000"]),
        Vec::<String>::new()
    );
}

#[test]
fn protected_values_are_in_none_of_the_places() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let script = "CREATE TABLE person (name text); \
                  INSERT INTO person VALUES ('CANARYone')";
    // One statement at a time: the proxy must see the table before it is used.
    for statement in script.split("; ") {
        assert_eq!(setup.psql(statement), "");
    }
    let mut client = setup.connect();
    client
        .execute("INSERT INTO person VALUES ($1)", &[&"CANARYtwo"])
        .expect("inserted");
    client
        .execute("UPDATE person SET name = $1", &[&"CANARYtri"])
        .expect("changed");
    // Computed by the proxy, or refused.
    let _ = client.execute(
        "SELECT 1 FROM person WHERE name || $1 = 'CANARYfor'",
        &[&"x"],
    );
    drop(client);
    // What the server makes of the values by itself: statistics, and tables written anew.
    for statement in ["ANALYZE", "VACUUM FULL person"] {
        let done = setup.server.connect().batch_execute(statement);
        done.expect("the superuser may");
    }
    assert_eq!(
        setup.psql("SELECT name FROM person"),
        "CANARYtri\nCANARYtri\n"
    );
    setup.assert_unseen(&["CANARYone", "CANARYtwo", "CANARYtri", "CANARYfor"]);
}
