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


