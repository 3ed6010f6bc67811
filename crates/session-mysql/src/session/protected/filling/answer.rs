//! The finisher's answer, as the client gets it.

use session_core::StatementError;
use wire_mysql::answer::{EOF, ERR, EofPacket, ErrorPacket, OkPacket, Prepared as Numbered};
use wire_mysql::capabilities::Status;
use wire_mysql::packet;
use wire_mysql::row::{TextRow, write_text};
use wire_mysql::{Capabilities, Malformed};
use zeroize::Zeroizing;

use super::super::errors::refusal;
use super::super::statements::{Kind, Prepared, tables_of};
use super::{Asked, Filling};
use crate::finisher::{FinisherAnswer, FinisherDefinitions, FinisherRows};
use crate::refusal::Refusal;

/// What is left of an answer that was written for the client.
#[derive(Debug, Default)]
pub(in crate::session::protected) struct Left {
    /// A statement that is prepared now, by its number.
    pub(in crate::session::protected) prepared: Option<(u32, Prepared)>,
    /// Rows of `SHOW WARNINGS`.
    pub(in crate::session::protected) warnings: Vec<Zeroizing<Vec<u8>>>,
}

/// `ER_WARN_ALLOWED_PACKET_OVERFLOWED`
const TOO_LONG: u16 = 1301;

fn too_long() -> StatementError {
    StatementError::limit(
        "a function makes a value of more than 16 MiB in a statement that the finisher evaluates",
    )
    .hint("Make it shorter, or compute it in the program.")
}

/// Refuses an answer with a value that was too long for the finisher: it may not be for the server.
///
/// # Errors
/// There is one.
pub(super) fn check_lengths(rows: &FinisherRows) -> Result<(), StatementError> {
    let code = |row: &Zeroizing<Vec<u8>>| {
        let row = TextRow::read(row, 3).ok()?;
        let code = row.iter().nth(1)??.to_vec();
        String::from_utf8(code).ok()?.parse::<u16>().ok()
    };
    match rows.warnings.iter().any(|row| code(row) == Some(TOO_LONG)) {
        true => Err(too_long()),
        false => Ok(()),
    }
}

/// The row of `SHOW WARNINGS` behind an error. None: it is no error.
pub(in crate::session::protected) fn warning_of(payload: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let error = match payload.first() {
        Some(&ERR) => ErrorPacket::read(payload),
        _ => return Vec::new(),
    };
    let Ok(error) = error else {
        return Vec::new();
    };
    let mut row = Zeroizing::new(Vec::new());
    for part in [
        &b"Error"[..],
        error.code.to_string().as_bytes(),
        error.message,
    ] {
        write_text(Some(part), &mut row);
    }
    vec![row]
}

impl Filling {
    /// Writes the client's answer.
    ///
    /// # Errors
    /// The client is refused, and nothing is written.
    pub(in crate::session::protected) fn answer(
        mut self,
        answer: FinisherAnswer,
        (capabilities, status): (Capabilities, Status),
        out: &mut Vec<u8>,
    ) -> Result<Left, Refusal> {
        match (answer, &self.asked) {
            (FinisherAnswer::Failed(error), _) => Err(refusal(&error)),
            (FinisherAnswer::Refused(error), _) => {
                let error = self.refused(&error)??;
                packet::write_bytes(&error, &mut self.sequence, out);
                Ok(Left {
                    prepared: None,
                    warnings: warning_of(&error),
                })
            }
            (FinisherAnswer::Described(own), Asked::Prepare(_)) => {
                self.described(&own, (capabilities, status), out)
            }
            (FinisherAnswer::Rows(rows), Asked::Text | Asked::Execute(_)) => {
                self.rows(rows, (capabilities, status), out)
            }
            _ => Err(refusal(&StatementError::defect(
                "the finisher answers what it was not asked",
            ))),
        }
    }

