//! Import of delimited text into a table.

use crate::quote;
use csv::{ByteRecord, ReaderBuilder, Terminator};
use rusqlite::{Connection, params_from_iter};
use std::io::Read;
use thiserror::Error;

/// The form of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values (RFC 4180), with this byte for the comma.
    Csv(u8),
    /// Tab-separated fields without quoting.
    Tabs,
    /// Fields and rows separated by the ASCII unit and record separators.
    Ascii,
}

/// What to import, and into which table.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The table; created from the first row if it does not exist.
    pub table: String,
    /// The database it is in: `main`, or the name of an attached one.
    pub schema: Option<String>,
    /// The form of the text.
    pub format: Format,
    /// Rows to skip at the start.
    pub skip: u64,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Rows written.
    pub rows: u64,
    /// Whether the table was created.
    pub created: bool,
    /// The first few lines whose number of fields differs from the table's columns.
    pub uneven: Vec<UnevenLine>,
    /// How many such lines there were.
    pub uneven_count: u64,
}

/// A line with too few or too many fields.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("line {line}: expected {expected} columns but found {found}; {}",
    if found < expected { "the rest is NULL" } else { "the extra ones are left out" })]
pub struct UnevenLine {
    line: u64,
    expected: usize,
    found: usize,
}

/// Why nothing was imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The text could not be read or is malformed.
    #[error("nothing was imported: {0}")]
    Text(#[from] csv::Error),
    /// The first row, which names the columns, is missing.
    #[error("nothing was imported: the file is empty, and the table {0} does not exist")]
    NoHeader(String),
    /// A field is not UTF-8.
    #[error("nothing was imported: line {line} is not UTF-8 text; convert the file first")]
    NotUnicode {
        /// The line.
        line: u64,
    },
    /// The database refused a row.
    #[error("nothing was imported: line {line}: {source}")]
    Row {
        /// The line.
        line: u64,
        /// The database's error.
        source: rusqlite::Error,
    },
    /// The database refused something else.
    #[error("nothing was imported: {0}")]
    Sql(#[from] rusqlite::Error),
}

/// How many uneven lines a report lists.
const UNEVEN_NAMED_MAX: usize = 10;

/// Imports a text in one transaction: everything or nothing.
///
/// # Errors
///
/// If the text is malformed or the database refuses it; the database is then unchanged.
pub fn import(
    connection: &Connection,
    text: impl Read,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    connection.execute_batch("SAVEPOINT strongroom_import")?;
    let result = import_rows(connection, text, options);
    if result.is_err() {
        connection.execute_batch("ROLLBACK TO strongroom_import")?;
    }
    connection.execute_batch("RELEASE strongroom_import")?;
    result
}

fn import_rows(
    connection: &Connection,
    text: impl Read,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true);
    match options.format {
        Format::Csv(separator) => builder.delimiter(separator),
        Format::Tabs => builder.delimiter(b'\t').quoting(false),
        Format::Ascii => builder
            .delimiter(0x1f)
            .terminator(Terminator::Any(0x1e))
            .quoting(false),
    };
    let mut reader = builder.from_reader(text);
    let mut record = ByteRecord::new();
    for _ in 0..options.skip {
        reader.read_byte_record(&mut record)?;
    }
    let mut report = ImportReport::default();
    let mut columns = column_count(connection, options)?;
    if columns == 0 {
        if !reader.read_byte_record(&mut record)? {
            return Err(ImportError::NoHeader(options.table.clone()));
        }
        connection.execute_batch(&create_table(options, &record)?)?;
        columns = column_count(connection, options)?;
        report.created = true;
    }
    let places = vec!["?"; columns].join(",");
    let target = target(options);
    let mut insert = connection.prepare(&format!("INSERT INTO {target} VALUES({places})"))?;
    while reader.read_byte_record(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != columns {
            report.uneven_count += 1;
            if report.uneven.len() < UNEVEN_NAMED_MAX {
                report.uneven.push(UnevenLine {
                    line,
                    expected: columns,
                    found: record.len(),
                });
            }
        }
        let fields =
            (0..columns).map(|index| record.get(index).map(std::str::from_utf8).transpose());
        let fields: Vec<Option<&str>> = fields
            .collect::<Result<_, _>>()
            .map_err(|_| ImportError::NotUnicode { line })?;
        insert
            .execute(params_from_iter(fields))
            .map_err(|source| ImportError::Row { line, source })?;
        report.rows += 1;
    }
    Ok(report)
}

fn target(options: &ImportOptions) -> String {
    let table = quote::identifier(&options.table);
    match &options.schema {
        Some(schema) => format!("{}.{table}", quote::identifier(schema)),
        None => table,
    }
}

/// The number of columns that an `INSERT` without names fills; 0 if there is no such table.
fn column_count(connection: &Connection, options: &ImportOptions) -> Result<usize, ImportError> {
    let count: i64 = match &options.schema {
        Some(schema) => connection.query_row(
            "SELECT count(*) FROM pragma_table_xinfo(?1, ?2) WHERE hidden = 0",
            [&options.table, schema],
            |row| row.get(0),
        ),
        None => connection.query_row(
            "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden = 0",
            [&options.table],
            |row| row.get(0),
        ),
    }?;
    Ok(usize::try_from(count).unwrap_or(0))
}

