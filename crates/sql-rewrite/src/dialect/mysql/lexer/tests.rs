//! What the lexer reads is what a server reads: a random text and its plain form have one answer.

use mysql::prelude::Queryable as _;
use mysql::{Conn, OptsBuilder};
use server_testkit::mysql::{Brand, MySql as Server};

use super::{Reading, for_server, lexemes, plain};
use crate::dialect::mysql::MySql;

/// Parts that texts are made of: all that decides where something begins and ends.
const PARTS: &[&str] = &[
    "'",
    "'",
    "'",
    "\"",
    "\"",
    "`",
    "\\",
    "\\",
    "''",
    "a",
    "b",
    "1",
    "0",
    "e",
    "x",
    ".",
    "2.5",
    "--",
    "-",
    " ",
    " ",
    "\n",
    "\t",
    "#",
    "/*",
    "*/",
    "/",
    "*",
    "!",
    "/*!",
    "/*M!",
    "/*+",
    "50000",
    ";",
    ",",
    "(",
    ")",
    "+",
    "=",
    "<",
    ">",
    "<=>",
    "!=",
    "%",
    "_",
    "n",
    "Z",
    "é",
    "as ",
    "where ",
    "and ",
    "select ",
    "not ",
    "null",
    "is ",
    "count(1)",
    "|",
    "&",
    "~",
    "@",
    "\u{b}",
    "\u{7f}",
    "0x41",
    "x'41'",
    "_binary x'41'",
];

const MODES: [&str; 4] = [
    "STRICT_TRANS_TABLES",
    "STRICT_TRANS_TABLES,ANSI_QUOTES",
    "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES,ANSI_QUOTES,NO_BACKSLASH_ESCAPES",
];

/// Texts for each mode.
const TEXTS: usize = 8000;

/// The same numbers in each run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }
}

/// All results of a text, or the number of its error.
fn answer(connection: &mut Conn, text: &str) -> Result<Vec<Vec<mysql::Row>>, String> {
    let mut found = Vec::new();
    let mut results = match connection.query_iter(text) {
        Ok(results) => results,
        Err(error) => return Err(code(&error)),
    };
    while let Some(result) = results.iter() {
        let rows: Result<Vec<_>, _> = result.collect();
        found.push(rows.map_err(|error| code(&error))?);
    }
    Ok(found)
}

fn code(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => error.code.to_string(),
        other => panic!("{other}"),
    }
}

fn values(answer: Vec<Vec<mysql::Row>>) -> Vec<Vec<Vec<mysql::Value>>> {
    let rows = |rows: Vec<mysql::Row>| rows.into_iter().map(mysql::Row::unwrap).collect();
    answer.into_iter().map(rows).collect()
}

#[test]
fn a_text_and_its_plain_form_have_one_answer() {
    for (brand, is_mariadb, version) in [
        (Brand::MariaDb, true, 101_100),
        (Brand::MySql, false, 80_015),
    ] {
        if !brand.is_installed() {
            println!("left out: {brand:?} is not installed");
            continue;
        }
        let server = Server::start(brand, &[], &[], "");
        let builder = OptsBuilder::new()
            .user(Some("root"))
            .socket(Some(server.socket().display().to_string()));
        let mut connection = Conn::new(builder).expect("the server answers");
        let own = MySql {
            is_mariadb,
            version,
            ..MySql::default()
        };
        for mode in MODES {
            let own = own.with_mode(mode).expect("a known mode");
            compare(&mut connection, own, mode);
        }
    }
}

fn compare(connection: &mut Conn, own: MySql, mode: &str) {
    connection
        .query_drop(format!("SET SESSION sql_mode = '{mode}'"))
        .expect("a mode");
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut read, mut answered) = (0, 0);
    for _ in 0..TEXTS {
        let mut text = "SELECT ".to_owned();
        for _ in 0..=random.below(9) {
            text.push_str(PARTS[random.below(PARTS.len())]);
        }
        let Ok(plain) = plain(&text, own, Reading::Tree) else {
            continue;
        };
        read += 1;
        let ours = answer(connection, &for_server(plain.clone(), own)).map(values);
        let theirs = answer(connection, &text).map(values);
        answered += usize::from(theirs.is_ok());
        assert_eq!(ours, theirs, "{mode}: {text:?} is not {plain:?}");
    }
    println!("{mode}: {read} texts read, {answered} of them by the server");
    assert!(answered > TEXTS / 100, "{mode}: {answered} of {read}");
}

#[test]
fn what_servers_read_in_two_ways_is_refused() {
    for text in [
        "SELECT 1 /*! + 1 */",
        "SELECT 1 /*!50000 + 1 */",
        "SELECT 1 /*M! + 1 */",
        "SELECT /*+ SET_VAR(sql_mode='') */ 1",
        "SELECT 1 /* /* */ */",
        "SELECT 0x4",
        "SELECT x'4'",
        "SELECT 0x41g",
        "SELECT N'a'",
        "SELECT 'a' 'b'",
        "SELECT @@x",
        "SELECT @x.y",
        "SELECT @`x`",
        "SELECT @'x'",
        "SELECT @é",
        "SELECT a@b",
        "SELECT 1 || 2",
        "SELECT 'a\\%'",
        "SELECT 1 --\u{1}",
        "SELECT 1 --",
        "SELECT 1 --; ",
        "SELECT é",
    ] {
        let read = lexemes(text, MySql::default());
        assert!(read.is_err(), "{text}: {read:?}");
    }
}

#[test]
fn marks_stay_apart() {
    let read = |text| plain(text, MySql::default(), Reading::Tree).expect("a plain text");
    assert_eq!(read("SELECT 5--1"), "SELECT 5- -1");
    assert_eq!(read("SELECT 2*/**/-1"), "SELECT 2* -1");
    assert_eq!(read("SELECT t.*"), "SELECT t.*");
    assert_eq!(read("SELECT 'a\\''''"), "SELECT 'a'''''");
    assert_eq!(read("SELECT \"a'\""), "SELECT 'a'''");
}
