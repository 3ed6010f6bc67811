//! `xRead`, `xWrite`, `xTruncate` and `xSync` on the write-ahead log.

use std::ffi::c_int;

use page_codec::page::{PageCodec, PagePlace, TRAILER_SIZE};
use page_codec::wal::{self, FRAME_HEADER_SIZE, FrameHeader, HEADER_SIZE, LogHeader, Region};

use super::{Assembly, SALTS_TO_COME, Started, WalFile};
use crate::abi::{SQLITE_IOERR_DATA, SQLITE_IOERR_READ};
use crate::base::BaseFile;
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::keys::refused;

impl Database {
    /// `xWrite` on the log.
    pub fn write_wal(&mut self, base: BaseFile, data: &[u8], offset: u64) -> Outcome {
        let page_size = match (&self.state, &self.log.wal) {
            (State::Plain, _) => return base.write(data, offset),
            (State::Open(opened), Some(_)) => opened.header.page_size,
            _ => return Err(self.refuse_content()),
        };
        let region = wal::region(offset, page_size);
        let in_pieces = self.log.wal.as_ref().and_then(|wal| wal.assembly.as_ref());
        match region {
            Region::Page(frame_index)
                if in_pieces.is_some_and(|assembly| assembly.frame_index == frame_index) =>
            {
                self.assemble(frame_index, FRAME_HEADER_SIZE as u64, data)
            }
            Region::LogHeader => self.write_log_header(base, data, offset),
            Region::FrameHeader(frame_index) if data.len() == FRAME_HEADER_SIZE => {
                let mut header = [0; FRAME_HEADER_SIZE];
                header.copy_from_slice(data);
                self.write_frame_header(frame_index, header, offset)
            }
            Region::Page(frame_index) if data.len() == page_size as usize => {
                self.write_frame_page(frame_index, data, offset)
            }
            Region::FrameHeader(frame_index) => self.assemble(frame_index, 0, data),
            Region::Page(frame_index) => self.assemble(frame_index, FRAME_HEADER_SIZE as u64, data),
            Region::Inside(frame_index, inside) => self.assemble(frame_index, inside, data),
        }
    }

    fn write_log_header(&mut self, base: BaseFile, data: &[u8], offset: u64) -> Outcome {
        let header = LogHeader::try_from(data).ok().filter(|_| offset == 0);
        let Some(stored) = header.as_ref().and_then(wal::store_log_header) else {
            return Err(refused(
                self,
                "an unknown kind of write to the write-ahead log",
            ));
        };
        if let Some(wal) = &mut self.log.wal {
            wal.gathered
                .reserve(base, offset, stored.len())?
                .copy_from_slice(&stored);
            wal.note_log_header(&stored);
            wal.frames_end = 0;
        }
        Ok(())
    }

    fn write_frame_header(
        &mut self,
        frame_index: u64,
        header: FrameHeader,
        offset: u64,
    ) -> Outcome {
        let (State::Open(opened), Some(wal)) = (&self.state, &mut self.log.wal) else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let mut masked = header;
        wal::mask(opened.codec.mask(), frame_index, &mut masked);
        wal.gathered
            .reserve(wal.base, offset, masked.len())?
            .copy_from_slice(&masked);
        if wal::frame_salts(&header) != SALTS_TO_COME {
            wal.salts = Some(wal::frame_salts(&header));
        }
        wal.assembly = None;
        wal.started = Some(Started {
            frame_index,
            header,
        });
        let rewritten = frame_index < wal.frames_end;
        wal.frames_end = wal.frames_end.max(frame_index + 1);
        if rewritten && wal::is_commit(&header) {
            // The frame is complete: no page follows that would write it out.
            wal.flush_commit(masked.len())
        } else {
            Ok(())
        }
    }

    fn write_frame_page(&mut self, frame_index: u64, page: &[u8], offset: u64) -> Outcome {
        let nonce = self.nonce()?;
        let header = self.header_of(frame_index, offset)?;
        let (State::Open(opened), Some(wal)) = (&mut self.state, &mut self.log.wal) else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let number = wal::page_number(&header);
        let place = PagePlace::wal(number, frame_index, wal.salts_of(&header));
        let room = wal.gathered.reserve(wal.base, offset, page.len())?;
        if let Err(error) = opened.codec.seal(place, &nonce, page, room) {
            wal.gathered.give_back(page.len());
            return Err(refused(self, format!("page {number} is refused: {error}")));
        }
        wal.started = None;
        if wal::is_commit(&header) {
            wal.flush_commit(page.len())
        } else {
            Ok(())
        }
    }

