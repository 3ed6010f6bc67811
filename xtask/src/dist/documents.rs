//! Manual pages and completions, as the program itself writes them.

use std::path::Path;

use crate::command::{program, run as run_command};

/// Has a program write the folders `man` and `completions` into a folder.
pub fn write(strongroom: &Path, folder: &Path) -> anyhow::Result<()> {
    let strongroom = strongroom.to_string_lossy();
    run_command(program(&strongroom).arg("write-documents").arg(folder))
}
