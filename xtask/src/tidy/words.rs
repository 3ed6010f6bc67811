//! Words that must not occur, because they would tie the tree to one machine or host.

use super::Violation;
use super::tree::Tree;

/// Split, so that this file does not match itself.
const WORDS: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("crates", ".io"), "the host of a package registry"),
    (concat!("py", "pi.org"), "the host of a package registry"),
    (concat!("npm", "js"), "the host of a package registry"),
    (concat!("<<<<", "<<<"), "a merge left unfinished"),
    (concat!(">>>>", ">>>"), "a merge left unfinished"),
];

/// Written by cargo, with its registry on every line; projects outside the workspace have one too.
const WRITTEN_BY_TOOLS: &str = "Cargo.lock";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        if file.path.rsplit('/').next() == Some(WRITTEN_BY_TOOLS) {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            for (word, meaning) in WORDS {
                if line.contains(word) {
                    let message = format!("`{word}` is {meaning}");
                    violations.push(Violation::new(&file.path, index + 1, message));
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_with_its_line() {
        for (word, _) in WORDS {
            let text = format!("first\nsee {word}x\n");
            let tree = Tree::of(&[("docs/a.md", &text)]);
            let found = check(&tree);
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].line, 2);
        }
    }

    #[test]
    fn lock_files_may_name_their_registry() {
        let (host, _) = WORDS[2];
        for path in ["Cargo.lock", "peers/a/Cargo.lock"] {
            assert!(check(&Tree::of(&[(path, host)])).is_empty(), "{path}");
        }
        assert!(!check(&Tree::of(&[("peers/Cargo.lock.md", host)])).is_empty());
    }
}
