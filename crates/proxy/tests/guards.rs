//! The server itself refuses plaintext in protected columns, whoever writes it, and clients do not
//! see by what.

use std::thread;

use crate::common::Setup;
use postgres::{Client, NoTls};

/// Each mode, with values that may lie outside of their row and such that do not.
const RULES: &str = r#"
[columns.note]
id = { type = "integer", mode = "equality", domain = "number" }
name = { type = "varchar(40)", mode = "equality" }
born = { type = "date", mode = "order" }
text = { type = "text" }
fee = { type = "numeric(6,2)" }
raw = { type = "bytea" }

[columns.visit]
number = { type = "integer", mode = "equality", domain = "number" }
"#;

const TABLE: &str = "CREATE TABLE note (id integer PRIMARY KEY, name varchar(40), born date, \
                     text text, fee numeric(6,2), raw bytea, city text)";

const CHECK_VIOLATION: &str = "23514";

/// Guards of a table, with their columns.
const GUARDS: &str = "SELECT (SELECT string_agg(n::text, ' ' ORDER BY n) FROM unnest(conkey) AS n) \
                      FROM pg_constraint \
                      WHERE conrelid = $1::text::regclass AND conname ~ '^strongroom_guard_' \
                      ORDER BY 1";

fn start() -> Option<(Setup, Client)> {
    let setup = server_testkit::is_installed().then(|| Setup::start(RULES))?;
    let mut client = setup.connect();
    client.batch_execute(TABLE).expect(TABLE);
    Some((setup, client))
}

#[track_caller]
fn code(client: &mut Client, statement: &str) -> String {
    let error = client.batch_execute(statement).expect_err(statement);
    error.code().expect("the server says why").code().to_owned()
}

/// Columns of the guards of a table, as the server has them.
fn guards(direct: &mut Client, table: &str) -> Vec<String> {
    let rows = direct.query(GUARDS, &[&table]).expect("catalogues");
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn plaintext_past_the_proxy_is_refused_in_every_column() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let insert =
        "INSERT INTO note VALUES (1, 'CANARY', '2020-02-02', 'CANARY', 1.5, 'CANARY', 'x')";
    client.batch_execute(insert).expect("it is sealed");
    // The shortest that there are.
    client
        .batch_execute("INSERT INTO note (id, name, text, raw) VALUES (2, '', '', '')")
        .expect("it is sealed");
    let long = "CANARY".repeat(2000);
    let update = "UPDATE note SET text = $1 WHERE id = 1";
    client.execute(update, &[&long]).expect("it is sealed");
    let mut direct = setup.server.connect();
    for column in ["id", "name", "born", "text", "fee", "raw"] {
        for value in [
            "plain text",
            "",
            "\\x80aa",
            "\\x9caa",
            "\\x9eaa",
            "\\x00",
            "\\xff",
        ] {
            let update = format!("UPDATE note SET {column} = '{value}' WHERE city = 'x'");
            assert_eq!(code(&mut direct, &update), CHECK_VIOLATION, "{update}");
        }
    }
    // Bytes of clients might begin so: sealed ones are longer.
    let update = format!("UPDATE note SET raw = '\\x9d{}'", "aa".repeat(39));
    assert_eq!(code(&mut direct, &update), CHECK_VIOLATION, "{update}");
    let insert = "INSERT INTO note (id, name) VALUES ('9', 'plain text')";
    assert_eq!(code(&mut direct, insert), CHECK_VIOLATION);
    let copied = direct
        .copy_in("COPY note (id, text) FROM STDIN")
        .map(|mut copy| {
            std::io::Write::write_all(&mut copy, b"9\tplain text\n").expect("sent");
            copy.finish()
        });
    let error = copied
        .expect("COPY begins")
        .expect_err("it is no sealed value");
    assert_eq!(error.code().expect("of the server").code(), CHECK_VIOLATION);
    direct
        .batch_execute(
            "UPDATE note SET name = NULL, born = NULL, text = NULL, fee = NULL, raw = NULL",
        )
        .expect("NULL is not sealed");
}

