//! Statements that store the moment at which they are carried out (`CURRENT_TIMESTAMP`, or a
//! default of it). The server is asked for it before the statement is sent, so it is of the
//! server's clock, in the session's time zone, and follows `SET timestamp`.

use std::sync::Arc;

use session_core::plans::TextPlan;
use session_core::{Fault, Loaded, StatementError};
use sql_plan::{Assignment, ColumnId, Expression, Form, Hole, Literal, Plan, Source, Translated};
use sqlstate::SqlState;

use super::errors::refusal;
use super::pending::{Moment, passed_on};
use super::question::Answered;
use super::texts::statements;
use super::{Pending, Protected, Reach};
use crate::refusal::Refusal;

/// What is asked. A limit set by the session does not hold where there is another one.
const QUESTION: &str = "SELECT CURRENT_TIMESTAMP(6) LIMIT 1";

fn is_moment(source: &Source) -> bool {
    *source == Source::Literal(Literal::TransactionTime)
}

fn has_moment(source: &Source) -> bool {
    match source {
        Source::Members(members) => members.iter().any(is_moment),
        source => is_moment(source),
    }
}

fn assigns_moment(assignment: &Assignment) -> bool {
    matches!(&assignment.value, Expression::Value(source, _) if is_moment(source))
}

/// Whether a plan stores the moment.
fn takes(plan: &TextPlan) -> bool {
    let planned = plan.planned.iter();
    planned.map(|one| &one.plan).any(|plan| {
        let parts = statements(plan).into_iter().flatten();
        let mut holes = parts.flat_map(|part| &part.holes);
        let assigns = matches!(plan, Plan::ReadModifyWrite(modify)
            if modify.assignments.iter().any(assigns_moment));
        assigns || holes.any(|hole| has_moment(&hole.source))
    })
}

/// The plan with a moment in the places of those that it stores.
fn at(plan: &TextPlan, now: &str) -> TextPlan {
    let mut planned = plan.planned.clone();
    for one in &mut planned {
        let put = |part: &mut Translated| {
            let holes = part.holes.iter_mut();
            holes.for_each(|hole| put(hole, now, &plan.loaded));
        };
        match &mut one.plan {
            Plan::One(translated, _) => put(translated),
            Plan::ReadModifyWrite(modify) => {
                put(&mut modify.read);
                put(&mut modify.write);
                for own in modify
                    .assignments
                    .iter_mut()
                    .filter(|own| assigns_moment(own))
                {
                    if let Expression::Value(source, _) = &mut own.value {
                        *source = of_column(own.column, now, &plan.loaded);
                    }
                }
            }
            Plan::FinisherTables(query) => {
                let write = query.write.iter_mut().map(|own| &mut own.write);
                let insert = query.insert.iter_mut().map(|own| &mut own.write);
                write.chain(insert).for_each(put);
            }
            // What is left is no value of a column, and is refused.
            _ => {}
        }
    }
    plan.with(planned)
}

fn put(hole: &mut Hole, now: &str, loaded: &Loaded) {
    let Form::Sealed(column, _) = hole.form else {
        return;
    };
    match &mut hole.source {
        Source::Members(members) => {
            let group = loaded.schema.group_of(column);
            let columns = group.map_or(&[][..], |group| &group.members);
            for (member, column) in members.iter_mut().zip(columns) {
                if is_moment(member) {
                    *member = of_column(*column, now, loaded);
                }
            }
        }
        source if is_moment(source) => *source = of_column(column, now, loaded),
        _ => {}
    }
}

/// The moment with the digits of a second that a column has: servers cut the others off.
fn of_column(column: ColumnId, now: &str, loaded: &Loaded) -> Source {
    let digits = loaded.schema.column(column).logical.second_digits();
    let text = match (now.split_once('.'), digits.unwrap_or(0)) {
        (Some((whole, _)), 0) => whole.to_owned(),
        (Some((whole, part)), digits) => {
            let part: String = part.chars().take(digits.into()).collect();
            format!("{whole}.{part}")
        }
        (None, _) => now.to_owned(),
    };
    Source::Literal(Literal::Text(text))
}

impl Protected {
    /// The plan with the present moment in the places where it stores it. None: the server is asked
    /// for that, and the command is carried out anew.
    pub(super) fn at_moment(
        &mut self,
        plan: Arc<TextPlan>,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> Option<Arc<TextPlan>> {
        if !takes(&plan) {
            return Some(plan);
        }
        if let Moment::Known(now) = &pending.moment {
            return Some(Arc::new(at(&plan, now)));
        }
        self.pending = Some(Pending {
            moment: Moment::Asked,
            ..pending.again()
        });
        self.ask(QUESTION, reach);
        None
    }

    /// Takes the server's answer, and goes on with the command.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn told_moment(
        &mut self,
        pending: Pending,
        answered: &Answered,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let now = match answered {
            Answered::Rows(rows, _) => match &rows[..] {
                [row] => row.first().cloned().flatten(),
                _ => None,
            },
            Answered::Failed(_) => None,
        };
        let Some(now) = now else {
            let told = match answered {
                Answered::Failed(code) => passed_on(*code),
                Answered::Rows(..) => None,
            };
            let told = told.unwrap_or_else(|| refusal(&untold()));
            self.refuse_as(told, pending.sequence, reach);
            return Ok(());
        };
        self.pending = Some(Pending {
            moment: Moment::Known(now),
            ..pending
        });
        self.advance(reach)
    }
}

fn untold() -> StatementError {
    StatementError::new(
        Fault::Server,
        SqlState::INTERNAL_ERROR,
        "the server does not tell the time, which a protected column would get".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_holes() {
        let moment = Source::Literal(Literal::TransactionTime);
        let other = Source::Literal(Literal::Null);
        assert!(has_moment(&moment) && !has_moment(&other));
        assert!(has_moment(&Source::Members(vec![other.clone(), moment])));
        assert!(!has_moment(&Source::Members(vec![other])));
    }
}
