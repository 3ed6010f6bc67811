//! Rows that the finisher chooses: the server is told where they lie, and nothing else of them.

use super::{NAME, check, found, schema, sent};
use crate::{
    FinisherWrite, Form, Hole, InsertedColumn, InsertedRows, Output, OutputKind, Piece, Plan,
    Source,
};

const FINISHER: &str = "WITH strongroom_0 (ctid, tableoid, xmin, name) AS (SELECT ctid, tableoid, \
                        xmin, name FROM unnest(CAST($1 AS tid[]), CAST($2 AS oid[]), CAST($3 AS \
                        xid[]), CAST($4 AS text[])) AS strongroom_rows (ctid, tableoid, xmin, \
                        name)) SELECT p.ctid, p.tableoid, p.xmin FROM strongroom_0 AS p ORDER BY \
                        p.name";
const WRITE: &str = "SELECT p.name FROM UNNEST($0, $1, $2) WITH ORDINALITY AS strongroom_rows (a, \
                     b, c, n), public.person AS p WHERE p.ctid = strongroom_rows.a AND p.tableoid \
                     = strongroom_rows.b AND p.xmin = strongroom_rows.c ORDER BY \
                     strongroom_rows.n LIMIT 1 FOR UPDATE SKIP LOCKED";

/// A plan that locks rows which the finisher has chosen.
fn locked(finisher: &str, write: &str) -> Result<(), String> {
    let mut pieces = Vec::new();
    let mut rest = write;
    while let Some((before, after)) = rest.split_once('$') {
        let (number, after) = after.split_at(1);
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Hole(number.parse().expect("a number")));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    let holes = (0..3).map(|number| Hole {
        source: Source::Computed(number),
        form: Form::Plain,
    });
    let name = Output::shown(OutputKind::Sealed(NAME));
    let write = sent(pieces, holes.collect(), vec![name]);
    let fetch = "SELECT p.ctid, p.tableoid, p.xmin, p.name FROM public.person AS p";
    let mut kinds = [OutputKind::Plain; 4];
    kinds[3] = OutputKind::Sealed(NAME);
    let query = found(fetch, &kinds, finisher);
    let plan = Plan::FinisherWrite(Box::new(FinisherWrite {
        query,
        columns: Vec::new(),
        inserted: Some(InsertedRows {
            width: 3,
            columns: (0..3).map(InsertedColumn::Plain).collect(),
        }),
        upsert: None,
        write,
        returning: None,
        verb: "SELECT",
    }));
    check(&plan, &schema()).map_err(|doubt| doubt.0)
}

#[test]
fn rows_are_found_by_where_they_lie() {
    assert_eq!(locked(FINISHER, WRITE), Ok(()));
    let value = FINISHER.replace("p.xmin FROM", "p.name FROM");
    locked(&value, WRITE).expect_err("a value of the rows");
    let value = FINISHER.replace("p.xmin FROM", "CAST(p.name AS xid) FROM");
    locked(&value, WRITE).expect_err("made of a value of the rows");
    let more = WRITE.replace("SELECT p.name", "SELECT strongroom_rows.a, p.name");
    locked(FINISHER, &more).expect_err("another output");
    let other = WRITE.replace("p.xmin = strongroom_rows.c", "p.id = strongroom_rows.c");
    locked(FINISHER, &other).expect_err("compared with a plain column");
    let less = WRITE.replace(" AND p.xmin = strongroom_rows.c", "");
    locked(FINISHER, &less).expect_err("another version of the row may be found");
    let waits = WRITE.replace(" SKIP LOCKED", "");
    locked(FINISHER, &waits).expect_err("a row may change before it is locked");
    let unordered = WRITE.replace("ORDER BY strongroom_rows.n", "ORDER BY p.id");
    locked(FINISHER, &unordered).expect_err("another order");
}
