//! `strongroom columns`: rules of confidential columns, checked and explained.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use comfy_table::{ContentArrangement, Table, TableStyle};
use postgres::{Client, IsolationLevel, NoTls, SimpleQueryMessage};
use sql_rewrite::explain::{self, ColumnReport, Place};
use sql_rewrite::{Answer, DEFAULT_SCHEMA, Dialect, QUERIES, Rules, Schema};

/// Where the server is, with user and password: never an argument, which others could see.
const DATABASE_URL: &str = "STRONGROOM_DATABASE_URL";

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
    /// The server is that of the variable STRONGROOM_DATABASE_URL (postgres://USER@HOST/DATABASE).
    /// Without it the rules are checked against themselves only.
    Check(FileArgs),
    /// Tell what works on each column and where, and what somebody who reads the server learns
    ///
    /// With --queries also what becomes of each statement of a file.
    Explain(ExplainArgs),
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
    /// SQL statements, separated by semicolons
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
}

/// Runs `strongroom columns`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Check(args) => check(&args),
        Command::Explain(args) => explain(&args),
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
    let Some(rules) = read_rules(&args.config)? else {
        return Ok(ExitCode::FAILURE);
    };
    let count: usize = rules.tables.values().map(|columns| columns.len()).sum();
    let mut output = io::stdout().lock();
    let Some(answers) = ask_server()? else {
        writeln!(
            output,
            "{count} rules, none contradicts another. Set {DATABASE_URL} to check them against a \
             server."
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    match Schema::build(&rules, &answers) {
        Err(errors) => {
            for error in &errors {
                writeln!(io::stderr(), "strongroom: {error}")?;
            }
            Ok(ExitCode::FAILURE)
        }
        Ok(schema) => {
            writeln!(output, "{count} rules fit the server.")?;
            for report in explain::columns(&schema) {
                for warning in &report.warnings {
                    writeln!(output, "{}.{}: {warning}", report.table, report.column)?;
                }
            }
            let mut opaque: Vec<String> = schema
                .tables
                .values()
                .filter(|table| table.opaque)
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
                    "{name}(): reads protected tables or runs texts as SQL, so calling it is \
                     refused"
                )?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The rules of a configuration; None: they contradict themselves, and that has been said.
fn read_rules(path: &Path) -> anyhow::Result<Option<Rules>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration {}", path.display()))?;
    match Rules::from_toml(&text) {
        Ok(rules) => Ok(Some(rules)),
        Err(errors) => {
            for error in &errors {
                writeln!(io::stderr(), "strongroom: {}: {error}", path.display())?;
            }
            Ok(None)
        }
    }
}

/// What the server says of itself; None where no server is named.
fn ask_server() -> anyhow::Result<Option<Vec<Answer>>> {
    let Ok(url) = std::env::var(DATABASE_URL) else {
        return Ok(None);
    };
    // The text of an error may repeat the URL, and with it a password.
    let Ok(config) = url.parse::<postgres::Config>() else {
        bail!("{DATABASE_URL} is no URL of PostgreSQL: write postgres://USER@HOST:PORT/DATABASE");
    };
    let mut client: Client = config
        .connect(NoTls)
        .with_context(|| format!("cannot connect to the server of {DATABASE_URL}"))?;
    // One moment for all queries, and nothing is changed.
    let mut transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()?;
    let mut answers = Vec::new();
    for query in QUERIES {
        let messages = transaction.simple_query(query)?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let column = |place| row.get(place).map(str::to_owned);
                Some((0..row.len()).map(column).collect())
            }
            _ => None,
        });
        answers.push(rows.collect());
    }
    Ok(Some(answers))
}

fn explain(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let Some(rules) = read_rules(&args.file.config)? else {
        return Ok(ExitCode::FAILURE);
    };
    let answers = match ask_server()? {
        Some(answers) => answers,
        None => {
            // The search path of a server that nobody has set another for.
            let mut answers = vec![Answer::new(); QUERIES.len()];
            answers[0].push(vec![Some(DEFAULT_SCHEMA.to_owned())]);
            answers
        }
    };
    let schema = match Schema::build(&rules, &answers) {
        Ok(schema) => schema,
        Err(errors) => {
            for error in &errors {
                writeln!(io::stderr(), "strongroom: {error}")?;
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut output = io::stdout().lock();
    for report in explain::columns(&schema) {
        output.write_all(column_text(&report).as_bytes())?;
    }
    if let Some(path) = &args.queries {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the statements {}", path.display()))?;
        let mut table = new_table();
        for report in explain::statements(&text, &schema, Dialect::Postgres) {
            table.add_row([in_one_line(&report.text), report.how.text()]);
        }
        writeln!(output, "{}", table.trim_fmt())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn new_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new())
        .set_content_arrangement(ContentArrangement::Dynamic);
    // Where it goes into a file, lines are as long as they are.
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
    line(format!(
        "{}.{}  {}, mode {}{}{}",
        report.table,
        report.column,
        report.logical,
        mode_name(report.mode),
        domain.unwrap_or_default(),
        bits.unwrap_or_default()
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

fn mode_name(mode: sql_rewrite::Mode) -> &'static str {
    match mode {
        sql_rewrite::Mode::Random => "random",
        sql_rewrite::Mode::Equality => "equality",
        sql_rewrite::Mode::Order => "order",
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
