//! Sealed files, changed by somebody without the key: SQLite gives out a state that was committed,
//! or an error, and nothing else.

use std::sync::LazyLock;

use crypto::cipher::Cipher;
use page_codec::double_write::Builder;
use page_codec::header::{HeaderRegion, REGION_SIZE};
use rusqlite::Connection;

use crate::files::{Room, answer};
use crate::input::Input;

const PAGE_SIZE: usize = 512;
const ROWS: i64 = 40;
const NAMES: [&str; 4] = ["x.db", "x.db-wal", "x.db-journal", "x.db-rekey"];

type Files = [Option<Vec<u8>>; 4];

/// Files as a crash would leave them, and the versions of all rows that they may show.
struct Scene {
    files: Files,
    versions: &'static [u8],
    /// A journal that is not played back to its end leaves pages of both versions: without the
    /// journal nobody can tell. Then each row by itself must be of a version.
    may_mix: bool,
}

static SCENES: LazyLock<Vec<Scene>> = LazyLock::new(|| {
    let scenes = Cipher::ALL.map(|cipher| {
        [
            closed(cipher),
            logged(cipher),
            hot(cipher),
            rotating(cipher),
        ]
    });
    scenes.into_iter().flatten().collect()
});

/// Takes a list of changes to the files.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let scene = &SCENES[usize::from(input.byte()) % SCENES.len()];
    let mut files = scene.files.clone();
    while !input.is_empty() {
        change(&mut input, &mut files);
    }
    let room = Room::new();
    for (name, file) in NAMES.iter().zip(&files) {
        if let Some(bytes) = file {
            room.write(name, bytes);
        }
    }
    let Ok(connection) = room.open(NAMES[0]) else {
        return;
    };
    let untouched = files == scene.files;
    assert_known(&connection, scene, untouched);
    let _ = answer(&connection, "PRAGMA integrity_check");
    let _ = answer(&connection, "UPDATE t SET b = b WHERE a % 5 = 0");
    assert_known(&connection, scene, untouched);
    drop(connection);
    if let Ok(connection) = room.open(NAMES[0]) {
        assert_known(&connection, scene, untouched);
        let _ = answer(&connection, "PRAGMA strongroom_verify");
    }
}

fn change(input: &mut Input<'_>, files: &mut Files) {
    let how = input.byte();
    let from = files[usize::from(how >> 6)].clone().unwrap_or_default();
    let Some(file) = &mut files[usize::from(how >> 4) % 4] else {
        return;
    };
    let unit = if how & 8 == 0 { 1 } else { PAGE_SIZE };
    let offset = input.below(file.len()) / unit * unit;
    match how & 7 {
        0 | 1 if !file.is_empty() => file[offset] ^= input.byte().max(1),
        2 => file.truncate(offset),
        3 => {
            let end = file.len().min(offset + PAGE_SIZE);
            file[offset..end].fill(input.byte());
        }
        4 => {
            // A unit of one file, or of another place, put here.
            let start = input.below(from.len()) / unit * unit;
            let count = (PAGE_SIZE + usize::from(how >> 7) * 24)
                .min(from.len() - start)
                .min(file.len() - offset);
            file[offset..offset + count].copy_from_slice(&from[start..start + count]);
        }
        5 => {
            let bytes = input.take(8);
            file.extend_from_slice(bytes);
        }
        _ => {
            let bytes = input.array::<4>();
            let end = file.len().min(offset + 4);
            file[offset..end].copy_from_slice(&bytes[..end - offset]);
        }
    }
}

