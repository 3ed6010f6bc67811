//! A connection to a database in a page: the messages to the page, and its replies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use browser_session::AskError;
use lab::answer::{Answers, Value};
use lab::engine::{Connection, EngineError, TestInput};
use lab::measure::{Meter, Sample};
use serde::{Deserialize, Serialize};

use super::Page;

/// Timeout for the statements of one test: some kinds of storage need minutes for the larger sizes.
const RUN_PATIENCE: Duration = Duration::from_secs(3600);

/// Timeout for anything else.
const PATIENCE: Duration = Duration::from_secs(300);

/// Where a driver runs.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Thread {
    /// In the page itself, as required for local storage and WebSQL.
    Page,
    /// In a worker, where files can be opened for synchronous access.
    Worker,
}

/// A request to a page.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(super) enum Work<'a> {
    Open {
        driver: &'a str,
        options: serde_json::Value,
    },
    Take {
        #[serde(skip_serializing_if = "Option::is_none")]
        statements: Option<&'a [&'a str]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        script: Option<&'a str>,
    },
    Run,
    Rows,
    Settings,
    Close,
}

/// A request, and the thread to run it on.
#[derive(Serialize)]
pub(super) struct Addressed<'a> {
    thread: Thread,
    #[serde(flatten)]
    work: &'a Work<'a>,
}

impl Work<'_> {
    pub(super) fn with_thread(&self, thread: Thread) -> Addressed<'_> {
        Addressed { thread, work: self }
    }
}

/// A reply of a page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reply<T> {
    Done(T),
    Error(Refused),
}

/// Why a page did not do a request.
#[derive(Debug, Deserialize, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub(super) struct Refused {
    message: String,
    /// The statement's number, from 1.
    number: Option<usize>,
    #[serde(default)]
    not_possible: bool,
    #[serde(default)]
    ends: bool,
}

/// Why a page failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("the browser was lost; it said: {said}")]
    Silent { source: AskError, said: String },
    #[error(transparent)]
    Refused(Refused),
    #[error("the page and this program do not understand each other")]
    Json(#[from] serde_json::Error),
}

/// Duration of a run by the page's clock.
#[derive(Deserialize)]
struct Ran {
    ns: u64,
}

/// Rows of statements, with values as the page encodes them.
type Rows = Vec<Vec<Vec<Written>>>;

/// A value in JSON.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Tagged(Tagged),
}

/// A value that JSON needs a tag for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tagged {
    /// An integer beyond the range of JavaScript's numbers.
    I(String),
    /// A floating-point number.
    R(String),
    /// Bytes, in hexadecimal.
    B(String),
}

/// A value in the reply that cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[error("the page wrote a value that is none: {0}")]
struct NoValue(String);

/// A connection, which holds the page.
pub(super) struct BrowserConnection {
    page: Arc<Mutex<Page>>,
}

impl BrowserConnection {
    pub(super) fn new(page: Arc<Mutex<Page>>) -> Self {
        Self { page }
    }

    fn page(&self) -> MutexGuard<'_, Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement and ignores its rows.
    pub(super) fn execute(&mut self, statement: &str) -> Result<(), PageError> {
        let work = Work::Take {
            statements: Some(&[statement]),
            script: None,
        };
        let mut page = self.page();
        page.ask::<()>(&work, PATIENCE)?;
        let ran: Result<Ran, PageError> = page.ask(&Work::Run, PATIENCE);
        match ran {
            // A statement that an engine cannot do by design is not needed to create a database.
            Err(PageError::Refused(refused)) if refused.not_possible => Ok(()),
            ran => ran.map(drop),
        }
    }

    pub(super) fn end(&mut self) -> Result<(), PageError> {
        let mut page = self.page();
        page.taken = false;
        page.ask(&Work::Close, PATIENCE)
    }

    fn fetch(&self, answers: &mut Answers) -> Result<(), EngineError> {
        let rows: Result<Rows, PageError> = self.page().ask(&Work::Rows, PATIENCE);
        let rows = rows.map_err(|error| EngineError::Open(error.into()))?;
        for of_statement in rows {
            for row in of_statement {
                for written in row {
                    let value = written.value();
                    answers.push(value.map_err(|error| EngineError::Open(error.into()))?);
                }
                answers.end_row();
            }
            answers.end_statement();
        }
        Ok(())
    }
}

