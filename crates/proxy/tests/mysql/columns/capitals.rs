//! Names of columns in capital letters, which mean the same to the server: in tables, in rules, and
//! in statements.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};
use server_testkit::mysql::Brand;

use super::differential::{as_text, prepared};
use super::lab::{Lab, RULES, TABLES, finisher_of};

const OWN_RULES: &str = "
[columns.\"shop.Post\"]
id = { type = \"bigint\", mode = \"equality\" }
Author = { type = \"varchar(20)\" }
seen_at = { type = \"date\", mode = \"order\" }
WORDS = { type = \"integer\", mode = \"equality\" }
";
const OWN_TABLE: &str = "CREATE TABLE Post (ID BIGINT NOT NULL, Author VARCHAR(20), Seen_At DATE, \
                         words INT, `Kind Of` VARCHAR(8) DEFAULT 'x', PRIMARY KEY (id), KEY \
                         By_Words (`WORDS`, `kind of`))";

fn labs(more: impl Fn(Brand) -> String) -> impl Iterator<Item = Lab> {
    let tables = [&TABLES[..], &[OWN_TABLE]].concat();
    let brands = [Brand::MariaDb, Brand::MySql].into_iter();
    brands.filter_map(move |brand| {
        let rules = format!("{RULES}{OWN_RULES}{}", more(brand));
        Lab::with(brand, &rules, &tables)
    })
}

#[track_caller]
fn same(lab: &mut Lab, statement: &str, values: &[Value]) {
    let run = |client: &mut Conn| match values {
        [] => as_text(client, statement),
        values => prepared(client, statement, values.to_vec()),
    };
    assert_eq!(run(&mut lab.ours), run(&mut lab.theirs), "{statement}");
}

#[test]
fn a_column_has_its_name_in_letters_of_any_case() {
    for mut lab in labs(|_| String::new()) {
        for text in [
            "INSERT INTO person (ID, Name, `NUMBER`, Whole) VALUES (1, 'canary', 4242424201, 2)",
            "INSERT INTO person SET `ID` = 2, person.NAME = 'canary b', Small = 8, WHOLE = 2",
            "SELECT Name, p.NUMBER, `wHOLE` FROM person p WHERE Number = 4242424201",
            "SELECT COUNT(NUMBER) AS C, COUNT(DISTINCT Whole) FROM person WHERE SMALL IS NULL",
            "SELECT SUM(WHOLE) FROM person",
            "SELECT Whole AS W FROM person GROUP BY WHOLE",
            "SELECT name, NAME, `Name` AS NaMe FROM person ORDER BY ID",
            "UPDATE person SET NAME = 'canary c', Whole = WHOLE + 1 WHERE ID = 1",
            "UPDATE person p SET p.Name = 'canary d' WHERE p.SMALL = 8",
            "INSERT INTO person (id, name, number) VALUES (1, 'canary e', 4242424202) ON DUPLICATE \
             KEY UPDATE NAME = VALUES(Name), person.Number = VALUES(NUMBER)",
            "INSERT INTO card (Number, KIND, Person) SELECT NUMBER, 'abc', ID FROM person WHERE \
             NUMBER > 0 OR Number = 4242424202",
            "INSERT INTO card (Number, KIND, Person) SELECT NUMBER, 'abc', ID FROM person WHERE \
             Number = 4242424202",
            "UPDATE person P JOIN card c ON P.NUMBER = c.Number SET P.BORN = '1977-07-17', c.KIND \
             = 'xyz'",
            "ALTER TABLE person ADD INDEX by_whole (WHOLE, City)",
            "SELECT * FROM person ORDER BY Id",
            "SELECT c.*, P.Born FROM card c JOIN person P ON P.NUMBER = c.NUMBER",
            "DELETE FROM person WHERE SMALL = 8",
        ] {
            if text.contains("> 0") {
                lab.ours.query_drop(text).expect_err("mode equality");
                continue;
            }
            same(&mut lab, text, &[]);
        }
        let name = Value::Bytes(b"canary f".to_vec());
        let text = "INSERT INTO person (Id, NAME) VALUES (?, ?)";
        same(&mut lab, text, &[Value::Int(7), name]);
        let log = std::fs::read(lab.log()).expect("the log");
        let log = String::from_utf8_lossy(&log);
        let ours = log.lines().filter(|line| line.contains("`shop`."));
        let clear: Vec<&str> = ours.filter(|line| line.contains("canary")).collect();
        assert_eq!(clear, [""; 0]);
    }
}

/// Statements over the table whose columns have capital letters.
const OVER_CAPITALS: &[&str] = &[
    "INSERT INTO Post VALUES (4242424201, 'canary', '1977-07-17', 7, 'a')",
    "INSERT INTO Post (id, author, SEEN_AT, WORDS) VALUES (4242424202, 'canary b', '1999-12-31', \
     8)",
    "INSERT INTO Post (ID, Author) VALUES (4242424201, 'x')",
    "INSERT INTO Post (ID, Author) VALUES (4242424201, 'canary c') ON DUPLICATE KEY UPDATE AUTHOR \
     = VALUES(author)",
    "UPDATE Post SET Words = words + 1 WHERE Id = 4242424202",
    "SELECT * FROM Post WHERE ID = 4242424202",
    "SELECT p.* FROM Post p WHERE p.words = 9",
    "SELECT id, AUTHOR, Seen_at AS seen FROM Post ORDER BY SEEN_AT",
    "SELECT MAX(Seen_At) AS m, SUM(Words) AS s FROM Post",
    "SHOW COLUMNS FROM Post",
    "DESCRIBE Post",
    "SELECT Column_Name, data_type FROM information_schema.columns WHERE table_schema = DATABASE() \
     AND table_name = 'Post' ORDER BY ordinal_position",
    "CREATE UNIQUE INDEX by_id ON Post (id, `KIND OF`)",
    "DELETE FROM Post WHERE seen_at < '1980-01-01'",
    "REPLACE INTO Post (iD, aUTHOR) VALUES (5, 'canary d')",
    "SELECT * FROM Post WHERE ID = 5 FOR UPDATE",
];

#[test]
fn tables_and_rules_have_names_of_columns_in_capitals() {
    for mut lab in labs(|_| String::new()) {
        for text in OVER_CAPITALS {
            if text.contains("information_schema") {
                let rows = |client: &mut Conn| as_text(client, text).rows;
                assert_eq!(rows(&mut lab.ours), rows(&mut lab.theirs), "{text}");
                continue;
            }
            same(&mut lab, text, &[]);
        }
        let shown = "SHOW CREATE TABLE Post";
        let of = |client: &mut Conn| {
            let row: Option<(String, String)> = client.query_first(shown).expect("a table");
            row
        };
        assert_eq!(of(&mut lab.ours), of(&mut lab.theirs));
        let sealed: Vec<(Vec<u8>, Option<Vec<u8>>)> = lab
            .past()
            .query("SELECT ID, AUTHOR FROM Post")
            .expect("rows");
        assert!(sealed.len() == 2 && sealed.iter().all(|(id, _)| id.len() > 8));
    }
}

#[test]
fn the_finisher_gives_columns_their_names_in_capitals() {
    for mut lab in labs(finisher_of) {
        for text in OVER_CAPITALS {
            let is_told_of = !text.contains("information_schema") && !text.contains("FOR UPDATE");
            if is_told_of {
                same(&mut lab, text, &[]);
            }
        }
        for text in [
            "SELECT * FROM Post WHERE Author LIKE 'canary%' ORDER BY AUTHOR",
            "SELECT UPPER(AUTHOR), Words + 1 AS more FROM Post WHERE id > 1 ORDER BY id",
            "SELECT p.*, q.ID FROM Post p JOIN Post q ON p.id = q.ID + 0 ORDER BY q.id",
            "SELECT * FROM (SELECT * FROM Post WHERE author <> '') x ORDER BY x.ID",
            "UPDATE Post SET AUTHOR = CONCAT(Author, 'x'), `kind of` = 'y' WHERE author LIKE '%b'",
            "INSERT INTO Post (ID, AUTHOR) SELECT iD + 1, LOWER(aUthor) FROM Post WHERE id > 100",
            "DELETE FROM Post WHERE LENGTH(AUTHOR) > 100",
            "SELECT * FROM Post ORDER BY id + 0",
        ] {
            let ours = as_text(&mut lab.ours, text);
            let theirs = as_text(&mut lab.theirs, text);
            let names = |columns: &[String]| -> Vec<String> {
                let name = |own: &String| own.split(' ').take(4).collect::<Vec<_>>().join(" ");
                columns.iter().map(name).collect()
            };
            assert_eq!(names(&ours.columns), names(&theirs.columns), "{text}");
            assert_eq!(
                (ours.rows, ours.error),
                (theirs.rows, theirs.error),
                "{text}"
            );
        }
    }
}
