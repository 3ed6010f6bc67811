//! The files of an empty server. `initdb` takes a second of processor time, and hundreds of tests
//! start servers. So it runs once for each version, and every server gets a copy of the result.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;
use std::{env, fs, io, process};

use crate::{command, give_away};

/// Counts the templates that this process has created.
static COPIES: AtomicUsize = AtomicUsize::new(0);

/// Creates the folder `data`, whose parent belongs to the user who runs the server.
///
/// # Panics
///
/// If it cannot be created, since a test cannot go on.
pub(crate) fn make(programs: &Path, data: &Path) {
    let template = template(programs);
    if let Some(template) = &template
        && template.is_dir()
    {
        copy(template, data).expect("the files of an empty server can be copied");
        return;
    }
    initialise(programs, data);
    if let Some(template) = &template {
        // Other processes and threads may do the same. Each uses a separate folder and renames it
        // when it is complete, so that nobody reads a partial one, or removes another's.
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let partial = template.with_extension(format!("{}-{number}", process::id()));
        let kept = copy(data, &partial).and_then(|()| fs::rename(&partial, template));
        if kept.is_err() {
            let _ = fs::remove_dir_all(&partial);
        }
    }
}

/// The path of the template: beside the test's executable, named by the server's version.
fn template(programs: &Path) -> Option<PathBuf> {
    let beside = env::current_exe().ok()?.parent()?.to_owned();
    let server = fs::canonicalize(programs.join("postgres")).ok()?;
    let about = fs::metadata(&server).ok()?;
    let built = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let name = format!("{}-{}-{}", server.display(), about.len(), built.as_nanos());
    let name = name.replace(|sign: char| !sign.is_ascii_alphanumeric(), "-");
    Some(beside.join(format!("postgres{name}")))
}

fn initialise(programs: &Path, data: &Path) {
    let made = command(&programs.join("initdb"))
        .args(["--username=postgres", "--auth=trust", "--no-sync"])
        // Log segments of 16 MiB would be most of the copied data.
        .args([
            "--encoding=UTF8",
            "--locale=C",
            "--wal-segsize=1",
            "--pgdata",
        ])
        .arg(data)
        .output()
        .expect("initdb runs");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "initdb: {said}");
}

/// Copies a folder recursively, for the user who runs the server.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            give_away(&target);
        }
    }
    // A server refuses a folder that others can enter.
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    give_away(to);
    Ok(())
}
