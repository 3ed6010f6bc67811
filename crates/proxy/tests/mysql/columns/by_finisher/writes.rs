//! `UPDATE` and `DELETE` whose rows or values the finisher computes, beside a plain twin.

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};
use server_testkit::mysql::Brand;

use super::{check, compare};
use crate::mysql::columns::lab::{Lab, connect};
use crate::mysql::setup::options_at;

/// Each is executed as a text, and again prepared.
const WRITES: &[&str] = &[
    "UPDATE person SET small = small + 1 WHERE name LIKE 'k%'",
    "UPDATE person SET name = CONCAT(name, '!'), note = CONCAT(name, '/', code) WHERE number IS \
     NOT NULL AND LENGTH(name) < 30",
    "UPDATE person SET paid = ROUND(paid * 1.1, 2), city = 'Oslo' WHERE paid > 0",
    "UPDATE person SET big = big + 1, city = 'x', years = 1990 WHERE name REGEXP 'k'",
    "UPDATE person SET name = 'Kanari two', small = 3 WHERE note = 'two'",
    "UPDATE person SET born = born + INTERVAL 1 DAY, seen = DATE_ADD(seen, INTERVAL 1 HOUR) WHERE \
     YEAR(born) = 1980",
    "UPDATE person SET face = CONCAT(face, x'00ff'), ratio = ratio / 3 WHERE name <> ''",
    "UPDATE person SET name = (SELECT MAX(label) FROM bill WHERE bill.person = person.id) WHERE id \
     IN (SELECT person FROM bill WHERE label LIKE 'red%')",
    "UPDATE person SET small = IFNULL(small, 0) + 1, kind = 'B' ORDER BY name DESC, id LIMIT 2",
    "UPDATE person p SET p.code = LEFT(p.name, 2), p.number = p.number + p.id WHERE p.name <> ''",
    "UPDATE shop.person SET note = NULL WHERE LENGTH(note) = 3",
    "UPDATE person SET small = 1 WHERE name LIKE 'nobody%'",
    "UPDATE person SET small = small WHERE name LIKE 'k%'",
    "UPDATE person SET id = id + 100 WHERE name LIKE '%zebra'",
    "UPDATE person SET small = small * 30000 + 30000 WHERE name LIKE 'k%'",
    "UPDATE person SET name = REPEAT('x', 50) WHERE paid > 0",
    "UPDATE person SET name = CONCAT(REPEAT(name, IF(id = 1, 1, 30)), '-') WHERE name LIKE 'k%'",
    "UPDATE person SET small = IF(id = 1, 7, 40000) WHERE name LIKE 'k%' ORDER BY id",
    "UPDATE person SET id = 1 WHERE name LIKE '%zebra'",
    "UPDATE person SET big = 7 WHERE paid < 0",
    "UPDATE person p JOIN bill b ON b.person = p.id SET p.small = 5, p.name = CONCAT(p.name, '*') \
     WHERE b.label LIKE 'red%' AND CHAR_LENGTH(p.name) < 9",
    "UPDATE person, bill SET note = CONCAT('n', label), city = 'Kiel' WHERE bill.person = \
     person.id AND label LIKE 'red%car'",
    "UPDATE bill b LEFT JOIN person p ON p.id = b.person SET b.total = b.total + 1, b.label = \
     LEFT(IFNULL(p.name, 'none'), 5) WHERE p.name IS NULL OR p.name LIKE 'k%'",
    "DELETE b FROM bill b JOIN person p ON p.id = b.person WHERE p.name LIKE '%two%'",
    "DELETE FROM bill USING bill, person WHERE bill.person = person.id AND person.name LIKE 'KAN%' \
     AND bill.total < 12",
    "DELETE FROM bill WHERE label LIKE 'blue%' RETURNING id, UPPER(label) AS u, total",
    "DELETE FROM bill WHERE label LIKE 'nothing%' RETURNING *",
    "DELETE FROM bill WHERE label LIKE '%car' AND total > 15",
    "DELETE FROM person WHERE name LIKE '%two%' ORDER BY id DESC LIMIT 1",
    "DELETE FROM bill WHERE person NOT IN (SELECT id FROM person WHERE name LIKE '%a%')",
    "DELETE FROM bill WHERE label REGEXP 'nothing'",
];

