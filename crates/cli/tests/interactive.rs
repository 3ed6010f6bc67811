//! `strongroom shell` used by a person: completion, colours, NULL, counts, the pager.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

#[path = "support/terminal.rs"]
mod at_terminal;
mod support;

use at_terminal::{PROMPT, start, start_with, type_line};
use rexpect::session::PtySession;
use support::Place;

/// Types a line; returns what is written before the next prompt.
fn answer(session: &mut PtySession, line: &str) -> String {
    type_line(session, line);
    let written = session.exp_string(PROMPT).unwrap();
    // Each character stands for a byte.
    let bytes = written.chars().map(|byte| u8::try_from(byte).unwrap());
    String::from_utf8(bytes.collect()).unwrap()
}

fn birds() -> Place {
    let place = Place::new();
    let create = "create table canary_birds(feathers, wings);\n\
        insert into canary_birds values('yellow ones', 2), (null, 2);\n";
    place.shell("a.db", create).fine();
    place
}

fn quit(mut session: PtySession) {
    type_line(&mut session, ".quit");
    session.exp_eof().unwrap();
}

#[test]
fn tab_completes_names_commands_and_paths() {
    let place = birds();
    place.write("my script.sql", "select 'from ' || 'the file';\n");
    let mut session = start(&place, &["shell", "a.db"]);
    session.exp_string(PROMPT).unwrap();
    let mut leads_to = |line: &str, words: &str| {
        type_line(&mut session, line);
        session.exp_string(words).unwrap();
    };
    leads_to("sel\t feat\t from can\t;", "yellow ones");
    leads_to(
        ".sche\t can\t",
        "CREATE TABLE canary_birds(feathers, wings);",
    );
    leads_to(".rea\t my\t", "from the file");
    // Over two lines.
    leads_to("select 21 * wings", "...> ");
    leads_to("from can\t where fea\t is null;", "42");
    quit(session);
}

#[test]
fn of_a_locked_database_nothing_is_completed_and_nothing_asked() {
    let place = Place::new();
    place
        .shell("a.db", ".encrypt words\ncreate table canary_birds(a);\n")
        .fine();
    let mut session = start(&place, &["shell", "a.db"]);
    session.exp_string("Passphrase: ").unwrap();
    session.send_line("").unwrap();
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, "select * from can\t;");
    let before = session.exp_string("still locked").unwrap();
    assert!(
        !before.contains("canary_birds") && !before.contains("Passphrase"),
        "{before:?}"
    );
    quit(session);
}

#[test]
fn a_person_is_asked_for_the_passphrase_before_sql_among_the_arguments() {
    let place = Place::new();
    place
        .shell("a.db", ".encrypt words\ncreate table birds(a);\n")
        .fine();
    let mut session = start(&place, &["shell", "a.db", "select 6 * 7", ".tables"]);
    session.exp_string("Passphrase: ").unwrap();
    session.send_line("words").unwrap();
    session.exp_regex("42\r\nbirds").unwrap();
    session.exp_eof().unwrap();

    // `.decrypt` asks by itself.
    let mut session = start(&place, &["shell", "a.db", ".decrypt", ".tables"]);
    session.exp_string("Passphrase: ").unwrap();
    session.send_line("words").unwrap();
    let before = session.exp_string("birds").unwrap();
    assert!(!before.contains("Passphrase"), "{before:?}");
    session.exp_eof().unwrap();
}

#[test]
fn statements_have_colours_where_they_are_wanted() {
    let place = birds();
    let mut session = start_with(&place, &["shell", "a.db"], &[]);
    session.exp_string(PROMPT).unwrap();
    // The editor redraws its line, with the prompt, at each key.
    type_line(&mut session, "select 'x', feathers from canary_birds;");
    let typed = session.exp_string("\x1b[2mNULL\x1b[0m").unwrap();
    assert!(typed.contains("\x1b[1mselect\x1b[0m"), "{typed:?}");
    assert!(typed.contains("\x1b[32m'x'\x1b[0m"), "{typed:?}");
    quit(session);
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut session = start_with(&place, &["shell", "a.db"], &[variable]);
        session.exp_string(PROMPT).unwrap();
        let shown = answer(&mut session, "select 'x', feathers from canary_birds;");
        assert!(
            shown.contains("NULL") && !shown.contains("\x1b[1m"),
            "{shown:?}"
        );
        assert!(!shown.contains("\x1b[2m"), "{shown:?}");
        quit(session);
    }
}

