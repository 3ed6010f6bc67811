//! `strongroom columns`: checks and explains rules of confidential columns.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use comfy_table::{ContentArrangement, Table, TableStyle};
use configuration::{Parts, Protocol};
use sql_plan::{DEFAULT_SCHEMA, Use};
use sql_rewrite::explain::{self, ColumnReport, How, Learnt, Place, StatementReport};
use sql_rewrite::{Answer, QUERIES, Schema};

mod guards;
mod mysql;
mod queries;
mod server;
mod suggest;

use server::DATABASE_URL;

/// Rules of confidential columns: check them, explain them, make their key
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the rules against themselves, and against the server
    ///
    /// The server is that of the variable STRONGROOM_DATABASE_URL (postgres://USER@HOST/DATABASE,
    /// or mysql://… with protocol = "mysql"), by TLS where the configuration has
    /// [proxy.server_tls].
    /// Without it the rules are checked against themselves only.
    Check(FileArgs),
    /// Tell what works on each column and where, and what somebody who reads the server learns
    ///
    /// With --queries also what becomes of each statement of a file, and what it tells.
    Explain(ExplainArgs),
    /// Have the server itself refuse plaintext in the protected columns of tables that are there
    ///
    /// Adds a check to each table of the rules that lacks one, at the server of the variable
    /// STRONGROOM_DATABASE_URL, and looks whether rows that are there have plaintext. Tables that
    /// are made through the proxy have that check.
    Guard(FileArgs),
    /// Propose rules for the tables of a server, which are in clear
    ///
    /// Writes `[columns.…]` for the database of the variable STRONGROOM_DATABASE_URL to standard
    /// output. A column that cannot be protected is in a comment that says why.
    Suggest(suggest::SuggestArgs),
    /// Write a new column root key into a file that only its owner reads
    CreateKey {
        /// The new file
        file: PathBuf,
    },
}

#[derive(Debug, Parser)]
struct FileArgs {
    /// The configuration file of the proxy (TOML), with its tables [columns.…]
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Debug, Parser)]
struct ExplainArgs {
    #[command(flatten)]
    file: FileArgs,
    /// SQL statements, separated by semicolons, or a log with statements: of PostgreSQL, or the
    /// general or slow log of MySQL or MariaDB
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
}

