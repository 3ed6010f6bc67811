//! A command of the client that is not carried out yet.

use sql_rewrite::mysql::several::Remaining;
use wire_mysql::Malformed;
use wire_mysql::command::{Command, kind, write_text};

use super::texts;
use crate::refusal::{Reason, Refusal};

/// The moment at which a command is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::session) enum Moment {
    /// No statement of the command has asked for it.
    Unknown,
    /// The server is asked.
    Asked,
    /// With six digits of a second.
    Known(String),
}

/// A command that waits for the proxy's own questions.
#[derive(Debug)]
pub(in crate::session) struct Pending {
    pub(super) payload: Vec<u8>,
    /// The command is the first of these statements, and has no payload.
    pub(super) remaining: Option<Remaining>,
    /// The number of the packet with which its answer begins.
    pub(super) sequence: u8,
    /// How many questions for collation keys it has led to.
    pub(super) weighings: u16,
    /// That at which it is carried out, if a statement of it stores that.
    pub(super) moment: Moment,
}

impl Pending {
    /// Of a text that goes to the server by itself.
    pub(super) fn of_text(text: &[u8]) -> Self {
        let mut payload = Vec::with_capacity(text.len() + 1);
        write_text(kind::QUERY, text, &mut payload);
        Self {
            payload,
            remaining: None,
            sequence: 1,
            weighings: 0,
            moment: Moment::Unknown,
        }
    }

    /// Of statements, from the first on, whose end is not known yet.
    pub(super) fn of_remaining(remaining: Remaining) -> Self {
        Self {
            payload: Vec::new(),
            remaining: Some(remaining),
            sequence: 1,
            weighings: 0,
            moment: Moment::Unknown,
        }
    }

    /// The same, to be carried out anew.
    pub(super) fn again(&self) -> Self {
        Self {
            payload: self.payload.clone(),
            remaining: self.remaining.clone(),
            moment: self.moment.clone(),
            ..*self
        }
    }

    pub(super) fn command(&self) -> Result<Command<'_>, Malformed> {
        match &self.remaining {
            Some(own) => Ok(Command::Query(own.rest())),
            None => Command::read(&self.payload),
        }
    }
}

/// Whether settings and schema must be known for a command.
pub(super) fn needs_schema(command: &Command<'_>) -> bool {
    match command {
        Command::Query(text) => !texts::is_frame(text),
        Command::Prepare(_)
        | Command::Execute(_)
        | Command::BulkExecute(_)
        | Command::FieldList(..) => true,
        _ => false,
    }
}

/// Whether a command passes where nothing can be known of the session. Of one whose password has
/// expired, the server carries out nothing but its change.
pub(super) fn is_way_out(pending: &Pending, is_expired: bool) -> bool {
    let Ok(Command::Query(text)) = pending.command() else {
        return false;
    };
    texts::sets_names(text) || (is_expired && texts::changes_password(text))
}

/// `ER_MUST_CHANGE_PASSWORD`
pub(super) const PASSWORD_EXPIRED: u16 = 1820;

/// What a client is told where the server has answered a question of the proxy's own with this
/// error. None: the client would have had another answer. A deadlock, a limit of time, an end by
/// `KILL` or a node of Galera that is not ready would have met the client's own statement, and what
/// became of its transaction is told by the number.
pub(super) fn passed_on(code: u16) -> Option<Refusal> {
    let (state, what) = match code {
        PASSWORD_EXPIRED => return Some(password_expired()),
        1047 => (
            *b"08S01",
            "the node of the cluster is not ready for statements",
        ),
        1205 => (
            *b"HY000",
            "a lock was waited for too long; try restarting the transaction",
        ),
        1213 => (
            *b"40001",
            "a deadlock was found; try restarting the transaction",
        ),
        1317 => (*b"70100", "the execution of the query was interrupted"),
        1969 => (
            *b"70100",
            "the execution of the query took longer than it may",
        ),
        3024 => (
            *b"HY000",
            "the execution of the query took longer than it may",
        ),
        _ => return None,
    };
    let message = format!("{what} (the server said so to a question of the proxy's own)");
    Some(Refusal::new(Reason::Statement(code, state), message))
}

/// What a client is told whose password has expired.
fn password_expired() -> Refusal {
    Refusal::new(
        Reason::Statement(PASSWORD_EXPIRED, *b"HY000"),
        "the password of this account has expired: change it by SET PASSWORD or ALTER USER before \
         any other statement",
    )
}
