//! Statements of the client that become several statements of the server.
//!
//! An `UPDATE` that computes new values from old ones becomes a statement that reads and locks the
//! rows, and one statement per row that writes it. If the transaction has already read and locked
//! the row, only the second is sent. All of them precede one Sync, the client's own or that of a
//! Query, so that they are one transaction even outside of a block.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use semantics_postgres::TextContext;
use session_core::plans::{Role, ServerStatement};
use session_core::{
    Changed, Changes, Computation, RowName, Statement, StatementError, ValueFormat, may_change_all,
    modification,
};
use sql_plan::{ColumnId, Plan, ReadModifyWrite};
use wire_postgres::backend;
use wire_postgres::frontend::{self, Bind, Execute, KeptBind, Target, write_execute, write_target};

use super::{Outputs, Protected};
use crate::server_types;
use crate::session::End;
use crate::session::answers::{Expected, Unseen, Writes};
use crate::session::arrays::spread;
use crate::session::failure::failure_of;
use crate::session::format::FormatCode;
use crate::session::rows::Shape;
use crate::session::statements::{Inputs, StatementMessages, inputs_of, may_return_rows};
use crate::session::step::{Modify, Step};

impl Protected {
    /// Executes a portal that the proxy keeps.
    pub(super) fn take_steps(
        &mut self,
        statement: &Arc<Statement>,
        index: usize,
        bind: Arc<KeptBind>,
        execute: Execute<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let begun = match statement.plan.planned.get(index).map(|one| &one.plan) {
            Some(Plan::ReadModifyWrite(_)) => {
                self.begin_modify(statement, index, bind, execute, outputs)
            }
            Some(Plan::Finish(_)) => self.begin_finish(statement, index, bind, execute, outputs),
            Some(Plan::Finisher(_) | Plan::FinisherWrite(_) | Plan::FinisherMerge(_)) => {
                self.begin_gathering(statement, index, bind, execute, outputs)
            }
            Some(Plan::One(_, effects)) if effects.scroll().is_some() => {
                let kept = bind.bind();
                let named = self.name_of_front(statement, index, &kept, outputs);
                let formats = kept.result_formats;
                named.and_then(|name| {
                    self.begin_scroll((statement, index), formats, &name, execute, outputs)
                })
            }
            _ => {
                let message = "this statement takes steps that are not supported";
                Err(StatementError::unsupported(message))
            }
        };
        match begun {
            Err(failure) if failure.ends_session => return Err(End(failure_of(failure))),
            Err(failure) => self.fail(failure, outputs),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Takes the end of a step's rows.
    pub(super) fn end_step(&mut self, step: Step, outputs: &mut Outputs<'_>) -> Result<(), End> {
        // The server may answer without being asked to: then Sync is still expected.
        self.pipeline.open();
        let is_synced = step.is_synced();
        let ended = match step {
            Step::Modify(modify) => self.end_modify(modify, outputs),
            Step::Finish(finishing) => self.end_finish(finishing, outputs),
            Step::Gather(gathering) => self.end_gathering(gathering),
            Step::Upsert(upserting) => self.end_upsert(upserting, outputs),
            Step::Declare(declaring) => {
                self.end_declare(*declaring, outputs);
                Ok(())
            }
            Step::Scroll(scrolling) => self.end_scroll(*scrolling, outputs),
        };
        match ended {
            Err(failure) if failure.ends_session => return Err(End(failure_of(failure))),
            Err(failure) if is_synced => self.fail_synced(failure, outputs),
            Err(failure) => self.fail(failure, outputs),
            Ok(()) => {}
        }
        self.go_on_with_script(outputs)
    }

    /// Waits for rows that determine what is sent next.
    pub(super) fn wait(&mut self, step: Step, outputs: &mut Outputs<'_>) {
        backend::write_empty(frontend::kind::FLUSH, outputs.to_server);
        self.answers.push(Expected::Step(Box::new(step)));
        self.pipeline.wait();
    }

    fn begin_modify(
        &mut self,
        statement: &Arc<Statement>,
        index: usize,
        kept: Arc<KeptBind>,
        execute: Execute<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let plan = &statement.plan;
        let modify = modification(plan, index).ok_or_else(StatementError::other_plan)?;
        let bind = kept.bind();
        let role = |role| ServerStatement { index, role };
        if execute.rows_max > 0 && may_return_rows(statement, role(Role::Write)) {
            let message = "RETURNING in portions is not supported for a statement that computes \
                           protected columns";
            let failure = StatementError::unsupported(message);
            return Err(failure.hint("Execute it without a limit of rows (fetch size)."));
        }
        let context = self.note_time();
        let keys = RefCell::default();
        let inputs = inputs_of(index, &bind, &context).with_keys(&keys);
        let computation = Computation::new(statement, modify, &inputs)?;
        let lock = modify.locks.as_ref();
        let row = lock.and_then(|lock| RowName::new(statement, role(Role::Read), lock, &inputs));
        if self.write_known(
            statement,
            index,
            (&bind, &inputs, &computation, row.as_ref()),
            outputs,
        )? {
            return Ok(());
        }
        self.note_writing(modify, row.as_ref());
        let name = self.name_of_front(statement, index, &bind, outputs)?;
        let read = role(Role::Read);
        let names = (execute.portal, name.as_slice());
        statement.write_bind(read, names, &inputs, &[1], outputs.to_server)?;
        write_execute(execute.portal, self.fetched_max(), outputs.to_server);
        self.answers.push(Expected::Unseen(Unseen::Bind));
        let limits = self.limits();
        let statement = (Arc::clone(statement), index);
        let step = Modify {
            changes: Changes::new(statement, row, computation, limits),
            bind: Arc::clone(&kept),
            portal: execute.portal.into(),
        };
        self.wait(Step::Modify(step), outputs);
        Ok(())
    }

    /// Writes a row whose old values are cached. False: they are not.
    fn write_known(
        &mut self,
        statement: &Arc<Statement>,
        index: usize,
        (bind, inputs, computation, row): (&Bind<'_>, &Inputs<'_>, &Computation, Option<&RowName>),
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, StatementError> {
        let at = ServerStatement {
            index,
            role: Role::WriteByKey,
        };
        let plan = &statement.plan;
        let (Some(modify), Some(row)) = (modification(plan, index), row) else {
            return Ok(false);
        };
        if plan.server_text(at).is_none() || may_change_all(&modify.effects) {
            return Ok(false);
        }
        let sealed: Option<Vec<_>> = modify.current.iter().map(|one| one.sealed()).collect();
        let known = sealed.and_then(|sealed| self.locks.known(row, &sealed));
        let Some(known) = known else {
            return Ok(false);
        };
        let current = modify.current.iter().copied().zip(known);
        let computed =
            computation.compute(&plan.loaded, current, FormatCode::BINARY, inputs.context)?;
        let name = self.prepare(statement, at, outputs)?;
        let inputs = inputs.of_row(&computed, &[]);
        let results = statement.result_formats(at, bind.result_formats);
        let shape = Shape::of_portal(plan, at, bind.result_formats);
        self.describe_of_script(statement, at, &name, shape.clone(), outputs);
        let names = (bind.portal, name.as_slice());
        statement.write_bind(at, names, &inputs, &results, outputs.to_server)?;
        write_execute(bind.portal, 0, outputs.to_server);
        self.expect_writes(1, "UPDATE", shape);
        self.locks.write_row(row, computation.columns(computed));
        Ok(true)
    }

    /// Drops cached rows that the statement will write.
    fn note_writing(&mut self, modify: &ReadModifyWrite, row: Option<&RowName>) {
        match row {
            Some(row) if !may_change_all(&modify.effects) => self.locks.begin_writing(row),
            _ => self.locks.forget(),
        }
    }

    /// The name of the server's first statement for a statement of the client. The client may have
    /// reused its name since Bind.
    ///
    /// # Errors
    /// As those of [`Self::prepare`].
    pub(super) fn name_of_front(
        &mut self,
        statement: &Arc<Statement>,
        index: usize,
        bind: &Bind<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<Vec<u8>, StatementError> {
        let known = self.statements.get(bind.statement);
        if self.script.is_none() && known.is_some_and(|known| Arc::ptr_eq(known, statement)) {
            return Ok(bind.statement.to_vec());
        }
        let front = statement.plan.front(index);
        match front {
            None => Ok(Vec::new()),
            Some(front) => self.prepare(statement, front, outputs),
        }
    }

    fn end_modify(
        &mut self,
        step: Modify,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let statement = Arc::clone(&step.changes.statement);
        let mut left = step.changes.changed()?.len();
        let mut at = ServerStatement {
            index: step.changes.index,
            role: Role::Write,
        };
        // Triggers of statements fire without rows, too.
        let fires_empty = left == 0 && fires_triggers(&statement, at.index);
        let all = at_all(&statement, at.index).filter(|_| left > 1 || fires_empty);
        let all = all.map(|(place, columns)| {
            at = place;
            let elements = elements(&statement, &columns);
            step.changes.changed().map(|rows| [spread(rows, &elements)])
        });
        let all = all.transpose()?;
        if all.is_some() || fires_empty {
            left = 1;
        }
        let none = [Changed {
            locators: [None, None],
            computed: Vec::new(),
        }];
        let bind = step.bind.bind();
        let shape = Shape::of_portal(&statement.plan, at, bind.result_formats);
        if left > 0 || self.script.is_some() {
            let name = self.prepare(&statement, at, outputs)?;
            self.describe_of_script(&statement, at, &name, shape.clone(), outputs);
            let rows = RowsToWrite {
                statement: &statement,
                portal: &step.portal,
                rows: match &all {
                    Some(all) => all.as_slice(),
                    None if fires_empty => none.as_slice(),
                    None => step.changes.changed()?,
                },
                bytes_max: step.changes.limits.bytes_max,
            };
            let context = self.settings.context();
            if !rows.write((&bind, context), (at, &name), outputs)? {
                return Err(step.changes.too_many_bytes());
            }
        }
        self.expect_writes(left, "UPDATE", shape);
        if left > 0 {
            self.note_written(step.changes);
        }
        Ok(())
    }

    /// Expects the answers to so many statements that were sent in place of one. Without any, the
    /// proxy says so itself.
    pub(super) fn expect_writes(
        &mut self,
        left: usize,
        verb: &'static str,
        shape: Option<Arc<Shape>>,
    ) {
        if left == 0 {
            let mut said = Vec::new();
            backend::write_command_complete(&format!("{verb} 0"), &mut said);
            self.answers.push(Expected::ProxyReply(said));
            return;
        }
        self.answers.push(Expected::Writes(Writes {
            left,
            count: 0,
            verb,
            shape,
            others: VecDeque::new(),
        }));
    }

    /// Caches the row that is written, if it is a single one.
    fn note_written(&mut self, mut changes: Changes) {
        let modify = modification(&changes.statement.plan, changes.index);
        if modify.is_none_or(|modify| may_change_all(&modify.effects)) {
            self.locks.forget();
        } else if let Some(row) = changes.row.take()
            && let Some(columns) = changes.into_only()
        {
            self.locks.write_row(&row, columns);
        }
    }

    /// In a Query, describes the rows to come.
    pub(super) fn describe_of_script(
        &mut self,
        statement: &Arc<Statement>,
        at: ServerStatement,
        name: &[u8],
        shape: Option<Arc<Shape>>,
        outputs: &mut Outputs<'_>,
    ) {
        if self.script.is_some() && may_return_rows(statement, at) {
            let target = Target::Statement(name);
            write_target(frontend::kind::DESCRIBE, target, outputs.to_server);
            self.answers.push(Expected::Unseen(Unseen::Describe(shape)));
        }
    }
}

/// The statement that writes all rows of a modification, and the columns of its values. None: each
/// row is written by itself.
fn at_all(statement: &Statement, index: usize) -> Option<(ServerStatement, Vec<ColumnId>)> {
    let modify = modification(&statement.plan, index)?;
    modify.write_all.as_ref()?;
    let columns = modify.assignments.iter().map(|own| own.column);
    let role = Role::WriteAll;
    Some((ServerStatement { index, role }, columns.collect()))
}

/// Whether triggers may fire by a modification.
fn fires_triggers(statement: &Statement, index: usize) -> bool {
    let modify = modification(&statement.plan, index);
    modify.is_some_and(|modify| modify.effects.forgets_locks)
}

/// The types of the sealed values of columns.
pub(super) fn elements(statement: &Statement, columns: &[ColumnId]) -> Vec<u32> {
    let schema = &statement.plan.loaded.schema;
    let types = columns.iter();
    let types = types.map(|column| server_types::number(schema.column(*column).server_type()));
    types.collect()
}

/// Rows to be written, each by itself.
pub(super) struct RowsToWrite<'a> {
    pub statement: &'a Statement,
    /// The client's portal.
    pub portal: &'a [u8],
    pub rows: &'a [Changed],
    /// Limit of the messages, in bytes.
    pub bytes_max: usize,
}

impl RowsToWrite<'_> {
    /// Writes the messages that write each row; all or nothing. False: they would take too many
    /// bytes, since those of each row repeat the statement's other values.
    pub(super) fn write(
        &self,
        (bind, context): (&Bind<'_>, &TextContext),
        (at, name): (ServerStatement, &[u8]),
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, StatementError> {
        let start = outputs.to_server.len();
        let results = self.statement.result_formats(at, bind.result_formats);
        let inputs = inputs_of(at.index, bind, context);
        for changed in self.rows {
            close_portal(self.portal, outputs);
            let locators = changed.locators.each_ref().map(Option::as_deref);
            let inputs = inputs.of_row(&changed.computed, &locators);
            let names = (self.portal, name);
            let out = &mut *outputs.to_server;
            let written = self.statement.write_bind(at, names, &inputs, &results, out);
            if let Err(failure) = written {
                outputs.to_server.truncate(start);
                return Err(failure);
            }
            write_execute(self.portal, 0, outputs.to_server);
            if outputs.to_server.len() - start > self.bytes_max {
                outputs.to_server.truncate(start);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Closes a named portal before it is bound again.
pub(super) fn close_portal(portal: &[u8], outputs: &mut Outputs<'_>) {
    if !portal.is_empty() {
        let target = Target::Portal(portal);
        write_target(frontend::kind::CLOSE, target, outputs.to_server);
    }
}
