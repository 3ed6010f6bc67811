//! Installs Debian packages, if this user may do so without a prompt.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::command::{program, run as run_command, succeeds};

/// Tries to install these packages; the caller checks whether it helped.
pub fn install(packages: &[&str]) {
    let Some(mode) = privilege() else { return };
    println!("installing {}", packages.join(" "));
    let update = mode.update();
    let install = ["--yes", "--quiet", "--no-install-recommends", "install"];
    let installed = run_command(mode.apt_get().args(install).args(packages));
    if let (false, Err(error)) = (update, installed) {
        println!("{error}");
    }
}

/// Updates apt's package lists, if this user may.
pub fn update_package_lists() {
    if let Some(mode) = privilege() {
        mode.update();
    }
}

/// How long to wait for another package manager, and how often to retry, seconds.
const LOCK_PATIENCE_S: u64 = 600;
const LOCK_INTERVAL_S: u64 = 5;

/// How this user may install packages without a prompt.
enum Privilege {
    Root,
    Sudo,
}

impl Privilege {
    fn apt_get(&self) -> Command {
        let mut command = match self {
            Privilege::Root => program("env"),
            Privilege::Sudo => {
                let mut command = program("sudo");
                command.args(["--non-interactive", "env"]);
                command
            }
        };
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        // Another package manager may be running: new machines update themselves.
        command.args([
            "--option",
            &format!("DPkg::Lock::Timeout={LOCK_PATIENCE_S}"),
        ]);
        command
    }

    /// Updates apt's package lists; returns whether it succeeded. apt does not wait for the lock on
    /// its lists.
    fn update(&self) -> bool {
        for attempt in 0..LOCK_PATIENCE_S / LOCK_INTERVAL_S {
            let output = self.apt_get().args(["--quiet", "update"]).output();
            let Ok(output) = output else { return false };
            let said = String::from_utf8_lossy(&output.stderr);
            if output.status.success() || !said.contains("lists/lock") {
                return output.status.success();
            }
            if attempt == 0 {
                println!("waiting for another package manager");
            }
            thread::sleep(Duration::from_secs(LOCK_INTERVAL_S));
        }
        false
    }
}

fn privilege() -> Option<Privilege> {
    let user = program("id").arg("-u").output().ok()?;
    if user.stdout.trim_ascii() == b"0" {
        return Some(Privilege::Root);
    }
    succeeds(program("sudo").args(["--non-interactive", "true"])).then_some(Privilege::Sudo)
}