#[test]
fn the_guard_follows_the_columns_of_its_table() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let mut direct = setup.server.connect();
    assert_eq!(guards(&mut direct, "note"), ["1 2 3 4 5 6"]);
    client
        .batch_execute("INSERT INTO note (id, text) VALUES (1, 'CANARY')")
        .expect("it is sealed");
    client
        .batch_execute("ALTER TABLE note DROP COLUMN fee")
        .expect("dropped");
    assert_eq!(guards(&mut direct, "note"), ["1 2 3 4 6"]);
    client
        .batch_execute("ALTER TABLE note ADD COLUMN fee numeric(6,2), DROP COLUMN city")
        .expect("changed");
    assert_eq!(guards(&mut direct, "note"), ["1 2 3 4 6", "8"]);
    for column in ["text", "fee", "born"] {
        let update = format!("UPDATE note SET {column} = 'plain text'");
        assert_eq!(code(&mut direct, &update), CHECK_VIOLATION, "{update}");
    }
    client
        .batch_execute("ALTER TABLE note DROP fee, DROP COLUMN born")
        .expect("dropped");
    assert_eq!(guards(&mut direct, "note"), ["1 2 4 6"]);
    let name = "SELECT conname::text FROM pg_constraint WHERE conname ~ '^strongroom_guard'";
    let name: String = direct.query_one(name, &[]).expect("a guard").get(0);
    for statement in [
        format!("ALTER TABLE note DROP CONSTRAINT {name}"),
        format!("ALTER TABLE note RENAME CONSTRAINT {name} TO other"),
        "ALTER TABLE note ADD CONSTRAINT strongroom_guard CHECK (true)".to_owned(),
    ] {
        assert_eq!(code(&mut client, &statement), "0A000", "{statement}");
    }
}

#[test]
fn partitions_and_children_have_the_guard_of_their_parent() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "CREATE TABLE child (more integer) INHERITS (note)",
        "CREATE TABLE visit (number integer, day date) PARTITION BY HASH (number)",
        "CREATE TABLE visit_0 PARTITION OF visit FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
        "CREATE TABLE visit_1 PARTITION OF visit FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        "CREATE TABLE both_of_them () INHERITS (note, child)",
        "INSERT INTO child (id, text, more) VALUES (7, 'CANARY', 1)",
        "INSERT INTO visit VALUES (7, '2020-01-01')",
        "SELECT text FROM note",
        "ALTER TABLE note DROP COLUMN raw",
        "SELECT text FROM note",
    ] {
        client.batch_execute(statement).expect(statement);
    }
    let mut direct = setup.server.connect();
    for table in ["note", "child", "both_of_them"] {
        assert_eq!(guards(&mut direct, table), ["1 2 3 4 5"], "{table}");
    }
    for table in ["visit", "visit_0", "visit_1"] {
        assert_eq!(guards(&mut direct, table), ["1"], "{table}");
    }
    let insert = "INSERT INTO child (id, text) VALUES ('plain text', 'plain text')";
    assert_eq!(code(&mut direct, insert), CHECK_VIOLATION);
    // Past the proxy a table becomes a partition where it has the guard already.
    direct
        .batch_execute(
            "ALTER TABLE visit DETACH PARTITION visit_1; \
             ALTER TABLE visit ATTACH PARTITION visit_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        )
        .expect("attached");
    setup
        .connect()
        .batch_execute("SELECT * FROM visit")
        .expect("it fits");
}

/// Waits until a statement waits for a lock.
fn await_lock(direct: &mut Client) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while direct
        .query_one(waiting, &[])
        .expect("a row")
        .get::<_, i64>(0)
        == 0
    {
        thread::yield_now();
    }
}

