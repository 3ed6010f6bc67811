//! What every engine must do (as in `conformance.rs`), in the SQL of the servers; and what only a
//! server can do: die, or fail to start. Servers that are not installed are printed and skipped.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/databases.rs"]
mod databases;
#[path = "support/facts.rs"]
mod facts;
#[path = "support/servers.rs"]
mod servers;

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Stdio};

use lab::answer::{Answers, Value};
use lab::engine::{Durability, Engine, EngineError, EngineOptions, Server, whole_message};
use lab::processes::descendants;
use workloads::Dialect;

use databases::answers;
use servers::each;

const CANARY: &str = "a row that says thousand";

fn mentions(folder: &Path, words: &str) -> bool {
    let found = lab::probe::canary::look(folder, words.as_bytes()).unwrap();
    !found.found_in.is_empty()
}

#[test]
fn servers_do_what_every_engine_must() {
    each(
        |_| true,
        |engine, folder| {
            engine.create(folder).unwrap();
            rows_keep_their_types_and_survive_the_server(engine, folder);
            a_failing_statement_is_named(engine, folder);
            the_settings_agree_with_the_profile(engine, folder);
            a_shell_gives_the_same_rows(engine, folder);
            let sockets = fs::read_dir(folder).unwrap();
            assert!(
                !sockets
                    .flatten()
                    .any(|entry| entry.file_type().unwrap().is_socket())
            );
            engine.stop().unwrap();
            assert!(mentions(folder, CANARY));
        },
    );
}

fn rows_keep_their_types_and_survive_the_server(engine: &dyn Engine, folder: &Path) {
    let (create, blob) = match engine.profile().dialect {
        Dialect::Postgres => (
            "CREATE TABLE t(a INTEGER, b REAL, c TEXT, d BYTEA, e TEXT, f NUMERIC(9,3), g BIGINT);",
            r"'\x00ff'",
        ),
        _ => (
            "CREATE TABLE t(a INTEGER, b REAL, c TEXT, d BLOB, e TEXT, f DECIMAL(9,3), g BIGINT);",
            "x'00ff'",
        ),
    };
    let insert = format!("INSERT INTO t VALUES(1, 2.5, '{CANARY} ü', {blob}, NULL, 1.125, -7);");
    assert_eq!(answers(engine, folder, &[create, &insert]).row_count(), 0);
    engine.stop().unwrap();
    let query = "SELECT a, b, c, d, e, f, g, sum(a), avg(a), count(*) \
                 FROM t GROUP BY a, b, c, d, e, f, g;";
    let found = answers(engine, folder, &[query]);
    assert_eq!(
        found.values(),
        [
            Value::Integer(1),
            Value::Real(2.5),
            Value::Text(format!("{CANARY} ü")),
            Value::Blob(vec![0, 255]),
            Value::Null,
            Value::Real(1.125),
            Value::Integer(-7),
            Value::Integer(1),
            Value::Real(1.0),
            Value::Integer(1),
        ]
    );
}

fn a_failing_statement_is_named(engine: &dyn Engine, folder: &Path) {
    let mut connection = engine.open(folder).unwrap();
    let statements = [
        "CREATE TABLE u(a INTEGER);",
        "SELECT nothing FROM u;",
        "DROP TABLE u;",
    ];
    let failure = connection.run(&statements, &mut Answers::default());
    let Err(EngineError::Statement {
        number,
        statement,
        source,
    }) = failure
    else {
        panic!("{failure:?}");
    };
    assert_eq!((number, statement.as_str()), (2, statements[1]));
    assert!(source.to_string().contains("nothing"), "{source}");
    // No statement after the failing one has run, and the connection is still usable.
    connection
        .run(&["SELECT * FROM u;"], &mut Answers::default())
        .unwrap();
    connection.close().unwrap();
}

