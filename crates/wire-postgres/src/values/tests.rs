//! Formats compared with another implementation, and round trips.

use postgres_protocol::types;

use super::*;

fn logical_of(name: &str) -> LogicalType {
    name.parse().unwrap()
}

fn context() -> TextContext {
    TextContext::default()
}

fn written(value: &Value, logical: LogicalType, format: Format) -> Vec<u8> {
    let mut out = vec![9];
    write(value, logical, format, &context(), &mut out).unwrap();
    out.remove(0);
    out
}

const SAMPLES: &[(&str, &[&str])] = &[
    ("boolean", &["t", "f"]),
    ("smallint", &["-32768", "77"]),
    ("integer", &["-2147483648", "77"]),
    ("bigint", &["-9223372036854775808", "77"]),
    ("real", &["0.1", "NaN", "-Infinity"]),
    ("double precision", &["0.1", "NaN", "-Infinity"]),
    (
        "numeric",
        &[
            "0",
            "0.00",
            "1",
            "-1.5",
            "10000",
            "0.0001",
            "0.00001",
            "123456789.987654321",
            "10000000000000000000000000000000000000000000000000000.10",
            "NaN",
            "Infinity",
            "-Infinity",
            "99999999999999999999999999999999999999.9999",
        ],
    ),
    ("text", &["", "ä"]),
    ("bytea", &["\\x", "\\x00ff"]),
    ("date", &["2026-11-21", "infinity", "4714-11-24 BC"]),
    ("time", &["00:00:00", "24:00:00"]),
    ("timestamp", &["2026-11-21 15:00:00.5", "-infinity"]),
    ("timestamptz", &["2026-11-21 15:00:00.5+00"]),
    ("uuid", &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("json", &["{}"]),
];

#[test]
fn values_go_there_and_back_in_both_formats() {
    for (name, texts) in SAMPLES {
        let logical = logical_of(name);
        for text in *texts {
            let value = read(text.as_bytes(), logical, Format::Text, &context()).unwrap();
            for format in [Format::Text, Format::Binary] {
                let bytes = written(&value, logical, format);
                let again = read(&bytes, logical, format, &context()).unwrap();
                assert_eq!(
                    again.to_text(logical, &context()),
                    *text,
                    "{name} {format:?}"
                );
            }
            if size(logical) > 0 {
                let bytes = written(&value, logical, Format::Binary);
                assert_eq!(bytes.len(), size(logical) as usize, "{name}");
                for (cut, sqlstate) in [
                    (&bytes[1..], "08P01"),
                    (&[&bytes[..], &[0]].concat(), "22P03"),
                ] {
                    let error = read(cut, logical, Format::Binary, &context()).unwrap_err();
                    assert_eq!(error.sqlstate, sqlstate, "{name}");
                }
            }
        }
    }
}

#[test]
fn binary_values_are_those_of_another_implementation() {
    let binary = |text: &str, name: &str| {
        let logical = logical_of(name);
        let value = read(text.as_bytes(), logical, Format::Text, &context()).unwrap();
        written(&value, logical, Format::Binary)
    };
    assert!(types::bool_from_sql(&binary("t", "boolean")).unwrap());
    assert_eq!(types::int2_from_sql(&binary("-5", "smallint")).unwrap(), -5);
    assert_eq!(types::int4_from_sql(&binary("-5", "integer")).unwrap(), -5);
    assert_eq!(types::int8_from_sql(&binary("-5", "bigint")).unwrap(), -5);
    assert_eq!(types::float4_from_sql(&binary("0.1", "real")).unwrap(), 0.1);
    assert_eq!(
        types::float8_from_sql(&binary("0.1", "double precision")).unwrap(),
        0.1
    );
    assert_eq!(
        types::date_from_sql(&binary("2000-01-02", "date")).unwrap(),
        1
    );
    assert_eq!(
        types::time_from_sql(&binary("00:00:01", "time")).unwrap(),
        1_000_000
    );
    let moment = types::timestamp_from_sql(&binary("1999-12-31 23:59:59", "timestamp"));
    assert_eq!(moment.unwrap(), -1_000_000);
}

#[test]
fn numeric_is_encoded_like_the_server() {
    let binary = |text: &str| {
        let value = read(
            text.as_bytes(),
            logical_of("numeric"),
            Format::Text,
            &context(),
        );
        written(&value.unwrap(), logical_of("numeric"), Format::Binary)
    };
    let words = |words: &[u16]| {
        words
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect::<Vec<_>>()
    };
    // numeric_send of PostgreSQL 15.
    assert_eq!(binary("12345.678"), words(&[3, 1, 0, 3, 1, 2345, 6780]));
    assert_eq!(binary("-0.00050"), words(&[1, 0xffff, 0x4000, 5, 5]));
    assert_eq!(binary("10000.0"), words(&[1, 1, 0, 1, 1]));
    assert_eq!(binary("0.000"), words(&[0, 0, 0, 3]));
}

#[test]
fn malformed_numerics_are_refused() {
    for (words, sqlstate) in [
        (&[1, 0, 0, 0][..], "08P01"),
        (&[0, 0, 0, 0, 1], "22P03"),
        (&[1, 0, 0, 0, 10_000], "22P03"),
        (&[0, 0, 0x1000, 0], "22P03"),
        (&[0, 0, 0, 0x4000], "22P03"),
        (&[0, 0], "08P01"),
    ] {
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|word: &u16| word.to_be_bytes())
            .collect();
        let error = read(&bytes, logical_of("numeric"), Format::Binary, &context()).unwrap_err();
        assert_eq!(error.sqlstate, sqlstate, "{words:?}");
    }
}

#[test]
fn numbers_of_types_and_modifiers_go_both_ways() {
    for name in [
        "boolean",
        "smallint",
        "integer",
        "bigint",
        "real",
        "double precision",
        "numeric",
        "numeric(6,2)",
        "text",
        "character varying",
        "character varying(16)",
        "character(2)",
        "bytea",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "time(0)",
        "timestamp(3)",
        "timestamp(6) with time zone",
        "uuid",
        "json",
        "jsonb",
        "interval(3)",
        "bit varying(9)",
        "time(0) with time zone",
        "integer[]",
        "numeric(6,2)[]",
        "varchar(5)[]",
        "timestamp(3)[]",
    ] {
        let of_name = logical_of(name);
        assert_eq!(
            logical(oid(of_name), modifier(of_name)),
            Some(of_name),
            "{name}"
        );
    }
    assert_eq!(modifier(logical_of("numeric(6,2)")), 393_222);
    assert_eq!(modifier(logical_of("varchar(16)")), 20);
    assert_eq!(modifier(logical_of("timestamp(3)")), 3);
    // `money`
    assert_eq!(logical(790, -1), None);
}

#[test]
fn both_texts_of_bytea_are_read() {
    let bytes = [0, 1, b'a', b'\\', 0xff];
    let read = |text: &[u8]| {
        let mut out = Vec::new();
        read_bytea(text, &mut out).then_some(out)
    };
    assert_eq!(read(b"\\x0001615cff").unwrap(), bytes);
    assert_eq!(read(b"\\000\\001a\\\\\\377").unwrap(), bytes);
    let mut text = Vec::new();
    write_bytea(&bytes, &mut text);
    assert_eq!(read(&text).unwrap(), bytes);
    for wrong in [&b"\\x0"[..], b"\\xzz", b"\\8", b"\\"] {
        assert_eq!(read(wrong), None, "{wrong:?}");
    }
}
