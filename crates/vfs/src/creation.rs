//! Creation of a database: files that are still empty, the first header, and the end of the
//! creating transaction.

use keyring::slots;
use page_codec::header::{COPY_SIZE, HeaderError, HeaderRegion, REGION_SIZE, UNFINISHED};
use page_codec::journal::{self, HEADER_FIELDS_SIZE, HEADER_SEAL_SIZE};

use crate::abi::{SQLITE_AUTH, SQLITE_LOCK_RESERVED, SQLITE_NOTADB, SQLITE_SYNC_NORMAL};
use crate::database::{Database, Prepared, State};
use crate::error::Outcome;

/// Whether a power cut left zeros where both copies of the header begin. Disks write at least this
/// many bytes atomically.
fn lacks_both_magics(region: &[u8]) -> bool {
    const SECTOR_SIZE: usize = 512;
    let mut starts = region
        .chunks(COPY_SIZE)
        .flat_map(|copy| copy.iter().take(SECTOR_SIZE));
    starts.all(|byte| *byte == 0)
}

impl Database {
    /// Parses the header of an encrypted file and opens it with the key at hand.
    pub fn found_header(&mut self, region: &[u8], file_size: u64) {
        let holds_pages = file_size > REGION_SIZE as u64;
        match HeaderRegion::parse(region) {
            Ok(region) if !holds_pages && region.header.may_ignore & UNFINISHED != 0 => {
                self.start_anew();
            }
            Ok(_) if !holds_pages => {
                self.state = State::Broken;
                self.fail(
                    SQLITE_NOTADB,
                    "the file ends behind its header: all its pages were cut off; restore it \
                     from a backup",
                );
            }
            Ok(region) => {
                if region.header.may_ignore & UNFINISHED == 0 {
                    self.page_size_change.at_open = Some(region.header.page_size);
                }
                self.state = State::Locked;
                if let Some(credential) = self.asked.credential.take() {
                    // The error stays in `failures`; the first read reports it.
                    let _ = self.unlock(&region.header, &credential);
                }
            }
            // The power failed while the first header was written: there never was a page.
            Err(HeaderError::Damaged) if !holds_pages => self.start_anew(),
            Err(_) if !holds_pages && (lacks_both_magics(region) || self.journal_had_no_page()) => {
                self.start_anew();
            }
            Err(error) => {
                self.state = State::Broken;
                self.fail(SQLITE_NOTADB, error.to_string());
            }
        }
    }

    /// Whether the rollback journal belongs to a database that had no pages. If so, the power cut
    /// spoiled a first header, and rollback would leave nothing.
    fn journal_had_no_page(&self) -> bool {
        let mut start = [0; HEADER_FIELDS_SIZE + HEADER_SEAL_SIZE];
        // If the journal cannot be read, the file is treated as what it looks like: no database.
        self.read_start_of_journal(&mut start) == Ok(true)
            && start.starts_with(&journal::MAGIC)
            && journal::Header(start).needs_no_seal()
    }

    /// Starts as a database that does not exist yet.
    pub fn start_anew(&mut self) {
        self.state = State::New(None);
        if let Some(credential) = self.asked.credential.take() {
            // The error stays in `failures`; the first write reports it.
            let _ = self.prepare(credential);
        }
    }

    /// Checks again whether a file that was empty is still empty: another connection may have
    /// created the database.
    pub fn recheck_new(&mut self) -> Outcome {
        let State::New(prepared) = &mut self.state else {
            return Ok(());
        };
        if self.base.size()? == 0 {
            return Ok(());
        }
        self.asked.credential = prepared.take().and_then(|prepared| prepared.credential);
        self.load()
    }

