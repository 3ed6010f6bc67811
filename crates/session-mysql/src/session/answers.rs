//! What the server owes: where the answer to each command ends. Only the packets that say so are
//! read; definitions and rows pass by their first byte and their size.

use wire_mysql::answer::{self, EofPacket, OkPacket, Prepared, Start};
use wire_mysql::capabilities::Status;
use wire_mysql::command::kind;
use wire_mysql::packet::{Header, PIECE_SIZE_MAX};
use wire_mysql::{Capabilities, Malformed};

use crate::refusal::{Reason, Refusal};

/// What a command leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// The server answers.
    Answer(Step),
    /// It does not.
    Silence,
    /// It does not, and ends the connection.
    Quit,
    /// A login.
    ChangeUser,
    /// The proxy cannot follow what comes of it, and refuses it.
    Refused,
}

/// What the server says next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// OK, EOF or an error: the whole answer.
    Word,
    /// One packet of any kind: the whole answer.
    Line,
    /// How the answer to a statement begins.
    Result,
    /// How the answer to a statement that is prepared begins.
    Prepared,
    /// So many definitions of columns, then rows.
    Columns(u64),
    /// EOF between columns and rows, for clients that want it.
    ColumnsEnd,
    /// Rows, or definitions of columns, up to their end.
    Rows,
    /// So many definitions of parameters, then so many of columns.
    Parameters(u16, u16),
    /// EOF between them.
    ParametersEnd(u16),
    /// So many definitions of columns, and nothing behind them.
    PreparedColumns(u16),
    /// EOF behind them.
    PreparedEnd,
}

/// The answer to one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) step: Step,
    /// The number of the server's first packet. None: it has come.
    pub(super) first_sequence: Option<u8>,
}

/// How much of a packet is needed to know what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing more: it passes.
    Nothing,
    /// All of it.
    Whole,
}

/// What a command leads to, by its first byte.
pub(super) fn course(command: u8) -> Course {
    match command {
        kind::QUERY | kind::STMT_EXECUTE | kind::STMT_BULK_EXECUTE | kind::PROCESS_INFO => {
            Course::Answer(Step::Result)
        }
        kind::STMT_PREPARE => Course::Answer(Step::Prepared),
        kind::STMT_FETCH | kind::FIELD_LIST => Course::Answer(Step::Rows),
        kind::STATISTICS => Course::Answer(Step::Line),
        kind::INIT_DB
        | kind::CREATE_DB
        | kind::DROP_DB
        | kind::REFRESH
        | kind::SHUTDOWN
        | kind::PROCESS_KILL
        | kind::DEBUG
        | kind::PING
        | kind::STMT_RESET
        | kind::SET_OPTION
        | kind::RESET_CONNECTION => Course::Answer(Step::Word),
        kind::STMT_SEND_LONG_DATA | kind::STMT_CLOSE => Course::Silence,
        kind::QUIT => Course::Quit,
        kind::CHANGE_USER => Course::ChangeUser,
        _ => Course::Refused,
    }
}

/// What is needed of a packet of the server's that begins with this byte. None: more of it.
pub(super) fn need(
    step: Step,
    header: Header,
    first: Option<u8>,
    capabilities: Capabilities,
) -> Option<Need> {
    if header.length == 0 {
        return Some(Need::Whole);
    }
    let first = first?;
    let is_error = first == answer::ERR;
    Some(match step {
        Step::Line => Need::Nothing,
        _ if is_error => Need::Whole,
        Step::Columns(_) | Step::Parameters(..) | Step::PreparedColumns(_) => Need::Nothing,
        Step::Rows if ends_rows(header, first, capabilities) => Need::Whole,
        Step::Rows => Need::Nothing,
        Step::Word
        | Step::Result
        | Step::Prepared
        | Step::ColumnsEnd
        | Step::ParametersEnd(_)
        | Step::PreparedEnd => Need::Whole,
    })
}

/// Whether a packet in the place of a row ends the rows.
fn ends_rows(header: Header, first: u8, capabilities: Capabilities) -> bool {
    /// An EOF of the older form has five bytes.
    const OLD_EOF_SIZE_MAX: usize = 8;
    let size_max = match capabilities.has(Capabilities::DEPRECATE_EOF) {
        true => PIECE_SIZE_MAX - 1,
        false => OLD_EOF_SIZE_MAX,
    };
    first == answer::EOF && header.length <= size_max
}

