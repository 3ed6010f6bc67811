//! The zero date, `0000-00-00`, in protected columns beside plain ones: which SQL modes store it,
//! how it is shown, found and sorted, and that `IS NULL` finds it where a column is NOT NULL.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{Lab, assert_refused, assert_shown_alike, finisher_of, on_each, text};

/// Tables, each with one mode.
const MODES: [(&str, &str); 4] = [
    ("at_random", "mode = \"random\""),
    ("equal", "mode = \"equality\""),
    ("compact", "mode = \"equality\", equality = \"compact\""),
    ("ordered", "mode = \"order\""),
];

/// SQL modes that store the zero date.
const TAKING: [&str; 2] = ["STRICT_ALL_TABLES", "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE"];
const REFUSING: &str = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE";

fn set_mode(lab: &mut Lab, mode: &str) {
    same(lab, &format!("SET sql_mode = '{mode}'"), vec![]);
}

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut rules = "[keys]\nfile = \"columns.key\"\n".to_owned();
    for (table, mode) in MODES {
        rules += &format!(
            "[columns.\"shop.{table}\"]\nd = {{ type = \"date\", {mode} }}\nm = {{ type = \
             \"timestamp(0)\", {mode}, default = \"'0000-00-00 00:00:00'\" }}\nf = {{ type = \
             \"timestamp(3)\", {mode} }}\nt = {{ type = \"timestamptz(0)\", {mode}, default = \
             \"'0000-00-00 00:00:00'\" }}\nn = {{ type = \"date\", {mode} }}\n"
        );
    }
    rules += "[columns.\"shop.pair\"]\nd = { type = \"date\", group = \"g\" }\nm = { type = \
              \"timestamp(3)\", group = \"g\", default = \"'0000-00-00'\", not_null = true }\n";
    let mut lab = Lab::with(brand, &format!("{rules}{more}"), &[])?;
    set_mode(&mut lab, TAKING[0]);
    same(&mut lab, "SET time_zone = '+02:00'", vec![]);
    for (table, _) in MODES {
        let create = format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, d DATE, m DATETIME NOT NULL DEFAULT \
             '0000-00-00 00:00:00', f DATETIME(3) DEFAULT NULL, t TIMESTAMP NOT NULL DEFAULT \
             '0000-00-00 00:00:00', n DATE NOT NULL)"
        );
        same(&mut lab, &create, vec![]);
        for insert in [
            "(id, d, m, f, t, n) VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00', \
             '0000-00-00 00:00:00', '0000-00-00')",
            "(id, d, m, f, t, n) VALUES (2, '0001-01-01', '0001-01-01 00:00:00', '1000-01-01 \
             00:00:00.5', '1970-01-01 02:00:01', '2024-01-02')",
            "(id, d, n) VALUES (3, NULL, '9999-12-31'), (4, '2024-01-02', '0000-00-00')",
            "(id, d, m, f, t, n) VALUES (5, 0, 0, 0, 0, 0)",
            "(id, m, f, n) VALUES (6, '0000-00-00', '0000-00-00 00:00:00.000', '2024-01-02')",
            "(id, m, t, n) VALUES (7, DEFAULT, DEFAULT, '2024-01-03')",
        ] {
            same(&mut lab, &format!("INSERT INTO {table} {insert}"), vec![]);
        }
        let zero = Value::Date(0, 0, 0, 0, 0, 0, 0);
        let insert = format!("INSERT INTO {table} (id, d, m, f, t, n) VALUES (?, ?, ?, ?, ?, ?)");
        let bound = [Value::Int(8)].into_iter();
        let bound = bound.chain(std::iter::repeat_n(zero, 5));
        same(&mut lab, &insert, bound.collect());
        let moment = text("0000-00-00 00:00:00");
        let day = text("0000-00-00");
        let bound = vec![
            Value::Int(9),
            day.clone(),
            moment.clone(),
            moment.clone(),
            moment,
            day,
        ];
        same(&mut lab, &insert, bound);
    }
    let create = "CREATE TABLE pair (id INT PRIMARY KEY, d DATE, m DATETIME(3) NOT NULL DEFAULT \
                  '0000-00-00', x INT)";
    same(&mut lab, create, vec![]);
    let insert = "INSERT INTO pair (id, d) VALUES (1, '0000-00-00'), (2, NULL), (3, '2024-01-02')";
    same(&mut lab, insert, vec![]);
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