#[test]
fn a_person_sees_null_and_how_many_rows_were_changed() {
    let place = birds();
    place.write("more.csv", "a,b\nc,d\ne,f\n");
    let mut session = start(&place, &["shell", "a.db"]);
    session.exp_string(PROMPT).unwrap();
    let mut says = |line: &str, words: &str| {
        let said = answer(&mut session, line);
        assert!(said.contains(words), "{line}: {said:?}");
        said
    };
    says("select feathers from canary_birds;", "│ NULL        │");
    says(".import more.csv canary_birds", "3 rows imported");
    says("insert into canary_birds values(1, 2);", "1 row changed");
    says("update canary_birds set wings=3;", "6 rows changed");
    says(
        "with w as (select 9) delete from canary_birds where wings=3;",
        "6 rows changed",
    );
    says("delete from canary_birds;", "0 rows changed");
    assert!(!says("create table u(a);", "create").contains("changed"));
    says(".changes on", "");
    let said = says("insert into u values(1);", "changes: 1   total_changes: ");
    assert!(!said.contains("1 row changed"), "{said:?}");
    says(".once out.txt", "");
    says("select null;", "");
    assert!(!says(".nullvalue -", "").contains("NULL"));
    let said = says("select null as a;", "│ - │");
    assert!(!said.contains("NULL"), "{said:?}");
    quit(session);
    let written = String::from_utf8(place.bytes("out.txt")).unwrap();
    assert!(
        written.contains('│') && !written.contains("NULL │"),
        "{written}"
    );
}

const NUMBERS: &str = "with recursive n(i) as (select 1 union all select i + 1 from n";

#[test]
fn long_results_are_paged() {
    let place = birds();
    let pager = [("NO_COLOR", "1"), ("PAGER", "sed s/^/paged:/")];
    let mut session = start_with(&place, &["shell", "a.db"], &pager);
    session.exp_string(PROMPT).unwrap();
    answer(&mut session, ".mode list");
    let long = format!("{NUMBERS} where i < 20) select i from n;");
    let short = format!("{NUMBERS} where i < 7) select i from n;");
    let said = answer(&mut session, &long);
    assert!(
        said.contains("paged:1\r\n") && said.contains("paged:20\r\n"),
        "{said:?}"
    );
    let said = answer(&mut session, &short);
    assert!(
        said.contains("\r\n7\r\n") && !said.contains("paged:"),
        "{said:?}"
    );
    let said = answer(&mut session, ".help");
    assert!(said.contains("paged:.backup"), "{said:?}");
    answer(&mut session, ".pager off");
    let said = answer(&mut session, &long);
    assert!(
        said.contains("\r\n20\r\n") && !said.contains("paged:"),
        "{said:?}"
    );
    quit(session);
    // In a script nothing is paged.
    let run = place.shell("a.db", &long);
    assert_eq!(run.fine().lines().count(), 20);
}

#[test]
fn without_a_pager_everything_is_written_and_one_that_is_left_ends_the_statement() {
    let place = birds();
    let missing = [("NO_COLOR", "1"), ("PAGER", "no-such-pager -x")];
    let mut session = start_with(&place, &["shell", "a.db"], &missing);
    session.exp_string(PROMPT).unwrap();
    answer(&mut session, ".mode list");
    let said = answer(
        &mut session,
        &format!("{NUMBERS} where i < 20) select i from n;"),
    );
    assert!(
        said.contains("\r\n1\r\n") && said.contains("\r\n20\r\n"),
        "{said:?}"
    );
    quit(session);
    let head = [("NO_COLOR", "1"), ("PAGER", "head -n 3")];
    let mut session = start_with(&place, &["shell", "a.db"], &head);
    session.exp_string(PROMPT).unwrap();
    answer(&mut session, ".mode list");
    // The result never ends.
    let said = answer(&mut session, &format!("{NUMBERS}) select i from n;"));
    assert!(
        said.contains("\r\n3\r\n") && !said.contains("Error"),
        "{said:?}"
    );
    let said = answer(&mut session, "select 40 + 2;");
    assert!(said.contains("\r\n42\r\n"), "{said:?}");
    quit(session);
}

#[test]
fn open_asks_for_the_passphrase_of_the_next_file() {
    let place = Place::new();
    let create = ".encrypt 'tiger balm'\ncreate table found_it(a);\n";
    place.shell("a.db", create).fine();
    let mut session = start(&place, &["shell"]);
    session.exp_string(PROMPT).unwrap();
    type_line(&mut session, ".open a.db");
    session.exp_string("Passphrase: ").unwrap();
    session.send_line("wrong one").unwrap();
    let said = session.exp_string("Passphrase: ").unwrap();
    assert!(
        said.contains("wrong key") && !said.contains("wrong one"),
        "{said:?}"
    );
    session.send_line("tiger balm").unwrap();
    let said = session.exp_string(PROMPT).unwrap();
    assert!(!said.contains("tiger"), "{said:?}");
    assert!(answer(&mut session, ".tables").contains("found_it"));
    // Without an answer it stays locked.
    type_line(&mut session, ".open a.db");
    session.exp_string("Passphrase: ").unwrap();
    session.send_line("").unwrap();
    let said = session.exp_string(PROMPT).unwrap();
    assert!(said.contains(".decrypt opens it"), "{said:?}");
    quit(session);
}
