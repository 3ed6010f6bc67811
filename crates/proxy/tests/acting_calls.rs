//! Calls of functions that do something, in statements that the proxy or the finisher takes apart:
//! they are made as often as by the server alone, or the statement is refused.

use crate::common::Setup;
use crate::common::texts::{answer, code};

/// Statements over `{t}` with a call that counts itself. Some are answered, all others may be
/// refused.
const ACTING: &[(&str, bool)] = &[
    // What is not volatile may be called for any rows.
    (
        "SELECT id FROM {t} WHERE note = 'CANARYa' AND calm(id) > 0",
        true,
    ),
    ("SELECT note, calm(id) FROM {t} ORDER BY note LIMIT 1", true),
    ("SELECT act(), note || '!' FROM {t}", true),
    ("SELECT act(), act(), note || '!' FROM {t}", true),
    ("UPDATE {t} SET score = score + 1, plain = act()", true),
    ("UPDATE {t} SET score = act()", false),
    (
        "SELECT CASE WHEN note = 'CANARYa' THEN act() END FROM {t}",
        false,
    ),
    ("SELECT COALESCE(score, act()) FROM {t}", false),
    (
        "SELECT act(), note || '!' FROM {t} WHERE note = 'CANARYa'",
        false,
    ),
    (
        "SELECT id FROM {t} WHERE note = 'CANARYa' AND act() > 0",
        false,
    ),
    (
        "SELECT id FROM {t} WHERE act() > 0 AND note = 'CANARYa'",
        false,
    ),
    (
        "SELECT id FROM {t} WHERE note = 'CANARYa' OR act() > 0",
        false,
    ),
    (
        "SELECT id FROM {t} WHERE (note = 'CANARYx' OR id = 1) AND act() > 0",
        false,
    ),
    ("SELECT note, act() FROM {t} ORDER BY note LIMIT 1", false),
    ("SELECT DISTINCT score, act() FROM {t}", false),
    ("SELECT max(score), max(act()) FROM {t}", false),
    (
        "UPDATE {t} SET score = CASE WHEN score = 5 THEN act() ELSE 0 END",
        false,
    ),
    (
        "DELETE FROM {t} WHERE note = 'CANARYa' AND act() > 0",
        false,
    ),
    (
        "UPDATE {t} SET score = 1 WHERE note = 'CANARYa' AND act() > 0",
        false,
    ),
    (
        "INSERT INTO {t} (id, note, plain) SELECT DISTINCT 20, upper(note), act() FROM {t}",
        false,
    ),
    (
        "UPDATE {t} SET note = upper({t}.note), plain = act() FROM (VALUES (1), (1), (2)) AS v \
         (id) WHERE {t}.id = v.id AND {t}.note > ''",
        false,
    ),
];

#[test]
fn calls_that_act_are_made_as_often_as_without_the_proxy_or_refused() {
    if !server_testkit::is_installed() {
        return;
    }
    let rules = "[columns.item]\nnote = { type = \"text\" }\nscore = { type = \"integer\" }\n";
    for has_finisher in [false, true] {
        let setup = match has_finisher {
            true => Setup::start_with_finisher(rules),
            false => Setup::start(rules),
        };
        let mut client = setup.connect();
        for text in [
            "CREATE SEQUENCE acts",
            "CREATE FUNCTION calm(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 + \
             1'",
            "CREATE FUNCTION act() RETURNS integer LANGUAGE sql AS 'SELECT \
             pg_catalog.nextval(''acts'')::integer'",
        ] {
            client.batch_execute(text).expect(text);
        }
        for (table, word) in [("item", "CANARY"), ("bare", "PLAIN")] {
            let text = format!(
                "CREATE TABLE {table} (id integer, note text, score integer, plain integer); \
                 INSERT INTO {table} (id, note, score) VALUES (1, '{word}a', 5), (2, '{word}b', \
                 NULL), (3, '{word}A', 5)"
            );
            for statement in text.split("; ") {
                client.batch_execute(statement).expect(statement);
            }
        }
        let mut called = |text: &str, table: &str| {
            let word = if table == "bare" { "PLAIN" } else { "CANARY" };
            let text = text.replace("{t}", table).replace("CANARY", word);
            client.batch_execute("BEGIN").expect("begun");
            let count = "SELECT last_value - 1 + is_called::integer FROM acts";
            let before: Vec<String> = answer(&mut client, count).expect(count);
            let rows = answer(&mut client, &text).map(|rows| rows.len());
            client.batch_execute("ROLLBACK").expect("rolled back");
            let after: Vec<String> = answer(&mut client, count).expect(count);
            let number = |count: &[String]| count[0].parse::<i64>().expect("a number");
            let rows = rows.map_err(|error| code(&error).to_owned());
            (rows, number(&after) - number(&before))
        };
        for (text, is_answered) in ACTING {
            let own = called(text, "item");
            match &own.0 {
                Err(code) if code == "0A000" && (has_finisher || !is_answered) => {
                    assert_eq!(own.1, 0, "{text}");
                }
                _ => assert_eq!(own, called(text, "bare"), "{text}"),
            }
        }
    }
}
