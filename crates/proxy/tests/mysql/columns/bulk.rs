//! Bulk execution of MariaDB: many rows of values for a prepared statement in one command.

use server_testkit::mysql::Brand;
use wire_mysql::Capabilities;
use wire_mysql::answer::{self, ErrorPacket, OkPacket, Prepared};
use wire_mysql::bulk::{Bulk, Item};
use wire_mysql::command::{kind, write_text};
use wire_mysql::execute::ParameterType;
use wire_mysql::value::{FieldType, Value};

use super::inserted::same;
use super::lab::Lab;
use crate::mysql::raw::Raw;

const ROWS: &str = "SELECT id, name, number, whole, paid, city FROM person ORDER BY id";

pub fn given(value: Value<'_>) -> Item<'_> {
    Item::Value(value)
}

pub fn whole(number: i64) -> Item<'static> {
    Item::Value(Value::LongLong(number as u64))
}

pub fn text(text: &str) -> Item<'_> {
    Item::Value(Value::Bytes(text.as_bytes()))
}

const NUMBER: FieldType = FieldType::LONGLONG;
const TEXT: FieldType = FieldType::VAR_STRING;
pub const NULL: Item<'static> = Item::Value(Value::Null);

/// Prepares a text. None: it is refused.
pub fn prepare(client: &mut Raw, statement: &str) -> Option<u32> {
    let mut command = Vec::new();
    write_text(kind::STMT_PREPARE, statement.as_bytes(), &mut command);
    client.send(&command);
    let (_, said) = client.packet();
    let prepared = Prepared::read(&said).ok()?;
    for count in [prepared.parameters, prepared.columns] {
        if count > 0 {
            assert_eq!(client.packets().len(), usize::from(count) + 1);
        }
    }
    Some(prepared.statement)
}

/// What is said of rows for a statement that is prepared.
pub fn execute(client: &mut Raw, bulk: &Bulk<'_>) -> String {
    let mut command = Vec::new();
    bulk.write(&mut command);
    client.send(&command);
    let (_, said) = client.packet();
    match said.first() {
        Some(&answer::OK) => {
            let ok = OkPacket::read(&said, client.capabilities).expect("OK");
            let info = String::from_utf8_lossy(ok.info);
            let (count, id) = (ok.affected_rows, ok.last_insert_id);
            format!("{count} {id} {} {info}", ok.warnings)
        }
        Some(&answer::ERR) => {
            let error = ErrorPacket::read(&said).expect("an error");
            format!("{} {}", error.code, String::from_utf8_lossy(error.message))
        }
        _ => {
            // Definitions, and rows.
            let columns = client.packets().len() - 1;
            format!("{columns} columns, {} rows", client.packets().len() - 1)
        }
    }
}

pub fn types(kinds: &[FieldType]) -> Vec<ParameterType> {
    let kinds = kinds.iter().map(|kind| ParameterType {
        kind: *kind,
        is_unsigned: false,
    });
    kinds.collect()
}

