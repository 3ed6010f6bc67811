//! What the server is asked for, and what the finisher is asked then.

use std::fmt::Write as _;
use std::sync::Arc;

use session_core::{Loaded, OpenedGroup, StatementError, wiped};
use sql_plan::{
    FilledColumn, FilledForm, FilledInsert, FilledTable, FinisherTables, Hole, Translated,
};
use sql_rewrite::mysql::copies::TableCopy;
use wire_mysql::execute::{Head, NO_CURSOR, write};
use wire_mysql::row::TextRow;
use zeroize::Zeroizing;

use super::super::fetching::Fetching;
use super::super::fill::{self, Written};
use super::super::settings::{Letters, Results, Settings};
use super::super::statements::{ReadUnder, prepared_otherwise, tables_of};
use super::super::values::Opened;
use super::followed::{BEFORE_SETTINGS, READ_BY, of_session, settings, settings_of};
use super::{Asked, Filling};
use crate::finisher::{FinisherRequest, FinisherStatement, is_mariadb};

/// What stands between the settings of the session.
const MARK: char = '\u{1f}';
/// How many columns stand before those of the tables.
pub(super) const COLUMNS_BEFORE: usize = 2;
/// Bytes of a statement that fills a table, beyond which the next begins.
const STATEMENT_SIZE: usize = 256 << 10;
/// Bytes that are got ready for a row, for each that was fetched.
const ROOM: usize = 16;
/// The zero of `TIMESTAMP`, which no moment is.
const NO_MOMENT: &str = "'0000-00-00 00:00:00'";

/// The statement that fetches the settings of the session and the rows of all tables, of one
/// snapshot.
///
/// Each row has the number of its table in the first column, and NULL in the columns of the others.
/// Values come as bytes: no setting of the session changes them.
///
/// # Errors
/// A value cannot be sealed.
pub(super) fn fetch(
    query: &FinisherTables,
    loaded: &Loaded,
    asked: &Asked,
    settings: &Settings,
) -> Result<String, StatementError> {
    let tables: &[FilledTable] = match asked {
        // A text that is prepared has no rows yet.
        Asked::Prepare(_) => &[],
        Asked::Text | Asked::Execute(_) => &query.tables,
    };
    let width: usize = tables.iter().map(width_of).sum();
    let (own, _) = settings
        .own
        .as_ref()
        .map_err(|_| StatementError::other_plan())?;
    let mut text = format!("SELECT 0 AS n, {}", of_session(own.series()));
    text.push_str(&", NULL".repeat(width));
    let mut before = 0;
    for (table, number) in tables.iter().zip(1..) {
        let Some(rows) = &table.fetch else {
            continue;
        };
        let count = table.columns.len();
        write!(text, " UNION ALL SELECT {number}, NULL").map_err(no_text)?;
        text.push_str(&", NULL".repeat(before));
        for column in &table.columns {
            text.push_str(", ");
            text.push_str(&as_bytes(column));
        }
        before += count;
        text.push_str(&", NULL".repeat(width - before));
        let rows = rows_of((table, rows), loaded, asked, settings)?;
        let locks = match (&query.write, &query.insert) {
            (None, None) => "",
            (Some(write), _) if write.table + 1 == number => " FOR UPDATE",
            // As the server does with what an UPDATE or INSERT reads elsewhere.
            (Some(_), _) | (None, Some(_)) => " LOCK IN SHARE MODE",
        };
        write!(text, " FROM ({rows}{locks}) AS s").map_err(no_text)?;
    }
    // A limit that the session sets does not hold where there is another one.
    text.push_str(" LIMIT 18446744073709551615");
    Ok(text)
}

/// How many columns of a table are fetched.
pub(super) fn width_of(table: &FilledTable) -> usize {
    table.fetch.as_ref().map_or(0, |_| table.columns.len())
}

fn no_text(_: std::fmt::Error) -> StatementError {
    StatementError::defect("a text cannot be written")
}

