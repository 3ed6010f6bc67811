//! The base VFS itself: files of our own beside a database.

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

// SAFETY: a registered VFS stays where it is, and SQLite calls it from any thread.
unsafe impl Send for BaseVfs {}

/// The name of a file as a VFS wants it: terminated, with the empty list of URI parameters that
/// SQLite's own names carry behind it (sqlite.org/c3ref/create_filename.html).
#[derive(Clone)]
pub(crate) struct SideName(Vec<u8>);

impl SideName {
    /// The name of a file beside the database `name`.
    pub fn beside(name: &CStr, suffix: &str) -> Self {
        let mut bytes = name.to_bytes().to_vec();
        bytes.extend_from_slice(suffix.as_bytes());
        bytes.extend_from_slice(&[0; 4]);
        SideName(bytes)
    }
}

/// A file of our own, closed when dropped.
pub(crate) struct SideFile {
    base: BaseFile,
    /// What the base VFS keeps of the file, from `Box::into_raw`; `base` points into it.
    memory: *mut [u128],
    /// The base VFS keeps the pointer to it until the file is closed
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
        // Everything that matters was synced, or is written again.
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
        // SAFETY: the name is terminated, and `found` is a place for the answer.
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

    /// Opens a file that holds no content in clear. Opened as a super-journal: the one kind of
    /// which no VFS expects that it belongs to an open database, and whose folder is synced with
    /// it when it is new.
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
        // SAFETY: the memory is as large as the VFS asks for, aligned beyond its need, and zero,
        // so that the methods are null until it sets them; the name is null, or terminated and
        // kept with the file.
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
            // SAFETY: nothing was opened that would point into the memory.
            drop(unsafe { Box::from_raw(memory) });
            return Err(result.err().unwrap_or(Code(SQLITE_CANTOPEN)));
        }
        // SAFETY: the methods are set, and the file stays open until it is dropped.
        let base = unsafe { BaseFile::new(file) };
        let opened = SideFile {
            base,
            memory,
            _name: name,
        };
        // Some VFSes want a close even after a failed open: dropping does it.
        result.map(|()| opened)
    }

    /// Opens a file without a name, which is gone when it is closed.
    pub fn open_temporary(self) -> Outcome<SideFile> {
        let flags = SQLITE_OPEN_READWRITE
            | SQLITE_OPEN_CREATE
            | SQLITE_OPEN_EXCLUSIVE
            | SQLITE_OPEN_DELETEONCLOSE
            | SQLITE_OPEN_TRANSIENT_DB;
        self.open_as(None, flags)
    }

    /// Deletes a file and, if asked, syncs its folder.
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
