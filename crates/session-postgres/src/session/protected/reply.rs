//! The server's answers, translated for the client.

use session_core::{Fault, StatementError};
use sqlstate::SqlState;
use wire_postgres::Malformed;
use wire_postgres::backend;

use super::loads::{draw_failed, load_failed};
use super::{Outputs, Protected};
use crate::session::End;
use crate::session::answers::{Expected, Unseen, is_query};
use crate::session::failure::write_error;
use crate::session::rows;
use crate::session::statements::StatementMessages;
use crate::session::unconfirmed::ChangedBy;

impl Protected {
    /// Takes a message of the server. ParameterStatus has been noted before.
    pub(in crate::session) fn server_message(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let body = &message[wire_postgres::HEADER_SIZE..];
        match kind {
            backend::kind::NOTICE | backend::kind::PARAMETER_STATUS => {
                outputs.to_client.extend_from_slice(message);
                Ok(())
            }
            backend::kind::ERROR => self.server_error(body, message, outputs),
            backend::kind::READY_FOR_QUERY => self.ready(body, message, outputs),
            _ => self.answer(kind, message, outputs),
        }
    }

    fn answer(&mut self, kind: u8, message: &[u8], outputs: &mut Outputs<'_>) -> Result<(), End> {
        use backend::kind as k;
        self.flush_proxy_replies(outputs);
        let body = &message[wire_postgres::HEADER_SIZE..];
        let front = self.answers.front().ok_or_else(End::unexpected)?;
        let is_last = match (front, kind) {
            (Expected::Load { .. }, _) => return self.load_answer(kind, body, outputs),
            (Expected::Query(..), _) => return self.query_answer(kind, message, outputs),
            (Expected::DescribePart(_), _) => self.part_answer(kind, message, outputs)?,
            (Expected::DescribeStatement(..), _) => self.description(kind, message, outputs)?,
            (Expected::DescribeCursor(said), k::ROW_DESCRIPTION | k::NO_DATA) => {
                outputs.to_client.extend_from_slice(said);
                true
            }
            (Expected::DescribePortal(_) | Expected::DescribeRows(..), _) => {
                self.columns(kind, message, outputs)?
            }
            (Expected::Unseen(_), _) => self.unseen_answer(kind, message, outputs)?,
            (Expected::Writes(_), _) => self.write_answer(kind, message, outputs)?,
            (Expected::DescribeFinish(_), _) => self.finish_answer(kind, body, outputs)?,
            (Expected::Step(step), k::DATA_ROW) => {
                step.row(body, self.settings.context(), outputs.to_client)?;
                false
            }
            (Expected::Step(step), k::ROW_DESCRIPTION) => {
                step.columns(body, self.settings.context(), outputs.to_client)?;
                false
            }
            (Expected::Step(_), k::COMMAND_COMPLETE | k::PORTAL_SUSPENDED) => {
                let Some(Expected::Step(step)) = self.answers.pop() else {
                    return Err(End::unexpected());
                };
                return self.end_step(*step, outputs);
            }
            (Expected::Parse, k::PARSE_COMPLETE) => {
                self.confirm(ChangedBy::Parse, message, outputs)
            }
            (Expected::CloseStatement, k::CLOSE_COMPLETE) => {
                self.confirm(ChangedBy::Close, message, outputs)
            }
            (Expected::Execute(..), _) => self.execute_answer(kind, message, outputs)?,
            (Expected::Bind(_), k::BIND_COMPLETE) | (Expected::Close, k::CLOSE_COMPLETE) => {
                outputs.to_client.extend_from_slice(message);
                true
            }
            _ => return Err(End::unexpected()),
        };
        if is_last {
            self.answers.pop();
            self.flush_proxy_replies(outputs);
        }
        Ok(())
    }

    /// Takes an answer to Execute. True: it was the last one.
    fn execute_answer(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        let Some(Expected::Execute(shape, reading)) = self.answers.front() else {
            return Err(End::unexpected());
        };
        let tag = shape.as_ref().and_then(|shape| shape.tag());
        match (kind, shape) {
            (k::DATA_ROW, Some(shape)) => {
                shape.write_row(body, self.settings.context(), outputs.to_client)?;
                if let Some(reading) = reading {
                    shape.note_locked(body, reading)?;
                }
                Ok(false)
            }
            (k::DATA_ROW, None) => {
                outputs.to_client.extend_from_slice(message);
                Ok(false)
            }
            (k::COPY_IN | k::COPY_OUT | k::COPY_DATA | k::COPY_DONE, _) => {
                self.copy_answer(kind, message, outputs)?;
                Ok(false)
            }
            (k::COMMAND_COMPLETE | k::EMPTY_QUERY | k::PORTAL_SUSPENDED, _) => {
                if kind == k::COMMAND_COMPLETE {
                    if let Some(reading) = reading.take() {
                        self.locks.keep(*reading);
                    }
                    self.note_tag(body);
                }
                write_tag(tag, message, outputs);
                Ok(true)
            }
            _ => Err(End::unexpected()),
        }
    }

