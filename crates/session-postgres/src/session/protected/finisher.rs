//! Queries that the finisher answers: their types are asked for before they are parsed, their rows
//! are fetched, and the client gets the finisher's answer.

use std::borrow::Cow;
use std::sync::Arc;

use session_core::counters::add;
use session_core::plans::{Role, ServerStatement};
use session_core::{Changed, Statement, StatementError};
use sql_plan::{FinisherQuery, FinisherWrite, InsertedRows};
use wire_postgres::frontend::{self, Bind, Execute, KeptBind, Target, write_execute, write_target};
use wire_postgres::{backend, values};

use super::steps::{RowsToWrite, elements};
use super::{Outputs, Protected};
use crate::finisher::{Described, FinisherAnswer, FinisherRequest, FinisherRows};
use crate::session::End;
use crate::session::answers::{Expected, Unseen};
use crate::session::arrays::spread;
use crate::session::failure::failure_of;
use crate::session::finisher_link::Asked;
use crate::session::finisher_rows::{AnsweredRows, write_description};
use crate::session::forms::Purpose;
use crate::session::found;
use crate::session::gathering::{
    Gathering, formats, kept_at, merge_at, query_at, write_at, writes_at,
};
use crate::session::portals::PortalState;
use crate::session::rows::Shape;
use crate::session::statements::{StatementMessages, inputs_of, may_return_rows};
use crate::session::step::Step;

