//! Engines that are built or downloaded only on request, each into a separate folder in the lab's
//! *home*: the folder in `STRONGROOM_LAB_HOME`, else `strongroom/lab` in the user's data folder.
//!
//! A folder appears complete or not at all: it is made under a temporary name and renamed.

mod browser;
mod commands;
mod compile;
#[cfg(feature = "servers")]
mod mariadb;
#[cfg(feature = "servers")]
mod mysql;
mod npm;
#[cfg(feature = "servers")]
mod postgres;
mod sqlcipher;
mod sqlite3mc;
mod strongroom_wasm;
mod system;
mod wasmfs;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use crate::home::{HOME_VARIABLE, home};
pub(crate) use browser::{QT, SQLITE_WASM, SQLITE3MC_WASM};
pub use commands::CommandError;
pub(crate) use compile::HOW_FILE;
pub(crate) use strongroom_wasm::NAME as STRONGROOM_WASM;
pub use system::SystemPackages;
pub(crate) use wasmfs::NAME as WASMFS;

/// Something that can be installed.
pub struct Installable {
    /// Its name, also that of its folder.
    pub name: &'static str,
    /// A one-line description that also names the engines it provides.
    pub description: &'static str,
    /// Where it is installed, if it is.
    pub find: fn(&Installable) -> Option<PathBuf>,
    /// The system's packages that contain it, if the system provides it.
    pub system: Option<&'static system::Packages>,
    /// Programs that `make` requires.
    pub requires: &'static [system::Requirement],
    /// Builds it in an empty folder, if it can be had without the system's packages. Writes its
    /// progress as text.
    pub make: Option<Make>,
}

/// See [`Installable::make`].
pub type Make = fn(&Path, &mut dyn Write) -> Result<(), InstallError>;

/// All that can be installed.
pub const INSTALLABLE: &[Installable] = &[
    sqlcipher::INSTALLABLE,
    sqlite3mc::INSTALLABLE,
    #[cfg(feature = "servers")]
    postgres::INSTALLABLE,
    #[cfg(feature = "servers")]
    mariadb::INSTALLABLE,
    #[cfg(feature = "servers")]
    mysql::INSTALLABLE,
    strongroom_wasm::INSTALLABLE,
    browser::SQLITE_WASM_INSTALLABLE,
    browser::SQLITE3MC_WASM_INSTALLABLE,
    browser::QT_INSTALLABLE,
    browser::CHROMIUM_INSTALLABLE,
    browser::FIREFOX_INSTALLABLE,
    wasmfs::INSTALLABLE,
];

/// Names for groups of installables. Those that may need a missing system package come last, so
/// that the others get installed.
pub const GROUPS: &[(&str, &[&str])] = &[(
    "browser",
    &[
        SQLITE_WASM,
        SQLITE3MC_WASM,
        STRONGROOM_WASM,
        QT,
        "chromium",
        "firefox",
    ],
)];

/// Why something was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Unknown name.
    #[error("there is nothing to install by the name `{name}`; `lab list` shows what there is")]
    Unknown {
        /// The name given.
        name: String,
    },
    /// There is no folder to install to.
    #[error("there is no folder to install to; name one in {HOME_VARIABLE}")]
    NoHome,
    /// It requires the superuser.
    #[error("{what} is built in a system of its own, which only the superuser can make")]
    Superuser {
        /// What.
        what: &'static str,
    },
    /// It is built from this project's sources, which were not found.
    #[error(
        "{what} is built in a checkout of Strongroom's sources: run `cargo run -- lab install \
         {what}` there; it goes into the home of the lab ({HOME_VARIABLE}), where this program \
         finds it"
    )]
    NoCheckout {
        /// What.
        what: &'static str,
    },
    /// A program failed or is not there.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It is provided by the system's packages.
    #[error(
        "{product} comes with the system; install it, on Debian by `{command}`, which `--yes` runs \
         for the superuser"
    )]
    System {
        /// What.
        product: &'static str,
        /// The command, which was not run.
        command: String,
    },
    /// The system's packages were installed, but the product was not found afterwards.
    #[error("`{command}` has run, and {product} is still not found; install it in another way")]
    NotInPackages {
        /// What.
        product: &'static str,
        /// The command.
        command: String,
    },
    /// A file cannot be written.
    #[error("cannot use {path}; free some space, or name another folder in {HOME_VARIABLE}",
        path = .path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A package has unexpected content.
    #[error("{package} has no {wanted}; a newer version of this program may know it")]
    Package {
        /// Its name and version.
        package: &'static str,
        /// The missing part.
        wanted: &'static str,
    },
    /// It was built, but does not work.
    #[error("what was built cannot be used")]
    Unusable(#[from] sqlite_api::LoadError),
    /// The progress cannot be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

/// The installable with that name.
///
/// # Errors
///
/// If there is none.
pub fn named(name: &str) -> Result<&'static Installable, InstallError> {
    let mut all = INSTALLABLE.iter();
    let found = all.find(|installable| installable.name == name);
    found.ok_or_else(|| InstallError::Unknown {
        name: name.to_owned(),
    })
}

