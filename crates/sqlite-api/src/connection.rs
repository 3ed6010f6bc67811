//! An open database.

use std::cell::RefCell;
use std::ffi::{CString, c_int};
use std::ptr;
use std::time::Duration;

use libsqlite3_sys as codes;

use crate::error::Error;
use crate::handle::Handle;
use crate::library::Library;
use crate::script::Script;
use crate::statement::Statement;

/// An open database.
pub struct Connection {
    handle: Handle,
    /// The text of a statement while it is prepared.
    statement: RefCell<Script>,
}

impl Library {
    /// Opens a database file, or creates it. `uri` may be a URI with parameters.
    ///
    /// # Errors
    ///
    /// If SQLite refuses. A damaged or encrypted file is detected only when it is first read.
    pub fn open(&'static self, uri: &str) -> Result<Connection, Error> {
        let functions = self.functions();
        let uri = CString::new(uri).map_err(|_| Error::misuse("the path has a zero byte in it"))?;
        let flags = codes::SQLITE_OPEN_READWRITE
            | codes::SQLITE_OPEN_CREATE
            | codes::SQLITE_OPEN_URI
            | codes::SQLITE_OPEN_NOMUTEX;
        Ok(Connection {
            handle: Handle::open(functions, &uri, flags)?,
            statement: RefCell::default(),
        })
    }
}

impl Connection {
    /// Sets how long SQLite waits for a lock of another connection.
    ///
    /// # Errors
    ///
    /// If SQLite refuses.
    pub fn set_busy_timeout(&self, timeout: Duration) -> Result<(), Error> {
        let milliseconds = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
        self.handle.set_busy_timeout(milliseconds)
    }

    /// Prepares one statement; `None` if the text contains only comments.
    ///
    /// # Errors
    ///
    /// If it is not a statement, or more than one.
    pub fn prepare(&self, statement: &str) -> Result<Option<Statement<'_>>, Error> {
        let mut script = self.statement.borrow_mut();
        script.set(statement);
        let mut offset = 0;
        let prepared = self.prepare_next(&script, &mut offset)?;
        // A comment may follow, a statement may not.
        match self.prepare_next(&script, &mut offset)? {
            None => Ok(prepared),
            Some(_) => Err(Error::misuse("the text has more than one statement")),
        }
    }

    /// Prepares the next statement of a script at `offset`, and advances `offset` past it; `None`
    /// at the end of the script.
    ///
    /// # Errors
    ///
    /// If there is no valid statement.
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
                return Err(Error::misuse("the text has a zero byte in it"));
            }
        }
        Ok(None)
    }

    /// Prepares the first statement of a zero-terminated text, and returns its size.
    fn prepare_first(&self, text: &[u8]) -> Result<(Option<Statement<'_>>, usize), Error> {
        let (mut raw, mut tail) = (ptr::null_mut(), ptr::null());
        // SAFETY: the handle is open. The text ends in zero, so no length is passed. Both
        // out-pointers are valid.
        let code = unsafe {
            let text = text.as_ptr().cast();
            (self.handle.functions().prepare)(
                self.handle.raw(),
                text,
                -1,
                &raw mut raw,
                &raw mut tail,
            )
        };
        if code != codes::SQLITE_OK {
            return Err(self.handle.error());
        }
        // SAFETY: SQLite has just made the statement for this connection.
        let statement = unsafe { Statement::new(&self.handle, raw) };
        Ok((statement, tail.addr() - text.as_ptr().addr()))
    }

    /// Runs all statements of the text and discards their rows.
    ///
    /// # Errors
    ///
    /// The first failure; statements after it are not run.
    pub fn execute(&self, text: &str) -> Result<(), Error> {
        let script = Script::new(text.to_owned());
        let mut offset = 0;
        while let Some(mut statement) = self.prepare_next(&script, &mut offset)? {
            while statement.step()? {}
        }
        Ok(())
    }

    /// The first value of the first row, as text; `None` if there is no row or it is NULL.
    ///
    /// # Errors
    ///
    /// If the statement fails.
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

    /// The compile options that the library reports.
    ///
    /// # Errors
    ///
    /// If the library does not answer.
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

    /// Replaces SQLite's message, which may quote the statement, by a generic one: for statements
    /// that contain a secret.
    pub fn without_words(&self, error: &Error) -> Error {
        self.handle.functions().error_of(error.code)
    }

    /// Closes the database.
    ///
    /// # Errors
    ///
    /// If SQLite refuses, as it does while a statement exists.
    pub fn close(self) -> Result<(), Error> {
        self.handle.close()
    }
}
