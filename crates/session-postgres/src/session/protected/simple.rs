//! Query messages. If a statement of the text takes steps, the text becomes messages of the
//! extended protocol with one Sync: that is the same implicit transaction, and the answers are the
//! same.

use std::convert::Infallible;
use std::sync::Arc;

use session_core::plans::TextPlan;
use session_core::{RowName, Statement, StatementError};
use sql_plan::Plan;
use sql_rewrite::{is_copy, needs_block};
use sqlstate::SqlState;
use wire_postgres::backend;
use wire_postgres::frontend::{
    self, Execute, KeptBind, Target, write_bind, write_execute, write_parse, write_target,
};

use super::extended::check_length;
use super::{Outputs, Protected, REFUSED_TEXT};
use crate::session::End;
use crate::session::answers::{Expected, Unseen};
use crate::session::pipeline::Gate;
use crate::session::rows::Shape;
use crate::session::statements::{Inputs, StatementMessages, inputs_of};
use crate::session::texts::render_query;

/// The functions with which clients read and write large objects (`pg_proc.oid`, the same in every
/// version): `lo_create`, `lo_open`, `lo_close`, `loread`, `lowrite`, `lo_lseek`, `lo_creat`,
/// `lo_tell`, `lo_unlink`, `lo_truncate`, and those with 64 bits. They concern no table.
const LARGE_OBJECTS: [u32; 13] = [
    715, 952, 953, 954, 955, 956, 957, 958, 964, 1004, 3170, 3171, 3172,
];

/// A Query in which a statement takes steps.
#[derive(Debug)]
pub(super) struct Script {
    statement: Arc<Statement>,
    /// The index of its next statement.
    next: usize,
}

