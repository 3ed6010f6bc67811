//! `strongroom proxy` as a command: the sources of its key, and the content of its log.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/proxy_process.rs"]
mod proxy_process;

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;
use server_testkit::Postgres;

use proxy_process::{How, Proxy, plaintexts, wait_for};

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(20)" }
"#;
const CREATE: &str = "CREATE TABLE person (id integer PRIMARY KEY, name varchar(20), plain text)";

/// The key in the file of `proxy_process`, and another one.
const DIGITS: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
const OTHER_DIGITS: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5b";

const BY_ENVIRONMENT: &str = "environment = \"COLUMNS_KEY_OF_TEST\"";
const BY_COMMAND: &str = "command = 'echo \"$COLUMNS_KEY_OF_TEST\"'";

fn assert_unopened(server: &Postgres, proxy: &Proxy) {
    let text = "SELECT name FROM person";
    let arguments = ["-XAtq", "-v", "VERBOSITY=verbose", "-c", text];
    let said = server.run_at(proxy.address.port(), "psql", &arguments);
    let errors = String::from_utf8_lossy(&said.stderr);
    let wanted = "FATAL:  XX001: a value of public.person.name does not open";
    assert!(errors.contains(wanted), "{errors}");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
}

#[test]
fn the_key_is_that_of_the_file_the_environment_or_the_command() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start_with(&[("log_statement", "all")]);
    let port = server.port().to_string();
    let start = |keys: &str, digits: &str| {
        let how = How {
            keys,
            environment: &[("COLUMNS_KEY_OF_TEST", digits)],
            ..How::default()
        };
        Proxy::start_as(&port, RULES, &how)
    };
    let of_file = Proxy::start(&port, RULES, "");
    of_file.connect().unwrap().batch_execute(CREATE).unwrap();
    for (number, proxy) in [
        of_file,
        start(BY_ENVIRONMENT, DIGITS),
        start(BY_COMMAND, DIGITS),
    ]
    .iter()
    .enumerate()
    {
        let mut client = proxy.connect().unwrap();
        let id = i32::try_from(number).unwrap();
        let text = "INSERT INTO person (id, name) VALUES ($1, $2)";
        let name = format!("CANARY{id}");
        assert_eq!(client.execute(text, &[&id, &name]).unwrap(), 1);
        // What the others wrote before opens as well.
        for id in 0..=id {
            let row = client.query_one("SELECT name FROM person WHERE id = $1", &[&id]);
            assert_eq!(row.unwrap().get::<_, String>(0), format!("CANARY{id}"));
        }
    }
    for keys in [BY_ENVIRONMENT, BY_COMMAND] {
        let proxy = start(keys, OTHER_DIGITS);
        assert_unopened(&server, &proxy);
    }
    assert_eq!(plaintexts(&server), Vec::<String>::new());
}

#[test]
fn a_configuration_that_is_not_there_is_named_with_a_remedy() {
    let output = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args(["proxy", "--config", "nope.toml"])
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "strongroom: nope.toml: no such file or folder; check the name\n"
    );
}

#[test]
fn an_unavailable_key_is_reported_before_anybody_can_connect() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("strongroom.toml");
    for (keys, wanted) in [
        (
            "environment = \"COLUMNS_KEY_NOT_SET\"",
            "the environment variable COLUMNS_KEY_NOT_SET is not set",
        ),
        (
            BY_ENVIRONMENT,
            "the environment variable COLUMNS_KEY_OF_TEST",
        ),
        ("command = \"exit 3\"", "the key command failed"),
        (BY_COMMAND, "the key command"),
        ("file = \"columns.key\"", "columns.key` writes a new one"),
        (
            "file = \"columns.key\"\ncommand = \"exit 0\"",
            "[keys] names exactly one of file, environment and command",
        ),
        (
            "",
            "[keys] names exactly one of file, environment and command",
        ),
    ] {
        let text = format!(
            "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n[keys]\n{keys}\n{RULES}"
        );
        fs::write(&file, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_strongroom"))
            .args(["proxy", "--config"])
            .arg(&file)
            .env("COLUMNS_KEY_OF_TEST", "CANARY is no key")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{keys}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(wanted), "{keys}: {said}");
        assert!(!said.contains("CANARY"), "{keys}: {said}");
    }
}

