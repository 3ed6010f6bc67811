//! Reads the folder of a user-defined workload; builds any workload.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use workloads::custom::{self, CustomError, CustomFile, CustomTexts};
use workloads::{BuildError, Dialect, Spec, Workload};

/// Why a workload could not be built.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The workload needs no folder; building it failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// There is no such folder.
    #[error(
        "{folder}: {}; a workload of your own is a folder with schema.sql, load.sql and \
         queries.sql",
        if *.is_file { "this is a file" } else { "no such file or folder" },
        folder = .folder.display()
    )]
    NoFolder {
        /// The requested path.
        folder: PathBuf,
        /// There is a file of that name.
        is_file: bool,
    },
    /// A file in it cannot be read.
    #[error("cannot read {path}; it must be a file of text in UTF-8", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The files do not form a workload.
    #[error("in {folder}: {source}", folder = .folder.display())]
    Texts {
        /// The folder.
        folder: PathBuf,
        /// The error in the files.
        source: CustomError,
    },
    /// The files have changed since the run began.
    #[error(
        "the files in {folder} were changed since the run began; start it again",
        folder = .folder.display()
    )]
    Changed {
        /// The folder.
        folder: PathBuf,
    },
}

/// Builds a workload in an engine's dialect, from files if it is user-defined.
///
/// # Errors
///
/// If it cannot be built in that dialect.
pub fn build(spec: &Spec, dialect: Dialect) -> Result<Workload, FolderError> {
    let Spec::Custom { folder, sha256 } = spec else {
        return Ok(workloads::build(spec, dialect)?);
    };
    let folder = Path::new(folder);
    let texts = read(folder)?;
    let workload = custom::workload(&texts, dialect).map_err(|source| FolderError::Texts {
        folder: folder.to_owned(),
        source,
    })?;
    match sha256 {
        Some(known) if *known != workload.sha256 => Err(FolderError::Changed {
            folder: folder.to_owned(),
        }),
        _ => Ok(workload),
    }
}

/// Checks that a workload can be built in an engine's dialect.
///
/// # Errors
///
/// If it cannot.
pub fn check(spec: &Spec, dialect: Dialect) -> Result<(), FolderError> {
    match spec {
        Spec::Custom { .. } => build(spec, dialect).map(drop),
        _ => Ok(spec.check(dialect)?),
    }
}

/// The same spec, with the digest of the files' current content.
pub fn pinned(spec: Spec, workload: &Workload) -> Spec {
    match spec {
        Spec::Custom { folder, .. } => Spec::Custom {
            folder,
            sha256: Some(workload.sha256.clone()),
        },
        other => other,
    }
}

/// Reads the SQL files of a folder; ignores all others.
fn read(folder: &Path) -> Result<CustomTexts, FolderError> {
    let at = |path: &Path, source| FolderError::Read {
        path: path.to_owned(),
        source,
    };
    if !folder.is_dir() {
        return Err(FolderError::NoFolder {
            folder: folder.to_owned(),
            is_file: folder.exists(),
        });
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| at(folder, source))? {
        let path = entry.map_err(|source| at(folder, source))?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let Some(name) = name.filter(|name| name.ends_with(".sql") && !name.starts_with('.'))
        else {
            continue;
        };
        let text = fs::read_to_string(&path).map_err(|source| at(&path, source))?;
        files.push(CustomFile { name, text });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let whole = folder.canonicalize().map_err(|source| at(folder, source))?;
    let name = whole.file_name().map_or_else(
        || "/".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    Ok(CustomTexts { name, files })
}
