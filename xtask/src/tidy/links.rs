//! Relative links of Markdown files must lead to existing files and headings.

use std::path::Path;

use super::Violation;
use super::tree::{File, Tree};
use crate::markdown;

pub fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    documents.flat_map(|file| check_file(tree, file)).collect()
}

fn check_file(tree: &Tree, file: &File) -> Vec<Violation> {
    markdown::targets(&file.text)
        .into_iter()
        .filter(|(target, _)| !target.contains(':'))
        .filter_map(|(target, line)| {
            let broken = broken(tree, file, &target)?;
            Some(Violation::new(
                &file.path,
                line,
                format!("{broken}: {target}"),
            ))
        })
        .collect()
}

/// What is wrong with a relative link.
fn broken(tree: &Tree, file: &File, target: &str) -> Option<&'static str> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = path.split('?').next().unwrap_or(path);
    let text = if path.is_empty() {
        file.text.as_str()
    } else {
        let led_to = markdown::led_to(&file.path, path);
        let Some(led_to) = led_to.filter(|led_to| exists(tree, led_to)) else {
            return Some("no such file");
        };
        match tree.text(&led_to.to_string_lossy()) {
            Some(text) if path.ends_with(".md") => text,
            _ => return None,
        }
    };
    let known = anchor.is_empty() || markdown::anchors(text).contains(anchor);
    (!known).then_some("no such heading")
}

fn exists(tree: &Tree, path: &Path) -> bool {
    // Folders are not listed; a folder exists if a file is in it.
    tree.paths
        .iter()
        .any(|known| Path::new(known).starts_with(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_link_is_found() {
        let text = "# Part\n[a](missing.md) ![b](../docs/here.md#part)\n<img src=\"no.png\">\n";
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
        let text = "# Part\n[a](https://example.com/x) [b](#part) `[c](no.md)` [d](docs)\n\
                    [`e`](docs/b.md)\n```\n[e](no.md)\n```\n";
        let tree = Tree::of(&[("README.md", text), ("docs/b.md", "")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_link_out_of_the_tree_is_found() {
        let tree = Tree::of(&[("README.md", "[a](../other.md)")]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_found() {
        let text = "[a](#none) [b](b.md#one) [c](b.md#none)\n[d]: b.md#nor\n";
        let tree = Tree::of(&[("a.md", text), ("b.md", "# One\n")]);
        let found: Vec<_> = check(&tree).iter().map(Violation::to_string).collect();
        assert_eq!(
            found,
            [
                "a.md:1: no such heading: #none",
                "a.md:1: no such heading: b.md#none",
                "a.md:2: no such heading: b.md#nor"
            ]
        );
    }
}