/// What was planned for a plain table meets a view over a protected one.
#[test]
fn what_becomes_a_view_meanwhile_takes_nothing_in_clear() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let mut direct = setup.server.connect();
    // That a key is missing would be another reason.
    client.batch_execute("DROP TABLE note").expect("dropped");
    let table = TABLE.replace(" PRIMARY KEY", "");
    client.batch_execute(&table).expect(&table);
    for swap in ["DROP TABLE pz", "ALTER TABLE pz RENAME TO old"] {
        client
            .batch_execute("DROP VIEW IF EXISTS pz")
            .expect("it may not be there");
        client
            .batch_execute("CREATE TABLE pz (city text, text text)")
            .expect("created");
        let mut other = setup.connect();
        other
            .batch_execute("INSERT INTO pz VALUES ('1', 'plain text')")
            .expect("a plain table");
        client.batch_execute("BEGIN").expect("begun");
        client.batch_execute(swap).expect(swap);
        client
            .batch_execute("CREATE VIEW pz AS SELECT city, text FROM note")
            .expect("a view");
        let late =
            thread::spawn(move || code(&mut other, "INSERT INTO pz VALUES ('9', 'plain text')"));
        await_lock(&mut direct);
        client.batch_execute("COMMIT").expect("committed");
        assert_eq!(late.join().expect("it ends"), CHECK_VIOLATION, "{swap}");
    }
    let rows = direct.query("SELECT 1 FROM note", &[]).expect("rows");
    assert!(rows.is_empty());
}

/// What was planned for the columns as they were meets others of the same names.
#[test]
fn columns_that_change_their_names_meanwhile_take_nothing_in_clear() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("INSERT INTO note (id, text, city) VALUES (1, 'CANARY', 'plain text')")
        .expect("it is sealed");
    let mut direct = setup.server.connect();
    direct
        .batch_execute(
            "BEGIN; ALTER TABLE note RENAME text TO between; ALTER TABLE note RENAME city TO text; \
             ALTER TABLE note RENAME between TO city",
        )
        .expect("the superuser may");
    let late = thread::spawn(move || {
        let insert = "INSERT INTO note (id, text, city) VALUES (2, 'CANARY', 'plain text')";
        code(&mut client, insert)
    });
    await_lock(&mut setup.server.connect());
    direct.batch_execute("COMMIT").expect("committed");
    assert_eq!(late.join().expect("it ends"), CHECK_VIOLATION);
}

#[test]
fn clients_do_not_see_guards() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "CREATE TABLE child (more integer CONSTRAINT own CHECK (more > 0)) INHERITS (note)",
        "INSERT INTO note (id, text, city) VALUES (1, 'CANARY', 'x')",
    ] {
        client.batch_execute(statement).expect(statement);
    }
    for query in [
        "SELECT conname::text FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0",
        "SELECT conname::text FROM pg_catalog.pg_constraint c JOIN pg_class r ON r.oid = conrelid \
         WHERE relname IN ('note', 'child') AND contype = 'c'",
        "SELECT constraint_name::text FROM information_schema.check_constraints \
         WHERE constraint_schema = 'public' AND check_clause !~ 'NOT NULL'",
        "SELECT constraint_name::text FROM information_schema.table_constraints \
         WHERE table_name IN ('note', 'child') AND constraint_type = 'CHECK' \
         AND constraint_name !~ 'not_null'",
        "SELECT constraint_name::text FROM information_schema.constraint_column_usage \
         WHERE table_name IN ('note', 'child') AND constraint_name !~ 'pkey|not_null'",
        "SELECT DISTINCT constraint_name::text \
         FROM information_schema.check_constraint_routine_usage",
        "SELECT conname::text FROM pg_constraint WHERE conname::text LIKE 'strongroom%'",
    ] {
        let rows = client.query(query, &[]).expect(query);
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(names.iter().all(|name| name == "own"), "{query}: {names:?}");
    }
    let checks = "SELECT relname::text, relchecks FROM pg_class WHERE relname IN ('note', 'child') \
                  ORDER BY relname DESC";
    let rows = client.query(checks, &[]).expect(checks);
    assert_eq!(rows[0].get::<_, i16>(1), 0);
    assert_eq!(rows[1].get::<_, i16>(1), 1);
    for command in ["\\d note", "\\d+ child", "\\d+"] {
        let said = setup.psql(command);
        assert!(said.contains("note") || said.contains("text"), "{said}");
        assert!(!said.contains("strongroom"), "{command}: {said}");
        assert!(!said.contains("ERROR"), "{command}: {said}");
    }
}