/// Runs `strongroom columns`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Check(args) => check(&args),
        Command::Explain(args) => explain(&args),
        Command::Guard(args) => guard(&args),
        Command::Suggest(args) => suggest::run(&args),
        Command::CreateKey { file } => {
            store::key_file::generate(&file)?;
            writeln!(
                io::stdout(),
                "{} written. Without it the columns are lost: keep a copy in a safe place, away \
                 from the server's backups.",
                file.display()
            )?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn check(args: &FileArgs) -> anyhow::Result<ExitCode> {
    let Some(parts) = read_parts(&args.config)? else {
        return Ok(ExitCode::FAILURE);
    };
    if is_mysql(&parts) {
        return mysql::check(&parts);
    }
    let count = parts.columns.count();
    let Some(answers) = server::ask(&args.config, &parts)? else {
        writeln!(
            io::stdout(),
            "{}, none contradicts another. Set {DATABASE_URL} to check against a server.",
            rules_text(count)
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    match Schema::build(&parts.columns, &answers) {
        Err(errors) => {
            for error in &errors {
                writeln!(io::stderr(), "strongroom: {error}")?;
            }
            Ok(ExitCode::FAILURE)
        }
        Ok(schema) => {
            let wants_guards = parts.proxy.as_ref().is_none_or(|proxy| proxy.guard);
            tell_fit(&schema, count, wants_guards)
        }
    }
}

fn guard(args: &FileArgs) -> anyhow::Result<ExitCode> {
    let Some(parts) = read_parts(&args.config)? else {
        return Ok(ExitCode::FAILURE);
    };
    if is_mysql(&parts) {
        bail!(
            "before MySQL and MariaDB the proxy adds the guard itself when a table is created \
             through it"
        );
    }
    let Some(mut client) = server::connect(&args.config, &parts)? else {
        bail!("set {DATABASE_URL} to the server whose tables are to be guarded");
    };
    guards::add(&mut client, &parts.columns)
}

fn rules_text(count: usize) -> String {
    match count {
        1 => "1 rule".to_owned(),
        count => format!("{count} rules"),
    }
}

/// Reports on rules that fit the server's schema.
fn tell_fit(schema: &Schema, count: usize, wants_guards: bool) -> anyhow::Result<ExitCode> {
    let closed = schema.closed.values().cloned();
    let missing = schema.missing_columns().map(|own| own.missing_text());
    let mut problems = closed.chain(missing).peekable();
    if problems.peek().is_some() {
        for problem in problems {
            writeln!(io::stderr(), "strongroom: {problem}")?;
        }
        return Ok(ExitCode::FAILURE);
    }
    let mut lacking = schema.lacking_checks().peekable();
    if lacking.peek().is_some() {
        for (column, check) in lacking {
            writeln!(io::stderr(), "strongroom: {}", column.lacking_text(check))?;
        }
        return Ok(ExitCode::FAILURE);
    }
    let mut output = io::stdout().lock();
    let verb = if count == 1 { "fits" } else { "fit" };
    writeln!(output, "{} {verb} the server.", rules_text(count))?;
    for report in explain::columns(schema) {
        for warning in &report.warnings {
            writeln!(output, "{}.{}: {warning}", report.table, report.column)?;
        }
    }
    if wants_guards {
        guards::report_missing(schema, &mut output)?;
    }
    let opaque = schema.tables.values().filter(|table| table.opaque);
    let mut opaque: Vec<String> = opaque
        .map(|table| format!("{}.{}", table.schema, table.name))
        .collect();
    opaque.sort_unstable();
    for name in opaque {
        writeln!(
            output,
            "{name}: computes from protected columns, so reading it is refused"
        )?;
    }
    for name in &schema.suspect_functions {
        writeln!(
            output,
            "{name}(): reads protected tables or runs texts as SQL, so calling it is refused"
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the proxy of a configuration stands before MySQL or MariaDB.
fn is_mysql(parts: &Parts) -> bool {
    let proxy = parts.proxy.as_ref();
    proxy.is_some_and(|proxy| proxy.protocol == Protocol::Mysql)
}

/// Reads a configuration with rules; `None` if they contradict each other, which has then been
/// reported. The whole file is parsed as the proxy does, so that a misspelt rule is an error.
fn read_parts(path: &Path) -> anyhow::Result<Option<Parts>> {
    let mut parts: Parts = configuration::read_toml(path)?;
    if is_mysql(&parts) {
        parts.columns.fold_columns();
        if !mysql::are_known(path, &parts)? {
            return Ok(None);
        }
    } else {
        let has_finisher = parts.finish.is_some();
        if let Err(errors) = sql_rewrite::check_rules(&parts.columns, has_finisher) {
            for error in &errors {
                writeln!(io::stderr(), "strongroom: {}: {error}", path.display())?;
            }
            return Ok(None);
        }
    }
    if let Some(keys) = &parts.keys {
        keys.source().context("[keys]")?;
    }
    if parts.columns.count() == 0 {
        bail!(
            "{} has no rules, so nothing would be protected: write them below [columns.TABLE]",
            path.display()
        );
    }
    Ok(Some(parts))
}

fn explain(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let Some(parts) = read_parts(&args.file.config)? else {
        return Ok(ExitCode::FAILURE);
    };
    let mut catalogues = None;
    let (schema, errors, has_tables) = match is_mysql(&parts) {
        true => {
            let (mut schema, has_tables) = mysql::schema_anyway(&parts)?;
            let errors = std::mem::take(&mut schema.unfit);
            (schema, errors, has_tables)
        }
        false => {
            let answers = match server::ask(&args.file.config, &parts)? {
                Some(answers) => answers,
                None => {
                    // The default search path of a server.
                    let mut answers = vec![Answer::new(); QUERIES.len()];
                    answers[0].push(vec![Some(DEFAULT_SCHEMA.to_owned())]);
                    answers
                }
            };
            let (mut schema, errors) = Schema::build_anyway(&parts.columns, &answers);
            schema.catalogue.finisher.is_there = parts.finish.is_some();
            let has_tables = !answers[1].is_empty();
            catalogues = Some(answers);
            (schema, errors, has_tables)
        }
    };
    let mut output = io::stdout().lock();
    if !errors.is_empty() {
        writeln!(
            output,
            "The server does not fit these rules yet. What follows is what they would mean, once \
             this is mended:"
        )?;
        for error in &errors {
            writeln!(output, "  {error}")?;
        }
        writeln!(output)?;
    }
    for report in explain::columns(&schema) {
        output.write_all(column_text(&report).as_bytes())?;
    }
    if let Some(path) = &args.queries {
        if !has_tables {
            writeln!(
                output,
                "No tables are known, so statements over protected ones are refused. Name a \
                 server that has them in {DATABASE_URL}.\n"
            )?;
        }
        let all = queries::read(path)?;
        tell_statements(&all, &schema, &mut output)?;
        if let Some(answers) = catalogues {
            let texts = all.iter().map(|sent| (sent.text.as_str(), sent.count));
            let texts: Vec<(&str, usize)> = texts.collect();
            let rules = (&parts.columns, answers.as_slice());
            for group in explain::proposed_groups(&texts, rules, &schema) {
                output.write_all(group_text(&group).as_bytes())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What happens to each statement of a file, and how many there are of each kind.
fn tell_statements(
    all: &[queries::Sent],
    schema: &Schema,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut kinds = [0_usize; KINDS.len()];
    for sent in all {
        for report in explain::statements(&sent.text, schema) {
            kinds[kind(&report.how)] += sent.count;
            output.write_all(statement_text(&report, sent.count).as_bytes())?;
        }
    }
    let counts = KINDS.iter().zip(kinds).filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let total: usize = kinds.iter().sum();
    writeln!(output, "statements: {total}; {}", counts.join(", "))
}

/// The possible outcomes for a statement, for the summary.
const KINDS: [&str; 7] = [
    "passed on",
    "done by the server",
    "computed from old values",
    "finished by the proxy",
    "evaluated by the finisher",
    "copied",
    "refused",
];

fn group_text(group: &explain::GroupProposal) -> String {
    format!(
        "\n{}: {} could be sealed together (`group` in their rules): of {} statements that use \
         them, {} change some without the others. Rows would have some {} bytes less\n",
        group.table,
        group.columns.join(", "),
        group.uses,
        group.changes,
        group.size_saved()
    )
}

fn kind(how: &How) -> usize {
    match how {
        How::Passed => 0,
        How::Server => 1,
        How::ReadModifyWrite => 2,
        How::Finished => 3,
        How::ByFinisher => 4,
        How::Copied => 5,
        How::Refused(_) => 6,
    }
}

fn statement_text(report: &StatementReport, count: usize) -> String {
    let mut text = in_one_line(&report.text);
    let mut line = |part: &str| {
        text.push('\n');
        text.push_str(part);
    };
    if count > 1 {
        line(&format!("  {count} times"));
    }
    line(&format!("  {}", report.how.text()));
    if report.how == How::Passed {
        line("    the server's side sees all of it, with its constants");
    }
    for learnt in &report.learnt {
        line(&format!("    {}", learnt_text(learnt)));
    }
    text.push_str("\n\n");
    text
}

/// What a statement reveals about one column.
fn learnt_text(learnt: &Learnt) -> String {
    let uses = learnt.uses.iter();
    let uses: Vec<String> = uses
        .map(|(what, told)| format!("{}: {told}", use_name(*what)))
        .collect();
    format!(
        "{}.{} ({})  {}",
        learnt.table,
        learnt.column,
        mode_name(learnt.mode),
        uses.join("; ")
    )
}

fn use_name(what: Use) -> &'static str {
    match what {
        Use::Written => "written",
        Use::Matched => "compared",
        Use::Bounded => "compared with a bound",
        Use::Paired => "compared with a column",
        Use::Grouped => "grouped",
        Use::Sorted => "sorted",
        Use::NullTested => "tested for NULL",
        Use::NeverNull => "never NULL",
        Use::Returned => "returned",
        Use::Fetched => "fetched for the proxy",
    }
}

fn new_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new())
        .set_content_arrangement(ContentArrangement::Dynamic);
    // In a file, lines are not wrapped.
    if let Some((width, _)) = terminal_size::terminal_size() {
        table.set_width(width.0);
    }
    table
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn column_text(report: &ColumnReport) -> String {
    let mut text = String::new();
    let mut line = |part: String| writeln!(text, "{part}").expect("a String takes all");
    let domain = report
        .domain
        .as_ref()
        .map(|name| format!(", domain {name}"));
    let bits = report.bits.map(|bits| format!(", {bits} bits"));
    let pad = report.pad.map(|pad| match pad.step() {
        1 => ", lengths not hidden".to_owned(),
        step => format!(", lengths in steps of {step} bytes"),
    });
    line(format!(
        "{}.{}  {}, mode {}{}{}{}",
        report.table,
        report.column,
        report.logical,
        mode_name(report.mode),
        domain.unwrap_or_default(),
        bits.unwrap_or_default(),
        pad.unwrap_or_default()
    ));
    let mut table = new_table();
    for (operation, place) in &report.operations {
        table.add_row(["  ", *operation, place_name(*place)]);
    }
    line(table.trim_fmt());
    line("  who reads the server learns:".to_owned());
    for leak in &report.leaks {
        line(format!("    {}", leak.text()));
    }
    line("  known attacks:".to_owned());
    for attack in &report.attacks {
        line(format!(
            "    {} ({})",
            in_one_line(attack.gain),
            attack.source
        ));
    }
    for warning in &report.warnings {
        line(format!("  note: {warning}"));
    }
    line(String::new());
    text
}

fn mode_name(mode: sql_plan::Mode) -> &'static str {
    match mode {
        sql_plan::Mode::Random => "random",
        sql_plan::Mode::Equality => "equality",
        sql_plan::Mode::Order => "order",
    }
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Server => "server",
        Place::Proxy => "proxy, over the rows that are fetched",
        Place::ReadModifyWrite => "read, modify, write",
        Place::Nowhere => "refused",
    }
}
