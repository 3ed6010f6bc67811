//! Guards of tables: reports missing ones and adds them.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use postgres::Client;
use postgres::error::SqlState;
use sql_plan::Rules;
use sql_rewrite::{GuardsDue, Schema};

use super::server;

/// While this waits for a lock, all later requests queue behind it, so it must not wait long.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '3s'";

/// Reports tables without a guard, for `columns check`.
pub fn report_missing(schema: &Schema, output: &mut impl Write) -> io::Result<()> {
    for due in schema.guards_due() {
        let GuardsDue { schema, table, .. } = &due;
        match due.columns.as_slice() {
            [] => writeln!(
                output,
                "{schema}.{table}: rows from before its guard were not looked at. Run \
                 `strongroom columns guard`"
            )?,
            columns => writeln!(
                output,
                "{schema}.{table}: the server would take plaintext in {}. Run `strongroom columns \
                 guard`",
                columns.join(", ")
            )?,
        }
    }
    Ok(())
}

/// Adds missing guards, and reports on each table.
pub fn add(client: &mut Client, rules: &Rules) -> anyhow::Result<ExitCode> {
    let answers = server::ask_by(client)?;
    let schema = match Schema::build(rules, &answers) {
        Ok(schema) => schema,
        Err(errors) => {
            for error in &errors {
                writeln!(io::stderr(), "strongroom: {error}")?;
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut code = ExitCode::SUCCESS;
    let closed = schema.closed.values().cloned();
    let missing = schema.missing_columns().map(|own| own.missing_text());
    for problem in closed.chain(missing) {
        writeln!(io::stderr(), "strongroom: {problem}")?;
        code = ExitCode::FAILURE;
    }
    let due = schema.guards_due();
    client.batch_execute(LOCK_TIMEOUT)?;
    for table in &due {
        if !add_to(client, table)? {
            code = ExitCode::FAILURE;
        }
    }
    let mut ruled: Vec<(&str, &str)> = schema
        .protected
        .iter()
        .map(|column| (column.schema.as_str(), column.table.as_str()))
        .collect();
    ruled.dedup();
    for (own, table) in ruled {
        let known = schema.tables.get(&(own.to_owned(), table.to_owned()));
        let text = match known.is_some_and(|table| table.oid != 0) {
            false => "is not there yet: the proxy makes it with a guard",
            true if due
                .iter()
                .any(|due| due.schema == own && due.table == table) =>
            {
                continue;
            }
            true => "has a guard",
        };
        writeln!(io::stdout(), "{own}.{table}: {text}")?;
    }
    Ok(code)
}

/// Adds the guard to a table. Returns whether none of its rows has plaintext.
///
/// The check is first added for new rows only, which locks the table briefly; validating the
/// existing rows afterwards does not block writers.
fn add_to(client: &mut Client, due: &GuardsDue) -> anyhow::Result<bool> {
    let name = format!("{}.{}", due.schema, due.table);
    let add = due.add.iter().map(|text| (text, "cannot add a guard to"));
    let validate = due.validate.iter();
    let validate = validate.map(|text| (text, "cannot look for plaintext in"));
    for (text, cannot) in add.chain(validate) {
        let Err(error) = client.batch_execute(text) else {
            continue;
        };
        let why = match error.code() {
            Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                "a transaction under way holds the table, so nothing more was done there. Run this \
                 again when it has ended"
            }
            Some(&SqlState::CHECK_VIOLATION) => {
                "plaintext is stored there. The server refuses more of it from now on; copy those \
                 rows through the proxy, delete them, and run this again"
            }
            _ => return Err(error).context(format!("{cannot} {name}")),
        };
        writeln!(io::stderr(), "strongroom: {name}: {why}")?;
        return Ok(false);
    }
    let done = match due.columns.as_slice() {
        [] => "its rows were looked at, and have no plaintext".to_owned(),
        columns => format!(
            "guarded: {}; no row has plaintext there",
            columns.join(", ")
        ),
    };
    writeln!(io::stdout(), "{name}: {done}")?;
    Ok(true)
}
