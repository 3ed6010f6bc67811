//! Texts that differ in constants alone: they are planned once, and answered as by plain tables.

use mysql::prelude::Queryable as _;

use super::differential::as_text;
use super::inserted::same;
use super::lab::{Lab, RULES, TABLES, both, on_each};
use crate::connection_failures::{free_port, metric};

/// Statements with a number in the places of `#`.
const SHARED: [&str; 6] = [
    "INSERT INTO person (id, name, number, small, born, paid, seen, city) VALUES (#, 'canary #', \
     42424#, #, '20#-02-03', #.25, '2024-01-02 03:04:05.#', 'c#')",
    "SELECT name, born FROM person WHERE number = 42424#",
    "SELECT id, paid FROM person WHERE small IN (#, 17) AND city <> 'c#' ORDER BY id LIMIT 4",
    "UPDATE person SET name = 'other #', paid = -#.5 WHERE id = #",
    "INSERT INTO card (number, kind, person) VALUES (#, 'k#', #), (#000, 'k', 1)",
    "DELETE FROM card WHERE number = #000",
];

#[test]
fn texts_that_differ_in_constants_are_planned_once() {
    let port = free_port();
    let rules = format!("metrics = \"127.0.0.1:{port}\"\n{RULES}");
    for mut lab in on_each(|brand| Lab::with(brand, &rules, &TABLES)) {
        for statement in SHARED {
            let with = |number: u32| statement.replace('#', &number.to_string());
            for number in [10, 11] {
                same(&mut lab, &with(number), vec![]);
            }
            let before = metric(port, "plans_total");
            for number in 12..35 {
                same(&mut lab, &with(number), vec![]);
            }
            assert_eq!(metric(port, "plans_total"), before, "{statement}");
        }
        same(&mut lab, "SELECT * FROM person ORDER BY id", vec![]);
        same(&mut lab, "SELECT * FROM card ORDER BY number", vec![]);
    }
}

/// Statements with a constant in the place of `#`, and the one that is planned.
const OTHERS: [(&str, &str); 9] = [
    (
        "INSERT INTO person (id, name, city) VALUES (9, #, 'a')",
        "'b'",
    ),
    (
        "INSERT INTO person (id, name, city) VALUES (9, 'd', #)",
        "'b'",
    ),
    (
        "INSERT INTO person (id, name, number) VALUES (9, 'd', #)",
        "5",
    ),
    (
        "INSERT INTO person (id, name, small) VALUES (9, 'd', #)",
        "'5'",
    ),
    ("UPDATE person SET born = # WHERE id = 1", "'2001-02-03'"),
    ("UPDATE person SET paid = # WHERE id = 1", "5.25"),
    ("UPDATE person SET seen = # WHERE id = 1", "'2001-02-03'"),
    ("SELECT id FROM person WHERE number = # ORDER BY id", "5"),
    (
        "SELECT id FROM person WHERE born = # ORDER BY id",
        "'2001-02-03'",
    ),
];

const CONSTANTS: [&str; 16] = [
    "''",
    "'x'",
    "'d'",
    "'a name of more than twenty letters'",
    "'5'",
    "'5x'",
    "'2001-02-30'",
    "'2001-02-03 04:05:06.7899'",
    "'0000-00-00'",
    "'größer'",
    "0",
    "-5",
    "5.249",
    "20010203",
    "32768",
    "99999999999999999999",
];

#[test]
fn a_shared_plan_does_what_a_plan_of_the_text_itself_does() {
    for mut lab in both() {
        let row = "INSERT INTO person (id, name, number, born) VALUES (1, 'a', 5, '2001-02-03')";
        lab.ours.query_drop(row).expect(row);
        let mut done = |text: &str| {
            lab.ours.query_drop("BEGIN").expect("a transaction");
            let answer = as_text(&mut lab.ours, text);
            let rows = as_text(&mut lab.ours, "SELECT * FROM person ORDER BY id");
            lab.ours.query_drop("ROLLBACK").expect("rolled back");
            (answer, rows)
        };
        for (statement, first) in OTHERS {
            done(&statement.replace('#', first));
            for constant in CONSTANTS {
                let text = statement.replace('#', constant);
                // The comment makes it a text of another shape.
                let own = done(&format!("{text} /* {constant} */"));
                assert_eq!(done(&text), own, "{text}");
            }
        }
    }
}
