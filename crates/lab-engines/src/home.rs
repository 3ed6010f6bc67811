//! The lab's home: the folder of everything installed for its engines.

use std::env;
use std::path::PathBuf;

/// Environment variable with the lab's home.
pub const HOME_VARIABLE: &str = "STRONGROOM_LAB_HOME";

/// The lab's home.
pub fn home() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(home) = folder(HOME_VARIABLE) {
        return Some(PathBuf::from(home));
    }
    let data = folder("XDG_DATA_HOME").map(PathBuf::from).or_else(|| {
        let home = folder("HOME").or_else(|| folder("USERPROFILE"))?;
        Some(PathBuf::from(home).join(".local/share"))
    })?;
    Some(data.join("strongroom/lab"))
}
