//! A statement that gives columns sealed defaults, for the rows that are there, and the one behind
//! it by which the server forgets these. The client's answer is that of the first.

use std::sync::Arc;

use session_core::plans::TextPlan;
use session_core::{Fault, StatementError};
use sql_plan::Plan;
use sql_rewrite::mysql::ddl::behind;
use sqlstate::SqlState;
use wire_mysql::answer::{self, OkPacket};
use wire_mysql::capabilities::Status;
use wire_mysql::command::{kind, write_text};
use wire_mysql::packet;
use wire_mysql::{Capabilities, Malformed};

use super::errors::{refusal, without_sealed};
use super::modifying::Taken;
use super::{Protected, Reach, Work};
use crate::refusal::Refusal;

/// What the server is told behind the statement of a plan. None: nothing.
pub(super) fn told_behind(plan: &TextPlan) -> Option<String> {
    match &plan.planned[..] {
        [one] => match &one.plan {
            Plan::One(translated, effects) => behind(translated, effects, &plan.loaded.schema),
            _ => None,
        },
        _ => None,
    }
}

/// Such a statement under way.
#[derive(Debug)]
pub(super) struct Altering {
    /// None: it has been sent.
    behind: Option<String>,
    /// The server's answer to the client's statement.
    answer: Vec<u8>,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
}

impl Altering {
    /// Of a statement that has been sent, and what is to be told behind it.
    fn new(behind: String, sequence: u8) -> Self {
        Self {
            behind: Some(behind),
            answer: Vec::new(),
            sequence,
        }
    }

    fn take(
        &mut self,
        payload: &[u8],
        (capabilities, status): (Capabilities, &mut Status),
    ) -> Result<Taken, Refusal> {
        match (payload.first(), self.behind.take()) {
            (Some(&answer::ERR), Some(_)) => Ok(Taken::Answers(without_sealed(payload)?)),
            (Some(&answer::ERR), None) => Ok(Taken::Fails(refusal(&kept()))),
            (Some(&answer::OK), behind) => {
                *status = OkPacket::read(payload, capabilities)?.status;
                let Some(behind) = behind else {
                    return Ok(Taken::Answers(std::mem::take(&mut self.answer)));
                };
                self.answer = payload.to_vec();
                let mut command = Vec::new();
                write_text(kind::QUERY, behind.as_bytes(), &mut command);
                Ok(Taken::Sends(command))
            }
            _ => Err(Malformed.into()),
        }
    }
}

impl Protected {
    /// Waits for the answer to a planned statement that has been sent as a text.
    pub(super) fn await_text(&mut self, plan: Arc<TextPlan>, sequence: u8) {
        match told_behind(&plan) {
            None => self.await_rows((plan, None), sequence),
            Some(behind) => {
                let altering = Altering::new(behind, sequence);
                self.work = Work::Altering(Box::new(altering));
            }
        }
    }

    /// Takes a payload of the server for a statement that gives columns sealed defaults.
    pub(super) fn altered(&mut self, payload: &[u8], reach: &mut Reach<'_>) -> Result<(), Refusal> {
        let Work::Altering(altering) = &mut self.work else {
            return Ok(());
        };
        let mut sequence = altering.sequence;
        let taken = altering.take(payload, (reach.capabilities, &mut *reach.status))?;
        match taken {
            Taken::More => return Ok(()),
            Taken::Sends(command) => {
                self.send(|out| out.extend_from_slice(&command), reach);
                return Ok(());
            }
            Taken::Answers(answer) => {
                packet::write_bytes(&answer, &mut sequence, reach.to_client);
                self.work = Work::Nothing;
            }
            Taken::Fails(refusal) => self.refuse_as(refusal, sequence, reach),
        }
        self.shared().forget_all();
        Ok(())
    }
}

/// Such a statement has to be a text.
pub(super) fn unprepared() -> StatementError {
    let message = "ALTER TABLE that adds a protected column with a default, as a prepared \
                   statement,";
    StatementError::unsupported(message).hint("Send it as a text.")
}

fn kept() -> StatementError {
    let message = "the column is there, and the server has not forgotten its sealed default";
    StatementError::new(Fault::Server, SqlState::CONFIG_FILE_ERROR, message)
        .hint("Remove the default past the proxy: ALTER TABLE … ALTER COLUMN … DROP DEFAULT.")
}
