//! Plans for the finisher: what the server is sent, and what the finisher evaluates.

use sql_plan::Plan;
use sql_rewrite::{Schema, describe, plan};

use crate::common::people;

fn schema() -> Schema {
    Schema {
        has_finisher: true,
        ..people()
    }
}

fn described(statement: &str) -> String {
    let schema = schema();
    match plan(statement, &schema) {
        Ok(plans) => describe(&plans[0].plan, &schema),
        Err(refusal) => format!("refused: {}\n", refusal.message),
    }
}

#[track_caller]
fn assert_plan(statement: &str, lines: &[&str]) {
    let described = described(statement);
    let own: Vec<&str> = described.lines().collect();
    assert_eq!(own, lines, "{statement}");
}

#[test]
fn a_query_becomes_one_over_arrays() {
    assert_plan(
        "SELECT date_trunc('month', born), count(*) FROM person GROUP BY 1",
        &[
            "fetch: SELECT person.born FROM \"public\".person AS person",
            "  outputs: born",
            "finisher: WITH strongroom_0 (born) AS (SELECT born FROM unnest(CAST($1 AS date[])) \
             AS strongroom_rows (born)) SELECT date_trunc('month', born), count(*) FROM \
             strongroom_0 AS person GROUP BY 1",
        ],
    );
}

#[test]
fn print_some() {
    for statement in [
        "SELECT p.id FROM person p JOIN visit v ON v.person_id = p.id WHERE lower(v.note) = lower(p.name) AND p.id = $1 AND v.visit_id > 3",
        "SELECT name FROM person WHERE now() > born AND lower(name) = $1 AND active = 1",
        "SELECT count(*) FROM person WHERE salary = $1 AND active = $1",
        "SELECT id FROM person WHERE round(salary) = 1 FOR UPDATE",
        "SELECT id FROM person a WHERE EXISTS (SELECT 1 FROM visit WHERE note = a.name AND visit_id = 4)",
        "SELECT random() FROM person WHERE round(salary) = 1",
        "SELECT now(), current_date FROM person WHERE round(salary) = 1 OR born < now()",
        "SELECT p.* FROM person p LEFT JOIN visit v ON v.note = p.name AND v.person_id = 3 WHERE p.mail = 'x' AND v.visit_id = 3",
    ] {
        println!("{statement}\n{}", described(statement));
    }
    let _ = |plan: &Plan| matches!(plan, Plan::Finisher(_));
}
