//! Protected columns of type BIT beside plain ones: constants and parameters of each kind, what is
//! compared and sorted, and what clients see.

use mysql::Value;
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{
    Lab, assert_bound_refused, assert_refused, assert_same_code, assert_shown_alike, finisher_of,
    on_each, text,
};
use mysql::prelude::Queryable as _;

/// Tables, each with one mode.
const MODES: [(&str, &str); 2] = [
    ("at_random", "mode = \"random\""),
    ("equal", "mode = \"equality\", accept_leakage = true"),
];

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut rules = "[keys]\nfile = \"columns.key\"\n".to_owned();
    let mut tables = Vec::new();
    for (table, mode) in MODES {
        let domain = match table {
            "equal" => ", domain = \"flags\"",
            _ => "",
        };
        rules += &format!(
            "[columns.\"shop.{table}\"]\nflag = {{ type = \"bit unsigned\", {mode}{domain} \
             }}\nseen = {{ type = \"bit(1) unsigned\", {mode}{domain}, default = \"b'1'\" }}\nnine \
             = {{ type = \"bit(9) unsigned\", {mode} }}\nwide = {{ type = \"bit(64) unsigned\", \
             {mode}, default = \"5\" }}\n"
        );
        let key = match table {
            "at_random" => "",
            _ => ", KEY by_flag (flag), UNIQUE KEY by_nine (nine, id)",
        };
        tables.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, flag BIT, seen BIT(1) NOT NULL DEFAULT \
             b'1', nine BIT(9), wide bit(64) DEFAULT 5 COMMENT 'it''s', plain BIT(3) NOT NULL \
             DEFAULT b'010'{key})"
        ));
    }
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let mut lab = Lab::with(brand, &format!("{rules}{more}"), &tables)?;
    for (table, _) in MODES {
        for (values, id) in [
            "1, 5, 1",
            "b'1', b'101', b'0'",
            "0b1, 0b111111111, 0xffffffffffffffff",
            "TRUE, 0x0102, x'ff'",
            "FALSE, x'01ff', 18446744073709551615",
            "0, 'A', '12345678'",
            "b'0', _binary'\\0', _binary'\\0'",
            "NULL, NULL, NULL",
            "x'00', x'00000000000000ff', b'11111111'",
        ]
        .iter()
        .zip(1..)
        {
            let text =
                format!("INSERT INTO {table} (id, flag, nine, wide) VALUES ({id}, {values})");
            same(&mut lab, &text, vec![]);
        }
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

#[test]
fn bits_are_stored_and_shown_as_the_server_does() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for (value, id) in [
                Value::Int(1),
                Value::UInt(1),
                Value::Int(0),
                Value::Double(1.0),
                Value::Float(0.0),
                Value::Bytes(vec![1]),
                Value::Bytes(vec![0, 0]),
                Value::NULL,
            ]
            .into_iter()
            .zip(100..)
            {
                let insert = format!("INSERT INTO {table} (id, flag, seen) VALUES ({id}, ?, 0)");
                same(&mut lab, &insert, vec![value]);
            }
            for (value, id) in [
                Value::UInt(u64::MAX),
                Value::Int(i64::MAX),
                Value::Double(4_294_967_296.0),
                text("12345678"),
                Value::Bytes(vec![0xff; 8]),
            ]
            .into_iter()
            .zip(200..)
            {
                let insert = format!("INSERT INTO {table} (id, wide) VALUES ({id}, ?)");
                same(&mut lab, &insert, vec![value]);
            }
            for statement in [
                format!("SELECT * FROM {table} ORDER BY id"),
                format!("INSERT INTO {table} (id) VALUES (300)"),
                format!("UPDATE {table} SET seen = DEFAULT, flag = TRUE WHERE id = 100"),
                format!("UPDATE {table} SET seen = b'0', flag = DEFAULT WHERE id = 101"),
                format!("REPLACE INTO {table} (id, nine) VALUES (101, 511)"),
                format!(
                    "INSERT INTO {table} (id, nine) VALUES (101, 7) ON DUPLICATE KEY UPDATE nine = \
                     VALUES(nine), plain = b'111'"
                ),
                format!("SELECT nine, seen FROM {table} ORDER BY nine, seen"),
                format!("SELECT wide FROM {table} WHERE id < 50 ORDER BY wide DESC"),
                format!("SELECT COUNT(DISTINCT nine) AS c, COUNT(flag) AS d FROM {table}"),
                format!("SELECT id FROM {table} WHERE plain = b'010' ORDER BY id"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            let some = format!("SELECT * FROM {table} WHERE id < ? ORDER BY id");
            same(&mut lab, &some, vec![Value::Int(999)]);
        }
    }
}

