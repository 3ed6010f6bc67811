//! What is read of a check, and what is the same.

use super::*;

fn column(logical: &str) -> ProtectedColumn {
    ProtectedColumn {
        id: crate::ColumnId(0),
        schema: "public".to_owned(),
        table: "t".to_owned(),
        column: "a".to_owned(),
        logical: logical.parse().expect("a type"),
        mode: crate::Mode::Random,
        domain: "a".to_owned(),
        form: crate::SealedForm::default(),
        default: None,
        draws: None,
        not_null: false,
        checks: Default::default(),
    }
}

fn same(logical: &str, one: &str, other: &str) -> bool {
    let read = |text| parse::expression(text).expect("an expression");
    is_same(&read(one), &read(other), &column(logical))
}

fn read_of(column: &str, name: &str, text: &str) -> Result<ColumnCheck, String> {
    read((column, LogicalType::Numeric(None)), name, text)
}

#[test]
fn what_the_server_prints_is_the_same() {
    for (logical, own, printed) in [
        ("numeric(10,2)", "a > 0", "(a > (0)::numeric)"),
        ("numeric(10,2)", "a > -1", "(a > ('-1'::integer)::numeric)"),
        ("integer", "\"a\" >= -1", "(t.a >= '-1'::integer)"),
        ("bigint", "a >= -1", "(a >= '-1'::integer)"),
        ("integer", "a BETWEEN 1 AND 5", "((a >= 1) AND (a <= 5))"),
        ("integer", "a NOT BETWEEN 1 AND 5", "((a < 1) OR (a > 5))"),
        (
            "double precision",
            "a < 1.5",
            "(a < (1.5)::double precision)",
        ),
        ("real", "a < 5", "(a < (5)::double precision)"),
        (
            "varchar(9)",
            "a IN ('a', 'b')",
            "((a)::text = ANY ((ARRAY['a'::character varying, 'b'::character \
             varying])::text[]))",
        ),
        (
            "char(1)",
            "a IN ('a', 'b')",
            "(a = ANY (ARRAY['a'::bpchar, 'b'::bpchar]))",
        ),
        (
            "text",
            "a NOT IN ('a', 'b')",
            "(a <> ALL (ARRAY['a'::text, 'b'::text]))",
        ),
        ("text", "a IN ('a')", "(a = 'a'::text)"),
        ("varchar(60)", "a LIKE '%@%'", "((a)::text ~~ '%@%'::text)"),
        ("text", "lower(a) LIKE 'x%'", "(lower(a) ~~ 'x%'::text)"),
        ("varchar", "a ~ '^x'", "((a)::text ~ '^x'::text)"),
        ("varchar(60)", "length(a) > 3", "(length((a)::text) > 3)"),
        ("date", "a < DATE '2026-01-01'", "(a < '2026-01-01'::date)"),
        ("numeric", "a = '1.5'", "(a = 1.5)"),
        ("uuid", "a <> 'x'", "(a <> 'x'::uuid)"),
    ] {
        assert!(same(logical, own, printed), "{logical} {own} {printed}");
    }
}

