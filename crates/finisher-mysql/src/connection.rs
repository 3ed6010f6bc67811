//! A connection to a finisher: one question at a time.
//!
//! 1. What was written of values is wiped when it was sent, and what was read of an answer when it
//!    was taken.
//! 2. A connection goes on after an answer or an error of the query, once its session was reset,
//!    and after nothing else: what is left on it would be taken for the next answer.

mod input;
mod login;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use finisher_core::{Socket, broken, is_silent};
use session_core::StatementError;
use session_mysql::finisher::{
    FinisherAnswer, FinisherChanges, FinisherDefinitions, FinisherRequest, FinisherRows,
    FinisherStatement,
};
use wire_mysql::answer::{self, EofPacket, ErrorPacket, OkPacket, Prepared, Start};
use wire_mysql::command::{kind, write_text};
use wire_mysql::{Capabilities, Malformed, packet};
use zeroize::{Zeroize, Zeroizing};

use crate::product::Product;
use input::{Input, InputError};

/// Settings under which tables are made and filled: values are taken as they are, and moments have
/// one zone.
const FILLING: &str = "SET NAMES utf8mb4, time_zone = '+00:00', \
                       sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'";
/// What a packet may have outside of rows.
const WORD_SIZE_MAX: usize = 1 << 20;
/// Where a command that executes a statement has the number of that.
const STATEMENT_AT: std::ops::Range<usize> = 1..5;

/// Why a question got no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection cannot go on.
    Last(StatementError),
    /// The connection broke before the server said a word.
    Gone(io::Error),
    /// The answer took too long, and the server was told to end the connection.
    Late,
}

/// A connection that the runtime of its task watches. Dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    input: Input,
    output: Zeroizing<Vec<u8>>,
    is_heard: bool,
    /// The server's number of it, by which it can be ended.
    number: u32,
}

/// A connection that is kept for the next question, without a runtime.
#[derive(Debug)]
pub(crate) struct Kept {
    socket: UnixStream,
    number: u32,
}

impl Kept {
    /// Has the current runtime watch it. None: the server has ended it.
    pub(crate) fn resume(self) -> Option<Connection> {
        if !is_silent(&self.socket) {
            return None;
        }
        let socket = Socket::new(self.socket).ok()?;
        Some(Connection::of(socket, self.number))
    }
}

/// How a statement begins to be answered.
enum Begun {
    Ok,
    Columns(u64),
    Refused(Vec<u8>),
}

impl Connection {
    fn of(socket: Socket, number: u32) -> Self {
        Self {
            socket,
            input: Input::default(),
            output: Zeroizing::default(),
            is_heard: false,
            number,
        }
    }

    /// The server's number of the connection.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Opens a connection to a server of a product.
    ///
    /// # Errors
    /// [`Failure::Gone`]: nobody listens there. [`Failure::Last`]: the server refuses it.
    pub(crate) async fn open(
        path: &Path,
        product: Product,
        (user, password): (&str, &str),
    ) -> Result<Self, Failure> {
        let socket = Socket::connect(path).await.map_err(Failure::Gone)?;
        let mut connection = Self::of(socket, 0);
        connection.log_in(product, user, password).await?;
        connection.is_heard = false;
        Ok(connection)
    }

    /// The connection without a runtime, to be kept.
    pub(crate) fn keep(self) -> Option<Kept> {
        let number = self.number;
        self.input.is_empty().then(|| Kept {
            socket: self.socket.into_std(),
            number,
        })
    }