#[test]
fn what_does_not_fit_bits_is_refused() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for (column, value) in [
                ("flag", "2"),
                ("flag", "b'10'"),
                ("flag", "0x02"),
                ("flag", "x'02'"),
                ("flag", "'1'"),
                ("flag", "'01'"),
                ("flag", "_binary'\\0\u{3}'"),
                ("seen", "NULL"),
                ("nine", "512"),
                ("nine", "'AB'"),
                ("nine", "0b1000000000"),
                ("wide", "'123456789'"),
            ] {
                let insert = format!("INSERT INTO {table} (id, {column}) VALUES (300, {value})");
                assert_same_code(&mut lab, &insert);
                let update = format!("UPDATE {table} SET {column} = {value} WHERE id = 1");
                assert_same_code(&mut lab, &update);
            }
            for (column, value) in [
                ("flag", "-1"),
                ("wide", "-1"),
                ("flag", "0.5"),
                ("flag", "1.0"),
                ("flag", "1e0"),
                ("wide", "18446744073709551616"),
                ("wide", "'é'"),
                ("wide", "''"),
                ("flag", "x'000000000000000001'"),
                ("wide", "NOW()"),
                ("flag", "NOT flag"),
                ("flag", "1 - flag"),
                ("nine", "nine + 1"),
            ] {
                let update = format!("UPDATE {table} SET {column} = {value} WHERE id = 1");
                assert_refused(&mut lab, &update);
            }
            let insert = format!("INSERT INTO {table} (id, wide) VALUES (300, ?)");
            for value in [
                Value::Int(-1),
                Value::Double(0.5),
                Value::Double(-1.0),
                Value::Date(1999, 1, 1, 0, 0, 0, 0),
                Value::Time(false, 0, 1, 0, 0, 0),
            ] {
                assert_bound_refused(&mut lab, &insert, value);
            }
            let all = format!("SELECT * FROM {table} ORDER BY id");
            same(&mut lab, &all, vec![]);
        }
    }
}

#[test]
fn bits_are_found() {
    for mut lab in labs() {
        for condition in [
            "flag = 1",
            "flag = b'1'",
            "flag = TRUE",
            "flag = FALSE",
            "0b0 = flag",
            "flag <> 0",
            "flag <> b'1'",
            "flag IN (0, TRUE)",
            "flag NOT IN (b'1')",
            "flag IS NULL",
            "nine = 5",
            "nine = 0x0102",
            "wide = 18446744073709551615",
            "wide = 0x7fffffffffffffff",
            "(flag, nine) IN ((1, 5), (b'1', b'101'))",
            "flag = 1 AND plain = b'10'",
        ] {
            let statement = format!("SELECT id, flag FROM equal WHERE {condition} ORDER BY id");
            same(&mut lab, &statement, vec![]);
        }
        for value in [
            Value::Int(1),
            Value::UInt(0),
            Value::Double(1.0),
            Value::NULL,
        ] {
            let statement = "SELECT id FROM equal WHERE flag = ? OR flag <> ? ORDER BY id";
            same(&mut lab, statement, vec![value.clone(), value.clone()]);
            same(
                &mut lab,
                "SELECT id FROM equal WHERE flag = ? ORDER BY id",
                vec![value],
            );
        }
        for statement in [
            "SELECT a.id, b.id FROM equal a JOIN equal b ON a.flag = b.seen ORDER BY 1, 2",
            "SELECT id FROM equal WHERE flag = seen ORDER BY id",
            "SELECT COUNT(DISTINCT nine) AS c FROM equal",
            "DELETE FROM equal WHERE nine = b'101'",
            "SELECT * FROM equal ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
    }
}

#[test]
fn other_comparisons_of_bits_are_refused() {
    for mut lab in labs() {
        for condition in [
            "flag = '1'",
            "flag = 2",
            "flag = b'10'",
            "nine = 100000",
            "flag = x'01'",
            "wide = 0xffffffffffffffff",
            "wide = b'1111111111111111111111111111111111111111111111111111111111111111'",
            "flag = _binary'\u{3}'",
            "flag = -1",
            "flag = 1.0",
            "flag = 1e0",
            "flag = nine",
            "flag = plain",
            "flag <=> 1",
            "flag < 1",
            "nine BETWEEN 1 AND 5",
            "flag & 1",
            "flag + 0 = 1",
            "flag",
            "NOT flag",
            "flag LIKE '1'",
        ] {
            assert_refused(&mut lab, &format!("SELECT id FROM equal WHERE {condition}"));
        }
        for statement in [
            "SELECT MIN(nine) FROM equal",
            "SELECT MAX(nine) FROM at_random",
            "SELECT SUM(nine) FROM equal",
            "SELECT flag, COUNT(*) FROM equal GROUP BY flag",
            "SELECT DISTINCT seen FROM equal",
            "SELECT nine + 0 FROM equal",
            "SELECT id FROM at_random WHERE flag = 1",
        ] {
            assert_refused(&mut lab, statement);
        }
        let found = "SELECT id FROM equal WHERE flag = ?";
        for value in [
            text("1"),
            Value::Bytes(vec![1]),
            Value::Int(-1),
            Value::Int(7),
        ] {
            assert_bound_refused(&mut lab, found, value);
        }
    }
}

#[test]
fn tables_of_bits_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for (table, _) in MODES {
            assert_shown_alike(&mut lab, table);
        }
        lab.ours
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        for declared in ["BIT(2)", "TINYINT(1)", "BINARY(1)", "BIT(1) DEFAULT b'1'"] {
            let text = format!(
                "CREATE TABLE at_random (id INT PRIMARY KEY, flag {declared}, seen BIT(1) NOT NULL \
                 DEFAULT TRUE, nine BIT(9), wide BIT(64) DEFAULT b'101')"
            );
            assert_refused(&mut lab, &text);
        }
        let create = "CREATE TABLE at_random (id INT PRIMARY KEY, flag BIT(1), seen BIT(1) NOT \
                      NULL DEFAULT TRUE, nine BIT(9), wide BIT(64) DEFAULT b'101')";
        lab.theirs
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        for client in [&mut lab.ours, &mut lab.theirs] {
            client.query_drop(create).expect("it is there");
        }
        assert_shown_alike(&mut lab, "at_random");
    }
}

