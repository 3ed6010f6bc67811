//! The base VFS itself, for files that the shim creates beside a database.

use std::ffi::{CStr, c_int};

use crate::abi::{
    SQLITE_ACCESS_EXISTS, SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_OPEN_CREATE,
    SQLITE_OPEN_DELETEONCLOSE, SQLITE_OPEN_EXCLUSIVE, SQLITE_OPEN_READWRITE,
    SQLITE_OPEN_SUPER_JOURNAL, SQLITE_OPEN_TRANSIENT_DB, sqlite3_file, sqlite3_vfs,
};
use crate::base::BaseFile;
use crate::error::{Code, Outcome, outcome};

/// A registered VFS.
#[derive(Clone, Copy)]
pub(crate) struct BaseVfs(*mut sqlite3_vfs);

// SAFETY: a registered VFS is never moved, and SQLite itself calls it from any thread.
unsafe impl Send for BaseVfs {}

/// A file name in the form that a VFS expects: terminated, and followed by an empty list of URI
/// parameters, as SQLite's own names are (sqlite.org/c3ref/create_filename.html).
#[derive(Clone)]
pub(crate) struct SideName(Vec<u8>);

impl SideName {
    /// Takes a name without zero bytes.
    pub fn of(name: &[u8]) -> Self {
        SideName([name, &[0; 4]].concat())
    }

    /// The name of a file beside the database `name`: the same name with a suffix.
    pub fn beside(name: &CStr, suffix: &str) -> Self {
        SideName::of(&[name.to_bytes(), suffix.as_bytes()].concat())
    }
}

/// A file that the shim has opened itself; dropping it closes it.
pub(crate) struct SideFile {
    base: BaseFile,
    /// The file object that the base VFS fills, from `Box::into_raw`; `base` points into it.
    memory: *mut [u128],
    /// The base VFS keeps a pointer to the name until the file is closed
    /// (sqlite.org/c3ref/vfs.html, xOpen).
    _name: Option<SideName>,
}

// SAFETY: as a `BaseFile`; the memory belongs to this value alone.
unsafe impl Send for SideFile {}

impl SideFile {
    pub fn base(&self) -> BaseFile {
        self.base
    }
}

impl Drop for SideFile {
    fn drop(&mut self) {
        // Errors are ignored: everything that matters was synced, or will be written again.
        let _ = self.base.close();
        // SAFETY: the file is closed, and nothing else points into its memory.
        drop(unsafe { Box::from_raw(self.memory) });
    }
}

impl BaseVfs {
    /// # Safety
    /// `vfs` must be registered with SQLite, for good.
    pub unsafe fn new(vfs: *mut sqlite3_vfs) -> Self {
        BaseVfs(vfs)
    }

    fn methods(&self) -> &'static sqlite3_vfs {
        // SAFETY: by the contract of `new`.
        unsafe { &*self.0 }
    }

    /// Whether the file exists.
    pub fn exists(self, name: &SideName) -> Outcome<bool> {
        let Some(access) = self.methods().access else {
            return Err(Code(SQLITE_IOERR));
        };
        let mut found: c_int = 0;
        // SAFETY: the name is terminated, and `found` is a valid out-pointer.
        outcome(unsafe {
            access(
                self.0,
                name.0.as_ptr().cast(),
                SQLITE_ACCESS_EXISTS,
                &raw mut found,
            )
        })?;
        Ok(found != 0)
    }

    /// Opens a file that holds no plaintext. It is opened as a super-journal: no VFS expects a file
    /// of that kind to belong to an open database, and the folder of a new one is synced with it.
    pub fn open(self, name: &SideName, create: bool) -> Outcome<SideFile> {
        let flags = SQLITE_OPEN_READWRITE
            | SQLITE_OPEN_SUPER_JOURNAL
            | if create { SQLITE_OPEN_CREATE } else { 0 };
        self.open_as(Some(name.clone()), flags)
    }

    fn open_as(self, name: Option<SideName>, flags: c_int) -> Outcome<SideFile> {
        let Some(open) = self.methods().open else {
            return Err(Code(SQLITE_CANTOPEN));
        };
        let size = usize::try_from(self.methods().file_size).unwrap_or(0);
        let memory = vec![0_u128; size.div_ceil(size_of::<u128>()).max(1)];
        let memory = Box::into_raw(memory.into_boxed_slice());
        let file: *mut sqlite3_file = memory.cast();
        let name_pointer = name
            .as_ref()
            .map_or(std::ptr::null(), |name| name.0.as_ptr());
        // SAFETY: the memory is as large as the VFS asks for and sufficiently aligned. It is
        // zeroed, so the methods are null until the VFS sets them. The name is null, or terminated
        // and kept with the file.
        let result = outcome(unsafe {
            open(
                self.0,
                name_pointer.cast(),
                file,
                flags,
                std::ptr::null_mut(),
            )
        });
        // SAFETY: as above: null, or set by the VFS.
        if unsafe { (*file).methods.is_null() } {
            // SAFETY: nothing was opened, so nothing points into the memory.
            drop(unsafe { Box::from_raw(memory) });
            return Err(result.err().unwrap_or(Code(SQLITE_CANTOPEN)));
        }
        // SAFETY: the methods are set, and the file stays open until `SideFile` is dropped.
        let base = unsafe { BaseFile::new(file) };
        let opened = SideFile {
            base,
            memory,
            _name: name,
        };
        // Some VFSes want a close even after a failed open; dropping `opened` does that.
        result.map(|()| opened)
    }

    /// Opens an unnamed file that is deleted when it is closed.
    pub fn open_temporary(self) -> Outcome<SideFile> {
        let flags = SQLITE_OPEN_READWRITE
            | SQLITE_OPEN_CREATE
            | SQLITE_OPEN_EXCLUSIVE
            | SQLITE_OPEN_DELETEONCLOSE
            | SQLITE_OPEN_TRANSIENT_DB;
        self.open_as(None, flags)
    }

    /// Deletes a file, and syncs its folder if `sync` is set.
    pub fn delete(self, name: &SideName, sync: bool) -> Outcome {
        match self.methods().delete {
            Some(delete) => {
                // SAFETY: the name is terminated.
                outcome(unsafe { delete(self.0, name.0.as_ptr().cast(), c_int::from(sync)) })
            }
            None => Err(Code(SQLITE_IOERR)),
        }
    }
}
