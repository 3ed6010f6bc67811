//! Programs that the tests need; installed if that is allowed, otherwise printed.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::command::{program, succeeds};
use crate::suites::build;
use crate::{apt, deny, disk, page, postgres_programs};

/// A required program.
pub struct Requirement {
    /// Its name.
    pub name: &'static str,
    /// Whether it is installed.
    pub present: fn() -> bool,
    /// Debian's packages that contain it; empty if there is another way to get it.
    pub packages: &'static [&'static str],
    /// Advice for users without Debian.
    pub remedy: &'static str,
}

/// Creates virtual environments for Python packages.
pub const PYTHON_VENV: Requirement = Requirement {
    name: "venv of python3",
    present: || succeeds(program("/usr/bin/python3").args(["-c", "import ensurepip, venv"])),
    packages: &["python3-venv"],
    remedy: "install the modules venv and ensurepip of /usr/bin/python3",
};

/// Runs programs from Node's registry, and npm to download them.
pub const NODE: Requirement = Requirement {
    name: "node with npm",
    present: || has("node") && has("npm"),
    packages: &["nodejs", "npm"],
    remedy: "install Node and npm",
};

const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "git",
        present: || has("git"),
        packages: &["git"],
        remedy: "install git",
    },
    Requirement {
        name: "a C compiler",
        present: || has("cc"),
        packages: &["gcc", "libc6-dev"],
        remedy: "install a C compiler that is called as `cc`",
    },
    Requirement {
        name: "a C++ compiler",
        present: || has("c++"),
        packages: &["g++"],
        remedy: "install a C++ compiler that is called as `c++`, for libFuzzer",
    },
    Requirement {
        name: "libclang",
        present: has_libclang,
        packages: &["libclang-dev"],
        remedy: "install libclang with the headers of its compiler, or name its folder in \
                 LIBCLANG_PATH: PostgreSQL's parser is compiled for the tests with it",
    },
    Requirement {
        name: "valgrind",
        present: || has("valgrind"),
        packages: &["valgrind", "libc6-dbg"],
        remedy: "install valgrind",
    },
    Requirement {
        name: "sqlite3 shell",
        present: || Path::new("/usr/bin/sqlite3").is_file(),
        packages: &["sqlite3"],
        remedy: "install SQLite's shell as /usr/bin/sqlite3, with loadable extensions",
    },
    Requirement {
        name: "python3 with sqlite3",
        present: python_loads_extensions,
        packages: &["python3"],
        remedy: "install /usr/bin/python3 whose sqlite3 module loads extensions",
    },
    PYTHON_VENV,
    Requirement {
        name: "libsqlite3 for C",
        present: || c_finds("sqlite3.h"),
        packages: &["libsqlite3-dev"],
        remedy: "install SQLite's library with its header sqlite3.h",
    },
    NODE,
    Requirement {
        name: "go",
        present: || has("go"),
        packages: &["golang-go"],
        remedy: "install Go 1.19 or newer",
    },
    Requirement {
        name: "a JDK",
        present: || has("java") && has("javac"),
        packages: &["default-jdk-headless"],
        remedy: "install a JDK, 17 or newer",
    },
    Requirement {
        name: "maven",
        present: || has("mvn"),
        packages: &["maven"],
        remedy: "install Maven as `mvn`",
    },
    Requirement {
        name: "openssl",
        present: || has("openssl"),
        packages: &["openssl"],
        remedy: "install OpenSSL's program `openssl`, which makes certificates for tests",
    },
    Requirement {
        name: "a Secret Service",
        present: || has("dbus-daemon") && has("gnome-keyring-daemon"),
        packages: &["dbus-daemon", "gnome-keyring"],
        remedy: "install dbus-daemon and gnome-keyring-daemon; nothing is done to your keyring",
    },
    Requirement {
        name: "PostgreSQL",
        present: has_postgres,
        packages: &["postgresql"],
        remedy: "install PostgreSQL with its server (postgres, initdb) and psql, as Debian does or \
                 in PATH, or name the folder of its programs in STRONGROOM_TEST_POSTGRES",
    },
    Requirement {
        name: "MariaDB",
        present: || {
            (has("mariadbd") || Path::new("/usr/sbin/mariadbd").is_file()) && has("mariadb")
        },
        packages: &["mariadb-server", "mariadb-client"],
        remedy: "install MariaDB with its server, for the tests of the lab's servers",
    },
    Requirement {
        name: "strace",
        present: || has("strace"),
        packages: &["strace"],
        remedy: "install strace, for the test that kills the program at each system call",
    },
    Requirement {
        name: "Tcl with its headers",
        present: || has("tclsh") && build::tcl_folder().is_ok(),
        packages: &["tcl", "tcl-dev"],
        remedy: "install tclsh, and Tcl with its headers and tclConfig.sh, for SQLite's own tests",
    },
    Requirement {
        name: "make",
        present: || has("make"),
        packages: &["make"],
        remedy: "install make, for SQLite's own tests",
    },
    Requirement {
        name: "zlib for C",
        present: || c_finds("zlib.h"),
        packages: &["zlib1g-dev"],
        remedy: "install zlib with its header zlib.h, for SQLite's own tests",
    },
    Requirement {
        name: "dpkg-source",
        present: || has("dpkg-source"),
        packages: &["dpkg-dev"],
        remedy: "install dpkg-source, which unpacks the source package of SQLite",
    },
    Requirement {
        name: "chromium",
        present: || {
            ["chromium", "chromium-browser", "google-chrome"]
                .into_iter()
                .any(has)
        },
        packages: &["chromium"],
        remedy: "install Chromium, for the tests of the report and of the package for browsers and \
                 for the lab's engines",
    },
    Requirement {
        name: "DejaVu fonts",
        present: || Path::new(page::FONTS).is_dir(),
        packages: &["fonts-dejavu-core"],
        remedy: "install DejaVu's fonts where Debian's package fonts-dejavu-core has them, for the \
                 test of the report's page",
    },
    Requirement {
        name: "firefox",
        present: || ["firefox-esr", "firefox"].into_iter().any(has),
        packages: &["firefox-esr"],
        remedy: "install Firefox, for the tests of pages in browsers",
    },
    Requirement {
        name: "dpkg-deb",
        present: || has("dpkg-deb"),
        packages: &["dpkg"],
        remedy: "use Debian 12 or newer, from whose packages the compiler for WebAssembly is \
                 unpacked",
    },
];

