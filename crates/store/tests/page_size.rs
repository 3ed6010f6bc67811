//! Copies with another page size.

use keyring::Credential;
use rusqlite::Connection;
use store::KeyToken;
use store::convert::{EncryptOptions, Overwrite, encrypt_copy};
use store::database::{Access, open_encrypted};
use store::progress::ignored;

#[test]
fn a_database_of_any_encoding_can_change_its_page_size() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("plain"), folder.path().join("copy"));
        let connection = Connection::open(&source).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA encoding = '{encoding}'; CREATE TABLE t(a); INSERT INTO t VALUES ('Grüße')"
            ))
            .unwrap();
        drop(connection);
        let token = KeyToken::new(Credential::passphrase("correct horse"));
        let options = EncryptOptions {
            page_size: Some(16384),
            ..EncryptOptions::default()
        };
        let overwrite = Overwrite::Never;
        encrypt_copy(
            &source,
            None,
            &target,
            &token,
            options,
            overwrite,
            &ignored(),
        )
        .unwrap_or_else(|error| panic!("{encoding}: {error}"));
        let copy = open_encrypted(&target, Access::Read, Some(&token), None).unwrap();
        let text = |sql: &str| {
            copy.query_row(sql, [], |row| row.get::<_, String>(0))
                .unwrap()
        };
        assert_eq!(text("PRAGMA encoding"), encoding);
        assert_eq!(text("SELECT a FROM t"), "Grüße");
        assert_eq!(
            text("SELECT page_size || '' FROM pragma_page_size"),
            "16384"
        );
    }
}
