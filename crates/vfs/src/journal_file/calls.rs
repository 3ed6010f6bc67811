//! `xRead`, `xWrite` and `xTruncate` on the rollback journal.

use crypto::page::Nonce;
use page_codec::journal::{self, HEADER_FIELDS_SIZE, Header, MAGIC, Part};
use page_codec::page::{PagePlace, trailer_nonce};

use super::JournalFile;
use crate::abi::{SQLITE_IOERR_DATA, SQLITE_IOERR_SHORT_READ, SQLITE_LOCK_RESERVED};
use crate::base::BaseFile;
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::keys::refused;

impl Database {
    /// `xWrite` on the rollback journal.
    pub fn write_journal(&mut self, base: BaseFile, data: &[u8], offset: u64) -> Outcome {
        if offset == 0 {
            // This may be the write that ends the transaction (journal_mode=PERSIST).
            self.flush_main()?;
        }
        let page_size = match (&self.state, &self.journal) {
            (State::Plain, _) => return base.write(data, offset),
            (State::Open(opened), Some(_)) => opened.header.page_size,
            // A database without pages has a journal with a header and no images.
            (State::New(_), Some(_)) => 0,
            _ => return Err(self.refuse_content()),
        };
        let nonce = if data.len() == page_size as usize {
            self.check_image(data, offset)?;
            Some(self.nonce()?)
        } else {
            None
        };
        let Some(journal) = &mut self.journal else {
            return Err(self.refuse_content());
        };
        let Some(part) = journal.cursor.write(offset, data, page_size) else {
            let message = format!(
                "an unknown kind of write to the rollback journal ({} bytes at {offset})",
                data.len()
            );
            return Err(refused(self, message));
        };
        journal.note_size(offset, data.len())?;
        journal.written = true;
        journal.played_back_from_start = false;
        if offset > 0 && *data == MAGIC {
            // The end of the name of a super-journal. Pagers of other databases look for the name
            // in this file before they delete the super-journal; once that is gone, this journal
            // undoes nothing. If the name were held back, they could miss it while it is still read
            // from memory here.
            journal.flush()?;
            return base.write(data, offset);
        }
        self.gather_journal(base, part, nonce, data, offset)
    }

    /// Gathers a part of the journal, sealed for its offset in the file.
    fn gather_journal(
        &mut self,
        base: BaseFile,
        part: Part,
        nonce: Option<Nonce>,
        data: &[u8],
        offset: u64,
    ) -> Outcome {
        let Some(journal) = &mut self.journal else {
            return Err(self.refuse_content());
        };
        let room = journal.gathered.reserve(base, offset, data.len())?;
        match (part, nonce, &mut self.state) {
            (Part::Image(page), Some(nonce), State::Open(opened)) => {
                let place = PagePlace::journal(page, offset);
                if let Err(error) = opened.codec.seal(place, &nonce, data, room) {
                    journal.gathered.give_back(data.len());
                    return Err(refused(self, format!("page {page} is refused: {error}")));
                }
                journal.word = opened.codec.mask().word(&nonce, page);
            }
            (Part::Checksum(_), _, _) => {
                for (out, (byte, mask)) in room
                    .iter_mut()
                    .zip(data.iter().zip(journal.word.to_be_bytes()))
                {
                    *out = byte ^ mask;
                }
            }
            (Part::Clear, _, state) => {
                room.copy_from_slice(data);
                // A database that is about to become a plain one has a plain journal.
                let is_plain = matches!(state, State::New(_)) && self.asked.plain_asked;
                if offset == 0 && !is_plain {
                    journal::store_start(room);
                }
                if offset == 0 && data.iter().all(|byte| *byte == 0) {
                    // The end of the transaction (journal_mode=PERSIST). If it were held back, the
                    // next connection would play the journal back.
                    return journal.flush();
                }
            }
            (Part::Header, _, State::Open(opened)) => {
                room.copy_from_slice(data);
                if let Some(header) = Header::of(data) {
                    let seal = opened.codec.seal_journal_header(offset, &header);
                    room[HEADER_FIELDS_SIZE..][..seal.len()].copy_from_slice(&seal);
                }
                if offset == 0 {
                    journal::store_start(room);
                }
            }
            (Part::Image(_) | Part::Header, _, _) => {
                journal.gathered.give_back(data.len());
                return Err(refused(self, "a page image before the database has a page"));
            }
        }
        Ok(())
    }

