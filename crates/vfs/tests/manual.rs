//! The manual lists exactly the pragmas that the code answers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).expect("readable")
}

/// The text between `from` and the next `to`.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).expect(from);
    rest.split_once(to).expect(to).0
}

/// The names in the arms of the match: `("one" | "another", value) => …`.
fn answered() -> BTreeSet<String> {
    let source = read("crates/vfs/src/pragma.rs");
    let arms = between(&source, "match (name, value) {", "(foreign, Some(_))");
    let lines = arms.lines().map(str::trim);
    let names = lines.filter_map(|line| line.strip_prefix("(\"")?.split_once("\", "));
    names
        .flat_map(|(names, _)| names.split("\" | \"").map(str::to_owned))
        .collect()
}

/// The pragmas in the manual's table, except those that belong to SQLite itself.
fn listed() -> BTreeSet<String> {
    let manual = read("docs/manual.md");
    let section = between(&manual, "\n## 10. Pragmas", "\n## 11.");
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| `PRAGMA "));
    let ours = rows.filter(|row| !row.contains("SQLite's own"));
    let names = ours
        .flat_map(|row| row.split("`PRAGMA ").skip(1))
        .map(|rest| {
            let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            rest.split(|c| !name(c)).next().unwrap_or_default()
        });
    names.map(str::to_owned).collect()
}

#[test]
fn the_manual_lists_every_pragma_and_no_other() {
    let answered = answered();
    assert!(answered.len() > 15 && answered.contains("cipher_version"));
    assert_eq!(listed(), answered);
}
