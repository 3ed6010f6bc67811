//! Entry point: the VFS with the SQLite that is linked into the program.
#![expect(
    unsafe_code,
    reason = "the linked library's functions are given the shim's types"
)]

use libsqlite3_sys as linked;
use vfs::{RegisterError, Registration, SqliteApi, VFS_NAME, register as register_vfs};

pub use vfs::tokens::KeyToken;
pub use vfs::{PageSource, PageSourceToken};

/// Registers the VFS `strongroom` over the default VFS. Registering again does nothing.
///
/// # Errors
/// When SQLite refuses, which it does for want of memory only.
pub fn register() -> Result<(), RegisterError> {
    register_over(VFS_NAME, None)
}

/// Registers the VFS under a name of its own over another VFS, as tests with faults need it.
///
/// # Errors
/// When there is no such base, or SQLite refuses.
pub fn register_over(name: &str, base: Option<&str>) -> Result<(), RegisterError> {
    // SAFETY: initialising SQLite more than once is allowed; it makes the default VFS known.
    unsafe { linked::sqlite3_initialize() };
    register_vfs(
        functions(),
        &Registration {
            name,
            base,
            default: false,
        },
    )
}

#[expect(
    clippy::missing_transmute_annotations,
    reason = "each field's type says what the pointer becomes"
)]
fn functions() -> SqliteApi {
    use std::mem::transmute;
    // SAFETY: each pair of types describes the same C function; they differ only in which Rust
    // declaration of SQLite's structures the pointers name.
    unsafe {
        SqliteApi {
            vfs_find: transmute::<*const (), _>(linked::sqlite3_vfs_find as *const ()),
            vfs_register: transmute::<*const (), _>(linked::sqlite3_vfs_register as *const ()),
            file_control: transmute::<*const (), _>(linked::sqlite3_file_control as *const ()),
            uri_parameter: transmute::<*const (), _>(linked::sqlite3_uri_parameter as *const ()),
            malloc64: transmute::<*const (), _>(linked::sqlite3_malloc64 as *const ()),
            free: linked::sqlite3_free,
            log: transmute::<*const (), _>(linked::sqlite3_log as *const ()),
            libversion_number: linked::sqlite3_libversion_number,
            db_filename: transmute::<*const (), _>(linked::sqlite3_db_filename as *const ()),
            db_name: transmute::<*const (), _>(linked::sqlite3_db_name as *const ()),
            get_autocommit: transmute::<*const (), _>(linked::sqlite3_get_autocommit as *const ()),
            exec: transmute::<*const (), _>(linked::sqlite3_exec as *const ()),
        }
    }
}
