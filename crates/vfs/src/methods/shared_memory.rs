//! The callbacks of shared memory, which holds the WAL index and the WAL locks: passed on to the
//! base VFS, and recorded.

use std::ffi::{c_int, c_void};

use super::{Body, base_of, body_of};
use crate::abi::*;
use crate::base::SharedHeader;
use crate::database::lock;
use crate::error::{code, guarded};

pub(super) unsafe extern "C" fn map(
    file: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        if let Body::Main(shared) = body {
            let mut database = lock(shared);
            // From here on other connections may change the size of the file while this one holds
            // its lock.
            database.log.shared_memory = true;
            database.main.size_known = None;
        }
        let mapped = base.shm_map(region, size, extend, out);
        if let (Body::Main(shared), 0, Ok(())) = (body, region, mapped) {
            // SAFETY: SQLite passes an out-pointer for the address, which is null if nothing is
            // mapped yet. The region stays mapped until `shm_unmap`, which drops the header.
            let header = unsafe { (!(*out).is_null()).then(|| SharedHeader::new(*out)) };
            lock(shared).log.shared_header = header;
        }
        code(mapped)
    })
}

pub(super) unsafe extern "C" fn lock_range(
    file: *mut sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        let Body::Main(shared) = body else {
            return code(base.shm_lock(offset, count, flags));
        };
        match flags {
            SHM_LOCK_EXCLUSIVE => {
                let locked = base.shm_lock(offset, count, flags);
                code(locked.and_then(|()| lock(shared).locked_log(offset, count)))
            }
            SHM_UNLOCK_EXCLUSIVE => {
                lock(shared).unlocking_log(offset, count);
                code(base.shm_lock(offset, count, flags))
            }
            SHM_LOCK_SHARED | SHM_UNLOCK_SHARED => {
                let result = base.shm_lock(offset, count, flags);
                if let (Ok(()), Some(number)) = (result, log_read_lock(offset)) {
                    let taken = flags == SHM_LOCK_SHARED;
                    let mut database = lock(shared);
                    database.log.read_lock = taken.then_some(number);
                    let header = database.log.shared_header;
                    if taken && let Err(error) = database.check_log_end(header) {
                        database.log.read_lock = None;
                        let _ = base.shm_lock(offset, count, SHM_UNLOCK_SHARED);
                        return code(Err(error));
                    }
                }
                code(result)
            }
            _ => code(base.shm_lock(offset, count, flags)),
        }
    })
}

/// The index of a WAL read lock.
fn log_read_lock(offset: c_int) -> Option<c_int> {
    (offset >= SHM_READ_LOCK_FIRST).then_some(offset - SHM_READ_LOCK_FIRST)
}

pub(super) unsafe extern "C" fn barrier(file: *mut sqlite3_file) {
    let (_, base) = parts!(file);
    base.shm_barrier();
}

pub(super) unsafe extern "C" fn unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        if let Body::Main(shared) = body {
            let mut database = lock(shared);
            database.log.shared_memory = false;
            database.log.shared_header = None;
        }
        code(base.shm_unmap(delete))
    })
}
