//! Findings of a diagnosis, with messages that say what to do.

use keyring::source::Exposure;
use page_codec::header::{HeaderError, SLOT_COUNT};
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Good to know; nothing is wrong.
    Advice,
    /// Something is wrong.
    Problem,
}

/// A path, quoted for a command line if needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(PathBuf);

impl From<&Path> for Word {
    fn from(path: &Path) -> Self {
        Word(path.to_owned())
    }
}

impl fmt::Display for Word {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.display().to_string();
        let is_plain = |one: char| one.is_alphanumeric() || "/._-+:,@\\".contains(one);
        if !text.is_empty() && text.chars().all(is_plain) {
            formatter.write_str(&text)
        } else {
            // POSIX.1-2024, XCU 2.2.2
            write!(formatter, "'{}'", text.replace('\'', "'\\''"))
        }
    }
}

/// A finding about a file, with the command that fixes it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Finding {
    /// The first bytes cannot be used.
    #[error("{0}")]
    Header(HeaderError),
    /// A text-mode transfer has changed line endings.
    #[error(
        "the file went through a transfer that changes line ends, as FTP in text mode does, and is \
         spoilt; transfer it again in binary mode"
    )]
    TextTransfer,
    /// One of the two copies of the header is damaged.
    #[error(
        "copy {number} of the header is damaged, and the other one is in use; `strongroom key \
         change {file}` writes it anew, as each change of a key does"
    )]
    HeaderCopy {
        /// Which, from 1.
        number: usize,
        /// The file.
        file: Word,
    },
    /// There is a header and no pages.
    #[error(
        "the file ends behind its header: all its pages were cut off; restore it from a backup"
    )]
    NoPages,
    /// The creating transaction did not complete.
    #[error(
        "the database was never finished, and holds nothing: whoever made it stopped before the \
         first commit; `rm {0}` removes it, and whoever opens it makes it anew"
    )]
    NeverFinished(Word),
    /// The size is not a multiple of the page size.
    #[error(
        "the file ends {cut_size} bytes into page {page}: it was cut, or copied while it was \
         written; restore it from a backup, and before that see by `strongroom verify {file}` \
         which pages are left"
    )]
    CutPage {
        /// The page, from 1.
        page: u64,
        /// How many bytes of it exist.
        cut_size: u64,
        /// The file.
        file: Word,
    },
    /// The same for a plain database.
    #[error(
        "the file has {found} bytes, and {told} by its header: it was cut, or copied while it was \
         written; restore it from a backup"
    )]
    PlainCut {
        /// Its size.
        found: u64,
        /// The size according to its header.
        told: u64,
    },
    /// A rotation of the data key is not finished.
    #[error(
        "a change of the data key is not finished, and pages under the former one remain; \
         `strongroom rekey {0}` finishes it"
    )]
    Rotating(Word),
    /// A hot journal.
    #[error(
        "{journal} holds a transaction that is under way just now, or was cut off: the database \
         needs it, so do not remove it; if no program has the database open, `strongroom shell \
         {file} .tables` rolls the transaction back"
    )]
    Journal {
        /// The journal.
        journal: Word,
        /// The database.
        file: Word,
    },
    /// A log with content.
    #[error(
        "{log} belongs to the database and holds {commits} finished transaction{}: whoever copies \
         or moves the file alone loses them; `strongroom shell {file} 'PRAGMA \
         wal_checkpoint(TRUNCATE)'` brings them into the file", if *commits == 1 { "" } else { "s" }
    )]
    Log {
        /// The log.
        log: Word,
        /// The number of transactions in it.
        commits: u64,
        /// The database.
        file: Word,
    },
    /// A log or journal without its database.
    #[error(
        "{side} holds content of a database that is not in {file}: the database was removed, \
         moved or emptied without it; put it back there before anything opens {file}, or remove \
         {side}"
    )]
    Orphan {
        /// The log or journal.
        side: Word,
        /// The database.
        file: Word,
    },
    /// An unfinished copy.
    #[error(
        "{0} is left of a conversion or backup that did not end; if none is under way, `rm -r {0}` \
         removes it"
    )]
    UnfinishedCopy(Word),
    /// The original of an import in place.
    #[error(
        "{0} is what the file was before it was imported, not sealed by Strongroom; when it is no \
         longer needed, `rm {0}` removes it"
    )]
    KeptOriginal(Word),
    /// A plain database that other users can access, or any database that they can change.
    #[error("the file {0}")]
    Exposed(Exposure),
    /// An encrypted database that others can read.
    #[error(
        "other users of this machine can copy the file (mode {mode:03o}) and try passphrases on \
         the copy; `chmod 600 {file}` stops that"
    )]
    Copyable {
        /// Its permissions.
        mode: u32,
        /// The file.
        file: Word,
    },
    /// Only one key opens the file.
    #[error(
        "one key alone opens the file, and if that is lost nobody can recover it; `strongroom key \
         add {0}` adds another one to keep elsewhere"
    )]
    OneKey(Word),
    /// No slot is free.
    #[error(
        "all {count} key slots are in use; before a key can be added `strongroom key remove {0} \
         SLOT` must free one", count = SLOT_COUNT
    )]
    NoFreeSlot(Word),
    /// The file is on a network file system.
    #[error(
        "the file is on a network file system ({kind} at {place}), where locks often do not hold \
         between machines and a failing server ends programs that map the file; keep it on a local \
         disk: `strongroom backup {file} COPY`"
    )]
    Network {
        /// The type of the file system.
        kind: String,
        /// Its mount point.
        place: Word,
        /// The file.
        file: Word,
    },
    /// Not a database of SQLite or Strongroom, but encrypted or compressed.
    #[error(
        "the content is encrypted by another program, or compressed; if it is a database of \
         SQLCipher, `strongroom import --from sqlcipher {0} COPY` makes an encrypted copy"
    )]
    Random(Word),
    /// Another kind of file.
    #[error(
        "the content is neither a database of SQLite or Strongroom nor encrypted; check the name"
    )]
    NoDatabase,
    /// The key does not open the file.
    #[error("{0}; check which key it is: `strongroom key list` shows the kinds")]
    WrongKey(String),
    /// Pages do not open.
    #[error(
        "{count} of {checked} pages do not open, the first is page {first}; restore the file from \
         a backup; `strongroom verify {file}` lists them"
    )]
    BadPages {
        /// How many do not open.
        count: usize,
        /// How many were checked.
        checked: u64,
        /// The first that does not open.
        first: u64,
        /// The file.
        file: Word,
    },
    /// Pages are missing.
    #[error("{0} pages are missing at the end: the file was cut; restore it from a backup")]
    PagesMissing(u64),
    /// Frames of the log do not open.
    #[error(
        "{0} finished frames of the log do not open: it was damaged or altered; restore the file \
         and its log from a backup"
    )]
    BadFrames(usize),
    /// Something could not be checked.
    #[error("not checked: {0}")]
    Unchecked(String),
}

