//! A certificate for clients that the proxy makes itself, at its first start.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rcgen::{CertificateParams, DnType, KeyPair};

/// Makes a file of certificate and key, unless it is there. Nobody but its owner may read it.
///
/// # Errors
/// The folder cannot be written to.
pub(super) fn make(path: &Path) -> io::Result<()> {
    if path.try_exists()? {
        return Ok(());
    }
    let text = certificate().map_err(io::Error::other)?;
    // Complete, or not there: a second proxy may start at the same moment.
    let part = path.with_extension(format!("pem.{}", std::process::id()));
    let written = write(&part, &text).and_then(|()| fs::hard_link(&part, path));
    // Whether it is there or not, it is not needed.
    let _ = fs::remove_file(&part);
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.exists() => Ok(()),
        Ok(()) => {
            tracing::info!(path = %path.display(), "made a certificate for clients");
            Ok(())
        }
        error => error,
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn certificate() -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(["localhost".to_owned()])?;
    let name = &mut params.distinguished_name;
    name.push(DnType::CommonName, "Strongroom proxy, self-signed");
    let certificate = params.self_signed(&key)?;
    Ok(format!("{}{}", certificate.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("client-tls.pem");
        make(&path).expect("the folder is ours");
        let first = fs::read(&path).expect("it is there");
        let mode = fs::metadata(&path).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        make(&path).expect("it is there");
        assert_eq!(fs::read(&path).expect("it is there"), first);
        let files = fs::read_dir(folder.path()).expect("the folder");
        assert_eq!(files.count(), 1, "a part of it is left");
        let nowhere = folder.path().join("no").join("client-tls.pem");
        make(&nowhere).expect_err("there is no such folder");
    }
}
