//! Real SQLCipher: writes the samples of `vectors/sqlcipher/cases.json`, and compares what it
//! reads in them with what it reads in plain files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rusqlite::Connection;
use rusqlite::types::Value;
use serde::Deserialize;

const USAGE: &str = "usage: sqlcipher-peer version
       sqlcipher-peer write CASES CONTENT FOLDER
       sqlcipher-peer write-large FILE MEBIBYTES
       sqlcipher-peer live FILE
       sqlcipher-peer read CASES NAME FILE
       sqlcipher-peer compare CASES NAME FILE PLAIN
       sqlcipher-peer compare-large FILE PLAIN";

/// A sample: how SQLCipher is to write it, and so to read it.
#[derive(Deserialize)]
struct Case {
    name: String,
    key: String,
    /// The version whose defaults are in force when the file is opened. Setting compatibility
    /// behind the key would keep more bytes of each page free than that version did.
    #[serde(default = "newest")]
    defaults_of_version: u8,
    /// Pragmas between key and content.
    #[serde(default)]
    pragmas: Vec<String>,
    /// SQL behind the common content.
    #[serde(default)]
    more: String,
    #[serde(default)]
    leave: Leave,
}

fn newest() -> u8 {
    4
}

/// What lies beside the database.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Leave {
    #[default]
    Nothing,
    /// A log with transactions that the database lacks.
    Log,
    /// A journal of a transaction that was never finished.
    Journal,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["version"] => {
            println!(
                "{}",
                text(&Connection::open_in_memory()?, "PRAGMA cipher_version")?
            );
            Ok(())
        }
        ["write", cases, content, folder] => {
            let content = fs::read_to_string(content)?;
            for case in read_cases(cases)? {
                write(&case, &content, Path::new(folder))
                    .with_context(|| format!("cannot write {}", case.name))?;
            }
            Ok(())
        }
        ["write-large", file, mebibytes] => write_large(Path::new(file), mebibytes.parse()?),
        ["live", file] => live(Path::new(file)),
        ["read", cases, name, file] => {
            let connection = open(Path::new(file), &named(cases, name)?)?;
            println!("{}", text(&connection, "SELECT count(*) FROM person")?);
            Ok(())
        }
        ["compare", cases, name, file, plain] => {
            let case = named(cases, name)?;
            compare(&open(Path::new(file), &case)?, &Connection::open(plain)?)
        }
        ["compare-large", file, plain] => {
            compare(&open(Path::new(file), &large())?, &Connection::open(plain)?)
        }
        _ => bail!(USAGE),
    }
}

fn read_cases(path: &str) -> anyhow::Result<Vec<Case>> {
    let json = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    Ok(serde_json::from_str(&json)?)
}

fn named(cases: &str, name: &str) -> anyhow::Result<Case> {
    let mut cases = read_cases(cases)?.into_iter();
    let case = cases.find(|case| case.name == name);
    case.with_context(|| format!("no case {name}"))
}

fn large() -> Case {
    Case {
        name: "large".to_owned(),
        key: "correct horse".to_owned(),
        defaults_of_version: newest(),
        pragmas: Vec::new(),
        more: String::new(),
        leave: Leave::Nothing,
    }
}

fn text(connection: &Connection, sql: &str) -> anyhow::Result<String> {
    let value = connection.query_row(sql, [], |row| row.get::<_, Value>(0))?;
    Ok(match value {
        Value::Text(text) => text,
        other => format!("{other:?}"),
    })
}

fn open(path: &Path, case: &Case) -> anyhow::Result<Connection> {
    let connection = Connection::open(path)?;
    let version = case.defaults_of_version;
    connection.execute_batch(&format!("PRAGMA cipher_default_compatibility = {version}"))?;
    connection.execute_batch(&format!("PRAGMA key = \"{}\"", case.key))?;
    for pragma in &case.pragmas {
        connection.execute_batch(&format!("PRAGMA {pragma}"))?;
    }
    Ok(connection)
}

