//! Our own module for browsers, with its package. `cargo xtask wasm` builds it in a checkout, where
//! it is found beside this program; a program elsewhere needs an installed copy.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commands::output;
use super::{InstallError, Installable};

/// Its name.
pub(crate) const NAME: &str = "strongroom-wasm";

pub(super) const INSTALLABLE: Installable = Installable {
    name: NAME,
    description: "Strongroom's own build for browsers, built in a checkout: browser-memory, \
                  browser-opfs, browser-strongroom",
    find: |this| {
        let folders = [beside_program(), this.folder()];
        let mut folders = folders.into_iter().flatten();
        folders.find(|folder| is_built(folder))
    },
    system: None,
    requires: &[],
    make: Some(make),
};

/// The module and its scripts, in the folder of the package.
const MODULE: &str = "strongroom.wasm";
const SCRIPTS: &str = "page/src";

/// The folder in cargo's target folder where `cargo xtask wasm` puts both.
const BUILT: &str = "browser-package";

fn is_built(folder: &Path) -> bool {
    folder.join(MODULE).is_file() && folder.join(SCRIPTS).join("sync.js").is_file()
}

/// In a checkout this program is in the folder of a profile, within the target folder.
fn beside_program() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    Some(program.parent()?.parent()?.join(BUILT))
}

/// The source folder that contains the current directory.
fn checkout() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    let mut folders = here.ancestors();
    let found = folders.find(|folder| folder.join("packages/sqlite/package.json").is_file());
    found.map(Path::to_owned)
}

fn make(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    let checkout = checkout().ok_or(InstallError::NoCheckout { what: NAME })?;
    writeln!(tell, "building it in {}", checkout.display())?;
    let mut build = Command::new("cargo");
    build
        .args(["xtask", "wasm", "--release"])
        .current_dir(checkout);
    let build_output = output(&mut build, "`docs/browser.md` says what it needs")?;
    // The output of it and npm contains the path of the packed package, which is beside its
    // contents.
    let folders = build_output
        .lines()
        .filter_map(|line| Path::new(line).parent());
    let built = folders.into_iter().find(|folder| is_built(folder));
    let built = built.ok_or(InstallError::Package {
        package: "what `cargo xtask wasm` built",
        wanted: MODULE,
    })?;
    keep(built, folder)
}

fn keep(built: &Path, folder: &Path) -> Result<(), InstallError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| InstallError::File { path, source }
    };
    let scripts = folder.join(SCRIPTS);
    fs::create_dir_all(&scripts).map_err(at(&scripts))?;
    let from = built.join(SCRIPTS);
    let entries = fs::read_dir(&from).map_err(at(&from))?.flatten();
    let paths = entries.map(|entry| entry.path());
    for path in paths.filter(|path| path.extension() == Some(OsStr::new("js"))) {
        if let Some(name) = path.file_name() {
            fs::copy(&path, scripts.join(name)).map_err(at(&path))?;
        }
    }
    let module = built.join(MODULE);
    fs::copy(&module, folder.join(MODULE)).map_err(at(&module))?;
    Ok(())
}
