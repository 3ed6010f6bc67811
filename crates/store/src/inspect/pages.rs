//! Counts of the pages of an encrypted file, its log and its journal, without their content.
//!
//! Epochs are readable in the trailers. The kind of a page is inside sealed pages, so it needs a
//! key; SQLite's own `dbstat` provides it (<https://www.sqlite.org/dbstat.html>).

use super::kinds::{self, Kind};
use crate::KeyToken;
use crate::database::{OpenError, last_error, open_for_check};
use crate::replace::beside;
use crate::verify::access_that_leaves_no_trace;
use page_codec::header::{Header, REGION_SIZE};
use page_codec::page::trailer_epoch;
use page_codec::{journal, wal};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Consecutive pages of the same kind and epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageRange {
    /// The first page.
    pub first: u64,
    /// The last page.
    pub last: u64,
    /// The epoch in their trailers.
    pub epoch: u32,
    /// Their kind, if a key was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
}

/// The number of pages of one kind and epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageCount {
    /// Their kind, if a key was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The epoch in their trailers.
    pub epoch: u32,
    /// How many.
    pub pages: u64,
}

/// Units of the log or the journal with the same epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EpochCount {
    /// The epoch.
    pub epoch: u32,
    /// Frames or records.
    pub count: u64,
}

/// A log or journal beside the file. Only a verification with a key shows whether its units are in
/// use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideFile {
    /// Its size, in bytes.
    pub size: u64,
    /// Whether it begins with a valid header.
    pub has_header: bool,
    /// Whole frames, or whole records.
    pub units: u64,
    /// Commit frames; zero for a journal.
    pub commits: u64,
    /// The epochs in them.
    pub epochs: Vec<EpochCount>,
}

/// The pages of a file, and its log and journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pages {
    /// The number of complete pages.
    pub whole: u64,
    /// Size of a truncated page at the end.
    pub cut_size: u64,
    /// Epochs whose data key is in the header.
    pub known_epochs: Vec<u32>,
    /// Pages by kind and epoch.
    pub counts: Vec<PageCount>,
    /// Consecutive pages of one kind and epoch, in order.
    pub ranges: Vec<PageRange>,
    /// Why kinds are unknown although a key was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds_unknown: Option<String>,
    /// The write-ahead log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<SideFile>,
    /// The rollback journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<SideFile>,
}

/// Counts pages, frames and records, with a key also by kind.
///
/// Opens and closes descriptors of its own: not for a process that has the database open.
///
/// # Errors
///
/// If a file cannot be read, or the key does not open it.
pub fn pages(path: &Path, header: &Header, token: Option<&KeyToken>) -> Result<Pages, OpenError> {
    let (epochs, cut_size) =
        epochs_of_pages(path, header.page_size).map_err(|source| OpenError::File {
            path: path.to_owned(),
            source,
        })?;
    let (log, journal) = side_files(path, header.page_size)?;
    let (kinds, kinds_unknown) = match token {
        None => (None, None),
        Some(token) => {
            let connection = open_for_check(path, access_that_leaves_no_trace(path), token)?;
            match kinds::kinds(&connection) {
                Ok(kinds) => (Some(kinds), None),
                Err(error) => {
                    let reason = last_error(&connection).unwrap_or_else(|| error.to_string());
                    (None, Some(reason))
                }
            }
        }
    };
    let ranges = ranges(&epochs, kinds.as_deref());
    Ok(Pages {
        whole: epochs.len() as u64,
        cut_size,
        known_epochs: header
            .epochs
            .iter()
            .flatten()
            .map(|entry| entry.epoch)
            .collect(),
        counts: counts(&ranges),
        ranges,
        kinds_unknown,
        log,
        journal,
    })
}

/// Bytes per read.
const CHUNK_SIZE: usize = 1024 * 1024;

/// The epoch of each complete page, and the size of what follows the last one.
fn epochs_of_pages(path: &Path, page_size: u32) -> io::Result<(Vec<u32>, u64)> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(REGION_SIZE as u64))?;
    let page_size = page_size as usize;
    let mut chunk = vec![0; CHUNK_SIZE.max(page_size)];
    let mut epochs = Vec::new();
    loop {
        let size = read_full(&mut file, &mut chunk)?;
        let pages = chunk[..size].chunks_exact(page_size);
        let rest = pages.remainder().len() as u64;
        epochs.extend(pages.map(trailer_epoch));
        if size < chunk.len() {
            return Ok((epochs, rest));
        }
    }
}