fn the_settings_agree_with_the_profile(engine: &dyn Engine, folder: &Path) {
    let settings = engine.open(folder).unwrap().settings().unwrap();
    let of = |name: &str| {
        let found = settings.iter().find(|setting| setting.0 == name);
        found.map_or("", |setting| setting.1.as_str())
    };
    let waits = engine.profile().durability == Durability::Full;
    match engine.profile().family.as_str() {
        "postgres" => {
            assert_eq!(of("product"), "PostgreSQL");
            assert_eq!(of("fsync"), "on");
            assert_eq!(of("synchronous_commit"), if waits { "on" } else { "off" });
        }
        family => {
            let product = if family == "mariadb" {
                "MariaDB"
            } else {
                "MySQL"
            };
            assert_eq!(of("product"), product);
            let flush = if waits { "1" } else { "2" };
            assert_eq!(of("innodb_flush_log_at_trx_commit"), flush);
        }
    }
    assert!(of("version").starts_with(|first: char| first.is_ascii_digit()));
}

fn a_shell_gives_the_same_rows(engine: &dyn Engine, folder: &Path) {
    let command = engine.script_command(folder).unwrap();
    assert!(!format!("{:?}", command.arguments).contains("password"));
    let variables = command
        .environment
        .iter()
        .map(|(name, value)| (name, value));
    let mut shell = Command::new(&command.program)
        .args(&command.arguments)
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = b"SELECT a, c, e, g FROM t;\n";
    std::io::Write::write_all(&mut shell.stdin.take().unwrap(), script).unwrap();
    let output = shell.wait_with_output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let row = match command.output {
        lab::engine::ScriptOutput::Csv => format!("1,{CANARY} ü,,-7\n"),
        lab::engine::ScriptOutput::Tsv => format!("1\t{CANARY} ü\tNULL\t-7\n"),
    };
    assert_eq!(said, row);
}

/// Servers that wait for the disk and those that do not differ only in time.
#[test]
fn the_speed_tests_leave_the_known_tables() {
    let tests = workloads::speed::tests();
    let lets_the_disk_follow =
        |engine: &dyn Engine| engine.profile().durability != Durability::Full;
    each(lets_the_disk_follow, |engine, folder| {
        engine.create(folder).unwrap();
        let mut connection = engine.open(folder).unwrap();
        for test in &tests {
            let statements: Vec<&str> = test.statements().collect();
            connection
                .run(&statements, &mut Answers::default())
                .unwrap();
            facts::hold(connection.as_mut(), test);
        }
        connection.close().unwrap();
        engine.stop().unwrap();
    });
}

/// Without loading all rows, which takes a minute and shows nothing more about the dialects.
#[test]
fn the_pinger_tables_are_made_and_its_queries_run() {
    const LOAD: u32 = 4;
    let spec = workloads::Spec::named("pinger").unwrap();
    let lets_the_disk_follow =
        |engine: &dyn Engine| engine.profile().durability != Durability::Full;
    each(lets_the_disk_follow, |engine, folder| {
        let workload = workloads::build(&spec, engine.profile().dialect).unwrap();
        engine.create(folder).unwrap();
        let mut connection = engine.open(folder).unwrap();
        for test in workload.tests.iter().filter(|test| test.number != LOAD) {
            let statements: Vec<&str> = test.statements().collect();
            connection
                .run(&statements, &mut Answers::default())
                .unwrap();
            facts::hold(connection.as_mut(), test);
        }
        connection.close().unwrap();
        engine.stop().unwrap();
    });
}

#[test]
fn a_killed_server_is_reported_with_its_last_words() {
    let waits = |engine: &dyn Engine| engine.profile().durability == Durability::Full;
    each(waits, |engine, folder| {
        engine.create(folder).unwrap();
        let mut connection = engine.open(folder).unwrap();
        connection
            .run(&["SELECT 1;"], &mut Answers::default())
            .unwrap();
        let this_process = std::process::id().cast_signed();
        let data = folder.join("server").join("data").display().to_string();
        let server = descendants(this_process).into_iter().find(|process| {
            let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            process.parent == this_process && String::from_utf8_lossy(&line).contains(&data)
        });
        let pid = server.unwrap().pid.to_string();
        assert!(
            Command::new("kill")
                .args(["-9", &pid])
                .status()
                .unwrap()
                .success()
        );
        // PostgreSQL's process for this connection may answer until it has noticed.
        let mut failure = Ok(());
        while failure.is_ok() {
            failure = connection.run(&["SELECT 2;"], &mut Answers::default());
        }
        let message = whole_message(&failure.unwrap_err());
        assert!(message.contains("SELECT 2"), "{message}");
        assert!(
            message.contains("the server has ended (signal: 9"),
            "{message}"
        );
        assert!(message.contains("it said: "), "{message}");
    });
}