fn as_bytes(column: &FilledColumn) -> String {
    let name = &column.name;
    match (&column.form, column.sealed) {
        (_, Some(_)) => format!("s.{name}"),
        (FilledForm::Quoted | FilledForm::Bytes | FilledForm::Text(_), None) => {
            format!("CAST(s.{name} AS BINARY)")
        }
        (FilledForm::Float, None) => format!("CAST(s.{name} + 0e0 AS BINARY)"),
        (FilledForm::Bits, None) => format!("CAST(s.{name} + 0 AS BINARY)"),
        (FilledForm::Moment, None) => format!("CAST(UNIX_TIMESTAMP(s.{name}) AS BINARY)"),
    }
}

/// What is written for a constant or parameter of the client.
///
/// # Errors
/// It is no value of its column, or cannot be written as a constant.
pub(super) fn filled(
    hole: &Hole,
    asked: &Asked,
    settings: &Settings,
    loaded: &Loaded,
) -> Result<Written, StatementError> {
    let Asked::Execute(bindings) = asked else {
        return fill::literal(hole, loaded).map(Written::Sealed);
    };
    let values = bindings
        .values()
        .map_err(|_| StatementError::defect("values that were read cannot be read"))?;
    fill::written(hole, &values, (settings, loaded))
}

/// The statement that fetches the rows of a table.
fn rows_of(
    (table, fetch): (&FilledTable, &Translated),
    loaded: &Loaded,
    asked: &Asked,
    settings: &Settings,
) -> Result<String, StatementError> {
    let own = fill::text_with(fetch, |hole| filled(hole, asked, settings, loaded));
    match (&table.fetch_all, own) {
        // The finisher evaluates the condition, whatever the value is.
        (Some(all), Err(_)) => fill::text(all, loaded, fill::Made::default()),
        (_, own) => own,
    }
}

/// Values are opened as they are: the finisher writes them for the client.
const RESULTS: Results = Results {
    letters: Letters::Utf8,
    number: 45,
    is_unconverted: false,
};

impl Filling {
    /// What the finisher is asked, once all rows are there.
    pub(super) fn request(
        &mut self,
        fetching: &mut Fetching,
    ) -> Result<FinisherRequest, StatementError> {
        let query = tables_of(&self.plan).ok_or_else(StatementError::other_plan)?;
        if fetching.is_too_much {
            let message = "a query fetches more rows than the proxy may keep to finish it";
            return Err(StatementError::limit(message).hint(
                "Narrow the condition by columns that the server can compare, or raise \
                 max_finish_rows and max_finish_bytes in the proxy's configuration.",
            ));
        }
        let mut filler = Filler::new(query, &self.plan.loaded, is_mariadb(self.kind.series));
        let width = fetching.columns.len();
        let mut written = Vec::new();
        for row in std::mem::take(&mut fetching.rows) {
            if filler.row(&row, width)? {
                written.push(row);
            }
        }
        if let Some(writing) = &mut self.writing {
            writing.rows = (written, width);
        }
        let mut databases: Vec<String> = self.database.iter().cloned().collect();
        databases.extend(query.tables.iter().map(|table| table.database.clone()));
        databases.sort_unstable();
        databases.dedup();
        let mut tables = filler.tables();
        tables.extend(copies(&self.text.copies, query));
        let numbered = filler.is_mariadb.then_some(filler.numbered);
        let own = filler.session(self.kind.series)?;
        let settings = settings(&own, query, self.kind.series)?;
        if let Some(writing) = &mut self.writing {
            writing.moment = own[0].to_owned();
        }
        let under = ReadUnder {
            database: self.database.clone(),
            settings: READ_BY
                .iter()
                .map(|place| own[BEFORE_SETTINGS + place].to_owned())
                .collect(),
        };
        self.asked.note(under)?;
        let statement = self.asked.statement(self.text.for_finisher())?;
        Ok(FinisherRequest {
            kind: self.kind,
            databases,
            database: self.database.clone(),
            tables,
            settings,
            statement,
            read_back: self.writing.as_ref().and_then(|_| match &query.insert {
                None => read_back(query),
                Some(insert) => read_inserted(query, insert, numbered),
            }),
            answer_size_max: self.size_max,
        })
    }
}

