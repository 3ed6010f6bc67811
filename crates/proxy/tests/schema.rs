//! Whoever changes the schema, and however: the proxy plans by what it is.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::tap::Tap;
use crate::common::{Setup, client_of};
use proxy::Running;
use server_testkit::{Options, Postgres};

const RULES: &str = "[columns.note]\ntext = { type = \"text\" }\n";

/// Longer than the time between two checks, where a check is quick.
const NOTICED: Duration = Duration::from_millis(1500);

/// Longer than it takes until a change past the proxy is noticed on a busy machine, where checks
/// are slow and so are rarer.
const NOTICED_MAX: Duration = Duration::from_secs(60);

/// Sends statements until the catalogues have been checked once more.
pub fn until_checked(setup: &Setup, client: &mut postgres::Client) {
    let checks = || count(&setup.tap.sent(), b"hashtextextended");
    let (before, deadline) = (checks(), Instant::now() + NOTICED_MAX);
    while checks() == before {
        assert!(Instant::now() < deadline, "the catalogues are not checked");
        sleep(Duration::from_millis(100));
        client.batch_execute("SELECT 1").expect("answered");
    }
}

#[test]
fn a_view_that_is_created_past_the_proxy_takes_nothing_in_clear() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    for text in [
        "CREATE TABLE note (id integer, text text)",
        "CREATE TABLE plain (id integer, text text)",
        "INSERT INTO plain VALUES (1, 'plain')",
    ] {
        client.batch_execute(text).expect(text);
    }
    let mut direct = setup.server.connect();
    for (number, change) in [
        "CREATE VIEW shown AS SELECT id, text FROM note",
        "ALTER TABLE plain RENAME TO other; ALTER VIEW shown RENAME TO plain",
        "DROP VIEW plain; CREATE TABLE plain () INHERITS (note)",
        "ALTER TABLE plain NO INHERIT note; ALTER TABLE plain RENAME TO former; \
         CREATE VIEW plain AS SELECT id, text FROM note",
    ]
    .into_iter()
    .enumerate()
    {
        direct.batch_execute(change).expect(change);
        until_checked(&setup, &mut client);
        let view = if number == 0 { "shown" } else { "plain" };
        let insert = format!("INSERT INTO {view} VALUES ({number}, 'CANARY {number}')");
        client.batch_execute(&insert).expect(change);
        let stored = direct.query_one(
            "SELECT count(*) FROM note WHERE id = $1",
            &[&(number as i32)],
        );
        assert_eq!(stored.expect("a row").get::<_, i64>(0), 1, "{change}");
    }
}

/// A session that is in a transaction looks, too; and one that has prepared its statement.
#[test]
fn a_change_past_the_proxy_is_noticed_in_a_transaction_and_by_who_has_prepared() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    for text in [
        "CREATE TABLE note (id integer, text text)",
        "CREATE TABLE plain (id integer, text text)",
    ] {
        client.batch_execute(text).expect("created");
    }
    let insert = "INSERT INTO plain VALUES (1, $1)";
    let statement = client.prepare(insert).expect("prepared");
    client.execute(&statement, &[&"plain"]).expect("a row");
    client.batch_execute("BEGIN; SELECT 1").expect("begun");
    let mut direct = setup.server.connect();
    direct
        .batch_execute(
            "ALTER TABLE plain RENAME TO other; CREATE VIEW plain AS SELECT id, text FROM note",
        )
        .expect("changed");
    until_checked(&setup, &mut client);
    let error = client
        .execute(&statement, &[&"CANARY"])
        .expect_err("it means something else");
    let code = error.code().expect("the proxy says why").code().to_owned();
    assert_eq!(code, "0A000");
    client.batch_execute("ROLLBACK").expect("ended");
    client.execute(insert, &[&"CANARY"]).expect("it is sealed");
}

