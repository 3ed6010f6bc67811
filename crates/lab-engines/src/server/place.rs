//! The folder of a server, which only its user can enter, and its log.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{ServerError, at};

/// The folder of a server.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Only its user can enter it; everything else is inside.
    pub(super) private: PathBuf,
    log: PathBuf,
    account: Option<Account>,
}

/// The account that a server runs under if this process is root.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// `None` if this process is not root.
    pub(super) fn needed() -> Option<Self> {
        let uid = fs::metadata("/proc/self").map_or(1, |process| process.uid());
        (uid == 0).then(|| Self::nobody(&fs::read_to_string("/etc/passwd").unwrap_or_default()))
    }

    fn nobody(accounts: &str) -> Self {
        // The numbers on most systems.
        const USUAL: Account = Account {
            user: 65534,
            group: 65534,
        };
        let line = accounts.lines().find(|line| line.starts_with("nobody:"));
        let mut numbers = line.into_iter().flat_map(|line| line.split(':').skip(2));
        let mut next = || numbers.next()?.parse().ok();
        match (next(), next()) {
            (Some(user), Some(group)) => Self { user, group },
            _ => USUAL,
        }
    }
}

impl Place {
    /// The server's folder in the folder of an engine; it need not exist yet.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self {
            private: folder.join("server"),
            log: folder.join("server.log"),
            account: Account::needed(),
        }
    }

    /// Creates it, readable only by its user, and a password.
    pub(crate) fn make(&self) -> Result<(), ServerError> {
        let private = &self.private;
        let mut builder = fs::DirBuilder::new();
        builder
            .mode(0o700)
            .create(private)
            .map_err(|source| at(private, source))?;
        self.write(
            "password",
            &drawn_name().map_err(|source| at(private, source))?,
        )?;
        let Some(account) = self.account else {
            return Ok(());
        };
        self.open_the_way()?;
        chown(private, Some(account.user), Some(account.group))
            .map_err(|source| at(private, source))
    }

    /// Root's folders are often closed to others. The folder of the pass may be opened for passing
    /// through; no other folder is changed.
    fn open_the_way(&self) -> Result<(), ServerError> {
        const PASSING: u32 = 0o001;
        let whole = self
            .private
            .canonicalize()
            .map_err(|source| at(&self.private, source))?;
        for (folder, depth) in whole.ancestors().skip(1).zip(0..) {
            let mode = fs::metadata(folder)
                .map_err(|source| at(folder, source))?
                .mode();
            if mode & PASSING != 0 {
                continue;
            }
            if depth > 0 {
                let folder = folder.to_owned();
                return Err(ServerError::Unreachable { folder });
            }
            let mode = Permissions::from_mode(mode & 0o7777 | PASSING);
            fs::set_permissions(folder, mode).map_err(|source| at(folder, source))?;
        }
        Ok(())
    }

    /// A file or folder in the private folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.private.join(name)
    }

    /// The data folder: the initialiser makes it.
    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// The file where a server writes its process number, if told to.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.path("server.pid")
    }

    /// Writes a file that only the server can read.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, ServerError> {
        let path = self.path(name);
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path);
        let mut file = file.map_err(|source| at(&path, source))?;
        file.write_all(text.as_bytes())
            .map_err(|source| at(&path, source))?;
        if let Some(account) = self.account {
            chown(&path, Some(account.user), Some(account.group))
                .map_err(|source| at(&path, source))?;
        }
        Ok(path)
    }

    pub(crate) fn password(&self) -> Result<String, ServerError> {
        let path = self.path("password");
        fs::read_to_string(&path).map_err(|source| at(&path, source))
    }

    /// A command for a program of the product, run as the server's user, in the private folder,
    /// with its output in the log.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.private)
            .env("LC_ALL", "C")
            .env("HOME", &self.private)
            .env("TMPDIR", &self.private)
            .stdin(Stdio::null());
        if let Some(account) = self.account {
            command.uid(account.user).gid(account.group);
        }
        command
    }

    pub(super) fn spawn(&self, command: &mut Command) -> Result<Child, ServerError> {
        let program = PathBuf::from(command.get_program());
        let log = || {
            let mut options = File::options();
            let log = options.append(true).create(true).open(&self.log);
            log.map_err(|source| at(&self.log, source))
        };
        let started = command.stdout(log()?).stderr(log()?).spawn();
        started.map_err(|source| ServerError::Program { program, source })
    }

    /// Runs a program of the product to its end.
    pub(crate) fn run(&self, mut command: Command) -> Result<(), ServerError> {
        let program = PathBuf::from(command.get_program());
        let status = self.spawn(&mut command)?.wait();
        let status = status.map_err(|source| at(&program, source))?;
        if status.success() {
            return Ok(());
        }
        let said = self.last_words();
        Err(ServerError::Failed {
            program,
            status,
            said,
        })
    }

    /// Syncs the initialised files to disk, so that the system does not do it during a test. If the
    /// program is missing, this is skipped.
    pub(crate) fn settle(&self) {
        drop(Command::new("sync").arg("-f").arg(&self.private).status());
    }

    /// The relevant last lines of the log, as one line.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let words = last_words(&String::from_utf8_lossy(&log));
        // The log may then lack what matters.
        if self.disk_is_full() {
            return format!("{words} (the disk is full)");
        }
        words
    }

    fn disk_is_full(&self) -> bool {
        const SOME_BYTES: usize = 1 << 16;
        let path = self.path("is-the-disk-full");
        let written = fs::write(&path, vec![0; SOME_BYTES]);
        drop(fs::remove_file(&path));
        written.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull)
    }
}

/// Lines that report a problem, since some products end with general advice: the first of these,
/// which state the cause, and the last. If there are none, the last lines of the log.
fn last_words(log: &str) -> String {
    const LINES: usize = 2;
    const SIGNS: [&str; 8] = [
        "error",
        "fatal",
        "panic",
        "could not",
        "can't",
        "cannot",
        "no space",
        "refused",
    ];
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let is_telling = |line: &&&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    };
    let telling: Vec<&str> = lines.iter().filter(is_telling).copied().collect();
    let last = |lines: &[&str]| lines[lines.len().saturating_sub(LINES)..].join(" | ");
    match (lines.as_slice(), telling.as_slice()) {
        ([], _) => "nothing".to_owned(),
        (lines, []) => last(lines),
        (_, telling) if telling.len() <= 2 * LINES => telling.join(" | "),
        (_, telling) => format!("{} | … | {}", telling[..LINES].join(" | "), last(telling)),
    }
}

/// 32 random digits and letters.
pub(crate) fn drawn_name() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_relevant_ones() {
        let log = "starting\nERROR: No space left\n\nsee the manual\nand the mailing list\n";
        assert_eq!(last_words(log), "ERROR: No space left");
        assert_eq!(last_words("one\ntwo\n"), "one | two");
        assert_eq!(last_words(""), "nothing");
        let log = "error 1\nerror 2\nerror 3\nerror 4\nerror 5\n";
        assert_eq!(last_words(log), "error 1 | error 2 | … | error 4 | error 5");
    }

    #[test]
    fn nobody_is_found_among_the_accounts() {
        let accounts = "root:x:0:0::/:/bin/sh\nnobody:x:99:98:n:/:/bin/false\n";
        let account = Account::nobody(accounts);
        assert_eq!((account.user, account.group), (99, 98));
        assert_eq!(Account::nobody("").user, 65534);
    }
}
