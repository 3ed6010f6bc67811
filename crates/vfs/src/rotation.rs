//! Rotation of the data key of a database in use, page by page.
//!
//! A rotation begins with a header that lists a new epoch beside the former one. From then on every
//! connection seals under the new epoch (see `renewal`), and a pass over the file reseals pages
//! that still name the former one. When nothing in the file, its log and its journal is under the
//! former epoch, its key is removed from the header. An interrupted rotation continues from the
//! first page: checking an epoch costs little.
//!
//! Locks: a page may be resealed while nobody else writes pages of the database file: in rollback
//! mode under a RESERVED lock, in WAL mode under the checkpoint lock. Both admit readers, and WAL
//! mode also admits writers. Beginning and ending a rotation also exclude the writers of the log.
//! This module never waits for a lock, and holds none between steps.

use std::time::Duration;

use page_codec::double_write::Builder;
use page_codec::journal::{self, MAGIC};
use page_codec::page::{PageError, PagePlace, TRAILER_SIZE, trailer_epoch, versioned_nonce};
use page_codec::wal;
use zeroize::Zeroizing;

use crate::abi::{
    SHM_CHECKPOINT_LOCK, SHM_LOCK_EXCLUSIVE, SHM_UNLOCK_EXCLUSIVE, SHM_WRITE_LOCK, SQLITE_BUSY,
    SQLITE_ERROR, SQLITE_IOERR, SQLITE_IOERR_READ, SQLITE_LOCK_RESERVED, SQLITE_LOCK_SHARED,
    SQLITE_READONLY, SQLITE_SYNC_NORMAL,
};
use crate::base_vfs::SideName;
use crate::database::{Database, Freshness, Sealing, State};
use crate::double_write::BATCH_SIZE_MAX;
use crate::error::{Code, Outcome};
use crate::main_file::{PAGES_OFFSET, page_number};
use crate::pause::pause;

/// What SQLite must do before the rotation can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// A checkpoint: the log still holds pages under the former key.
    Checkpoint,
    /// Recovery: a transaction that crashed must be rolled back.
    Recovery,
}

/// Progress of a rotation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub epoch: u32,
    pub pages_done: u64,
    pub pages: u64,
    pub running: bool,
    pub waiting: Option<Waiting>,
}

/// Which writers a step excludes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exclude {
    /// Writers of pages in the database file.
    PageWriters,
    /// Writers of the log as well.
    All,
}

/// Why a batch could not be prepared.
enum Unsealed {
    /// A page does not open.
    Page(u64, PageError),
    Failed(Code),
}

impl From<Code> for Unsealed {
    fn from(code: Code) -> Self {
        Unsealed::Failed(code)
    }
}

/// The locks held during a step.
enum Held {
    Rollback { level_before: i32 },
    Log(Exclude),
}

impl Database {
    /// Begins a rotation, or continues the one in progress. For `alone` see
    /// [`keyring::rotation::begin`].
    pub fn begin_rotation(&mut self, alone: bool) -> Outcome {
        self.under_locks(Exclude::All, |database, _| {
            database.begin_writing_pages()?;
            match (database.is_rotating(), alone) {
                (true, true) => Err(database.fail(
                    SQLITE_ERROR,
                    "a rotation of the data key is under way; finish it before you begin one \
                     with a new master key",
                )),
                (true, false) => Ok(()),
                (false, _) => {
                    if database.hot_journal()? {
                        return Err(database.not_recovered());
                    }
                    database.main.rotation_next = 0;
                    let versioned = database
                        .freshness
                        .asked
                        .unwrap_or(database.keeps_versions());
                    database.refuse_versions_with(database.asked.cipher, versioned)?;
                    database.change_header(|header, unlocked| {
                        keyring::rotation::begin(header, unlocked, alone, versioned)
                    })
                }
            }
        })
    }

    /// Reseals up to `pages_max` pages, and ends the rotation when none is left.
    pub fn step_rotation(&mut self, pages_max: u64) -> Outcome<Progress> {
        let waiting = self.under_locks(Exclude::PageWriters, |database, held| {
            database.reseal(pages_max, held)
        })?;
        let progress = self.rotation_progress(waiting)?;
        if waiting.is_some() || !progress.running || progress.pages_done < progress.pages {
            return Ok(progress);
        }
        let waiting = self.under_locks(Exclude::All, |database, held| {
            match database.reseal(u64::MAX, held)? {
                Some(waiting) => Ok(Some(waiting)),
                None => database.end_rotation(held),
            }
        })?;
        self.rotation_progress(waiting)
    }