    /// The server itself would say the same of the statement.
    pub(super) fn refused(&self, payload: &[u8]) -> Result<Result<Vec<u8>, Refusal>, Malformed> {
        /// `ER_TABLEACCESS_DENIED_ERROR`, `ER_NO_SUCH_TABLE`
        const NO_TABLE: [u16; 2] = [1142, 1146];
        /// `ER_CANT_REOPEN_TABLE`: it is temporary there.
        const TWICE: u16 = 1137;
        let error = ErrorPacket::read(payload)?;
        if error.code == TOO_LONG {
            return Ok(Err(refusal(&too_long())));
        }
        if error.code == TWICE {
            let message = match self.writing {
                Some(_) => "a write that the finisher evaluates names its table twice",
                None => {
                    "a WITH query over tables that is read twice, in a statement that the finisher \
                     evaluates"
                }
            };
            return Ok(Err(refusal(&StatementError::unsupported(message))));
        }
        if NO_TABLE.contains(&error.code) {
            let message = "a statement that the finisher evaluates names a table that is not known \
                           to the proxy, or a view";
            return Ok(Err(refusal(&StatementError::unsupported(message))));
        }
        Ok(Ok(payload.to_vec()))
    }

    fn rows(
        &mut self,
        rows: FinisherRows,
        (capabilities, status): (Capabilities, Status),
        out: &mut Vec<u8>,
    ) -> Result<Left, Refusal> {
        check_lengths(&rows).map_err(|error| refusal(&error))?;
        let sequence = &mut self.sequence;
        let has_eof = !capabilities.has(Capabilities::DEPRECATE_EOF);
        let count = u16::try_from(rows.columns.len()).map_err(|_| Malformed)?;
        packet::write(sequence, out, |out| match u8::try_from(count) {
            Ok(count @ ..=250) => out.push(count),
            _ => {
                out.push(0xfc);
                out.extend_from_slice(&count.to_le_bytes());
            }
        });
        for column in &rows.columns {
            let own = self.text.definition(column);
            packet::write_bytes(own.as_ref().unwrap_or(column), sequence, out);
        }
        let eof = |warnings| EofPacket { warnings, status };
        if has_eof {
            packet::write(sequence, out, |out| eof(0).write(out));
        }
        for row in &rows.rows {
            packet::write_bytes(row, sequence, out);
        }
        let warnings = rows.warning_count;
        packet::write(sequence, out, |out| match has_eof {
            true => eof(warnings).write(out),
            false => {
                let mut end = OkPacket::new(0, status);
                end.warnings = warnings;
                end.write(EOF, capabilities, out);
            }
        });
        Ok(Left {
            prepared: None,
            warnings: rows.warnings,
        })
    }

    fn described(
        &mut self,
        own: &FinisherDefinitions,
        (capabilities, status): (Capabilities, Status),
        out: &mut Vec<u8>,
    ) -> Result<Left, Refusal> {
        let query = tables_of(&self.plan).ok_or(Malformed)?;
        if own.parameters.len() != query.parameters {
            return Err(refusal(&StatementError::defect(
                "the finisher counts other parameters",
            )));
        }
        let size = |definitions: &[Vec<u8>]| u16::try_from(definitions.len());
        let shown = Numbered {
            statement: self.number,
            columns: size(&own.columns).map_err(|_| Malformed)?,
            parameters: size(&own.parameters).map_err(|_| Malformed)?,
            warnings: 0,
        };
        let sequence = &mut self.sequence;
        packet::write(sequence, out, |out| shown.write(out));
        for definitions in [&own.parameters, &own.columns] {
            for one in definitions {
                let own = self.text.definition(one);
                packet::write_bytes(own.as_ref().unwrap_or(one), sequence, out);
            }
            if !definitions.is_empty() && !capabilities.has(Capabilities::DEPRECATE_EOF) {
                let eof = EofPacket {
                    warnings: 0,
                    status,
                };
                packet::write(sequence, out, |out| eof.write(out));
            }
        }
        let kind = Kind::Filled(self.plan.clone());
        let mut prepared = Prepared::new(&self.text.own, kind, self.plan.loaded.version);
        if let Asked::Prepare(under) = &mut self.asked {
            prepared.read_under = under.take();
        }
        Ok(Left {
            prepared: Some((self.number, prepared)),
            warnings: Vec::new(),
        })
    }
}
