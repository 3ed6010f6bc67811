//! Files for SQLite, what SQLite is asked to do with them, and what it answered.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crypto::cipher::Cipher;
use page_codec::header::{HeaderRegion, REGION_SIZE};
use page_codec::page::{PageCodec, PagePlace};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use sqlite_linked::KeyToken;
use tempfile::TempDir;

use crate::input::Input;
use crate::sealed;

static TOKEN: LazyLock<KeyToken> = LazyLock::new(|| {
    sqlite_linked::register().expect("the VFS registers");
    KeyToken::new(sealed::credential())
});

/// A folder for the files of one run, in memory where the system offers that.
pub struct Room {
    folder: TempDir,
}

impl Room {
    pub fn new() -> Self {
        let in_memory = Path::new("/dev/shm");
        let folder = if in_memory.is_dir() {
            tempfile::tempdir_in(in_memory)
        } else {
            tempfile::tempdir()
        };
        Room {
            folder: folder.expect("a folder can be made"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("the folder is writable");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_default()
    }

    /// The URI of an encrypted database, without a key.
    pub fn uri(&self, name: &str) -> String {
        format!(
            "file:{}?vfs=strongroom&keys_in_sql=on",
            self.path(name).display()
        )
    }

    /// The encrypted database, opened with the owner's key.
    pub fn open(&self, name: &str) -> rusqlite::Result<Connection> {
        open(&format!("{}&key_token={}", self.uri(name), TOKEN.number()))
    }

    /// The database as stock SQLite opens it.
    pub fn open_plain(&self, name: &str) -> rusqlite::Result<Connection> {
        open(&format!("file:{}?vfs=unix", self.path(name).display()))
    }
}

/// Opens a URI.
pub fn open(uri: &str) -> rusqlite::Result<Connection> {
    LazyLock::force(&TOKEN);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(uri, flags)?;
    // A damaged schema may hold a query without end.
    let mut steps = 0;
    connection.progress_handler(
        1000,
        Some(move || {
            steps += 1;
            steps > 500
        }),
    )?;
    Ok(connection)
}

/// A plaintext database with room for trailers.
pub struct Template {
    pub page_size: u32,
    pub image: Vec<u8>,
}

impl Template {
    pub fn pages(&self) -> usize {
        self.image.len() / self.page_size as usize
    }

    pub fn page(&self, index: usize) -> &[u8] {
        let size = self.page_size as usize;
        &self.image[(index % self.pages()) * size..][..size]
    }
}

/// The databases that the inputs change, from small pages to large ones.
pub static TEMPLATES: LazyLock<Vec<Template>> = LazyLock::new(|| {
    [
        (512, "none"),
        (512, "full"),
        (1024, "incremental"),
        (4096, "none"),
    ]
    .map(|(page_size, auto_vacuum)| template(page_size, auto_vacuum))
    .into()
});

const SCHEMA: &str = "
    CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INT);
    CREATE INDEX tb ON t(b, c);
    CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
    CREATE TABLE l(x);
    CREATE TABLE gone(x);
    CREATE VIEW v AS SELECT a, b FROM t WHERE c > 3;
    CREATE TRIGGER tr AFTER UPDATE ON t BEGIN UPDATE w SET v = new.b WHERE k = 'k1'; END;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO t SELECT i, 'row ' || i || ' of the table', i * 7 % 11 FROM n;
    INSERT INTO w SELECT 'k' || a, b FROM t WHERE a < 20;
    INSERT INTO l VALUES(printf('%.2000c', 'x')), (zeroblob(900)), (1.5), (NULL);
    INSERT INTO gone SELECT printf('%.600c', 'g') FROM t LIMIT 6;
    DELETE FROM gone;
    DELETE FROM t WHERE a % 7 = 0;
";

fn template(page_size: u32, auto_vacuum: &str) -> Template {
    let room = Room::new();
    let connection = room.open("x.db").expect("opens");
    connection
        .execute_batch(&format!(
            "PRAGMA page_size={page_size}; PRAGMA auto_vacuum={auto_vacuum};
             PRAGMA synchronous=OFF; BEGIN; {SCHEMA} COMMIT;"
        ))
        .expect("the template is made");
    drop(connection);
    let file = room.read("x.db");
    let header = HeaderRegion::parse(&file).expect("a header").header;
    let unlocked = keyring::slots::unlock(&header, &sealed::credential()).expect("opens");
    let (cipher, epoch) = (header.cipher, header.current_epoch);
    let mut codec = PageCodec::new(cipher, header.file_id, epoch, &unlocked.epochs)
        .expect("the epoch is among the keys");
    let mut image = vec![0; file.len() - REGION_SIZE];
    let pages = file[REGION_SIZE..].chunks_exact(page_size as usize);
    let plain = image.chunks_exact_mut(page_size as usize);
    for ((sealed, page), number) in pages.zip(plain).zip(1..) {
        codec
            .open(PagePlace::main(number), sealed, page)
            .expect("opens");
    }
    Template { page_size, image }
}

/// Chooses cipher and template.
pub fn choose(input: &mut Input<'_>) -> (Cipher, &'static Template) {
    let cipher = input.one_of(&Cipher::ALL);
    let index = usize::from(input.byte()) % TEMPLATES.len();
    (cipher, &TEMPLATES[index])
}

const STATEMENTS: &[&str] = &[
    "INSERT INTO t(b, c) SELECT b || 'again', c FROM t LIMIT 20",
    "UPDATE t SET b = b || '!' WHERE a % 2",
    "DELETE FROM t WHERE a % 3 = 1",
    "INSERT INTO l SELECT printf('%.3000c', 'y') FROM t LIMIT 9",
    "DELETE FROM l",
    "REPLACE INTO w SELECT 'k' || a, c FROM t",
    "CREATE TABLE IF NOT EXISTS extra AS SELECT * FROM t",
    "DROP TABLE IF EXISTS extra",
    "DROP INDEX IF EXISTS tb",
    "CREATE INDEX IF NOT EXISTS tb ON t(b, c)",
    "REINDEX",
    "VACUUM",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "RELEASE s",
    "PRAGMA incremental_vacuum(3)",
    "PRAGMA cache_size=2",
    "PRAGMA journal_mode=delete",
    "PRAGMA journal_mode=truncate",
    "PRAGMA journal_mode=persist",
    "PRAGMA journal_mode=memory",
    "PRAGMA journal_mode=wal",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA wal_checkpoint(RESTART)",
    "PRAGMA locking_mode=exclusive",
    "PRAGMA locking_mode=normal",
    "PRAGMA user_version=77",
    "PRAGMA secure_delete=on",
    "PRAGMA page_count",
    "SELECT * FROM v ORDER BY b DESC",
    "SELECT count(*), sum(c) FROM t",
];

const OWN_STATEMENTS: &[&str] = &[
    "PRAGMA strongroom_rotate",
    "PRAGMA strongroom_rotate=start",
    "PRAGMA strongroom_rotate='start-alone'",
    "PRAGMA strongroom_rotate=3",
    "PRAGMA strongroom_mmap=off",
    "PRAGMA strongroom_mmap=on",
    "PRAGMA strongroom_verify",
    "PRAGMA strongroom_key_add=\"x'KEY'\"",
    "PRAGMA strongroom_key_remove=1",
    "PRAGMA rekey=\"x'KEY'\"",
];

const READS: &[&str] = &[
    "SELECT * FROM sqlite_schema",
    "SELECT * FROM t",
    "SELECT b, c FROM t INDEXED BY tb ORDER BY b, c, a",
    "SELECT * FROM w",
    "SELECT length(x), x FROM l",
    "PRAGMA integrity_check(5)",
];

/// Reads everything, does what the input says, reads everything again; tells all answers.
pub fn work(connection: &Connection, input: &mut Input<'_>) -> Vec<String> {
    let _ = connection.execute_batch("PRAGMA synchronous=OFF");
    let is_encrypted = answer(connection, "PRAGMA strongroom_status").contains("state");
    let mut said: Vec<String> = READS.iter().map(|sql| answer(connection, sql)).collect();
    for _ in 0..24 {
        if input.is_empty() {
            break;
        }
        let choice = usize::from(input.byte());
        match STATEMENTS.get(choice) {
            Some(sql) => said.push(answer(connection, sql)),
            // Stock SQLite does not know these, and they change no answer.
            None if is_encrypted => {
                let sql = OWN_STATEMENTS[choice % OWN_STATEMENTS.len()];
                let _ = answer(connection, &sql.replace("KEY", &"11".repeat(32)));
            }
            None => {}
        }
    }
    if !connection.is_autocommit() {
        said.push(answer(connection, "COMMIT"));
    }
    said.extend(READS.iter().map(|sql| answer(connection, sql)));
    said
}

/// All rows that a statement gives, or the code of its failure.
pub fn answer(connection: &Connection, sql: &str) -> String {
    let mut said = format!("{sql}: ");
    if let Err(error) = rows(connection, sql, &mut said) {
        let code = error.sqlite_error().map(|error| error.extended_code);
        let _ = write!(said, "error {code:?}");
    }
    said
}

fn rows(connection: &Connection, sql: &str, said: &mut String) -> rusqlite::Result<()> {
    const SAID_SIZE_MAX: usize = 100_000;
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            let _ = match row.get_ref(column)? {
                ValueRef::Null => write!(said, "NULL|"),
                ValueRef::Integer(number) => write!(said, "{number}|"),
                ValueRef::Real(number) => write!(said, "{number:e}|"),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    write!(said, "{}|", bytes.escape_ascii())
                }
            };
        }
        said.push('\n');
        if said.len() > SAID_SIZE_MAX {
            break;
        }
    }
    Ok(())
}

/// Every page of the file is authentic, whatever was done through SQLite.
pub fn assert_verifies(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    let said = answer(connection, "PRAGMA strongroom_verify");
    let expected = said.ends_with(": ok|\n") || said.contains("error");
    assert!(expected || page_one_does_not_fit(connection), "{said}");
}

/// The input may have put a page 1 there that tells of another database than the header.
fn page_one_does_not_fit(connection: &Connection) -> bool {
    let reason = answer(connection, "PRAGMA strongroom_last_error");
    reason.contains("page 1 ") && (reason.contains("page size of") || reason.contains("reserved"))
}

/// Both engines gave the same answers, or both failed: what stock SQLite finds malformed, the VFS
/// may refuse earlier, as a page that is missing.
pub fn assert_same(encrypted: &[String], plain: &[String]) {
    let failed = |said: &str| said.contains(": error Some(");
    for (encrypted, plain) in encrypted.iter().zip(plain) {
        let both_failed = failed(encrypted) && failed(plain);
        assert!(
            both_failed || encrypted == plain,
            "stock SQLite answers: {plain}\nand here: {encrypted}"
        );
    }
}
