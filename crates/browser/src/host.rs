//! Functions imported from JavaScript (`packages/sqlite/src/engine.ts`); every call is synchronous.
//!
//! Memory is passed by address and size. File offsets and sizes are doubles, which represent them
//! exactly up to 2^53.

use std::ffi::c_int;

/// A file that the worker has opened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostFile(c_int);

/// Why a call of the host failed; its log has the details.
pub enum HostError {
    /// The origin has no room left.
    Full,
    /// Anything else.
    Failed,
}

mod imports {
    use std::ffi::c_int;

    /// Returned by `file_*` on failure.
    pub const FAILED: c_int = -1;
    /// Returned by `file_*` if the origin's quota is used up.
    pub const FULL: c_int = -2;

    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        pub fn random(bytes: *mut u8, size: usize);
        pub fn now() -> f64;
        pub fn local_time(seconds: f64, fields: *mut i32);
        pub fn log(code: c_int, text: *const u8, size: usize);
        pub fn file_find(name: *const u8, size: usize) -> c_int;
        pub fn file_read(file: c_int, to: *mut u8, size: usize, offset: f64) -> c_int;
        pub fn file_write(file: c_int, from: *const u8, size: usize, offset: f64) -> c_int;
        pub fn file_truncate(file: c_int, size: f64) -> c_int;
        pub fn file_flush(file: c_int) -> c_int;
        pub fn file_size(file: c_int) -> f64;
    }
}

fn outcome(result: c_int) -> Result<usize, HostError> {
    match result {
        imports::FULL => Err(HostError::Full),
        // The host returns no other negative number; if it did, it would not be a size.
        ..=imports::FAILED => Err(HostError::Failed),
        size => Ok(size as usize),
    }
}

impl HostFile {
    /// The file with this name, if the worker has opened it.
    pub fn find(name: &[u8]) -> Option<Self> {
        // SAFETY: the host reads the name during the call.
        let number = unsafe { imports::file_find(name.as_ptr(), name.len()) };
        (number >= 0).then_some(Self(number))
    }

    /// Returns the number of bytes read; less than requested only at the end of the file.
    pub fn read(self, to: &mut [u8], offset: i64) -> Result<usize, HostError> {
        // SAFETY: the host writes only to `to`, and only during the call.
        let read = unsafe { imports::file_read(self.0, to.as_mut_ptr(), to.len(), offset as f64) };
        outcome(read).map(|read| read.min(to.len()))
    }

    /// Writes all bytes or fails.
    pub fn write(self, from: &[u8], offset: i64) -> Result<(), HostError> {
        // SAFETY: the host reads `from` during the call.
        let result =
            unsafe { imports::file_write(self.0, from.as_ptr(), from.len(), offset as f64) };
        outcome(result).map(drop)
    }

    pub fn truncate(self, size: i64) -> Result<(), HostError> {
        // SAFETY: numbers only.
        outcome(unsafe { imports::file_truncate(self.0, size as f64) }).map(drop)
    }

    pub fn flush(self) -> Result<(), HostError> {
        // SAFETY: numbers only.
        outcome(unsafe { imports::file_flush(self.0) }).map(drop)
    }

    pub fn size(self) -> Result<i64, HostError> {
        // SAFETY: numbers only.
        let size = unsafe { imports::file_size(self.0) };
        if size >= 0.0 {
            Ok(size as i64)
        } else {
            Err(HostError::Failed)
        }
    }
}

/// Passes log messages of SQLite and Strongroom to JavaScript.
pub fn log(code: c_int, text: &[u8]) {
    // SAFETY: the host reads the text during the call.
    unsafe { imports::log(code, text.as_ptr(), text.len()) }
}

/// Entropy for the crate `getrandom`, whose backend is selected in `.cargo/config.toml`.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    bytes: *mut u8,
    size: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller's memory, of that size.
    unsafe { imports::random(bytes, size) };
    Ok(())
}

// Host functions that sqlite-wasm-rs requires; the types are those of its module `host`.

#[unsafe(no_mangle)]
extern "C" fn rust_sqlite_wasm_host_sleep(_seconds: u64, _nanoseconds: u32) {
    // Sleeping would be pointless: a worker has one thread.
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rust_sqlite_wasm_host_random(bytes: *mut u8, size: usize) -> usize {
    // SAFETY: the caller's memory, of that size.
    unsafe { imports::random(bytes, size) };
    size
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rust_sqlite_wasm_host_fill_entropy(bytes: *mut u8, size: usize) -> c_int {
    // SAFETY: the caller's memory, of that size.
    unsafe { imports::random(bytes, size) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rust_sqlite_wasm_host_epoch_timestamp_in_ms(out: *mut i64) -> c_int {
    // SAFETY: a valid out-pointer for one number.
    unsafe { *out = imports::now() as i64 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rust_sqlite_wasm_host_localtime(seconds: i64, fields: *mut i32) -> c_int {
    // SAFETY: an out-pointer for ten numbers.
    unsafe { imports::local_time(seconds as f64, fields) };
    0
}
