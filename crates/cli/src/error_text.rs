//! What a person is told of an error: every cause once, those of the system with what to do.

use std::io::{self, ErrorKind};

/// Whoever reads the output has had enough: nobody is left to be told.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// The error with those causes that it does not already tell itself.
pub fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    // The number of SQLite's code says nothing that its message does not.
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

/// The usual errors of the system in words of their own, each with what to do. Others keep the
/// system's words and number, by which they can be looked up.
fn with_remedy(error: &io::Error) -> Option<&'static str> {
    // An error that a library made has a text of its own.
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

/// A process may open no more files: the same number on every Unix.
const EMFILE: i32 = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_told_once() {
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
        // Where the text of an error has that of its cause within.
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
