//! The callbacks of an open file on the in-memory disk.

use std::ffi::{c_int, c_void};

use libsqlite3_sys as c;

use crate::disk::{Disk, State};
use crate::fault::Call;

/// What SQLite allocates for each file.
#[repr(C)]
pub(crate) struct File {
    header: c::sqlite3_file,
    handle: *mut Handle,
}

/// An open file.
pub(crate) struct Handle {
    disk: Disk,
    node: usize,
    number: u64,
    delete_on_close: Option<String>,
    /// The locks of shared memory that this handle holds, of eight, shared and exclusive.
    shared: u8,
    exclusive: u8,
    uses_shared_memory: bool,
    map_allowed: bool,
    /// The mapped size, once the file is mapped.
    mapped_size: Option<usize>,
}

impl Handle {
    pub fn new(disk: Disk, node: usize, number: u64, delete_on_close: Option<String>) -> Self {
        Handle {
            disk,
            node,
            number,
            delete_on_close,
            shared: 0,
            exclusive: 0,
            uses_shared_memory: false,
            map_allowed: false,
            mapped_size: None,
        }
    }

    fn leave_shared_memory(&mut self, state: &mut State) {
        let (shared, exclusive) = (self.shared, self.exclusive);
        let memory = &mut state.nodes[self.node].shared_memory;
        for (index, lock) in memory.locks.iter_mut().enumerate() {
            if exclusive & (1 << index) != 0 {
                *lock = 0;
            } else if shared & (1 << index) != 0 {
                *lock -= 1;
            }
        }
        (self.shared, self.exclusive) = (0, 0);
        if std::mem::take(&mut self.uses_shared_memory) {
            memory.users -= 1;
            if memory.users == 0 {
                // Like the unix VFS: the next user starts with an empty index.
                memory.regions.clear();
            }
        }
    }
}

static METHODS: c::sqlite3_io_methods = c::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

/// Turns the allocation into an open file.
///
/// # Safety
///
/// `file` must have room for [`File`].
pub(crate) unsafe fn install(file: *mut c::sqlite3_file, handle: Handle) {
    let whole = File {
        header: c::sqlite3_file { pMethods: &METHODS },
        handle: Box::into_raw(Box::new(handle)),
    };
    // SAFETY: by contract.
    unsafe { file.cast::<File>().write_unaligned(whole) }
}

/// # Safety
/// `file` must be open, by [`install`]; SQLite makes no two calls on a file at once.
unsafe fn handle<'a>(file: *mut c::sqlite3_file) -> &'a mut Handle {
    // SAFETY: by contract the pointer is that of a live box.
    unsafe { &mut *file.cast::<File>().read_unaligned().handle }
}

/// The handle of the file in a callback.
macro_rules! handle {
    ($file:expr) => {
        // SAFETY: SQLite calls these methods on files that `install` made, before their close.
        unsafe { handle($file) }
    };
}

fn code(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(c::SQLITE_OK)
}

/// Fails the call if a fault is due.
macro_rules! gate {
    ($state:expr, $call:expr) => {
        if let Err((code, _)) = $state.gate.pass($call) {
            return code;
        }
    };
}

unsafe extern "C" fn close(file: *mut c::sqlite3_file) -> c_int {
    // SAFETY: the box comes from `install`, and this is the last call on the file.
    let mut handle = unsafe { Box::from_raw(file.cast::<File>().read_unaligned().handle) };
    let disk = handle.disk.clone();
    let mut state = disk.state();
    handle.leave_shared_memory(&mut state);
    state.unlock(handle.node, handle.number, c::SQLITE_LOCK_NONE);
    if let Some(name) = &handle.delete_on_close {
        state.delete(name);
    }
    state.open -= 1;
    c::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut c::sqlite3_file,
    out: *mut c_void,
    size: c_int,
    offset: i64,
) -> c_int {
    let handle = handle!(file);
    // SAFETY: SQLite passes room for `size` bytes.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), size as usize) };
    let mut state = handle.disk.state();
    code(state.read(handle.node, offset as usize, out))
}

unsafe extern "C" fn write(
    file: *mut c::sqlite3_file,
    data: *const c_void,
    size: c_int,
    offset: i64,
) -> c_int {
    let handle = handle!(file);
    // SAFETY: SQLite passes `size` bytes.
    let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size as usize) };
    let mut state = handle.disk.state();
    code(state.write(handle.node, offset as usize, data))
}

unsafe extern "C" fn truncate(file: *mut c::sqlite3_file, size: i64) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    gate!(state, Call::Truncate);
    state.truncate(handle.node, size as usize);
    if let Some(mapped) = &mut handle.mapped_size {
        *mapped = (*mapped).min(size as usize);
    }
    c::SQLITE_OK
}

unsafe extern "C" fn sync(file: *mut c::sqlite3_file, _flags: c_int) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    gate!(state, Call::Sync);
    state.sync(handle.node);
    c::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut c::sqlite3_file, out: *mut i64) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    gate!(state, Call::Size);
    state.sizes_before_sync += u64::from(state.nodes[handle.node].unsynced);
    // SAFETY: SQLite passes a valid out-pointer for the size.
    unsafe { *out = state.nodes[handle.node].bytes.len() as i64 };
    c::SQLITE_OK
}

unsafe extern "C" fn lock(file: *mut c::sqlite3_file, level: c_int) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    gate!(state, Call::Lock);
    code(state.lock(handle.node, handle.number, level))
}

