//! A shell session: its state, and the execution of statements.

mod lines;

use crate::console::{Console, NamedKey, Screen};
use crate::database::Database;
use crate::error::{ShellError, StateError};
use crate::key_pragma::{KeyPragma, key_pragma};
use crate::output::Output;
use crate::parameters::Parameters;
use crate::render;
use crate::scanner::{Inside, PieceKind, pieces};
use crate::schema_names::SchemaNames;
use crate::secrecy;
use crate::style::{Mode, Reader, Style};
use crate::timer::Stopwatch;
use crate::words::counted;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, ErrorCode, InterruptHandle, Statement};
use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use store::database::Access;

/// The settings in `.show`, besides the style.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Stop at the first error.
    pub bail: bool,
    /// Print each statement before it runs.
    pub echo: bool,
    /// Print how long each statement took.
    pub timer: bool,
    /// Print how many rows each statement changed.
    pub changes: bool,
    /// How `EXPLAIN` is laid out.
    pub explain: Explain,
}

/// Whether the rows of `EXPLAIN` are formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Explain {
    #[default]
    Auto,
    On,
    Off,
}

impl Explain {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Explain::Auto => "auto",
            Explain::On => "on",
            Explain::Off => "off",
        }
    }
}

/// Whether the session continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flow {
    #[default]
    Continue,
    Quit,
}

/// Interrupts the running statement from another thread.
#[derive(Clone, Default)]
pub struct Interrupter(Arc<Mutex<Option<InterruptHandle>>>);

impl Interrupter {
    /// Makes the running statement, if any, fail.
    pub fn interrupt(&self) {
        if let Some(handle) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.interrupt();
        }
    }

    fn set(&self, handle: InterruptHandle) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    }
}

/// The surroundings of a shell.
pub struct Surroundings {
    /// Where results go.
    pub output: Box<dyn Write>,
    /// Where errors and remarks are written.
    pub messages: Box<dyn Write>,
    /// Asks for passphrases.
    pub console: Box<dyn Console>,
    /// The key that was named for databases.
    pub named_key: Box<dyn NamedKey>,
    /// The terminal that shows results; `None` if they are written elsewhere.
    pub screen: Option<Box<dyn Screen>>,
    /// Whether a person uses it: errors carry no line numbers, and never end the session.
    pub interactive: bool,
}

/// The shell.
pub struct Shell {
    pub(crate) database: Database,
    pub(crate) style: Style,
    pub(crate) settings: Settings,
    pub(crate) output: Output,
    pub(crate) messages: Box<dyn Write>,
    pub(crate) console: Box<dyn Console>,
    pub(crate) named_key: Box<dyn NamedKey>,
    pub(crate) parameters: Parameters,
    pub(crate) read_depth: usize,
    interactive: bool,
    failures: u64,
    exit_status: Option<u8>,
    interrupter: Interrupter,
    names: SchemaNames,
}

impl Shell {
    /// A shell over an open database.
    pub fn new(database: Database, surroundings: Surroundings) -> Self {
        let mode = if surroundings.interactive {
            Mode::Box
        } else {
            Mode::List
        };
        let interrupter = Interrupter::default();
        interrupter.set(database.connection().get_interrupt_handle());
        let names = SchemaNames::default();
        names.set(database.shared_connection());
        // Without a person there is no pager, so that a script's output is the same everywhere.
        let screen = surroundings.screen.filter(|_| surroundings.interactive);
        Shell {
            database,
            style: Style::new(mode),
            settings: Settings::default(),
            output: Output::new(surroundings.output, screen),
            messages: surroundings.messages,
            console: surroundings.console,
            named_key: surroundings.named_key,
            parameters: Parameters::default(),
            read_depth: 0,
            interactive: surroundings.interactive,
            failures: 0,
            exit_status: None,
            interrupter,
            names,
        }
    }

    /// Whether the first error ends the session.
    pub fn set_bail(&mut self, bail: bool) {
        self.settings.bail = bail;
    }

    /// The handle with which another thread interrupts a long statement.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    /// The names in the open database, for completion.
    pub fn names(&self) -> SchemaNames {
        self.names.clone()
    }

