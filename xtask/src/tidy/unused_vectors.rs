//! Every vector must be read by a test: by its name, or by a test that reads its whole folder.

use super::Violation;
use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Violation> {
    let tests: Vec<&str> = tree
        .rust_files()
        .filter(|file| file.path.contains("/tests/") || file.path.ends_with("/tests.rs"))
        .map(|file| file.text.as_str())
        .collect();
    let vectors = tree
        .paths
        .iter()
        .filter(|path| path.starts_with("vectors/"));
    vectors
        .filter(|path| !path.ends_with(".md"))
        .filter(|path| !tests.iter().any(|test| reads(test, path)))
        .map(|path| Violation::new(path, 0, "no test reads this vector"))
        .collect()
}

fn reads(test: &str, path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else {
        return false;
    };
    let walks = test.contains("read_dir(") && test.contains(&format!("{folder}\""));
    let stem = name.split('.').next().unwrap_or(name);
    walks || test.contains(&format!("\"{stem}\"")) || test.contains(&format!("{name}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_that_no_test_reads_is_found() {
        let files = [
            ("vectors/a/cut_short.json", ""),
            ("vectors/README.md", ""),
            ("crates/a/src/lib.rs", "\"cut_short\""),
            ("crates/a/tests/b.rs", "\"other\""),
        ];
        let found = check(&Tree::of(&files));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "vectors/a/cut_short.json");
    }

    #[test]
    fn names_and_walked_folders_count_as_read() {
        for test in [
            "run(\"cut_short\")",
            "read(\"../../vectors/a/cut_short.json\")",
            "fs::read_dir(root.join(\"../../vectors/a\"))",
        ] {
            let files = [
                ("vectors/a/cut_short.json", ""),
                ("crates/a/tests/b.rs", test),
            ];
            assert_eq!(check(&Tree::of(&files)), [], "{test}");
        }
    }
}
