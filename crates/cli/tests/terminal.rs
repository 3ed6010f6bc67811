//! The program used by a person: prompts without echo, a history without secrets.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

#[path = "support/terminal.rs"]
mod at_terminal;
mod support;

use at_terminal::{PROMPT, start, start_in_script, type_line};
use std::fs;
use std::process::Command;
use std::time::Duration;
use support::Place;

#[test]
fn a_passphrase_is_asked_for_and_not_shown() {
    let place = Place::new();
    let mut session = start(&place, &["shell", "a.db"]);
    session
        .exp_string("a.db will be created without encryption; .encrypt first")
        .unwrap();
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, ".encrypt");
    session.exp_string("New passphrase: ").unwrap();
    session.send_line("tiger balm").unwrap();
    let between = session.exp_string("The same again: ").unwrap();
    assert!(!between.contains("tiger"), "{between:?}");
    session.send_line("tiger balm").unwrap();
    let before = session.exp_string(PROMPT).unwrap();
    assert!(!before.contains("tiger"), "{before:?}");
    type_line(&mut session, "create table t(a);");
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, "select 'row ' || count(*)");
    session.exp_string("...> ").unwrap();
    type_line(&mut session, "from t;");
    session.exp_string("row 0").unwrap();
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, ".quit");
    session.exp_eof().unwrap();
    assert!(place.bytes("a.db").starts_with(b"Strongroom db"));

    let mut session = start(&place, &["shell", "a.db"]);
    session.exp_string("Passphrase: ").unwrap();
    session.send_line("wrong one").unwrap();
    let answer = session.exp_string("Passphrase: ").unwrap();
    assert!(
        answer.contains("wrong key") && !answer.contains("wrong one"),
        "{answer:?}"
    );
    session.send_line("tiger balm").unwrap();
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, ".tables");
    session.exp_string("t\r\n").unwrap();
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, ".quit");
    session.exp_eof().unwrap();
}

#[test]
fn two_different_passphrases_change_nothing() {
    let place = Place::new();
    let mut session = start(&place, &["shell", "a.db"]);
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, ".encrypt");
    session.exp_string("New passphrase: ").unwrap();
    session.send_line("one").unwrap();
    session.exp_string("The same again: ").unwrap();
    session.send_line("two").unwrap();
    session.exp_string("differ").unwrap();
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, ".quit");
    session.exp_eof().unwrap();
    assert!(!place.exists("a.db") || place.bytes("a.db").is_empty());
}

