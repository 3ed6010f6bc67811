//! Texts that are found by a collation, beside a plain twin of the same server.

use std::fs;

use column_value::Collation;
use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};
use server_testkit::mysql::Brand;

use super::by_finisher::compare;
use super::canary::search;
use super::lab::{Lab, finisher_of};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.person\"]
mail = { type = \"varchar(80)\", UNICODE, domain = \"m\" }
name = { type = \"varchar(40)\", GENERAL }
code = { type = \"char(8)\", GENERAL }
note = { type = \"text\", UNICODE_520 }
number = { type = \"bigint\" }
[columns.\"shop.account\"]
mail = { type = \"varchar(90)\", UNICODE, domain = \"m\" }
[columns.\"shop.word\"]
word = { type = \"varchar(20)\", UNICODE_NOPAD }
kind = { type = \"varchar(20)\", UCA1400_AI }
[columns.\"shop.odd\"]
general = { type = \"varchar(20)\", GENERAL }
unicode = { type = \"varchar(20)\", UNICODE }
nopad = { type = \"varchar(20)\", UNICODE_520_NOPAD }
newest = { type = \"varchar(20)\", UCA1400_AI }
";

const TABLES: [&str; 4] = [
    "CREATE TABLE person (id INT AUTO_INCREMENT PRIMARY KEY, mail VARCHAR(80) CHARACTER SET \
     utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL UNIQUE, name VARCHAR(40) COLLATE \
     utf8mb4_general_ci, code CHAR(8) COLLATE utf8mb4_general_ci, note TEXT COLLATE \
     utf8mb4_unicode_520_ci, number BIGINT, \
     city VARCHAR(20), KEY by_name (name, city))",
    "CREATE TABLE account (mail VARCHAR(90) COLLATE utf8mb4_unicode_ci, owner INT, PRIMARY KEY \
     (mail))",
    "CREATE TABLE word (id INT PRIMARY KEY, word VARCHAR(20) COLLATE utf8mb4_unicode_nopad_ci, \
     kind VARCHAR(20) COLLATE utf8mb4_uca1400_ai_ci, UNIQUE KEY by_word (word))",
    "CREATE TABLE odd (id INT PRIMARY KEY, general VARCHAR(20) COLLATE utf8mb4_general_ci, unicode \
     VARCHAR(20) COLLATE utf8mb4_unicode_ci, nopad VARCHAR(20) COLLATE \
     utf8mb4_unicode_520_nopad_ci, newest VARCHAR(20) COLLATE utf8mb4_uca1400_ai_ci)",
];

type Statement = (&'static str, &'static [&'static str]);

/// Statements in their order, with their parameters.
const STATEMENTS: &[Statement] = &[
    (
        "INSERT INTO person (id, mail, name, code, note, number, city) VALUES (1, \
         'Kanari@example.org', 'Kanári', 'ab', 'Straße', 1, 'Rome'), (2, 'kanari@example.net ', \
         'KANARI  ', 'AB', 'STRASSE', 2, 'rome'), (3, 'élan@example.org', '', '', '', 3, NULL), \
         (4, '😀@example.org', '😀', NULL, NULL, 4, NULL)",
        &[],
    ),
    (
        "INSERT INTO person (id, mail, name) VALUES (5, ?, ?)",
        &["Müller@example.org", "Müller"],
    ),
    // Taken, in another writing.
    (
        "INSERT INTO person (id, mail) VALUES (6, 'KANARI@EXAMPLE.ORG')",
        &[],
    ),
    (
        "INSERT INTO person (id, mail) VALUES (6, ?)",
        &["kánari@example.org  "],
    ),
    (
        "INSERT INTO person (id, mail, name) VALUES (7, 'seven@x', NULL), (8, 'SEVEN@x', 'a')",
        &[],
    ),
    (
        "INSERT IGNORE INTO person (id, mail) VALUES (7, 'kanari@Example.org'), (8, 'eight@x')",
        &[],
    ),
    (
        "INSERT INTO person (id, mail, name) VALUES (9, 'EIGHT@X', 'new') ON DUPLICATE KEY UPDATE \
         name = VALUES(name), city = 'there'",
        &[],
    ),
    (
        "INSERT INTO person (mail, name) VALUES (?, ?) ON DUPLICATE KEY UPDATE mail = \
         VALUES(mail), name = VALUES(name)",
        &["Eight@X", "newer"],
    ),
    (
        "REPLACE INTO person (id, mail, name) VALUES (10, 'eiGht@x', 'ten')",
        &[],
    ),
    (
        "INSERT INTO account VALUES ('KANARI@example.org', 1), ('elan@example.org', 3), ('no@x', \
         9)",
        &[],
    ),
    ("INSERT INTO account VALUES (?, 2)", &["kanari@example.net"]),
    ("INSERT INTO account VALUES ('NO@X ', 10)", &[]),
    (
        "INSERT INTO word VALUES (1, 'a', 'ﬁ'), (2, 'a ', 'fi'), (3, 'A\\t', '한'), (4, 'ß', 'x'), \
         (5, NULL, NULL), (6, 'b', '')",
        &[],
    ),
    ("INSERT INTO word VALUES (7, 'SS', 'x')", &[]),
    ("INSERT INTO word VALUES (7, 'Á', 'x')", &[]),
    ("SELECT * FROM person ORDER BY id", &[]),
    // A login, in another writing.
    (
        "SELECT id, mail FROM person WHERE mail = 'kanari@EXAMPLE.org'",
        &[],
    ),
    (
        "SELECT id, mail FROM person WHERE mail = ?",
        &["KÁNARI@example.ORG   "],
    ),
    (
        "SELECT id FROM person WHERE mail = ? AND city = 'Rome'",
        &["nobody@example.org"],
    ),
    (
        "SELECT id FROM person WHERE 'muller@example.org' = mail",
        &[],
    ),
    (
        "SELECT id, name FROM person WHERE name = ? ORDER BY id",
        &["kanari"],
    ),
    (
        "SELECT id FROM person WHERE name = '' OR code = '' OR note = '' ORDER BY id",
        &[],
    ),
    ("SELECT id FROM person WHERE name = '    ' ORDER BY id", &[]),
    (
        "SELECT id FROM person WHERE name <> 'kanari' ORDER BY id",
        &[],
    ),
    (
        "SELECT id FROM person WHERE NOT name = ? ORDER BY id",
        &["KANARI"],
    ),
    (
        "SELECT id FROM person WHERE name IN ('kanari', 'muller', NULL) ORDER BY id",
        &[],
    ),
    (
        "SELECT id FROM person WHERE name NOT IN (?, ?) ORDER BY id",
        &["KANARI", "MULLER"],
    ),
    (
        "SELECT id FROM person WHERE (name, code) = ('kanari', 'ab') ORDER BY id",
        &[],
    ),
    (
        "SELECT id FROM person WHERE code = 'aB   ' ORDER BY id",
        &[],
    ),
    (
        "SELECT id FROM person WHERE note = 'strasse' ORDER BY id",
        &[],
    ),
    ("SELECT id FROM person WHERE name = '😁'", &[]),
    ("SELECT id FROM person WHERE note = '😁'", &[]),
    ("SELECT id FROM person WHERE mail = NULL", &[]),
    ("SELECT id FROM person WHERE name IS NULL ORDER BY id", &[]),
    ("SELECT id FROM person WHERE name <=> NULL ORDER BY id", &[]),
    (
        "SELECT id FROM person WHERE name <=> 'KANARI' ORDER BY id",
        &[],
    ),
    (
        "SELECT id, name = 'kanari' AS same FROM person ORDER BY id",
        &[],
    ),
    ("SELECT id, name = 'kanari' FROM person ORDER BY id", &[]),
    (
        "SELECT id, CASE name WHEN 'kanari' THEN 1 ELSE 0 END AS c FROM person ORDER BY id",
        &[],
    ),
    ("SELECT id FROM person WHERE name = 0 ORDER BY id", &[]),
    (
        "SELECT id FROM person WHERE name COLLATE utf8mb4_bin = 'kanari' ORDER BY id",
        &[],
    ),
    (
        "SELECT id FROM person WHERE name LIKE 'kan%' ORDER BY id",
        &[],
    ),
    ("SELECT id FROM person WHERE name > 'l' ORDER BY id", &[]),
    (
        "SELECT id FROM person WHERE LOWER(mail) = 'kanari@example.org'",
        &[],
    ),
    (
        "SELECT COUNT(*) AS c FROM person WHERE mail = 'KANARI@example.org'",
        &[],
    ),
    (
        "SELECT COUNT(DISTINCT name) AS c, COUNT(name) AS d FROM person",
        &[],
    ),
    (
        "SELECT COUNT(*) AS c FROM person GROUP BY name ORDER BY c DESC, MIN(id)",
        &[],
    ),
    ("SELECT MIN(name), MAX(mail) FROM person", &[]),
    ("SELECT id FROM person ORDER BY mail DESC, id", &[]),
    (
        "SELECT word, id FROM word WHERE word = 'A' ORDER BY id",
        &[],
    ),
    (
        "SELECT word, id FROM word WHERE word = 'A ' ORDER BY id",
        &[],
    ),
    ("SELECT id FROM word WHERE word = ? ORDER BY id", &["ss"]),
    ("SELECT id FROM word WHERE kind = 'FI' ORDER BY id", &[]),
    (
        "SELECT id FROM word WHERE kind = ? ORDER BY id",
        &["\u{1112}\u{1161}\u{11ab}"],
    ),
    // Joins of one domain.
    (
        "SELECT p.id, a.owner FROM person p JOIN account a ON a.mail = p.mail",
        &[],
    ),
    (
        "SELECT p.id, a.mail FROM person p LEFT JOIN account a ON p.mail = a.mail AND a.owner > 1",
        &[],
    ),
    (
        "SELECT p.id FROM person p, account a WHERE p.mail = a.mail AND a.mail = ?",
        &["Kanari@Example.Net"],
    ),
    (
        "SELECT a.id, b.id FROM person a JOIN person b ON a.name = b.name AND a.id < b.id",
        &[],
    ),
    (
        "SELECT owner FROM account JOIN person USING (mail) ORDER BY owner",
        &[],
    ),
    (
        "SELECT id FROM person WHERE mail IN (SELECT mail FROM account) ORDER BY id",
        &[],
    ),
    (
        "SELECT id FROM person p WHERE EXISTS (SELECT 1 FROM account a WHERE a.mail = p.mail) \
         ORDER BY id",
        &[],
    ),
    // Changes.
    (
        "UPDATE person SET name = ? WHERE mail = ?",
        &["Élan", "ELAN@example.org"],
    ),
    (
        "UPDATE person SET mail = 'KANARI@example.NET' WHERE mail = 'kanari@example.net'",
        &[],
    ),
    (
        "UPDATE person SET mail = 'elan@EXAMPLE.org' WHERE id = 1",
        &[],
    ),
    ("UPDATE person SET number = number + 1 WHERE id = 1", &[]),
    (
        "UPDATE person SET city = 'Paris' WHERE name = 'KANARI' ORDER BY id LIMIT 1",
        &[],
    ),
    (
        "UPDATE account SET owner = owner + 1 WHERE mail = 'KANARI@EXAMPLE.ORG'",
        &[],
    ),
    ("UPDATE account SET owner = 7 WHERE mail LIKE 'no%'", &[]),
    ("DELETE FROM person WHERE mail = 'müLLER@example.org'", &[]),
    ("DELETE FROM account WHERE mail LIKE 'NO@%'", &[]),
    (
        "INSERT INTO person (id, mail, name) SELECT id + 100, 'copied@x', name FROM person WHERE \
         id = 3",
        &[],
    ),
    ("SELECT * FROM person ORDER BY id", &[]),
    ("SELECT * FROM account ORDER BY owner", &[]),
    ("SHOW CREATE TABLE person", &[]),
    ("SHOW CREATE TABLE account", &[]),
    ("SHOW CREATE TABLE word", &[]),
    ("SHOW FULL COLUMNS FROM word", &[]),
];

/// Collations that MariaDB alone has: MySQL's own stands in their place.
const OF_MARIADB: [&str; 3] = ["unicode_nopad", "unicode_520_nopad", "uca1400_ai"];
const OF_MYSQL: &str = "0900_ai";

/// The collations that a server has.
fn collations(brand: Brand) -> impl Iterator<Item = Collation> {
    Collation::ALL.into_iter().filter(move |own| {
        let name = own.name();
        let is_of_mysql = name.contains(OF_MYSQL);
        match brand {
            Brand::MariaDb => !is_of_mysql,
            Brand::MySql => is_of_mysql || !(name.contains("nopad") || name.contains("uca1400")),
        }
    })
}

fn lab(brand: Brand) -> Option<Lab> {
    let mut rules = format!("{RULES}{}", finisher_of(brand));
    let mut tables = TABLES.map(str::to_owned);
    for other in OF_MARIADB.iter().filter(|_| brand == Brand::MySql) {
        rules = rules.replace(
            &format!(", {}", other.to_uppercase()),
            &format!(", {}", OF_MYSQL.to_uppercase()),
        );
        // It is the default there, and shown as a column's own only where it was declared as such.
        let declared = format!(" COLLATE utf8mb4_{other}_ci");
        tables = tables.map(|table| table.replace(&declared, ""));
    }
    for collation in collations(brand) {
        let name = collation.name();
        let word = name.trim_start_matches("utf8mb4_").trim_end_matches("_ci");
        let said = format!("mode = \"equality\", collation = \"{name}\"");
        for end in [",", " }"] {
            let (word, said) = (
                format!(", {}{end}", word.to_uppercase()),
                format!(", {said}{end}"),
            );
            rules = rules.replace(&word, &said);
        }
    }
    Lab::with(brand, &rules, &tables.each_ref().map(String::as_str))
}

#[test]
fn texts_are_found_as_in_a_plain_table() {
    if let Some(lab) = lab(Brand::MariaDb) {
        texts_are_found(lab);
    }
}

#[test]
fn texts_are_found_as_in_a_plain_table_of_mysql() {
    if let Some(lab) = lab(Brand::MySql) {
        texts_are_found(lab);
    }
}

fn texts_are_found(mut lab: Lab) {
    let mut wrong = Vec::new();
    for (text, parameters) in STATEMENTS {
        let values = parameters.iter().map(|own| Value::from(*own));
        let values = (!parameters.is_empty()).then(|| values.collect());
        if let Err(other) = compare(&mut lab, text, values) {
            wrong.push(other);
        }
        let is_read = text.starts_with("SELECT");
        if is_read && parameters.is_empty() {
            wrong.extend(compare(&mut lab, text, Some(Vec::new())).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    columns_are_listed_as_declared(&mut lab);
    odd_letters_agree(&mut lab);
    weights_decide_about_letters(&mut lab);
    no_text_is_in_clear(&lab);
    search(&lab.server.folder().join("data/shop"));
}

/// No statement of the proxy has a text of a protected column.
fn no_text_is_in_clear(lab: &Lab) {
    let log = fs::read(lab.log()).expect("a log");
    let log = String::from_utf8_lossy(&log);
    let mut count = 0;
    for line in log.lines().filter(|line| line.contains("`shop`.")) {
        count += 1;
        for canary in ["anari", "KANARI", "traße", "STRASSE", "EIGHT", "Müller"] {
            assert!(!line.contains(canary), "{canary} in {line}");
        }
    }
    assert!(count > 100, "{count}");
}

fn columns_are_listed_as_declared(lab: &mut Lab) {
    let text = "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.columns \
                WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'word' ORDER BY ORDINAL_POSITION";
    let listed = |connection: &mut Conn| {
        let rows: Vec<(String, String, Option<String>)> = connection.query(text).expect(text);
        rows
    };
    assert_eq!(listed(&mut lab.ours), listed(&mut lab.theirs));
}

/// Letters of all kinds: with marks, that expand, that combine, that do not count, and beyond the
/// first 65,536.
const ODD: [&str; 40] = [
    "a",
    "A",
    "ä",
    "á",
    "a\u{301}",
    "ß",
    "ss",
    "ſ",
    " ",
    "\u{a0}",
    "\0",
    "\u{200d}",
    "\u{301}",
    "ﬁ",
    "f",
    "i",
    "I",
    "ı",
    "İ",
    "😀",
    "😁",
    "𝐀",
    "\u{3000}",
    "Æ",
    "ae",
    "\u{feff}",
    "\t",
    "한",
    "\u{1112}\u{1161}\u{11ab}",
    "が",
    "か\u{3099}",
    "ｶ",
    "\u{345}",
    "Ω",
    "ς",
    "σ",
    "\u{ffff}",
    "ﷺ",
    "①",
    "1",
];

/// Texts of odd letters, the same each time, are found as in a plain table.
fn odd_letters_agree(lab: &mut Lab) {
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let mut texts = vec![String::new(), " ".to_owned()];
    for _ in 0..70 {
        let count = next(4);
        texts.push((0..count).map(|_| ODD[next(ODD.len())]).collect());
        let mut longer = texts[next(texts.len())].clone();
        longer.push_str(ODD[next(ODD.len())]);
        texts.push(longer);
    }
    texts.retain(|text| text.chars().count() <= 20);
    let mut insert = "INSERT INTO odd VALUES ".to_owned();
    let mut values = Vec::new();
    for (id, text) in texts.iter().enumerate() {
        insert.push_str(if id == 0 { "" } else { ", " });
        insert.push_str(&format!("({id}, ?, ?, ?, ?)"));
        values.extend(std::iter::repeat_n(Value::from(text.as_str()), 4));
    }
    compare(lab, &insert, Some(values)).expect("they are stored");
    let mut found = 0;
    for column in ["general", "unicode", "nopad", "newest"] {
        for text in &texts {
            let query = format!("SELECT id FROM odd WHERE {column} = ? ORDER BY id");
            let value = vec![Value::from(text.as_str())];
            if let Err(wrong) = compare(lab, &query, Some(value.clone())) {
                panic!("{text:?}: {wrong}");
            }
            let rows: Vec<u32> = lab.ours.exec(query, value).expect("rows");
            assert!(!rows.is_empty(), "{column} {text:?}");
            found += rows.len() - 1;
        }
    }
    assert!(found > 500, "{found} equal texts");
    let twins = "SELECT a.id, b.id FROM odd a JOIN odd b ON a.unicode = b.unicode WHERE a.id < \
                 b.id ORDER BY a.id, b.id";
    compare(lab, twins, None).expect("they are joined");
}

/// The server takes letters for equal if, and only if, their collation keys are: as many letters
/// differ as keys do.
/// Of all letters, and not of the first 65,536 alone, if STRONGROOM_ALL_LETTERS is set.
fn weights_decide_about_letters(lab: &mut Lab) {
    let digit = |factor: u32| {
        let rest = (1..16).map(|own| format!(" UNION ALL SELECT {}", own * factor));
        format!("(SELECT 0 AS d{})", rest.collect::<String>())
    };
    let planes = match std::env::var_os("STRONGROOM_ALL_LETTERS") {
        None => "(SELECT 0 AS d)".to_owned(),
        Some(_) => {
            let planes = (1..=16).map(|own| format!(" UNION ALL SELECT {}", own << 16));
            format!("(SELECT 0 AS d{})", planes.collect::<String>())
        }
    };
    let letter = "CONVERT(CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32) USING utf8mb4)";
    for collation in collations(lab.brand) {
        let weights = format!("WEIGHT_STRING({letter} COLLATE {collation})");
        let blank = format!("WEIGHT_STRING(' ' COLLATE {collation})");
        let key = match collation.pads() {
            true => format!("IF({weights} = {blank}, '', {weights})"),
            false => weights,
        };
        let text = format!(
            "SELECT COUNT(DISTINCT {letter} COLLATE {collation}), COUNT(DISTINCT HEX({key})) FROM \
             (SELECT a.d + b.d + c.d + e.d + f.d AS n FROM {} a, {} b, {} c, {} e, {planes} f) AS \
             numbers WHERE n NOT BETWEEN 0xd800 AND 0xdfff AND n < 0x110000",
            digit(1),
            digit(16),
            digit(256),
            digit(4096)
        );
        let counts: Option<(u32, u32)> = lab.theirs.query_first(text).expect("counts");
        let (letters, keys) = counts.expect("a row");
        assert!(
            letters > 10_000 && letters == keys,
            "{collation}: {letters}, {keys}"
        );
    }
}
