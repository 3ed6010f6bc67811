//! `UPDATE` and `DELETE` of rows of joined tables.

use mysql::Value;
use mysql::prelude::Queryable as _;

use super::inserted::same;
use super::lab::{both, text};

const PERSONS: &str = "SELECT id, name, number, small, born, paid, city FROM person ORDER BY id";
const CARDS: &str = "SELECT * FROM card ORDER BY kind, person";

const FILLING: [&str; 3] = [
    "INSERT INTO person (id, name, number, small, city) VALUES (1, 'canary', 4242424201, 1, 'a'), \
     (2, 'b', 4242424202, 2, 'b'), (3, 'c', 4242424203, NULL, 'c'), (4, 'd', NULL, 4, 'd')",
    "INSERT INTO card VALUES (4242424201, 'aaa', 1), (4242424202, 'bbb', 2), (4242424209, 'ccc', \
     4), (4242424299, 'ddd', NULL)",
    "INSERT INTO plain VALUES (1, 'one'), (2, 'two'), (3, 'three')",
];

#[test]
fn rows_of_joined_tables_are_written() {
    for mut lab in both() {
        for statement in FILLING {
            same(&mut lab, statement, vec![]);
        }
        for statement in WRITING {
            same(&mut lab, statement, vec![]);
        }
        let values = vec![text("canary ?"), Value::Int(4_242_424_203), Value::Int(3)];
        for statement in [
            "UPDATE person p JOIN plain q ON p.id = q.id SET p.name = ? WHERE p.number = ? AND \
             q.id = ?",
            PERSONS,
            "DELETE p, q FROM person p JOIN plain q ON p.id = q.id WHERE p.name IS NOT NULL AND \
             'canary ?' = ? AND p.number = ? AND q.id = ?",
        ] {
            let values = statement.contains('?').then(|| values.clone());
            same(&mut lab, statement, values.unwrap_or_default());
        }
        for statement in DELETING {
            same(&mut lab, statement, vec![]);
        }
    }
}

/// By conditions over sealed keys and plain columns.
const WRITING: [&str; 13] = [
    "UPDATE person p JOIN plain q ON p.id = q.id SET p.name = 'canary x', q.note = 'y' WHERE \
     p.number = 4242424201",
    "UPDATE card c INNER JOIN person p ON c.number = p.number SET c.kind = 'new', p.small = -3, \
     p.city = 'z' WHERE c.person = 2",
    "UPDATE card JOIN person ON person.id = card.person SET card.number = 4242424277, name = NULL \
     WHERE person.id = 4",
    "UPDATE card c JOIN person p ON p.id = c.person SET c.number = 4242424278 WHERE p.id = 4",
    "UPDATE card c JOIN person p ON p.id = c.person SET c.number = 4242424201 WHERE p.id = 4",
    "UPDATE person p LEFT JOIN card c ON c.number = p.number SET p.born = '1977-07-17', p.paid = \
     NULL, c.person = 7 WHERE p.small IS NULL OR p.id = 4",
    // A sealed value of another column of its domain, once of one that may be NULL.
    "UPDATE person, card SET person.number = card.number WHERE card.kind = 'ddd' AND person.id = 3",
    "UPDATE card c JOIN person p ON p.id = c.person SET c.number = p.number WHERE p.number IS NULL",
    "UPDATE shop.person p, plain q, card AS c SET c.person = p.id, q.note = c.kind WHERE p.id = \
     q.id AND p.number = c.number",
    "UPDATE person a JOIN card c ON c.number = a.number SET a.small = 40000",
    "UPDATE person a JOIN person b ON a.number = b.number SET a.city = 'w' WHERE b.name IS NOT \
     NULL",
    PERSONS,
    CARDS,
];

const DELETING: [&str; 9] = [
    "DELETE c FROM card c JOIN person p ON p.number = c.number WHERE p.number IN (4242424201, \
     4242424205)",
    "DELETE FROM c USING card AS c INNER JOIN person p ON p.number = c.number WHERE p.id = 2",
    "DELETE person, q FROM person, plain q WHERE person.id = q.id AND person.small = -3",
    "DELETE card FROM card WHERE number = 4242424299",
    "/* desc: list, set */ DELETE C FROM card AS C JOIN plain Q ON C.person = Q.id WHERE Q.id = 77",
    "DELETE p FROM person p LEFT JOIN card c ON c.number = p.number WHERE c.number IS NULL",
    PERSONS,
    CARDS,
    "SELECT * FROM plain ORDER BY id",
];

#[test]
fn what_the_server_cannot_decide_is_refused() {
    for mut lab in both() {
        for (statement, why) in [
            (
                "UPDATE person p JOIN plain q ON p.id = q.id SET p.name = q.note",
                "name",
            ),
            (
                "UPDATE person p JOIN plain q ON p.id = q.id SET q.note = p.name",
                "name",
            ),
            (
                "UPDATE person p JOIN card c ON p.number = c.number SET p.number = p.number + 1",
                "FOR UPDATE",
            ),
            (
                "UPDATE person p JOIN card c ON p.number = c.number SET p.small = c.number",
                "number",
            ),
            (
                "UPDATE person p JOIN plain q ON p.name = q.note SET p.small = 1",
                "name",
            ),
            (
                "UPDATE person p JOIN card c ON p.number = c.number SET number = 1",
                "number",
            ),
            (
                "UPDATE person p JOIN plain q ON p.id = q.id SET p.small = 1 LIMIT 1",
                "LIMIT",
            ),
            (
                "UPDATE person p, plain q JOIN card c ON c.person = q.id SET p.small = 1",
                "commas",
            ),
            (
                "DELETE p FROM person p JOIN plain q ON p.name = q.note",
                "name",
            ),
            (
                "DELETE person FROM person p JOIN plain q ON p.id = q.id",
                "person",
            ),
            ("DELETE p FROM person p, plain q WHERE p.small > 1", "small"),
        ] {
            let error = lab.ours.query_drop(statement).expect_err(statement);
            let error = error.to_string();
            assert!(
                error.contains("strongroom: ") && error.contains(why),
                "{statement}: {error}"
            );
        }
    }
}
