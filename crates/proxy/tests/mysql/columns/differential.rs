//! The same statements on protected and on plain tables, as texts and prepared.

use mysql::prelude::Queryable as _;
use mysql::{Column, Conn, Params, Value};

use super::lab::{Lab, both, text};

/// A statement with its parameters.
type Statement = (&'static str, Vec<Value>);

/// Statements in their order.
fn statements() -> Vec<Statement> {
    [
        filling(),
        queries(),
        by_rows(),
        limits(),
        changes(),
        variables(),
        refused_values(),
        endings(),
    ]
    .concat()
}

fn filling() -> Vec<Statement> {
    vec![
        (
            "INSERT INTO person (id, name, number, small, whole, born, paid, seen, note, face) \
             VALUES (1, 'canary \\'x\\' O''N \\\\ é', 4242424201, -7, 8, '1977-07-17', 77.70, \
             '1977-07-17 07:07:07.777', \"canary\\n😀\", 'canary face')",
            vec![],
        ),
        (
            "INSERT INTO person (id, name, number) VALUES (?, ?, ?), (3, 'canary', NULL)",
            vec![Value::Int(2), text("canary two"), Value::Int(4_242_424_202)],
        ),
        (
            "INSERT INTO person VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            vec![
                Value::Int(4),
                text("canary vier ü"),
                Value::UInt(4_242_424_204),
                Value::Int(-32_768),
                text("-2147483648"),
                Value::Date(1977, 7, 17, 0, 0, 0, 0),
                Value::Double(77.75),
                Value::Date(1977, 7, 17, 7, 7, 7, 7000),
                text(&"canary ".repeat(9000)),
                Value::Bytes(vec![0, 255, 1, 2, 254]),
                Value::NULL,
            ],
        ),
        ("INSERT INTO person (name) VALUES ('')", vec![]),
        (
            "INSERT INTO card VALUES (4242424201, 'abc', 1), (4242424209, 'xyz', 2)",
            vec![],
        ),
        (
            "INSERT INTO plain VALUES (1, 'seen'), (2, 'a\\\\b')",
            vec![],
        ),
    ]
}

fn queries() -> Vec<Statement> {
    vec![
        ("SELECT * FROM person ORDER BY id", vec![]),
        (
            "SELECT id, id AS x, name AS n, p.number FROM person p ORDER BY 1 LIMIT 2",
            vec![],
        ),
        (
            "SELECT p.*, c.kind FROM person AS p LEFT JOIN card c ON c.number = p.number ORDER BY \
             p.id",
            vec![],
        ),
        (
            "SELECT id, name FROM shop.person WHERE number = ? AND id > ?",
            vec![Value::Int(4_242_424_202), Value::Int(0)],
        ),
        (
            "SELECT id FROM person WHERE number = ? OR born = ? ORDER BY id",
            vec![text("4242424202"), text("1977-07-17")],
        ),
        (
            "SELECT id FROM person WHERE small = ? OR whole = ? OR whole = 8 ORDER BY id",
            vec![Value::Int(-7), Value::NULL],
        ),
        (
            "SELECT id FROM person WHERE number <> 4242424201 ORDER BY id",
            vec![],
        ),
        (
            "SELECT COUNT(*) AS all_of, COUNT(number) AS known FROM person",
            vec![],
        ),
        ("SELECT count(*), MAX(id) FROM person", vec![]),
        ("SELECT id FROM person WHERE number = 4242424201.5", vec![]),
        (
            "SELECT number, COUNT(*) AS c FROM card GROUP BY number HAVING COUNT(*) > 0",
            vec![],
        ),
        (
            "SELECT DISTINCT born FROM person WHERE born = '1977-07-17' LIMIT 3",
            vec![],
        ),
        (
            "SELECT id FROM person WHERE number IS NULL ORDER BY id FOR UPDATE",
            vec![],
        ),
        (
            "SELECT id, name FROM person WHERE number = ? lock in share mode",
            vec![Value::Int(4_242_424_201)],
        ),
        (
            "SELECT name FROM person ORDER BY id LIMIT 2 FOR UPDATE NOWAIT",
            vec![],
        ),
        (
            "SELECT name FROM person WHERE number = 4242424202 OR id = 3 ORDER BY id FOR UPDATE \
             SKIP LOCKED",
            vec![],
        ),
    ]
}

