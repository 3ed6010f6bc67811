//! Commands that write to a full disk: each names the path and what to do, and leaves nothing.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::fs;
use std::process::{Command, Stdio};

use support::{Place, Run, program, take_environment};

/// Runs the program with a disk of this size at the folder `small`, filled after a command of the
/// shell. Returns also the names of what is on that disk afterwards. None: this system lets nobody
/// but root mount anything.
fn on_small_disk(
    place: &Place,
    size: &str,
    before: &str,
    arguments: &[&str],
) -> Option<(Run, Vec<String>)> {
    fs::create_dir_all(place.path("small")).unwrap();
    let strongroom = program(place.folder());
    let script = format!(
        "mount -t tmpfs -o size={size} tmpfs small || exit 99\n\
         {before}\n\
         \"$@\"; status=$?\n\
         ls -A small >names\n\
         exit $status"
    );
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(strongroom.get_program())
        .args(arguments)
        .current_dir(place.folder())
        .stdin(Stdio::null());
    take_environment(&mut command, &strongroom);
    let output = command.output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    let status = output.status.code().unwrap();
    if status == 99 || messages.contains("unshare") {
        eprintln!("not tested, since no disk can be mounted here: {messages}");
        return None;
    }
    let names = String::from_utf8(place.bytes("names")).unwrap();
    let run = Run {
        status,
        output: String::from_utf8(output.stdout).unwrap(),
        messages,
    };
    Some((run, names.lines().map(str::to_owned).collect()))
}

fn place() -> Place {
    let place = Place::new();
    place.plain_database("plain.db");
    place.key("key");
    place
        .run(&["encrypt", "plain.db", "a.db", "--key-file", "key"])
        .fine();
    place
}

const FILL: &str = "dd if=/dev/zero of=small/fill 2>/dev/null";

#[test]
fn a_copy_names_its_path_and_need_and_leaves_nothing() {
    let place = place();
    for command in [
        &["backup", "a.db"][..],
        &["encrypt", "plain.db"],
        &["decrypt", "a.db"],
        &["import", "--from", "plain", "plain.db"],
    ] {
        let arguments = [command, &["small/c.db", "--key-file", "key"]].concat();
        let Some((run, left)) = on_small_disk(&place, "32k", "", &arguments) else {
            return;
        };
        let message = run.failed();
        assert!(
            message.contains("the disk of small/c.db is full: a copy takes about"),
            "{message}"
        );
        assert!(left.is_empty(), "{command:?} left {left:?}");
    }
}

#[test]
fn a_file_that_does_not_fit_is_named() {
    let place = place();
    for (arguments, told) in [
        (
            &["key", "generate", "small/k"][..],
            "cannot write small/k: the disk is full; make room there",
        ),
        (
            &[
                "shell",
                "plain.db",
                ".output small/out",
                "select hex(data) from t",
            ],
            "small/out: the disk is full; make room there",
        ),
        (
            &[
                "shell",
                "plain.db",
                ".once small/out",
                "select hex(data) from t",
            ],
            "small/out: the disk is full; make room there",
        ),
    ] {
        let Some((run, _)) = on_small_disk(&place, "32k", FILL, arguments) else {
            return;
        };
        let message = run.failed();
        assert!(message.contains(told), "{message}");
    }
}

#[test]
fn a_database_that_cannot_grow_is_named() {
    let place = place();
    let before = format!("cp a.db key small; {FILL}");
    let insert = "insert into t(data) values(zeroblob(100000))";
    for (arguments, told) in [
        (
            &["shell", "small/a.db", "--key-file", "small/key", insert][..],
            "database or disk is full; make room where small/a.db is",
        ),
        (
            &["rekey", "small/a.db", "--key-file", "small/key"],
            "small/a.db: the rotation stopped: the disk is full; make room on it; run `strongroom \
             rekey` again",
        ),
    ] {
        let Some((run, _)) = on_small_disk(&place, "1m", &before, arguments) else {
            return;
        };
        let message = run.failed();
        assert!(message.contains(told), "{message}");
    }
}
