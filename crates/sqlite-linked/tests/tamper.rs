//! Files that were changed while not open: what is detected, and how it is reported.

mod common;

use std::path::Path;

use common::files::{
    Failure, PAGE_SIZE, PAGES_OFFSET, edit, failure, fill, page_offset, read_rows, row_text,
};
use common::{Room, text};
use page_codec::header::{COPY_FIELDS, COPY_SIZE, REGION_SIZE};
use page_codec::page::TRAILER_SIZE;
use rusqlite::ffi::{SQLITE_CORRUPT, SQLITE_IOERR_DATA, SQLITE_NOTADB};

const ROWS: i64 = 500;

/// Creates a database with two tables of [`ROWS`] rows; returns its page count.
fn make(room: &Room, name: &str) -> usize {
    let connection = room.open(name);
    fill(&connection, "t", ROWS);
    fill(&connection, "u", ROWS);
    text(&connection, "PRAGMA page_count")
        .parse()
        .expect("a number")
}

fn read_t(room: &Room, name: &str) -> Result<i64, Failure> {
    read_rows(&room.open(name), "t")
}

/// The page with a row, found by changing the row and comparing the files.
fn page_of_row(room: &Room, name: &str, a: i64) -> usize {
    let before = std::fs::read(room.path(name)).expect("readable");
    for version in [9, 0] {
        room.open(name)
            .execute(
                "UPDATE t SET b = ?2 WHERE a = ?1",
                (a, row_text(a, version)),
            )
            .expect("updates");
    }
    let after = std::fs::read(room.path(name)).expect("readable");
    (2..=(after.len() - PAGES_OFFSET) / PAGE_SIZE)
        .find(|number| {
            let range = page_offset(*number)..page_offset(number + 1);
            before[range.clone()] != after[range]
        })
        .expect("a page changed")
}

#[test]
fn a_flipped_bit_anywhere_in_a_page_is_an_error_that_names_the_page() {
    let room = Room::new();
    make(&room, "x.db");
    let leaf = page_of_row(&room, "x.db", 250);
    let trailer = PAGE_SIZE - TRAILER_SIZE;
    let regions = [
        ("first byte", 0),
        ("middle", PAGE_SIZE / 2),
        ("last byte of the payload", trailer - 1),
        ("tag", trailer),
        ("end of the tag", trailer + 15),
        ("nonce", trailer + 16),
        ("end of the nonce", trailer + 27),
        ("epoch", trailer + 28),
        ("end of the epoch", trailer + 31),
    ];
    for (page, (region, offset)) in [1, 2, leaf]
        .into_iter()
        .flat_map(|page| regions.map(|region| (page, region)))
    {
        let flip = |bytes: &mut Vec<u8>| bytes[page_offset(page) + offset] ^= 0x10;
        edit(&room.path("x.db"), flip);
        for map in ["", "&mmap=off"] {
            let connection = room.open_with("x.db", map);
            let failure = read_rows(&connection, "t").expect_err(region);
            assert_eq!(
                failure.code, SQLITE_IOERR_DATA,
                "{page} {region}: {failure:?}"
            );
            let named = format!("page {page} does not open");
            assert!(failure.detail.starts_with(&named), "{region}: {failure:?}");
            let verdict = text(&connection, "PRAGMA strongroom_verify='1-1000'");
            assert!(
                verdict.ends_with(&format!("\"bad\":[{page}]}}")),
                "{region}: {verdict}"
            );
        }
        edit(&room.path("x.db"), flip);
    }
    assert_eq!(read_t(&room, "x.db").expect("reads"), ROWS);
}

#[test]
fn pages_that_changed_places_do_not_open() {
    let room = Room::new();
    make(&room, "x.db");
    let (one, two) = (
        page_of_row(&room, "x.db", 100),
        page_of_row(&room, "x.db", 300),
    );
    assert_ne!(one, two);
    edit(&room.path("x.db"), |bytes| {
        let kept = bytes[page_offset(one)..][..PAGE_SIZE].to_vec();
        bytes.copy_within(page_offset(two)..page_offset(two + 1), page_offset(one));
        bytes[page_offset(two)..][..PAGE_SIZE].copy_from_slice(&kept);
    });
    let connection = room.open("x.db");
    for row in [100, 300] {
        let failure = failure(&connection, &format!("SELECT b FROM t WHERE a = {row}"));
        assert_eq!(failure.code, SQLITE_IOERR_DATA);
    }
    let mut bad = [one, two];
    bad.sort_unstable();
    let verdict = text(&connection, "PRAGMA strongroom_verify='1-1000'");
    assert!(
        verdict.ends_with(&format!("\"bad\":[{},{}]}}", bad[0], bad[1])),
        "{verdict}"
    );
}

