//! Properties over random values: order and equality are preserved, and what was sealed opens.

use column_codec::{Codec, ColumnSpec, Mode};
use column_value::limits::SIGNED_TIME_MAX_US;
use column_value::{
    EqualityForm, KnownType, LogicalType, NamedKind, NamedType, OpaqueType, Pad, Value, WholeType,
};
use crypto::secret::Key;
use proptest::prelude::*;
use semantics_postgres::{TextContext, ValueText, compare};

fn codec(logical: LogicalType, mode: Mode, bits: Option<u8>) -> Codec {
    let spec = ColumnSpec {
        table: "public.t".to_owned(),
        column: "c".to_owned(),
        domain: None,
        logical,
        mode,
        bits,
        pad: Pad::default(),
        equality: EqualityForm::default(),
    };
    Codec::new(&Key::from_bytes([7; 32]), &[spec]).expect("a valid rule")
}

fn stored(codec: &Codec, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    codec
        .seal_store(0, value, || [1; 8], &mut out)
        .expect("a value of the type");
    out
}

/// The number of pairs, scaled by an environment variable for long runs.
fn pairs() -> u64 {
    let text = std::env::var("STRONGROOM_TEST_CASES").ok();
    text.map_or(100_000, |text| text.parse().expect("a number"))
}

/// SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Checks the order of two integers in mode `order`, which are random, one bit apart, or
/// neighbours.
fn check_order(codec: &Codec, bits: u32, signed: bool) {
    let (mut left_sealed, mut right_sealed) = (Vec::new(), Vec::new());
    for round in 0..pairs() {
        let (left, random) = (mixed(3 * round), mixed(3 * round + 1));
        let right = match round % 3 {
            0 => random,
            1 => left ^ (1 << (random % u64::from(bits))),
            _ => left.wrapping_add(1),
        };
        let number = |pattern: u64| {
            let cut = pattern << (64 - bits);
            if signed {
                cut as i64 >> (64 - bits)
            } else {
                (cut >> (64 - bits)) as i64
            }
        };
        let (left, right) = (number(left), number(right));
        left_sealed.clear();
        right_sealed.clear();
        for (number, sealed) in [(left, &mut left_sealed), (right, &mut right_sealed)] {
            let value = Value::Integer(number);
            codec.seal_bound(0, &value, sealed).expect("a number");
        }
        assert_eq!(
            left_sealed.cmp(&right_sealed),
            left.cmp(&right),
            "{left} and {right}"
        );
    }
}

#[test]
fn order_is_kept_in_every_width() {
    check_order(
        &codec(LogicalType::Integer, Mode::Order, Some(24)),
        24,
        false,
    );
    check_order(&codec(LogicalType::Integer, Mode::Order, Some(7)), 7, false);
    check_order(&codec(LogicalType::SmallInt, Mode::Order, None), 16, true);
    check_order(&codec(LogicalType::Integer, Mode::Order, None), 32, true);
    check_order(&codec(LogicalType::BigInt, Mode::Order, None), 64, true);
    let medium = LogicalType::Whole(WholeType::UnsignedMedium);
    check_order(&codec(medium, Mode::Order, None), 24, false);
}

#[test]
fn times_with_a_sign_keep_their_order_and_open() {
    let times = [
        -SIGNED_TIME_MAX_US,
        -86_400_000_000,
        -1,
        0,
        1,
        SIGNED_TIME_MAX_US,
    ];
    let logical = LogicalType::SignedTime(6);
    let ordered = codec(logical, Mode::Order, None);
    let sealed = times.map(|time| stored(&ordered, &Value::Time(time)));
    assert!(sealed.is_sorted_by(|one, other| one < other));
    for mode in [Mode::Random, Mode::Equality, Mode::Order] {
        let codec = codec(logical, mode, None);
        for time in times {
            let sealed = stored(&codec, &Value::Time(time));
            assert_eq!(codec.open(0, &sealed).ok(), Some(Value::Time(time)));
        }
        // Of a type of another class.
        let plain = self::codec(LogicalType::Time(None), mode, None);
        let sealed = stored(&plain, &Value::Time(1));
        assert!(codec.open(0, &sealed).is_err());
    }
}