    /// The unmasked header of the frame whose page is at `page_offset`: the one just written, or,
    /// if SQLite overwrites the page of a frame that it wrote earlier, the one on disk.
    fn header_of(&mut self, frame_index: u64, page_offset: u64) -> Outcome<FrameHeader> {
        let (State::Open(opened), Some(wal)) = (&self.state, &mut self.log.wal) else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        if let Some(started) = wal
            .started
            .filter(|started| started.frame_index == frame_index)
        {
            return Ok(started.header);
        }
        wal.flush()?;
        let mut header = [0; FRAME_HEADER_SIZE];
        wal.base
            .read(&mut header, page_offset - FRAME_HEADER_SIZE as u64)?;
        let mut trailer = [0; TRAILER_SIZE];
        let page_end = page_offset + u64::from(opened.header.page_size);
        wal.base
            .read(&mut trailer, page_end - TRAILER_SIZE as u64)?;
        let unmasked = opened
            .codec
            .mask_of(&trailer)
            .map(|mask| wal::unmask(mask, frame_index, &mut header));
        let salts = wal.salts_of(&header);
        if unmasked.is_err() || wal.salts.is_some_and(|known| known != salts) {
            return Err(self.fail(
                SQLITE_IOERR_DATA,
                format!("frame {frame_index} of the write-ahead log was damaged or altered"),
            ));
        }
        Ok(header)
    }

    /// Collects a frame that arrives in pieces, and writes it when it is complete.
    fn assemble(&mut self, frame_index: u64, inside: u64, data: &[u8]) -> Outcome {
        let page_size = self.page_size().unwrap_or(0);
        let frame_size = wal::frame_size(page_size) as usize;
        let started = self.log.wal.as_ref().and_then(|wal| wal.started);
        let Some(wal) = &mut self.log.wal else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let mut assembly = match wal.assembly.take() {
            Some(assembly) if assembly.frame_index == frame_index && inside != 0 => assembly,
            Some(_) | None => Assembly {
                frame_index,
                bytes: Vec::with_capacity(frame_size),
            },
        };
        if inside == FRAME_HEADER_SIZE as u64 && assembly.bytes.is_empty() {
            let started = started.filter(|started| started.frame_index == frame_index);
            assembly
                .bytes
                .extend(started.iter().flat_map(|started| started.header));
        }
        if assembly.bytes.len() as u64 != inside || assembly.bytes.len() + data.len() > frame_size {
            return Err(refused(
                self,
                "an unknown kind of write to the write-ahead log",
            ));
        }
        assembly.bytes.extend_from_slice(data);
        if assembly.bytes.len() < frame_size {
            wal.assembly = Some(assembly);
            return Ok(());
        }
        let mut header = [0; FRAME_HEADER_SIZE];
        header.copy_from_slice(&assembly.bytes[..FRAME_HEADER_SIZE]);
        let offset = wal::frame_offset(frame_index, page_size);
        self.write_frame_header(frame_index, header, offset)?;
        let page = &assembly.bytes[FRAME_HEADER_SIZE..];
        self.write_frame_page(frame_index, page, offset + FRAME_HEADER_SIZE as u64)?;
        match self
            .log
            .wal
            .as_mut()
            .map(|wal| (wal.sync_to_come.take(), wal))
        {
            Some((Some(flags), wal)) => {
                wal.flush()?;
                wal.base.sync(flags)
            }
            Some((None, _)) | None => Ok(()),
        }
    }

