//! Links and headings of Markdown, as far as documents of this repository use it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Targets of links and images outside code, each with its line, counted from 1: what stands in
/// `](…)`, in `src="…"` or `href="…"`, and behind `[name]:` at the start of a line.
pub fn targets(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (line, number) in outside_code(text) {
        if let Some((_, target)) = definition(line) {
            found.push((target.to_owned(), number));
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
                found.push((target.to_owned(), number));
            }
        }
    }
    found
}

/// Name and target of `[name]: target`.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix('[')?.split_once("]: ")?;
    let target = rest.split_whitespace().next()?;
    (!name.contains(']')).then_some((name, target))
}

/// The file that a relative path in a document means, counted from where the document's own path
/// is; none where it leads out of there.
pub fn led_to(document: &str, path: &str) -> Option<PathBuf> {
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    let mut normal = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    Some(normal)
}

/// The anchors that headings have where documents are shown: lower case, without punctuation, a
/// number behind the second of its kind.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (line, _) in outside_code(text) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(&shown(title.trim()));
        let count = counts.entry(anchor.clone()).or_default();
        anchors.insert(match *count {
            0 => anchor,
            more => format!("{anchor}-{more}"),
        });
        *count += 1;
    }
    anchors
}

/// A title as it is read: of a link its words alone.
fn shown(title: &str) -> String {
    let mut shown = String::new();
    let mut rest = title;
    while let Some((before, link)) = rest.split_once("](") {
        shown.push_str(&before.replacen('[', "", 1));
        rest = link.split_once(')').map_or("", |(_, behind)| behind);
    }
    shown.push_str(rest);
    shown
}

fn anchor(title: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let letters = title.chars().filter(kept).flat_map(char::to_lowercase);
    letters
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

fn outside_code(text: &str) -> Vec<(&str, usize)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((line, index + 1));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_link_is_found() {
        let text = "one [a](a.md)\n```\n[b](b.md)\n```\n![c](c.png \"C\") `[d](d.md)`\n\
                    <img src=\"e.png\">\n[f]: f.md#part\n";
        let found = [("a.md", 1), ("c.png", 5), ("e.png", 6), ("f.md#part", 7)];
        let found = found.map(|(target, line)| (target.to_owned(), line));
        assert_eq!(targets(text), found);
    }

    #[test]
    fn words_in_brackets_are_no_definition() {
        assert!(targets("[a] and [b]: both\n").is_empty());
        assert!(targets("[a]: \n").is_empty());
    }

    #[test]
    fn headings_have_the_anchors_that_links_name() {
        let text = "# One, two\n## 4.1 `xRead` and more\n### [In](a.md) full\n#none\n## Ä — b\n\
                    # One, two\n```sh\n# a comment\n```\n";
        let expected = [
            "one-two",
            "41-xread-and-more",
            "in-full",
            "ä--b",
            "one-two-1",
        ];
        assert_eq!(anchors(text), BTreeSet::from(expected.map(str::to_owned)));
    }

    #[test]
    fn a_path_is_counted_from_the_document() {
        let led = |path| led_to("docs/a.md", path);
        assert_eq!(led("b.md"), Some("docs/b.md".into()));
        assert_eq!(led("./../README.md"), Some("README.md".into()));
        assert_eq!(led("../../README.md"), None);
    }
}
