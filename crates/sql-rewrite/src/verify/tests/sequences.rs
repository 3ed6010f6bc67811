//! A sequence is set to values of columns that are drawn, and to nothing else.

use super::{Draws, MAIL, NAME, check, found, schema, sent};
use crate::{
    ColumnId, FinisherWrite, Form, Hole, InsertedColumn, InsertedRows, Output, OutputKind, Piece,
    Plan, Source,
};

const FETCH: &str = "SELECT person.name FROM public.person AS person";
const FINISHER: &str = "WITH strongroom_0 (name) AS (SELECT name FROM unnest(CAST($1 AS text[])) \
                        AS strongroom_rows (name)) SELECT max(name) FROM strongroom_0 AS person";
const WRITE: &str = "SELECT setval('numbers', strongroom_rows.c0) FROM UNNEST($1) AS \
                     strongroom_rows (c0)";

/// A plan that sets a sequence, where `name` is a column whose values are drawn.
fn set(fetch: &str, column: ColumnId, finisher: &str, write: &str) -> Result<(), String> {
    let mut schema = schema();
    schema.protected[0].draws = Draws::parse("serial");
    let (before, after) = write.split_once("$1").expect("an array");
    let write = sent(
        vec![
            Piece::Text(before.to_owned()),
            Piece::Hole(0),
            Piece::Text(after.to_owned()),
        ],
        vec![Hole {
            source: Source::Computed(0),
            form: Form::Plain,
        }],
        vec![Output::shown(OutputKind::Plain)],
    );
    let query = found(fetch, &[OutputKind::Sealed(column)], finisher);
    let plan = Plan::FinisherWrite(Box::new(FinisherWrite {
        query,
        columns: Vec::new(),
        inserted: Some(InsertedRows {
            width: 1,
            columns: vec![InsertedColumn::Plain(0)],
        }),
        upsert: None,
        write,
        returning: None,
        verb: "SELECT",
    }));
    check(&plan, &schema).map_err(|doubt| doubt.0)
}

#[test]
fn a_sequence_is_set_to_drawn_values_of_all_rows() {
    assert_eq!(set(FETCH, NAME, FINISHER, WRITE), Ok(()));
    let mail = FETCH.replace("name", "mail");
    set(&mail, MAIL, FINISHER, WRITE).expect_err("a column that is not drawn");
    let one = format!("{FETCH} WHERE person.id = 4");
    set(&one, NAME, FINISHER, WRITE).expect_err("chosen rows");
    let one = format!("{FINISHER} WHERE name > 'x'");
    set(FETCH, NAME, &one, WRITE).expect_err("rows that the finisher chooses");
    let one = format!("{FINISHER} LIMIT 1");
    set(FETCH, NAME, &one, WRITE).expect_err("the first row");
    for other in ["setseed(", "length("] {
        let write = WRITE.replace("setval('numbers', ", other);
        set(FETCH, NAME, FINISHER, &write).expect_err("another function");
    }
    let more = WRITE.replace(" FROM", ", strongroom_rows.c0 FROM");
    set(FETCH, NAME, FINISHER, &more).expect_err("another column");
}
