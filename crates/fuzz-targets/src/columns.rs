//! What a server gives for a protected column, and what clients give for its values.

use column_codec::{Codec, ColumnSpec, Mode};
use column_value::{EqualityForm, LogicalType, Pad};
use crypto::secret::Key;
use semantics_postgres::{TextContext, TimeZone, assign, compare};
use wire_postgres::values::{self, Format};

use crate::input::Input;

const TYPES: [LogicalType; 19] = [
    LogicalType::Boolean,
    LogicalType::SmallInt,
    LogicalType::Integer,
    LogicalType::BigInt,
    LogicalType::Real,
    LogicalType::Double,
    LogicalType::Numeric(None),
    LogicalType::Numeric(Some((6, 2))),
    LogicalType::Text,
    LogicalType::Char(4),
    LogicalType::Bytes,
    LogicalType::Date,
    LogicalType::Time(None),
    LogicalType::Time(Some(2)),
    LogicalType::Timestamp(None),
    LogicalType::Timestamp(Some(3)),
    LogicalType::TimestampTz(None),
    LogicalType::Uuid,
    LogicalType::Json,
];

fn codec(logical: LogicalType, mode: Mode) -> Option<Codec> {
    let spec = ColumnSpec {
        table: "public.t".to_owned(),
        column: "c".to_owned(),
        domain: None,
        logical,
        mode,
        bits: None,
        pad: Pad::default(),
        equality: EqualityForm::default(),
    };
    Codec::new(&Key::from_bytes([7; 32]), &[spec]).ok()
}

/// Takes bytes as a sealed value, and as a change to a good one: neither opens.
pub fn run_sealed(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let logical = input.one_of(&TYPES);
    let mode = input.one_of(&[Mode::Random, Mode::Equality, Mode::Order]);
    let Some(codec) = codec(logical, mode) else {
        return;
    };
    let format = Format::Text;
    let text = input.take(24);
    if let Ok(value) = values::read(text, logical, format, &TextContext::default()) {
        let nonce = input.array();
        let mut sealed = Vec::new();
        if codec.seal_store(0, &value, || nonce, &mut sealed).is_ok() {
            let opened = codec.open(0, &sealed).expect("what was sealed opens");
            // -0 and 0 are equal, and so are 1.0 and 1.
            let is_equal = compare(&opened, &value).is_none_or(|order| order.is_eq());
            assert!(
                is_equal || logical == LogicalType::Char(4),
                "another value opens"
            );
            let mut changed = sealed.clone();
            input.patch(&mut changed);
            if changed != sealed {
                assert!(codec.open(0, &changed).is_err(), "a changed value opens");
            }
        }
    }
    assert!(codec.open(0, input.rest()).is_err(), "bytes of others open");
}

/// Takes bytes as a client's value in each format: what is read is written, and read as the same.
pub fn run_values(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let logical = input.one_of(&TYPES);
    let other = input.one_of(&TYPES);
    let format = input.one_of(&[Format::Text, Format::Binary]);
    let context = TextContext {
        time_zone: TimeZone::named("Europe/Berlin").expect("a zone of the tables"),
        ..TextContext::default()
    };
    let Ok(value) = values::read(input.rest(), logical, format, &context) else {
        return;
    };
    for format in [Format::Text, Format::Binary] {
        let mut written = Vec::new();
        let outcome = values::write(&value, logical, format, &context, &mut written);
        outcome.expect("a value of the type");
        match values::read(&written, logical, format, &context) {
            Ok(again) => {
                let is_equal = compare(&value, &again).is_none_or(|order| order.is_eq());
                assert!(is_equal, "another value is read than was written");
            }
            // Local times at the very ends of the range may leave it.
            Err(error) => assert_eq!(error.sqlstate, "22008", "what was written is not read"),
        }
    }
    if let Ok(stored) = assign(value, logical, other, &context) {
        let again = assign(stored.clone(), other, other, &context);
        assert!(again.is_ok(), "what a column took it takes again");
    }
}