#[test]
fn different_checks_are_not_the_same() {
    for (logical, one, other) in [
        ("numeric", "a > 0", "a > 1"),
        ("numeric", "a > 0", "a >= 0"),
        ("numeric", "a > 0", "b > 0"),
        ("numeric", "a > 0", "other.a > 0"),
        ("numeric", "a > 1.5", "a > 1.5::integer"),
        ("numeric", "a > 1.55", "a > 1.55::numeric(3,1)"),
        ("numeric", "a > 0.1", "a > 0.1::real"),
        ("numeric", "a > 0.1", "a > 0.1::double precision"),
        ("real", "a > 0.1", "a > '0.1'"),
        ("numeric", "a > 0 OR a < -5", "a > 0 AND a < -5"),
        (
            "numeric",
            "(a > 0 OR a < -5) AND a <> 3",
            "a > 0 OR (a < -5 AND a <> 3)",
        ),
        ("numeric", "NOT (a > 0 AND a < 5)", "(NOT a > 0) AND a < 5"),
        ("numeric", "a - (1 - 2) > 0", "(a - 1) - 2 > 0"),
        ("integer", "a / 2 > 0", "a / 2::numeric > 0"),
        ("integer", "a > 1", "a > '1'::text"),
        ("text", "a IN ('a', 'b')", "a NOT IN ('a', 'b')"),
        ("text", "a = 'a '", "a = 'a '::bpchar"),
        ("text", "a = 'abc'", "a = 'abc'::varchar(2)"),
        ("varchar(9)", "a = 'abc'", "a::varchar(2) = 'abc'"),
        ("char(3)", "a = 'a '", "a::text = 'a '"),
        ("numeric", "a = '5'", "a::text = '5'"),
        ("text", "a LIKE 'x!%'", "a LIKE 'x!%' ESCAPE '!'"),
        ("text", "a LIKE 'x%'", "a ILIKE 'x%'"),
        ("text", "a LIKE 'x%'", "a NOT LIKE 'x%'"),
        ("text", "a = 'x'", "a = 'X'"),
        ("text", "a = 'x'", "a = 'x' COLLATE \"C\""),
        ("text", "a = 'x'", "a = E'\\x'"),
        (
            "timestamp",
            "a < '2026-01-01 10:00'",
            "a < '2026-01-01 10:00'::date",
        ),
        (
            "timestamp",
            "a < '2026-01-01 10:00'",
            "a < '2026-01-01 10:00'::timestamp(0)",
        ),
        ("integer", "a = ANY (ARRAY[1, 2])", "a = ALL (ARRAY[1, 2])"),
        ("numeric", "a > 0", "a > 0::text"),
    ] {
        assert!(!same(logical, one, other), "{logical} {one} {other}");
    }
}

#[test]
fn what_depends_on_the_session_is_refused() {
    for (logical, text, is_clear) in [
        ("date", "a > '2026-01-31'", true),
        ("date", "a > '01/02/2026'", false),
        ("date", "a > 'today'", false),
        ("date", "a > DATE 'Now'", false),
        ("timestamp", "a > '2026-01-31 12:00'", true),
        ("timestamp", "date_trunc('day', a) = a", true),
        ("timestamp", "a > 'Jan 5 2026'", false),
        ("timestamptz", "a > '2026-01-31 12:00:00+00'", true),
        ("timestamptz", "a > '2026-01-31 12:00:00'", false),
        ("timestamptz", "a > '2026-01-31'", false),
        ("time", "a > '12:00'", true),
        ("interval", "a > '3 days'", true),
        ("interval", "a > '-1 02:03'", false),
        ("text", "a IN ('now', 'later 5')", true),
        ("text", "a::date > '2026-01-31'", false),
        ("text", "a::date > 'today'", false),
        ("text", "a ~ '^[0-9]+$'", true),
        ("date", "a::timestamp > '2026-01-31'", true),
        ("date", "a::text > 'x'", false),
        ("date", "a::timestamptz > '2026-01-31'", false),
        ("date", "a > TIMESTAMPTZ '2026-01-31'", false),
        (
            "timestamptz",
            "a > TIMESTAMP '2026-01-31 12:00:00+00'",
            false,
        ),
        (
            "timestamptz",
            "a > TIMESTAMPTZ '2026-01-31 12:00:00+00'",
            true,
        ),
        ("timestamptz", "a::date IS NOT NULL", false),
        ("timestamptz", "date_trunc('day', a) = a", false),
        ("timestamptz", "extract(hour from a) > 3", false),
        (
            "timestamptz",
            "a + interval '3 days' > '2026-01-31 12:00:00+00'",
            false,
        ),
        (
            "timestamp",
            "a + interval '3 days' > '2026-01-31 12:00:00'",
            true,
        ),
        ("timestamp", "extract(hour from a) > 3", true),
        ("integer", "to_char(a, '9') <> 'x'", false),
        ("integer", "a::text <> 'x'", true),
        ("integer", "(a + 1.5::real)::text <> 'x'", false),
        ("real", "a::text <> 'x'", false),
        ("integer", "a IS NULL OR a || 'x' <> 'x'", false),
        ("text", "a IS NULL OR a || 'x' <> 'x'", true),
        ("text[]", "array_to_string(a, ',') <> 'x'", false),
        ("text[]", "cardinality(a) > 3", true),
    ] {
        let logical = logical.parse().expect("a type");
        let read = read(("a", logical), "own", text);
        assert_eq!(read.is_ok(), is_clear, "{text}: {read:?}");
    }
}

