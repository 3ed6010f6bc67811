//! Dot commands about the schema of the database.

use super::{Command, Takes, at_most_one, usage};
use crate::error::ShellError;
use crate::quote;
use crate::session::{Flow, Shell};
use rusqlite::params_from_iter;
use std::io::Write;
use std::path::Path;
use store::database::{FileKind, file_kind, status};
use unicode_width::UnicodeWidthStr;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "databases",
        usage: ".databases",
        summary: "List the open databases, and how each is kept",
        details: "",
        takes: Takes::Nothing,
        run: databases,
    },
    Command {
        name: "indexes",
        usage: ".indexes [TABLE]",
        summary: "List indexes, all or those of tables LIKE the pattern",
        details: "",
        takes: Takes::Table,
        run: indexes,
    },
    Command {
        name: "schema",
        usage: ".schema [PATTERN]",
        summary: "Write the CREATE statements",
        details: "PATTERN is a LIKE pattern for tables, views, indexes and triggers.",
        takes: Takes::Table,
        run: schema,
    },
    Command {
        name: "tables",
        usage: ".tables [PATTERN]",
        summary: "List tables and views",
        details: "PATTERN is a LIKE pattern.",
        takes: Takes::Table,
        run: tables,
    },
];

/// Columns of a terminal that a list of names fills.
const LIST_WIDTH: usize = 80;

fn database_names(shell: &Shell) -> Result<Vec<String>, ShellError> {
    let connection = shell.database.connection();
    let mut statement = connection.prepare("SELECT name FROM pragma_database_list ORDER BY seq")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Names from all open databases; those of attached ones are qualified.
fn names(shell: &Shell, condition: &str, pattern: Option<&str>) -> Result<Vec<String>, ShellError> {
    let mut found = Vec::new();
    for database in database_names(shell)? {
        let prefix = match database.as_str() {
            "main" | "temp" => String::new(),
            attached => format!("{attached}."),
        };
        let mut statement = shell.database.connection().prepare(&format!(
            "SELECT name FROM {}.sqlite_schema WHERE {condition}",
            quote::identifier(&database)
        ))?;
        let rows = statement.query_map([pattern.unwrap_or("%")], |row| {
            Ok(format!("{prefix}{}", row.get::<_, String>(0)?))
        })?;
        for name in rows {
            found.push(name?);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn write_list(shell: &mut Shell, names: &[String]) -> Result<Flow, ShellError> {
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0) + 2;
    let columns = (LIST_WIDTH / width).max(1);
    let rows = names.len().div_ceil(columns);
    for row in 0..rows {
        let mut line = String::new();
        for name in names.iter().skip(row).step_by(rows) {
            line.push_str(name);
            line.push_str(&" ".repeat(width - name.width()));
        }
        writeln!(shell.output, "{}", line.trim_end())?;
    }
    Ok(Flow::Continue)
}

fn tables(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let condition = "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                     AND name LIKE ?1";
    let names = names(shell, condition, at_most_one(arguments)?)?;
    write_list(shell, &names)
}

fn indexes(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let names = names(
        shell,
        "type = 'index' AND tbl_name LIKE ?1",
        at_most_one(arguments)?,
    )?;
    write_list(shell, &names)
}

fn schema(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let pattern = at_most_one(arguments)?;
    for database in database_names(shell)? {
        let mut statement = shell.database.connection().prepare(&format!(
            "SELECT sql FROM {}.sqlite_schema \
             WHERE sql IS NOT NULL AND (?1 IS NULL OR name LIKE ?1 OR tbl_name LIKE ?1) \
             ORDER BY tbl_name, CASE type WHEN 'table' THEN 0 WHEN 'view' THEN 0 ELSE 1 END, rowid",
            quote::identifier(&database)
        ))?;
        let rows =
            statement.query_map(params_from_iter([pattern]), |row| row.get::<_, String>(0))?;
        for (index, sql) in rows.enumerate() {
            if index == 0 && database != "main" {
                writeln!(shell.output, "-- database {database}")?;
            }
            writeln!(shell.output, "{};", sql?)?;
        }
    }
    Ok(Flow::Continue)
}

fn databases(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    if !arguments.is_empty() {
        return usage();
    }
    let connection = shell.database.connection();
    let mut statement =
        connection.prepare("SELECT name, file FROM pragma_database_list ORDER BY seq")?;
    let rows = statement.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, Option<String>>(1)?.unwrap_or_default(),
        ))
    })?;
    for row in rows {
        let (name, file) = row?;
        let access = if connection.is_readonly(name.as_str())? {
            "r/o"
        } else {
            "r/w"
        };
        let kept = kept(shell, &name, &file);
        let shown = if file.is_empty() { "\"\"" } else { &file };
        writeln!(shell.output, "{name}: {shown} {access} {kept}")?;
    }
    Ok(Flow::Continue)
}

/// How a database is stored, in words.
fn kept(shell: &Shell, name: &str, file: &str) -> String {
    if file.is_empty() {
        return "in memory".to_owned();
    }
    if name == "main"
        && let Some(status) = status(shell.database.connection())
    {
        return match (status.state.as_str(), status.cipher) {
            ("plain", _) => "not encrypted".to_owned(),
            ("new", Some(cipher)) => format!("new, encrypted from the first write ({cipher})"),
            ("encrypted", Some(cipher)) => format!("encrypted ({cipher})"),
            (state, _) => state.to_owned(),
        };
    }
    match file_kind(Path::new(file)) {
        Ok(FileKind::Encrypted(region)) => format!("encrypted ({})", region.header.cipher.name()),
        Ok(FileKind::Plain) => "not encrypted".to_owned(),
        Ok(FileKind::Missing | FileKind::Empty) => "new, not encrypted".to_owned(),
        Ok(FileKind::Other(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}
