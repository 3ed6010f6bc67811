//! Messages of the extended protocol, translated for the server.

use std::cell::RefCell;
use std::sync::Arc;

use session_core::plans::{ServerStatement, TextPlan};
use session_core::{RowName, Statement, StatementError};
use sql_plan::{Form, Plan, Source};
use sql_rewrite::NAME_SIZE_MAX;
use sqlstate::SqlState;
use wire_postgres::backend;
use wire_postgres::frontend::{
    self, Bind, Execute, KeptBind, Parse, Target, write_parse, write_target,
};

use super::described::Known;
use super::{Outputs, Protected};
use crate::session::End;
use crate::session::answers::{DescribePart, Expected, Unseen};
use crate::session::copying::write_copy;
use crate::session::gathering::{is_returned, kept_at, query_at};
use crate::session::names::kept;
use crate::session::own::{self, Found};
use crate::session::portals::{Portal, PortalState};
use crate::session::rows::Shape;
use crate::session::statements::{StatementMessages, inputs_of, may_return_rows};

impl Protected {
    pub(super) fn parse(&mut self, parse: &Parse<'_>, message: &[u8], outputs: &mut Outputs<'_>) {
        let planned = check_name(parse.statement).and_then(|()| self.plan(parse.text));
        let planned = planned.and_then(|(plan, text)| {
            if plan.planned.len() > 1 {
                let message = "cannot insert multiple commands into a prepared statement";
                return Err(StatementError::statement(SqlState::SYNTAX_ERROR, message));
            }
            check_length(&plan)?;
            Ok((plan, text))
        });
        let (plan, text) = match planned {
            Ok(planned) => planned,
            Err(failure) => return self.fail(failure, outputs),
        };
        let types: Box<[u32]> = parse.types().collect();
        let mut statement = Statement { text, types, plan };
        match self.known_of(&statement, &statement.types) {
            Ok(Known::Plain) => {}
            Ok(Known::Asked) => return,
            Ok(Known::Described(described)) => {
                let query = query_at(&statement.plan, 0);
                let count = query.map_or(0, |query| query.parameters);
                let known = described.parameter_types.iter().take(count);
                let more = statement.types.iter().skip(count);
                statement.types = known.chain(more).copied().collect();
            }
            Err(failure) => return self.fail(failure, outputs),
        }
        if let Err(failure) = statement.check_types(0) {
            return self.fail(failure, outputs);
        }
        match statement.plan.front(0) {
            None => match statement.plan.copy(0) {
                Some(copy) => {
                    let context = self.note_time();
                    let copy = (&*statement.plan.loaded, copy);
                    let written = write_copy(copy, parse.statement, &context, outputs.to_server);
                    if let Err(failure) = written {
                        return self.fail(failure, outputs);
                    }
                }
                None => outputs.to_server.extend_from_slice(message),
            },
            Some(front) => {
                statement.write_parse(front, parse.statement, &[], outputs.to_server);
            }
        }
        self.answers.push(Expected::Parse);
        let batch = self.answers.batch_sent();
        let statement = Arc::new(statement);
        self.statements.parse(parse.statement, batch, statement);
    }