    /// The version of SQLite that runs the statements.
    pub fn sqlite_version(&self) -> &'static str {
        rusqlite::version()
    }

    /// The open database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Whether a person uses it.
    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Ends the session with this exit status.
    pub(crate) fn exit_with(&mut self, status: u8) {
        self.exit_status = Some(status);
    }

    /// Replaces the open database.
    pub(crate) fn replace_database(&mut self, database: Database) {
        self.interrupter
            .set(database.connection().get_interrupt_handle());
        self.names.set(database.shared_connection());
        self.database = database;
    }

    /// The style, with adjustments for the current output.
    pub(crate) fn style_of_output(&self) -> Cow<'_, Style> {
        if !self.output.is_screen() {
            return Cow::Borrowed(&self.style);
        }
        let colours = self.output.has_colours();
        let mut style = self.style.clone();
        style.reader = Reader::Person { colours };
        Cow::Owned(style)
    }

    /// Writes one result that may be long. It is not a failure if the person quits the pager.
    pub(crate) fn paged<T: Default>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, ShellError>,
    ) -> Result<T, ShellError> {
        self.output.begin_result();
        let result = write(self);
        let left = self.output.end_result()?;
        match result {
            Err(error) if left && error.is_broken_pipe() => Ok(T::default()),
            other => other,
        }
    }

    /// Runs one statement and writes its rows.
    pub(crate) fn statement(&mut self, sql: &str) -> Result<(), ShellError> {
        if self.settings.echo && secrecy::may_be_remembered(sql) {
            writeln!(self.output, "{}", sql.trim())?;
        }
        let key_pragma = key_pragma(sql)?;
        if let Some(pragma) = key_pragma {
            self.prepare_for_key(pragma)
                .map_err(|error| ShellError::KeyNotTaken(Box::new(error)))?;
        }
        let stopwatch = Stopwatch::start();
        let total_before = self.database.connection().total_changes();
        let result = self.paged(|shell| shell.write_rows(sql));
        self.output.statement_done()?;
        result.map_err(|error| match key_pragma {
            Some(_) => ShellError::KeyNotTaken(Box::new(error)),
            None => self.explain(error),
        })?;
        if self.settings.timer {
            writeln!(self.output, "{}", stopwatch.report())?;
        }
        let connection = self.database.connection();
        let (changes, total) = (connection.changes(), connection.total_changes());
        if self.settings.changes {
            writeln!(self.output, "changes: {changes}   total_changes: {total}")?;
        } else if self.interactive && self.read_depth == 0 && is_change(sql, total != total_before)
        {
            writeln!(self.output, "{} changed", counted(changes, "row"))?;
        }
        Ok(())
    }

    fn write_rows(&mut self, sql: &str) -> Result<(), ShellError> {
        let style = self.style_of_output().into_owned();
        let mut batch = Batch::new(self.database.connection(), sql);
        while let Some(mut statement) = batch.next()? {
            let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut renderer = renderer(self.settings.explain, &statement, &style);
            self.parameters.bind(&mut statement)?;
            let mut rows = statement.raw_query();
            let mut begun = false;
            while let Some(row) = rows.next()? {
                if !begun {
                    renderer.begin(&mut self.output, &columns)?;
                    begun = true;
                }
                let values: Vec<ValueRef<'_>> = (0..columns.len())
                    .map(|index| row.get_ref(index))
                    .collect::<Result<_, _>>()?;
                renderer.row(&mut self.output, &values)?;
            }
            if begun {
                renderer.finish(&mut self.output)?;
            } else if !columns.is_empty() {
                renderer.no_rows(&mut self.output)?;
            }
        }
        Ok(())
    }

    /// A stock SQLite silently ignores `PRAGMA key` and then writes a plain file. So a new file is
    /// opened through the encrypting VFS first; for others the pragma is refused.
    fn prepare_for_key(&mut self, pragma: KeyPragma) -> Result<(), ShellError> {
        if self.database.through_strongroom() {
            return Ok(());
        }
        let path = self.database.file()?.to_owned();
        let is_new = matches!(
            store::database::file_kind(&path)?,
            store::database::FileKind::Missing | store::database::FileKind::Empty
        );
        if !is_new || pragma != KeyPragma::Key {
            return Err(StateError::KeyPragmaOnPlain.into());
        }
        self.database.check_idle()?;
        let options = self.database.options;
        let access = crate::database::access(options, Access::Create);
        self.replace_database(Database::encrypted(&path, access, None, options)?);
        Ok(())
    }

    /// Replaces the message of a failure by the storage engine's, if it has one.
    fn explain(&self, error: ShellError) -> ShellError {
        let source = match error {
            ShellError::Sql(source) => source,
            other => return other,
        };
        if source.sqlite_error_code() == Some(ErrorCode::DiskFull)
            && let Some(path) = self.database.path()
        {
            let path = path.to_owned();
            return ShellError::Full { source, path };
        }
        let from_storage = matches!(
            source.sqlite_error_code(),
            Some(
                ErrorCode::NotADatabase
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::AuthorizationForStatementDenied
                    | ErrorCode::CannotOpen
            )
        );
        if !from_storage {
            return ShellError::Sql(source);
        }
        if self.database.is_locked() {
            return ShellError::Locked;
        }
        match store::database::last_error(self.database.connection()) {
            Some(detail) if !source.to_string().contains(&detail) => {
                ShellError::Storage { source, detail }
            }
            _ => ShellError::Sql(source),
        }
    }
}

/// The renderer for a statement's results.
fn renderer(
    explain: Explain,
    statement: &Statement<'_>,
    style: &Style,
) -> Box<dyn render::Renderer> {
    // sqlite.org/c3ref/stmt_isexplain.html
    match (explain, statement.is_explain()) {
        (Explain::Auto | Explain::On, 1) => Box::<render::explain::Program>::default(),
        (Explain::Auto | Explain::On, 2) => Box::<render::explain::Plan>::default(),
        _ => render::renderer(style),
    }
}

/// Whether a statement is one that changes rows, even if it changed none. For a statement that
/// begins with `WITH`, only its effect shows this.
fn is_change(sql: &str, changed: bool) -> bool {
    let (pieces, _) = pieces(Inside::default(), sql);
    let mut words = pieces.iter().filter(|piece| piece.kind == PieceKind::Word);
    let first = words
        .next()
        .map(|piece| sql[piece.start..piece.end].to_ascii_uppercase());
    match first.as_deref() {
        Some("INSERT" | "REPLACE" | "UPDATE" | "DELETE") => true,
        Some("WITH") => changed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_change;

    #[test]
    fn statements_that_change_rows_are_known_by_their_first_word() {
        for sql in [
            "insert into t values(1)",
            "-- a\n/* b */ Delete from t",
            "REPLACE into t",
        ] {
            assert!(is_change(sql, false), "{sql}");
        }
        assert!(is_change(
            "with a as (select 1) insert into t select * from a",
            true
        ));
        for sql in [
            "select 1",
            "create table t(a)",
            "with a as (select 1) select 1",
            "",
        ] {
            assert!(!is_change(sql, false), "{sql}");
        }
    }
}
