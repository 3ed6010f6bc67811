//! Reads the statements of a file: SQL, a PostgreSQL log in any of its formats, or a general or
//! slow log of MySQL or MariaDB.
//!
//! From a log, the statements that clients sent are taken, as logged by `log_statement` and
//! `log_min_duration_statement`. Log entries for parse and bind would repeat them.

mod mysql_log;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

/// Maximum size of the file.
const FILE_SIZE_MAX: u64 = 256 << 20;

/// The severities of messages in a PostgreSQL log.
const SEVERITIES: [&str; 15] = [
    "DEBUG",
    "INFO",
    "NOTICE",
    "WARNING",
    "ERROR",
    "LOG",
    "FATAL",
    "PANIC",
    "DETAIL",
    "HINT",
    "QUERY",
    "CONTEXT",
    "LOCATION",
    "BACKTRACE",
    "STATEMENT",
];
/// The severity of messages with statements.
const LOG: &str = "LOG";

/// Indices, from 0, of csvlog's fields `error_severity` and `message`.
const CSV_SEVERITY: usize = 11;
const CSV_MESSAGE: usize = 13;
/// The number of fields in the oldest supported version.
const CSV_FIELDS_MIN: usize = 23;

/// A text from a client, which may contain several statements.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent {
    pub text: String,
    /// How often it occurs in the log.
    pub count: usize,
}

/// Reads the statements of a file.
pub fn read(path: &Path) -> anyhow::Result<Vec<Sent>> {
    let failed = || format!("cannot read the statements {}", path.display());
    let file = File::open(path).with_context(failed)?;
    let mut bytes = Vec::new();
    file.take(FILE_SIZE_MAX + 1)
        .read_to_end(&mut bytes)
        .with_context(failed)?;
    if bytes.len() as u64 > FILE_SIZE_MAX {
        bail!(
            "{} has more than {} MiB: give a part of it",
            path.display(),
            FILE_SIZE_MAX >> 20
        );
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        anyhow::anyhow!(
            "{} is not in UTF-8 from byte {place} on: convert it, as iconv does",
            path.display()
        )
    })?;
    sent(text).with_context(failed)
}

fn sent(text: String) -> anyhow::Result<Vec<Sent>> {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or_default();
    if mysql_log::is_log(&text) {
        Ok(counted(mysql_log::statements(&text)))
    } else if first.starts_with('{') {
        Ok(counted(of_json(&text)?))
    } else if is_csv(first) {
        Ok(counted(of_csv(&text)?))
    } else if is_log(&text) {
        Ok(counted(of_log(&text)))
    } else {
        Ok(vec![Sent { text, count: 1 }])
    }
}

/// Each distinct text with its count, in order of first occurrence.
fn counted(texts: Vec<String>) -> Vec<Sent> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut sent: Vec<Sent> = Vec::new();
    for text in texts {
        let place = *places.entry(text).or_insert_with_key(|text| {
            sent.push(Sent {
                text: text.clone(),
                count: 0,
            });
            sent.len() - 1
        });
        sent[place].count += 1;
    }
    sent
}

/// Whether a file begins like a log. It may have been truncated within a message, whose
/// continuation lines begin with a tab.
fn is_log(text: &str) -> bool {
    let mut lines = text.lines();
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with('\t'));
    first.is_some_and(|first| {
        let is_comment = first.starts_with("--") || first.starts_with("/*");
        !is_comment && message(first).is_some()
    })
}

/// Severity and message of a line that begins a message, after `log_line_prefix`.
fn message(line: &str) -> Option<(&'static str, &str)> {
    line.match_indices(":  ").find_map(|(colon, separator)| {
        let before = &line[..colon];
        let mut severities = SEVERITIES.into_iter();
        let severity = severities.find(|own| before.ends_with(own))?;
        let prefix = &before[..before.len() - severity.len()];
        let is_word = prefix.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        // A constant may contain text that looks like a message.
        if is_word || prefix.contains('\'') {
            return None;
        }
        Some((severity, &line[colon + separator.len()..]))
    })
}

fn of_log(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        if let Some(more) = line.strip_prefix('\t') {
            if let Some(current) = &mut current {
                current.push('\n');
                current.push_str(more);
            }
            continue;
        }
        texts.extend(current.take());
        if let Some((LOG, message)) = message(line) {
            current = statement(message).map(str::to_owned);
        }
    }
    texts.extend(current);
    texts
}

/// The statement text in a message.
fn statement(message: &str) -> Option<&str> {
    let message = match message.strip_prefix("duration: ") {
        // A duration alone means that the statement was logged before.
        Some(duration) => duration.split_once(" ms  ")?.1,
        None => message,
    };
    if let Some(text) = message.strip_prefix("statement: ") {
        return Some(text);
    }
    // `execute NAME: …`. A fetch of more rows from the same portal is not a new statement.
    let (name, text) = message.strip_prefix("execute ")?.split_once(": ")?;
    (!name.starts_with("fetch from ")).then_some(text)
}

/// A line of jsonlog.
#[derive(Deserialize)]
struct Entry {
    error_severity: Option<String>,
    message: Option<String>,
}

fn of_json(text: &str) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let entry: Entry = serde_json::from_str(line)
            .with_context(|| format!("line {number} is no object, as jsonlog has"))?;
        texts.extend(logged(
            entry.error_severity.as_deref(),
            entry.message.as_deref(),
        ));
    }
    Ok(texts)
}