impl Finding {
    /// The severity.
    pub fn weight(&self) -> Weight {
        match self {
            Finding::Log { .. }
            | Finding::KeptOriginal(_)
            | Finding::Copyable { .. }
            | Finding::OneKey(_)
            | Finding::NoFreeSlot(_)
            | Finding::Unchecked(_) => Weight::Advice,
            Finding::Header(_)
            | Finding::TextTransfer
            | Finding::HeaderCopy { .. }
            | Finding::NoPages
            | Finding::NeverFinished(_)
            | Finding::CutPage { .. }
            | Finding::PlainCut { .. }
            | Finding::Rotating(_)
            | Finding::Journal { .. }
            | Finding::Orphan { .. }
            | Finding::UnfinishedCopy(_)
            | Finding::Exposed(_)
            | Finding::Network { .. }
            | Finding::Random(_)
            | Finding::NoDatabase
            | Finding::WrongKey(_)
            | Finding::BadPages { .. }
            | Finding::PagesMissing(_)
            | Finding::BadFrames(_) => Weight::Problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_command_line() {
        let word = |path: &str| Word::from(Path::new(path)).to_string();
        assert_eq!(word("/a/b-c.db"), "/a/b-c.db");
        assert_eq!(word("my file"), "'my file'");
        assert_eq!(word("it's"), "'it'\\''s'");
        assert_eq!(word("$(x)"), "'$(x)'");
    }
}
