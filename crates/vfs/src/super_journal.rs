//! The name of a super-journal at the end of a rollback journal.
//!
//! A transaction over several databases commits when SQLite deletes its super-journal
//! (sqlite.org/atomiccommit.html 5). Each database's journal ends with that name, and whoever plays
//! such a journal back deletes the super-journal when no journal needs it any more. The name is not
//! authenticated, so a forged name behind a genuine journal could delete any file. A name is
//! therefore accepted only if it has the form that SQLite gives it, and if the file, if it exists,
//! lists this journal. Otherwise SQLite is shown no name, and plays the journal back.

use crate::base::BaseFile;
use crate::base_vfs::SideName;
use crate::database::Database;
use crate::error::Outcome;
use page_codec::journal::MAGIC;

/// Bytes behind the name: length, checksum, magic.
const END_SIZE: u64 = 16;
/// SQLite's own limit for a name, in any VFS.
const NAME_SIZE_MAX: u64 = 4096;
/// More than the journal names of one transaction can take.
const CONTENT_SIZE_MAX: u64 = 1024 * 1024;

/// `-mj` and nine digits, of which the seventh is 9 (`vdbeCommit` in SQLite's sources).
fn has_form_of_super_journal(name: &[u8]) -> bool {
    const END: &[u8; 12] = b"-mj######9##";
    name.last_chunk::<12>().is_some_and(|end| {
        end.iter().zip(END).all(|(byte, form)| match form {
            b'#' => matches!(byte, b'0'..=b'9' | b'A'..=b'F'),
            _ => byte == form,
        })
    }) && !name.contains(&0)
}

impl Database {
    /// Whether the bytes at this offset end a super-journal's name that must be ignored.
    pub fn ends_forged_name(&self, base: BaseFile, offset: u64) -> Outcome<bool> {
        let end = offset + MAGIC.len() as u64;
        if base.size()? != end || end < END_SIZE {
            return Ok(false);
        }
        let mut length = [0; 4];
        base.read_to_end(&mut length, end - END_SIZE)?;
        let length = u64::from(u32::from_be_bytes(length));
        if length == 0 || length > NAME_SIZE_MAX || length > end - END_SIZE {
            // SQLite would not find a name there either.
            return Ok(false);
        }
        let mut name = vec![0; length as usize];
        base.read_to_end(&mut name, end - END_SIZE - length)?;
        if !has_form_of_super_journal(&name) {
            return Ok(true);
        }
        Ok(!self.is_listed_in(&SideName::of(&name))?)
    }

    /// Whether a super-journal lists this database's journal. A deleted one counts as listing it.
    fn is_listed_in(&self, super_journal: &SideName) -> Outcome<bool> {
        if !self.vfs.exists(super_journal)? {
            return Ok(true);
        }
        let file = self.vfs.open(super_journal, false)?;
        let size = file.base().size()?;
        if size > CONTENT_SIZE_MAX {
            return Ok(false);
        }
        let mut content = vec![0; size as usize];
        file.base().read_large(&mut content, 0)?;
        let journal_name = [self.identity.name.to_bytes(), b"-journal"].concat();
        Ok(content
            .split(|byte| *byte == 0)
            .any(|name| name == journal_name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_sqlites_form_are_taken() {
        for name in ["/a/b.db-mj0A1B2C9D3", "x-mjFFFFFF9FF"] {
            assert!(has_form_of_super_journal(name.as_bytes()), "{name}");
        }
        for name in [
            "/etc/passwd",
            "/a/b.db-mj0A1B2C8D3",
            "/a/b.db-mj0a1B2C9D3",
            "/a/b.db-mj0A1B2C9D3x",
            "mj0A1B2C9D3",
            "/etc/passwd\0-mj0A1B2C9D3",
            "",
        ] {
            assert!(!has_form_of_super_journal(name.as_bytes()), "{name:?}");
        }
    }
}
