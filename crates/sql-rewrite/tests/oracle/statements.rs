//! Statements in random spellings. What the server reads as a protected table, in a name, a body or
//! a constant that may be run, never passes; a plan means what the client wrote.

use sql_oracle::{Constant, Reading, read};
use sql_plan::{Effects, ObjectEffect, Plan};
use sql_rewrite::{Objects, Schema, plan_with};

use super::compare::disagreements;
use super::spelled::{Random, blank, constant, name, number};
use crate::common::people;

/// `<t>`: a protected table; `<p>`: another; `<c>`: a column of the first; `<s>`: a constant;
/// `<q>`: one that is SQL; `<n>`: a number; `<e>`: a prepared statement; `<o>`: an operator.
const SKELETONS: &[&str] = &[
    "SELECT <c> FROM <t> WHERE mail <o> <s> LIMIT <n>",
    "SELECT id , <s> FROM public . <t> AS p WHERE p . <c> = <s> AND active = <n> FOR UPDATE OF p",
    "SELECT <n> FROM <t>",
    "SELECT <t> . <c> FROM <p> , <t> WHERE amount <o> <n>",
    "SELECT note FROM visit v JOIN <t> ON v . person_id = <t> . id WHERE mail IN ( <s> , <s> )",
    "INSERT INTO <t> ( id , mail ) VALUES ( <n> , <s> ) , ( <n> , <s> )",
    "INSERT INTO <t> ( id , name ) VALUES ( $1 , <s> ) ON CONFLICT ( id ) DO UPDATE SET name = <s>",
    "INSERT INTO <p> ( name , amount ) VALUES ( <s> , <n> )",
    "UPDATE <t> SET mail = <s> , active = <n> WHERE id = <n>",
    "UPDATE <t> SET visits = visits + <n> WHERE id = <n>",
    "DELETE FROM <t> WHERE mail = <s> OR id = $2",
    "WITH <t> AS ( SELECT name FROM <p> ) SELECT * FROM <t>",
    "WITH w AS ( SELECT mail FROM <t> WHERE mail = <s> ) SELECT mail FROM w",
    "TABLE <t>",
    "SELECT * FROM ONLY <t> WHERE id = <n>",
    "COPY <t> ( id , mail ) FROM STDIN",
    "COPY ( SELECT mail FROM <t> WHERE mail = <s> ) TO STDOUT",
    "EXPLAIN SELECT mail FROM <t> WHERE mail = <s>",
    "DO <q>",
    "DO LANGUAGE plpgsql <q>",
    "SELECT query_to_xml ( <q> , true , false , <s> )",
    "CREATE FUNCTION f ( ) RETURNS int LANGUAGE sql AS <q>",
    "CREATE OR REPLACE PROCEDURE f ( ) LANGUAGE plpgsql AS <q>",
    "SELECT <q> FROM <p>",
    "PREPARE st AS SELECT mail FROM <t> WHERE mail = $1",
    "EXECUTE <e> ( <s> )",
    "EXPLAIN EXECUTE <e> ( <s> )",
    "EXPLAIN ( COSTS off ) EXECUTE <e> ( <s> )",
    "CREATE TEMP TABLE x AS EXECUTE <e> ( <s> )",
    "ALTER TABLE <t> RENAME TO y",
    "ALTER INDEX <t> RENAME TO y",
    "ALTER VIEW IF EXISTS <t> RENAME TO y",
    "ALTER SEQUENCE <t> RENAME TO y",
    "ALTER MATERIALIZED VIEW <t> RENAME TO y",
    "ALTER FOREIGN TABLE <t> RENAME TO y",
    "ALTER SEQUENCE <t> SET SCHEMA other",
    "ALTER INDEX <t> SET SCHEMA other",
    "CREATE RULE r AS ON INSERT TO <p> DO ALSO INSERT INTO <t> ( name ) VALUES ( <s> )",
    "SELECT <n>::text , $1::int , <s>::text FROM <p> WHERE amount <o> <n>",
    "SELECT 1 ; INSERT INTO <t> ( mail ) VALUES ( <s> ) ; SELECT <s>",
];

const OPERATORS: &[&str] = &[
    "=", "=", "<>", "!=", "=+", "=/**/", "=-", "=--\n", "||", "*/*;*/", "@-", "<",
];

const TEXTS: &[&str] = &[
    "value",
    "it's",
    "back\\slash",
    "a;b",
    "é\u{1f980}",
    "",
    "-- x",
    "/* x",
    "$1",
    "two\nlines",
    "customer",
    "\"q\"",
    "\\'",
];

const BODIES: &[&str] = &[
    "INSERT INTO person (name) VALUES ('x')",
    "BEGIN INSERT INTO person (name) VALUES ('x'); END",
    "BEGIN UPDATE visit SET note = 'x'; END",
    "SELECT 1 FROM public.person",
    "BEGIN PERFORM 1; END",
    "SELECT note FROM visit",
];