/// The installables that a name stands for: a group, or a single one.
///
/// # Errors
///
/// If there is none.
pub fn wanted(name: &str) -> Result<Vec<&'static Installable>, InstallError> {
    let group = GROUPS.iter().find(|(group, _)| *group == name);
    let names = group.map_or_else(|| vec![name], |(_, names)| names.to_vec());
    names.into_iter().map(named).collect()
}

impl Installable {
    /// Its folder in the lab's home, if it exists.
    pub fn folder(&self) -> Option<PathBuf> {
        let folder = home()?.join(self.name);
        folder.is_dir().then_some(folder)
    }

    /// Installs it: with the system's packages if there are any and they may be installed, else
    /// into its folder, replacing an earlier installation. Required programs are installed first.
    /// Returns the location.
    ///
    /// # Errors
    ///
    /// If it could not be installed; an earlier installation is then kept.
    pub fn install(
        &self,
        packages: SystemPackages,
        tell: &mut dyn Write,
    ) -> Result<PathBuf, InstallError> {
        if let Some(system) = self.system
            && (self.make.is_none() || packages == SystemPackages::Install)
        {
            if let Some(found) = (self.find)(self) {
                writeln!(tell, "{} is there already", system.product)?;
                return Ok(found);
            }
            if let Some(installer) = packages.installer() {
                return system.install(&installer, self, tell);
            }
        }
        match (self.make, self.system) {
            (Some(make), _) => {
                for requirement in self.requires {
                    requirement.ensure(packages.installer().as_deref(), tell)?;
                }
                self.make_folder(make, tell)
            }
            (None, Some(system)) => Err(system.named()),
            (None, None) => unreachable!("each installable thing has a source"),
        }
    }

    fn make_folder(&self, make: Make, tell: &mut dyn Write) -> Result<PathBuf, InstallError> {
        let home = home().ok_or(InstallError::NoHome)?;
        let at = |path: &Path| {
            let path = path.to_owned();
            |source| InstallError::File { path, source }
        };
        fs::create_dir_all(&home).map_err(at(&home))?;
        let lock = home.join(".lock");
        let _held = lock_file(&lock).map_err(at(&lock))?;
        let place = home.join(self.name);
        let beside = home.join(format!(".{}-new", self.name));
        let older = home.join(format!(".{}-old", self.name));
        let new = Temporary::new(&beside).map_err(at(&beside))?;
        make(&new.0, tell)?;
        if place.exists() {
            remove(&older).map_err(at(&older))?;
            fs::rename(&place, &older).map_err(at(&place))?;
        }
        let renamed = fs::rename(&beside, &place).map_err(at(&place));
        if renamed.is_err() && older.exists() {
            fs::rename(&older, &place).map_err(at(&place))?;
        }
        renamed?;
        // An older one that cannot be removed does no harm.
        drop(fs::remove_dir_all(&older));
        Ok(place)
    }
}

/// Allows one installation at a time; the lock ends with this process, however that ends.
fn lock_file(path: &Path) -> io::Result<fs::File> {
    let file = fs::File::create(path)?;
    file.lock()?;
    Ok(file)
}

/// Removes a folder that an interrupted installation may have left.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A folder that is removed on drop unless it was renamed.
struct Temporary(PathBuf);

impl Temporary {
    fn new(path: &Path) -> io::Result<Self> {
        remove(path)?;
        fs::create_dir(path)?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // If it cannot be removed, its name is one that nobody looks for.
        drop(fs::remove_dir_all(&self.0));
    }
}
