//! Texts, assignment and arithmetic, by cases whose answers PostgreSQL 15 gave.

use column_value::{LogicalType, Value};
use semantics_postgres::{
    Accumulator, Aggregation, Arithmetic, Letters, Like, TextContext, TimeZone, ValueText, assign,
};

fn context() -> TextContext {
    TextContext {
        time_zone: TimeZone::named("Europe/Berlin").expect("a zone of the tables"),
        ..TextContext::default()
    }
}

fn logical(name: &str) -> LogicalType {
    name.parse().expect("a known type")
}

fn read(text: &str, name: &str) -> Result<Value, &'static str> {
    Value::from_text(text, logical(name), &context()).map_err(|error| error.sqlstate.as_str())
}

/// Reads a text, and writes it again or gives the SQLSTATE.
fn again(text: &str, name: &str) -> String {
    match read(text, name) {
        Ok(value) => value.to_text(logical(name), &context()),
        Err(sqlstate) => sqlstate.to_owned(),
    }
}

/// Reads a text as `text`'s own type and assigns it to another.
fn assigned(text: &str, from: &str, to: &str) -> String {
    let value = read(text, from).expect("a valid text");
    match assign(value, logical(from), logical(to), &context()) {
        Ok(value) => value.to_text(logical(to), &context()),
        Err(error) => error.sqlstate.to_string(),
    }
}

fn check_texts(cases: &[(&str, &str, &str)]) {
    for (name, text, expected) in cases {
        assert_eq!(again(text, name), *expected, "{name} {text:?}");
    }
}

