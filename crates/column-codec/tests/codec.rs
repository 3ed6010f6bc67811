//! Only sealed values open; equal values have equal bytes; order is preserved.

use column_codec::{Codec, ColumnSpec, Mode, OpenError, SealError, TOKEN_PREFIX_SIZE, behind};
use column_value::{Collation, EqualityForm, LogicalType, Pad, Value};
use crypto::secret::Key;
use semantics_postgres::{TextContext, ValueText};

fn spec(column: &str, logical: &str, mode: Mode) -> ColumnSpec {
    ColumnSpec {
        table: "public.t".to_owned(),
        column: column.to_owned(),
        domain: None,
        logical: logical.parse().expect("a known type"),
        mode,
        bits: None,
        pad: Pad::default(),
        equality: EqualityForm::default(),
    }
}

fn codec(columns: &[ColumnSpec]) -> Codec {
    Codec::new(&Key::from_bytes([7; 32]), columns).expect("valid rules")
}

fn value(text: &str, logical: LogicalType) -> Value {
    Value::from_text(text, logical, &TextContext::default()).expect("a valid text")
}

fn store(codec: &Codec, index: usize, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    codec
        .seal_store(index, value, || [5; 8], &mut out)
        .expect("a value of the type");
    out
}

fn matching(codec: &Codec, index: usize, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    codec
        .seal_match(index, value, &mut out)
        .expect("comparable");
    out
}

fn bound(codec: &Codec, index: usize, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    codec
        .seal_bound(index, value, &mut out)
        .expect("comparable");
    out
}

