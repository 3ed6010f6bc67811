//! Sources of keys: a file, a descriptor, the environment, a command.
//!
//! Every read is bounded, every buffer is wiped, and no error message contains what was read.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crypto::secret::{KEY_SIZE, Key, SecretBytes};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::key_file;
pub use crate::key_file::{ExposedKeyFile, Exposure, changeable, reachable};

/// The most bytes that are read from any source.
pub const SOURCE_SIZE_MAX: usize = 4 * 1024;

/// Time limit for a command, long enough for a person to type a passphrase.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);

/// A source that a key or passphrase is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file.
    File(PathBuf),
    /// A file descriptor that the caller of this process opened.
    Descriptor(i32),
    /// An environment variable.
    Environment(String),
    /// The standard output of a command, run by the system's shell.
    Command(String),
}

/// Why no key or passphrase could be read from a source.
#[derive(Debug, Error)]
pub enum KeySourceError {
    /// The given file name is itself a key.
    #[error(
        "what stands in place of the name of a key file is itself a key, and is not shown: put it \
         into a file that only you can read, and name that"
    )]
    KeyForName,
    /// The file could not be opened or read.
    #[error("cannot read the key file {path}: {source}; check the name and its permissions")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The descriptor could not be read.
    #[error(
        "cannot read file descriptor {descriptor}: {source}; open it in the calling shell, \
         for example with `{descriptor}<FILE`"
    )]
    Descriptor {
        /// The number.
        descriptor: i32,
        /// The system's error.
        source: io::Error,
    },
    /// The variable does not exist, or is not valid Unicode.
    #[error("the environment variable {name} is not set (or is not Unicode text); set it")]
    Environment {
        /// The variable.
        name: String,
    },
    /// The command could not be run or read.
    #[error("cannot run the key command: {source}")]
    CommandStart {
        /// The system's error.
        source: io::Error,
    },
    /// The command timed out.
    #[error(
        "the key command has not ended after {} seconds and was stopped; run it by hand to see \
         what it waits for", COMMAND_LIMIT.as_secs()
    )]
    CommandTimedOut,
    /// The command failed.
    #[error("the key command failed ({status}); its output is not used. Run it by hand to see why")]
    CommandFailed {
        /// Its exit status.
        status: std::process::ExitStatus,
    },
    /// The source has more bytes than any key or passphrase.
    #[error("{place} gives more than 4 KiB; that is no key. Check that it is the right one")]
    TooLong {
        /// The source, for the message.
        place: String,
    },
    /// The source has neither 32 bytes nor 64 hexadecimal digits.
    #[error(
        "{place} does not hold a key: 32 bytes or 64 hexadecimal digits are wanted, {size} bytes \
         were read. `strongroom key generate FILE` writes a new one; a passphrase is given by \
         --passphrase-file and the like"
    )]
    NotAKey {
        /// The source, for the message.
        place: String,
        /// The number of bytes read.
        size: usize,
    },
    /// The source is empty, or has nothing but a newline.
    #[error("{place} holds an empty passphrase; write one there")]
    EmptyPassphrase {
        /// The source, for the message.
        place: String,
    },
}

impl KeySource {
    /// Reads a 256-bit key: 32 bytes, or 64 hexadecimal digits with or without a newline.
    ///
    /// # Errors
    ///
    /// If the source cannot be read or does not hold a key.
    pub fn read_raw_key(&self) -> Result<Key, KeySourceError> {
        let bytes = self.read()?;
        parse_raw_key(&bytes).ok_or_else(|| KeySourceError::NotAKey {
            place: self.place(),
            size: bytes.len(),
        })
    }

    /// Reads a passphrase: the whole content without one trailing newline.
    ///
    /// # Errors
    ///
    /// If the source cannot be read or is empty.
    pub fn read_passphrase(&self) -> Result<SecretBytes, KeySourceError> {
        let bytes = self.read()?;
        let passphrase = without_line_end(&bytes);
        if passphrase.is_empty() {
            return Err(KeySourceError::EmptyPassphrase {
                place: self.place(),
            });
        }
        Ok(SecretBytes::new(passphrase.to_vec()))
    }

    /// A warning for the user if other users of this machine have access to the source.
    pub fn exposure(&self) -> Option<ExposedKeyFile> {
        match self {
            KeySource::File(path) => key_file::exposed(path),
            KeySource::Descriptor(_) | KeySource::Environment(_) | KeySource::Command(_) => None,
        }
    }

