//! The answer to `SHOW WARNINGS`: messages of the server quote what is stored, which may be sealed.

use std::sync::Arc;

use session_core::plans::TextPlan;
use wire_mysql::answer::{self, ErrorPacket};
use wire_mysql::capabilities::Status;
use wire_mysql::packet::{self, Header};
use wire_mysql::row::{TextRow, write_text};
use wire_mysql::{Capabilities, Malformed};
use zeroize::Zeroizing;

use super::super::answers::{Need, Step, need};
use super::settings::Settings;
use super::statements::Bindings;
use super::{duplicates, errors};
use crate::refusal::Refusal;

/// Level, code and message.
const WIDTH: usize = 3;

/// A statement of which the server has warnings.
#[derive(Debug)]
pub(super) struct WarnedOf {
    pub(super) plan: Arc<TextPlan>,
    /// The values of a prepared statement, for each time that it was executed.
    pub(super) bindings: Option<Vec<Bindings>>,
}

/// What the client gets in the place of what the server has said: it has not executed the
/// statement. The definitions of columns are the server's.
#[derive(Debug)]
pub(super) enum Instead {
    /// Rows of `SHOW WARNINGS`.
    Rows(Vec<Zeroizing<Vec<u8>>>),
    /// Numbers of them.
    Counts(Vec<usize>),
}

/// An answer that is due.
#[derive(Debug)]
pub(super) struct Warned {
    /// None: it is not known, or had no sealed values.
    of: Option<Arc<WarnedOf>>,
    /// None: the server's rows are right.
    instead: Option<Instead>,
    step: Step,
    width: usize,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
}

impl Warned {
    pub(super) fn new(of: Option<Arc<WarnedOf>>, sequence: u8) -> Self {
        Self {
            of,
            instead: None,
            step: Step::Result,
            width: 0,
            sequence,
        }
    }

    /// The same with other rows than the server's.
    pub(super) fn with(instead: Instead, sequence: u8) -> Self {
        Self {
            instead: Some(instead),
            ..Self::new(None, sequence)
        }
    }

    /// Takes a payload of the server, and writes what the client gets. Gives whether it was the
    /// last.
    ///
    /// # Errors
    /// The server says what is no answer.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        (capabilities, status, settings): (Capabilities, &mut Status, &Option<Settings>),
        out: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        let first = payload.first().copied();
        let need = need(self.step, header, first, capabilities).ok_or(Malformed)?;
        let is_row = need == Need::Nothing && self.step == Step::Rows;
        if self.step == Step::Rows
            && !is_row
            && let Some(Instead::Rows(rows)) = &mut self.instead
        {
            for row in rows.drain(..) {
                packet::write_bytes(&row, &mut self.sequence, out);
            }
        }
        match (is_row && self.width == WIDTH, &self.instead) {
            (_, Some(Instead::Rows(_))) if is_row => {}
            (_, Some(Instead::Counts(counts))) if is_row => {
                packet::write(&mut self.sequence, out, |out| {
                    counts
                        .iter()
                        .for_each(|count| write_text(Some(count.to_string().as_bytes()), out));
                });
            }
            (true, _) => {
                let row = TextRow::read(payload, WIDTH)?;
                let mut values: Vec<Option<Vec<u8>>> =
                    row.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
                self.without_sealed(&mut values, settings.as_ref());
                packet::write(&mut self.sequence, out, |out| {
                    values
                        .iter()
                        .for_each(|value| write_text(value.as_deref(), out));
                });
            }
            (false, _) => packet::write_bytes(payload, &mut self.sequence, out),
        }
        let next = match need {
            Need::Whole if first == Some(answer::ERR) => None,
            Need::Whole => self.step.read(payload, capabilities, status)?,
            Need::Nothing => self.step.passed(capabilities),
        };
        if let Some(Step::Columns(count)) = next
            && self.step == Step::Result
        {
            self.width = usize::try_from(count).map_err(|_| Malformed)?;
        }
        match next {
            None => Ok(true),
            Some(step) => {
                self.step = step;
                Ok(false)
            }
        }
    }

    /// Takes sealed values out of the message of a row. That a key is there twice is said with the
    /// client's values, if they are known.
    fn without_sealed(&self, values: &mut [Option<Vec<u8>>], settings: Option<&Settings>) {
        let [_, Some(code), Some(message)] = values else {
            return;
        };
        let code = std::str::from_utf8(code)
            .ok()
            .and_then(|code| code.parse().ok());
        let error = ErrorPacket {
            code: code.unwrap_or_default(),
            state: None,
            message,
        };
        if errors::may_be_sealed(message) {
            let of = self.of.as_deref().zip(settings);
            let said = of.and_then(|(of, settings)| {
                duplicates::said(&error, (&of.plan, of.bindings.as_deref()), settings)
            });
            *message = said.unwrap_or_else(|| errors::without_values(&error));
        }
    }
}