/// Numbers of rows as drivers send them: as texts, and as floating-point numbers. The proxy sorts
/// by `whole` itself.
fn limits() -> Vec<Statement> {
    let values = || {
        [
            text("2"),
            text(" +1abc"),
            text("abc"),
            text("1.7"),
            Value::NULL,
            Value::Int(-1),
            Value::Int(1),
            Value::Double(2.0),
        ]
    };
    let sorted = ["id", "whole"].into_iter().flat_map(|key| {
        let limited = match key {
            "id" => "SELECT id, whole FROM person ORDER BY id LIMIT ?",
            _ => "SELECT whole FROM person WHERE whole IS NOT NULL ORDER BY whole LIMIT ?",
        };
        values().map(|count| (limited, vec![count]))
    });
    let skipping = [
        "SELECT whole FROM person WHERE whole IS NOT NULL ORDER BY whole LIMIT ? OFFSET ?",
        "SELECT id FROM person ORDER BY id LIMIT ?, ?",
    ];
    let skipping = skipping.map(|limited| (limited, vec![text("1"), text("1")]));
    sorted.chain(skipping).collect()
}

/// Rows that are looked for by several columns at once.
fn by_rows() -> Vec<Statement> {
    vec![
        (
            "SELECT id, name FROM person WHERE (number, id) IN ((4242424201, 1), (4242424202, 7), \
             (NULL, 3)) ORDER BY id FOR UPDATE",
            vec![],
        ),
        (
            "SELECT id FROM person WHERE (id, number, born) IN ((?, ?, ?), (?, ?, ?)) ORDER BY id \
             FOR UPDATE",
            vec![
                Value::Int(4),
                Value::Int(4_242_424_204),
                text("1977-07-17"),
                text("2"),
                text("4242424202"),
                Value::NULL,
            ],
        ),
        (
            "SELECT id FROM person WHERE (number, whole) NOT IN ((4242424201, 8), (1, NULL)) \
             ORDER BY id",
            vec![],
        ),
        (
            "SELECT p.id, c.kind FROM person p JOIN card c ON c.number = p.number WHERE \
             (p.number, c.kind) IN ((c.number, 'abc'), (7, 'x'))",
            vec![],
        ),
    ]
}

fn changes() -> Vec<Statement> {
    vec![
        (
            "UPDATE `person` SET name = \"canary \\\\y\", city = 'b' WHERE number IN \
             (4242424201, 2)",
            vec![],
        ),
        (
            "UPDATE person p SET p.number = ?, paid = -77.7 WHERE p.id = 3",
            vec![Value::Int(4_242_424_203)],
        ),
        ("UPDATE person SET name = NULL WHERE id = 1", vec![]),
        (
            "INSERT INTO person (name, number) VALUES ('canary', 4242424201)",
            vec![],
        ),
        ("INSERT INTO card VALUES (4242424201, 'abc', 1)", vec![]),
    ]
}

/// User variables beside plain columns.
fn variables() -> Vec<Statement> {
    [
        "SET @a = 2, @b = 'a person'",
        "SELECT id, name, @A FROM person WHERE id = @a",
        "SELECT id, @b AS b, @nothing AS n FROM person WHERE id + @a > ? ORDER BY id + @a DESC \
         LIMIT 2",
        "UPDATE person SET city = @b, small = 7 WHERE id = @a AND @b = 'a person'",
        "SELECT id, small, city FROM person WHERE city = @b ORDER BY id",
    ]
    .map(|statement| {
        let has_parameter = statement.contains('?');
        (statement, vec![Value::Int(3); usize::from(has_parameter)])
    })
    .to_vec()
}

fn refused_values() -> Vec<Statement> {
    vec![
        (
            "INSERT INTO person (name) VALUES ('longer than twenty letters')",
            vec![],
        ),
        (
            "INSERT INTO person (name) VALUES (?)",
            vec![text("longer than twenty letters")],
        ),
        (
            "INSERT INTO person (name, small) VALUES ('x', 40000)",
            vec![],
        ),
        (
            "INSERT INTO person (name, small) VALUES ('x', ?)",
            vec![Value::Int(40_000)],
        ),
    ]
}

