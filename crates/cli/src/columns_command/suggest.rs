//! `strongroom columns suggest`: proposes rules for a database in clear.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use configuration::Parts;
use sql_plan::{ColumnRule, Mode};
use sql_rewrite::suggest::{
    self, MYSQL_SUGGEST_QUERIES, MySqlServer, Proposal, SUGGEST_QUERIES, Suggestion, Wishes,
};

use super::mysql;
use super::queries;
use super::server::{self, DATABASE_URL};

/// Names of types as people write them in rules.
const SHORT_TYPES: [(&str, &str); 5] = [
    ("character varying", "varchar"),
    ("character", "char"),
    ("timestamp with time zone", "timestamptz"),
    ("timestamp without time zone", "timestamp"),
    ("time without time zone", "time"),
];

#[derive(Debug, Parser)]
pub struct SuggestArgs {
    /// A configuration file whose [proxy.server_tls] is used; columns that have rules there are
    /// left out
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// SQL statements, separated by semicolons, or a log with statements (of PostgreSQL, or the
    /// general or slow log of MySQL or MariaDB): columns that they search by equality get mode
    /// `equality`
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Also keys that are only numbers, and keys of few values, although equality reveals these
    #[arg(long)]
    all: bool,
    /// Mode `order` for what the statements compare with bounds or sort. It reveals the order of
    /// the values, and so about what they are
    #[arg(long, requires = "queries")]
    order: bool,
}

/// Runs the command.
pub fn run(args: &SuggestArgs) -> anyhow::Result<ExitCode> {
    let mut parts = match &args.config {
        Some(path) => configuration::read_toml(path)?,
        None => Parts::default(),
    };
    let url = std::env::var(DATABASE_URL).unwrap_or_default();
    if url.starts_with("mysql:") {
        parts.columns.fold_columns();
        return run_before_mysql(args, &parts);
    }
    let file = args.config.as_deref().unwrap_or(Path::new(""));
    let Some(mut client) = server::connect(file, &parts)? else {
        bail!("set {DATABASE_URL} to the server whose columns are to be protected");
    };
    let answers = server::ask_by(&mut client)?;
    let mut more = Vec::new();
    for query in SUGGEST_QUERIES {
        more.push(proxy::rows_of(&client.simple_query(query)?));
    }
    let sent = sent(args)?;
    let texts: Vec<&str> = sent.iter().map(|sent| sent.text.as_str()).collect();
    let suggestion = suggest::suggest(&answers, &more, &texts, &parts.columns, wishes(args));
    tell(&suggestion)
}

fn run_before_mysql(args: &SuggestArgs, parts: &Parts) -> anyhow::Result<ExitCode> {
    let Some(told) = mysql::tell(parts, &MYSQL_SUGGEST_QUERIES)? else {
        bail!("set {DATABASE_URL} to the server whose columns are to be protected");
    };
    let server = MySqlServer {
        answers: &told.answers,
        more: &told.more,
        own: told.own,
        database: told.database.as_deref(),
    };
    let sent = sent(args)?;
    let texts: Vec<&str> = sent.iter().map(|sent| sent.text.as_str()).collect();
    tell(&suggest::suggest_mysql(
        server,
        &texts,
        &parts.columns,
        wishes(args),
    ))
}

fn sent(args: &SuggestArgs) -> anyhow::Result<Vec<queries::Sent>> {
    match &args.queries {
        Some(path) => queries::read(path),
        None => Ok(Vec::new()),
    }
}

fn wishes(args: &SuggestArgs) -> Wishes {
    Wishes {
        all: args.all,
        order: args.order,
    }
}

