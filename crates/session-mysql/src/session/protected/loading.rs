//! `LOAD DATA LOCAL`: the server asks for a file of the client, whose bytes go through the proxy.
//! For a table with protected columns the proxy reads rows, seals their values, and sends rows in a
//! form of its own.
//!
//! Invariants:
//! 1. A server gets a file only if the statement names it, and only once for a statement.
//! 2. No byte of a file for a protected table is sent before it is known to which field it belongs.
//! 3. What does not fit makes the statement fail as a whole, once the client has sent its file.

use std::sync::Arc;

use semantics_mysql::Given;
use session_core::{Loaded, StatementError};
use sql_rewrite::mysql::load::{self, Load};
use sqlstate::SqlState;
use wire_mysql::answer::{OkPacket, Start};
use wire_mysql::capabilities::Status;
use wire_mysql::packet::{self, HEADER_SIZE, Header};
use wire_mysql::{Capabilities, Malformed};

use super::errors::{refusal, without_sealed};
use super::fill;
use super::settings::Letters;
use crate::refusal::{Reason, Refusal};

mod rows;

use rows::{Reader, Row, write_field};

/// A packet for the server has about so many bytes.
const PACKET_SIZE: usize = 32 << 10;

/// A file on its way.
#[derive(Debug)]
pub(super) struct Loading {
    load: Box<Load>,
    loaded: Arc<Loaded>,
    letters: Letters,
    step: Step,
    /// The number of the client's next packet, or of the packet with which the answer begins.
    pub(super) sequence: u8,
    piece: Piece,
    /// Bytes of the file that are no whole row yet.
    held: Vec<u8>,
    /// The rows that are held are looked at once there are so many bytes.
    looked_at: usize,
    size_max: usize,
    place: Place,
    /// Why the statement fails.
    failed: Option<StatementError>,
    /// What the server has said before the file was there.
    early: Option<Vec<u8>>,
}

/// The client's packet.
#[derive(Debug, Default)]
struct Piece {
    /// What is left of it.
    left: usize,
    /// The payload goes on in the next one.
    goes_on: bool,
}

/// Where the reader is in the file.
#[derive(Debug)]
struct Place {
    /// Lines that are still to be left out.
    skipped_lines: u64,
    row_number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The server is to ask for the file.
    Asked,
    /// The client sends it.
    Reading,
    /// The server is to say what has become of it.
    Answering,
}

/// What is to be done behind bytes.
#[derive(Debug)]
pub(super) enum Taken {
    /// More follows.
    More,
    /// The answer of the client.
    Answers(Vec<u8>),
    /// An error in its place.
    Fails(Refusal),
}

impl Loading {
    /// Of a statement that is sent. A row may have so many bytes.
    pub(super) fn new(
        (load, loaded): (Box<Load>, Arc<Loaded>),
        letters: Letters,
        size_max: usize,
        sequence: u8,
    ) -> Self {
        let skipped_lines = load.rows.as_ref().map_or(0, |rows| rows.form.skipped_lines);
        Self {
            load,
            loaded,
            letters,
            step: Step::Asked,
            sequence,
            piece: Piece::default(),
            held: Vec::new(),
            looked_at: 0,
            size_max,
            place: Place {
                skipped_lines,
                row_number: 0,
            },
            failed: None,
            early: None,
        }
    }

    /// Whether the client sends its file.
    pub(super) fn is_reading(&self) -> bool {
        self.step == Step::Reading
    }