    pub(super) fn bind(&mut self, bind: &Bind<'_>, message: &[u8], outputs: &mut Outputs<'_>) {
        let found = check_name(bind.portal);
        let found = found.and_then(|()| self.statement_to_bind(bind.statement, outputs));
        let statement = match found {
            Ok(statement) => statement,
            Err(failure) => return self.fail(failure, outputs),
        };
        let plan = Arc::clone(&statement.plan);
        let Some(front) = plan.front(0) else {
            outputs.to_server.extend_from_slice(message);
            self.answers.push(Expected::Bind(bind.portal.into()));
            let shape = Shape::of_copy(&statement.plan, 0);
            let state = PortalState::Bound { shape, row: None };
            return self.enter_portal(bind.portal, Portal { statement, state });
        };
        if let Err(failure) = statement.check_bind(0, bind) {
            return self.fail(failure, outputs);
        }
        if !plan.takes_steps() {
            match self.ask_of_bind(&statement, bind, outputs) {
                Ok(false) => {}
                Ok(true) => return,
                Err(failure) => return self.fail(failure, outputs),
            }
        }
        if plan.takes_steps() {
            let kept = KeptBind::new(bind);
            if let Err(failure) = self.check_kept(bind.portal, kept.size()) {
                return self.fail(failure, outputs);
            }
            self.answers
                .push(Expected::ProxyBindReply(bind.portal.into()));
            let state = PortalState::Kept(Arc::new(kept));
            return self.enter_portal(bind.portal, Portal { statement, state });
        }
        let context = self.note_time();
        let locks = plan.translated(front);
        let locks = locks.and_then(|translated| translated.locks.as_ref());
        let keys = RefCell::default();
        let mut inputs = inputs_of(0, bind, &context);
        if locks.is_some() {
            inputs = inputs.with_keys(&keys);
        }
        let names = (bind.portal, bind.statement);
        let results = statement.result_formats(front, bind.result_formats);
        let written = statement.write_bind(front, names, &inputs, &results, outputs.to_server);
        if let Err(failure) = written {
            return self.fail(failure, outputs);
        }
        self.answers.push(Expected::Bind(bind.portal.into()));
        let row = locks.and_then(|lock| RowName::new(&statement, front, lock, &inputs));
        let shape = Shape::of_portal(&plan, front, bind.result_formats);
        let state = PortalState::Bound { shape, row };
        self.enter_portal(bind.portal, Portal { statement, state });
    }

    fn enter_portal(&mut self, name: &[u8], portal: Portal) {
        let batch = self.answers.batch_sent();
        self.portals.insert(name, batch, portal);
    }

    /// Refuses to keep something of a portal if the portals of the session hold too much.
    pub(super) fn check_kept(&self, name: &[u8], size: usize) -> Result<(), StatementError> {
        if name.is_empty() {
            return Ok(());
        }
        self.check_held(size)
    }

    /// Refuses to hold so many bytes more than the portals and cursors of the session do.
    ///
    /// # Errors
    /// That is too much.
    pub(super) fn check_held(&self, size: usize) -> Result<(), StatementError> {
        let kept = self.portals.named().map(|(_, portal)| match &portal.state {
            PortalState::Kept(bind) => bind.size(),
            PortalState::Answer(answer) => answer.size(),
            PortalState::Rows(answer) => answer.size(),
            PortalState::Bound { .. } | PortalState::Done => 0,
        });
        let bytes_max = self.schema.shared().finish_bytes_max();
        if kept.sum::<usize>() + self.objects.size() + size <= bytes_max {
            return Ok(());
        }
        let message =
            format!("the portals and cursors of the session hold more than {bytes_max} bytes");
        let hint = "Close some, or raise max_finish_bytes in the proxy's configuration.";
        Err(StatementError::limit(message).hint(hint))
    }

