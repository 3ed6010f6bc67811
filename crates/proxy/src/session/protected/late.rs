//! Writing late: rows whose outcome is known go to the server with the client's next message.
//!
//! A row that the transaction has locked can be written at any time before its next statement, and
//! nobody can tell. Where the server cannot refuse it
//! ([`sql_rewrite::ReadModifyWrite::is_certain`]) the client is told at once, so that the write
//! costs no round trip of its own.
//!
//! Invariants:
//! 1. What is late goes to the server before any Bind, Execute, Describe, Close or Query of the
//!    client, except of `ROLLBACK`.
//! 2. It is dropped only where the transaction is rolled back with it: by an error, by `ROLLBACK`
//!    (`TO`, too: each savepoint is older), or by the end of the session.
//! 3. Should the server fail on it all the same, that is the outcome of the client's next
//!    statement, which the server then leaves out; `COMMIT` is one.
//! 4. Should it write another number of rows than the client was told, the session ends.

use sql_rewrite::TransactionEffect;
use wire_postgres::backend;
use wire_postgres::frontend::{self, Bind};
use wire_postgres::{HEADER_SIZE, Header};

use super::{Protected, Ways};
use crate::session::answers::{Expected, Unseen, Writes};
use crate::session::statements::Statement;
use crate::session::step::Step;
use crate::statement_error::StatementError;

/// More bytes than these are not kept back.
const SIZE_MAX: usize = 64 * 1024;

/// What is late.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// Messages for the server.
    bytes: Vec<u8>,
    /// For each statement among them: how many rows the client was told.
    rows: Vec<usize>,
    /// A step was sent without Flush: the client's Sync is expected, which makes the server answer
    /// as well.
    pub awaits_sync: bool,
    /// The server's error about what was late, while a Query waits for it.
    failure: Option<Vec<u8>>,
}

impl Late {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl Protected {
    /// Keeps back what was written for the server from `start` on, and writes this many rows, each
    /// by a statement of its own. False: it must go now.
    pub(super) fn keep_back(&mut self, start: usize, rows: usize, ways: &mut Ways<'_>) -> bool {
        let bytes = &ways.to_server[start..];
        if self.late.bytes.len() + bytes.len() > SIZE_MAX || has_null(bytes) {
            // Those that are late already come before.
            let own = ways.to_server.split_off(start);
            self.write_late(ways);
            ways.to_server.extend_from_slice(&own);
            return false;
        }
        self.late.bytes.extend_from_slice(bytes);
        self.late.rows.push(rows);
        ways.to_server.truncate(start);
        true
    }

    /// What is late goes to the server.
    pub(super) fn write_late(&mut self, ways: &mut Ways<'_>) {
        ways.to_server.append(&mut self.late.bytes);
        for rows in self.late.rows.drain(..) {
            self.answers.push(Expected::Writes(Writes {
                left: rows,
                count: 0,
                shape: None,
                is_said: true,
            }));
        }
    }

    /// It is void: the transaction is rolled back.
    pub(super) fn drop_late(&mut self) {
        self.late.bytes.clear();
        self.late.rows.clear();
    }

    /// A statement of the client's is executed, which was bound at the server before.
    pub(super) fn end_late(&mut self, statement: &Statement, ways: &mut Ways<'_>) {
        if rolls_back(statement) {
            self.drop_late();
        } else {
            self.write_late(ways);
        }
    }

    /// The client's Sync, where the server has nothing to say to it. False: it has.
    pub(super) fn answer_sync(&mut self, ways: &mut Ways<'_>) -> bool {
        if self.late.is_empty() || self.is_unsynced || self.status != b'T' {
            return false;
        }
        self.say_own(ways);
        if !self.answers.is_empty() {
            return false;
        }
        self.say_ready(ways);
        true
    }