    /// Steps until the rotation ends or must wait. Retries for a while if another connection holds
    /// a lock.
    pub fn rotate_to_the_end(&mut self) -> Outcome<Progress> {
        const STEP_PAGES: u64 = 1024;
        const TRIES_MAX: u32 = 2000;
        const PAUSE: Duration = Duration::from_millis(2);
        let mut tries = 0;
        loop {
            match self.step_rotation(STEP_PAGES) {
                Ok(progress) if progress.waiting.is_some() || !progress.running => {
                    return Ok(progress);
                }
                Ok(_) => tries = 0,
                Err(Code(SQLITE_BUSY)) if tries < TRIES_MAX => {
                    tries += 1;
                    pause(PAUSE);
                }
                Err(code) => return Err(code),
            }
        }
    }

    /// Progress of the rotation, as far as this connection knows.
    pub fn rotation_progress(&mut self, waiting: Option<Waiting>) -> Outcome<Progress> {
        self.renew_header()?;
        let pages = self.pages_in_file()?;
        let State::Open(opened) = &self.state else {
            return Err(self.refuse_content());
        };
        let running = opened.header.is_rotating();
        Ok(Progress {
            epoch: opened.header.current_epoch,
            pages_done: if running {
                self.main.rotation_next.min(pages)
            } else {
                pages
            },
            pages,
            running,
            waiting,
        })
    }

    fn pages_in_file(&mut self) -> Outcome<u64> {
        let Some(page_size) = self.page_size() else {
            return Err(self.refuse_content());
        };
        let size = self.base.size()?;
        Ok(size.saturating_sub(PAGES_OFFSET) / u64::from(page_size))
    }

    fn under_locks<T>(
        &mut self,
        exclude: Exclude,
        action: impl FnOnce(&mut Self, &Held) -> Outcome<T>,
    ) -> Outcome<T> {
        let held = self.hold(exclude)?;
        let result = self
            .base
            .size()
            .and_then(|size| {
                self.main.map.shrink(size);
                self.check_mode(&held)
            })
            .and_then(|()| action(self, &held));
        self.release(&held);
        result
    }

    fn hold(&mut self, exclude: Exclude) -> Outcome<Held> {
        if !self.is_open() {
            return Err(self.fail(
                SQLITE_ERROR,
                "only the key of an encrypted database that is open can be rotated",
            ));
        }
        if self.main.lock_level >= SQLITE_LOCK_RESERVED || self.log.locks != 0 {
            return Err(self.fail(
                SQLITE_ERROR,
                "a rotation needs a connection without a transaction that writes and without \
                 locking_mode=EXCLUSIVE; end the transaction first",
            ));
        }
        if self.log.shared_memory {
            return self.hold_log(exclude);
        }
        let level_before = self.main.lock_level;
        for level in [SQLITE_LOCK_SHARED, SQLITE_LOCK_RESERVED] {
            if level_before >= level {
                continue;
            }
            if level == SQLITE_LOCK_RESERVED && level_before < SQLITE_LOCK_SHARED {
                self.check_recovered(level_before)?;
            }
            if let Err(code) = self.base.lock(level) {
                let _ = self.base.unlock(level_before);
                return Err(self.busy(code));
            }
        }
        self.main.lock_level = SQLITE_LOCK_RESERVED;
        Ok(Held::Rollback { level_before })
    }

    fn hold_log(&mut self, exclude: Exclude) -> Outcome<Held> {
        let lock = |database: &Self, index| database.base.shm_lock(index, 1, SHM_LOCK_EXCLUSIVE);
        if let Err(code) = lock(self, SHM_CHECKPOINT_LOCK) {
            return Err(self.busy(code));
        }
        if exclude == Exclude::All
            && let Err(code) = lock(self, SHM_WRITE_LOCK)
        {
            self.release(&Held::Log(Exclude::PageWriters));
            return Err(self.busy(code));
        }
        Ok(Held::Log(exclude))
    }

    fn release(&mut self, held: &Held) {
        // Releasing a lock fails only if the lock was not held.
        match held {
            Held::Rollback { level_before } => {
                self.main.lock_level = *level_before;
                let _ = self.base.unlock(*level_before);
            }
            Held::Log(exclude) => {
                let unlock = |index| self.base.shm_lock(index, 1, SHM_UNLOCK_EXCLUSIVE);
                if *exclude == Exclude::All {
                    let _ = unlock(SHM_WRITE_LOCK);
                }
                let _ = unlock(SHM_CHECKPOINT_LOCK);
            }
        }
    }

