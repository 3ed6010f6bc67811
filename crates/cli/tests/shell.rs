//! `strongroom shell` on standard input: statements, errors, modes, dumps, imports.

mod support;

use support::{Place, contains};

#[test]
fn sql_on_standard_input() {
    let place = Place::new();
    let run = place.shell(
        "a.db",
        "create table t(a,\n b);\ninsert into t values(1, 'x;y');\nselect * from t",
    );
    assert_eq!(run.fine(), "1|x;y\n");
    assert_eq!(place.shell("a.db", "select count(*) from t;").fine(), "1\n");
    assert_eq!(
        place
            .run(&["shell", ":memory:", "select 6 * 7;", "select 'b'"])
            .fine(),
        "42\nb\n"
    );
    assert_eq!(
        place.run_with(&["shell"], "select 1; select 2;").fine(),
        "1\n2\n"
    );
}

#[test]
fn each_argument_stands_for_itself() {
    let place = Place::new();
    let run = |arguments: &[&str]| place.run(&[&["shell", "a.db"], arguments].concat());
    let made = run(&[
        "create table t(a)",
        ".tables",
        "insert into t values(1)",
        "select * from t",
    ]);
    assert_eq!(made.fine(), "t\n1\n");
    assert_eq!(
        run(&["select 1; select 2 -- and so on", ".print three"]).fine(),
        "1\n2\nthree\n"
    );
    assert_eq!(
        run(&["select 1;\n.print two\nselect 3"]).fine(),
        "1\ntwo\n3\n"
    );
    assert_eq!(run(&["select 1", ".quit", "select 2"]).fine(), "1\n");
    let broken = run(&["select 'open", "select 2", ".nope"]);
    assert_eq!(broken.output, "2\n");
    let messages = broken.failed();
    assert!(messages.contains("argument 1: near line 1: "), "{messages}");
    assert!(messages.contains("argument 3: near line 1: "), "{messages}");
    assert_eq!(run(&["--bail", "select x", "select 2"]).output, "");
}

#[test]
fn an_error_has_its_line_and_the_script_goes_on() {
    let place = Place::new();
    let script = "select 1;\n\n-- a comment\nselect\n nonsense from;\n\
        select 2; select x; select 3;\n.nope\n";
    let run = place.shell(":memory:", script);
    assert_eq!(run.output, "1\n2\n3\n");
    assert_eq!(run.status, 1);
    let lines: Vec<&str> = run
        .messages
        .lines()
        .filter(|line| line.starts_with("Error: near line "))
        .collect();
    assert_eq!(lines.len(), 3, "{}", run.messages);
    assert!(
        lines[0].starts_with("Error: near line 4: near \";\": syntax error"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].starts_with("Error: near line 6: no such column: x"),
        "{}",
        lines[1]
    );
    assert!(
        lines[2].starts_with("Error: near line 7: there is no command .nope"),
        "{}",
        lines[2]
    );
}

#[test]
fn bail_stops_at_the_first_error() {
    let place = Place::new();
    let run = place.run_with(&["shell", "--bail"], "select 1;\nselect x;\nselect 2;\n");
    assert_eq!((run.status, run.output.as_str()), (1, "1\n"));
    let run = place.run_with(&["shell"], "select 1;\n.bail on\nselect x;\nselect 2;\n");
    assert_eq!((run.status, run.output.as_str()), (1, "1\n"));
}

#[test]
fn exit_gives_its_own_status() {
    let place = Place::new();
    assert_eq!(
        place
            .shell(":memory:", "select 1;\n.exit 7\nselect 2;\n")
            .status,
        7
    );
    assert_eq!(place.shell(":memory:", ".quit\nselect x;\n").fine(), "");
}

#[test]
fn a_trigger_with_many_semicolons_is_one_statement() {
    let place = Place::new();
    let script = "create table a(x); create table log(y);
        create trigger g after insert on a begin
          insert into log values('one; end;');
          insert into log select case when new.x then 'two' end;
        end;
        insert into a values(1);
        select group_concat(y) from log;";
    assert_eq!(place.shell(":memory:", script).fine(), "one; end;,two\n");
}

