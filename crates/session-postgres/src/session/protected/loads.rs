//! The proxy's own queries over the session's connection: to the catalogues, and to sequences.

use session_core::StatementError;
use sqlstate::SqlState;
use wire_postgres::backend;

use super::{Outputs, Protected};
use crate::session::End;
use crate::session::answers::{Expected, Unseen};

/// SQLSTATEs that make clients retry, and that have nothing to do with the catalogues.
const KEPT_CODES: [SqlState; 7] = [
    SqlState::IN_FAILED_SQL_TRANSACTION,
    SqlState::SERIALIZATION_FAILURE,
    SqlState::DEADLOCK_DETECTED,
    SqlState::OUT_OF_MEMORY,
    SqlState::LOCK_NOT_AVAILABLE,
    SqlState::QUERY_CANCELED,
    SqlState::ADMIN_SHUTDOWN,
];

impl Protected {
    /// Sends the queries to the catalogues.
    pub(super) fn begin_load(&mut self, outputs: &mut Outputs<'_>) {
        let load = self.schema.begin_load(&self.transaction, outputs.to_server);
        let (count, has_sync) = (load.queries().len(), load.has_sync);
        self.expect_load(count, has_sync);
    }

    /// Expects the answers to so many queries of the proxy's own.
    pub(super) fn expect_load(&mut self, count: usize, has_sync: bool) {
        self.answers.push(Expected::Unseen(Unseen::Close));
        for _ in 0..count {
            self.answers.push(Expected::Load { closed: 0 });
        }
        if has_sync {
            self.answers.push(Expected::LoadSync);
        }
    }

    /// The catalogues or sequences have answered.
    pub(super) fn end_load(&mut self, outputs: &mut Outputs<'_>) -> Result<(), End> {
        self.schema.end_load(&self.transaction, &mut self.settings);
        self.go_on_with_drawn(outputs)
    }

    /// Takes an answer to one of the proxy's own queries.
    pub(super) fn load_answer(
        &mut self,
        kind: u8,
        body: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        use backend::kind as k;
        let (Some(Expected::Load { closed }), Some(load)) =
            (self.answers.front(), self.schema.load_mut())
        else {
            return Err(End::unexpected());
        };
        match kind {
            k::PARSE_COMPLETE => load.answers.push(Vec::new()),
            k::DATA_ROW => load.read_row(body)?,
            k::CLOSE_COMPLETE => *closed += 1,
            k::BIND_COMPLETE | k::COMMAND_COMPLETE => {}
            _ => return Err(End::unexpected()),
        }
        if *closed == 2 {
            self.answers.pop();
            if load.answers.len() == load.queries().len() && !load.has_sync {
                return self.end_load(outputs);
            }
        }
        Ok(())
    }
}

/// What the server says of a sequence.
pub(super) fn draw_failed(body: &[u8]) -> Result<StatementError, End> {
    let fields = backend::read_fields(body)?;
    let of = |wanted: u8| {
        let found = fields.iter().find(|(letter, _)| *letter == wanted);
        found.map(|(_, text)| String::from_utf8_lossy(text).into_owned())
    };
    let code = of(b'C').and_then(|code| SqlState::find(&code));
    let failure = StatementError::statement(
        code.unwrap_or(SqlState::INTERNAL_ERROR),
        of(b'M').unwrap_or_default(),
    );
    Ok(match of(b'H') {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

/// Why the catalogues could not be read.
pub(super) fn load_failed(body: &[u8]) -> Result<StatementError, End> {
    let fields = backend::read_fields(body)?;
    let of = |wanted: u8| fields.iter().find(|(letter, _)| *letter == wanted);
    let reason = of(b'M').map(|(_, text)| String::from_utf8_lossy(text));
    let message = format!(
        "the proxy cannot read the catalogues: {}",
        reason.unwrap_or_default()
    );
    let is_code =
        |code: &SqlState| of(b'C').is_some_and(|(_, text)| *text == code.as_str().as_bytes());
    let code = KEPT_CODES
        .into_iter()
        .find(is_code)
        .unwrap_or(SqlState::CONFIG_FILE_ERROR);
    Ok(StatementError::statement(code, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_is_cancelled_while_catalogues_are_read_is_cancelled() {
        for (code, told) in [("57014", "57014"), ("40001", "40001"), ("42501", "F0000")] {
            let body = format!("SERROR\0VERROR\0C{code}\0Mno\0\0");
            let failure = load_failed(body.as_bytes()).expect("fields");
            assert_eq!(failure.sqlstate, told);
            assert!(failure.message.ends_with(": no"));
        }
    }
}
