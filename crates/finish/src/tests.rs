//! Plans from the rewriter, executed over the rows of a small table, without a server.

mod differential;

use std::collections::HashMap;

use column_value::{LogicalType, Value, ValueError};
use semantics_postgres::{Letters, TextContext, ValueText};
use sql_plan::{ColumnId, Finish, Form, Literal, Mode, OutputKind, Plan, Source};
use sql_rewrite::{Column, ProtectedColumn, RelationKind, Schema, SealedForm, Table};
use wire_postgres::values;

use super::*;

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
    ("ts", "timestamp(3)", Some(Mode::Random)),
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
                form: SealedForm::default(),
                default: None,
                draws: None,
                not_null: false,
                checks: Default::default(),
            });
            id
        });
        columns.push(Column {
            name: (*column).to_owned(),
            written: None,
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
        has_primary_key: true,
        opaque: false,
        has_triggers: false,
        has_column_privileges: false,
        rows: sql_rewrite::RowRules::default(),
    };
    let name = ("public".to_owned(), "t".to_owned());
    Schema {
        tables: HashMap::from([(name, table)]).into(),
        protected,
        search_path: vec!["public".to_owned()],
        ..Schema::default()
    }
}

/// The plan of a query, if the proxy has to finish it.
fn plan(sql: &str) -> Result<Option<Finish>, String> {
    let planned = sql_rewrite::plan(sql, &schema());
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

/// Columns of the fetch, plain ones of type integer.
fn inputs(finish: &Finish, schema: &Schema) -> Vec<Input> {
    let integers = vec![23; finish.fetch.outputs.len()];
    inputs_of(finish, schema, &integers)
}

/// The same with the types of plain ones, as PostgreSQL numbers them.
fn inputs_of(finish: &Finish, schema: &Schema, types: &[u32]) -> Vec<Input> {
    let outputs = finish.fetch.outputs.iter().zip(types);
    outputs
        .map(|(output, &oid)| Input {
            logical: match output.kind {
                OutputKind::Plain => values::logical(oid, -1),
                OutputKind::Sealed(id) => Some(schema.column(id).logical),
                OutputKind::Gathered(..) => panic!("no query here has one within"),
            },
            is_aggregate: false,
        })
        .collect()
}

/// Plain columns arrive in the format that the client wants.
fn program(finish: &Finish, inputs: &[Input]) -> Result<Program, ValueError> {
    let passes = |column: usize, _| finish.fetch.outputs[column].kind == OutputKind::Plain;
    Program::new(finish, inputs, &Literals, passes)
}

/// Fields as texts, each preceded by its size; NULL has size -1.
struct Texts;

impl RowWriter for Texts {
    fn write(
        &self,
        fields: &[Field<'_>],
        context: &TextContext,
        row: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        for field in fields {
            let text = match field {
                Field::Null => None,
                Field::Passed(bytes) => Some(bytes.to_vec()),
                Field::Value(value, logical) => {
                    let mut text = Vec::new();
                    let format = values::Format::Text;
                    values::write(value, *logical, format, context, &mut text)?;
                    Some(text)
                }
            };
            let size = text.as_ref().map_or(-1, |text| text.len() as i32);
            row.extend(size.to_be_bytes());
            row.extend(text.unwrap_or_default());
        }
        Ok(())
    }
}

const LIMITS: (usize, usize) = (100_000, 1 << 20);

/// The answer over rows of texts, one for each output.
fn answer(
    finish: &Finish,
    inputs: &[Input],
    rows: &[Vec<Option<String>>],
    (rows_max, bytes_max): (usize, usize),
) -> Result<Vec<Vec<Option<String>>>, FinishError> {
    // The tests' server has the locale C.
    let context = TextContext {
        letters: Letters::C,
        ..TextContext::default()
    };
    let program = program(finish, inputs)?;
    let width = program.outputs().len();
    let limits = Limits {
        rows_max,
        bytes_max,
    };
    let mut answer = Answer::new(program, Texts, limits, &context)?;
    for row in rows {
        let cells = row.iter().zip(inputs).enumerate();
        let cells = cells.map(|(column, (text, input))| {
            let Some(text) = text else {
                return Cell::Null;
            };
            match answer.program().want(column) {
                Want::Raw => Cell::Raw(text.as_bytes()),
                Want::Value => {
                    let logical = input.logical.expect("a known type");
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
    let rows = texts(&out, width);
    assert_eq!(taken.rows, rows.len() as u64);
    assert!(
        answer.size_is_zero(),
        "what was kept is no more, and was counted"
    );
    Ok(rows)
}

fn texts(mut bytes: &[u8], width: usize) -> Vec<Vec<Option<String>>> {
    let mut fields = Vec::new();
    while let Some((size, rest)) = bytes.split_first_chunk() {
        let size = i32::from_be_bytes(*size);
        let (text, rest) = rest.split_at(size.max(0) as usize);
        fields.push((size >= 0).then(|| String::from_utf8(text.to_vec()).expect("UTF-8")));
        bytes = rest;
    }
    fields.chunks(width).map(<[_]>::to_vec).collect()
}

/// The answer to a query over rows given by column. Formatted as `a|b`, with NULL as an empty text.
fn ask_within(
    sql: &str,
    columns: &[&str],
    rows: &[&[Option<&str>]],
    limits: (usize, usize),
) -> Result<Vec<String>, FinishError> {
    let finish = plan(sql).expect("planned").expect("to be finished");
    let schema = schema();
    let indices = finish.fetch.outputs.iter().map(|output| match output.kind {
        OutputKind::Plain => columns.iter().position(|name| *name == "id"),
        OutputKind::Sealed(id) | OutputKind::Gathered(id, _) => {
            let column = &schema.column(id).column;
            columns.iter().position(|name| name == column)
        }
    });
    let indices: Vec<Option<usize>> = indices.collect();
    let rows: Vec<Vec<Option<String>>> = rows
        .iter()
        .map(|row| {
            let field = |index: &Option<usize>| row[(*index)?].map(str::to_owned);
            indices.iter().map(field).collect()
        })
        .collect();
    let answered = answer(&finish, &inputs(&finish, &schema), &rows, limits)?;
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
fn a_filter_keeps_true_and_drops_null() {
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
fn an_order_has_null_last_unless_descending_or_specified() {
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
        match failed.expect_err("an error") {
            FinishError::Value(error) => error.sqlstate,
            other => panic!("{other}"),
        }
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
fn the_cost_of_a_query_is_bounded() {
    let sql = "SELECT id FROM t WHERE n4 > 0";
    assert!(ask_within(sql, NAMES, ROWS, (4, 1 << 20)).is_ok());
    let failed = ask_within(sql, NAMES, ROWS, (3, 1 << 20)).expect_err("a fourth row");
    assert_eq!(failed, FinishError::TooManyRows(3));

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
        assert_eq!(
            failed.expect_err("too much"),
            FinishError::TooManyBytes(10_000),
            "{sql}"
        );
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
fn columns_of_the_answer_have_their_types_and_origins() {
    let described = |sql: &str| {
        let finish = plan(sql).expect("planned").expect("to be finished");
        let inputs = inputs(&finish, &schema());
        let program = program(&finish, &inputs).expect("it is whole");
        let shown = program.outputs().map(|output| {
            let logical = output.logical.map(|logical| logical.to_string());
            let is_column = output.origin.is_some();
            (
                output.name.to_owned(),
                logical.unwrap_or_default(),
                is_column,
            )
        });
        shown.collect::<Vec<_>>()
    };
    let column = |name: &str, logical: &str| (name.to_owned(), logical.to_owned(), true);
    let computed = |name: &str, logical: &str| (name.to_owned(), logical.to_owned(), false);
    assert_eq!(
        described("SELECT sum(n4), avg(n2) AS a, min(s), count(*), sum(d) FROM t"),
        [
            computed("sum", "bigint"),
            computed("a", "numeric"),
            computed("min", "text"),
            computed("count", "bigint"),
            computed("sum", "numeric"),
        ]
    );
    assert_eq!(
        described("SELECT id, d, s, n2 + n4, CAST(x AS varchar(3)) FROM t ORDER BY d"),
        [
            column("id", "integer"),
            column("d", "numeric(12,3)"),
            column("s", "character varying(8)"),
            computed("?column?", "integer"),
            computed("x", "character varying(3)"),
        ]
    );
    assert_eq!(
        described("SELECT c, count(*) FROM t GROUP BY c"),
        [column("c", "character(5)"), computed("count", "bigint")]
    );
}

#[test]
fn columns_that_are_only_passed_on_are_not_read() {
    let finish = plan("SELECT id, n4 FROM t ORDER BY n4").expect("planned");
    let finish = finish.expect("to be finished");
    let index = finish.fetch.outputs.iter();
    let index = index
        .clone()
        .position(|output| output.kind == OutputKind::Plain);
    let index = index.expect("id is fetched");
    let inputs = inputs(&finish, &schema());
    let program = |inputs: &[Input], passes: bool| {
        Program::new(&finish, inputs, &Literals, move |_, _| passes)
    };
    let want = |passes| program(&inputs, passes).expect("it is whole").want(index);
    assert_eq!(want(true), Want::Raw);
    assert_eq!(want(false), Want::Value, "it comes in the other format");

    let mut unknown = inputs.clone();
    unknown[index].logical = None;
    assert!(program(&unknown, true).is_ok());
    let failed = program(&unknown, false).expect_err("its format is not known");
    assert_eq!(failed.sqlstate, "0A000");
}

/// Formats a constant of a fetch that is not compared with a sealed column.
fn write_plain(finish: &Finish) -> String {
    finish.fetch.template.render(|hole, out| {
        let hole = &finish.fetch.holes[hole];
        assert_eq!(hole.form, Form::Plain, "random columns are not compared");
        let Source::Literal(literal) = &hole.source else {
            panic!("tests have literals only");
        };
        literal.write(out);
    })
}
