//! If `tests/all.rs` lists the tests of a crate, it must list each of them: a file that is missing
//! there would never be compiled.

use super::Violation;
use super::tree::Tree;

const ALL: &str = "/tests/all.rs";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for all in tree.rust_files().filter(|file| file.path.ends_with(ALL)) {
        let folder = all.path.trim_end_matches("all.rs");
        for path in &tree.paths {
            let Some(name) = path.strip_prefix(folder).and_then(module) else {
                continue;
            };
            let declared = format!("mod {name};");
            if !all.text.lines().any(|line| line == declared) {
                let message = format!("does not say `{declared}`: {path} is not compiled");
                violations.push(Violation::new(&all.path, 0, message));
            }
        }
    }
    violations
}

/// The module for a path below `tests/`.
fn module(path: &str) -> Option<&str> {
    let name = match path.split_once('/') {
        Some((folder, "mod.rs")) => folder,
        Some(_) => return None,
        None => path.strip_suffix(".rs")?,
    };
    (name != "all").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_named_is_found() {
        let tree = Tree::of(&[
            (
                "crates/a/tests/all.rs",
                "//! Tests.\n\nmod common;\nmod one;\n",
            ),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/tests/common/wire.rs", ""),
            ("crates/a/tests/one.rs", ""),
            ("crates/a/tests/two.rs", ""),
            ("crates/a/tests/three/mod.rs", ""),
            ("crates/b/tests/four.rs", ""),
        ]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("mod two;") && found[1].contains("mod three;"));
    }
}