/// A look takes a snapshot, which some statements must come before.
#[test]
fn a_transaction_takes_its_snapshot_when_the_client_says() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    let mut other = setup.connect();
    client
        .batch_execute("CREATE TABLE note (id integer, text text)")
        .expect("created");
    client.batch_execute("BEGIN").expect("begun");
    sleep(NOTICED);
    client
        .batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .expect("no query came before it");
    sleep(NOTICED);
    client
        .batch_execute("LOCK note IN ACCESS SHARE MODE")
        .expect("locked");
    other
        .batch_execute("INSERT INTO note VALUES (1, 'CANARY')")
        .expect("sealed");
    let row = client
        .query_one("SELECT count(*) FROM note", &[])
        .expect("a row");
    assert_eq!(
        row.get::<_, i64>(0),
        1,
        "the snapshot is of before the first query"
    );
}

/// What sessions do themselves, and temporary tables, are no reason to read the schema again.
#[test]
fn what_changes_no_schema_costs_no_reading() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    client
        .batch_execute("CREATE TABLE note (id integer, text text)")
        .expect("created");
    client
        .batch_execute("INSERT INTO note VALUES (1, 'CANARY')")
        .expect("sealed");
    let mut direct = setup.server.connect();
    for text in [
        "CREATE TEMP TABLE own (i integer)",
        "ANALYZE",
        "VACUUM note",
    ] {
        direct.batch_execute(text).expect(text);
    }
    let reads = |setup: &Setup| count(&setup.tap.sent(), b"pg_get_viewdef");
    let before = reads(&setup);
    until_checked(&setup, &mut client);
    client
        .batch_execute("SELECT id FROM note WHERE text = 'CANARY'")
        .expect("read");
    assert_eq!(reads(&setup), before);
    direct
        .batch_execute("CREATE INDEX ON note (id)")
        .expect("done");
    until_checked(&setup, &mut client);
    client
        .batch_execute("SELECT id FROM note WHERE text = 'CANARY'")
        .expect("read");
    assert_eq!(reads(&setup), before + 1);
}

/// A second proxy before the same server; both have a user who watches.
fn with_watches(lease_seconds: u32) -> (Setup, Running, tempfile::TempDir) {
    let watch = format!(
        "schema_check_seconds = 3600\n[proxy.watch]\nuser = \"watcher\"\n\
         schema_lease_seconds = {lease_seconds}\n"
    );
    let setup = Setup::start_with(RULES, &watch);
    let mut direct = setup.server.connect();
    direct
        .batch_execute("CREATE ROLE watcher LOGIN")
        .expect("a superuser");
    let folder = tempfile::tempdir().expect("a folder");
    let address = setup.tap.address.to_string();
    let other = crate::common::proxy(&folder, &address, RULES, &watch);
    (setup, other, folder)
}

/// Whoever is told that the schema is changed may tell others, and they use another proxy.
#[test]
fn what_one_proxy_has_changed_every_other_knows_before_its_client_is_told() {
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, other, _folder) = with_watches(10);
    let mut one = setup.connect();
    let mut two = client_of(&other);
    one.batch_execute("CREATE TABLE note (id integer, text text)")
        .expect("created");
    for number in 0..40 {
        let view = format!("shown{number}");
        let plain = format!("CREATE TABLE {view} (id integer, text text)");
        one.batch_execute(&plain).expect("created");
        let insert = format!("INSERT INTO {view} VALUES (1, 'plain')");
        two.batch_execute(&insert).expect("it has no rules");
        let view = [
            format!("DROP TABLE {view}"),
            format!("CREATE VIEW {view} AS SELECT id, text FROM note"),
        ];
        // In one message, by a transaction of several, and by one of the extended protocol.
        match number % 3 {
            0 => one.batch_execute(&view.join("; ")).expect("changed"),
            1 => {
                let mut transaction = one.transaction().expect("begun");
                for text in &view {
                    transaction.batch_execute(text).expect("changed");
                }
                transaction.commit().expect("committed");
            }
            _ => {
                for text in &view {
                    one.execute(text, &[]).expect("changed");
                }
            }
        }
        let insert = insert.replace("plain", "CANARY");
        two.batch_execute(&insert).expect("it is sealed");
    }
    let row = one.query_one("SELECT count(*) FROM note WHERE text = 'CANARY'", &[]);
    assert_eq!(row.expect("a row").get::<_, i64>(0), 40);
}

