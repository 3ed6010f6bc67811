//! The file of logins: names of users, and the verifiers that PostgreSQL keeps of their passwords.
//!
//! It is what `\copy (SELECT rolname, rolpassword FROM pg_authid WHERE …) TO 'logins.tsv'` writes:
//! a line for each user, name and verifier with a tab between them. It is read anew when it has
//! changed. Whoever reads it can play the server to these users, as whoever reads `pg_authid` can;
//! he cannot log in.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use configuration::warn_if_exposed;
use keyring::source::KeySource;

use crate::scram::{NoVerifier, Verifier};

/// A file of logins that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    /// It cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line of it.
    #[error("{path}, line {number}: {error}")]
    Line {
        /// Which.
        path: PathBuf,
        /// The first has number 1.
        number: usize,
        /// Why.
        error: LineError,
    },
}

/// A line that is none of a file of logins. It is not shown: it may hold a password by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// There is no tab in it.
    #[error("name and verifier are expected, with a tab between them")]
    NoTab,
    /// What is behind the tab.
    #[error(transparent)]
    NoVerifier(#[from] NoVerifier),
}

/// What tells a file from what it was: when it and its entry were changed, its size, and which it
/// is.
type FileStamp = (Option<SystemTime>, u64, (i64, i64), u64);

/// Verifiers by user.
#[derive(Debug)]
pub struct Logins {
    path: PathBuf,
    seen: Mutex<Seen>,
}

type Verifiers = HashMap<String, Arc<Verifier>>;

#[derive(Debug)]
struct Seen {
    /// As the file was when it was read last, whether it could be or not.
    state: FileStamp,
    verifiers: Verifiers,
}

impl Logins {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, or holds something else.
    pub fn read(path: &Path) -> Result<Self, LoginsError> {
        let state = state(path).map_err(|error| unreadable(path, error))?;
        let verifiers = read(path)?;
        Ok(Self {
            path: path.to_owned(),
            seen: Mutex::new(Seen { state, verifiers }),
        })
    }

    /// The verifier of a user; None: the file does not have him.
    pub fn find(&self, user: &str) -> Option<Arc<Verifier>> {
        // What is replaced is replaced as a whole.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the content: what changes in between is read again.
        if let Ok(state) = state(&self.path)
            && state != seen.state
        {
            seen.state = state;
            match read(&self.path) {
                Ok(verifiers) => seen.verifiers = verifiers,
                // It may just be written, and then changes again: what was in it before goes on.
                Err(error) => tracing::warn!(%error, "logins"),
            }
        }
        seen.verifiers.get(user).cloned()
    }
}

fn state(path: &Path) -> io::Result<FileStamp> {
    let data = std::fs::metadata(path)?;
    #[cfg(unix)]
    let (changed, number) = {
        use std::os::unix::fs::MetadataExt as _;
        ((data.ctime(), data.ctime_nsec()), data.ino())
    };
    #[cfg(not(unix))]
    let (changed, number) = ((0, 0), 0);
    Ok((data.modified().ok(), data.len(), changed, number))
}

fn unreadable(path: &Path, error: io::Error) -> LoginsError {
    LoginsError::Read {
        path: path.to_owned(),
        error,
    }
}

fn read(path: &Path) -> Result<Verifiers, LoginsError> {
    warn_if_exposed(&KeySource::File(path.to_owned()));
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
    let mut verifiers = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() {
            continue;
        }
        let (name, verifier) = login(line).map_err(|error| LoginsError::Line {
            path: path.to_owned(),
            number: index + 1,
            error,
        })?;
        verifiers.insert(name, Arc::new(verifier));
    }
    Ok(verifiers)
}

fn login(line: &str) -> Result<(String, Verifier), LineError> {
    let (name, verifier) = line.split_once('\t').ok_or(LineError::NoTab)?;
    Ok((unescaped(name), verifier.parse()?))
}

/// As COPY writes texts: a backslash before a backslash, and for signs that mean something else.
fn unescaped(name: &str) -> String {
    let mut out = String::new();
    let mut signs = name.chars();
    while let Some(sign) = signs.next() {
        match (sign, sign == '\\') {
            (_, true) => out.extend(signs.next().map(|sign| match sign {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                other => other,
            })),
            (sign, false) => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
                            WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                            wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

    #[test]
    fn users_are_found_and_a_changed_file_is_read_anew() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("logins.tsv");
        let write = |text: &str| std::fs::write(&path, text).expect("written");
        write(&format!("ann\t{VERIFIER}\n\na\\\\b\\tc\t{VERIFIER}\n"));
        let logins = Logins::read(&path).expect("well formed");
        assert!(logins.find("ann").is_some());
        assert!(logins.find("a\\b\tc").is_some());
        assert!(logins.find("bob").is_none());
        write(&format!("bob\t{VERIFIER}\n"));
        assert!(logins.find("bob").is_some() && logins.find("ann").is_none());
        let modified = || std::fs::metadata(&path).and_then(|data| data.modified());
        let before = modified().expect("a time");
        write(&format!("eve\t{VERIFIER}\n"));
        let file = std::fs::File::options().write(true).open(&path);
        file.and_then(|file| file.set_modified(before))
            .expect("set");
        assert!(
            logins.find("eve").is_some(),
            "as large and as old as before"
        );
        write("half a li");
        assert!(logins.find("eve").is_some(), "what was known goes on");
    }

    #[test]
    fn a_line_that_is_none_is_named_and_not_shown() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("logins.tsv");
        for (line, said) in [("ann secret", "tab"), ("ann\tsecret", "verifier")] {
            std::fs::write(&path, format!("x\t{VERIFIER}\n{line}\n")).expect("written");
            let error = Logins::read(&path).expect_err(line).to_string();
            assert!(error.contains("line 2") && error.contains(said), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(Logins::read(&folder.path().join("none")).is_err());
    }
}
