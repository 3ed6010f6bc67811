//! Opening a database with a key, and writing its header.

use std::ffi::CStr;
use std::sync::Arc;

use keyring::Credential;
use keyring::rotation;
use keyring::slots::{self, InheritedSlot, UnlockError, Unlocked};
use page_codec::header::{COPY_SIZE, Header, UNFINISHED, VERSIONED_PAGES};
use page_codec::page::PageCodec;

use crate::abi::{
    SQLITE_ERROR, SQLITE_FCNTL_RESERVE_BYTES, SQLITE_IOERR, SQLITE_LOCK_RESERVED,
    SQLITE_LOCK_SHARED, SQLITE_NOTADB, SQLITE_SYNC_NORMAL,
};
use crate::api::SqliteApi;
use crate::database::{Connection, Database, Opened, Prepared, Shared, State, lock};
use crate::error::{Code, Outcome};
use crate::open_files;

/// The page size in the header until the real one is known.
const PAGE_SIZE_UNKNOWN: u32 = 4096;

impl Database {
    pub fn unlock(&mut self, header: &Header, credential: &Credential) -> Outcome {
        match slots::unlock_within(header, credential, self.asked.unlock_work) {
            Ok(unlocked) => {
                let unfinished = header.may_ignore & UNFINISHED != 0;
                let credential = unfinished.then(|| credential.duplicate());
                self.opened(header.clone(), unlocked, credential)
            }
            Err(error @ (UnlockError::WrongKey | UnlockError::NoSlotOfKind(_)))
                if self.asked.key_named =>
            {
                Err(self.fail_concealed(error.to_string()))
            }
            Err(error) => Err(self.fail(code_of(&error), error.to_string())),
        }
    }

    pub fn opened(
        &mut self,
        header: Header,
        unlocked: Unlocked,
        credential: Option<Credential>,
    ) -> Outcome {
        let (file_id, epoch) = (header.file_id, header.current_epoch);
        match PageCodec::new(header.cipher, file_id, epoch, &unlocked.epochs) {
            Some(codec) => {
                self.failures.last = None;
                self.failures.concealed = None;
                self.main.page_one.forget();
                self.main.header_region.clear();
                self.freshness.versions_in_file = header.must_understand & VERSIONED_PAGES != 0;
                self.freshness.stamps.clear();
                self.main.rotation_next = 0;
                self.sealing.scratch = vec![0; header.page_size as usize];
                self.asked.cipher = header.cipher;
                self.state = State::Open(Box::new(Opened {
                    header,
                    unlocked,
                    codec,
                    credential,
                }));
                Ok(())
            }
            None => Err(self.fail(SQLITE_NOTADB, UnlockError::HeaderAltered.to_string())),
        }
    }

    /// Handles `PRAGMA key`: opens a locked database, prepares a new one.
    pub fn give_key(&mut self, credential: Credential) -> Outcome {
        self.asked.key_named = false;
        if let State::New(_) = self.state {
            self.asked.credential = None;
            self.load()?;
        }
        match &self.state {
            State::New(_) => {
                if self.asked.plain_asked && !self.asked.plain_inherited {
                    return Err(self.fail(
                        SQLITE_ERROR,
                        "it was opened with plain=on, so it would be written in clear; open it \
                         without that to encrypt it",
                    ));
                }
                // A key says more of this file than what was asked for another one.
                self.asked.plain_asked = false;
                self.prepare(credential)
            }
            State::Locked => {
                let header = self.read_header()?.header;
                self.unlock(&header, &credential)
            }
            // The key is checked even if the database is open, so that a wrong one never goes
            // unnoticed.
            State::Open(_) => {
                let header = self.read_header()?.header;
                match slots::unlock_within(&header, &credential, self.asked.unlock_work) {
                    Ok(_) => Ok(()),
                    Err(error) => Err(self.fail(code_of(&error), error.to_string())),
                }
            }
            State::Plain => Err(self.fail(
                SQLITE_NOTADB,
                "this is a plain SQLite database: a key does not encrypt it; `strongroom encrypt` \
                 or .encrypt in the shell makes an encrypted one of it",
            )),
            State::Broken => Err(self.refuse_content()),
        }
    }

    /// Creates header and keys for a database that is not on disk yet.
    pub fn prepare(&mut self, credential: Credential) -> Outcome {
        match slots::create(self.asked.cipher, PAGE_SIZE_UNKNOWN, &credential) {
            Ok((header, unlocked)) => {
                let credential = Some(credential);
                self.state = State::New(Some(Box::new(Prepared {
                    header,
                    unlocked,
                    credential,
                })));
                Ok(())
            }
            Err(error) => Err(self.fail(code_of(&error), error.to_string())),
        }
    }

