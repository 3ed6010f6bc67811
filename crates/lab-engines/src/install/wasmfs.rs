//! SQLite with WASMFS, built from SQLite's sources, since no package contains it.
//!
//! Its makefiles need a newer Emscripten than most systems have. So a minimal Debian is installed
//! into a folder for the duration of the build, which only the superuser can do.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commands::output;
use super::system::{Packages, Requirement};
use super::{InstallError, Installable};
use crate::server;

/// Its name.
pub(crate) const NAME: &str = "wasmfs";

pub(super) const INSTALLABLE: Installable = Installable {
    name: NAME,
    description: "SQLite with WASMFS, built here from SQLite's sources in a Debian of its own (ten \
                  minutes, 5 GB meanwhile, as the superuser): browser-wasmfs",
    find: |this| {
        let folder = this.folder()?;
        folder.join(SCRIPT).is_file().then_some(folder)
    },
    system: None,
    requires: &[DEBOOTSTRAP],
    make: Some(make),
};

/// Installs the minimal Debian into its folder.
const DEBOOTSTRAP: Requirement = Requirement {
    program: "debootstrap",
    packages: Packages {
        product: "debootstrap",
        names: &["debootstrap"],
    },
};

/// The script to keep, and the one to add.
const SCRIPT: &str = "sqlite3-wasmfs.mjs";

/// The Debian release with the compiler.
const SUITE: &str = "trixie";

const MIRROR: &str = "http://deb.debian.org/debian";

/// The Debian release whose SQLite source package is new enough.
const SOURCE_SUITE: &str = "sid";

/// Its index is signed for a week, and mirrors may be older.
const FROZEN: &str = "-o Acquire::Check-Valid-Until=false";

const PACKAGES: &str = "emscripten make tcl unzip wabt brotli gcc libc6-dev dpkg-dev";

/// What `configure` writes only for another kind of Emscripten installation.
const SETTINGS: &str = "bin.bash=/usr/bin/bash
bin.emcc=/usr/bin/emcc
bin.wasm-strip=/usr/bin/wasm-strip
bin.wasm-opt=/usr/bin/wasm-opt
SHELL=$(bin.bash)
";

/// The steps inside it, each with what may help if it fails.
fn steps() -> [(&'static str, String, &'static str); 4] {
    let network = "check the connection to Debian's packages";
    let sources =
        "SQLite's makefiles may have changed; a newer version of this program may know it";
    [
        (
            "installing the compiler",
            format!("apt-get update && apt-get install --yes --no-install-recommends {PACKAGES}"),
            network,
        ),
        (
            "fetching SQLite's sources",
            format!(
                "echo 'deb-src {MIRROR} {SOURCE_SUITE} main' > /etc/apt/sources.list.d/s.list && \
                 apt-get update {FROZEN} && cd /src && \
                 apt-get source --download-only {FROZEN} sqlite3 && \
                 dpkg-source --no-check --extract sqlite3_*.dsc sqlite"
            ),
            network,
        ),
        (
            "making one file of them",
            "cd /src/sqlite && ./configure --enable-all && make sqlite3.c && \
             cp /src/config.make ext/wasm/config.make"
                .to_owned(),
            sources,
        ),
        (
            "compiling to WebAssembly",
            // The compiler's script optimiser does not know private members yet.
            "sed -i 's/ecmaVersion: 2021/ecmaVersion: 2022/' \
             /usr/share/emscripten/tools/acorn-optimizer.mjs && cd /src/sqlite/ext/wasm && \
             make emcc_opt=-O2 wasmfs.enable=1 b-wasmfs"
                .to_owned(),
            sources,
        ),
    ]
}

fn make(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    if !server::is_superuser() {
        return Err(InstallError::Superuser { what: NAME });
    }
    let root = folder.join("debian");
    writeln!(tell, "putting a Debian of its own into {}", root.display())?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap
        .args(["--variant=minbase", SUITE])
        .arg(&root)
        .arg(MIRROR);
    output(&mut debootstrap, "check the connection")?;
    let source = root.join("src");
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| InstallError::File { path, source }
    };
    fs::create_dir_all(&source).map_err(at(&source))?;
    let settings = source.join("config.make");
    fs::write(&settings, SETTINGS).map_err(at(&settings))?;
    for (what, script, remedy) in steps() {
        writeln!(tell, "{what}")?;
        let mut within = Command::new("chroot");
        within
            .arg(&root)
            .args(["/bin/bash", "-euc", &script])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("HOME", "/tmp")
            .env("LC_ALL", "C");
        output(&mut within, remedy)?;
    }
    let built = source.join("sqlite/ext/wasm/jswasm");
    keep(&built, folder)?;
    fs::remove_dir_all(&root).map_err(at(&root))
}

/// Copies the scripts and the code of the build.
fn keep(built: &Path, folder: &Path) -> Result<(), InstallError> {
    let at = |source| InstallError::File {
        path: built.to_owned(),
        source,
    };
    let wanted = |path: &PathBuf| {
        let ends = [OsStr::new("mjs"), OsStr::new("js"), OsStr::new("wasm")];
        path.extension().is_some_and(|end| ends.contains(&end))
    };
    let entries = fs::read_dir(built).map_err(at)?.flatten();
    for path in entries.map(|entry| entry.path()).filter(wanted) {
        if let Some(name) = path.file_name() {
            fs::copy(&path, folder.join(name)).map_err(at)?;
        }
    }
    if folder.join(SCRIPT).is_file() {
        return Ok(());
    }
    Err(InstallError::Package {
        package: "the build of SQLite with WASMFS",
        wanted: SCRIPT,
    })
}