fn assert_known(connection: &Connection, scene: &Scene, untouched: bool) {
    for sql in [
        "SELECT a, b FROM t ORDER BY a",
        "SELECT a, b FROM t INDEXED BY tb ORDER BY a",
    ] {
        let Ok(rows) = read(connection, sql) else {
            assert!(!untouched, "an untouched file is refused");
            continue;
        };
        let version_of = |(a, b): &(i64, String)| {
            let mut versions = scene.versions.iter().copied();
            versions.find(|version| *b == row_text(*a, *version))
        };
        let versions: Option<Vec<u8>> = rows.iter().map(version_of).collect();
        let versions = versions.expect("a row that nobody wrote");
        if !scene.may_mix || untouched {
            assert_eq!(rows.len(), ROWS as usize, "rows are missing");
            let first = versions[0];
            assert!(
                versions.iter().all(|version| *version == first),
                "a state never committed"
            );
        }
    }
}

fn read(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Short enough for one page, in the index too: what spans pages of both versions would be of
/// neither.
fn row_text(a: i64, version: u8) -> String {
    format!("{version}-{a:04}/").repeat(10)
}

fn create(room: &Room, cipher: Cipher, mode: &str) -> Connection {
    let connection = room.open(NAMES[0]).expect("opens");
    connection
        .execute_batch(&format!(
            "PRAGMA strongroom_cipher='{}'; PRAGMA page_size={PAGE_SIZE};
             PRAGMA synchronous=OFF; PRAGMA journal_mode={mode};
             CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX tb ON t(b);
             BEGIN;",
            cipher.name()
        ))
        .expect("creates");
    for a in 1..=ROWS {
        connection
            .execute("INSERT INTO t VALUES(?1, ?2)", (a, row_text(a, 0)))
            .expect("inserts");
    }
    connection.execute_batch("COMMIT").expect("commits");
    connection
}

fn update(connection: &Connection, version: u8) {
    for a in 1..=ROWS {
        connection
            .execute(
                "UPDATE t SET b = ?2 WHERE a = ?1",
                (a, row_text(a, version)),
            )
            .expect("updates");
    }
}

fn snapshot(room: &Room) -> Files {
    NAMES.map(|name| std::fs::read(room.path(name)).ok())
}

fn closed(cipher: Cipher) -> Scene {
    let room = Room::new();
    drop(create(&room, cipher, "delete"));
    Scene {
        files: snapshot(&room),
        versions: &[0],
        may_mix: false,
    }
}

fn logged(cipher: Cipher) -> Scene {
    let room = Room::new();
    let connection = create(&room, cipher, "wal");
    let _ = answer(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    for version in 1..=3 {
        connection.execute_batch("BEGIN").expect("begins");
        update(&connection, version);
        connection.execute_batch("COMMIT").expect("commits");
    }
    Scene {
        files: snapshot(&room),
        versions: &[0, 1, 2, 3],
        may_mix: false,
    }
}

fn hot(cipher: Cipher) -> Scene {
    let room = Room::new();
    let connection = create(&room, cipher, "delete");
    connection
        .execute_batch("PRAGMA cache_size=2; BEGIN")
        .expect("begins");
    update(&connection, 1);
    Scene {
        files: snapshot(&room),
        versions: &[0, 1],
        may_mix: true,
    }
}

/// Between two batches of a rotation: pages of two epochs, and a double-write file that holds
/// some of them as they stand in their places.
fn rotating(cipher: Cipher) -> Scene {
    const HEAD_OF_BATCH: u32 = 6;
    let room = Room::new();
    let connection = create(&room, cipher, "delete");
    for sql in [
        "PRAGMA strongroom_rotate=start",
        "PRAGMA strongroom_rotate=12",
    ] {
        let said = answer(&connection, sql);
        assert!(!said.contains("error"), "{said}");
    }
    let mut files = snapshot(&room);
    let database = files[0].as_deref().expect("a database");
    let header = HeaderRegion::parse(database).expect("a header").header;
    assert!(header.is_rotating());
    let mut batch = Builder::new(&header.file_id, header.page_size);
    let pages = database[REGION_SIZE..].chunks_exact(PAGE_SIZE);
    for (number, page) in (1..=HEAD_OF_BATCH).zip(pages) {
        batch.push(number).copy_from_slice(page);
    }
    files[3] = Some(batch.bytes().to_vec());
    Scene {
        files,
        versions: &[0],
        may_mix: false,
    }
}