    fn place(&self) -> String {
        match self {
            KeySource::File(path) => path.display().to_string(),
            KeySource::Descriptor(descriptor) => format!("file descriptor {descriptor}"),
            KeySource::Environment(name) => format!("the environment variable {name}"),
            KeySource::Command(_) => "the key command".to_owned(),
        }
    }

    fn read(&self) -> Result<Zeroizing<Vec<u8>>, KeySourceError> {
        let bytes = match self {
            KeySource::File(path) => key_file::open_regular(path)
                .and_then(|mut file| read_bounded(&mut file))
                .map_err(|source| unreadable(path, source))?,
            KeySource::Descriptor(descriptor) => {
                let descriptor = *descriptor;
                File::open(format!("/dev/fd/{descriptor}"))
                    .and_then(|mut file| read_bounded(&mut file))
                    .map_err(|source| KeySourceError::Descriptor { descriptor, source })?
            }
            KeySource::Environment(name) => std::env::var(name)
                .map(|text| Zeroizing::new(text.into_bytes()))
                .map_err(|_| KeySourceError::Environment { name: name.clone() })?,
            KeySource::Command(command) => read_command(command, COMMAND_LIMIT)?,
        };
        if bytes.len() > SOURCE_SIZE_MAX {
            return Err(KeySourceError::TooLong {
                place: self.place(),
            });
        }
        Ok(bytes)
    }
}

/// The error for an unreadable file. The user may have given the key itself instead of a file name.
fn unreadable(path: &Path, source: io::Error) -> KeySourceError {
    let name = path.file_name().map(|name| name.to_string_lossy());
    // Only hexadecimal digits count: any name of 32 bytes could also be a raw key.
    let is_key =
        |name: &str| name.len() == 2 * KEY_SIZE && parse_raw_key(name.as_bytes()).is_some();
    if name.is_some_and(|name| is_key(&name)) {
        return KeySourceError::KeyForName;
    }
    KeySourceError::File {
        path: path.to_owned(),
        source,
    }
}

/// The key, if `bytes` are 32 bytes or 64 hexadecimal digits.
pub fn parse_raw_key(bytes: &[u8]) -> Option<Key> {
    if bytes.len() == KEY_SIZE {
        return Key::from_slice(bytes);
    }
    let digits = without_line_end(bytes);
    if digits.len() != 2 * KEY_SIZE {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_SIZE]);
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Key::from_slice(&key[..])
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Reads into a buffer that never grows, so that no copy is left in freed memory.
fn read_bounded(reader: &mut impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; SOURCE_SIZE_MAX + 1]);
    let mut size = 0;
    while size < bytes.len() {
        match reader.read(&mut bytes[size..]) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(size);
    Ok(bytes)
}

fn read_command(command: &str, limit: Duration) -> Result<Zeroizing<Vec<u8>>, KeySourceError> {
    let failed_to_start = |source| KeySourceError::CommandStart { source };
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let mut child = Command::new(shell)
        .args([flag, command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed_to_start)?;
    let Some(output) = read_output(&mut child, limit) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(KeySourceError::CommandTimedOut);
    };
    let status = child.wait().map_err(failed_to_start)?;
    let output = output.map_err(failed_to_start)?;
    // A command that was cut off while writing also fails, so the length is checked first.
    if output.len() <= SOURCE_SIZE_MAX && !status.success() {
        return Err(KeySourceError::CommandFailed { status });
    }
    Ok(output)
}

