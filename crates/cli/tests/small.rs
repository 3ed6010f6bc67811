//! Databases with no page and with one page, in every command.

mod support;

use support::Place;

/// Arguments after the name of each command.
const KEY: [&str; 2] = ["--key-file", "key"];

#[test]
fn a_file_of_no_page_is_refused_and_left_alone() {
    let place = Place::new();
    place.key("key");
    place.write("empty.db", b"");
    for arguments in [
        ["encrypt", "empty.db", "out.db"].as_slice(),
        ["decrypt", "empty.db", "out.db"].as_slice(),
        ["backup", "empty.db", "out.db"].as_slice(),
        ["verify", "empty.db"].as_slice(),
        ["rekey", "empty.db"].as_slice(),
    ] {
        let said = place.run(&[arguments, &KEY].concat()).failed();
        assert!(said.contains("empty.db"), "{arguments:?}: {said}");
        assert!(!place.exists("out.db"), "{arguments:?}");
        assert_eq!(place.bytes("empty.db").len(), 0, "{arguments:?}");
    }
    assert!(place.left_over().is_empty());
}

#[test]
fn a_database_of_one_page_goes_through_every_command() {
    let place = Place::new();
    place.key("key");
    let connection = rusqlite::Connection::open(place.path("plain.db")).unwrap();
    connection.execute_batch("PRAGMA user_version=7").unwrap();
    let run = |arguments: &[&str]| place.run(&[arguments, &KEY].concat()).fine();
    run(&["encrypt", "plain.db", "a.db"]);
    assert!(place.bytes("a.db").starts_with(b"Strongroom db"));
    run(&["verify", "a.db"]);
    place.run(&["inspect", "a.db"]).fine();
    run(&["backup", "a.db", "copy.db"]);
    run(&["rekey", "a.db"]);
    run(&["verify", "a.db"]);
    for (name, back) in [("a.db", "back.db"), ("copy.db", "again.db")] {
        run(&["decrypt", name, back]);
        let connection = rusqlite::Connection::open(place.path(back)).unwrap();
        let version = connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0));
        assert_eq!(version.unwrap(), 7);
    }
}
