//! Objects of a hostile user shadow what the catalogue queries name, and change nothing.

use std::collections::BTreeSet;

use postgres::Client;
use sql_rewrite::{ASKED, QUERIES, answers_of};

use super::{Rows, ask};

/// A database with a view and functions, whose texts depend on the search path.
const OBJECTS: &str = "
    CREATE TYPE mood AS ENUM ('calm', 'cross');
    CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, feels mood CHECK (id > 0));
    CREATE INDEX ON customer (name);
    CREATE TABLE child () INHERITS (customer);
    CREATE VIEW shown AS SELECT id, name, feels = 'calm' AS calm, 'a\\b' AS text FROM customer;
    CREATE FUNCTION named(int) RETURNS text LANGUAGE sql
        BEGIN ATOMIC SELECT name FROM customer WHERE id = $1; END;
    CREATE SCHEMA evil";

/// The types of operands. Of an operator on any two of them PostgreSQL takes the one that is first
/// in the search path.
const OPERANDS: [&str; 9] = [
    "pg_catalog.oid",
    "pg_catalog.name",
    "pg_catalog.text",
    "pg_catalog.\"char\"",
    "pg_catalog.int2",
    "pg_catalog.int4",
    "pg_catalog.int8",
    "pg_catalog.bool",
    "pg_catalog.regclass",
];

/// Answers as they are asked for.
fn answers(client: &mut Client) -> Vec<Rows> {
    let asked = ASKED.iter().map(|query| ask(client, query)).collect();
    answers_of(asked)
}

/// Answers under the search path that is set, without the texts that rightly depend on it: of
/// views, types and functions.
fn answers_without_pin(client: &mut Client) -> Vec<Rows> {
    const TEXTS: [(usize, usize); 3] = [(1, 5), (2, 5), (7, 1)];
    let mut answers: Vec<Rows> = QUERIES.iter().map(|query| ask(client, query)).collect();
    for (query, place) in TEXTS {
        for row in &mut answers[query] {
            row[place] = None;
        }
    }
    answers
}

fn column(client: &mut Client, query: &str) -> Vec<String> {
    let rows = ask(client, query);
    rows.into_iter()
        .map(|mut row| row.remove(0).expect("not NULL"))
        .collect()
}

/// What the queries name in `pg_catalog`: operators, and all others.
fn named() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut operators, mut others) = (BTreeSet::new(), BTreeSet::new());
    for query in ASKED {
        for (at, _) in query.match_indices("pg_catalog.") {
            let rest = &query[at + "pg_catalog.".len()..];
            if query[..at].ends_with("OPERATOR(") {
                operators.insert(rest.split(')').next().expect("one").to_owned());
            } else {
                let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
                let name = rest.trim_start_matches('"');
                let end = name.find(|letter| !is_name(letter)).unwrap_or(name.len());
                others.insert(name[..end].to_owned());
            }
        }
    }
    (operators, others)
}

/// Statements that make objects of `schema`, each list one name.
fn shadows(client: &mut Client, schema: &str) -> Vec<(String, Vec<String>)> {
    let (operators, others) = named();
    let mut shadows = Vec::new();
    // Unqualified functions and operators are never those of a temporary schema.
    let is_temporary = schema == "pg_temp";
    for operator in operators.iter().filter(|_| !is_temporary) {
        let mut list = Vec::new();
        for (left, right) in OPERANDS
            .iter()
            .flat_map(|left| OPERANDS.map(|right| (left, right)))
        {
            list.push(format!(
                "CREATE OR REPLACE FUNCTION {schema}.lies({left}, {right}) RETURNS bool LANGUAGE \
                 sql AS 'SELECT false'"
            ));
            list.push(format!(
                "CREATE OPERATOR {schema}.{operator} (LEFTARG = {left}, RIGHTARG = {right}, \
                 FUNCTION = {schema}.lies)"
            ));
        }
        shadows.push((format!("operator {operator}"), list));
    }
    for name in &others {
        let mut list = Vec::new();
        if !is_temporary {
            // `any` and pseudo-types other than polymorphic ones are for C alone.
            let functions = format!(
                "SELECT pg_catalog.format('CREATE FUNCTION {schema}.%I(%s) RETURNS %s LANGUAGE sql \
                 AS ''SELECT NULL''', p.proname, pg_catalog.pg_get_function_arguments(p.oid), \
                 pg_catalog.pg_get_function_result(p.oid))
                   FROM pg_catalog.pg_proc p WHERE p.proname = '{name}' AND p.prokind = 'f'
                    AND p.pronamespace = 'pg_catalog'::regnamespace
                    AND NOT '\"any\"'::regtype = ANY (p.proargtypes)"
            );
            list.extend(column(client, &functions));
        }
        let types = format!(
            "SELECT 'CREATE DOMAIN {schema}.' || pg_catalog.quote_ident(typname) || ' AS varchar(3)'
               FROM pg_catalog.pg_type WHERE typname = '{name}' AND typtype = 'b'
                AND typnamespace = 'pg_catalog'::regnamespace"
        );
        list.extend(column(client, &types));
        let tables = format!(
            "SELECT 'CREATE TABLE {schema}.' || relname || ' (LIKE pg_catalog.' || relname || ')'
               FROM pg_catalog.pg_class WHERE relname = '{name}' AND relkind = 'r'
                AND relnamespace = 'pg_catalog'::regnamespace"
        );
        list.extend(column(client, &tables));
        shadows.push((name.clone(), list));
    }
    shadows
}