#[test]
fn numbers_and_bytes_are_read_and_written() {
    check_texts(&[
        ("boolean", " TRU ", "t"),
        ("boolean", "of", "f"),
        ("boolean", "o", "22P02"),
        ("smallint", "-32768", "-32768"),
        ("smallint", "32768", "22003"),
        ("integer", " +7 ", "7"),
        ("integer", "7.0", "22P02"),
        ("integer", "", "22P02"),
        ("bigint", "9223372036854775808", "22003"),
        ("numeric", "1.50e2", "150"),
        ("numeric", "1.50e-2", "0.0150"),
        ("numeric", "-0.00", "0.00"),
        ("numeric", ".5", "0.5"),
        ("numeric", "nan", "NaN"),
        ("numeric", "-inf", "-Infinity"),
        ("numeric", "1e140000", "22003"),
        ("numeric", "1e", "22P02"),
        ("double precision", "1e15", "1e+15"),
        ("double precision", "123456789012345", "123456789012345"),
        ("double precision", "0.0001", "0.0001"),
        ("double precision", "0.00001", "1e-05"),
        ("double precision", "-0", "-0"),
        ("double precision", "1e400", "22003"),
        ("double precision", "1e-400", "22003"),
        ("double precision", "0x10", "22P02"),
        ("real", "1234567", "1.234567e+06"),
        ("real", "0.1", "0.1"),
        ("bytea", "\\xDEad 01", "\\xdead01"),
        ("bytea", "a\\001\\\\", "\\x61015c"),
        ("bytea", "\\x1", "22023"),
        ("bytea", "\\9", "22P02"),
        (
            "uuid",
            "{A0EEBC99-9c0b4ef8-bb6d6bb9-bd380a11}",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        ("json", "{\"a\": [1, null]}", "{\"a\": [1, null]}"),
        ("json", "{a: 1}", "22P02"),
    ]);
}

#[test]
fn settings_say_how_bytes_and_floats_are_written() {
    let written = |text: &str, name: &str, context: &TextContext| {
        let value = read(text, name).expect("a valid text");
        value.to_text(logical(name), context)
    };
    let escaped = TextContext {
        escapes_bytes: true,
        ..context()
    };
    let text = written("\\x00615c7e7fff20", "bytea", &escaped);
    assert_eq!(text, "\\000a\\\\~\\177\\377 ");
    for (extra_float_digits, name, text, expected) in [
        (3, "float8", "0.30000000000000004", "0.30000000000000004"),
        (0, "float8", "0.30000000000000004", "0.3"),
        (0, "float8", "123456789012345678", "1.23456789012346e+17"),
        (0, "float8", "1e15", "1e+15"),
        (0, "float8", "100000000000000", "100000000000000"),
        (0, "float8", "-0", "-0"),
        (0, "float8", "-inf", "-Infinity"),
        (-3, "float8", "-100", "-100"),
        (-15, "float8", "0.26", "0.3"),
        (-15, "float8", "0.000026", "3e-05"),
        (0, "float4", "0.33333334", "0.333333"),
        (0, "float4", "1234567", "1.23457e+06"),
        (-15, "float4", "1234567", "1e+06"),
    ] {
        let context = TextContext {
            extra_float_digits,
            ..context()
        };
        assert_eq!(written(text, name, &context), expected, "{name} {text}");
    }
}

#[test]
fn numbers_that_no_float_is_near_are_none() {
    let (double, numeric) = (LogicalType::Double, LogicalType::Numeric(None));
    for text in ["1e-400", "-1e-400", "1e400", "-1e400"] {
        let number = read(text, "numeric").expect("a number");
        let cast = semantics_postgres::cast(number.clone(), numeric, double, &context());
        assert_eq!(
            cast.map_err(|error| error.sqlstate.as_str()),
            Err("22003"),
            "{text}"
        );
        assert_eq!(
            semantics_postgres::compare(&number, &Value::Float(0.0)),
            None
        );
        let sum = Arithmetic::Add.calculate(&Value::Float(0.0), &number, double);
        assert_eq!(
            sum.map_err(|error| error.sqlstate.as_str()),
            Err("22003"),
            "{text}"
        );
    }
}

#[test]
fn dates_and_times_are_read_and_written() {
    check_texts(&[
        ("date", "1999-01-08", "1999-01-08"),
        ("date", "1/8/1999", "1999-01-08"),
        ("date", "January 8, 99 BC", "0099-01-08 BC"),
        ("date", "08-Jan-1999", "1999-01-08"),
        ("date", "1999.008", "1999-01-08"),
        ("date", "19990108", "1999-01-08"),
        ("date", "J2451187", "1999-01-08"),
        ("date", "1999-02-29", "22008"),
        ("date", "1999-13-01", "22008"),
        ("date", "infinity", "infinity"),
        ("date", "tomorrow", "2000-01-02"),
        ("date", "x", "22007"),
        ("time", "04:05:06.789", "04:05:06.789"),
        ("time", "040506", "04:05:06"),
        ("time", "04:05 PM", "16:05:00"),
        ("time", "24:00:00", "24:00:00"),
        ("time", "25:00", "22008"),
        (
            "timestamp",
            "1999-01-08T04:05:06.1234567",
            "1999-01-08 04:05:06.123457",
        ),
        ("timestamp", "epoch", "1970-01-01 00:00:00"),
        ("timestamp", "294277-01-01", "22008"),
        ("timestamptz", "2026-07-01 12:00", "2026-07-01 12:00:00+02"),
        (
            "timestamptz",
            "2026-07-01 12:00+00",
            "2026-07-01 14:00:00+02",
        ),
        (
            "timestamptz",
            "2026-01-01 12:00 America/New_York",
            "2026-01-01 18:00:00+01",
        ),
        ("timestamptz", "2026-01-01 12:00 Foo/Bar", "22023"),
        ("timestamptz", "2026-03-29 02:30", "2026-03-29 03:30:00+02"),
        ("timestamptz", "2026-10-25 02:30", "2026-10-25 02:30:00+01"),
        (
            "timestamptz",
            "1880-01-01 12:00",
            "1880-01-01 12:00:00+00:53:28",
        ),
    ]);
}

#[test]
fn columns_take_what_the_server_would() {
    for (text, from, to, expected) in [
        ("1.005", "numeric", "numeric(5,2)", "1.01"),
        ("-1.005", "numeric", "numeric(5,2)", "-1.01"),
        ("999.995", "numeric", "numeric(5,2)", "22003"),
        (
            "1234.56005859375",
            "double precision",
            "numeric(12,2)",
            "1234.56",
        ),
        ("infinity", "numeric", "numeric(5,2)", "22003"),
        ("70000", "integer", "smallint", "22003"),
        ("2.5", "double precision", "integer", "2"),
        ("2.5", "numeric", "integer", "3"),
        ("nan", "numeric", "integer", "0A000"),
        ("abc", "text", "varchar(3)", "abc"),
        ("abc  ", "text", "varchar(3)", "abc"),
        ("abcd", "text", "varchar(3)", "22001"),
        ("äöü", "text", "varchar(3)", "äöü"),
        ("a", "text", "char(3)", "a  "),
        ("a  ", "char(3)", "text", "a"),
        ("1", "text", "integer", "42804"),
        ("1", "integer", "text", "1"),
        ("t", "boolean", "text", "true"),
        ("2026-07-01 23:30+00", "timestamptz", "date", "2026-07-02"),
        ("1e39", "double precision", "real", "22003"),
        (
            "1999-12-31 23:59:59.9995",
            "timestamp",
            "timestamp(3)",
            "1999-12-31 23:59:59.999",
        ),
        (
            "2001-02-03 04:05:06.7895",
            "timestamp",
            "timestamp(3)",
            "2001-02-03 04:05:06.79",
        ),
        ("23:59:59.5", "time", "time(0)", "24:00:00"),
        ("-infinity", "timestamptz", "timestamptz(0)", "-infinity"),
        (
            "294276-12-31 23:59:59.5",
            "timestamp",
            "timestamp(0)",
            "22008",
        ),
    ] {
        assert_eq!(
            assigned(text, from, to),
            expected,
            "{text:?} {from} to {to}"
        );
    }
}

#[test]
fn arithmetic_has_the_scales_of_the_server() {
    for (left, left_type, operator, right, right_type, expected) in [
        (
            "1",
            "numeric",
            Arithmetic::Divide,
            "3",
            "numeric",
            "0.33333333333333333333",
        ),
        (
            "10",
            "numeric",
            Arithmetic::Divide,
            "3",
            "numeric",
            "3.3333333333333333",
        ),
        (
            "1.50",
            "numeric",
            Arithmetic::Multiply,
            "2.0",
            "numeric",
            "3.000",
        ),
        ("7", "integer", Arithmetic::Divide, "-2", "integer", "-3"),
        (
            "2147483647",
            "integer",
            Arithmetic::Add,
            "1",
            "integer",
            "22003",
        ),
        ("1", "integer", Arithmetic::Divide, "0", "integer", "22012"),
        (
            "0.1",
            "double precision",
            Arithmetic::Add,
            "0.2",
            "double precision",
            "0.30000000000000004",
        ),
        (
            "2026-01-31",
            "date",
            Arithmetic::Add,
            "1",
            "integer",
            "2026-02-01",
        ),
        ("nan", "numeric", Arithmetic::Divide, "0", "integer", "NaN"),
    ] {
        let (left_type, right_type) = (logical(left_type), logical(right_type));
        let result = operator
            .result_type(left_type, right_type)
            .expect("an operator");
        let read =
            |text, logical| Value::from_text(text, logical, &context()).expect("a valid text");
        let value = operator.calculate(&read(left, left_type), &read(right, right_type), result);
        let text = match value {
            Ok(value) => value.to_text(result, &context()),
            Err(error) => error.sqlstate.to_string(),
        };
        assert_eq!(text, expected, "{left} {operator:?} {right}");
    }
}

#[test]
fn aggregates_have_the_types_of_the_server() {
    for (function, name, values, expected) in [
        (
            Aggregation::Sum,
            "integer",
            &["1", "2147483647"][..],
            "2147483648",
        ),
        (
            Aggregation::Average,
            "integer",
            &["1", "2"],
            "1.5000000000000000",
        ),
        (
            Aggregation::Average,
            "numeric(6,2)",
            &["1.00", "2.50"],
            "1.7500000000000000",
        ),
        (Aggregation::Sum, "numeric(6,2)", &["1.00", "2.50"], "3.50"),
        (
            Aggregation::Sum,
            "bigint",
            &["9223372036854775807", "1"],
            "9223372036854775808",
        ),
        (Aggregation::Maximum, "char(3)", &["b", "a  "], "b"),
        (Aggregation::Count, "text", &["b", "a"], "2"),
    ] {
        let mut accumulator = Accumulator::new(function, logical(name)).expect("an aggregate");
        for text in values {
            let value = read(text, name).expect("a valid text");
            accumulator.add(Some(&value)).expect("in range");
            accumulator.add(None).expect("NULL does not count");
        }
        let result = accumulator.result_type();
        let value = accumulator
            .finish()
            .expect("in range")
            .expect("there were values");
        assert_eq!(
            value.to_text(result, &context()),
            expected,
            "{function:?} {name}"
        );
    }
}

#[test]
fn patterns_match_as_in_the_server() {
    for (text, pattern, case_sensitive, expected) in [
        ("abc", "a%", true, Ok(true)),
        ("abc", "_b_", true, Ok(true)),
        ("abc", "%b", true, Ok(false)),
        ("a%c", "a\\%c", true, Ok(true)),
        ("abc", "a\\%c", true, Ok(false)),
        ("ÄB", "äb", false, Ok(true)),
        ("ab", "ab\\", true, Ok(false)),
        ("abc", "ab\\", true, Err("22025")),
        ("mississippi", "%iss%pp_", true, Ok(true)),
        ("", "%", true, Ok(true)),
        ("", "", true, Ok(true)),
    ] {
        let like = Like::new(pattern, Some('\\'), case_sensitive);
        let found = like
            .matches(text, Letters::Unicode)
            .map_err(|error| error.sqlstate.as_str());
        assert_eq!(found, expected, "{text:?} LIKE {pattern:?}");
    }
}

#[test]
fn no_content_is_shown_for_debugging() {
    let value = Value::Text("hidden".to_owned());
    assert_eq!(format!("{value:?}"), "Text(..)");
}
