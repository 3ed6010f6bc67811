//! Dot commands of `strongroom shell` that SQLite's own shell also has, compared with it if it is
//! installed; and the session's key.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use std::io::Write;
use std::process::{Command, Stdio};
use support::{Place, contains};

/// The output of SQLite's own shell for a script, without trailing spaces.
fn sqlite3(script: &str) -> Option<String> {
    let mut child = Command::new("sqlite3")
        .args(["-batch", ":memory:"])
        // Ignores the settings of the user who runs the tests.
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(script.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    Some(trimmed(&String::from_utf8(output.stdout).ok()?))
}

fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Runs a script in both shells; returns the output of ours.
#[track_caller]
fn the_same(script: &str) -> String {
    let ours = trimmed(&Place::new().shell(":memory:", script).fine());
    match sqlite3(script) {
        Some(theirs) => assert_eq!(ours, theirs),
        None => println!("not compared: there is no sqlite3 here"),
    }
    ours
}

const TABLES: &str = "create table t(a integer primary key, b);
create table u(x, y); create index u_y on u(y);
";

#[test]
fn plans_are_drawn_as_trees() {
    let plan = "explain query plan select * from t join u on t.b = u.y \
        where a in (select x from u where x > 3) order by u.x;";
    let drawn = the_same(&format!("{TABLES}{plan}\n"));
    assert!(drawn.starts_with("QUERY PLAN\n|--"), "{drawn}");
    assert!(
        drawn.contains("\n|  `--") && drawn.contains("\n`--"),
        "{drawn}"
    );
    // Numbers of steps differ between versions of SQLite.
    let off = format!("{TABLES}.explain off\n{plan}\n");
    let raw = Place::new().shell(":memory:", &off).fine();
    assert!(!raw.contains("QUERY PLAN") && raw.contains('|'), "{raw}");
    let on = format!("{TABLES}.mode json\n.explain on\n{plan}\n.explain auto\n{plan}\n");
    let twice = Place::new().shell(":memory:", &on).fine();
    assert_eq!(trimmed(&twice), format!("{drawn}\n{drawn}"));
}

#[test]
fn programs_are_laid_out() {
    let script = format!("{TABLES}explain select * from t where a > 3;\n");
    let drawn = Place::new().shell(":memory:", &script).fine();
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "addr  opcode         p1    p2    p3    p4             p5  comment",
            "----  -------------  ----  ----  ----  -------------  --  -------------"
        ]
    );
    assert!(
        lines.iter().any(|line| line[6..].starts_with("  Column ")),
        "{drawn}"
    );
    assert!(
        lines.iter().any(|line| line[6..].starts_with("Next ")),
        "{drawn}"
    );
    // Instructions differ between versions of SQLite, the layout does not.
    if let Some(theirs) = sqlite3(&script) {
        assert_eq!(lines[..2], theirs.lines().take(2).collect::<Vec<_>>());
    }
}

#[test]
fn parameters_have_values() {
    let script = ".parameter init
.parameter set @n 5
.parameter set :name \"it's\"
.parameter set $text \"'5'\"
.parameter set ?1 \"1 + 1\"
.parameter list
select ?1, @n, typeof(@n), :name, $text, typeof($text), :none;
.parameter unset @n
select @n is null;
.parameter clear
.parameter list
select :name is null;
";
    let output = the_same(script);
    assert!(output.contains("2|5|integer|it's|5|text|"), "{output}");
    let place = Place::new();
    place.plain_database("a.db");
    let count = ".parameter set @n \"(select count(*) from t)\"\nselect @n;\n.open\nselect @n;\n";
    assert_eq!(place.shell("a.db", count).fine(), "500\n500\n");
    for wrong in ["set n 5", "set @n", "unset", "show"] {
        let message = place
            .shell("a.db", &format!(".parameter {wrong}\n"))
            .failed();
        assert!(
            message.contains("usage: .parameter set NAME VALUE"),
            "{message}"
        );
    }
}

#[test]
fn columns_have_widths() {
    let select = "select 1 as a, 'hello' as b, 'abcdefgh' as c;\n";
    for mode in ["box", "table", "column"] {
        let script = format!(".mode {mode}\n.headers on\n.width 5 -8 3\n{select}.width\n{select}");
        let output = the_same(&script);
        assert!(
            output.contains("   hello") && output.contains("def"),
            "{output}"
        );
    }
    let message = Place::new().shell(":memory:", ".width 5 wide\n").failed();
    assert!(message.contains("usage: .width"), "{message}");
}