impl Asked {
    /// Notes what a text means when it is prepared.
    ///
    /// # Errors
    /// It means something else when it is executed.
    fn note(&mut self, under: ReadUnder) -> Result<(), StatementError> {
        match self {
            Self::Text => {}
            Self::Prepare(own) => *own = Some(Arc::new(under)),
            Self::Execute(bindings) => {
                let own = bindings.read_under.as_ref();
                if own.is_some_and(|own| **own != under) {
                    return Err(prepared_otherwise());
                }
            }
        }
        Ok(())
    }

    fn statement(&self, text: Bytes) -> Result<FinisherStatement, StatementError> {
        Ok(match self {
            Self::Text => FinisherStatement::Text(text),
            Self::Prepare(_) => FinisherStatement::Described(text),
            Self::Execute(bindings) => {
                let malformed = |_| StatementError::defect("values that were read cannot be read");
                let (types, values) = bindings.values().map_err(malformed)?;
                let mut command = Zeroizing::new(Vec::new());
                let head = Head {
                    statement: 0,
                    cursor: NO_CURSOR,
                };
                let parameters: Vec<_> = types.iter().copied().zip(values).collect();
                write(head, parameters.iter().copied(), &mut command);
                FinisherStatement::Executed { text, command }
            }
        })
    }
}

/// What stands behind the name of a column, so that the finisher writes all digits of a number that
/// is sealed then.
fn all_digits(column: &FilledColumn) -> &'static str {
    match (&column.form, column.sealed) {
        (FilledForm::Float, Some(_)) => " + 0e0",
        _ => "",
    }
}

/// The query that reads what a write has changed in the finisher.
fn read_back(query: &FinisherTables) -> Option<String> {
    let write = query.write.as_ref()?;
    let table = query.tables.get(write.table)?;
    let mut text = format!("SELECT {}", FilledTable::ROW);
    for (place, _) in &write.computed {
        let column = table.columns.get(*place)?;
        text.push_str(", ");
        text.push_str(&column.name);
        text.push_str(all_digits(column));
    }
    text.push_str(" FROM ");
    text.push_str(&table.name);
    if !write.deletes {
        text.push_str(" WHERE ");
        text.push_str(FilledTable::CHANGED);
        text.push_str(" IS NOT NULL");
    }
    text.push_str(" LIMIT 18446744073709551615");
    Some(text)
}

/// The query that reads the rows which a statement has put into a table of the finisher, behind
/// those that it had before. None: it had none, and gives rows in the order in which it got them.
fn read_inserted(
    query: &FinisherTables,
    insert: &FilledInsert,
    before: Option<u64>,
) -> Option<String> {
    let table = query.tables.get(insert.table)?;
    let columns = insert.columns.iter().map(|place| table.columns.get(*place));
    let columns: Vec<String> = columns
        .map(|column| column.map(|own| as_bytes(own) + all_digits(own)))
        .collect::<Option<_>>()?;
    let rows = match before {
        Some(before) => format!(
            "WHERE {row} > {before} ORDER BY {row}",
            row = FilledTable::ROW
        ),
        None => String::new(),
    };
    Some(format!(
        "SELECT {} FROM {} AS s {rows} LIMIT 18446744073709551615",
        columns.join(", "),
        table.name,
    ))
}

/// Statements that make the copies of tables and fill them. A table that gets rows keeps none of
/// its own: the text reads them in a copy.
fn copies(copies: &[TableCopy], query: &FinisherTables) -> Vec<Bytes> {
    let mut all = Vec::new();
    let gets = query.insert.as_ref().map(|insert| insert.table);
    for copy in copies {
        let Some(table) = query.tables.get(copy.table) else {
            continue;
        };
        let (database, name) = (table.database.replace('`', "``"), &copy.name);
        let (made, table) = (format!("`{database}`.`{name}`"), &table.name);
        all.push(format!("CREATE TEMPORARY TABLE {made} LIKE {table}"));
        all.push(format!("INSERT INTO {made} SELECT * FROM {table}"));
    }
    let cleared = gets.filter(|gets| copies.iter().any(|copy| copy.table == *gets));
    let cleared = cleared.and_then(|gets| query.tables.get(gets));
    all.extend(cleared.map(|table| format!("DELETE FROM {}", table.name)));
    let texts = all.into_iter();
    texts
        .map(|text| Zeroizing::new(text.into_bytes()))
        .collect()
}

