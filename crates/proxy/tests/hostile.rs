//! Other users of the database, and what they create, do not make the proxy send in clear.

use crate::common::Setup;
use postgres::{Client, NoTls};

const RULES: &str = "[columns.note]\ntext = { type = \"text\" }\n";

/// A table `note` that has [`RULES`], with its server and a proxy; None: there is no server to be
/// started.
fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    setup.psql("CREATE TABLE note (id integer, text text)");
    Some(setup)
}

fn code(client: &mut Client, statement: &str) -> String {
    let error = client.batch_execute(statement).expect_err(statement);
    let code = error.code().expect("the server or the proxy says why");
    code.code().to_owned()
}

fn user(setup: &Setup, name: &str) -> Client {
    let address = setup.proxy.address;
    Client::connect(&format!("postgres://{name}@{address}/postgres"), NoTls).expect("logged in")
}

/// The catalogues are asked in the session of whoever comes first after a change of the schema, and
/// what it is told serves all.
#[test]
fn what_one_user_creates_does_not_open_the_columns_of_another() {
    let Some(setup) = start() else {
        return;
    };
    setup.psql("CREATE ROLE mallory LOGIN; GRANT CREATE, TEMP ON DATABASE postgres TO mallory");
    setup.psql("CREATE ROLE ann LOGIN; GRANT INSERT, SELECT ON note TO ann");
    setup.psql("GRANT CREATE ON SCHEMA public TO mallory");
    let lie = "CREATE FUNCTION evil.lies(name, name) RETURNS bool LANGUAGE sql AS 'SELECT true'";
    for (number, statements) in [
        "CREATE DOMAIN pg_temp.text AS varchar(2); CREATE TEMP TABLE z (i int)",
        "CREATE DOMAIN public.text AS varchar(2); SET search_path = public, pg_catalog; \
         CREATE TABLE public.y (i int)",
        "RESET search_path; CREATE SCHEMA evil; SET search_path = evil, pg_catalog, public",
        lie,
        "CREATE OPERATOR evil.!~ (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.lies); \
         CREATE OPERATOR evil.<> (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.lies)",
        "CREATE TABLE evil.pg_class (i int); CREATE TABLE evil.x (i int)",
    ]
    .into_iter()
    .enumerate()
    {
        let mut mallory = user(&setup, "mallory");
        for part in statements.split("; ") {
            mallory.batch_execute(part).expect(part);
        }
        // Her session asks first: it has changed the schema.
        let _ = mallory.batch_execute("SELECT 1");
        let _ = mallory.batch_execute("SELECT count(*) FROM note");
        let mut ann = user(&setup, "ann");
        let insert = format!("INSERT INTO note VALUES ({number}, 'CANARY for ann')");
        ann.batch_execute(&insert).expect("it is sealed");
        let row = ann.query_one("SELECT text FROM note WHERE id = $1", &[&(number as i32)]);
        assert_eq!(row.expect("a row").get::<_, String>(0), "CANARY for ann");
    }
    setup.assert_unseen(&["CANARY"]);
}

#[test]
fn a_table_that_hides_a_protected_one_takes_nothing_in_clear() {
    let Some(setup) = start() else {
        return;
    };
    setup.psql("CREATE SCHEMA app");
    setup.psql("CREATE TABLE app.note (id integer, text text)");
    let insert = "INSERT INTO note VALUES (1, 'CANARY')";
    let mut client = setup.connect();
    client.batch_execute(insert).expect("it is sealed");
    client
        .batch_execute("SET search_path = app, public")
        .expect("set");
    assert_eq!(code(&mut client, insert), "F0000");
    let found = "SELECT id FROM note WHERE text = 'CANARY'";
    assert_eq!(code(&mut client, found), "F0000");
    client
        .batch_execute("INSERT INTO public.note VALUES (2, 'CANARY')")
        .expect("it is sealed");
    setup.psql("ALTER ROLE postgres SET search_path = app, public");
    let mut client = setup.connect();
    assert_eq!(code(&mut client, insert), "F0000");
    setup.assert_unseen(&["CANARY"]);
}

#[test]
fn a_protected_table_keeps_its_name() {
    let Some(setup) = start() else {
        return;
    };
    setup.psql("CREATE VIEW shown AS SELECT id, text FROM note");
    let mut client = setup.connect();
    for statement in [
        "ALTER INDEX note RENAME TO gone",
        "ALTER INDEX shown RENAME TO gone",
        "DO E'BEGIN INSERT INTO n\\ote VALUES (1, ''CANARY''); END'",
        "DO E'BEGIN ex\\ecute ''INSERT INTO no'' || ''te VALUES (1, ''''CANARY'''')''; END'",
    ] {
        let code = code(&mut client, statement);
        assert!(
            ["0A000", "42601"].contains(&code.as_str()),
            "{statement}: {code}"
        );
    }
    let insert = "INSERT INTO shown VALUES (1, 'CANARY')";
    client.batch_execute(insert).expect("it is sealed");
    setup.assert_unseen(&["CANARY"]);
}

