//! Plans of the rewriter over rows of a small table, without a server.

mod differential;

use std::collections::HashMap;

use column_types::{LogicalType, TextContext, Value, ValueError};
use sql_rewrite::{
    Column, ColumnId, Dialect, Finish, Form, Literal, Mode, OutputKind, Plan, ProtectedColumn,
    RelationKind, Schema, Source, Table,
};
use wire_postgres::backend::{self, Field};

use super::expression::Elements;
use super::*;

use crate::statement_error::StatementError;

/// Columns of the table `t`. Those without a mode are plain.
const COLUMNS: &[(&str, &str, Option<Mode>)] = &[
    ("id", "integer", None),
    ("g", "integer", None),
    ("n2", "smallint", Some(Mode::Random)),
    ("n4", "integer", Some(Mode::Random)),
    ("n8", "bigint", Some(Mode::Random)),
    ("d", "numeric(12,3)", Some(Mode::Random)),
    ("f", "double precision", Some(Mode::Random)),
    ("r", "real", Some(Mode::Random)),
    ("s", "varchar(8)", Some(Mode::Random)),
    ("c", "char(5)", Some(Mode::Random)),
    ("x", "text", Some(Mode::Random)),
    ("dt", "date", Some(Mode::Random)),
    ("ts", "timestamp", Some(Mode::Random)),
    ("b", "boolean", Some(Mode::Random)),
];

fn logical(name: &str) -> LogicalType {
    name.parse().expect("a known type")
}

fn schema() -> Schema {
    let mut protected = Vec::new();
    let mut columns = Vec::new();
    for ((column, name, mode), number) in COLUMNS.iter().zip(1..) {
        let id = mode.map(|mode| {
            let id = ColumnId(protected.len() as u32);
            protected.push(ProtectedColumn {
                id,
                schema: "public".to_owned(),
                table: "t".to_owned(),
                column: (*column).to_owned(),
                logical: logical(name),
                mode,
                domain: format!("column:public.t.{column}"),
                bits: None,
                default: None,
                not_null: false,
            });
            id
        });
        columns.push(Column {
            name: (*column).to_owned(),
            number,
            not_null: false,
            has_default: false,
            is_generated: false,
            protected: id,
            physical: id.is_none().then(|| logical(name)),
        });
    }
    let table = Table {
        schema: "public".to_owned(),
        name: "t".to_owned(),
        oid: 1,
        kind: RelationKind::Table,
        columns,
        unique_keys: vec![vec![0]],
        opaque: false,
        has_triggers: false,
    };
    let name = ("public".to_owned(), "t".to_owned());
    Schema {
        tables: HashMap::from([(name, table)]).into(),
        protected,
        search_path: vec!["public".to_owned()],
        ..Schema::default()
    }
}

/// The plan of a query, where the proxy has to finish it.
fn plan(sql: &str) -> Result<Option<Finish>, String> {
    let planned = sql_rewrite::plan(sql, &schema(), Dialect::Postgres);
    let mut planned = planned.map_err(|refusal| refusal.message)?;
    match planned.pop().map(|one| one.plan) {
        Some(Plan::Finish(finish)) => Ok(Some(*finish)),
        _ => Ok(None),
    }
}

struct Literals;

impl Constants for Literals {
    fn one(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        constant(source, logical)
    }

    fn array(
        &self,
        _: &Source,
        _: LogicalType,
    ) -> Result<(Option<Elements>, LogicalType), ValueError> {
        panic!("tests have literals only")
    }
}

fn constant(
    source: &Source,
    logical: LogicalType,
) -> Result<(Option<Value>, LogicalType), ValueError> {
    let context = TextContext::default();
    Ok(match source {
        Source::Literal(Literal::Null) => (None, logical),
        Source::Literal(Literal::Boolean(truth)) => {
            (Some(Value::Boolean(*truth)), LogicalType::Boolean)
        }
        Source::Literal(Literal::Number(digits)) => {
            let (value, logical) = Value::from_number(digits)?;
            (Some(value), logical)
        }
        Source::Literal(Literal::Text(text)) => {
            (Some(Value::from_text(text, logical, &context)?), logical)
        }
        _ => panic!("tests have literals only"),
    })
}