#[test]
fn the_history_holds_no_secret() {
    let place = Place::new();
    let mut session = start(&place, &["shell", "a.db"]);
    let lines = [
        (PROMPT, ".encrypt canary1"),
        (PROMPT, "create table remembered(a);"),
        (PROMPT, ".rekey canary2"),
        (PROMPT, "pragma"),
        ("...> ", "rekey='canary3';"),
        (PROMPT, ".quit"),
    ];
    for (prompt, line) in lines {
        session.exp_string(prompt).unwrap();
        type_line(&mut session, line);
    }
    session.exp_eof().unwrap();
    let history = fs::read_to_string(place.path("state/strongroom/history")).unwrap();
    assert!(history.contains("create table remembered"), "{history}");
    assert!(!history.contains("canary"), "{history}");
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(place.path("state/strongroom/history"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
    place
        .shell("a.db", ".decrypt canary3\nselect * from remembered;\n")
        .fine();
}

#[test]
fn the_other_commands_ask_too() {
    let place = Place::new();
    place.plain_database("plain.db");
    let mut session = start(&place, &["encrypt", "plain.db", "a.db"]);
    session.exp_string("New passphrase: ").unwrap();
    session.send_line("tiger balm").unwrap();
    session.exp_string("The same again: ").unwrap();
    session.send_line("tiger balm").unwrap();
    let rest = session.exp_eof().unwrap();
    assert!(
        rest.contains("is an encrypted copy") && !rest.contains("tiger"),
        "{rest:?}"
    );
    let mut session = start(&place, &["verify", "a.db"]);
    session.exp_string("Passphrase: ").unwrap();
    session.send_line("tiger balm").unwrap();
    let rest = session.exp_eof().unwrap();
    assert!(
        rest.contains("all sound") && !rest.contains("tiger"),
        "{rest:?}"
    );
}

#[test]
fn the_key_in_use_is_removed_only_after_a_yes() {
    let place = Place::new();
    place.plain_database("plain.db");
    place.key("key");
    place.key("other");
    place
        .run(&["encrypt", "plain.db", "a.db", "--key-file", "key"])
        .fine();
    place.add_key("a.db", "key", "other");
    let slots = |place: &Place| place.run(&["key", "list", "a.db"]).fine().lines().count();
    for (answer, left) in [("n", 2), ("", 2), ("y", 1)] {
        let mut session = start(&place, &["key", "remove", "a.db", "0", "--key-file", "key"]);
        session.exp_string("opened the file just now").unwrap();
        session.exp_string("Remove it? [y/N] ").unwrap();
        session.send_line(answer).unwrap();
        let rest = session.exp_eof().unwrap();
        assert_eq!(rest.contains("is not removed"), left == 2, "{rest:?}");
        assert_eq!(slots(&place), left);
    }
}

#[test]
fn control_c_stops_a_statement_and_not_the_shell() {
    let place = Place::new();
    let mut session = start(&place, &["shell"]);
    session.exp_string(PROMPT).unwrap();
    type_line(
        &mut session,
        "select 'begun'; with recursive n(i) as (select 1 union all \
         select i + 1 from n) select max(i) from n;",
    );
    session.exp_string("begun   ").unwrap();
    // The row is shown shortly before the endless statement begins.
    std::thread::sleep(std::time::Duration::from_millis(300));
    session.send_control('c').unwrap();
    session.exp_string("Error: interrupted").unwrap();
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, "select 40 + 2 as answer;");
    session.exp_string("42     ").unwrap();
    type_line(&mut session, ".quit");
    session.exp_eof().unwrap();
}

/// The output of `stty` for the terminal whose name is in a file.
fn modes(place: &Place, name_file: &str) -> String {
    let name = fs::read_to_string(place.path(name_file)).unwrap();
    let stty = Command::new("stty")
        .args(["-a", "-F", name.trim()])
        .output();
    String::from_utf8(stty.unwrap().stdout).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_passphrase_is_not_shown_even_where_it_is_typed_at_once() {
    let place = Place::new();
    place.plain_database("plain.db");
    place.passphrase("words", "tiger balm");
    let encrypt = [
        "encrypt",
        "plain.db",
        "a.db",
        "--new-passphrase-file",
        "words",
    ];
    place.run(&encrypt).fine();
    let script = "stty echo; tty >tty; echo begun; read go; \"$0\" \"$@\"; stty -a >after";
    let mut session = start_in_script(&place, script, &["verify", "a.db"], &[]);
    session.exp_string("begun").unwrap();
    assert!(modes(&place, "tty").contains(" echo "));
    // A stopped terminal (Control-S) accepts no prompt, so the first writer blocks.
    session.send("\x13go\n").unwrap();
    session.flush().unwrap();
    let is_silent = || {
        std::thread::sleep(Duration::from_millis(20));
        modes(&place, "tty").contains(" -echo ")
    };
    let rounds = at_terminal::PATIENCE_MS / 20;
    assert!(
        (0..rounds).any(|_| is_silent()),
        "the prompt came before the silence"
    );
    session.send("tiger balm\n\x11").unwrap();
    session.flush().unwrap();
    let rest = session.exp_eof().unwrap();
    assert!(
        rest.contains("Passphrase: ") && rest.contains("all sound"),
        "{rest:?}"
    );
    assert!(!rest.contains("tiger"), "{rest:?}");
    let after = fs::read_to_string(place.path("after")).unwrap();
    for mode in [" echo ", " icanon ", "isig "] {
        assert!(after.contains(mode), "{after}");
        assert!(!after.contains(&format!("-{} ", mode.trim())), "{after}");
    }
}

/// Whether these tests, and so the programs that they start, ignore SIGINT, as background jobs of a
/// shell script do.
fn ignores_interrupts() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << 1) != 0)
}

#[test]
fn control_c_at_a_passphrase_restores_the_terminal() {
    let place = Place::new();
    place.plain_database("plain.db");
    let script = "stty echo; \"$0\" \"$@\"; echo status $?; stty -a >after";
    let mut session = start_in_script(&place, script, &["encrypt", "plain.db", "a.db"], &[]);
    session.exp_string("New passphrase: ").unwrap();
    session.send("tiger\x03").unwrap();
    session.flush().unwrap();
    let rest = session.exp_eof().unwrap();
    // 128 plus the number of the signal; a process that was started with the signal ignored
    // survives it.
    let status = if ignores_interrupts() {
        "status 1\r"
    } else {
        "status 130\r"
    };
    assert!(rest.contains(status) && !rest.contains("tiger"), "{rest:?}");
    let after = fs::read_to_string(place.path("after")).unwrap();
    assert!(
        after.contains(" echo ") && after.contains(" icanon "),
        "{after}"
    );
    assert!(!place.exists("a.db"));
}