    /// The client's Sync is sent behind a step: the step can send nothing more before it.
    pub(super) fn sync_step(&mut self) {
        if !std::mem::take(&mut self.late.awaits_sync) {
            return;
        }
        if let Some(Expected::Step(step)) = self.answers.back() {
            match &mut **step {
                Step::Modify(modify) => modify.is_synced = true,
                Step::Finish(finishing) => finishing.is_synced = true,
            }
            self.is_waiting = true;
        }
    }

    /// Something else came than Sync: the step is asked for by itself.
    pub(super) fn await_step(&mut self, ways: &mut Ways<'_>) {
        self.late.awaits_sync = false;
        self.is_waiting = true;
        backend::write_empty(frontend::kind::FLUSH, ways.to_server);
    }

    /// Writes what is late, and waits for its outcome: a Query is executed whatever happened
    /// before.
    pub(super) fn settle(&mut self, ways: &mut Ways<'_>) {
        self.write_late(ways);
        backend::write_empty(frontend::kind::SYNC, ways.to_server);
        self.answers.push(Expected::Settled);
        self.is_unsynced = false;
        self.is_waiting = true;
    }

    /// The server failed on what a Query waits for. False: it does not.
    pub(super) fn note_late_failure(&mut self, message: &[u8]) -> bool {
        let is_settling = matches!(self.answers.next_sync(), Some(Expected::Settled));
        if is_settling {
            self.late.failure = Some(message.to_vec());
        }
        is_settling
    }

    /// Answers a Query by the error of what was late, but `ROLLBACK`. False: there is none.
    pub(super) fn answer_by_failure(&mut self, text: &[u8], ways: &mut Ways<'_>) -> bool {
        let Some(message) = self.late.failure.take() else {
            return false;
        };
        if begins_with_rollback(&String::from_utf8_lossy(text)) {
            return false;
        }
        ways.to_client.extend_from_slice(&message);
        self.say_ready(ways);
        true
    }

    /// The Sync behind a step is answered to nobody: more is sent before the client's next turn.
    pub(super) fn reopen(&mut self) {
        if let Some(sync @ Expected::Sync) = self.answers.front() {
            *sync = Expected::Unseen(Unseen::Sync);
        }
    }

    /// What was sent since [`Self::reopen`] is all; its Sync is the client's.
    pub(super) fn sync_again(&mut self, ways: &mut Ways<'_>) {
        backend::write_empty(frontend::kind::SYNC, ways.to_server);
        self.answers.push(Expected::Sync);
    }

    /// Makes the server fail in place of a step behind which Sync was sent.
    pub(super) fn fail_synced(&mut self, failure: StatementError, ways: &mut Ways<'_>) {
        self.reopen();
        self.refuse(failure, ways);
        self.sync_again(ways);
    }
}

/// Whether a Bind among the messages has NULL for a value.
fn has_null(mut messages: &[u8]) -> bool {
    while let Ok(Some(header)) = Header::read(messages, usize::MAX) {
        let Some((message, rest)) = messages.split_at_checked(header.size) else {
            return true;
        };
        if header.kind == frontend::kind::BIND {
            let bind = Bind::read(&message[HEADER_SIZE..]);
            if bind.is_ok_and(|bind| bind.parameters.iter().all(|value| value.is_some())) {
                messages = rest;
                continue;
            }
            return true;
        }
        messages = rest;
    }
    false
}

/// Whether a statement takes back what was done since any savepoint.
pub(super) fn rolls_back(statement: &Statement) -> bool {
    let effects = statement.plan.effects(0);
    match effects.and_then(|effects| effects.transaction.as_ref()) {
        Some(TransactionEffect::RollbackTo) => true,
        Some(TransactionEffect::End) => begins_with_rollback(&statement.text),
        _ => false,
    }
}

/// In doubt it does not: then what is late is written before.
fn begins_with_rollback(text: &str) -> bool {
    let word = text.trim_start().split(|c: char| !c.is_ascii_alphabetic());
    let first = word.into_iter().next().unwrap_or_default();
    ["rollback", "abort"]
        .iter()
        .any(|own| first.eq_ignore_ascii_case(own))
}