#[test]
fn modes_headers_and_null() {
    let place = Place::new();
    let select = "select 1 as a, null as b, 'x,y' as c;\n";
    let mode = |settings: &str| {
        place
            .shell(":memory:", &format!("{settings}\n{select}"))
            .fine()
    };
    assert_eq!(mode(".mode csv\n.headers on"), "a,b,c\r\n1,,\"x,y\"\r\n");
    assert_eq!(mode(".mode json"), "[{\"a\":1,\"b\":null,\"c\":\"x,y\"}]\n");
    assert_eq!(mode(".mode quote"), "1,NULL,'x,y'\n");
    assert_eq!(
        mode(".mode insert t"),
        "INSERT INTO t VALUES(1,NULL,'x,y');\n"
    );
    assert_eq!(
        mode(".nullvalue NULL\n.separator ' / '"),
        "1 / NULL / x,y\n"
    );
    assert_eq!(mode(".mode tabs"), "1\t\tx,y\n");
    assert!(mode(".mode box").contains("│ 1 │   │ x,y │"));
    let run = place.run(&["shell", "--mode", "markdown", ":memory:", "select 1 as a"]);
    assert_eq!(run.fine(), "| a |\n|---|\n| 1 |\n");
    assert!(
        place
            .shell(":memory:", ".mode nonsense\n")
            .failed()
            .contains("possible are: list")
    );
}

#[test]
fn everyday_commands() {
    let place = Place::new();
    place.plain_database("a.db");
    assert_eq!(place.shell("a.db", ".tables\n").fine(), "t\n");
    assert_eq!(place.shell("a.db", ".indexes t\n").fine(), "t_name\n");
    let schema = place.shell("a.db", ".schema t\n").fine();
    assert!(
        schema.starts_with("CREATE TABLE t(") && schema.contains("CREATE INDEX"),
        "{schema}"
    );
    assert!(
        place
            .shell("a.db", ".databases\n")
            .fine()
            .contains("not encrypted")
    );
    assert!(
        place
            .shell("a.db", ".help backup\n")
            .fine()
            .contains("encrypted under the key")
    );
    let timer = place.shell("a.db", ".timer on\nselect 1;\n").fine();
    assert!(timer.starts_with("1\nRun Time: real "), "{timer}");
    let changes = place.shell(
        ":memory:",
        "create table t(a);\n.changes on\ninsert into t values(1),(2);\n",
    );
    assert_eq!(changes.fine(), "changes: 2   total_changes: 2\n");
}

#[test]
fn output_goes_where_it_is_sent() {
    let place = Place::new();
    let script = ".once one.txt\nselect 1;\nselect 2;\n.output more.txt\n\
        select 3;\nselect 4;\n.output\nselect 5;\n";
    assert_eq!(place.shell("a.db", script).fine(), "2\n5\n");
    assert_eq!(place.bytes("one.txt"), b"1\n");
    assert_eq!(place.bytes("more.txt"), b"3\n4\n");
    place.plain_database("b.db");
    let message = place.shell("b.db", ".output b.db\nselect 1;\n").failed();
    assert!(message.contains("is the open database"), "{message}");
}

#[test]
fn read_runs_a_file_and_names_it_in_errors() {
    let place = Place::new();
    place.write("good.sql", "select 'from file';\n");
    place.write("bad.sql", "select 1;\nselect x;\nselect 2;\n");
    place.write("loop.sql", ".read loop.sql\n");
    assert_eq!(
        place
            .shell(":memory:", ".read good.sql\nselect 1;\n")
            .fine(),
        "from file\n1\n"
    );
    let run = place.shell(":memory:", ".read bad.sql\n");
    assert_eq!((run.status, run.output.as_str()), (1, "1\n2\n"));
    assert!(
        run.messages
            .contains("bad.sql: near line 2: no such column"),
        "{}",
        run.messages
    );
    assert!(
        place
            .shell(":memory:", ".read loop.sql\n")
            .failed()
            .contains("reads itself")
    );
    assert!(
        place
            .shell(":memory:", ".read none.sql\n")
            .failed()
            .contains("none.sql")
    );
}

