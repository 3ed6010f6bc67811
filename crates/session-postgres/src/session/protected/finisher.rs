//! Queries that the finisher answers: their types are asked for before they are parsed, their rows
//! are fetched, and the client gets the finisher's answer.

use std::sync::Arc;

use session_core::counters::add;
use session_core::plans::{Role, ServerStatement};
use session_core::{Changed, Statement, StatementError};
use sql_plan::{FinisherQuery, FinisherWrite, InsertedRows};
use wire_postgres::frontend::{self, Execute, KeptBind, Target, write_execute, write_target};

use super::steps::{RowsToWrite, close_portal, elements};
use super::{Outputs, Protected};
use crate::finisher::{FinisherAnswer, FinisherRequest, FinisherRows};
use crate::session::End;
use crate::session::answers::{Expected, Unseen};
use crate::session::arrays::spread;
use crate::session::failure::failure_of;
use crate::session::finisher_link::Asked;
use crate::session::finisher_rows::AnsweredRows;
use crate::session::forms::Purpose;
use crate::session::found;
use crate::session::gathering::{
    Gathering, formats, kept_at, merge_at, query_at, write_at, writes_at,
};
use crate::session::portals::PortalState;
use crate::session::rows::Shape;
use crate::session::statements::{StatementMessages, inputs_of, may_return_rows};
use crate::session::step::Step;

impl Protected {
    /// Takes the finisher's answer.
    pub(in crate::session) fn finisher_answered(
        &mut self,
        answer: FinisherAnswer,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let answer = match answer {
            FinisherAnswer::Failed(failure) => FinisherAnswer::Failed(self.explained(failure)),
            answer => answer,
        };
        match self.pipeline.finisher().take_asked() {
            None => Ok(()),
            Some(Asked::Description(key)) => {
                let described = match answer {
                    FinisherAnswer::Described(described) => Ok(described),
                    FinisherAnswer::Failed(failure) => Err(failure),
                    FinisherAnswer::Rows(_) => Err(found::unasked()),
                };
                self.pipeline.finisher().note(key, described);
                Ok(())
            }
            Some(Asked::Answer(gathering)) => {
                let rows = match answer {
                    FinisherAnswer::Rows(rows) => Ok(rows),
                    FinisherAnswer::Failed(failure) => Err(failure),
                    FinisherAnswer::Described(_) => Err(found::unasked()),
                };
                self.take_found(*gathering, rows, outputs)
            }
            Some(Asked::Pairs(upserting)) => {
                let rows = match answer {
                    FinisherAnswer::Rows(rows) => Ok(rows),
                    FinisherAnswer::Failed(failure) => Err(failure),
                    FinisherAnswer::Described(_) => Err(found::unasked()),
                };
                self.take_pairs(*upserting, rows, outputs)
            }
            Some(Asked::Forms(questions)) => self.forms_answered(questions, answer, outputs),
        }
    }

    /// An error of the finisher, which does not know what extensions and users have added to the
    /// server.
    fn explained(&self, failure: StatementError) -> StatementError {
        let loaded = self.schema.loaded();
        let refusal = loaded
            .ok()
            .and_then(|loaded| sql_rewrite::unknown_to_finisher(&failure.message, &loaded.schema));
        refusal.map_or(failure, StatementError::from)
    }

    /// Takes the rows of an answer.
    pub(super) fn take_found(
        &mut self,
        mut gathering: Gathering,
        rows: Result<FinisherRows, StatementError>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let is_synced = gathering.is_synced;
        let plan = Arc::clone(&gathering.statement.plan);
        let index = gathering.index;
        let writes = writes_at(&plan, index) && !gathering.is_returned;
        let done = rows.and_then(|mut rows| match writes {
            false if kept_at(&plan, gathering.index).is_some() => {
                self.pipeline.open();
                self.declare_found(&gathering, rows, outputs)?;
                Ok(true)
            }
            false => {
                self.pipeline.open();
                self.give_rows(gathering, rows, outputs)?;
                Ok(true)
            }
            true => {
                let wanted = match plan.has_opaque {
                    true => self.wanted_of_found(&plan, index, &rows),
                    false => None,
                };
                if wanted.is_some() {
                    let purpose = Purpose::Write(Box::new((gathering, rows)));
                    self.ask_for(wanted, purpose)?;
                    return Ok(false);
                }
                let drawn = self.drawn_of_found(&plan, index, &rows);
                if !drawn.is_empty() {
                    let found = (gathering, rows);
                    match self.draw_for_found(&plan, &drawn, found, outputs) {
                        None => return Ok(false),
                        Some(found) => (gathering, rows) = found,
                    }
                }
                self.pipeline.open();
                self.write_found(gathering, &rows, outputs)?;
                Ok(true)
            }
        });
        match done {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(failure) => {
                self.pipeline.open();
                match failure {
                    failure if failure.ends_session => return Err(End(failure_of(failure))),
                    failure if is_synced => self.fail_synced(failure, outputs),
                    failure => self.fail(failure, outputs),
                }
            }
        }
        self.go_on_with_script(outputs)
    }