impl Protected {
    pub(super) fn query(
        &mut self,
        text: &[u8],
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        self.transaction.set_in_pipeline(false);
        // Any Query drops the unnamed statement and portal.
        self.statements.forget_unnamed();
        self.portals.remove(b"");
        let planned = self.plan(text).and_then(|planned| {
            self.check_end(&planned.0)?;
            Ok(planned)
        });
        let asked = match &planned {
            Ok((plan, _)) => self
                .ask_of_query(plan, outputs)
                .and_then(|asked| match asked {
                    true => Ok(true),
                    false => self.ask_of_cursors(&of_query(plan)),
                })
                .and_then(|asked| Ok(asked || self.holds_copy(plan, message, outputs)?)),
            Err(_) => Ok(false),
        };
        let planned = match asked {
            Ok(true) => return Ok(()),
            Ok(false) => planned,
            Err(failure) => Err(failure),
        };
        if planned.is_err() {
            self.copy.drop_held();
        }
        if let Ok((plan, text)) = &planned
            && plan.takes_steps()
        {
            return self.begin_script(plan, text, outputs);
        }
        let planned = planned.and_then(|(plan, text)| {
            let rendered = match plan.passes() {
                true => None,
                false => Some(render_query(&text, &plan, &self.note_time())?),
            };
            Ok((plan, rendered))
        });
        match planned {
            Err(failure) => self.fail_query(failure, outputs),
            Ok((plan, rendered)) => {
                for index in 0..plan.planned.len() {
                    self.apply_effects(&plan, index);
                }
                let reading = self.row_of_query(&plan);
                let reading = reading.map(|row| Box::new(self.locks.begin_reading(row)));
                self.note_sync();
                match rendered {
                    None => {
                        let expected = Expected::Query(Default::default(), None);
                        self.send(message, expected, outputs);
                    }
                    Some(rendered) => {
                        frontend::write_query(rendered.as_bytes(), outputs.to_server);
                        let indices = 0..plan.planned.len();
                        let shapes = indices.map(|index| Shape::of_query(&plan, index));
                        let expected = Expected::Query(shapes.collect(), reading);
                        self.answers.push(expected);
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses statements after the end of a transaction in the same text, if the transaction
    /// changed what names mean: the whole text was planned with those names.
    fn check_end(&self, plan: &TextPlan) -> Result<(), StatementError> {
        if !self.schema.has_changes() || !plan.goes_on_behind_an_end() {
            return Ok(());
        }
        let message = "a statement behind the end of a transaction that has changed the schema \
                       or settings, in one text, is not supported before protected columns";
        Err(StatementError::unsupported(message).hint("Send the statements one by one."))
    }

    /// FunctionCall, which the server answers as it does a text.
    pub(super) fn function_call(
        &mut self,
        function: u32,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) {
        self.transaction.set_in_pipeline(false);
        if !LARGE_OBJECTS.contains(&function) {
            let message = "a function call of the protocol, other than of large objects, is \
                           refused before protected columns";
            let failure = StatementError::unsupported(message);
            return self.fail_query(failure.hint("Call the function by SELECT."), outputs);
        }
        self.note_sync();
        let expected = Expected::Query(Default::default(), None);
        self.send(message, expected, outputs);
    }

    pub(super) fn fail_query(&mut self, failure: StatementError, outputs: &mut Outputs<'_>) {
        frontend::write_query(REFUSED_TEXT, outputs.to_server);
        self.note_refusal(&failure);
        self.answers.push(Expected::FailQuery(failure));
    }

    /// The row that a text of one statement locks.
    fn row_of_query(&self, plan: &Arc<TextPlan>) -> Option<RowName> {
        let front = plan.front(0).filter(|_| plan.planned.len() == 1)?;
        if !plan.planned[0].plan.effects().keeps_locked_rows {
            return None;
        }
        let lock = plan.translated(front)?.locks.as_ref()?;
        RowName::new(
            &of_query(plan),
            front,
            lock,
            &Inputs::new(0, Vec::new(), self.settings.context()),
        )
    }

    fn begin_script(
        &mut self,
        plan: &Arc<TextPlan>,
        text: &str,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        if plan
            .planned
            .iter()
            .any(|one| is_copy(&text[one.span.clone()]))
        {
            let message = "COPY beside a statement that the proxy computes for is not supported";
            let failure = StatementError::unsupported(message);
            let failure = failure.hint("Send the statements one by one.");
            self.fail_query(failure, outputs);
            return Ok(());
        }
        if let Err(failure) = self.check_block(plan, text).and(check_length(plan)) {
            self.fail_query(failure, outputs);
            return Ok(());
        }
        let statement = Statement {
            text: text.into(),
            types: Box::default(),
            plan: Arc::clone(plan),
        };
        self.script = Some(Script {
            statement: Arc::new(statement),
            next: 0,
        });
        self.go_on_with_script(outputs)
    }

    /// Refuses a text with a statement that needs a transaction block, outside of one. The server
    /// takes such a text for a block, and the messages of the extended protocol for none.
    fn check_block(&self, plan: &TextPlan, text: &str) -> Result<(), StatementError> {
        let is_own = |index| {
            let effects = plan.effects(index);
            effects.is_some_and(|effects| effects.transaction.is_some())
        };
        let is_in_block = !self.transaction.is_outside_block() || self.locks.is_in_block();
        // The server refuses it alone, too.
        let is_alone = plan.planned.len() == 1;
        if is_alone || is_in_block || (0..plan.planned.len()).any(is_own) {
            return Ok(());
        }
        let mut parts = plan.planned.iter().map(|one| &text[one.span.clone()]);
        let Some(word) = parts.find_map(needs_block) else {
            return Ok(());
        };
        let message = format!(
            "{word} beside a statement that the proxy computes for, in one text without a \
             transaction block, is not supported"
        );
        Err(StatementError::unsupported(message)
            .hint("Begin the text with BEGIN; end it with COMMIT."))
    }

    /// Sends statements of a Query, up to one whose rows must come first.
    pub(super) fn go_on_with_script(&mut self, outputs: &mut Outputs<'_>) -> Result<(), End> {
        while self.pipeline.gate() != Gate::Waiting
            && let Some(script) = &mut self.script
        {
            let (statement, index) = (Arc::clone(&script.statement), script.next);
            script.next += 1;
            let Some(one) = statement.plan.planned.get(index) else {
                self.script = None;
                self.end_script(outputs);
                return Ok(());
            };
            if statement.parameters_wanted(index) > 0 {
                let message = "there is no parameter in a simple query";
                self.fail(
                    StatementError::statement(SqlState::UNDEFINED_PARAMETER, message),
                    outputs,
                );
                return Ok(());
            }
            match one.plan {
                Plan::Copy(_) => {
                    let message = "COPY beside a statement that the proxy computes for";
                    let message = format!("{message} is not supported");
                    self.fail(StatementError::unsupported(message), outputs);
                }
                Plan::Pass(_) | Plan::One(..) if !has_steps(&one.plan) => {
                    if let Err(failure) = self.send_of_script(&statement, index, outputs) {
                        self.fail(failure, outputs);
                    }
                }
                Plan::Pass(_)
                | Plan::One(..)
                | Plan::ReadModifyWrite(_)
                | Plan::Finish(_)
                | Plan::Finisher(_)
                | Plan::FinisherTables(_)
                | Plan::FinisherWrite(_)
                | Plan::FinisherMerge(_) => {
                    let all = Execute {
                        portal: b"",
                        rows_max: 0,
                    };
                    self.take_steps(&statement, index, Arc::default(), all, outputs)?;
                }
            }
        }
        Ok(())
    }

    /// Sends a statement of a Query that takes no steps.
    fn send_of_script(
        &mut self,
        statement: &Arc<Statement>,
        index: usize,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let plan = &statement.plan;
        let Some(front) = plan.front(index) else {
            let text = &statement.text[plan.planned[index].span.clone()];
            write_parse(b"", text.as_bytes(), std::iter::empty(), outputs.to_server);
            let none = std::iter::empty;
            let nothing = |_: &mut Vec<u8>| Ok::<(), Infallible>(());
            let Ok(()) = write_bind((b"", b""), none(), nothing, none(), outputs.to_server);
            self.expect_of_script(None, outputs);
            self.apply_effects(plan, index);
            self.answers.push(Expected::Execute(None, None));
            return Ok(());
        };
        let context = self.note_time();
        let empty = KeptBind::default();
        let bind = empty.bind();
        let inputs = inputs_of(index, &bind, &context);
        statement.write_parse(front, b"", &[], outputs.to_server);
        let results = statement.result_formats(front, bind.result_formats);
        let written = statement.write_bind(front, (b"", b""), &inputs, &results, outputs.to_server);
        if let Err(failure) = written {
            self.answers.push(Expected::Unseen(Unseen::Parse(0)));
            return Err(failure);
        }
        let shape = Shape::of_portal(plan, front, bind.result_formats);
        self.expect_of_script(shape.clone(), outputs);
        self.apply_effects(plan, index);
        self.answers.push(Expected::Execute(shape, None));
        Ok(())
    }

    /// Sends Describe and Execute after Parse and Bind.
    fn expect_of_script(&mut self, shape: Option<Arc<Shape>>, outputs: &mut Outputs<'_>) {
        let portal = Target::Portal(b"");
        write_target(frontend::kind::DESCRIBE, portal, outputs.to_server);
        write_execute(b"", 0, outputs.to_server);
        self.answers.push(Expected::Unseen(Unseen::Parse(0)));
        self.answers.push(Expected::Unseen(Unseen::Bind));
        self.answers.push(Expected::Unseen(Unseen::Describe(shape)));
    }

    /// Ends a Query that was sent as messages of the extended protocol.
    pub(super) fn end_script(&mut self, outputs: &mut Outputs<'_>) {
        backend::write_empty(frontend::kind::SYNC, outputs.to_server);
        self.transaction.set_in_pipeline(false);
        self.note_sync();
        self.answers.push(Expected::Sync);
    }
}

/// The statement of a Query, without its text.
pub(super) fn of_query(plan: &Arc<TextPlan>) -> Statement {
    Statement {
        text: Box::default(),
        types: Box::default(),
        plan: Arc::clone(plan),
    }
}

/// Whether a statement that is sent as it is takes a step all the same.
fn has_steps(plan: &Plan) -> bool {
    plan.effects().scroll().is_some()
}
