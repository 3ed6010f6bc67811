//! Values of protected columns are in nothing that the server keeps: its log of all statements,
//! tables, redo and undo logs, and binary log.

use std::fs;
use std::path::Path;

use mysql::Value;
use mysql::prelude::Queryable as _;

use wire_mysql::Capabilities;
use wire_mysql::bulk::{Bulk, Item};
use wire_mysql::value::FieldType;

use super::bulk::{execute, prepare, types};
use super::lab::{Lab, both};
use crate::mysql::raw::Raw;
use crate::mysql::setup::contain;

/// Parts of all values, as they would be on the disk.
const CANARIES: [&[u8]; 5] = [
    b"kanari",
    b"42424242",
    b"1977-07",
    b"9182736",
    b"4242424207",
];

pub fn search(folder: &Path) {
    for entry in fs::read_dir(folder).expect("the folder of the server") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            search(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            for canary in CANARIES {
                let name = String::from_utf8_lossy(canary);
                assert!(!contain(&bytes, canary), "{name} is in {}", path.display());
            }
        }
    }
}

/// Sends rows by a bulk execution, to a server that has it.
fn send_rows(lab: &Lab) {
    let mut client = Raw::connect(lab.proxy.port(), "shop", Capabilities::BULK);
    if !client.capabilities.has(Capabilities::BULK) {
        return;
    }
    let insert = "INSERT INTO person (name, number) VALUES (?, ?)";
    let text = |text: &'static str| Item::Value(wire_mysql::value::Value::Bytes(text.as_bytes()));
    let rows = vec![
        vec![text("kanari"), text("4242424207001")],
        vec![text("kanari of a row"), text("4242424207002")],
    ];
    let bulk = Bulk {
        statement: prepare(&mut client, insert).expect(insert),
        flags: 0,
        types: types(&[FieldType::VAR_STRING; 2]),
        rows,
    };
    assert!(execute(&mut client, &bulk).starts_with("2 "), "{insert}");
}

#[test]
fn no_value_reaches_the_server_in_clear() {
    for mut lab in both() {
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let client = &mut lab.ours;
        let insert = "INSERT INTO person (id, name, number, born, paid, seen, note, face) VALUES \
                      (1, 'kanari', 4242424201, '1977-07-17', 9182736.7, '1977-07-17 01:02:03', \
                      'kanari', 'kanari')";
        client.query_drop(insert).expect(insert);
        let insert = "INSERT INTO person (id, name, number, born, note, face) VALUES (?, ?, ?, \
                      ?, ?, ?)";
        let values = vec![
            Value::Int(2),
            text("kanari"),
            text("4242424202"),
            text("1977-07-18"),
            text(&"kanari".repeat(10_000)),
            text("kanari"),
        ];
        client.exec_drop(insert, values).expect(insert);
        let update = "UPDATE person SET note = ?, paid = 9182736.71 WHERE number = ?";
        let values = vec![text("kanari again"), Value::Int(4_242_424_207)];
        client.exec_drop(update, values).expect(update);
        for query in [
            "SELECT * FROM person WHERE number = 4242424201 OR born = '1977-07-17'",
            "DELETE FROM person WHERE number = 4242424202",
            "INSERT INTO card (number) VALUES (4242424201)",
            "UPDATE person p JOIN card c ON p.number = c.number SET p.note = 'kanari', c.number = \
             4242424209 WHERE c.number = 4242424201",
            "UPDATE person SET paid = paid + 9182736.5 WHERE id = 1 AND city <> 'q'",
            "INSERT INTO person (name, note) SELECT 'kanari', 'kanari'",
            "REPLACE INTO person (id, name) VALUES (17, 'kanari')",
            "INSERT IGNORE INTO person (id, name) VALUES (17, 'kanari ignored'), (18, 'kanari')",
            "INSERT INTO person (id, name) VALUES (17, 'kanari') ON DUPLICATE KEY UPDATE name = \
             'kanari again', number = 4242424207, born = '1977-07-17'",
        ] {
            client.query_drop(query).expect(query);
        }
        send_rows(&lab);
        let client = &mut lab.ours;
        // What is refused is not sent either.
        for refused in [
            "SELECT * FROM person WHERE name = 'kanari'",
            "INSERT INTO person (name) VALUES ('kanari that is much too long')",
            "SELECT id FROM person WHERE number > 4242424201",
            "REPLACE INTO person (name) VALUES ('kanari that is much too long')",
            "INSERT IGNORE INTO person (name) VALUES ('kanari that is much too long')",
            "INSERT INTO person (id, name) VALUES (1, 'kanari') ON DUPLICATE KEY UPDATE city = \
             CONCAT(VALUES(name), 'kanari')",
            "INSERT INTO person (name) VALUES (concat('kanari', 'x'))",
            "CREATE TRIGGER t BEFORE INSERT ON person FOR EACH ROW SET NEW.name = 'kanari'",
            "CREATE VIEW v AS SELECT id FROM person WHERE name = 'kanari'",
            "CREATE PROCEDURE p() INSERT INTO person (name) VALUES ('kanari')",
            "PREPARE s FROM 'INSERT INTO person (name) VALUES (''kanari'')'",
            "SELECT id FROM person WHERE number = 4242424201 INTO @v",
        ] {
            client.query_drop(refused).expect_err(refused);
            client.exec_drop(refused, ()).expect_err(refused);
        }
        let found: Option<(String, String)> = client
            .query_first("SELECT name, note FROM person WHERE id = 1")
            .expect("a row");
        assert_eq!(found, Some(("kanari".to_owned(), "kanari".to_owned())));
        let own = fs::read(lab.log()).expect("the log");
        let is_own = contain(&own, b"INSERT INTO `shop`.`person`");
        assert!(is_own, "the log is another");
        search(lab.server.folder());
    }
}

#[test]
fn a_value_that_comes_in_pieces_is_sealed() {
    for mut lab in both() {
        let client = &mut lab.ours;
        client
            .query_drop("INSERT INTO person (id, name, number) VALUES (7, 'a', 4242424201)")
            .expect("a row");
        // The driver sends all texts by COM_STMT_SEND_LONG_DATA, if one has more than 16 MiB.
        let query = "SELECT id FROM person WHERE number = ? AND city <> ?";
        let large = "x".repeat((16 << 20) + 100);
        for (number, wanted) in [("4242424201", Some(7)), ("4242424202", None)] {
            let found: Option<u32> = client.exec_first(query, (number, &large)).expect(query);
            assert_eq!(found, wanted);
        }
        search(lab.server.folder());
    }
}
