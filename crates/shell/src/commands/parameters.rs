//! Dot commands about statement parameters.

use super::{Command, Takes, usage};
use crate::error::ShellError;
use crate::parameters::is_name;
use crate::quote;
use crate::session::{Flow, Shell};
use rusqlite::types::Value;
use std::io::Write;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "parameter",
    usage: ".parameter set NAME VALUE|unset NAME|list|clear|init",
    summary: "Give values to parameters of statements",
    details: "NAME begins with : @ $ or ?, as it stands in the statement. VALUE is an expression\n\
              of SQL, or a text if it is none. Parameters without a value are NULL. They are kept\n\
              in memory until the shell ends; init does nothing, and is there for scripts.",
    takes: Takes::OneOf(|| vec!["clear", "init", "list", "set", "unset"]),
    run: parameter,
}];

fn parameter(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["set", name, value] if is_name(name) => {
            let value = evaluated(shell, value);
            shell.parameters.set(name, value);
        }
        ["unset", name] => shell.parameters.unset(name),
        ["clear"] => shell.parameters.clear(),
        // In SQLite's own shell this creates a table.
        ["init"] => {}
        ["list"] => list(shell)?,
        _ => return usage(),
    }
    Ok(Flow::Continue)
}

/// The value of the text as an SQL expression, or the text itself if it is not one.
fn evaluated(shell: &Shell, text: &str) -> Value {
    let sql = format!("SELECT ({text}\n)");
    let connection = shell.database.connection();
    let value = connection.query_row(&sql, [], |row| row.get(0));
    value.unwrap_or_else(|_| Value::Text(text.to_owned()))
}

fn list(shell: &mut Shell) -> Result<(), ShellError> {
    let width = shell.parameters.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or(0);
    for (name, value) in shell.parameters.iter() {
        let value = quote::value(value.into());
        writeln!(shell.output, "{name:width$} {value}")?;
    }
    Ok(())
}