/// Columns as the server would describe them.
fn given(finish: &Finish, schema: &Schema) -> Vec<Given> {
    let integers = vec![23; finish.fetch.outputs.len()];
    given_of(finish, schema, &integers)
}

/// The same with the types of plain ones.
fn given_of(finish: &Finish, schema: &Schema, types: &[u32]) -> Vec<Given> {
    let field = Field {
        name: b"",
        table: 1,
        column: 1,
        type_oid: 23,
        type_size: 4,
        type_modifier: -1,
        format: 0,
    };
    let outputs = finish.fetch.outputs.iter().zip(types);
    outputs
        .map(|(output, &type_oid)| match output.kind {
            OutputKind::Plain => Given::plain(&Field { type_oid, ..field }, 0),
            OutputKind::Sealed(id) => Given::sealed(&field, id, schema.column(id).logical),
            OutputKind::Gathered(..) => panic!("no query here has one within"),
        })
        .collect()
}

const LIMITS: (usize, usize) = (100_000, 1 << 20);

/// The answer over rows of texts, one for each output.
fn answer(
    finish: &Finish,
    given: &[Given],
    rows: &[Vec<Option<String>>],
    (rows_max, bytes_max): (usize, usize),
) -> Result<Vec<Vec<Option<String>>>, StatementError> {
    let context = TextContext::default();
    let failed = |error: ValueError| StatementError::from(error);
    let program = Program::new(finish, given, &Literals, |_| 0).map_err(failed)?;
    let limits = Limits {
        rows_max,
        bytes_max,
        subject: "public.t".to_owned(),
    };
    let mut answer = Answer::new(program, limits, &context)?;
    for row in rows {
        let cells = row.iter().zip(given).enumerate();
        let cells = cells.map(|(column, (text, given))| {
            let Some(text) = text else {
                return Cell::Null;
            };
            match answer.program().want(column) {
                Want::Raw => Cell::Raw(text.as_bytes()),
                Want::Value => {
                    let logical = given.logical.expect("a known type");
                    let value = Value::from_text(text, logical, &context);
                    Cell::Value(value.expect("a value"))
                }
            }
        });
        let cells: Vec<Cell> = cells.collect();
        answer.push(&cells, &context)?;
    }
    answer.end(&context)?;
    let mut out = Vec::new();
    let taken = answer.take(None, &mut out);
    assert!(taken.is_last);
    let rows = texts(&out);
    assert_eq!(taken.rows, rows.len() as u64);
    assert!(
        answer.size_is_zero(),
        "what was kept is no more, and was counted"
    );
    Ok(rows)
}

fn texts(mut messages: &[u8]) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    while let Ok(Some(header)) = wire_postgres::Header::read(messages, usize::MAX) {
        let body = &messages[wire_postgres::HEADER_SIZE..header.size];
        let row = backend::read_data_row(body).expect("well formed");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        rows.push(row.iter().map(|value| value.map(text)).collect());
        messages = &messages[header.size..];
    }
    rows
}

/// The answer to a query over rows that are given by column. Shown as `a|b`, NULL as nothing.
fn ask_within(
    sql: &str,
    columns: &[&str],
    rows: &[&[Option<&str>]],
    limits: (usize, usize),
) -> Result<Vec<String>, StatementError> {
    let finish = plan(sql).expect("planned").expect("to be finished");
    let schema = schema();
    let places = finish.fetch.outputs.iter().map(|output| match output.kind {
        OutputKind::Plain => columns.iter().position(|name| *name == "id"),
        OutputKind::Sealed(id) | OutputKind::Gathered(id, _) => {
            let column = &schema.column(id).column;
            columns.iter().position(|name| name == column)
        }
    });
    let places: Vec<Option<usize>> = places.collect();
    let rows: Vec<Vec<Option<String>>> = rows
        .iter()
        .map(|row| {
            let field = |place: &Option<usize>| row[(*place)?].map(str::to_owned);
            places.iter().map(field).collect()
        })
        .collect();
    let answered = answer(&finish, &given(&finish, &schema), &rows, limits)?;
    let shown = |row: Vec<Option<String>>| {
        let fields = row.into_iter().map(Option::unwrap_or_default);
        fields.collect::<Vec<_>>().join("|")
    };
    Ok(answered.into_iter().map(shown).collect())
}

