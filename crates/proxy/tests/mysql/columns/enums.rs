//! Protected columns of type ENUM beside plain ones: labels and what is none, what is compared and
//! sorted, and what clients see.

use mysql::{Conn, Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{
    Lab, assert_bound_refused, assert_refused, assert_same_code, assert_shown_alike, finisher_of,
    on_each, text,
};

/// Tables, each with one mode.
const MODES: [(&str, &str); 2] = [
    ("at_random", "mode = \"random\""),
    ("equal", "mode = \"equality\", accept_leakage = true"),
];

const LABELS: &str = "'zeta','Alpha','2','mid way','a,b','','3'";

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut rules = "[keys]\nfile = \"columns.key\"\n".to_owned();
    let mut tables = Vec::new();
    for (table, mode) in MODES {
        let domain = match table {
            "equal" => ", domain = \"labels\"",
            _ => "",
        };
        rules += &format!(
            "[columns.\"shop.{table}\"]\ne = {{ type = \"enum({LABELS})\", {mode}{domain} }}\nf = \
             {{ type = \"ENUM('new', 'paid')\", {mode}, default = \"'paid'\" }}\ng = {{ type = \
             \"enum({LABELS})\", {mode}{domain} }}\n"
        );
        let key = match table {
            "at_random" => "",
            _ => ", KEY by_e (e), UNIQUE KEY by_g (g, id)",
        };
        tables.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, e ENUM({LABELS}), f ENUM('new', 'paid') \
             NOT NULL DEFAULT 'paid', g enum({LABELS}) DEFAULT NULL COMMENT 'it''s'{key})"
        ));
    }
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let mut lab = Lab::with(brand, &format!("{rules}{more}"), &tables)?;
    for (table, _) in MODES {
        for (label, id) in [
            "'zeta'",
            "'Alpha'",
            "'2'",
            "'mid way'",
            "'a,b'",
            "''",
            "NULL",
            "'Alpha  '",
            "'3'",
        ]
        .iter()
        .zip(1..)
        {
            let text = format!("INSERT INTO {table} (id, e, g) VALUES ({id}, {label}, 'a,b')");
            same(&mut lab, &text, vec![]);
        }
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

#[test]
fn labels_are_stored_and_shown_as_the_server_does() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for (value, id) in [
                text("Alpha"),
                text("3"),
                text(""),
                text("zeta "),
                Value::NULL,
            ]
            .into_iter()
            .zip(100..)
            {
                let insert = format!("INSERT INTO {table} (id, e, f) VALUES ({id}, ?, 'new')");
                same(&mut lab, &insert, vec![value]);
            }
            for statement in [
                format!("SELECT * FROM {table} ORDER BY id"),
                format!("INSERT INTO {table} (id) VALUES (200)"),
                format!("UPDATE {table} SET f = DEFAULT, e = '2' WHERE id = 100"),
                format!("UPDATE {table} SET f = 'new', e = DEFAULT WHERE id = 101"),
                format!("REPLACE INTO {table} (id, e) VALUES (101, 'mid way')"),
                format!(
                    "INSERT INTO {table} (id, e) VALUES (101, '3') ON DUPLICATE KEY UPDATE e = \
                     VALUES(e)"
                ),
                format!("SELECT e, f FROM {table} ORDER BY e, f"),
                format!("SELECT e FROM {table} WHERE id < 50 ORDER BY e DESC"),
                format!("SELECT COUNT(DISTINCT e) AS c, COUNT(f) AS d FROM {table}"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            let some = format!("SELECT * FROM {table} WHERE id < ? ORDER BY id");
            same(&mut lab, &some, vec![Value::Int(999)]);
        }
    }
}

#[test]
fn what_is_no_label_is_refused() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for label in ["'other'", "'Alpha x'", "'zetaa'", "'123456'", "NULL"] {
                for column in ["e", "f"] {
                    let insert =
                        format!("INSERT INTO {table} (id, {column}) VALUES (300, {label})");
                    assert_same_code(&mut lab, &insert);
                    assert_same_code(&mut lab, &format!("DELETE FROM {table} WHERE id = 300"));
                    let update = format!("UPDATE {table} SET {column} = {label} WHERE id = 1");
                    assert_same_code(&mut lab, &update);
                }
            }
            let insert = format!("INSERT INTO {table} (id, e) VALUES (300, ?)");
            let code = |client: &mut Conn| match client.exec_drop(&insert, (text("other"),)) {
                Err(mysql::Error::MySqlError(error)) => error.code,
                other => panic!("{other:?}"),
            };
            assert_eq!((code(&mut lab.ours), code(&mut lab.theirs)), (1265, 1265));
            // The server reads some of these.
            for label in [
                "'alpha'",
                "'ALPHA'",
                "'Alphä'",
                "'zeta\\t'",
                "'1'",
                "'0'",
                "' 2'",
                "1",
                "0",
                "2.5",
                "TRUE",
                "x'7a657461'",
                "NOW()",
                "CONCAT('ze', 'ta')",
            ] {
                let insert = format!("INSERT INTO {table} (id, e) VALUES (300, {label})");
                assert_refused(&mut lab, &insert);
                assert_refused(
                    &mut lab,
                    &format!("INSERT IGNORE INTO {table} (e) VALUES ({label})"),
                );
            }
            for label in [
                text("alpha"),
                text("1"),
                text("Alphä"),
                Value::Bytes(vec![0xff]),
                Value::Int(1),
                Value::Double(1.0),
                Value::Date(1999, 1, 1, 0, 0, 0, 0),
            ] {
                assert_bound_refused(&mut lab, &insert, label);
            }
            let all = format!("SELECT * FROM {table} ORDER BY id");
            same(&mut lab, &all, vec![]);
        }
    }
}

