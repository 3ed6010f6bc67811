//! The ways in which a suite of another project runs: at the server itself, for reference, and
//! through the proxy in several states. Whatever differs needs a reason in the suite's list.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::bail;
use clap::ValueEnum;

use super::differences::{Found, List};
use super::servers::{Proxy, Server};

/// A way to the server.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Mode {
    /// Without the proxy.
    Direct,
    /// Through the proxy without rules.
    Plain,
    /// Through the proxy with a rule for a table that does not exist.
    Rule,
    /// Through the proxy with a protected table that no test uses.
    Table,
}

/// The schema and the table that have rules and that no test uses. They are made in all modes,
/// because tests list the tables of a database.
const SCHEMA: &str = "strongroom_suite";
const RULES: &str = "[columns.\"strongroom_suite.unused\"]\n\
                     secret = { type = \"text\" }\nnumber = { type = \"integer\" }\n";
/// A rule without a table.
const RULE: &str = "[columns.\"strongroom_suite.missing\"]\nsecret = { type = \"text\" }\n";

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Direct => "direct",
            Mode::Plain => "plain",
            Mode::Rule => "rule",
            Mode::Table => "table",
        }
    }

    /// Those that were asked for, or all, without the reference.
    pub fn chosen(asked: &[Mode]) -> Vec<Mode> {
        let all = [Mode::Plain, Mode::Rule, Mode::Table];
        let chosen = |mode: &Mode| asked.is_empty() || asked.contains(mode);
        all.into_iter().filter(chosen).collect()
    }

    /// Starts what stands before the server; returns it with the port that the suite has to use.
    pub fn start(
        self,
        strongroom: &Path,
        server: &Server,
        folder: &Path,
    ) -> anyhow::Result<(Option<Proxy>, u16)> {
        let rules = match self {
            Mode::Direct => return Ok((None, server.port)),
            Mode::Plain => "",
            Mode::Rule => RULE,
            Mode::Table => RULES,
        };
        let proxy = Proxy::start(strongroom, &server.upstream(), folder, rules)?;
        let port = proxy.port;
        Ok((Some(proxy), port))
    }

    /// Makes the table that no test uses.
    pub fn make_table(server: &Server, port: u16, database: &str) -> anyhow::Result<()> {
        let schema = format!("CREATE SCHEMA {SCHEMA}");
        server.sql_by(port, database, &schema)?;
        let table = format!("CREATE TABLE {SCHEMA}.unused (secret text, number integer)");
        server.sql_by(port, database, &table)
    }
}

/// How many differences of a kind are printed; all of them are in a file.
const SHOWN: usize = 60;

/// Compares what was found in the parts of the suite that `ran` with the list of reasons.
pub fn judge(
    work: &Path,
    list: &str,
    version: &str,
    ran: &BTreeSet<String>,
    found: &Found,
) -> anyhow::Result<()> {
    let reasons = List::read(Path::new(list), version)?;
    let comparison = reasons.compare(ran, found);
    for (why, tests, parts) in comparison.counts.iter().filter(|(_, tests, _)| *tests > 0) {
        println!("{tests} differences in {parts} parts: {why}");
    }
    let line = |word: &str, part: &str, what: &str| format!("{word} {part}: {what}");
    let new = comparison
        .new
        .iter()
        .map(|(part, what)| line("new", part, what));
    let gone = comparison
        .gone
        .iter()
        .map(|(part, what)| line("gone", part, what));
    let lines: Vec<String> = new.chain(gone).collect();
    let path = work.join("differences.txt");
    fs::write(&path, lines.join("\n"))?;
    for line in lines.iter().take(SHOWN) {
        println!("{line}");
    }
    if !lines.is_empty() {
        bail!(
            "{} differences are new and {} are gone; {} has them all. Mend what is a defect; what \
             has a good reason belongs into {list}, what is gone does not",
            comparison.new.len(),
            comparison.gone.len(),
            path.display()
        );
    }
    println!("every difference to the server itself has a reason");
    Ok(())
}