fn ask(sql: &str, columns: &[&str], rows: &[&[Option<&str>]]) -> Vec<String> {
    ask_within(sql, columns, rows, LIMITS).expect("an answer")
}

const ROWS: &[&[Option<&str>]] = &[
    &[Some("1"), Some("3"), Some("b")],
    &[Some("2"), None, Some("B")],
    &[Some("3"), Some("1"), None],
    &[Some("4"), Some("3"), Some("a")],
];
const NAMES: &[&str] = &["id", "n4", "x"];

#[test]
fn a_filter_takes_what_is_true_and_not_what_is_null() {
    let asked = |condition: &str| ask(&format!("SELECT id FROM t WHERE {condition}"), NAMES, ROWS);
    assert_eq!(asked("n4 > 1"), ["1", "4"]);
    assert_eq!(asked("NOT n4 > 1"), ["3"]);
    assert_eq!(asked("COALESCE(n4, 0) = 0 OR x LIKE 'a%'"), ["2", "4"]);
    assert_eq!(asked("n4 IN (1, NULL)"), ["3"]);
    assert_eq!(asked("n4 NOT IN (1, NULL)"), [""; 0]);
    assert_eq!(asked("x ILIKE 'B'"), ["1", "2"]);
    assert_eq!(asked("x BETWEEN 'A' AND 'a'"), ["2", "4"]);
    assert_eq!(
        asked("CASE WHEN n4 = 3 THEN x > 'a' ELSE TRUE END AND x <> ''"),
        ["1", "2"]
    );
}

#[test]
fn an_order_has_null_last_unless_it_is_descending_or_told() {
    let asked = |order: &str| ask(&format!("SELECT id FROM t ORDER BY {order}"), NAMES, ROWS);
    assert_eq!(asked("n4, id"), ["3", "1", "4", "2"]);
    assert_eq!(asked("n4 DESC, id"), ["2", "1", "4", "3"]);
    assert_eq!(asked("n4 NULLS FIRST, x"), ["2", "3", "4", "1"]);
    assert_eq!(asked("n4 DESC NULLS LAST, x DESC"), ["1", "4", "3", "2"]);
    assert_eq!(asked("x"), ["2", "4", "1", "3"], "by bytes");
    assert_eq!(asked("n4, id LIMIT 2 OFFSET 1"), ["1", "4"]);
}

#[test]
fn aggregates_are_of_groups_and_of_nothing_too() {
    let asked = |sql: &str| ask(sql, NAMES, ROWS);
    assert_eq!(
        asked("SELECT count(*), count(n4), sum(n4), avg(n4), min(x), max(x) FROM t"),
        ["4|3|7|2.3333333333333333|B|b"]
    );
    assert_eq!(
        asked("SELECT sum(DISTINCT n4), count(DISTINCT n4) FROM t"),
        ["4|2"]
    );
    assert_eq!(asked("SELECT sum(n4) + 1 FROM t WHERE n4 > 5"), [""]);
    assert_eq!(asked("SELECT count(*) FROM t WHERE n4 > 5"), ["0"]);
    assert_eq!(
        asked("SELECT n4, count(*) FROM t GROUP BY n4 ORDER BY n4"),
        ["1|1", "3|2", "|1"]
    );
    assert_eq!(
        asked("SELECT n4 FROM t GROUP BY n4 HAVING count(*) > 1"),
        ["3"]
    );
    assert_eq!(asked("SELECT count(*) FILTER (WHERE n4 = 3) FROM t"), ["2"]);
    assert_eq!(
        asked("SELECT DISTINCT n4 FROM t ORDER BY n4 DESC"),
        ["", "3", "1"]
    );
}

