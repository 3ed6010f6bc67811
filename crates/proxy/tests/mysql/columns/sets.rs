//! Protected columns of type SET beside plain ones: labels in their order and what is none, what is
//! compared and sorted, and what clients see.

use mysql::{Conn, Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{
    Lab, assert_bound_refused, assert_refused, assert_same_code, assert_shown_alike, connect,
    finisher_of, on_each, text,
};
use crate::mysql::setup::Proxy;

/// Tables, each with one mode.
const MODES: [(&str, &str); 2] = [
    ("at_random", "mode = \"random\""),
    ("equal", "mode = \"equality\", accept_leakage = true"),
];

const LABELS: &str = "'zeta','Alpha','2','mid way','x'";

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut rules = "[keys]\nfile = \"columns.key\"\n".to_owned();
    let mut tables = Vec::new();
    for (table, mode) in MODES {
        let domain = match table {
            "equal" => ", domain = \"labels\"",
            _ => "",
        };
        rules += &format!(
            "[columns.\"shop.{table}\"]\ne = {{ type = \"set({LABELS})\", pad = 32, \
             {mode}{domain} }}\nf = {{ type = \"SET('new', 'paid')\", {mode}, default = \
             \"'paid,new'\" }}\ng = {{ type = \"set({LABELS})\", pad = 32, {mode}{domain} }}\n"
        );
        let key = match table {
            "at_random" => "",
            _ => ", KEY by_e (e), UNIQUE KEY by_g (g, id)",
        };
        tables.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, e SET({LABELS}), f SET('new', 'paid') NOT \
             NULL DEFAULT 'paid,new', g set({LABELS}) DEFAULT NULL COMMENT 'it''s'{key})"
        ));
    }
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let mut lab = Lab::with(brand, &format!("{rules}{more}"), &tables)?;
    for (table, _) in MODES {
        for (labels, id) in [
            "'zeta'",
            "'Alpha,zeta'",
            "'2'",
            "'x,mid way'",
            "'x,2,zeta,x'",
            "''",
            "NULL",
            "'Alpha'",
            "'zeta,Alpha,2,mid way,x'",
            "'zeta,2'",
        ]
        .iter()
        .zip(1..)
        {
            let text = format!("INSERT INTO {table} (id, e, g) VALUES ({id}, {labels}, 'x,zeta')");
            same(&mut lab, &text, vec![]);
        }
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

#[test]
fn labels_of_sets_are_stored_and_shown_as_the_server_does() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for (value, id) in [
                text("Alpha"),
                text("mid way,2,2"),
                text(""),
                text("x,zeta"),
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
                format!("UPDATE {table} SET f = '', e = DEFAULT WHERE id = 101"),
                format!("REPLACE INTO {table} (id, e) VALUES (101, 'mid way')"),
                format!(
                    "INSERT INTO {table} (id, e) VALUES (101, 'x,2') ON DUPLICATE KEY UPDATE e = \
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
fn what_is_no_label_of_a_set_is_refused() {
    for mut lab in labs() {
        for (table, _) in MODES {
            for labels in [
                "'other'",
                "'Alpha,other'",
                "'zeta,'",
                "','",
                "'zeta,,2'",
                "'zeta,1'",
                "'1234567890123456789012'",
                "NULL",
            ] {
                for column in ["e", "f"] {
                    let insert =
                        format!("INSERT INTO {table} (id, {column}) VALUES (300, {labels})");
                    assert_same_code(&mut lab, &insert);
                    assert_same_code(&mut lab, &format!("DELETE FROM {table} WHERE id = 300"));
                    let update = format!("UPDATE {table} SET {column} = {labels} WHERE id = 1");
                    assert_same_code(&mut lab, &update);
                }
            }
            let insert = format!("INSERT INTO {table} (id, e) VALUES (300, ?)");
            let code = |client: &mut Conn| match client.exec_drop(&insert, (text("x,other"),)) {
                Err(mysql::Error::MySqlError(error)) => error.code,
                other => panic!("{other:?}"),
            };
            assert_eq!((code(&mut lab.ours), code(&mut lab.theirs)), (1265, 1265));
            // The server reads some of these.
            for labels in [
                "'alpha'",
                "'zeta,ALPHA'",
                "'ALPHA,other'",
                "'Alphä'",
                "'zeta\\t'",
                "'zeta ,2'",
                "'zeta '",
                "'1'",
                "'0'",
                "' 2'",
                "'  '",
                "1",
                "0",
                "TRUE",
                "x'7a657461'",
                "CONCAT('ze', 'ta')",
            ] {
                let insert = format!("INSERT INTO {table} (id, e) VALUES (300, {labels})");
                assert_refused(&mut lab, &insert);
                assert_refused(
                    &mut lab,
                    &format!("INSERT IGNORE INTO {table} (e) VALUES ({labels})"),
                );
            }
            for value in [
                text("alpha"),
                text("1"),
                text("x,Alphä"),
                Value::Bytes(vec![0xff]),
                Value::Int(1),
                Value::Double(1.0),
                Value::Date(1999, 1, 1, 0, 0, 0, 0),
            ] {
                assert_bound_refused(&mut lab, &insert, value);
            }
            let all = format!("SELECT * FROM {table} ORDER BY id");
            same(&mut lab, &all, vec![]);
        }
    }
}

#[test]
fn labels_of_sets_are_found() {
    for mut lab in labs() {
        for condition in [
            "e = 'zeta'",
            "'Alpha' = e",
            "e = 'zeta,2'",
            "e = 'zeta,2,x'",
            "e = ''",
            "e <> 'zeta,2'",
            "e IN ('zeta', '2', 'zeta,2')",
            "e NOT IN ('zeta', 'zeta,Alpha')",
            "e IS NULL",
            "(e, f) IN (('zeta', 'new,paid'), ('2', 'new'))",
        ] {
            let statement = format!("SELECT id, e FROM equal WHERE {condition} ORDER BY id");
            same(&mut lab, &statement, vec![]);
        }
        for value in [text("zeta"), text("zeta,Alpha"), text(""), Value::NULL] {
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
            "DELETE FROM equal WHERE e = 'zeta,2'",
            "SELECT * FROM equal ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
    }
}

#[test]
fn other_comparisons_of_sets_are_refused() {
    for mut lab in labs() {
        for condition in [
            "e = 'alpha'",
            "e = '2,zeta'",
            "e = 'other'",
            "e = 'zeta,other'",
            "e = '1'",
            "e = 'zeta,zeta'",
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
            "FIND_IN_SET('zeta', e)",
            "FIND_IN_SET('zeta', e) > 0",
            "e & 1",
            "e & 1 = 1",
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
            "UPDATE equal SET e = e | 1",
            "UPDATE equal SET e = CONCAT(e, ',x')",
        ] {
            assert_refused(&mut lab, statement);
        }
        assert_bound_refused(&mut lab, "SELECT id FROM equal WHERE e = ?", Value::Int(1));
        assert_bound_refused(&mut lab, "SELECT id FROM equal WHERE e = ?", text("2,zeta"));
    }
}

#[test]
fn tables_of_sets_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for (table, _) in MODES {
            assert_shown_alike(&mut lab, table);
        }
        lab.ours
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        for declared in [
            "SET('zeta')",
            "VARCHAR(8)",
            "ENUM('zeta','Alpha','2','mid way','x')",
            "SET('Alpha','zeta','2','mid way','x')",
            "SET('ZETA','Alpha','2','mid way','x')",
            "SET('zeta','Alpha','2','mid way','x') COLLATE utf8mb4_bin",
            "SET('zeta','Alpha','2','mid way','x') CHARACTER SET latin1",
            "SET('zeta','Alpha','2','mid way','x') DEFAULT 'zeta'",
        ] {
            let text = format!(
                "CREATE TABLE at_random (id INT PRIMARY KEY, e {declared}, f SET('new', 'paid') \
                 NOT NULL DEFAULT 'new,paid', g SET({LABELS}))"
            );
            assert_refused(&mut lab, &text);
        }
        let create = format!(
            "CREATE TABLE at_random (id INT PRIMARY KEY, e SET({LABELS}), f SET('new', 'paid') \
             NOT NULL DEFAULT 'new,paid', g SET({LABELS})) CHARACTER SET utf8mb4 COLLATE \
             utf8mb4_bin"
        );
        lab.theirs
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        for client in [&mut lab.ours, &mut lab.theirs] {
            client.query_drop(&create).expect("it is there");
        }
        assert_shown_alike(&mut lab, "at_random");
        same(
            &mut lab,
            "INSERT INTO at_random (id, e) VALUES (1, 'x,zeta')",
            vec![],
        );
        // Of a plain column the server says, too, that its collation is a binary one.
        let [ours, theirs] = [&mut lab.ours, &mut lab.theirs].map(|client| {
            let rows: Vec<(i32, String, String)> = client
                .query("SELECT id, e, f FROM at_random")
                .expect("rows");
            rows
        });
        assert_eq!(ours, theirs);
    }
}

#[test]
fn a_collation_that_takes_letters_for_others_closes_a_table_of_sets() {
    for mut lab in labs() {
        lab.ours
            .query_drop("DROP TABLE at_random")
            .expect("it goes");
        let create = format!(
            "CREATE TABLE at_random (id INT PRIMARY KEY, e SET({LABELS}), f SET('new', 'paid') \
             NOT NULL DEFAULT 'new,paid', g SET({LABELS})) DEFAULT CHARSET utf8mb4 COLLATE \
             utf8mb4_latvian_ci"
        );
        let _ = lab.ours.query_drop(&create);
        assert_refused(&mut lab, "INSERT INTO at_random (id, e) VALUES (1, 'zeta')");
    }
}

#[test]
fn a_finisher_computes_with_sets() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for text in [
            "SELECT id, e FROM at_random WHERE FIND_IN_SET('ALPHA', e) ORDER BY id",
            "SELECT id, e FROM at_random WHERE e & 5 = 5 ORDER BY id",
            "SELECT id, e FROM at_random WHERE e = 'ALPHA' OR e + 1 = 2 ORDER BY id",
            "SELECT id, e FROM at_random WHERE e > 'b' ORDER BY id",
            "SELECT id, e FROM at_random WHERE e > 2 ORDER BY id",
            "SELECT id, CONCAT(e, 'x') AS c, UPPER(e) AS u, e + 0 AS n FROM at_random ORDER BY id",
            "SELECT e, COUNT(*) AS c FROM at_random GROUP BY e ORDER BY e",
            "SELECT id, CASE e WHEN 'zeta' THEN 1 ELSE 2 END AS c FROM at_random ORDER BY e, id",
            "SELECT SUM(e) AS s, MIN(e) AS a, MAX(e) AS z FROM at_random",
            "SELECT f, MIN(e) AS a FROM at_random GROUP BY f ORDER BY f",
            "SELECT id FROM equal WHERE e LIKE '%a%' ORDER BY id",
            "SELECT id FROM equal WHERE e = '2,zeta' OR id < 2 ORDER BY id",
            "SELECT id FROM equal WHERE FIND_IN_SET('x', e) > 0 ORDER BY id",
            "UPDATE at_random SET e = e | 4 WHERE id IN (1, 2)",
            "UPDATE at_random SET e = CONCAT(e, ',x') WHERE e <> ''",
            "INSERT INTO at_random (id, e) SELECT id + 1000, e FROM at_random WHERE e < 'n'",
            "INSERT INTO at_random (id, e) VALUES (2000, LOWER('ZETA,X')), (2001, 1 + 1)",
            "SELECT * FROM at_random ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
        // By a key, the server finds the first in the order of the list, else by letters.
        for text in [
            "SELECT MIN(e) FROM equal WHERE e LIKE '%'",
            "SELECT id FROM equal WHERE e > (SELECT MAX(g) FROM equal)",
        ] {
            assert_refused(&mut lab, text);
        }
    }
}

#[test]
fn a_set_of_64_labels_has_all_its_values() {
    let labels: Vec<String> = (0..64).map(|number| format!("'l{number}'")).collect();
    let labels = labels.join(",");
    let rules = format!(
        "[keys]\nfile = \"columns.key\"\n[columns.\"shop.t\"]\ne = {{ type = \"set({labels})\", \
         mode = \"equality\", accept_leakage = true, pad = 256 }}\n"
    );
    let table = format!("CREATE TABLE t (id INT PRIMARY KEY, e SET({labels}) NOT NULL, KEY (e))");
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, &rules, &[&table]) else {
            continue;
        };
        let all = labels.replace('\'', "");
        for (value, id) in ["", "l63", "l63,l0", "l31,l32", all.as_str()]
            .iter()
            .zip(1..)
        {
            let insert = format!("INSERT INTO t VALUES ({id}, ?)");
            same(&mut lab, &insert, vec![text(value)]);
        }
        same(&mut lab, "SELECT * FROM t ORDER BY id", vec![]);
        same(&mut lab, "SELECT e FROM t ORDER BY e", vec![]);
        same(&mut lab, "SELECT id FROM t WHERE e = ?", vec![text(&all)]);
        assert_shown_alike(&mut lab, "t");
        let mut past = lab.past();
        let sizes: Vec<u64> = past
            .query("SELECT DISTINCT LENGTH(e) FROM t")
            .expect("sizes");
        assert_eq!(sizes.len(), 1, "values are told apart by their sizes");
        // The plain server takes the empty set.
        let missing = "INSERT INTO t (id) VALUES (9)";
        lab.ours.query_drop(missing).expect_err(missing);
    }
}

/// Rules whose list has grown and is in another order, over the values of an older one.
#[test]
fn a_list_may_grow_and_be_put_in_another_order() {
    let of_list = |list: &str| {
        format!(
            "[keys]\nfile = \"columns.key\"\n[columns.\"shop.t\"]\ne = {{ type = \"set({list})\", \
             mode = \"equality\", accept_leakage = true }}\n"
        )
    };
    let old = "'b','a'";
    let table = format!("CREATE TABLE t (id INT PRIMARY KEY, e SET({old}))");
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, &of_list(old), &[&table]) else {
            continue;
        };
        same(
            &mut lab,
            "INSERT INTO t VALUES (1, 'a,b'), (2, 'b'), (3, '')",
            vec![],
        );
        lab.proxy = Proxy::start(&lab.server, &of_list("'a','c','b'"));
        lab.ours = connect(lab.proxy.port(), "shop");
        lab.theirs
            .query_drop("ALTER TABLE t MODIFY e SET('a','c','b')")
            .expect("it is changed");
        for statement in [
            "SELECT * FROM t ORDER BY e",
            "SELECT id FROM t WHERE e = 'a,b'",
            "INSERT INTO t VALUES (4, 'b,c')",
            "SELECT * FROM t ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
    }
}