#[test]
fn what_a_check_says_of_null_is_known_or_refused() {
    for (text, refuses_null) in [
        ("price > 0", Some(false)),
        ("price > 0 AND price < 10", Some(false)),
        ("NOT price > 0", Some(false)),
        ("price IS NOT NULL AND price > 0", Some(true)),
        ("price IS NULL OR coalesce(price, 0) > 0", Some(false)),
        ("price IN (1, 2)", Some(false)),
        ("price BETWEEN 1 AND 2", Some(false)),
        ("(price > 0) IS TRUE", Some(true)),
        ("(price > 0) IS NOT FALSE", Some(false)),
        ("length(btrim(price)) > 0", Some(false)),
        ("coalesce(price, 0) > 0", None),
        ("price IS DISTINCT FROM 3", None),
        ("CASE WHEN price > 0 THEN true ELSE false END", None),
        ("price > 0 OR 1 < 2", None),
        ("concat(price, 'x') <> 'x'", None),
    ] {
        let read = read_of("price", "own", text);
        assert_eq!(
            read.ok().map(|own| own.refuses_null),
            refuses_null,
            "{text}"
        );
    }
}

#[test]
fn what_no_check_of_one_column_has_is_refused() {
    for text in [
        "price > cost",
        "t.price > 0",
        "price > (SELECT 1)",
        "price < now()",
        "price < current_date",
        "price > $1",
        "own_function(price)",
        "price > random()",
        "sum(price) > 1",
        "price >",
        "price > 0; DROP TABLE t",
    ] {
        assert!(read_of("price", "own", text).is_err(), "{text}");
    }
}

#[test]
fn the_condition_for_the_server_has_nothing_of_the_check() {
    let check = read_of("price", "own", "price > 4711").expect("a check");
    let text = condition(&check, "price");
    assert!(!text.contains("4711"), "{text}");
    let stored = format!(
        "{{OPEXPR :opno 1956 :args ({{FUNCEXPR :funcid 2085 :args ({{VAR :varno 1 :varattno 3 \
         :varlevelsup 0}} {{CONST :consttype 23 :constvalue 4 [ 2 0 0 0 0 0 0 0 ]}} {{CONST \
         :consttype 23 :constvalue 4 [ 16 0 0 0 0 0 0 0 ]}})}} {{CONST :consttype 17 :constvalue \
         20 [ 80 0 0 0 {} ]}})}}",
        check
            .mark
            .iter()
            .map(|byte| (*byte as i8).to_string())
            .collect::<Vec<_>>()
            .join(" ")
    );
    assert!(is_stored(&check, 3, &stored));
    assert!(!is_stored(&check, 2, &stored));
    let other = read_of("price", "other", "price > 4711").expect("a check");
    assert!(!is_stored(&other, 3, &stored));
    let price = ProtectedColumn {
        column: "price".to_owned(),
        ..column("numeric")
    };
    let printed = format!(
        "(substr(price, 2, 16) <> '\\x{}'::bytea)",
        digits(&check.mark)
    );
    let printed = parse::expression(&printed).expect("an expression");
    assert!(is_printed(&check, &price, &printed));
    assert!(!is_printed(&other, &price, &printed));
}

#[test]
fn a_check_comes_before_the_guard() {
    for name in ["a", "users_check", "Z", "}"] {
        assert!(read_of("a", name, "a > 0").is_ok(), "{name}");
    }
    for name in ["~", "~strongroom_guard_1", "\u{e4}", ""] {
        let wrong = read_of("a", name, "a > 0").expect_err(name);
        assert!(wrong.contains("another name"), "{wrong}");
    }
}
