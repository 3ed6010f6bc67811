//! What this crate says of texts, casts, arithmetic, comparisons and aggregates is what PostgreSQL
//! says, for thousands of drawn cases: the same text, or the same SQLSTATE.
//!
//! `STRONGROOM_TEST_SEED` draws others, `STRONGROOM_TEST_CASES` says how many of each kind.

#[path = "server/draw.rs"]
mod draw;

use column_value::{LogicalType, Value, ValueError};
use draw::Draw;
use semantics_postgres::{
    Accumulator, Aggregation, Arithmetic, Letters, Like, TextContext, TimeZone, ValueText, assign,
    cast, compare, compare_char,
};
use server_testkit::Postgres;

/// A case: what the server evaluates, and what is expected of it.
struct Case {
    sql: String,
    ours: String,
}

/// The server, with functions that give a text or `!` and the SQLSTATE.
struct Server {
    client: postgres::Client,
    _server: Postgres,
}

const TYPES: [&str; 17] = [
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "text",
    "character varying(5)",
    "character(5)",
    "bytea",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "uuid",
    "json",
];

const NUMBERS: [&str; 6] = [
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
];

impl Server {
    fn start() -> Self {
        let server = Postgres::start();
        let mut client = server.connect();
        client
            .batch_execute(
                "ALTER DATABASE postgres SET timezone = 'Europe/Berlin';
                 SET timezone = 'Europe/Berlin';
                 CREATE FUNCTION said(statement text) RETURNS text LANGUAGE plpgsql AS $$
                 DECLARE answer text;
                 BEGIN
                     EXECUTE statement INTO answer;
                     RETURN coalesce(answer, 'NULL');
                 EXCEPTION WHEN OTHERS THEN
                     RETURN '!' || SQLSTATE;
                 END $$;",
            )
            .expect("the server takes the function");
        // Version 18 has added these; the proxy refuses them, whatever version is behind it.
        client
            .batch_execute(
                "DELETE FROM pg_cast WHERE 'bytea'::regtype IN (castsource, casttarget)
                 AND ARRAY[castsource, casttarget] && '{int2,int4,int8}'::regtype[]::oid[]",
            )
            .expect("the superuser may");
        for to in draw::TARGETS {
            let table = format!("CREATE TABLE \"of {to}\" (v {to})");
            client
                .batch_execute(&table)
                .expect("the server has the type");
        }
        Self {
            client,
            _server: server,
        }
    }

    /// Compares all cases; those that differ are shown together. Returns how many the server
    /// refused, so that a generator of nonsense is noticed.
    fn check(&mut self, kind: &str, seed: u64, cases: &[Case], allowed: fn(&str, &str) -> bool) {
        let statements: Vec<&str> = cases.iter().map(|case| case.sql.as_str()).collect();
        let rows = self
            .client
            .query(
                "SELECT said(statement) FROM unnest($1::text[]) WITH ORDINALITY AS s(statement, n) \
                 ORDER BY n",
                &[&statements],
            )
            .expect("the function gives an answer to everything");
        let mut wrong = Vec::new();
        let mut errors = 0;
        for (case, row) in cases.iter().zip(&rows) {
            let theirs: String = row.get(0);
            errors += usize::from(theirs.starts_with('!'));
            if theirs != case.ours && !allowed(&case.ours, &theirs) {
                wrong.push(format!(
                    "{}\n  ours {:?}, theirs {theirs:?}",
                    case.sql, case.ours
                ));
            }
        }
        println!("{kind}: {} cases, {errors} of them errors", cases.len());
        assert!(
            errors * 10 < cases.len() * 9,
            "{kind}: nearly all cases are errors"
        );
        assert!(
            wrong.is_empty(),
            "{kind}, seed {seed}: {} of {} differ\n{}",
            wrong.len(),
            cases.len(),
            wrong[..wrong.len().min(40)].join("\n")
        );
    }
}

fn context() -> TextContext {
    TextContext {
        time_zone: TimeZone::named("Europe/Berlin").expect("a zone of the tables"),
        ..TextContext::default()
    }
}

fn logical(name: &str) -> LogicalType {
    name.parse().expect("a known type")
}

