//! `site`: the documents and the pages of the runs as a site with search, built with mdBook.
//!
//! The source of the book has the same layout as the repository, so that relative links work in
//! both. Links are checked here in the built site, because mdbook-linkcheck does not keep up with
//! mdBook.

mod links;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::built;
use crate::command::{program, run as run_command};
use crate::markdown;
use crate::page::draw_run;
use crate::tool::Tool;
use crate::workspace;

const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.2",
};

/// The folder whose documents must be in the list.
const DOCUMENTS: &str = "docs/";

/// The folder of runs; its page is a chapter, too.
const RESULTS: &str = "docs/results";

/// Title and path of a chapter.
type Chapter = (&'static str, &'static str);

const FIRST: Chapter = ("Strongroom", "README.md");

/// Every chapter except the first, in order.
const PARTS: &[(&str, &[Chapter])] = &[
    (
        "To choose",
        &[
            ("Questions", "docs/faq.md"),
            ("Comparison with other products", "docs/comparison.md"),
            ("Roadmap", "docs/roadmap.md"),
            ("Releases", "docs/releases.md"),
            ("Glossary", "docs/glossary.md"),
        ],
    ),
    (
        "Encrypted files",
        &[
            ("Manual", "docs/manual.md"),
            ("In a browser", "docs/browser.md"),
            ("The package for browsers", "packages/sqlite/README.md"),
            ("The package for Python", "python/README.md"),
            ("The package for Node", "packages/node/README.md"),
            ("The format of a database", "docs/page-format.md"),
        ],
    ),
    (
        "Confidential columns",
        &[
            ("Columns", "docs/columns.md"),
            ("The proxy", "docs/proxy.md"),
            ("More than one server", "docs/cluster.md"),
            ("In process", "docs/in-process.md"),
            ("The format of sealed values", "docs/column-format.md"),
            ("Rules for TPC-C", "examples/tpcc-columns/README.md"),
        ],
    ),
    (
        "What it protects, and the proof",
        &[
            ("Threat model", "docs/threat-model.md"),
            ("Reliability", "docs/reliability.md"),
            ("Vectors", "vectors/README.md"),
            ("Samples of SQLCipher", "vectors/sqlcipher/README.md"),
            ("Reporting a weakness", "SECURITY.md"),
        ],
    ),
    (
        "What it costs",
        &[
            ("Results", "docs/results/README.md"),
            ("Measurements", "docs/benchmarks.md"),
            ("A workload of your own", "examples/my-app/README.md"),
            ("How to cite figures", "docs/citing.md"),
        ],
    ),
    (
        "To change it",
        &[
            ("Contributing", "CONTRIBUTING.md"),
            ("Architecture", "ARCHITECTURE.md"),
            ("Style", "STYLE.md"),
            ("Changelog", "CHANGELOG.md"),
            ("Fuzzing", "fuzz/README.md"),
            ("Foreign clients", "interop/README.md"),
        ],
    ),
];

/// Builds the site below the target folder and prints its path.
pub fn run() -> anyhow::Result<()> {
    let lacking = not_listed(&workspace::files()?);
    if !lacking.is_empty() {
        bail!(
            "not in the list of chapters in xtask/src/site.rs: {}",
            lacking.join(", ")
        );
    }
    let mdbook = match MDBOOK.find()? {
        Some(found) => found,
        None => {
            MDBOOK.install()?;
            MDBOOK
                .find()?
                .context("mdbook was built and is not there")?
        }
    };
    let folder = workspace::target_folder()?.join("site");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    let source = folder.join("source");
    write(&folder.join("book.toml"), BOOK)?;
    write(&source.join("SUMMARY.md"), summary())?;
    for (_, path) in chapters() {
        copy(Path::new("."), path, &source)?;
    }
    draw_runs(&source)?;
    run_command(program(&mdbook.to_string_lossy()).arg("build").arg(&folder))?;
    let site = folder.join("html");
    let broken = links::broken(&site)?;
    if !broken.is_empty() {
        bail!("links of the site lead nowhere:\n{}", broken.join("\n"));
    }
    println!("the site is {}", site.join("index.html").display());
    Ok(())
}

/// No preprocessors: one would rename README.md, to which documents link, and another would
/// interpret braces in them.
const BOOK: &str = r#"[book]
title = "Strongroom"
description = "Encrypted SQL databases, and what encryption costs."
language = "en"
src = "source"

[build]
build-dir = "html"
use-default-preprocessors = false

[output.html.print]
enable = false

[output.html.search]
enable = true
"#;

