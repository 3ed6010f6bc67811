//! What people and files give the shell: statements, words, values, delimited text.

use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};
use shell::import::{Format, ImportOptions, import};
use shell::scanner::{Scanner, Span};

use crate::input::Input;

/// Takes a text, and reads it in each of these ways.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = input.byte();
    let rest = input.rest();
    let text = String::from_utf8_lossy(rest);
    statements(&text);
    for line in text.lines() {
        for word in shell::words::split(line) {
            let _ = shell::words::nearest(&word, ["encrypt", "decrypt", "tables"]);
        }
        let remembered = shell::secrecy::may_be_remembered(line);
        assert!(
            !(remembered && shell::secrecy::gives_key(line).unwrap_or(false)),
            "a secret is remembered"
        );
    }
    let Ok(connection) = Connection::open_in_memory() else {
        return;
    };
    values(&connection, rest, &text);
    delimited(&connection, how, rest);
}

/// Line by line or all at once: the same statements, in order and within the text.
fn statements(text: &str) {
    let at_once = spans(&mut Scanner::new(), text);
    let mut end = 0;
    for span in &at_once {
        assert!(end <= span.first_code && span.first_code <= span.end);
        assert!(
            text[..span.end].ends_with(';'),
            "a statement ends with its semicolon"
        );
        end = span.end;
    }
    let mut scanner = Scanner::new();
    let (mut grown, mut by_line) = (String::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        grown.push_str(line);
        by_line.extend(spans(&mut scanner, &grown));
    }
    assert_eq!(at_once, by_line);
}

fn spans(scanner: &mut Scanner, text: &str) -> Vec<Span> {
    std::iter::from_fn(|| scanner.next_statement(text)).collect()
}

/// SQLite evaluates what the shell writes for a value to that value.
fn values(connection: &Connection, bytes: &[u8], text: &str) {
    let number = i64::from_le_bytes(Input::new(bytes).array());
    let real = f64::from_bits(number as u64);
    let mut cases = vec![
        Value::Integer(number),
        Value::Text(text.to_owned()),
        Value::Blob(bytes.to_vec()),
    ];
    if !real.is_nan() {
        cases.push(Value::Real(real));
    }
    for value in cases {
        let written = shell::quote::value(ValueRef::from(&value));
        let read = connection
            .query_row(&format!("SELECT {written}"), [], |row| {
                row.get::<_, Value>(0)
            })
            .unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(read, value, "{written}");
    }
    let name = text.replace('\0', "");
    let sql = format!("SELECT 1 AS {}", shell::quote::identifier_if_needed(&name));
    let statement = connection.prepare(&sql);
    let statement = statement.unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(statement.column_name(0), Ok(&*name));
}

fn delimited(connection: &Connection, how: u8, bytes: &[u8]) {
    let format = match how & 3 {
        0 | 1 => Format::Csv(b','),
        2 => Format::Tabs,
        _ => Format::Ascii,
    };
    let options = ImportOptions {
        table: "t".to_owned(),
        schema: None,
        format,
        skip: u64::from(how >> 2 & 1),
    };
    let count = "SELECT count(*) FROM sqlite_schema WHERE name = 't'";
    match import(connection, bytes, &options) {
        Ok(report) => {
            let rows: i64 = connection
                .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
                .expect("the table is there");
            assert_eq!(u64::try_from(rows), Ok(report.rows));
        }
        Err(_) => {
            let tables: i64 = connection
                .query_row(count, [], |row| row.get(0))
                .expect("the schema can be read");
            assert_eq!(tables, 0, "all of it or nothing");
        }
    }
    assert!(connection.is_autocommit(), "the import has ended");
}