#[test]
fn a_dump_through_the_proxy_has_no_guard_and_is_restored_with_one() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "INSERT INTO note (id, text, city) VALUES (1, 'CANARY', 'x')",
        "ALTER TABLE note ADD CONSTRAINT own CHECK (city <> '')",
    ] {
        client.batch_execute(statement).expect(statement);
    }
    let port = setup.proxy.address.port();
    let dumped = setup.server.run_at(port, "pg_dump", &[]);
    let errors = String::from_utf8_lossy(&dumped.stderr).into_owned();
    assert!(dumped.status.success(), "{errors}");
    let script = String::from_utf8(dumped.stdout).expect("UTF-8");
    assert!(script.contains("CONSTRAINT own CHECK"), "{script}");
    assert!(!script.contains("strongroom"), "{script}");
    client.batch_execute("DROP TABLE note").expect("dropped");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump.sql");
    std::fs::write(&file, script).expect("written");
    let file = file.to_str().expect("a plain path");
    let arguments = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-f", file];
    let restored = setup.server.run_at(port, "psql", &arguments);
    let errors = String::from_utf8_lossy(&restored.stderr).into_owned();
    assert!(restored.status.success(), "{errors}");
    let row = setup.connect().query_one("SELECT text FROM note", &[]);
    assert_eq!(row.expect("a row").get::<_, String>(0), "CANARY");
    let mut direct = setup.server.connect();
    assert_eq!(guards(&mut direct, "note"), ["1 2 3 4 5 6"]);
}

#[test]
fn a_check_with_the_name_of_a_guard_is_none() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let select = "SELECT text FROM note";
    client.batch_execute(select).expect("they fit");
    let mut direct = setup.server.connect();
    let name = "SELECT conname::text FROM pg_constraint WHERE conname ~ '^strongroom_guard'";
    let name: String = direct.query_one(name, &[]).expect("a guard").get(0);
    let own = "SELECT pg_get_constraintdef(oid) FROM pg_constraint \
               WHERE conname ~ '^strongroom_guard'";
    let own: String = direct.query_one(own, &[]).expect("a guard").get(0);
    let version = "SELECT current_setting('server_version_num')::integer";
    let version: i32 = direct.query_one(version, &[]).expect("a version").get(0);
    let mut forgeries = vec![
        "CHECK (octet_length(text) < 100)".to_owned(),
        "CHECK (text IS NULL OR city = 'x')".to_owned(),
        own.replace(" AND ", " OR "),
        own.replace("x9e", "x9f"),
        format!("{own} NO INHERIT"),
    ];
    if version >= 180_000 {
        forgeries.push(format!("{own} NOT ENFORCED"));
    }
    for forged in forgeries {
        direct
            .batch_execute(&format!(
                "ALTER TABLE note DROP CONSTRAINT {name}; \
                 ALTER TABLE note ADD CONSTRAINT {name} {forged}"
            ))
            .expect("the superuser may");
        let mut fresh = setup.connect();
        // By this the proxy looks at the catalogues.
        let _ = fresh.batch_execute("CREATE TABLE another (i integer)");
        let _ = fresh.batch_execute("DROP TABLE another");
        let error = setup
            .connect()
            .batch_execute(select)
            .expect_err("it is no guard");
        let error = error.as_db_error().expect("of the proxy").clone();
        assert_eq!(error.code().code(), "F0000");
        let said = format!(
            "{} {:?} {:?}",
            error.message(),
            error.detail(),
            error.hint()
        );
        assert!(said.contains(&name), "{said}");
    }
}