    /// The statement of a name, if its plan is still valid.
    fn statement_to_bind(
        &mut self,
        name: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<Arc<Statement>, StatementError> {
        let statement = self.statements.get(name).cloned().ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            let message = format!("prepared statement \"{name}\" does not exist");
            StatementError::statement(SqlState::INVALID_SQL_STATEMENT_NAME, message)
        })?;
        self.settings.encoding().check_values(&statement.plan)?;
        self.check_portals(&statement.text)?;
        // One that is planned as a FETCH of sealed columns may be of a cursor that has gone.
        let names_objects = statement.plan.may_name_objects
            && (self.objects.concern(&statement.text)
                || !statement.plan.passes()
                || !self.portals_of(&statement.text).is_empty());
        if names_objects {
            let (plan, _) = self.plan(statement.text.as_bytes())?;
            if !plan.means_the_same(&statement.plan) {
                return Err(means_another(
                    "the prepared statement names a cursor or a statement that is another one by \
                     now",
                ));
            }
        }
        let version = self.schema.version();
        let is_old = version != Some(statement.plan.loaded.version);
        if !is_old && !statement.plan.is_narrow() {
            self.schema.check_lease(&statement.plan)?;
            self.check_failed(&statement.plan)?;
            return Ok(statement);
        }
        let (plan, text) = self.plan(statement.text.as_bytes())?;
        let is_same = plan.planned == statement.plan.planned;
        let text_of = &statement.text;
        let means_the_same = || {
            plan.means_the_same(&statement.plan)
                || (plan.reads_catalogues(text_of) && statement.plan.reads_catalogues(text_of))
        };
        if is_old && !is_same && !means_the_same() {
            let message = "the prepared statement means something else since the schema changed";
            return Err(means_another(message));
        }
        let types = statement.types.clone();
        let renewed = Arc::new(Statement { text, types, plan });
        let batch = self.answers.batch_sent();
        if is_same {
            self.statements.renew(name, batch, Arc::clone(&renewed));
            return Ok(renewed);
        }
        // It reads more columns than before, or shows other tables in catalogues, so the server
        // must parse it again.
        if !name.is_empty() {
            let target = Target::Statement(name);
            write_target(frontend::kind::CLOSE, target, outputs.to_server);
            self.answers.push(Expected::Unseen(Unseen::Close));
        }
        match renewed.plan.front(0) {
            Some(front) => renewed.write_parse(front, name, &[], outputs.to_server),
            None => {
                let types = renewed.types.iter().copied();
                write_parse(name, renewed.text.as_bytes(), types, outputs.to_server);
            }
        }
        self.answers.push(Expected::Unseen(Unseen::ParseAgain));
        let statement = Arc::clone(&renewed);
        self.statements.parse_again(name, batch, statement);
        Ok(renewed)
    }

    pub(super) fn describe(
        &mut self,
        target: Target<'_>,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) {
        let found = match target {
            Target::Statement(name) => match self.statements.get(name).cloned() {
                Some(statement) if statement.plan.takes_steps() => {
                    let none = KeptBind::default();
                    if self.describe_scroll(&statement.plan, none.bind().result_formats, true) {
                        return;
                    }
                    if self.describe_gathered(&statement, message, outputs) {
                        return;
                    }
                    if self.describe_finish(&statement, message, outputs) {
                        return;
                    }
                    return self.describe_steps(statement, message, outputs);
                }
                Some(statement) => Ok(Expected::DescribeStatement(statement, None)),
                None => Err((SqlState::INVALID_SQL_STATEMENT_NAME, name)),
            },
            Target::Portal(name) => match self.portals.get(name) {
                Some(portal) => match &portal.state {
                    PortalState::Bound { shape, .. } => Ok(Expected::DescribePortal(shape.clone())),
                    PortalState::Kept(bind) => {
                        let (statement, bind) = (Arc::clone(&portal.statement), Arc::clone(bind));
                        return self.describe_kept(&statement, &bind.bind(), outputs);
                    }
                    PortalState::Answer(answer) => {
                        let mut said = Vec::new();
                        let rows = answer.writer();
                        rows.write_description(answer.program(), &mut said);
                        return self.answers.push(Expected::ProxyReply(said));
                    }
                    PortalState::Rows(answer) => {
                        let mut said = Vec::new();
                        answer.write_description(&mut said);
                        return self.answers.push(Expected::ProxyReply(said));
                    }
                    PortalState::Done => Err((SqlState::INVALID_CURSOR_NAME, name)),
                },
                None => match self.columns_of_cursor(name) {
                    Some(said) => Ok(Expected::DescribeCursor(said)),
                    None => match self.shape_of_cursor(name) {
                        Ok(shape) => Ok(Expected::DescribePortal(shape)),
                        Err(failure) => return self.fail(failure, outputs),
                    },
                },
            },
        };
        match found {
            Ok(expected) => self.send(message, expected, outputs),
            Err((sqlstate, name)) => {
                let name = String::from_utf8_lossy(name);
                let message = format!("\"{name}\" does not exist");
                self.fail(StatementError::statement(sqlstate, message), outputs);
            }
        }
    }

    /// The columns of a cursor that SQL has declared: to the server it is a portal, and drivers
    /// describe it like one. None: it has no sealed columns, or does not exist.
    fn shape_of_cursor(&mut self, name: &[u8]) -> Result<Option<Arc<Shape>>, StatementError> {
        let name = String::from_utf8_lossy(name);
        if !self.objects.has_cursor(&name) {
            return Ok(None);
        }
        let fetch = format!("FETCH FROM \"{}\"", name.replace('"', "\"\""));
        let (plan, _) = self.plan(fetch.as_bytes())?;
        Ok(Shape::of_query(&plan, 0))
    }

    /// Describes a statement that takes steps, by describing the server's statements.
    fn describe_steps(
        &mut self,
        statement: Arc<Statement>,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) {
        let (Some(front), Some(answering)) = (statement.plan.front(0), statement.plan.answering(0))
        else {
            let message = "a statement of this kind cannot be described";
            return self.fail(StatementError::unsupported(message), outputs);
        };
        let mut parts: Vec<ServerStatement> = parts_to_describe(&statement, front, answering);
        let last = parts.pop().unwrap_or(front);
        for at in parts {
            if at == front {
                outputs.to_server.extend_from_slice(message);
            } else if let Err(failure) = self.describe_own(&statement, at, outputs) {
                return self.fail(failure, outputs);
            }
            let statement = Arc::clone(&statement);
            let is_last = false;
            self.answers.push(Expected::DescribePart(DescribePart {
                statement,
                at,
                is_last,
            }));
        }
        if last == front {
            outputs.to_server.extend_from_slice(message);
        } else if let Err(failure) = self.describe_own(&statement, last, outputs) {
            return self.fail(failure, outputs);
        }
        self.answers.push(Expected::DescribePart(DescribePart {
            statement,
            at: last,
            is_last: true,
        }));
    }

    /// Describes a portal that the proxy keeps.
    fn describe_kept(
        &mut self,
        statement: &Arc<Statement>,
        bind: &Bind<'_>,
        outputs: &mut Outputs<'_>,
    ) {
        if self.describe_scroll(&statement.plan, bind.result_formats, false)
            || self.describe_gathered_portal(statement, bind, outputs)
            || self.describe_answer(statement, bind, outputs)
        {
            return;
        }
        let Some(at) = statement.plan.answering(0) else {
            let message = "a statement of this kind cannot be described";
            return self.fail(StatementError::unsupported(message), outputs);
        };
        if !may_return_rows(statement, at) {
            let mut said = Vec::new();
            backend::write_empty(backend::kind::NO_DATA, &mut said);
            return self.answers.push(Expected::ProxyReply(said));
        }
        if let Err(failure) = self.describe_own(statement, at, outputs) {
            return self.fail(failure, outputs);
        }
        let shape = Shape::of_portal(&statement.plan, at, bind.result_formats);
        let formats = bind.result_formats.iter().collect();
        self.answers.push(Expected::DescribeRows(shape, formats));
    }

    /// Describes a statement of the proxy's own.
    ///
    /// # Errors
    /// As those of [`Self::prepare`]. Nothing was sent.
    pub(super) fn describe_own(
        &mut self,
        statement: &Arc<Statement>,
        at: ServerStatement,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let name = self.prepare(statement, at, outputs)?;
        let target = Target::Statement(&name);
        write_target(frontend::kind::DESCRIBE, target, outputs.to_server);
        Ok(())
    }

    /// Prepares a statement of the proxy's own, unless the server has it. Returns its name.
    ///
    /// # Errors
    /// The finisher computes other columns than the statement takes. Nothing was sent.
    pub(super) fn prepare(
        &mut self,
        statement: &Arc<Statement>,
        at: ServerStatement,
        outputs: &mut Outputs<'_>,
    ) -> Result<Vec<u8>, StatementError> {
        let computed = self.array_types(statement, at)?;
        let number = if self.script.is_some() {
            // A Query is rarely repeated literally, so its statements get no name.
            Found::New(0, None)
        } else {
            self.own.find(statement, at)
        };
        let (number, closed) = match number {
            Found::Known(number) => return Ok(own::name(number)),
            Found::New(number, closed) => (number, closed),
        };
        if let Some(closed) = closed {
            let name = own::name(closed);
            let target = Target::Statement(&name);
            write_target(frontend::kind::CLOSE, target, outputs.to_server);
            self.answers.push(Expected::Unseen(Unseen::Close));
        }
        let name = own::name(number);
        statement.write_parse(at, &name, &computed, outputs.to_server);
        self.answers.push(Expected::Unseen(Unseen::Parse(number)));
        Ok(name)
    }

    pub(super) fn execute(
        &mut self,
        execute: Execute<'_>,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let missing = |sqlstate, what| {
            let name = String::from_utf8_lossy(execute.portal);
            StatementError::statement(sqlstate, format!("portal \"{name}\" {what}"))
        };
        if self.give_answer(execute) || self.give_more_rows(execute) {
            return Ok(());
        }
        let Some(portal) = self.portals.get_mut(execute.portal) else {
            self.fail(
                missing(SqlState::INVALID_CURSOR_NAME, "does not exist"),
                outputs,
            );
            return Ok(());
        };
        let statement = Arc::clone(&portal.statement);
        if !only_reads(&statement.plan) {
            self.transaction.note_executed();
        }
        let (shape, row) = match &portal.state {
            PortalState::Bound { shape, row } => (shape.clone(), row.clone()),
            PortalState::Answer(_) | PortalState::Rows(_) | PortalState::Done => {
                self.fail(
                    missing(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cannot be run"),
                    outputs,
                );
                return Ok(());
            }
            PortalState::Kept(bind) => {
                let bind = Arc::clone(bind);
                let asked = self.ask_of_bind(&statement, &bind.bind(), outputs);
                match asked.and_then(|asked| Ok(asked || self.ask_of_cursors(&statement)?)) {
                    Ok(false) => {}
                    Ok(true) => return Ok(()),
                    Err(failure) => {
                        self.fail(failure, outputs);
                        return Ok(());
                    }
                }
                if let Some(portal) = self.portals.get_mut(execute.portal) {
                    portal.state = PortalState::Done;
                }
                return self.take_steps(&statement, 0, bind, execute, outputs);
            }
        };
        match self.holds_copy(&statement.plan, message, outputs) {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(failure) => {
                self.copy.drop_held();
                self.fail(failure, outputs);
                return Ok(());
            }
        }
        if statement.plan.copy(0).is_some() {
            // Defaults and values of its rows may be the time: that of this execution.
            self.note_time();
        }
        self.apply_effects(&statement.plan, 0);
        let effects = statement.plan.effects(0);
        let row = row.filter(|_| effects.is_some_and(|effects| effects.keeps_locked_rows));
        let reading = row.map(|row| Box::new(self.locks.begin_reading(row)));
        self.send(message, Expected::Execute(shape, reading), outputs);
        Ok(())
    }
}

