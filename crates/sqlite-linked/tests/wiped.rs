//! After a database is closed, the memory of the process contains none of its secrets.
//!
//! A child process opens a database, works, and closes it; this one reads all of the child's memory
//! before and after. While the database is open the keys must be found, or the search would prove
//! nothing.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use common::files::{is_inside, own_process, uri};
use common::{Room, open_uri, text};
use crypto::cipher::Cipher;
use crypto::kdf::{XaesDerivation, derive_from_passphrase, derive_key};
use crypto::secret::{Key, SecretBytes};
use page_codec::header::{EpochEntry, Header, HeaderRegion, REGION_SIZE};

/// The source of a case's keys, and the file that contains them.
#[derive(Clone, Copy, Debug)]
enum Source {
    Passphrase,
    KeyFile,
    /// `PRAGMA hexkey`. The digits go through SQL text, of which SQLite makes copies that it does
    /// not wipe; but the key itself is held by this library.
    Pragma,
}

impl Source {
    /// The URI parameters, given the path of the file.
    fn parameters(self, path: &str) -> String {
        match self {
            Source::Passphrase => format!("&passphrase_file={path}"),
            Source::KeyFile => format!("&key_file={path}"),
            Source::Pragma => String::new(),
        }
    }

    /// The content of the file. Neither variant occurs in a program by chance.
    fn content(self) -> Vec<u8> {
        match self {
            Source::Passphrase => b"Zw7!quorn-velvet-oxbow-Tamarisk".to_vec(),
            Source::KeyFile | Source::Pragma => {
                RAW_KEY.iter().flat_map(|byte| hex(*byte)).collect()
            }
        }
    }
}

const RAW_KEY: [u8; 32] = *b"\x9d\x17\xe4\x5b\xc8\x3a\x71\x06\xf2\xad\x4e\x90\x2b\xd6\x68\x1f\
                            \xb3\x7c\x05\xea\x59\x84\xc1\x3e\x96\x40\xdf\x22\x8b\x67\xf0\x1d";

fn hex(byte: u8) -> Vec<u8> {
    format!("{byte:02x}").into_bytes()
}

/// Whether a secret is in memory while the database is open.
#[derive(Clone, Copy, Debug, PartialEq)]
enum InUse {
    /// It must be found, or the search would prove nothing.
    Kept,
    /// It must not: only keys derived from it are.
    Gone,
}

/// A secret and its name.
struct Needle {
    name: String,
    bytes: Vec<u8>,
    in_use: InUse,
}

/// All keys between a secret and the pages, derived as specified in `docs/page-format.md`, section
/// 3.
fn needles(source: Source, header: &Header) -> Vec<Needle> {
    let slot = header.slots[0].as_ref().expect("a slot");
    let content = source.content();
    let mut needles = Vec::new();
    let mut add = |name: &str, bytes: &[u8], in_use: InUse| {
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        needles.push(Needle {
            name,
            bytes,
            in_use,
        });
    };
    if !matches!(source, Source::Pragma) {
        add("the content of the file", &content, InUse::Gone);
    }
    let slot_key = match source {
        Source::Passphrase => {
            let cost = slot.kdf.expect("a cost");
            derive_from_passphrase(&SecretBytes::new(content), &slot.salt, cost).expect("derives")
        }
        Source::KeyFile | Source::Pragma => {
            add("the raw key", &RAW_KEY, InUse::Gone);
            let purpose = b"strongroom raw key slot 1";
            derive_key(&Key::from_bytes(RAW_KEY), &slot.salt, purpose)
        }
    };
    add("the slot key", slot_key.expose(), InUse::Kept);
    let id = &header.file_id;
    let associated = slot.associated_data(id, 0);
    let master = crypto::wrap::unwrap_key(&slot_key, &slot.nonce, &associated, &slot.wrapped);
    let master = master.expect("the slot opens");
    add("the master key", master.expose(), InUse::Kept);
    let wrap_key = derive_key(&master, id, b"strongroom data key wrap 1");
    add("the wrap key", wrap_key.expose(), InUse::Gone);
    let header_key = derive_key(&master, id, b"strongroom header tag 1");
    add("the header key", header_key.expose(), InUse::Gone);
    let entry = header.epochs[0].as_ref().expect("an epoch");
    let associated = EpochEntry::associated_data(id, entry.epoch);
    let data = crypto::wrap::unwrap_key(&wrap_key, &entry.nonce, &associated, &entry.wrapped);
    let data = data.expect("the epoch opens");
    add("the data key", data.expose(), InUse::Kept);
    let purpose = [b"strongroom page 1 ", header.cipher.name().as_bytes()].concat();
    let page_key = derive_key(&data, id, &purpose);
    add("the page key", page_key.expose(), InUse::Kept);
    if header.cipher == Cipher::Aes256Gcm {
        // The group of the first pages of a database: number 0, kind 1.
        let prefix = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
        let sub_key = XaesDerivation::new(&page_key).derive(&prefix);
        add("the key of a group", sub_key.expose(), InUse::Kept);
    }
    let journal = derive_key(&data, id, b"strongroom journal header 1");
    add("the journal key", journal.expose(), InUse::Kept);
    let mask = derive_key(&data, id, b"strongroom mask 1");
    add("the mask key", mask.expose(), InUse::Gone);
    for purpose in [
        "strongroom field mask: xts block",
        "strongroom field mask: xts tweak",
        "strongroom field mask: word",
    ] {
        add(
            purpose,
            derive_key(&mask, b"", purpose.as_bytes()).expose(),
            InUse::Kept,
        );
    }
    needles
}