/// Whoever can write the configuration chooses what is encrypted, and for which server.
#[test]
fn files_that_others_can_change_are_reported() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let config = folder.join("strongroom.toml");
    let logins = folder.join("logins.tsv");
    // Without its key it exits, after it has checked the other files.
    let text = format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n\
         logins = \"logins.tsv\"\n[keys]\nfile = \"columns.key\"\n{RULES}"
    );
    fs::write(&config, text).unwrap();
    fs::write(&logins, "").unwrap();
    let (of_config, of_logins) = ("the configuration", "the file of logins");
    for (modes, wanted) in [
        ([0o700, 0o644, 0o600], vec![]),
        ([0o1777, 0o644, 0o600], vec![]),
        (
            [0o700, 0o664, 0o600],
            vec![(of_config, "can be changed by other users", "664")],
        ),
        (
            [0o700, 0o646, 0o620],
            vec![
                (of_config, "can be changed by other users", "646"),
                (of_logins, "can be changed by other users", "620"),
            ],
        ),
        (
            [0o700, 0o600, 0o640],
            vec![(of_logins, "can be read by other users", "640")],
        ),
        (
            [0o777, 0o600, 0o600],
            vec![
                (of_config, "can be replaced by other users", "777"),
                (of_logins, "can be replaced by other users", "777"),
            ],
        ),
    ] {
        for (path, own) in [&folder, &config, &logins].into_iter().zip(modes) {
            mode(path, own);
        }
        let output = Command::new(env!("CARGO_BIN_EXE_strongroom"))
            .args(["proxy", "--config"])
            .arg(&config)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{modes:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let is_told = |line: &&str| line.contains(" WARN ") && line.contains(" other users");
        let told: Vec<&str> = said.lines().filter(is_told).collect();
        assert_eq!(told.len(), wanted.len(), "{modes:?}: {said}");
        for (line, (what, danger, mode)) in told.iter().zip(wanted) {
            let has = |part: &str| line.contains(part);
            assert!(has(what) && has(danger) && has(mode), "{modes:?}: {line}");
        }
    }
}

/// Statements that succeed, and statements that fail in various ways.
fn work(server: &Postgres, proxy: &Proxy) {
    let mut client = proxy.connect().unwrap();
    client.batch_execute(CREATE).unwrap();
    let insert = "INSERT INTO person VALUES ($1, $2, 'CANARYplain')";
    assert_eq!(client.execute(insert, &[&1, &"CANARYone"]).unwrap(), 1);
    for (text, code) in [
        ("INSERT INTO person VALUES (1, 'CANARYagain')", "23505"),
        (
            "INSERT INTO person VALUES (2, 'CANARY longer than twenty')",
            "22001",
        ),
        ("INSERT INTO person VALUES ('CANARYnumber', NULL)", "22P02"),
        (
            "SELECT md5(name) FROM person WHERE name = 'CANARYmd5'",
            "0A000",
        ),
        ("SELECT 'CANARYunparsed' FROM person garbage(", "42601"),
        ("SELECT 'CANARYunparsed' garbage(", "42601"),
        ("SELECT CAST('CANARYcast' AS integer)", "22P02"),
    ] {
        let error = client.batch_execute(text).unwrap_err();
        assert_eq!(error.code().unwrap().code(), code, "{text}");
    }
    let row = client.query_one("SELECT id FROM person WHERE name = $1", &[&"CANARYone"]);
    assert_eq!(row.unwrap().get::<_, i32>(0), 1);
    let damage = "UPDATE person SET name = name || '\\x00'";
    server.connect().batch_execute(damage).unwrap();
    assert_unopened(server, proxy);
    // Something that is not a client, and is told so.
    for packet in [&b"GET /CANARY HTTP/1.1\r\n\r\n"[..], b"\0\0\0\x0cCANARYxy"] {
        let mut socket = TcpStream::connect(proxy.address).unwrap();
        socket.write_all(packet).unwrap();
        // The connection may be reset, since not everything is read.
        let _ = socket.read_to_end(&mut Vec::new());
    }
}

