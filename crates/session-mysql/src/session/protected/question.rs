//! A question of the proxy's own to the server, which the client does not see.

use sql_rewrite::Answer;
use wire_mysql::answer::{self, ErrorPacket};
use wire_mysql::capabilities::Status;
use wire_mysql::column::Column;
use wire_mysql::packet::{Header, PacketError};
use wire_mysql::row::TextRow;
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use crate::refusal::{Reason, Refusal};

/// What the server has answered.
#[derive(Debug)]
pub(super) enum Answered {
    /// Rows, and the number of the character set of the first column.
    Rows(Answer, u16),
    /// An error, by its number.
    Failed(u16),
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Question {
    step: Step,
    /// Of all rows, in bytes.
    size_left: usize,
    columns: usize,
    character_set: u16,
    rows: Answer,
}

impl Question {
    /// A question that has been sent. Its answer may have this many bytes.
    pub(super) fn new(size_max: usize) -> Self {
        Self {
            step: Step::Result,
            size_left: size_max,
            columns: 0,
            character_set: 0,
            rows: Answer::new(),
        }
    }

    /// Takes a payload of the server. None: more follows.
    ///
    /// # Errors
    /// The server says what is no answer.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        capabilities: Capabilities,
        status: &mut Status,
    ) -> Result<Option<Answered>, Refusal> {
        let first = payload.first().copied();
        let need = need(self.step, header, first, capabilities).ok_or(Malformed)?;
        if need == Need::Whole {
            if first == Some(answer::ERR) {
                let code = ErrorPacket::read(payload)?.code;
                return Ok(Some(Answered::Failed(code)));
            }
            return match self.step.read(payload, capabilities, status)? {
                Some(next) => {
                    if let Step::Columns(count) = next {
                        self.columns = usize::try_from(count).map_err(|_| Malformed)?;
                    }
                    self.step = next;
                    Ok(None)
                }
                None => {
                    let rows = std::mem::take(&mut self.rows);
                    Ok(Some(Answered::Rows(rows, self.character_set)))
                }
            };
        }
        match self.step {
            Step::Columns(_) => {
                let column = Column::read(payload)?;
                if self.character_set == 0 {
                    self.character_set = column.character_set;
                }
            }
            Step::Rows => self.row(payload)?,
            _ => return Err(unasked()),
        }
        self.step = self.step.passed(capabilities).ok_or(Malformed)?;
        Ok(None)
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        let size_max = self.size_left;
        let left = size_max.checked_sub(payload.len());
        self.size_left = left.ok_or(PacketError::TooLarge { size_max })?;
        let row = TextRow::read(payload, self.columns)?;
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        self.rows
            .push(row.iter().map(|value| value.map(text)).collect());
        Ok(())
    }
}

fn unasked() -> Refusal {
    Refusal::new(
        Reason::Server,
        "the server says something that it was not asked",
    )
}
