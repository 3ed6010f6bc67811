//! SQLite3MultipleCiphers, from the source in a package of Node's registry.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::compile::{self, Compilation};
use super::{InstallError, Installable, npm};

pub(super) const INSTALLABLE: Installable = Installable {
    name: "sqlite3mc",
    description: "SQLite3MultipleCiphers, compiled here: sqlite3mc-chacha20, sqlite3mc-aegis, each \
                  with -rawkey",
    find: |this| compile::find(&this.folder()?, this.name),
    system: None,
    requires: &[],
    make: Some(make),
};

/// Name and version of the package.
const PACKAGE: &str = "better-sqlite3-multiple-ciphers@13.0.3";

/// The amalgamated source file in it.
const SOURCE: &str = "package/deps/sqlite3/sqlite3.c";

/// As in the product's own build.
const OPTIONS: [&str; 1] = ["-lm"];

fn make(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    writeln!(tell, "fetching {PACKAGE} by npm")?;
    let source = npm::fetch(folder, PACKAGE, SOURCE)?;
    Compilation {
        source: &source,
        name: INSTALLABLE.name,
        options: &OPTIONS,
        remedy: "its source may need another compiler",
    }
    .run(folder, tell)?;
    let package = folder.join("package");
    fs::remove_dir_all(&package).map_err(|source| InstallError::File {
        path: package,
        source,
    })
}