    /// Takes an answer to Describe of a statement. True: it was the last one.
    fn description(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        let Some(Expected::DescribeStatement(statement, columns)) = self.answers.front() else {
            return Err(End::unexpected());
        };
        let plan = &statement.plan;
        match (kind, plan.front(0)) {
            (k::PARAMETER_DESCRIPTION, Some(at)) => {
                statement.write_parameters(at, body, outputs.to_client)?;
            }
            (k::ROW_DESCRIPTION, _) if let Some(columns) = columns => {
                outputs.to_client.extend_from_slice(columns);
            }
            (k::ROW_DESCRIPTION, Some(at)) if !plan.outputs(at).is_empty() => {
                rows::write_description(plan, at, body, |_| 0, outputs.to_client)?;
            }
            (k::PARAMETER_DESCRIPTION | k::ROW_DESCRIPTION | k::NO_DATA, _) => {
                outputs.to_client.extend_from_slice(message);
            }
            _ => return Err(End::unexpected()),
        }
        Ok(kind != k::PARAMETER_DESCRIPTION)
    }

    /// Takes an answer to Describe of a portal. True: it was the last one.
    fn columns(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        match (self.answers.front(), kind) {
            (Some(Expected::DescribeRows(..)), k::PARAMETER_DESCRIPTION) => return Ok(false),
            (_, k::NO_DATA) | (Some(Expected::DescribePortal(None)), k::ROW_DESCRIPTION) => {
                outputs.to_client.extend_from_slice(message);
            }
            (
                Some(
                    Expected::DescribePortal(Some(shape)) | Expected::DescribeRows(Some(shape), _),
                ),
                k::ROW_DESCRIPTION,
            ) => shape.write_description(body, outputs.to_client)?,
            (Some(Expected::DescribeRows(None, formats)), k::ROW_DESCRIPTION) => {
                rows::write_plain_description(body, formats, outputs.to_client)?;
            }
            _ => return Err(End::unexpected()),
        }
        Ok(true)
    }

    /// Takes an answer to Describe of a part of a statement. True: it was the last one.
    fn part_answer(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        let Some(Expected::DescribePart(part)) = self.answers.front() else {
            return Err(End::unexpected());
        };
        let plan = &part.statement.plan;
        let is_answer = plan.answering(part.at.index) == Some(part.at);
        match kind {
            k::PARAMETER_DESCRIPTION => {
                let server = backend::read_parameter_description(body)?;
                let statement = &part.statement;
                statement.note_types(part.at, &server, self.pipeline.described_types());
                if part.is_last {
                    let types = std::mem::take(self.pipeline.described_types());
                    let types = statement.parameter_types(part.at, types);
                    backend::write_parameter_description(&types, outputs.to_client);
                }
                return Ok(false);
            }
            k::ROW_DESCRIPTION if part.is_last && is_answer => {
                if plan.outputs(part.at).is_empty() {
                    outputs.to_client.extend_from_slice(message);
                } else {
                    rows::write_description(plan, part.at, body, |_| 0, outputs.to_client)?;
                }
            }
            k::NO_DATA | k::ROW_DESCRIPTION if part.is_last => {
                backend::write_empty(k::NO_DATA, outputs.to_client);
            }
            k::NO_DATA | k::ROW_DESCRIPTION => {}
            _ => return Err(End::unexpected()),
        }
        Ok(true)
    }

    /// Takes an answer that the client does not see. True: it was the last one.
    fn unseen_answer(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        let Some(Expected::Unseen(unseen)) = self.answers.front() else {
            return Err(End::unexpected());
        };
        match (unseen, kind) {
            (Unseen::ParseAgain, k::PARSE_COMPLETE) => {
                self.statements.confirm(ChangedBy::Parse);
                Ok(true)
            }
            (Unseen::Parse(_), k::PARSE_COMPLETE)
            | (Unseen::Bind, k::BIND_COMPLETE)
            | (Unseen::Close, k::CLOSE_COMPLETE)
            | (Unseen::Describe(_), k::NO_DATA) => Ok(true),
            (Unseen::Describe(_), k::PARAMETER_DESCRIPTION) => Ok(false),
            (Unseen::Describe(shape), k::ROW_DESCRIPTION) => {
                match shape {
                    Some(shape) => shape.write_description(body, outputs.to_client)?,
                    None => outputs.to_client.extend_from_slice(message),
                }
                Ok(true)
            }
            _ => Err(End::unexpected()),
        }
    }

