//! Writes the vectors into `vectors/columns/`: `cargo run --example write_column_vectors`.
//!
//! The output is the same on every run. If it differs from what is committed, existing columns no
//! longer open: the change needs a new format, not new vectors.

#[path = "../tests/schema/mod.rs"]
mod schema;

use std::fs;
use std::path::Path;

use anyhow::Context;
use column_codec::{Codec, EqualityForm, Mode, Pad};
use crypto::secret::Key;
use schema::{Column, Outcome, Vector, from_hex, to_hex, value};

const ROOT: [u8; 32] = *b"the root key of all the vectors.";
const NONCE: [u8; 8] = [0x40; 8];

/// Of BAR by `utf8mb4_general_ci`.
const COLLATION_KEY: &[u8] = &[0, 0x42, 0, 0x41, 0, 0x52];

/// One letter more than what the first cipher of mode random seals.
const LONG: &str = "sixty-four letters and one byte of padding: the other cipher...!";

fn main() -> anyhow::Result<()> {
    values()?;
    of_mysql()?;
    compact()?;
    long()?;
    damaged()?;
    other_rules()?;
    tokens()
}

fn column(logical: &str, mode: &str) -> anyhow::Result<Column> {
    Ok(Column {
        table: "public.customer".to_owned(),
        column: "c".to_owned(),
        domain: None,
        logical: logical.parse()?,
        mode: mode.to_owned(),
        bits: None,
        pad: None,
        equality: None,
        collation: None,
    })
}

fn codec(root: [u8; 32], column: &Column) -> anyhow::Result<Codec> {
    Ok(Codec::new(&Key::from_bytes(root), &[column.spec()])?)
}

fn seal(column: &Column, text: &str) -> anyhow::Result<Vec<u8>> {
    let value = value(text, column.logical);
    let mut sealed = Vec::new();
    codec(ROOT, column)?.seal_store(0, &value, || NONCE, &mut sealed)?;
    Ok(sealed)
}