    fn prepare_inherited(&mut self, inherited: InheritedSlot) -> Outcome {
        match slots::create_with(self.asked.cipher, PAGE_SIZE_UNKNOWN, inherited) {
            Ok((header, unlocked)) => {
                let prepared = Prepared {
                    header,
                    unlocked,
                    credential: None,
                };
                self.state = State::New(Some(Box::new(prepared)));
                Ok(())
            }
            Err(error) => Err(self.fail(code_of(&error), error.to_string())),
        }
    }

    /// Writes a changed header, the older copy first, each synced before the other is touched: at
    /// any point of a power failure one copy is intact.
    ///
    /// The caller holds at least a RESERVED lock, which excludes other header writers.
    pub fn write_header(&mut self, header: &Header, copy_in_force: usize) -> Outcome {
        let bytes = header.to_copy();
        // The copy in force may not be on disk yet: finishing a creation does not sync it.
        self.base.sync(SQLITE_SYNC_NORMAL)?;
        for copy in [1 - copy_in_force, copy_in_force] {
            self.base.write(&bytes, (copy * COPY_SIZE) as u64)?;
            self.base.sync(SQLITE_SYNC_NORMAL)?;
        }
        Ok(())
    }

    /// Changes the header in force under a RESERVED lock.
    pub fn change_header<T>(
        &mut self,
        change: impl FnOnce(&mut Header, &mut Unlocked) -> Result<T, slots::SlotError>,
    ) -> Outcome<T> {
        let level = self.main.lock_level;
        for wanted in [SQLITE_LOCK_SHARED, SQLITE_LOCK_RESERVED] {
            if level >= wanted {
                continue;
            }
            if wanted == SQLITE_LOCK_RESERVED && level < SQLITE_LOCK_SHARED {
                self.check_recovered(level)?;
            }
            if let Err(code) = self.base.lock(wanted) {
                let _ = self.base.unlock(level);
                return Err(self.not_locked(code, "another connection is writing; try again"));
            }
        }
        let result = self.change_header_locked(change);
        if level < SQLITE_LOCK_RESERVED {
            let _ = self.base.unlock(level);
        }
        result
    }

    fn change_header_locked<T>(
        &mut self,
        change: impl FnOnce(&mut Header, &mut Unlocked) -> Result<T, slots::SlotError>,
    ) -> Outcome<T> {
        self.renew_header()?;
        let region = self.read_header()?;
        let mut header = region.header;
        let State::Open(opened) = &self.state else {
            return Err(self.refuse_content());
        };
        let mut unlocked = match rotation::reopen(&header, &opened.unlocked) {
            Ok(unlocked) => unlocked,
            Err(error) => return Err(self.fail(SQLITE_NOTADB, error.to_string())),
        };
        match change(&mut header, &mut unlocked) {
            Ok(value) => {
                self.write_header(&header, region.copy_in_force)?;
                self.take_over(header, unlocked)?;
                Ok(value)
            }
            Err(error) => Err(self.fail(SQLITE_IOERR, error.to_string())),
        }
    }
}

fn code_of(error: &UnlockError) -> i32 {
    match error {
        UnlockError::WrongKey
        | UnlockError::NoSlotOfKind(_)
        | UnlockError::TooMuchWork { .. }
        | UnlockError::HeaderAltered
        | UnlockError::Replaced => SQLITE_NOTADB,
        UnlockError::Derivation(_) | UnlockError::Entropy(_) => SQLITE_IOERR,
    }
}

/// Prepares a database for its first use under a new lock: checks whether it was created meanwhile,
/// takes over the key of the connection's main database if none was given, and has SQLite reserve
/// the trailer's bytes if the database is still empty.
///
/// Called without the lock on `shared`, since it calls into SQLite. Reserved bytes can only be set
/// through the connection (sqlite.org/c3ref/c_fcntl_begin_atomic_write.html,
/// SQLITE_FCNTL_RESERVE_BYTES), and the pager only accepts them until the first page exists. The
/// first lock is the last opportunity.
pub(crate) fn make_ready(shared: &Shared, file: *mut crate::abi::sqlite3_file) -> Outcome {
    let (connection, needs_key) = {
        let mut database = lock(shared);
        database.recheck_new()?;
        if let State::Locked | State::Broken = database.state {
            return Err(database.refuse_content());
        }
        let needs_key = match &database.state {
            State::New(prepared) => prepared.is_none() && !database.asked.plain_asked,
            State::Plain | State::Open(_) | State::Locked | State::Broken => return Ok(()),
        };
        (database.identity.connection, needs_key)
    };
    let Some(connection) = connection else {
        return Ok(());
    };
    if needs_key {
        inherit(shared, connection)?;
    }
    // Needed even without a key. The key may come after a write that failed for lack of it, and
    // that write has already fixed the layout of the pages.
    let will_be_encrypted = {
        let database = lock(shared);
        matches!(database.state, State::New(_)) && !database.asked.plain_asked
    };
    if will_be_encrypted {
        reserve_trailer(shared, file, connection);
    }
    Ok(())
}

