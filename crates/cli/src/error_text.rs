//! Formats errors for users: every cause once, and system errors with a remedy.

use std::io::{self, ErrorKind};

/// Whether the reader of the output has closed it, so that nobody is left to be told.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// The error with its causes, without those whose text it already contains.
pub fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    // The number of SQLite's code adds nothing to its message.
    let causes = error
        .chain()
        .skip(1)
        .filter(|cause| !cause.is::<rusqlite::ffi::Error>());
    for cause in causes {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let of_system = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    for cause in of_system {
        if let Some(told) = with_remedy(cause) {
            text = text.replace(&cause.to_string(), told);
        }
    }
    text
}

/// Messages for the usual system errors, each with a remedy. Other errors keep the system's text
/// and number, by which they can be looked up.
fn with_remedy(error: &io::Error) -> Option<&'static str> {
    // An error created by a library has its own text.
    error.raw_os_error()?;
    Some(match error.kind() {
        ErrorKind::NotFound => "no such file or folder; check the name",
        ErrorKind::PermissionDenied => "permission denied; check who owns it, and who may use it",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; choose another one",
        ErrorKind::StorageFull => "the disk is full; make room there, and try again",
        ErrorKind::QuotaExceeded => "the disk quota is used up; make room, and try again",
        ErrorKind::AddrInUse => "another program listens there; stop it, or choose another address",
        ErrorKind::AddrNotAvailable => "this machine does not have that address",
        ErrorKind::ConnectionRefused => {
            "connection refused; check the address, and whether the server runs"
        }
        _ if cfg!(unix) && error.raw_os_error() == Some(EMFILE) => {
            "too many open files; raise the limit (`ulimit -n`)"
        }
        _ => return None,
    })
}

/// The process has too many open files; the number is the same on every Unix.
const EMFILE: i32 = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_printed_once() {
        let error = anyhow::anyhow!("the page is damaged").context("x.db: the page is damaged");
        assert_eq!(in_one_line(&error), "x.db: the page is damaged");
        let error = anyhow::anyhow!("page 3").context("x.db");
        assert_eq!(in_one_line(&error), "x.db: page 3");
    }

    #[test]
    fn an_error_of_the_system_says_what_to_do() {
        let missing = std::fs::read("no/such/file").context("cannot read no/such/file");
        assert_eq!(
            in_one_line(&missing.unwrap_err()),
            "cannot read no/such/file: no such file or folder; check the name"
        );
        // An error whose text includes that of its cause.
        #[derive(Debug, thiserror::Error)]
        #[error("{name}: {source}; nothing was written")]
        struct Refused {
            name: &'static str,
            source: io::Error,
        }
        let source = io::Error::from_raw_os_error(EMFILE);
        let error = anyhow::Error::new(Refused {
            name: "x.db",
            source,
        });
        assert_eq!(
            in_one_line(&error),
            "x.db: too many open files; raise the limit (`ulimit -n`); nothing was written"
        );
        let unusual = anyhow::Error::new(io::Error::from_raw_os_error(5));
        assert!(in_one_line(&unusual).contains("(os error 5)"));
        let of_a_library = anyhow::Error::new(io::Error::new(ErrorKind::NotFound, "no entry"));
        assert_eq!(in_one_line(&of_a_library), "no entry");
    }
}
