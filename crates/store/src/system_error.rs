//! Errors of the operating system in words, with a remedy.

use std::io::{self, ErrorKind};

/// A usual error of the system: what is wrong, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// What is wrong.
    pub what: &'static str,
    /// What to do, if that is not obvious.
    pub remedy: Option<&'static str>,
}

/// Words for the usual errors. Others keep the system's text and number, by which they can be
/// looked up; so do errors that a library created, which have a text of their own.
pub fn told(error: &io::Error) -> Option<Told> {
    error.raw_os_error()?;
    let (what, remedy) = match error.kind() {
        ErrorKind::NotFound => ("no such file or folder", "check the name"),
        ErrorKind::PermissionDenied => {
            ("permission denied", "check who owns it, and who may use it")
        }
        ErrorKind::ReadOnlyFilesystem => ("the file system is read-only", "choose another one"),
        ErrorKind::StorageFull => ("the disk is full", "make room there, and try again"),
        ErrorKind::QuotaExceeded => ("the disk quota is used up", "make room, and try again"),
        ErrorKind::AddrInUse => (
            "another program listens there",
            "stop it, or choose another address",
        ),
        ErrorKind::AddrNotAvailable => {
            return Some(Told {
                what: "this machine does not have that address",
                remedy: None,
            });
        }
        ErrorKind::ConnectionRefused => (
            "connection refused",
            "check the address, and whether the server runs",
        ),
        _ if cfg!(unix) && error.raw_os_error() == Some(EMFILE) => {
            ("too many open files", "raise the limit (`ulimit -n`)")
        }
        _ => return None,
    };
    Some(Told {
        what,
        remedy: Some(remedy),
    })
}

/// The process has too many open files; the number is the same on every Unix.
const EMFILE: i32 = 24;

/// The error in one sentence, for a message that ends with it.
pub fn sentence(error: &io::Error) -> String {
    match told(error) {
        Some(Told {
            what,
            remedy: Some(remedy),
        }) => format!("{what}; {remedy}"),
        Some(Told { what, remedy: None }) => what.to_owned(),
        None => error.to_string(),
    }
}