    fn check_image(&mut self, data: &[u8], offset: u64) -> Outcome {
        let journal = self.journal.as_ref();
        match journal.and_then(|journal| journal.cursor.image_at(offset)) {
            Some(page) => self.refuse_stale_image(page, data),
            None => Ok(()),
        }
    }

    /// `xRead` on the rollback journal. SQLite takes a short read for its end and stops to undo
    /// there.
    pub fn read_journal(&mut self, base: BaseFile, out: &mut [u8], offset: u64) -> Outcome {
        let page_size = match (&self.state, &self.journal) {
            (State::Plain, _) => return base.read(out, offset),
            (State::Open(opened), Some(_)) => opened.header.page_size,
            _ => 0,
        };
        let Some(journal) = &mut self.journal else {
            return base.read(out, offset);
        };
        journal.flush()?;
        let number_before = || {
            let Some(before) = offset.checked_sub(4) else {
                return Ok(None);
            };
            let mut number = [0; 4];
            base.read_to_end(&mut number, before)?;
            Ok(Some(u32::from_be_bytes(number)))
        };
        let part = journal
            .cursor
            .read(offset, out.len(), page_size, number_before)?;
        let word = journal.word;
        match part {
            Part::Clear | Part::Header if offset == 0 => {
                journal.read_start(out)?;
                if *out == MAGIC {
                    return self.check_header(base, offset);
                }
                Ok(())
            }
            Part::Clear | Part::Header => {
                journal.read_to_end(out, offset)?;
                if *out != MAGIC {
                    return Ok(());
                }
                if self.ends_forged_name(base, offset)? {
                    out.fill(0);
                    return Ok(());
                }
                self.check_header(base, offset)
            }
            Part::Checksum(_) => {
                base.read_to_end(out, offset)?;
                for (byte, mask) in out.iter_mut().zip(word.to_be_bytes()) {
                    *byte ^= mask;
                }
                Ok(())
            }
            Part::Image(page) => self.read_image(base, page, out, offset),
        }
    }

    /// SQLite reads the magic of a header first, then the fields one by one. The name of a
    /// super-journal ends with the same magic.
    fn check_header(&mut self, base: BaseFile, offset: u64) -> Outcome {
        let State::Open(opened) = &self.state else {
            return Ok(());
        };
        let mut header = Header([0; _]);
        match base.read_to_end(&mut header.0, offset) {
            Err(Code(SQLITE_IOERR_SHORT_READ)) => return Ok(()),
            outcome => outcome?,
        }
        if header.needs_no_seal() {
            return Ok(());
        }
        if opened.codec.is_journal_header_authentic(offset, &header) {
            if offset == 0 && self.main.lock_level >= SQLITE_LOCK_RESERVED {
                if let Some(journal) = &mut self.journal {
                    journal.played_back_from_start = true;
                }
                return self.return_to_page_size(header.page_size());
            }
            return Ok(());
        }
        let message = format!(
            "the rollback journal's header at byte {offset} was damaged or altered, or belongs to \
             another file: without it the last transaction cannot be undone"
        );
        Err(self.fail(SQLITE_IOERR_DATA, message))
    }

    /// SQLite takes an image that does not open for the torn end of the journal.
    fn read_image(&mut self, base: BaseFile, page: u32, out: &mut [u8], offset: u64) -> Outcome {
        let mut sealed = vec![0; out.len()];
        if let Err(code) = base.read_to_end(&mut sealed, offset) {
            out.fill(0);
            return Err(code);
        }
        let (State::Open(opened), Some(journal)) = (&mut self.state, &mut self.journal) else {
            return Err(Code(SQLITE_IOERR_SHORT_READ));
        };
        let place = PagePlace::journal(page, offset);
        match (
            opened.codec.open(place, &sealed, out),
            opened.codec.mask_of(&sealed),
        ) {
            (Ok(_), Ok(mask)) => {
                journal.word = mask.word(&trailer_nonce(&sealed), page);
                journal.played_back = true;
                Ok(())
            }
            _ => {
                out.fill(0);
                Err(Code(SQLITE_IOERR_SHORT_READ))
            }
        }
    }

    /// `xTruncate` on the rollback journal.
    pub fn truncate_journal(&mut self, base: BaseFile, size: u64) -> Outcome {
        self.flush_main()?;
        if let Some(journal) = &mut self.journal {
            journal.gathered.cut(size);
            journal.flush()?;
            journal.forget_size();
        }
        base.truncate(size)
    }

    /// Writes out what the journal has gathered.
    pub fn flush_journal(&mut self) -> Outcome {
        self.journal.as_mut().map_or(Ok(()), JournalFile::flush)
    }
}
