//! Compiles an SQLite with another VFS or codec into a shared library.

use std::env::consts::DLL_EXTENSION;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use sqlite_api::Library;

use super::InstallError;
use super::commands::output;

/// The options with which the package `libsqlite3-sys` compiles the linked SQLite, so that the
/// libraries differ as little as possible. A connection reports the remaining differences.
const OPTIONS: [&str; 19] = [
    "-DSQLITE_CORE",
    "-DSQLITE_DEFAULT_FOREIGN_KEYS=1",
    "-DSQLITE_ENABLE_API_ARMOR",
    "-DSQLITE_ENABLE_COLUMN_METADATA",
    "-DSQLITE_ENABLE_DBSTAT_VTAB",
    "-DSQLITE_ENABLE_FTS3",
    "-DSQLITE_ENABLE_FTS3_PARENTHESIS",
    "-DSQLITE_ENABLE_FTS5",
    "-DSQLITE_ENABLE_JSON1",
    "-DSQLITE_ENABLE_LOAD_EXTENSION=1",
    "-DSQLITE_ENABLE_RTREE",
    "-DSQLITE_ENABLE_STAT4",
    "-DSQLITE_SOUNDEX",
    "-DSQLITE_THREADSAFE=1",
    "-DSQLITE_USE_URI",
    "-DHAVE_USLEEP=1",
    "-DHAVE_ISNAN",
    "-D_POSIX_THREAD_SAFE_FUNCTIONS",
    "-DHAVE_LOCALTIME_R",
];

/// The flags of cargo's release build for the linked SQLite.
const FLAGS: [&str; 4] = ["-O3", "-fPIC", "-shared", "-w"];

/// Binds the library's calls to its own functions at link time, as in a program. macOS does so by
/// default.
const BINDING: &[&str] = if cfg!(target_os = "macos") {
    &[]
} else {
    &["-Wl,-Bsymbolic"]
};

/// How to get a C compiler.
const COMPILER: &str = "install a C compiler that is called as `cc` (Debian: gcc libc6-dev)";

/// One library to compile.
pub(super) struct Compilation<'a> {
    /// The amalgamated source file.
    pub(super) source: &'a Path,
    /// Name of the library without the system's prefix and suffix.
    pub(super) name: &'a str,
    /// Additional options and libraries.
    pub(super) options: &'a [&'a str],
    /// What may help if the compiler fails.
    pub(super) remedy: &'static str,
}

/// Name of the file with the compiler command.
pub(crate) const HOW_FILE: &str = "compiled.txt";

/// File name of a library on this system.
pub(crate) fn file_name(name: &str) -> String {
    format!("lib{name}.{DLL_EXTENSION}")
}

impl Compilation<'_> {
    /// Compiles the library into the folder, and loads it once as a check.
    pub(super) fn run(&self, folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let version = output(Command::new(&compiler).arg("--version"), COMPILER)?;
        let version = version.lines().next().unwrap_or_default();
        writeln!(tell, "compiling with {version}; this takes a minute")?;
        let library = folder.join(file_name(self.name));
        let mut command = Command::new(&compiler);
        command.args(FLAGS).args(BINDING).args(OPTIONS);
        command.arg("-o").arg(&library);
        // Libraries come last: a linker takes from them only symbols that are undefined so far.
        command.arg(self.source).args(self.options);
        output(&mut command, self.remedy)?;
        let how = format!(
            "{version}: {} {} {} {}",
            FLAGS.join(" "),
            BINDING.join(" "),
            OPTIONS.join(" "),
            self.options.join(" ")
        );
        let path = folder.join(HOW_FILE);
        fs::write(&path, how).map_err(|source| InstallError::File { path, source })?;
        let loaded = Library::load(&library)?;
        writeln!(tell, "{}: SQLite {}", self.name, loaded.version())?;
        Ok(())
    }
}

/// An installed library.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(file_name(name));
    path.is_file().then_some(path)
}