#[test]
fn a_dump_restores() {
    let place = Place::new();
    place.plain_database("a.db");
    let extra = "create view v as select name from t where id < 3;
        create table s(a integer primary key autoincrement, r real);
        insert into s(r) values(0.1), (1e300), (-2.5e-10);
        create trigger g after insert on s begin update t set name = 'two
lines' where id = 1; end;
        insert into s(r) values(3);";
    place.shell("a.db", extra).fine();
    let dump = place.shell("a.db", ".dump\n").fine();
    place.shell("b.db", &dump).fine();
    assert_eq!(place.shell("b.db", ".dump\n").fine(), dump);
    assert_eq!(
        place
            .shell("b.db", "select name from v order by 1 desc limit 1;")
            .fine(),
        "two\nlines\n"
    );
}

#[test]
fn csv_comes_in() {
    let place = Place::new();
    place.write("x.csv", "id,name\n1,\"a, b\"\n2,c\n3\n");
    let run = place.shell("a.db", ".import x.csv t\nselect id, name from t;\n");
    assert_eq!(run.output, "1|a, b\n2|c\n3|\n");
    assert!(
        run.messages
            .contains("line 4: expected 2 columns but found 1"),
        "{}",
        run.messages
    );
    let again = ".import --skip 1 x.csv t\nselect count(*) from t;\n";
    assert_eq!(place.shell("a.db", again).fine(), "6\n");
}

#[test]
fn a_published_script_encrypts_and_the_next_one_opens() {
    let place = Place::new();
    let first = ".encrypt passphrase
CREATE TABLE t1(a INTEGER, b INTEGER, c VARCHAR(100));
INSERT INTO t1 VALUES(1,13153,'thirteen thousand one hundred fifty three');
INSERT INTO t1 VALUES(2,66289,'sixty six thousand two hundred eighty nine');
";
    place.shell("speed.db", first).fine();
    let bytes = place.bytes("speed.db");
    assert!(bytes.starts_with(b"Strongroom db"));
    assert!(!contains(&bytes, b"thousand") && !contains(&bytes, b"CREATE TABLE"));

    let second =
        ".decrypt passphrase\nSELECT count(*), sum(b) FROM t1;\n.databases\n.keys\n.cipher\n";
    let output = place.shell("speed.db", second).fine();
    assert!(output.starts_with("2|79442\n"), "{output}");
    assert!(output.contains("encrypted (aegis-256x2)"), "{output}");
    assert!(output.contains("slot 0: passphrase"), "{output}");

    let wrong = place.shell("speed.db", ".decrypt wrong\nSELECT 1;\n");
    assert_eq!((wrong.status, wrong.output.as_str()), (1, ""));
    assert!(wrong.messages.contains("near line 1") && wrong.messages.contains("wrong key"));
    let locked = place.shell("speed.db", "SELECT * FROM t1;\n").failed();
    assert!(locked.contains("--passphrase-file"), "{locked}");
    let twice = place.shell("speed.db", ".encrypt other\n").failed();
    assert!(twice.contains("encrypted already"), "{twice}");
}

#[test]
fn a_plain_database_is_converted_in_place() {
    for journal_mode in ["delete", "wal"] {
        let place = Place::new();
        place.plain_database("a.db");
        place
            .shell("a.db", &format!("pragma journal_mode={journal_mode};"))
            .fine();
        assert!(contains(&place.bytes("a.db"), b"canary number"));
        let script = ".encrypt 'two words'\nselect count(*) from t;\npragma journal_mode;\n";
        let run = place.shell("a.db", script);
        assert_eq!(run.output, format!("500\n{journal_mode}\n"));
        assert!(
            run.messages.contains("may remain on the disk"),
            "{}",
            run.messages
        );
        assert!(!contains(&place.bytes("a.db"), b"canary number"));
        assert!(place.left_over().is_empty());
        let check =
            ".decrypt 'two words'\npragma integrity_check;\nselect name from t where id=7;\n";
        assert_eq!(place.shell("a.db", check).fine(), "ok\ncanary number 7\n");
    }
}