fn write(case: &Case, content: &str, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(format!("{}.db", case.name));
    for suffix in ["", "-wal", "-shm", "-journal"] {
        drop(fs::remove_file(beside(&path, suffix)));
    }
    if case.leave == Leave::Nothing {
        let connection = open(&path, case)?;
        connection.execute_batch(content)?;
        connection.execute_batch(&case.more)?;
        return Ok(());
    }
    // A copy of the files as they are while the connection lives is what a kill would leave.
    let live = folder.join(format!("{}.live", case.name));
    let connection = open(&live, case)?;
    connection.execute_batch(content)?;
    let suffix = match case.leave {
        Leave::Log => {
            connection.execute_batch(
                "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0;
                 INSERT INTO person VALUES (500, 'only in the log', 2000, NULL);
                 DELETE FROM person WHERE id < 5;",
            )?;
            "-wal"
        }
        Leave::Journal => {
            connection.execute_batch(
                "PRAGMA cache_size = 2; BEGIN; UPDATE person SET name = 'never committed';
                 INSERT INTO picture VALUES ('never committed', zeroblob(20000));",
            )?;
            "-journal"
        }
        Leave::Nothing => "",
    };
    for suffix in ["", suffix] {
        fs::copy(beside(&live, suffix), beside(&path, suffix))?;
    }
    drop(connection);
    fs::remove_file(live)?;
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Rows with NULLs, numbers, texts, and blobs of which some fill several pages.
fn write_large(path: &Path, mebibytes: u32) -> anyhow::Result<()> {
    const ROWS_PER_MEBIBYTE: u32 = 1480;
    let connection = open(path, &large())?;
    connection.execute_batch(
        "CREATE TABLE entry(id INTEGER PRIMARY KEY, code TEXT, amount REAL, note, body BLOB);
         CREATE INDEX entry_code ON entry(code);",
    )?;
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO entry SELECT i, printf('%08x', i * 2654435761 % 4294967296), i / 3.0,
           CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN i ELSE 'note ' || i END,
           CASE WHEN i % 100 = 0 THEN zeroblob(20000)
                ELSE CAST(substr(hex(zeroblob(400)) || i, -(i % 800)) AS BLOB) END
         FROM n",
        [mebibytes * ROWS_PER_MEBIBYTE],
    )?;
    Ok(())
}

/// Moves amounts between accounts until the standard input ends; then checks that
/// the sum is what it was and that every page is authentic. Says a line when it has begun.
fn live(path: &Path) -> anyhow::Result<()> {
    let connection = open(path, &large())?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE account(id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, filler BLOB);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
         INSERT INTO account SELECT i, 1000, zeroblob(1000) FROM n;",
    )?;
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        // Nobody waits any more when the loop has ended by an error.
        let _ = sender.send(());
    });
    println!("began");
    let mut count = 0u64;
    while ended.try_recv().is_err() {
        count += 1;
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             UPDATE account SET amount = amount - 1 WHERE id = {count} % 1000 + 1;
             UPDATE account SET amount = amount + 1 WHERE id = {count} * 7 % 1000 + 1;
             COMMIT;"
        ))?;
    }
    let sum = text(&connection, "SELECT sum(amount) || '' FROM account")?;
    ensure!(sum == "1000000", "the sum has become {sum}");
    ensure!(
        text(&connection, "PRAGMA integrity_check")? == "ok",
        "the database is damaged"
    );
    let mut bad = connection.prepare("PRAGMA cipher_integrity_check")?;
    ensure!(
        !bad.exists([])?,
        "SQLCipher finds pages that are not authentic"
    );
    println!("{count} transactions");
    Ok(())
}

/// Fails unless both databases have the same schema, settings and rows.
fn compare(left: &Connection, right: &Connection) -> anyhow::Result<()> {
    for pragma in ["user_version", "application_id", "encoding", "auto_vacuum"] {
        let sql = format!("PRAGMA {pragma}");
        ensure!(text(left, &sql)? == text(right, &sql)?, "{pragma} differs");
    }
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    same_rows(left, right, schema).context("the schemas differ")?;
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let tables: Vec<String> = left
        .prepare(tables)?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut rows = 0;
    for table in &tables {
        let sql = format!("SELECT * FROM \"{}\"", table.replace('"', "\"\""));
        rows += same_rows(left, right, &sql).with_context(|| format!("table {table} differs"))?;
    }
    println!("{} tables, {rows} rows alike", tables.len());
    Ok(())
}

fn same_rows(left: &Connection, right: &Connection, sql: &str) -> anyhow::Result<u64> {
    let (mut left, mut right) = (left.prepare(sql)?, right.prepare(sql)?);
    let columns = left.column_count();
    ensure!(
        columns == right.column_count(),
        "the numbers of columns differ"
    );
    let (mut left, mut right) = (left.query([])?, right.query([])?);
    let mut count = 0;
    loop {
        match (left.next()?, right.next()?) {
            (None, None) => return Ok(count),
            (Some(left), Some(right)) => {
                count += 1;
                for column in 0..columns {
                    let same = left.get_ref(column)? == right.get_ref(column)?;
                    ensure!(same, "row {count}, column {} differs", column + 1);
                }
            }
            _ => bail!("one has more rows than the other"),
        }
    }
}
