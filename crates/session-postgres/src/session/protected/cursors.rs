//! `DECLARE`, `FETCH` and `MOVE` of cursors whose rows the proxy keeps, since the finisher has
//! computed them.
//!
//! The server has a cursor of the same name that is never read. So names, transactions, savepoints
//! and `WITH HOLD` are the server's own: before each `FETCH` and `MOVE` it is asked whether the
//! cursor is there (`MOVE 0`). The proxy has the rows, and where the cursor stands in them.
//!
//! Invariant: rows are kept under a name only once the server has declared the cursor. A cursor of
//! which no rows are kept is not read.

use std::sync::Arc;

use session_core::plans::TextPlan;
use session_core::{Statement, StatementError};
use wire_postgres::Formats;
use wire_postgres::backend;
use wire_postgres::frontend::{
    self, Execute, Target, write_bind, write_execute, write_parse, write_target,
};

use super::described::Known;
use super::steps::close_portal;
use super::{Outputs, Protected};
use crate::finisher::FinisherRows;
use crate::session::answers::{Expected, Unseen};
use crate::session::cursors::{CursorRows, without_rows};
use crate::session::finisher_rows::AnsweredRows;
use crate::session::gathering::{Gathering, kept_at, scroll_at};
use crate::session::portals::PortalState;
use crate::session::step::{Declaring, Scrolling, Step};

/// The name of the statement that declares a cursor.
const DECLARE: &[u8] = b"strongroom_declare";

