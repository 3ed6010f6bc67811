//! The lab's shell, and user-defined engines.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::io::Write;
use std::process::{Output, Stdio};

use support::{Place, program};

/// Runs a script on an engine's database in the folder, as the lab does.
fn lab_shell(place: &Place, engine: &str, script: &str) -> Output {
    let options = r#"{"libraries":[],"files":[],"url_variables":[]}"#;
    let folder = place.folder().display();
    let request = format!(r#"{{"engine":"{engine}","options":{options},"folder":"{folder}"}}"#);
    let mut child = program(place.folder())
        .arg("lab-shell")
        .env("STRONGROOM_LAB_SHELL", request)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A shell that fails early reads nothing.
    let _ = child.stdin.take().unwrap().write_all(script.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn rows(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_script_runs_and_its_rows_are_csv() {
    for engine in [
        "sqlite",
        "sqlite-wal",
        "strongroom",
        "strongroom-aes-256-gcm-wal",
    ] {
        let place = Place::new();
        place.write("key", [7u8; 32]);
        let create = "CREATE TABLE t(\n  a, b\n); INSERT INTO t VALUES(1, 'x, \"y\"');\n\
                      -- done; really\nINSERT INTO t VALUES(2.50, NULL), (x'41', '');";
        assert_eq!(rows(&lab_shell(&place, engine, create)), "");
        let select = "SELECT a, b FROM t ORDER BY rowid;SELECT count(*) FROM t";
        let expected = "1,\"x, \"\"y\"\"\"\n2.5,\nA,\"\"\n3\n";
        assert_eq!(
            rows(&lab_shell(&place, engine, select)),
            expected,
            "{engine}"
        );
        let plain = place.bytes("speed.db").starts_with(b"SQLite format 3\0");
        assert_eq!(plain, engine.starts_with("sqlite"), "{engine}");
    }
}

#[test]
fn a_script_ends_at_its_first_failing_statement() {
    let place = Place::new();
    let script = "CREATE TABLE t(a); SELECT 1; SELECT * FROM absent; DROP TABLE t;";
    let output = lab_shell(&place, "sqlite", script);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"1\n");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("statement 3 of the script failed: no such table: absent"),
        "{message}"
    );
    assert_eq!(
        rows(&lab_shell(&place, "sqlite", "SELECT count(*) FROM t")),
        "0\n"
    );
}

#[test]
fn a_shell_that_is_asked_wrong_says_so() {
    let place = Place::new();
    let message = place.run(&["lab-shell"]).failed();
    assert!(message.contains("not by hand"), "{message}");
    let output = lab_shell(&place, "no-such", "SELECT 1");
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("no engine `no-such`")
    );
}

#[test]
fn a_library_that_cannot_serve_is_refused_before_anything_runs() {
    let place = Place::new();
    place.write("libtext.so", "no library");
    let compare = |path: &str, engine: &str| {
        let library = ["compare", "--sqlite-library", path, "--engines", engine];
        place.run(&library).failed()
    };
    let message = compare("libtext.so", "libtext-nosync");
    assert!(message.contains("not a shared library"), "{message}");
    let message = compare("absent/libx.so", "libx");
    assert!(message.contains("there is no file"), "{message}");
    let message = compare("libtext.so", "libx");
    assert!(message.contains("no engine `libx`"), "{message}");
    let twice = [
        "compare",
        "--list",
        "--sqlite-library",
        "a.so",
        "--sqlite-library",
        "b/a.so.1",
    ];
    assert!(place.run(&twice).failed().contains("name `a`"));
    let taken = ["compare", "--list", "--sqlite-library", "SQLite.so"];
    assert!(place.run(&taken).failed().contains("name `sqlite`"));
    let list = place
        .run(&["compare", "--list", "--sqlite-library", "libtext.so"])
        .fine();
    assert!(list.contains("libtext-nosync"), "{list}");
}

fn write_below(place: &Place, name: &str, content: &str) {
    std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
    place.write(name, content);
}

/// `lab` with a home in the folder and without any of the programs that download.
fn lab(place: &Place, arguments: &[&str]) -> Output {
    program(place.folder())
        .arg("lab")
        .args(arguments)
        .env("STRONGROOM_LAB_HOME", place.path("home"))
        .env("CARGO", place.path("no-cargo"))
        .env("PATH", place.folder())
        .output()
        .unwrap()
}

#[test]
fn missing_engines_are_listed_and_named_if_requested() {
    let place = Place::new();
    let list = rows(&lab(&place, &["list"]));
    assert!(
        list.contains("`strongroom lab install sqlcipher`"),
        "{list}"
    );
    let compare = program(place.folder())
        .args(["compare", "--engines", "sqlite,sqlite3mc-aegis-rawkey"])
        .env("STRONGROOM_LAB_HOME", place.path("home"))
        .output()
        .unwrap();
    let message = String::from_utf8(compare.stderr).unwrap();
    assert!(
        message.contains("`strongroom lab install sqlite3mc`"),
        "{message}"
    );
    let library = format!(
        "home/sqlcipher/libsqlcipher.{}",
        std::env::consts::DLL_EXTENSION
    );
    write_below(&place, &library, "found, not loaded");
    let list = rows(&lab(&place, &["list"]));
    assert!(
        !list.contains("`strongroom lab install sqlcipher`"),
        "{list}"
    );
}

#[test]
fn system_packages_are_named_or_found_and_need_no_folder() {
    let place = Place::new();
    let output = lab(&place, &["install", "mariadb"]);
    let said = String::from_utf8_lossy(&output.stdout);
    let message = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => assert!(said.contains("MariaDB is there already"), "{said}"),
        _ => assert!(
            message.contains("`apt-get install mariadb-server"),
            "{message}"
        ),
    }
    // Without a package manager, permission to install changes nothing.
    let permitted = lab(&place, &["install", "mariadb", "--yes"]);
    assert_eq!(permitted.status, output.status, "{permitted:?}");
    assert!(!place.exists("home/mariadb"));
}

#[test]
fn a_failed_installation_keeps_the_earlier_one() {
    let place = Place::new();
    write_below(&place, "home/sqlcipher/older", "still here");
    write_below(&place, "home/.sqlcipher-new/left", "by one that was killed");
    for (name, program) in [("sqlcipher", "no-cargo"), ("sqlite3mc", "npm")] {
        let output = lab(&place, &["install", name]);
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            message.contains(program) && message.contains("install"),
            "{message}"
        );
    }
    assert_eq!(place.bytes("home/sqlcipher/older"), b"still here");
    let left = std::fs::read_dir(place.path("home")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".lock", "sqlcipher"]);
    let output = lab(&place, &["install", "sqlite3mc", "typo"]);
    assert!(output.stdout.is_empty(), "nothing is fetched");
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("by the name `typo`")
    );
}