    /// Takes an answer to a statement that writes a row. True: it was the last one.
    fn write_answer(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        let Some(Expected::Writes(writes)) = self.answers.front() else {
            return Err(End::unexpected());
        };
        match kind {
            k::BIND_COMPLETE => {
                if let Some(others) = writes.others.pop_front() {
                    outputs.to_client.extend_from_slice(&others);
                }
            }
            // Several statements of a Query have no name, one after the other.
            k::CLOSE_COMPLETE | k::PARSE_COMPLETE => {}
            k::DATA_ROW => match &writes.shape {
                Some(shape) => shape.write_row(body, self.settings.context(), outputs.to_client)?,
                None => outputs.to_client.extend_from_slice(message),
            },
            k::COMMAND_COMPLETE => {
                let count = rows_of_tag(body);
                writes.count += count;
                writes.left = writes.left.saturating_sub(1);
                let (left, total, verb) = (writes.left, writes.count, writes.verb);
                if count != 1 {
                    // The server did not write the computed row, for instance because of a trigger.
                    self.locks.forget();
                }
                if left == 0 {
                    for others in writes.others.drain(..) {
                        outputs.to_client.extend_from_slice(&others);
                    }
                    backend::write_command_complete(&format!("{verb} {total}"), outputs.to_client);
                    return Ok(true);
                }
            }
            _ => return Err(End::unexpected()),
        }
        Ok(false)
    }

    fn query_answer(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        if kind == k::COMMAND_COMPLETE {
            self.note_tag(body);
        }
        let Some(Expected::Query(shapes, reading)) = self.answers.front() else {
            return Err(End::unexpected());
        };
        match (kind, shapes.front()) {
            (k::ROW_DESCRIPTION, Some(Some(shape))) => {
                shape.write_description(body, outputs.to_client)?;
            }
            (k::DATA_ROW, Some(Some(shape))) => {
                shape.write_row(body, self.settings.context(), outputs.to_client)?;
                if let Some(reading) = reading {
                    shape.note_locked(body, reading)?;
                }
            }
            (k::COMMAND_COMPLETE | k::EMPTY_QUERY, _) => {
                if let Some(reading) = reading.take() {
                    self.locks.keep(*reading);
                }
                let shape = shapes.pop_front().flatten();
                write_tag(shape.and_then(|shape| shape.tag()), message, outputs);
            }
            (k::COPY_IN | k::COPY_OUT | k::COPY_DATA | k::COPY_DONE, _) => {
                self.copy_answer(kind, message, outputs)?;
            }
            (k::ROW_DESCRIPTION | k::DATA_ROW | k::FUNCTION_RESULT, None | Some(None)) => {
                outputs.to_client.extend_from_slice(message);
            }
            _ => return Err(End::unexpected()),
        }
        Ok(())
    }

    fn server_error(
        &mut self,
        body: &[u8],
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        if is_fatal(body)? {
            outputs.to_client.extend_from_slice(message);
            return Ok(());
        }
        self.flush_proxy_replies(outputs);
        self.locks.note_error();
        self.objects.note_error();
        let had_failed = self.transaction.has_failed();
        self.transaction.note_error();
        let refused = self.copy.end();
        match self.answers.front() {
            Some(Expected::Fail(failure) | Expected::FailQuery(failure)) => {
                match had_failed && is_found_by_analysis(failure) {
                    true => write_error(&transaction_failed(), outputs.to_client),
                    false => write_error(failure, outputs.to_client),
                }
            }
            Some(Expected::Load { .. }) => {
                let failure = match self.schema.is_drawing() {
                    true => draw_failed(body)?,
                    false => load_failed(body)?,
                };
                self.pipeline.drop_drawing();
                if let Some(failure) = self.schema.fail_load(failure) {
                    self.copy.drop_held();
                    write_error(&failure, outputs.to_client);
                }
            }
            _ => match refused {
                Some(failure) => write_error(&failure, outputs.to_client),
                None => self.pass_error(body, message, outputs)?,
            },
        }
        if matches!(
            self.answers.front(),
            Some(Expected::Query(..) | Expected::FailQuery(_) | Expected::Sync) | None
        ) {
            // The server skips the rest of the Query.
            self.undo_skipped();
            return Ok(());
        }
        self.skip(outputs);
        Ok(())
    }

    /// Notes that the server skips everything up to the next Sync.
    fn skip(&mut self, outputs: &mut Outputs<'_>) {
        let skipped = self.answers.skip_to_sync();
        for (index, skipped) in skipped.into_iter().enumerate() {
            self.note_skipped(skipped, index == 0);
        }
        self.undo_skipped();
        if !self.answers.has_sync() {
            if self.script.take().is_some() {
                self.end_script(outputs);
            } else {
                self.pipeline.skip();
            }
        }
    }

