//! An open file of the base VFS, as calls that take slices and return results.

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

/// The first bytes of shared memory, where the index of a log has its header.
///
/// Invariant: made of what the base VFS has mapped, dropped before it is unmapped.
#[derive(Clone, Copy)]
pub(crate) struct SharedHeader(*const [u8; HEADER_SIZE]);

// SAFETY: as for `BaseFile`.
unsafe impl Send for SharedHeader {}

impl SharedHeader {
    /// # Safety
    /// `region` must be the first region of shared memory, and stay mapped while the value is used.
    pub unsafe fn new(region: *const c_void) -> Self {
        SharedHeader(region.cast())
    }

    pub fn read(self) -> [u8; HEADER_SIZE] {
        // SAFETY: mapped by the invariant, and longer than this. Others may write there at any
        // time; what comes of that is looked at as bytes, of which any are valid.
        unsafe { self.0.read_volatile() }
    }
}

/// The size of SQLite's largest page.
const PIECE_SIZE: usize = 64 * 1024;

macro_rules! call {
    ($file:expr, $method:ident $(, $argument:expr)*) => {
        match $file.methods().$method {
            // SAFETY: the file is open by the invariant of `BaseFile`; the method is its own.
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

    /// The same, where a short read decides what is written or undone: it is one only where the
    /// file ends, and else an error.
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

    /// Reads more than SQLite itself asks for at once: its own VFSes take the size of its largest
    /// page and a little more, and some of them fail on larger ones.
    pub fn read_large(self, out: &mut [u8], offset: u64) -> Outcome {
        let pieces = (offset..)
            .step_by(PIECE_SIZE)
            .zip(out.chunks_mut(PIECE_SIZE));
        for (offset, piece) in pieces {
            self.read_to_end(piece, offset)?;
        }
        Ok(())
    }

    /// Writes more than SQLite itself does at once; see [`Self::read_large`].
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

    /// Sets how much of the file the base VFS may map; 0 forbids it.
    pub fn limit_map(self, mut bytes: i64) {
        // A base VFS that knows nothing of maps answers SQLITE_NOTFOUND and never maps.
        let _ = self.file_control(SQLITE_FCNTL_MMAP_SIZE, (&raw mut bytes).cast());
    }

    /// Lets `use_bytes` see a range of the base VFS's own memory map, or returns `None` when the
    /// range is not mapped.
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
        // SAFETY: as in `call!`; `pointer` is valid for the one write that fetch makes.
        let code = unsafe { fetch(self.0, offset as i64, size as c_int, &raw mut pointer) };
        if code != 0 || pointer.is_null() {
            return None;
        }
        // SAFETY: a successful fetch yields `size` readable bytes that stay until unfetch
        // (sqlite.org/c3ref/io_methods.html). Whoever honours SQLite's locks does not change them
        // meanwhile, but for a rotation, which seals pages anew under the eyes of readers. That,
        // and whoever honours no locks, can only make them fail to authenticate, as each byte is
        // read once or copied before use.
        let result = use_bytes(unsafe { std::slice::from_raw_parts(pointer.cast(), size) });
        // SAFETY: gives back exactly what fetch gave.
        let _ = unsafe { unfetch(self.0, offset as i64, pointer) };
        Some(result)
    }

    /// Drops the memory map; the next fetch maps the file as it then is.
    pub fn unmap(self) {
        if let Some(unfetch) = self.methods().unfetch {
            // SAFETY: a null pointer means the whole map; no fetch is outstanding, as
            // `with_mapped` is the only place that fetches.
            let _ = unsafe { unfetch(self.0, 0, std::ptr::null_mut()) };
        }
    }
}

/// Asks the processor to bring memory near: all of it at once, where reading would ask for one
/// piece after the other.
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