/// Prepared over protected tables.
const PREPARED: &[&str] = &["st", "function", "on", "procedure", "as", "x\"y"];

/// A statement, its words written somehow.
fn statement(random: &mut Random) -> String {
    let skeleton = random.pick(SKELETONS);
    let mut text = String::new();
    for word in skeleton.split(' ') {
        let spelled = match word {
            "<t>" => {
                let table = random.pick(&["person", "person", "visit", "document"]);
                name(table, random)
            }
            "<p>" => name("plain", random),
            "<c>" => name(random.pick(&["mail", "name", "id"]), random),
            "<s>" => constant(random.pick(TEXTS), random),
            "<q>" => constant(random.pick(BODIES), random),
            "<n>" | "<n>::text" => word.replace("<n>", number(random)),
            "<s>::text" => constant(random.pick(TEXTS), random) + "::text",
            "<e>" => name(random.pick(PREPARED), random),
            "<o>" => random.pick(OPERATORS).to_owned(),
            word if random.once_in(8) => word.to_ascii_lowercase(),
            word => word.to_owned(),
        };
        text.push_str(&spelled);
        // Some words need nothing between them, and some that do are taken for one.
        if !random.once_in(12) {
            text.push_str(&blank(random));
        }
    }
    if random.once_in(20) {
        text.push_str(random.pick(&[";", ";;", " -- ", "/*", "'", "\"", "$$", ";\u{a0}"]));
    }
    text
}

/// Statements that pass whatever they name: nothing of a row is in them.
const HARMLESS: &[&str] = &[
    "TransactionStmt",
    "VariableSetStmt",
    "VacuumStmt",
    "LockStmt",
];

/// What the server sees in a text that passes, and must not.
fn unseen(text: &str, schema: &Schema, objects: &Objects) -> Option<String> {
    let reading = read(text).ok()?;
    let planned = plan_with(text, schema, objects).ok()?;
    let passes = planned.iter().all(|one| matches!(one.plan, Plan::Pass(_)));
    if !passes
        || reading
            .kinds
            .iter()
            .all(|kind| HARMLESS.contains(&kind.as_str()))
    {
        return None;
    }
    let executed = reading.executed.iter();
    let known = executed.filter(|name| PREPARED.contains(&name.as_str()));
    let known = known.map(|name| format!("EXECUTE of {name:?}"));
    known.chain(named(&reading)).next()
}

const PROTECTED: &[&str] = &["person", "visit", "document"];

/// A protected table, as a relation or in a text that may be run.
fn named(reading: &Reading) -> Option<String> {
    let is_protected = |name: &str| PROTECTED.contains(&name);
    let mut stored = reading.stored();
    let relation = stored.find(|one| is_protected(&one.name) && one.schema.is_none());
    let constants = reading
        .constants
        .iter()
        .filter_map(|constant| match constant {
            Constant::Text(text) => Some(text),
            _ => None,
        });
    let is_named = |text: &&String| {
        let text = text.to_lowercase();
        let is_word = |character: char| character.is_alphanumeric() || "_$".contains(character);
        text.split(|character: char| character.is_ascii() && !is_word(character))
            .any(is_protected)
    };
    let text = constants.chain(&reading.bodies).find(is_named);
    let text = text.map(|text| format!("the server sees {text:?}"));
    text.or_else(|| relation.map(|one| format!("the server sees {one:?}")))
}

fn prepared() -> Objects {
    let mut objects = Objects::default().including(std::iter::empty());
    for name in PREPARED {
        let effect = ObjectEffect::Prepares {
            name: (*name).to_owned(),
            types: Vec::new(),
            text: "INSERT INTO person (mail) VALUES ($1)".to_owned(),
        };
        let objects_of = Effects {
            objects: vec![effect],
            ..Effects::default()
        };
        objects.note(&objects_of);
    }
    objects
}

fn of_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn no_statement_on_a_protected_table_passes() {
    let (schema, objects) = (people(), prepared());
    let seed = of_environment("STRONGROOM_TEST_SEED", 1);
    let cases = of_environment("STRONGROOM_TEST_CASES", 20_000);
    let mut read_by_server = 0;
    let mut found = Vec::new();
    for case in 0..cases {
        let text = statement(&mut Random::of(seed, case));
        read_by_server += u64::from(read(&text).is_ok());
        let reasons = disagreements(&text, &schema, true);
        let unseen = unseen(&text, &schema, &objects);
        for reason in reasons.into_iter().chain(unseen) {
            found.push(format!("seed {seed}, case {case}: {text:?}\n    {reason}"));
        }
    }
    assert!(
        read_by_server * 3 > cases,
        "{read_by_server} of {cases} are SQL"
    );
    assert!(
        found.is_empty(),
        "{}\n{}",
        found.len(),
        found[..found.len().min(50)].join("\n")
    );
}
