//! What statements do to prepared statements and cursors, and how these are found.

use super::*;
use crate::OutputKind;

const OUTPUT: Output = Output::shown(OutputKind::Plain);

fn effects_of(text: &str) -> Vec<ObjectEffect> {
    effects(text, &lexemes(text))
}

#[test]
fn only_discard_all_drops_names() {
    let all = [ObjectEffect::Deallocates(None), ObjectEffect::Closes(None)];
    assert_eq!(effects_of("DISCARD ALL"), all);
    for text in ["DISCARD PLANS", "discard sequences", "DISCARD TEMP"] {
        assert!(effects_of(text).is_empty(), "{text}");
    }
}

#[test]
fn only_statements_that_move_or_close_name_a_portal() {
    for (text, names) in [
        ("FETCH 1 FROM Mine", &["mine"][..]),
        ("MOVE ALL IN \"A b\"; select 1; close/**/c", &["A b", "c"]),
        ("CLOSE ALL", &[]),
        ("CLOSE \"all\"", &["\"all\""]),
        ("SELECT close FROM mine WHERE fetch = 'mine'", &[]),
        ("-- FETCH mine\nSELECT 1", &[]),
    ] {
        let names: Vec<_> = names.iter().map(|name| name.replace('"', "")).collect();
        assert_eq!(scrolled(text), names, "{text}");
    }
}

#[test]
fn statements_prepared_over_plain_tables_are_known_by_name() {
    for (text, name, prepared) in [
        ("PREPARE \"A\" (int) AS SELECT $1", "A", "SELECT $1"),
        ("prepare A as select 1 as b", "a", "select 1 as b"),
        (
            "PREPARE \"as\" (numeric(10, 2), date)as(VALUES (1))",
            "as",
            "(VALUES (1))",
        ),
        ("PREPARE transaction AS SELECT 1", "transaction", "SELECT 1"),
    ] {
        let expected = [ObjectEffect::PreparesPlain {
            name: name.to_owned(),
            text: prepared.to_owned(),
        }];
        assert_eq!(effects_of(text), expected);
    }
    assert!(effects_of("PREPARE TRANSACTION 'x'").is_empty());
}

#[test]
fn cursors_end_with_their_transaction_unless_held() {
    let declared = || {
        let mut objects = Objects::default();
        for (name, hold) in [("plain", false), ("held", true)] {
            objects.note_effect(&ObjectEffect::Declares {
                name: name.to_owned(),
                outputs: vec![OUTPUT],
                hold,
            });
        }
        objects
    };
    let mut objects = declared();
    objects.end_transactions(true);
    assert!(!objects.has_cursor("plain") && !objects.has_cursor("held"));
    let mut objects = declared();
    objects.end_transactions(false);
    assert!(!objects.has_cursor("plain") && objects.has_cursor("held"));
    // That of a later one leaves it alone.
    objects.end_transactions(true);
    assert!(objects.has_cursor("held"));
}

#[test]
fn execute_of_a_plain_statement_is_found_in_each_form() {
    let mut objects = Objects::default();
    for effect in effects_of("PREPARE mine AS INSERT INTO inbox VALUES ($1)") {
        objects.note_effect(&effect);
    }
    let found = |text: &str| objects.executed_plain(text, &lexemes(text)).is_some();
    for text in [
        "EXECUTE mine(1)",
        "execute \"mine\"",
        "EXPLAIN ANALYZE EXECUTE Mine (1)",
        "CREATE TABLE a AS EXECUTE mine(1)",
    ] {
        assert!(found(text), "{text}");
    }
    for text in [
        "EXECUTE \"MINE\"",
        "SELECT execute mine",
        "EXECUTE other(1)",
    ] {
        assert!(!found(text), "{text}");
    }
}

#[test]
fn long_names_are_cut_as_the_server_cuts_them() {
    let long = "a".repeat(70);
    let mut objects = Objects::default();
    objects.note_portals(vec![(long.clone(), vec![OUTPUT])]);
    assert!(objects.has_cursor(&long) && objects.has_cursor(&long[..63]));
    let prepared = ObjectEffect::Prepares {
        name: long,
        types: Vec::new(),
        text: String::new(),
    };
    let objects = objects.including([prepared].into_iter());
    let names: Vec<usize> = objects.prepared.keys().map(String::len).collect();
    assert_eq!(names, [63]);
}