impl Protected {
    /// Asks for the columns of the cursors that a statement declares. True: the message is
    /// processed again.
    ///
    /// # Errors
    /// The finisher refuses a query.
    pub(super) fn ask_of_cursors(&mut self, statement: &Statement) -> Result<bool, StatementError> {
        for index in 0..statement.plan.planned.len() {
            if kept_at(&statement.plan, index).is_some()
                && matches!(
                    self.known_at(statement, index, &statement.types)?,
                    Known::Asked
                )
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The formats of the columns of a cursor's rows: each as text, and then each in binary.
    pub(super) fn cursor_formats(
        &mut self,
        statement: &Statement,
        index: usize,
    ) -> Result<Box<[i16]>, StatementError> {
        let Known::Described(described) = self.known_at(statement, index, &statement.types)? else {
            return Err(StatementError::defect(
                "the columns of a cursor are not known",
            ));
        };
        let fields = backend::read_row_description(&described.row_description);
        let width = fields.map_or(0, |fields| fields.len()) / 2;
        let formats = [0, 1].into_iter();
        let formats = formats.flat_map(|format| std::iter::repeat_n(format, width));
        Ok(formats.collect())
    }

    /// Has the server declare a cursor whose rows have been computed.
    pub(super) fn declare_found(
        &mut self,
        gathering: &Gathering,
        rows: FinisherRows,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let plan = &gathering.statement.plan;
        let kept = kept_at(plan, gathering.index).ok_or_else(StatementError::other_plan)?;
        let rows = CursorRows::new(rows, kept.is_scroll)?;
        self.check_held(rows.size())?;
        let (portal, out) = (&*gathering.portal, &mut *outputs.to_server);
        write_target(frontend::kind::CLOSE, Target::Statement(DECLARE), out);
        write_parse(DECLARE, kept.text.as_bytes(), std::iter::empty(), out);
        self.answers.push(Expected::Unseen(Unseen::Close));
        self.answers.push(Expected::Unseen(Unseen::Parse(0)));
        if !portal.is_empty() {
            close_portal(portal, outputs);
            self.answers.push(Expected::Unseen(Unseen::Close));
        }
        write_nothing((portal, DECLARE), outputs);
        self.answers.push(Expected::Unseen(Unseen::Bind));
        write_execute(portal, 0, outputs.to_server);
        let declaring = Declaring {
            name: kept.name.clone(),
            rows,
        };
        self.wait(Step::Declare(Box::new(declaring)), outputs);
        Ok(())
    }

    /// Keeps the rows of a cursor that the server has declared.
    pub(super) fn end_declare(&mut self, declaring: Declaring, outputs: &mut Outputs<'_>) {
        self.objects
            .cursors()
            .insert(&declaring.name, declaring.rows);
        self.note_tag(b"DECLARE CURSOR\0");
        backend::write_command_complete("DECLARE CURSOR", outputs.to_client);
    }

    /// Asks the server whether a cursor is there whose rows are kept.
    pub(super) fn begin_scroll(
        &mut self,
        (statement, index): (&Arc<Statement>, usize),
        formats: Formats<'_>,
        name: &[u8],
        execute: Execute<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let plan = &statement.plan;
        let scroll = scroll_at(plan, index).ok_or_else(StatementError::other_plan)?;
        self.apply_effects(plan, index);
        write_nothing((execute.portal, name), outputs);
        self.answers.push(Expected::Unseen(Unseen::Bind));
        write_execute(execute.portal, 0, outputs.to_server);
        let scrolling = Scrolling {
            scroll: scroll.clone(),
            formats: formats.iter().collect(),
            portal: execute.portal.into(),
            rows_max: usize::try_from(execute.rows_max)
                .ok()
                .filter(|&rows| rows > 0),
        };
        self.wait(Step::Scroll(Box::new(scrolling)), outputs);
        Ok(())
    }

    /// Gives the rows of a cursor that the server has.
    pub(super) fn end_scroll(
        &mut self,
        scrolling: Scrolling,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let Scrolling {
            scroll,
            formats,
            portal,
            rows_max,
        } = scrolling;
        let cursor = self.objects.cursors().get_mut(&scroll.name);
        let cursor = cursor.ok_or_else(|| without_rows(&scroll.name))?;
        let rows = cursor.scroll(&scroll, &formats)?;
        self.note_tag(b"FETCH\0");
        if scroll.is_move {
            backend::write_command_complete(&format!("MOVE {}", rows.count), outputs.to_client);
            return Ok(());
        }
        let mut answer = AnsweredRows::new(rows, formats).of_fetch();
        if self.script.is_some() {
            answer.write_description(outputs.to_client);
        }
        self.check_kept(&portal, answer.size_left(rows_max))?;
        answer.give(rows_max, outputs.to_client);
        if let Some(portal) = self.portals.get_mut(&portal)
            && matches!(portal.state, PortalState::Done)
        {
            portal.state = PortalState::Rows(Box::new(answer));
        }
        Ok(())
    }

    /// Describes a statement that fetches from a cursor whose rows are kept, or a portal of it.
    /// False: it is another one.
    pub(super) fn describe_scroll(
        &mut self,
        plan: &TextPlan,
        formats: Formats<'_>,
        is_statement: bool,
    ) -> bool {
        let Some(scroll) = scroll_at(plan, 0) else {
            return false;
        };
        let mut said = Vec::new();
        if is_statement {
            backend::write_parameter_description(&[], &mut said);
        }
        // What declares it has been answered by now.
        match self.objects.cursors().get_mut(&scroll.name) {
            Some(cursor) if !scroll.is_move => {
                let formats: Vec<i16> = formats.iter().collect();
                cursor.write_description(&formats, &mut said);
            }
            _ => backend::write_empty(backend::kind::NO_DATA, &mut said),
        }
        self.answers.push(Expected::ProxyReply(said));
        true
    }

    /// The columns of a cursor whose rows are kept. To the server it is a portal, and drivers
    /// describe it like one.
    pub(super) fn columns_of_cursor(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        let name = String::from_utf8_lossy(name);
        let mut said = Vec::new();
        let cursor = self.objects.cursors().get_mut(&name)?;
        cursor.write_description(&[], &mut said);
        Some(said)
    }
}

/// Writes Bind without values.
fn write_nothing(names: (&[u8], &[u8]), outputs: &mut Outputs<'_>) {
    let none = std::iter::empty;
    let nothing = |_: &mut Vec<u8>| Ok::<(), std::convert::Infallible>(());
    let Ok(()) = write_bind(names, none(), nothing, none(), outputs.to_server);
}