/// A type and texts of its values, in ascending order.
const SAMPLES: &[(&str, &[&str])] = &[
    ("boolean", &["f", "t"]),
    ("smallint", &["-32768", "-1", "0", "1", "32767"]),
    ("integer", &["-2147483648", "-1", "0", "77", "2147483647"]),
    (
        "bigint",
        &["-9223372036854775808", "0", "9223372036854775807"],
    ),
    (
        "real",
        &["-Infinity", "-1.5", "0", "1e-40", "3.4e38", "NaN"],
    ),
    (
        "double precision",
        &["-1e300", "0", "0.1", "1e300", "Infinity", "NaN"],
    ),
    (
        "numeric(6,2)",
        &["-9999.99", "-0.01", "0.00", "0.10", "9999.99", "NaN"],
    ),
    (
        "numeric",
        &[
            "-Infinity",
            "-1e40",
            "0",
            "1.5",
            "123456789012345678901234567890.5",
        ],
    ),
    (
        "text",
        &["", "a", "fifteen letters", "sixteen letters!", "ä"],
    ),
    ("character varying(16)", &["", "BARBARBAR"]),
    ("character(4)", &["    ", "BC  "]),
    ("bytea", &["\\x", "\\x00", "\\x8000", "\\xff"]),
    (
        "date",
        &[
            "-infinity",
            "4713-01-01 BC",
            "2000-01-01",
            "2026-11-21",
            "infinity",
        ],
    ),
    ("time", &["00:00", "12:34:56.789", "24:00"]),
    (
        "timestamp",
        &[
            "-infinity",
            "1970-01-01",
            "2026-11-21 14:00:01.5",
            "infinity",
        ],
    ),
    ("timestamptz", &["1970-01-01", "2026-11-21 14:00:01.5"]),
    ("timestamp(3)", &["1970-01-01", "2026-11-21 14:00:01.567"]),
    ("time(0)", &["00:00", "24:00"]),
    ("uuid", &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("json", &["{\"a\": 1}"]),
];

fn has_mode(name: &str, mode: Mode) -> bool {
    let unordered = [
        "boolean",
        "numeric",
        "text",
        "character varying(16)",
        "character(4)",
        "bytea",
        "uuid",
    ];
    match mode {
        Mode::Random => true,
        Mode::Equality => name != "json",
        Mode::Token(_) => false,
        Mode::Order => name != "json" && !unordered.contains(&name),
    }
}

#[test]
fn sealed_values_open() {
    for mode in [Mode::Random, Mode::Equality, Mode::Order] {
        for (name, texts) in SAMPLES.iter().filter(|(name, _)| has_mode(name, mode)) {
            let spec = spec("c", name, mode);
            let codec = codec(std::slice::from_ref(&spec));
            for text in *texts {
                let value = value(text, spec.logical);
                let opened = codec.open(0, &store(&codec, 0, &value)).expect("authentic");
                let context = TextContext::default();
                let expected = value.to_text(spec.logical, &context);
                assert_eq!(
                    opened.to_text(spec.logical, &context),
                    expected,
                    "{name} {mode:?}"
                );
            }
        }
    }
}

#[test]
fn modes_that_a_type_has_not_are_refused() {
    for mode in [Mode::Equality, Mode::Order] {
        for (name, _) in SAMPLES.iter().filter(|(name, _)| !has_mode(name, mode)) {
            let root = Key::from_bytes([7; 32]);
            assert!(
                Codec::new(&root, &[spec("c", name, mode)]).is_err(),
                "{name} {mode:?}"
            );
        }
    }
}

#[test]
fn every_changed_byte_and_every_other_length_is_refused() {
    for mode in [Mode::Random, Mode::Equality, Mode::Order] {
        let long = "x".repeat(90);
        for (name, text) in [("integer", "77"), ("text", "77"), ("text", &*long)] {
            if !has_mode(name, mode) {
                continue;
            }
            let spec = spec("c", name, mode);
            let codec = codec(std::slice::from_ref(&spec));
            let sealed = store(&codec, 0, &value(text, spec.logical));
            for place in 0..sealed.len() {
                for change in [1, 0x80, 0xff] {
                    let mut changed = sealed.clone();
                    changed[place] ^= change;
                    assert!(codec.open(0, &changed).is_err(), "{name} {mode:?} {place}");
                }
            }
            for size in 0..sealed.len() {
                assert!(
                    codec.open(0, &sealed[..size]).is_err(),
                    "{name} {mode:?} {size}"
                );
            }
            let longer = [&sealed[..], &[0]].concat();
            assert!(codec.open(0, &longer).is_err(), "{name} {mode:?}");
        }
    }
}

#[test]
fn values_open_in_their_own_column_only() {
    for mode in [Mode::Random, Mode::Equality, Mode::Order] {
        let mut other_table = spec("c", "integer", mode);
        other_table.table = "public.u".to_owned();
        let mut shifted = spec("tc", "integer", mode);
        shifted.table = "public.".to_owned();
        let columns = [
            spec("c", "integer", mode),
            spec("d", "integer", mode),
            other_table,
            shifted,
            spec("c", "date", mode),
        ];
        let codec = codec(&columns);
        let sealed = store(&codec, 0, &Value::Integer(77));
        for index in 1..columns.len() {
            assert_eq!(
                codec.open(index, &sealed),
                Err(OpenError::NotAuthentic),
                "{mode:?}"
            );
        }
        let other_root = Codec::new(&Key::from_bytes([8; 32]), &columns).expect("valid rules");
        assert_eq!(other_root.open(0, &sealed), Err(OpenError::NotAuthentic));
    }
    let codec = codec(&[
        spec("c", "integer", Mode::Random),
        spec("c", "integer", Mode::Equality),
    ]);
    let sealed = store(&codec, 0, &Value::Integer(77));
    assert_eq!(codec.open(1, &sealed), Err(OpenError::Format));
    let other = |header| [&[header], &sealed[1..]].concat();
    let newer = other(Mode::Random.header() + 1);
    assert_eq!(codec.open(0, &newer), Err(OpenError::KeyVersion(2)));
    let marked = other(Mode::Random.marked_header());
    assert_eq!(codec.open(0, &marked), Err(OpenError::Marked));
    assert_eq!(codec.open(0, &other(b'x')), Err(OpenError::Format));
}

#[test]
fn equal_values_of_a_domain_are_equal_bytes() {
    let mut columns = [
        spec("a", "integer", Mode::Equality),
        spec("b", "bigint", Mode::Equality),
        spec("c", "numeric(6,2)", Mode::Equality),
        spec("d", "numeric(12,4)", Mode::Equality),
        spec("e", "character(8)", Mode::Equality),
        spec("f", "text", Mode::Equality),
        spec("g", "double precision", Mode::Equality),
    ];
    for column in &mut columns {
        column.domain = Some("D".to_owned());
    }
    let codec = codec(&columns);
    let sealed = |index: usize, text: &str| {
        let value = value(text, columns[index].logical);
        matching(&codec, index, &value)
    };
    assert_eq!(sealed(0, "77"), sealed(1, "77"));
    assert_ne!(sealed(0, "77"), sealed(1, "78"));
    assert_eq!(sealed(2, "1.50"), sealed(3, "1.5000"));
    assert_eq!(sealed(4, "BC      "), sealed(5, "BC"));
    assert_ne!(sealed(5, "BC "), sealed(5, "BC"));
    assert_eq!(sealed(6, "-0"), sealed(6, "0"));
    // A value that is searched for must be encoded like the stored one, even if its type differs.
    let numeric = LogicalType::Numeric(None);
    assert_eq!(
        matching(&codec, 0, &value("77.00", numeric)),
        sealed(0, "77")
    );
    assert_eq!(matching(&codec, 2, &Value::Integer(2)), sealed(2, "2"));
    assert_eq!(matching(&codec, 2, &Value::Float(0.1)), sealed(2, "0.1"));
    // A value that the column cannot have equals no stored value.
    let none = matching(&codec, 0, &value("77.5", numeric));
    assert_eq!(codec.open(0, &none), Err(OpenError::Size));
}

#[test]
fn random_values_differ_and_hide_lengths_within_a_bucket() {
    let codec = codec(&[spec("c", "text", Mode::Random)]);
    let seal = |text: &str, nonce: u8| {
        let mut out = Vec::new();
        let text = Value::Text(text.to_owned());
        codec
            .seal_store(0, &text, || [nonce; 8], &mut out)
            .expect("a text");
        out
    };
    assert_ne!(seal("same", 1), seal("same", 2));
    assert_eq!(seal("", 1).len(), 1 + 16 + 16 + 8);
    assert_eq!(seal("", 1).len(), seal("fifteen letters", 1).len());
    assert_eq!(seal("sixteen letters!", 1).len(), 1 + 16 + 32 + 8);
}

#[test]
fn sealed_values_sort_as_the_values_do() {
    for (name, texts) in SAMPLES
        .iter()
        .filter(|(name, _)| has_mode(name, Mode::Order))
    {
        let spec = spec("c", name, Mode::Order);
        let codec = codec(std::slice::from_ref(&spec));
        let sealed: Vec<_> = texts
            .iter()
            .map(|text| store(&codec, 0, &value(text, spec.logical)))
            .collect();
        for pair in sealed.windows(2) {
            assert!(pair[0] < pair[1], "{name}");
            assert_eq!(pair[0].len(), pair[1].len(), "{name}");
        }
    }
}

#[test]
fn bounds_that_are_not_values_sort_correctly() {
    let mut few = spec("c", "integer", Mode::Order);
    few.bits = Some(8);
    let codec = codec(&[
        few,
        spec("d", "numeric(4,2)", Mode::Order),
        spec("e", "real", Mode::Order),
    ]);
    let stored = |number| store(&codec, 0, &Value::Integer(number));
    let numeric = |text| value(text, LogicalType::Numeric(None));
    let between = bound(&codec, 0, &numeric("10.5"));
    assert!(stored(10) < between && between < stored(11));
    assert_eq!(bound(&codec, 0, &numeric("10.0")), stored(10));
    assert!(bound(&codec, 0, &Value::Integer(-1)) < stored(0));
    assert!(bound(&codec, 0, &Value::Integer(256)) > stored(255));
    assert!(bound(&codec, 0, &Value::Float(f64::NAN)) > stored(255));
    let error = codec.seal_store(0, &Value::Integer(256), || [0; 8], &mut Vec::new());
    assert_eq!(
        error.map_err(|error| error.sqlstate().as_str()),
        Err("22003")
    );

    let cents = |text| store(&codec, 1, &numeric(text));
    let beyond = bound(&codec, 1, &numeric("1000"));
    assert!(cents("99.99") < beyond && beyond < cents("NaN"));
    assert!(bound(&codec, 1, &Value::Integer(-100)) < cents("-99.99"));
    let tenth = bound(&codec, 2, &Value::Float(0.1));
    let nearest = Value::Float(f64::from(0.1_f32));
    assert!(tenth < store(&codec, 2, &nearest));
}

/// Like the server, which compares both as `double precision`.
#[test]
fn numbers_compared_with_floats_are_placed_or_refused() {
    let codec = codec(&[
        spec("a", "double precision", Mode::Order),
        spec("b", "real", Mode::Order),
        spec("c", "bigint", Mode::Order),
        spec("d", "integer", Mode::Order),
        spec("e", "numeric(15,2)", Mode::Order),
        spec("f", "numeric(18,4)", Mode::Order),
        spec("g", "numeric", Mode::Equality),
    ]);
    let said = |index: usize, value: &Value| {
        let mut out = vec![1];
        let sealed = match index {
            6 => codec.seal_match(index, value, &mut out),
            _ => codec.seal_bound(index, value, &mut out),
        };
        assert!(sealed.is_ok() || out == [1]);
        sealed.map_err(|error| error.sqlstate().as_str())
    };
    let numeric = |text| value(text, LogicalType::Numeric(None));
    for index in [0, 1] {
        for text in ["1e-400", "-1e-400", "1e400", "-1e400"] {
            assert_eq!(said(index, &numeric(text)), Err("22003"), "{index} {text}");
        }
        for text in ["0", "0.1", "1e-300", "-1e300"] {
            assert_eq!(said(index, &numeric(text)), Ok(()), "{index} {text}");
        }
    }
    let two_to_53 = 2_f64.powi(53);
    for (index, number) in [
        (2, two_to_53),
        (2, -two_to_53),
        (2, 2_f64.powi(63)),
        (5, 1e11),
        (5, -1e300),
        (6, 9.99),
    ] {
        let value = Value::Float(number);
        assert_eq!(said(index, &value), Err("0A000"), "{index} {number}");
    }
    for (index, number) in [
        (2, two_to_53 - 1.0),
        (2, -7.5),
        (2, 1e19),
        (2, f64::NEG_INFINITY),
        (3, two_to_53),
        (4, 9.99),
        (4, 1e300),
        (5, 99_999_999_999.999_9),
        (5, f64::INFINITY),
        (6, f64::NAN),
    ] {
        let value = Value::Float(number);
        assert_eq!(said(index, &value), Ok(()), "{index} {number}");
    }
    let price = bound(&codec, 5, &Value::Float(9.99));
    assert_eq!(price, store(&codec, 5, &numeric("9.9900")));
}

#[test]
fn errors_leave_the_buffer_unchanged() {
    let codec = codec(&[
        spec("a", "integer", Mode::Random),
        spec("b", "integer", Mode::Equality),
    ]);
    for index in [0, 1] {
        let mut out = vec![1, 2, 3];
        let text = Value::Text("x".to_owned());
        let error = codec.seal_store(index, &text, || [0; 8], &mut out);
        assert!(matches!(error, Err(SealError::Type { .. })));
        assert_eq!(out, [1, 2, 3]);
    }
}

#[test]
fn equal_texts_begin_alike_and_open_as_they_were_stored() {
    let mode = |collation| Mode::Token(collation);
    let own = spec("c", "text", mode(Collation::GeneralCi));
    let mut other = own.clone();
    other.column = "d".to_owned();
    let mut by_another = own.clone();
    by_another.mode = mode(Collation::UnicodeCi);
    let codec = codec(&[own.clone(), other, by_another]);
    let seal = |index: usize, key: &[u8], text: &str, nonce: u8| {
        let prefix = codec.token_prefix(index, key).expect("tokens");
        let (value, mut out) = (value(text, own.logical), Vec::new());
        codec
            .seal_behind(index, &prefix, &value, [nonce; 8], &mut out)
            .expect("a text");
        assert!(out > prefix.to_vec() && out < behind(&prefix).to_vec());
        assert_eq!(codec.open(index, &out), Ok(value));
        (prefix, out)
    };
    let (first, sealed) = seal(0, b"\0A", "a", 1);
    let (second, again) = seal(0, b"\0A", "A  ", 2);
    assert_eq!(first, second);
    assert_ne!(sealed, again);
    for (index, key) in [(0, &b"\0B"[..]), (1, b"\0A"), (2, b"\0A"), (0, b"")] {
        assert_ne!(seal(index, key, "a", 1).0, first);
    }
    assert!(codec.open(1, &sealed).is_err());
    let mut out = Vec::new();
    let value = value("a", own.logical);
    // Without its token it is neither stored nor looked for.
    assert!(codec.seal_store(0, &value, || [1; 8], &mut out).is_err());
    assert!(codec.seal_match(0, &value, &mut out).is_err());
    assert!(out.is_empty());
}

#[test]
fn what_lies_behind_a_token_is_found_without_a_gap() {
    let mut prefix = [0xff; TOKEN_PREFIX_SIZE];
    prefix[0] = 0xa9;
    let mut next = [0; TOKEN_PREFIX_SIZE];
    next[0] = 0xaa;
    assert_eq!(behind(&prefix), next);
    prefix[17] = 0;
    let mut next = prefix;
    next[17] = 1;
    assert_eq!(behind(&prefix), next);
}
