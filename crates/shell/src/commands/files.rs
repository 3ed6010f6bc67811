//! Dot commands that read and write files.

use super::{Command, Takes, at_most_one, exactly_one, usage};
use crate::console::Lines;
use crate::database::{Database, Opened, ask_until_open};
use crate::dump::{DumpOptions, dump};
use crate::error::{ShellError, StateError};
use crate::import::{Format, ImportOptions, import};
use crate::session::{Flow, Shell};
use crate::style::Mode;
use crate::words::counted;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use store::backup::backup;
use store::convert::{Overwrite, decrypt_connection};
use store::database::{FileKind, OpenError, file_kind};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "backup",
        usage: ".backup [--force] [--plain] FILE",
        summary: "Copy the database to a file",
        details: "The copy of an encrypted database is encrypted under the key that opened it;\n\
                  other key slots are not taken over. --plain writes it unencrypted. An existing\n\
                  file is overwritten only with --force.",
        takes: Takes::Path,
        run: back_up,
    },
    Command {
        name: "dump",
        usage: ".dump [--preserve-rowids] [PATTERN...]",
        summary: "Write SQL that makes the same database again",
        details: "PATTERN is a LIKE pattern for tables. The SQL is not encrypted.",
        takes: Takes::Table,
        run: write_dump,
    },
    Command {
        name: "import",
        usage: ".import [--csv|--tabs|--ascii] [--skip N] [--schema NAME] FILE TABLE",
        summary: "Read delimited text into a table",
        details: "Mode tabs or ascii decides the form, else it is CSV, with the .separator of\n\
                  mode csv. A table that does not exist is made from the first row. All of the\n\
                  file is imported, or nothing.",
        takes: Takes::Path,
        run: run_import,
    },
    Command {
        name: "once",
        usage: ".once FILE",
        summary: "Write the results of the next statement to a file",
        details: "",
        takes: Takes::Path,
        run: |shell, arguments| detour(shell, exactly_one(arguments)?, true),
    },
    Command {
        name: "open",
        usage: ".open [FILE]",
        summary: "Close this database and open another one",
        details: "Without FILE: a database in memory. The key is found as when the shell was\n\
                  started: where its options or the environment say, else a person is asked. A\n\
                  new file is encrypted under a key that these name. Without any, an encrypted\n\
                  file stays locked until .decrypt.",
        takes: Takes::Path,
        run: open,
    },
    Command {
        name: "output",
        usage: ".output [FILE]",
        summary: "Write results to a file, or to the screen again",
        details: "",
        takes: Takes::Path,
        run: output,
    },
    Command {
        name: "read",
        usage: ".read FILE",
        summary: "Run the lines of a file",
        details: "",
        takes: Takes::Path,
        run: read,
    },
    Command {
        name: "save",
        usage: ".save [--force] [--plain] FILE",
        summary: "Copy the database to a file, as .backup does",
        details: "",
        takes: Takes::Path,
        run: back_up,
    },
];

/// How deeply files may include each other.
const READ_DEPTH_MAX: usize = 20;

fn open_file(path: &str) -> Result<File, ShellError> {
    File::open(path).map_err(|source| ShellError::File {
        path: PathBuf::from(path),
        source,
    })
}

fn read(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let path = exactly_one(arguments)?;
    if shell.read_depth >= READ_DEPTH_MAX {
        return Err(ShellError::ReadTooDeep(READ_DEPTH_MAX));
    }
    let file = open_file(path)?;
    shell.read_depth += 1;
    let result = shell.run_lines(&mut Lines(BufReader::new(file)), Some(path));
    shell.read_depth -= 1;
    Ok(result?)
}

fn write_dump(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let mut options = DumpOptions::default();
    for argument in arguments {
        match argument.as_str() {
            "--preserve-rowids" => options.preserve_rowids = true,
            option if option.starts_with('-') => return usage(),
            pattern => options.patterns.push(pattern.to_owned()),
        }
    }
    let result = dump(shell.database.connection(), &mut shell.output, &options);
    shell.output.statement_done()?;
    result?;
    Ok(Flow::Continue)
}

