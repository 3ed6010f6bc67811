//! Workload `custom`: a user's own schema, load and queries, read from a folder of SQL files.
//!
//! | file | tests |
//! |---|---|
//! | `schema.sql` | one: it creates the tables; required |
//! | `load.sql` | one: it fills them |
//! | `queries.sql` | one for each statement |
//! | `NN-name.sql` (NN: digits) | one for each file, after the queries, by name |
//!
//! `queries.postgres.sql` replaces `queries.sql` for engines with that dialect
//! ([`Dialect::file_word`]), and likewise for every other file.
//!
//! In line comments before a query, `-- title: …` names it, and `-- repeat: N` has it run N times.
//! Without a title the comment directly before the query is used, and without that its text.

mod files;
mod split;

use serde::{Deserialize, Serialize};

use crate::{Dialect, Script, Test, Workload, sha256};
use files::Place;
pub use split::{SplitError, SplitProblem, Statement, split};

/// A one-sentence description.
pub const DESCRIPTION: &str = "your own: a folder with schema.sql, load.sql and queries.sql";

/// The texts of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomTexts {
    /// Name of the folder.
    pub name: String,
    /// Its SQL files, by name.
    pub files: Vec<CustomFile>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomFile {
    /// Its name, without its folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Why a folder is not a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CustomError {
    /// A file name without a meaning.
    #[error(
        "{file} has no place in a workload of your own; it may hold schema.sql, load.sql, \
         queries.sql and files like 10-name.sql, each also like queries.postgres.sql"
    )]
    Name {
        /// The file.
        file: String,
    },
    /// A required file is missing.
    #[error("{file} is missing; it says what {purpose}")]
    Missing {
        /// The file.
        file: &'static str,
        /// Its purpose.
        purpose: &'static str,
    },
    /// A file without statements.
    #[error("{file} holds no statement; write one or remove the file")]
    Empty {
        /// The file.
        file: String,
    },
    /// A file that cannot be split into statements.
    #[error("{file}, line {line}: {problem}")]
    Split {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: SplitProblem,
    },
    /// An invalid repeat count.
    #[error("{file}, line {line}: `{text}` is no count of repetitions; write one from 1 to {most}")]
    Repeat {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text in its place.
        text: String,
        /// The maximum.
        most: u32,
    },
    /// The files of two dialects have different numbers of statements.
    #[error(
        "{file} has {found} statements, and {other} has {expected}; \
         answers are compared statement by statement, so both need as many"
    )]
    Count {
        /// The file.
        file: String,
        /// The number of statements.
        found: usize,
        /// The file it replaces.
        other: String,
        /// The expected number.
        expected: usize,
    },
    /// There is no file for the engine's dialect.
    #[error("{file} is missing for engines that speak {}; write it, or {other}", .dialect.name())]
    Dialect {
        /// The file of that dialect.
        file: String,
        /// The file for all dialects.
        other: String,
        /// The engine's dialect.
        dialect: Dialect,
    },
}

/// Maximum repetitions of a query.
pub const REPETITIONS_MAX: u32 = 1_000_000;

/// Length of a title taken from a query, in characters.
const TITLE_CHARACTERS: usize = 60;

/// Builds the workload for engines of that dialect.
///
/// # Errors
///
/// If the texts do not form one.
pub fn workload(texts: &CustomTexts, dialect: Dialect) -> Result<Workload, CustomError> {
    let steps = files::steps(texts)?;
    let mut tests = Vec::new();
    for step in &steps {
        let file = step.file(dialect)?;
        let statements = statements(file, dialect)?;
        step.check_counts(statements.len(), dialect)?;
        if step.place == Place::Queries {
            for statement in &statements {
                tests.push(query(file, statement)?);
            }
        } else {
            tests.push(whole_file(file, &step.place, &statements));
        }
    }
    for (test, number) in tests.iter_mut().zip(1u32..) {
        test.number = number;
    }
    let canary = steps
        .iter()
        .find(|step| step.place == Place::Load)
        .map(|step| step.file(dialect))
        .transpose()?
        .map_or_else(String::new, |file| canary(&file.text));
    Ok(Workload {
        name: "custom".to_owned(),
        description: format!("the statements in the folder `{}`", texts.name),
        tests,
        canary,
        sha256: hash(texts),
    })
}

