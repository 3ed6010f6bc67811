//! What every engine must do, checked for each.

#[path = "support/databases.rs"]
mod databases;
#[path = "support/facts.rs"]
mod facts;
mod support;

use std::fs;
use std::path::Path;

use lab::answer::{Answers, Value};
use lab::engine::{Durability, Engine, EngineError, Profile, Server};

use databases::{answers, odd_folder};

const CANARY: &str = "a row that says thousand";

/// The engines that can be used on this machine; the others are printed.
fn engines() -> Vec<Box<dyn Engine>> {
    let mut engines = lab_engines::all(&support::options());
    // Set if all of them must be installed.
    let all_required = std::env::var_os("STRONGROOM_LAB_PEERS").is_some();
    engines.retain(|engine| {
        // Servers have separate tests.
        if engine.server() != Server::None {
            return false;
        }
        let missing = engine.missing();
        if let Some(missing) = &missing {
            let Profile { name, family, .. } = engine.profile();
            println!("left out: {name}: {missing}");
            let is_peer = ["sqlcipher", "sqlite3mc"].contains(&family.as_str());
            assert!(!(is_peer && all_required), "{name}: {missing}");
        }
        missing.is_none()
    });
    engines
}

fn each(check: impl Fn(&dyn Engine, &Path)) {
    let engines = engines();
    assert!(engines.len() >= 3);
    for engine in engines {
        let name = engine.profile().name.clone();
        println!("engine {name}");
        check(engine.as_ref(), odd_folder().path());
    }
}

#[test]
fn rows_keep_their_types_and_survive_closing() {
    each(|engine, folder| {
        engine.create(folder).unwrap();
        let insert = format!("INSERT INTO t VALUES(1, 2.5, '{CANARY}', x'00ff', NULL);");
        let create = "CREATE TABLE t(a INTEGER, b REAL, c TEXT, d BLOB, e TEXT);";
        assert_eq!(answers(engine, folder, &[create, &insert]).row_count(), 0);
        let found = answers(engine, folder, &["SELECT * FROM t;"]);
        assert_eq!(
            found.values(),
            [
                Value::Integer(1),
                Value::Real(2.5),
                Value::Text(CANARY.into()),
                Value::Blob(vec![0, 255]),
                Value::Null,
            ]
        );
    });
}

#[test]
fn a_failing_statement_is_named() {
    each(|engine, folder| {
        engine.create(folder).unwrap();
        let mut connection = engine.open(folder).unwrap();
        let failure = connection.run(
            &[
                "CREATE TABLE t(a);",
                "SELECT nothing FROM t;",
                "DROP TABLE t;",
            ],
            &mut Answers::default(),
        );
        let Err(EngineError::Statement {
            number, statement, ..
        }) = failure
        else {
            panic!("{failure:?}");
        };
        assert_eq!((number, statement.as_str()), (2, "SELECT nothing FROM t;"));
        // No statement after the failing one has run.
        connection
            .run(&["SELECT * FROM t;"], &mut Answers::default())
            .unwrap();
    });
}

#[test]
fn the_reported_settings_agree_with_the_profile() {
    each(|engine, folder| {
        engine.create(folder).unwrap();
        let settings = engine.open(folder).unwrap().settings().unwrap();
        let of = |name: &str| {
            settings
                .iter()
                .find(|setting| setting.0 == name)
                .map(|setting| setting.1.as_str())
        };
        let synchronous = match engine.profile().durability {
            Durability::Full => "2",
            Durability::Delayed => "1",
            Durability::None => "0",
        };
        assert_eq!(of("synchronous"), Some(synchronous));
        let logs = engine.profile().name.ends_with("-wal");
        let journal_mode = if logs { "wal" } else { "delete" };
        assert_eq!(of("journal_mode"), Some(journal_mode));
        assert_eq!(of("page_size"), Some("4096"));
        assert_eq!(of("cache_size"), Some("-2000"));
        assert_eq!(of("busy_timeout"), Some("5000"));
        assert!(of("sqlite").is_some());
        if engine.profile().family == "strongroom" {
            assert_eq!(of("strongroom_cipher"), engine.profile().cipher.as_deref());
        }
    });
}

#[test]
fn rows_can_be_read_on_the_disk_exactly_where_there_is_no_cipher() {
    each(|engine, folder| {
        engine.create(folder).unwrap();
        let insert = format!("INSERT INTO t VALUES('{CANARY}');");
        answers(engine, folder, &["CREATE TABLE t(a);", &insert]);
        let readable = fs::read_dir(folder).unwrap().any(|entry| {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            bytes
                .windows(CANARY.len())
                .any(|window| window == CANARY.as_bytes())
        });
        assert_eq!(readable, engine.profile().cipher.is_none());
    });
}

#[test]
fn the_speed_tests_have_the_same_answers_everywhere_and_the_known_tables() {
    let tests = workloads::speed::tests();
    let mut reference: Option<Vec<String>> = None;
    for engine in engines() {
        // Engines that wait for the disk and those that do not differ only in time.
        if engine.profile().durability == Durability::Full {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        engine.create(folder.path()).unwrap();
        let mut connection = engine.open(folder.path()).unwrap();
        let mut digests = Vec::new();
        for test in &tests {
            let statements: Vec<&str> = test.statements().collect();
            let mut answers = Answers::default();
            connection.run(&statements, &mut answers).unwrap();
            digests.push(answers.recorded().name);
            facts::hold(connection.as_mut(), test);
        }
        connection.close().unwrap();
        let reference = reference.get_or_insert_with(|| digests.clone());
        assert_eq!(&digests, reference, "{}", engine.profile().name);
    }
}

#[test]
fn names_and_bases_fit_together() {
    let engines = lab_engines::all(&support::options());
    let names: Vec<&str> = engines
        .iter()
        .map(|engine| engine.profile().name.as_str())
        .collect();
    for engine in &engines {
        let profile = engine.profile();
        assert_eq!(
            names.iter().filter(|name| **name == profile.name).count(),
            1
        );
        if let Some(base) = &profile.base {
            assert!(names.contains(&base.as_str()), "{base}");
        }
        assert_eq!(
            lab_engines::named(&profile.name, &support::options())
                .unwrap()
                .profile(),
            profile
        );
    }
    assert!(lab_engines::DEFAULT.iter().all(|name| names.contains(name)));
    assert!(lab_engines::named("sqlite ", &support::options()).is_none());
}