/// Converts a page's error to the lab's. `text` returns the text of a statement by its index.
fn failure<'a>(error: PageError, text: impl Fn(usize) -> Option<&'a str>) -> EngineError {
    let (number, source) = match error {
        PageError::Refused(refused) if refused.not_possible => {
            return EngineError::NotPossible {
                why: refused.message,
                ends: refused.ends,
            };
        }
        PageError::Refused(refused) => (refused.number.unwrap_or(1), refused.into()),
        lost => (1, lost.into()),
    };
    let statement = text(number).unwrap_or_default();
    EngineError::of_statement(None, number, statement, source)
}

impl Connection for BrowserConnection {
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError> {
        let input = TestInput::Statements(statements);
        self.measured(input, answers, &Meter::start).map(drop)
    }

    fn measured(
        &mut self,
        input: TestInput<'_>,
        answers: &mut Answers,
        start: &dyn Fn() -> Meter,
    ) -> Result<Sample, EngineError> {
        let takes_texts = self.page().member.takes_texts;
        let (statements, script) = match input {
            TestInput::Script { text, .. } if takes_texts => (None, Some(text)),
            TestInput::Statements(statements) | TestInput::Script { statements, .. } => {
                (Some(statements), None)
            }
        };
        let text = |number: usize| statements?.get(number.checked_sub(1)?).copied();
        let failed = |error| failure(error, text);
        let work = Work::Take { statements, script };
        self.page().ask::<()>(&work, PATIENCE).map_err(failed)?;
        let meter = start();
        let ran = self.page().ask(&Work::Run, RUN_PATIENCE);
        let sample = meter.stop();
        let Ran { ns } = ran.map_err(failed)?;
        self.fetch(answers)?;
        Ok(sample.by_own_clock(ns))
    }

    fn takes_scripts(&self) -> bool {
        true
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        let settings = self.page().ask(&Work::Settings, PATIENCE);
        settings.map_err(|error| EngineError::Settings(error.into()))
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        self.end().map_err(|error| EngineError::Close(error.into()))
    }
}

impl Written {
    fn value(self) -> Result<Value, NoValue> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(number),
            Self::Real(number) => Value::Real(number),
            Self::Text(text) => Value::Text(text),
            Self::Tagged(Tagged::I(text)) => {
                Value::Integer(text.parse().map_err(|_| NoValue(text))?)
            }
            Self::Tagged(Tagged::R(text)) => Value::Real(real(&text).ok_or(NoValue(text))?),
            Self::Tagged(Tagged::B(text)) => Value::Blob(bytes(&text).ok_or(NoValue(text))?),
        })
    }
}

/// Parses a number in JavaScript's notation.
fn real(text: &str) -> Option<f64> {
    match text {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<Value> {
        let written: Vec<Written> = serde_json::from_str(text).unwrap();
        written
            .into_iter()
            .map(|one| one.value().unwrap())
            .collect()
    }

    #[test]
    fn values_keep_their_types() {
        let text = r#"[null, 7, {"i":"9223372036854775807"}, {"r":"25"}, {"r":"1e-7"},
            {"r":"-Infinity"}, "7", "", {"b":"00ff"}, {"b":""}]"#;
        assert_eq!(
            values(text),
            [
                Value::Null,
                Value::Integer(7),
                Value::Integer(i64::MAX),
                Value::Real(25.0),
                Value::Real(1e-7),
                Value::Real(f64::NEG_INFINITY),
                Value::Text("7".into()),
                Value::Text(String::new()),
                Value::Blob(vec![0, 255]),
                Value::Blob(vec![]),
            ]
        );
        for wrong in [
            r#"{"b":"0"}"#,
            r#"{"b":"0g"}"#,
            r#"{"i":"1.5"}"#,
            r#"{"r":"x"}"#,
        ] {
            let written: Written = serde_json::from_str(wrong).unwrap();
            assert!(written.value().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_impossible_statement_in_a_page_is_no_failure() {
        let refused = |text: &str| match serde_json::from_str::<Reply<()>>(text).unwrap() {
            Reply::Error(refused) => PageError::Refused(refused),
            Reply::Done(()) => panic!("{text}"),
        };
        let statement = |number| ["one", "two"].get(number - 1_usize).copied();
        let full = r#"{"error":{"message":"full","number":2,"notPossible":true,"ends":true}}"#;
        let error = failure(refused(full), statement);
        assert!(
            matches!(&error, EngineError::NotPossible { why, ends: true } if why == "full"),
            "{error:?}"
        );
        let wrong = r#"{"error":{"message":"no such table","number":2}}"#;
        let error = failure(refused(wrong), statement);
        assert!(
            matches!(&error, EngineError::Statement { number: 2, statement, .. }
                if statement == "two"),
            "{error:?}"
        );
    }
}
