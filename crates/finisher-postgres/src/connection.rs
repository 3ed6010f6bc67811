//! A connection to a finisher: one question at a time.
//!
//! 1. What was written of values is wiped when it was sent, and what was read of an answer before
//!    the connection is kept or closed.
//! 2. A connection goes on after an answer or an error of the query, and after nothing else: what
//!    is left on it would be taken for the next answer.

mod input;
mod settings;
mod statements;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use finisher_core::{Socket, broken, is_silent};
use session_core::{Fault, StatementError};
use session_postgres::finisher::{
    Described, FinisherAnswer, FinisherExecution, FinisherRequest, FinisherRows,
};
use sqlstate::SqlState;
use wire_postgres::{Malformed, backend, frontend, startup};
use zeroize::{Zeroize, Zeroizing};

use crate::lacking::Lacking;
use crate::moments;
use crate::order::OrderCheck;
use crate::tree::{TELL_NO_TREES, TELL_TREES};
use input::{Input, InputError, Message};
use settings::Settings;
use statements::{Statement, Statements};

/// Limit of a row outside of answers, which have limits of their own.
const ROW_SIZE_MAX: usize = 1 << 20;
/// What is kept of memory for messages between questions.
const OUTPUT_SIZE_KEPT: usize = 256 << 10;
/// How the statements end that return no rows, when they are to be executed.
const NO_QUERY: &str = "the proxy computes queries only, not other statements";

/// Why a question got no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server refuses the query. The connection goes on.
    Query(StatementError),
    /// The connection cannot go on.
    Last(StatementError),
    /// The connection broke before the server said a word.
    Gone(io::Error),
}

/// A row of texts, with NULL as `None`.
pub(crate) type TextRow = Vec<Option<String>>;

/// A connection that the runtime of its task watches. Dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    own: Own,
}

/// A connection that is kept for the next question, without a runtime.
#[derive(Debug)]
pub(crate) struct Kept {
    socket: UnixStream,
    own: Own,
}

/// What a connection remembers.
#[derive(Debug)]
struct Own {
    input: Input,
    output: Zeroizing<Vec<u8>>,
    statements: Statements,
    settings: Settings,
    /// Queries may not depend on the order of texts.
    order: Option<Arc<OrderCheck>>,
    lacking: Arc<Lacking>,
}

impl Kept {
    /// Has the current runtime watch it. None: the server has ended it.
    pub(crate) fn resume(self) -> Option<Connection> {
        if !is_silent(&self.socket) {
            return None;
        }
        let socket = Socket::new(self.socket).ok()?;
        let own = self.own;
        Some(Connection { socket, own })
    }

    /// Whether it has prepared the statement of a question.
    pub(crate) fn has(&self, request: &FinisherRequest) -> bool {
        self.own.statements.has(request)
    }
}

impl Connection {
    /// Opens a connection with these parameters.
    ///
    /// # Errors
    ///
    /// [`Failure::Gone`]: nobody listens there. [`Failure::Last`]: the server refuses it.
    pub(crate) async fn open(path: &Path, parameters: &[(&str, &str)]) -> Result<Self, Failure> {
        let socket = Socket::connect(path).await.map_err(Failure::Gone)?;
        let own = Own {
            input: Input::new(),
            output: Zeroizing::default(),
            statements: Statements::default(),
            settings: Settings::default(),
            order: None,
            lacking: Arc::default(),
        };
        let mut connection = Self { socket, own };
        let parameters: Vec<(&[u8], &[u8])> = parameters
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        startup::write_startup(&parameters, &mut connection.own.output);
        connection.send().await?;
        let mut is_let_in = false;
        let greeted = connection.converse(ROW_SIZE_MAX, |message| {
            if message.kind == backend::kind::AUTHENTICATION {
                let asked = backend::Authentication::read(message.body())?;
                is_let_in = asked == backend::Authentication::Ok;
                // A server that asks for a password would wait for it, and so would we.
                return is_let_in.then_some(()).ok_or(Malformed);
            }
            Ok(())
        });
        greeted.await?;
        Ok(connection)
    }

    /// The connection without a runtime, to be kept.
    pub(crate) fn keep(mut self) -> Option<Kept> {
        self.own.input.is_empty().then(|| Kept {
            socket: self.socket.into_std(),
            own: self.own,
        })
    }

    /// Refuses queries from now on that depend on the order of texts.
    pub(crate) async fn check_order(&mut self, order: Arc<OrderCheck>) -> Result<(), Failure> {
        self.simple(TELL_TREES).await?;
        self.own.order = Some(order);
        Ok(())
    }

