//! Cursors and prepared statements by SQL, on a real server.

use crate::common::Setup;
use crate::common::wire::{Answer, SYNC, Session};
use postgres::{Client, SimpleQueryMessage};
use wire_postgres::frontend::write_parse;

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(16)" }
"#;

fn first(client: &mut Client, text: &str) -> Vec<Option<String>> {
    let answer = client.simple_query(text);
    let answer = answer.unwrap_or_else(|error| panic!("{text}\n{error:?}"));
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    row.map_or_else(Vec::new, |row| {
        (0..row.len())
            .map(|at| row.get(at).map(str::to_owned))
            .collect()
    })
}

#[test]
fn cursors_and_prepared_statements_show_and_take_plain_values() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    setup.psql("CREATE TABLE person (id integer PRIMARY KEY, name varchar(16), plain integer)");
    setup.psql("INSERT INTO person VALUES (1, 'CANARYa', 7), (2, 'CANARYb', 8)");
    let mut client = setup.connect();
    let text = |text: &str| Some(text.to_owned());

    let declare = "BEGIN; DECLARE c CURSOR FOR SELECT name, plain FROM person ORDER BY plain";
    client.batch_execute(declare).expect("declared");
    assert_eq!(first(&mut client, "FETCH c"), [text("CANARYa"), text("7")]);
    let rows = client.query("FETCH FORWARD 5 FROM c", &[]).expect("rows");
    assert_eq!(rows[0].get::<_, &str>(0), "CANARYb");
    client.batch_execute("CLOSE c; COMMIT").expect("closed");

    let prepare = "PREPARE find (integer) AS SELECT name FROM person WHERE id = $1";
    client.batch_execute(prepare).expect("prepared");
    assert_eq!(first(&mut client, "EXECUTE find(2)"), [text("CANARYb")]);
    client
        .batch_execute("DEALLOCATE find")
        .expect("it is there");
    client
        .batch_execute("EXECUTE find(2)")
        .expect_err("it is gone");

    // What messages have prepared takes ciphertexts in the server.
    let insert = "INSERT INTO person (id, name) VALUES ($1, $2)";
    let _statement = client.prepare(insert).expect("prepared");
    let names = "SELECT name FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'";
    let name = first(&mut client, names).remove(0).expect("a name");
    let execute = format!("EXECUTE {name}(3, 'CANARYc')");
    client.batch_execute(&execute).expect("inserted");
    assert_eq!(
        first(&mut client, "SELECT name FROM person WHERE id = 3"),
        [text("CANARYc")]
    );
    let explain = format!("EXPLAIN ANALYZE EXECUTE {name}(4, 'CANARYd')");
    client.batch_execute(&explain).expect("inserted");
    assert_eq!(
        first(&mut client, "SELECT name FROM person WHERE id = 4"),
        [text("CANARYd")]
    );
    let explain = format!("EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE {name}(NULL, NULL)");
    client.batch_execute(&explain).expect("explained");
    setup.assert_unseen(&["CANARY"]);
}

/// What stands in no catalogue that is read, and what calls another function without its text.
#[test]
fn what_is_not_seen_is_not_made() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    let make = "CREATE TABLE person (id integer PRIMARY KEY, name varchar(16))";
    client.batch_execute(make).expect("made");
    let function = "(q text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE q; END'";
    let refused = |client: &mut Client, statement: &str| {
        let refused = client.batch_execute(statement).expect_err(statement);
        let told = refused.as_db_error().expect("an answer");
        assert_eq!(told.code().code(), "0A000", "{statement}\n{told}");
        assert!(
            told.message().contains("protected table"),
            "{statement}\n{told}"
        );
    };
    for statement in [
        "CREATE VIEW pg_temp.v AS SELECT id, name FROM person",
        &format!("CREATE FUNCTION pg_temp.run{function}"),
        &format!("SET search_path = pg_temp, public; CREATE FUNCTION run{function}"),
    ] {
        refused(&mut client, statement);
    }
    client
        .batch_execute("SET search_path = pg_temp, public")
        .expect("set");
    refused(&mut client, "CREATE VIEW v AS SELECT id, name FROM person");
    refused(&mut client, &format!("CREATE FUNCTION run{function}"));
    client
        .batch_execute("SET search_path = public")
        .expect("set");
    let aggregate = "CREATE FUNCTION run(state text, q text) RETURNS text LANGUAGE plpgsql \
                     AS 'BEGIN EXECUTE q; RETURN q; END'; \
                     CREATE AGGREGATE run_all(text) (SFUNC = run, STYPE = text)";
    client.batch_execute(aggregate).expect("made");
    let text = "'UPDATE per' || 'son SET name = 1'";
    refused(&mut client, &format!("SELECT run('', {text})"));
    refused(&mut client, &format!("SELECT run_all({text})"));
    client
        .batch_execute("SELECT max(text 'a')")
        .expect("of no such function");
}

