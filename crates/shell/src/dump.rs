//! Dumps a database as SQL text that recreates it.

use crate::quote;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};
use std::io::{self, Write};
use thiserror::Error;

/// Why a dump failed.
#[derive(Debug, Error)]
pub enum DumpError {
    /// The database could not be read.
    #[error("the dump is incomplete and ends with ROLLBACK: {0}")]
    Sql(#[from] rusqlite::Error),
    /// The text could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// What to dump.
#[derive(Clone, Debug, Default)]
pub struct DumpOptions {
    /// `LIKE` patterns for the tables; empty for everything.
    pub patterns: Vec<String>,
    /// Write the rowid if no column is an alias for it.
    pub preserve_rowids: bool,
}

/// Writes the SQL text of database `main`, as one consistent snapshot.
///
/// # Errors
///
/// If the database cannot be read or the text cannot be written. An incomplete text ends with
/// `ROLLBACK`.
pub fn dump(
    connection: &Connection,
    output: &mut dyn Write,
    options: &DumpOptions,
) -> Result<(), DumpError> {
    output.write_all(b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")?;
    connection.execute_batch("SAVEPOINT strongroom_dump")?;
    let result = Dump {
        connection,
        options,
        writable_schema: false,
    }
    .write(output);
    connection.execute_batch("RELEASE strongroom_dump")?;
    match &result {
        Ok(()) => output.write_all(b"COMMIT;\n")?,
        Err(DumpError::Sql(_)) => output.write_all(b"ROLLBACK; -- the dump is incomplete\n")?,
        Err(DumpError::Output(_)) => {}
    }
    result
}

struct Dump<'a> {
    connection: &'a Connection,
    options: &'a DumpOptions,
    writable_schema: bool,
}

/// A row of `sqlite_schema`.
struct Entry {
    name: String,
    sql: String,
}

impl Dump<'_> {
    fn write(&mut self, output: &mut dyn Write) -> Result<(), DumpError> {
        if self.options.patterns.is_empty() {
            self.pragmas(output)?;
        }
        for table in self.entries("type = 'table' AND sql IS NOT NULL")? {
            self.table(output, &table)?;
        }
        for entry in self.entries("type IN ('index', 'trigger', 'view') AND sql IS NOT NULL")? {
            writeln!(output, "{};", entry.sql)?;
        }
        if self.writable_schema {
            // RESET and not OFF: after OFF the running connection would not know the new tables.
            output.write_all(b"PRAGMA writable_schema=RESET;\n")?;
        }
        Ok(())
    }

    /// The numbers in the file header that applications set.
    fn pragmas(&self, output: &mut dyn Write) -> Result<(), DumpError> {
        for name in ["application_id", "user_version"] {
            let value: i64 =
                self.connection
                    .query_row(&format!("PRAGMA main.{name}"), [], |row| row.get(0))?;
            if value != 0 {
                writeln!(output, "PRAGMA {name}={value};")?;
            }
        }
        Ok(())
    }

    fn entries(&self, condition: &str) -> Result<Vec<Entry>, DumpError> {
        let likes = vec!["tbl_name LIKE ? ESCAPE '\\'"; self.options.patterns.len()].join(" OR ");
        let wanted = if likes.is_empty() {
            "1".to_owned()
        } else {
            likes
        };
        let mut statement = self.connection.prepare(&format!(
            "SELECT name, sql FROM main.sqlite_schema WHERE {condition} AND ({wanted}) \
             ORDER BY tbl_name = 'sqlite_sequence', rowid"
        ))?;
        let parameters = rusqlite::params_from_iter(&self.options.patterns);
        let entries = statement.query_map(parameters, |row| {
            Ok(Entry {
                name: row.get(0)?,
                sql: row.get(1)?,
            })
        })?;
        Ok(entries.collect::<Result<_, _>>()?)
    }

    fn table(&mut self, output: &mut dyn Write, table: &Entry) -> Result<(), DumpError> {
        match table.name.as_str() {
            // The table exists as soon as a table with AUTOINCREMENT does.
            "sqlite_sequence" => output.write_all(b"DELETE FROM sqlite_sequence;\n")?,
            name if name.starts_with("sqlite_stat") => {
                output.write_all(b"ANALYZE sqlite_schema;\n")?;
            }
            name if name.starts_with("sqlite_") => return Ok(()),
            _ if is_virtual(&table.sql) => return self.virtual_table(output, table),
            _ => writeln!(output, "{};", table.sql)?,
        }
        self.rows(output, &table.name)
    }

    /// A virtual table stores its content in shadow tables, which are dumped like ordinary tables.
    /// `CREATE VIRTUAL TABLE` would create them a second time, so only its schema row is restored.
    fn virtual_table(&mut self, output: &mut dyn Write, table: &Entry) -> Result<(), DumpError> {
        if !self.writable_schema {
            output.write_all(b"PRAGMA writable_schema=ON;\n")?;
            self.writable_schema = true;
        }
        let (name, sql) = (text(&table.name), text(&table.sql));
        writeln!(
            output,
            "INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) \
             VALUES('table',{name},{name},0,{sql});"
        )?;
        Ok(())
    }

    fn rows(&self, output: &mut dyn Write, table: &str) -> Result<(), DumpError> {
        let columns = self.columns(table)?;
        let rowid = if self.options.preserve_rowids {
            self.rowid_name(table, &columns)?
        } else {
            None
        };
        let mut names: Vec<String> = columns.stored;
        names.splice(0..0, rowid.clone());
        let name = quote::identifier_if_needed(table);
        let list = names.join(",");
        let head = if columns.generated || rowid.is_some() {
            format!("INSERT INTO {name}({list}) VALUES(")
        } else {
            format!("INSERT INTO {name} VALUES(")
        };
        let query = format!("SELECT {list} FROM main.{}", quote::identifier(table));
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            output.write_all(head.as_bytes())?;
            for index in 0..names.len() {
                let comma = if index > 0 { "," } else { "" };
                write!(output, "{comma}{}", quote::value(row.get_ref(index)?))?;
            }
            output.write_all(b");\n")?;
        }
        Ok(())
    }