#[test]
fn a_finisher_computes_with_bits() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for text in [
            "SELECT id, flag FROM at_random WHERE flag ORDER BY id",
            "SELECT id, nine FROM at_random WHERE nine & 5 = 5 ORDER BY id",
            "SELECT id, nine FROM at_random WHERE nine > 2 AND NOT flag ORDER BY id",
            "SELECT id, nine + 0 AS n, HEX(wide) AS h, BIN(nine) AS b FROM at_random ORDER BY id",
            "SELECT id, IF(flag, 'yes', 'no') AS f FROM at_random ORDER BY id",
            "SELECT SUM(flag) AS s, BIT_OR(nine) AS o FROM at_random",
            "SELECT MAX(nine) AS z, MIN(flag) AS a FROM at_random",
            // Through a table of the finisher's own, without groups.
            "SELECT d.flag, d.nine, d.wide, d.id FROM (SELECT id, flag, nine, wide FROM at_random \
             WHERE flag IS NOT NULL OR nine > 1 LIMIT 50) d ORDER BY d.id",
            "SELECT a.id, a.flag, b.nine FROM at_random a JOIN at_random b ON a.id = b.id + 1 \
             WHERE a.nine >= 0 ORDER BY b.id + a.id, a.id",
            "SELECT a.id, a.flag, b.flag AS g, b.nine FROM at_random a LEFT JOIN at_random b ON \
             b.nine = a.nine + 0 ORDER BY a.id, b.id",
            "SELECT id FROM equal WHERE flag < 1 ORDER BY id",
            "SELECT id FROM equal WHERE flag = '1' OR nine = x'05' ORDER BY id",
            "UPDATE at_random SET flag = NOT flag WHERE id < 3",
            "UPDATE at_random SET nine = nine | b'1000' WHERE nine IS NOT NULL",
            "INSERT INTO at_random (id, flag, nine) SELECT id + 1000, seen, nine FROM at_random \
             WHERE nine > 3",
            "INSERT INTO at_random (id, wide) VALUES (2000, 1 + 1), (2001, ~0)",
            "SELECT * FROM at_random ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
        for text in [
            "SELECT flag, COUNT(*) AS c FROM at_random GROUP BY flag ORDER BY c, flag",
            "SELECT flag, COUNT(*) AS c FROM equal GROUP BY flag ORDER BY flag",
            "SELECT DISTINCT nine FROM at_random ORDER BY nine",
            "SELECT DISTINCT flag, seen FROM equal ORDER BY flag",
        ] {
            assert_refused(&mut lab, text);
        }
    }
}
