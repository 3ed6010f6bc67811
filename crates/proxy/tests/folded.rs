//! Names in a database where letters are single bytes: the server folds more of them than A to Z,
//! by its locale (in Turkish, the dotted capital I to the `i` of ASCII), and takes longer ones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::common::Setup;
use postgres::{Client, NoTls};

const RULES: &str = r#"
[columns.kisi]
isim = { type = "text" }
soyad = { type = "text" }

[columns."şube"]
ad = { type = "text" }
"#;

const LOCALE: &str = "tr_TR.iso88599";

/// Makes the locale in a folder; whether it could be made.
fn make_locale(folder: &Path) -> bool {
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder, mode).expect("own folder");
    let mut command = Command::new("localedef");
    command.args(["-i", "tr_TR", "-f", "ISO-8859-9"]);
    let made = command.arg(folder.join(LOCALE)).output();
    made.is_ok_and(|made| made.status.success())
}

/// A server with the database, and a proxy; without a folder of locales, that database has `C`.
fn start(locales: Option<&Path>) -> Setup {
    let setup = Setup::start_among(locales, RULES, "");
    let locale = locales.map_or("C", |_| LOCALE);
    let create = format!(
        "CREATE DATABASE turkish ENCODING 'LATIN5' LC_COLLATE '{locale}' LC_CTYPE '{locale}' \
         TEMPLATE template0"
    );
    let made = setup.server.connect().batch_execute(&create);
    made.expect(&create);
    setup
}

fn connect(port: u16) -> Client {
    let url = format!("postgres://postgres@127.0.0.1:{port}/turkish");
    Client::connect(&url, NoTls).expect("logged in")
}

/// Where the locale cannot be made, the server folds A to Z alone: there it tests the long name.
#[test]
fn a_name_that_the_server_folds_by_its_locale_takes_nothing_in_clear() {
    if !server_testkit::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folds = make_locale(folder.path());
    let setup = start(folds.then(|| folder.path()));
    let mut client = connect(setup.proxy.address.port());
    let mut direct = connect(setup.server.port());
    // In single bytes, that is within the 63 of a name.
    let long = "ş".repeat(40);
    for statement in [
        "CREATE TABLE kisi (id integer, isim text)",
        "CREATE TABLE şube (id integer, ad text)",
        "CREATE VIEW LONG AS SELECT id, isim FROM kisi",
        "CREATE FUNCTION çal(t text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE t; END'",
        "INSERT INTO kisi VALUES (1, 'CANARY')",
        "INSERT INTO şube VALUES (1, 'CANARY')",
        "INSERT INTO KISI (id, ISIM) VALUES (2, 'CANARY')",
    ] {
        let text = statement.replace("LONG", &long);
        client.batch_execute(&text).expect(statement);
    }
    for name in ["KİSİ", "ŞUBE"] {
        let count = direct.query_one(&format!("SELECT count(*) FROM {name}"), &[]);
        assert_eq!(count.is_ok(), folds, "{name}");
    }
    for statement in [
        "INSERT INTO KİSİ VALUES (3, 'CANARY')",
        "INSERT INTO ŞUBE VALUES (3, 'CANARY')",
        "INSERT INTO public.kİsi VALUES (3, 'CANARY')",
        "INSERT INTO kisi (id, İSİM) VALUES (3, 'CANARY')",
        "UPDATE KİSİ SET isim = 'CANARY'",
        "UPDATE kisi SET İSİM = 'CANARY'",
        "DELETE FROM KİSİ WHERE isim = 'CANARY'",
        "SELECT id FROM KİSİ WHERE isim = 'CANARY'",
        "SELECT id FROM kisi WHERE İSİM = 'CANARY'",
        "SELECT id FROM kisi AS k WHERE k.İSİM = 'CANARY'",
        "SELECT id FROM kisi AS kişi WHERE KİŞİ.isim = 'CANARY'",
        "WITH neu AS (INSERT INTO KİSİ VALUES (3, 'CANARY') RETURNING id) SELECT id FROM neu",
        "PREPARE p AS INSERT INTO KİSİ VALUES (3, 'CANARY')",
        "DO $$ BEGIN INSERT INTO KİSİ VALUES (3, 'CANARY'); END $$",
        "CREATE VIEW v AS SELECT id FROM KİSİ WHERE isim = 'CANARY'",
        "SELECT ÇAL('INSERT INTO kisi (isim) VALUES (''CANARY'')')",
        "CREATE INDEX i ON KİSİ ((isim = 'CANARY'))",
        "ALTER TABLE KİSİ ADD COLUMN soyad text DEFAULT 'CANARY'",
        "ALTER TABLE kisi ADD COLUMN SOYAD text DEFAULT 'CANARY'",
        "ALTER TABLE kisi ALTER COLUMN İSİM SET DEFAULT 'CANARY'",
        "INSERT INTO LONG VALUES (4, 'CANARY')",
        "INSERT INTO \"LONG\" VALUES (5, 'CANARY')",
        "COPY KİSİ FROM STDIN",
        "DROP TABLE şube; CREATE TABLE ŞUBE (id integer, ad text DEFAULT 'CANARY')",
        "DROP VIEW LONG; CREATE TABLE KİSİ (id integer, isim text DEFAULT 'CANARY')",
        "ALTER TABLE kisi ADD COLUMN soyad text, ADD CHECK (İSİM <> 'CANARY')",
    ] {
        let text = statement.replace("LONG", &long);
        client.batch_execute(&text).expect_err(statement);
    }
    setup.assert_unseen(&["CANARY"]);
}