#[test]
fn a_proxy_that_cannot_hear_of_changes_plans_nothing_once_its_lease_has_ended() {
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, other, _folder) = with_watches(2);
    let mut one = setup.connect();
    let mut two = client_of(&other);
    one.batch_execute("CREATE TABLE note (id integer, text text)")
        .expect("created");
    let insert = "INSERT INTO note VALUES (1, 'CANARY')";
    two.batch_execute(insert).expect("sealed");
    let prepared = two.prepare(insert).expect("prepared");
    two.batch_execute("BEGIN").expect("begun");
    let mut direct = setup.server.connect();
    direct
        .batch_execute(
            "ALTER ROLE watcher NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE usename = 'watcher'",
        )
        .expect("a superuser");
    two.execute(&prepared, &[]).expect("within the lease");
    two.batch_execute("COMMIT").expect("ended");
    sleep(Duration::from_secs(4));
    for refused in [insert, "SELECT 1", "CREATE TABLE more (i integer)"] {
        let error = two.batch_execute(refused).expect_err(refused);
        let error = error.as_db_error().expect("the proxy says why");
        assert_eq!(error.code().code(), "F0000", "{refused}");
        assert!(error.message().contains("own connection"), "{error}");
    }
    let error = two
        .execute(&prepared, &[])
        .expect_err("its plan may be old");
    assert_eq!(error.code().expect("the proxy says why").code(), "F0000");
    two.batch_execute("BEGIN").expect("it goes by no schema");
    two.batch_execute("ROLLBACK").expect("it goes by no schema");
    direct
        .batch_execute("ALTER ROLE watcher LOGIN")
        .expect("a superuser");
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = two.batch_execute(insert) {
        assert!(Instant::now() < deadline, "it never hears again: {error}");
        sleep(Duration::from_millis(100));
    }
}

/// Nobody waits for it yet, so that it would miss a change.
#[test]
fn a_proxy_that_does_not_listen_yet_sends_nothing_by_what_it_read() {
    const LEASE_SECONDS: u32 = 3;
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, other, _folder) = with_watches(LEASE_SECONDS);
    let mut one = setup.connect();
    for table in ["note", "shown"] {
        one.batch_execute(&format!("CREATE TABLE {table} (id integer, text text)"))
            .expect("created");
    }
    // From now on `one` knows who else may listen.
    sleep(Duration::from_secs(u64::from(LEASE_SECONDS) + 2));
    let mut direct = setup.server.connect();
    direct
        .batch_execute("ALTER ROLE watcher NOLOGIN")
        .expect("a superuser");
    let mut two = client_of(&other);
    let insert = "INSERT INTO shown VALUES (1, 'CANARY')";
    let error = two.batch_execute(insert).expect_err("it hears of nothing");
    assert_eq!(error.code().expect("the proxy says why").code(), "F0000");
    one.batch_execute("DROP TABLE shown; CREATE VIEW shown AS SELECT id, text FROM note")
        .expect("changed");
    direct
        .batch_execute("ALTER ROLE watcher LOGIN")
        .expect("a superuser");
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = two.batch_execute(insert) {
        assert_eq!(error.code().expect("the proxy says why").code(), "F0000");
        assert!(Instant::now() < deadline, "it never listens");
        sleep(Duration::from_millis(100));
    }
    let row = one.query_one("SELECT count(*) FROM note WHERE text = 'CANARY'", &[]);
    assert_eq!(row.expect("a row").get::<_, i64>(0), 1);
}

