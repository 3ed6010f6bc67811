//! Where keys are found.

use std::path::PathBuf;

use serde::Deserialize;

/// `[keys]`: exactly one of the sources.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeysConfig {
    /// A file of `strongroom columns create-key`.
    pub file: Option<PathBuf>,
    /// A variable of the environment.
    pub environment: Option<String>,
    /// A command that prints the key.
    pub command: Option<String>,
    /// A descriptor that the program has given itself.
    #[serde(skip)]
    pub descriptor: Option<i32>,
}