#[test]
fn no_group_is_no_row() {
    let empty = ask("SELECT n4, sum(n4) FROM t GROUP BY n4", NAMES, &[]);
    assert_eq!(empty, [""; 0]);
    assert_eq!(ask("SELECT sum(n4) FROM t", NAMES, &[]), [""]);
}

#[test]
fn errors_are_those_of_the_server() {
    let state = |sql: &str| {
        let failed = ask_within(sql, NAMES, ROWS, LIMITS);
        failed.expect_err("an error").sqlstate
    };
    assert_eq!(state("SELECT n4 / (n4 - 1) FROM t"), "22012");
    assert_eq!(state("SELECT n4 * 2000000000 FROM t"), "22003");
    assert_eq!(state("SELECT CAST(x AS integer) FROM t"), "22P02");
    assert_eq!(state("SELECT n4 FROM t ORDER BY x LIMIT -1"), "2201W");
    assert_eq!(state("SELECT n4 FROM t ORDER BY x OFFSET -1"), "2201X");
    assert_eq!(
        state("SELECT n4 FROM t WHERE x LIKE '!' ESCAPE '!'"),
        "22025"
    );
    let lazy = "SELECT id FROM t WHERE n4 = 1 OR 1 / (n4 - 1) = 5";
    assert_eq!(
        ask(lazy, NAMES, ROWS),
        ["3"],
        "what is decided is not computed"
    );
}

#[test]
fn what_a_query_costs_is_bounded() {
    let sql = "SELECT id FROM t WHERE n4 > 0";
    assert!(ask_within(sql, NAMES, ROWS, (4, 1 << 20)).is_ok());
    let failed = ask_within(sql, NAMES, ROWS, (3, 1 << 20)).expect_err("a fourth row");
    assert_eq!(failed.sqlstate, "54000");
    assert!(failed.message.contains("public.t"), "{}", failed.message);
    assert!(failed.message.contains("3 rows"), "{}", failed.message);
    assert!(
        failed
            .hint
            .is_some_and(|hint| hint.contains("max_finish_rows"))
    );

    let long = "x".repeat(1000);
    let row: &[Option<&str>] = &[Some("1"), Some("1"), Some(&long)];
    let rows = vec![row; 20];
    for (sql, is_kept) in [
        ("SELECT x FROM t ORDER BY n4", true),
        ("SELECT count(*) FROM t WHERE x > 'a'", false),
        ("SELECT max(x), sum(n4) FROM t", false),
        ("SELECT x, count(*) FROM t GROUP BY x", false),
        ("SELECT DISTINCT x FROM t", false),
    ] {
        let answered = ask_within(sql, NAMES, &rows, (100, 10_000));
        assert_eq!(answered.is_err(), is_kept, "{sql}");
    }
    let texts: Vec<String> = (0..20).map(|number| format!("{number}{long}")).collect();
    let rows = texts
        .iter()
        .map(|text| [Some("1"), Some("1"), Some(text.as_str())]);
    let rows: Vec<_> = rows.collect();
    let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| row.as_slice()).collect();
    for sql in [
        "SELECT x, count(*) FROM t GROUP BY x",
        "SELECT DISTINCT x FROM t",
        "SELECT count(DISTINCT x) FROM t",
    ] {
        let failed = ask_within(sql, NAMES, &rows, (100, 10_000));
        assert_eq!(failed.expect_err("too much").sqlstate, "54000", "{sql}");
    }
}