#[test]
fn a_page_of_another_database_with_the_same_key_does_not_open() {
    let room = Room::new();
    make(&room, "x.db");
    make(&room, "y.db");
    let page = page_of_row(&room, "x.db", 100);
    let other = std::fs::read(room.path("y.db")).expect("readable");
    edit(&room.path("x.db"), |bytes| {
        let range = page_offset(page)..page_offset(page + 1);
        bytes[range.clone()].copy_from_slice(&other[range]);
    });
    let failure = read_t(&room, "x.db").expect_err("a foreign page");
    assert_eq!(failure.code, SQLITE_IOERR_DATA);
    assert!(
        failure.detail.starts_with(&format!("page {page} ")),
        "{failure:?}"
    );
}

/// The limit stated in `docs/page-format.md`: there is no counter over all pages.
#[test]
fn an_older_copy_of_a_page_or_of_the_file_is_accepted() {
    let room = Room::new();
    make(&room, "x.db");
    let page = page_of_row(&room, "x.db", 100);
    let older = std::fs::read(room.path("x.db")).expect("readable");
    room.open("x.db")
        .execute("UPDATE t SET b = ?1 WHERE a = 100", [row_text(100, 1)])
        .expect("updates");
    let row = |name: &str| text(&room.open(name), "SELECT b FROM t WHERE a = 100");
    assert_eq!(row("x.db"), row_text(100, 1));
    edit(&room.path("x.db"), |bytes| {
        let range = page_offset(page)..page_offset(page + 1);
        bytes[range.clone()].copy_from_slice(&older[range]);
    });
    assert_eq!(row("x.db"), row_text(100, 0));
    assert_eq!(text(&room.open("x.db"), "PRAGMA strongroom_verify"), "ok");
    std::fs::write(room.path("x.db"), older).expect("writable");
    assert_eq!(row("x.db"), row_text(100, 0));
    assert_eq!(text(&room.open("x.db"), "PRAGMA strongroom_verify"), "ok");
}

#[test]
fn a_file_that_was_cut_is_an_error() {
    let room = Room::new();
    let pages = make(&room, "x.db");
    let whole = std::fs::read(room.path("x.db")).expect("readable");
    assert_eq!(whole.len(), page_offset(pages + 1));
    let cases = [
        (
            whole.len() - 1,
            SQLITE_IOERR_DATA,
            "the file ends in the middle of it",
        ),
        (
            whole.len() - PAGE_SIZE / 2,
            SQLITE_IOERR_DATA,
            "the file ends in the middle of it",
        ),
        (whole.len() - PAGE_SIZE, SQLITE_CORRUPT, ""),
        (page_offset(3), SQLITE_CORRUPT, ""),
        (PAGES_OFFSET + 1, SQLITE_IOERR_DATA, "page 1 does not open"),
        (
            PAGES_OFFSET,
            SQLITE_NOTADB,
            "the file ends behind its header",
        ),
    ];
    for (size, code, message) in cases {
        std::fs::write(room.path("x.db"), &whole[..size]).expect("writable");
        for map in ["", "&mmap=off"] {
            let connection = room.open_with("x.db", map);
            let failure = read_rows(&connection, "t")
                .and_then(|_| read_rows(&connection, "u"))
                .expect_err("cut");
            assert_eq!(failure.code, code, "{size}: {failure:?}");
            assert!(failure.detail.contains(message), "{size}: {failure:?}");
        }
        assert_eq!(
            std::fs::metadata(room.path("x.db")).expect("there").len(),
            size as u64
        );
    }
}

