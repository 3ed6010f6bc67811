//! What the dialect writes is sent to a real server, which must take it, and answer as for the
//! client's own statement on plain tables.

use std::fmt::Write as _;

use column_value::LogicalType;
use mysql::prelude::Queryable as _;
use mysql::{Conn, OptsBuilder, Params, Value};
use semantics_mysql::{Given, matched, stored};
use server_testkit::mysql::{Brand, MySql as Server};
use sha2::{Digest as _, Sha256};
use sql_plan::{
    ColumnId, Form, Literal, Mode, OutputKind, Piece, Plan, Purpose, Rules, Source, Translated,
};
use sql_rewrite::mysql::MySql;
use sql_rewrite::mysql::schema::{ASKED, build};
use sql_rewrite::{ProtectedColumn, Schema, plan};

const RULES: &str = "
    [columns.\"shop.person\"]
    name = { type = \"varchar(20)\" }
    number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
    born = { type = \"date\", mode = \"equality\" }
    paid = { type = \"decimal(10,2)\" }
    seen = { type = \"timestamp(3)\" }
    note = { type = \"text\" }
    [columns.\"shop.card\"]
    number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
";

const TABLES: [&str; 3] = [
    "CREATE TABLE person (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, number \
     BIGINT UNIQUE, born DATE DEFAULT NULL COMMENT 'it''s', paid DECIMAL(10,2), seen DATETIME(3), \
     note TEXT, city VARCHAR(10) DEFAULT 'a\\\\b', KEY by_birth (born, city)) ENGINE=InnoDB",
    "CREATE TABLE card (number BIGINT NOT NULL, kind CHAR(3), person INT, PRIMARY KEY (number), \
     FOREIGN KEY (person) REFERENCES person (id) ON DELETE CASCADE)",
    "CREATE TABLE plain (id INT PRIMARY KEY, note VARCHAR(20))",
];

/// Statements in their order, with parameters. Their values are canaries or begin with them.
const STATEMENTS: &[(&str, &[&str])] = &[
    (
        "INSERT INTO person (id, name, number, born, paid, seen, note) VALUES (1, 'canary \\'x\\' \
         O''N \\\\ é', 4242424201, '1977-07-17', 77.70, '1977-07-17 07:07:07.777', \"canary\\n\")",
        &[],
    ),
    (
        "INSERT INTO person (id, name, number) VALUES (?, ?, ?), (3, 'canary', NULL)",
        &["2", "canary two", "4242424202"],
    ),
    (
        "INSERT INTO card VALUES (4242424201, 'abc', 1), (4242424209, 'xyz', 2)",
        &[],
    ),
    ("INSERT INTO plain VALUES (1, 'seen'), (2, 'a\\\\b')", &[]),
    ("SELECT * FROM person ORDER BY id", &[]),
    (
        "SELECT p.*, c.kind FROM person AS p LEFT JOIN card c ON c.number = p.number ORDER BY p.id",
        &[],
    ),
    (
        "SELECT id, name FROM shop.person WHERE number = ? AND id > ?",
        &["4242424202", "0"],
    ),
    (
        "SELECT id FROM person WHERE number = '4242424201' OR number IN (4242424202, ?) ORDER BY \
         id",
        &["5"],
    ),
    ("SELECT id FROM person WHERE number <> 4242424201", &[]),
    (
        "SELECT id FROM person WHERE NOT (number = 4242424201) AND city = 'a\\\\b'",
        &[],
    ),
    (
        "SELECT COUNT(*) AS all_of, COUNT(number) AS known FROM person",
        &[],
    ),
    ("SELECT count(*), MAX(id) FROM person", &[]),
    (
        "SELECT id FROM person WHERE number = 4242424201.0 OR number = 4242424202.5",
        &[],
    ),
    (
        "SELECT id FROM person WHERE number IN (424242420100000000000, '4242424202')",
        &[],
    ),
    (
        "INSERT INTO person (id, name, number, paid) VALUES (9, 'canary      six more', \
         '4242424299.4', 77.745)",
        &[],
    ),
    (
        "SELECT name, number, paid FROM person WHERE number = 4242424299",
        &[],
    ),
    ("SELECT id FROM person ORDER BY id LIMIT 1, 2", &[]),
    (
        "SELECT number, COUNT(*) AS c FROM card GROUP BY number HAVING COUNT(*) > 0 LIMIT 5",
        &[],
    ),
    (
        "SELECT DISTINCT born FROM person WHERE born = '1977-07-17' LIMIT 3",
        &[],
    ),
    ("SELECT id FROM person WHERE number IS NULL FOR UPDATE", &[]),
    (
        "SELECT p.id FROM person p JOIN plain USING_ ON USING_.id = p.id WHERE p.id BETWEEN 1 AND \
         2 ORDER BY 1",
        &[],
    ),
    (
        "SELECT id FROM person WHERE city LIKE 'a%' AND id + 1 > 2 - -1 ORDER BY id DESC LIMIT 2 \
         OFFSET 0",
        &[],
    ),
    (
        "UPDATE `person` SET name = \"canary \\\\y\", city = 'b', id = id WHERE number IN \
         (4242424201, 2)",
        &[],
    ),
    (
        "UPDATE person p SET p.number = ?, paid = -77.7 WHERE p.id = 3",
        &["4242424203"],
    ),
    (
        "UPDATE card SET number = 4242424203 WHERE number = 4242424209",
        &[],
    ),
    (
        "SELECT name, paid, p.number FROM person p INNER JOIN card ON card.number = p.number \
         ORDER BY id",
        &[],
    ),
    ("DELETE FROM card WHERE number = 4242424201", &[]),
    (
        "DELETE FROM shop.person WHERE born = '1977-07-17' AND id = 1",
        &[],
    ),
    (
        "SELECT `id`, `name`, `number` # rows\n FROM `person` -- all\n ORDER BY `id`;",
        &[],
    ),
    ("SELECT * FROM card", &[]),
];

const CANARIES: [&str; 5] = ["canary", "42424242", "1977", "77.7", "07:07"];

struct Lab {
    server: Server,
    connection: Conn,
    own: MySql,
}

fn lab(brand: Brand) -> Option<Lab> {
    if !brand.is_installed() {
        println!("left out: {brand:?} is not installed");
        return None;
    }
    let sql = "CREATE DATABASE shop;\nCREATE DATABASE twin;\n";
    let server = Server::start(brand, &[], &[], sql);
    let mut connection = connect(&server, "root");
    let mode: Option<String> = connection.query_first("SELECT @@sql_mode").expect("a mode");
    let own = MySql {
        is_mariadb: brand == Brand::MariaDb,
        version: match brand {
            Brand::MariaDb => 101_100,
            Brand::MySql => 80_015,
        },
        ..MySql::default()
    };
    let own = own
        .with_mode(&mode.expect("one row"))
        .expect("the server's default");
    Some(Lab {
        server,
        connection,
        own,
    })
}

fn connect(server: &Server, user: &str) -> Conn {
    let builder = OptsBuilder::new()
        .user(Some(user))
        // A statement that was prepared for one database is not for the other.
        .stmt_cache_size(0)
        .socket(Some(server.socket().display().to_string()));
    Conn::new(builder).expect("the server answers")
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        other => panic!("{other:?} of a text protocol"),
    }
}

fn schema(connection: &mut Conn, own: MySql) -> Schema {
    let rules = Rules::from_toml(RULES).expect("rules");
    let answers = ASKED.map(|text| {
        let rows: Vec<mysql::Row> = connection.query(text).expect(text);
        rows.into_iter()
            .map(|row| row.unwrap().iter().map(text_of).collect())
            .collect::<Vec<Vec<_>>>()
    });
    build(&rules, &answers, own, Some("shop"))
}

/// Stands for a codec: values keep their lengths, and equal ones are equal where the mode says so.
fn sealed(schema: &Schema, id: ColumnId, text: &str, count: &mut u32) -> Value {
    let column = schema.column(id);
    *count += u32::from(column.mode == Mode::Random);
    let seed = format!(
        "{}/{}/{text}",
        column.domain,
        if column.mode == Mode::Random {
            *count
        } else {
            0
        }
    );
    let mask = Sha256::digest(seed.as_bytes());
    let inner = packed(column.logical, text);
    let layout = column.layout();
    let mut bytes = vec![layout.mode.header()];
    bytes.extend((0..beside(column, inner.len())).map(|at| mask[at % mask.len()]));
    bytes.extend(inner.iter().map(|byte| !byte));
    assert!(
        (layout.size_min()..=layout.size_max().unwrap_or(u64::MAX)).contains(&(bytes.len() as u64))
    );
    Value::Bytes(bytes)
}

/// Bytes between the first one and what is sealed.
fn beside(column: &ProtectedColumn, inner_size: usize) -> usize {
    match column.mode {
        Mode::Random => 24,
        // One block.
        Mode::Equality => 16 - inner_size,
        Mode::Order => panic!("no rule has it"),
    }
}

/// As short as the codec makes it: dates and numbers are binary.
fn packed(logical: LogicalType, text: &str) -> Vec<u8> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    match logical {
        LogicalType::BigInt => text
            .parse::<i64>()
            .expect("a number")
            .to_be_bytes()
            .to_vec(),
        LogicalType::Date => digits
            .parse::<u32>()
            .expect("a date")
            .to_be_bytes()
            .to_vec(),
        LogicalType::Timestamp(_) => digits
            .parse::<u64>()
            .expect("a time")
            .to_be_bytes()
            .to_vec(),
        _ => {
            let mut padded = text.as_bytes().to_vec();
            let size = match logical {
                LogicalType::Numeric(_) => 10,
                _ => (text.len() + 1).next_multiple_of(16),
            };
            padded.resize(size, 0);
            padded
        }
    }
}

fn unpacked(logical: LogicalType, bytes: &[u8]) -> String {
    match logical {
        LogicalType::BigInt => i64::from_be_bytes(bytes.try_into().expect("8 bytes")).to_string(),
        LogicalType::Date => {
            let digits = u32::from_be_bytes(bytes.try_into().expect("4 bytes")).to_string();
            format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..])
        }
        LogicalType::Timestamp(_) => {
            let all = u64::from_be_bytes(bytes.try_into().expect("8 bytes")).to_string();
            let (date, time) = all.split_at(8);
            format!(
                "{}-{}-{} {}:{}:{}.{}",
                &date[..4],
                &date[4..6],
                &date[6..],
                &time[..2],
                &time[2..4],
                &time[4..6],
                &time[6..]
            )
        }
        _ => {
            let text = String::from_utf8(bytes.to_vec()).expect("a text");
            text.trim_end_matches('\0').to_owned()
        }
    }
}

fn opened(schema: &Schema, id: ColumnId, value: &Value) -> Option<String> {
    let Value::Bytes(bytes) = value else {
        assert_eq!(*value, Value::NULL);
        return None;
    };
    let column = schema.column(id);
    let header = column.layout().mode.header();
    assert_eq!(bytes[0], header, "a value that is not sealed");
    let inner_size = if column.logical == LogicalType::Date {
        4
    } else {
        8
    };
    let inner = bytes[1 + beside(column, inner_size)..].iter();
    let inner: Vec<u8> = inner.map(|byte| !byte).collect();
    Some(unpacked(column.logical, &inner))
}

/// The text with `?` for each hole, and what fills them.
fn filled(
    one: &Translated,
    schema: &Schema,
    given: &[&str],
    count: &mut u32,
) -> (String, Vec<Value>) {
    let (mut text, mut values) = (String::new(), Vec::new());
    for piece in &one.template.pieces {
        let number = match piece {
            Piece::Text(part) => {
                text.push_str(part);
                continue;
            }
            Piece::Hole(number) => *number,
        };
        text.push('?');
        let hole = &one.holes[number];
        let value = match &hole.source {
            Source::Parameter(number) => Some(Given::Text(given[*number])),
            Source::Literal(Literal::Text(text)) => Some(Given::Text(text)),
            Source::Literal(Literal::Number(digits)) => Some(Given::Number(digits)),
            Source::Literal(Literal::Null) => None,
            other => panic!("{other:?} fills a hole"),
        };
        values.push(match (value, hole.form) {
            (None, _) => Value::NULL,
            (Some(Given::Text(text) | Given::Number(text)), Form::Plain) => {
                Value::Bytes(text.as_bytes().to_vec())
            }
            (Some(value), Form::Sealed(id, purpose)) => {
                let logical = schema.column(id).logical;
                let value = match purpose {
                    Purpose::Store => stored(value, logical).map(Some),
                    _ => matched(value, logical),
                };
                match value.expect("the planner has read it") {
                    Some(value) => {
                        let text = semantics_mysql::text(&value, logical).expect("a text");
                        let text = String::from_utf8(text).expect("a text");
                        sealed(schema, id, &text, count)
                    }
                    // No value of the column is sealed like this.
                    None => Value::Bytes(vec![column_codec::Mode::Equality.header()]),
                }
            }
            (Some(Given::Bytes(_)), _) | (_, Form::SealedArray(..)) => panic!("no such constant"),
        });
    }
    (text, values)
}

type Rows = Vec<Vec<Option<String>>>;

/// Names and rows of an answer, and how many rows were changed.
fn answer(
    connection: &mut Conn,
    text: &str,
    values: Vec<Value>,
    outputs: &[Option<ColumnId>],
    schema: &Schema,
) -> (Vec<String>, Rows, u64) {
    let values = match values.is_empty() {
        true => Params::Empty,
        false => Params::Positional(values),
    };
    let result = connection.exec_iter(text, values);
    let mut result = result.unwrap_or_else(|error| panic!("{text}: {error}"));
    let names = result
        .columns()
        .as_ref()
        .iter()
        .map(|own| own.name_str().into_owned())
        .collect();
    let rows = result.by_ref().map(|row| {
        let values = row.expect("a row").unwrap();
        let opened = values
            .iter()
            .enumerate()
            .map(|(at, value)| match outputs.get(at) {
                Some(Some(id)) => opened(schema, *id, value),
                _ => shown(value),
            });
        opened.collect()
    });
    let mut rows: Rows = rows.collect();
    // Without it the order is the server's choice.
    if !text.contains("ORDER BY") {
        rows.sort();
    }
    (names, rows, result.affected_rows())
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let mut text = format!("{year:04}-{month:02}-{day:02}");
            if (*hour, *minute, *second, *micros) != (0, 0, 0, 0) {
                write!(
                    text,
                    " {hour:02}:{minute:02}:{second:02}.{:03}",
                    micros / 1000
                )
                .expect("a String");
            }
            Some(text)
        }
        other => text_of(other),
    }
}

fn check_canaries(text: &str, values: &[Value]) {
    let seen = format!("{text} {values:?}");
    let bytes = values.iter().filter_map(text_of);
    for seen in bytes.chain([seen]) {
        for canary in CANARIES {
            assert!(!seen.contains(canary), "{canary} is sent: {text}");
        }
    }
}

fn answers_are_those_of_plain_tables(brand: Brand) {
    let Some(mut lab) = lab(brand) else {
        return;
    };
    let own = lab.own;
    for text in TABLES {
        lab.connection.query_drop("USE twin").expect("a database");
        lab.connection.query_drop(text).expect(text);
        let schema = schema(&mut lab.connection, own);
        lab.connection.query_drop("USE shop").expect("a database");
        let planned =
            plan(text, &schema).unwrap_or_else(|refusal| panic!("{text}: {}", refusal.message));
        let sent = match &planned[0].plan {
            Plan::One(one, _) => filled(one, &schema, &[], &mut 0).0,
            Plan::Pass(_) => text.to_owned(),
            other => panic!("{text}: {other:?}"),
        };
        lab.connection
            .query_drop(&sent)
            .unwrap_or_else(|error| panic!("{sent}: {error}"));
    }
    let schema = schema(&mut lab.connection, own);
    assert_eq!(schema.unfit, []);
    let mut count = 0;
    for (text, given) in STATEMENTS {
        lab.connection.query_drop("USE twin").expect("a database");
        let values = given
            .iter()
            .map(|text| Value::Bytes(text.as_bytes().to_vec()));
        let theirs = answer(
            &mut lab.connection,
            &text.replace("shop.", "twin."),
            values.collect(),
            &[],
            &schema,
        );
        lab.connection.query_drop("USE shop").expect("a database");
        let planned =
            plan(text, &schema).unwrap_or_else(|refusal| panic!("{text}: {}", refusal.message));
        let (sent, values, outputs) = match &planned[0].plan {
            Plan::One(one, _) => {
                let (sent, values) = filled(one, &schema, given, &mut count);
                let outputs = one.outputs.iter().map(|output| match output.kind {
                    OutputKind::Sealed(id) => Some(id),
                    OutputKind::Plain => None,
                    OutputKind::Gathered(..) => panic!("gathered"),
                });
                (sent, values, outputs.collect())
            }
            Plan::Pass(_) => (
                (*text).to_owned(),
                given
                    .iter()
                    .map(|text| Value::Bytes(text.as_bytes().to_vec()))
                    .collect(),
                Vec::new(),
            ),
            other => panic!("{text}: {other:?}"),
        };
        check_canaries(&sent, &values);
        let ours = answer(&mut lab.connection, &sent, values, &outputs, &schema);
        assert_eq!(ours, theirs, "{text}\n{sent}");
    }
}

#[test]
fn mariadb_takes_what_is_written_for_it() {
    answers_are_those_of_plain_tables(Brand::MariaDb);
}

#[test]
fn mysql_takes_what_is_written_for_it() {
    answers_are_those_of_plain_tables(Brand::MySql);
}

/// Triggers are shown to accounts with a privilege only. What may have some is refused.
fn tables_with_hidden_triggers_are_refused(brand: Brand) {
    let Some(mut lab) = lab(brand) else {
        return;
    };
    let own = lab.own;
    let root = &mut lab.connection;
    root.query_drop("USE shop").expect("a database");
    for text in [
        "CREATE TABLE card (number VARBINARY(17))",
        "CREATE TABLE plain (id INT PRIMARY KEY, note VARCHAR(20))",
        "CREATE TABLE other (id INT)",
        "CREATE TABLE third (id INT, number BIGINT)",
        "CREATE TRIGGER hidden AFTER INSERT ON other FOR EACH ROW INSERT INTO /*!50000card*/ \
         VALUES (NEW.id)",
        "CREATE PROCEDURE store(x INT) INSERT INTO card VALUES (x)",
        "CREATE TRIGGER far AFTER INSERT ON third FOR EACH ROW CALL store(NEW.id)",
        "CREATE USER app@localhost",
        "CREATE ROLE r",
        "GRANT r TO app@localhost",
        "GRANT TRIGGER ON shop.* TO r",
        "GRANT SELECT, INSERT ON shop.* TO app@localhost",
    ] {
        root.query_drop(text).expect(text);
    }
    let said = |connection: &mut Conn, text: &str| {
        let schema = schema(connection, own);
        match plan(text, &schema) {
            Ok(_) => "planned".to_owned(),
            Err(refusal) => refusal.message,
        }
    };
    let mut app = connect(&lab.server, "app");
    let texts = [
        "INSERT INTO card VALUES (1)",
        "INSERT INTO plain VALUES (1, 'x')",
        "INSERT INTO other VALUES (1)",
        "INSERT INTO third VALUES (1, 2)",
    ];
    for text in texts {
        let said = said(&mut app, text);
        assert!(said.contains("does not see"), "{text}: {said}");
    }
    for grant in [
        "GRANT TRIGGER ON shop.card TO app@localhost",
        "GRANT TRIGGER ON shop.* TO app@localhost",
    ] {
        lab.connection.query_drop(grant).expect(grant);
        let mut app = connect(&lab.server, "app");
        assert_eq!(said(&mut app, texts[0]), "planned", "{grant}");
    }
    let mut app = connect(&lab.server, "app");
    assert_eq!(said(&mut app, texts[1]), "planned");
    for text in &texts[2..] {
        let said = said(&mut app, text);
        assert!(said.contains("has triggers"), "{text}: {said}");
    }
}

#[test]
fn tables_of_mariadb_whose_triggers_are_not_seen_are_refused() {
    tables_with_hidden_triggers_are_refused(Brand::MariaDb);
}

#[test]
fn tables_of_mysql_whose_triggers_are_not_seen_are_refused() {
    tables_with_hidden_triggers_are_refused(Brand::MySql);
}
