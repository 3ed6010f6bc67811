//! Diagnosis of a file: what it is, what is wrong with it and what to do. Works as far as possible
//! without a key, and changes nothing.

mod finding;
mod mounts;

pub use finding::{Finding, Weight, Word};

use crate::KeyToken;
use crate::database::{FileKind, OpenError, file_kind};
use crate::first_bytes::first_bytes;
use crate::folder::is_unfinished_copy;
use crate::import::KEPT;
use crate::inspect::{Inspection, public_part, side_files};
use crate::progress::Progress;
use crate::replace::{beside, folder_of};
use crate::verify::{VerifyError, VerifyOptions, verify};
use keyring::source::{Exposure, changeable, reachable};
use page_codec::header::{HeaderError, MAGIC, REGION_SIZE, SLOT_COUNT, UNFINISHED};
use std::path::{Path, PathBuf};

/// What kind of file was diagnosed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// There is no file.
    Missing,
    /// An empty file, which SQLite treats as a new database.
    Empty,
    /// A plain SQLite database.
    Plain {
        /// Bytes of a page.
        page_size: u32,
        /// Bytes of the file.
        file_size: u64,
    },
    /// An encrypted database.
    Encrypted(Box<Inspection>),
    /// A database of Strongroom whose header cannot be used.
    Unusable,
    /// Something else.
    Unknown,
}

/// The result of a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// What it is.
    pub what: What,
    /// What the owner should know, the worst first.
    pub findings: Vec<Finding>,
    /// The number of pages opened, if a key was given.
    pub pages_checked: Option<u64>,
}

impl Diagnosis {
    /// Whether the kind of the file is certain.
    pub fn is_certain(&self) -> bool {
        !matches!(self.what, What::Missing | What::Unknown)
    }

    /// How many problems there are.
    pub fn problems(&self) -> usize {
        let is_problem = |finding: &&Finding| finding.weight() == Weight::Problem;
        self.findings.iter().filter(is_problem).count()
    }
}

/// Diagnoses a file and the files beside it. With a key, pages are opened as well.
///
/// Opens and closes descriptors of its own: not for a process that has the database open.
///
/// # Errors
///
/// If the file cannot be read, or its pages cannot be checked.
pub fn diagnose(
    path: &Path,
    token: Option<&KeyToken>,
    progress: &Progress,
) -> Result<Diagnosis, VerifyError> {
    let mut patient = Patient {
        path,
        findings: Vec::new(),
    };
    let what = patient.look()?;
    patient.look_around(&what)?;
    let pages_checked = match (&what, token) {
        (What::Encrypted(_), Some(token)) => patient.check_pages(token, progress)?,
        _ => None,
    };
    let mut findings = patient.findings;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight()));
    Ok(Diagnosis {
        what,
        findings,
        pages_checked,
    })
}

/// The file being diagnosed, and the findings so far.
struct Patient<'a> {
    path: &'a Path,
    findings: Vec<Finding>,
}