impl Step {
    /// What follows a packet that passes unread. None: the answer is complete.
    pub(super) fn passed(self, capabilities: Capabilities) -> Option<Self> {
        let has_eof = !capabilities.has(Capabilities::DEPRECATE_EOF);
        match self {
            Self::Line => None,
            Self::Columns(left @ 2..) => Some(Self::Columns(left - 1)),
            Self::Columns(_) if has_eof => Some(Self::ColumnsEnd),
            Self::Columns(_) => Some(Self::Rows),
            Self::Parameters(left @ 2.., columns) => Some(Self::Parameters(left - 1, columns)),
            Self::Parameters(_, columns) if has_eof => Some(Self::ParametersEnd(columns)),
            Self::Parameters(_, columns) => prepared_columns(columns),
            Self::PreparedColumns(left @ 2..) => Some(Self::PreparedColumns(left - 1)),
            Self::PreparedColumns(_) if has_eof => Some(Self::PreparedEnd),
            Self::PreparedColumns(_) => None,
            other => Some(other),
        }
    }

    /// What follows a packet that was read. `status` is that of the session, where it says one.
    pub(super) fn read(
        self,
        payload: &[u8],
        capabilities: Capabilities,
        status: &mut Status,
    ) -> Result<Option<Self>, Refusal> {
        let first = *payload.first().ok_or(Malformed)?;
        if first == answer::ERR {
            // An error ends all results of a text.
            return Ok(None);
        }
        match self {
            Self::Word => {
                read_word(payload, capabilities, status)?;
                Ok(None)
            }
            Self::Result => self.read_result(payload, capabilities, status),
            Self::Prepared => {
                let prepared = Prepared::read(payload)?;
                Ok(match prepared.parameters {
                    0 => prepared_columns(prepared.columns),
                    parameters => Some(Self::Parameters(parameters, prepared.columns)),
                })
            }
            Self::ColumnsEnd => {
                *status = EofPacket::read(payload)?.status;
                // The rows of a cursor are asked for one by one.
                Ok((!status.has(Status::CURSOR_EXISTS)).then_some(Self::Rows))
            }
            Self::Rows => {
                read_word(payload, capabilities, status)?;
                Ok(status.has(Status::MORE_RESULTS).then_some(Self::Result))
            }
            Self::ParametersEnd(columns) => {
                EofPacket::read(payload)?;
                Ok(prepared_columns(columns))
            }
            Self::PreparedEnd => {
                EofPacket::read(payload)?;
                Ok(None)
            }
            Self::Line | Self::Columns(_) | Self::Parameters(..) | Self::PreparedColumns(_) => {
                Err(Malformed.into())
            }
        }
    }

    fn read_result(
        self,
        payload: &[u8],
        capabilities: Capabilities,
        status: &mut Status,
    ) -> Result<Option<Self>, Refusal> {
        match Start::read(payload)? {
            Start::Ok => {
                *status = OkPacket::read(payload, capabilities)?.status;
                Ok(status.has(Status::MORE_RESULTS).then_some(self))
            }
            Start::Error => Ok(None),
            Start::LocalFile(_) => {
                let message = "the server asks for a file of the client, which it was not allowed";
                Err(Refusal::new(Reason::Server, message))
            }
            Start::Columns(0) => Err(Malformed.into()),
            Start::Columns(count) => Ok(Some(Self::Columns(count))),
        }
    }
}

fn prepared_columns(columns: u16) -> Option<Step> {
    (columns > 0).then_some(Step::PreparedColumns(columns))
}

/// OK, or EOF in either form.
fn read_word(
    payload: &[u8],
    capabilities: Capabilities,
    status: &mut Status,
) -> Result<(), Malformed> {
    /// First byte, warnings and status.
    const EOF_SIZE: usize = 5;
    let is_eof = payload.first() == Some(&answer::EOF) && payload.len() == EOF_SIZE;
    *status = match is_eof {
        true => EofPacket::read(payload)?.status,
        false => OkPacket::read(payload, capabilities)?.status,
    };
    Ok(())
}
