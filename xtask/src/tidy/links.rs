//! Relative links of Markdown files lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::Violation;
use super::tree::{File, Tree};

pub fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    documents.flat_map(|file| check_file(tree, file)).collect()
}

fn check_file(tree: &Tree, file: &File) -> Vec<Violation> {
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    let broken = |target: &str| {
        let path = target.split(['#', '?']).next().unwrap_or(target);
        let relative = !path.is_empty() && !target.contains(':');
        relative && !exists(tree, &folder.join(path))
    };
    targets(&file.text)
        .into_iter()
        .filter(|(target, _)| broken(target))
        .map(|(target, line)| Violation::new(&file.path, line, format!("no such file: {target}")))
        .collect()
}

fn exists(tree: &Tree, path: &Path) -> bool {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if !normal.pop() {
                    return false;
                }
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    // A folder is not listed; it exists if a file lies in it.
    tree.paths
        .iter()
        .any(|known| Path::new(known).starts_with(&normal))
}

/// What stands in `](…)` and in `src="…"` or `href="…"`, outside code.
fn targets(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        // Every second piece between backticks is code.
        let words: Vec<&str> = line.split('`').step_by(2).collect();
        let words = words.join("``");
        for (start, end) in [
            ("](", &[')', ' '][..]),
            ("src=\"", &['"']),
            ("href=\"", &['"']),
        ] {
            for piece in words.split(start).skip(1) {
                let target = piece.split(end).next().unwrap_or(piece);
                found.push((target.to_owned(), index + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_link_is_found() {
        let text = "one\n[a](missing.md) ![b](../docs/here.md#part)\n<img src=\"no.png\">\n";
        let tree = Tree::of(&[("docs/here.md", text)]);
        let found: Vec<_> = check(&tree).iter().map(Violation::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/here.md:2: no such file: missing.md",
                "docs/here.md:3: no such file: no.png"
            ]
        );
    }

    #[test]
    fn addresses_anchors_code_and_folders_pass() {
        let text = "[a](https://example.com/x) [b](#part) `[c](no.md)` [d](docs) [`e`](docs/b.md)\n\
                    ```\n[e](no.md)\n```\n";
        let tree = Tree::of(&[("README.md", text), ("docs/b.md", "")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_link_out_of_the_tree_is_found() {
        let tree = Tree::of(&[("README.md", "[a](../other.md)")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