/// Bytes with values.
type Bytes = Zeroizing<Vec<u8>>;

/// Makes statements that fill tables.
struct Filler<'a> {
    query: &'a FinisherTables,
    loaded: &'a Loaded,
    /// For each table: statements that are full, and the one that is not.
    filled: Vec<(Vec<Bytes>, Bytes)>,
    session: Option<String>,
    /// Rows of the table that is written, which are numbered.
    pub(super) numbered: u64,
    is_mariadb: bool,
}

/// A table with its columns, if not those alone are given that a `*` means.
fn insert_into(table: &FilledTable, is_written: bool) -> String {
    if !is_written {
        return table.name.clone();
    }
    let columns = table.columns.iter().map(|own| own.name.as_str());
    let columns: Vec<&str> = columns.chain([FilledTable::ROW]).collect();
    format!("{} ({})", table.name, columns.join(", "))
}

impl<'a> Filler<'a> {
    fn new(query: &'a FinisherTables, loaded: &'a Loaded, is_mariadb: bool) -> Self {
        let none = || (Vec::new(), Zeroizing::new(Vec::new()));
        Self {
            query,
            loaded,
            filled: query.tables.iter().map(|_| none()).collect(),
            session: None,
            numbered: 0,
            is_mariadb,
        }
    }

    /// Takes a row. Gives whether it is one that may be changed.
    fn row(&mut self, payload: &[u8], width: usize) -> Result<bool, StatementError> {
        let other = StatementError::other_columns;
        let row = TextRow::read(payload, width).map_err(|_| other())?;
        let mut values = row.iter();
        let text = |value: Option<Option<&[u8]>>| {
            let value = value.flatten().map(<[u8]>::to_vec);
            value.and_then(|value| String::from_utf8(value).ok())
        };
        let number = text(values.next()).and_then(|number| number.parse::<usize>().ok());
        let session = values.next();
        let Some(index) = number.ok_or_else(other)?.checked_sub(1) else {
            self.session = text(session);
            return Ok(false);
        };
        let tables = &self.query.tables;
        let table = tables.get(index).ok_or_else(other)?;
        let before: usize = tables[..index].iter().map(width_of).sum();
        let (full, open) = &mut self.filled[index];
        if open.len() > STATEMENT_SIZE {
            full.push(std::mem::replace(open, Zeroizing::new(Vec::new())));
        }
        let write = self.query.write.as_ref();
        let is_changed = write.is_some_and(|write| write.table == index);
        let insert = self.query.insert.as_ref().filter(|_| self.is_mariadb);
        let is_written = is_changed || insert.is_some_and(|insert| insert.table == index);
        match open.is_empty() {
            true => {
                let begin = format!("INSERT INTO {} VALUES (", insert_into(table, is_written));
                wiped::reserve(open, STATEMENT_SIZE.min(ROOM * payload.len() + begin.len()));
                open.extend_from_slice(begin.as_bytes());
            }
            false => wiped::extend(open, b", ("),
        }
        let mut values = values.skip(before);
        let mut together = OpenedGroup::default();
        for (place, column) in table.columns.iter().enumerate() {
            if place > 0 {
                wiped::extend(open, b", ");
            }
            let value = values.next().ok_or_else(other)?;
            match (value, column.sealed) {
                (None, _) => wiped::extend(open, b"NULL"),
                (Some(sealed), Some(id)) => {
                    let found = (id, sealed);
                    let opened = Opened::in_row(self.loaded, found, RESULTS, &mut together)?;
                    match opened {
                        None => wiped::extend(open, b"NULL"),
                        Some(mut opened) => {
                            put(&column.form, &opened.exact_text(), open)?;
                            opened.wipe();
                        }
                    }
                }
                (Some(value), None) => put(&column.form, value, open)?,
            }
        }
        if is_written {
            self.numbered += 1;
            wiped::extend(open, format!(", {}", self.numbered).as_bytes());
        }
        wiped::extend(open, b")");
        Ok(is_changed)
    }