    fn columns(&self, table: &str) -> Result<Columns, DumpError> {
        let mut statement = self.connection.prepare(
            "SELECT name, hidden, pk, upper(type) FROM pragma_table_xinfo(?1, 'main') ORDER BY cid",
        )?;
        let mut rows = statement.query([table])?;
        let mut columns = Columns::default();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            columns.all.push(name.to_ascii_lowercase());
            match row.get::<_, i64>(1)? {
                0 => columns.stored.push(quote::identifier_if_needed(&name)),
                _ => columns.generated = true,
            }
            let (key, kind): (i64, String) = (row.get(2)?, row.get(3)?);
            columns.keys += usize::from(key > 0);
            columns.integer_key |= key > 0 && kind == "INTEGER";
        }
        Ok(columns)
    }

    /// A name for the rowid, if the table has one that no column aliases or hides.
    fn rowid_name(&self, table: &str, columns: &Columns) -> Result<Option<String>, DumpError> {
        let without_rowid: Option<bool> = self
            .connection
            .query_row(
                "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1",
                [table],
                |row| row.get(0),
            )
            .optional()?;
        if without_rowid != Some(false) || (columns.keys == 1 && columns.integer_key) {
            return Ok(None);
        }
        let names = ["rowid", "_rowid_", "oid"];
        Ok(names
            .iter()
            .find(|name| !columns.all.iter().any(|column| column == *name))
            .map(|&name| name.to_owned()))
    }
}

#[derive(Default)]
struct Columns {
    /// Names of all columns, generated ones included, in lower case.
    all: Vec<String>,
    /// Quoted names of the columns that an `INSERT` fills.
    stored: Vec<String>,
    generated: bool,
    keys: usize,
    integer_key: bool,
}

fn text(text: &str) -> String {
    quote::value(ValueRef::Text(text.as_bytes()))
}