/// `docs/page-format.md`: a file without pages whose header is incomplete, or says that the first
/// transaction is not committed, is a new database. A file truncated this short cannot be told from
/// a power failure during creation.
#[test]
fn a_file_cut_inside_its_header_is_an_empty_database() {
    let room = Room::new();
    make(&room, "x.db");
    let whole = std::fs::read(room.path("x.db")).expect("readable");
    for size in [REGION_SIZE - 1, COPY_SIZE, 100, 0] {
        std::fs::write(room.path("x.db"), &whole[..size]).expect("writable");
        let connection = room.open("x.db");
        assert_eq!(
            text(&connection, "SELECT count(*) FROM sqlite_schema"),
            "0",
            "{size}"
        );
        let status = text(&connection, "PRAGMA strongroom_status");
        assert!(status.contains("\"state\":\"new\""), "{size}: {status}");
    }
}

/// Flips a bit at `offset` in the given header copies.
fn damage_header(path: &Path, copies: &[usize], offset: usize) {
    edit(path, |bytes| {
        for copy in copies {
            bytes[copy * COPY_SIZE + offset] ^= 1;
        }
    });
}

#[test]
fn one_damaged_header_copy_is_harmless_and_two_are_reported() {
    let room = Room::new();
    make(&room, "x.db");
    for (offset, size, field) in COPY_FIELDS {
        for offset in [*offset, offset + size - 1] {
            for copies in [&[0][..], &[1], &[0, 1]] {
                damage_header(&room.path("x.db"), copies, offset);
                let result = read_t(&room, "x.db");
                match (copies.len(), result) {
                    (1, Ok(rows)) => assert_eq!(rows, ROWS),
                    (2, Err(failure)) => {
                        assert_eq!(failure.code, SQLITE_NOTADB, "{field}");
                        let said = match *field {
                            "magic" => "not a Strongroom file",
                            _ => "damaged in both of its copies",
                        };
                        assert!(failure.detail.contains(said), "{field}: {failure:?}");
                    }
                    (_, result) => panic!("{field} at {offset} in {copies:?}: {result:?}"),
                }
                damage_header(&room.path("x.db"), copies, offset);
            }
        }
    }
}

/// Changes a byte of both header copies and recomputes their checksums, as an attacker can.
fn alter_header(path: &Path, offset: usize, change: impl Fn(u8) -> u8) {
    edit(path, |bytes| {
        for copy in bytes[..REGION_SIZE].chunks_exact_mut(COPY_SIZE) {
            copy[offset] = change(copy[offset]);
            let (content, checksum) = copy.split_at_mut(COPY_SIZE - 32);
            checksum.copy_from_slice(&crypto::mac::checksum(content));
        }
    });
}

fn field_offset(name: &str) -> usize {
    COPY_FIELDS
        .iter()
        .find(|(_, _, field)| *field == name)
        .map(|(offset, _, _)| *offset)
        .expect("a field of the header")
}

#[test]
fn a_header_that_was_altered_with_care_does_not_open() {
    let room = Room::new();
    make(&room, "x.db");
    let cipher = field_offset("cipher");
    let whole = std::fs::read(room.path("x.db")).expect("readable");
    for code in (1..=8).filter(|code| *code != whole[cipher]) {
        std::fs::write(room.path("x.db"), &whole).expect("writable");
        alter_header(&room.path("x.db"), cipher, |_| code);
        let failure = read_t(&room, "x.db").expect_err("another cipher");
        assert_eq!(failure.code, SQLITE_NOTADB);
        let said = ["header of this file was altered", "damaged in both"];
        assert!(
            said.iter().any(|said| failure.detail.contains(said)),
            "{failure:?}"
        );
    }
    let whole_fields = COPY_FIELDS
        .iter()
        .filter(|(_, _, field)| *field != "checksum");
    for (offset, size, field) in whole_fields {
        for offset in (*offset..offset + size).step_by(7) {
            std::fs::write(room.path("x.db"), &whole).expect("writable");
            alter_header(&room.path("x.db"), offset, |byte| byte ^ 1);
            match read_t(&room, "x.db") {
                Ok(_) => panic!("{field}: byte {offset} of the header was altered unnoticed"),
                Err(failure) => assert_eq!(failure.code, SQLITE_NOTADB, "{field}: {failure:?}"),
            }
        }
    }
}