#[test]
fn a_limit_is_enough_without_an_order_and_keeps_little_with_one() {
    let texts: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
    let rows = texts
        .iter()
        .map(|text| [Some("1"), Some(text.as_str()), None]);
    let rows: Vec<_> = rows.collect();
    let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| row.as_slice()).collect();
    let first = ask_within(
        "SELECT n4 FROM t WHERE n4 > 1 LIMIT 2",
        NAMES,
        &rows,
        (10, 1 << 20),
    );
    assert_eq!(first.expect("no more rows count"), ["2", "3"]);
    let last = "SELECT n4 FROM t ORDER BY n4 DESC LIMIT 2 OFFSET 1";
    let last = ask_within(last, NAMES, &rows, (5000, 200_000));
    assert_eq!(last.expect("most rows are thrown away"), ["4998", "4997"]);
}

#[test]
fn the_answer_is_described_as_the_server_would() {
    let described = |sql: &str| {
        let finish = plan(sql).expect("planned").expect("to be finished");
        let given = given(&finish, &schema());
        let program = Program::new(&finish, &given, &Literals, |_| 1).expect("it is whole");
        let mut out = Vec::new();
        program.write_description(&mut out);
        let fields = backend::read_row_description(&out[5..]).expect("well formed");
        let shown = fields.iter().map(|field| {
            let name = String::from_utf8_lossy(field.name).into_owned();
            (name, field.type_oid, field.type_modifier, field.table)
        });
        shown.collect::<Vec<_>>()
    };
    let field = |name: &str, oid, modifier, table| (name.to_owned(), oid, modifier, table);
    assert_eq!(
        described("SELECT sum(n4), avg(n2) AS a, min(s), max(c), count(*), sum(d) FROM t"),
        [
            field("sum", 20, -1, 0),
            field("a", 1700, -1, 0),
            field("min", 25, -1, 0),
            field("max", 1042, -1, 0),
            field("count", 20, -1, 0),
            field("sum", 1700, -1, 0),
        ]
    );
    assert_eq!(
        described("SELECT id, d, s, n2 + n4, CAST(x AS varchar(3)) FROM t ORDER BY d"),
        [
            field("id", 23, -1, 1),
            field("d", 1700, (12 << 16 | 3) + 4, 1),
            field("s", 1043, 12, 1),
            field("?column?", 23, -1, 0),
            field("x", 1043, 7, 0),
        ]
    );
    assert_eq!(
        described("SELECT c, count(*) FROM t GROUP BY c"),
        [field("c", 1042, 9, 1), field("count", 20, -1, 0)]
    );
}

#[test]
fn what_only_passes_is_not_read() {
    let finish = plan("SELECT id, n4 FROM t ORDER BY n4").expect("planned");
    let finish = finish.expect("to be finished");
    let place = finish.fetch.outputs.iter();
    let place = place
        .clone()
        .position(|output| output.kind == OutputKind::Plain);
    let place = place.expect("id is fetched");
    let given = given(&finish, &schema());
    let program = |format: i16| {
        Program::new(&finish, &given, &Literals, move |_| format).expect("it is whole")
    };
    assert_eq!(program(0).want(place), Want::Raw);
    assert_eq!(
        program(1).want(place),
        Want::Value,
        "it comes in the other format"
    );
    assert_eq!(fetch_formats(&finish, |_| 0)[place], 0);

    let mut unknown = given.clone();
    unknown[place].logical = None;
    let made = |format: i16| Program::new(&finish, &unknown, &Literals, move |_| format);
    assert!(made(0).is_ok());
    let failed = made(1).expect_err("its format is not known");
    assert_eq!(failed.sqlstate, "0A000");
}

/// Writes a constant of a fetch that meets no sealed column.
fn write_plain(finish: &Finish) -> String {
    finish.fetch.template.render(|hole, out| {
        let hole = &finish.fetch.holes[hole];
        assert_eq!(hole.form, Form::Plain, "random columns are not compared");
        let Source::Literal(literal) = &hole.source else {
            panic!("tests have literals only");
        };
        crate::plans::write_literal(literal, out);
    })
}