#[test]
fn what_means_something_else_is_told_as_the_server_tells_it() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    setup.psql("CREATE TABLE person (id integer PRIMARY KEY, name varchar(16), plain integer)");
    setup.psql("INSERT INTO person VALUES (1, 'CANARYa', 7)");
    let mut client = setup.connect();
    let all = client.prepare("SELECT * FROM person").expect("prepared");
    let names = client.prepare("SELECT name FROM person WHERE id = $1");
    let names = names.expect("prepared");
    client
        .batch_execute("ALTER TABLE person ADD COLUMN more integer")
        .expect("altered");
    let rows = client.query(&names, &[&1]).expect("it means the same");
    assert_eq!(rows[0].get::<_, &str>(0), "CANARYa");
    let error = client.query(&all, &[]).expect_err("there is one more");
    let error = error.as_db_error().expect("an answer");
    // Drivers prepare anew where both are these.
    assert_eq!(error.code().code(), "0A000");
    assert_eq!(error.routine(), Some("RevalidateCachedQuery"));
    let rows = client.query("SELECT * FROM person", &[]).expect("prepared");
    assert_eq!(rows[0].len(), 4);
}

#[test]
fn only_means_the_table_without_its_children() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(&format!("{RULES}visits = {{ type = \"integer\" }}\n"));
    let tables = "CREATE TABLE person (id integer PRIMARY KEY, name varchar(16), visits integer)";
    setup.psql(tables);
    setup.psql("CREATE TABLE child () INHERITS (person)");
    setup.psql("INSERT INTO person VALUES (1, 'CANARYa', 10), (2, 'CANARYb', 20)");
    setup.psql("INSERT INTO child VALUES (1, 'CANARYc', 30)");
    for (script, expected) in [
        ("SELECT name FROM ONLY person WHERE id = 1", "CANARYa\n"),
        ("SELECT sum(visits) FROM ONLY person", "30\n"),
        ("SELECT sum(visits) FROM person", "60\n"),
        (
            "SELECT count(*) FROM ONLY (public.person) p WHERE p.name > 'CANARYa'",
            "1\n",
        ),
        ("TABLE ONLY child", "1|CANARYc|30\n"),
        // What was read of one row is not what the other has.
        (
            "BEGIN; SELECT visits FROM ONLY person WHERE id = 1 FOR UPDATE; \
             UPDATE person SET visits = visits + 1 WHERE id = 1; COMMIT",
            "10\n",
        ),
        (
            "UPDATE ONLY person SET visits = visits + 100 WHERE id = 1",
            "",
        ),
        ("UPDATE ONLY person SET name = 'CANARYd' WHERE id = 1", ""),
        (
            "SELECT name, visits FROM person WHERE id = 1 ORDER BY visits",
            "CANARYc|31\nCANARYd|111\n",
        ),
        ("DELETE FROM ONLY person WHERE id = 1", ""),
        ("SELECT name FROM person WHERE id = 1", "CANARYc\n"),
    ] {
        assert_eq!(setup.psql(script), expected, "{script}");
    }
}

const INSERT: &str = "INSERT INTO person (id, name) VALUES ($1, $2)";

/// Prepares a statement by a message.
fn prepare(session: &mut Session, name: &str, text: &str) -> Answer {
    let mut messages = Vec::new();
    let none = std::iter::empty();
    write_parse(name.as_bytes(), text.as_bytes(), none, &mut messages);
    messages.extend_from_slice(SYNC);
    session.say(&messages)
}

/// The only value that a text gives.
fn value(session: &mut Session, text: &str) -> Option<String> {
    let answer = session.query(text);
    assert_eq!(answer.code, "", "{text}\n{answer:?}");
    answer.rows.into_iter().next()?.into_iter().next()?
}

#[test]
fn names_are_what_the_server_keeps_of_them() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    setup.psql("CREATE TABLE person (id integer PRIMARY KEY, name varchar(16), plain integer)");
    let mut session = Session::connect(setup.proxy.address.port());
    let long = "a".repeat(70);
    assert_eq!(prepare(&mut session, &long, INSERT).code, "");
    for (id, name) in [(3, &long[..]), (4, &long[..63])] {
        let answer = session.query(&format!("EXECUTE {name}({id}, 'CANARY{id}')"));
        assert_eq!(answer.code, "", "{answer:?}");
        let text = format!("SELECT name FROM person WHERE id = {id}");
        let expected = format!("CANARY{id}");
        assert_eq!(value(&mut session, &text), Some(expected));
    }
    let other = "\u{e9}".repeat(40);
    assert_eq!(prepare(&mut session, &other, INSERT).code, "42622");
}

