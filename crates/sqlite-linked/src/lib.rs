//! Entry point that registers the VFS with the SQLite linked into the program.
#![expect(
    unsafe_code,
    reason = "the linked library's functions are given the shim's types"
)]

use libsqlite3_sys as linked;
use vfs::{RegisterError, Registration, VFS_NAME, register as register_vfs};

pub use vfs::tokens::KeyToken;
pub use vfs::{PageSource, PageSourceToken};

/// Registers the VFS `strongroom` over the default VFS. Registering again does nothing.
///
/// # Errors
///
/// If SQLite refuses, which happens only when memory is exhausted.
pub fn register() -> Result<(), RegisterError> {
    register_over(VFS_NAME, None)
}

/// Registers the VFS under another name over another VFS, as fault-injection tests need it.
///
/// # Errors
///
/// If there is no such base, or SQLite refuses.
pub fn register_over(name: &str, base: Option<&str>) -> Result<(), RegisterError> {
    // SAFETY: initialising SQLite more than once is allowed; it makes the default VFS known.
    unsafe { linked::sqlite3_initialize() };
    register_vfs(
        vfs::sqlite_functions!(linked),
        &Registration {
            name,
            base,
            default: false,
        },
    )
}
