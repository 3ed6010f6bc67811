//! Protected columns of type TIME beside plain ones: below zero and beyond a day, their digits of a
//! second, what is compared, and what a finisher computes.

use mysql::{Conn, Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{
    Lab, assert_bound_refused, assert_refused, assert_shown_alike, finisher_of, on_each, text,
};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.span\"]
a = { type = \"time(0) signed\", mode = \"equality\" }
b = { type = \"time(3) signed\", mode = \"order\" }
c = { type = \"time(6) signed\", default = \"'-01:30:00'\" }
[columns.\"shop.span\".d]
type = \"time signed\"
mode = \"equality\"
equality = \"compact\"
default = \"'99:00:00'\"
[columns.\"shop.pair\"]
x = { type = \"time(2) signed\", group = \"g\" }
y = { type = \"integer\", group = \"g\" }
";

const TABLES: [&str; 2] = [
    "CREATE TABLE span (id INT PRIMARY KEY, a TIME, b TIME(3), c TIME(6) NOT NULL DEFAULT \
     '-01:30:00', d TIME DEFAULT '99:00:00', n INT, UNIQUE KEY by_a (a, n), KEY by_b (b), KEY \
     by_d (d))",
    "CREATE TABLE pair (id INT PRIMARY KEY, x TIME(2), y INT)",
];

const TIMES: [&str; 20] = [
    "00:00:00",
    "00:00:01",
    "-00:00:01",
    "23:59:59",
    "24:00:00",
    "-23:59:59",
    "100:00:00",
    "-101:30:15",
    "838:59:59",
    "-838:59:59",
    "10:00:00.5",
    "-10:00:00.5",
    "10:00:00.4999",
    "10:59:59.999999",
    "-10:00:00.123456",
    "00:00:00.000001",
    "00:00:59.9996",
    "838:59:58.9996",
    "12:00:00.000",
    "09:08:07.06",
];

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut lab = Lab::with(brand, &format!("{RULES}{more}"), &TABLES)?;
    for (time, id) in TIMES.iter().zip(1..) {
        let text = format!(
            "INSERT INTO span (id, a, b, c, d, n) VALUES ({id}, '{time}', '{time}', '{time}', \
             '{time}', {id})"
        );
        same(&mut lab, &text, vec![]);
    }
    for text in [
        "INSERT INTO span (id) VALUES (50)",
        "INSERT INTO span (id, a, b, c, d) VALUES (51, NULL, NULL, DEFAULT, NULL)",
    ] {
        same(&mut lab, text, vec![]);
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

/// Parameters, as drivers bind times.
fn bound() -> Vec<Value> {
    vec![
        Value::Time(false, 0, 0, 0, 0, 0),
        Value::Time(false, 0, 10, 0, 0, 500_000),
        Value::Time(true, 4, 5, 30, 15, 0),
        Value::Time(false, 34, 22, 59, 59, 0),
        Value::Time(true, 34, 22, 59, 59, 0),
        Value::Time(true, 0, 0, 0, 0, 600_000),
        text("23:59:59.9"),
        text("-00:00:02"),
        Value::NULL,
    ]
}

#[test]
fn times_are_stored_and_shown_as_the_server_does() {
    for mut lab in labs() {
        for (value, id) in bound().into_iter().zip(100..) {
            let insert = format!("INSERT INTO span (id, a, b, d) VALUES ({id}, ?, ?, ?)");
            // MariaDB makes no zero of it, and its sign is not relied upon.
            let is_cut = matches!(value, Value::Time(true, 0, 0, 0, 0, _));
            if is_cut && lab.brand == Brand::MariaDb {
                let values = (value.clone(), value.clone(), value);
                lab.ours
                    .exec_drop(&insert, values)
                    .expect_err("a minus zero");
                continue;
            }
            same(&mut lab, &insert, vec![value.clone(), value.clone(), value]);
        }
        for statement in [
            "SELECT * FROM span ORDER BY id",
            "SELECT c FROM span WHERE id < 30 ORDER BY c, c",
            "SELECT c FROM span WHERE id < 30 ORDER BY c DESC",
            "SELECT MIN(a), MAX(a), MIN(b), MAX(c), MAX(d) FROM span",
            "SELECT MIN(c) AS f FROM span WHERE id < 4",
            "SELECT MAX(b) AS f FROM span",
            "SELECT COUNT(DISTINCT a) AS f FROM span",
            "UPDATE span SET a = '-05:00:00', b = '05:00:00.0005', c = DEFAULT, d = DEFAULT WHERE \
             id = 5",
            "INSERT INTO pair VALUES (1, '-10:00:00.25', 7), (2, NULL, 8), (3, '12:00:00.999', \
             NULL)",
            "SELECT * FROM pair ORDER BY id",
            "SELECT a, b, c, d FROM span ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
        for statement in [
            "SELECT * FROM span WHERE id < ? ORDER BY id",
            "SELECT x FROM pair WHERE id < ? ORDER BY id",
        ] {
            same(&mut lab, statement, vec![Value::Int(999)]);
        }
    }
}

#[test]
fn what_is_no_time_in_full_is_refused() {
    for mut lab in labs() {
        for time in [
            "'10:00'",
            "'100000'",
            "100000",
            "'1 10:00:00'",
            "'839:00:00'",
            "'-839:00:00'",
            "'838:59:59.000001'",
            "'838:59:59.4'",
            "'-00:00:00'",
            "'10:60:00'",
            "'10:00:60'",
            "'10:00:00.1234567'",
            "'abc'",
            "''",
            "'2024-01-01 10:00:00'",
            "NOW()",
            "CURRENT_TIMESTAMP",
            "10.5",
            "TIME '10:00:00'",
            "CAST('10:00:00.6' AS TIME)",
            "CURTIME()",
            "TRUE",
            "x'31'",
        ] {
            let insert = format!("INSERT INTO span (id, b, c) VALUES (300, {time}, {time})");
            assert_refused(&mut lab, &insert);
        }
        for value in [
            Value::Time(false, 34, 23, 0, 0, 0),
            Value::Time(false, u32::MAX, 0, 0, 0, 0),
            Value::Time(false, 0, 0, 60, 0, 0),
            Value::Time(false, 0, 0, 0, 200, 0),
            Value::Time(false, 0, 0, 0, 0, 1_000_000),
            Value::Int(100_000),
            Value::Double(100_000.0),
            Value::Date(2024, 1, 1, 10, 0, 0, 0),
        ] {
            let insert = "INSERT INTO span (id, b) VALUES (300, ?)";
            assert_bound_refused(&mut lab, insert, value);
        }
        same(&mut lab, "SELECT * FROM span ORDER BY id", vec![]);
        for text in [
            "UPDATE span SET a = a + INTERVAL 1 HOUR WHERE id = 1",
            "UPDATE span SET a = b WHERE id = 1",
            "SELECT SUM(a) FROM span",
            "SELECT id FROM span WHERE c = '10:00:00'",
            "CREATE TABLE span (id INT, a TIME(1), b TIME(3), c TIME(6), d TIME)",
            "CREATE TABLE span (id INT, a DATETIME, b TIME(3), c TIME(6), d TIME)",
        ] {
            assert_refused(&mut lab, text);
        }
    }
}

#[test]
fn times_are_found_by_what_they_are() {
    for mut lab in labs() {
        for condition in [
            "a = '00:00:00'",
            "a = '-101:30:15'",
            "a <> '24:00:00'",
            "a IN ('838:59:59', '-838:59:59')",
            "d = '99:00:00'",
            "d = '10:00:00.000'",
            "a IS NULL",
            "b = '10:00:00.500'",
            "b > '-10:00:00.5'",
            "b < '00:00:00'",
            "b <= '100:00:00'",
            "b BETWEEN '-23:59:59' AND '23:59:59.999'",
            "b >= '838:59:59'",
        ] {
            let text = format!("SELECT id FROM span WHERE {condition} ORDER BY id");
            same(&mut lab, &text, vec![]);
        }
        for value in [
            Value::Time(true, 4, 5, 30, 15, 0),
            Value::Time(false, 0, 10, 0, 0, 0),
            text("00:00:01"),
            Value::NULL,
        ] {
            for condition in ["a = ?", "d = ?", "b < ?", "b >= ?"] {
                let text = format!("SELECT id, b FROM span WHERE {condition} ORDER BY b, id");
                same(&mut lab, &text, vec![value.clone()]);
            }
        }
        for text in [
            "SELECT a, COUNT(*) AS c FROM span GROUP BY a ORDER BY c DESC, MIN(id)",
            "SELECT id, b FROM span ORDER BY b DESC, id LIMIT 7",
            "DELETE FROM span WHERE b > '20:00:00'",
            "SELECT * FROM span ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
        for condition in [
            "a = 0",
            "a = '10:00:00.5'",
            "a = '10:00'",
            "b > 100000",
            "a = b",
        ] {
            let text = format!("SELECT id FROM span WHERE {condition}");
            assert_refused(&mut lab, &text);
        }
        let taken = "INSERT INTO span (id, a, n) VALUES (400, '-00:00:01', 3)";
        let code = |client: &mut Conn| match client.query_drop(taken) {
            Err(mysql::Error::MySqlError(error)) => error.code,
            other => panic!("{other:?}"),
        };
        assert_eq!((code(&mut lab.ours), code(&mut lab.theirs)), (1062, 1062));
    }
}

#[test]
fn tables_of_times_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for table in ["span", "pair"] {
            assert_shown_alike(&mut lab, table);
        }
    }
}

#[test]
fn a_finisher_computes_with_times() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for text in [
            "SELECT id FROM span WHERE c > '-10:00:00' AND c < '24:00:00' ORDER BY id",
            "SELECT id, HOUR(c) AS h, TIME_TO_SEC(a) AS s, ADDTIME(b, '01:00:00') AS t FROM span \
             WHERE id < 9 ORDER BY id",
            "SELECT c, COUNT(*) AS n FROM span GROUP BY c ORDER BY c",
            "SELECT MIN(c), MAX(c) FROM span WHERE id < 9",
            "UPDATE span SET b = ADDTIME(b, '00:30:00'), c = SUBTIME(c, '00:00:00.25') WHERE c < \
             '20:00:00' AND id < 9 AND c > '-24:00:00'",
            "UPDATE span SET b = a + INTERVAL 90 MINUTE WHERE c < '05:00:00' AND id < 6",
            "INSERT INTO span (id, a, b, c) SELECT id + 1000, b, c, a FROM span WHERE id IN (3, 7, \
             12, 15)",
            "INSERT INTO span (id, a, b) VALUES (2000, MAKETIME(10, 11, 12), \
             SEC_TO_TIME(-5000.5))",
            "SELECT * FROM span ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
    }
}