fn quoted(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn shown(result: Result<Value, ValueError>, logical: LogicalType) -> String {
    match result {
        Ok(value) => value.to_text(logical, &context()),
        Err(error) => format!("!{}", error.sqlstate),
    }
}

/// As the server reads it; a case is about something else, so its operands are valid.
fn operand(draw: &mut Draw, name: &str) -> (String, Value) {
    loop {
        let text = draw.text(name);
        if let Ok(value) = Value::from_text(&text, logical(name), &context()) {
            return (text, value);
        }
    }
}

fn never(_: &str, _: &str) -> bool {
    false
}

/// What the differential test of a kind needs.
fn run(kind: &str, case: fn(&mut Draw) -> Case, allowed: fn(&str, &str) -> bool) {
    if !server_testkit::is_installed() {
        return;
    }
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let (seed, count) = (
        number("STRONGROOM_TEST_SEED", 1),
        number("STRONGROOM_TEST_CASES", 4000),
    );
    let mut draw = Draw::new(seed);
    let cases: Vec<Case> = (0..count).map(|_| case(&mut draw)).collect();
    Server::start().check(kind, seed, &cases, allowed);
}

#[test]
fn texts_are_read_and_written_as_by_the_server() {
    fn case(draw: &mut Draw) -> Case {
        let name = draw.one_of(&TYPES);
        let text = draw.rough_text(name);
        let base = name.split('(').next().expect("a part before any bracket");
        let base = if base == "character" { "bpchar" } else { base };
        let ours = Value::from_text(&text, logical(name), &context());
        Case {
            sql: format!("SELECT format('%s', CAST({} AS {base}))", quoted(&text)),
            ours: shown(ours, logical(name)),
        }
    }
    // What is no value for both may be refused for another reason; forms of dates that are not
    // read are refused, never misread.
    run("texts", case, |ours, theirs| {
        let both_refuse = ours.starts_with('!') && theirs.starts_with('!');
        both_refuse || ours == "!22007" || ours == "!22023"
    });
}

#[test]
fn casts_are_those_of_the_server() {
    fn case(draw: &mut Draw) -> Case {
        let (from, to) = (draw.one_of(&TYPES), draw.target());
        let (text, value) = operand(draw, from);
        let (from_type, to_type) = (logical(from), logical(&to));
        let base = format!("CAST({} AS {from})", quoted(&text));
        let start = cast(value, from_type, from_type, &context());
        let ours = start.and_then(|value| cast(value, from_type, to_type, &context()));
        Case {
            sql: format!("SELECT format('%s', CAST({base} AS {to}))"),
            ours: shown(ours, to_type),
        }
    }
    // An infinite time of day is NULL there, and an error here.
    run("casts", case, |ours, theirs| {
        (ours == "!22008" && theirs.is_empty()) || ours == "!22007"
    });
}

#[test]
fn columns_take_what_those_of_the_server_take() {
    fn case(draw: &mut Draw) -> Case {
        let (from, to) = (draw.one_of(&TYPES), draw.target());
        let (text, value) = operand(draw, from);
        let (from_type, to_type) = (logical(from), logical(&to));
        let start = cast(value, from_type, from_type, &context());
        let ours = start.and_then(|value| assign(value, from_type, to_type, &context()));
        let table = format!("\"of {to}\"");
        Case {
            sql: format!(
                "INSERT INTO {table} VALUES (CAST({} AS {from})) RETURNING format('%s', v)",
                quoted(&text)
            ),
            ours: shown(ours, to_type),
        }
    }
    // As in a cast.
    run("assignments", case, |ours, theirs| {
        ours == "!22008" && theirs.is_empty()
    });
}

#[test]
fn arithmetic_is_that_of_the_server() {
    fn case(draw: &mut Draw) -> Case {
        let (left, right) = (draw.one_of(&NUMBERS), draw.one_of(&NUMBERS));
        let (left_text, left_value) = operand(draw, left);
        let (right_text, right_value) = operand(draw, right);
        let (sign, operator) = draw.one_of(&[
            ('+', Arithmetic::Add),
            ('-', Arithmetic::Subtract),
            ('*', Arithmetic::Multiply),
            ('/', Arithmetic::Divide),
        ]);
        let result = operator
            .result_type(logical(left), logical(right))
            .expect("numbers have these operators");
        let ours = shown(
            operator.calculate(&left_value, &right_value, result),
            result,
        );
        let ours = if ours.starts_with('!') {
            ours
        } else {
            format!("{result} {ours}")
        };
        Case {
            sql: format!(
                "SELECT format('%s %s', pg_typeof(x), x) FROM (SELECT CAST({} AS {left}) {sign} \
                 CAST({} AS {right}) AS x) AS y",
                quoted(&left_text),
                quoted(&right_text)
            ),
            ours,
        }
    }
    run("arithmetic", case, never);
}

#[test]
fn comparisons_are_those_of_the_server() {
    fn case(draw: &mut Draw) -> Case {
        let left = draw.one_of(&TYPES[..16]);
        let right = if NUMBERS.contains(&left) {
            draw.one_of(&NUMBERS)
        } else {
            left
        };
        let (left_text, left_value) = operand(draw, left);
        // Equal ones would hardly be drawn.
        let (right_text, right_value) = match draw.below(3) {
            0 if left == right => (left_text.clone(), left_value.clone()),
            _ => operand(draw, right),
        };
        let is_char = left.starts_with("character(");
        let order = if is_char { compare_char } else { compare };
        let ours = order(&left_value, &right_value).expect("comparable");
        let base = |name: &'static str| match name.split('(').next() {
            Some("character") => "bpchar",
            Some(base) => base,
            None => name,
        };
        let (l, r) = (quoted(&left_text), quoted(&right_text));
        let (left, right) = (base(left), base(right));
        let pair = format!("CAST({l} AS {left}) AS l, CAST({r} AS {right}) AS r");
        Case {
            sql: format!(
                "SELECT CASE WHEN l < r THEN 'Less' WHEN l = r THEN 'Equal' WHEN l > r THEN \
                 'Greater' END FROM (SELECT {pair}) AS pair"
            ),
            ours: format!("{ours:?}"),
        }
    }
    run("comparisons", case, never);
}

#[test]
fn aggregates_are_those_of_the_server() {
    fn case(draw: &mut Draw) -> Case {
        let name = draw.one_of(&NUMBERS);
        let (called, function) = draw.one_of(&[
            ("sum", Aggregation::Sum),
            ("avg", Aggregation::Average),
            ("min", Aggregation::Minimum),
            ("max", Aggregation::Maximum),
            ("count", Aggregation::Count),
        ]);
        let mut total = Accumulator::new(function, logical(name)).expect("of numbers");
        let result = total.result_type();
        let mut rows = vec![format!("(CAST(NULL AS {name}))")];
        let mut failed = None;
        for _ in 0..draw.below(6) {
            let (text, value) = operand(draw, name);
            rows.push(format!("(CAST({} AS {name}))", quoted(&text)));
            if let Err(error) = total.add(Some(&value)) {
                failed.get_or_insert(format!("!{}", error.sqlstate));
            }
        }
        let ours = failed.unwrap_or_else(|| match total.finish() {
            Ok(None) => format!("{result} "),
            Ok(Some(value)) => format!("{result} {}", value.to_text(result, &context())),
            Err(error) => format!("!{}", error.sqlstate),
        });
        Case {
            sql: format!(
                "SELECT format('%s %s', pg_typeof({called}(x)), {called}(x)) FROM (VALUES {}) AS \
                 rows(x)",
                rows.join(", ")
            ),
            ours,
        }
    }
    run("aggregates", case, never);
}

#[test]
fn patterns_match_as_in_the_server() {
    fn case(draw: &mut Draw) -> Case {
        let (text, pattern) = (draw.word("ab\\%_éAB", 6), draw.word("ab\\%%__éAB", 6));
        let (name, case_sensitive) = draw.one_of(&[("LIKE", true), ("ILIKE", false)]);
        let ours = match Like::new(&pattern, Some('\\'), case_sensitive).matches(&text, Letters::C)
        {
            Ok(true) => "t".to_owned(),
            Ok(false) => "f".to_owned(),
            Err(error) => format!("!{}", error.sqlstate),
        };
        Case {
            sql: format!(
                "SELECT format('%s', {} {name} {})",
                quoted(&text),
                quoted(&pattern)
            ),
            ours,
        }
    }
    run("patterns", case, never);
}
