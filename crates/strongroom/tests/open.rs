//! Databases are opened by the key they were made with, and by nothing else.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::PathBuf;

use strongroom::rusqlite::Connection;
use strongroom::{
    Cipher, Credential, Error, Key, OpenError, OpenOptions, generate_key_file, open, status,
};
use tempfile::TempDir;

const PASSPHRASE: &str = "horse battery";

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A key file, made when it is first asked for.
    fn key_file(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        if !path.exists() {
            generate_key_file(&path).unwrap();
        }
        path
    }

    /// A database with one row, made with `one.key`.
    fn database(&self) -> PathBuf {
        let path = self.path("x.db");
        fill(
            &OpenOptions::new()
                .key_file(self.key_file("one.key"))
                .create(true)
                .open(&path)
                .unwrap(),
        );
        path
    }
}

fn fill(connection: &Connection) {
    connection
        .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES('canary-81b3')")
        .unwrap();
}

fn content(connection: &Connection) -> String {
    connection
        .query_row("SELECT a FROM t", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn every_kind_of_key_opens_what_it_made_and_nothing_else() {
    let folder = Folder::new();
    let passphrase_file = folder.path("passphrase");
    fs::write(&passphrase_file, "another one\n").unwrap();
    type Kind = (&'static str, fn(&Folder) -> OpenOptions);
    let kinds: [Kind; 4] = [
        ("key file", |folder| {
            OpenOptions::new().key_file(folder.key_file("one.key"))
        }),
        ("key", |_| {
            OpenOptions::new().key(Key::from_bytes([0x5a; 32]))
        }),
        ("passphrase", |_| OpenOptions::new().passphrase(PASSPHRASE)),
        ("passphrase file", |folder| {
            OpenOptions::new().passphrase_file(folder.path("passphrase"))
        }),
    ];
    for (made_by, options) in kinds {
        let path = folder.path(&format!("{made_by}.db"));
        fill(&options(&folder).create(true).open(&path).unwrap());
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(11).any(|window| window == b"canary-81b3"));
        for (opened_by, options) in kinds {
            match options(&folder).open(&path) {
                Ok(connection) => {
                    assert_eq!(opened_by, made_by);
                    assert_eq!(content(&connection), "canary-81b3");
                }
                Err(Error::Open(OpenError::WrongKey { .. })) => assert_ne!(opened_by, made_by),
                Err(error) => panic!("{made_by}, opened by {opened_by}: {error}"),
            }
        }
    }
}

#[test]
fn a_passphrase_opens_in_one_call() {
    let folder = Folder::new();
    let path = folder.path("x.db");
    let options = OpenOptions::new().passphrase(PASSPHRASE).create(true);
    fill(&options.open(&path).unwrap());
    let connection = open(&path, Credential::passphrase(PASSPHRASE)).unwrap();
    assert_eq!(content(&connection), "canary-81b3");
}

#[test]
fn one_key_has_to_be_named() {
    let folder = Folder::new();
    let path = folder.database();
    let error = OpenOptions::new().open(&path).unwrap_err();
    assert!(matches!(error, Error::NoKey), "{error}");
    let error = OpenOptions::new()
        .key_file(folder.key_file("one.key"))
        .passphrase(PASSPHRASE)
        .open(&path)
        .unwrap_err();
    assert!(matches!(error, Error::SeveralKeys), "{error}");
    let missing = OpenOptions::new().key_file(folder.path("none.key"));
    let error = missing.open(&path).unwrap_err();
    assert!(matches!(error, Error::Key(_)), "{error}");
    assert!(error.to_string().contains("none.key"), "{error}");
}

#[test]
fn nothing_is_begun_anew_unasked() {
    let folder = Folder::new();
    let key = folder.key_file("one.key");
    let options = OpenOptions::new().key_file(&key);
    let missing = folder.path("missing.db");
    let error = options.open(&missing).unwrap_err();
    assert!(
        matches!(error, Error::Open(OpenError::Missing(_))),
        "{error}"
    );
    assert!(!missing.exists());
    let empty = folder.path("empty.db");
    fs::write(&empty, b"").unwrap();
    for options in [OpenOptions::new(), OpenOptions::new().read_only(true)] {
        let error = options.key_file(&key).open(&empty).unwrap_err();
        assert!(matches!(error, Error::Open(OpenError::Empty(_))), "{error}");
    }
    let error = options.open(folder.path("none/x.db")).unwrap_err();
    let no_folder = matches!(error, Error::Open(OpenError::NoFolder { .. }));
    assert!(no_folder, "{error}");
}

#[test]
fn what_is_no_encrypted_database_is_not_taken_for_a_wrong_key() {
    let folder = Folder::new();
    let key = folder.key_file("one.key");
    let plain = folder.path("plain.db");
    fill(&Connection::open(&plain).unwrap());
    let damaged = folder.database();
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[100] ^= 1;
    bytes[4096 + 100] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let foreign = folder.path("foreign.db");
    fs::write(&foreign, vec![b'x'; 8192]).unwrap();
    for (path, words) in [(plain, "plain"), (damaged, "damaged"), (foreign, "not a")] {
        for create in [false, true] {
            let options = OpenOptions::new().key_file(&key).create(create);
            let error = options.open(&path).unwrap_err();
            let unusable = matches!(error, Error::Open(OpenError::Unusable { .. }));
            assert!(unusable, "{error:?}");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn read_only_writes_nothing() {
    let folder = Folder::new();
    let path = folder.database();
    let options = OpenOptions::new().key_file(folder.key_file("one.key"));
    let connection = options.read_only(true).open(&path).unwrap();
    assert_eq!(content(&connection), "canary-81b3");
    connection.execute("DELETE FROM t", []).unwrap_err();
    let options = OpenOptions::new().key_file(folder.key_file("one.key"));
    let error = options.read_only(true).create(true).open(&path);
    assert!(matches!(error.unwrap_err(), Error::CreateReadOnly));
}

#[test]
fn the_cipher_of_a_new_database_is_chosen() {
    let folder = Folder::new();
    let path = folder.path("x.db");
    let options = OpenOptions::new().key_file(folder.key_file("one.key"));
    let options = options.cipher(Cipher::Aes256Gcm);
    fill(&options.create(true).open(&path).unwrap());
    let options = OpenOptions::new().key_file(folder.key_file("one.key"));
    let connection = options.open(&path).unwrap();
    let cipher = status(&connection).unwrap().cipher;
    assert_eq!(cipher.as_deref(), Some("aes-256-gcm"));
}

#[test]
fn no_secret_stands_in_options_names_or_errors() {
    let folder = Folder::new();
    let path = folder.database();
    let options = OpenOptions::new().passphrase(PASSPHRASE).create(true);
    assert!(!format!("{options:?}").contains("horse"), "{options:?}");
    let error = options.open(&path).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("horse"), "{error:?}");
    let connection = options.open(folder.path("new.db")).unwrap();
    assert!(!connection.path().unwrap_or_default().contains("horse"));
}

/// A descriptor of its own, closed again, would drop the locks of this process.
#[cfg(target_os = "linux")]
#[test]
fn opening_again_leaves_the_locks_of_open_connections() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new();
    let path = folder.database();
    let options = OpenOptions::new().key_file(folder.key_file("one.key"));
    let writer = options.open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let inode = format!(":{} ", fs::metadata(&path).unwrap().ino());
    let locks = || fs::read_to_string("/proc/locks").unwrap();
    assert!(locks().contains(&inode), "no lock to lose");
    let reader = options.open(&path).unwrap();
    assert_eq!(content(&reader), "canary-81b3");
    let wrong = OpenOptions::new().key(Key::from_bytes([1; 32]));
    wrong.open(&path).unwrap_err();
    let locks = locks();
    let kept = locks.lines().filter(|line| line.contains(&inode));
    assert!(
        kept.clone().any(|line| line.contains("WRITE")),
        "the lock is gone:\n{locks}"
    );
    writer.execute_batch("COMMIT").unwrap();
}

#[test]
fn sql_changes_no_keys_unless_it_may() {
    let folder = Folder::new();
    let path = folder.database();
    let options = || OpenOptions::new().key_file(folder.key_file("one.key"));
    let rekey = |connection: &Connection| {
        connection.query_row("PRAGMA rekey='new'", [], |row| row.get::<_, String>(0))
    };
    let refused = rekey(&options().open(&path).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("keys_in_sql=on"), "{refused}");
    rekey(&options().keys_in_sql(true).open(&path).unwrap()).unwrap();
    let changed = open(&path, Credential::passphrase("new")).unwrap();
    assert_eq!(content(&changed), "canary-81b3");
}
