//! The server's answers, in the order in which they are expected.

use wire_postgres::Malformed;
use wire_postgres::backend::{self, Failure};

use super::{Protected, Stale, Ways};
use crate::session::End;
use crate::session::answers::Expected;
use crate::session::rows::{self, RowError};

impl Protected {
    /// Takes a message of the server. ParameterStatus was noted before.
    pub(in crate::session) fn server_message(
        &mut self,
        kind: u8,
        message: &[u8],
        ways: &mut Ways<'_>,
    ) -> Result<(), End> {
        let body = &message[wire_postgres::HEADER_SIZE..];
        match kind {
            backend::kind::NOTICE | backend::kind::PARAMETER_STATUS => {
                ways.to_client.extend_from_slice(message);
                Ok(())
            }
            backend::kind::ERROR => self.server_error(body, message, ways),
            backend::kind::READY_FOR_QUERY => self.ready(body, message, ways),
            _ => self.answer(kind, message, ways),
        }
    }

    fn answer(&mut self, kind: u8, message: &[u8], ways: &mut Ways<'_>) -> Result<(), End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        let is_last = match (self.answers.front().ok_or_else(unexpected)?, kind) {
            (Expected::Load { .. }, _) => return self.load_answer(kind, body),
            (Expected::Query(_), _) => return self.query_answer(kind, message, ways),
            (Expected::Parse(_), k::PARSE_COMPLETE)
            | (Expected::Bind(_), k::BIND_COMPLETE)
            | (Expected::Close, k::CLOSE_COMPLETE)
            | (Expected::DescribePortal(None), k::ROW_DESCRIPTION)
            | (Expected::DescribePortal(_) | Expected::DescribeStatement(_), k::NO_DATA)
            | (Expected::Execute(_), k::COMMAND_COMPLETE)
            | (Expected::Execute(_), k::EMPTY_QUERY | k::PORTAL_SUSPENDED) => {
                ways.to_client.extend_from_slice(message);
                true
            }
            (Expected::Execute(None), k::COPY_IN | k::COPY_OUT | k::COPY_DONE) => {
                ways.to_client.extend_from_slice(message);
                false
            }
            (Expected::DescribeStatement(statement), k::PARAMETER_DESCRIPTION) => {
                let types = backend::read_parameter_description(body)?;
                let types = statement.parameter_types(&types);
                backend::write_parameter_description(&types, ways.to_client);
                false
            }
            (Expected::DescribeStatement(statement), k::ROW_DESCRIPTION) => {
                let plan = &statement.plan;
                if plan.outputs(0).is_empty() {
                    ways.to_client.extend_from_slice(message);
                } else {
                    rows::write_description(plan, 0, body, |_| 0, ways.to_client)?;
                }
                true
            }
            (Expected::DescribePortal(Some(shape)), k::ROW_DESCRIPTION) => {
                shape.write_description(body, ways.to_client)?;
                true
            }
            (Expected::Execute(Some(shape)), k::DATA_ROW) => {
                shape.write_row(body, &self.context, ways.to_client)?;
                false
            }
            _ => return Err(unexpected()),
        };
        if is_last {
            self.answers.pop();
        }
        Ok(())
    }

    fn query_answer(&mut self, kind: u8, message: &[u8], ways: &mut Ways<'_>) -> Result<(), End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        let Some(Expected::Query(shapes)) = self.answers.front() else {
            return Err(unexpected());
        };
        match (kind, shapes.front()) {
            (k::ROW_DESCRIPTION, Some(Some(shape))) => {
                shape.write_description(body, ways.to_client)?;
            }
            (k::DATA_ROW, Some(Some(shape))) => {
                shape.write_row(body, &self.context, ways.to_client)?;
            }
            (k::COMMAND_COMPLETE | k::EMPTY_QUERY, _) => {
                shapes.pop_front();
                ways.to_client.extend_from_slice(message);
            }
            (k::ROW_DESCRIPTION | k::COPY_IN | k::COPY_OUT | k::COPY_DONE, None | Some(None)) => {
                ways.to_client.extend_from_slice(message);
            }
            _ => return Err(unexpected()),
        }
        Ok(())
    }

    fn load_answer(&mut self, kind: u8, body: &[u8]) -> Result<(), End> {
        use backend::kind as k;
        let (Some(Expected::Load { closed }), Some(load)) = (self.answers.front(), &mut self.load)
        else {
            return Err(unexpected());
        };
        match kind {
            k::PARSE_COMPLETE => load.answers.push(Vec::new()),
            k::DATA_ROW => load.read_row(body)?,
            k::CLOSE_COMPLETE => *closed += 1,
            k::BIND_COMPLETE | k::COMMAND_COMPLETE => {}
            _ => return Err(unexpected()),
        }
        if *closed == 2 {
            self.answers.pop();
            if load.answers.len() == load.queries().len() && !load.has_sync {
                self.end_load();
            }
        }
        Ok(())
    }

    fn server_error(
        &mut self,
        body: &[u8],
        message: &[u8],
        ways: &mut Ways<'_>,
    ) -> Result<(), End> {
        if is_fatal(body)? {
            ways.to_client.extend_from_slice(message);
            return Ok(());
        }
        match self.answers.front() {
            Some(Expected::Fail(failure) | Expected::FailQuery(failure)) => {
                failure.write(ways.to_client);
            }
            Some(Expected::Load { .. }) => {
                let failure = load_failed(body)?;
                if self.load.take().is_some_and(|load| load.has_sync) {
                    self.load_failure = Some(failure);
                } else {
                    failure.write(ways.to_client);
                }
            }
            _ => ways.to_client.extend_from_slice(message),
        }
        if matches!(
            self.answers.front(),
            Some(Expected::Query(_) | Expected::FailQuery(_) | Expected::Sync) | None
        ) {
            return Ok(());
        }
        for skipped in self.answers.skip_to_sync() {
            match skipped {
                Expected::Parse(name) => self.statements.remove(&name),
                Expected::Bind(name) => self.portals.remove(&name),
                Expected::Load { .. } => self.load = None,
                _ => {}
            }
        }
        if !self.answers.has_sync() {
            self.is_skipping = true;
        }
        Ok(())
    }

    fn ready(&mut self, body: &[u8], message: &[u8], ways: &mut Ways<'_>) -> Result<(), End> {
        let [status] = *body else {
            return Err(Malformed.into());
        };
        self.status = status;
        if status == b'I' {
            self.portals.clear();
            self.publish_changes();
            self.stale.schema |= self.touched.schema;
            self.stale.path |= self.touched.path;
            self.touched = Stale::default();
        }
        match self.answers.pop() {
            Some(Expected::Sync | Expected::Query(_) | Expected::FailQuery(_)) => {
                ways.to_client.extend_from_slice(message);
            }
            Some(Expected::LoadSync) => self.end_load(),
            _ => return Err(unexpected()),
        }
        Ok(())
    }
}