/// Compares what is answered with the shadows out of sight and in front of `pg_catalog`.
fn compare(client: &mut Client, path: &str, what: &str) {
    ask(client, "CREATE TEMP TABLE own (i pg_catalog.int4)");
    ask(client, "SET LOCAL search_path = pg_catalog, pg_temp");
    let expected = [answers(client), answers_without_pin(client)];
    ask(client, &format!("SET LOCAL search_path = {path}"));
    let found = [answers(client), answers_without_pin(client)];
    for (found, expected) in found.iter().zip(&expected) {
        for (query, (found, expected)) in QUERIES.iter().zip(found.iter().zip(expected)).skip(1) {
            assert_eq!(found, expected, "{what}, search path {path}: {query}");
        }
    }
    let ([found, _], [expected, _]) = (found, expected);
    let path_after = column(client, "SHOW search_path");
    assert_eq!(path_after, [path.to_owned()], "{what}");
    // The first query tells of the path itself: what else it tells is the same.
    let facts = |rows: &Rows| -> Rows {
        let facts = rows.iter().filter(|row| row[1].is_some());
        facts.cloned().collect()
    };
    assert_eq!(facts(&found[0]), facts(&expected[0]), "{what}");
    let all: Vec<String> = found
        .iter()
        .flatten()
        .map(|row| format!("{row:?}"))
        .collect();
    for word in ["customer", "name", "shown", "named", "attname", "own"] {
        let is_told = all.iter().any(|row| row.contains(word));
        assert!(is_told, "{what}, search path {path}: nothing of {word}");
    }
}

#[test]
fn objects_of_the_database_cannot_shadow_catalogue_queries() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    ask(&mut client, OBJECTS);
    let mut made = 0;
    for (schema, path) in [
        ("evil", "evil, pg_catalog, public"),
        ("public", "public, pg_catalog"),
        ("pg_temp", "public"),
        ("pg_temp", "pg_temp, public, pg_catalog"),
    ] {
        let shadows = shadows(&mut client, schema);
        for (name, statements) in &shadows {
            ask(&mut client, "BEGIN");
            made += create(&mut client, statements);
            compare(&mut client, path, &format!("{schema} has {name}"));
            ask(&mut client, "ROLLBACK");
        }
        ask(&mut client, "BEGIN");
        for (_, statements) in &shadows {
            create(&mut client, statements);
        }
        compare(&mut client, path, &format!("{schema} has them all"));
        ask(&mut client, "ROLLBACK");
    }
    assert!(made > 1_000, "only {made} shadows could be made");
}

/// Makes what the server allows; tells how many there were.
fn create(client: &mut Client, statements: &[String]) -> usize {
    let mut made = 0;
    for statement in statements {
        ask(client, "SAVEPOINT one");
        let is_made = client.simple_query(statement).is_ok();
        made += usize::from(is_made);
        let end = if is_made { "RELEASE" } else { "ROLLBACK TO" };
        ask(client, &format!("{end} one"));
    }
    made
}
