//! What the proxy computes from rows of the server and from values that it keeps.

use super::Doubt;
use super::label::{Atom, Label, Labels};
use crate::{
    Aggregate, BinaryOperator, ColumnId, Expression, Finish, GroupKey, Source, UnaryOperator,
};

/// The labels of what is computed over.
pub(super) struct Over<'l> {
    pub outputs: &'l [Label],
    pub groups: Vec<Label>,
    pub aggregates: Vec<Label>,
}

/// Checks what the proxy computes for a query.
pub(super) fn check(finish: &Finish, outputs: &[Label], labels: &mut Labels) -> Result<(), Doubt> {
    let mut over = Over {
        outputs,
        groups: Vec::new(),
        aggregates: Vec::new(),
    };
    for GroupKey { value } in &finish.group_by {
        let label = over.label(value, labels)?;
        over.groups.push(label);
    }
    for Aggregate {
        function: _,
        distinct: _,
        argument,
        filter,
    } in &finish.aggregates
    {
        if let Some(filter) = filter {
            over.label(filter, labels)?;
        }
        let argument = argument
            .as_ref()
            .map(|argument| over.label(argument, labels));
        over.aggregates
            .push(argument.transpose()?.unwrap_or_else(Label::null));
    }
    let filters = finish.filter.iter().chain(&finish.having);
    let projected = finish.project.iter().map(|(_, value, _)| value);
    let sorted = finish.order_by.iter().map(|sort| &sort.value);
    for value in filters.chain(projected).chain(sorted) {
        over.label(value, labels)?;
    }
    Ok(())
}

/// Checks what the proxy computes for a protected column of a row.
pub(super) fn check_stored(
    (column, value): (ColumnId, &Expression),
    outputs: &[Label],
    labels: &mut Labels,
) -> Result<(), Doubt> {
    let over = Over {
        outputs,
        groups: Vec::new(),
        aggregates: Vec::new(),
    };
    let label = over.label(value, labels)?;
    meet(Label::sealed(column), label, labels).map(drop)
}

impl Over<'_> {
    /// What an expression is made of. What the proxy keeps has no label: it meets everything.
    pub fn label(&self, expression: &Expression, labels: &mut Labels) -> Result<Label, Doubt> {
        let known = |labels: &[Label], index: usize| {
            let label = labels.get(index).cloned();
            label.ok_or_else(|| Doubt("a column that is not fetched".to_owned()))
        };
        let all = |parts: &[&Expression], labels: &mut Labels| {
            parts.iter().try_fold(Label::null(), |all, part| {
                let label = self.label(part, labels)?;
                meet(all, label, labels)
            })
        };
        match expression {
            Expression::Column(index) => known(self.outputs, *index),
            Expression::Aggregate(index) => known(&self.aggregates, *index),
            Expression::Group(index) => known(&self.groups, *index),
            Expression::Value(..) => Ok(Label::null()),
            Expression::Unary(operator, inner) => {
                let label = self.label(inner, labels)?;
                Ok(match operator {
                    UnaryOperator::Negate => label,
                    UnaryOperator::Not | UnaryOperator::IsNull | UnaryOperator::IsNotNull => {
                        Label::null()
                    }
                })
            }
            Expression::Binary(BinaryOperator::And | BinaryOperator::Or, left, right) => {
                self.label(left, labels)?;
                self.label(right, labels)?;
                Ok(Label::null())
            }
            Expression::Binary(_, left, right) => all(&[left, right], labels),
            Expression::Like {
                operand, pattern, ..
            } => all(&[operand, pattern], labels),
            Expression::In(operand, values) => {
                let parts: Vec<&Expression> = values.iter().chain([&**operand]).collect();
                all(&parts, labels)
            }
            Expression::Coalesce(values) => all(&values.iter().collect::<Vec<_>>(), labels),
            Expression::Case(whens, otherwise) => {
                for (when, _) in whens {
                    self.label(when, labels)?;
                }
                let thens = whens.iter().map(|(_, then)| then);
                let results: Vec<&Expression> = thens.chain(otherwise.as_deref()).collect();
                all(&results, labels)
            }
            Expression::InArray(inner, ..)
            | Expression::Cast(inner, _)
            | Expression::Call(_, inner) => self.label(inner, labels),
        }
    }
}

/// In the proxy a protected column may meet what the server has in clear, but no value of the
/// statement that went there in clear.
fn meet(one: Label, other: Label, labels: &mut Labels) -> Result<Label, Doubt> {
    let sealed = one.sealed.or(other.sealed);
    let is_given = !one.clear.is_empty() || !other.clear.is_empty();
    if let (Some(sealed), true) = (sealed, is_given) {
        return Err(Doubt(format!(
            "the proxy compares protected column {} with a value that goes in clear",
            labels.title(sealed)
        )));
    }
    Ok(Label {
        sealed,
        public: one.public || other.public,
        clear: [one.clear, other.clear].concat(),
        is_empty: one.is_empty && other.is_empty,
    })
}

/// What an expression of the proxy keeps.
pub(super) fn hidden_in(expression: &Expression, hidden: &mut Vec<Atom>) {
    match expression {
        Expression::Value(source, _) | Expression::InArray(_, source, _) => {
            hidden.extend(atoms_of(source));
        }
        _ => {}
    }
    for part in expression.parts() {
        hidden_in(part, hidden);
    }
}

/// The values that a source is made of.
pub(super) fn atoms_of(source: &Source) -> Vec<Atom> {
    let mut atoms = Vec::new();
    match source {
        Source::Calculated(expression, _) => hidden_in(expression, &mut atoms),
        Source::Members(members) => atoms.extend(members.iter().flat_map(atoms_of)),
        source => atoms.push(Atom::of(source)),
    }
    atoms
}
