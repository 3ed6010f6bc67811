//! Reads the first bytes of a file that a connection of this process may have open.
//!
//! On Unix, when a process closes any descriptor of a file, it loses all its POSIX locks on that
//! file, even those of SQLite's descriptors (<https://www.sqlite.org/howtocorrupt.html>, section
//! 2.2). So a file that was opened here is never closed: the process keeps at most one descriptor
//! per file.

use std::fs::File;
use std::io;
use std::path::Path;

/// Reads up to `size_max` bytes from the start of a file.
#[cfg(unix)]
pub(crate) fn first_bytes(path: &Path, size_max: usize) -> io::Result<Vec<u8>> {
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;
    use std::fs::Metadata;
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::sync::{Mutex, PoisonError};

    static OPEN: Mutex<BTreeMap<(u64, u64), File>> = Mutex::new(BTreeMap::new());

    let name = |data: &Metadata| (data.dev(), data.ino());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = name(&std::fs::metadata(path)?);
    let file = if open.contains_key(&known) {
        &open[&known]
    } else {
        let file = File::open(path)?;
        // The path may point to another file since the lookup.
        match open.entry(name(&file.metadata()?)) {
            Entry::Vacant(entry) => entry.insert(file),
            Entry::Occupied(entry) => {
                std::mem::forget(file);
                entry.into_mut()
            }
        }
    };
    let mut bytes = vec![0; size_max];
    let mut size = 0;
    while size < size_max {
        match file.read_at(&mut bytes[size..], size as u64) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(size);
    Ok(bytes)
}

/// Reads up to `size_max` bytes from the start of a file. On this system locks belong to
/// descriptors.
#[cfg(not(unix))]
pub(crate) fn first_bytes(path: &Path, size_max: usize) -> io::Result<Vec<u8>> {
    use std::io::Read;

    let mut bytes = Vec::with_capacity(size_max);
    let file = File::open(path)?;
    file.take(size_max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