    /// `xRead` on the log, for any range.
    pub fn read_wal(&mut self, base: BaseFile, out: &mut [u8], mut offset: u64) -> Outcome {
        let page_size = match (&self.state, &self.log.wal) {
            (State::Plain, _) => return base.read(out, offset),
            (State::Open(opened), Some(_)) => opened.header.page_size,
            _ => return Err(self.refuse_content()),
        };
        let mut rest = &mut out[..];
        while !rest.is_empty() {
            let region = wal::region(offset, page_size);
            if let Some(wal) = &mut self.log.wal {
                wal.flush_before_reading(region.frame(), page_size)?;
            }
            let room = match region {
                Region::LogHeader => HEADER_SIZE - offset,
                Region::FrameHeader(_) => wal::frame_size(page_size),
                Region::Page(_) => u64::from(page_size),
                Region::Inside(_, inside) => wal::frame_size(page_size) - inside,
            };
            let count = rest.len().min(room as usize);
            let (piece, others) = rest.split_at_mut(count);
            let result = match region {
                Region::LogHeader => self.read_log_header(base, piece, offset),
                Region::FrameHeader(index) => self.read_frame(index, piece),
                Region::Page(index) if count == page_size as usize => {
                    self.read_frame_page(index, piece)
                }
                Region::Page(index) => self.read_part_of_page(index, piece),
                Region::Inside(index, inside) => self.read_inside(index, inside, piece),
            };
            if let Err(code) = result {
                piece.fill(0);
                others.fill(0);
                return Err(code);
            }
            offset += count as u64;
            rest = others;
        }
        Ok(())
    }

    /// Reads the whole header, whatever part is wanted: the checksum goes with the version.
    fn read_log_header(&mut self, base: BaseFile, out: &mut [u8], offset: u64) -> Outcome {
        let mut stored = [0; HEADER_SIZE as usize];
        base.read_to_end(&mut stored, 0)?;
        if let Some(wal) = &mut self.log.wal {
            wal.note_log_header(&stored);
        }
        let from = offset as usize;
        out.copy_from_slice(&wal::show_log_header(&stored)[from..from + out.len()]);
        Ok(())
    }

    /// Reads from the frame's header on: SQLite is recovering the log or recomputing checksums.
    fn read_frame(&mut self, frame_index: u64, out: &mut [u8]) -> Outcome {
        if !self.open_whole_frame(frame_index, out)? && self.renew_header()? {
            // The frame may have named an epoch that was not known yet.
            self.open_whole_frame(frame_index, out)?;
        }
        Ok(())
    }

    /// Fills `out` with a frame, or, if it does not open, with what SQLite takes for the end of the
    /// log. Returns whether it opened.
    fn open_whole_frame(&mut self, frame_index: u64, out: &mut [u8]) -> Outcome<bool> {
        let page_size = self.page_size().unwrap_or(0);
        let (State::Open(opened), Some(wal)) = (&mut self.state, &mut self.log.wal) else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        wal.frame.resize(wal::frame_size(page_size) as usize, 0);
        wal.base
            .read_to_end(&mut wal.frame, wal::frame_offset(frame_index, page_size))?;
        let (head, sealed) = wal.frame.split_at(FRAME_HEADER_SIZE);
        let mut header = [0; FRAME_HEADER_SIZE];
        header.copy_from_slice(head);
        let mut page = vec![0; sealed.len()];
        let salts = wal.salts.unwrap_or_default();
        let opens = opened.codec.mask_of(sealed).is_ok_and(|mask| {
            wal::unmask(mask, frame_index, &mut header);
            true
        }) && {
            let place_salts = wal.salts_of(&header);
            let place = PagePlace::wal(wal::page_number(&header), frame_index, place_salts);
            opened.codec.open(place, sealed, &mut page).is_ok()
        };
        if !opens {
            wal::invalidate(&mut header, salts);
        }
        let split = out.len().min(FRAME_HEADER_SIZE);
        out[..split].copy_from_slice(&header[..split]);
        let count = out.len() - split;
        out[split..].copy_from_slice(&page[..count]);
        Ok(opens)
    }

    /// Reads the whole page of a frame.
    fn read_frame_page(&mut self, frame_index: u64, page: &mut [u8]) -> Outcome {
        if self.open_frame_page(frame_index, page)?
            || (self.renew_header()? && self.open_frame_page(frame_index, page)?)
        {
            return Ok(());
        }
        let message = format!(
            "frame {frame_index} of the write-ahead log does not open: it was damaged or altered"
        );
        Err(self.fail(SQLITE_IOERR_DATA, message))
    }

    fn open_frame_page(&mut self, frame_index: u64, page: &mut [u8]) -> Outcome<bool> {
        let page_size = self.page_size().unwrap_or(0);
        let frame_size = wal::frame_size(page_size) as usize;
        let offset = wal::frame_offset(frame_index, page_size);
        let (State::Open(opened), Some(wal)) = (&mut self.state, &mut self.log.wal) else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let base = wal.base;
        let (salts, codec) = (&mut wal.salts, &mut opened.codec);
        let mut open = |frame: &[u8]| open_frame(base, codec, salts, frame_index, frame, page);
        let mapped = wal.map.read(frame_index, offset, frame_size, &mut open);
        match mapped {
            Some(opens) => opens,
            None => {
                wal.map
                    .renew(offset + frame_size as u64, || base.size().ok());
                wal.frame.resize(frame_size, 0);
                base.read_to_end(&mut wal.frame, offset)?;
                open(&wal.frame)
            }
        }
    }

