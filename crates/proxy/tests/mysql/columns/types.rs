//! Types of columns that only MySQL and MariaDB have, beside plain columns of the same types: their
//! limits, as texts and prepared, what clients see of them, and what the server decides.

use mysql::{Conn, Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{Lab, assert_same_code, assert_shown_alike, finisher_of, on_each};

/// A type of whole numbers.
struct Whole {
    column: &'static str,
    declared: &'static str,
    /// As rules name it.
    rule: &'static str,
    least: i128,
    greatest: i128,
}

const fn whole(
    column: &'static str,
    (declared, rule): (&'static str, &'static str),
    least: i128,
    greatest: i128,
) -> Whole {
    Whole {
        column,
        declared,
        rule,
        least,
        greatest,
    }
}

const WHOLE: [Whole; 8] = [
    whole("flag", ("BOOLEAN", "tinyint(1)"), -128, 127),
    whole("tiny", ("TINYINT", "tinyint"), -128, 127),
    whole(
        "medium",
        ("MEDIUMINT(9)", "mediumint"),
        -8_388_608,
        8_388_607,
    ),
    whole("tiny_u", ("TINYINT UNSIGNED", "tinyint unsigned"), 0, 255),
    whole(
        "small_u",
        ("SMALLINT(5) UNSIGNED", "smallint unsigned"),
        0,
        65_535,
    ),
    whole(
        "medium_u",
        ("MEDIUMINT UNSIGNED", "mediumint unsigned"),
        0,
        16_777_215,
    ),
    whole(
        "int_u",
        ("INT(10) UNSIGNED", "integer unsigned"),
        0,
        4_294_967_295,
    ),
    whole(
        "big_u",
        ("BIGINT UNSIGNED", "bigint unsigned"),
        0,
        18_446_744_073_709_551_615,
    ),
];

/// Tables of all types, each with one mode.
const MODES: [(&str, &str); 4] = [
    ("at_random", "mode = \"random\""),
    ("equal", "mode = \"equality\", accept_leakage = true"),
    (
        "compact",
        "mode = \"equality\", equality = \"compact\", accept_leakage = true",
    ),
    ("ordered", "mode = \"order\", accept_leakage = true"),
];

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut rules = "[keys]\nfile = \"columns.key\"\n".to_owned();
    let mut tables = Vec::new();
    for (table, mode) in MODES {
        rules += &format!("[columns.\"shop.{table}\"]\n");
        let mut columns = String::new();
        for own in &WHOLE {
            rules += &format!("{} = {{ type = \"{}\", {mode} }}\n", own.column, own.rule);
            columns += &format!(", {} {}", own.column, own.declared);
            if own.column == "int_u" {
                columns += " NOT NULL";
            }
        }
        let key = match table {
            "at_random" => "",
            _ => ", UNIQUE KEY by_big (big_u), KEY by_both (tiny_u, medium)",
        };
        tables.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY{columns}{key})"
        ));
    }
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    Lab::with(brand, &format!("{rules}{more}"), &tables)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

fn number(number: i128) -> Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => Value::Int(number),
        (_, Ok(number)) => Value::UInt(number),
        _ => Value::Bytes(number.to_string().into_bytes()),
    }
}

/// A row for each of some numbers of all types, as texts and prepared.
fn fill(lab: &mut Lab, table: &str) {
    let columns: Vec<&str> = WHOLE.iter().map(|own| own.column).collect();
    let columns = columns.join(", ");
    let marks = vec!["?"; WHOLE.len()].join(", ");
    let picks: [fn(&Whole) -> i128; 4] = [
        |own| own.least,
        |own| own.greatest,
        |own| i128::from(own.least == 0) + 6,
        |own| own.greatest - 1,
    ];
    for (index, pick) in picks.iter().enumerate() {
        let numbers: Vec<i128> = WHOLE.iter().map(pick).collect();
        let is_text = index % 2 == 0;
        let id = index + 1;
        if is_text {
            let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            let texts = texts.join(", ");
            let insert = format!("INSERT INTO {table} (id, {columns}) VALUES ({id}, {texts})");
            same(lab, &insert, vec![]);
        } else {
            let insert = format!("INSERT INTO {table} (id, {columns}) VALUES ({id}, {marks})");
            let numbers = numbers.into_iter().map(number).collect();
            same(lab, &insert, numbers);
        }
    }
    same(
        lab,
        &format!("INSERT INTO {table} (id, int_u) VALUES (9, 0)"),
        vec![],
    );
    same(
        lab,
        &format!("INSERT INTO {table} (id, tiny) VALUES (10, 0)"),
        vec![],
    );
}

/// Numbers beyond each type are refused with the server's own code.
fn beyond(lab: &mut Lab, table: &str) {
    for own in &WHOLE {
        for out in [own.least - 1, own.greatest + 1] {
            let column = own.column;
            let int = if column == "int_u" { "" } else { ", int_u" };
            let value = if column == "int_u" { "" } else { ", 1" };
            let insert = format!("INSERT INTO {table} (id, {column}{int}) VALUES (20, ");
            same(lab, &format!("{insert}{out}{value})"), vec![]);
            same(lab, &format!("{insert}'{out}'{value})"), vec![]);
            same(lab, &format!("{insert}?{value})"), vec![number(out)]);
        }
    }
}