#[test]
fn what_is_prepared_is_what_the_server_has() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    setup.psql("CREATE TABLE person (id integer PRIMARY KEY, name varchar(16), plain integer)");
    setup.psql("INSERT INTO person VALUES (7, 'CANARYa', 7)");
    for drop in ["DISCARD ALL", "DEALLOCATE s1", "DEALLOCATE ALL"] {
        let mut session = Session::connect(setup.proxy.address.port());
        let delete = "DELETE FROM person WHERE id = $1";
        assert_eq!(prepare(&mut session, "s1", delete).code, "");
        assert_eq!(session.query(drop).code, "", "{drop}");
        assert_eq!(session.query("EXECUTE s1(7)").code, "26000", "{drop}");
        let find = "PREPARE s1 AS SELECT name FROM person WHERE id = $1";
        assert_eq!(session.query(find).code, "", "{drop}");
        let found = value(&mut session, "EXECUTE s1(7)");
        assert_eq!(found.as_deref(), Some("CANARYa"), "{drop}");
    }
    // What the server does not drop stays.
    let mut session = Session::connect(setup.proxy.address.port());
    assert_eq!(prepare(&mut session, "s1", INSERT).code, "");
    for (id, (text, code)) in (20..).zip([
        ("SELECT 1 / 0; DEALLOCATE s1", "22012"),
        ("BEGIN; DISCARD ALL", "25001"),
        ("PREPARE s1 AS DELETE FROM person", "42P05"),
        ("DISCARD PLANS", ""),
    ]) {
        assert_eq!(session.query(text).code, code, "{text}");
        session.query("ROLLBACK");
        let answer = session.query(&format!("EXECUTE s1({id}, 'CANARYb')"));
        assert_eq!(answer.code, "", "{text}\n{answer:?}");
        let name = format!("SELECT name FROM person WHERE id = {id}");
        let name = value(&mut session, &name);
        assert_eq!(name.as_deref(), Some("CANARYb"), "{text}");
    }
}

#[test]
fn cursors_that_are_held_are_remembered() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    setup.psql("CREATE TABLE person (id integer PRIMARY KEY, name varchar(16), plain integer)");
    setup.psql("INSERT INTO person VALUES (1, 'CANARYa', 7)");
    let mut session = Session::connect(setup.proxy.address.port());
    let declare = "SCROLL CURSOR WITH HOLD FOR SELECT name FROM person";
    session.query(&format!("BEGIN; DECLARE kept {declare}; COMMIT"));
    session.query(&format!("BEGIN; DECLARE gone {declare}; ROLLBACK"));
    for text in ["SELECT 1", "DISCARD PLANS", "BEGIN", "ROLLBACK"] {
        assert_eq!(session.query(text).code, "", "{text}");
        let first = value(&mut session, "FETCH FIRST FROM kept");
        assert_eq!(first.as_deref(), Some("CANARYa"), "{text}");
    }
    assert_eq!(session.query("FETCH FIRST FROM gone").code, "34000");
}

/// Other texts with escapes have to be understood, since they may name a protected table.
#[test]
fn constants_with_escapes_pass_where_they_name_nothing() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    setup.psql("CREATE TABLE person (id integer, name varchar(16)); CREATE TABLE shown (a text)");
    let mut client = setup.connect();
    client.batch_execute("SET DateStyle TO SQL").expect("set");
    let text = |text: &str| Some(text.to_owned());
    for (query, value) in [
        (r"SELECT U&'\0061\0308' IS NORMALIZED", "f"),
        (
            r"SELECT (ARRAY[E'\x41\tb', U&'d\0061t\+000061'])[2]",
            "data",
        ),
        ("SELECT 'first'\n' second' ' third'", ""),
        ("SELECT 'first' -- and\n' second'", "first second"),
        (
            r"INSERT INTO shown VALUES (E'p\x65rsons') RETURNING a",
            "persons",
        ),
    ] {
        match value {
            "" => drop(client.simple_query(query).expect_err("no SQL")),
            value => assert_eq!(first(&mut client, query), [text(value)], "{query}"),
        }
    }
    for query in [
        r"SELECT U&'\0070erson' IS NORMALIZED",
        r"DO E'BEGIN INSERT INTO p\x65rson VALUES (1, \'CANARY\'); END'",
        r#"INSERT INTO U&"p\0065rson" VALUES (1, 'CANARY')"#,
    ] {
        let error = client.simple_query(query).expect_err(query);
        let code = error.code().map(|code| code.code().to_owned());
        assert!(
            matches!(code.as_deref(), Some("0A000" | "42601")),
            "{query}: {error:?}"
        );
    }
}
