//! An open database.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int};
use std::ptr;
use std::time::Duration;

use libsqlite3_sys as codes;

use crate::functions::Functions;
use crate::library::Library;
use crate::script::Script;
use crate::statement::Statement;

/// What SQLite says of a failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct Error {
    /// SQLite's extended result code; its low eight bits are the primary one.
    pub code: c_int,
    /// SQLite's message. It may quote the statement.
    pub message: String,
}

/// An open database.
pub struct Connection {
    functions: &'static Functions,
    raw: *mut codes::sqlite3,
    /// Holds each statement while it is prepared.
    statement: RefCell<Script>,
}

// SAFETY: invariant 2: SQLite was built with mutexes, and `Connection` is not `Sync`.
unsafe impl Send for Connection {}

impl Library {
    /// Opens a database file, or makes it. `uri` may be a URI with parameters.
    ///
    /// # Errors
    /// When SQLite refuses. That a file is damaged or sealed shows when it is first read.
    pub fn open(&'static self, uri: &str) -> Result<Connection, Error> {
        let functions = self.functions();
        let uri = CString::new(uri).map_err(|_| misuse("the path has a zero byte in it"))?;
        let flags = codes::SQLITE_OPEN_READWRITE
            | codes::SQLITE_OPEN_CREATE
            | codes::SQLITE_OPEN_URI
            | codes::SQLITE_OPEN_NOMUTEX;
        let mut raw = ptr::null_mut();
        // SAFETY: a text that ends in zero, a place for the handle, no name of a VFS.
        let code = unsafe { (functions.open)(uri.as_ptr(), &raw mut raw, flags, ptr::null()) };
        if raw.is_null() {
            return Err(functions.error_of(code));
        }
        // From here on the handle is closed when this is dropped, as it must be even on failure.
        let connection = Connection {
            functions,
            raw,
            statement: RefCell::default(),
        };
        if code == codes::SQLITE_OK {
            Ok(connection)
        } else {
            Err(connection.error())
        }
    }
}

impl Functions {
    /// SQLite's general words for a code.
    pub(crate) fn error_of(&self, code: c_int) -> Error {
        // SAFETY: SQLite returns a text that it never frees, for any number.
        let message = unsafe { CStr::from_ptr((self.errstr)(code)) };
        Error {
            code,
            message: message.to_string_lossy().into_owned(),
        }
    }
}

fn misuse(message: &str) -> Error {
    Error {
        code: codes::SQLITE_MISUSE,
        message: message.to_owned(),
    }
}

impl Connection {
    pub(crate) fn functions(&self) -> &'static Functions {
        self.functions
    }

    /// How long SQLite waits for another connection that holds a lock.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn set_busy_timeout(&self, timeout: Duration) -> Result<(), Error> {
        let milliseconds = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open.
        match unsafe { (self.functions.busy_timeout)(self.raw, milliseconds) } {
            codes::SQLITE_OK => Ok(()),
            _ => Err(self.error()),
        }
    }

    /// Prepares one statement; none where the text holds only comments.
    ///
    /// # Errors
    /// When it is no statement, or more than one.
    pub fn prepare(&self, statement: &str) -> Result<Option<Statement<'_>>, Error> {
        let mut script = self.statement.borrow_mut();
        script.set(statement);
        let mut offset = 0;
        let prepared = self.prepare_next(&script, &mut offset)?;
        // A comment may follow, a statement may not.
        match self.prepare_next(&script, &mut offset)? {
            None => Ok(prepared),
            Some(_) => Err(misuse("the text has more than one statement")),
        }
    }

    /// Prepares the next statement of a script from `offset` on, and moves `offset` behind it; none
    /// at the end of the script.
    ///
    /// # Errors
    /// When what stands there is no statement.
    pub fn prepare_next(
        &self,
        script: &Script,
        offset: &mut usize,
    ) -> Result<Option<Statement<'_>>, Error> {
        while !script.is_blank_from(*offset) {
            let (statement, size) = self.prepare_first(script.from(*offset))?;
            *offset += size;
            if statement.is_some() {
                return Ok(statement);
            }
            if size == 0 {
                return Err(misuse("the text has a zero byte in it"));
            }
        }
        Ok(None)
    }

    /// Prepares the first statement of a text that ends in zero, and tells its size.
    fn prepare_first(&self, text: &[u8]) -> Result<(Option<Statement<'_>>, usize), Error> {
        let (mut raw, mut tail) = (ptr::null_mut(), ptr::null());
        // SAFETY: the handle is open; the text ends in zero, so its length need not be told; both
        // places take what SQLite returns.
        let code = unsafe {
            let text = text.as_ptr().cast();
            (self.functions.prepare)(self.raw, text, -1, &raw mut raw, &raw mut tail)
        };
        if code != codes::SQLITE_OK {
            return Err(self.error());
        }
        // SAFETY: SQLite made the statement for this connection just now.
        let statement = unsafe { Statement::new(self, raw) };
        Ok((statement, tail.addr() - text.as_ptr().addr()))
    }

    /// Runs all statements of the text and throws their rows away.
    ///
    /// # Errors
    /// The first failure; statements after it are not run.
    pub fn execute(&self, text: &str) -> Result<(), Error> {
        let script = Script::new(text.to_owned());
        let mut offset = 0;
        while let Some(mut statement) = self.prepare_next(&script, &mut offset)? {
            while statement.step()? {}
        }
        Ok(())
    }

    /// The first value of the first row, as text; none where there is no row or it is NULL.
    ///
    /// # Errors
    /// When the statement fails.
    pub fn first_text(&self, statement: &str) -> Result<Option<String>, Error> {
        let Some(mut statement) = self.prepare(statement)? else {
            return Ok(None);
        };
        if !statement.step()? {
            return Ok(None);
        }
        let text = statement.text(0);
        Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
    }

    /// The options that the library was compiled with, as it tells them.
    ///
    /// # Errors
    /// When the library does not answer.
    pub fn compile_options(&self) -> Result<Vec<String>, Error> {
        let mut options = Vec::new();
        if let Some(mut statement) = self.prepare("PRAGMA compile_options")? {
            while statement.step()? {
                let option = statement.text(0).unwrap_or_default();
                options.push(String::from_utf8_lossy(option).into_owned());
            }
        }
        Ok(options)
    }

    /// An error without SQLite's own message, which may quote the statement: for statements that
    /// hold a secret.
    pub fn without_words(&self, error: &Error) -> Error {
        self.functions.error_of(error.code)
    }

    /// Closes the database.
    ///
    /// # Errors
    /// When SQLite refuses, as it does while a statement lives.
    pub fn close(mut self) -> Result<(), Error> {
        // SAFETY: the handle is open.
        let code = unsafe { (self.functions.close)(self.raw) };
        if code != codes::SQLITE_OK {
            return Err(self.error());
        }
        // It is gone: nothing is left to drop.
        self.raw = ptr::null_mut();
        Ok(())
    }

    /// What SQLite says of its last failure.
    pub(crate) fn error(&self) -> Error {
        // SAFETY: the handle is open; the text is copied before another call could replace it.
        unsafe {
            let message = CStr::from_ptr((self.functions.errmsg)(self.raw));
            Error {
                code: (self.functions.extended_errcode)(self.raw),
                message: message.to_string_lossy().into_owned(),
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the handle is open, or null after `close`, which SQLite ignores.
        unsafe { (self.functions.close)(self.raw) };
    }
}
