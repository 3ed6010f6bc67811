//! The sizes of sealed values are those that the document of the format shows, and those from which
//! guards and columns are made.

use std::fs;
use std::path::Path;

use column_codec::{Codec, ColumnSpec, Layout, Mode};
use column_value::{Collation, EqualityForm, LogicalType, Pad, Value};
use crypto::secret::Key;
use semantics_postgres::{TextContext, ValueText};

/// Name in the document, type, the rest of the rule, and values.
type Row = (
    &'static str,
    &'static str,
    Option<u8>,
    Pad,
    &'static [&'static str],
);

const ROWS: &[Row] = &[
    ("`boolean`", "boolean", None, PAD, &["t"]),
    ("`smallint`", "smallint", None, PAD, &["-1", "32767"]),
    ("`integer`", "integer", None, PAD, &["-1", "2147483647"]),
    (
        "`integer` with `bits = 24`",
        "integer",
        Some(24),
        PAD,
        &["0", "16777215"],
    ),
    (
        "`bigint`",
        "bigint",
        None,
        PAD,
        &["-1", "9223372036854775807"],
    ),
    ("`real`", "real", None, PAD, &["0.1", "NaN"]),
    (
        "`double precision`",
        "double precision",
        None,
        PAD,
        &["0.1", "-Infinity"],
    ),
    (
        "`numeric(12,2)`",
        "numeric(12,2)",
        None,
        PAD,
        &["0", "-9999999999.99"],
    ),
    ("`date`", "date", None, PAD, &["2026-11-21", "infinity"]),
    ("`time`", "time", None, PAD, &["00:00", "24:00"]),
    (
        "`timestamp`",
        "timestamp",
        None,
        PAD,
        &["2026-11-21", "infinity"],
    ),
    ("`timestamptz`", "timestamptz", None, PAD, &["2026-11-21"]),
    (
        "`uuid`",
        "uuid",
        None,
        PAD,
        &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ),
    (
        "24 letters",
        "varchar(24)",
        None,
        PAD,
        &["twenty-four letters here"],
    ),
    (
        "24 letters, `pad = \"none\"`",
        "text",
        None,
        Pad::NONE,
        &["twenty-four letters here"],
    ),
];

const PAD: Pad = Pad::DEFAULT;

#[test]
fn the_document_has_the_sizes_of_sealed_values() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/column-format.md");
    let document = fs::read_to_string(path).expect("the document");
    let lines: Vec<&str> = document.lines().collect();
    for (name, logical, bits, pad, texts) in ROWS {
        let logical: LogicalType = logical.parse().expect("a type");
        let size = |mode| size(logical, mode, *bits, *pad, texts);
        let sizes = Mode::ALL.map(|mode| size(mode).map_or("-".to_owned(), |own| own.to_string()));
        let row = format!("| {name} | {} |", sizes.join(" | "));
        assert!(lines.contains(&row.as_str()), "the document lacks: {row}");
    }
}

/// The size that all these values have; None: the type does not have the mode.
fn size(
    logical: LogicalType,
    mode: Mode,
    bits: Option<u8>,
    pad: Pad,
    texts: &[&str],
) -> Option<usize> {
    let spec = ColumnSpec {
        table: "public.t".to_owned(),
        column: "c".to_owned(),
        domain: None,
        logical,
        mode,
        bits,
        pad,
        equality: EqualityForm::default(),
    };
    let codec = Codec::new(&Key::from_bytes([7; 32]), &[spec]).ok()?;
    let sealed = texts.iter().map(|text| {
        let value = Value::from_text(text, logical, &TextContext::default()).expect("a value");
        let mut sealed = Vec::new();
        let stored = codec.seal_store(0, &value, || [1; 8], &mut sealed);
        stored.expect("a value of the type");
        sealed
    });
    let layout = Layout {
        logical,
        mode,
        bits,
        pad,
        equality: EqualityForm::default(),
    };
    let sizes: Vec<usize> = sealed
        .map(|sealed| {
            assert_eq!(sealed[0], mode.header());
            sealed.len()
        })
        .collect();
    let is_wide = matches!(logical, LogicalType::Numeric(Some((19.., _))));
    let has_one_size = !logical.has_length() && !is_wide;
    for size in &sizes {
        let (size, most) = (*size as u64, layout.size_max());
        assert!(layout.size_min() <= size, "{logical} {mode:?}");
        assert!(most.is_none_or(|most| size <= most), "{logical} {mode:?}");
        assert!(
            !has_one_size || most == Some(layout.size_min()),
            "{logical} {mode:?}"
        );
    }
    assert!(sizes.iter().all(|size| *size == sizes[0]));
    Some(sizes[0])
}

