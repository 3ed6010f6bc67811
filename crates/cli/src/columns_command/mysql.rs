//! `strongroom columns check`, `explain` and `suggest` before MySQL and MariaDB.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use configuration::Parts;
use mysql::prelude::Queryable as _;
use mysql::{Conn, Opts, OptsBuilder, Row};
use sql_rewrite::mysql::MySql;
use sql_rewrite::mysql::schema::{ASKED, build, check_rules};
use sql_rewrite::{Answer, Dialect, ProtectedColumn, Schema, explain};

use super::rules_text;
use super::server::DATABASE_URL;

/// What decides how a server reads texts.
const SETTINGS: &str =
    "SELECT @@version, CAST(@@lower_case_table_names AS CHAR), @@sql_mode, DATABASE()";

/// Whether rules may stand before these servers. What is wrong has been reported otherwise.
pub fn are_known(path: &Path, parts: &Parts) -> anyhow::Result<bool> {
    let mut errors = Vec::new();
    if let Err(wrong) = parts.columns.check() {
        errors.extend(wrong.iter().map(ToString::to_string));
    }
    errors.extend(check_rules(&parts.columns).iter().map(ToString::to_string));
    for error in &errors {
        writeln!(io::stderr(), "strongroom: {}: {error}", path.display())?;
    }
    Ok(errors.is_empty())
}

/// What a server has told of itself.
pub struct ServerAnswers {
    /// Answers to [`ASKED`].
    pub answers: Vec<Answer>,
    /// Answers to what else was asked.
    pub more: Vec<Answer>,
    /// How it reads texts.
    pub own: MySql,
    /// The current database.
    pub database: Option<String>,
}

/// The schema of the server that is named. None: none is named.
fn schema(parts: &Parts) -> anyhow::Result<Option<Schema>> {
    let told = tell(parts, &[])?;
    let built = told.map(|told| {
        let database = told.database.as_deref();
        build(&parts.columns, &told.answers, told.own, database)
    });
    Ok(built)
}

/// Asks the server that is named. None: none is named.
pub fn tell(parts: &Parts, more: &[&str]) -> anyhow::Result<Option<ServerAnswers>> {
    let Ok(url) = std::env::var(DATABASE_URL) else {
        return Ok(None);
    };
    // The error's text may repeat the URL, and with it a password.
    let Ok(options) = Opts::from_url(&url) else {
        bail!("{DATABASE_URL} is no URL of MySQL: write mysql://USER@HOST:PORT/DATABASE");
    };
    let is_near = matches!(
        options.get_ip_or_hostname().as_ref(),
        "localhost" | "127.0.0.1" | "::1"
    );
    let wants_tls = parts
        .proxy
        .as_ref()
        .is_some_and(|own| own.server_tls.is_some());
    if wants_tls && !is_near {
        bail!(
            "[proxy.server_tls] is set, and this command speaks no TLS before MySQL: run it on the \
             server's host, with mysql://USER@127.0.0.1/DATABASE in {DATABASE_URL}"
        );
    }
    let failed = || format!("cannot ask the server of {DATABASE_URL}");
    let mut client = Conn::new(OptsBuilder::from_opts(options)).with_context(failed)?;
    let settings = ask(&mut client, SETTINGS).with_context(failed)?;
    let setting = |index: usize| settings.first()?.get(index)?.as_deref();
    let version = setting(0).unwrap_or_default();
    let own = MySql::of_version(version, setting(1) != Some("0"));
    let own = own
        .in_mode(setting(2).unwrap_or_default())
        .map(|(own, _)| own)?;
    let database = setting(3).map(str::to_owned);
    let mut all = |texts: &[&str]| -> Result<Vec<Answer>, mysql::Error> {
        texts.iter().map(|text| ask(&mut client, text)).collect()
    };
    Ok(Some(ServerAnswers {
        answers: all(&ASKED).with_context(failed)?,
        more: all(more).with_context(failed)?,
        own,
        database,
    }))
}

/// Values as texts.
fn ask(client: &mut Conn, text: &str) -> Result<Answer, mysql::Error> {
    let rows: Vec<Row> = client.query(text)?;
    let value = |value: mysql::Value| match value {
        mysql::Value::NULL => None,
        mysql::Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)),
    };
    let rows = rows.into_iter();
    Ok(rows
        .map(|row| row.unwrap().into_iter().map(value).collect())
        .collect())
}

/// Checks rules against the server.
pub fn check(parts: &Parts) -> anyhow::Result<ExitCode> {
    let count = parts.columns.count();
    let mut output = io::stdout().lock();
    let Some(schema) = schema(parts)? else {
        writeln!(
            output,
            "{}, none contradicts another. Set {DATABASE_URL} to check against a server.",
            rules_text(count)
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    if !schema.unfit.is_empty() {
        for error in &schema.unfit {
            writeln!(io::stderr(), "strongroom: {error}")?;
        }
        return Ok(ExitCode::FAILURE);
    }
    let verb = if count == 1 { "fits" } else { "fit" };
    writeln!(output, "{} {verb} the server.", rules_text(count))?;
    for report in explain::columns(&schema) {
        for warning in &report.warnings {
            writeln!(output, "{}.{}: {warning}", report.table, report.column)?;
        }
    }
    let mut told: Vec<String> = Vec::new();
    for table in schema.tables.values() {
        let name = format!("{}.{}", table.schema, table.name);
        if table.oid == 0 && table.is_protected() {
            told.push(format!(
                "{name}: is not there yet; create it through the proxy"
            ));
        } else if table.opaque {
            told.push(format!(
                "{name}: shows protected columns, so reading it is refused"
            ));
        }
    }
    told.extend(unguarded(parts, &schema));
    for ((database, table), why) in &schema.closed {
        told.push(format!("{database}.{table}: {why}"));
    }
    for name in &schema.suspect_functions {
        told.push(format!(
            "{name}(): may read protected tables, so calling it is refused"
        ));
    }
    told.sort_unstable();
    for line in told {
        writeln!(output, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Tables with columns that no guard holds to sealed values, where the server keeps guards.
fn unguarded(parts: &Parts, schema: &Schema) -> Vec<String> {
    let keeps = matches!(schema.dialect, Dialect::MySql(own) if own.enforces_checks());
    if !keeps || parts.proxy.as_ref().is_some_and(|proxy| !proxy.guard) {
        return Vec::new();
    }
    let columns: Vec<_> = schema.unguarded_columns().collect();
    let is_same = |one: &&ProtectedColumn, other: &&ProtectedColumn| {
        (&one.schema, &one.table) == (&other.schema, &other.table)
    };
    let tables = columns.chunk_by(is_same).map(|own| {
        let names: Vec<&str> = own.iter().map(|column| column.column.as_str()).collect();
        format!(
            "{}.{}: no guard refuses plaintext in {}. Tables that are created through the proxy \
             have a guard; it leaves out columns of foreign keys with ON UPDATE CASCADE or SET \
             NULL",
            own[0].schema,
            own[0].table,
            names.join(", ")
        )
    });
    tables.collect()
}

/// The schema for explanations, which is without tables where no server is named, and whether one
/// is.
pub fn schema_anyway(parts: &Parts) -> anyhow::Result<(Schema, bool)> {
    Ok(match schema(parts)? {
        Some(mut schema) => {
            schema.catalogue.finisher.is_there = parts.finish.is_some();
            (schema, true)
        }
        None => (build(&parts.columns, &[], MySql::default(), None), false),
    })
}
