//! `ON CONFLICT DO UPDATE` whose new values the finisher computes: one statement inserts all rows
//! and returns those that are there already, the finisher computes, and each is written by itself.
//! All of it comes before the client's Sync, so it is one transaction even outside of a block.

use std::sync::Arc;

use session_core::plans::{Role, ServerStatement};
use session_core::{Sealed, StatementError};
use sql_plan::{Element, Upsert};
use wire_postgres::backend;
use wire_postgres::frontend::{self, Target, write_execute, write_target};

use super::steps::{RowsToWrite, close_portal};
use super::{Outputs, Protected};
use crate::finisher::{FinisherRequest, FinisherRows};
use crate::session::End;
use crate::session::answers::{Expected, Unseen, Writes};
use crate::session::finisher_link::Asked;
use crate::session::forms::Purpose;
use crate::session::found;
use crate::session::gathering::{Gathering, write_at};
use crate::session::rows::Shape;
use crate::session::statements::{StatementMessages, inputs_of};
use crate::session::step::Step;
use crate::session::upserting::Upserting;

impl Protected {
    /// Inserts rows, and waits for those that are there already.
    pub(super) fn begin_upsert(
        &mut self,
        gathering: Gathering,
        arrays: Sealed,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let statement = Arc::clone(&gathering.statement);
        let kept = Arc::clone(&gathering.bind);
        let portal = gathering.portal.clone();
        let at = ServerStatement {
            index: gathering.index,
            role: Role::Write,
        };
        let bind = kept.bind();
        let name = self.prepare(&statement, at, outputs)?;
        if !portal.is_empty() {
            close_portal(&portal, outputs);
            self.answers.push(Expected::Unseen(Unseen::Close));
        }
        let mut results = statement.result_formats(at, bind.result_formats);
        for column in &upsert_of(&gathering)?.existing {
            if column.element == Element::Text {
                results[column.output] = 0;
            }
        }
        let inputs = inputs_of(at.index, &bind, self.settings.context());
        let inputs = inputs.of_row(&arrays, &[]);
        let names = (&*portal, name.as_slice());
        statement.write_bind(at, names, &inputs, &results, outputs.to_server)?;
        self.answers.push(Expected::Unseen(Unseen::Bind));
        let target = Target::Portal(&portal);
        write_target(frontend::kind::DESCRIBE, target, outputs.to_server);
        write_execute(&portal, 0, outputs.to_server);
        self.locks.forget();
        let upserting = Upserting::new(gathering, arrays, self.script.is_some())?;
        self.wait(Step::Upsert(Box::new(upserting)), outputs);
        Ok(())
    }

    /// Takes the end of the rows, and asks the finisher if some were there already.
    pub(super) fn end_upsert(
        &mut self,
        mut upserting: Box<Upserting>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        if !upserting.end()? {
            return self.write_pairs(*upserting, Vec::new(), outputs);
        }
        let (execution, types) = upserting.question(self.settings.context())?;
        let query = upsert_of(&upserting.gathering)?.text.as_str().into();
        let loaded = self.schema.loaded()?;
        let (kind, settings) = self.settings.of_finisher(&loaded.schema);
        let request = FinisherRequest {
            kind,
            settings,
            query,
            parameter_types: types.into(),
            execution: Some(execution),
        };
        self.pipeline.wait();
        self.pipeline
            .finisher()
            .ask(request, Asked::Pairs(upserting));
        Ok(())
    }

    /// Takes the finisher's answer to pairs of rows.
    pub(super) fn take_pairs(
        &mut self,
        upserting: Upserting,
        rows: Result<FinisherRows, StatementError>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let plan = Arc::clone(&upserting.gathering.statement.plan);
        let read = rows.and_then(|rows| {
            let upsert = upsert_of(&upserting.gathering)?;
            if plan.has_opaque {
                let context = self.settings.noting_context();
                // An error comes again when the values are sealed.
                drop(found::read_pairs(&plan, upsert, &rows, &context));
                if let Some(wanted) = context.opaque.take_wanted() {
                    return Ok(Err((wanted, rows)));
                }
            }
            let context = self.settings.context();
            found::read_pairs(&plan, upsert, &rows, context).map(Ok)
        });
        let done = match read {
            Ok(Err((wanted, rows))) => {
                let purpose = Purpose::Update(Box::new((upserting, rows)));
                match self.ask_for(Some(wanted), purpose) {
                    Ok(_) => return Ok(()),
                    Err(failure) => Err(failure),
                }
            }
            Ok(Ok(pairs)) => {
                self.pipeline.open();
                self.write_pairs(upserting, pairs, outputs)
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = done {
            self.pipeline.open();
            self.fail(failure, outputs);
        }
        self.go_on_with_script(outputs)
    }

    /// Writes the new values of rows that were there.
    fn write_pairs(
        &mut self,
        upserting: Upserting,
        pairs: Vec<(usize, Sealed)>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let gathering = &upserting.gathering;
        let statement = Arc::clone(&gathering.statement);
        let kept = Arc::clone(&gathering.bind);
        let (portal, limits) = (gathering.portal.clone(), gathering.limits);
        let too_many = gathering.too_many_bytes();
        let at = ServerStatement {
            index: gathering.index,
            role: Role::Update,
        };
        let plan = write_at(&statement.plan, at.index).ok_or_else(StatementError::other_plan)?;
        let bind = kept.bind();
        let written = upserting.written(pairs)?;
        if written.changed.is_empty() {
            let mut said = Vec::new();
            for rows in &written.others {
                said.extend_from_slice(rows);
            }
            let tag = format!("{} {}", plan.verb, written.inserted);
            backend::write_command_complete(&tag, &mut said);
            self.answers.push(Expected::ProxyReply(said));
            return Ok(());
        }
        let shape = Shape::of_portal(&statement.plan, at, bind.result_formats);
        let name = self.prepare(&statement, at, outputs)?;
        let rows = RowsToWrite {
            statement: &statement,
            portal: &portal,
            rows: &written.changed,
            bytes_max: limits.bytes_max,
        };
        let context = self.settings.context();
        if !rows.write((&bind, context), (at, &name), outputs)? {
            return Err(too_many);
        }
        self.locks.forget();
        self.answers.push(Expected::Writes(Writes {
            left: written.changed.len(),
            count: written.inserted,
            verb: plan.verb,
            shape,
            others: written.others,
        }));
        Ok(())
    }
}

/// The plan of rows that are there.
fn upsert_of(gathering: &Gathering) -> Result<&Upsert, StatementError> {
    let plan = write_at(&gathering.statement.plan, gathering.index);
    let upsert = plan.and_then(|plan| plan.upsert.as_ref());
    upsert.ok_or_else(StatementError::other_plan)
}
