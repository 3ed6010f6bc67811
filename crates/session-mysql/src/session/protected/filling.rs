//! Statements that the finisher evaluates: the rows of their tables are fetched in one statement,
//! and opened; the finisher gets tables of them and the client's own text; the client gets its
//! answer.

mod answer;
mod computed;
mod followed;
mod inserting;
mod moment;
mod question;
mod texts;
mod timing;
mod writing;
mod zone;

use std::sync::Arc;

use session_core::StatementError;
use session_core::plans::TextPlan;
use wire_mysql::answer::{ERR, Prepared as Numbered};
use wire_mysql::capabilities::Status;
use wire_mysql::command::{kind, write_text};
use wire_mysql::packet::Header;
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use super::errors::{refusal, without_sealed};
use super::fetching::{Fetched, Fetching};
use super::settings::Settings;
use super::statements::{Bindings, ReadUnder, tables_of};
use crate::finisher::{FinisherKind, FinisherRequest, FinisherRows};
use crate::refusal::Refusal;
pub(super) use answer::warning_of;
use texts::Texts;
use writing::{Undone, Writing};

/// What the client has sent.
#[derive(Debug)]
pub(super) enum Asked {
    /// A text.
    Text,
    /// A text to be prepared, and what it means, once that is known.
    Prepare(Option<Arc<ReadUnder>>),
    /// Values for a prepared text.
    Execute(Bindings),
}

/// How far it is.
#[derive(Debug)]
enum Stage {
    /// A transaction or savepoint begins; then this text is sent.
    Beginning(String, Box<Fetching>),
    /// The rows come.
    Fetching(Box<Fetching>),
    /// The server prepares a statement that stands for the client's, so that each has a number of
    /// its own. Then the finisher is asked this.
    Numbering(Step, Box<FinisherRequest>),
    /// The finisher is asked.
    Waiting,
    /// The server tells whether the client has set the session's time.
    Asking(Box<Fetching>),
    /// The session's time is set to the moment of the statement.
    Setting,
    /// A row is written.
    Writing,
    /// The server tells of what it has inserted.
    Warned(Box<Fetching>),
    /// All rows are written, and the session's time goes on.
    GoingOn,
    /// The transaction or savepoint ends.
    Ending,
    /// What was done is undone.
    Undoing(Undone),
}

/// A query under way.
#[derive(Debug)]
pub(super) struct Filling {
    plan: Arc<TextPlan>,
    text: Texts,
    asked: Asked,
    kind: FinisherKind,
    database: Option<String>,
    size_max: usize,
    stage: Stage,
    /// None: nothing is written.
    writing: Option<Writing>,
    /// The server's number of a prepared statement.
    number: u32,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
    /// A value did not open.
    pub(super) is_damaged: bool,
    /// How many rows were fetched.
    pub(super) fetched: usize,
}

/// What a payload of the server leads to.
pub(super) enum Taken {
    /// More follows.
    More,
    /// The server gets this.
    Sends(Vec<u8>),
    /// The finisher is asked this.
    Asks(Box<FinisherRequest>),
    /// The client gets this payload, and no more.
    Answers(Vec<u8>),
    /// The client gets these rows.
    Returns(Box<FinisherRows>),
    /// The client is refused.
    Fails(Refusal),
}

impl Filling {
    /// Begins. Gives the text that the server gets.
    ///
    /// # Errors
    /// A value cannot be sealed.
    pub(super) fn begin(
        (plan, text, asked): (Arc<TextPlan>, &[u8], Asked),
        settings: &Settings,
        (rows_max, size_max, status): (usize, usize, Status),
        sequence: u8,
    ) -> Result<(Self, String), StatementError> {
        let query = tables_of(&plan).ok_or_else(StatementError::other_plan)?;
        let (own, _) = settings
            .own
            .clone()
            .map_err(|error| StatementError::unsupported(error.to_string()))?;
        let fetch = question::fetch(query, &plan.loaded, &asked, settings)?;
        // The row of the session's settings is none of the client's.
        let fetching = Box::new(Fetching::new(rows_max.saturating_add(1), size_max));
        // A text that is only prepared writes nothing yet.
        let is_run = !matches!(asked, Asked::Prepare(_));
        let writing = is_run.then(|| Writing::of(query, status)).flatten();
        let (stage, text_sent) = match &writing {
            Some(writing) if !writing.is_single => (
                Stage::Beginning(fetch, fetching),
                writing.begin().to_owned(),
            ),
            _ => (Stage::Fetching(fetching), fetch),
        };
        let filling = Self {
            text: Texts::of(text, own, settings, query)?,
            asked,
            kind: FinisherKind {
                series: own.series(),
                folds_tables: own.folds_tables,
            },
            database: settings.database.clone(),
            size_max,
            stage,
            writing,
            number: 0,
            sequence,
            is_damaged: false,
            fetched: 0,
            plan,
        };
        Ok((filling, text_sent))
    }

