//! Protected columns of type FLOAT beside plain ones: their digits in texts and in the binary form,
//! their limits, and what a finisher computes with them.

use mysql::{Conn, Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{Lab, assert_refused, finish, on_each};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.share\"]
a = { type = \"real\" }
b = { type = \"real\", default = \"0.1\" }
c = { type = \"double precision\" }
";

const TABLES: [&str; 1] = [
    "CREATE TABLE share (id INT PRIMARY KEY, a FLOAT, b FLOAT(20) NOT NULL DEFAULT 0.1, c \
     FLOAT(30))",
];

/// As they stand in a statement.
const NUMBERS: [&str; 28] = [
    "0.1",
    "0.0",
    "16777217",
    "123456.7",
    "1234565",
    "1234575",
    "9999995",
    "999999.5",
    "1e10",
    "123456789012345",
    "1e14",
    "1e15",
    "1e16",
    "-1234567.8",
    "0.00001234567",
    "1e-14",
    "1e-15",
    "1.5e-16",
    "1e-38",
    "1e-45",
    "3.4028234e38",
    "-3.4028234e38",
    "3.40282346638528859e38",
    "0.3333333333",
    "'1e3'",
    "'-2.50'",
    "100",
    "8388608.5",
];

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut lab = Lab::with(brand, &format!("{RULES}{more}"), &TABLES)?;
    for (number, id) in NUMBERS.iter().zip(1..) {
        let text =
            format!("INSERT INTO share (id, a, b, c) VALUES ({id}, {number}, {number}, 1.5)");
        same(&mut lab, &text, vec![]);
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

#[test]
fn numbers_of_single_precision_have_the_digits_of_the_server() {
    for mut lab in labs() {
        for (value, id) in [
            Value::Float(0.1),
            Value::Float(16_777_216.0),
            Value::Double(0.1),
            Value::Double(1e-30),
            Value::Double(123_456_789.0),
            Value::Int(16_777_217),
            Value::Bytes(b"2.5".to_vec()),
            Value::NULL,
        ]
        .into_iter()
        .zip(100..)
        {
            let text = format!("INSERT INTO share (id, a) VALUES ({id}, ?)");
            same(&mut lab, &text, vec![value]);
        }
        for text in [
            "SELECT * FROM share ORDER BY id",
            "SELECT a, b FROM share ORDER BY a, b",
            "SELECT a FROM share ORDER BY a DESC",
            "INSERT INTO share (id, a) VALUES (200, 1234567), (201, 1234568), (202, 1234567)",
            "SELECT COUNT(DISTINCT a) AS c FROM share",
            "UPDATE share SET a = 7.25, b = DEFAULT WHERE id < 4",
        ] {
            same(&mut lab, text, vec![]);
        }
        same(
            &mut lab,
            "SELECT * FROM share WHERE id < ? ORDER BY id",
            vec![Value::Int(999)],
        );
    }
}

#[test]
fn what_is_no_number_of_single_precision_is_refused() {
    for mut lab in labs() {
        for number in ["3.4028235e38", "-3.5e38", "1e39"] {
            let text = format!("INSERT INTO share (id, a) VALUES (200, {number})");
            same(&mut lab, &text, vec![]);
        }
        for text in [
            "INSERT INTO share (id, a) VALUES (200, 'abc')",
            "INSERT INTO share (id, a) VALUES (200, '-0')",
            "INSERT INTO share (id, a) VALUES (200, 1e-60)",
            "SELECT id FROM share WHERE a = 0.1",
            "SELECT id FROM share WHERE a > 5",
            "SELECT SUM(a) FROM share",
            "SELECT MAX(a) FROM share",
            "UPDATE share SET a = a + 1 WHERE id = 1",
            "CREATE TABLE share (id INT, a DOUBLE, b FLOAT NOT NULL DEFAULT 0.1, c DOUBLE)",
            "CREATE TABLE share (id INT, a FLOAT(7,2), b FLOAT NOT NULL DEFAULT 0.1, c DOUBLE)",
            "CREATE TABLE share (id INT, a FLOAT UNSIGNED, b FLOAT DEFAULT 0.1, c DOUBLE)",
        ] {
            assert_refused(&mut lab, text);
        }
    }
}

#[test]
fn tables_of_floating_point_numbers_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        let said = |client: &mut Conn, text: &str| {
            let rows: Vec<mysql::Row> = client.query(text).expect(text);
            let rows: Vec<_> = rows.into_iter().map(mysql::Row::unwrap).collect();
            format!("{rows:?}").replace("twin", "shop")
        };
        for text in [
            "SHOW CREATE TABLE share",
            "SHOW FULL COLUMNS FROM share",
            "SELECT * FROM information_schema.columns WHERE table_schema = DATABASE() AND \
             table_name = 'share' ORDER BY ordinal_position",
        ] {
            let (ours, theirs) = (said(&mut lab.ours, text), said(&mut lab.theirs, text));
            assert_eq!(ours, theirs, "{text}");
        }
    }
}

#[test]
fn a_finisher_computes_with_all_digits() {
    let Some(mut lab) = start(Brand::MariaDb, &finish("mariadb")) else {
        return;
    };
    for text in [
        "SELECT id FROM share WHERE a = 0.1 ORDER BY id",
        "SELECT id FROM share WHERE a > 0.1 AND a < 1e9 ORDER BY id",
        "SELECT SUM(a), MIN(a), MAX(a), AVG(b) FROM share WHERE id < 9",
        "SELECT id, a + 0e0 AS d FROM share ORDER BY id",
        "SELECT a, COUNT(*) AS c FROM share GROUP BY a ORDER BY a",
        "UPDATE share SET a = a / 3 WHERE b > 1 AND id < 9",
        "INSERT INTO share (id, a, c) SELECT id + 1000, a / 7, c FROM share WHERE id < 20",
        "SELECT id, a + 0e0 AS d FROM share ORDER BY id",
    ] {
        same(&mut lab, text, vec![]);
    }
}
