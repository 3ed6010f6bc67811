//! SQLite's allocator, counted by thread, whose calls can fail.
//!
//! Only what SQLite allocates fails. The Rust side allocates by the global allocator, which ends
//! the process when there is no memory, by design of the language.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use libsqlite3_sys as c;

/// An allocation that is to fail.
#[derive(Clone, Copy, Debug)]
pub struct Shortage {
    /// Which, from 1.
    pub number: u64,
    /// Whether all that follow fail too.
    pub lasting: bool,
}

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static SEEN: Cell<u64> = const { Cell::new(0) };
    static STRUCK: Cell<u64> = const { Cell::new(0) };
    static SHORTAGE: Cell<Option<Shortage>> = const { Cell::new(None) };
}

/// The methods of the allocator below.
struct Below {
    allocate: unsafe extern "C" fn(c_int) -> *mut c_void,
    resize: unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    release: unsafe extern "C" fn(*mut c_void),
}

static BELOW: OnceLock<Below> = OnceLock::new();

/// Puts the counting allocator under SQLite.
///
/// # Panics
/// When SQLite is in use already.
pub fn install() {
    BELOW.get_or_init(|| {
        // SAFETY: the structure is plain pointers, which may be null; both calls come before
        // SQLite is initialised, as they have to, or are refused.
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

/// Allocations that this thread has made and not given back.
pub fn held() -> i64 {
    HELD.get()
}

/// Sets the shortage that is to come in this thread, or none.
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
    // SAFETY: passed on as SQLite gave it.
    let memory = unsafe { (below().allocate)(size) };
    HELD.set(HELD.get() + i64::from(!memory.is_null()));
    memory
}

unsafe extern "C" fn resize(memory: *mut c_void, size: c_int) -> *mut c_void {
    if fails() {
        return std::ptr::null_mut();
    }
    // SAFETY: passed on as SQLite gave it.
    unsafe { (below().resize)(memory, size) }
}

unsafe extern "C" fn release(memory: *mut c_void) {
    HELD.set(HELD.get() - i64::from(!memory.is_null()));
    // SAFETY: passed on as SQLite gave it.
    unsafe { (below().release)(memory) }
}