fn write(
    name: &str,
    proves: &str,
    root: [u8; 32],
    column: &Column,
    sealed: &[u8],
) -> anyhow::Result<()> {
    let outcome = Outcome::of(codec(root, column)?.open(0, sealed), column.logical);
    let vector = Vector {
        proves: proves.to_owned(),
        root_key: to_hex(&root),
        column: column.clone(),
        nonce: ["random", "token"]
            .contains(&&*column.mode)
            .then(|| to_hex(&NONCE)),
        collation_key: (column.mode == "token").then(|| to_hex(COLLATION_KEY)),
        sealed: to_hex(sealed),
        outcome,
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/columns");
    let path = folder.join(name).with_extension("json");
    let text = serde_json::to_string_pretty(&vector)? + "\n";
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    debug_assert_eq!(from_hex(&vector.sealed), sealed);
    Ok(())
}

fn values() -> anyhow::Result<()> {
    for (name, logical, mode, text) in [
        ("random_integer_opens", "integer", "random", "-77"),
        ("random_numeric_opens", "numeric(12,2)", "random", "1234.50"),
        ("random_text_opens", "text", "random", "sixteen letters!"),
        ("random_long_text_opens", "text", "random", LONG),
        ("random_character_opens", "character(4)", "random", "BC  "),
        (
            "random_interval_opens",
            "interval",
            "random",
            "00000000d693a4000000000200000001",
        ),
        ("random_json_opens", "json", "random", "{\"a\": 1}"),
        ("equality_integer_opens", "integer", "equality", "-77"),
        (
            "equality_numeric_opens",
            "numeric(12,2)",
            "equality",
            "1234.50",
        ),
        (
            "equality_text_opens",
            "character varying(16)",
            "equality",
            "BARBARBAR",
        ),
        ("order_numeric_opens", "numeric(6,2)", "order", "-0.01"),
        ("order_double_opens", "double precision", "order", "-1.5"),
        (
            "order_timestamp_opens",
            "timestamp",
            "order",
            "2026-11-21 14:00:00.5",
        ),
    ] {
        let column = column(logical, mode)?;
        let proves = format!("A value of type {logical} in mode {mode} opens.");
        write(name, &proves, ROOT, &column, &seal(&column, text)?)?;
    }
    let mut few = column("integer", "order")?;
    few.bits = Some(24);
    let proves = "A number of 24 bits in mode order opens.";
    write(
        "order_few_bits_opens",
        proves,
        ROOT,
        &few,
        &seal(&few, "3001")?,
    )?;
    let mut unpadded = column("text", "random")?;
    unpadded.pad = Some(Pad::NONE);
    let sealed = seal(&unpadded, "sixteen letters!")?;
    let proves = "A text without padding opens.";
    write(
        "random_text_without_padding_opens",
        proves,
        ROOT,
        &unpadded,
        &sealed,
    )?;
    let mut shared = column("bigint", "equality")?;
    shared.domain = Some("warehouse".to_owned());
    let sealed = seal(&shared, "3")?;
    shared.table = "public.stock".to_owned();
    shared.logical = "smallint".parse()?;
    let proves = "A value opens in another column of its domain, of another integer type.";
    write("equality_of_a_domain_opens", proves, ROOT, &shared, &sealed)
}

/// Types of MySQL and MariaDB.
fn of_mysql() -> anyhow::Result<()> {
    for (name, logical, mode, text) in [
        (
            "random_unsigned_mediumint_opens",
            "mediumint unsigned",
            "random",
            "16777215",
        ),
        (
            "equality_unsigned_bigint_opens",
            "bigint unsigned",
            "equality",
            "18446744073709551615",
        ),
        (
            "order_unsigned_integer_opens",
            "int unsigned",
            "order",
            "4294967295",
        ),
        (
            "random_signed_time_opens",
            "time(6) signed",
            "random",
            "-3020398999999",
        ),
        ("random_label_opens", "enum('new','paid')", "random", "paid"),
        (
            "equality_label_opens",
            "enum('new','paid')",
            "equality",
            "new",
        ),
        ("random_bits_open", "bit(3) unsigned", "random", "5"),
        ("equality_bits_open", "bit(1) unsigned", "equality", "1"),
        (
            "random_labels_open",
            "set('new','paid','a')",
            "random",
            "paid,a",
        ),
        (
            "equality_labels_open",
            "set('new','paid','a')",
            "equality",
            "new,a",
        ),
        (
            "order_signed_time_opens",
            "time(0) signed",
            "order",
            "-3020399000000",
        ),
    ] {
        let column = column(logical, mode)?;
        let proves = format!("A value of type {logical} in mode {mode} opens.");
        write(name, &proves, ROOT, &column, &seal(&column, text)?)?;
    }
    Ok(())
}

fn compact() -> anyhow::Result<()> {
    for (logical, name, text) in [
        ("integer", "compact_integer_opens", "-77"),
        ("bigint", "compact_bigint_opens", "9223372036854775807"),
        (
            "bigint unsigned",
            "compact_unsigned_bigint_opens",
            "18446744073709551615",
        ),
        ("date", "compact_date_opens", "2026-11-26"),
        ("timestamp", "compact_timestamp_opens", "-infinity"),
    ] {
        let mut compact = column(logical, "equality")?;
        compact.equality = Some(EqualityForm::Compact);
        let proves = format!("A value of type {logical} in compact equality opens.");
        write(name, &proves, ROOT, &compact, &seal(&compact, text)?)?;
    }
    let mut compact = column("integer", "equality")?;
    compact.equality = Some(EqualityForm::Compact);
    let mut sealed = seal(&compact, "77")?;
    *sealed.last_mut().context("a sealed value")? ^= 1;
    let proves = "A number in compact equality that no value of the type has does not open.";
    write("compact_number_changed", proves, ROOT, &compact, &sealed)
}

fn long() -> anyhow::Result<()> {
    let long = column("text", "random")?;
    let mut sealed = seal(&long, LONG)?;
    *sealed.last_mut().context("a sealed value")? ^= 1;
    let proves = "A long value with another nonce does not open.";
    write("random_long_nonce_changed", proves, ROOT, &long, &sealed)
}

fn damaged() -> anyhow::Result<()> {
    let random = column("integer", "random")?;
    let equality = column("integer", "equality")?;
    let order = column("integer", "order")?;
    let flipped = |column: &Column, place: usize| -> anyhow::Result<Vec<u8>> {
        let mut sealed = seal(column, "77")?;
        sealed[place] ^= 1;
        Ok(sealed)
    };
    let proves = "A sealed value with another tag does not open.";
    write(
        "random_bit_of_tag_flipped",
        proves,
        ROOT,
        &random,
        &flipped(&random, 1)?,
    )?;
    let proves = "A sealed value with another tag does not open.";
    write(
        "equality_bit_of_tag_flipped",
        proves,
        ROOT,
        &equality,
        &flipped(&equality, 16)?,
    )?;
    let proves = "A sealed value with another digit does not open.";
    write(
        "order_digit_changed",
        proves,
        ROOT,
        &order,
        &flipped(&order, 1)?,
    )?;
    let last = seal(&order, "77")?.len() - 1;
    let proves = "A sealed value with digits of a number and another code does not open.";
    write(
        "order_bit_of_code_flipped",
        proves,
        ROOT,
        &order,
        &flipped(&order, last)?,
    )?;
    let sealed = seal(&random, "77")?;
    let proves = "A sealed value that lacks its last byte does not open.";
    write(
        "random_ciphertext_cut_short",
        proves,
        ROOT,
        &random,
        &sealed[..sealed.len() - 1],
    )?;
    let proves = "No bytes are no sealed value.";
    write("sealed_value_empty", proves, ROOT, &random, &[])?;
    let proves = "A value sealed under another root key does not open.";
    write("random_under_wrong_key", proves, [7; 32], &random, &sealed)?;
    let mut newer = sealed;
    newer[0] += 1;
    let proves = "A sealed value of an unknown key version is told from a damaged one.";
    write("key_version_unknown", proves, ROOT, &random, &newer)?;
    newer[0] = Mode::Random.marked_header();
    let proves = "A value with the mark of a check that it fails does not open.";
    write("mark_of_a_check", proves, ROOT, &random, &newer)
}

fn other_rules() -> anyhow::Result<()> {
    for mode in ["random", "equality"] {
        let mut column = column("integer", mode)?;
        let sealed = seal(&column, "77")?;
        column.column = "d".to_owned();
        let name = format!("{mode}_moved_to_another_column");
        let proves = "A value moved to another column does not open.";
        write(&name, proves, ROOT, &column, &sealed)?;
    }
    let sealed = seal(&column("integer", "random")?, "77")?;
    let proves = "A value sealed in another mode is told from a damaged one.";
    let equality = column("integer", "equality")?;
    write("mode_of_rule_changed", proves, ROOT, &equality, &sealed)?;
    let sealed = seal(&column("jsonb", "random")?, "015b5d")?;
    let interval = column("interval", "random")?;
    let proves = "A value of another type that is kept unread does not open.";
    write(
        "random_type_of_rule_changed",
        proves,
        ROOT,
        &interval,
        &sealed,
    )?;
    let mut text = column("text", "equality")?;
    let sealed = seal(&text, "fifteen letters")?;
    text.pad = Some(Pad::NONE);
    let proves = "In mode equality, a text that was padded otherwise does not open.";
    write("equality_pad_of_rule_changed", proves, ROOT, &text, &sealed)?;
    let mut order = column("integer", "order")?;
    let sealed = seal(&order, "77")?;
    order.bits = Some(32);
    let proves = "A rule with bits does not open what was sealed without, though sizes are equal.";
    write("order_bits_of_rule_changed", proves, ROOT, &order, &sealed)
}

fn tokens() -> anyhow::Result<()> {
    let mut own = column("character varying(16)", "token")?;
    own.collation = Some("utf8mb4_general_ci".to_owned());
    let seal = |column: &Column, key: &[u8]| -> anyhow::Result<Vec<u8>> {
        let (codec, mut sealed) = (codec(ROOT, column)?, Vec::new());
        let prefix = codec.token_prefix(0, key).context("a column with tokens")?;
        let value = value("Bar ", column.logical);
        codec.seal_behind(0, &prefix, &value, NONCE, &mut sealed)?;
        Ok(sealed)
    };
    let sealed = seal(&own, COLLATION_KEY)?;
    let proves = "A text behind the token of its collation key opens as it was stored.";
    write("token_text_opens", proves, ROOT, &own, &sealed)?;
    let other = seal(&own, b"\0C")?;
    let size = column_codec::TOKEN_PREFIX_SIZE;
    let moved = [&other[..size], &sealed[size..]].concat();
    let proves = "A text behind the token of another one does not open.";
    write("token_of_another_text", proves, ROOT, &own, &moved)?;
    let mut unlike = own.clone();
    unlike.collation = Some("utf8mb4_unicode_ci".to_owned());
    let proves = "A text does not open once its rule has another collation.";
    write(
        "token_collation_of_rule_changed",
        proves,
        ROOT,
        &unlike,
        &sealed,
    )?;
    own.domain = Some("name".to_owned());
    let sealed = seal(&own, COLLATION_KEY)?;
    own.table = "public.account".to_owned();
    own.logical = "text".parse()?;
    let proves = "A text behind a token opens in another column of its domain.";
    write("token_of_a_domain_opens", proves, ROOT, &own, &sealed)
}