fn run_import(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let style = &shell.style;
    let comma = match (style.mode, style.separator().as_bytes()) {
        (Mode::Csv, [byte]) => *byte,
        _ => b',',
    };
    let mut format = match style.mode {
        Mode::Tabs => Format::Tabs,
        Mode::Ascii => Format::Ascii,
        _ => Format::Csv(comma),
    };
    let (mut names, mut skip, mut schema) = (Vec::new(), 0, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--csv" => format = Format::Csv(comma),
            "--tabs" => format = Format::Tabs,
            "--ascii" => format = Format::Ascii,
            "--skip" => match words.next().map(|number| number.parse()) {
                Some(Ok(number)) => skip = number,
                _ => return usage(),
            },
            "--schema" => schema = Some(words.next().ok_or(ShellError::Usage(""))?.clone()),
            option if option.starts_with("--") => return usage(),
            _ => names.push(word),
        }
    }
    let [path, table] = names.as_slice() else {
        return usage();
    };
    let options = ImportOptions {
        table: (*table).clone(),
        schema,
        format,
        skip,
    };
    let report = import(shell.database.connection(), open_file(path)?, &options)?;
    for line in &report.uneven {
        writeln!(shell.messages, "{path}: {line}")?;
    }
    let unnamed = report.uneven_count - report.uneven.len() as u64;
    if unnamed > 0 {
        writeln!(
            shell.messages,
            "{path}: {unnamed} more lines of uneven length"
        )?;
    }
    if shell.is_interactive() {
        let rows = counted(report.rows, "row");
        writeln!(shell.output, "{rows} imported")?;
    }
    Ok(Flow::Continue)
}

fn output(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    match at_most_one(arguments)? {
        None | Some("stdout") => {
            shell.output.back()?;
            Ok(Flow::Continue)
        }
        Some(path) => detour(shell, path, false),
    }
}

fn detour(shell: &mut Shell, path: &str, once: bool) -> Result<Flow, ShellError> {
    let path = PathBuf::from(path);
    if is_same_file(shell.database.path(), &path) {
        return Err(StateError::OutputIsDatabase(path).into());
    }
    shell
        .output
        .detour(&path, once)
        .map_err(|source| ShellError::File { path, source })?;
    Ok(Flow::Continue)
}

fn is_same_file(open: Option<&Path>, path: &Path) -> bool {
    let canonical = |path: &Path| std::fs::canonicalize(path).ok();
    open.and_then(canonical)
        .is_some_and(|open| canonical(path) == Some(open))
}

fn open(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let path = at_most_one(arguments)?
        .filter(|name| *name != ":memory:")
        .map(PathBuf::from);
    let opened = open_with_key(shell, path.as_deref())?;
    shell.replace_database(opened.database);
    if let Some(error) = opened.refused {
        // The rest of the script relies on the key.
        return Err(ShellError::KeyNotTaken(Box::new(error.into())));
    }
    if shell.database.is_locked() {
        writeln!(
            shell.messages,
            "The database is encrypted; .decrypt opens it."
        )?;
    } else if shell.is_interactive()
        && let Some(remark) = shell.database.plain_remark()
    {
        writeln!(shell.messages, "{remark}")?;
    }
    Ok(Flow::Continue)
}

/// Opens a database with the session's named key, or with a passphrase that is asked for.
fn open_with_key(shell: &mut Shell, path: Option<&Path>) -> Result<Opened, ShellError> {
    let options = shell.database.options;
    let wants_key = match path.map(file_kind).transpose()? {
        Some(FileKind::Encrypted(_)) => true,
        Some(FileKind::Missing | FileKind::Empty) => !options.read_only,
        Some(FileKind::Plain | FileKind::Other(_)) | None => false,
    };
    let named = match wants_key {
        true => shell
            .named_key
            .read()
            .map_err(|error| ShellError::KeyNotTaken(Box::new(ShellError::NamedKey(error))))?,
        false => None,
    };
    let is_named = named.is_some();
    let opened = Database::open(path, named, options);
    match (opened, path) {
        (Ok(database), Some(path)) if !is_named && shell.is_interactive() => {
            let (console, messages) = (&mut *shell.console, &mut *shell.messages);
            ask_until_open(database, path, console, messages)
        }
        (Err(error @ OpenError::WrongKey { .. }), Some(_)) => Ok(Opened {
            database: Database::open(path, None, options)?,
            refused: Some(error),
        }),
        (opened, _) => Ok(opened?.into()),
    }
}

fn back_up(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let (mut overwrite, mut plain, mut names) = (Overwrite::Never, false, Vec::new());
    for argument in arguments {
        match argument.as_str() {
            "--force" => overwrite = Overwrite::Always,
            "--plain" => plain = true,
            option if option.starts_with("--") => return usage(),
            name => names.push(name),
        }
    }
    let [name] = names.as_slice() else {
        return usage();
    };
    let path = Path::new(name);
    if is_same_file(shell.database.path(), path) {
        return Err(StateError::OutputIsDatabase(path.to_owned()).into());
    }
    let database = &shell.database;
    if plain && database.through_strongroom() {
        decrypt_connection(
            database.connection(),
            path,
            overwrite,
            &store::progress::ignored(),
        )?;
    } else {
        backup(
            database.connection(),
            database.through_strongroom(),
            database.token(),
            path,
            overwrite,
            &store::progress::ignored(),
        )?;
    }
    Ok(Flow::Continue)
}