/// A rule without its column protects nothing: what was meant for that column would be stored in
/// clear in the one that took its place.
#[test]
fn a_table_that_loses_a_protected_column_past_the_proxy_is_closed() {
    let Some(setup) = start() else {
        return;
    };
    setup.psql("CREATE TABLE child () INHERITS (note)");
    setup.psql("CREATE VIEW shown AS SELECT id, text FROM note");
    setup.psql("CREATE TABLE other (id integer)");
    let mut client = setup.connect();
    let insert = "INSERT INTO note VALUES (1, 'CANARY')";
    client.batch_execute(insert).expect("it is sealed");
    let mut direct = setup.server.connect();
    for (change, back) in [
        (
            "ALTER TABLE note RENAME text TO words",
            "ALTER TABLE note RENAME words TO text",
        ),
        (
            "ALTER TABLE note RENAME text TO gone; ALTER TABLE note ADD words text",
            "ALTER TABLE note DROP words; ALTER TABLE note RENAME gone TO text",
        ),
    ] {
        direct.batch_execute(change).expect(change);
        // By this the proxy looks at the catalogues.
        client
            .batch_execute("CREATE TABLE another (i integer); DROP TABLE another")
            .expect("nothing of a rule");
        for statement in [
            insert,
            "INSERT INTO public.note VALUES (1, 'CANARY')",
            "INSERT INTO note (id, words) VALUES (1, 'CANARY')",
            "INSERT INTO child VALUES (1, 'CANARY')",
            "INSERT INTO shown VALUES (1, 'CANARY')",
            "UPDATE note SET words = 'CANARY'",
            "SELECT id FROM note WHERE words = 'CANARY'",
            "SELECT id FROM shown WHERE text = 'CANARY'",
            "COPY note FROM STDIN",
            "WITH n AS (SELECT id FROM note) SELECT * FROM n",
            "DELETE FROM note",
        ] {
            assert_eq!(code(&mut client, statement), "F0000", "{statement}");
        }
        assert_eq!(code(&mut setup.connect(), insert), "F0000");
        client
            .batch_execute("SELECT id FROM other")
            .expect("nothing of a rule");
        let error = client.batch_execute(insert).expect_err(insert);
        let error = error.as_db_error().expect("of the proxy").clone();
        assert!(error.message().contains("public.note.text"), "{error:?}");
        assert!(error.hint().is_some_and(|hint| hint.contains("rules")));
        direct.batch_execute(back).expect(back);
        let _ = client.batch_execute(insert);
        client.batch_execute(insert).expect("it is sealed again");
    }
    setup.assert_unseen(&["CANARY"]);
}

/// What goes through the proxy was meant: the rule may go next.
#[test]
fn a_column_that_is_dropped_through_the_proxy_closes_nothing() {
    let Some(setup) = start() else {
        return;
    };
    let (mut client, mut other) = (setup.connect(), setup.connect());
    let count = "SELECT count(*) FROM note";
    for script in [
        "ALTER TABLE note DROP COLUMN text",
        "ALTER TABLE note ADD COLUMN text text",
        "DROP TABLE note",
        "CREATE TABLE note (id integer)",
        "ALTER TABLE note ADD COLUMN text text",
    ] {
        client.batch_execute("BEGIN").expect("begun");
        client.batch_execute(script).expect(script);
        // The other session reads the catalogues as they were.
        let made = "CREATE TABLE another (i integer); DROP TABLE another";
        other.batch_execute(made).expect("nothing of a rule");
        other.batch_execute("SELECT 1").expect("looked");
        client.batch_execute("COMMIT").expect("committed");
        if script != "DROP TABLE note" {
            for session in [&mut client, &mut other, &mut setup.connect()] {
                session.batch_execute(count).expect(script);
            }
        }
    }
    // What is not done is not forgotten.
    client.batch_execute(count).expect("it is there");
    client
        .batch_execute("BEGIN; ALTER TABLE note DROP COLUMN text; ROLLBACK")
        .expect("rolled back");
    client.batch_execute(count).expect("it is there");
    let mut direct = setup.server.connect();
    let rename = "ALTER TABLE note RENAME text TO words";
    direct.batch_execute(rename).expect("the superuser may");
    let made = "CREATE TABLE another (i integer); DROP TABLE another";
    client.batch_execute(made).expect("nothing of a rule");
    assert_eq!(code(&mut client, count), "F0000");
    setup.assert_unseen(&["CANARY"]);
}
