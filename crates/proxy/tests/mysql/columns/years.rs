//! Protected columns of type YEAR beside plain ones: years of two digits, 0000, what is compared,
//! and what the server and a finisher compute.

use mysql::{Conn, Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{
    Lab, assert_bound_refused, assert_refused, assert_same_code, assert_shown_alike, finisher_of,
    on_each, text,
};

/// Tables, each with one mode.
const MODES: [(&str, &str); 4] = [
    ("at_random", "mode = \"random\""),
    ("equal", "mode = \"equality\", accept_leakage = true"),
    (
        "compact",
        "mode = \"equality\", equality = \"compact\", accept_leakage = true",
    ),
    ("ordered", "mode = \"order\", accept_leakage = true"),
];

/// As they stand in a statement.
const YEARS: [&str; 22] = [
    "0", "00", "0000", "1", "69", "70", "99", "0069", "1901", "2155", "2000", "NULL", "'0'",
    "'00'", "'000'", "'0000'", "'1'", "'69'", "'70'", "'0099'", "'1901'", "'2155'",
];

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut rules = "[keys]\nfile = \"columns.key\"\n".to_owned();
    let mut tables = Vec::new();
    for (table, mode) in MODES {
        rules += &format!(
            "[columns.\"shop.{table}\"]\ny = {{ type = \"year\", {mode} }}\nz = {{ type = \
             \"year(4)\", {mode}, default = \"1999\" }}\n"
        );
        let key = match table {
            "at_random" => "",
            _ => ", UNIQUE KEY by_z (z, y), KEY by_y (y)",
        };
        tables.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, y YEAR, z YEAR(4) NOT NULL DEFAULT \
             1999{key})"
        ));
    }
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let mut lab = Lab::with(brand, &format!("{rules}{more}"), &tables)?;
    for (table, _) in MODES {
        for (year, id) in YEARS.iter().zip(1..) {
            let z = 1901 + id;
            let text = format!("INSERT INTO {table} (id, y, z) VALUES ({id}, {year}, {z})");
            same(&mut lab, &text, vec![]);
        }
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

#[test]
fn years_are_stored_and_shown_as_the_server_does() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for (value, id) in [
                Value::Int(0),
                Value::Int(69),
                Value::UInt(2155),
                Value::Double(70.0),
                Value::Double(0.0),
                Value::Float(1999.0),
                text("0"),
                text("0000"),
                text("70"),
                Value::NULL,
            ]
            .into_iter()
            .zip(100..)
            {
                let z = id + 1901;
                let insert = format!("INSERT INTO {table} (id, y, z) VALUES ({id}, ?, {z})");
                same(&mut lab, &insert, vec![value]);
            }
            for statement in [
                format!("SELECT * FROM {table} ORDER BY id"),
                format!("INSERT INTO {table} (id) VALUES (200)"),
                format!("UPDATE {table} SET z = DEFAULT, y = '5' WHERE id = 100"),
                format!("SELECT SUM(y) AS f FROM {table}"),
                format!("SELECT COUNT(DISTINCT y) AS f FROM {table}"),
                format!("SELECT y, z FROM {table} WHERE id < 20 ORDER BY z DESC"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            let some = format!("SELECT * FROM {table} WHERE id < ? ORDER BY id");
            same(&mut lab, &some, vec![Value::Int(999)]);
        }
    }
}

#[test]
fn what_is_no_year_is_refused() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for year in [
                "100", "1900", "2156", "-1", "99999", "'100'", "'1900'", "'2156'",
            ] {
                let insert = format!("INSERT INTO {table} (id, y) VALUES (300, {year})");
                same(&mut lab, &insert, vec![]);
            }
            let insert = format!("INSERT INTO {table} (id, y) VALUES (300, ?)");
            for year in [Value::Int(1900), Value::Int(-1), text("2156")] {
                same(&mut lab, &insert, vec![year]);
            }
            for year in [
                "'abc'", "''", "' 2000'", "'2000 '", "1999.5", "2e3", "TRUE", "NOW()", "'02000'",
                "'-1'", "'1999.0'", "x'31'", "1999 + 1",
            ] {
                let insert = format!("INSERT INTO {table} (id, y) VALUES (300, {year})");
                assert_refused(&mut lab, &insert);
            }
            for year in [
                Value::Double(1999.5),
                Value::Double(2155.0),
                Value::Date(1999, 1, 1, 0, 0, 0, 0),
                text("19 99"),
            ] {
                assert_bound_refused(&mut lab, &insert, year);
            }
            same(
                &mut lab,
                &format!("SELECT * FROM {table} ORDER BY id"),
                vec![],
            );
        }
    }
}