#[test]
fn labels_are_found() {
    for mut lab in labs() {
        for condition in [
            "e = 'zeta'",
            "'Alpha' = e",
            "e = '2'",
            "e = ''",
            "e = '1'",
            "e = 'other'",
            "e <> 'other'",
            "e <> 'mid way'",
            "e IN ('zeta', '3', 'none')",
            "e NOT IN ('zeta', 'other')",
            "e IS NULL",
            "(e, f) IN (('zeta', 'paid'), ('2', 'new'))",
        ] {
            let statement = format!("SELECT id, e FROM equal WHERE {condition} ORDER BY id");
            same(&mut lab, &statement, vec![]);
        }
        for value in [
            text("zeta"),
            text("2"),
            text("1"),
            text(""),
            text("other"),
            Value::NULL,
        ] {
            let statement = "SELECT id FROM equal WHERE e = ? OR e <> ? ORDER BY id";
            same(&mut lab, statement, vec![value.clone(), value.clone()]);
            same(
                &mut lab,
                "SELECT id FROM equal WHERE e = ? ORDER BY id",
                vec![value],
            );
        }
        for statement in [
            "SELECT e, COUNT(*) AS c FROM equal GROUP BY e ORDER BY c DESC, MIN(id)",
            "SELECT DISTINCT f FROM equal",
            "SELECT a.id, b.id FROM equal a JOIN equal b ON a.e = b.g ORDER BY 1, 2",
            "SELECT id FROM equal WHERE e = g ORDER BY id",
            "DELETE FROM equal WHERE e = '3'",
            "SELECT * FROM equal ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
    }
}

#[test]
fn other_comparisons_of_labels_are_refused() {
    for mut lab in labs() {
        for condition in [
            "e = 'alpha'",
            "e <=> 'zeta'",
            "e = 'zeta '",
            "e = 'zetä'",
            "e = 1",
            "e = f",
            "e = 2.0",
            "e = TRUE",
            "e = x'7a657461'",
            "e < 'mid'",
            "e BETWEEN 'a' AND 'm'",
            "e LIKE 'z%'",
            "e + 0 = 1",
            "e",
            "e COLLATE utf8mb4_bin = 'zeta'",
        ] {
            assert_refused(&mut lab, &format!("SELECT id FROM equal WHERE {condition}"));
        }
        for statement in [
            "SELECT MIN(e) FROM equal",
            "SELECT MAX(e) FROM at_random",
            "SELECT SUM(e) FROM equal",
            "SELECT e + 0 FROM equal",
            "SELECT id FROM at_random WHERE e = 'zeta'",
            "UPDATE equal SET e = e + 1",
        ] {
            assert_refused(&mut lab, statement);
        }
        assert_bound_refused(&mut lab, "SELECT id FROM equal WHERE e = ?", Value::Int(1));
    }
}

#[test]
fn tables_of_labels_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for (table, _) in MODES {
            assert_shown_alike(&mut lab, table);
        }
        lab.ours
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        for declared in [
            "ENUM('zeta')",
            "VARCHAR(8)",
            "SET('zeta','Alpha','2','mid way','a,b','','3')",
            "ENUM('Alpha','zeta','2','mid way','a,b','','3')",
            "ENUM('ZETA','Alpha','2','mid way','a,b','','3')",
            "ENUM('zeta','Alpha','2','mid way','a,b','','3') COLLATE utf8mb4_bin",
            "ENUM('zeta','Alpha','2','mid way','a,b','','3') CHARACTER SET latin1",
            "ENUM('zeta','Alpha','2','mid way','a,b','','3') DEFAULT 'zeta'",
        ] {
            let text = format!(
                "CREATE TABLE at_random (id INT PRIMARY KEY, e {declared}, f ENUM('new', 'paid') \
                 NOT NULL DEFAULT 'paid', g ENUM({LABELS}))"
            );
            assert_refused(&mut lab, &text);
        }
        let create = format!(
            "CREATE TABLE at_random (id INT PRIMARY KEY, f ENUM('new', 'paid') NOT NULL DEFAULT \
             'paid', g ENUM({LABELS}))"
        );
        assert_refused(&mut lab, &create);
        let create = format!(
            "CREATE TABLE at_random (id INT PRIMARY KEY, e ENUM({LABELS}), f ENUM('new', 'paid') \
             NOT NULL DEFAULT 'paid', g ENUM({LABELS})) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        );
        lab.theirs
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        for client in [&mut lab.ours, &mut lab.theirs] {
            client.query_drop(&create).expect("it is there");
        }
        assert_shown_alike(&mut lab, "at_random");
        for text in [
            "ALTER TABLE at_random DROP COLUMN e",
            "ALTER TABLE at_random ADD COLUMN e ENUM('x')",
        ] {
            let _ = lab.ours.query_drop(text);
        }
        let add = format!("ALTER TABLE at_random ADD COLUMN e ENUM({LABELS})");
        lab.ours.query_drop(&add).expect("it comes back");
        lab.ours
            .query_drop("INSERT INTO at_random (id, e) VALUES (1, 'mid way')")
            .expect("a row");
    }
}