unsafe extern "C" fn unlock(file: *mut c::sqlite3_file, level: c_int) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    state.unlock(handle.node, handle.number, level);
    c::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut c::sqlite3_file, out: *mut c_int) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    gate!(state, Call::CheckReservedLock);
    let mut levels = state.nodes[handle.node].levels.values();
    let reserved = levels.any(|level| *level >= c::SQLITE_LOCK_RESERVED);
    // SAFETY: SQLite passes a valid out-pointer.
    unsafe { *out = c_int::from(reserved) };
    c::SQLITE_OK
}

unsafe extern "C" fn file_control(
    file: *mut c::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    let handle = handle!(file);
    match operation {
        c::SQLITE_FCNTL_MMAP_SIZE if handle.disk.state().device.map => {
            // SAFETY: the argument is one number; a negative one only queries the limit.
            let limit = unsafe { *argument.cast::<i64>() };
            if limit >= 0 {
                handle.map_allowed = limit > 0;
                handle.mapped_size = None;
            }
            c::SQLITE_OK
        }
        _ => c::SQLITE_NOTFOUND,
    }
}

unsafe extern "C" fn sector_size(file: *mut c::sqlite3_file) -> c_int {
    handle!(file).disk.state().device.sector_size as c_int
}

unsafe extern "C" fn device_characteristics(file: *mut c::sqlite3_file) -> c_int {
    if handle!(file).disk.state().device.powersafe_overwrite {
        c::SQLITE_IOCAP_POWERSAFE_OVERWRITE
    } else {
        0
    }
}

unsafe extern "C" fn shm_map(
    file: *mut c::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    gate!(state, Call::ShmMap);
    let memory = &mut state.nodes[handle.node].shared_memory;
    if !std::mem::replace(&mut handle.uses_shared_memory, true) {
        memory.users += 1;
    }
    let region = region as usize;
    while extend != 0 && memory.regions.len() <= region {
        memory
            .regions
            .push(vec![0; size as usize / 8].into_boxed_slice());
    }
    let address = match memory.regions.get_mut(region) {
        Some(words) => words.as_mut_ptr().cast(),
        None => std::ptr::null_mut(),
    };
    // SAFETY: SQLite passes an out-pointer for the address. A region stays in place until its last
    // user leaves.
    unsafe { *out = address };
    c::SQLITE_OK
}

unsafe extern "C" fn shm_lock(
    file: *mut c::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    let mask = (((1u16 << count) - 1) << offset) as u8;
    let is_unlock = flags & c::SQLITE_SHM_UNLOCK != 0;
    if !is_unlock {
        gate!(state, Call::ShmLock);
    }
    let locks = &mut state.nodes[handle.node].shared_memory.locks;
    let held = &mut locks[offset as usize..(offset + count) as usize];
    match (is_unlock, flags & c::SQLITE_SHM_EXCLUSIVE != 0) {
        (true, true) => {
            if handle.exclusive & mask == mask {
                held.fill(0);
                handle.exclusive &= !mask;
            }
        }
        (true, false) => {
            if handle.shared & mask != 0 {
                held[0] -= 1;
                handle.shared &= !mask;
            }
        }
        (false, true) => {
            if handle.exclusive & mask != mask {
                if held.iter().any(|lock| *lock != 0) {
                    return c::SQLITE_BUSY;
                }
                held.fill(-1);
                handle.exclusive |= mask;
            }
        }
        (false, false) => {
            if handle.shared & mask == 0 {
                if held[0] < 0 {
                    return c::SQLITE_BUSY;
                }
                held[0] += 1;
                handle.shared |= mask;
            }
        }
    }
    c::SQLITE_OK
}

unsafe extern "C" fn shm_barrier(_file: *mut c::sqlite3_file) {}

unsafe extern "C" fn shm_unmap(file: *mut c::sqlite3_file, _delete: c_int) -> c_int {
    let handle = handle!(file);
    let disk = handle.disk.clone();
    handle.leave_shared_memory(&mut disk.state());
    c::SQLITE_OK
}

unsafe extern "C" fn fetch(
    file: *mut c::sqlite3_file,
    offset: i64,
    size: c_int,
    out: *mut *mut c_void,
) -> c_int {
    let handle = handle!(file);
    let mut state = handle.disk.state();
    if handle.map_allowed && handle.mapped_size.is_none() {
        state.maps += 1;
    }
    let node = &mut state.nodes[handle.node];
    let end = offset as usize + size as usize;
    let mut address: *mut c_void = std::ptr::null_mut();
    if handle.map_allowed {
        // Like the unix VFS: maps the size of the file at the first fetch.
        let mapped_size = *handle.mapped_size.get_or_insert(node.bytes.len());
        assert!(
            mapped_size <= node.bytes.len() || end > mapped_size,
            "a file was cut under a map of it: a fault (SIGBUS) on a real system"
        );
        if end <= mapped_size {
            address = node.bytes[offset as usize..end].as_mut_ptr().cast();
            node.mapped += 1;
        }
    }
    // SAFETY: SQLite passes an out-pointer for the address.
    unsafe { *out = address };
    c::SQLITE_OK
}

unsafe extern "C" fn unfetch(
    file: *mut c::sqlite3_file,
    _offset: i64,
    address: *mut c_void,
) -> c_int {
    let handle = handle!(file);
    if address.is_null() {
        handle.mapped_size = None;
    } else {
        handle.disk.state().nodes[handle.node].mapped -= 1;
    }
    c::SQLITE_OK
}