/// Whether a statement is a query that the proxy answers, and whose fetch calls nothing that may
/// write: it leaves nothing to commit.
fn only_reads(plan: &TextPlan) -> bool {
    let own = plan.planned.first().map(|one| &one.plan);
    let is_query = matches!(
        own,
        Some(own @ (Plan::Finish(_) | Plan::Finisher(_))) if !own.effects().forgets_locks
    ) && !is_returned(plan, 0);
    is_query && kept_at(plan, 0).is_none()
}

/// Refuses a long name if the proxy cannot tell where the server truncates it: that depends on the
/// encoding, and SQL truncates at a whole character.
fn check_name(name: &[u8]) -> Result<(), StatementError> {
    let start = kept(name);
    if start.len() == name.len() || start.is_ascii() {
        return Ok(());
    }
    let message = format!("a name of more than {NAME_SIZE_MAX} bytes has to be in ASCII");
    Err(StatementError::statement(SqlState::NAME_TOO_LONG, message))
}

/// The error that a prepared statement now has another meaning.
fn means_another(message: &'static str) -> StatementError {
    StatementError {
        wants_preparing: true,
        ..StatementError::unsupported(message).hint("Prepare it again.")
    }
}

/// Refuses a statement with more parameters than a message can carry.
pub(super) fn check_length(plan: &TextPlan) -> Result<(), StatementError> {
    if !plan.is_too_long() {
        return Ok(());
    }
    let message = "the statement has more than 65535 values for protected columns";
    Err(StatementError::limit(message)
        .hint("Pass an array as one parameter, split the statement, or use COPY."))
}

/// The server's statements to describe in order to know parameters and rows of a client's
/// statement. The one with the rows comes last.
fn parts_to_describe(
    statement: &Statement,
    front: ServerStatement,
    answering: ServerStatement,
) -> Vec<ServerStatement> {
    let plan = &statement.plan;
    let own_parameters = |at| {
        let holes = plan.translated(at).map_or(&[][..], |part| &part.holes);
        let holes = holes
            .iter()
            .filter_map(|hole| match (&hole.source, hole.form) {
                (Source::Parameter(number), Form::Plain) => Some(*number),
                _ => None,
            });
        holes.collect::<Vec<_>>()
    };
    let known = own_parameters(front);
    let has_more = own_parameters(answering)
        .iter()
        .any(|number| !known.contains(number));
    match has_more || may_return_rows(statement, answering) {
        true => vec![front, answering],
        false => vec![front],
    }
}
