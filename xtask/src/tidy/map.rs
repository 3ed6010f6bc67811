//! ARCHITECTURE.md names files and folders that exist. It writes their paths short: without
//! `crates/` and `src/`, and below a crate that the sentence names also without the crate.

use super::Violation;
use super::tree::Tree;

const PATH: &str = "ARCHITECTURE.md";

/// Endings of the file names that it has.
const ENDINGS: [&str; 5] = [".rs", ".ts", ".toml", ".txt", ".md"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let Some(text) = tree.text(PATH) else {
        return Vec::new();
    };
    let known: Vec<String> = tree.paths.iter().map(|path| short(path)).collect();
    let mut violations = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        // Every second part stands between back ticks.
        for name in line.split('`').skip(1).step_by(2) {
            if is_path(name) && !known.iter().any(|path| is_end_of(path, name)) {
                let message = format!("no file or folder has the path {name}: name the new one");
                violations.push(Violation::new(PATH, number, message));
            }
        }
    }
    violations
}

/// A path with slashes around it, without `src`.
fn short(path: &str) -> String {
    format!("/{path}").replace("/src/", "/")
}

fn is_path(name: &str) -> bool {
    let is_written_so = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte);
    let is_named = ENDINGS.iter().any(|ending| name.ends_with(ending)) || name.ends_with('/');
    is_named && name.bytes().all(is_written_so)
}

/// Whether a file has this path, or lies in the folder of this path.
fn is_end_of(path: &str, name: &str) -> bool {
    let name = format!("/{name}").replace("/src/", "/");
    match name.ends_with('/') {
        true => path.contains(&name),
        false => path.ends_with(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Violation> {
        let files = [
            (PATH, text),
            ("crates/vfs/src/wal_file/calls.rs", ""),
            ("crates/vfs/tests/all.rs", ""),
        ];
        check(&Tree::of(&files))
    }

    #[test]
    fn files_and_folders_are_found_by_the_end_of_their_path() {
        for path in [
            "calls.rs",
            "wal_file/calls.rs",
            "vfs/wal_file/calls.rs",
            "crates/vfs/src/wal_file/calls.rs",
            "vfs/tests/all.rs",
            "wal_file/",
        ] {
            assert_eq!(found(&format!("see `{path}`")), [], "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_left_alone() {
        for text in ["`Plan::Pass`", "`a b.rs`", "`cargo xtask tidy`", "calls.md"] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_path_that_is_gone_is_found_with_its_line() {
        for path in ["journal.rs", "al_file/calls.rs", "vfs/calls.rs", "log/"] {
            let found = found(&format!("first\nsee `{path}`, `calls.rs`"));
            assert_eq!(found.len(), 1, "{path}");
            assert_eq!(found[0].line, 2);
            assert!(found[0].message.contains(path));
        }
    }
}