fn is_csv(first: &str) -> bool {
    // A statement of several lines leaves its quotes open, after the severity.
    let severity = csv_records(first).next().and_then(Result::ok);
    let severity = severity.and_then(|record| record.get(CSV_SEVERITY).map(str::to_owned));
    severity.is_some_and(|severity| SEVERITIES.contains(&severity.as_str()))
}

fn of_csv(text: &str) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for (number, record) in (1..).zip(csv_records(text)) {
        let record = record.context("it is no csvlog")?;
        if record.len() < CSV_FIELDS_MIN {
            bail!("record {number} has fewer fields than a csvlog has");
        }
        texts.extend(logged(record.get(CSV_SEVERITY), record.get(CSV_MESSAGE)));
    }
    Ok(texts)
}

fn csv_records(text: &str) -> impl Iterator<Item = csv::Result<csv::StringRecord>> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true);
    reader.from_reader(text.as_bytes()).into_records()
}

fn logged(severity: Option<&str>, message: Option<&str>) -> Option<String> {
    let text = statement(message?)?;
    (severity == Some(LOG)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Sent, sent};

    fn texts(text: &str) -> Vec<(String, usize)> {
        let sent = sent(text.to_owned()).expect("it is understood");
        let pair = |Sent { text, count }| (text, count);
        sent.into_iter().map(pair).collect()
    }

    fn pairs(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
        let pair = |(text, count): &(&str, usize)| ((*text).to_owned(), *count);
        expected.iter().map(pair).collect()
    }

    #[test]
    fn statements_of_a_log_are_found_and_counted() {
        let log = "\tthe end of what was cut\n\
             2026-01-01 12:00:00.000 UTC [1] LOG:  database system is ready\n\
             2026-01-01 12:00:00.000 UTC [2] LOG:  statement: SELECT 'LOG:  statement: no'\n\
             2026-01-01 12:00:00.001 UTC [2] LOG:  duration: 0.1 ms\n\
             2026-01-01 12:00:01 UTC [3] app@shop LOG:  execute <unnamed>: SELECT a\n\
             \tFROM t\n\
             \t\n\
             \tWHERE b = $1\n\
             2026-01-01 12:00:01 UTC [3] app@shop DETAIL:  Parameters: $1 = 'x'\n\
             \tstatement: none\n\
             2026-01-01 12:00:02 UTC [3] LOG:  duration: 1.5 ms  parse s1: SELECT 1\n\
             2026-01-01 12:00:02 UTC [3] LOG:  duration: 1.5 ms  bind s1: SELECT 1\n\
             2026-01-01 12:00:02 UTC [3] LOG:  duration: 1.5 ms  execute s1: SELECT 1\n\
             2026-01-01 12:00:02 UTC [3] LOG:  execute fetch from s1/c: SELECT 1\n\
             2026-01-01 12:00:02 UTC [3] ERROR:  relation \"x\" does not exist at character 15\n\
             2026-01-01 12:00:02 UTC [3] STATEMENT:  SELECT * FROM x\n\
             another program's line\n\
             2026-01-01 12:00:03 UTC [2] LOG:  duration: 2 ms  statement: SELECT 1\n";
        let expected = [
            ("SELECT 'LOG:  statement: no'", 1),
            ("SELECT a\nFROM t\n\nWHERE b = $1", 1),
            ("SELECT 1", 2),
        ];
        assert_eq!(texts(log), pairs(&expected));
        assert_eq!(
            texts("LOG:  statement: BEGIN; COMMIT\n"),
            pairs(&[("BEGIN; COMMIT", 1)])
        );
    }

    #[test]
    fn other_forms_of_a_log_are_read() {
        let json = "{\"timestamp\":\"2026\",\"error_severity\":\"LOG\",\
             \"message\":\"statement: SELECT\\n1\"}\n\
             {\"error_severity\":\"ERROR\",\"message\":\"statement: SELECT 2\"}\n\
             {\"error_severity\":\"LOG\",\"message\":\"execute a: SELECT 3\"}\n";
        assert_eq!(texts(json), pairs(&[("SELECT\n1", 1), ("SELECT 3", 1)]));

        let record = |severity: &str, message: &str| {
            let before = "2026-01-01 12:00:00.000 UTC,\"postgres\",\"shop\",1,\"[local]\",1.1,1,\
                 \"SELECT\",2026-01-01 12:00:00 UTC,2/1,0";
            format!("{before},{severity},00000,{message},,,,,,,,,\"psql\",\"client\",,0\n")
        };
        let csv = record("LOG", "\"statement: SELECT \"\"a,b\"\",\n2\"")
            + &record("ERROR", "\"statement: SELECT 2\"")
            + &record("LOG", "\"duration: 3 ms  execute <unnamed>: SELECT 3\"");
        assert_eq!(
            texts(&csv),
            pairs(&[("SELECT \"a,b\",\n2", 1), ("SELECT 3", 1)])
        );
    }

    #[test]
    fn files_that_are_no_log_are_sql() {
        for text in [
            "SELECT 1; SELECT 2",
            "INSERT INTO t VALUES ('LOG:  statement: x')",
            "-- LOG:  statement: x\nSELECT 1",
            "SELECT a, b, c, d, e, f, g, h, i, j, k, l, m, n FROM t",
            "\tSELECT 1",
            "",
        ] {
            assert_eq!(texts(text), pairs(&[(text, 1)]));
        }
    }

    #[test]
    fn a_broken_log_is_reported() {
        let error = sent("{\"message\":\"x\"}\n{\"mess".to_owned()).expect_err("it is cut");
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
