//! Protected decimals of up to 65 digits beside plain ones: limits, rounding, comparisons, sums.

use mysql::Value;
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{
    Lab, assert_bound_refused, assert_refused, assert_same_code, assert_shown_alike, finisher_of,
    on_each, text,
};

/// Tables, each with one mode.
const MODES: [(&str, &str); 2] = [
    ("at_random", "mode = \"random\""),
    ("equal", "mode = \"equality\""),
];

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut rules = "[keys]\nfile = \"columns.key\"\n".to_owned();
    let mut tables = Vec::new();
    for (table, mode) in MODES {
        rules += &format!(
            "[columns.\"shop.{table}\"]\nd = {{ type = \"numeric(65,30)\", {mode} }}\nw = {{ type \
             = \"numeric(65)\", {mode}, default = \"1{}\" }}\np = {{ type = \"numeric(39,18)\", \
             {mode} }}\n",
            "0".repeat(64)
        );
        let key = match table {
            "at_random" => "",
            _ => ", UNIQUE KEY by_d (d, w), KEY by_p (p)",
        };
        tables.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, d DECIMAL(65,30), w DECIMAL(65) NOT NULL \
             DEFAULT 1{}, p NUMERIC(39,18){key})",
            "0".repeat(64)
        ));
    }
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let mut lab = Lab::with(brand, &format!("{rules}{more}"), &tables)?;
    for (table, _) in MODES {
        for (number, id) in numbers().iter().zip(1..) {
            let text =
                format!("INSERT INTO {table} (id, d, w, p) VALUES ({id}, {number}, {id}, 7)");
            same(&mut lab, &text, vec![]);
        }
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

/// As they stand in a statement.
fn numbers() -> Vec<String> {
    let nines = "9".repeat(35);
    let places = "9".repeat(30);
    vec![
        "0".to_owned(),
        "-0.0".to_owned(),
        "1.5".to_owned(),
        format!("{nines}.{places}"),
        format!("-{nines}.{places}"),
        format!("0.{}1", "0".repeat(29)),
        // Rounded.
        format!("0.{}5", "0".repeat(30)),
        format!("-0.{}49", "0".repeat(30)),
        format!("'{nines}.5'"),
        format!("12345678901234567890123456789012345.{}4", "0".repeat(40)),
        "NULL".to_owned(),
        "1e3".to_owned(),
    ]
}

#[test]
fn long_decimals_are_stored_and_shown_as_the_server_does() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for (value, id) in [
                text(&format!("{}.{}", "8".repeat(35), "7".repeat(31))),
                text("-1.000000000000000000000000000001"),
                Value::Int(i64::MIN),
                Value::UInt(u64::MAX),
                Value::Double(0.1),
                Value::NULL,
            ]
            .into_iter()
            .zip(100..)
            {
                let insert = format!("INSERT INTO {table} (id, d, w) VALUES ({id}, ?, {id})");
                same(&mut lab, &insert, vec![value]);
            }
            for statement in [
                format!("INSERT INTO {table} (id) VALUES (200)"),
                format!("SELECT * FROM {table} ORDER BY id"),
                format!("SELECT d FROM {table} ORDER BY d, w"),
                format!("SELECT MIN(d) AS a, MAX(d) AS b, COUNT(DISTINCT d) AS c FROM {table}"),
                format!("SELECT SUM(p) AS s FROM {table}"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            let some = format!("SELECT * FROM {table} WHERE id < ? ORDER BY id");
            same(&mut lab, &some, vec![Value::Int(999)]);
            assert_shown_alike(&mut lab, table);
            for number in [
                "9".repeat(36),
                format!("-{}", "9".repeat(36)),
                format!("{}.{}5", "9".repeat(35), "9".repeat(30)),
                "9".repeat(65),
            ] {
                assert_same_code(
                    &mut lab,
                    &format!("INSERT INTO {table} (id, d) VALUES (300, {number})"),
                );
            }
            assert_refused(
                &mut lab,
                &format!("INSERT INTO {table} (id, d) VALUES (300, 1e40)"),
            );
            // Sums that may have more than 65 digits.
            assert_refused(&mut lab, &format!("SELECT SUM(d) FROM {table}"));
            let too_long = format!(
                "INSERT INTO {table} (id, d) VALUES (301, 0.{})",
                "1".repeat(90)
            );
            assert_refused(&mut lab, &too_long);
        }
    }
}

/// The server compares them in double precision, in which neighbours of the column are equal.
#[test]
fn a_text_beside_a_long_decimal_is_refused() {
    for mut lab in labs() {
        for value in ["1.5", "0", "123456789012345"] {
            let constant = format!("SELECT id FROM equal WHERE d = '{value}'");
            assert_refused(&mut lab, &constant);
            let bound = "SELECT id FROM equal WHERE d = ?";
            assert_bound_refused(&mut lab, bound, text(value));
        }
    }
}

#[test]
fn long_decimals_are_found() {
    for mut lab in labs() {
        let nines = format!("{}.{}", "9".repeat(35), "9".repeat(30));
        for condition in [
            "d = 1.5".to_owned(),
            "d <> 1.50".to_owned(),
            format!("d = {nines}"),
            format!("d IN (0, -{nines}, 1000)"),
            format!("d = {}", "9".repeat(36)),
            "d IS NULL".to_owned(),
        ] {
            let text = format!("SELECT id, d FROM equal WHERE {condition} ORDER BY id");
            same(&mut lab, &text, vec![]);
        }
        for statement in [
            "SELECT d, COUNT(*) AS c FROM equal GROUP BY d ORDER BY c DESC, MIN(id)",
            "DELETE FROM equal WHERE d = 1.5",
            "SELECT * FROM equal ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
        let all = "SELECT id FROM equal WHERE d = ? ORDER BY id";
        same(&mut lab, all, vec![Value::Int(1000)]);
        assert_bound_refused(&mut lab, all, text(&nines));
        for number in [
            format!("1.5{}1", "0".repeat(40)),
            format!("'{nines}'"),
            "0.1e0".to_owned(),
        ] {
            assert_refused(
                &mut lab,
                &format!("SELECT id FROM equal WHERE d = {number}"),
            );
        }
    }
}

#[test]
fn long_decimals_are_counted_up_and_down() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for change in [
                "+ 1".to_owned(),
                format!("- {}", "1".repeat(35)),
                format!("+ 0.{}1", "0".repeat(29)),
                format!("+ {}", "9".repeat(35)),
            ] {
                for id in [1, 3, 6] {
                    let text = format!("UPDATE {table} SET d = d {change} WHERE id = {id}");
                    assert_same_code(&mut lab, &text);
                }
            }
            // Out of range, to the server.
            assert_refused(
                &mut lab,
                &format!("UPDATE {table} SET d = d + 1 WHERE id = 4"),
            );
            same(
                &mut lab,
                &format!("SELECT * FROM {table} ORDER BY id"),
                vec![],
            );
        }
    }
}

#[test]
fn a_finisher_computes_with_long_decimals() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for text in [
            "SELECT SUM(w) AS s FROM at_random WHERE id < 5",
            "SELECT id FROM at_random WHERE d > 1.5 AND d < 1e30 ORDER BY id",
            "SELECT id, ROUND(d, 2) AS r, d + w AS s FROM at_random ORDER BY id",
            "UPDATE at_random SET d = w / 3 WHERE id < 4",
            "SELECT * FROM at_random ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
    }
}
