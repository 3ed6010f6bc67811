//! Keys in the system's keyring: with a Secret Service started by the test, and without one.
#![cfg(all(target_os = "linux", feature = "system-keyring"))]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use support::{Place, Run};

/// A session bus with GNOME's Secret Service, whose files are in a folder of the test.
struct Service {
    bus: Child,
    address: String,
}

impl Service {
    /// `None` if the programs are not installed; `cargo xtask test` installs them.
    fn start(folder: &Path, unlocked: bool) -> Option<Self> {
        for program in ["dbus-daemon", "gnome-keyring-daemon"] {
            let found = Command::new(program).arg("--version").output();
            if found.is_err() {
                println!("NOT TESTED: {program} is not installed");
                return None;
            }
        }
        let mut bus = Command::new("dbus-daemon");
        bus.args(["--session", "--nofork", "--print-address"]);
        let mut bus = at_home_in(&mut bus, folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut output = BufReader::new(bus.stdout.take().unwrap());
        output.read_line(&mut address).unwrap();
        let service = Service {
            bus,
            address: address.trim().to_owned(),
        };
        if unlocked {
            service.unlock(folder);
        }
        Some(service)
    }

    /// Creates the keyring and unlocks it, as a login does. It ends with the bus.
    fn unlock(&self, folder: &Path) {
        let mut daemon = Command::new("gnome-keyring-daemon");
        daemon
            .args(["--unlock", "--components=secrets"])
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        let mut daemon = at_home_in(&mut daemon, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = daemon.stdin.take().unwrap();
        input.write_all(b"login password").unwrap();
        drop(input);
        assert!(daemon.wait().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

/// Isolated from the keyring and the screen of the user who runs the tests.
fn at_home_in<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command
        .env("HOME", folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env("XDG_DATA_HOME", folder.join("data"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("GNOME_KEYRING_CONTROL")
}

/// Runs the program on a bus, without a terminal.
fn run(place: &Place, address: &str, arguments: &[&str]) -> Run {
    let mut command = support::program(place.folder());
    let Output {
        status,
        stdout,
        stderr,
    } = at_home_in(&mut command, place.folder())
        .env("DBUS_SESSION_BUS_ADDRESS", address)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        status: status.code().unwrap(),
        output: String::from_utf8(stdout).unwrap(),
        messages: String::from_utf8(stderr).unwrap(),
    }
}

#[test]
fn without_a_service_the_other_sources_are_named() {
    let place = Place::new();
    place.plain_database("plain.db");
    for arguments in [
        &["key", "store", "mine"][..],
        &["key", "forget", "mine", "--yes"],
        &["encrypt", "plain.db", "a.db", "--key-keyring", "mine"],
    ] {
        let messages = run(&place, "unix:path=/nowhere/bus", arguments).failed();
        assert!(
            messages.contains("there is no keyring of the system to be reached"),
            "{messages}"
        );
        assert!(messages.contains("--key-file, --key-command"), "{messages}");
        assert_eq!(messages.lines().count(), 1, "{messages}");
    }
    assert!(!place.exists("a.db"));
    let refused = run(&place, "unix:path=/nowhere/bus", &["key", "store", ""]);
    assert_eq!(refused.status, 2, "{refused:?}");
    let both = ["verify", "a.db", "--key-keyring", "a", "--key-file", "b"];
    assert_eq!(run(&place, "unix:path=/nowhere/bus", &both).status, 2);
}

#[test]
fn a_missing_keyring_and_a_locked_one_are_reported() {
    let locked = |place: &Place, service: &Service| {
        let messages = run(place, &service.address, &["key", "store", "mine"]).failed();
        assert!(messages.contains("keyring is locked"), "{messages}");
        assert!(messages.contains("--key-file, --key-command"), "{messages}");
    };
    // The bus starts a service, but nobody is there to create a keyring.
    let place = Place::new();
    let Some(service) = Service::start(place.folder(), false) else {
        return;
    };
    locked(&place, &service);

    let place = Place::new();
    let Some(service) = Service::start(place.folder(), true) else {
        return;
    };
    run(&place, &service.address, &["key", "store", "mine"]).fine();
    drop(service);
    let later = Place::new();
    fs::create_dir_all(later.path("data/keyrings")).unwrap();
    for entry in fs::read_dir(place.path("data/keyrings")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(
            &path,
            later.path("data/keyrings").join(path.file_name().unwrap()),
        )
        .unwrap();
    }
    let Some(service) = Service::start(later.folder(), false) else {
        return;
    };
    locked(&later, &service);
}

#[test]
fn a_key_is_stored_used_replaced_and_forgotten() {
    let place = Place::new();
    let Some(service) = Service::start(place.folder(), true) else {
        return;
    };
    let run = |arguments: &[&str]| run(&place, &service.address, arguments);
    place.plain_database("plain.db");
    let stored = run(&["key", "store", "mine"]);
    assert!(stored.messages.contains("a new key"), "{stored:?}");
    assert!(stored.messages.contains("nobody can open"), "{stored:?}");
    stored.fine();

    let encrypt = ["encrypt", "plain.db", "a.db", "--key-keyring", "mine"];
    run(&encrypt).fine();
    let verify = ["verify", "a.db", "--key-keyring", "mine"];
    run(&verify).fine();

    let again = run(&["key", "store", "mine"]).failed();
    assert!(again.contains("not overwritten"), "{again}");
    run(&verify).fine();

    place.key("copy");
    let add = ["key", "add", "a.db", "--key-keyring", "mine"];
    run(&[&add[..], &["--new-key-file", "copy"]].concat()).fine();
    let with_copy = ["verify", "a.db", "--key-file", "copy"];
    run(&with_copy).fine();

    run(&["key", "store", "other"]).fine();
    let change = ["key", "change", "a.db", "--key-keyring", "mine"];
    run(&[&change[..], &["--new-key-keyring", "other"]].concat()).fine();
    assert!(run(&verify).failed().contains("wrong key"));
    run(&["verify", "a.db", "--key-keyring", "other"]).fine();

    let kept = run(&["key", "forget", "other"]).failed();
    assert!(kept.contains("--yes"), "{kept}");
    run(&["verify", "a.db", "--key-keyring", "other"]).fine();
    let forgotten = run(&["key", "forget", "other", "--yes"]);
    assert!(forgotten.messages.contains("no key other any more"));
    forgotten.fine();
    let absent = run(&["verify", "a.db", "--key-keyring", "other"]).failed();
    assert!(absent.contains("holds no key other"), "{absent}");
    let absent = run(&["key", "forget", "other", "--yes"]).failed();
    assert!(absent.contains("holds no key other"), "{absent}");
    run(&with_copy).fine();
}

#[test]
fn a_key_from_a_file_is_kept_as_it_is_and_a_passphrase_is_refused() {
    let place = Place::new();
    let Some(service) = Service::start(place.folder(), true) else {
        return;
    };
    let run = |arguments: &[&str]| run(&place, &service.address, arguments);
    place.plain_database("plain.db");
    place.key("key");
    place.passphrase("words", "tiger balm");
    run(&["encrypt", "plain.db", "a.db", "--key-file", "key"]).fine();

    let refused = ["key", "store", "mine", "--passphrase-file", "words"];
    let refused = run(&refused).failed();
    assert!(refused.contains("no passphrase"), "{refused}");
    let verify = ["verify", "a.db", "--key-keyring", "mine"];
    assert!(run(&verify).failed().contains("holds no key mine"));

    run(&["key", "store", "mine"]).fine();
    assert!(run(&verify).failed().contains("wrong key"));
    let replace = ["key", "store", "mine", "--force", "--key-file", "key"];
    let replaced = run(&replace);
    assert!(replaced.messages.contains("is gone"), "{replaced:?}");
    let digits = String::from_utf8(place.bytes("key")).unwrap();
    assert!(!replaced.messages.contains(digits.trim()));
    assert_eq!(replaced.fine(), "");
    run(&verify).fine();
}