fn is_virtual(sql: &str) -> bool {
    let mut words = sql.split_whitespace().map(str::to_ascii_lowercase);
    words.next().as_deref() == Some("create") && words.next().as_deref() == Some("virtual")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::Scanner;

    fn dumped(connection: &Connection, options: &DumpOptions) -> String {
        let mut output = Vec::new();
        dump(connection, &mut output, options).unwrap();
        String::from_utf8(output).unwrap()
    }

    fn restored(text: &str) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        // Statement by statement, as the shell does.
        let (mut scanner, mut start) = (Scanner::new(), 0);
        while let Some(span) = scanner.next_statement(text) {
            connection.execute_batch(&text[start..span.end]).unwrap();
            start = span.end;
        }
        assert!(text[start..].trim().is_empty());
        connection
    }

    const AWKWARD: &str = "
        PRAGMA user_version=7;
        CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT, r REAL, b BLOB, n);
        INSERT INTO a VALUES(5, 'it''s', 0.1, x'00ff27', NULL), (9, '', -1e-300, x'', 'x');
        INSERT INTO a(t, r, n) VALUES('two
lines', 9e999, CAST(x'610062' AS TEXT)), ('cr' || char(13) || '\\n', 1e23, -9223372036854775808);
        DELETE FROM a WHERE id = 9;
        CREATE TABLE \"select\"(\"a b\" TEXT, \"c\"\"d\" INT, sum INT AS (\"c\"\"d\" * 2) STORED);
        INSERT INTO \"select\" VALUES('x', 21);
        CREATE TABLE w(k TEXT PRIMARY KEY, v ANY) STRICT, WITHOUT ROWID;
        INSERT INTO w VALUES('k', 1.0), ('l', '1.0');
        CREATE UNIQUE INDEX a_t ON a(t) WHERE t <> '';
        CREATE VIEW v AS SELECT t, r FROM a WHERE r > 0;
        CREATE TRIGGER g AFTER INSERT ON a BEGIN
            UPDATE a SET n = 'triggered; end;' WHERE id = new.id; SELECT 1;
        END;
        CREATE VIRTUAL TABLE f USING fts5(body);
        INSERT INTO f VALUES('the quick brown fox'), ('lazy dogs');
        ANALYZE;";

    #[test]
    fn a_restored_dump_dumps_the_same() {
        let original = Connection::open_in_memory().unwrap();
        original.execute_batch(AWKWARD).unwrap();
        let text = dumped(&original, &DumpOptions::default());
        let copy = restored(&text);
        assert_eq!(dumped(&copy, &DumpOptions::default()), text);
        let check = |sql: &str| {
            copy.query_row(sql, [], |row| row.get::<_, String>(0))
                .unwrap()
        };
        assert_eq!(check("PRAGMA integrity_check"), "ok");
        assert_eq!(
            check("SELECT body FROM f WHERE f MATCH 'dogs'"),
            "lazy dogs"
        );
        assert_eq!(check("SELECT hex(n) FROM a WHERE id = 10"), "610062");
        assert_eq!(check("SELECT CAST(seq AS TEXT) FROM sqlite_sequence"), "11");
        // The trigger came after the rows, and works.
        copy.execute_batch("INSERT INTO a(t) VALUES('new')")
            .unwrap();
        assert_eq!(check("SELECT n FROM a WHERE t = 'new'"), "triggered; end;");
        assert_eq!(check("SELECT CAST(sum AS TEXT) FROM \"select\""), "42");
    }

    #[test]
    fn one_table_only() {
        let original = Connection::open_in_memory().unwrap();
        original.execute_batch(AWKWARD).unwrap();
        let options = DumpOptions {
            patterns: vec!["W".to_owned()],
            ..DumpOptions::default()
        };
        let copy = restored(&dumped(&original, &options));
        let count: i64 = copy
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn rowids_stay_when_asked() {
        let original = Connection::open_in_memory().unwrap();
        original
            .execute_batch(
                "CREATE TABLE p(a, rowid); INSERT INTO p(_rowid_, a) VALUES(40, 'x');
                 CREATE TABLE i(id INTEGER PRIMARY KEY); INSERT INTO i VALUES(3);
                 CREATE TABLE k(a TEXT PRIMARY KEY); INSERT INTO k(rowid, a) VALUES(8, 'y');",
            )
            .unwrap();
        let options = DumpOptions {
            preserve_rowids: true,
            ..DumpOptions::default()
        };
        let copy = restored(&dumped(&original, &options));
        let check = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(check("SELECT _rowid_ FROM p"), 40);
        assert_eq!(check("SELECT id FROM i"), 3);
        assert_eq!(check("SELECT rowid FROM k"), 8);
    }

    #[test]
    fn a_failing_read_ends_with_rollback() {
        let original = Connection::open_in_memory().unwrap();
        original
            .execute_batch(
                "CREATE TABLE a(x, y AS (abs(-9223372036854775808)));
                 PRAGMA writable_schema=ON;
                 UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'a';",
            )
            .unwrap();
        let mut output = Vec::new();
        original
            .execute_batch("PRAGMA writable_schema=RESET")
            .unwrap();
        let result = dump(&original, &mut output, &DumpOptions::default());
        assert!(matches!(result, Err(DumpError::Sql(_))));
        assert!(String::from_utf8(output).unwrap().contains("ROLLBACK"));
    }
}
