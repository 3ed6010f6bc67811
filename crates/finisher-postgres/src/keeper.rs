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
//! A shell is always there: `initdb` itself needs it.

use std::env;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::folder::{Owner, PrivateFolder};

/// Arguments: the folder, the folder of the programs, options of the server.
const SCRIPT: &str = r#"
ulimit -c 0
umask 077
folder=$1
programs=$2
shift 2
if setpriv --pdeathsig KILL true >/dev/null 2>&1; then
    end_with_keeper="setpriv --pdeathsig KILL"
else
    end_with_keeper=
fi
(
    "$programs/initdb" --pgdata="$folder/data" --username=strongroom_owner --encoding=UTF8 \
        --locale=C --auth-local=peer --auth-host=reject --no-sync --wal-segsize=1 >/dev/null &&
        exec $end_with_keeper "$programs/postgres" -D "$folder/data" "$@"
) </dev/null &
server=$!
trap '' HUP INT TERM
exec >/dev/null 2>&1
read -r nothing
kill -QUIT "$server"
# While it starts it may not hear that, and initdb has children.
kill -TERM 0
wait "$server"
rm -rf "$folder" || { sleep 1; rm -rf "$folder"; }
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
pub(crate) struct Keeper {
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
pub(crate) struct Start<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) programs: &'a Path,
    pub(crate) locales: Option<&'a Path>,
    pub(crate) settings: &'a [(&'static str, String)],
}

impl Keeper {
    /// Starts a server in a folder, with its keeper.
    pub(crate) fn start(folder: PrivateFolder, start: &Start<'_>) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "strongroom-finisher"])
            .arg(folder.path())
            .arg(start.programs);
        for (name, value) in start.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
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
    pub(crate) fn is_over(&self) -> bool {
        self.life.is_over.load(Ordering::Acquire)
    }

    /// The server is ready: what it says from now on is dropped.
    pub(crate) fn ready(&self) {
        self.life.is_ready.store(true, Ordering::Release);
        self.said_bytes().clear();
    }

    /// What the server said while it started.
    pub(crate) fn said(&self) -> String {
        let said = self.said_bytes();
        String::from_utf8_lossy(&said).trim().to_owned()
    }

    fn said_bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        let said = self.life.said.lock();
        said.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the server and its keeper, and waits for both. Blocks.
    pub(crate) fn end(self) {
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