    fn busy(&mut self, code: Code) -> Code {
        self.not_locked(
            code,
            "another connection is writing or checkpointing; try again",
        )
    }

    /// Explains why there is no lock for writing: either another connection holds one, or this
    /// connection could open the file for reading only, which systems also refuse to lock.
    pub(super) fn not_locked(&mut self, code: Code, by_another: &str) -> Code {
        match self.asked.is_read_only {
            false => self.fail(code.0, by_another),
            true => self.fail(
                SQLITE_READONLY,
                "the file may not be written; its permissions, those of its folder, or the disk \
                 forbid it",
            ),
        }
    }

    /// Checks that no transaction is still to be rolled back, before this connection takes RESERVED
    /// without having read; else it goes back to the level.
    ///
    /// To others a journal beside a RESERVED lock is that of a live writer (`hasHotJournal` of
    /// SQLite). They would read what the crash has left, and then write their own journal over the
    /// one that could mend it.
    pub fn check_recovered(&mut self, level: i32) -> Outcome {
        match self.hot_journal() {
            Ok(false) => Ok(()),
            found => {
                let _ = self.base.unlock(level);
                Err(found.err().unwrap_or_else(|| self.not_recovered()))
            }
        }
    }

    fn not_recovered(&mut self) -> Code {
        self.fail(
            SQLITE_BUSY,
            "a transaction that crashed is still to be rolled back; read from the database, as \
             with SELECT count(*) FROM sqlite_schema, and try again",
        )
    }

    /// A connection that has not read yet does not know whether the database is in WAL mode, and so
    /// which locks apply.
    fn check_mode(&mut self, held: &Held) -> Outcome {
        // sqlite.org/fileformat2.html 1.3.3: the file format version numbers; 2 means a log.
        const WRITE_VERSION_OFFSET: u64 = 18;
        const LOG: u8 = 2;
        if let Held::Log(_) = held {
            return Ok(());
        }
        let mut version = [0];
        let page_size = self.page_size().unwrap_or(0);
        self.read_parts(&mut version, WRITE_VERSION_OFFSET, page_size.into())?;
        if version[0] != LOG {
            return Ok(());
        }
        Err(self.fail(
            SQLITE_BUSY,
            "this connection has not opened the write-ahead log yet; read from the database, as \
             with SELECT count(*) FROM sqlite_schema, and try again",
        ))
    }

    /// Reseals pages batch by batch, from where the pass stopped.
    fn reseal(&mut self, pages_max: u64, held: &Held) -> Outcome<Option<Waiting>> {
        self.begin_writing_pages()?;
        if !self.is_rotating() {
            return Ok(None);
        }
        if let (Held::Rollback { .. }, true) = (held, self.hot_journal()?) {
            return Ok(Some(Waiting::Recovery));
        }
        let page_size = self.page_size().unwrap_or(0);
        let batch_max = (BATCH_SIZE_MAX as u64 / u64::from(page_size.max(1))).max(1);
        let end = self
            .pages_in_file()?
            .min(self.main.rotation_next.saturating_add(pages_max));
        let mut file = None;
        while self.main.rotation_next < end {
            let count = batch_max.min(end - self.main.rotation_next);
            let batch = match self.sealed_anew(self.main.rotation_next, count) {
                Ok(batch) => batch,
                // The page may be torn by an interrupted checkpoint; then the log has it.
                Err(Unsealed::Page(..)) if self.log_is_in_use() => {
                    return Ok(Some(Waiting::Checkpoint));
                }
                Err(Unsealed::Page(index, error)) => {
                    return Err(self.bad_page(index, &error.to_string()));
                }
                Err(Unsealed::Failed(code)) => return Err(code),
            };
            if !batch.is_empty() {
                let file = match &mut file {
                    Some(file) => file,
                    None => file.insert(self.open_double_write()?),
                };
                self.write_batch(file, &batch)?;
            }
            self.main.rotation_next += count;
        }
        match file {
            Some(file) => {
                drop(file);
                self.delete_double_write().map(|()| None)
            }
            None => Ok(None),
        }
    }

