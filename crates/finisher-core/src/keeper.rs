//! The keeper: a shell between this process and the server that makes sure that nothing is left.
//!
//! 1. Only this process holds the other end of the keeper's standard input. When that closes, this
//!    process is gone or done with the server: the keeper ends the server at once, and removes its
//!    folder.
//! 2. The server dies when the keeper does, on Linux. Where the folder is removed while a server
//!    lives, it notices that within a minute, and ends.
//! 3. The keeper has a process group of its own, so that an interrupt at the terminal, or a kill of
//!    this process's group, does not reach it.
//! 4. The server's standard error ends here. It closes when the last process of the server has
//!    ended; what came through it is told only of a start that failed.
//! 5. Nothing of this process's environment reaches the server, where a key may be: only what says
//!    where programs, libraries and locales are.
//!
//! A shell is always there: programs that set up a server need it themselves.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::folder::{Owner, PrivateFolder};

/// Arguments: the folder, the command that makes and runs the server, its signal to end at once,
/// and arguments of that command. The command ends with the server in its place (`exec`), behind
/// `$end_with_keeper`.
const SCRIPT: &str = r#"
ulimit -c 0
umask 077
folder=$1
command=$2
signal=$3
shift 3
if setpriv --pdeathsig KILL true >/dev/null 2>&1; then
    end_with_keeper="setpriv --pdeathsig KILL"
else
    end_with_keeper=
fi
(
    eval "$command"
) </dev/null &
server=$!
trap '' HUP INT TERM
exec >/dev/null 2>&1
read -r nothing
kill -"$signal" "$server"
# While it starts it may not hear that, and what sets it up has children.
kill -TERM 0
wait "$server"
# A process that has not ended yet may add a file meanwhile.
rm -rf "$folder/data" || { sleep 1; rm -rf "$folder/data"; }
rm -rf "$folder"
"#;

/// Variables that say where something is.
const ENVIRONMENT: [&str; 6] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "ICU_DATA",
    "LOCPATH",
    "TZDIR",
];

/// What a server may say of why it does not start.
const SAID_MAX: usize = 4096;

/// A server that runs, or is starting, with its keeper. Both end when it is dropped.
#[derive(Debug)]
pub struct Keeper {
    life: Arc<Life>,
    /// Never written to.
    input: ChildStdin,
    /// Waits for both, and then lets the folder go.
    witness: JoinHandle<()>,
}

/// What is known of a server.
#[derive(Debug, Default)]
struct Life {
    is_over: AtomicBool,
    is_ready: AtomicBool,
    said: Mutex<Vec<u8>>,
}

/// What a server is started with.
pub struct Start<'a> {
    /// Who runs it.
    pub owner: &'a Owner,
    /// Commands of a shell that make the files of the server in `$folder/data` and then become the
    /// server.
    pub command: &'static str,
    /// The signal by which the server ends at once.
    pub signal: &'static str,
    /// The arguments of the command.
    pub arguments: Vec<OsString>,
    /// A folder of locales compiled by `localedef`. None: the system's.
    pub locales: Option<&'a Path>,
}

impl Keeper {
    /// Starts a server in a folder, with its keeper.
    ///
    /// # Errors
    /// The keeper cannot be started.
    pub fn start(folder: PrivateFolder, start: &Start<'_>) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "strongroom-finisher"])
            .arg(folder.path())
            .args([start.command, start.signal])
            .args(&start.arguments);
        command.env_clear().env("LC_ALL", "C");
        let kept = ENVIRONMENT.iter();
        command.envs(kept.filter_map(|name| Some((name, env::var_os(name)?))));
        command.envs(start.locales.map(|path| ("LOCPATH", path)));
        if start.owner.is_other {
            command.uid(start.owner.uid.as_raw());
            command.gid(start.owner.gid.as_raw());
        }
        let mut child = command
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let life = Arc::new(Life::default());
        let seen = Arc::clone(&life);
        let witness = thread::Builder::new()
            .name("finisher".to_owned())
            .spawn(move || attend(child, &seen, folder))?;
        Ok(Self {
            life,
            input,
            witness,
        })
    }

    /// Whether all processes of the server have ended.
    pub fn is_over(&self) -> bool {
        self.life.is_over.load(Ordering::Acquire)
    }

    /// The server is ready: what it says from now on is dropped.
    pub fn ready(&self) {
        self.life.is_ready.store(true, Ordering::Release);
        self.said_bytes().clear();
    }

    /// What the server said while it started.
    pub fn said(&self) -> String {
        let said = self.said_bytes();
        String::from_utf8_lossy(&said).trim().to_owned()
    }

    fn said_bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        let said = self.life.said.lock();
        said.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the server and its keeper, and waits for both. Blocks.
    pub fn end(self) {
        let Self { witness, input, .. } = self;
        drop(input);
        drop(witness.join());
    }
}

/// Reads what the server says, until its last process has ended, and then waits for its keeper.
fn attend(mut child: Child, life: &Life, folder: PrivateFolder) {
    let mut buffer = [0; 1024];
    while let Some(stderr) = &mut child.stderr {
        match stderr.read(&mut buffer) {
            Ok(0) => break,
            Ok(size) if !life.is_ready.load(Ordering::Acquire) => {
                let mut said = life.said.lock().unwrap_or_else(PoisonError::into_inner);
                let room = SAID_MAX.saturating_sub(said.len());
                said.extend_from_slice(&buffer[..size.min(room)]);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    life.is_over.store(true, Ordering::Release);
    drop(child.wait());
    drop(folder);
}