/// Columns before MySQL have a width.
#[test]
fn the_longest_text_of_a_type_fits_its_column() {
    for pad in [Pad::NONE, Pad::DEFAULT, Pad::new(256).expect("a step")] {
        for mode in [Mode::Random, Mode::Equality] {
            let logical: LogicalType = "varchar(24)".parse().expect("a type");
            let text = "\u{1f40c}".repeat(24);
            let widest = size(logical, mode, None, pad, &[&text]);
            let layout = Layout {
                logical,
                mode,
                bits: None,
                pad,
                equality: EqualityForm::default(),
            };
            assert_eq!(
                widest.map(|own| own as u64),
                layout.size_max(),
                "{mode:?} {pad}"
            );
            let empty = size(logical, mode, None, pad, &[""]).expect("a text");
            match pad.step() {
                ..=16 => assert_eq!(empty as u64, layout.size_min()),
                // A guard does not change with a greater step.
                _ => assert!(layout.size_min() < empty as u64),
            }
        }
    }
}

#[test]
fn no_header_begins_a_text_and_each_names_one_mode() {
    let mut seen = Vec::new();
    for mode in Mode::ALL {
        for byte in [mode.header(), mode.marked_header()] {
            assert!((0x80..0xc0).contains(&byte), "{byte:02x} may begin a text");
            assert!(column_codec::may_begin(byte));
            assert!(!seen.contains(&byte));
            seen.push(byte);
        }
    }
    // Of tokens, no column of PostgreSQL has any.
    let token = Mode::Token(Collation::GeneralCi).header();
    assert!((0x80..0xc0).contains(&token) && !seen.contains(&token));
    let known = (0..=u8::MAX).filter(|byte| column_codec::may_begin(*byte));
    assert_eq!(known.count(), seen.len());
}

/// The greatest decimals of MySQL, of each number of digits.
#[test]
fn the_greatest_decimal_of_a_type_fits_its_column() {
    for (digits, of_digits) in [
        (18, 8),
        (19, 16),
        (38, 16),
        (39, 24),
        (57, 24),
        (58, 32),
        (65, 32),
    ] {
        for logical in [
            format!("numeric({digits},0)"),
            format!("numeric({digits},{digits})"),
        ] {
            let logical: LogicalType = logical.parse().expect("a type");
            let text = match logical {
                LogicalType::Numeric(Some((_, 0))) => "9".repeat(digits),
                _ => format!("0.{}", "9".repeat(digits)),
            };
            for mode in [Mode::Random, Mode::Equality] {
                let pad = Pad::default();
                let texts = [text.as_str(), &format!("-{text}")];
                let widest = size(logical, mode, None, pad, &texts).expect("a value");
                let layout = Layout {
                    logical,
                    mode,
                    bits: None,
                    pad,
                    equality: EqualityForm::default(),
                };
                assert_eq!(Some(widest as u64), layout.size_max(), "{logical} {mode:?}");
                let more = if mode == Mode::Random { 8 } else { 0 };
                assert_eq!(widest, 1 + 16 + more + 2 + of_digits, "{logical} {mode:?}");
            }
        }
    }
    let longer: LogicalType = "numeric(66,2)".parse().expect("a type");
    let layout = Layout {
        logical: longer,
        mode: Mode::Random,
        bits: None,
        pad: Pad::default(),
        equality: EqualityForm::default(),
    };
    assert_eq!(layout.size_max(), None);
}
