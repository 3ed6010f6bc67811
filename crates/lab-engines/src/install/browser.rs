//! Browsers, and builds of SQLite for them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use browser_session::{Browser, Program};

use super::commands::output;
use super::system::Packages;
use super::{InstallError, Installable, npm};

/// SQLite's own build for browsers.
pub(crate) const SQLITE_WASM: &str = "sqlite-wasm";

/// The build with SQLite3MultipleCiphers.
pub(crate) const SQLITE3MC_WASM: &str = "sqlite3mc-wasm";

/// The Python with Qt's Chromium 118.
pub(crate) const QT: &str = "qt-webengine";

pub(super) const SQLITE_WASM_INSTALLABLE: Installable = Installable {
    name: SQLITE_WASM,
    description: "SQLite's own build for browsers, from Node's registry: browser-official-memory, \
                  browser-official-opfs, browser-opfs-wl, browser-sahpool, browser-kvvfs-…",
    find: |this| folder_with(this, "package/dist", "index.mjs"),
    system: None,
    requires: &[],
    make: Some(|folder, tell| make_package(folder, OFFICIAL_PACKAGE, tell)),
};

pub(super) const SQLITE3MC_WASM_INSTALLABLE: Installable = Installable {
    name: SQLITE3MC_WASM,
    description: "SQLite3MultipleCiphers for browsers, from Node's registry: browser-sqlite3mc-…",
    find: |this| folder_with(this, "package/sqlite-wasm/jswasm", "sqlite3.mjs"),
    system: None,
    requires: &[],
    make: Some(|folder, tell| make_package(folder, CIPHERS_PACKAGE, tell)),
};

pub(super) const QT_INSTALLABLE: Installable = Installable {
    name: QT,
    description: "Chromium 118 in Qt's WebEngine 6.7, from Python's registry (480 MB): \
                  browser-websql, and browser-… with -qt",
    find: |this| Some(this.folder()?.join(PYTHON)).filter(|path| path.is_file()),
    system: None,
    requires: &[],
    make: Some(make_qt),
};

pub(super) const CHROMIUM_INSTALLABLE: Installable = Installable {
    name: "chromium",
    description: "Chromium: browser-…",
    find: |_| Some(Program::find(Browser::Chromium)?.path().to_owned()),
    system: Some(&CHROMIUM_PACKAGES),
    requires: &[],
    make: None,
};

pub(super) const FIREFOX_INSTALLABLE: Installable = Installable {
    name: "firefox",
    description: "Firefox: browser-… with -firefox",
    find: |_| Some(Program::find(Browser::Firefox)?.path().to_owned()),
    system: Some(&FIREFOX_PACKAGES),
    requires: &[],
    make: None,
};

const CHROMIUM_PACKAGES: Packages = Packages {
    product: "Chromium",
    names: &["chromium"],
};

const FIREFOX_PACKAGES: Packages = Packages {
    product: "Firefox",
    names: &["firefox-esr"],
};

/// Name and version; the newest version is not the one tagged `latest`.
const OFFICIAL_PACKAGE: &str = "@sqlite.org/sqlite-wasm@3.54.1-build1";

/// Contains the previous version of SQLite's own build.
const CIPHERS_PACKAGE: &str = "@evolu/sqlite-wasm@2.2.4";

/// The last version with WebSQL, and the first with file storage and Web Locks like the other
/// browsers.
const QT_PACKAGES: [&str; 4] = [
    "PyQt6~=6.7.0",
    "PyQt6-Qt6~=6.7.0",
    "PyQt6-WebEngine~=6.7.0",
    "PyQt6-WebEngine-Qt6~=6.7.0",
];

/// The Python interpreter in the folder.
const PYTHON: &str = "venv/bin/python";

fn folder_with(this: &Installable, folder: &str, file: &str) -> Option<PathBuf> {
    let folder = this.folder()?.join(folder);
    folder.join(file).is_file().then_some(folder)
}

fn make_package(
    folder: &Path,
    package: &'static str,
    tell: &mut dyn Write,
) -> Result<(), InstallError> {
    writeln!(tell, "fetching {package} by npm")?;
    npm::fetch(folder, package, "package").map(drop)
}

fn make_qt(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    writeln!(tell, "fetching {} by pip", QT_PACKAGES.join(", "))?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder.join("venv"));
    let remedy = "install Python with its module venv (Debian: python3-venv)";
    output(&mut venv, remedy)?;
    let python = folder.join(PYTHON);
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
        .args(["--disable-pip-version-check", "--only-binary=:all:"])
        .args(QT_PACKAGES);
    output(
        &mut pip,
        "check the connection, and that the disk has 600 MB",
    )?;
    let mut version = Command::new(&python);
    version.args([
        "-c",
        "from PyQt6.QtWebEngineCore import qWebEngineChromiumVersion as v; print(v())",
    ]);
    let remedy = "Qt needs libraries of the system (Debian: apt-get install libegl1 libopengl0 \
                  libxkbcommon0 libxkbfile1 libxcb-cursor0 libnss3 libasound2 libxdamage1 \
                  libxrandr2 libxcomposite1 libxtst6)";
    let version = output(&mut version, remedy)?;
    writeln!(tell, "Chromium {}", version.trim())?;
    Ok(())
}