    fn read_part_of_page(&mut self, frame_index: u64, out: &mut [u8]) -> Outcome {
        let mut page = vec![0; self.page_size().unwrap_or(0) as usize];
        self.read_frame_page(frame_index, &mut page)?;
        out.copy_from_slice(&page[..out.len()]);
        Ok(())
    }

    fn read_inside(&mut self, frame_index: u64, inside: u64, out: &mut [u8]) -> Outcome {
        let page_size = self.page_size().unwrap_or(0);
        let mut frame = vec![0; wal::frame_size(page_size) as usize];
        self.read_frame(frame_index, &mut frame)?;
        let from = inside as usize;
        out.copy_from_slice(&frame[from..from + out.len()]);
        Ok(())
    }
}

/// Opens the page of a frame under the log's salts. If another connection has restarted the log,
/// the salts have changed. The salts in the frame's own header would open the page too, but they
/// would also open a frame of an earlier log that somebody put back.
fn open_frame(
    base: BaseFile,
    codec: &mut PageCodec,
    salts: &mut Option<[u8; 8]>,
    frame_index: u64,
    frame: &[u8],
    page: &mut [u8],
) -> Outcome<bool> {
    let mut header = [0; FRAME_HEADER_SIZE];
    header.copy_from_slice(&frame[..FRAME_HEADER_SIZE]);
    let number = wal::page_number(&header);
    let sealed = &frame[FRAME_HEADER_SIZE..];
    let mut opens_under = |salts: [u8; 8]| {
        codec
            .open(PagePlace::wal(number, frame_index, salts), sealed, page)
            .is_ok()
    };
    if salts.is_some_and(&mut opens_under) {
        return Ok(true);
    }
    let mut log_header = [0; HEADER_SIZE as usize];
    match base.read_to_end(&mut log_header, 0) {
        Err(code) if code.is_short_read() => return Ok(false),
        outcome => outcome?,
    }
    Ok(match wal::log_header(&log_header) {
        Some((_, current)) if *salts != Some(current) && opens_under(current) => {
            *salts = Some(current);
            true
        }
        Some(_) | None => false,
    })
}

impl Database {
    /// `xTruncate` on the log.
    pub fn truncate_wal(&mut self, base: BaseFile, size: u64) -> Outcome {
        if let Some(wal) = &mut self.log.wal {
            wal.gathered.cut(size);
            wal.flush()?;
            wal.map.shrink(size);
        }
        base.truncate(size)
    }

    /// Maps the whole log: a checkpoint is about to read it.
    pub fn map_whole_wal(&mut self) {
        if let Some(wal) = self.log.wal.as_mut().filter(|wal| wal.gathered.is_empty())
            && let Ok(size) = wal.base.size()
        {
            wal.map.cover(size);
        }
    }

    /// Called before the log's write lock is released. Everything committed was written out with
    /// its commit frame; what a rollback left must be written now or never.
    pub fn end_wal_write(&mut self) {
        if let Some(wal) = &mut self.log.wal {
            if wal.flush().is_err() {
                wal.gathered.clear();
            }
            wal.started = None;
            wal.assembly = None;
            wal.sync_to_come = None;
        }
    }

    /// `xSync` on the log. If the device may damage a sector beyond what is written, SQLite pads
    /// the last sector of a commit with the first part of a following frame before the sync. The
    /// shim writes that frame once it is complete, into the same sector. So it syncs again after
    /// that, before the commit returns.
    pub fn sync_wal(&mut self, base: BaseFile, flags: c_int) -> Outcome {
        self.flush_wal()?;
        if let Some(wal) = &mut self.log.wal {
            wal.sync_to_come = wal.assembly.is_some().then_some(flags);
        }
        base.sync(flags)
    }

    /// Writes out what the log has gathered.
    pub fn flush_wal(&mut self) -> Outcome {
        self.log.wal.as_mut().map_or(Ok(()), WalFile::flush)
    }
}