/// A process that has a database open until told to close it.
struct Opener {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Opener {
    fn start(test: &str, uri: &str, source: Source, cipher: Cipher) -> Self {
        let mut child = own_process(test)
            .env("WIPED_URI", uri)
            .env("WIPED_CIPHER", cipher.name())
            .env(
                "WIPED_PRAGMA",
                if matches!(source, Source::Pragma) {
                    "1"
                } else {
                    ""
                },
            )
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        Opener { child, lines }
    }

    fn wait_for(&mut self, word: &str) {
        let mut said = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.expect("readable");
            if line == word {
                return;
            }
            said.push(line);
        }
        panic!("ended without {word}:\n{}", said.join("\n"));
    }

    fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(b"\n").expect("written");
    }

    /// Where each needle occurs in the memory of the process.
    fn count(&self, needles: &[Needle]) -> Vec<Vec<String>> {
        let id = self.child.id();
        let maps = std::fs::read_to_string(format!("/proc/{id}/maps")).expect("readable");
        let mut memory = File::open(format!("/proc/{id}/mem")).expect("a child's memory");
        let mut found = vec![Vec::new(); needles.len()];
        for line in maps.lines().filter(|line| line.contains(" rw")) {
            let (range, rest) = line.split_once(' ').expect("a range");
            let (start, end) = range.split_once('-').expect("two addresses");
            let address = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
            let (start, end) = (address(start), address(end));
            let mut bytes = vec![0; usize::try_from(end - start).expect("fits")];
            memory.seek(SeekFrom::Start(start)).expect("seeks");
            if memory.read_exact(&mut bytes).is_err() {
                continue;
            }
            let place = rest.split_whitespace().nth(4).unwrap_or("anonymous");
            for (needle, found) in needles.iter().zip(&mut found) {
                let offsets = offsets(&bytes, &needle.bytes);
                found.extend(offsets.map(|offset| format!("{place}+{offset:#x}")));
            }
        }
        found
    }
}

fn offsets<'a>(bytes: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    memchr::memmem::find_iter(bytes, needle)
}

/// The child's role: opens, works and closes, each on request.
fn open_and_close() {
    let wait = || {
        std::io::stdin()
            .read_line(&mut String::new())
            .expect("told")
    };
    sqlite_linked::register().expect("registers");
    let uri = std::env::var("WIPED_URI").expect("set");
    let cipher = std::env::var("WIPED_CIPHER").expect("set");
    let by_pragma = std::env::var("WIPED_PRAGMA").is_ok_and(|word| !word.is_empty());
    let open = |uri: &str| {
        let connection = open_uri(uri);
        if by_pragma {
            let path = Path::new(connection.path().expect("a path")).with_file_name("secret");
            let digits = std::fs::read_to_string(path).expect("readable");
            text(&connection, &format!("PRAGMA hexkey='{digits}'"));
        }
        connection
    };
    let connection = open(&format!("{uri}&cipher={cipher}"));
    text(&connection, "PRAGMA journal_mode=wal");
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS t(a INTEGER PRIMARY KEY, b TEXT);
             BEGIN; INSERT INTO t(b) VALUES('some row'), ('another'); COMMIT;
             PRAGMA journal_mode=delete;
             UPDATE t SET b = b || '!';",
        )
        .expect("works");
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    // A second connection uses the cached derived key.
    let second = open(&uri);
    assert_eq!(text(&second, "SELECT count(*) > 0 FROM t"), "1");
    drop(second);
    eprintln!("open");
    wait();
    drop(connection);
    eprintln!("closed");
    wait();
}

fn header_of(path: &Path) -> Header {
    let bytes = std::fs::read(path).expect("readable");
    HeaderRegion::parse(&bytes[..REGION_SIZE])
        .expect("a header")
        .header
}

#[test]
fn nothing_is_left_when_a_database_is_closed() {
    const TEST: &str = "nothing_is_left_when_a_database_is_closed";
    if is_inside(TEST) {
        return open_and_close();
    }
    let cases = [
        (Source::Passphrase, Cipher::Aegis256X2),
        (Source::KeyFile, Cipher::Aegis256X2),
        (Source::Pragma, Cipher::Aegis256X2),
        (Source::KeyFile, Cipher::Aegis256),
        (Source::KeyFile, Cipher::Aes256Gcm),
        (Source::KeyFile, Cipher::XChaCha20Poly1305),
    ];
    let mut left = Vec::new();
    for (source, cipher) in cases {
        let room = Room::new();
        std::fs::write(room.path("secret"), source.content()).expect("writable");
        let path = room.path("secret").display().to_string();
        let uri = uri(&room, "x.db", &source.parameters(&path));
        // Once to create the database, once to open it.
        for round in ["created", "opened"] {
            let mut opener = Opener::start(TEST, &uri, source, cipher);
            opener.wait_for("open");
            let needles = needles(source, &header_of(&room.path("x.db")));
            let found = opener.count(&needles);
            for (needle, found) in needles.iter().zip(&found) {
                let (name, name_of_cipher) = (&needle.name, cipher.name());
                assert!(
                    needle.in_use == InUse::Gone || !found.is_empty(),
                    "{source:?} {name_of_cipher}: {name} is not found while it is in use"
                );
                if needle.in_use == InUse::Gone && !found.is_empty() {
                    left.push(format!(
                        "{source:?} {name_of_cipher} {round}, in use: {name} {found:?}"
                    ));
                }
            }
            opener.go_on();
            opener.wait_for("closed");
            for (needle, found) in needles.iter().zip(opener.count(&needles)) {
                if !found.is_empty() {
                    let name = &needle.name;
                    left.push(format!(
                        "{source:?} {} {round}: {name} {found:?}",
                        cipher.name()
                    ));
                }
            }
            opener.go_on();
            assert!(opener.child.wait().expect("ended").success());
        }
    }
    assert!(left.is_empty(), "left in memory:\n{}", left.join("\n"));
}
