//! SQL must learn nothing about other files from the URIs that it can supply, until the key is
//! right.

mod common;

use common::files::failure;
use common::{Room, last_error, open_uri, text};
use page_codec::header::{COPY_SIZE, HeaderRegion, REGION_SIZE};
use rusqlite::Connection;

/// Names of key sources of all kinds. All hold wrong keys for the database.
fn sources(room: &Room) -> Vec<String> {
    let write = |name: &str, content: &[u8]| {
        let path = room.path(name);
        std::fs::write(&path, content).expect("writable");
        path.display().to_string()
    };
    let mut sources = vec![
        room.path("missing").display().to_string(),
        room.folder.path().display().to_string(),
        write("empty", b""),
        write("short", b"0123456789"),
        write("long", &[b'x'; 5000]),
        write("another", "33".repeat(32).as_bytes()),
    ];
    if cfg!(unix) {
        let pipe = room.path("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        sources.push(pipe.display().to_string());
        sources.push("/dev/zero".to_owned());
    }
    sources
}

#[test]
fn nothing_is_revealed_about_a_source_that_an_attached_uri_names() {
    let room = Room::new();
    room.open("x.db")
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    let plain = Connection::open(room.path("plain.db")).expect("opens");
    plain.execute_batch("CREATE TABLE t(a)").expect("creates");
    let sources = sources(&room);
    for database in ["x.db", "plain.db"] {
        let main = room.open("main.db");
        let attach = |parameter: &str, source: &str| {
            let file = room.path(database).display().to_string();
            let uri = format!("file:{file}?vfs=strongroom&{parameter}={source}");
            let failure = failure(&main, &format!("ATTACH '{uri}' AS other"));
            format!("{failure:?}")
        };
        let mut details: Vec<String> = Vec::new();
        for source in &sources {
            details.push(attach("key_file", source));
            details.push(attach("passphrase_file", source));
        }
        // One that exists, and one that does not.
        for variable in ["PATH", "STRONGROOM_NO_SUCH_VARIABLE"] {
            details.push(attach("key_env", variable));
            details.push(attach("passphrase_env", variable));
        }
        assert!(
            details.iter().all(|said| *said == details[0]),
            "{details:#?}"
        );
    }
}

#[test]
fn whoever_opens_the_connection_learns_what_is_wrong_with_the_key() {
    let room = Room::new();
    room.open("x.db")
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    let file = room.path("x.db").display().to_string();
    let missing = format!("file:{file}?vfs=strongroom&key_file=/nowhere/key");
    assert!(last_error(&open_uri(&missing)).contains("/nowhere/key"));
    let other = room.path("other-key").display().to_string();
    let wrong = open_uri(&format!("file:{file}?vfs=strongroom&key_file={other}"));
    assert!(last_error(&wrong).contains("wrong key"));
}

#[test]
fn once_the_key_is_right_the_reason_is_reported() {
    let room = Room::new();
    room.open("x.db")
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    common::files::edit(&room.path("x.db"), |bytes| {
        let mut header = HeaderRegion::parse(bytes).expect("whole").header;
        // With the tag of another header.
        header.generation += 1;
        for copy in bytes[..REGION_SIZE].chunks_mut(COPY_SIZE) {
            copy.copy_from_slice(&header.to_copy());
        }
    });
    let main = room.open("main.db");
    let sql = format!("ATTACH '{}' AS other", room.uri("x.db", ""));
    let told = failure(&main, &sql).detail;
    assert!(
        told.contains("the header of this file was altered"),
        "{told}"
    );
}

#[test]
fn a_wrong_key_by_pragma_is_reported_after_a_named_one() {
    let room = Room::new();
    room.open("x.db")
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    let file = room.path("x.db").display().to_string();
    let connection = open_uri(&format!("file:{file}?vfs=strongroom&key_file=/missing"));
    let wrong = failure(&connection, &format!("PRAGMA hexkey='{}'", "22".repeat(32)));
    assert!(wrong.message.contains("wrong key"), "{wrong:?}");
    let right = format!("PRAGMA hexkey='{}'", "11".repeat(32));
    assert_eq!(text(&connection, &right), "ok");
    assert_eq!(text(&connection, "SELECT count(*) FROM t"), "0");
}