fn endings() -> Vec<Statement> {
    vec![
        ("SELECT nothing FROM person", vec![]),
        (
            "SELECT name, paid, seen, born FROM person ORDER BY id",
            vec![],
        ),
        ("DELETE FROM card WHERE number = 4242424201", vec![]),
        (
            "DELETE FROM person WHERE born = ? AND id = 1",
            vec![text("1977-07-17")],
        ),
        (
            "SELECT `id`, `name`, `number` # rows\n FROM `person` -- all\n ORDER BY `id`;",
            vec![],
        ),
        ("SELECT number FROM card ORDER BY kind", vec![]),
        ("SELECT 1, 'x', NOW() < '2000-01-01'", vec![]),
        // Texts are compared by the connection's collation.
        (
            "SELECT id FROM person WHERE 'Anna' = 'ANNA' ORDER BY id",
            vec![],
        ),
        (
            "SELECT id FROM person WHERE 'a' <> 'A' OR number = 7 ORDER BY id",
            vec![],
        ),
        (
            "SELECT id FROM person WHERE ('x' = 'x ' OR number = 7) AND 2 > 1 ORDER BY id",
            vec![],
        ),
        ("SELECT id FROM person WHERE 1e0 = 1 ORDER BY id", vec![]),
        ("SELECT * FROM plain ORDER BY id", vec![]),
        ("UPDATE plain SET note = 'seen' WHERE id < 9", vec![]),
    ]
}

/// What a client sees of an answer.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    pub counts: (u64, Option<u64>, u16, String),
    pub error: Option<u16>,
}

fn column(column: &Column) -> String {
    format!(
        "{} {} {} {} {} {:?} {:?} {} {} {}",
        column.table_str(),
        column.org_table_str(),
        column.name_str(),
        column.org_name_str(),
        column.character_set(),
        column.column_type(),
        column.flags(),
        column.column_length(),
        column.decimals(),
        column.schema_str().replace("twin", "shop"),
    )
}

fn failed(error: &mysql::Error) -> Answer {
    let mysql::Error::MySqlError(error) = error else {
        panic!("{error}");
    };
    println!("{error}");
    Answer {
        columns: Vec::new(),
        rows: Vec::new(),
        counts: Default::default(),
        error: Some(error.code),
    }
}

macro_rules! read {
    ($result:expr) => {
        match $result {
            Err(error) => failed(&error),
            Ok(mut result) => {
                let columns = result.columns().as_ref().iter().map(column).collect();
                // They are gone once rows have been looked for.
                let counts = (
                    result.affected_rows(),
                    result.last_insert_id(),
                    // The notes on digits that are cut are the server's alone.
                    0,
                    without_warnings(&result.info_str()),
                );
                let rows = result.by_ref().map(|row| row.map(|row| row.unwrap()));
                let rows = rows.collect::<Result<Vec<_>, _>>();
                Answer {
                    columns,
                    rows: rows.expect("rows"),
                    counts,
                    error: None,
                }
            }
        }
    };
}

fn without_warnings(info: &str) -> String {
    info.split("  Warnings")
        .next()
        .unwrap_or_default()
        .to_owned()
}

pub fn as_text(connection: &mut Conn, text: &str) -> Answer {
    read!(connection.query_iter(text))
}

pub fn prepared(connection: &mut Conn, text: &str, values: Vec<Value>) -> Answer {
    let values = match values.is_empty() {
        true => Params::Empty,
        false => Params::Positional(values),
    };
    read!(connection.exec_iter(text, values))
}

#[test]
fn answers_are_those_of_plain_tables() {
    for mut lab in both() {
        run(&mut lab, true);
    }
}

#[test]
fn prepared_statements_give_the_answers_of_plain_tables() {
    for mut lab in both() {
        run(&mut lab, false);
    }
}

fn run(lab: &mut Lab, as_texts: bool) {
    for (text, values) in statements() {
        let twin = text.replace("shop.", "twin.");
        let (mut ours, mut theirs) = match as_texts && values.is_empty() {
            true => (
                as_text(&mut lab.ours, text),
                as_text(&mut lab.theirs, &twin),
            ),
            false => (
                prepared(&mut lab.ours, text, values.clone()),
                prepared(&mut lab.theirs, &twin, values),
            ),
        };
        if !text.contains("ORDER BY") {
            // Sealed keys have another order than plain ones.
            for answer in [&mut ours, &mut theirs] {
                let whole = |row: &Vec<Value>| row.iter().map(|own| own.as_sql(true)).collect();
                answer.rows.sort_by_cached_key::<Vec<String>, _>(whole);
            }
        }
        assert_eq!(ours, theirs, "{text}");
    }
}
