//! Values are stored, compared and written as MariaDB and MySQL do it.
#![cfg(unix)]

use column_value::LogicalType;
use mysql::prelude::Queryable as _;
use mysql::{Conn, OptsBuilder};
use semantics_mysql::{Given, check_ending, matched, stored, text};
use server_testkit::mysql::{Brand, MySql as Server};

/// A type as rules name it, and as the server does.
const TYPES: &[(&str, &str)] = &[
    ("smallint", "SMALLINT"),
    ("integer", "INT"),
    ("bigint", "BIGINT"),
    ("numeric(10,2)", "DECIMAL(10,2)"),
    ("numeric(38,10)", "DECIMAL(38,10)"),
    ("numeric(3,3)", "DECIMAL(3,3)"),
    ("double precision", "DOUBLE"),
    ("real", "FLOAT"),
    ("varchar(5)", "VARCHAR(5)"),
    ("text", "TEXT"),
    ("bytea", "BLOB"),
    ("date", "DATE"),
    ("timestamp(0)", "DATETIME"),
    ("timestamp(3)", "DATETIME(3)"),
    ("timestamp(6)", "DATETIME(6)"),
];

/// Constants as SQL has them: numbers, and texts in quotes. Those behind `:` are read for the types
/// that have the word in their name; the others may be refused.
const CONSTANTS: &[(&str, &str)] = &[
    ("0", "int numeric"),
    ("-0", "int numeric"),
    ("5", "int"),
    ("-5", "int"),
    ("'5'", "int char text bytea"),
    ("'-5'", "int char text"),
    ("' 5'", "char text"),
    ("'5 '", "char text"),
    ("'+5'", "char text"),
    ("5.4", "int"),
    ("5.5", "int"),
    ("-5.5", "int"),
    ("'5.5'", "int char text"),
    ("'5.49'", "int char text"),
    ("0.5", "int numeric"),
    ("0.001", "numeric"),
    ("0.0005", "numeric"),
    ("0.9995", ""),
    ("1.255", "numeric(10,2)"),
    ("1.245", "numeric(10,2)"),
    ("-1.255", "numeric(10,2)"),
    ("'1.255'", "numeric(10,2) char text"),
    ("1.005", "numeric(10,2)"),
    ("32767", "int"),
    ("32768", "integer bigint"),
    ("-32768", "int"),
    ("-32769", "integer bigint"),
    ("2147483647", "integer bigint"),
    ("2147483648", "bigint"),
    ("9223372036854775807", "bigint"),
    ("9223372036854775808", ""),
    ("-9223372036854775808", "bigint"),
    ("'9007199254740993'", "bigint"),
    ("99999999.99", "numeric(10,2)"),
    ("99999999.995", ""),
    ("100000000", "numeric(38,10)"),
    ("1234567890123456789012345678.0123456789", "numeric(38,10)"),
    ("1e2", "double"),
    ("4.5e0", "double"),
    ("-15.4E-1", "double"),
    ("0.1e+1", "double"),
    ("1.7976931348623157e308", "double"),
    ("2.2250738585072014e-308", "double"),
    ("123456789012345678901234567890e-40", "double"),
    ("0e5", "double"),
    ("-0e0", ""),
    ("-0.0", "double"),
    ("5e-324", "double"),
    ("1e309", ""),
    ("1e-400", ""),
    ("'1e2'", "char text"),
    ("'-2.5e3'", "text double"),
    ("''", "char text bytea"),
    ("'abcde'", "char text bytea"),
    ("'abcdef'", "text"),
    ("'abcde  '", "char text"),
    ("'ä€😀zz'", "char text bytea"),
    ("'1abc'", "char text"),
    ("'2024-02-29'", "date timestamp"),
    ("'2023-02-29'", ""),
    ("'2024-2-9'", ""),
    ("'20240229'", ""),
    ("'0001-01-01'", "date timestamp"),
    ("'9999-12-31'", "date timestamp"),
    ("'0000-00-00'", "date timestamp"),
    ("'0000-00-00 00:00:00.000'", "timestamp"),
    ("'0000-00-00 00:00:01'", ""),
    ("'0000-01-01'", ""),
    ("'2024-00-10'", ""),
    ("'2024-02-29 23:59:59'", "timestamp"),
    ("'2024-02-29 23:59:59.250'", "timestamp(3) timestamp(6)"),
    ("'2024-02-29 23:59:59.000'", "timestamp"),
    ("'2024-02-29 23:59:59.123456'", "timestamp(6)"),
    ("'2024-02-29 24:00:00'", ""),
    ("'2024-02-29T23:59:59'", ""),
    ("'1969-12-31 23:59:59.999'", "timestamp(3) timestamp(6)"),
];

/// What must be read: a word stands for the types whose names it is a part of.
fn is_wanted(words: &str, logical: &str) -> bool {
    words
        .split(' ')
        .any(|word| !word.is_empty() && logical.contains(word))
}

fn given(constant: &str) -> Given<'_> {
    match constant.strip_prefix('\'') {
        Some(rest) => Given::Text(rest.strip_suffix('\'').expect("a quote")),
        None => Given::Number(constant),
    }
}

fn connect(brand: Brand) -> Option<(Server, Conn)> {
    if !brand.is_installed() {
        println!("left out: {brand:?} is not installed");
        return None;
    }
    let server = Server::start(brand, &[], &[], "CREATE DATABASE shop;");
    let builder = OptsBuilder::new()
        .user(Some("root"))
        .db_name(Some("shop"))
        .init(vec![
            "SET NAMES utf8mb4",
            "SET sql_mode = 'STRICT_ALL_TABLES'",
        ])
        .socket(Some(server.socket().display().to_string()));
    let connection = Conn::new(builder).expect("the server answers");
    Some((server, connection))
}