#[test]
fn a_log_of_everything_is_json_and_holds_no_sql_and_no_values() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let how = How {
        arguments: &["--log-format", "json", "--log-level", "debug"],
        ..How::default()
    };
    let mut proxy = Proxy::start_as(&server.port().to_string(), RULES, &how);
    work(&server, &proxy);
    proxy.signal("TERM");
    assert!(proxy.wait().success());
    let log = proxy.log();
    let mut messages = Vec::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| {
            panic!("{error}: {line}");
        });
        for field in ["timestamp", "level"] {
            assert!(line[field].is_string(), "{line}");
        }
        messages.push(line["fields"]["message"].as_str().unwrap().to_owned());
    }
    for wanted in ["listening", "no session", "draining"] {
        assert!(messages.iter().any(|message| message == wanted), "{log}");
    }
    for word in ["CANARY", "SELECT", "INSERT", "garbage"] {
        assert!(!log.contains(word), "{word} is in {log}");
    }
}

/// Nothing that other programs can read of the process contains the key that it was started with.
#[test]
fn a_key_leaves_the_environment_and_no_dump_is_written() {
    let start = |keys| {
        let how = How {
            keys,
            environment: &[("COLUMNS_KEY_OF_TEST", DIGITS), ("ANOTHER_OF_TEST", "kept")],
            ..How::default()
        };
        // Nobody connects, so it needs no server.
        Proxy::start_as("1", RULES, &how)
    };
    let proxy = start(BY_ENVIRONMENT);
    for file in ["environ", "cmdline"] {
        // Only root can read these.
        let text = proxy.of_process(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("5a5a"), "{text}");
        assert!(!text.contains("COLUMNS_KEY_OF_TEST"), "{text}");
        if file == "environ" && nix::unistd::geteuid().is_root() {
            assert!(text.contains("ANOTHER_OF_TEST=kept"), "{text}");
        }
    }
    let limits = String::from_utf8(proxy.of_process("limits").unwrap()).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core"));
    let words: Vec<&str> = core.unwrap().split_whitespace().collect();
    assert_eq!(words[..6], ["Max", "core", "file", "size", "0", "0"]);
    let is_locked = proxy.memory_kib("VmLck") > 0;
    assert_ne!(is_locked, proxy.log().contains("LimitMEMLOCK=infinity"));
    wait_for(|| proxy.log().contains("listening"));
}

/// A process that may not trace this one may not read its memory either: neither a debugger of the
/// same user, nor by its files below `/proc`.
#[test]
fn another_process_of_the_same_user_reads_nothing() {
    const NOBODY: u32 = 65534;
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let reaches = |path: &std::path::Path| {
        let mut look = Command::new("test");
        look.arg("-x").arg(path).uid(NOBODY).gid(NOBODY);
        look.status().is_ok_and(|status| status.success())
    };
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("strongroom");
    fs::copy(env!("CARGO_BIN_EXE_strongroom"), &program).unwrap();
    if !reaches(&program) {
        return;
    }
    let file = folder.path().join("strongroom.toml");
    let text = "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n";
    fs::write(&file, text).unwrap();
    for (more, may_read) in [(&[][..], false), (&["--allow-dumps"][..], true)] {
        let mut child = Command::new(&program)
            .args(["proxy", "--config"])
            .arg(&file)
            .args(more)
            .uid(NOBODY)
            .gid(NOBODY)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut lines = log.lines().map_while(Result::ok);
        let starts = lines.any(|line| line.contains("listening"));
        let of_process = |name: &str| {
            let mut read = Command::new("cat");
            read.arg(format!("/proc/{}/{name}", child.id()));
            let said = read.uid(NOBODY).gid(NOBODY).output().unwrap();
            said.status.success()
        };
        let read = ["environ", "maps"].map(of_process);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(starts);
        assert_eq!(read, [may_read; 2], "{more:?}");
    }
}
