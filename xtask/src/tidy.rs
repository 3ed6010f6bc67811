//! `tidy`: rules for the tree that a program can check. Each rule is a module; ARCHITECTURE.md
//! names the module beside each invariant that it proves.

mod allow;
mod budget;
mod circles;
mod edges;
mod ignored;
mod layout;
mod links;
mod map;
mod pure;
mod scope;
mod secrets;
mod test_modules;
mod tokens;
mod tree;
mod unused_vectors;
mod words;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, bail};

use crate::workspace;
use tree::Tree;

/// A violation of a rule, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    path: String,
    /// The line number; 0 if the whole file is meant.
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.path, self.message),
            line => write!(formatter, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Checks the tree and prints every violation.
pub fn run() -> anyhow::Result<()> {
    let tree = Tree::read()?;
    let mut violations = violations(&tree)?;
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        bail!("tidy: {} violations", violations.len());
    }
    println!("tidy: {} files", tree.files.len());
    Ok(())
}

fn violations(tree: &Tree) -> anyhow::Result<Vec<Violation>> {
    let allow = tree
        .text(allow::PATH)
        .context("the list of exceptions is missing")?;
    let allowances = allow::parse(allow)?;
    let mut violations = Vec::new();
    let mut measured = Vec::new();
    let mut crates: BTreeMap<String, circles::Modules> = BTreeMap::new();
    for file in tree.rust_files() {
        match tokens::Source::parse(file) {
            Ok(source) => {
                measured.extend(budget::measure(&source));
                violations.extend(scope::check(&source));
                violations.extend(pure::check(&source));
                violations.extend(secrets::check(&source));
                violations.extend(ignored::check(&source));
                let modules = crates.entry(source.crate_name().to_owned());
                modules.or_default().add(&source);
            }
            Err(violation) => violations.push(violation),
        }
        violations.extend(budget::check_head_and_width(file));
    }
    violations.extend(allow::judge(&measured, &allowances));
    violations.extend(circles::check(&crates));
    violations.extend(edges::check(&workspace::metadata()?));
    violations.extend(words::check(tree));
    violations.extend(links::check(tree));
    violations.extend(map::check(tree));
    violations.extend(test_modules::check(tree));
    violations.extend(unused_vectors::check(tree));
    violations.extend(layout::check(tree.text(layout::PATH), page_codec::LAYOUTS));
    Ok(violations)
}