    /// Executes a statement without rows.
    pub(crate) async fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.put(|out| write_text(kind::QUERY, sql.as_bytes(), out));
        self.send().await?;
        self.word().await.map(drop)
    }

    /// Answers a question. Afterwards nothing of it is left.
    pub(crate) async fn answer(
        &mut self,
        request: &FinisherRequest,
    ) -> Result<FinisherAnswer, Failure> {
        self.is_heard = false;
        self.prepare_session(request).await?;
        let wanted = (request.answer_size_max, request.read_back.as_deref());
        let answer = match &request.statement {
            FinisherStatement::Text(text) => {
                self.put(|out| write_text(kind::QUERY, text, out));
                self.send().await?;
                self.answered(wanted).await?
            }
            FinisherStatement::Described(text) => match self.prepare(text).await? {
                Ok((_, definitions)) => FinisherAnswer::Described(definitions),
                Err(error) => FinisherAnswer::Refused(error),
            },
            FinisherStatement::Executed { text, command } => match self.prepare(text).await? {
                Ok((statement, _)) => {
                    let mut command = command.clone();
                    if let Some(number) = command.get_mut(STATEMENT_AT) {
                        number.copy_from_slice(&statement.to_le_bytes());
                    }
                    self.put(|out| out.extend_from_slice(&command));
                    self.send().await?;
                    self.answered(wanted).await?
                }
                Err(error) => FinisherAnswer::Refused(error),
            },
        };
        self.put(|out| out.push(kind::RESET_CONNECTION));
        self.send().await?;
        self.word().await?;
        Ok(answer)
    }

    /// Makes and fills the tables, and makes the settings those of the client.
    async fn prepare_session(&mut self, request: &FinisherRequest) -> Result<(), Failure> {
        // Of each statement whose answer is due, whether it fills a table.
        let mut due = vec![false];
        self.put(|out| write_text(kind::QUERY, FILLING.as_bytes(), out));
        if let Some(database) = &request.database {
            self.put(|out| write_text(kind::INIT_DB, database.as_bytes(), out));
            due.push(false);
        }
        for statement in &request.tables {
            self.put(|out| write_text(kind::QUERY, statement, out));
            due.push(statement.starts_with(b"INSERT"));
            // The server answers while it is sent more: what it says must find room.
            if self.output.len() > WORD_SIZE_MAX {
                self.send().await?;
                self.words(&mut due).await?;
            }
        }
        self.put(|out| write_text(kind::QUERY, request.settings.as_bytes(), out));
        due.push(false);
        self.send().await?;
        self.words(&mut due).await
    }

    /// The answers to statements without rows. A value that the server changes is none of the
    /// client's: there is no answer with it.
    async fn words(&mut self, due: &mut Vec<bool>) -> Result<(), Failure> {
        for fills in due.drain(..) {
            let warnings = self.word().await?;
            if fills && warnings > 0 {
                let message = "the proxy's finisher would change values of the rows";
                return Err(Failure::Last(broken(message)));
            }
        }
        Ok(())
    }

    /// Prepares a text. Gives its number and definitions, or the server's error.
    async fn prepare(
        &mut self,
        text: &[u8],
    ) -> Result<Result<(u32, FinisherDefinitions), Vec<u8>>, Failure> {
        self.put(|out| write_text(kind::STMT_PREPARE, text, out));
        self.send().await?;
        let said = self.next(WORD_SIZE_MAX).await?;
        if said.first() == Some(&answer::ERR) {
            return Ok(Err(said.to_vec()));
        }
        let prepared = Prepared::read(&said).map_err(unreadable)?;
        let mut definitions = FinisherDefinitions::default();
        for (count, of) in [
            (prepared.parameters, &mut definitions.parameters),
            (prepared.columns, &mut definitions.columns),
        ] {
            for _ in 0..count {
                of.push(self.next(WORD_SIZE_MAX).await?.to_vec());
            }
            if count > 0 {
                self.next(WORD_SIZE_MAX).await?;
            }
        }
        Ok(Ok((prepared.statement, definitions)))
    }

    /// The answer to a client's statement: rows, or what it has changed.
    async fn answered(
        &mut self,
        (size_max, read_back): (usize, Option<&str>),
    ) -> Result<FinisherAnswer, Failure> {
        let Some(read_back) = read_back else {
            return self.rows(size_max).await;
        };
        let said = self.next(WORD_SIZE_MAX).await?;
        let mut warned = FinisherRows::default();
        let (mut info, mut returned) = (Vec::new(), None);
        let affected_rows;
        match Start::read(&said).map_err(unreadable)? {
            Start::Error => return Ok(FinisherAnswer::Refused(said.to_vec())),
            Start::LocalFile(_) => return Err(Failure::Last(no_query())),
            Start::Ok => {
                let ok = OkPacket::read(&said, CAPABILITIES).map_err(unreadable)?;
                warned.warning_count = ok.warnings;
                affected_rows = ok.affected_rows;
                info = ok.info.to_vec();
                self.warnings(size_max, &mut warned).await?;
            }
            Start::Columns(count) => match self.rows_of(count, size_max).await? {
                FinisherAnswer::Rows(rows) => {
                    affected_rows = rows.rows.len() as u64;
                    returned = Some(rows);
                }
                other => return Ok(other),
            },
        }
        self.execute(FILLING).await?;
        self.put(|out| write_text(kind::QUERY, read_back.as_bytes(), out));
        self.send().await?;
        let FinisherAnswer::Rows(read) = self.rows(size_max).await? else {
            return Err(unreadable(Malformed));
        };
        Ok(FinisherAnswer::Changed(FinisherChanges {
            affected_rows,
            info,
            returned,
            read: FinisherRows {
                columns: read.columns,
                rows: read.rows,
                ..warned
            },
        }))
    }

    /// The rows of a query, with the warnings.
    async fn rows(&mut self, size_max: usize) -> Result<FinisherAnswer, Failure> {
        match self.begin().await? {
            Begun::Columns(count) => self.rows_of(count, size_max).await,
            Begun::Refused(error) => Ok(FinisherAnswer::Refused(error)),
            Begun::Ok => Err(Failure::Last(no_query())),
        }
    }

    /// The rows behind the number of their columns, with the warnings.
    async fn rows_of(&mut self, count: u64, size_max: usize) -> Result<FinisherAnswer, Failure> {
        let mut answer = FinisherRows::default();
        for _ in 0..count {
            answer
                .columns
                .push(self.next(WORD_SIZE_MAX).await?.to_vec());
        }
        self.next(WORD_SIZE_MAX).await?;
        match self.read_rows(size_max, &mut answer.rows).await? {
            Ok(warnings) => answer.warning_count = warnings,
            Err(error) => return Ok(FinisherAnswer::Refused(error)),
        }
        self.warnings(size_max, &mut answer).await?;
        Ok(FinisherAnswer::Rows(answer))
    }

    /// Reads the warnings of the last statement, if it has some.
    async fn warnings(&mut self, size_max: usize, of: &mut FinisherRows) -> Result<(), Failure> {
        if of.warning_count == 0 {
            return Ok(());
        }
        self.put(|out| write_text(kind::QUERY, b"SHOW WARNINGS", out));
        self.send().await?;
        if let Begun::Columns(count) = self.begin().await? {
            for _ in 0..=count {
                self.next(WORD_SIZE_MAX).await?;
            }
            let read = self.read_rows(size_max, &mut of.warnings).await?;
            read.map_err(|_| unreadable(Malformed))?;
        }
        Ok(())
    }

    async fn begin(&mut self) -> Result<Begun, Failure> {
        let said = self.next(WORD_SIZE_MAX).await?;
        match Start::read(&said).map_err(unreadable)? {
            Start::Ok => Ok(Begun::Ok),
            Start::Error => Ok(Begun::Refused(said.to_vec())),
            Start::Columns(count) => Ok(Begun::Columns(count)),
            Start::LocalFile(_) => Err(Failure::Last(no_query())),
        }
    }

    /// Rows up to their end, and how many warnings there are; or an error in the midst of them.
    async fn read_rows(
        &mut self,
        size_max: usize,
        rows: &mut Vec<Zeroizing<Vec<u8>>>,
    ) -> Result<Result<u16, Vec<u8>>, Failure> {
        let mut room = size_max;
        loop {
            let payload = self.next(room.saturating_add(WORD_SIZE_MAX)).await?;
            match payload.first() {
                Some(&answer::ERR) => return Ok(Err(payload.to_vec())),
                Some(_) if answer::ends_rows(&payload, CAPABILITIES) => {
                    let eof = EofPacket::read(&payload).map_err(unreadable)?;
                    return Ok(Ok(eof.warnings));
                }
                _ => {}
            }
            room = room
                .checked_sub(payload.len())
                .ok_or_else(|| too_long(size_max))?;
            rows.push(payload);
        }
    }

    /// The answer to a statement without rows: how many warnings there are.
    async fn word(&mut self) -> Result<u16, Failure> {
        let said = self.next(WORD_SIZE_MAX).await?;
        match said.first() {
            Some(&answer::ERR) => Err(Failure::Last(refused(&said))),
            _ => OkPacket::read(&said, CAPABILITIES)
                .map(|ok| ok.warnings)
                .map_err(unreadable),
        }
    }

    fn put(&mut self, payload: impl FnOnce(&mut Vec<u8>)) {
        let mut sequence = 0;
        // Growing would leave copies behind that nobody wipes.
        let mut own = Zeroizing::new(Vec::new());
        payload(&mut own);
        let size = own.len() + (own.len() / packet::PIECE_SIZE_MAX + 1) * packet::HEADER_SIZE;
        if self.output.capacity() - self.output.len() < size {
            let mut grown = Zeroizing::new(Vec::with_capacity(2 * (self.output.len() + size)));
            grown.extend_from_slice(&self.output);
            self.output = grown;
        }
        packet::write_bytes(&own, &mut sequence, &mut self.output);
    }

    /// Sends what was written, and wipes it.
    async fn send(&mut self) -> Result<(), Failure> {
        let sent = self.socket.write_all(&self.output).await;
        self.output.as_mut_slice().zeroize();
        self.output.clear();
        sent.map_err(Failure::Gone)
    }

    async fn next(&mut self, size_max: usize) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let next = self.input.next(&mut self.socket, size_max).await;
        let payload = next.map_err(|error| lost(error, self.is_heard))?;
        self.is_heard = true;
        Ok(payload)
    }
}

