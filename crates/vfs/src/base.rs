//! An open file of the base VFS: its C methods as calls that take slices and return results.

use std::ffi::{c_int, c_void};

use crate::abi::{
    SQLITE_FCNTL_MMAP_SIZE, SQLITE_IOERR, SQLITE_IOERR_READ, SQLITE_NOTFOUND, sqlite3_file,
    sqlite3_io_methods,
};
use crate::error::{Code, Outcome, outcome};
use crate::log_index::HEADER_SIZE;

/// A pointer to a file that the base VFS has opened and not yet closed.
///
/// Invariant: made by `shim` after a successful open, dropped before `close`. SQLite calls the
/// methods of one file, and of a database and its journals, from one thread at a time.
#[derive(Clone, Copy)]
pub(crate) struct BaseFile(*mut sqlite3_file);

// SAFETY: SQLite lets a connection move between threads and serialises the calls itself.
unsafe impl Send for BaseFile {}

/// The first bytes of shared memory, which hold the header of the WAL index.
///
/// Invariant: made from a region that the base VFS has mapped, dropped before it is unmapped.
#[derive(Clone, Copy)]
pub(crate) struct SharedHeader(*const [u8; HEADER_SIZE]);

// SAFETY: as for `BaseFile`.
unsafe impl Send for SharedHeader {}

impl SharedHeader {
    /// # Safety
    ///
    /// `region` must be the first region of shared memory and must stay mapped while the value is
    /// used.
    pub unsafe fn new(region: *const c_void) -> Self {
        SharedHeader(region.cast())
    }

    pub fn read(self) -> [u8; HEADER_SIZE] {
        // SAFETY: mapped by the invariant, and the region is longer than this. Other processes may
        // write to it at any time; the result is only used as bytes, for which every value is
        // valid.
        unsafe { self.0.read_volatile() }
    }
}

/// The size of SQLite's largest page.
const PIECE_SIZE: usize = 64 * 1024;

macro_rules! call {
    ($file:expr, $method:ident $(, $argument:expr)*) => {
        match $file.methods().$method {
            // SAFETY: the file is open by the invariant of `BaseFile`, and the method is one of its
            // own.
            Some(method) => outcome(unsafe { method($file.0 $(, $argument)*) }),
            None => Err(Code(SQLITE_IOERR)),
        }
    };
}

impl BaseFile {
    /// # Safety
    /// `file` must be open and stay so while the value is used.
    pub unsafe fn new(file: *mut sqlite3_file) -> Self {
        BaseFile(file)
    }