    /// Checks again, under a new lock, a file that was empty or still being created when it was
    /// opened: a creation that is rolled back leaves nothing, and the next connection to create the
    /// file chooses new keys.
    pub fn recheck_open(&mut self, size: u64) -> Outcome {
        let State::Open(opened) = &self.state else {
            return Ok(());
        };
        let file_id = opened.header.file_id;
        if size != 0 && opened.header.may_ignore & UNFINISHED == 0 {
            return Ok(());
        }
        if size == 0 {
            self.forget_map();
            return self.forget_file();
        }
        let mut region = vec![0; REGION_SIZE];
        let read = self.base.read(&mut region, 0).ok();
        let on_disk = read.and_then(|()| HeaderRegion::parse(&region).ok());
        let on_disk = on_disk.map(|region| region.header);
        let State::Open(opened) = &mut self.state else {
            return Ok(());
        };
        match on_disk {
            Some(header) if size > REGION_SIZE as u64 && header.file_id == file_id => {
                if header.may_ignore & UNFINISHED == 0 {
                    opened.credential = None;
                }
                // Also renews the keys, which may have changed. Keeps what is known of page
                // versions: an attacker who puts an old header back must not make old pages valid.
                self.renew_header().map(|_| ())
            }
            Some(_) | None => {
                self.asked.credential = opened.credential.take();
                self.state = State::New(None);
                self.forget_map();
                self.load()
            }
        }
    }

    /// Called before SQLite deletes the journal of a creation that a power cut interrupted: removes
    /// what exists of the header, which without the journal would not be recognised as a database.
    pub fn clear_remains(&mut self) -> Outcome {
        let size = self.base.size()?;
        if size == 0 || size > REGION_SIZE as u64 {
            return Ok(());
        }
        self.forget_map();
        self.base.truncate(0)?;
        self.base.sync(SQLITE_SYNC_NORMAL)
    }

    /// Writes the header of a new database to disk, before its first page.
    pub fn create_on_disk(&mut self, page_size: u32) -> Outcome {
        let State::New(prepared) = &mut self.state else {
            return Ok(());
        };
        let Some(prepared) = prepared.take() else {
            return Err(self.fail(
                SQLITE_AUTH,
                "no key was given for this new database, and Strongroom does not create plain \
                 ones unasked; use PRAGMA key, key_file in the URI, or plain=on",
            ));
        };
        let Prepared {
            mut header,
            mut unlocked,
            credential,
        } = *prepared;
        let versioned = self.freshness.asked.unwrap_or(false);
        self.refuse_versions_with(self.asked.cipher, versioned)?;
        slots::settle(
            &mut header,
            &mut unlocked,
            self.asked.cipher,
            page_size,
            versioned,
        );
        let bytes = HeaderRegion::to_bytes(&header);
        self.base.write(&bytes, 0)?;
        // The header must be on disk before any page: a file with pages and no header cannot be
        // opened, and its journal would never be played back. SQLite syncs before it writes pages,
        // but does not know of the header.
        self.base.sync(SQLITE_SYNC_NORMAL)?;
        self.main.size_known = self
            .main
            .size_known
            .map(|size| size.max(REGION_SIZE as u64));
        self.opened(header, unlocked, credential)
    }

    /// Handles `SQLITE_FCNTL_COMMIT_PHASETWO`: a transaction was committed.
    pub fn committed(&mut self) {
        // In exclusive locking mode no lock call marks the start of the next transaction.
        self.sealing.nonces.forget();
        self.page_size_change.from = None;
        // A failure is harmless: the next commit tries again.
        let _ = self.finish_creation();
    }

    /// Finishes the creation once its transaction is committed. Writes only the copy that is not in
    /// force, without a sync: if the power fails, the other copy, with the same keys, is still
    /// intact.
    fn finish_creation(&mut self) -> Outcome {
        match &self.state {
            State::Open(opened) if opened.header.may_ignore & UNFINISHED != 0 => {}
            _ => return Ok(()),
        }
        // In WAL mode the transaction's lock does not keep other connections from the header.
        let level = self.main.lock_level;
        if level < SQLITE_LOCK_RESERVED {
            self.base.lock(SQLITE_LOCK_RESERVED)?;
        }
        let finished = self
            .renew_header()
            .and_then(|_| self.read_header())
            .and_then(|region| self.finish_header(region.copy_in_force));
        if level < SQLITE_LOCK_RESERVED {
            let _ = self.base.unlock(level);
        }
        finished
    }

    fn finish_header(&mut self, copy_in_force: usize) -> Outcome {
        let State::Open(opened) = &mut self.state else {
            return Ok(());
        };
        opened.credential = None;
        if opened.header.may_ignore & UNFINISHED == 0 {
            return Ok(());
        }
        let mut header = opened.header.clone();
        slots::finish(&mut header, &opened.unlocked);
        let offset = (1 - copy_in_force) * COPY_SIZE;
        self.base.write(&header.to_copy(), offset as u64)?;
        opened.header = header;
        Ok(())
    }
}