/// It cannot be told of a change, and goes by what it knew: whoever changes the schema waits.
#[test]
fn a_proxy_that_was_cut_off_sends_nothing_by_an_old_schema() {
    const LEASE_SECONDS: u32 = 3;
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, other, _folder) = with_watches(LEASE_SECONDS);
    let mut direct = setup.server.connect();
    let mut watches = || -> Vec<i32> {
        let text = "SELECT pid FROM pg_stat_activity WHERE application_name = 'strongroom watch'";
        let rows = direct.query(text, &[]).expect("a superuser");
        rows.iter().map(|row| row.get(0)).collect()
    };
    let mut one = setup.connect();
    for table in ["note", "shown"] {
        one.batch_execute(&format!("CREATE TABLE {table} (id integer, text text)"))
            .expect("created");
    }
    let of_one = watches();
    let mut two = client_of(&other);
    two.batch_execute("INSERT INTO shown VALUES (1, 'plain')")
        .expect("it has no rules");
    // Both have listened for a lease.
    sleep(Duration::from_secs(u64::from(LEASE_SECONDS) + 2));
    let of_two = watches();
    let of_two = of_two.iter().find(|pid| !of_one.contains(pid));
    let end = "SELECT pg_terminate_backend($1)";
    let mut direct = setup.server.connect();
    direct
        .execute(end, &[of_two.expect("it listens")])
        .expect("a superuser");
    // It is back a second after it has seen that.
    sleep(Duration::from_millis(100));
    one.batch_execute("DROP TABLE shown; CREATE VIEW shown AS SELECT id, text FROM note")
        .expect("changed");
    two.batch_execute("INSERT INTO shown VALUES (1, 'CANARY')")
        .expect("it is sealed");
}

/// Any user may notify, and say that a change was seen.
#[test]
fn whoever_else_notifies_opens_nothing_and_stops_nobody() {
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, other, _folder) = with_watches(5);
    let mut one = setup.connect();
    let mut two = client_of(&other);
    one.batch_execute("CREATE TABLE note (id integer, text text)")
        .expect("created");
    let insert = "INSERT INTO note VALUES (1, 'CANARY')";
    two.batch_execute(insert).expect("sealed");
    let flood = "DO $$ BEGIN FOR i IN 1..20000 LOOP PERFORM pg_notify('strongroom_schema', \
                 (ARRAY['changed 7 ', 'seen 7 7 ', 'x', ''])[i % 4 + 1] || i); END LOOP; END $$";
    let mut direct = setup.server.connect();
    direct.batch_execute(flood).expect("anybody may");
    for _ in 0..20 {
        one.batch_execute("CREATE OR REPLACE VIEW shown AS SELECT id, text FROM note")
            .expect("changed");
        two.batch_execute(&insert.replace("note", "shown"))
            .expect("sealed");
    }
}

/// A false server would get the password of the watch for the asking.
#[test]
fn the_watch_gives_its_password_by_scram_only() {
    const PASSWORD: &str = "CANARY of the watch";
    if !server_testkit::is_installed() {
        return;
    }
    for (method, is_let_in) in [("scram-sha-256", true), ("md5", true), ("password", false)] {
        let access =
            format!("host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 {method}\n");
        let server = Postgres::start_as(&Options {
            access: Some(&access),
            ..Options::default()
        });
        let mut direct = server.connect();
        let role = format!("CREATE ROLE watcher LOGIN PASSWORD '{PASSWORD}'");
        direct.batch_execute(&role).expect("a superuser");
        let tap = Tap::start(server.port());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("password");
        std::fs::write(&file, PASSWORD).expect("a file in the own folder");
        let watch = "[proxy.watch]\nuser = \"watcher\"\nschema_lease_seconds = 1\n\
                     password = { file = \"password\" }\n";
        let proxy = crate::common::proxy(&folder, &tap.address.to_string(), RULES, watch);
        let mut client = client_of(&proxy);
        sleep(Duration::from_secs(3));
        let watches = direct.query_one(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'strongroom watch'",
            &[],
        );
        let watches: i64 = watches.expect("a row").get(0);
        assert_eq!(watches == 1, is_let_in, "{method}");
        let answer = client.batch_execute("SELECT 1");
        assert_eq!(answer.is_ok(), is_let_in, "{method}");
        assert_eq!(count(&tap.sent(), PASSWORD.as_bytes()), 0, "{method}");
    }
}

fn count(bytes: &[u8], word: &[u8]) -> usize {
    bytes
        .windows(word.len())
        .filter(|part| *part == word)
        .count()
}