/// Changes rows of both, and compares what is left.
pub fn agree(lab: &mut Lab) {
    let mut wrong = Vec::new();
    for text in WRITES {
        for values in [None, Some(Vec::new())] {
            let other = compare(lab, text, values).err();
            if other.is_none() {
                check_tables(lab, text);
            }
            wrong.extend(other);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let moments = "UPDATE person SET changed = NOW(2), small = IFNULL(small, 0) + 1 WHERE name \
                   LIKE '%a%' OR id > 0";
    lab.ours.query_drop(moments).expect(moments);
    let times = "SELECT COUNT(*) > 2, COUNT(DISTINCT changed) FROM person WHERE changed > NOW() - \
                 INTERVAL 1 HOUR";
    let times: Option<(bool, u32)> = lab.ours.query_first(times).expect("a row");
    assert_eq!(times, Some((true, 1)));
    lab.theirs.query_drop(moments).expect(moments);
    for connection in [&mut lab.ours, &mut lab.theirs] {
        let same = "UPDATE person SET changed = NULL";
        connection.query_drop(same).expect(same);
    }
    time_goes_on_behind_a_write(lab);
    rows_are_counted_as_the_client_asks(lab);
    rows_are_locked_until_they_are_written(lab);
    parameters_are_bound(lab);
    transactions_are_the_clients(lab);
    refusals_say_why(lab);
}

/// A write sets the time of the session for its rows, and nothing but these.
fn time_goes_on_behind_a_write(lab: &mut Lab) {
    let texts = [
        "UPDATE person SET changed = NOW(2), small = IFNULL(small, 0) + 1 WHERE name LIKE '%a%'",
        "UPDATE person SET small = IFNULL(small, 0) + 1 WHERE name LIKE '%a%'",
        "UPDATE person SET years = 2000, big = 1, small = small + 1 WHERE name LIKE '%a%'",
        "UPDATE person SET changed = NOW(), name = REPEAT(name, 60) WHERE name LIKE 'k%'",
        "INSERT INTO person (id, name, seen) VALUES (900, UPPER('kanari'), NOW())",
        "INSERT INTO person (id, name, seen) VALUES (900, UPPER('kanari'), NOW())",
        "INSERT INTO person (id, name, seen) SELECT id + 900, UPPER(name), NOW() FROM person WHERE \
         name LIKE 'k%' AND id < 3",
        "DELETE FROM person WHERE name LIKE '%kan%' AND id >= 900",
    ];
    let moment = |lab: &mut Lab| {
        let now = lab.ours.query_first::<String, _>("SELECT NOW(6)");
        now.expect("asked").expect("a row")
    };
    for set in [None, Some("SET timestamp = 1000000000.000007")] {
        for connection in [&mut lab.ours, &mut lab.theirs] {
            let all = set.unwrap_or("SET timestamp = 2000000000");
            connection.query_drop(all).expect(all);
            if set.is_none() {
                let goes_on = "SET timestamp = DEFAULT";
                connection.query_drop(goes_on).expect(goes_on);
            }
        }
        for text in texts {
            if set.is_some() {
                check(lab, text, None);
                check_tables(lab, text);
            } else {
                // The moments of two servers are not the same.
                let own = lab.ours.query_drop(text);
                assert_eq!(own.is_ok(), lab.theirs.query_drop(text).is_ok(), "{text}");
            }
            let (first, second) = (moment(lab), moment(lab));
            assert_eq!(first == second, set.is_some(), "{text}: {first} {second}");
        }
        for connection in [&mut lab.ours, &mut lab.theirs] {
            for same in [
                "UPDATE person SET changed = NULL",
                "SET timestamp = DEFAULT",
            ] {
                connection.query_drop(same).expect(same);
            }
        }
    }
}

/// A client may ask for the rows that were found in the place of those that were changed.
fn rows_are_counted_as_the_client_asks(lab: &mut Lab) {
    let found_rows = CapabilityFlags::CLIENT_FOUND_ROWS;
    let found = |port: u16, database: &str| {
        let options = options_at(port, "nat").db_name(Some(database));
        Conn::new(options.additional_capabilities(found_rows)).expect("it lets in")
    };
    let mut ours = found(lab.proxy.port(), "shop");
    let mut theirs = found(lab.server.port(), "twin");
    let first = "UPDATE person SET small = 31 WHERE name LIKE '%k%'";
    let none = "UPDATE person SET small = 9 WHERE name LIKE 'nobody%'";
    for (text, changes) in [(first, true), (first, false), (none, false)] {
        ours.query_drop(text).expect(text);
        theirs.query_drop(text).expect(text);
        assert_eq!(ours.affected_rows(), theirs.affected_rows(), "{text}");
        assert_eq!(ours.info_str(), theirs.info_str(), "{text}");
        let is_changed = !ours.info_str().contains("Changed: 0");
        assert_eq!(is_changed, changes, "{text}: {}", ours.info_str());
    }
}

/// Who writes the same rows at the same time waits: no change is lost.
fn rows_are_locked_until_they_are_written(lab: &mut Lab) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 10;
    let same = "UPDATE person SET number = 0 WHERE id < 4";
    lab.ours.query_drop(same).expect(same);
    let write = "UPDATE person SET number = number + 1 WHERE id < 4 AND name NOT LIKE 'nobody%'";
    let connections: Vec<_> = (0..WRITERS)
        .map(|_| connect(lab.proxy.port(), "shop"))
        .collect();
    std::thread::scope(|scope| {
        for mut connection in connections {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    connection.query_drop(write).expect(write);
                }
            });
        }
    });
    let numbers = "SELECT number FROM person WHERE id < 4";
    let numbers: Vec<usize> = lab.ours.query(numbers).expect(numbers);
    assert_eq!(numbers, [WRITERS * ROUNDS; 3]);
    let same = "UPDATE person SET number = id WHERE id < 4";
    for connection in [&mut lab.ours, &mut lab.theirs] {
        connection.query_drop(same).expect(same);
    }
}