impl Patient<'_> {
    fn word(&self) -> Word {
        Word::from(self.path)
    }

    fn look(&mut self) -> Result<What, OpenError> {
        Ok(match file_kind(self.path)? {
            FileKind::Missing => What::Missing,
            FileKind::Empty => What::Empty,
            FileKind::Plain => self.look_at_plain()?,
            FileKind::Encrypted(region) => {
                let inspection = public_part(&region, self.size()?);
                self.look_at_header(&inspection);
                self.look_at_size(&inspection);
                What::Encrypted(Box::new(inspection))
            }
            FileKind::Other(HeaderError::NotStrongroom) => self.look_at_unknown()?,
            FileKind::Other(HeaderError::Damaged) if self.size()? <= REGION_SIZE as u64 => {
                // The power failed while the first header was written.
                self.findings.push(Finding::NeverFinished(self.word()));
                What::Unusable
            }
            FileKind::Other(error) => {
                self.findings.push(Finding::Header(error));
                What::Unusable
            }
        })
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> OpenError {
        let path = self.path.to_owned();
        |source| OpenError::File { path, source }
    }

    fn size(&self) -> Result<u64, OpenError> {
        let metadata = std::fs::metadata(self.path).map_err(self.failed())?;
        Ok(metadata.len())
    }

    fn beginning(&self) -> Result<Vec<u8>, OpenError> {
        first_bytes(self.path, REGION_SIZE).map_err(self.failed())
    }

    /// Offsets are those of <https://www.sqlite.org/fileformat2.html>, section 1.3.
    fn look_at_plain(&mut self) -> Result<What, OpenError> {
        let beginning = self.beginning()?;
        let file_size = self.size()?;
        let number = |offset: usize| {
            let bytes = beginning.get(offset..offset + 4)?.try_into().ok()?;
            Some(u32::from_be_bytes(bytes))
        };
        // 1 stands for 65,536.
        let page_size = match beginning.get(16..18) {
            Some([0, 1]) => 65_536,
            Some([high, low]) => u32::from(u16::from_be_bytes([*high, *low])),
            _ => 0,
        };
        // The page count is valid only if the two change counters agree.
        let pages = number(28).filter(|_| number(24).is_some() && number(24) == number(92));
        let told = match pages {
            Some(pages) => u64::from(pages) * u64::from(page_size),
            None => file_size.next_multiple_of(u64::from(page_size.max(1))),
        };
        if file_size < told {
            let found = file_size;
            self.findings.push(Finding::PlainCut { found, told });
        }
        Ok(What::Plain {
            page_size,
            file_size,
        })
    }

    fn look_at_header(&mut self, inspection: &Inspection) {
        let file = self.word();
        for (index, intact) in inspection.copies_intact.iter().enumerate() {
            if !intact {
                self.findings.push(Finding::HeaderCopy {
                    number: index + 1,
                    file: file.clone(),
                });
            }
        }
        if inspection.rotating_from.is_some() {
            self.findings.push(Finding::Rotating(file.clone()));
        }
        match inspection.slots.len() {
            1 => self.findings.push(Finding::OneKey(file)),
            SLOT_COUNT => self.findings.push(Finding::NoFreeSlot(file)),
            _ => {}
        }
    }

    fn look_at_size(&mut self, inspection: &Inspection) {
        let page_size = u64::from(inspection.page_size);
        let body = inspection.file_size.saturating_sub(REGION_SIZE as u64);
        let is_unfinished = inspection.may_ignore & UNFINISHED != 0;
        match (body, body % page_size) {
            (0, _) if is_unfinished => self.findings.push(Finding::NeverFinished(self.word())),
            (0, _) => self.findings.push(Finding::NoPages),
            (_, 0) => {}
            (_, cut_size) => self.findings.push(Finding::CutPage {
                page: body / page_size + 1,
                cut_size,
                file: self.word(),
            }),
        }
    }

    fn look_at_unknown(&mut self) -> Result<What, OpenError> {
        let beginning = self.beginning()?;
        // The magic up to the carriage return; the rest is what a text-mode transfer changes.
        let name = MAGIC.split(|byte| *byte == b'\r').next().unwrap_or(&MAGIC);
        if beginning.starts_with(name) {
            self.findings.push(Finding::TextTransfer);
            return Ok(What::Unusable);
        }
        let is_whole = self.size()? % SECTOR_SIZE == 0;
        self.findings
            .push(match is_whole && looks_random(&beginning) {
                true => Finding::Random(self.word()),
                false => Finding::NoDatabase,
            });
        Ok(What::Unknown)
    }

    /// Examines the files beside it and the file system.
    fn look_around(&mut self, what: &What) -> Result<(), OpenError> {
        let page_size = match what {
            What::Encrypted(inspection) => inspection.page_size,
            What::Plain { page_size, .. } if is_page_size(*page_size) => *page_size,
            What::Missing | What::Empty => SMALLEST_PAGE_SIZE,
            What::Plain { .. } | What::Unusable | What::Unknown => return Ok(()),
        };
        self.look_at_side_files(what, page_size)?;
        self.look_for_leftovers();
        if *what == What::Missing {
            return Ok(());
        }
        self.look_at_permissions(what);
        if let Some(mount) = mounts::network_mount(self.path) {
            self.findings.push(Finding::Network {
                kind: mount.kind,
                place: Word::from(mount.place.as_path()),
                file: self.word(),
            });
        }
        Ok(())
    }

    fn look_at_side_files(&mut self, what: &What, page_size: u32) -> Result<(), OpenError> {
        let (log, journal) = side_files(self.path, page_size)?;
        let name = |suffix| Word::from(beside(self.path, suffix).as_path());
        let (log_name, journal_name) = (name("-wal"), name("-journal"));
        let file = self.word();
        let is_there = !matches!(what, What::Missing | What::Empty);
        let orphan = |side| Finding::Orphan {
            side,
            file: file.clone(),
        };
        if let Some(log) = log.filter(|log| log.has_header && log.units > 0) {
            match (is_there, log.commits) {
                (false, _) => self.findings.push(orphan(log_name)),
                (true, 0) => {}
                (true, commits) => self.findings.push(Finding::Log {
                    log: log_name,
                    commits,
                    file: file.clone(),
                }),
            }
        }
        if journal.is_some_and(|journal| journal.has_header) {
            self.findings.push(match what {
                What::Missing => orphan(journal_name),
                _ => Finding::Journal {
                    journal: journal_name,
                    file,
                },
            });
        }
        Ok(())
    }

    fn look_for_leftovers(&mut self) {
        let Some(name) = self.path.file_name().map(|name| name.to_string_lossy()) else {
            return;
        };
        let folder = folder_of(self.path);
        // A folder that cannot be listed has no findings.
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut copies: Vec<PathBuf> = entries
            .filter(|entry| is_unfinished_copy(&entry.file_name().to_string_lossy(), &name))
            .map(|entry| self.path.with_file_name(entry.file_name()))
            .collect();
        copies.sort_unstable();
        let unfinished = |path: &PathBuf| Finding::UnfinishedCopy(Word::from(path.as_path()));
        self.findings.extend(copies.iter().map(unfinished));
        let original = beside(self.path, KEPT);
        if original.symlink_metadata().is_ok() {
            self.findings
                .push(Finding::KeptOriginal(Word::from(original.as_path())));
        }
    }

    /// Whoever can read an encrypted file gets ciphertext and can guess passphrases; whoever can
    /// change any file can destroy it.
    fn look_at_permissions(&mut self, what: &What) {
        let is_sealed = matches!(what, What::Encrypted(_));
        let exposure = changeable(self.path).or_else(|| reachable(self.path));
        match exposure {
            Some(Exposure::Readable { mode }) if is_sealed => {
                let file = self.word();
                self.findings.push(Finding::Copyable { mode, file });
            }
            Some(exposure) => self.findings.push(Finding::Exposed(exposure)),
            None => {}
        }
    }

    fn check_pages(
        &mut self,
        token: &KeyToken,
        progress: &Progress,
    ) -> Result<Option<u64>, VerifyError> {
        let report = match verify(self.path, token, VerifyOptions::default(), progress) {
            Err(VerifyError::Open(OpenError::WrongKey { message, .. })) => {
                self.findings.push(Finding::WrongKey(message));
                return Ok(None);
            }
            // The problem is already among the findings.
            Err(VerifyError::Open(OpenError::Unusable { .. })) => return Ok(None),
            other => other?,
        };
        if let Some(first) = report.bad.first() {
            self.findings.push(Finding::BadPages {
                count: report.bad.len(),
                checked: report.checked,
                first: first.page,
                file: self.word(),
            });
        }
        if report.pages_missing > 0 {
            self.findings
                .push(Finding::PagesMissing(report.pages_missing));
        }
        match report.log.map(|log| log.bad.len()) {
            None | Some(0) => {}
            Some(bad) => self.findings.push(Finding::BadFrames(bad)),
        }
        if let Some(unchecked) = report.unchecked {
            self.findings.push(Finding::Unchecked(unchecked));
        }
        Ok(Some(report.checked))
    }
}

/// Sizes of databases of every kind are multiples of this.
const SECTOR_SIZE: u64 = 512;
/// Small enough to count the frames of a log whose database is gone.
const SMALLEST_PAGE_SIZE: u32 = 512;

fn is_page_size(size: u32) -> bool {
    page_codec::header::is_page_size(size)
}

/// Whether the bytes could be ciphertext: their entropy is near 8 bits per byte, like that of
/// random ones.
fn looks_random(bytes: &[u8]) -> bool {
    const ENTROPY_BITS_MIN: f64 = 7.5;
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let size = bytes.len() as f64;
    let share = |count: &u32| f64::from(*count) / size;
    let shares = counts.iter().filter(|count| **count > 0).map(share);
    let entropy_bits: f64 = shares.map(|share| -share * share.log2()).sum();
    entropy_bits > ENTROPY_BITS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphertext_looks_random_and_text_does_not() {
        let random: Vec<u8> = (0..32)
            .flat_map(|_| keyring::random_array::<32>().unwrap())
            .collect();
        assert!(looks_random(&random));
        assert!(!looks_random(
            &b"a text of some words, again and again. ".repeat(50)
        ));
        assert!(!looks_random(&[0; 4096]));
        assert!(!looks_random(&[]));
    }
}