#[test]
fn a_server_that_cannot_be_initialised_says_why() {
    let waits = |engine: &dyn Engine| engine.profile().durability == Durability::Full;
    each(waits, |engine, folder| {
        let folder = folder.join("full");
        fs::create_dir(&folder).unwrap();
        // Needs root, and a system that allows mounts.
        let mount = ["-t", "tmpfs", "-o", "size=8m,mode=755", "tmpfs"];
        let mounted = Command::new("mount")
            .args(mount)
            .arg(&folder)
            .output()
            .unwrap();
        if !mounted.status.success() {
            println!("left out: no small file system: {mounted:?}");
            return;
        }
        let failure = engine.create(&folder);
        drop(engine.stop());
        assert!(
            Command::new("umount")
                .arg(&folder)
                .status()
                .unwrap()
                .success()
        );
        let message = whole_message(&failure.unwrap_err());
        assert!(
            message.starts_with("the database could not be created"),
            "{message}"
        );
        assert!(message.contains("it said: "), "{message}");
        let full = ["No space left", "OS errno 28", "error 28", "disk is full"];
        assert!(
            full.iter().any(|words| message.contains(words)),
            "{message}"
        );
    });
}

/// A server started by the test stands in for one that is already running.
#[test]
fn a_server_with_a_url_is_left_unchanged() {
    let waits = |engine: &dyn Engine| engine.profile().durability == Durability::Full;
    each(waits, |engine, folder| {
        engine.create(folder).unwrap();
        let password = fs::read_to_string(folder.join("server").join("password")).unwrap();
        let port = port_of(engine, folder);
        let (product, user) = match engine.profile().dialect {
            Dialect::Postgres => (lab_engines::POSTGRES, "postgres"),
            _ => (lab_engines::MYSQL, "lab"),
        };
        let url = match product {
            lab_engines::POSTGRES => {
                format!("postgresql://{user}:{password}@127.0.0.1:{port}/{user}")
            }
            _ => format!("mysql://{user}:{password}@127.0.0.1:{port}"),
        };
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "as_a_guest"])
            .env("LAB_TEST_URL", url)
            .env("LAB_TEST_PRODUCT", product)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        assert!(
            said.contains("1 passed") && !said.contains(&password),
            "{said}"
        );
        let schemas = "SELECT count(*) FROM information_schema.schemata \
                       WHERE schema_name LIKE 'strongroom%';";
        assert_eq!(
            answers(engine, folder, &[schemas]).values(),
            [Value::Integer(0)]
        );
        engine.stop().unwrap();
    });
}

fn port_of(engine: &dyn Engine, folder: &Path) -> String {
    let question = match engine.profile().dialect {
        Dialect::Postgres => "SELECT current_setting('port');",
        _ => "SELECT @@port;",
    };
    match &answers(engine, folder, &[question]).values()[0] {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "a part of the test above, in a process of its own for the sake of its environment"]
fn as_a_guest() {
    let product = std::env::var("LAB_TEST_PRODUCT").unwrap();
    let mut options = EngineOptions::default();
    options
        .url_variables
        .push((product.clone(), "LAB_TEST_URL".to_owned()));
    let engine = lab_engines::named(&format!("{product}-url"), &options).unwrap();
    assert_eq!(
        (engine.server(), engine.missing()),
        (Server::Elsewhere, None)
    );
    let folder = tempfile::tempdir().unwrap();
    engine.create(folder.path()).unwrap();
    let rows = [
        "CREATE TABLE t(a INTEGER);",
        "INSERT INTO t VALUES(7);",
        "SELECT a FROM t;",
    ];
    let found = answers(engine.as_ref(), folder.path(), &rows);
    assert_eq!(found.values(), [Value::Integer(7)]);
    let found = answers(engine.as_ref(), folder.path(), &["SELECT a FROM t;"]);
    assert_eq!(found.values(), [Value::Integer(7)]);
    engine.stop().unwrap();
}