#[test]
fn a_collation_that_takes_letters_for_others_closes_the_table() {
    for mut lab in labs() {
        lab.ours
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        let create = format!(
            "CREATE TABLE at_random (id INT PRIMARY KEY, e ENUM({LABELS}), f ENUM('new', 'paid') \
             NOT NULL DEFAULT 'paid', g ENUM({LABELS})) DEFAULT CHARSET utf8mb4 COLLATE \
             utf8mb4_latvian_ci"
        );
        let _ = lab.ours.query_drop(&create);
        assert_refused(&mut lab, "INSERT INTO at_random (id, e) VALUES (1, 'zeta')");
    }
}

#[test]
fn a_finisher_computes_with_labels() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for text in [
            "SELECT id, e FROM at_random WHERE e = 'ALPHA' OR e + 1 = 2 ORDER BY id",
            "SELECT id, e FROM at_random WHERE e > 'b' ORDER BY id",
            "SELECT id, e FROM at_random WHERE e > 2 ORDER BY id",
            "SELECT id, CONCAT(e, 'x') AS c, UPPER(e) AS u, e + 0 AS n FROM at_random ORDER BY id",
            "SELECT e, COUNT(*) AS c FROM at_random GROUP BY e ORDER BY e",
            "SELECT id, CASE e WHEN 'zeta' THEN 1 ELSE 2 END AS c FROM at_random ORDER BY e, id",
            "SELECT SUM(e) AS s, MIN(e) AS a, MAX(e) AS z FROM at_random",
            "SELECT f, MIN(e) AS a FROM at_random GROUP BY f ORDER BY f",
            "SELECT id FROM equal WHERE e LIKE 'a%' ORDER BY id",
            "SELECT id FROM equal WHERE e = 'alpha' ORDER BY id",
            "UPDATE at_random SET e = e + 1 WHERE id IN (1, 2)",
            "UPDATE at_random SET e = IF(e = '2', 'a,b', e)",
            "INSERT INTO at_random (id, e) SELECT id + 1000, e FROM at_random WHERE e < 'n'",
            "INSERT INTO at_random (id, e) VALUES (2000, LOWER('ZETA')), (2001, 1 + 1)",
            "SELECT * FROM at_random ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
        // By a key, the server finds the first label of the list, else the first by its letters.
        for text in [
            "SELECT MIN(e) FROM equal WHERE e LIKE '%'",
            "SELECT id FROM equal WHERE e > (SELECT MAX(g) FROM equal)",
        ] {
            assert_refused(&mut lab, text);
        }
    }
}

#[test]
fn a_column_without_a_default_needs_a_value() {
    let rules = "[keys]\nfile = \"columns.key\"\n[columns.\"shop.t\"]\ne = { type = \
                 \"enum('new','paid')\" }\n";
    let table = "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('new','paid') NOT NULL)";
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, rules, &[table]) else {
            continue;
        };
        same(
            &mut lab,
            "INSERT INTO t VALUES (1, 'new'), (2, 'paid')",
            vec![],
        );
        same(&mut lab, "SELECT * FROM t ORDER BY id", vec![]);
        assert_shown_alike(&mut lab, "t");
        // The plain server takes the first label.
        for text in [
            "INSERT INTO t (id) VALUES (3)",
            "INSERT INTO t VALUES (4, DEFAULT)",
        ] {
            lab.ours.query_drop(text).expect_err(text);
        }
        same(&mut lab, "SELECT * FROM t ORDER BY id", vec![]);
    }
}