    /// All statements, those that make the tables before the others.
    fn tables(&mut self) -> Vec<Bytes> {
        let made = self.query.tables.iter();
        let mut all: Vec<Bytes> = made
            .map(|table| Zeroizing::new(table.create.clone().into_bytes()))
            .collect();
        for (full, open) in std::mem::take(&mut self.filled) {
            all.extend(full);
            all.extend(Some(open).filter(|open| !open.is_empty()));
        }
        all
    }

    /// The settings of the session, as many as were asked for.
    fn session(&self, series: u16) -> Result<Vec<&str>, StatementError> {
        let all: Vec<&str> = self
            .session
            .iter()
            .flat_map(|own| own.split(MARK))
            .collect();
        let is_harmless = |own: &&str| {
            let mut letters = own.bytes();
            letters.all(|byte| byte.is_ascii_alphanumeric() || b"_,+-./:= ".contains(&byte))
        };
        let count = BEFORE_SETTINGS + settings_of(series).count();
        if all.len() != count || !all.iter().all(is_harmless) {
            return Err(StatementError::defect(
                "the settings of the session are not understood",
            ));
        }
        Ok(all)
    }
}

/// Writes a value as SQL.
pub(super) fn put(form: &FilledForm, value: &[u8], out: &mut Bytes) -> Result<(), StatementError> {
    // Two digits for each byte, and what is around them.
    wiped::reserve(out, 2 * value.len() + 64);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.: ".contains(byte);
    match form {
        FilledForm::Bytes => put_bytes("", value, out),
        FilledForm::Text(charset) => put_bytes(&format!("_{charset} "), value, out),
        _ if !value.iter().all(is_plain) => {
            return Err(StatementError::defect("a number or time of another form"));
        }
        FilledForm::Bits => out.extend_from_slice(value),
        FilledForm::Moment if value.iter().all(|byte| b"0.".contains(byte)) => {
            out.extend_from_slice(NO_MOMENT.as_bytes());
        }
        FilledForm::Moment => {
            out.extend_from_slice(b"FROM_UNIXTIME(");
            out.extend_from_slice(value);
            out.push(b')');
        }
        FilledForm::Quoted | FilledForm::Float => {
            out.push(b'\'');
            out.extend_from_slice(value);
            out.push(b'\'');
        }
    }
    Ok(())
}

fn put_bytes(introducer: &str, value: &[u8], out: &mut Bytes) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(introducer.as_bytes());
    out.extend_from_slice(b"x'");
    for byte in value {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: &FilledForm, value: &[u8]) -> Option<String> {
        let mut out = Bytes::default();
        put(form, value, &mut out).ok()?;
        String::from_utf8(out.to_vec()).ok()
    }

    #[test]
    fn no_value_leaves_its_literal() {
        for (form, value, wanted) in [
            (FilledForm::Quoted, &b"-1.5e10"[..], Some("'-1.5e10'")),
            (
                FilledForm::Quoted,
                b"2024-01-02 03:04:05.1",
                Some("'2024-01-02 03:04:05.1'"),
            ),
            (FilledForm::Quoted, b"1' OR 1", None),
            (FilledForm::Bits, b"1); DROP", None),
            (
                FilledForm::Moment,
                b"1700000000.5",
                Some("FROM_UNIXTIME(1700000000.5)"),
            ),
            (FilledForm::Moment, b"0.000000", Some(NO_MOMENT)),
            (FilledForm::Bytes, b"'\\", Some("x'275c'")),
            (
                FilledForm::Text("latin1".to_owned()),
                b"\xe9",
                Some("_latin1 x'e9'"),
            ),
            (
                FilledForm::Text("utf8mb4".to_owned()),
                b"",
                Some("_utf8mb4 x''"),
            ),
        ] {
            assert_eq!(
                written(&form, value).as_deref(),
                wanted,
                "{form:?} {value:?}"
            );
        }
    }
}