/// What is asked of the server: definitions and rows in the older form, which ends both by EOF.
const CAPABILITIES: Capabilities = Capabilities::new(
    // All flags of columns.
    1 << 2 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 17 | 1 << 19,
    0,
);

fn no_query() -> StatementError {
    StatementError::unsupported("the proxy computes queries only, not other statements")
}

fn refused(payload: &[u8]) -> StatementError {
    let error = ErrorPacket::read(payload);
    // Its message may have a value.
    let code = error.map_or(0, |error| error.code);
    broken(format!(
        "the proxy's finisher does not take the rows of the query: error {code}"
    ))
}

fn too_long(size_max: usize) -> Failure {
    Failure::Last(StatementError::limit(format!(
        "the answer that the proxy computes has more than {size_max} bytes"
    )))
}

/// Why a conversation ended.
fn lost(error: InputError, is_heard: bool) -> Failure {
    match error {
        InputError::Socket(error) if !is_heard => Failure::Gone(error),
        InputError::Socket(_) => {
            Failure::Last(broken("the proxy's finisher has ended").hint("Try again."))
        }
        InputError::TooLarge(size_max) => too_long(size_max),
        InputError::Malformed => unreadable(Malformed),
    }
}

fn unreadable(_: Malformed) -> Failure {
    Failure::Last(broken(
        "the proxy's finisher answers otherwise than its protocol says",
    ))
}