/// SHA-256 over names, lengths and texts of all files, in the order of their names.
fn hash(texts: &CustomTexts) -> String {
    let mut files: Vec<&CustomFile> = texts.files.iter().collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let heads: Vec<String> = files
        .iter()
        .map(|file| format!("{} {}\n", file.name, file.text.len()))
        .collect();
    let parts = heads
        .iter()
        .zip(&files)
        .flat_map(|(head, file)| [head.as_str(), file.text.as_str()]);
    sha256(parts)
}

fn statements(file: &CustomFile, dialect: Dialect) -> Result<Vec<Statement<'_>>, CustomError> {
    // A byte order mark.
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    let statements = split(text, dialect).map_err(|error| CustomError::Split {
        file: file.name.clone(),
        line: error.line,
        problem: error.problem,
    })?;
    if statements.is_empty() {
        return Err(CustomError::Empty {
            file: file.name.clone(),
        });
    }
    Ok(statements)
}

fn with_semicolon(statement: &Statement<'_>) -> String {
    format!("{};", statement.text)
}

fn test(title: String, script: Script) -> Test {
    Test {
        number: 0,
        title,
        script,
        oracle: Vec::new(),
        step: None,
    }
}

fn whole_file(file: &CustomFile, place: &Place, statements: &[Statement<'_>]) -> Test {
    let mut script = Script::new();
    for statement in statements {
        script.push(&with_semicolon(statement));
    }
    let title = statements
        .first()
        .and_then(|first| directive(first, "title"))
        .map_or_else(|| place.title(&file.name), |(_, title)| title.to_owned());
    test(title, script)
}

fn query(file: &CustomFile, statement: &Statement<'_>) -> Result<Test, CustomError> {
    let repetitions = repetitions(file, statement)?;
    let text = with_semicolon(statement);
    let mut script = Script::new();
    for _ in 0..repetitions {
        script.push(&text);
    }
    let mut title = title(statement);
    if repetitions > 1 {
        title = format!("{title} ({repetitions} times)");
    }
    Ok(test(title, script))
}

/// The text after a keyword at the start of a comment, with or without a colon.
fn directive<'a>(statement: &Statement<'a>, word: &str) -> Option<(usize, &'a str)> {
    statement
        .comments
        .iter()
        .rev()
        .find_map(|&(line, comment)| Some((line, after_word(comment, word)?)))
}

fn after_word<'a>(comment: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = comment.split_at_checked(word.len())?;
    let separated = rest.is_empty() || rest.starts_with([':', ' ', '\t']);
    (head.eq_ignore_ascii_case(word) && separated)
        .then(|| rest.trim_start_matches([':', ' ', '\t']).trim_end())
}

fn repetitions(file: &CustomFile, statement: &Statement<'_>) -> Result<u32, CustomError> {
    let Some((line, text)) = directive(statement, "repeat") else {
        return Ok(1);
    };
    match text.parse() {
        Ok(count) if (1..=REPETITIONS_MAX).contains(&count) => Ok(count),
        _ => Err(CustomError::Repeat {
            file: file.name.clone(),
            line,
            text: text.to_owned(),
            most: REPETITIONS_MAX,
        }),
    }
}

fn title(statement: &Statement<'_>) -> String {
    if let Some((_, title)) = directive(statement, "title")
        && !title.is_empty()
    {
        return title.to_owned();
    }
    let comment = statement
        .comments
        .iter()
        .rev()
        .map(|&(_, comment)| comment)
        .find(|comment| !comment.is_empty() && after_word(comment, "repeat").is_none());
    if let Some(comment) = comment {
        return comment.to_owned();
    }
    let words: Vec<&str> = statement.text.split_whitespace().collect();
    let words = words.join(" ");
    match words.char_indices().nth(TITLE_CHARACTERS) {
        Some((end, _)) => format!("{} …", words[..end].trim_end()),
        None => words,
    }
}

/// Minimum and maximum length of the text that is searched for in an engine's files.
const CANARY_BYTES: std::ops::RangeInclusive<usize> = 8..=64;

/// Maximum number of quoted texts that are considered.
const CANARIES_TRIED: usize = 1000;

/// The longest plain quoted text near the beginning of the load, which is probably stored
/// unchanged. Empty if there is none.
fn canary(load: &str) -> String {
    load.split('\'')
        .skip(1)
        .step_by(2)
        .take(CANARIES_TRIED)
        .filter(|text| CANARY_BYTES.contains(&text.len()))
        .filter(|text| {
            text.chars()
                .all(|letter| letter.is_ascii_alphabetic() || letter == ' ')
        })
        .max_by_key(|text| text.len())
        .unwrap_or_default()
        .to_owned()
}
