//! SQLite's allocator with failure injection and a count per thread.
//!
//! Only SQLite's allocations fail. Rust uses the global allocator, which by design aborts the
//! process when memory is exhausted.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use libsqlite3_sys as c;

/// An allocation failure to inject.
#[derive(Clone, Copy, Debug)]
pub struct Shortage {
    /// The number of the failing allocation, from 1.
    pub number: u64,
    /// Whether all later allocations fail too.
    pub lasting: bool,
}

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static SEEN: Cell<u64> = const { Cell::new(0) };
    static STRUCK: Cell<u64> = const { Cell::new(0) };
    static SHORTAGE: Cell<Option<Shortage>> = const { Cell::new(None) };
}

/// The methods of the underlying allocator.
struct Below {
    allocate: unsafe extern "C" fn(c_int) -> *mut c_void,
    resize: unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    release: unsafe extern "C" fn(*mut c_void),
}

static BELOW: OnceLock<Below> = OnceLock::new();

/// Installs the counting allocator in SQLite.
///
/// # Panics
///
/// If SQLite is in use already.
pub fn install() {
    BELOW.get_or_init(|| {
        // SAFETY: the structure consists of pointers, which may be null. Both calls come before
        // SQLite is initialised, as they must, or are refused.
        unsafe {
            let mut below: c::sqlite3_mem_methods = std::mem::zeroed();
            let code = c::sqlite3_config(c::SQLITE_CONFIG_GETMALLOC, &raw mut below);
            assert_eq!(code, c::SQLITE_OK, "SQLite is in use already");
            let mut counting = below;
            counting.xMalloc = Some(allocate);
            counting.xRealloc = Some(resize);
            counting.xFree = Some(release);
            let code = c::sqlite3_config(c::SQLITE_CONFIG_MALLOC, &raw mut counting);
            assert_eq!(code, c::SQLITE_OK, "SQLite is in use already");
            let whole = "SQLite's own allocator has every method";
            Below {
                allocate: below.xMalloc.expect(whole),
                resize: below.xRealloc.expect(whole),
                release: below.xFree.expect(whole),
            }
        }
    });
}

/// Allocations that this thread has made and not yet freed.
pub fn held() -> i64 {
    HELD.get()
}

/// Sets or clears the failure to inject in this thread.
pub fn set_shortage(shortage: Option<Shortage>) {
    SHORTAGE.set(shortage);
    SEEN.set(0);
    STRUCK.set(0);
}

/// How many allocations have failed since.
pub fn struck() -> u64 {
    STRUCK.get()
}

fn fails() -> bool {
    let Some(shortage) = SHORTAGE.get() else {
        return false;
    };
    let seen = SEEN.get() + 1;
    SEEN.set(seen);
    let fails = seen == shortage.number || (shortage.lasting && seen > shortage.number);
    STRUCK.set(STRUCK.get() + u64::from(fails));
    fails
}

fn below() -> &'static Below {
    BELOW.get().expect("installed before SQLite calls it")
}

unsafe extern "C" fn allocate(size: c_int) -> *mut c_void {
    if fails() {
        return std::ptr::null_mut();
    }
    // SAFETY: passed on unchanged from SQLite.
    let memory = unsafe { (below().allocate)(size) };
    HELD.set(HELD.get() + i64::from(!memory.is_null()));
    memory
}

unsafe extern "C" fn resize(memory: *mut c_void, size: c_int) -> *mut c_void {
    if fails() {
        return std::ptr::null_mut();
    }
    // SAFETY: passed on unchanged from SQLite.
    unsafe { (below().resize)(memory, size) }
}

unsafe extern "C" fn release(memory: *mut c_void) {
    HELD.set(HELD.get() - i64::from(!memory.is_null()));
    // SAFETY: passed on unchanged from SQLite.
    unsafe { (below().release)(memory) }
}
