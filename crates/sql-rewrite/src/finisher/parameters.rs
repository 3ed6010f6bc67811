//! The parameters of a query for the finisher.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use column_value::LogicalType;
use sqlparser::ast::{Expr, Query, Value, ValueWithSpan, Visit, Visitor};

use crate::analysis::{Analysis, Constant};
use crate::walk;
use crate::{ParameterType, Refusal};
use sql_plan::unsupported;

/// The types to declare for parameters that a query does not have.
pub(super) fn declared(
    own: &BTreeSet<usize>,
    types: &[Option<ParameterType>],
) -> Result<Vec<Option<LogicalType>>, Refusal> {
    let declared = types.iter().enumerate().map(|(number, known)| match known {
        _ if own.contains(&number) => Ok(None),
        Some(noted) if !noted.is_array() => Ok(Some(noted.logical())),
        _ => Err(unsupported(&format!(
            "parameter ${} of a type that is not known",
            number + 1
        ))
        .with_hint("Cast it.")),
    });
    declared.collect()
}

/// The parameters of a query, from 0.
pub(super) fn parameters_of(query: &Query) -> Result<BTreeSet<usize>, Refusal> {
    struct Numbers(BTreeSet<usize>);
    impl Visitor for Numbers {
        type Break = Refusal;

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Refusal> {
            let Value::Placeholder(_) = value.value else {
                return ControlFlow::Continue(());
            };
            match Constant::of(&Expr::Value(value.clone())) {
                Ok(Some(Constant {
                    source: crate::Source::Parameter(number),
                    ..
                })) => {
                    self.0.insert(number);
                    ControlFlow::Continue(())
                }
                Ok(_) => ControlFlow::Break(unsupported("a parameter of another dialect")),
                Err(refusal) => ControlFlow::Break(refusal),
            }
        }
    }
    let mut numbers = Numbers(BTreeSet::new());
    match walk::visit(query, &mut numbers) {
        ControlFlow::Continue(()) => Ok(numbers.0),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

/// Notes the types to which the server casts parameters: the finisher may not see these.
///
/// # Errors
/// There is a parameter of another dialect.
pub(super) fn note_casts(part: &impl Visit, analysis: &mut Analysis) -> Result<(), Refusal> {
    let noted = walk::expressions(part, |expression| match Constant::of(expression) {
        Ok(Some(Constant {
            source,
            cast: Some(cast),
            ..
        })) => {
            analysis.parameters.note_type(&source, cast);
            ControlFlow::Continue(())
        }
        Ok(_) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(refusal),
    });
    match noted {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}