fn create_table(options: &ImportOptions, header: &ByteRecord) -> Result<String, ImportError> {
    let mut names: Vec<String> = Vec::new();
    for (index, field) in header.iter().enumerate() {
        let name = std::str::from_utf8(field).map_err(|_| ImportError::NotUnicode { line: 1 })?;
        let name = if index == 0 {
            name.trim_start_matches('\u{feff}')
        } else {
            name
        };
        let name = if name.is_empty() {
            format!("column_{}", index + 1)
        } else {
            name.to_owned()
        };
        names.push(distinct(&names, name));
    }
    let columns: Vec<String> = names
        .iter()
        .map(|name| format!("{} TEXT", quote::identifier(name)))
        .collect();
    Ok(format!(
        "CREATE TABLE {}({})",
        target(options),
        columns.join(", ")
    ))
}

fn distinct(taken: &[String], name: String) -> String {
    let is_taken = |name: &str| taken.iter().any(|other| other.eq_ignore_ascii_case(name));
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2u32..).map(|number| format!("{name}_{number}"));
    numbered
        .into_iter()
        .find(|candidate| !is_taken(candidate))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(format: Format) -> ImportOptions {
        ImportOptions {
            table: "t".to_owned(),
            schema: None,
            format,
            skip: 0,
        }
    }

    fn rows(connection: &Connection) -> Vec<Vec<Option<String>>> {
        let mut statement = connection.prepare("SELECT * FROM t").unwrap();
        let count = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..count).map(|index| row.get(index)).collect();
        statement
            .query_map([], row)
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    fn row(fields: &[&str]) -> Vec<Option<String>> {
        fields
            .iter()
            .map(|field| Some((*field).to_owned()))
            .collect()
    }

    #[test]
    fn csv_makes_the_table_from_its_first_row() {
        let connection = Connection::open_in_memory().unwrap();
        let text = "\u{feff}id,na\"me,ID,\r\n1,\"a \"\"b\"\"\",\",\",\"two\nlines\"\r\n2,,,x\n";
        let report = import(&connection, text.as_bytes(), &options(Format::Csv(b','))).unwrap();
        assert_eq!(
            (report.rows, report.created, report.uneven_count),
            (2, true, 0)
        );
        assert_eq!(
            rows(&connection),
            [
                row(&["1", "a \"b\"", ",", "two\nlines"]),
                row(&["2", "", "", "x"])
            ]
        );
        let names: Vec<String> = connection
            .prepare("SELECT * FROM t")
            .unwrap()
            .column_names()
            .map(|name| (*name).to_owned())
            .collect();
        assert_eq!(names, ["id", "na\"me", "ID_2", "column_4"]);
    }

    #[test]
    fn an_existing_table_takes_every_row() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t(a TEXT, b TEXT, g AS (a))")
            .unwrap();
        let skipping = ImportOptions {
            skip: 1,
            ..options(Format::Csv(b';'))
        };
        let report = import(&connection, "x;y\n1;2\n3\n4;5;6\n".as_bytes(), &skipping).unwrap();
        assert_eq!(report.rows, 3);
        assert_eq!(report.uneven_count, 2);
        assert_eq!(
            report.uneven[0].to_string(),
            "line 3: expected 2 columns but found 1; the rest is NULL"
        );
        assert_eq!(rows(&connection)[1][1], None);
    }

    #[test]
    fn tabs_and_ascii() {
        let connection = Connection::open_in_memory().unwrap();
        import(
            &connection,
            "a\tb\n\"1\t2\n".as_bytes(),
            &options(Format::Tabs),
        )
        .unwrap();
        import(
            &connection,
            "x\x1fy,\nz\x1e".as_bytes(),
            &options(Format::Ascii),
        )
        .unwrap();
        assert_eq!(
            rows(&connection),
            [row(&["\"1", "2"]), row(&["x", "y,\nz"])]
        );
    }

    #[test]
    fn a_refused_row_leaves_nothing_behind() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t(a INTEGER PRIMARY KEY)")
            .unwrap();
        let error = import(
            &connection,
            "1\n2\n1\n".as_bytes(),
            &options(Format::Csv(b',')),
        )
        .unwrap_err();
        assert!(matches!(error, ImportError::Row { line: 3, .. }));
        let error =
            import(&connection, &b"4\n\xff\n"[..], &options(Format::Csv(b','))).unwrap_err();
        assert!(matches!(error, ImportError::NotUnicode { line: 2 }));
        assert!(rows(&connection).is_empty());
        assert!(connection.is_autocommit());
    }

    #[test]
    fn an_empty_file_makes_no_table() {
        let connection = Connection::open_in_memory().unwrap();
        let error = import(&connection, &b""[..], &options(Format::Csv(b','))).unwrap_err();
        assert!(matches!(error, ImportError::NoHeader(_)));
    }
}
