//! A prepared statement, and the values of its current row.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use libsqlite3_sys as codes;

use crate::error::Error;
use crate::handle::Handle;

/// A prepared statement, which is finalised when dropped.
pub struct Statement<'c> {
    handle: &'c Handle,
    raw: NonNull<codes::sqlite3_stmt>,
    columns: c_int,
    /// Not `Send`: it must stay on the thread of its connection.
    thread: PhantomData<*const ()>,
}

/// A value of a row, as SQLite stores it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'r> {
    /// SQL NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text, in UTF-8 unless the database contains invalid text.
    Text(&'r [u8]),
    /// Bytes.
    Blob(&'r [u8]),
}

impl<'c> Statement<'c> {
    /// # Safety
    ///
    /// `raw` must be null, or a statement of this connection that nobody else finalises.
    pub(crate) unsafe fn new(handle: &'c Handle, raw: *mut codes::sqlite3_stmt) -> Option<Self> {
        let raw = NonNull::new(raw)?;
        // SAFETY: the statement lives.
        let columns = unsafe { (handle.functions().column_count)(raw.as_ptr()) };
        Some(Self {
            handle,
            raw,
            columns,
            thread: PhantomData,
        })
    }

    /// The number of columns; zero if it returns no rows.
    pub fn column_count(&self) -> usize {
        usize::try_from(self.columns).unwrap_or(0)
    }

    /// Advances to the next row; returns false at the end.
    ///
    /// # Errors
    ///
    /// If the statement fails.
    pub fn step(&mut self) -> Result<bool, Error> {
        // SAFETY: the statement is alive, and values of the previous row borrowed it, so they are
        // gone.
        match unsafe { (self.handle.functions().step)(self.raw.as_ptr()) } {
            codes::SQLITE_ROW => Ok(true),
            codes::SQLITE_DONE => Ok(false),
            _ => Err(self.handle.error()),
        }
    }

    /// The value of a column (from 0) of the row; NULL if there is no such column.
    pub fn value(&self, column: usize) -> Value<'_> {
        let functions = self.handle.functions();
        let raw = self.raw.as_ptr();
        let Some(column) = self.column(column) else {
            return Value::Null;
        };
        // SAFETY: the statement lives, and SQLite has this column.
        unsafe {
            match (functions.column_type)(raw, column) {
                codes::SQLITE_INTEGER => Value::Integer((functions.column_int64)(raw, column)),
                codes::SQLITE_FLOAT => Value::Real((functions.column_double)(raw, column)),
                codes::SQLITE_TEXT => {
                    let text = (functions.column_text)(raw, column);
                    Value::Text(self.bytes(text, column))
                }
                codes::SQLITE_BLOB => {
                    let blob = (functions.column_blob)(raw, column);
                    Value::Blob(self.bytes(blob.cast(), column))
                }
                _ => Value::Null,
            }
        }
    }

    /// The value of a column converted to text; `None` if it is NULL.
    pub fn text(&self, column: usize) -> Option<&[u8]> {
        let functions = self.handle.functions();
        let raw = self.raw.as_ptr();
        let column = self.column(column)?;
        // SAFETY: the statement lives, and SQLite has this column.
        unsafe {
            if (functions.column_type)(raw, column) == codes::SQLITE_NULL {
                return None;
            }
            let text = (functions.column_text)(raw, column);
            Some(self.bytes(text, column))
        }
    }

    /// Finalises the statement.
    ///
    /// # Errors
    ///
    /// The error of its last step again.
    pub fn finalize(self) -> Result<(), Error> {
        let (handle, raw) = (self.handle, self.raw.as_ptr());
        std::mem::forget(self);
        // SAFETY: the statement lives, and `self`, which would do it again, is forgotten.
        match unsafe { (handle.functions().finalize)(raw) } {
            codes::SQLITE_OK => Ok(()),
            _ => Err(handle.error()),
        }
    }

    fn column(&self, column: usize) -> Option<c_int> {
        let column = c_int::try_from(column).ok()?;
        (column < self.columns).then_some(column)
    }

    /// # Safety
    ///
    /// `start` must just have been returned for that column of the row.
    unsafe fn bytes(&self, start: *const u8, column: c_int) -> &[u8] {
        let functions = self.handle.functions();
        // SAFETY: the statement lives.
        let size = unsafe { (functions.column_bytes)(self.raw.as_ptr(), column) };
        // An empty value has no address; nor has a text for which memory is exhausted.
        match usize::try_from(size) {
            // SAFETY: SQLite keeps that many bytes there until the next step, which needs `&mut`.
            Ok(size) if !start.is_null() => unsafe { slice::from_raw_parts(start, size) },
            _ => &[],
        }
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        // SAFETY: the statement is alive, and cannot be used after this.
        unsafe { (self.handle.functions().finalize)(self.raw.as_ptr()) };
    }
}