/// Checks, installs what is missing if allowed, checks again.
pub fn run() -> anyhow::Result<()> {
    disk::check()?;
    components()?;
    ensure(REQUIREMENTS)?;
    if deny::TOOL.find()?.is_none() {
        deny::TOOL.install()?;
    }
    Ok(())
}

/// Installs what is missing of these if allowed, and reports what is still missing.
pub fn ensure(requirements: &[Requirement]) -> anyhow::Result<()> {
    install_packages(requirements);
    let missing: Vec<_> = requirements
        .iter()
        .filter(|requirement| !(requirement.present)())
        .map(|requirement| format!("{} ({})", requirement.name, requirement.remedy))
        .collect();
    if !missing.is_empty() {
        bail!("missing: {}", missing.join("; "));
    }
    Ok(())
}

fn components() -> anyhow::Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let present = || succeeds(crate::command::cargo().args([subcommand, "--version"]));
        if present() {
            continue;
        }
        println!("installing {component}");
        let installed = succeeds(program("rustup").args(["component", "add", component]));
        if !(installed && present()) {
            bail!("missing: {component} (`rustup component add {component}`)");
        }
    }
    Ok(())
}

/// Tries to install; the caller checks again.
fn install_packages(requirements: &[Requirement]) {
    let packages = packages_lacking(requirements);
    if !packages.is_empty() && has("apt-get") {
        apt::install(&packages);
    }
}

fn packages_lacking(requirements: &[Requirement]) -> Vec<&'static str> {
    requirements
        .iter()
        .filter(|requirement| !(requirement.present)())
        .flat_map(|requirement| requirement.packages.iter().copied())
        .collect()
}

/// Whether the shell finds a program of this name.
pub fn has(name: &str) -> bool {
    succeeds(program("sh").args(["-c", "command -v \"$0\"", name]))
}

/// Searches the same folders as `server-testkit`. Debian's folder also exists with only the client.
fn has_postgres() -> bool {
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(folder) = std::env::var_os("STRONGROOM_TEST_POSTGRES") {
        folders.push(folder.into());
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    folders.extend(versions.flatten().map(|entry| entry.path().join("bin")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders
        .iter()
        .any(|folder| postgres_programs::are_in(folder))
}

/// The library, and its compiler headers, without which it compiles nothing and which Debian has in
/// a separate package. The program `clang` includes neither.
fn has_libclang() -> bool {
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten();
    let mut folders: Vec<PathBuf> = versions
        .flatten()
        .map(|entry| entry.path().join("lib"))
        .collect();
    folders.extend(["/usr/lib", "/usr/lib64"].map(PathBuf::from));
    std::env::var_os("LIBCLANG_PATH").is_some()
        || folders
            .iter()
            .any(|folder| folder.join("libclang.so").exists() && folder.join("clang").is_dir())
}

fn c_finds(header: &str) -> bool {
    let include = ["-include", header, "-fsyntax-only", "-x", "c", "/dev/null"];
    succeeds(program("cc").args(include))
}

fn python_loads_extensions() -> bool {
    let question = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)";
    succeeds(program("/usr/bin/python3").args(["-c", question]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_seen_and_what_is_not_is_missed() {
        assert!(has("sh"));
        assert!(!has("no-such-program-here"));
    }

    #[test]
    fn packages_of_what_lacks_are_listed() {
        let requirement = |present: fn() -> bool, packages| Requirement {
            name: "",
            present,
            packages,
            remedy: "",
        };
        let requirements = [
            requirement(|| true, &["here"]),
            requirement(|| false, &["first", "second"]),
        ];
        assert_eq!(packages_lacking(&requirements), ["first", "second"]);
    }
}
