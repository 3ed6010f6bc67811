//! Statements that the finisher evaluates, beside a plain twin of the same server: every column
//! that can be is of mode random, so that the server can decide nothing about it.

mod inserts;
mod streams;
mod writes;

use std::fs;

use mysql::Value;
use mysql::prelude::Queryable as _;
use server_testkit::mysql::Brand;

use super::canary::search;
use super::differential::{as_text, prepared};
use super::lab::{Lab, finish};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.person\"]
name = { type = \"varchar(40)\" }
number = { type = \"bigint\" }
small = { type = \"smallint\" }
born = { type = \"date\" }
paid = { type = \"decimal(10,2)\" }
ratio = { type = \"double precision\" }
seen = { type = \"timestamp(6)\" }
note = { type = \"text\" }
code = { type = \"char(4)\" }
face = { type = \"bytea\" }
[columns.\"shop.bill\"]
total = { type = \"decimal(12,2)\" }
label = { type = \"varchar(30)\" }
[columns.\"shop.copy\"]
name = { type = \"varchar(40)\" }
number = { type = \"bigint\", mode = \"equality\" }
paid = { type = \"decimal(10,2)\" }
born = { type = \"date\" }
note = { type = \"text\" }
";

const TABLES: [&str; 3] = [
    "CREATE TABLE person (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), number BIGINT, \
     small SMALLINT, born DATE, paid DECIMAL(10,2), ratio DOUBLE, seen DATETIME(6), note TEXT, \
     code CHAR(4), face BLOB, city VARCHAR(10) NOT NULL DEFAULT 'x', kind \
     ENUM('a','B','c'), tags SET('x','y'), bits BIT(9), years YEAR, span TIME(3), big BIGINT \
     UNSIGNED, part FLOAT, changed TIMESTAMP(2) NULL, raw VARBINARY(8), old CHAR(3) CHARACTER SET \
     latin1, KEY by_city (city, kind), UNIQUE KEY by_big (big))",
    "CREATE TABLE bill (id INT PRIMARY KEY, person INT NOT NULL, total DECIMAL(12,2), label \
     VARCHAR(30), paid_at DATETIME, KEY (person))",
    "CREATE TABLE plain (id INT PRIMARY KEY, note VARCHAR(20) COLLATE utf8mb4_bin, page TEXT, doc \
     JSON, memo VARCHAR(600), KEY by_memo (memo, note), FULLTEXT KEY by_page (page))",
];

/// Through the proxy.
const ROWS: [&str; 8] = [
    "INSERT INTO person (id, name, number, small, born, paid, ratio, seen, note, code, face) \
     VALUES (1, 'Kanari', 4242424201, -7, '1977-07-17', 77.70, 0.1, '1977-07-17 \
     07:07:07.777777', 'one\\nline é', 'ab', 'kanari')",
    "INSERT INTO person (id, name, number, small, born, paid, ratio, seen, note, code, face) \
     VALUES (2, 'kanari', 4242424202, 8, '1980-02-29', -0.01, -12345.75, '2001-01-01 00:00:00', \
     'two', 'ab  ', NULL)",
    "INSERT INTO person (id, name, number, small, born, paid, ratio, seen, note, code, face) \
     VALUES (3, 'KÁNARI', NULL, 8, '1980-03-01', 77.70, 3, NULL, NULL, 'xy', '')",
    "INSERT INTO person (id, name, number, seen, note, code) VALUES (4, '', 4242424201, \
     '2001-01-01 00:00:00.000001', '', '')",
    "INSERT INTO person (id, name, number) VALUES (5, 'straße 10% _x', -1), (6, '😀 zebra', 5)",
    "INSERT INTO bill (id, person, total, label) VALUES (1, 1, 10.50, 'red car'), (2, 1, 20.00, \
     'Blue car'), (3, 2, 0.99, NULL), (4, 9, 5.00, 'red')",
    "INSERT INTO plain (id, note) VALUES (1, 'seen'), (2, 'KANARI'), (3, 'a b')",
    "INSERT INTO plain (id, note) VALUES (4, 'x')",
];

/// Past the proxy: columns that are plain.
const PLAIN: [&str; 6] = [
    "UPDATE person SET city = 'Paris', kind = 'a', tags = 'x,y', bits = b'101', years = 1999, span \
     = '-838:59:59', big = 18446744073709551615, part = 16777217, changed = '2020-10-25 \
     01:30:00.25', raw = x'00ff27', old = 'é' WHERE id = 1",
    "UPDATE person SET city = 'Rome', kind = 'B', tags = '', bits = b'111111111', years = 2024, \
     span = '12:00:00.5', big = 0, part = 1.1, changed = '2001-09-09 01:46:40', raw = '' WHERE id \
     = 2",
    "UPDATE person SET city = 'paris', kind = 'c', tags = 'y', bits = 0, years = 1901, span = 0, \
     big = 7, part = -0.5, old = 'a' WHERE id = 3",
    "UPDATE person SET city = 'Rome' WHERE id = 4",
    "UPDATE bill SET paid_at = '2024-01-02 03:04:05' WHERE id < 3",
    "UPDATE plain SET note = 'a\\\\b', page = 'p', doc = '[1, {}]', memo = 'm' WHERE id = 3",
];

fn lab(more: &str, brand: Brand, engine: &str) -> Option<Lab> {
    let rules = format!("{more}{RULES}{}", finish(engine));
    // A JSON of MariaDB is a text, and one of MySQL is none that the finisher knows.
    let json = match brand {
        Brand::MariaDb => " JSON,",
        Brand::MySql => " LONGTEXT,",
    };
    let tables = TABLES.map(|table| table.replace(" JSON,", json));
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let mut lab = Lab::with(brand, &rules, &tables)?;
    for row in ROWS {
        lab.theirs.query_drop(row).expect(row);
        lab.ours.query_drop(row).expect(row);
    }
    let mut past = lab.past();
    for row in PLAIN {
        lab.theirs.query_drop(row).expect(row);
        past.query_drop(row).expect(row);
    }
    Some(lab)
}

/// Queries of the kinds that ordinary programs send.
const QUERIES: &[&str] = &[
    "SELECT * FROM person WHERE name LIKE 'kan%' ORDER BY id",
    "SELECT p.*, b.* FROM person p JOIN bill b ON b.person = p.id WHERE b.total > 10 ORDER BY b.id",
    "SELECT id, name FROM person WHERE name = 'KANARI' ORDER BY id",
    "SELECT id FROM person WHERE BINARY name = 'kanari' OR name = 'kanari ' ORDER BY id",
    "SELECT id FROM person WHERE name COLLATE utf8mb4_bin = 'kanari'",
    "SELECT id FROM person WHERE name LIKE '%10\\%%' OR name LIKE '%\\\\\\\\'",
    "SELECT id FROM person WHERE name NOT REGEXP '^k.n' ORDER BY id",
    "SELECT id, name RLIKE 'z[a-f]' AS z FROM person ORDER BY id",
    "SELECT id FROM person WHERE number = 4242424201 AND small < 0",
    "SELECT id FROM person WHERE number IN (5, -1) OR small BETWEEN 1 AND 9 ORDER BY id DESC",
    "SELECT id FROM person WHERE number <=> NULL",
    "SELECT id FROM person WHERE paid > '77' ORDER BY id",
    "SELECT id FROM person WHERE number = '4242424201abc' ORDER BY id",
    "SELECT YEAR(born) AS y, COUNT(*) AS c, SUM(paid) AS s, AVG(paid) AS a FROM person GROUP BY \
     YEAR(born) HAVING c > 0 ORDER BY y",
    "SELECT DATE_FORMAT(seen, '%Y-%m') AS m, MIN(seen) AS a, MAX(born) AS b FROM person GROUP BY m \
     ORDER BY m",
    "SELECT name, COUNT(*) AS c FROM person GROUP BY name ORDER BY c DESC, name",
    "SELECT DISTINCT name FROM person ORDER BY name",
    "SELECT COUNT(DISTINCT name) AS a, COUNT(DISTINCT number) AS b FROM person",
    "SELECT id, name FROM person ORDER BY name DESC, id LIMIT 2, 3",
    "SELECT id FROM person ORDER BY ratio IS NULL, ratio, id",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY city ORDER BY paid, id) AS n, SUM(paid) OVER \
     (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM person ORDER BY id",
    "SELECT p.id, p.name, SUM(b.total) AS s FROM person p LEFT JOIN bill b ON b.person = p.id AND \
     b.label LIKE '%car' GROUP BY p.id, p.name ORDER BY p.id",
    "SELECT b.id, p.name FROM person p RIGHT JOIN bill b ON b.person = p.id AND p.paid > 0 ORDER \
     BY b.id",
    "SELECT id FROM person p WHERE EXISTS (SELECT 1 FROM bill b WHERE b.person = p.id AND b.label \
     LIKE 'r%')",
    "SELECT id FROM person WHERE id NOT IN (SELECT person FROM bill WHERE total > 1) ORDER BY id",
    "SELECT id, (SELECT MAX(total) FROM bill WHERE person = person.id) AS m FROM person ORDER BY \
     id",
    "SELECT name FROM person WHERE paid = (SELECT MAX(paid) FROM person) ORDER BY id",
    "SELECT name FROM person UNION SELECT note FROM plain ORDER BY 1",
    "SELECT name COLLATE utf8mb4_bin AS n FROM person UNION ALL SELECT label FROM bill ORDER BY 1",
    "SELECT note FROM plain INTERSECT SELECT UPPER(name) COLLATE utf8mb4_bin FROM person",
    "WITH big AS (SELECT person, SUM(total) AS s FROM bill GROUP BY person) SELECT p.name, big.s \
     FROM big JOIN person p ON p.id = big.person ORDER BY big.s",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i, \
     (SELECT COUNT(*) FROM person WHERE small > i) AS c FROM n",
    "SELECT a.id, b.id FROM person a JOIN person b ON a.name = b.name AND a.id < b.id ORDER BY \
     a.id, b.id",
    "SELECT CASE WHEN small < 0 THEN 'low' WHEN small IS NULL THEN NULL ELSE 'high' END AS k FROM \
     person ORDER BY id",
    "SELECT UPPER(name), LENGTH(name), CHAR_LENGTH(name), SUBSTRING(name, 2, 3), REVERSE(note) \
     FROM person WHERE paid IS NOT NULL OR name <> '' ORDER BY id",
    "SELECT CONCAT(name, '/', code, '/', number) AS x, LEFT(note, 2) AS l, TRIM(code) AS t FROM \
     person WHERE ratio < 1e10 ORDER BY id",
    "SELECT born + INTERVAL 1 MONTH AS m, DATEDIFF(seen, born) AS d, LAST_DAY(born) AS l FROM \
     person ORDER BY id",
    "SELECT CAST(name AS CHAR(3)) AS n, CAST(paid AS SIGNED) AS p, CAST(number AS DECIMAL(20,3)) \
     AS d FROM person ORDER BY id",
    "SELECT GROUP_CONCAT(name ORDER BY name, id SEPARATOR '; ') AS g FROM person WHERE small > 0",
    "SELECT JSON_OBJECT('n', name, 'p', paid) AS j FROM person WHERE small IS NOT NULL ORDER BY id",
    "SELECT JSON_OBJECT('n', name, 'd', doc) AS j, JSON_ARRAY(doc, page, memo) FROM person JOIN \
     plain USING (id) ORDER BY id",
    "SELECT SQL_NO_CACHE * FROM person WHERE name LIKE 'k%' ORDER BY id",
    "SELECT id, TRIM(LEADING 'K' FROM name) AS t, EXTRACT(YEAR FROM born), CONVERT_TZ(seen, \
     '+00:00', '+05:30') AS c, SUBSTRING(note FROM 2) FROM person ORDER BY id",
    "SELECT HEX(face), MD5(note), SHA2(name, 256) FROM person WHERE LENGTH(name) > 3 ORDER BY id",
    "SELECT paid * 2, paid / 3, number DIV 7, number % 7, -small, small & 3 FROM person ORDER BY \
     id",
    "SELECT kind, kind + 0, tags, bits + 0, years, span, big, part, raw, old FROM person WHERE \
     name LIKE '%a%' ORDER BY id",
    "SELECT changed, bits FROM person WHERE paid = 77.7 OR small = 8 ORDER BY id",
    "SELECT id FROM person WHERE kind > 'a' AND note REGEXP 't'",
    "SELECT city, COUNT(*) AS c, MAX(name) AS m FROM person GROUP BY city WITH ROLLUP",
    "SELECT id, note FROM person WHERE note > 'one' AND code = 'ab' ORDER BY note",
    "SELECT shop.person.id FROM shop.person WHERE shop.person.name LIKE 'K%' ORDER BY 1",
    "SELECT NOW() > seen AS past, CURDATE() > born AS old FROM person ORDER BY id",
    "SELECT id FROM person WHERE seen < NOW() - INTERVAL 1 DAY AND name LIKE '%a%' ORDER BY id",
    "SELECT p.id FROM person p, bill b WHERE p.id = b.person AND (p.name LIKE 'K%' OR b.total < 1) \
     GROUP BY p.id ORDER BY p.id",
    "SELECT id FROM person WHERE (number, small) = (4242424202, 8)",
    "SELECT id FROM person WHERE NOT (name LIKE 'k%' XOR paid > 0) ORDER BY id",
    "SELECT AVG(ratio), STDDEV(paid), BIT_OR(small), MIN(name), MAX(code) FROM person",
    "SELECT name AS 'the name' FROM person WHERE name LIKE 'z%' OR name LIKE '%zebra'",
    "SELECT name FROM person NATURAL JOIN plain WHERE name LIKE 'k%'",
    "SELECT id FROM person WHERE nothing = name",
    "SELECT lower(name), 'x' FROM person WHERE id = 1;",
];

/// Compares an answer.
fn check(lab: &mut Lab, text: &str, values: Option<Vec<Value>>) {
    compare(lab, text, values).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// Compares an answer. Gives how many warnings there were, or what differs.
pub(super) fn compare(
    lab: &mut Lab,
    text: &str,
    values: Option<Vec<Value>>,
) -> Result<usize, String> {
    let twin = text.replace("shop.", "twin.");
    let (mut ours, mut theirs) = match values {
        None => (
            as_text(&mut lab.ours, text),
            as_text(&mut lab.theirs, &twin),
        ),
        Some(values) => (
            prepared(&mut lab.ours, text, values.clone()),
            prepared(&mut lab.theirs, &twin, values),
        ),
    };
    let warnings = [&mut lab.ours, &mut lab.theirs].map(|connection| {
        let rows: Vec<(String, u16, String)> = connection.query("SHOW WARNINGS").expect("warnings");
        let rows = rows.into_iter();
        let of_shop = rows.map(|(level, code, text)| (level, code, text.replace("twin", "shop")));
        of_shop.collect::<Vec<_>>()
    });
    if !text.contains("ORDER BY") {
        for answer in [&mut ours, &mut theirs] {
            let whole = |row: &Vec<Value>| row.iter().map(|own| own.as_sql(true)).collect();
            answer.rows.sort_by_cached_key::<Vec<String>, _>(whole);
        }
    }
    let [own, other] = warnings;
    // In which order conditions are evaluated, and so which warn, is up to each server, and so is
    // whether groups need a table of their own, whose columns have these flags.
    let is_any = text.contains(" AS x ") || text.contains("COUNT(");
    let columns = ours.columns.iter_mut().chain(&mut theirs.columns);
    for column in columns.filter(|_| is_any) {
        for flag in ["BINARY_FLAG", "NUM_FLAG", " | ", "0x0"] {
            *column = column.replace(flag, "");
        }
    }
    // So is it before MySQL where a join is sorted: such a table has no keys.
    if lab.brand == Brand::MySql && text.contains(" JOIN ") {
        for column in ours.columns.iter_mut().chain(&mut theirs.columns) {
            for flag in ["PRI_KEY_FLAG", "PART_KEY_FLAG", " | ", "0x0"] {
                *column = column.replace(flag, "");
            }
        }
    }
    let is_any = is_any || theirs.error.is_some();
    match ours == theirs && (own == other || is_any) {
        true => Ok(other.len()),
        false => Err(format!(
            "{text}\n{ours:?}\n{own:?}\nplain:\n{theirs:?}\n{other:?}"
        )),
    }
}

/// Runs all, and tells of all that differ.
fn check_all<'t>(lab: &mut Lab, texts: impl IntoIterator<Item = &'t str>) -> usize {
    let mut wrong = Vec::new();
    let mut warned = 0;
    for text in texts {
        for values in [None, Some(Vec::new())] {
            match compare(lab, text, values) {
                Ok(count) => warned += count,
                Err(other) => wrong.push(other),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    warned
}

#[test]
fn answers_are_those_of_plain_tables_as_texts_and_prepared() {
    if let Some(lab) = lab("", Brand::MariaDb, "mariadb") {
        all_agree(lab);
    }
}

#[test]
fn answers_are_those_of_plain_tables_of_mysql() {
    if let Some(lab) = lab("", Brand::MySql, "mysql") {
        all_agree(lab);
    }
}

fn all_agree(mut lab: Lab) {
    let warned = check_all(&mut lab, QUERIES.iter().copied());
    assert!(warned > 0, "warnings were compared");
    settings_are_followed(&mut lab);
    parameters_are_the_finishers(&mut lab);
    refusals_say_why(&mut lab);
    nothing_is_in_clear(&lab, &["anari", "42424242", "1977-", "77.7"]);
    streams::agree(&mut lab);
    // Other constants of these streams are compared with plain columns, too.
    nothing_is_in_clear(&lab, &["42424242", "1977-"]);
    inserts::agree(&mut lab);
    writes::agree(&mut lab);
    nothing_is_in_clear(&lab, &["42424242", "1977-"]);
    search(&lab.server.folder().join("data/shop"));
}

fn settings_are_followed(lab: &mut Lab) {
    let both = |lab: &mut Lab, text: &str| {
        lab.ours.query_drop(text).expect(text);
        lab.theirs.query_drop(text).expect(text);
    };
    for setting in [
        "SET time_zone = '+05:30'",
        "SET collation_connection = utf8mb4_bin",
        "SET div_precision_increment = 8",
        "SET timestamp = 1000000000.5",
        "SET group_concat_max_len = 12",
        "SET sql_mode = 'ANSI_QUOTES,STRICT_TRANS_TABLES,PIPES_AS_CONCAT'",
    ] {
        both(lab, setting);
    }
    let (more, back) = match lab.brand {
        Brand::MariaDb => (
            "SET default_regex_flags = 'DOTALL', max_recursive_iterations = 2, lc_time_names = \
             'de_DE'",
            "SET default_regex_flags = DEFAULT, max_recursive_iterations = DEFAULT",
        ),
        Brand::MySql => (
            "SET cte_max_recursion_depth = 2000, windowing_use_high_precision = 0",
            "SET cte_max_recursion_depth = DEFAULT, windowing_use_high_precision = DEFAULT",
        ),
    };
    both(lab, more);
    for text in [
        "SELECT id, 'A' = 'a', paid / 3, NOW(6), UTC_TIMESTAMP(), changed FROM person WHERE name \
         LIKE 'k%' ORDER BY id",
        "SELECT GROUP_CONCAT(name ORDER BY id), UNIX_TIMESTAMP(MAX(seen)) FROM person",
        "SELECT id FROM person WHERE note REGEXP 'one.line' ORDER BY id",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT \
         MAX(i), (SELECT COUNT(*) FROM person WHERE name LIKE 'k%') FROM n",
        "SELECT name || '!' AS \"x\", MONTHNAME(born), FROM_UNIXTIME(number) FROM person ORDER \
         BY id",
    ] {
        check(lab, text, None);
        check(lab, text, Some(Vec::new()));
    }
    both(
        lab,
        "SET sql_mode = DEFAULT, time_zone = DEFAULT, timestamp = DEFAULT",
    );
    both(lab, "SET NAMES utf8mb4");
    both(
        lab,
        "SET lc_time_names = DEFAULT, group_concat_max_len = DEFAULT",
    );
    both(lab, back);
    // In a transaction rows are those of its snapshot, own changes included.
    both(lab, "BEGIN");
    both(
        lab,
        "INSERT INTO person (id, name) VALUES (70, 'Kanari seven')",
    );
    check(
        lab,
        "SELECT id FROM person WHERE name LIKE '%seven' ORDER BY id",
        None,
    );
    both(lab, "ROLLBACK");
    check(
        lab,
        "SELECT id FROM person WHERE name LIKE '%seven' ORDER BY id",
        None,
    );
}

fn parameters_are_the_finishers(lab: &mut Lab) {
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    for (query, values) in [
        (
            "SELECT id, ? AS x FROM person WHERE name LIKE ? AND id > ? ORDER BY id",
            vec![Value::Double(1.5), text("kan%"), Value::Int(0)],
        ),
        (
            "SELECT id FROM person WHERE paid BETWEEN ? AND ? ORDER BY id LIMIT ?",
            vec![text("-1"), Value::Double(77.7), Value::Int(2)],
        ),
        (
            "SELECT name FROM person WHERE born >= ? AND seen < ? ORDER BY id",
            vec![
                Value::Date(1977, 1, 1, 0, 0, 0, 0),
                Value::Date(2001, 1, 1, 0, 0, 0, 1),
            ],
        ),
        (
            "SELECT id FROM person WHERE city = ? AND name LIKE ?",
            vec![text("é'\\"), text("K%")],
        ),
        (
            "SELECT id FROM person WHERE number = ? OR name <=> ?",
            vec![Value::UInt(u64::MAX), Value::NULL],
        ),
    ] {
        check(lab, query, Some(values));
    }
    // A statement that is executed again has the rows of that moment.
    let statement = lab
        .ours
        .prep("SELECT COUNT(*) FROM person WHERE name LIKE ?")
        .expect("prepared");
    for wanted in [2_u32, 2] {
        let found: Option<u32> = lab
            .ours
            .exec_first(&statement, ("kanari",))
            .expect("a count");
        assert!(found >= Some(wanted), "{found:?}");
    }
    lab.ours.close(statement).expect("closed");
    // The finisher reads a text anew: it is refused where it would mean something else.
    let text = "SELECT name || 'x' AS x FROM person WHERE name LIKE 'k%'";
    let statement = lab.ours.prep(text).expect("prepared");
    for (other, back) in [
        (
            "SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')",
            "SET sql_mode = DEFAULT",
        ),
        ("USE mysql", "USE shop"),
    ] {
        lab.ours.query_drop(other).expect(other);
        let asked = lab.ours.exec_drop(&statement, ());
        let error = asked.expect_err("it means something else").to_string();
        assert!(error.contains("prepared"), "{error}");
        lab.ours.query_drop(back).expect(back);
        lab.ours.exec_drop(&statement, ()).expect("as it was");
    }
    lab.ours.close(statement).expect("closed");
    let text = "SELECT (SELECT id FROM person WHERE name LIKE 'k%')";
    lab.ours.query_drop(text).expect_err("several rows");
    let warning = lab
        .ours
        .query_first::<(String, u16, String), _>("SHOW WARNINGS");
    assert_eq!(warning.expect("a row").map(|own| own.1), Some(1242));
}

fn refusals_say_why(lab: &mut Lab) {
    for (text, part) in [
        ("SELECT sleep(1) FROM person WHERE name LIKE 'k%'", "sleep"),
        (
            "SELECT id FROM person WHERE name LIKE 'k%' FOR UPDATE",
            "FOR",
        ),
        (
            "SELECT id FROM person WHERE name LIKE current_user",
            "current_user",
        ),
        (
            "SELECT p.INFO FROM information_schema.PROCESSLIST p JOIN shop.person x ON x.name LIKE \
             '%'",
            "information_schema",
        ),
        (
            "SELECT p.INFO FROM nothing.processlist p JOIN person x ON x.name LIKE '%'",
            "not known",
        ),
        (
            "SELECT p.INFO FROM processlist p JOIN person x ON x.name LIKE '%'",
            "not known",
        ),
        (
            "SELECT CONVERT_TZ(seen, 'Europe/Berlin', '+00:00') FROM person WHERE name LIKE 'k%'",
            "CONVERT_TZ",
        ),
        (
            "SELECT REPEAT(name, 10000000) FROM person WHERE name LIKE 'k%'",
            "16 MiB",
        ),
        ("SET sql_safe_updates = 1", ""),
        (
            "UPDATE person SET small = 1 WHERE name LIKE 'k%'",
            "sql_safe_updates",
        ),
        ("SET sql_safe_updates = DEFAULT", ""),
        ("USE information_schema", ""),
        (
            "SELECT p.INFO FROM processlist p JOIN shop.person x ON x.name LIKE '%'",
            "not known",
        ),
        ("USE shop", ""),
    ] {
        let Err(error) = lab.ours.query_drop(text) else {
            assert!(part.is_empty(), "{text}");
            continue;
        };
        let error = error.to_string();
        assert!(
            !part.is_empty() && error.to_lowercase().contains(&part.to_lowercase()),
            "{error}"
        );
    }
}

/// What was in conditions and constants is in no text for the server.
fn nothing_is_in_clear(lab: &Lab, canaries: &[&str]) {
    let log = fs::read(lab.log()).expect("a log");
    let text = String::from_utf8_lossy(&log);
    let is_ours =
        |line: &&str| line.contains("UNION ALL SELECT 1, NULL") || line.contains("WHERE `id` =");
    let ours = text.lines().filter(is_ours);
    let mut count = 0;
    for line in ours {
        count += 1;
        for canary in canaries {
            assert!(!line.contains(canary), "{canary} in {line}");
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn limits_hold_and_the_server_decides_what_it_can() {
    let Some(mut lab) = lab("max_finish_rows = 3\n", Brand::MariaDb, "mariadb") else {
        return;
    };
    let text = "SELECT id FROM person WHERE name LIKE 'k%'";
    let error = lab.ours.query_drop(text).expect_err(text).to_string();
    assert!(error.contains("max_finish_rows"), "{error}");
    for condition in ["id < 4", "p.city = 'Rome'", "4 > id"] {
        let text = format!("SELECT id FROM person p WHERE {condition} AND name LIKE 'k%'");
        check(&mut lab, &text, None);
        check(&mut lab, &text, Some(Vec::new()));
    }
    let text = "SELECT b.id FROM person p JOIN bill b ON b.person = p.id AND b.id <= ? WHERE p.id \
                = ? AND p.name LIKE ? AND b.label <> ''";
    let values = vec![Value::Int(2), Value::Int(1), Value::Bytes(b"kan%".to_vec())];
    check(&mut lab, text, Some(values));
}

#[test]
fn without_a_finisher_such_queries_are_refused() {
    let Some(mut lab) = lab("", Brand::MariaDb, "none") else {
        return;
    };
    let text = "SELECT id FROM person WHERE name LIKE 'k%'";
    assert!(lab.ours.query_drop(text).is_err());
}

#[test]
fn long_texts_and_bytes_are_whole() {
    let rules = "[keys]\nfile = \"columns.key\"\n[columns.\"shop.letter\"]\n\
                 page = { type = \"text\" }\nscan = { type = \"bytea\" }\n";
    let table = "CREATE TABLE letter (id INT PRIMARY KEY, page LONGTEXT, scan LONGBLOB)";
    let rules = format!("{rules}{}", finish("mariadb"));
    let Some(mut lab) = Lab::with(Brand::MariaDb, &rules, &[table]) else {
        return;
    };
    let insert = format!(
        "INSERT INTO letter VALUES (1, '{}end', x'{}ff')",
        "canary é ".repeat(20_000),
        "00".repeat(100_000)
    );
    lab.theirs.query_drop(&insert).expect("a row");
    lab.ours.query_drop(&insert).expect("a row");
    // Without it, a column that is too short would cut its values.
    for mode in ["", "STRICT_TRANS_TABLES"] {
        let mode = format!("SET sql_mode = '{mode}'");
        lab.theirs.query_drop(&mode).expect("set");
        lab.ours.query_drop(&mode).expect("set");
        for text in [
            "SELECT * FROM letter WHERE page LIKE '%end'",
            "SELECT CHAR_LENGTH(page), RIGHT(page, 5), LENGTH(scan), HEX(RIGHT(scan, 2)) FROM \
             letter",
        ] {
            check(&mut lab, text, None);
            check(&mut lab, text, Some(vec![]));
        }
    }
}
