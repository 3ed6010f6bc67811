//! A file that no other names would never be compiled. If `tests/all.rs` lists the tests of a
//! crate, it must list each of them; every file that is no root of a crate is a module of another.

use super::Violation;
use super::tree::Tree;

const ALL: &str = "/tests/all.rs";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = unnamed(tree);
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

/// Files that are neither roots nor named as a module, wherever in the crate that is.
fn unnamed(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.rust_files() {
        let Some((owner, below)) = split(&file.path) else {
            continue;
        };
        let (folder, name) = below.rsplit_once('/').unwrap_or(("", below));
        let is_root = matches!(below, "src/lib.rs" | "src/main.rs" | "build.rs")
            || matches!(folder, "src/bin" | "tests" | "examples" | "benches")
            || name == "main.rs";
        let is_test = below.strip_prefix("tests/").and_then(module).is_some();
        if is_root || is_test {
            continue;
        }
        let name = match name {
            "mod.rs" => folder.rsplit('/').next().unwrap_or_default(),
            _ => name.trim_end_matches(".rs"),
        };
        let declared = [
            format!("mod {name};"),
            format!("/{name}.rs\""),
            format!("\"{name}.rs\""),
        ];
        let mut others = tree.rust_files().filter(|other| {
            other.path != file.path && split(&other.path).is_some_and(|(own, _)| own == owner)
        });
        if !others.any(|other| declared.iter().any(|text| other.text.contains(text))) {
            let message = format!("no file says `mod {name};`: it is not compiled");
            violations.push(Violation::new(&file.path, 0, message));
        }
    }
    violations
}

/// The crate of a file, and the path below it.
fn split(path: &str) -> Option<(&str, &str)> {
    let at = match path.strip_prefix("crates/") {
        Some(rest) => "crates/".len() + rest.find('/')?,
        None => path.starts_with("xtask/").then_some("xtask".len())?,
    };
    Some((&path[..at], &path[at + 1..]))
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
    fn a_file_that_is_no_module_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod one;"),
            (
                "crates/a/src/one.rs",
                "#[path = \"other/two.rs\"] mod other;",
            ),
            ("crates/a/src/other/two.rs", ""),
            ("crates/a/src/one/three.rs", ""),
            ("crates/a/examples/cost.rs", ""),
            ("crates/a/examples/cost/four.rs", ""),
            ("crates/b/src/lib.rs", "mod three; mod four;"),
            ("fuzz/targets/five.rs", ""),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|own| own.path).collect();
        let expected = [
            "crates/a/src/one/three.rs",
            "crates/a/examples/cost/four.rs",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_that_is_not_named_is_found() {
        let tree = Tree::of(&[
            (
                "crates/a/tests/all.rs",
                "//! Tests.\n\nmod common;\nmod one;\n",
            ),
            ("crates/a/tests/common/mod.rs", "mod wire;"),
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
