//! Counts the ReadyForQuery messages that the server still owes in a session without rules, where
//! messages are forwarded unchanged and only their kinds are seen.
//!
//! The server does not answer every message. It ignores Sync while it takes the rows of a COPY, and
//! after an error in the extended protocol it skips everything up to the next Sync. When unsure
//! whether it skipped a Query, assume that it did: the session may then end a moment too early when
//! the proxy stops.

use std::collections::VecDeque;

use wire_postgres::{backend, frontend};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Sync,
    /// Query or FunctionCall.
    Query {
        /// Messages of the extended protocol precede it without a Sync between.
        is_behind: bool,
    },
    /// CopyDone or CopyFail: it is not answered, but a Sync after it is.
    RowsEnd,
}

/// What the server owes.
#[derive(Debug, Default)]
pub(super) struct Due {
    asked: VecDeque<Asked>,
    /// Messages of the extended protocol were sent since the last Sync.
    is_unsynced: bool,
    /// The server skips everything up to a Sync that has not come.
    is_skipping: bool,
    /// The server takes the rows of a COPY.
    takes_rows: bool,
    /// A transaction block was open at the last ReadyForQuery.
    in_block: bool,
}

impl Due {
    /// Whether the server owes nothing and no transaction block is open.
    pub(super) fn is_between_transactions(&self) -> bool {
        self.is_empty() && !self.in_block
    }

    /// Notes the transaction status byte of ReadyForQuery.
    pub(super) fn note_status(&mut self, status: u8) {
        self.in_block = status != b'I';
    }

    /// Whether the server owes nothing.
    fn is_empty(&self) -> bool {
        let mut asked = self.asked.iter();
        asked.all(|asked| *asked == Asked::RowsEnd)
    }

    /// Notes a message of the client.
    pub(super) fn note_client(&mut self, kind: u8) {
        use frontend::kind;
        match kind {
            kind::SYNC if self.takes_rows => {}
            kind::SYNC => {
                self.is_unsynced = false;
                self.is_skipping = false;
                self.asked.push_back(Asked::Sync);
            }
            kind::QUERY | kind::FUNCTION_CALL if self.is_skipping => {}
            kind::QUERY | kind::FUNCTION_CALL => {
                let is_behind = self.is_unsynced;
                self.asked.push_back(Asked::Query { is_behind });
            }
            kind::COPY_DONE | kind::COPY_FAIL if self.takes_rows => self.takes_rows = false,
            kind::COPY_DONE | kind::COPY_FAIL => self.asked.push_back(Asked::RowsEnd),
            kind::PARSE | kind::BIND | kind::DESCRIBE | kind::EXECUTE | kind::CLOSE => {
                self.is_unsynced = true;
            }
            _ => {}
        }
    }

    /// Notes a message of the server.
    pub(super) fn note_server(&mut self, kind: u8) {
        use backend::kind;
        match kind {
            kind::READY_FOR_QUERY => self.note_ready(),
            kind::ERROR => self.note_error(),
            kind::COPY_IN => self.note_copy(),
            _ => {}
        }
    }

    fn note_ready(&mut self) {
        self.is_skipping = false;
        self.takes_rows = false;
        // What is first and can be answered; ends of rows before it belong to a COPY that failed.
        while self.asked.pop_front() == Some(Asked::RowsEnd) {}
        if self.is_empty() {
            self.asked = VecDeque::new();
        }
    }

    fn note_error(&mut self) {
        self.takes_rows = false;
        let mut asked = self.asked.iter().copied();
        let next = asked.find(|asked| *asked != Asked::RowsEnd);
        match next {
            None => self.is_skipping = self.is_unsynced,
            Some(Asked::Query { is_behind: true }) => {
                let sync = self.asked.iter().position(|asked| *asked == Asked::Sync);
                self.asked.drain(..sync.unwrap_or(self.asked.len()));
                self.is_skipping = self.asked.is_empty();
            }
            Some(_) => {}
        }
    }

    /// The server is about to take rows.
    fn note_copy(&mut self) {
        let by_query = matches!(self.asked.front(), Some(Asked::Query { .. }));
        let first = usize::from(by_query);
        while self.asked.get(first) == Some(&Asked::Sync) {
            self.asked.remove(first);
        }
        match self.asked.get(first) {
            None => {
                self.takes_rows = true;
                self.is_unsynced |= !by_query;
            }
            Some(Asked::RowsEnd) => drop(self.asked.remove(first)),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Due;

    /// Messages of the client, and in brackets of the server. Whether nothing is due behind them.
    fn is_empty(messages: &str) -> bool {
        let mut due = Due::default();
        let mut is_client = true;
        for kind in messages.bytes() {
            match kind {
                b'[' => is_client = false,
                b']' => is_client = true,
                kind if is_client => due.note_client(kind),
                kind => due.note_server(kind),
            }
        }
        due.is_empty()
    }

    #[test]
    fn messages_that_the_server_answers_are_due() {
        for messages in [
            "Q",
            "QQ[Z]",
            "PBES",
            "PBES[12C]",
            "PBESQ[12CZ]",
            "BES[G]ddcS",
        ] {
            assert!(!is_empty(messages), "{messages}");
        }
        for messages in [
            "",
            "Q[TDCZ]",
            "QQ[CZCZ]",
            "PBES[12CZ]",
            "PBESQ[12CZCZ]",
            "F[VZ]",
        ] {
            assert!(is_empty(messages), "{messages}");
        }
    }

    #[test]
    fn a_sync_among_the_rows_of_a_copy_is_not_due() {
        for messages in [
            "BES[2G]ddcS[CZ]",
            "BE[2G]SddcS[CZ]",
            "BESSddcS[2GCZ]",
            "BESddfS[2GEZ]",
            "Q[G]dSdc[CZ]",
            "Qdc[GCZ]Q[Z]",
            "BES[2G]d[E]cS[Z]",
            // It failed before it began.
            "Qdc[EZ]",
            "Qdc[EZ]BES[2G]ddcS[CZ]",
        ] {
            assert!(is_empty(messages), "{messages}");
        }
        for messages in ["BES[2G]ddcS[C]", "Q[G]ddcQ[CZ]", "BESddcSQ[2GCZ]"] {
            assert!(!is_empty(messages), "{messages}");
        }
    }

    #[test]
    fn a_query_that_the_server_skips_is_not_due() {
        for messages in [
            "PQS[EZ]",
            "P[E]QS[Z]",
            "PQQ[E]QS[Z]",
            "PBEQS[12CEZZ]",
            "QS[EZZ]",
        ] {
            assert!(is_empty(messages), "{messages}");
        }
        for messages in ["PQS[E]", "QQ[EZ]", "PSQ[EZ]", "P[E]QSQ[Z]"] {
            assert!(!is_empty(messages), "{messages}");
        }
    }
}
