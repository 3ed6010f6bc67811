//! What is read of a check, and what is the same.

use super::*;

fn same(one: &str, other: &str) -> bool {
    let read = |text| parse::expression(text).expect("an expression");
    is_same(&read(one), &read(other))
}

#[test]
fn what_the_server_prints_is_the_same() {
    for (own, printed) in [
        ("price > 0", "(price > (0)::numeric)"),
        ("\"price\" >= -1", "(t.price >= '-1'::integer)"),
        ("price BETWEEN 1 AND 5", "((price >= 1) AND (price <= 5))"),
        (
            "state IN ('a', 'b')",
            "((state)::text = ANY ((ARRAY['a'::character varying, 'b'::character \
             varying])::text[]))",
        ),
        (
            "state NOT IN ('a', 'b')",
            "(state <> ALL (ARRAY['a'::text, 'b'::text]))",
        ),
        ("mail LIKE '%@%'", "((mail)::text ~~ '%@%'::text)"),
        ("length(mail) > 3", "(length((mail)::text) > 3)"),
        ("at < DATE '2026-01-01'", "(at < '2026-01-01'::date)"),
        ("a = '1.5'", "(a = 1.5)"),
    ] {
        assert!(same(own, printed), "{own} {printed}");
    }
    for (one, other) in [
        ("price > 0", "price > 1"),
        ("price > 0", "price >= 0"),
        ("price > 0", "cost > 0"),
        ("price > 1.5", "price > 1.5::integer"),
        ("state IN ('a', 'b')", "state NOT IN ('a', 'b')"),
        ("price > 0 OR price < -5", "price > 0 AND price < -5"),
    ] {
        assert!(!same(one, other), "{one} {other}");
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
        ("length(trim(both from price)) > 0", Some(false)),
        ("coalesce(price, 0) > 0", None),
        ("price IS DISTINCT FROM 3", None),
        ("CASE WHEN price > 0 THEN true ELSE false END", None),
        ("price > 0 OR 1 < 2", None),
        ("concat(price, 'x') <> 'x'", None),
    ] {
        let read = read("price", "own", text);
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
        assert!(read("price", "own", text).is_err(), "{text}");
    }
}

#[test]
fn the_condition_for_the_server_has_nothing_of_the_check() {
    let check = read("price", "own", "price > 4711").expect("a check");
    let text = condition(&check, "price");
    assert!(!text.contains("4711"), "{text}");
    let stored = format!(
        "{{OPEXPR :opno 1956 :args ({{FUNCEXPR :funcid 2085 :args ({{VAR :varno 1 :varattno 3 \
         :varlevelsup 0}} {{CONST :consttype 23 :constvalue 4 [ 3 0 0 0 0 0 0 0 ]}} {{CONST \
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
    let other = read("price", "other", "price > 4711").expect("a check");
    assert!(!is_stored(&other, 3, &stored));
    let printed = format!(
        "(substr(price, 3, 16) <> '\\x{}'::bytea)",
        digits(&check.mark)
    );
    let printed = parse::expression(&printed).expect("an expression");
    assert!(is_printed(&check, "price", &printed));
    assert!(!is_printed(&other, "price", &printed));
}