#[test]
fn whole_numbers_of_all_types_have_their_limits() {
    for mut lab in labs() {
        for (table, _) in MODES {
            fill(&mut lab, table);
            beyond(&mut lab, table);
            let all = format!("SELECT * FROM {table} ORDER BY id");
            same(&mut lab, &all, vec![]);
            let some = format!("SELECT * FROM {table} WHERE id < ? ORDER BY id");
            same(&mut lab, &some, vec![Value::Int(99)]);
            let rounded = format!("UPDATE {table} SET tiny_u = 254.5, medium = '-7' WHERE id = 9");
            same(&mut lab, &rounded, vec![]);
            // Each has its number of digits, and its sign.
            for own in &WHOLE {
                let column = own.column;
                for function in ["MIN", "MAX", "SUM"] {
                    let text = format!("SELECT {function}({column}) AS f FROM {table}");
                    same(&mut lab, &text, vec![]);
                }
                let sorted = format!(
                    "SELECT id, {column} FROM {table} WHERE id < 9 ORDER BY \
                                      {column} DESC"
                );
                same(&mut lab, &sorted, vec![]);
            }
        }
    }
}

#[test]
fn whole_numbers_are_found_by_their_mode() {
    for mut lab in labs() {
        for (table, _) in MODES.iter().skip(1) {
            fill(&mut lab, table);
            for own in &WHOLE {
                let column = own.column;
                // A compact form of all 64 bits has no number that stands for none, and a text of
                // so many digits is not compared.
                let (first, last) = match (column, *table) {
                    ("big_u", "compact") => (own.least, own.greatest),
                    ("big_u", _) => (own.least - 1, own.greatest),
                    _ => (own.least - 1, own.greatest + 1),
                };
                for number_of in [first, own.least, 7, own.greatest, last] {
                    let text = format!("SELECT id FROM {table} WHERE {column} = ");
                    let end = " ORDER BY id";
                    same(&mut lab, &format!("{text}{number_of}{end}"), vec![]);
                    same(&mut lab, &format!("{text}?{end}"), vec![number(number_of)]);
                }
                let distinct =
                    format!("SELECT COUNT(*) AS c FROM {table} GROUP BY {column} ORDER BY c DESC");
                same(&mut lab, &distinct, vec![]);
            }
            let taken = format!(
                "INSERT INTO {table} (id, int_u, big_u) VALUES (30, 1, 18446744073709551615)"
            );
            let code = |client: &mut Conn| match client.query_drop(&taken) {
                Err(mysql::Error::MySqlError(error)) => error.code,
                other => panic!("{other:?}"),
            };
            assert_eq!((code(&mut lab.ours), code(&mut lab.theirs)), (1062, 1062));
        }
        for own in &WHOLE {
            let column = own.column;
            for condition in [
                format!("{column} > {}", own.least),
                format!("{column} <= {}", own.greatest - 1),
                format!("{column} BETWEEN -300 AND 7"),
                format!("{column} < {}", own.greatest + 1),
            ] {
                let text =
                    format!("SELECT id FROM ordered WHERE {condition} ORDER BY {column}, id");
                same(&mut lab, &text, vec![]);
            }
        }
    }
}

#[test]
fn whole_numbers_are_counted_up_and_down() {
    for mut lab in labs() {
        for (table, _) in MODES {
            fill(&mut lab, table);
            for own in &WHOLE {
                let column = own.column;
                for (id, change) in [(3, "+ 5"), (3, "- 5"), (1, "- 1"), (2, "+ 1"), (3, "- 300")] {
                    let text =
                        format!("UPDATE {table} SET {column} = {column} {change} WHERE id = {id}");
                    assert_same_code(&mut lab, &text);
                }
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
fn tables_of_all_types_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for (table, _) in MODES {
            assert_shown_alike(&mut lab, table);
        }
        for (text, reason) in [
            (
                "CREATE TABLE at_random (id INT PRIMARY KEY, tiny INT)",
                "is declared INT",
            ),
            (
                "CREATE TABLE at_random (id INT PRIMARY KEY, tiny TINYINT UNSIGNED)",
                "is declared TINYINT UNSIGNED",
            ),
        ] {
            lab.ours
                .query_drop("DROP TABLE IF EXISTS at_random")
                .expect("it goes");
            let error = lab.ours.query_drop(text).expect_err(text).to_string();
            assert!(error.contains("strongroom: "), "{text}: {error} {reason}");
        }
    }
}

#[test]
fn a_finisher_computes_with_whole_numbers_of_all_types() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        fill(&mut lab, "at_random");
        for own in &WHOLE {
            let column = own.column;
            for text in [
                format!("SELECT id, {column} FROM at_random WHERE {column} > 6 ORDER BY id"),
                format!("SELECT id, {column} DIV 2 AS h FROM at_random WHERE id < 9 ORDER BY id"),
                format!(
                    "SELECT {column}, COUNT(*) AS c FROM at_random GROUP BY {column} ORDER BY 1"
                ),
                format!("UPDATE at_random SET {column} = FLOOR({column} / 3) WHERE {column} > 6"),
                format!(
                    "UPDATE at_random SET {column} = {column} * 1000000000000000000 WHERE id = 3"
                ),
                "SELECT * FROM at_random ORDER BY id".to_owned(),
            ] {
                same(&mut lab, &text, vec![]);
            }
        }
    }
}
