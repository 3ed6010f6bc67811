//! Queries that the proxy finishes: it fetches rows and sends the client the answer.

use std::sync::Arc;

use finish::Limits;
use session_core::counters::add;
use session_core::plans::{Role, ServerStatement};
use session_core::{Statement, StatementError, finish_at, subject};
use wire_postgres::backend;
use wire_postgres::frontend::{self, Bind, Execute, KeptBind, Target, write_execute, write_target};

use super::{Outputs, Protected};
use crate::session::End;
use crate::session::answers::{DescribeFinish, Expected, Unseen};
use crate::session::finishing::{self, Finishing, Progress, give};
use crate::session::portals::PortalState;
use crate::session::rows::RowError;
use crate::session::statements::{StatementMessages, inputs_of};
use crate::session::step::Step;

impl Protected {
    /// Fetches the rows of a query.
    pub(super) fn begin_finish(
        &mut self,
        statement: &Arc<Statement>,
        index: usize,
        kept: Arc<KeptBind>,
        execute: Execute<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let plan = Arc::clone(&statement.plan);
        let finish = finish_at(&plan, index).ok_or_else(StatementError::other_plan)?;
        let bind = kept.bind();
        self.apply_effects(&plan, index);
        let context = self.note_time();
        let inputs = inputs_of(index, &bind, &context);
        let name = self.name_of_front(statement, index, &bind, outputs)?;
        let names = (execute.portal, name.as_slice());
        let at = ServerStatement {
            index,
            role: Role::Read,
        };
        let formats = finishing::formats(finish, &bind);
        let formats: Vec<i16> = formats.iter().map(|format| format.0).collect();
        statement.write_bind(at, names, &inputs, &formats, outputs.to_server)?;
        self.answers.push(Expected::Unseen(Unseen::Bind));
        let portal = Target::Portal(execute.portal);
        write_target(frontend::kind::DESCRIBE, portal, outputs.to_server);
        write_execute(execute.portal, self.fetched_max(), outputs.to_server);
        let finishing = Finishing {
            statement: Arc::clone(statement),
            index,
            portal: execute.portal.into(),
            rows_max: usize::try_from(execute.rows_max)
                .ok()
                .filter(|&rows| rows > 0),
            is_described: self.script.is_some(),
            limits: self.limits(),
            subject: subject(&plan, finish),
            progress: Progress::Begun,
            fetched: 0,
            sent: 0,
            is_synced: false,
            bind: Arc::clone(&kept),
        };
        let step = Step::Finish(finishing);
        match self.script.is_some() {
            true => self.wait(step, outputs),
            false => self.wait_with_sync(step, outputs),
        }
        Ok(())
    }

    /// The limits of rows and bytes for one statement.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            rows_max: self.schema.shared().finish_rows_max(),
            bytes_max: self.schema.shared().finish_bytes_max(),
        }
    }

    /// The limit of rows in Execute: one more than allowed, which shows that there are too many
    /// without making the server lock and send them all.
    pub(super) fn fetched_max(&self) -> i32 {
        let rows_max = self.schema.shared().finish_rows_max();
        i32::try_from(rows_max.saturating_add(1)).unwrap_or(0)
    }

    /// Ends the fetch of a query.
    pub(super) fn end_finish(
        &mut self,
        finishing: Finishing,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let counters = self.schema.shared().counters();
        add(&counters.queries_finished, 1);
        add(&counters.rows_finished, finishing.fetched);
        let name = finishing.portal.clone();
        let start = outputs.to_client.len();
        let answer = finishing.end(self.settings.context(), outputs.to_client)?;
        if let Err(failure) = self.check_kept(&name, answer.size()) {
            outputs.to_client.truncate(start);
            return Err(failure);
        }
        if let Some(portal) = self.portals.get_mut(&name)
            && matches!(portal.state, PortalState::Done)
        {
            portal.state = PortalState::Answer(answer);
        }
        Ok(())
    }

    /// Sends the next rows of an answer that the proxy has. False: it has none for this portal.
    pub(super) fn give_answer(&mut self, execute: Execute<'_>) -> bool {
        let portal = self.portals.get_mut(execute.portal);
        let Some(PortalState::Answer(answer)) = portal.map(|portal| &mut portal.state) else {
            return false;
        };
        let rows_max = usize::try_from(execute.rows_max)
            .ok()
            .filter(|&rows| rows > 0);
        let mut said = Vec::new();
        give(answer, rows_max, 0, &mut said);
        self.answers.push(Expected::ProxyReply(said));
        true
    }

    /// Describes a statement. False: the proxy does not finish it.
    pub(super) fn describe_finish(
        &mut self,
        statement: &Arc<Statement>,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> bool {
        if finish_at(&statement.plan, 0).is_none() {
            return false;
        }
        let described = DescribeFinish {
            statement: Arc::clone(statement),
            formats: Box::default(),
            has_parameters: true,
        };
        outputs.to_server.extend_from_slice(message);
        self.wait_for_columns(described, outputs);
        true
    }

    /// Describes a portal that the proxy keeps. False: the proxy does not finish its statement.
    pub(super) fn describe_answer(
        &mut self,
        statement: &Arc<Statement>,
        bind: &Bind<'_>,
        outputs: &mut Outputs<'_>,
    ) -> bool {
        let front = statement.plan.front(0);
        let (Some(_), Some(front)) = (finish_at(&statement.plan, 0), front) else {
            return false;
        };
        if let Err(failure) = self.describe_own(statement, front, outputs) {
            self.fail(failure, outputs);
            return true;
        }
        let described = DescribeFinish {
            statement: Arc::clone(statement),
            formats: bind.result_formats.iter().collect(),
            has_parameters: false,
        };
        self.wait_for_columns(described, outputs);
        true
    }

    /// Takes an answer to Describe of a query that the proxy finishes. True: it was the last one.
    pub(super) fn finish_answer(
        &mut self,
        kind: u8,
        body: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let Some(Expected::DescribeFinish(described)) = self.answers.front() else {
            return Err(End::unexpected());
        };
        let DescribeFinish {
            statement,
            formats,
            has_parameters,
        } = described;
        match kind {
            k::PARAMETER_DESCRIPTION if *has_parameters => {
                let front = statement.plan.front(0).ok_or_else(End::unexpected)?;
                statement.write_parameters(front, body, outputs.to_client)?;
            }
            k::PARAMETER_DESCRIPTION => {}
            k::ROW_DESCRIPTION => {
                let out = &mut *outputs.to_client;
                let written = finishing::write_description(statement, 0, body, formats, out);
                self.pipeline.open();
                match written {
                    Err(RowError::Statement(failure)) if !failure.ends_session => {
                        self.answers.pop();
                        self.fail(failure, outputs);
                        return Ok(false);
                    }
                    written => written?,
                }
            }
            _ => return Err(End::unexpected()),
        }
        Ok(kind != k::PARAMETER_DESCRIPTION)
    }

    /// Makes messages wait for the columns, which determine whether the statement fails.
    fn wait_for_columns(&mut self, described: DescribeFinish, outputs: &mut Outputs<'_>) {
        backend::write_empty(frontend::kind::FLUSH, outputs.to_server);
        self.answers.push(Expected::DescribeFinish(described));
        self.pipeline.wait();
    }
}