fn read_full(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut size = 0;
    while size < bytes.len() {
        match file.read(&mut bytes[size..]) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(size)
}

fn ranges(epochs: &[u32], kinds: Option<&[Kind]>) -> Vec<PageRange> {
    let mut ranges: Vec<PageRange> = Vec::new();
    for (index, epoch) in epochs.iter().enumerate() {
        // A page beyond the end of the content is left from a longer database.
        let kind = kinds.map(|kinds| kinds.get(index).copied().unwrap_or(Kind::BehindTheEnd));
        let number = index as u64 + 1;
        match ranges.last_mut() {
            Some(range) if range.epoch == *epoch && range.kind == kind => range.last = number,
            _ => ranges.push(PageRange {
                first: number,
                last: number,
                epoch: *epoch,
                kind,
            }),
        }
    }
    ranges
}

fn counts(ranges: &[PageRange]) -> Vec<PageCount> {
    let mut counts = BTreeMap::new();
    for range in ranges {
        *counts.entry((range.kind, range.epoch)).or_insert(0) += range.last - range.first + 1;
    }
    let count = |((kind, epoch), pages)| PageCount { kind, epoch, pages };
    counts.into_iter().map(count).collect()
}

/// The log and the journal beside a database, encrypted or plain.
///
/// # Errors
///
/// If one of them cannot be read.
pub(crate) fn side_files(
    path: &Path,
    page_size: u32,
) -> Result<(Option<SideFile>, Option<SideFile>), OpenError> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::File { path, source }
    };
    let (log, journal) = (beside(&path, "-wal"), beside(&path, "-journal"));
    Ok((
        side_file(&log, page_size, count_frames).map_err(failed(&log))?,
        side_file(&journal, page_size, count_records).map_err(failed(&journal))?,
    ))
}

/// What was found in a log or journal.
#[derive(Default)]
struct Found {
    has_header: bool,
    units: u64,
    commits: u64,
    epochs: BTreeMap<u32, u64>,
}

impl Found {
    fn add(&mut self, sealed: &[u8]) {
        self.units += 1;
        *self.epochs.entry(trailer_epoch(sealed)).or_default() += 1;
    }
}

fn side_file(
    path: &Path,
    page_size: u32,
    count: impl Fn(&mut File, u64, u32) -> io::Result<Found>,
) -> io::Result<Option<SideFile>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    let found = count(&mut file, size, page_size)?;
    let epoch = |(epoch, count)| EpochCount { epoch, count };
    Ok(Some(SideFile {
        size,
        has_header: found.has_header,
        units: found.units,
        commits: found.commits,
        epochs: found.epochs.into_iter().map(epoch).collect(),
    }))
}

fn count_frames(file: &mut File, size: u64, page_size: u32) -> io::Result<Found> {
    let mut found = Found::default();
    let mut header = [0; wal::HEADER_SIZE as usize];
    if size < wal::HEADER_SIZE {
        return Ok(found);
    }
    file.read_exact(&mut header)?;
    found.has_header = wal::log_header(&header).is_some();
    let mut frames = io::BufReader::with_capacity(CHUNK_SIZE, file);
    let mut frame = vec![0; wal::frame_size(page_size) as usize];
    while read_full(&mut frames, &mut frame)? == frame.len() {
        let (head, sealed) = frame.split_at(wal::FRAME_HEADER_SIZE);
        found.add(sealed);
        if wal::FrameHeader::try_from(head).is_ok_and(|header| wal::is_commit(&header)) {
            found.commits += 1;
        }
    }
    Ok(found)
}

/// A journal has segments: a header that fills a sector, then its records
/// (sqlite.org/fileformat2.html, section 3).
fn count_records(file: &mut File, size: u64, page_size: u32) -> io::Result<Found> {
    const COUNT_UNKNOWN: u32 = u32::MAX;
    let record_size = u64::from(page_size) + 8;
    let mut found = Found::default();
    let mut offset = 0;
    let mut record = vec![0; record_size as usize];
    while offset + journal::HEADER_FIELDS_SIZE as u64 <= size {
        let mut header = [0; journal::HEADER_FIELDS_SIZE];
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut header)?;
        if offset == 0 {
            journal::show_start(&mut header);
        }
        let field = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
        let (count, sector_size) = (field(8), u64::from(field(20)));
        if !header.starts_with(&journal::MAGIC) || !sector_size.is_power_of_two() {
            break;
        }
        found.has_header = true;
        offset += sector_size;
        let fitting = size.saturating_sub(offset) / record_size;
        let last_segment = count == COUNT_UNKNOWN || count == 0;
        let records = if last_segment {
            fitting
        } else {
            fitting.min(u64::from(count))
        };
        file.seek(SeekFrom::Start(offset))?;
        for _ in 0..records {
            file.read_exact(&mut record)?;
            found.add(&record[4..record.len() - 4]);
        }
        if last_segment {
            break;
        }
        offset = (offset + records * record_size).next_multiple_of(sector_size);
    }
    Ok(found)
}
