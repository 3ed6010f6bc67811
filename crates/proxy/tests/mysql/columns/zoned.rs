//! Protected columns of type TIMESTAMP beside plain ones: moments of UTC, which statements and
//! answers have in the session's time zone.

use mysql::{Conn, Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{Lab, assert_shown_alike, finish, on_each};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.event\"]
a = { type = \"timestamptz(0)\", mode = \"equality\" }
b = { type = \"timestamptz(3)\", mode = \"order\" }
c = { type = \"timestamptz(6)\", default = \"CURRENT_TIMESTAMP(6)\" }
d = { type = \"timestamptz(0)\", mode = \"equality\", equality = \"compact\", \
default = \"CURRENT_TIMESTAMP\" }
e = { type = \"timestamp(0)\", default = \"CURRENT_TIMESTAMP\" }
[columns.\"shop.pair\"]
x = { type = \"timestamptz(0)\", group = \"g\", default = \"CURRENT_TIMESTAMP\" }
y = { type = \"integer\", group = \"g\" }
";

const TABLES: [&str; 2] = [
    "CREATE TABLE event (id INT PRIMARY KEY, a TIMESTAMP NULL, b TIMESTAMP(3) NULL DEFAULT NULL, c \
     TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), d TIMESTAMP NULL DEFAULT \
     CURRENT_TIMESTAMP, e DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, n INT, KEY by_a (a), KEY \
     by_b (b))",
    "CREATE TABLE pair (id INT PRIMARY KEY, x TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP, y INT)",
];

fn start(brand: Brand, more: &str) -> Option<Lab> {
    let mut lab = Lab::with(brand, &format!("{RULES}{more}"), &TABLES)?;
    for text in [
        "SET timestamp = 1700000000.987654",
        "SET time_zone = '+02:00'",
    ] {
        same(&mut lab, text, vec![]);
    }
    Some(lab)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

fn fill(lab: &mut Lab) {
    for (moment, id) in [
        "1970-01-01 02:00:01",
        "2024-01-02 03:04:05",
        "2024-03-31 02:30:00",
        "2038-01-19 05:14:07",
        "2024-02-29",
        "2000-01-01 00:00:00.000000",
        "1999-12-31 23:59:59.5",
        "2024-12-31 23:59:59.999500",
        "2024-12-31 23:59:59.4999",
    ]
    .into_iter()
    .zip(1..)
    {
        let text = format!(
            "INSERT INTO event (id, a, b, c) VALUES ({id}, '{moment}', '{moment}', '{moment}')"
        );
        same(lab, &text, vec![]);
    }
    for text in [
        "INSERT INTO event (id, e) VALUES (20, '2024-01-02 03:04:05.5')",
        "INSERT INTO event (id, a, d, n) VALUES (21, NULL, NULL, 1), (22, NOW(), NOW(), 2)",
        "INSERT INTO pair (id) VALUES (1)",
        "INSERT INTO pair (id, x, y) VALUES (2, '2024-01-02 03:04:05.5', 1), (3, NULL, 2)",
    ] {
        same(lab, text, vec![]);
    }
    let date = Value::Date(2024, 5, 6, 7, 8, 9, 654_321);
    let values = vec![
        date.clone(),
        date.clone(),
        date,
        Value::Bytes(b"2024-05-06 07:08:09".to_vec()),
    ];
    same(
        lab,
        "INSERT INTO event (id, a, b, c, d) VALUES (23, ?, ?, ?, ?)",
        values,
    );
}

#[test]
fn moments_are_those_of_the_session_s_time_zone() {
    for mut lab in labs() {
        fill(&mut lab);
        for (zone, y) in ["+02:00", "+00:00", "-11:30", "SYSTEM", "+13:00"]
            .into_iter()
            .zip(6..)
        {
            same(&mut lab, &format!("SET time_zone = '{zone}'"), vec![]);
            let text = format!("UPDATE pair SET y = {y} WHERE id = 2");
            same(&mut lab, &text, vec![]);
            let text = format!("UPDATE pair SET y = {y}, x = '2024-06-07 08:09:10' WHERE id = 3");
            same(&mut lab, &text, vec![]);
            for text in [
                "SELECT * FROM event ORDER BY id",
                "SELECT * FROM pair ORDER BY id",
                "SELECT id FROM event WHERE a = '2024-01-02 03:04:05'",
                "SELECT id FROM event WHERE a = '2024-01-02 01:04:05'",
                "SELECT id FROM event WHERE a IN ('2024-01-02 01:04:05', '2023-12-31 23:59:59')",
                "SELECT id FROM event WHERE a = '2060-01-02 01:04:05'",
                "SELECT id FROM event WHERE d = '2023-11-14 22:13:20' ORDER BY id",
                "SELECT id, b FROM event WHERE b > '2024-01-02 01:04:05.000' ORDER BY b, id",
                "SELECT id FROM event WHERE b BETWEEN '1960-01-01' AND '2030-01-01' ORDER BY id",
                "SELECT id FROM event WHERE b < '2060-01-01 00:00:00' ORDER BY b DESC, id",
                "SELECT MIN(b) AS f, MAX(b) AS l FROM event",
                "SELECT MIN(c) AS f, MAX(c) AS l FROM event",
                "SELECT id, c FROM event ORDER BY c DESC, a, d",
                "SELECT COUNT(*) AS n FROM event GROUP BY a ORDER BY n",
            ] {
                same(&mut lab, text, vec![]);
            }
            let date = Value::Date(2024, 1, 2, 1, 4, 5, 0);
            same(
                &mut lab,
                "SELECT id, a, b, c FROM event WHERE a = ?",
                vec![date],
            );
            let all = "SELECT * FROM event WHERE id < ? ORDER BY id";
            same(&mut lab, all, vec![Value::Int(999)]);
        }
    }
}

#[test]
fn a_statement_that_is_prepared_follows_the_time_zone() {
    for mut lab in labs() {
        fill(&mut lab);
        let read = |client: &mut Conn| -> Vec<Vec<Option<String>>> {
            let text = "SELECT CAST(a AS CHAR) FROM plain_a WHERE id < ? AND id > 0";
            let statement =
                client.prep(text.replace("CAST(a AS CHAR) FROM plain_a", "a FROM event"));
            let statement = statement.expect("it is prepared");
            let zones = ["+02:00", "-01:00", "+00:00"].into_iter();
            zones
                .map(|zone| {
                    client
                        .query_drop(format!("SET time_zone = '{zone}'"))
                        .expect("a zone");
                    let rows: Vec<Value> = client.exec(&statement, (9,)).expect("rows");
                    rows.iter().map(|own| Some(own.as_sql(true))).collect()
                })
                .collect()
        };
        assert_eq!(read(&mut lab.ours), read(&mut lab.theirs));
    }
}

#[test]
fn what_is_no_moment_of_a_timestamp_is_refused() {
    for mut lab in labs() {
        let codes = |client: &mut Conn, text: &str| match client.query_drop(text) {
            Ok(()) => None,
            Err(mysql::Error::MySqlError(error)) => Some(error.code),
            Err(other) => panic!("{other}"),
        };
        for moment in [
            "1970-01-01 02:00:00",
            "1970-01-01 00:00:01",
            "2038-01-19 05:14:08",
            "2024-02-30 00:00:00",
            "2024-01-02 03:04:05+00:00",
            "9999-12-31 23:59:59.6",
            "x",
        ] {
            let text = format!("INSERT INTO event (id, a) VALUES (90, '{moment}')");
            let (ours, theirs) = (codes(&mut lab.ours, &text), codes(&mut lab.theirs, &text));
            assert!(
                ours.is_some() && theirs.is_some(),
                "{text}: {ours:?} {theirs:?}"
            );
        }
        for text in [
            "INSERT INTO event (id, a) VALUES (90, '0000-00-00 00:00:01')",
            "INSERT INTO event (id, a) VALUES (90, 20240102030405)",
            "SELECT id FROM event WHERE a = '2024-01-02 03:04:05.5'",
            "SELECT id FROM event WHERE a = 20240102030405",
        ] {
            assert!(codes(&mut lab.ours, text).is_some(), "{text}");
        }
        fill(&mut lab);
        let zones: Option<u64> = lab
            .theirs
            .query_first("SELECT COUNT(*) FROM mysql.time_zone_name")
            .expect("a count");
        if zones == Some(0) {
            let text =
                "INSERT INTO mysql.time_zone (time_zone_id, use_leap_seconds) VALUES (77, 'N')";
            let mut past = lab.past();
            past.query_drop(text).expect(text);
            for text in [
                "INSERT INTO mysql.time_zone_name VALUES ('Test/Zone', 77)",
                "INSERT INTO mysql.time_zone_transition_type VALUES (77, 0, 3600, 0, 'TST')",
                "INSERT INTO mysql.time_zone_transition VALUES (77, 0, 0)",
            ] {
                past.query_drop(text).expect(text);
            }
        }
        let text = "SET time_zone = 'Test/Zone'";
        lab.ours.query_drop(text).expect(text);
        for text in [
            "SELECT a FROM event",
            "INSERT INTO event (id, a) VALUES (90, '2024-01-02 03:04:05')",
            "INSERT INTO event (id) VALUES (90)",
            "SELECT id FROM event WHERE a = '2024-01-02 03:04:05'",
        ] {
            let rows: Result<Vec<mysql::Row>, _> = lab.ours.query(text);
            let error = rows.expect_err(text).to_string();
            assert!(error.contains("time_zone"), "{text}: {error}");
        }
        // Moments without a zone are the same in all.
        let text = "SELECT id, e FROM event WHERE id = 20";
        let row: Option<(i32, String)> = lab.ours.query_first(text).expect(text);
        assert!(row.is_some());
    }
}

#[test]
fn tables_of_moments_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for table in ["event", "pair"] {
            assert_shown_alike(&mut lab, table);
        }
    }
}

#[test]
fn a_finisher_computes_with_moments() {
    let Some(mut lab) = start(Brand::MariaDb, &finish("mariadb")) else {
        return;
    };
    fill(&mut lab);
    for zone in ["+02:00", "-03:00"] {
        same(&mut lab, &format!("SET time_zone = '{zone}'"), vec![]);
        for text in [
            "SELECT id, HOUR(a) AS h, UNIX_TIMESTAMP(c) AS u FROM event WHERE a > '2000-01-01' \
             ORDER BY id",
            "SELECT id, DATE_ADD(b, INTERVAL 1 DAY) AS t FROM event WHERE YEAR(b) = 2024 ORDER \
             BY id",
            "SELECT a, COUNT(*) AS n FROM event GROUP BY a ORDER BY a",
            "UPDATE event SET c = DATE_ADD(c, INTERVAL 1 HOUR), b = a WHERE HOUR(a) < 20 AND id \
             < 9",
            "INSERT INTO event (id, a, c) SELECT id + 100, DATE_SUB(a, INTERVAL 1 MINUTE), c FROM \
             event WHERE id < 4 ORDER BY id",
            "SELECT * FROM event ORDER BY id",
            "DELETE FROM event WHERE id > 100 AND MINUTE(a) >= 0",
        ] {
            same(&mut lab, text, vec![]);
        }
    }
}