/// What the server prints depends on settings that a user has.
#[test]
fn guards_are_known_whatever_the_settings_of_the_session_are() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("INSERT INTO note (id, text) VALUES (1, 'CANARY')")
        .expect("it is sealed");
    for setting in [
        "bytea_output = escape",
        "quote_all_identifiers = on",
        "search_path = pg_catalog, public",
    ] {
        let mut direct = setup.server.connect();
        let script = format!("ALTER ROLE postgres SET {setting}");
        direct.batch_execute(&script).expect("set");
        let mut fresh = setup.connect();
        fresh
            .batch_execute("CREATE TABLE public.visit (number integer, \"select\" text)")
            .expect(setting);
        let read = fresh.query_one("SELECT text FROM public.note", &[]);
        assert_eq!(read.expect(setting).get::<_, String>(0), "CANARY");
        assert_eq!(guards(&mut direct, "public.visit"), ["1"], "{setting}");
        let insert = "INSERT INTO visit VALUES ('1')";
        assert_eq!(code(&mut direct, insert), CHECK_VIOLATION, "{setting}");
        fresh
            .batch_execute("DROP TABLE public.visit")
            .expect("dropped");
        direct
            .batch_execute("ALTER ROLE postgres RESET ALL")
            .expect("reset");
    }
}

#[test]
fn without_guards_tables_are_made_as_they_were() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with(RULES, "guard = false");
    let mut client = setup.connect();
    client.batch_execute(TABLE).expect(TABLE);
    client
        .batch_execute("INSERT INTO note (id, text) VALUES (1, 'CANARY')")
        .expect("it is sealed");
    let mut direct = setup.server.connect();
    assert!(guards(&mut direct, "note").is_empty());
}

/// Whoever may create functions and operators does not bend the guard of another.
#[test]
fn what_a_user_creates_does_not_open_a_guard() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut direct = setup.server.connect();
    direct
        .batch_execute(
            "CREATE SCHEMA evil; \
             CREATE FUNCTION evil.lies(bytea, bytea) RETURNS bool LANGUAGE sql AS 'SELECT true'; \
             CREATE OPERATOR evil.>= (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = evil.lies); \
             CREATE OPERATOR evil.< (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = evil.lies); \
             CREATE FUNCTION evil.octet_length(bytea) RETURNS int LANGUAGE sql AS 'SELECT 99'; \
             CREATE DOMAIN evil.bytea AS text; \
             ALTER ROLE postgres SET search_path = evil, pg_catalog, public",
        )
        .expect("the superuser may");
    let address = setup.proxy.address;
    let url = format!("postgres://postgres@{address}/postgres");
    let mut client = Client::connect(&url, NoTls).expect("logged in");
    let made = client.batch_execute(&TABLE.replace("TABLE note", "TABLE public.note"));
    if made.is_ok() {
        let mut direct = setup.server.connect();
        let insert = "INSERT INTO public.note (id) VALUES ('plain text')";
        assert_eq!(code(&mut direct, insert), CHECK_VIOLATION);
    }
}

#[test]
fn rows_are_excluded_by_plain_columns_of_a_table_with_a_guard() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for text in [
        "ALTER TABLE note ADD CONSTRAINT one EXCLUDE (city WITH =) WHERE (city <> 'y')",
        "INSERT INTO note (id, name, city) VALUES (1, 'CANARYa', 'x'), (2, 'CANARYb', 'y'), (3, \
         'CANARYc', 'y')",
        "INSERT INTO note (id, name, city) VALUES (4, 'CANARYd', 'x') ON CONFLICT DO NOTHING",
    ] {
        client.batch_execute(text).expect(text);
    }
    let twice = "UPDATE note SET city = 'x' WHERE name = 'CANARYb'";
    assert_eq!(code(&mut client, twice), "23P01");
    let rows = client.query("SELECT id FROM note WHERE city = 'x'", &[]);
    assert_eq!(rows.expect("rows").len(), 1);
    let sealed = "ALTER TABLE note ADD CONSTRAINT two EXCLUDE (name WITH =)";
    assert_eq!(code(&mut client, sealed), "0A000");
}
