//! Values that are sealed together open together, for their group alone.

use column_codec::{ColumnSpec, GroupCodec, GroupLayout, GroupSpec, Mode, OpenError};
use column_value::{EqualityForm, LogicalType, Pad, Value};
use crypto::secret::Key;
use semantics_postgres::{TextContext, ValueText};

const MEMBERS: &[(&str, &str)] = &[
    ("first", "varchar(16)"),
    ("state", "char(2)"),
    ("score", "integer"),
    ("price", "numeric(12,2)"),
    ("born", "date"),
    ("note", "text"),
];

fn spec(members: &[(&str, &str)]) -> GroupSpec {
    let members = members.iter().map(|(column, logical)| ColumnSpec {
        table: "public.t".to_owned(),
        column: (*column).to_owned(),
        domain: None,
        logical: logical.parse().expect("a known type"),
        mode: Mode::Random,
        bits: None,
        pad: Pad::default(),
        equality: EqualityForm::default(),
    });
    GroupSpec {
        table: "public.t".to_owned(),
        name: "profile".to_owned(),
        members: members.collect(),
    }
}

fn codec(spec: GroupSpec) -> GroupCodec {
    GroupCodec::new(&Key::from_bytes([7; 32]), &[spec])
}

fn values(members: &[(&str, &str)], texts: &[Option<&str>]) -> Vec<Option<Value>> {
    let value = |text: &str, logical: &str| {
        let logical: LogicalType = logical.parse().expect("a known type");
        Value::from_text(text, logical, &TextContext::default()).expect("a valid text")
    };
    let members = members.iter().zip(texts);
    members
        .map(|((_, logical), text)| text.map(|text| value(text, logical)))
        .collect()
}

fn seal(codec: &GroupCodec, values: &[Option<Value>]) -> Vec<u8> {
    let mut sealed = vec![1];
    codec
        .seal(0, values, [5; 8], &mut sealed)
        .expect("values of their types");
    assert_eq!(sealed.remove(0), 1, "what was there stays");
    sealed
}

fn rows() -> Vec<Vec<Option<Value>>> {
    let long = "x".repeat(5000);
    let texts: &[&[Option<&str>]] = &[
        &[None; 6],
        &[Some(""), Some("  "), None, None, None, Some("")],
        &[
            Some("BAR"),
            Some("AB"),
            Some("-77"),
            Some("12.50"),
            Some("infinity"),
            None,
        ],
        &[None, None, Some("0"), Some("NaN"), None, Some(&long)],
    ];
    texts.iter().map(|row| values(MEMBERS, row)).collect()
}

#[test]
fn members_open_as_they_were_sealed() {
    let codec = codec(spec(MEMBERS));
    for row in rows() {
        let sealed = seal(&codec, &row);
        assert_eq!(sealed[0], Mode::Random.header());
        assert_eq!(codec.open(0, &sealed).as_ref(), Ok(&row));
    }
}

#[test]
fn the_size_tells_no_more_than_the_sum_in_steps() {
    let codec = codec(spec(MEMBERS));
    let sizes: Vec<usize> = rows().iter().map(|row| seal(&codec, row).len()).collect();
    // Header and count, tag, nonce, and 16 bytes or a multiple.
    assert_eq!(sizes, [42, 42, 58, 42 + 5024 - 16]);
}

#[test]
fn the_layout_has_the_least_and_the_greatest_size() {
    let members = [
        ("first", "varchar(40)"),
        ("state", "char(1)"),
        ("score", "bigint"),
        ("price", "numeric(38,2)"),
        ("born", "date"),
    ];
    let letters = "😀".repeat(40);
    let longest: [&str; 5] = [&letters, "😀", "-1", &"9".repeat(36), "2001-02-03"];
    let longest = values(&members, &longest.map(Some));
    let layout = |spec: &GroupSpec| {
        let members = spec.members.iter().map(|own| (own.logical, own.pad));
        GroupLayout::of(&members.collect::<Vec<_>>())
    };
    for pad in [Pad::NONE, Pad::default()] {
        let mut spec = spec(&members);
        // A member without a length of its own says it for the group.
        spec.members.iter_mut().for_each(|own| own.pad = pad);
        let layout = layout(&spec);
        let codec = codec(spec);
        let sealed = seal(&codec, &longest);
        assert_eq!(sealed[..2], layout.start);
        let size_max = usize::try_from(layout.size_max.unwrap()).unwrap();
        assert_eq!(size_max, sealed.len());
        let least = seal(&codec, &[const { None }; 5]).len() as u64;
        assert!(least >= layout.size_min, "{least} {}", layout.size_min);
        assert!(pad != Pad::NONE || least == layout.size_min);
    }
    assert_eq!(layout(&spec(MEMBERS)).size_max, None);
}

#[test]
fn a_changed_byte_opens_nothing() {
    let codec = codec(spec(MEMBERS));
    for row in rows() {
        let sealed = seal(&codec, &row);
        for place in (0..sealed.len()).take(100) {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(codec.open(0, &changed).is_err(), "byte {place}");
        }
        for size in 0..sealed.len().min(100) {
            assert!(codec.open(0, &sealed[..size]).is_err(), "{size} bytes");
        }
    }
}

#[test]
fn added_members_are_null_in_older_values() {
    let older = codec(spec(&MEMBERS[..5]));
    let newer = codec(spec(MEMBERS));
    for row in rows() {
        let sealed = seal(&older, &row[..5]);
        let mut opened = row.clone();
        opened[5] = None;
        assert_eq!(newer.open(0, &sealed), Ok(opened));
    }
    let sealed = seal(&newer, &rows()[2]);
    assert_eq!(older.open(0, &sealed), Err(OpenError::Members));
}

#[test]
fn values_of_other_groups_do_not_open() {
    let own = codec(spec(MEMBERS));
    let row = &rows()[2];
    let sealed = seal(&own, row);
    let mut renamed = MEMBERS.to_vec();
    renamed[0].0 = "other";
    let mut turned = MEMBERS.to_vec();
    turned.swap(0, 5);
    let mut retyped = MEMBERS.to_vec();
    retyped[2].1 = "date";
    let mut widened = MEMBERS.to_vec();
    widened[2].1 = "bigint";
    let others = [renamed, turned, retyped, widened].map(|members| spec(&members));
    let table = GroupSpec {
        table: "public.u".to_owned(),
        ..spec(MEMBERS)
    };
    let name = GroupSpec {
        name: "address".to_owned(),
        ..spec(MEMBERS)
    };
    for other in others.into_iter().chain([table, name]) {
        assert_eq!(
            codec(other.clone()).open(0, &sealed),
            Err(OpenError::NotAuthentic),
            "{other:?}"
        );
    }
}