    /// Sends the client the rows of an answer.
    fn give_rows(
        &mut self,
        gathering: Gathering,
        rows: FinisherRows,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let bind = gathering.bind.bind();
        let mut answer = AnsweredRows::new(rows, bind.result_formats.iter().collect());
        if let Some(verb) = gathering.returned_by() {
            answer = answer.returned_by(verb);
        }
        if self.script.is_some() {
            answer.write_description(outputs.to_client);
        }
        self.check_kept(&gathering.portal, answer.size_left(gathering.rows_max))?;
        answer.give(gathering.rows_max, outputs.to_client);
        if let Some(portal) = self.portals.get_mut(&gathering.portal)
            && matches!(portal.state, PortalState::Done)
        {
            portal.state = PortalState::Rows(Box::new(answer));
        }
        Ok(())
    }

    /// Fetches the rows of a query.
    pub(super) fn begin_gathering(
        &mut self,
        statement: &Arc<Statement>,
        index: usize,
        kept: Arc<KeptBind>,
        execute: Execute<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let plan = Arc::clone(&statement.plan);
        let query = query_at(&plan, index).ok_or_else(StatementError::other_plan)?;
        let bind = kept.bind();
        let answering = plan.answering(index);
        let may_return = answering.is_some_and(|at| may_return_rows(statement, at));
        if execute.rows_max > 0 && may_return {
            let message = "portions of rows are not supported for a statement that writes or locks \
                           rows which the finisher finds";
            let failure = StatementError::unsupported(message);
            return Err(failure.hint("Execute it without a limit of rows (fetch size)."));
        }
        self.apply_effects(&plan, index);
        let context = self.note_time();
        let is_write = writes_at(&plan, index);
        let declares = kept_at(&plan, index).is_some();
        let formats_of_answer = match (is_write, declares) {
            (true, _) => Some(Box::from([1])),
            (false, true) => Some(self.cursor_formats(statement, index)?),
            (false, false) => None,
        };
        let mut gathering = Gathering {
            statement: Arc::clone(statement),
            index,
            portal: execute.portal.into(),
            rows_max: usize::try_from(execute.rows_max)
                .ok()
                .filter(|&rows| rows > 0),
            limits: self.limits(),
            arrays: Vec::new(),
            fetched: 0,
            failure: None,
            is_synced: false,
            formats: formats_of_answer,
            is_returned: false,
            bind: Arc::clone(&kept),
        };
        // In a transaction that has failed the server says so. Nothing is sent to the client before
        // the server has answered what is written.
        if query.is_of_no_row && is_write && !self.transaction.has_failed() {
            gathering.take_no_row();
            return self.end_gathering(Box::new(gathering));
        }
        let inputs = inputs_of(index, &bind, &context);
        let name = self.name_of_front(statement, index, &bind, outputs)?;
        let at = ServerStatement {
            index,
            role: Role::Read,
        };
        let names = (execute.portal, name.as_slice());
        statement.write_bind(at, names, &inputs, &formats(query), outputs.to_server)?;
        self.answers.push(Expected::Unseen(Unseen::Bind));
        let portal = Target::Portal(execute.portal);
        write_target(frontend::kind::DESCRIBE, portal, outputs.to_server);
        write_execute(execute.portal, self.fetched_max(), outputs.to_server);
        let step = Step::Gather(Box::new(gathering));
        // Behind the client's Sync nothing could be written in the same transaction.
        match self.script.is_some() || is_write || declares || query.returned_by.is_some() {
            true => self.wait(step, outputs),
            false => self.wait_with_sync(step, outputs),
        }
        Ok(())
    }

    /// Ends the fetch of a query, and asks the finisher.
    pub(super) fn end_gathering(
        &mut self,
        mut gathering: Box<Gathering>,
    ) -> Result<(), StatementError> {
        let counters = self.schema.shared().counters();
        add(&counters.queries_finished, 1);
        add(&counters.rows_finished, gathering.fetched as u64);
        let execution = gathering.end()?;
        let loaded = self.schema.loaded()?;
        let (kind, settings) = self.settings.of_finisher(&loaded.schema);
        let statement = &gathering.statement;
        let query = gathering.query()?;
        let types = &statement.types[..statement.types.len().min(query.parameters)];
        let request = FinisherRequest {
            kind,
            settings,
            query: query.text.as_str().into(),
            parameter_types: types.into(),
            execution: Some(execution),
        };
        self.pipeline.wait();
        self.pipeline
            .finisher()
            .ask(request, Asked::Answer(gathering));
        Ok(())
    }