/// Reads the output of a command until it closes its output; `None` after the time limit. In that
/// case the reading thread ends when the processes that the command started have exited.
fn read_output(child: &mut Child, limit: Duration) -> Option<io::Result<Zeroizing<Vec<u8>>>> {
    let mut pipe = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // The receiver may have timed out.
        let _ = sender.send(read_bounded(&mut pipe));
    });
    receiver.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F";

    /// A separate file for each test, removed at the end.
    struct TemporaryFile(PathBuf);

    impl TemporaryFile {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let name = format!("strongroom-source-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::write(&path, bytes).unwrap();
            TemporaryFile(path)
        }

        fn source(&self) -> KeySource {
            KeySource::File(self.0.clone())
        }
    }

    impl Drop for TemporaryFile {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn expected_key() -> Vec<u8> {
        (0..32).collect()
    }

    #[test]
    fn a_key_given_as_file_name_is_not_shown() {
        let key = "5a".repeat(32);
        let source = KeySource::File(Path::new("/etc").join(&key));
        let error = source.read_raw_key().expect_err("no such file");
        assert!(matches!(error, KeySourceError::KeyForName));
        assert!(!error.to_string().contains("5a5a"), "{error}");
        let name = "columns-of-the-customers-now.key";
        assert_eq!(name.len(), KEY_SIZE);
        let source = KeySource::File(Path::new("/etc").join(name));
        let error = source.read_raw_key().expect_err("no such file");
        assert!(error.to_string().contains(name), "{error}");
    }

    #[test]
    fn a_key_file_holds_bytes_or_digits() {
        let contents: [Vec<u8>; 4] = [
            expected_key(),
            HEX.into(),
            format!("{HEX}\n").into(),
            format!("{HEX}\r\n").into(),
        ];
        for (index, bytes) in contents.iter().enumerate() {
            let file = TemporaryFile::new(&format!("good-{index}"), bytes);
            let key = file.source().read_raw_key().unwrap();
            assert_eq!(key.expose()[..], expected_key()[..]);
        }
    }

    #[test]
    fn invalid_keys_are_refused_without_repeating_them() {
        for (index, text) in [
            "",
            "secretword",
            &HEX[..63],
            &format!("{HEX}0"),
            &HEX.replace('0', "g"),
        ]
        .iter()
        .enumerate()
        {
            let file = TemporaryFile::new(&format!("bad-{index}"), text.as_bytes());
            let error = file.source().read_raw_key().unwrap_err();
            assert!(matches!(error, KeySourceError::NotAKey { .. }));
            assert!(!error.to_string().contains("secretword"));
        }
    }

    #[test]
    fn one_line_end_of_a_passphrase_goes() {
        let file = TemporaryFile::new("passphrase", b" two words \n\n");
        let passphrase = file.source().read_passphrase().unwrap();
        assert_eq!(passphrase.expose(), b" two words \n");
        let empty = TemporaryFile::new("empty", b"\n");
        let error = empty.source().read_passphrase().unwrap_err();
        assert!(matches!(error, KeySourceError::EmptyPassphrase { .. }));
    }

    #[test]
    fn an_endless_source_is_cut_off() {
        let file = TemporaryFile::new("long", &[b'x'; SOURCE_SIZE_MAX + 1]);
        let error = file.source().read_passphrase().unwrap_err();
        assert!(matches!(error, KeySourceError::TooLong { .. }));
        if cfg!(unix) {
            let command = KeySource::Command("cat /dev/zero".to_owned());
            let error = command.read_passphrase().unwrap_err();
            assert!(matches!(error, KeySourceError::TooLong { .. }));
        }
    }

    #[test]
    fn a_command_gives_its_output_only_when_it_succeeds() {
        let good = KeySource::Command("echo correct horse".to_owned());
        assert_eq!(good.read_passphrase().unwrap().expose(), b"correct horse");
        let waiting = read_command("sleep 60; echo correct horse", Duration::from_millis(50));
        assert!(matches!(waiting, Err(KeySourceError::CommandTimedOut)));
        let bad = KeySource::Command("echo correct horse; exit 3".to_owned());
        let error = bad.read_passphrase().unwrap_err();
        assert!(matches!(error, KeySourceError::CommandFailed { .. }));
        assert!(!error.to_string().contains("horse"));
    }

    #[test]
    fn a_missing_source_is_named() {
        let file = KeySource::File(PathBuf::from("/nowhere/key"));
        assert!(
            file.read_raw_key()
                .unwrap_err()
                .to_string()
                .contains("/nowhere/key")
        );
        let variable = KeySource::Environment("STRONGROOM_NO_SUCH_VARIABLE".to_owned());
        let message = variable.read_raw_key().unwrap_err().to_string();
        assert!(message.contains("STRONGROOM_NO_SUCH_VARIABLE"));
        let descriptor = KeySource::Descriptor(987);
        assert!(
            descriptor
                .read_raw_key()
                .unwrap_err()
                .to_string()
                .contains("987")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_descriptor_is_read() {
        use std::os::fd::AsRawFd;
        let file = TemporaryFile::new("descriptor", HEX.as_bytes());
        let open = File::open(&file.0).unwrap();
        let key = KeySource::Descriptor(open.as_raw_fd())
            .read_raw_key()
            .unwrap();
        assert_eq!(key.expose()[..], expected_key()[..]);
    }
}