#[test]
fn zero_dates_are_stored_and_shown_as_the_server_does() {
    for mut lab in labs() {
        for zone in ["+02:00", "-11:30", "+00:00"] {
            same(&mut lab, &format!("SET time_zone = '{zone}'"), vec![]);
            for (table, _) in MODES.into_iter().chain([("pair", "")]) {
                let all = format!("SELECT * FROM {table} ORDER BY id");
                same(&mut lab, &all, vec![]);
                let some = format!("SELECT * FROM {table} WHERE id < ? ORDER BY id");
                same(&mut lab, &some, vec![Value::Int(99)]);
            }
        }
        for (table, _) in MODES {
            assert_shown_alike(&mut lab, table);
            for statement in [
                format!("UPDATE {table} SET d = '0000-00-00', m = DEFAULT WHERE id = 2"),
                format!("UPDATE {table} SET t = '0000-00-00 00:00:00', n = 0 WHERE id = 2"),
                format!("SELECT COUNT(DISTINCT d) AS c, COUNT(DISTINCT m) AS e FROM {table}"),
                format!("SELECT MIN(d) AS a, MAX(d) AS b, MIN(f) AS c, MIN(t) AS e FROM {table}"),
                format!("SELECT d, m, n FROM {table} ORDER BY d, m DESC, n"),
                format!("SELECT f, t FROM {table} ORDER BY t, f"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
        }
    }
}

#[test]
fn an_sql_mode_decides_whether_zero_dates_are_stored() {
    for mut lab in labs() {
        for (table, _) in MODES {
            let inserts = |id: u8| {
                [
                    format!(
                        "INSERT INTO {table} (id, d, n) VALUES ({id}0, '0000-00-00', '2000-01-01')"
                    ),
                    format!("INSERT INTO {table} (id, n) VALUES ({id}1, '0000-00-00')"),
                    format!(
                        "INSERT INTO {table} (id, t, n) VALUES ({id}2, '0000-00-00 00:00:00', \
                         '2000-01-01')"
                    ),
                    format!(
                        "INSERT INTO {table} (id, f, n) VALUES ({id}3, '0000-00-00', '2000-01-01')"
                    ),
                    // A value of mode random that is stored anew counts as changed.
                    format!(
                        "UPDATE {table} SET m = '2001-02-03 04:05:06', d = '2001-02-03' WHERE \
                         id = 2"
                    ),
                    format!("UPDATE {table} SET m = '0000-00-00 00:00:00' WHERE id = 2"),
                    format!("UPDATE {table} SET d = 0 WHERE id = 2"),
                ]
            };
            for (mode, id) in TAKING.into_iter().zip(2..) {
                set_mode(&mut lab, mode);
                for insert in inserts(id) {
                    same(&mut lab, &insert, vec![]);
                }
            }
            set_mode(&mut lab, REFUSING);
            for insert in inserts(4) {
                let error = |client: &mut Conn| client.query_drop(&insert).err();
                let (ours, theirs) = (error(&mut lab.ours), error(&mut lab.theirs));
                assert_eq!(
                    ours.is_some(),
                    theirs.is_some(),
                    "{insert}: {ours:?}, {theirs:?}"
                );
                // MariaDB has another number for a default (1978), and looks at that first.
                let told = ours.map_or_else(|| "1292".to_owned(), |error| error.to_string());
                assert!(told.contains("1292"), "{insert}: {told}");
            }
            let zero = Value::Date(0, 0, 0, 0, 0, 0, 0);
            let insert = format!(
                "INSERT INTO {table} (id, d, m, t, n) VALUES (60, ?, '2000-01-01 00:00:00', \
                 '2000-01-01 00:00:00', '2000-01-01')"
            );
            same(&mut lab, &insert, vec![zero]);
            // Rows that are there stay, and may be written.
            for statement in [
                format!("UPDATE {table} SET n = '2024-05-06' WHERE id = 1"),
                format!("SELECT * FROM {table} ORDER BY id"),
                format!("DELETE FROM {table} WHERE id > 50"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            set_mode(&mut lab, TAKING[0]);
        }
        same(&mut lab, "UPDATE pair SET x = 5 WHERE id = 1", vec![]);
        same(&mut lab, "SELECT * FROM pair ORDER BY id", vec![]);
    }
}

/// As WordPress does: without a strict mode, and with a default that is the zero date.
#[test]
fn a_mode_that_is_not_strict_stores_zero_dates() {
    for mut lab in labs() {
        for (table, _) in MODES {
            set_mode(&mut lab, "");
            for statement in [
                format!("INSERT INTO {table} (id, n) VALUES (30, '0000-00-00')"),
                format!(
                    "INSERT INTO {table} (id, m, t, n) VALUES (31, '0000-00-00 00:00:00', \
                     '0000-00-00 00:00:00', '2024-01-02')"
                ),
                format!("SELECT * FROM {table} ORDER BY id"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            // The server would warn of it.
            set_mode(&mut lab, "NO_ZERO_DATE");
            assert_refused(
                &mut lab,
                &format!("INSERT INTO {table} (id, n) VALUES (32, '0000-00-00')"),
            );
        }
    }
}

#[test]
fn zero_dates_are_found_and_sort_lowest() {
    for mut lab in labs() {
        for mode in ["", TAKING[0], TAKING[1], REFUSING] {
            set_mode(&mut lab, mode);
            for (table, _) in MODES.iter().skip(1) {
                for condition in [
                    "d = '0000-00-00'",
                    "d <> '0000-00-00'",
                    "d IN ('0000-00-00', '2024-01-02')",
                    "m = '0000-00-00 00:00:00'",
                    "m <> '0000-00-00 00:00:00'",
                    "t = '0000-00-00 00:00:00'",
                    "n IS NULL",
                    "m IS NULL",
                    "d IS NULL",
                    "(m IS NULL OR d IS NULL) AND id < 5",
                    "m IS NOT NULL AND NOT n IS NOT NULL",
                ] {
                    let text = format!("SELECT id FROM {table} WHERE {condition} ORDER BY id");
                    same(&mut lab, &text, vec![]);
                }
                let text =
                    format!("SELECT d, COUNT(*) AS c FROM {table} GROUP BY d ORDER BY c, MAX(id)");
                same(&mut lab, &text, vec![]);
                // MariaDB and MySQL do not find the zero date so in each mode.
                let found = format!("SELECT id FROM {table} WHERE f = '0000-00-00 00:00:00'");
                assert_refused(&mut lab, &found);
                for column in ["d", "m", "t"] {
                    let found = format!("SELECT id FROM {table} WHERE {column} = ? ORDER BY id");
                    let zero = Value::Date(0, 0, 0, 0, 0, 0, 0);
                    same(&mut lab, &found, vec![zero]);
                }
            }
            for condition in [
                "d > '0000-00-00'",
                "d >= '0000-00-00'",
                "d < '0001-01-01'",
                "m > '0000-00-00 00:00:00'",
                "m < '2024-01-01 00:00:00'",
                "t <= '0000-00-00 00:00:00'",
                "t < '2000-01-01 00:00:00'",
                "f BETWEEN '0001-01-01 00:00:00' AND '2000-01-01 00:00:00'",
            ] {
                let text = format!("SELECT id FROM ordered WHERE {condition} ORDER BY d, m, id");
                same(&mut lab, &text, vec![]);
            }
            for condition in ["f > '0000-00-00'", "f BETWEEN 0 AND '2000-01-01 00:00:00'"] {
                let text = format!("SELECT id FROM ordered WHERE {condition}");
                assert_refused(&mut lab, &text);
            }
        }
    }
}

#[test]
fn is_null_finds_zero_dates_where_a_write_has_it_too() {
    for mut lab in labs() {
        for (table, _) in MODES.iter().skip(1) {
            for statement in [
                format!("UPDATE {table} SET d = '2001-02-03' WHERE n IS NULL AND id < 4"),
                format!("DELETE FROM {table} WHERE n IS NULL OR m IS NULL"),
                format!("SELECT * FROM {table} ORDER BY id"),
            ] {
                same(&mut lab, &statement, vec![]);
            }
            for statement in [
                format!("SELECT n IS NULL AS x FROM {table}"),
                format!(
                    "SELECT a.id FROM {table} a LEFT JOIN {table} b ON a.d = b.d WHERE b.n IS NULL"
                ),
                format!("SELECT a.id FROM {table} a JOIN {table} b ON b.n IS NULL"),
            ] {
                assert_refused(&mut lab, &statement);
            }
        }
        assert_refused(&mut lab, "SELECT id FROM at_random WHERE n IS NULL");
        // The server takes a TIMESTAMP for what it is.
        same(&mut lab, "SELECT id FROM at_random WHERE t IS NULL", vec![]);
    }
}

#[test]
fn dates_with_parts_that_are_zero_are_refused() {
    for mut lab in labs() {
        for day in ["2024-00-00", "2024-01-00", "0000-01-01", "2024-02-30"] {
            assert_refused(
                &mut lab,
                &format!("INSERT INTO equal (id, d, n) VALUES (90, '{day}', '2024-01-01')"),
            );
        }
        for moment in ["0000-00-00 00:00:01", "2024-00-00 00:00:00"] {
            assert_refused(
                &mut lab,
                &format!("INSERT INTO equal (id, m, n) VALUES (90, '{moment}', '2024-01-01')"),
            );
        }
    }
}

#[test]
fn a_finisher_computes_with_zero_dates() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for text in [
            "SELECT id, YEAR(d) AS y, DATE_FORMAT(m, '%Y-%m-%d') AS s FROM at_random ORDER BY id",
            "SELECT id FROM at_random WHERE n IS NULL ORDER BY id",
            "SELECT id FROM at_random WHERE m > '0000-00-00 00:00:00' ORDER BY id",
            "SELECT id, t, UNIX_TIMESTAMP(t) AS u FROM at_random ORDER BY t, id",
            "SELECT a.id, b.id AS o FROM at_random a LEFT JOIN at_random b ON a.d = b.d AND b.id > \
             3 WHERE b.n IS NULL ORDER BY 1, 2",
            "SELECT MIN(d) AS a, MAX(m) AS b FROM at_random WHERE YEAR(m) = 0",
            "UPDATE at_random SET f = m, d = n WHERE YEAR(m) = 0",
            "INSERT INTO at_random (id, d, m, t, n) SELECT id + 100, d, m, t, n FROM at_random \
             WHERE id < 4",
            "SELECT * FROM at_random ORDER BY id",
        ] {
            same(&mut lab, text, vec![]);
        }
    }
}