    /// Tells of these extensions from now on where a query calls an unknown function.
    pub(crate) fn note_lacking(&mut self, lacking: Arc<Lacking>) {
        self.own.lacking = lacking;
    }

    /// Executes statements without parameters. Returns the rows of all.
    pub(crate) async fn simple(&mut self, sql: &str) -> Result<Vec<TextRow>, Failure> {
        frontend::write_query(sql.as_bytes(), &mut self.own.output);
        self.send().await?;
        let mut rows = Vec::new();
        self.converse(ROW_SIZE_MAX, |message| {
            if message.kind == backend::kind::DATA_ROW {
                let values = backend::read_data_row(message.body())?;
                let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                rows.push(values.iter().map(|value| value.map(text)).collect());
            }
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    /// Answers a question.
    pub(crate) async fn answer(
        &mut self,
        request: &FinisherRequest,
    ) -> Result<FinisherAnswer, Failure> {
        match self.answer_or_fail(request).await {
            Err(Failure::Query(error)) => Err(Failure::Query(self.own.lacking.explain(error))),
            other => other,
        }
    }

    async fn answer_or_fail(
        &mut self,
        request: &FinisherRequest,
    ) -> Result<FinisherAnswer, Failure> {
        self.set(request).await?;
        let statement = match self.own.statements.find(request) {
            Some(statement) => statement,
            None => self.prepare(request).await?,
        };
        let Some(execution) = &request.execution else {
            let described = Described::clone(&statement.described);
            return Ok(FinisherAnswer::Described(described));
        };
        if statement.described.row_description.is_empty() {
            return Err(Failure::Query(StatementError::unsupported(NO_QUERY)));
        }
        check_moments(&statement, execution)?;
        if statement.takes_offset || has_text(&statement, execution, moments::lacks_own_offset) {
            self.check_offset().await?;
        }
        let rows = self.execute(&statement, execution).await?;
        Ok(FinisherAnswer::Rows(rows))
    }

    /// Makes the settings of the session those of the question.
    async fn set(&mut self, request: &FinisherRequest) -> Result<(), Failure> {
        let change = self.own.settings.change(&request.settings);
        let Some(sql) = change.map_err(Failure::Query)? else {
            return Ok(());
        };
        self.simple(&sql).await?;
        self.own.settings.changed(&request.settings);
        Ok(())
    }

    async fn prepare(&mut self, request: &FinisherRequest) -> Result<Statement, Failure> {
        let query = &request.query;
        let may_freeze =
            moments::may_freeze(query) || moments::has_offsets(query, &request.parameter_types);
        let tells = self.own.order.is_some();
        if !may_freeze || tells {
            return self.prepare_checked(request, may_freeze).await;
        }
        self.simple(TELL_TREES).await?;
        let prepared = self.prepare_checked(request, true).await;
        let silenced = self.simple(TELL_NO_TREES).await;
        let prepared = prepared?;
        silenced.map(|_| prepared)
    }

    /// Prepares a statement, unless it depends on the order of texts, or has a constant that may
    /// be the moment.
    async fn prepare_checked(
        &mut self,
        request: &FinisherRequest,
        may_freeze: bool,
    ) -> Result<Statement, Failure> {
        let name = self.own.statements.name();
        let out = &mut self.own.output;
        if let Some(oldest) = self.own.statements.oldest() {
            let oldest = frontend::Target::Statement(oldest.as_bytes());
            frontend::write_target(frontend::kind::CLOSE, oldest, out);
        }
        let types = request.parameter_types.iter().copied();
        frontend::write_parse(name.as_bytes(), request.query.as_bytes(), types, out);
        let target = frontend::Target::Statement(name.as_bytes());
        frontend::write_target(frontend::kind::DESCRIBE, target, out);
        backend::write_empty(frontend::kind::SYNC, out);
        self.send().await?;
        let mut described = Described {
            parameter_types: Vec::new(),
            row_description: Vec::new(),
        };
        let mut tree = None;
        self.converse(ROW_SIZE_MAX, |message| {
            let body = message.body();
            match message.kind {
                backend::kind::NOTICE => {
                    let fields = backend::read_fields(body)?;
                    let detail = fields.iter().find(|(letter, _)| *letter == b'D');
                    let text = detail.map(|(_, text)| String::from_utf8_lossy(text).into_owned());
                    tree = tree.take().or(text);
                }
                backend::kind::PARAMETER_DESCRIPTION => {
                    described.parameter_types = backend::read_parameter_description(body)?;
                }
                backend::kind::ROW_DESCRIPTION => described.row_description = body.to_vec(),
                _ => {}
            }
            Ok(())
        })
        .await?;
        let tree = tree.as_deref();
        let order = self.own.order.as_ref();
        let mut checked = order.map_or(Ok(()), |order| order.check(tree));
        if may_freeze {
            checked = checked.and_then(|()| moments::check(&request.query, tree));
        }
        if let Err(refusal) = checked {
            self.close(&name).await?;
            return Err(Failure::Query(refusal));
        }
        let takes_offset = moments::has_offsets(&request.query, &request.parameter_types)
            && moments::takes_offset(&request.query, tree);
        self.own
            .statements
            .add(request, (name, takes_offset), described);
        let prepared = self.own.statements.find(request);
        prepared.ok_or_else(|| Failure::Last(StatementError::defect("a statement is not kept")))
    }

    /// Refuses what takes the offset of the moment where that may not be the client's.
    async fn check_offset(&mut self) -> Result<(), Failure> {
        let rows = self.simple(moments::HAS_ONE_OFFSET).await?;
        let is_one = rows.into_iter().flatten().flatten().any(|one| one == "t");
        match is_one {
            true => Ok(()),
            false => Err(Failure::Query(moments::offset_refusal())),
        }
    }

    async fn close(&mut self, name: &str) -> Result<(), Failure> {
        let target = frontend::Target::Statement(name.as_bytes());
        frontend::write_target(frontend::kind::CLOSE, target, &mut self.own.output);
        backend::write_empty(frontend::kind::SYNC, &mut self.own.output);
        self.send().await?;
        self.converse(ROW_SIZE_MAX, |_| Ok(())).await
    }

    async fn execute(
        &mut self,
        statement: &Statement,
        execution: &FinisherExecution,
    ) -> Result<FinisherRows, Failure> {
        self.write_execution(statement, execution)?;
        self.send().await?;
        let mut rows = FinisherRows {
            row_description: statement.described.row_description.clone(),
            messages: Zeroizing::default(),
            count: 0,
        };
        self.converse(execution.answer_size_max, |message| {
            if message.kind == backend::kind::DATA_ROW {
                rows.push(message.whole);
            }
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    fn write_execution(
        &mut self,
        statement: &Statement,
        execution: &FinisherExecution,
    ) -> Result<(), Failure> {
        let values = &execution.values;
        let sizes = values.iter().flatten().map(Vec::len);
        let size = sizes.sum::<usize>() + 8 * values.len() + 2 * execution.result_formats.len();
        if size > backend::LENGTH_MAX - 256 {
            return Err(Failure::Query(StatementError::limit(format!(
                "the proxy computes the answer from {size} bytes, which is more than a message of \
                 the protocol can hold"
            ))));
        }
        let out = &mut self.own.output;
        // Growing would leave copies behind that nobody wipes.
        out.reserve(size + 256);
        let target = (&b""[..], statement.name.as_bytes());
        let result_formats = execution.result_formats.iter().copied();
        let formats = execution.formats.iter().copied();
        let written = frontend::write_bind(
            target,
            formats,
            |out| {
                values.iter().try_for_each(|value| {
                    backend::write_value(out, |out| {
                        out.extend_from_slice(value.as_deref().unwrap_or_default());
                        Ok(value.is_some())
                    })
                })
            },
            result_formats,
            out,
        );
        let () = written.map_err(|never: std::convert::Infallible| match never {})?;
        frontend::write_execute(b"", 0, out);
        backend::write_empty(frontend::kind::SYNC, out);
        Ok(())
    }

    /// Sends what was written, and wipes it.
    async fn send(&mut self) -> Result<(), Failure> {
        let sent = self.socket.write_all(&self.own.output).await;
        let output = &mut self.own.output;
        output.as_mut_slice().zeroize();
        output.clear();
        if output.capacity() > OUTPUT_SIZE_KEPT {
            *output = Zeroizing::default();
        }
        sent.map_err(Failure::Gone)
    }

    /// Takes messages until the server is ready for the next question. Rows may have so many bytes
    /// in all.
    async fn converse(
        &mut self,
        rows_size_max: usize,
        mut take: impl FnMut(Message<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Failure> {
        let mut failed = None;
        let mut room = rows_size_max;
        let mut is_heard = false;
        loop {
            let next = self.own.input.next(&mut self.socket, room).await;
            let message = next.map_err(|error| lost(error, rows_size_max, is_heard))?;
            match message.kind {
                backend::kind::READY_FOR_QUERY => break,
                backend::kind::ERROR => {
                    let error = ServerError::read(message.body()).map_err(unreadable)?;
                    if error.is_last {
                        return Err(error.last(is_heard));
                    }
                    failed = Some(error.error);
                }
                backend::kind::NOTICE => {
                    take(message).map_err(unreadable)?;
                    continue;
                }
                backend::kind::PARAMETER_STATUS | backend::kind::NOTIFICATION => continue,
                backend::kind::COPY_IN | backend::kind::COPY_BOTH => {
                    return Err(Failure::Last(StatementError::unsupported(NO_QUERY)));
                }
                kind => {
                    if kind == backend::kind::DATA_ROW {
                        room = room.saturating_sub(message.whole.len());
                    }
                    take(message).map_err(unreadable)?;
                }
            }
            is_heard = true;
        }
        failed.map_or(Ok(()), |error| {
            Err(Failure::Query(moments::explained(error)))
        })
    }
}

/// Refuses a parameter that is sent as text and may be the moment at which it is read.
fn check_moments(statement: &Statement, execution: &FinisherExecution) -> Result<(), Failure> {
    let reads_fields = statement.reads_fields;
    let is_moment = |own, text: &[u8]| moments::is_moment(own, text, reads_fields);
    match has_text(statement, execution, is_moment) {
        true => Err(Failure::Query(moments::refusal())),
        false => Ok(()),
    }
}

/// Whether a parameter is so, by its type and text, that is sent as text.
fn has_text(
    statement: &Statement,
    execution: &FinisherExecution,
    is_so: impl Fn(u32, &[u8]) -> bool,
) -> bool {
    let types = &statement.described.parameter_types;
    let values = execution.formats.iter().zip(&execution.values);
    let texts = types
        .iter()
        .zip(values)
        .filter(|(_, (format, _))| **format == 0);
    let mut texts = texts.filter_map(|(own, (_, text))| Some((*own, text.as_deref()?)));
    texts.any(|(own, text)| is_so(own, text))
}

/// An ErrorResponse.
struct ServerError {
    error: StatementError,
    /// The server ends the connection with it.
    is_last: bool,
}

impl ServerError {
    fn read(body: &[u8]) -> Result<Self, Malformed> {
        let fields = backend::read_fields(body)?;
        let field = |letter: u8| {
            let found = fields.iter().find(|(own, _)| *own == letter);
            found.map(|(_, text)| String::from_utf8_lossy(text).into_owned())
        };
        let code = field(b'C').and_then(|code| SqlState::find(&code));
        let code = code.unwrap_or(SqlState::INTERNAL_ERROR);
        let message = field(b'M').unwrap_or_default();
        let severity = field(b'V').unwrap_or_default();
        Ok(Self {
            error: StatementError {
                detail: field(b'D'),
                hint: field(b'H'),
                context: field(b'W').map(String::into_boxed_str),
                ..StatementError::new(Fault::Statement, code, message)
            },
            is_last: matches!(severity.as_str(), "FATAL" | "PANIC"),
        })
    }

    /// What it means to the question. A server may have ended the connection before it knew of one.
    fn last(self, is_heard: bool) -> Failure {
        let is_ended = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::IDLE_SESSION_TIMEOUT,
        ];
        match !is_heard && is_ended.contains(&self.error.sqlstate) {
            true => Failure::Gone(io::Error::other(self.error)),
            false => Failure::Last(self.error),
        }
    }
}

/// Why a conversation ended.
fn lost(error: InputError, rows_size_max: usize, is_heard: bool) -> Failure {
    match error {
        InputError::LongRow => Failure::Last(StatementError::limit(format!(
            "the answer that the proxy computes has more than {rows_size_max} bytes"
        ))),
        InputError::Socket(error) if !is_heard => Failure::Gone(error),
        InputError::Closed if !is_heard => Failure::Gone(io::ErrorKind::UnexpectedEof.into()),
        InputError::Socket(_) | InputError::Closed => {
            Failure::Last(broken("the proxy's own PostgreSQL server has ended").hint("Try again."))
        }
        InputError::Frame(_) => unreadable(Malformed),
        InputError::Malformed(malformed) => unreadable(malformed),
    }
}

fn unreadable(_: Malformed) -> Failure {
    Failure::Last(broken(
        "the proxy's own PostgreSQL server answers otherwise than its protocol says",
    ))
}
