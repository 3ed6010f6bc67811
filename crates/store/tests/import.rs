//! Imports under disturbance: writers, interruptions, files that appear.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

use crypto::secret::SecretBytes;
use keyring::Credential;
use rusqlite::Connection;
use sqlcipher_format::detect::Known;
use sqlcipher_format::key::SourceKey;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::KeyToken;
use store::convert::{ConvertError, EncryptOptions, Overwrite};
use store::import::{
    Form, ImportError, Imported, Original, SqlcipherSource, import_copy, import_in_place,
};
use store::progress::{Decision, Phase, Progress};

fn token() -> KeyToken {
    KeyToken::new(Credential::passphrase("correct horse"))
}

fn sample() -> Vec<u8> {
    let path = "../../vectors/sqlcipher/version_3.db";
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn sqlcipher() -> SqlcipherSource {
    SqlcipherSource {
        key: SourceKey::Passphrase(SecretBytes::new(b"correct horse".to_vec())),
        salt: None,
        known: Known {
            version: Some(3),
            ..Known::default()
        },
    }
}

/// Runs `act` when the copy has been made and is being checked.
fn meanwhile(act: impl Fn() -> Decision + Send + Sync + 'static) -> Progress {
    Arc::new(move |step| match step.phase {
        Phase::Checking if step.done == 0 => act(),
        _ => Decision::GoOn,
    })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Imports a plain database in WAL mode, while another connection runs some SQL.
fn import_plain_while(folder: &Path, sql: &'static str) -> Result<Imported, ImportError> {
    let source = folder.join("plain");
    let connection = Connection::open(&source).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
        .unwrap();
    let path: PathBuf = source.clone();
    let progress = meanwhile(move || {
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch(sql).unwrap();
        Decision::GoOn
    });
    let target = folder.join("copy");
    let options = EncryptOptions::default();
    let overwrite = Overwrite::Never;
    import_copy(
        &source,
        Form::Plain,
        &target,
        &token(),
        options,
        overwrite,
        &progress,
    )
}

#[test]
fn rows_that_come_meanwhile_are_not_taken_for_lost_ones() {
    let folder = tempfile::tempdir().unwrap();
    let error = import_plain_while(folder.path(), "INSERT INTO t VALUES (3)").unwrap_err();
    assert!(matches!(error, ImportError::Changed(_)), "{error}");
    assert!(
        !names(folder.path())
            .iter()
            .any(|name| name == "copy" || name.ends_with(".part"))
    );
}

#[test]
fn a_change_that_leaves_the_numbers_of_rows_is_no_hindrance() {
    let folder = tempfile::tempdir().unwrap();
    let imported = import_plain_while(folder.path(), "UPDATE t SET a = a + 10").unwrap();
    assert_eq!((imported.tables, imported.rows), (1, 2));
}

#[test]
fn stopping_leaves_everything_unchanged() {
    for phase in [Phase::Copying, Phase::Checking] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        fs::write(&path, sample()).unwrap();
        let progress: Progress = Arc::new(move |step| match step.phase == phase {
            true => Decision::Stop,
            false => Decision::GoOn,
        });
        let source = sqlcipher();
        let form = Form::Sqlcipher(&source);
        let options = EncryptOptions::default();
        let result = import_in_place(&path, form, &token(), options, Original::Remove, &progress);
        let stopped = matches!(result, Err(ImportError::Convert(ConvertError::Stopped)));
        assert!(stopped, "{result:?}");
        assert_eq!(names(folder.path()), ["x.db"]);
        assert_eq!(fs::read(&path).unwrap(), sample());
    }
}

#[test]
fn a_kept_original_never_replaces_a_file_that_appears() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    fs::write(&path, sample()).unwrap();
    let kept = folder.path().join("x.db.before-import");
    let appearing = kept.clone();
    let progress = meanwhile(move || {
        fs::write(&appearing, b"precious").unwrap();
        Decision::GoOn
    });
    let source = sqlcipher();
    let form = Form::Sqlcipher(&source);
    let options = EncryptOptions::default();
    let result = import_in_place(&path, form, &token(), options, Original::Keep, &progress);
    assert!(matches!(result, Err(ImportError::Kept(_))), "{result:?}");
    assert_eq!(fs::read(&kept).unwrap(), b"precious");
    assert_eq!(fs::read(&path).unwrap(), sample());
    assert_eq!(names(folder.path()), ["x.db", "x.db.before-import"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("real.db");
    fs::write(&path, sample()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let source = sqlcipher();
    let form = Form::Sqlcipher(&source);
    let options = EncryptOptions::default();
    let progress = store::progress::ignored();
    import_in_place(&link, form, &token(), options, Original::Keep, &progress).unwrap();
    assert!(link.symlink_metadata().unwrap().file_type().is_symlink());
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_ne!(fs::read(&path).unwrap(), sample());
    let kept = folder.path().join("real.db.before-import");
    assert_eq!(fs::read(kept).unwrap(), sample());
}