/// Runs a statement for rows on protected and on plain tables.
pub fn both_say(
    clients: &mut [Raw; 2],
    statement: &str,
    kinds: &[FieldType],
    rows: &[&[Item<'_>]],
) {
    let [ours, theirs] = clients.each_mut().map(|client| {
        let prepared = prepare(client, statement).expect(statement);
        let bulk = Bulk {
            statement: prepared,
            flags: 0,
            types: types(kinds),
            rows: rows.iter().map(|row| row.to_vec()).collect(),
        };
        execute(client, &bulk)
    });
    let code = |said: &str| said.split(' ').next().map(str::to_owned);
    match ours.contains("strongroom: ") {
        true => assert_eq!(code(&ours), code(&theirs), "{statement}: {ours}"),
        false => assert_eq!(ours, theirs, "{statement}"),
    }
}

#[test]
fn many_rows_are_sealed_and_written_at_once() {
    let Some(mut lab) = Lab::start(Brand::MariaDb) else {
        return;
    };
    let ports = [(lab.proxy.port(), "shop"), (lab.server.port(), "twin")];
    let mut clients = ports.map(|(port, name)| Raw::connect(port, name, Capabilities::BULK));
    insert(&mut lab, &mut clients);
    change(&mut lab, &mut clients);
    compute(&mut lab, &mut clients);
    for (statement, rows) in [
        (
            "INSERT INTO card (number, kind) VALUES (?, ?) RETURNING kind, number",
            [[whole(4_242_424_207), text("a")], [whole(2), text("b")]],
        ),
        (
            "INSERT INTO plain VALUES (?, ?)",
            [[whole(1), text("a")], [whole(2), NULL]],
        ),
    ] {
        let rows = [&rows[0][..], &rows[1]];
        both_say(&mut clients, statement, &[NUMBER, TEXT], &rows);
    }
    for query in [
        "SELECT number, kind FROM card ORDER BY kind",
        "SELECT * FROM plain",
    ] {
        same(&mut lab, query, vec![]);
    }
}

fn insert(lab: &mut Lab, clients: &mut [Raw; 2]) {
    let insert = "INSERT INTO person (id, name, number, paid, city) VALUES (?, ?, ?, ?, ?)";
    let kinds = [NUMBER, TEXT, NUMBER, TEXT, TEXT];
    let row = |id, name, number, city| [whole(id), text(name), number, text("1.25"), city];
    let first = [
        row(1, "canary", whole(4_242_424_201), text("a")),
        row(2, "canary two", whole(4_242_424_202), Item::Default),
        row(3, "", NULL, NULL),
    ];
    let rows = |rows: &[[Item<'static>; 5]]| rows.to_vec();
    for (statement, kinds, rows) in [
        (insert, &kinds[..], rows(&first)),
        (
            insert,
            &kinds,
            rows(&[
                row(4, "b", whole(4), text("b")),
                row(5, "c", whole(4_242_424_202), text("c")),
                row(6, "d", whole(6), text("d")),
            ]),
        ),
        (
            "INSERT IGNORE INTO person (id, name, number, paid, city) VALUES (?, ?, ?, ?, ?)",
            &kinds,
            rows(&[
                row(7, "b", whole(7), text("b")),
                row(8, "c", whole(4_242_424_202), text("c")),
            ]),
        ),
        (
            "REPLACE INTO person (id, name, number, paid, city) VALUES (?, ?, ?, ?, ?)",
            &kinds,
            rows(&[
                row(7, "b", whole(8), text("b")),
                row(9, "c", whole(9), text("c")),
            ]),
        ),
    ] {
        let rows: Vec<&[Item<'_>]> = rows.iter().map(|row| &row[..]).collect();
        both_say(clients, statement, kinds, &rows);
        same(lab, ROWS, vec![]);
    }
}

fn change(lab: &mut Lab, clients: &mut [Raw; 2]) {
    for (statement, kinds, rows) in [
        (
            "UPDATE person SET name = ?, paid = 7.5 WHERE number = ?",
            &[TEXT, NUMBER][..],
            &[
                &[text("canary again"), whole(4_242_424_201)][..],
                &[text("none"), whole(77)],
                &[text("x"), whole(9)],
            ][..],
        ),
        (
            "UPDATE person SET city = ?, number = ? WHERE id = ?",
            &[TEXT, NUMBER, NUMBER],
            &[
                &[Item::Ignored, whole(100), whole(1)],
                &[Item::Default, whole(101), whole(2)],
            ],
        ),
        (
            "INSERT INTO person (name, whole) VALUES (?, ?) ON DUPLICATE KEY UPDATE whole = 5",
            &[TEXT, NUMBER],
            &[&[text("y"), whole(1)], &[text("z"), whole(2)]],
        ),
    ] {
        both_say(clients, statement, kinds, rows);
        same(lab, ROWS, vec![]);
    }
}

/// New values of protected columns from old ones, a row at a time; and rows that go.
fn compute(lab: &mut Lab, clients: &mut [Raw; 2]) {
    for (statement, kinds, rows) in [
        (
            "UPDATE person SET whole = whole + ?, city = ? WHERE id = ?",
            &[NUMBER, TEXT, NUMBER][..],
            &[
                &[whole(5), text("p"), whole(10)][..],
                &[whole(-5), text("q"), whole(11)],
                &[NULL, text("r"), whole(10)],
                &[whole(1), text("s"), whole(999)],
                &[whole(1), text("t"), whole(11)],
            ][..],
        ),
        (
            "UPDATE person SET whole = whole + ?, city = 'u' WHERE id = ?",
            &[NUMBER, NUMBER],
            &[
                &[whole(5), whole(11)],
                &[whole(2_147_483_647), whole(11)],
                &[whole(7), whole(11)],
            ],
        ),
        (
            "DELETE FROM person WHERE number = ?",
            &[NUMBER],
            &[&[whole(100)], &[whole(55)], &[NULL], &[whole(9)]],
        ),
    ] {
        both_say(clients, statement, kinds, rows);
        same(lab, ROWS, vec![]);
    }
}

#[test]
fn what_cannot_be_done_for_many_rows_is_refused() {
    let Some(lab) = Lab::start(Brand::MariaDb) else {
        return;
    };
    let mut client = Raw::connect(lab.proxy.port(), "shop", Capabilities::BULK);
    let kinds = [FieldType::VAR_STRING];
    for (statement, row) in [
        ("INSERT INTO person (name) VALUES (?)", Item::Default),
        ("UPDATE person SET name = ?", Item::Ignored),
        (
            "SELECT name FROM person WHERE city = ? ORDER BY name",
            text("x"),
        ),
        (
            "INSERT INTO person (name) VALUES (?)",
            text("longer than twenty letters"),
        ),
        ("INSERT IGNORE INTO person (name) VALUES (?)", NULL),
        ("INSERT INTO person (number) VALUES (?)", text("1abc")),
    ] {
        // The one that was prepared last.
        let bulk = Bulk {
            statement: u32::MAX,
            flags: 0,
            types: types(&kinds),
            rows: vec![vec![given(Value::Bytes(b"x"))], vec![row]],
        };
        let said = match prepare(&mut client, statement) {
            Some(_) => execute(&mut client, &bulk),
            None => "strongroom: it is not prepared".to_owned(),
        };
        assert!(said.contains("strongroom: "), "{statement}: {said}");
    }
    let bulk = Bulk {
        statement: 999,
        flags: 0,
        types: types(&kinds),
        rows: vec![vec![NULL]],
    };
    let said = execute(&mut client, &bulk);
    assert!(said.starts_with("1243 "), "{said}");
    client.send(&[kind::PING]);
    assert_eq!(client.packet().1.first(), Some(&answer::OK));
}