#[test]
fn a_bad_page_does_not_poison_the_connection() {
    let room = Room::new();
    make(&room, "x.db");
    let page = page_of_row(&room, "x.db", 250);
    edit(&room.path("x.db"), |bytes| bytes[page_offset(page)] ^= 1);
    for mode in ["delete", "wal"] {
        let connection = room.open("x.db");
        text(&connection, &format!("PRAGMA journal_mode={mode}"));
        for _ in 0..2 {
            let failure = read_rows(&connection, "t").expect_err("the bad page");
            assert_eq!(failure.code, SQLITE_IOERR_DATA);
            assert_eq!(read_rows(&connection, "u").expect("another table"), ROWS);
            assert_eq!(text(&connection, "SELECT a FROM t WHERE a = 1"), "1");
            connection
                .execute_batch("UPDATE u SET b = b; UPDATE t SET b = b WHERE a = 1")
                .expect("writes elsewhere");
        }
        let failure = failure(&connection, "UPDATE t SET b = 'x'");
        assert_eq!(failure.code, SQLITE_IOERR_DATA);
        assert_eq!(read_rows(&connection, "u").expect("another table"), ROWS);
        assert_eq!(
            text(&connection, "SELECT b FROM t WHERE a = 1"),
            row_text(1, 0)
        );
    }
}

/// Before it knows the page size, SQLite reads as many bytes as its default page has. Bad pages in
/// that range do no more harm than bad pages elsewhere.
#[test]
fn a_bad_page_behind_page_one_costs_only_itself_whatever_the_page_size() {
    for page_size in [512, 1024, 2048] {
        let room = Room::new();
        let connection = room.open("x.db");
        connection
            .execute_batch(&format!("PRAGMA page_size={page_size}"))
            .expect("sets");
        for table in ["t", "u", "v"] {
            fill(&connection, table, 3);
        }
        drop(connection);
        edit(&room.path("x.db"), |bytes| {
            bytes[PAGES_OFFSET + page_size + 9] ^= 1
        });
        for map in ["", "&mmap=off"] {
            let connection = room.open_with("x.db", map);
            let failure = read_rows(&connection, "t").expect_err("page 2 is bad");
            assert_eq!(failure.code, SQLITE_IOERR_DATA, "{failure:?}");
            assert_eq!(read_rows(&connection, "v").expect("another page"), 3);
        }
    }
}

#[test]
fn each_condition_has_its_own_message() {
    let room = Room::new();
    make(&room, "x.db");
    let whole = std::fs::read(room.path("x.db")).expect("readable");
    let mut messages = Vec::new();
    let mut note = |failure: Failure, said: &str| {
        assert_eq!(failure.code, SQLITE_NOTADB, "{failure:?}");
        assert!(failure.detail.contains(said), "{failure:?}");
        messages.push(failure.detail);
    };
    let wrong_key = format!(
        "file:{}?vfs=strongroom&key_file={}",
        room.path("x.db").display(),
        room.path("other-key").display()
    );
    note(
        read_rows(&common::open_uri(&wrong_key), "t").expect_err("wrong key"),
        "wrong key",
    );
    note(
        read_rows(&room.open_keyless("x.db"), "t").expect_err("no key"),
        "no key was given",
    );
    alter_header(&room.path("x.db"), field_offset("format version"), |_| 2);
    note(
        read_t(&room, "x.db").expect_err("newer"),
        "format version 2",
    );
    std::fs::write(room.path("x.db"), &whole).expect("writable");
    damage_header(&room.path("x.db"), &[0, 1], field_offset("file id"));
    note(
        read_t(&room, "x.db").expect_err("damaged"),
        "damaged in both",
    );
    std::fs::write(room.path("x.db"), vec![b'?'; 20_000]).expect("writable");
    note(
        read_t(&room, "x.db").expect_err("foreign"),
        "not a Strongroom file",
    );
    std::fs::remove_file(room.path("x.db")).expect("there");
    let plain = rusqlite::Connection::open(room.path("x.db")).expect("opens");
    fill(&plain, "t", 10);
    drop(plain);
    note(
        read_t(&room, "x.db").expect_err("plain"),
        "this is a plain SQLite database",
    );
    let count = messages.len();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), count, "no two are the same: {messages:?}");
}
