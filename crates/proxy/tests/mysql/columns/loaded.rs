//! Files of the client that `LOAD DATA LOCAL` reads.

use std::io::Write as _;

use mysql::prelude::Queryable as _;
use mysql::{Conn, LocalInfileHandler};

use super::inserted::same;
use super::lab::{Lab, both, connect};
use crate::mysql::setup::{Proxy, Tap, contain};

/// Gives a client this file, whatever its name is.
pub fn give(client: &mut Conn, file: &[u8]) {
    let file = file.to_vec();
    let handler = LocalInfileHandler::new(move |_, stream| stream.write_all(&file));
    client.set_local_infile_handler(Some(handler));
}

/// Loads a file into a protected and a plain table, and compares what comes.
pub fn same_file(lab: &mut Lab, statement: &str, file: &[u8]) {
    give(&mut lab.ours, file);
    give(&mut lab.theirs, file);
    same(lab, statement, vec![]);
    let [ours, theirs] = [&mut lab.ours, &mut lab.theirs].map(|client| {
        let found: Vec<(String, u16, String)> = client.query("SHOW WARNINGS").expect("rows");
        let found = found.into_iter();
        let found =
            found.map(|(level, code, said)| (level, code, said.replace("`twin`", "`shop`")));
        found.collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs, "{statement}");
}

const ROWS: &str = "SELECT id, name, number, small, born, paid, note, face, city FROM person ORDER \
                    BY id";

const FIRST: &[u8] =
    b"1\tcanary\t4242424201\t-7\t1977-07-17\t77.70\tn\\tote \xc3\xa9\\\n\\\\\t\x00\x01\ta\n\
    2\tb\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n3\tb\t5\t1\t2000-01-01\t1\t\t\\0\tbb\textra\n";

#[test]
fn files_are_loaded_as_into_plain_tables() {
    for mut lab in both() {
        for (statement, file) in [
            (
                "LOAD DATA LOCAL INFILE 'a.tsv' INTO TABLE person CHARACTER SET utf8mb4 (id, name, \
                 number, small, born, paid, note, face, city)",
                FIRST,
            ),
            (
                "LOAD DATA LOCAL INFILE 'b.csv' REPLACE INTO TABLE shop.person CHARACTER SET \
                 utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY \
                 '\\r\\n' IGNORE 1 LINES (number, name, id) SET city = 'x''y', small = -3, paid = \
                 1.5",
                b"number,name\r\n4242424201,\"can\"\"ary, \"\"x\",7\r\n4242424207,\"a\r\nb\",8\r\n\
                  NULL,\"NULL\",9",
            ),
            (
                "LOAD DATA LOCAL INFILE 'c' IGNORE INTO TABLE card CHARACTER SET utf8mb4 FIELDS \
                 ESCAPED BY '' LINES TERMINATED BY '||'",
                b"4242424201\tabc\t1||4242424202\ttoo long\tx||4242424203\tc\\\t3\t",
            ),
            (
                "LOAD DATA LOCAL INFILE 'person.csv' INTO TABLE plain FIELDS TERMINATED BY ','",
                b"1,one\n2,two\n\n3,three,four\n",
            ),
            (
                "LOAD DATA LOCAL INFILE 'd' INTO TABLE person CHARACTER SET utf8mb4 (number, name)",
                b"",
            ),
            (
                "LOAD DATA LOCAL INFILE 'e' REPLACE INTO TABLE person CHARACTER SET utf8mb4 FIELDS \
                 TERMINATED BY ',' (id, name)",
                b"31,a\n32,b,of the end of the file,no warning",
            ),
        ] {
            same_file(&mut lab, statement, file);
        }
        same(&mut lab, "SELECT ROW_COUNT() AS c", vec![]);
        let version: Option<String> = lab.theirs.query_first("SELECT VERSION()").expect("a row");
        if version.is_some_and(|version| version.contains("MariaDB")) {
            let mode = "SET sql_mode = 'NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES'";
            same(&mut lab, mode, vec![]);
            let load = "LOAD DATA LOCAL INFILE 'e\\f' REPLACE INTO TABLE person CHARACTER SET \
                        utf8mb4 (id, name, note, city)";
            same_file(&mut lab, load, b"21\tcanary\\N\t\\N\t\\\n22\ta\\\tb\tc\n");
        }
        for rows in [
            ROWS,
            "SELECT * FROM card ORDER BY kind",
            "SELECT * FROM plain ORDER BY id",
        ] {
            same(&mut lab, rows, vec![]);
        }
    }
}

#[test]
fn a_large_file_goes_through_in_pieces() {
    for mut lab in both() {
        let mut file = Vec::new();
        for id in 1..=30_000 {
            let note = "canary ".repeat(id % 9);
            writeln!(file, "{id}\tname {id}\t{}\t{note}", id * 7).expect("it is memory");
        }
        // A row that is longer than what is read at a time.
        writeln!(file, "40000\tx\t1\t{}", "y".repeat(60_000)).expect("it is memory");
        let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE person CHARACTER SET utf8mb4 (id, name, \
                    number, note)";
        same_file(&mut lab, load, &file);
        for rows in [
            "SELECT COUNT(*) AS c, COUNT(number) AS n FROM person WHERE number <> 7",
            "SELECT id, name, number, note FROM person WHERE id > 29900 ORDER BY id",
        ] {
            same(&mut lab, rows, vec![]);
        }
    }
}

#[test]
fn what_does_not_fit_makes_the_statement_fail_as_a_whole() {
    for mut lab in both() {
        let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE person CHARACTER SET utf8mb4 (id, name, \
                    number)";
        for (file, why) in [
            (&b"1\tcanary\t4242424201\n2\tb\tone\n3\tc\t3\n"[..], "row 2"),
            (b"1\tlonger than twenty letters\t1\n", "row 1"),
            (b"1\ta\t1\n2\tb\n", "no field"),
            (b"1\t\xe9\t1\n", "UTF-8"),
            (b"1\xe9\tx\t1\n", "UTF-8"),
            (b"1\t\\N\t1\n", "cannot be null"),
        ] {
            give(&mut lab.ours, file);
            let said = lab.ours.query_drop(load).expect_err("it does not fit");
            let said = said.to_string();
            assert!(
                said.contains("strongroom: ") && said.contains(why),
                "{said}"
            );
            let count: Option<u64> = lab
                .ours
                .query_first("SELECT COUNT(*) FROM person")
                .expect("the session goes on");
            assert_eq!(count, Some(0), "{why}");
        }
        for (statement, why) in [
            (
                "LOAD DATA LOCAL INFILE 'x' INTO TABLE card (kind)",
                "NOT NULL",
            ),
            (
                "LOAD DATA INFILE '/tmp/x' INTO TABLE person",
                "LOAD DATA LOCAL",
            ),
            (
                "LOAD DATA LOCAL INFILE 'x' INTO TABLE person (@n) SET name = @n",
                "variables",
            ),
            (
                "LOAD DATA LOCAL INFILE 'x' INTO TABLE card CHARACTER SET ucs2",
                "utf8mb4",
            ),
            (
                "LOAD DATA LOCAL INFILE 'x' INTO TABLE plain; SELECT 1",
                "several",
            ),
        ] {
            let said = lab.ours.query_drop(statement).expect_err(statement);
            let said = said.to_string();
            assert!(
                said.contains("strongroom: ") && said.contains(why),
                "{said}"
            );
        }
    }
}

#[test]
fn no_value_of_a_file_reaches_the_server_in_clear() {
    for lab in both() {
        let tap = Tap::before(lab.server.port());
        let proxy = Proxy::before(&tap.address.to_string(), super::lab::RULES);
        let mut client = connect(proxy.port(), "shop");
        let file =
            b"1\tcanaryname\t4242424277\tcanarynote\tseen\n2\tcanaryname\tcanarynote\t1\tx\n";
        give(&mut client, file);
        let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE person CHARACTER SET utf8mb4 (id, name, \
                    number, note, city)";
        client.query_drop(load).expect_err("the second row");
        let sent = tap.sent();
        assert!(contain(&sent, b"seen"));
        for canary in ["canaryname", "4242424277", "canarynote"] {
            assert!(!contain(&sent, canary.as_bytes()), "{canary}");
        }
    }
}