impl From<RowError> for End {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Malformed(error) => error.into(),
            // The rest of the rows would have to be swallowed; a value that does not open is a
            // matter for somebody to look at.
            RowError::Failure(failure) => Self(Failure {
                fatal: true,
                ..failure
            }),
        }
    }
}

fn unexpected() -> End {
    let message = "the server gave an answer that was not expected";
    End(Failure::fatal("08P01", message))
}

/// Whether the session ends with an error.
pub(in crate::session) fn is_fatal(body: &[u8]) -> Result<bool, Malformed> {
    let fields = backend::read_fields(body)?;
    Ok(fields
        .iter()
        .any(|(letter, text)| *letter == b'V' && matches!(*text, b"FATAL" | b"PANIC")))
}

/// Codes by which clients decide whether to try again, and which say nothing of the catalogues.
const KEPT_CODES: [&str; 6] = ["40001", "40P01", "53200", "55P03", "57014", "57P01"];

fn load_failed(body: &[u8]) -> Result<Failure, End> {
    let fields = backend::read_fields(body)?;
    let of = |wanted: u8| fields.iter().find(|(letter, _)| *letter == wanted);
    let reason = of(b'M').map(|(_, text)| String::from_utf8_lossy(text));
    let message = format!(
        "the proxy cannot read the catalogues: {}",
        reason.unwrap_or_default()
    );
    let is_code = |code: &&str| of(b'C').is_some_and(|(_, text)| *text == code.as_bytes());
    let code = KEPT_CODES.into_iter().find(is_code).unwrap_or("F0000");
    Ok(Failure::error(code, message))
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
