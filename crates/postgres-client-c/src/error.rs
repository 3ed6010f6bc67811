//! What goes wrong, and the code for it.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use strongroom_postgres::{OptionsError, ServerError, tokio_postgres};

/// The codes of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    Ok = 0,
    Argument = 1,
    Unknown = 2,
    Forked = 3,
    Configuration = 4,
    TooMany = 5,
    System = 6,
    Defect = 7,
}

/// Why a call did not do what it is for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} is null")]
    Null(&'static str),
    #[error("{0} is no UTF-8")]
    Text(&'static str),
    #[error("the path of the folder needs {0} bytes of room")]
    Room(usize),
    #[error("there is no such client, or it is closed")]
    Unknown,
    #[error("the client was opened before this process was forked: open one here")]
    Forked,
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error("the server cannot be read: {}", with_source(.0))]
    ServerText(tokio_postgres::Error),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(
        "there is no server: name one, or write [proxy] with its `upstream` into the configuration"
    )]
    NoServer,
    #[error("there are {0} connections, as many as max_connections of [proxy] allows")]
    TooMany(usize),
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    #[error("a defect of the library; please report it")]
    Defect,
}

impl Error {
    /// The code that a caller gets.
    pub fn code(&self) -> Code {
        match self {
            Self::Null(_) | Self::Text(_) | Self::Room(_) => Code::Argument,
            Self::Unknown => Code::Unknown,
            Self::Forked => Code::Forked,
            Self::Options(_) | Self::ServerText(_) | Self::Server(_) | Self::NoServer => {
                Code::Configuration
            }
            Self::TooMany(_) => Code::TooMany,
            Self::System(..) => Code::System,
            Self::Defect => Code::Defect,
        }
    }
}

fn with_source(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// A lock, also after a panic: what each guards is changed in one step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
