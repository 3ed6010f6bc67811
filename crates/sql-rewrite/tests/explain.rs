//! What `explain` reports for statements.

use crate::common::people;
use sql_rewrite::explain::{self, How};

/// What a statement tells, as `column: use use`, in the order of the rules.
fn learnt(statement: &str) -> Vec<String> {
    let reports = explain::statements(statement, &people());
    let [report] = reports.as_slice() else {
        panic!("{statement} is one statement");
    };
    assert!(!matches!(report.how, How::Refused(_)), "{report:?}");
    let columns = report.learnt.iter().map(|learnt| {
        let uses: Vec<_> = learnt.uses.iter().map(|(what, _)| what).collect();
        format!("{}: {uses:?}", learnt.column)
    });
    columns.collect()
}

const TOLD: &[(&str, &[&str])] = &[
    (
        "SELECT name FROM person WHERE id = $1",
        &["id: [Matched]", "name: [Returned]"],
    ),
    (
        "SELECT name FROM person WHERE id = ANY ($1)",
        &["id: [Matched]", "name: [Returned]"],
    ),
    (
        "SELECT active FROM person WHERE born BETWEEN $1 AND $2",
        &["born: [Bounded]"],
    ),
    (
        "SELECT active FROM person ORDER BY born",
        &["born: [Sorted]"],
    ),
    (
        "SELECT max(born) FROM person",
        &["born: [Sorted, Returned]"],
    ),
    (
        "SELECT mail, count(*) FROM person GROUP BY mail",
        &["mail: [Grouped, Returned]"],
    ),
    (
        "SELECT count(DISTINCT mail) FROM person",
        &["mail: [Grouped, NullTested]"],
    ),
    (
        "SELECT active FROM person WHERE name IS NULL",
        &["name: [NullTested]"],
    ),
    (
        "SELECT p.active FROM person p JOIN visit v ON v.person_id = p.id",
        &["id: [Paired]", "person_id: [Paired]"],
    ),
    (
        "SELECT a.active FROM person a JOIN person b USING (id)",
        &["id: [Paired]"],
    ),
    (
        "SELECT active FROM person WHERE id IN (SELECT person_id FROM visit WHERE visit_id = 1)",
        &["id: [Paired]", "person_id: [Paired]"],
    ),
    (
        "INSERT INTO visit (visit_id, person_id, note) VALUES (1, 2, 'x')",
        &["person_id: [Written]", "note: [Written]"],
    ),
    (
        "INSERT INTO visit (visit_id, person_id) SELECT 1, id FROM person",
        &["person_id: [Written]"],
    ),
    (
        "UPDATE person SET salary = salary + 1 WHERE id = 3",
        &["id: [Matched]", "salary: [Written, Fetched]"],
    ),
    (
        "SELECT id FROM person WHERE name LIKE 'a%' AND born < $1",
        &["id: [Fetched]", "name: [Fetched]", "born: [Bounded]"],
    ),
    (
        "SELECT t FROM (SELECT sum(salary) AS t FROM person) s",
        &["salary: [Fetched]"],
    ),
    ("COPY visit (note) TO STDOUT", &["note: [Returned]"]),
    (
        "COPY visit (visit_id, note) FROM STDIN",
        &["note: [Written]"],
    ),
    (
        "COPY (SELECT name FROM person ORDER BY born) TO STDOUT",
        &["name: [Returned]", "born: [Sorted]"],
    ),
    (
        "PREPARE p AS SELECT name FROM person WHERE id = $1",
        &["id: [Matched]", "name: [Returned]"],
    ),
    (
        "DECLARE c CURSOR FOR SELECT name FROM person",
        &["name: [Returned]"],
    ),
    (
        "EXPLAIN SELECT active FROM person WHERE id = 3",
        &["id: [Matched]"],
    ),
    ("SELECT amount FROM plain WHERE id = 3", &[]),
    ("DROP TABLE person", &[]),
];

#[test]
fn explain_reports_what_a_statement_reveals_of_each_column() {
    for (statement, columns) in TOLD {
        assert_eq!(learnt(statement), *columns, "{statement}");
    }
}