    /// Takes back what the statements would have done that the server has not executed.
    fn undo_skipped(&mut self) {
        let batch = self.answers.batch_answered();
        self.statements.undo(batch);
        self.objects.undo(batch);
    }

    /// Notes that a message was not executed: it has failed, or an earlier one.
    fn note_skipped(&mut self, skipped: Expected, has_failed: bool) {
        let batch = self.answers.batch_answered();
        match skipped {
            Expected::Bind(name) | Expected::ProxyBindReply(name) => {
                self.portals.remove_of(&name, batch);
            }
            Expected::Load { .. } => self.schema.drop_load(),
            Expected::Step(_) | Expected::DescribeFinish(_) => self.pipeline.open(),
            Expected::DescribePart(_) => self.pipeline.described_types().clear(),
            Expected::Unseen(Unseen::Parse(number)) => self.own.forget(number),
            Expected::Unseen(Unseen::ParseAgain) if has_failed => {
                self.statements.fail_behind_close();
            }
            _ => {}
        }
    }

    fn ready(&mut self, body: &[u8], message: &[u8], outputs: &mut Outputs<'_>) -> Result<(), End> {
        let [status] = *body else {
            return Err(Malformed.into());
        };
        let was_in_block = !self.transaction.is_outside_block();
        self.transaction.note_ready(status);
        self.copy.end();
        self.flush_proxy_replies(outputs);
        let batch = self.answers.batch_answered();
        self.undo_skipped();
        self.answers.end_batch();
        if status == b'I' || self.transaction.is_ending() {
            // COMMIT AND CHAIN ends a transaction, too.
            self.schema.publish_changes();
            self.schema.doubt_changes();
            self.schema.forget_moment();
        }
        if status == b'I' {
            self.portals.clear_of(batch);
            self.schema.drop_own_schema();
            if !self.locks.is_in_block() && !self.transaction.in_pipeline() {
                self.settings.end_transaction();
            }
        }
        let answered = self.answers.pop();
        let is_query = answered.as_ref().is_some_and(is_query);
        match answered {
            Some(Expected::Sync | Expected::Query(..) | Expected::FailQuery(_)) => {
                outputs.to_client.extend_from_slice(message);
            }
            Some(Expected::LoadSync) => self.end_load(outputs)?,
            Some(Expected::Unseen(Unseen::Sync)) => {}
            _ => return Err(End::unexpected()),
        }
        // A Flush may have come for replies of the proxy's own, to which the server adds nothing.
        self.flush_proxy_replies(outputs);
        self.locks
            .note_ready(status == b'T', self.answers.is_empty());
        if self.answers.is_empty() && !self.transaction.in_pipeline() {
            // Everything that was sent has been answered.
            self.transaction.note_nothing_under_way();
            self.settings.forget_forms();
            self.settings.context().noted.clear();
            if status == b'I' {
                self.schema.settle_changes();
            }
        }
        if status == b'I' {
            self.end_transaction(was_in_block, is_query);
        }
        Ok(())
    }
}

/// The number of rows in the tag of CommandComplete, such as `UPDATE 5`.
fn rows_of_tag(body: &[u8]) -> u64 {
    let tag = String::from_utf8_lossy(body);
    let last = tag.trim_end_matches('\0').rsplit(' ').next();
    last.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Whether the session ends with an error.
pub(in crate::session) fn is_fatal(body: &[u8]) -> Result<bool, Malformed> {
    let fields = backend::read_fields(body)?;
    Ok(fields
        .iter()
        .any(|(letter, text)| *letter == b'V' && matches!(*text, b"FATAL" | b"PANIC")))
}

/// Passes a CommandComplete on, with another tag if there is one.
fn write_tag(tag: Option<&str>, message: &[u8], outputs: &mut Outputs<'_>) {
    match tag {
        Some(tag) => backend::write_command_complete(tag, outputs.to_client),
        None => outputs.to_client.extend_from_slice(message),
    }
}

/// Whether the server would find an error only after it has parsed the statement. In a transaction
/// that has failed it looks no further than that. What the proxy does not support stays its own
/// error: the same text may also end the transaction.
fn is_found_by_analysis(error: &StatementError) -> bool {
    let is_of_client = matches!(error.fault, Fault::Statement | Fault::Value);
    let is_own = [SqlState::SYNTAX_ERROR, SqlState::FEATURE_NOT_SUPPORTED];
    is_of_client && !error.ends_session && !is_own.contains(&error.sqlstate)
}

pub(super) fn transaction_failed() -> StatementError {
    StatementError::statement(
        SqlState::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}