    /// Finds, among `count` pages, those sealed under a former key, and reseals them into a batch
    /// under the current one.
    fn sealed_anew(&mut self, first: u64, count: u64) -> Result<Builder, Unsealed> {
        let Database {
            base,
            state: State::Open(opened),
            sealing: Sealing { nonces, .. },
            freshness: Freshness { stamps, .. },
            ..
        } = self
        else {
            return Err(Unsealed::Failed(Code(SQLITE_IOERR_READ)));
        };
        let (page_size, current) = (opened.header.page_size, opened.header.current_epoch);
        let mut sealed = vec![0; count as usize * page_size as usize];
        base.read_large(&mut sealed, PAGES_OFFSET + first * u64::from(page_size))?;
        let mut plain = Zeroizing::new(vec![0; page_size as usize]);
        let mut batch = Builder::new(&opened.header.file_id, page_size);
        let pages = (first..).zip(sealed.chunks_exact(page_size as usize));
        for (index, page) in pages.filter(|(_, page)| trailer_epoch(page) != current) {
            let number = page_number(index)?;
            let place = PagePlace::main(number);
            let bad = |error| Unsealed::Page(index, error);
            let stamp = opened.codec.open(place, page, &mut plain).map_err(bad)?;
            let known = stamps.of(index);
            if stamp < known {
                return Err(bad(PageError::Stale));
            }
            let mut nonce = nonces.next().map_err(|_| Code(SQLITE_IOERR))?;
            if opened.codec.is_versioned() {
                nonce = versioned_nonce(stamp.version + 1, &nonce);
            }
            let room = batch.push(number);
            opened
                .codec
                .seal(place, &nonce, &plain, room)
                .map_err(bad)?;
        }
        Ok(batch)
    }

    fn log_is_in_use(&self) -> bool {
        let size = self.log.wal.as_ref().map(|wal| wal.size());
        size.is_some_and(|size| size.is_ok_and(|size| size > 0))
    }

    /// Removes the former key from the header, if nothing is sealed under it.
    fn end_rotation(&mut self, held: &Held) -> Outcome<Option<Waiting>> {
        if !self.is_rotating() {
            return Ok(None);
        }
        if let (Held::Log(_), true) = (held, self.log_has_former_epochs()?) {
            return Ok(Some(Waiting::Checkpoint));
        }
        if self.hot_journal()? {
            return Ok(Some(Waiting::Recovery));
        }
        self.empty_journal()?;
        self.change_header(keyring::rotation::end)?;
        // A pass that was killed just before it removed the file leaves it empty, and SQLite's VFS
        // says of an empty file that it does not exist. Mostly there is none to remove.
        let _ = self.delete_double_write();
        self.main.rotation_next = 0;
        Ok(None)
    }

    fn log_has_former_epochs(&mut self) -> Outcome<bool> {
        let State::Open(opened) = &self.state else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let (page_size, current) = (opened.header.page_size, opened.header.current_epoch);
        let Some(log) = &self.log.wal else {
            return Ok(false);
        };
        let size = log.size()?;
        let ends = (1..)
            .map(|frames| wal::frame_offset(frames, page_size))
            .take_while(|end| *end <= size);
        for end in ends {
            let mut trailer = [0; TRAILER_SIZE];
            log.read_raw(&mut trailer, end - TRAILER_SIZE as u64)?;
            if trailer_epoch(&trailer) != current {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn journal_name(&self) -> SideName {
        SideName::beside(&self.identity.name, "-journal")
    }

    /// Whether there is an unfinished rollback journal. The caller holds a lock that excludes
    /// anyone who might be writing it.
    pub fn hot_journal(&mut self) -> Outcome<bool> {
        let mut start = [0; MAGIC.len()];
        Ok(self.read_start_of_journal(&mut start)? && start[0] != 0)
    }

    /// Reads the first bytes of the rollback journal on disk, at least its magic, as SQLite wrote
    /// them. Returns false if there is no journal of that length.
    pub fn read_start_of_journal(&self, out: &mut [u8]) -> Outcome<bool> {
        let name = self.journal_name();
        if !self.vfs.exists(&name)? {
            return Ok(false);
        }
        match self.vfs.open(&name, false)?.base().read_to_end(out, 0) {
            Ok(()) => {
                journal::show_start(out);
                Ok(true)
            }
            Err(code) if code.is_short_read() => Ok(false),
            Err(code) => Err(code),
        }
    }

    /// Truncates a finished journal that was kept (journal_mode=PERSIST): its images are sealed
    /// under the former key.
    fn empty_journal(&mut self) -> Outcome {
        let name = self.journal_name();
        if !self.vfs.exists(&name)? {
            return Ok(());
        }
        let file = self.vfs.open(&name, false)?;
        file.base().truncate(0)?;
        file.base().sync(SQLITE_SYNC_NORMAL)
    }
}
