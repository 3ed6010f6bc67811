//! Conditions that compare a protected number with a sum or difference of parameters and constants:
//! the proxy computes it, and the server finds the rows.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Row, Value};
use server_testkit::mysql::Brand;

use super::differential::prepared;
use super::inserted::same;
use super::lab::{Lab, assert_bound_refused, assert_refused, finisher_of, text};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.line\"]
number = { type = \"integer\", mode = \"order\" }
big = { type = \"bigint\", mode = \"order\" }
free = { type = \"integer unsigned\", mode = \"order\" }
paid = { type = \"numeric(10,2)\", mode = \"order\" }
code = { type = \"integer\", mode = \"equality\", equality = \"compact\" }
made = { type = \"year\", mode = \"equality\", accept_leakage = true }
note = { type = \"varchar(20)\" }
";

const TABLES: [&str; 1] = [
    "CREATE TABLE line (id INT PRIMARY KEY, number INT, big BIGINT, free INT UNSIGNED, paid \
     DECIMAL(10,2), code INT, made YEAR, note VARCHAR(20))",
];

const ROWS: &str = "INSERT INTO line VALUES (1, 5, 5, 5, 5.50, 5, 2005, 'a'), (2, -15, -15, 0, \
                    -15.00, -15, 2006, 'b'), (3, 2981, 9223372036854775807, 4294967295, 2981.00, \
                    2981, 2007, 'c'), (4, NULL, -9223372036854775808, NULL, NULL, NULL, NULL, \
                    'd'), (5, 0, 0, 0, 0.00, 0, 1999, 'e')";

fn labs(finishes: bool) -> impl Iterator<Item = Lab> {
    [Brand::MariaDb, Brand::MySql]
        .into_iter()
        .filter_map(move |brand| {
            let finisher = if finishes {
                finisher_of(brand)
            } else {
                String::new()
            };
            let mut lab = Lab::with(brand, &format!("{RULES}{finisher}"), &TABLES)?;
            same(&mut lab, ROWS, vec![]);
            Some(lab)
        })
}

fn asking(condition: &str) -> String {
    format!("SELECT id FROM line WHERE {condition} ORDER BY id")
}

#[test]
fn the_server_finds_rows_by_sums_that_the_proxy_computes() {
    for mut lab in labs(false) {
        for condition in [
            "number >= 3001 - 20",
            "number > 5 - 20",
            "5 - 20 < number",
            "number BETWEEN 5 - 20 AND (3000 - 20) + 1",
            "number NOT BETWEEN 5 - 20 AND 0 + 0",
            "number <= 2.5 + 2.5",
            "number < -2147483648 - 1",
            "number >= 2147483647 + 1",
            "number > '25' - 20",
            "number > 2.5e1 - 20",
            "big >= 9223372036854775806 + 1",
            "big <= -9223372036854775807 - 1",
            "big < 9223372036854775807 + 0.5",
            "free >= 5 - 20",
            "free < 4294967296 - 1",
            "free > 18446744073709551615 - 20",
            "paid >= 5.25 + 0.25",
            "paid > 5.495 + 0.0049",
            "paid < 1 - 20",
            "code = 3001 - 20",
            "code <> 5 - 20",
            "code = 2.5 + 2.5",
            "code = 2.5 + 2",
            "code = 2147483647 + 1",
            "number = 0 + 0 OR code IN (5)",
            "code = 1 + 4 AND number >= 4 + 1 AND id < 2 + 3",
        ] {
            same(&mut lab, &asking(condition), vec![]);
        }
        for condition in [
            "number >= ? - 20",
            "? - 20 < number",
            "big >= ? - 20",
            "free >= ? - 20",
            "paid >= ? - 20",
            "code = ? - 20",
            "code <> ? - 20",
            "number BETWEEN ? - 20 AND 2990 + 1",
        ] {
            for value in [
                Value::Int(25),
                Value::Int(5),
                Value::Int(3001),
                Value::Int(-1),
                Value::Int(i64::MAX),
                Value::UInt(25),
                Value::UInt(3001),
                Value::NULL,
                Value::Double(25.0),
                text("25"),
                text("3001"),
            ] {
                same(&mut lab, &asking(condition), vec![value]);
            }
        }
    }
}

#[test]
fn rows_are_found_and_written_by_several_sums() {
    for mut lab in labs(false) {
        let two = asking("number >= ? - ? + 1 AND number < ?");
        same(
            &mut lab,
            &two,
            vec![Value::Int(30), Value::Int(31), Value::Int(10)],
        );
        same(
            &mut lab,
            &two,
            vec![Value::Int(30), Value::NULL, Value::Int(10)],
        );
        let written = "UPDATE line SET note = 'x' WHERE number >= ? - 20 AND code = ? + 1";
        same(&mut lab, written, vec![Value::Int(3001), Value::Int(2980)]);
        let text = "UPDATE line SET note = 'y', paid = paid + 1 WHERE id = 3 AND number >= ? - 20";
        // A value of mode random is sealed anew.
        prepared(&mut lab.ours, text, vec![Value::Int(3001)]);
        prepared(&mut lab.theirs, text, vec![Value::Int(3001)]);
        same(&mut lab, "DELETE FROM line WHERE big < 1 - 20", vec![]);
        same(&mut lab, "SELECT * FROM line ORDER BY id", vec![]);
    }
}

/// That both sides end a query with the same error. The server finds it where rows would begin.
fn assert_same_error(lab: &mut Lab, condition: &str, value: Value) {
    let text = asking(condition);
    let code = |client: &mut Conn| match client.exec::<Row, _, _>(&text, (value.clone(),)) {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.state),
        other => panic!("{condition}: {other:?}"),
    };
    assert_eq!(code(&mut lab.ours), code(&mut lab.theirs), "{condition}");
}

#[test]
fn a_sum_out_of_range_has_the_servers_code() {
    for mut lab in labs(false) {
        assert_same_error(&mut lab, "number >= ? - 20", Value::Int(i64::MIN));
        assert_same_error(&mut lab, "code = ? + 20", Value::Int(i64::MAX));
    }
}

#[test]
fn what_the_server_may_compute_otherwise_is_refused() {
    for mut lab in labs(false) {
        for condition in [
            "number >= 2.5e0 - 20",
            "number >= '2.5' - 20",
            "number >= 'x' - 20",
            "number >= TRUE - 20",
            "number >= NULL - 20",
            "number >= 2 * 20",
            "number >= id - 20",
            "number >= 123456789012345e0 + 1",
            "made = 2000 + 5",
            "note = 1 + 1",
            "code >= 3 - 1",
        ] {
            assert_refused(&mut lab, &asking(condition));
        }
        for value in [
            Value::UInt(5),
            Value::UInt(u64::MAX),
            Value::Double(2.5),
            Value::Double(1e15),
            text("2.5"),
            text(" 5"),
            text("x"),
            text(""),
            Value::Date(2024, 1, 1, 0, 0, 0, 0),
        ] {
            let is_in_range = value == Value::UInt(u64::MAX);
            let condition = if is_in_range {
                "number >= ? + 20"
            } else {
                "number >= ? - 20"
            };
            assert_bound_refused(&mut lab, &asking(condition), value);
        }
        // It would go in clear beside the column.
        assert_refused(
            &mut lab,
            "SELECT '25' AS a FROM line WHERE number >= '25' - 20",
        );
    }
}

#[test]
fn the_finisher_answers_whatever_the_sum_is() {
    for mut lab in labs(true) {
        for condition in [
            "number >= 2.5e0 - 20",
            "number >= '2.5' - 20",
            "made = 2000 + 5",
            "number >= NULL - 20",
            "note LIKE 'a%' AND number >= 5 - 20",
        ] {
            same(&mut lab, &asking(condition), vec![]);
        }
        for value in [
            Value::Int(5),
            Value::UInt(25),
            Value::Double(2.5),
            text("2.5"),
            Value::NULL,
        ] {
            let text = asking("note LIKE 'c%' AND number >= ? - 20");
            same(&mut lab, &text, vec![value]);
        }
        for value in [Value::UInt(5), Value::Int(i64::MIN)] {
            assert_same_error(&mut lab, "note LIKE 'c%' AND number >= ? - 20", value);
        }
    }
}