/// Texts are compared by their letters, as a rule with a binary collation says.
fn create_table(connection: &mut Conn, declared: &str) {
    for text in [
        "DROP TABLE IF EXISTS t".to_owned(),
        format!(
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v {declared}) CHARSET = utf8mb4 \
             COLLATE = utf8mb4_bin"
        ),
    ] {
        connection.query_drop(&text).expect(&text);
    }
}

fn values_are_those_of_the_server(brand: Brand) {
    let Some((_server, mut connection)) = connect(brand) else {
        return;
    };
    for (name, declared) in TYPES {
        let logical: LogicalType = name.parse().expect("a type");
        create_table(&mut connection, declared);
        let mut values = Vec::new();
        let mut numbers = 1..;
        for (constant, words) in CONSTANTS {
            let ours = stored(given(constant), logical);
            assert!(
                ours.is_ok() || !is_wanted(words, name),
                "{constant} is not read as {name}"
            );
            let Ok(value) = ours else {
                continue;
            };
            let insert = format!("INSERT INTO t (v) VALUES ({constant})");
            connection
                .query_drop(&insert)
                .unwrap_or_else(|error| panic!("{name} {constant}: {error}"));
            let theirs: Option<Vec<u8>> = connection
                .query_first("SELECT v FROM t ORDER BY id DESC LIMIT 1")
                .expect("a row");
            let ours = text(&value, logical).expect("a text");
            assert_eq!(
                Some(String::from_utf8_lossy(&ours)),
                theirs.as_deref().map(String::from_utf8_lossy),
                "{name} {constant}"
            );
            let number = numbers.next().expect("a number");
            match check_ending(&value) {
                Ok(()) => values.push((number, value)),
                // It is not stored where texts are compared.
                Err(_) => {
                    let delete = format!("DELETE FROM t WHERE id = {number}");
                    connection.query_drop(delete).expect("a row");
                }
            }
        }
        for (constant, words) in CONSTANTS {
            let Ok(ours) = matched(given(constant), logical) else {
                let is_compared = !["char", "text", "bytea", "double", "real"]
                    .iter()
                    .any(|own| name.contains(own));
                let is_short = !constant.starts_with('\'') || constant.len() < 12;
                assert!(
                    !is_compared || !is_short || !is_wanted(words, name),
                    "{constant} is not compared as {name}"
                );
                continue;
            };
            let theirs: Vec<usize> = connection
                .query(format!("SELECT id FROM t WHERE v = {constant} ORDER BY id"))
                .expect("rows");
            let equal = values
                .iter()
                .filter(|(_, value)| Some(value) == ours.as_ref());
            let ours: Vec<usize> = equal.map(|(number, _)| *number).collect();
            assert_eq!(ours, theirs, "{name} = {constant}");
        }
    }
}

/// The same numbers in each run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    /// Mostly near a rounded half, or the end of a range.
    fn number(&mut self) -> String {
        let mut text = ["", "-"][self.below(2)].to_owned();
        for _ in 0..=self.below(10) {
            text.push(['0', '9', '3', '2', '7', '6'][self.below(6)]);
        }
        if self.below(3) > 0 {
            text.push('.');
            for _ in 0..=self.below(5) {
                text.push(['0', '4', '5', '9'][self.below(4)]);
            }
        }
        text
    }
}

/// Numbers that do not fit are refused by both, and others are rounded alike.
fn numbers_fit_where_the_server_takes_them(brand: Brand) {
    let Some((_server, mut connection)) = connect(brand) else {
        return;
    };
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for (name, declared) in &TYPES[..6] {
        let logical: LogicalType = name.parse().expect("a type");
        connection
            .query_drop("DROP TABLE IF EXISTS t")
            .expect("a drop");
        // Texts are compared by their letters, as a rule with a binary collation says.
        let table = format!(
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v {declared}) CHARSET = utf8mb4 \
             COLLATE = utf8mb4_bin"
        );
        connection.query_drop(&table).expect("a table");
        for number in 0..400 {
            let digits = random.number();
            let (given, constant) = match number % 2 {
                0 => (Given::Number(&digits), digits.clone()),
                _ => (Given::Text(&digits), format!("'{digits}'")),
            };
            let ours = stored(given, logical);
            let theirs = connection.query_drop(format!("INSERT INTO t (v) VALUES ({constant})"));
            assert_eq!(
                ours.is_ok(),
                theirs.is_ok(),
                "{name} {constant}: {ours:?} {theirs:?}"
            );
            let Ok(value) = ours else {
                continue;
            };
            let theirs: Option<String> = connection
                .query_first("SELECT v FROM t ORDER BY id DESC LIMIT 1")
                .expect("a row");
            let ours = String::from_utf8(text(&value, logical).expect("a text"));
            assert_eq!(ours.ok(), theirs, "{name} {constant}");
        }
    }
}

#[test]
fn numbers_fit_where_mariadb_takes_them() {
    numbers_fit_where_the_server_takes_them(Brand::MariaDb);
}

#[test]
fn numbers_fit_where_mysql_takes_them() {
    numbers_fit_where_the_server_takes_them(Brand::MySql);
}

#[test]
fn values_are_those_of_mariadb() {
    values_are_those_of_the_server(Brand::MariaDb);
}

#[test]
fn values_are_those_of_mysql() {
    values_are_those_of_the_server(Brand::MySql);
}