#[test]
fn a_database_in_use_is_not_converted() {
    let place = Place::new();
    place.plain_database("a.db");
    let before = place.bytes("a.db");
    let other = rusqlite::Connection::open(place.path("a.db")).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let message = place.shell("a.db", ".encrypt x\nselect 'not reached';\n");
    assert_eq!((message.status, message.output.as_str()), (1, ""));
    assert!(
        message.messages.contains("in use by another program"),
        "{}",
        message.messages
    );
    drop(other);
    assert_eq!(place.bytes("a.db"), before);
    assert!(place.left_over().is_empty());
}

#[test]
fn the_key_pragmas_work_and_never_fall_silent() {
    let place = Place::new();
    place
        .shell(
            "new.db",
            "PRAGMA key='secret'; CREATE TABLE t(a); INSERT INTO t VALUES(1);",
        )
        .fine();
    assert!(place.bytes("new.db").starts_with(b"Strongroom db"));
    let run = place.shell("new.db", "PRAGMA key='secret'; SELECT a FROM t;");
    assert_eq!(run.fine(), "ok\n1\n");
    let rekeyed = "PRAGMA key='secret'; PRAGMA rekey='other';";
    place.shell("new.db", rekeyed).fine();
    assert!(
        place
            .shell("new.db", "PRAGMA key='secret';")
            .failed()
            .contains("wrong key")
    );

    place.plain_database("plain.db");
    let before = place.bytes("plain.db");
    let message = place.shell(
        "plain.db",
        "PRAGMA key='secret'; INSERT INTO t VALUES(501, 'x', 'y');",
    );
    assert!(message.failed().contains("does not encrypt"));
    assert_eq!(place.bytes("plain.db"), before);
}

#[test]
fn a_failing_encrypt_ends_the_script_before_anything_is_written_plain() {
    let place = Place::new();
    let run = place.shell("new.db", ".encrypt\nCREATE TABLE t(a);\n");
    assert!(run.failed().contains("no passphrase was given"));
    assert!(!place.exists("new.db") || place.bytes("new.db").is_empty());
    let run = place.shell(":memory:", ".encrypt x\nselect 1;\n");
    assert!(run.failed().contains("in memory"));
}

#[test]
fn a_backup_of_an_encrypted_database_is_encrypted() {
    let place = Place::new();
    place.key("key");
    let create = "create table t(a); insert into t values('canary text');\n\
        .backup copy.db\n.backup --plain plain.db\n.backup copy.db\n";
    let run = place.run_with(&["shell", "a.db", "--key-file", "key"], create);
    assert!(run.failed().contains("copy.db exists already"));
    assert!(!contains(&place.bytes("copy.db"), b"canary text"));
    assert!(contains(&place.bytes("plain.db"), b"canary text"));
    let read = place.run(&["shell", "--key-file", "key", "copy.db", "select a from t"]);
    assert_eq!(read.fine(), "canary text\n");
    // Without a token, because PRAGMA key opened it.
    let create = "PRAGMA key='x'; create table t(a); insert into t values('canary text');\n\
        .backup q.db\n";
    place.shell("p.db", create).fine();
    assert!(!contains(&place.bytes("q.db"), b"canary text"));
    assert_eq!(
        place.shell("q.db", ".decrypt x\nselect a from t;\n").fine(),
        "canary text\n"
    );
}

