//! What a process leaves behind when it dies: copies of the files at that time.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Room, open_uri};

/// Copies a database with its journals and the double-write file of a rotation, but without shared
/// memory, which disappears with its users.
pub fn copy_database(from: &Path, to: &Path) {
    for suffix in ["", "-journal", "-wal", "-rekey"] {
        let (source, target) = (with_suffix(from, suffix), with_suffix(to, suffix));
        let _ = std::fs::remove_file(&target);
        if source.exists() {
            std::fs::copy(source, target).expect("copied");
        }
    }
    let _ = std::fs::remove_file(with_suffix(to, "-shm"));
}

pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// Opens what would be found if every process using the database `name` died now.
pub fn open_image(room: &Room, name: &str) -> Connection {
    let image = format!("image-of-{name}");
    copy_database(&room.path(name), &room.path(&image));
    room.open(&image)
}

/// A stock SQLite database in the same folder.
pub fn open_stock(room: &Room, name: &str) -> Connection {
    open_uri(&format!("file:{}", room.path(name).display()))
}
