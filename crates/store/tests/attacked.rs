//! Copies in a folder that others can write to: an attacker who moves the copy away while it is
//! made, or replaces it, neither gets content nor has his own file taken for the copy.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use keyring::Credential;
use rusqlite::Connection;
use store::KeyToken;
use store::backup::backup_file;
use store::convert::{ConvertError, EncryptOptions, Overwrite, decrypt_copy, encrypt_copy};
use store::database::{Access, open_encrypted, open_plain};
use store::progress::{Decision, Progress};

const CANARY: &str = "canary in the content";

fn token() -> KeyToken {
    KeyToken::new(Credential::raw_key(keyring::random_key().unwrap()))
}

fn quietly() -> Progress {
    Arc::new(|_| Decision::GoOn)
}

/// What an attacker does to an entry of the folder, given its path and the path to move it to.
type Attack = fn(&Path, &Path);

fn with_a_file(entry: &Path, away: &Path) {
    fs::rename(entry, away).unwrap();
    fs::write(entry, b"the attacker's own").unwrap();
}

/// Has what the copy needs: a folder that everyone can write to, with a file for each name.
fn with_a_folder(entry: &Path, away: &Path) {
    let names: Vec<_> = match fs::read_dir(entry) {
        Ok(entries) => entries.map(|entry| entry.unwrap().file_name()).collect(),
        Err(_) => Vec::new(),
    };
    fs::rename(entry, away).unwrap();
    fs::create_dir(entry).unwrap();
    fs::set_permissions(entry, fs::Permissions::from_mode(0o777)).unwrap();
    for name in names {
        fs::write(entry.join(name), b"the attacker's own").unwrap();
    }
}

/// Replaces whatever is in progress in a folder, each time progress is reported.
fn attacker(folder: &Path, attack: Attack) -> (Progress, Arc<Mutex<u32>>) {
    let folder = folder.to_owned();
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    let progress: Progress = Arc::new(move |_| {
        let mut count = counted.lock().unwrap();
        let parts: Vec<PathBuf> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().ends_with(".part"))
            .collect();
        for part in parts {
            *count += 1;
            attack(&part, &folder.join(format!("away-{count}")));
        }
        Decision::GoOn
    });
    (progress, count)
}

/// No file outside the private folders has content.
fn assert_no_content(folder: &Path, but: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        if path.is_dir() {
            if mode & 0o077 != 0 {
                assert_no_content(&path, but);
            }
        } else if path != but {
            let bytes = fs::read(&path).unwrap();
            let found = bytes
                .windows(CANARY.len())
                .any(|part| part == CANARY.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}

fn content(connection: &Connection) -> String {
    connection
        .query_row("SELECT a FROM t LIMIT 1", [], |row| row.get(0))
        .unwrap()
}

struct Room {
    sources: tempfile::TempDir,
    key: KeyToken,
}

impl Room {
    /// A plain and an encrypted database, out of the attacker's reach.
    fn new() -> Self {
        let room = Room {
            sources: tempfile::tempdir().unwrap(),
            key: token(),
        };
        let plain = Connection::open(room.path("plain.db")).unwrap();
        plain.execute_batch("CREATE TABLE t(a)").unwrap();
        let insert = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)
                      INSERT INTO t SELECT ?1 FROM n";
        plain.execute(insert, [CANARY]).unwrap();
        drop(plain);
        let target = room.path("encrypted.db");
        room.encrypt(&target, &quietly()).unwrap();
        room
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sources.path().join(name)
    }

    fn encrypt(&self, target: &Path, progress: &Progress) -> Result<(), ConvertError> {
        let options = EncryptOptions::default();
        let (source, never) = (self.path("plain.db"), Overwrite::Never);
        encrypt_copy(&source, None, target, &self.key, options, never, progress)
    }

    fn decrypt(&self, target: &Path, progress: &Progress) -> Result<(), ConvertError> {
        let source = self.path("encrypted.db");
        decrypt_copy(&source, &self.key, target, Overwrite::Always, progress)
    }

    fn back_up(&self, target: &Path, progress: &Progress) -> Result<(), ConvertError> {
        let source = self.path("encrypted.db");
        let never = Overwrite::Never;
        backup_file(&source, &self.key, target, &self.key, never, progress)
    }
}

#[test]
fn a_copy_that_is_moved_away_is_not_replaced_by_another() {
    let room = Room::new();
    type Make = fn(&Room, &Path, &Progress) -> Result<(), ConvertError>;
    let ways: [(Make, bool); 3] = [
        (Room::encrypt, true),
        (Room::decrypt, false),
        (Room::back_up, true),
    ];
    for (make, encrypted) in ways {
        for attack in [with_a_file as Attack, with_a_folder] {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
            let target = folder.path().join("target.db");
            let (progress, count) = attacker(folder.path(), attack);
            let made = make(&room, &target, &progress);
            let open = || match encrypted {
                true => open_encrypted(&target, Access::Read, Some(&room.key), None),
                false => open_plain(Some(&target), Access::Read),
            };
            if cfg!(target_os = "linux") {
                assert!(*count.lock().unwrap() > 0, "nothing was attacked");
                made.unwrap();
                assert_eq!(content(&open().unwrap()), CANARY);
            } else {
                assert!(
                    made.unwrap_err()
                        .to_string()
                        .contains("choose another folder")
                );
            }
            assert_no_content(folder.path(), &target);
        }
    }
}

#[test]
fn nothing_is_left_and_only_the_owner_can_read_the_copy() {
    let room = Room::new();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target.db");
    room.decrypt(&target, &quietly()).unwrap();
    let mode = fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    // By a relative name, and over an existing file.
    room.decrypt(&target, &quietly()).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}
