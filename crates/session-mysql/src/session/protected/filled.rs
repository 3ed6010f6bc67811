//! How queries are carried out that the finisher answers.

use std::sync::Arc;

use session_core::StatementError;
use session_core::counters::add;
use session_core::plans::TextPlan;
use wire_mysql::command::{kind, write_text};
use wire_mysql::packet::{self, Header};

use super::filling::{Asked, Filling, Taken, warning_of};
use super::{Protected, Reach, Work};
use crate::finisher::{FinisherAnswer, FinisherRequest};
use crate::refusal::Refusal;

impl Protected {
    /// Begins a query.
    pub(super) fn fill(
        &mut self,
        asked: (Arc<TextPlan>, &[u8], Asked),
        sequence: u8,
        reach: &mut Reach<'_>,
    ) {
        let Some(settings) = &self.settings else {
            return;
        };
        let shared = self.shared();
        let (rows, bytes) = (shared.finish_rows_max(), shared.finish_bytes_max());
        let limits = (rows, bytes, *reach.status);
        match Filling::begin(asked, settings, limits, sequence) {
            Err(error) => self.refuse(&error, sequence, reach),
            // Who begins a transaction unlocks all tables.
            Ok((filling, _)) if self.client.has_locked_tables && filling.begins_transaction() => {
                let message = "a write that the finisher evaluates while tables are locked";
                let error = StatementError::unsupported(message)
                    .hint("Use a transaction in the place of LOCK TABLES.");
                self.refuse(&error, sequence, reach);
            }
            Ok((filling, text)) => {
                self.send(|out| write_text(kind::QUERY, text.as_bytes(), out), reach);
                self.work = Work::Filling(Box::new(filling));
            }
        }
    }

    /// Takes a payload of the server for such a query.
    pub(super) fn filled(
        &mut self,
        packet: (Header, &[u8]),
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let Work::Filling(filling) = &mut self.work else {
            return Ok(());
        };
        let taken = filling.take(packet, (reach.capabilities, reach.status));
        if filling.is_damaged {
            add(&self.view.shared().counters().values_damaged, 1);
        }
        self.go_on_filling(taken?, reach);
        Ok(())
    }

    fn go_on_filling(&mut self, taken: Taken, reach: &mut Reach<'_>) {
        let Work::Filling(filling) = &mut self.work else {
            return;
        };
        let (mut sequence, fetched) = (filling.sequence, filling.fetched);
        match taken {
            Taken::More => {}
            Taken::Sends(command) => self.send(|out| out.extend_from_slice(&command), reach),
            Taken::Asks(request) => {
                let counters = self.view.shared().counters();
                add(&counters.queries_finished, 1);
                add(&counters.rows_finished, fetched as u64);
                self.request = Some(request);
            }
            Taken::Answers(answer) => {
                self.told.rows = match warning_of(&answer) {
                    error if !error.is_empty() => error,
                    _ => filling.take_warnings(),
                };
                packet::write_bytes(&answer, &mut sequence, reach.to_client);
                self.work = Work::Nothing;
            }
            Taken::Returns(rows) => {
                let work = std::mem::replace(&mut self.work, Work::Nothing);
                if let Work::Filling(filling) = work {
                    self.answer_with(*filling, FinisherAnswer::Rows(*rows), reach);
                }
            }
            Taken::Fails(refusal) => self.refuse_as(refusal, sequence, reach),
        }
    }

    /// Writes the answer to a statement that is done.
    fn answer_with(&mut self, filling: Filling, answer: FinisherAnswer, reach: &mut Reach<'_>) {
        let (sequence, stand_in) = (filling.sequence, filling.stand_in());
        let session = (reach.capabilities, *reach.status);
        let prepared = match filling.answer(answer, session, reach.to_client) {
            Ok(left) => {
                self.told.rows = left.warnings;
                left.prepared
            }
            Err(refusal) => {
                self.refuse_as(refusal, sequence, reach);
                None
            }
        };
        match (prepared, stand_in) {
            (Some((number, prepared)), _) => self.statements.put(number, prepared),
            // Nobody knows it who would close it.
            (None, Some(number)) => {
                let close = |out: &mut Vec<u8>| {
                    out.push(kind::STMT_CLOSE);
                    out.extend_from_slice(&number.to_le_bytes());
                };
                self.send_as_it_came(close, reach);
            }
            (None, None) => {}
        }
    }

    /// The question to the finisher, once there is one.
    pub(in crate::session) fn take_request(&mut self) -> Option<FinisherRequest> {
        self.request.take().map(|request| *request)
    }

    /// Takes the finisher's answer.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(in crate::session) fn finisher_answered(
        &mut self,
        answer: FinisherAnswer,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        self.take_finished(answer, reach)?;
        self.answer_unsent(reach)
    }

    fn take_finished(
        &mut self,
        answer: FinisherAnswer,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let work = std::mem::replace(&mut self.work, Work::Nothing);
        let mut filling = match work {
            Work::Filling(filling) => filling,
            Work::Weighing(weighing) => return self.weighed(*weighing, answer, reach),
            other => {
                self.work = other;
                return Ok(());
            }
        };
        let sequence = filling.sequence;
        self.told.has_other_counts = true;
        if let (true, Some(settings)) = (filling.writes(), &self.settings) {
            let taken = filling.changed(answer, settings);
            self.work = Work::Filling(filling);
            match taken {
                Ok(taken) => self.go_on_filling(taken, reach),
                Err(refusal) => self.refuse_as(refusal, sequence, reach),
            }
            return Ok(());
        }
        self.answer_with(*filling, answer, reach);
        Ok(())
    }
}
