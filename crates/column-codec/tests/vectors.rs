//! Checks every vector of `vectors/columns/`: values that open are sealed to the same bytes, others
//! do not open.

mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use column_codec::Codec;
use crypto::secret::Key;
use schema::{Outcome, Vector, from_hex, to_hex, value};

/// The complete list, so that a missing file is noticed.
const NAMES: &[&str] = &[
    "compact_bigint_opens",
    "compact_date_opens",
    "compact_integer_opens",
    "compact_number_changed",
    "compact_timestamp_opens",
    "compact_unsigned_bigint_opens",
    "equality_bit_of_tag_flipped",
    "equality_bits_open",
    "equality_integer_opens",
    "equality_label_opens",
    "equality_labels_open",
    "equality_moved_to_another_column",
    "equality_numeric_opens",
    "equality_of_a_domain_opens",
    "equality_pad_of_rule_changed",
    "equality_text_opens",
    "equality_unsigned_bigint_opens",
    "key_version_unknown",
    "mark_of_a_check",
    "mode_of_rule_changed",
    "order_bit_of_code_flipped",
    "order_bits_of_rule_changed",
    "order_digit_changed",
    "order_double_opens",
    "order_few_bits_opens",
    "order_numeric_opens",
    "order_signed_time_opens",
    "order_timestamp_opens",
    "order_unsigned_integer_opens",
    "random_bit_of_tag_flipped",
    "random_character_opens",
    "random_ciphertext_cut_short",
    "random_bits_open",
    "random_integer_opens",
    "random_interval_opens",
    "random_json_opens",
    "random_label_opens",
    "random_labels_open",
    "random_long_nonce_changed",
    "random_long_text_opens",
    "random_moved_to_another_column",
    "random_numeric_opens",
    "random_signed_time_opens",
    "random_text_opens",
    "random_text_without_padding_opens",
    "random_type_of_rule_changed",
    "random_under_wrong_key",
    "random_unsigned_mediumint_opens",
    "sealed_value_empty",
    "token_collation_of_rule_changed",
    "token_of_a_domain_opens",
    "token_of_another_text",
    "token_text_opens",
];

#[test]
fn every_vector_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/columns");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder of vectors") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).expect("a text");
        let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{name}: {error}");
        });
        check(&name, &vector);
        found.insert(name);
    }
    let expected: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(found, expected);
}

fn check(name: &str, vector: &Vector) {
    let root = Key::from_slice(&from_hex(&vector.root_key)).expect("32 bytes");
    let spec = vector.column.spec();
    let codec = Codec::new(&root, std::slice::from_ref(&spec)).expect("a valid rule");
    let outcome = Outcome::of(codec.open(0, &from_hex(&vector.sealed)), spec.logical);
    assert_eq!(outcome, vector.outcome, "{name}: {}", vector.proves);
    let Outcome::Opens { text } = outcome else {
        return;
    };
    let value = value(&text, spec.logical);
    let nonce = || {
        let nonce = vector.nonce.as_deref().expect("mode random has a nonce");
        from_hex(nonce).try_into().expect("8 bytes")
    };
    let mut sealed = Vec::new();
    if let Some(key) = &vector.collation_key {
        let prefix = codec.token_prefix(0, &from_hex(key)).expect("a token");
        codec
            .seal_behind(0, &prefix, &value, nonce(), &mut sealed)
            .expect("a value of the type");
        assert_eq!(to_hex(&sealed), vector.sealed, "{name}: {}", vector.proves);
        return;
    }
    codec
        .seal_store(0, &value, nonce, &mut sealed)
        .expect("a value of the type");
    assert_eq!(to_hex(&sealed), vector.sealed, "{name}: {}", vector.proves);
}