    /// Takes a payload of the server.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        payload: &[u8],
        (capabilities, status): (Capabilities, &mut Status),
        to_client: &mut Vec<u8>,
    ) -> Result<Taken, Refusal> {
        match (self.step, Start::read(payload)?) {
            (Step::Asked, Start::LocalFile(name)) if name == self.load.file.as_bytes() => {
                packet::write_bytes(payload, &mut self.sequence, to_client);
                self.step = Step::Reading;
                Ok(Taken::More)
            }
            (Step::Reading, Start::Error) => {
                self.early = Some(payload.to_vec());
                Ok(Taken::More)
            }
            (Step::Asked | Step::Answering, Start::Error) => Ok(self.fails(payload)?),
            (Step::Answering, Start::Ok) if self.failed.is_none() => {
                *status = OkPacket::read(payload, capabilities)?.status;
                match status.has(Status::MORE_RESULTS) {
                    false => Ok(Taken::Answers(payload.to_vec())),
                    true => Err(Malformed.into()),
                }
            }
            (_, Start::LocalFile(_)) => Err(Refusal::new(
                Reason::Server,
                "the server asks for another file of the client than the statement names",
            )),
            (_, Start::Ok) => Err(Refusal::new(
                Reason::Server,
                "the server has taken rows of a file of which one does not fit",
            )),
            _ => Err(Malformed.into()),
        }
    }

    /// The error of the statement: the proxy's own, or the server's.
    fn fails(&mut self, payload: &[u8]) -> Result<Taken, Malformed> {
        Ok(match self.failed.take() {
            Some(error) => Taken::Fails(refusal(&error)),
            None => Taken::Answers(without_sealed(payload)?),
        })
    }

    /// Takes bytes of the client. Gives how many they were, and what is to be done.
    ///
    /// # Errors
    /// They are no packets.
    pub(super) fn take_file(
        &mut self,
        bytes: &[u8],
        (sequence, to_server): (&mut u8, &mut Vec<u8>),
    ) -> Result<(usize, Taken), Refusal> {
        if self.piece.left == 0 {
            let Some(header) = Header::read(bytes) else {
                return Ok((0, Taken::More));
            };
            super::check_sequence(header, self.sequence)?;
            self.sequence = self.sequence.wrapping_add(1);
            let ends = header.length == 0 && !self.piece.goes_on;
            (self.piece.left, self.piece.goes_on) = (header.length, header.goes_on());
            if ends {
                self.rows(true, (sequence, to_server));
                packet::write_bytes(&[], sequence, to_server);
                self.step = Step::Answering;
                let taken = match self.early.take() {
                    Some(payload) => self.fails(&payload)?,
                    None => Taken::More,
                };
                return Ok((HEADER_SIZE, taken));
            }
            return Ok((HEADER_SIZE, Taken::More));
        }
        if bytes.is_empty() {
            // An empty packet for the server would be the end of the file.
            return Ok((0, Taken::More));
        }
        let size = self.piece.left.min(bytes.len());
        self.piece.left -= size;
        if self.load.rows.is_none() {
            packet::write_bytes(&bytes[..size], sequence, to_server);
        } else if self.failed.is_none() {
            self.held.extend_from_slice(&bytes[..size]);
            if self.held.len() >= self.looked_at {
                self.rows(false, (sequence, to_server));
            }
        }
        Ok((size, Taken::More))
    }

    /// Sends the rows that are there.
    fn rows(&mut self, is_all: bool, (sequence, to_server): (&mut u8, &mut Vec<u8>)) {
        if self.failed.is_some() {
            return;
        }
        let Some(rows) = self.load.rows.take() else {
            return;
        };
        self.rows_of(&rows, is_all, (sequence, to_server));
        self.load.rows = Some(rows);
    }

    fn rows_of(
        &mut self,
        rows: &load::Rows,
        is_all: bool,
        (sequence, to_server): (&mut u8, &mut Vec<u8>),
    ) {
        let held = std::mem::take(&mut self.held);
        let mut reader = Reader::new(&rows.form, &held, is_all);
        let (mut at, mut out) = (0, Vec::new());
        let send = |out: &mut Vec<u8>, sequence: &mut u8, to_server: &mut Vec<u8>| {
            // A server takes no packet above `max_allowed_packet`, however long a row is.
            for piece in out.chunks(PACKET_SIZE) {
                packet::write_bytes(piece, sequence, to_server);
            }
            out.clear();
        };
        loop {
            if self.place.skipped_lines > 0 {
                if reader.skip_line().is_err() || (is_all && reader.at == held.len()) {
                    break;
                }
                self.place.skipped_lines -= 1;
                let skipped = self.check_letters(&held[at..reader.at]);
                at = reader.at;
                if let Err(error) = skipped {
                    self.fail(error, &rows.fields, &mut out);
                    break;
                }
                continue;
            }
            let Ok(Some(row)) = reader.row(rows.fields.len()) else {
                break;
            };
            self.place.row_number += 1;
            let known = self.check_letters(&held[at..reader.at]);
            at = reader.at;
            let written = known.and_then(|()| self.write(&row, &rows.fields, &mut out));
            if let Err(error) = written {
                self.fail(error, &rows.fields, &mut out);
                break;
            }
            if out.len() >= PACKET_SIZE {
                send(&mut out, sequence, to_server);
            }
        }
        if self.failed.is_none() && held.len() - at > self.size_max {
            let error = StatementError::statement(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("a row of the file has more than {} bytes", self.size_max),
            );
            self.fail(error, &rows.fields, &mut out);
        }
        send(&mut out, sequence, to_server);
        if self.failed.is_none() {
            self.held = held[at..].to_vec();
            // A row that is not whole yet is read again from its start: seldom, if it is long.
            self.looked_at = self.held.len() * 2;
        }
    }

    /// Writes a row that makes the statement fail.
    fn fail(&mut self, error: StatementError, fields: &[load::Field], out: &mut Vec<u8>) {
        let message = format!(
            "row {} of the file: {}",
            self.place.row_number, error.message
        );
        self.failed = Some(StatementError { message, ..error });
        let values = fields.iter().map(|field| match field.sealed {
            Some(_) => load::STOP,
            None => "\\N",
        });
        out.extend_from_slice(values.collect::<Vec<_>>().join("\t").as_bytes());
        out.push(b'\n');
    }

    /// Writes a row for the server.
    fn write(
        &self,
        row: &Row,
        fields: &[load::Field],
        out: &mut Vec<u8>,
    ) -> Result<(), StatementError> {
        let start = out.len();
        let written = self.write_fields(row, fields, out);
        match &written {
            Err(_) => out.truncate(start),
            Ok(()) => {
                // The server warns of what is too much.
                out.extend_from_slice(match (row.goes_on, row.has_more) {
                    (true, true) => b"\tx\n",
                    (true, false) => b"\t\n",
                    (false, _) => b"\n",
                });
            }
        }
        written
    }

    fn write_fields(
        &self,
        row: &Row,
        fields: &[load::Field],
        out: &mut Vec<u8>,
    ) -> Result<(), StatementError> {
        let mut missing = fields.iter().skip(row.fields.len());
        if let Some(column) = missing.find_map(|field| field.sealed) {
            let own = self.loaded.schema.column(column);
            let message = format!("protected column {}.{} has no field", own.table, own.column);
            return Err(StatementError::statement(
                SqlState::NOT_NULL_VIOLATION,
                message,
            ));
        }
        for (index, (field, own)) in row.fields.iter().zip(fields).enumerate() {
            if index > 0 {
                out.push(b'\t');
            }
            let value = field.value.as_deref();
            let (Some(column), Some(bytes)) = (own.sealed, value) else {
                if let (Some(column), true) = (own.sealed, own.not_null) {
                    let own = self.loaded.schema.column(column);
                    let message = format!("column {:?} cannot be null", own.column);
                    return Err(StatementError::statement(
                        SqlState::NOT_NULL_VIOLATION,
                        message,
                    ));
                }
                write_field(value, out);
                continue;
            };
            let sealed = fill::field(&self.loaded, column, self.given(column, bytes)?)?;
            for byte in sealed {
                out.extend_from_slice(format!("{byte:02x}").as_bytes());
            }
        }
        Ok(())
    }

    /// A value of a field as it is given to a protected column.
    fn given<'v>(
        &self,
        column: sql_plan::ColumnId,
        bytes: &'v [u8],
    ) -> Result<Given<'v>, StatementError> {
        let logical = self.loaded.schema.column(column).logical;
        if logical == column_value::LogicalType::Bytes {
            return Ok(Given::Bytes(bytes));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| other_letters())?;
        Ok(Given::Text(text))
    }

    /// Refuses letters that the server would read as others: behind the start of one that does not
    /// end, it takes marks for a part of it.
    fn check_letters(&self, bytes: &[u8]) -> Result<(), StatementError> {
        match std::str::from_utf8(bytes) {
            Ok(text) if self.letters.has(text) => Ok(()),
            _ => Err(other_letters()),
        }
    }
}

fn other_letters() -> StatementError {
    StatementError::unsupported(
        "a line with letters that are not UTF-8, or not of the character set of the file,",
    )
    .hint(
        "Write the file in UTF-8, and CHARACTER SET utf8mb4 behind the name of the table. Insert \
         other bytes by parameters.",
    )
}