/// What is known of a statement before the server gets it.
pub(super) enum Known {
    /// No finisher takes part.
    Plain,
    /// The finisher has described it.
    Described(Arc<Described>),
    /// The finisher is asked. The message that needs to know is processed again.
    Asked,
}

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
        let done = rows.and_then(|mut rows| match writes_at(&plan, index) {
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

    /// Types and columns of a statement, if the finisher answers it.
    ///
    /// # Errors
    /// The finisher refuses the query.
    pub(super) fn known_of(
        &mut self,
        statement: &Statement,
        types: &[u32],
    ) -> Result<Known, StatementError> {
        self.known_at(statement, 0, types)
    }

    /// The same of the statement at an index.
    ///
    /// # Errors
    /// The finisher refuses the query.
    pub(super) fn known_at(
        &mut self,
        statement: &Statement,
        index: usize,
        types: &[u32],
    ) -> Result<Known, StatementError> {
        let Some(query) = query_at(&statement.plan, index) else {
            return Ok(Known::Plain);
        };
        let types = &*with_declared(types, query);
        if let Some(described) = self.pipeline.finisher().described(&query.text, types)? {
            return Ok(Known::Described(described));
        }
        let loaded = self.schema.loaded()?;
        let (kind, settings) = self.settings.of_finisher(&loaded.schema);
        let request = FinisherRequest {
            kind,
            settings,
            query: query.text.as_str().into(),
            parameter_types: types.into(),
            execution: None,
        };
        let key = (
            Arc::clone(&request.query),
            Arc::clone(&request.parameter_types),
        );
        self.pipeline
            .finisher()
            .ask(request, Asked::Description(key));
        Ok(Known::Asked)
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
        match self.script.is_some() || is_write || declares {
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
        let query = query_at(&statement.plan, gathering.index);
        let query = query.ok_or_else(StatementError::other_plan)?;
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

    /// What the finisher has said of the columns of a query, if it was asked.
    ///
    /// # Errors
    /// It refuses the query.
    pub(super) fn described_columns(
        &mut self,
        statement: &Statement,
        query: &FinisherQuery,
    ) -> Result<Option<Arc<Described>>, StatementError> {
        let types = types_of(statement, query);
        self.pipeline.finisher().described(&query.text, &types)
    }

    /// Keeps what an answer says of its columns: in a Query nothing was described before.
    pub(super) fn keep_columns(
        &mut self,
        statement: &Statement,
        query: &FinisherQuery,
        rows: &FinisherRows,
    ) {
        let types = types_of(statement, query);
        let key = (query.text.as_str().into(), types.as_ref().into());
        let described = Described {
            parameter_types: types.to_vec(),
            row_description: rows.row_description.clone(),
        };
        self.pipeline.finisher().keep_columns(key, described);
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
        let bind = gathering.bind.bind();
        let shape = Shape::of_portal(&statement.plan, at, bind.result_formats);
        let name = self.prepare(statement, at, outputs)?;
        self.describe_of_script(statement, at, &name, shape.clone(), outputs);
        let all = [Changed {
            locators: [None, None],
            computed: arrays,
        }];
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
        let bind = gathering.bind.bind();
        let shape = Shape::of_portal(&statement.plan, at, bind.result_formats);
        // Also without rows: the server checks the statement, and fires triggers of statements.
        let name = self.prepare(&statement, at, outputs)?;
        self.describe_of_script(&statement, at, &name, shape.clone(), outputs);
        let all = [spread(&changed, &elements(&statement, &plan.columns))];
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

    /// Describes a statement. False: the finisher takes no part in it.
    pub(super) fn describe_gathered(
        &mut self,
        statement: &Arc<Statement>,
        outputs: &mut Outputs<'_>,
    ) -> bool {
        let described = match self.known_of(statement, &statement.types) {
            Ok(Known::Plain) => return false,
            Ok(Known::Asked) => return true,
            Ok(Known::Described(described)) => described,
            Err(failure) => {
                self.fail(failure, outputs);
                return true;
            }
        };
        let mut said = Vec::new();
        let query = query_at(&statement.plan, 0);
        let count = query.map_or(0, |query| query.parameters);
        let types = &described.parameter_types;
        let types = &types[..types.len().min(count)];
        backend::write_parameter_description(types, &mut said);
        let is_write = writes_at(&statement.plan, 0);
        if let Some(at) = statement.plan.answering(0)
            && is_write
            && may_return_rows(statement, at)
        {
            // The types of the values that are written may be refused. Then nothing is described.
            if let Err(failure) = self.array_types(statement, at) {
                self.fail(failure, outputs);
                return true;
            }
            self.answers.push(Expected::ProxyReply(said));
            if let Err(failure) = self.describe_own(statement, at, outputs) {
                self.fail(failure, outputs);
                return true;
            }
            let empty = KeptBind::default();
            let shape = Shape::of_portal(&statement.plan, at, empty.bind().result_formats);
            self.answers
                .push(Expected::DescribeRows(shape, Box::default()));
            return true;
        }
        match is_write || kept_at(&statement.plan, 0).is_some() {
            true => backend::write_empty(backend::kind::NO_DATA, &mut said),
            false => write_description(&described.row_description, &[], &mut said),
        }
        self.answers.push(Expected::ProxyReply(said));
        true
    }

    /// Describes a portal that the proxy keeps. False: the finisher does not answer its statement.
    pub(super) fn describe_gathered_portal(
        &mut self,
        statement: &Statement,
        bind: &Bind<'_>,
        outputs: &mut Outputs<'_>,
    ) -> bool {
        match self.known_of(statement, &statement.types) {
            Ok(Known::Plain) => return false,
            Ok(Known::Asked) => {}
            // What the server returns is described by itself.
            Ok(Known::Described(_)) if write_at(&statement.plan, 0).is_some() => return false,
            Ok(Known::Described(described)) => {
                let formats: Vec<i16> = bind.result_formats.iter().collect();
                let mut said = Vec::new();
                let is_merge = merge_at(&statement.plan, 0).is_some();
                match is_merge || kept_at(&statement.plan, 0).is_some() {
                    true => backend::write_empty(backend::kind::NO_DATA, &mut said),
                    false => write_description(&described.row_description, &formats, &mut said),
                }
                self.answers.push(Expected::ProxyReply(said));
            }
            Err(failure) => self.fail(failure, outputs),
        }
        true
    }
}

/// The types that a query is described with, once its statement is known.
fn types_of<'t>(statement: &'t Statement, query: &FinisherQuery) -> Cow<'t, [u32]> {
    with_declared(&statement.types, query)
}

/// The types to declare to the finisher: those that the client has declared, and those of
/// parameters that the query does not have.
fn with_declared<'t>(types: &'t [u32], query: &FinisherQuery) -> Cow<'t, [u32]> {
    // The client may declare types of parameters that the query does not have.
    let types = &types[..types.len().min(query.parameters)];
    if query.declared.iter().all(Option::is_none) {
        return Cow::Borrowed(types);
    }
    let mut all = types.to_vec();
    all.resize(query.parameters, 0);
    for (own, declared) in all.iter_mut().zip(&query.declared) {
        if let (0, Some(logical)) = (*own, declared) {
            *own = values::oid(*logical);
        }
    }
    Cow::Owned(all)
}
