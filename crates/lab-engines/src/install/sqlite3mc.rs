//! SQLite3MultipleCiphers, from the source that a package of Node's registry carries.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commands::output;
use super::compile::{self, Compilation};
use super::{InstallError, Installable};

pub(super) const INSTALLABLE: Installable = Installable {
    name: "sqlite3mc",
    description: "SQLite3MultipleCiphers, compiled here: sqlite3mc-chacha20, sqlite3mc-aegis, each \
                  with -rawkey",
    find: |this| compile::find(&this.folder()?, this.name),
    system: None,
    make: Some(make),
};

/// Name and version of the package.
const PACKAGE: &str = "better-sqlite3-multiple-ciphers@13.0.3";

/// The file in it with all of the source.
const SOURCE: &str = "package/deps/sqlite3/sqlite3.c";

/// As the product's own build has it.
const OPTIONS: [&str; 1] = ["-lm"];

fn make(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    writeln!(tell, "fetching {PACKAGE} by npm")?;
    let package = folder.join("package");
    let source = source(folder, &package)?;
    Compilation {
        source: &source,
        name: INSTALLABLE.name,
        options: &OPTIONS,
        remedy: "its source may need another compiler",
    }
    .run(folder, tell)?;
    fs::remove_dir_all(&package).map_err(|source| InstallError::File {
        path: package,
        source,
    })
}

/// Has npm fetch the package, whose scripts do not run, and unpacks the source.
fn source(folder: &Path, package: &Path) -> Result<PathBuf, InstallError> {
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--silent", PACKAGE]);
    let remedy = "npm fetches the source; install Node with npm, and check the connection";
    let archive = output(npm.current_dir(folder), remedy)?;
    let archive = folder.join(archive.trim());
    let mut tar = Command::new("tar");
    tar.arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(folder)
        .arg(SOURCE);
    output(&mut tar, "install tar with gzip")?;
    fs::remove_file(&archive).map_err(|source| InstallError::File {
        path: archive,
        source,
    })?;
    let source = package.join("deps/sqlite3/sqlite3.c");
    if source.is_file() {
        Ok(source)
    } else {
        Err(InstallError::Package {
            package: PACKAGE,
            wanted: SOURCE,
        })
    }
}