/// Tries the key of the connection's main database on a file that was opened without one.
pub(crate) fn inherit_if_locked(shared: &Shared) {
    let connection = {
        let database = lock(shared);
        match database.state {
            State::Locked if database.failures.last.is_none() => database.identity.connection,
            _ => None,
        }
    };
    if let Some(connection) = connection {
        // On failure the file stays locked, and the lock call fails.
        let _ = inherit(shared, connection);
    }
}

/// Gives `shared` the key of the main database of the same connection.
fn inherit(shared: &Shared, connection: Connection) -> Outcome {
    let Some(source) = main_of(connection) else {
        return Ok(());
    };
    if Arc::ptr_eq(&source, shared) {
        return Ok(());
    }
    let inherited = {
        let source = lock(&source);
        if source.asked.plain_asked {
            let asked = &mut lock(shared).asked;
            asked.plain_inherited |= !asked.plain_asked;
            asked.plain_asked = true;
            return Ok(());
        }
        match &source.state {
            State::Open(opened) => opened.unlocked.inherited(&opened.header),
            State::New(_) | State::Plain | State::Locked | State::Broken => None,
        }
    };
    let Some(inherited) = inherited else {
        return Ok(());
    };
    let mut database = lock(shared);
    if let State::New(_) = database.state {
        return database.prepare_inherited(inherited);
    }
    let header = database.read_header()?.header;
    match slots::unlock_inherited(&header, &inherited) {
        Some(unlocked) => database.opened(header, unlocked, None),
        None => Ok(()),
    }
}

/// The main database of a connection, if this VFS opened it.
pub(crate) fn main_of(connection: Connection) -> Option<Shared> {
    let api = SqliteApi::get();
    // SAFETY: SQLite holds the connection's mutex while it calls into the VFS, and the pointer it
    // gave stays valid while the file is open; the main database has a file object.
    unsafe {
        let db = *connection.0;
        let main = api.file_of(db, c"main");
        if main.is_null() {
            return None;
        }
        if let Some(shared) = open_files::database_of(main) {
            return Some(shared);
        }
        // Another VFS is stacked above this one: the file object belongs to it.
        let name = (api.db_filename)(db, c"main".as_ptr());
        if name.is_null() {
            return None;
        }
        open_files::database_named(name, CStr::from_ptr(name))
    }
}

/// Has SQLite reserve the trailer's bytes at the end of each page.
fn reserve_trailer(shared: &Shared, file: *mut crate::abi::sqlite3_file, connection: Connection) {
    let api = SqliteApi::get();
    let (path, address) = {
        let database = lock(shared);
        (
            database.identity.name.clone(),
            database.identity.name_address,
        )
    };
    // SAFETY: as in `main_of`.
    let db = unsafe { *connection.0 };
    for index in 0.. {
        // SAFETY: `db` is live; the name, if any, lives until the schema is detached.
        let name = unsafe { (api.db_name)(db, index) };
        if name.is_null() {
            return;
        }
        // SAFETY: SQLite returned a terminated string.
        let name = unsafe { CStr::from_ptr(name) };
        // SAFETY: as in `main_of`. If another VFS is stacked above, the file object belongs to it.
        let is_this_file = unsafe {
            let file_name = (api.db_filename)(db, name.as_ptr());
            api.file_of(db, name) == file
                || (!file_name.is_null()
                    && (file_name as usize == address || CStr::from_ptr(file_name) == &*path))
        };
        if !is_this_file {
            continue;
        }
        let mut bytes = page_codec::page::TRAILER_SIZE as std::ffi::c_int;
        // SAFETY: this operation reads and writes one integer.
        unsafe {
            (api.file_control)(
                db,
                name.as_ptr(),
                SQLITE_FCNTL_RESERVE_BYTES,
                (&raw mut bytes).cast(),
            )
        };
    }
}

/// Records and returns the error for a write of content that cannot be sealed.
pub(crate) fn refused(database: &mut Database, message: impl Into<String>) -> Code {
    database.fail(crate::abi::SQLITE_IOERR_WRITE, message)
}