#[test]
fn years_are_found_by_their_four_digits() {
    for mut lab in labs() {
        for (table, _) in MODES.iter().skip(1) {
            for condition in [
                "y = 1999",
                "y = '2069'",
                "y = 0",
                "y = '0000'",
                "y <> 2000",
                "y IN (1970, 2069, 0)",
                "y NOT IN (1970, '2001')",
                "y IS NULL",
            ] {
                let text = format!("SELECT id, y FROM {table} WHERE {condition} ORDER BY id");
                same(&mut lab, &text, vec![]);
            }
            let by_parameter = format!("SELECT id FROM {table} WHERE y = ? ORDER BY id");
            for value in [
                Value::Int(2069),
                Value::UInt(0),
                text("1999"),
                Value::Double(2000.0),
            ] {
                same(&mut lab, &by_parameter, vec![value]);
            }
            for statement in [
                format!("SELECT y, COUNT(*) AS c FROM {table} GROUP BY y ORDER BY c DESC, MIN(id)"),
                format!(
                    "SELECT a.id, b.id FROM {table} a JOIN {table} b ON a.y = b.y ORDER BY 1, 2"
                ),
                format!("DELETE FROM {table} WHERE y = 2155"),
                format!("SELECT * FROM {table} ORDER BY id"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            for condition in [
                "y = 69",
                "y = '69'",
                "y = '0'",
                "y = 1999.5",
                "y = -1",
                "y = 3000",
                "y <> 1900",
                "y IN (1999, 5)",
                "y = 1e3",
                "y = '1999a'",
                "y = TRUE",
            ] {
                let text = format!("SELECT id FROM {table} WHERE {condition}");
                assert_refused(&mut lab, &text);
            }
            let insert = format!("INSERT INTO {table} (id, y, z) VALUES (400, 1970, 2100)");
            same(&mut lab, &insert, vec![]);
            let taken = insert.replace("400", "401").replace("1970", "70");
            let code = |client: &mut Conn| match client.query_drop(&taken) {
                Err(mysql::Error::MySqlError(error)) => error.code,
                other => panic!("{other:?}"),
            };
            assert_eq!((code(&mut lab.ours), code(&mut lab.theirs)), (1062, 1062));
        }
    }
}

#[test]
fn years_are_ordered_by_their_four_digits() {
    for mut lab in labs() {
        for condition in [
            "y >= '1901'",
            "y < 1999",
            "y <= 2155",
            "y > 1901",
            "y < 1901",
            "y >= '0000'",
            "y BETWEEN 1970 AND 2069",
            "y > 0",
        ] {
            let text = format!("SELECT id FROM ordered WHERE {condition} ORDER BY y, id");
            same(&mut lab, &text, vec![]);
        }
        for text in [
            "SELECT id FROM ordered WHERE y > 99",
            "SELECT id FROM ordered WHERE y < 1900",
            "SELECT id FROM ordered WHERE y < 3000",
            "SELECT MIN(y) FROM ordered",
            "SELECT MAX(y) FROM at_random",
            "SELECT COALESCE(y, z) FROM ordered",
            "SELECT IFNULL(y, 1999) FROM equal",
            "SELECT GREATEST(y, z) FROM ordered",
            "SELECT y + 0 FROM ordered",
        ] {
            assert_refused(&mut lab, text);
        }
    }
}

#[test]
fn years_are_counted_up_and_down() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for (id, change) in [
                (9, "+ 1"),
                (9, "- 3000"),
                (10, "+ 1"),
                (1, "+ 5"),
                (3, "+ 70"),
                (13, "- 100"),
                (15, "+ 155"),
                (15, "+ 1"),
                (1, "- 1"),
                (20, "- 1999"),
                (12, "+ 1"),
            ] {
                let text = format!("UPDATE {table} SET y = y {change} WHERE id = {id}");
                assert_same_code(&mut lab, &text);
            }
            same(
                &mut lab,
                &format!("SELECT * FROM {table} ORDER BY id"),
                vec![],
            );
        }
    }
}

#[test]
fn tables_of_years_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for (table, _) in MODES {
            assert_shown_alike(&mut lab, table);
        }
        lab.ours
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        for declared in ["YEAR(2)", "INT", "YEAR UNSIGNED", "SMALLINT UNSIGNED"] {
            let text = format!(
                "CREATE TABLE at_random (id INT PRIMARY KEY, y {declared}, z YEAR DEFAULT 1999)"
            );
            assert_refused(&mut lab, &text);
        }
    }
}

#[test]
fn a_finisher_computes_with_years() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for text in [
            "SELECT id, y FROM at_random WHERE y = 69 OR y + 1 = 1 ORDER BY id",
            "SELECT id, y FROM at_random WHERE y > '1970' AND z < 1999 ORDER BY id",
            "SELECT id, CONCAT(y, 'x') AS c, y DIV 100 AS d FROM at_random ORDER BY id",
            "SELECT y, COUNT(*) AS c FROM at_random GROUP BY y ORDER BY y",
            "SELECT MIN(y), MAX(y) FROM at_random",
            "SELECT MIN(y) AS f FROM ordered WHERE id > 7",
            "UPDATE at_random SET y = y * 2 - 2000 WHERE y BETWEEN 1990 AND 2060",
            "UPDATE at_random SET z = y + 5 WHERE y < 1",
            "INSERT INTO at_random (id, y) SELECT id + 1000, y FROM at_random WHERE y < 1980",
            "INSERT INTO at_random (id, y) VALUES (2000, 60 + 9), (2001, CONCAT('0', ''))",
            "SELECT * FROM at_random ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
    }
}