#[test]
fn scripts_see_null_and_counts_as_before() {
    let script = "create table t(a);\ninsert into t values(null),(1);\nselect * from t;\n\
        update t set a=2;\n.mode box\n.nullvalue -\nselect null as a;\n";
    let output = the_same(script);
    assert!(output.starts_with("\n1\n┌"), "{output}");
    let place = Place::new();
    place.write("x.csv", "a\n1\n");
    assert_eq!(place.shell("a.db", ".import x.csv t\n").fine(), "");
}

#[test]
fn a_saved_database_is_encrypted_as_its_source_is() {
    let place = Place::new();
    place.key("key");
    let script = "create table t(a); insert into t values('canary text');\n\
        .save copy.db\n.save --plain plain.db\n.save a.db\n";
    let run = place.run_with(&["shell", "a.db", "--key-file", "key"], script);
    assert!(run.failed().contains("a.db is the open database"));
    assert!(!contains(&place.bytes("copy.db"), b"canary text"));
    assert!(contains(&place.bytes("plain.db"), b"canary text"));
    let read = place.run(&["shell", "--key-file", "key", "copy.db", "select a from t"]);
    assert_eq!(read.fine(), "canary text\n");
}

/// Two encrypted databases under one key, and one under another.
fn three() -> Place {
    let place = Place::new();
    for (key, name) in [("key", "a.db"), ("key", "b.db"), ("other", "c.db")] {
        if !place.exists(key) {
            place.key(key);
        }
        let create = format!("create table t(a); insert into t values('{name}');");
        place
            .run(&["shell", name, "--key-file", key, &create])
            .fine();
    }
    place
}

const READ_B: &str = "select a from t;\n.open b.db\nselect a from t;\n";

#[test]
fn the_key_of_a_session_opens_the_next_file() {
    let place = three();
    let run = place.run_with(&["shell", "a.db", "--key-file", "key"], READ_B);
    assert_eq!(run.fine(), "a.db\nb.db\n");
    place.write("give", "cat key");
    let command = ["shell", "a.db", "--key-command", "sh give"];
    assert_eq!(place.run_with(&command, READ_B).fine(), "a.db\nb.db\n");
    let locked = place
        .run_with(&["shell"], ".open b.db\nselect a from t;\n")
        .failed();
    assert!(
        locked.contains(".decrypt opens it") && locked.contains("still locked"),
        "{locked}"
    );
}

#[cfg(unix)]
#[test]
fn a_key_that_came_by_a_descriptor_is_kept_for_the_next_file() {
    let place = three();
    // A pipe can be read only once.
    let line = "cat key | \"$0\" shell a.db --key-fd 3 3<&0 <script";
    place.write("script", READ_B);
    let program = support::program(place.folder());
    let mut shell = Command::new("sh");
    support::take_environment(&mut shell, &program);
    shell.current_dir(place.folder()).args(["-c", line]);
    let output = shell.arg(program.get_program()).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "a.db\nb.db\n",
        "{output:?}"
    );
}

#[test]
fn a_key_that_does_not_open_the_next_file_ends_the_script() {
    let place = three();
    let script = ".open c.db\nselect 'not reached';\n";
    let run = place.run_with(&["shell", "a.db", "--key-file", "key"], script);
    assert_eq!((run.status, run.output.as_str()), (1, ""));
    assert!(run.messages.contains("c.db: wrong key"), "{}", run.messages);
    place.run(&["key", "generate", "gone"]).fine();
    let command = ["shell", "a.db", "--key-command", "cat key; rm key"];
    let run = place.run_with(&command, ".open b.db\nselect 'not reached';\n");
    assert_eq!((run.status, run.output.as_str()), (1, ""));
    assert!(
        run.messages.contains("the database before stays open"),
        "{}",
        run.messages
    );
}

#[test]
fn a_new_file_is_encrypted_under_the_key_of_the_session_and_a_plain_one_stays_plain() {
    let place = three();
    place.plain_database("plain.db");
    let script = ".open new.db\ncreate table t(a);\n.open plain.db\nselect count(*) from t;\n";
    let run = place.run_with(&["shell", "a.db", "--key-file", "key"], script);
    assert_eq!(run.fine(), "500\n");
    assert!(place.bytes("new.db").starts_with(b"Strongroom db"));
    assert!(place.bytes("plain.db").starts_with(b"SQLite format 3"));
    let script = ".open new2.db\ncreate table t(a);\n";
    place.run_with(&["shell"], script).fine();
    assert!(place.bytes("new2.db").starts_with(b"SQLite format 3"));
}
