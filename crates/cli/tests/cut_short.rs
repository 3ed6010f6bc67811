//! `encrypt`, `decrypt`, `backup` and `import` killed at each of their system calls, and the order
//! of these calls: the old file stays until the new one is synced.
//!
//! strace kills the program (`--inject`), and records what it did.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use std::path::Path;
use std::process::Command;
use support::{Place, program};

/// Calls that change files, or make changes durable.
const CALLS: &str = "openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,\
                     link,linkat,unlink,unlinkat";

/// An operation on the files of a [`Place`] that [`prepared`] made.
struct Operation {
    arguments: &'static [&'static str],
    /// The file that it creates or replaces.
    target: &'static str,
    /// Whether that is a plain file.
    plain: bool,
}

const OPERATIONS: [Operation; 4] = [
    Operation {
        arguments: &["encrypt", "plain.db", "new.db", "--key-file", "key"],
        target: "new.db",
        plain: false,
    },
    Operation {
        arguments: &["decrypt", "a.db", "new.db", "--key-file", "key"],
        target: "new.db",
        plain: true,
    },
    Operation {
        arguments: &["backup", "a.db", "new.db", "--key-file", "key"],
        target: "new.db",
        plain: false,
    },
    Operation {
        arguments: &[
            "import",
            "--from",
            "plain",
            "--in-place",
            "old.db",
            "--new-key-file",
            "key",
        ],
        target: "old.db",
        plain: false,
    },
];

const ROWS: &str = "500\n";

/// A plain database twice, and an encrypted one.
fn prepared() -> Place {
    let place = Place::new();
    place.key("key");
    place.plain_database("plain.db");
    place.write("old.db", place.bytes("plain.db"));
    let encrypt = ["encrypt", "plain.db", "a.db", "--key-file", "key"];
    place.run(&encrypt).fine();
    place
}

/// The program under strace.
fn traced(place: &Place, operation: &Operation, more: &[&str]) -> Command {
    let mut command = Command::new("strace");
    let plain = program(place.folder());
    command
        .args(["-f", "-y", "-s", "0", "-o", "trace", "-e"])
        .arg(format!("trace={CALLS}"))
        .args(more)
        .arg(plain.get_program())
        .args(operation.arguments)
        .current_dir(place.folder());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn rows(place: &Place, name: &str, plain: bool) -> String {
    let mut arguments = vec!["shell"];
    if !plain {
        arguments.extend(["--key-file", "key"]);
    }
    arguments.extend([name, "PRAGMA integrity_check; SELECT count(*) FROM t"]);
    place.run(&arguments).fine()
}

fn is_whole(place: &Place, name: &str, plain: bool) {
    assert_eq!(rows(place, name, plain), format!("ok\n{ROWS}"));
    if !plain {
        place.run(&["verify", name, "--key-file", "key"]).fine();
    }
}

#[test]
fn a_kill_at_any_call_leaves_the_old_file_or_the_complete_new_one() {
    for operation in &OPERATIONS {
        let mut kills = 0;
        for number in 1.. {
            let place = prepared();
            let before = ["plain.db", "a.db", "old.db"].map(|name| (name, place.bytes(name)));
            let kill = format!("inject={CALLS}:signal=SIGKILL:when={number}");
            let output = traced(&place, operation, &["-e", &kill]).output();
            let output = output.expect("strace runs; `cargo xtask test` installs it");
            let what = || format!("{:?} killed at call {number}", operation.arguments);
            for (name, bytes) in &before {
                let replaced = *name == operation.target && place.bytes(name) != *bytes;
                if replaced {
                    is_whole(&place, name, operation.plain);
                } else {
                    assert!(place.bytes(name) == *bytes, "{}: {name}", what());
                }
            }
            if operation.target == "new.db" && place.exists("new.db") {
                is_whole(&place, "new.db", operation.plain);
            }
            if output.status.success() {
                assert!(place.exists(operation.target), "{}", what());
                break;
            }
            kills += 1;
        }
        assert!(kills > 20, "{:?}: only {kills} calls", operation.arguments);
    }
}

/// One line of a trace that changes a file or syncs one.
#[derive(Debug, PartialEq)]
enum Call {
    Write(String),
    Sync(String),
    /// From, to.
    Rename(String, String),
}

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The path that strace appends to a descriptor: `fsync(5</tmp/x>)`.
fn path_of_descriptor(line: &str) -> Option<&str> {
    let start = line.find('<')? + 1;
    Some(&line[start..start + line[start..].find('>')?])
}

fn calls(trace: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((_, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        let on_descriptor = |prefixes: &[&str]| {
            let fits = prefixes.iter().any(|prefix| call.starts_with(prefix));
            fits.then(|| path_of_descriptor(call))
                .flatten()
                .map(str::to_owned)
        };
        if let Some(path) = on_descriptor(&["pwrite64(", "ftruncate("]) {
            calls.push(Call::Write(file_name(&path)));
        } else if let Some(path) = on_descriptor(&["fsync(", "fdatasync("]) {
            calls.push(Call::Sync(file_name(&path)));
        } else if call.starts_with("rename") || call.starts_with("link") {
            let quoted: Vec<&str> = call.split('"').skip(1).step_by(2).collect();
            if let ([from, to], false) = (quoted.as_slice(), call.contains("= -1")) {
                calls.push(Call::Rename(file_name(from), file_name(to)));
            }
        }
    }
    calls
}

#[test]
fn a_file_gets_its_name_when_it_is_synced_and_its_folder_is_synced_after() {
    for operation in &OPERATIONS {
        let place = prepared();
        let status = traced(&place, operation, &[]).status().unwrap();
        assert!(status.success());
        let calls = calls(&String::from_utf8_lossy(&place.bytes("trace")));
        let folder = file_name(&place.folder().to_string_lossy());
        let named = calls
            .iter()
            .position(|call| matches!(call, Call::Rename(_, to) if to == operation.target));
        let named = named.unwrap_or_else(|| panic!("{calls:#?}"));
        let Call::Rename(beside, _) = &calls[named] else {
            unreachable!()
        };
        let last = |wanted: Call| calls[..named].iter().rposition(|call| *call == wanted);
        let written = last(Call::Write(beside.clone()));
        let synced = last(Call::Sync(beside.clone()));
        assert!(written.is_some() && written < synced, "{calls:#?}");
        assert!(
            calls[named..].contains(&Call::Sync(folder.clone())),
            "{calls:#?}"
        );
        let touched_after = calls[named..].contains(&Call::Write(beside.clone()));
        assert!(!touched_after, "{calls:#?}");
    }
}
