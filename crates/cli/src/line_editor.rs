//! The line editor of the shell: a history without secrets, completion, colours.

use rustyline::completion::{Completer, FilenameCompleter, Pair, unescape};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};
use shell::completion::{Completion, complete};
use shell::console::{LineSource, Next};
use shell::highlight::paint;
use shell::scanner::{Inside, pieces};
use shell::schema_names::SchemaNames;
use shell::secrecy;
use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Reads lines from a person, and keeps those without secrets in a history.
pub struct LineEditor {
    editor: Editor<Typing, FileHistory>,
    history: Option<PathBuf>,
}

/// The statement that is being typed.
struct Typing {
    names: SchemaNames,
    paths: FilenameCompleter,
    /// Its lines before the current one, with their newlines.
    before: String,
    /// The lexical state after those; `None` if there are none.
    inside: Option<Inside>,
}

impl Typing {
    fn take(&mut self, line: &str) {
        let begin = self.before.len();
        self.before.push_str(line);
        self.before.push('\n');
        let (_, inside) = pieces(self.inside.unwrap_or_default(), &self.before[begin..]);
        self.inside = Some(inside);
    }

    /// Returns the whole statement and starts a new one.
    fn finish(&mut self) -> String {
        self.inside = None;
        std::mem::take(&mut self.before)
    }
}

impl Completer for Typing {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        match complete(&self.before, line, position, &self.names) {
            Completion::Path => {
                let (start, paths) = self.paths.complete_path(line, position)?;
                let is_quoted = line[..start].ends_with(['\'', '"']);
                let paths = paths.into_iter().map(|path| match is_quoted {
                    true => path,
                    false => in_quotes_if_needed(path),
                });
                Ok((start, paths.collect()))
            }
            Completion::Words { start, words } => {
                let pair = |word: String| Pair {
                    display: word.clone(),
                    replacement: word,
                };
                Ok((start, words.into_iter().map(pair).collect()))
            }
        }
    }
}

/// The editor escapes special characters with backslashes, but the shell supports only quotes. The
/// quotes around a folder stay open for the files in it.
fn in_quotes_if_needed(path: Pair) -> Pair {
    let escape = (!cfg!(windows)).then_some('\\');
    let plain = unescape(&path.replacement, escape).into_owned();
    let is_word = !plain.contains(|one: char| one.is_whitespace() || one == '\'' || one == '"');
    let replacement = match (is_word, plain.contains('\'')) {
        (true, _) => plain,
        (false, true) => path.replacement,
        (false, false) if plain.ends_with(std::path::is_separator) => format!("'{plain}"),
        (false, false) => format!("'{plain}'"),
    };
    Pair {
        display: path.display,
        replacement,
    }
}

impl Highlighter for Typing {
    fn highlight<'l>(&self, line: &'l str, _position: usize) -> Cow<'l, str> {
        Cow::Owned(paint(self.inside, line))
    }

    fn highlight_char(&self, _line: &str, _position: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

impl Hinter for Typing {
    type Hint = String;
}

impl Validator for Typing {}

impl Helper for Typing {}

/// Maximum number of history entries.
const HISTORY_SIZE: usize = 2000;

impl LineEditor {
    /// An editor that completes these names.
    ///
    /// # Errors
    ///
    /// If there is no terminal.
    pub fn new(names: SchemaNames, colours: bool) -> anyhow::Result<Self> {
        let colours = match colours {
            true => ColorMode::Enabled,
            false => ColorMode::Disabled,
        };
        let config = Config::builder()
            .auto_add_history(false)
            .completion_type(CompletionType::List)
            .color_mode(colours)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Typing {
            names,
            paths: FilenameCompleter::new(),
            before: String::new(),
            inside: None,
        }));
        editor.set_max_history_size(HISTORY_SIZE)?;
        let history = history_path();
        if let Some(path) = &history {
            // The file does not exist in the first session.
            let _ = editor.load_history(path);
        }
        Ok(LineEditor { editor, history })
    }

    /// Adds the complete statement to the history as one entry: a key may be on a separate line.
    fn remember(&mut self) {
        let statement = self
            .editor
            .helper_mut()
            .map(Typing::finish)
            .unwrap_or_default();
        let statement = statement.trim_end_matches('\n');
        if !statement.trim().is_empty() && secrecy::may_be_remembered(statement) {
            // A full or disabled history is not a reason to stop.
            let _ = self.editor.add_history_entry(statement);
        }
    }

    /// Writes the history to its file.
    pub fn save(&mut self) {
        self.remember();
        let Some(path) = &self.history else { return };
        let made = path.parent().map(fs::create_dir_all).transpose();
        if let Err(error) = made
            .map_err(ReadlineError::from)
            .and_then(|_| self.editor.save_history(path))
        {
            eprintln!(
                "strongroom: the history was not saved to {}: {error}",
                path.display()
            );
        }
    }
}

impl LineSource for LineEditor {
    fn next_line(&mut self, continuing: bool, line: &mut String) -> io::Result<Next> {
        if !continuing {
            self.remember();
        }
        let prompt = if continuing {
            "       ...> "
        } else {
            "strongroom> "
        };
        match self.editor.readline(prompt) {
            Ok(text) => {
                line.push_str(&text);
                if let Some(typing) = self.editor.helper_mut() {
                    typing.take(&text);
                }
                Ok(Next::Line)
            }
            Err(ReadlineError::Interrupted) => {
                if let Some(typing) = self.editor.helper_mut() {
                    typing.finish();
                }
                Ok(Next::Abandoned)
            }
            Err(ReadlineError::Eof) => Ok(Next::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// The path of the history, in the user's state directory
/// (<https://specifications.freedesktop.org/basedir-spec/>).
fn history_path() -> Option<PathBuf> {
    let directory = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = directory("XDG_STATE_HOME")
        .or_else(|| directory("HOME").map(|home| home.join(".local/state")))
        .or_else(|| directory("LOCALAPPDATA"))?;
    Some(state.join("strongroom").join("history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_spaces_stand_in_quotes() {
        let replaced = |replacement: &str| {
            let pair = Pair {
                display: "shown".to_owned(),
                replacement: replacement.to_owned(),
            };
            in_quotes_if_needed(pair).replacement
        };
        assert_eq!(replaced("a/b.db"), "a/b.db");
        if cfg!(unix) {
            assert_eq!(replaced("my\\ file"), "'my file'");
            assert_eq!(replaced("my\\ folder/"), "'my folder/");
            assert_eq!(replaced("a\\=b"), "a=b");
        }
    }
}
