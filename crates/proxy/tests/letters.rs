//! Large and small letters that the proxy changes are those that the server of the database
//! changes, or the statement is refused: beside a plain table, in databases of several locales.

use crate::common::Setup;
use crate::common::texts::answer;
use postgres::{Client, NoTls};

const RULES: &str = "[columns.word]\nname = { type = \"text\" }\n";

/// Words, and whether their letters change alike in all locales of Unicode: to small, to large.
const WORDS: [(&str, bool, bool); 9] = [
    ("Straw I", true, true),
    ("ÄÖÜ žŽ", true, true),
    ("Straße", true, false),
    ("İstanbul", false, true),
    ("ΟΔΥΣΣΕΥΣ", false, true),
    ("\u{212a}elvin", false, true),
    ("漢字 Abc", true, true),
    ("жЖ", true, true),
    ("ﬁn", true, false),
];

fn start(setup: &Setup, database: &str, options: &str) -> Option<Client> {
    let create = format!("CREATE DATABASE {database} TEMPLATE template0 {options}");
    // Not every server has every locale.
    setup.server.connect().batch_execute(&create).ok()?;
    let port = setup.proxy.address.port();
    let url = format!("postgres://postgres@127.0.0.1:{port}/{database}");
    let mut client = Client::connect(&url, NoTls).expect("logged in");
    for table in ["word", "plain"] {
        let make = format!("CREATE TABLE {table} (id integer, name text)");
        client.batch_execute(&make).expect("made");
        for (id, (word, ..)) in (0_i32..).zip(WORDS) {
            let insert = format!("INSERT INTO {table} VALUES ($1, $2)");
            client.execute(&insert, &[&id, &word]).expect("inserted");
        }
    }
    Some(client)
}

/// The answer of the server or a refusal; whether it is an answer.
#[track_caller]
pub fn is_answered(client: &mut Client, statement: &str) -> bool {
    let plain = answer(client, &statement.replace("word", "plain")).expect(statement);
    match answer(client, statement) {
        Ok(given) => {
            assert_eq!(given, plain, "{statement}");
            true
        }
        Err(error) => {
            assert_eq!(
                error.code().map(|code| code.code()),
                Some("0A000"),
                "{error:?}"
            );
            false
        }
    }
}

#[test]
fn letters_change_as_in_the_database() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut setup = Setup::start(RULES);
    setup.is_searched = false;
    for (database, options, is_c) in [
        ("c", "ENCODING 'UTF8' LOCALE 'C'", true),
        ("posix_c", "ENCODING 'UTF8' LOCALE 'C.UTF-8'", false),
        (
            "german",
            "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'de' LOCALE 'C'",
            false,
        ),
        (
            "turkish",
            "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C'",
            false,
        ),
    ] {
        let Some(mut client) = start(&setup, database, options) else {
            continue;
        };
        for (id, (_, to_small, to_large)) in WORDS.iter().enumerate() {
            let lower = format!("SELECT lower(name) FROM word WHERE id = {id}");
            let upper = format!("SELECT upper(name) FROM word WHERE id = {id}");
            let like = format!("SELECT id FROM word WHERE id = {id} AND name ILIKE '%A%'");
            let answered = [lower, upper, like].map(|text| is_answered(&mut client, &text));
            let wanted = match (is_c, database) {
                (true, _) => [true; 3],
                (_, "turkish") => answered,
                _ => [*to_small, *to_large, *to_small],
            };
            assert_eq!(answered, wanted, "{database} {id}");
        }
        is_answered(
            &mut client,
            "SELECT id FROM word WHERE name ILIKE 'straw i'",
        );
        is_answered(
            &mut client,
            "SELECT id FROM word WHERE id = 0 AND name ILIKE 'STRAW i'",
        );
        is_answered(
            &mut client,
            "SELECT id FROM word WHERE id = 1 AND name ILIKE 'äöü%'",
        );
    }
}