fn tell(suggestion: &Suggestion) -> anyhow::Result<ExitCode> {
    if suggestion.tables.is_empty() {
        bail!("the database has no table of a user");
    }
    let text = text(suggestion)?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(suggestion: &Suggestion) -> anyhow::Result<String> {
    let mut text = "# Proposed by `strongroom columns suggest`. See what each rule reveals with \
                    `strongroom columns\n# explain`, and remove what need not be protected.\n"
        .to_owned();
    let proposals = suggestion.tables.iter().flat_map(|table| &table.columns);
    let has_checks = |(_, proposal): &(String, Proposal)| match proposal {
        Proposal::Rule(rule, _) => !rule.checks.is_empty(),
        Proposal::LeftOut(_) => false,
    };
    if proposals.into_iter().any(has_checks) {
        text.push_str("# Rules with checks need a finisher: [finish] engine = \"postgres\".\n");
    }
    for table in &suggestion.tables {
        let is_rule = |(_, proposal): &(String, Proposal)| matches!(proposal, Proposal::Rule(..));
        let name = quoted(&table.table)?;
        // A table without a rule would be an error in the file.
        let comment = if table.columns.iter().any(is_rule) {
            ""
        } else {
            "# "
        };
        writeln!(text, "\n{comment}[columns.{name}]")?;
        for (column, proposal) in &table.columns {
            match proposal {
                Proposal::Rule(rule, needs) => {
                    let needs = match needs.is_empty() {
                        true => String::new(),
                        false => format!(" # {}", in_comment(&needs.join(", "))),
                    };
                    writeln!(text, "{} = {}{needs}", quoted(column)?, rule_text(rule)?)?;
                }
                Proposal::LeftOut(reason) => {
                    let line = format!("{}: {reason}", quoted(column)?);
                    writeln!(text, "# {}", in_comment(&line))?;
                }
            }
        }
    }
    if !suggestion.opaque_views.is_empty() {
        writeln!(
            text,
            "\n# These views compute from columns above, so reading them would be refused. Remove \
             those\n# rules, or write the queries out:"
        )?;
        for view in &suggestion.opaque_views {
            writeln!(text, "# {}", in_comment(view))?;
        }
    }
    Ok(text)
}

fn rule_text(rule: &ColumnRule) -> anyhow::Result<String> {
    let mut logical = rule.logical.to_string();
    for (long, short) in SHORT_TYPES {
        logical = logical.replace(long, short);
    }
    let mut text = format!("{{ type = {}", string(&logical)?);
    match rule.mode {
        Mode::Random => {}
        Mode::Equality => text.push_str(", mode = \"equality\""),
        Mode::Order => text.push_str(", mode = \"order\""),
    }
    if let Some(domain) = &rule.domain {
        write!(text, ", domain = {}", string(domain)?)?;
    }
    if let Some(collation) = &rule.collation {
        write!(text, ", collation = {}", string(collation)?)?;
    }
    if let Some(pad) = &rule.pad {
        write!(text, ", pad = {pad}")?;
    }
    if let Some(default) = &rule.default {
        write!(text, ", default = {}", string(default)?)?;
    }
    if !rule.checks.is_empty() {
        let checks = rule.checks.iter();
        let checks = checks.map(|(name, own)| Ok(format!("{} = {}", quoted(name)?, string(own)?)));
        let checks = checks.collect::<anyhow::Result<Vec<_>>>()?;
        write!(text, ", checks = {{ {} }}", checks.join(", "))?;
    }
    if rule.accept_leakage {
        text.push_str(", accept_leakage = true");
    }
    text.push_str(" }");
    Ok(text)
}

/// A key of TOML.
fn quoted(name: &str) -> anyhow::Result<String> {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match !name.is_empty() && name.bytes().all(is_bare) {
        true => Ok(name.to_owned()),
        false => string(name),
    }
}

/// A string of TOML, which has all escapes of JSON but that of `/`, which nothing writes. DEL may
/// not stand in it.
fn string(text: &str) -> anyhow::Result<String> {
    let json = serde_json::to_string(text).context("a text has no form in JSON")?;
    Ok(json.replace('\u{7f}', "\\u007f"))
}

/// A text of a database in a comment, which ends with its line.
fn in_comment(text: &str) -> String {
    let letters = text.chars();
    letters
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}