    fn methods(&self) -> &'static sqlite3_io_methods {
        // SAFETY: an open file's methods are set and, by SQLite's contract, static.
        unsafe { &*(*self.0).methods }
    }

    pub fn close(self) -> Outcome {
        call!(self, close)
    }

    pub fn read(self, out: &mut [u8], offset: u64) -> Outcome {
        call!(
            self,
            read,
            out.as_mut_ptr().cast(),
            out.len() as c_int,
            offset as i64
        )
    }

    /// Like `read`, for callers that decide by a short read what to write or undo: returns a short
    /// read only if the file really ends there, and any other one as an error.
    pub fn read_to_end(self, out: &mut [u8], offset: u64) -> Outcome {
        match self.read(out, offset) {
            Err(code) if code.is_short_read() && self.size()? >= offset + out.len() as u64 => {
                Err(Code(SQLITE_IOERR_READ))
            }
            outcome => outcome,
        }
    }

    pub fn write(self, data: &[u8], offset: u64) -> Outcome {
        call!(
            self,
            write,
            data.as_ptr().cast(),
            data.len() as c_int,
            offset as i64
        )
    }

    /// Reads more than SQLite itself requests in one call. SQLite's own VFSes support its largest
    /// page and a little more, and some of them fail on larger reads.
    pub fn read_large(self, out: &mut [u8], offset: u64) -> Outcome {
        let pieces = (offset..)
            .step_by(PIECE_SIZE)
            .zip(out.chunks_mut(PIECE_SIZE));
        for (offset, piece) in pieces {
            self.read_to_end(piece, offset)?;
        }
        Ok(())
    }

    /// Writes more than SQLite itself does in one call; see [`Self::read_large`].
    pub fn write_large(self, data: &[u8], offset: u64) -> Outcome {
        let pieces = (offset..).step_by(PIECE_SIZE).zip(data.chunks(PIECE_SIZE));
        for (offset, piece) in pieces {
            self.write(piece, offset)?;
        }
        Ok(())
    }

    pub fn truncate(self, size: u64) -> Outcome {
        call!(self, truncate, size as i64)
    }

    pub fn sync(self, flags: c_int) -> Outcome {
        call!(self, sync, flags)
    }

    pub fn size(self) -> Outcome<u64> {
        let mut size = 0;
        call!(self, file_size, &raw mut size)?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    pub fn lock(self, level: c_int) -> Outcome {
        call!(self, lock, level)
    }

    pub fn unlock(self, level: c_int) -> Outcome {
        call!(self, unlock, level)
    }

    pub fn check_reserved_lock(self, out: *mut c_int) -> Outcome {
        call!(self, check_reserved_lock, out)
    }

    pub fn file_control(self, operation: c_int, argument: *mut c_void) -> Outcome {
        match self.methods().file_control {
            // SAFETY: as in `call!`; operation and argument are passed on as SQLite gave them.
            Some(method) => outcome(unsafe { method(self.0, operation, argument) }),
            None => Err(Code(SQLITE_NOTFOUND)),
        }
    }

    pub fn sector_size(self) -> c_int {
        // SAFETY: as in `call!`.
        self.methods()
            .sector_size
            .map_or(0, |method| unsafe { method(self.0) })
    }

    pub fn device_characteristics(self) -> c_int {
        // SAFETY: as in `call!`.
        self.methods()
            .device_characteristics
            .map_or(0, |method| unsafe { method(self.0) })
    }

    pub fn shm_map(
        self,
        region: c_int,
        size: c_int,
        extend: c_int,
        out: *mut *mut c_void,
    ) -> Outcome {
        call!(self, shm_map, region, size, extend, out)
    }

    pub fn shm_lock(self, offset: c_int, count: c_int, flags: c_int) -> Outcome {
        call!(self, shm_lock, offset, count, flags)
    }

    pub fn shm_barrier(self) {
        if let Some(method) = self.methods().shm_barrier {
            // SAFETY: as in `call!`.
            unsafe { method(self.0) }
        }
    }

    pub fn shm_unmap(self, delete: c_int) -> Outcome {
        call!(self, shm_unmap, delete)
    }

    pub fn has_shared_memory(self) -> bool {
        self.methods().version >= 2 && self.methods().shm_map.is_some()
    }

    pub fn can_map(self) -> bool {
        self.methods().version >= 3
            && self.methods().fetch.is_some()
            && self.methods().unfetch.is_some()
    }

    /// Limits how much of the file the base VFS may map; 0 forbids mapping.
    pub fn limit_map(self, mut bytes: i64) {
        // A base VFS without memory maps returns SQLITE_NOTFOUND.
        let _ = self.file_control(SQLITE_FCNTL_MMAP_SIZE, (&raw mut bytes).cast());
    }

    /// Passes a range of the base VFS's memory map to `use_bytes`. Returns `None` if the range is
    /// not mapped.
    #[inline]
    pub fn with_mapped<T>(
        self,
        offset: u64,
        size: usize,
        use_bytes: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        let methods = self.methods();
        let (fetch, unfetch) = (methods.fetch?, methods.unfetch?);
        let mut pointer: *mut c_void = std::ptr::null_mut();
        // SAFETY: as in `call!`; `pointer` is valid for the single write that fetch makes.
        let code = unsafe { fetch(self.0, offset as i64, size as c_int, &raw mut pointer) };
        if code != 0 || pointer.is_null() {
            return None;
        }
        // SAFETY: a successful fetch yields `size` readable bytes that stay valid until unfetch
        // (sqlite.org/c3ref/io_methods.html). No process that honours SQLite's locks changes them
        // meanwhile, except a rotation, which reseals pages while others read them. A rotation, or
        // a process that ignores the locks, can only make the bytes fail to authenticate, since
        // each byte is read once or copied before use.
        let result = use_bytes(unsafe { std::slice::from_raw_parts(pointer.cast(), size) });
        // SAFETY: gives back exactly what fetch gave.
        let _ = unsafe { unfetch(self.0, offset as i64, pointer) };
        Some(result)
    }

    /// Drops the memory map. The next fetch maps the file at its size by then.
    pub fn unmap(self) {
        if let Some(unfetch) = self.methods().unfetch {
            // SAFETY: a null pointer means the whole map. No fetch is outstanding: only
            // `with_mapped` fetches, and it releases before it returns.
            let _ = unsafe { unfetch(self.0, 0, std::ptr::null_mut()) };
        }
    }
}

/// Prefetches memory into the cache, all lines at once instead of one after the other during the
/// read.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const CACHE_LINE_SIZE: usize = 64;
        for line in bytes.chunks(CACHE_LINE_SIZE) {
            // SAFETY: a hint; the instruction reads nothing and faults on nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
