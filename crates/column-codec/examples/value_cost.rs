//! Benchmark of sealing and opening one value, in nanoseconds of wall time.
//!
//! Run it with `cargo xtask bench columns [--values N] [--rounds N]`; it prints the best round for
//! each kind of value and mode. `bound` is a value to compare with.

use std::hint::black_box;
use std::time::Instant;

use column_codec::{Codec, ColumnSpec, Mode};
use column_value::{EqualityForm, LogicalType, Pad, Value};
use crypto::secret::Key;
use semantics_postgres::{TextContext, ValueText};

fn main() {
    let (values, rounds) = (option("--values", 100_000), option("--rounds", 10));
    println!("the best of {rounds} rounds of {values}; ns a value, and bytes of a sealed one");
    println!(
        "{:28} {:>8} {:>8} {:>8}",
        "value, mode", "seal", "open", "bytes"
    );
    let texts = [
        ("integer", "i32", "4711".to_owned()),
        ("numeric(12,2)", "decimal", "1234.50".to_owned()),
        ("character varying(24)", "24 characters", "x".repeat(24)),
        ("character varying(48)", "40 characters", "x".repeat(40)),
        ("character varying(64)", "60 characters", "x".repeat(60)),
        ("character varying(500)", "500 characters", "x".repeat(500)),
    ];
    for (logical, name, text) in texts {
        let logical: LogicalType = logical.parse().expect("a known type");
        let context = TextContext::default();
        let value = Value::from_text(&text, logical, &context).expect("a value of the type");
        for (mode, bits) in modes(logical) {
            let label = match bits {
                Some(bits) => format!("{name}, {mode:?} {bits} bits"),
                None => format!("{name}, {mode:?}"),
            };
            let codec = codec(logical, mode, bits);
            measure(&label, &codec, &value, values, rounds);
        }
    }
}

fn modes(logical: LogicalType) -> Vec<(Mode, Option<u8>)> {
    let mut modes = vec![(Mode::Random, None), (Mode::Equality, None)];
    if logical.is_number() {
        modes.push((Mode::Order, None));
    }
    if logical == LogicalType::Integer {
        modes.push((Mode::Order, Some(24)));
    }
    modes
}

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

fn measure(label: &str, codec: &Codec, value: &Value, values: u32, rounds: u32) {
    let mut sealed = Vec::new();
    let mut nonce = 0_u64;
    let seal = best(values, rounds, || {
        sealed.clear();
        nonce += 1;
        let drawn = || nonce.to_le_bytes();
        let outcome = codec.seal_store(0, black_box(value), drawn, &mut sealed);
        outcome.expect("a value of the type");
    });
    let open = best(values, rounds, || {
        black_box(codec.open(0, black_box(&sealed)).expect("authentic"));
    });
    println!("{label:28} {seal:8.0} {open:8.0} {:8}", sealed.len());
}

fn best(values: u32, rounds: u32, mut one: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..values {
            one();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(values));
    }
    best
}

fn option(name: &str, default: u32) -> u32 {
    let value = std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1);
    value.map_or(default, |text| {
        text.parse().expect("the option's value is a number")
    })
}
