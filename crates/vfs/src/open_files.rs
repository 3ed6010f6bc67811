//! Finds the open database that a journal or log belongs to, and the one behind a file object.
//!
//! SQLite opens a journal by name and kind and does not say which database owns it. The file object
//! that SQLite keeps for the name does not help either: if another VFS is stacked above this one,
//! that object belongs to the other VFS, and SQLite may only be asked about names that it created
//! itself. So this module registers each open database.
//!
//! A pager keeps the names of its database, journal and log in one block of memory
//! (sqlite.org/c3ref/filename_database.html). If a stacked VFS passes names on unchanged, that
//! layout is preserved, and the address identifies the owner. If it copies names, the text has to
//! do. If neither identifies an owner, the file is not opened: a journal could then only be written
//! in clear, or be mistaken for an empty one.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ffi::c_char;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use crate::abi::{SQLITE_LOCK_RESERVED, sqlite3_file};
use crate::credentials::FileName;
use crate::database::{Database, Shared, lock};
use crate::foreign_file::{ForeignFile, SharedForeign};

/// The database that owns a journal or log.
#[derive(Clone)]
pub(crate) enum Owner {
    Database(Shared),
    Foreign(SharedForeign),
}

/// The kind of file that belongs to a database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Companion {
    Journal,
    Wal,
}

impl Companion {
    fn suffix(self) -> &'static str {
        match self {
            Companion::Journal => "-journal",
            Companion::Wal => "-wal",
        }
    }
}

enum WeakOwner {
    Database(Weak<Mutex<Database>>),
    Foreign(Weak<Mutex<ForeignFile>>),
}

impl WeakOwner {
    fn upgrade(&self) -> Option<Owner> {
        match self {
            WeakOwner::Database(weak) => weak.upgrade().map(Owner::Database),
            WeakOwner::Foreign(weak) => weak.upgrade().map(Owner::Foreign),
        }
    }
}

struct Entry {
    /// Address of SQLite's file object for the database.
    file: usize,
    /// Address of the database's name, and the address where SQLite puts the journal's name.
    name: usize,
    journal: usize,
    owner: WeakOwner,
}

/// Open databases by name.
static OPEN: LazyLock<Mutex<HashMap<Vec<u8>, Vec<Entry>>>> = LazyLock::new(Mutex::default);

fn open() -> MutexGuard<'static, HashMap<Vec<u8>, Vec<Entry>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers an open database.
pub(crate) fn note(file: *const sqlite3_file, path: &CStr, name: FileName, owner: &Owner) {
    let owner = match owner {
        Owner::Database(shared) => WeakOwner::Database(Arc::downgrade(shared)),
        Owner::Foreign(shared) => WeakOwner::Foreign(Arc::downgrade(shared)),
    };
    let entry = Entry {
        file: file.addr(),
        name: name.address(),
        journal: name.journal_address(),
        owner,
    };
    let mut open = open();
    open.entry(path.to_bytes().to_vec())
        .or_default()
        .push(entry);
}

/// Removes a database that is about to be closed.
pub(crate) fn forget(path: &CStr, owner: &Owner) {
    let mut open = open();
    let Some(entries) = open.get_mut(path.to_bytes()) else {
        return;
    };
    entries.retain(|entry| match (&entry.owner, owner) {
        (WeakOwner::Database(weak), Owner::Database(shared)) => {
            !std::ptr::eq(weak.as_ptr(), Arc::as_ptr(shared))
        }
        (WeakOwner::Foreign(weak), Owner::Foreign(shared)) => {
            !std::ptr::eq(weak.as_ptr(), Arc::as_ptr(shared))
        }
        (WeakOwner::Database(_) | WeakOwner::Foreign(_), _) => true,
    });
    if entries.is_empty() {
        open.remove(path.to_bytes());
    }
}

/// The open database that owns the journal or log with this name.
pub(crate) fn owner_of(name: *const c_char, text: &CStr, companion: Companion) -> Option<Owner> {
    let suffix = companion.suffix();
    let path = text.to_bytes().strip_suffix(suffix.as_bytes())?;
    let candidates = {
        let open = open();
        let entries = open.get(path)?;
        // The log's name follows the journal's name.
        let distance = match companion {
            Companion::Journal => 0,
            Companion::Wal => path.len() + Companion::Journal.suffix().len() + 1,
        };
        let exact = |entry: &&Entry| entry.journal + distance == name as usize;
        if let Some(owner) = entries
            .iter()
            .find(exact)
            .and_then(|entry| entry.owner.upgrade())
        {
            return Some(owner);
        }
        let all = entries.iter().filter_map(|entry| entry.owner.upgrade());
        all.collect::<Vec<Owner>>()
    };
    match (candidates.as_slice(), companion) {
        ([only], _) => Some(only.clone()),
        // Only one connection at a time may write a journal.
        (several, Companion::Journal) => {
            let mut writers = several.iter().filter(|owner| match owner {
                Owner::Database(shared) => lock(shared).main.lock_level >= SQLITE_LOCK_RESERVED,
                Owner::Foreign(_) => false,
            });
            match (writers.next(), writers.next()) {
                (Some(writer), None) => Some(writer.clone()),
                _ => None,
            }
        }
        (_, Companion::Wal) => None,
    }
}

/// The open database for a file object of SQLite's; `None` if the object belongs to another VFS.
pub(crate) fn database_of(file: *const sqlite3_file) -> Option<Shared> {
    let open = open();
    let found = open
        .values()
        .flatten()
        .find(|entry| entry.file == file.addr())?;
    database_in(found)
}

/// The open database whose name is at this address, or the only one with this name.
pub(crate) fn database_named(name: *const c_char, text: &CStr) -> Option<Shared> {
    let open = open();
    let entries = open.get(text.to_bytes())?;
    let exact = entries.iter().find(|entry| entry.name == name as usize);
    let found = match (exact, entries.as_slice()) {
        (Some(entry), _) | (None, [entry]) => entry,
        (None, _) => return None,
    };
    database_in(found)
}

fn database_in(entry: &Entry) -> Option<Shared> {
    match entry.owner.upgrade() {
        Some(Owner::Database(shared)) => Some(shared),
        Some(Owner::Foreign(_)) | None => None,
    }
}
