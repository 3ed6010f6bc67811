//! The two statements whose messages `ARCHITECTURE.md` shows, on a real server: what it says there
//! is what goes over the wire.

use std::fmt::Write as _;

use crate::common::Setup;
use crate::common::wire::{SYNC, Session, put};
use wire_postgres::Header;
use wire_postgres::frontend::write_parse;

const RULES: &str = "[columns.person]\nname = { type = \"text\", mode = \"equality\" }\n\
                     salary = { type = \"numeric(10,2)\" }\n";

/// Describe of the statement without a name.
const DESCRIBE: &[u8] = b"D\0\0\0\x06S\0";

/// Messages as lines: their kind, their size with kind and length, and what is in clear of Parse.
fn lines(way: &str, mut messages: &[u8]) -> String {
    let mut lines = String::new();
    while let Some(Header { kind, size }) = Header::read(messages, usize::MAX).expect("messages") {
        let name = match (way.starts_with("client") || way.ends_with("server"), kind) {
            (true, b'P') => "Parse",
            (true, b'B') => "Bind",
            (true, b'D') => "Describe",
            (true, b'E') => "Execute",
            (true, b'S') => "Sync",
            (false, b'1') => "ParseComplete",
            (false, b'2') => "BindComplete",
            (false, b't') => "ParameterDescription",
            (false, b'T') => "RowDescription",
            (false, b'D') => "DataRow",
            (false, b'n') => "NoData",
            (false, b'C') => "CommandComplete",
            (false, b'Z') => "ReadyForQuery",
            (_, kind) => panic!("{}", kind as char),
        };
        write!(lines, "{way}  {name:<20}{size:>4}").expect("a String takes everything");
        if name == "Parse" {
            let text = messages[5..size].split(|byte| *byte == 0).nth(1);
            let text = String::from_utf8_lossy(text.expect("name and text")).into_owned();
            write!(lines, "  {text}").expect("a String takes everything");
        }
        lines.push('\n');
        messages = &messages[size..];
    }
    lines
}

/// The messages of a statement, on all four ways.
fn trace(setup: &Setup, client: &mut Session, text: &str, values: &[&str]) -> String {
    let mut asked = Vec::new();
    write_parse(b"", text.as_bytes(), std::iter::empty(), &mut asked);
    asked.extend_from_slice(DESCRIBE);
    put(b"", values, &mut asked);
    asked.extend_from_slice(SYNC);
    // The first time the schema is read, and the plan is made.
    client.send(&asked);
    client.messages();
    if text.starts_with("INSERT") {
        let mut direct = setup.server.connect();
        direct.batch_execute("DELETE FROM person").expect("deleted");
    }
    let before = setup.tap.sent().len();
    setup.tap.keep_answers();
    client.send(&asked);
    let mut told = Vec::new();
    for (kind, body) in client.messages() {
        told.push(kind);
        told.extend((body.len() as u32 + 4).to_be_bytes());
        told.extend(body);
    }
    [
        lines("client > proxy ", &asked),
        lines("proxy  > server", &setup.tap.sent()[before..]),
        lines("server > proxy ", &setup.tap.answered()),
        lines("proxy  > client", &told),
    ]
    .concat()
}

#[test]
fn the_messages_of_a_statement_are_as_the_map_of_the_project_shows_them() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = Session::connect(setup.proxy.address.port());
    client.query("CREATE TABLE person (id integer PRIMARY KEY, name text, salary numeric(10,2))");
    let map = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let map = std::fs::read_to_string(map).expect("the map of the project");
    let insert = "INSERT INTO person (id, name, salary) VALUES ($1, $2, $3)";
    let inserted = trace(&setup, &mut client, insert, &["1", "CANARY", "1234.50"]);
    let select = "SELECT id, salary FROM person WHERE name = $1";
    let selected = trace(&setup, &mut client, select, &["CANARY"]);
    for traced in [&inserted, &selected] {
        assert!(
            map.contains(traced),
            "ARCHITECTURE.md shows other messages than\n{inserted}\n{selected}"
        );
    }
}