    /// Takes a payload of the server.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        (capabilities, status): (Capabilities, &mut Status),
    ) -> Result<Taken, Refusal> {
        match &mut self.stage {
            Stage::Waiting => Err(Malformed.into()),
            Stage::Beginning(..)
            | Stage::Setting
            | Stage::Writing
            | Stage::GoingOn
            | Stage::Ending
            | Stage::Undoing(_) => self.word(payload, (capabilities, status)),
            Stage::Fetching(fetching) | Stage::Asking(fetching) | Stage::Warned(fetching) => {
                match fetching.take((header, payload), capabilities, status)? {
                    Fetched::More => Ok(Taken::More),
                    Fetched::Failed(error) => {
                        let error = without_sealed(&error)?;
                        Ok(self.fail(Undone::Payload(error)))
                    }
                    Fetched::Done => self.read((capabilities, *status)),
                }
            }
            Stage::Numbering(step, _) => {
                let first = payload.first().copied();
                let need = need(*step, header, first, capabilities).ok_or(Malformed)?;
                let next = match need {
                    Need::Whole if first == Some(ERR) => {
                        return Ok(Taken::Answers(without_sealed(payload)?));
                    }
                    Need::Whole => {
                        if *step == Step::Prepared {
                            self.number = Numbered::read(payload)?.statement;
                        }
                        // It has no rows whose end says something of the session.
                        step.read(payload, capabilities, &mut Status(0))?
                    }
                    Need::Nothing => step.passed(capabilities),
                };
                match next {
                    Some(next) => {
                        *step = next;
                        Ok(Taken::More)
                    }
                    None => {
                        let stage = std::mem::replace(&mut self.stage, Stage::Waiting);
                        match stage {
                            Stage::Numbering(_, request) => Ok(Taken::Asks(request)),
                            _ => Err(Malformed.into()),
                        }
                    }
                }
            }
        }
    }

    /// All rows of an answer are there.
    fn read(&mut self, of: (Capabilities, Status)) -> Result<Taken, Refusal> {
        match self.stage {
            Stage::Asking(_) => self.told_moment(),
            Stage::Warned(_) => self.warned(of),
            _ => self.fetched(),
        }
    }

    /// The number of the server's statement that stands for the one that is prepared.
    pub(super) fn stand_in(&self) -> Option<u32> {
        let prepares = matches!(self.asked, Asked::Prepare(_));
        Some(self.number).filter(|number| prepares && *number != 0)
    }

    /// All rows are there.
    fn fetched(&mut self) -> Result<Taken, Refusal> {
        let Stage::Fetching(mut fetching) = std::mem::replace(&mut self.stage, Stage::Waiting)
        else {
            return Err(Malformed.into());
        };
        self.fetched = fetching.rows.len().saturating_sub(1);
        match self.request(&mut fetching) {
            Ok(request) if matches!(self.asked, Asked::Prepare(_)) => {
                self.stage = Stage::Numbering(Step::Prepared, Box::new(request));
                let mut command = Vec::new();
                write_text(kind::STMT_PREPARE, b"SELECT 1", &mut command);
                Ok(Taken::Sends(command))
            }
            Ok(request) => Ok(Taken::Asks(Box::new(request))),
            Err(error) if error.ends_session => {
                self.is_damaged = true;
                Err(refusal(&error))
            }
            Err(error) => Ok(self.fail(Undone::Refusal(refusal(&error)))),
        }
    }
}
