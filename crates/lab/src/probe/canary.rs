//! Searches every file of a folder for a token.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

/// The files searched, and those that contain the token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileScan {
    /// Number of files read.
    pub files: usize,
    /// Their total size.
    pub bytes: u64,
    /// Files that contain the token, by path relative to the folder.
    pub found_in: Vec<String>,
}

/// Bytes per read.
const CHUNK_BYTES: usize = 1 << 20;

/// Searches all regular files in the folder and its subfolders; skips a file that disappears
/// meanwhile.
///
/// # Errors
///
/// If a file or folder cannot be read.
pub fn look(folder: &Path, token: &[u8]) -> io::Result<FileScan> {
    let mut seen = FileScan::default();
    let finder = Finder::new(token);
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        let Some(entries) = unless_gone(fs::read_dir(&inner))? else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file()
                && let Some(file) = unless_gone(File::open(entry.path()))?
            {
                let (bytes, found) = search(file, &finder)?;
                seen.files += 1;
                seen.bytes += bytes;
                if found {
                    let path = entry.path();
                    let path = path.strip_prefix(folder).unwrap_or(&path);
                    seen.found_in.push(path.display().to_string());
                }
            }
        }
    }
    seen.found_in.sort();
    Ok(seen)
}

fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The size of the file, and whether it contains the token. One that goes on with an underscore is
/// a name of the server's own: MySQL keeps `…_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP` in its files.
/// The end of each chunk is kept for the next search, since it may be the beginning of the token,
/// or what follows it is still to come.
fn search(mut file: File, finder: &Finder<'_>) -> io::Result<(u64, bool)> {
    let size = finder.needle().len();
    let mut chunk = vec![0; CHUNK_BYTES + size];
    let (mut kept, mut total, mut found) = (0, 0, false);
    loop {
        let count = file.read(&mut chunk[kept..])?;
        if count == 0 {
            let is_last = size > 0 && chunk[..kept].ends_with(finder.needle());
            return Ok((total, found || is_last));
        }
        total += count as u64;
        let filled = kept + count;
        let whole = &chunk[..filled];
        found = found
            || finder.find_iter(whole).any(|place| {
                let next = whole.get(place + size);
                next.is_some_and(|next| *next != b'_')
            });
        let keep = size.min(filled);
        chunk.copy_within(filled - keep..filled, 0);
        kept = keep;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_in_folders_and_across_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let token = b"sixteen letters!";
        fs::create_dir(folder.path().join("inner")).unwrap();
        let mut text = vec![b'x'; CHUNK_BYTES + 7];
        text.extend_from_slice(token);
        text.extend(vec![b'y'; 100]);
        fs::write(folder.path().join("inner/long"), &text).unwrap();
        fs::write(folder.path().join("short"), &token[1..]).unwrap();
        fs::write(folder.path().join("empty"), b"").unwrap();
        let seen = look(folder.path(), token).unwrap();
        assert_eq!(seen.found_in, ["inner/long"]);
        assert_eq!(seen.files, 3);
        assert_eq!(seen.bytes, text.len() as u64 + 15);
        for place in [0, 1, 15, 16, 17] {
            let mut text = vec![b'x'; CHUNK_BYTES - place];
            text.extend_from_slice(token);
            fs::write(folder.path().join("inner/long"), &text).unwrap();
            assert_eq!(look(folder.path(), token).unwrap().found_in.len(), 1);
        }
    }

    #[test]
    fn names_of_the_server_are_no_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let found = |text: &[u8]| {
            fs::write(folder.path().join("file"), text).unwrap();
            !look(folder.path(), b"ORIGINAL")
                .unwrap()
                .found_in
                .is_empty()
        };
        assert!(!found(b"LAST_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP"));
        assert!(found(b"ORIGINAL_COMMIT, and xyORIGINALz"));
        assert!(found(b"it ends with ORIGINAL"));
        for place in [0, 7, 8, 9] {
            let mut text = vec![b'x'; CHUNK_BYTES - place];
            text.extend_from_slice(b"ORIGINAL_");
            assert!(!found(&text), "{place}");
        }
    }

    #[test]
    fn a_missing_folder_contains_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let seen = look(&folder.path().join("gone"), b"token").unwrap();
        assert_eq!(seen, FileScan::default());
    }
}
