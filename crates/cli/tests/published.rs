//! `docs/results`: the page's tables equal the program's output for its samples.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const BEGIN: &str = "<!-- run: ";
const END: &str = "<!-- end of run -->";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

/// Names of runs in the page, each with its table.
fn quoted(page: &str) -> Vec<(&str, &str)> {
    page.split(BEGIN)
        .skip(1)
        .map(|part| {
            let (name, rest) = part.split_once(" -->").expect("a mark ends in its line");
            let (table, _) = rest.split_once(END).expect("a run ends with its mark");
            (name, table.trim())
        })
        .collect()
}

fn told(run: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args(["report", "--format", "markdown"])
        .arg(run)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("Markdown is UTF-8")
}

/// Set to rewrite the page's tables from the samples, instead of comparing them.
const WRITE: &str = "STRONGROOM_WRITE_TABLES";

/// Finds the tables of a run in the text: a table with the same heading, the second such table for
/// the second occurrence, and so on.
fn tables<'a>(text: &'a str, head: &str) -> Vec<&'a str> {
    let blocks = text.split("\n\n").map(str::trim);
    blocks
        .filter(|block| block.lines().next() == Some(head))
        .collect()
}

/// The page with each table replaced by that of its run.
fn written_anew(page: &str) -> String {
    let mut anew = page.to_owned();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (name, table) in quoted(page) {
        let head = table.lines().next().unwrap_or_default();
        let place = seen.iter().filter(|one| **one == (name, head)).count();
        seen.push((name, head));
        let told = told(&folder().join(name));
        if let Some(now) = tables(&told, head).get(place) {
            anew = anew.replace(table, now);
        }
    }
    anew
}

#[test]
fn tables_of_the_page_are_those_of_the_samples() {
    let path = folder().join("README.md");
    let mut page = std::fs::read_to_string(&path).expect("there is a page");
    if std::env::var_os(WRITE).is_some() {
        page = written_anew(&page);
        std::fs::write(&path, &page).expect("it can be written");
    }
    let quoted = quoted(&page);
    let mut all: BTreeMap<&str, String> = BTreeMap::new();
    for (name, table) in &quoted {
        let told = all
            .entry(name)
            .or_insert_with(|| told(&folder().join(name)));
        assert!(!table.is_empty(), "{name}: nothing is quoted");
        assert_eq!(page.matches(table).count(), 1, "{name}: quoted twice");
        assert!(
            told.contains(table),
            "{name}: the page differs from\n{told}"
        );
    }
    let folders: BTreeSet<String> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let names: BTreeSet<String> = quoted.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(folders, names, "each run stands in the page");
}