proptest! {
    #[test]
    fn floats_keep_their_order(left: f64, right: f64) {
        let codec = codec(LogicalType::Double, Mode::Order, None);
        let (left, right) = (Value::Float(left), Value::Float(right));
        let expected = compare(&left, &right).expect("numbers");
        prop_assert_eq!(stored(&codec, &left).cmp(&stored(&codec, &right)), expected);
    }

    #[test]
    fn bounds_of_numeric_sort_correctly_among_integers(
        whole in -1000_i64..1000, number in -1_000_000_i64..1_000_000, scale in 0_u32..4,
    ) {
        let codec = codec(LogicalType::Integer, Mode::Order, None);
        let text = format!("{number}e-{scale}");
        let (bound, _) = Value::from_number(&text).expect("a number");
        let mut sealed = Vec::new();
        codec.seal_bound(0, &bound, &mut sealed).expect("comparable");
        let value = Value::Integer(whole);
        let expected = compare(&value, &bound).expect("numbers");
        prop_assert_eq!(stored(&codec, &value).cmp(&sealed), expected);
    }

    #[test]
    fn equal_numerics_are_equal_bytes(
        left in -100_000_i64..100_000, right in -100_000_i64..100_000, zeros in 0_usize..5,
    ) {
        let codec = codec(LogicalType::Numeric(None), Mode::Equality, None);
        let read = |text: &str| {
            let value = Value::from_text(text, LogicalType::Numeric(None), &TextContext::default());
            value.expect("a number")
        };
        let first = read(&format!("{left}.{}", "0".repeat(zeros)));
        prop_assert_eq!(stored(&codec, &first), stored(&codec, &read(&left.to_string())));
        let equal = stored(&codec, &first) == stored(&codec, &read(&right.to_string()));
        prop_assert_eq!(equal, left == right);
    }

    #[test]
    fn texts_and_bytes_open(text in "\\PC{0,80}", bytes: Vec<u8>) {
        for mode in [Mode::Random, Mode::Equality] {
            let texts = codec(LogicalType::Text, mode, None);
            let value = Value::Text(text.clone());
            prop_assert!(texts.open(0, &stored(&texts, &value)) == Ok(value));
            let binary = codec(LogicalType::Bytes, mode, None);
            let value = Value::Bytes(bytes.clone());
            prop_assert!(binary.open(0, &stored(&binary, &value)) == Ok(value));
        }
    }

    #[test]
    fn numerics_of_any_size_open(digits in "-?[1-9][0-9]{0,60}", fraction in "[0-9]{0,40}") {
        let logical = LogicalType::Numeric(None);
        let text = if fraction.is_empty() { digits } else { format!("{digits}.{fraction}") };
        let value = Value::from_text(&text, logical, &TextContext::default()).expect("a number");
        let random = codec(logical, Mode::Random, None);
        let opened = random.open(0, &stored(&random, &value)).expect("authentic");
        prop_assert_eq!(opened.to_text(logical, &TextContext::default()), text);
    }

    #[test]
    fn bytes_of_other_columns_do_not_open(bytes: Vec<u8>) {
        for mode in [Mode::Random, Mode::Equality, Mode::Order] {
            let codec = codec(LogicalType::Integer, mode, None);
            prop_assert!(codec.open(0, &bytes).is_err());
        }
    }
}

proptest! {
    /// Values that are kept unread open as they were sealed, and not as values of another type.
    #[test]
    fn what_is_kept_unread_opens_as_it_was(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        (own, other) in (any::<proptest::sample::Index>(), any::<proptest::sample::Index>()),
    ) {
        let all: Vec<OpaqueType> = OpaqueType::all().collect();
        let (own, other) = (own.get(&all), other.get(&all));
        let value = Value::Opaque(bytes);
        let sealed = stored(&codec(LogicalType::Opaque(*own), Mode::Random, None), &value);
        let opened = codec(LogicalType::Opaque(*other), Mode::Random, None).open(0, &sealed);
        match own == other {
            true => prop_assert!(opened.is_ok_and(|opened| opened == value)),
            false => prop_assert!(opened.is_err()),
        }
    }
}

/// Arrays of types without a fixed number open where the type has another one.
#[test]
fn arrays_open_where_their_elements_have_another_number() {
    let of = |oid: u32, kind: NamedKind, name: &str| {
        let own = OpaqueType::named_type(NamedType {
            schema: "public".to_owned(),
            name: name.to_owned(),
            kind,
            known: Some(KnownType {
                oid,
                array_oid: oid + 1,
                labels: vec!["a".to_owned()],
            }),
        });
        own.expect("few are known").array()
    };
    let array = |oid: u32| {
        let numbers = [1, 0, oid, 1, 1, 1];
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u32::to_be_bytes).collect();
        bytes.push(b'a');
        Value::Opaque(bytes)
    };
    let hstore = NamedKind::Extension(column_value::ExtensionType::Hstore);
    for (kind, name, other_kind, other_name) in [
        (NamedKind::Enumeration, "mood", hstore, "hstore"),
        (hstore, "hstore", NamedKind::Enumeration, "mood"),
    ] {
        let here = codec(
            LogicalType::Opaque(of(16_500, kind, name)),
            Mode::Random,
            None,
        );
        let there = codec(
            LogicalType::Opaque(of(17_000, kind, name)),
            Mode::Random,
            None,
        );
        let other = of(16_500, other_kind, other_name);
        let other = codec(LogicalType::Opaque(other), Mode::Random, None);
        let sealed = stored(&here, &array(16_500));
        assert_eq!(here.open(0, &sealed).ok(), Some(array(16_500)));
        assert_eq!(there.open(0, &sealed).ok(), Some(array(17_000)));
        assert!(other.open(0, &sealed).is_err());
    }
}
