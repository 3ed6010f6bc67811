//! What makes a folder one of PostgreSQL's programs.

use std::path::Path;

/// Whether a folder contains PostgreSQL's server and client.
pub fn are_in(folder: &Path) -> bool {
    ["postgres", "initdb", "psql"]
        .iter()
        .all(|program| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_server_is_none() {
        let folder = tempfile::tempdir().unwrap();
        for program in ["psql", "initdb"] {
            std::fs::write(folder.path().join(program), "").unwrap();
            assert!(!are_in(folder.path()));
        }
        std::fs::write(folder.path().join("postgres"), "").unwrap();
        assert!(are_in(folder.path()));
    }
}