#[test]
fn rekey_replaces_the_passphrase() {
    let place = Place::new();
    place
        .shell("a.db", ".encrypt one\ncreate table t(a);\n.rekey two\n")
        .fine();
    assert!(
        place
            .shell("a.db", ".decrypt one\n")
            .failed()
            .contains("wrong key")
    );
    assert_eq!(place.shell("a.db", ".decrypt two\n.tables\n").fine(), "t\n");
}

#[test]
fn an_encrypted_database_attached_without_its_key_is_called_that() {
    let place = Place::new();
    place.plain_database("plain.db");
    place
        .shell("a.db", ".encrypt words\ncreate table t(a);\n")
        .fine();
    let message = place.shell("plain.db", "attach 'a.db' as a;\n").failed();
    assert!(
        message.contains("encrypted and no key was given"),
        "{message}"
    );
    let message = place.shell("plain.db", "attach 'none/x.db' as a;\n");
    assert!(!message.failed().contains("encrypted"));
}

#[test]
fn a_cipher_is_chosen_before_the_first_write() {
    let place = Place::new();
    let script =
        ".cipher aes-256-gcm\n.encrypt x\ncreate table t(a);\n.cipher\n.cipher aegis-256\n";
    let run = place.shell("a.db", script);
    assert_eq!(run.output, "aes-256-gcm\n");
    assert!(
        run.messages.contains("strongroom encrypt --cipher"),
        "{}",
        run.messages
    );
    assert!(
        place
            .shell("b.db", ".cipher rot13\n")
            .failed()
            .contains("xchacha20-poly1305")
    );
}

#[test]
fn a_key_among_the_arguments_is_refused() {
    let place = Place::new();
    for sql in [
        ".decrypt secret",
        "PRAGMA key='secret'",
        "select 1; pragma rekey = 'secret'",
        "pragma strongroom_key_add='secret'",
        "pragma main . key = 'secret'",
        "/* first */ PRAGMA/**/key='secret'",
        "explain pragma rekey='secret'",
        "attach 'b.db' as b; pragma b.hexkey='secret'",
    ] {
        let message = place.run(&["shell", "a.db", sql]).failed();
        assert!(message.contains("seen by every user"), "{message}");
        assert!(!message.contains("secret"));
    }
}

#[test]
fn a_line_that_is_not_utf8_is_a_separate_error() {
    let place = Place::new();
    let run = place.run_with(&["shell"], b"select 1;\nselect '\xff';\nselect 2;\n");
    assert_eq!((run.status, run.output.as_str()), (1, "1\n2\n"));
    assert!(
        run.messages.contains("near line 2: the line is not UTF-8"),
        "{}",
        run.messages
    );
}

#[test]
fn read_only_changes_nothing() {
    let place = Place::new();
    let missing = place
        .run(&["shell", "--readonly", "none.db", "select 1"])
        .failed();
    assert!(missing.contains("there is no file none.db"), "{missing}");
    assert!(!place.exists("none.db"));
    place.plain_database("a.db");
    let before = place.bytes("a.db");
    let script = "delete from t;\n.encrypt x\n";
    let message = place
        .run_with(&["shell", "--readonly", "a.db"], script)
        .failed();
    assert!(
        message.contains("readonly") && message.contains("--readonly"),
        "{message}"
    );
    assert_eq!(place.bytes("a.db"), before);
}

#[test]
fn a_name_that_was_mistyped_makes_no_file() {
    let place = Place::new();
    for arguments in [
        &["select 1"][..],
        &["select * from t"],
        &[".tables", ".schema"],
    ] {
        let message = place
            .run(&[&["shell", "typo.db"], arguments].concat())
            .failed();
        assert!(message.contains("there is no file typo.db"), "{message}");
        assert!(!place.exists("typo.db"));
    }
    let made = ["shell", "new.db", "select 1", "create table t(a)"];
    assert_eq!(place.run(&made).fine(), "1\n");
    assert!(place.exists("new.db"));
    assert_eq!(place.run(&["shell", ":memory:", "select 1"]).fine(), "1\n");
}
