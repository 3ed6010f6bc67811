//! Extensions of the server that the finisher can have as the server has them.

use std::collections::BTreeSet;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// In the order of their names.
    pub all: Vec<Extension>,
    /// Names of their functions and operators that others have, too.
    pub clashes: BTreeSet<String>,
    /// Kinds of indexes, beside those of PostgreSQL itself, that may be over bytes.
    pub byte_methods: BTreeSet<String>,
}

/// An extension, as the server has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// The schema of its functions.
    pub schema: String,
    /// Its version.
    pub version: String,
    /// A digest of what it has.
    pub digest: String,
}