fn check_tables(lab: &mut Lab, behind: &str) {
    for table in ["person", "bill"] {
        let text = format!("SELECT * FROM {table} ORDER BY id");
        compare(lab, &text, None).unwrap_or_else(|wrong| panic!("behind {behind}: {wrong}"));
    }
}

fn parameters_are_bound(lab: &mut Lab) {
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    for (write, values) in [
        (
            "UPDATE person SET note = CONCAT(IFNULL(note, ''), ?), city = ?, small = ? WHERE name \
             LIKE ?",
            vec![text(" + 42424242"), text("Bern"), Value::Int(5), text("K%")],
        ),
        (
            "UPDATE person SET paid = paid * ? WHERE born > ? AND id < ?",
            vec![
                Value::Double(1.5),
                Value::Date(1970, 1, 1, 0, 0, 0, 0),
                Value::Int(50),
            ],
        ),
        (
            "DELETE FROM person WHERE name LIKE ? AND id = ?",
            vec![text("%zebra"), Value::Int(7)],
        ),
    ] {
        check(lab, write, Some(values));
        check_tables(lab, write);
    }
}

fn transactions_are_the_clients(lab: &mut Lab) {
    let write = "UPDATE person SET small = IFNULL(small, 0) + 1 WHERE name LIKE '%a%'";
    let fails = "UPDATE person SET small = small * 30000 WHERE name LIKE '%a%'";
    for texts in [
        &["BEGIN", write, "ROLLBACK"][..],
        &["BEGIN", write, fails, write, "COMMIT"],
        &["SET autocommit = 0", write, "ROLLBACK", write, "COMMIT"],
        &["SET autocommit = 1"],
        &["SET completion_type = 1", write, "ROLLBACK"],
        &["SET completion_type = 0", "COMMIT"],
    ] {
        for text in texts {
            check(lab, text, None);
            check_tables(lab, text);
        }
    }
}

fn refusals_say_why(lab: &mut Lab) {
    for (text, part) in [
        (
            "UPDATE person SET city = LEFT(name, 3) WHERE name LIKE 'k%'",
            "protected",
        ),
        (
            "UPDATE person p JOIN bill b ON b.person = p.id SET p.small = 1, b.total = 2 WHERE \
             p.name LIKE 'r'",
            "one table",
        ),
        (
            "UPDATE person p JOIN person q ON q.id = p.id + 1 SET p.note = q.code WHERE q.name \
             LIKE 'k%'",
            "itself",
        ),
        (
            "DELETE p, b FROM person p JOIN bill b ON b.person = p.id WHERE p.name LIKE 'r'",
            "one table",
        ),
        (
            "UPDATE person p JOIN bill b ON b.person = p.id SET p.city = b.label WHERE p.name LIKE \
             'k%'",
            "strongroom",
        ),
        (
            "UPDATE IGNORE person SET small = 1 WHERE name LIKE 'k%'",
            "IGNORE",
        ),
        (
            "UPDATE person SET big = big + 1, number = big WHERE name LIKE 'k%'",
            "two statements",
        ),
    ] {
        let error = lab.ours.query_drop(text).expect_err(text).to_string();
        assert!(error.contains(part), "{error}");
    }
    if lab.brand == Brand::MySql {
        let text = "UPDATE person SET small = (SELECT m FROM (SELECT MAX(small) AS m FROM person) \
                    s) WHERE name LIKE 'k%'";
        let error = lab.ours.query_drop(text).expect_err(text).to_string();
        assert!(error.contains("twice"), "{error}");
    }
    let text = "UPDATE person SET small = 1 WHERE name LIKE 'k%'";
    lab.ours
        .query_drop("LOCK TABLES bill WRITE")
        .expect("locked");
    let error = lab.ours.query_drop(text).expect_err(text).to_string();
    assert!(error.contains("locked"), "{error}");
    lab.ours.query_drop("UNLOCK TABLES").expect("unlocked");
    // What the server counts is none of the client's business.
    let text = "UPDATE person SET small = 2 WHERE name LIKE '%a%'";
    lab.ours.query_drop(text).expect(text);
    lab.theirs.query_drop(text).expect(text);
    let asked = lab.ours.query_drop("SELECT ROW_COUNT()");
    let error = asked.expect_err("a count").to_string();
    assert!(error.contains("ROW_COUNT"), "{error}");
}