fn chapters() -> impl Iterator<Item = Chapter> {
    let parts = PARTS.iter().flat_map(|(_, chapters)| chapters.iter());
    std::iter::once(FIRST).chain(parts.copied())
}

/// Documents that are in no chapter.
fn not_listed(files: &[String]) -> Vec<String> {
    let document = |path: &&String| path.starts_with(DOCUMENTS) && path.ends_with(".md");
    let listed = |path: &str| chapters().any(|(_, chapter)| chapter == path);
    files
        .iter()
        .filter(document)
        .filter(|path| !listed(path))
        .cloned()
        .collect()
}

fn summary() -> String {
    let (title, path) = FIRST;
    let mut summary = format!("# Summary\n\n[{title}]({path})\n");
    for (part, chapters) in PARTS {
        summary.push_str(&format!("\n# {part}\n\n"));
        for (title, path) in *chapters {
            summary.push_str(&format!("- [{title}]({path})\n"));
        }
    }
    summary
}

/// Copies a document, and linked files that are not documents.
fn copy(root: &Path, document: &str, source: &Path) -> anyhow::Result<()> {
    let from = root.join(document);
    let text =
        fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
    for (target, _) in markdown::targets(&text) {
        let path = target.split('#').next().unwrap_or(&target);
        if path.is_empty() || path.ends_with(".md") || path.contains(':') {
            continue;
        }
        // A missing file is found in the built site.
        let Some(path) = markdown::led_to(document, path) else {
            continue;
        };
        if root.join(&path).is_file() {
            let bytes = fs::read(root.join(&path))
                .with_context(|| format!("cannot read {}", path.display()))?;
            write(&source.join(&path), bytes)?;
        }
    }
    write(&source.join(document), text)
}

/// Has the program render the page of each run, or folder of runs, and links them from the chapter
/// of results.
fn draw_runs(source: &Path) -> anyhow::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(RESULTS).with_context(|| format!("cannot read {RESULTS}"))? {
        let entry = entry?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let strongroom = built::build()?.program;
    let mut list = String::from("\n## Pages of these runs\n\n");
    for name in names {
        let folder = source.join(RESULTS).join(&name);
        fs::create_dir_all(&folder)?;
        let page = folder.join("report.html");
        draw_run(&strongroom, &Path::new(RESULTS).join(&name), &page)?;
        list.push_str(&format!("- [{name}]({name}/report.html)\n"));
    }
    let chapter = source.join(RESULTS).join("README.md");
    let text = fs::read_to_string(&chapter)?;
    write(&chapter, text + &list)
}

/// Writes a file, and the folders that it needs.
fn write(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn each_document_is_a_chapter() {
        let mut files = Vec::new();
        for entry in fs::read_dir(root().join(DOCUMENTS)).unwrap() {
            files.push(format!(
                "{DOCUMENTS}{}",
                entry.unwrap().file_name().display()
            ));
        }
        assert!(files.len() > 10, "{files:?}");
        assert_eq!(not_listed(&files), [""; 0]);
    }

    #[test]
    fn each_chapter_is_there_once() {
        let mut paths: Vec<_> = chapters().map(|(_, path)| path).collect();
        for path in &paths {
            assert!(root().join(path).is_file(), "{path}");
        }
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), count);
    }

    #[test]
    fn a_document_that_is_not_listed_is_named() {
        let files = ["docs/new.md", "docs/faq.md", "docs/a.png", "crates/a.md"];
        assert_eq!(not_listed(&files.map(str::to_owned)), ["docs/new.md"]);
    }

    #[test]
    fn files_that_a_document_links_to_come_along() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("source");
        write(&root.path().join("rules.toml"), "[proxy]").unwrap();
        let text = "[a](../rules.toml) [b](b.md) [c](none.png) [d](../../out.toml)";
        write(&root.path().join("docs/a.md"), text).unwrap();
        write(&root.path().join("docs/b.md"), "").unwrap();
        copy(root.path(), "docs/a.md", &source).unwrap();
        for (path, comes) in [
            ("docs/a.md", true),
            ("rules.toml", true),
            ("docs/b.md", false),
            ("docs/none.png", false),
        ] {
            assert_eq!(source.join(path).is_file(), comes, "{path}");
        }
    }

    #[test]
    fn the_summary_names_parts_and_chapters() {
        let summary = summary();
        assert!(summary.starts_with("# Summary\n\n[Strongroom](README.md)\n"));
        assert!(summary.contains("\n# To choose\n\n- [Questions](docs/faq.md)\n"));
    }
}