    /// Inserts the rows that the finisher has computed.
    fn insert_found(
        &mut self,
        gathering: Gathering,
        (plan, inserted): (&FinisherWrite, &InsertedRows),
        rows: &FinisherRows,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let statement = &Arc::clone(&gathering.statement);
        let limits = (self.settings.context(), gathering.limits.bytes_max);
        let arrays = found::read_inserted(&statement.plan, inserted, rows, limits)?;
        let arrays = arrays.ok_or_else(|| gathering.too_many_bytes())?;
        self.keep_columns(statement, &plan.query, rows);
        if plan.upsert.is_some() {
            return self.begin_upsert(gathering, arrays, outputs);
        }
        let at = ServerStatement {
            index: gathering.index,
            role: Role::Write,
        };
        let all = [Changed {
            locators: [None, None],
            computed: arrays,
        }];
        if let Some(returning) = &plan.returning {
            return self.gather_returned(gathering, (at, returning), &all[0], outputs);
        }
        let bind = gathering.bind.bind();
        let shape = Shape::of_portal(&statement.plan, at, bind.result_formats);
        let name = self.prepare(statement, at, outputs)?;
        self.describe_of_script(statement, at, &name, shape.clone(), outputs);
        let write = RowsToWrite {
            statement,
            portal: &gathering.portal,
            rows: &all,
            bytes_max: usize::MAX,
        };
        write.write((&bind, self.settings.context()), (at, &name), outputs)?;
        self.locks.forget();
        self.expect_writes(1, plan.verb, shape);
        Ok(())
    }

    /// Writes the rows that the finisher has found.
    fn write_found(
        &mut self,
        gathering: Gathering,
        rows: &FinisherRows,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let statement = Arc::clone(&gathering.statement);
        if let Some(merge) = merge_at(&statement.plan, gathering.index) {
            return self.write_merged(gathering, merge, rows, outputs);
        }
        let plan = write_at(&statement.plan, gathering.index);
        let plan = plan.ok_or_else(StatementError::other_plan)?;
        if let Some(inserted) = &plan.inserted {
            return self.insert_found(gathering, (plan, inserted), rows, outputs);
        }
        let changed = found::read_changes(&statement.plan, plan, rows, self.settings.context())?;
        let at = ServerStatement {
            index: gathering.index,
            role: Role::Write,
        };
        let all = [spread(&changed, &elements(&statement, &plan.columns))];
        if let Some(returning) = &plan.returning {
            return self.gather_returned(gathering, (at, returning), &all[0], outputs);
        }
        let bind = gathering.bind.bind();
        let shape = Shape::of_portal(&statement.plan, at, bind.result_formats);
        // Also without rows: the server checks the statement, and fires triggers of statements.
        let name = self.prepare(&statement, at, outputs)?;
        self.describe_of_script(&statement, at, &name, shape.clone(), outputs);
        let rows = RowsToWrite {
            statement: &statement,
            portal: &gathering.portal,
            rows: &all,
            bytes_max: gathering.limits.bytes_max,
        };
        let context = self.settings.context();
        if !rows.write((&bind, context), (at, &name), outputs)? {
            return Err(gathering.too_many_bytes());
        }
        self.locks.forget();
        self.expect_writes(1, plan.verb, shape);
        Ok(())
    }

    /// Writes the rows that the finisher has found, and fetches what the server returns of them.
    fn gather_returned(
        &mut self,
        gathering: Gathering,
        (at, returning): (ServerStatement, &FinisherQuery),
        rows: &Changed,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let statement = Arc::clone(&gathering.statement);
        let name = self.prepare(&statement, at, outputs)?;
        let start = outputs.to_server.len();
        close_portal(&gathering.portal, outputs);
        let bind = gathering.bind.bind();
        let locators = rows.locators.each_ref().map(Option::as_deref);
        let inputs = inputs_of(at.index, &bind, self.settings.context());
        let inputs = inputs.of_row(&rows.computed, &locators);
        let names = (&*gathering.portal, name.as_slice());
        let out = &mut *outputs.to_server;
        let written = statement.write_bind(at, names, &inputs, &formats(returning), out);
        let size = outputs.to_server.len() - start;
        let written = written.and_then(|()| match size > gathering.limits.bytes_max {
            true => Err(gathering.too_many_bytes()),
            false => Ok(()),
        });
        if let Err(failure) = written {
            outputs.to_server.truncate(start);
            return Err(failure);
        }
        if !gathering.portal.is_empty() {
            self.answers.push(Expected::Unseen(Unseen::Close));
        }
        self.answers.push(Expected::Unseen(Unseen::Bind));
        let portal = Target::Portal(&gathering.portal);
        write_target(frontend::kind::DESCRIBE, portal, outputs.to_server);
        write_execute(&gathering.portal, 0, outputs.to_server);
        self.locks.forget();
        self.wait(Step::Gather(Box::new(gathering.of_returned())), outputs);
        Ok(())
    }

    /// Sends the next rows of an answer that the proxy has. False: it has none for this portal.
    pub(super) fn give_more_rows(&mut self, execute: Execute<'_>) -> bool {
        let portal = self.portals.get_mut(execute.portal);
        let Some(PortalState::Rows(answer)) = portal.map(|portal| &mut portal.state) else {
            return false;
        };
        let rows_max = usize::try_from(execute.rows_max)
            .ok()
            .filter(|&rows| rows > 0);
        let mut said = Vec::new();
        answer.give(rows_max, &mut said);
        self.answers.push(Expected::ProxyReply(said));
        true
    }
}
