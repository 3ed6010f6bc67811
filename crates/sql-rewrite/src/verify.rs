//! The verifier: it reads the text for the server again, and shows that no value is sent in clear
//! where a protected column is.
//!
//! The planner decides how each value is sent. The verifier does not know how. It takes the text
//! for the server, what fills its holes, and the schema, and gives each value a label: sealed for a
//! column, in clear, or NULL. Labels follow the values through relations, queries, joins and
//! expressions. Where ciphertext and a value in clear meet, the statement is refused; so is what is
//! not understood. Planner and verifier share the tree, the schema and the meaning of names, and no
//! other code. `docs/threat-model.md` has the argument, and what it rests on.
//!
//! Invariants:
//! 1. Each expression of the tree has had a label. The parser's own walk over the tree finds what a
//!    match left out.
//! 2. Ciphertext meets ciphertext of its domain, or NULL.
//! 3. A value that is sealed, or that the proxy compares, is not also sent in clear, except into a
//!    plain column or compared with one.
//! 4. What the proxy computes does not bring ciphertext together with a value that was sent in
//!    clear.

mod called;
mod computed;
mod conflicts;
mod copied;
mod expression;
mod filled_inserts;
mod groups;
mod information;
mod inserted;
mod joined;
mod label;
mod loaded;
mod merged;
mod mysql;
mod names;
mod query;
mod sequences;
mod skip_locked;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;
mod write;

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Statement};
use sqlstate::SqlState;

use crate::analysis::Constant;
use crate::walk;
use crate::{
    Assignment, ColumnId, Dialect, FinisherQuery, FinisherWrite, Form, Hole, Output, OutputKind,
    Plan, Purpose, ReadModifyWrite, Refusal, Schema, Source, Template, Translated,
};
use label::{Atom, Label, Labels};
use names::Columns;

/// Why the verifier does not accept a plan.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Doubt(pub String);

/// The start of each message of the verifier.
const REFUSED: &str = "the verifier rejects the plan of this statement: ";

impl From<Doubt> for Refusal {
    fn from(doubt: Doubt) -> Self {
        Refusal {
            sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
            message: format!("{REFUSED}{}", doubt.0),
            hint: Some(
                "Please report the statement: the planner should have refused it, or the proof \
                 should know its form."
                    .to_owned(),
            ),
        }
    }
}

/// Whether this is a message of the verifier: it has refused a plan that the planner made. That is
/// a defect of one of the two.
pub fn is_of_second_proof(message: &str) -> bool {
    message.contains(REFUSED)
}

pub(crate) use information::check_information;
pub(crate) use loaded::check_load;

/// Proves a plan for a statement that reads or writes rows.
pub(crate) fn check(plan: &Plan, schema: &Schema) -> Result<(), Doubt> {
    match plan {
        Plan::Pass(_) => Ok(()),
        Plan::One(translated, effects) => {
            mysql::check_ignored(translated, effects, schema)?;
            let wider = translated.locks.iter().find_map(|own| own.wider.as_deref());
            let mut all = [Some(translated), wider].into_iter().flatten();
            all.try_for_each(|one| check_translated(one, schema))
        }
        Plan::ReadModifyWrite(modify) => of_modify(modify, schema),
        Plan::Finish(finish) => {
            mysql::check_finish(finish, schema)?;
            let mut labels = Labels::new(schema);
            let columns = of_translated(&finish.fetch, &mut labels)?;
            check_outputs(&finish.fetch.outputs, &columns, &labels)?;
            let outputs: Vec<Label> = columns.labels().cloned().collect();
            computed::check(finish, &outputs, &mut labels)?;
            let mut hidden = hidden_by(&finish.fetch.holes);
            for value in finish.expressions() {
                computed::hidden_in(value, &mut hidden);
            }
            labels.check_hidden(&hidden)
        }
        Plan::Finisher(query) => of_finisher(query, schema),
        Plan::FinisherTables(query) => tables::check(query, schema),
        Plan::FinisherWrite(write) => of_finisher_write(write, schema),
        Plan::FinisherMerge(merge) => {
            let mut labels = Labels::new(schema);
            let hidden = merged::check(merge, &mut labels)?;
            labels.check_hidden(&hidden)
        }
        Plan::Copy(copy) => copied::check(copy, schema),
    }
}

/// Proves a statement that the server executes as one.
fn check_translated(translated: &Translated, schema: &Schema) -> Result<(), Doubt> {
    let mut labels = Labels::new(schema);
    let columns = of_translated(translated, &mut labels)?;
    check_outputs(&translated.outputs, &columns, &labels)?;
    labels.check_hidden(&hidden_by(&translated.holes))
}

/// Proves the fetch of a query for the finisher. All that the finisher's text has of the client may
/// meet a protected column there, so it is not to be sent in clear.
fn of_finisher(query: &FinisherQuery, schema: &Schema) -> Result<(), Doubt> {
    let mut labels = Labels::new(schema);
    let hidden = hidden_by_finisher(query, &mut labels)?;
    labels.check_hidden(&hidden)
}

/// The same of a statement that writes what the finisher computes. A computed value may be made of
/// protected ones, so it is only stored sealed, in its own column.
fn of_finisher_write(plan: &FinisherWrite, schema: &Schema) -> Result<(), Doubt> {
    let mut labels = Labels::new(schema);
    let mut hidden = hidden_by_finisher(&plan.query, &mut labels)?;
    let computes = match plan.inserted.is_some() {
        true => Computes::ARRAYS,
        false => Computes::LOCATED,
    };
    if plan.inserted.is_none() {
        groups::check_computed(&plan.columns, schema)?;
    }
    let columns = labelled(&plan.write, computes, &mut labels)?;
    check_outputs(&plan.write.outputs, &columns, &labels)?;
    hidden.extend(hidden_by(&plan.write.holes));
    if let Some(returning) = &plan.returning {
        if returning.fetch != plan.write {
            return Err(Doubt(
                "the finisher gets other rows than are returned".to_owned(),
            ));
        }
        hidden.extend(hidden_in_text(returning, schema)?);
    }
    if let Some(inserted) = &plan.inserted {
        if skip_locked::check(plan, inserted, schema)? || sequences::check(plan, inserted, schema)?
        {
            return labels.check_hidden(&hidden);
        }
        inserted::check(plan, inserted, schema.dialect)?;
        if let Some(upsert) = &plan.upsert {
            hidden.extend(conflicts::check(plan, (upsert, inserted), &mut labels)?);
        }
        return labels.check_hidden(&hidden);
    }
    for hole in &plan.write.holes {
        let Source::Computed(index) = hole.source else {
            continue;
        };
        let is_own = matches!(hole.form, Form::SealedArray(own, Purpose::Store)
            if plan.columns.get(index) == Some(&own));
        if !is_own {
            return Err(Doubt(
                "a computed value is not sealed for its column".to_owned(),
            ));
        }
    }
    labels.check_hidden(&hidden)
}

/// The values that may meet protected columns in the finisher, and those that the fetch seals.
fn hidden_by_finisher(query: &FinisherQuery, labels: &mut Labels) -> Result<Vec<Atom>, Doubt> {
    let columns = of_translated(&query.fetch, labels)?;
    check_outputs(&query.fetch.outputs, &columns, labels)?;
    let mut hidden = hidden_by(&query.fetch.holes);
    hidden.extend(hidden_in_text(query, labels.schema)?);
    Ok(hidden)
}

/// The client's values in the text for the finisher.
fn hidden_in_text(query: &FinisherQuery, schema: &Schema) -> Result<Vec<Atom>, Doubt> {
    let mut hidden = Vec::new();
    let parsed = schema.dialect.parse(&query.text);
    let parsed = parsed.map_err(|_| Doubt("the finisher's query cannot be read".to_owned()))?;
    let _: ControlFlow<()> = walk::expressions(&parsed, |expression| {
        if let Ok(Some(constant)) = Constant::of(expression) {
            let of_client = match &constant.source {
                Source::Parameter(number) => *number < query.parameters,
                _ => true,
            };
            if of_client {
                hidden.extend(computed::atoms_of(&constant.source));
            }
        }
        ControlFlow::Continue(())
    });
    Ok(hidden)
}

fn of_modify(modify: &ReadModifyWrite, schema: &Schema) -> Result<(), Doubt> {
    mysql::check_modify(modify, schema)?;
    let written: Vec<ColumnId> = modify.assignments.iter().map(|own| own.column).collect();
    groups::check_computed(&written, schema)?;
    let mut labels = Labels::new(schema);
    let columns = of_translated(&modify.read, &mut labels)?;
    let outputs: Vec<Label> = columns.labels().cloned().collect();
    let mut hidden = hidden_by(&modify.read.holes);
    for assignment in &modify.assignments {
        let Assignment { column, value } = assignment;
        if schema.column(*column).is_checked() {
            return Err(Doubt(
                "the proxy computes a value for a column with check constraints".to_owned(),
            ));
        }
        computed::check_stored((*column, value), &outputs, &mut labels)?;
        computed::hidden_in(value, &mut hidden);
    }
    let writes = [
        (Some(&modify.write), Computes::GROUPS),
        (modify.write_all.as_ref(), Computes::LOCATED),
        (modify.write_by_key.as_ref(), Computes::GROUPS),
    ];
    for (write, computes) in writes {
        let Some(write) = write else {
            continue;
        };
        hidden.extend(hidden_by(&write.holes));
        labelled(write, computes, &mut labels)?;
        for hole in &write.holes {
            let Source::Computed(index) = hole.source else {
                continue;
            };
            let column = modify
                .assignments
                .get(index)
                .map(|assignment| assignment.column);
            let is_own = match hole.form {
                Form::Sealed(own, _) => !computes.arrays && Some(own) == column,
                Form::SealedArray(own, Purpose::Store) => computes.arrays && Some(own) == column,
                Form::SealedArray(..) | Form::Plain => false,
            };
            if !is_own {
                return Err(Doubt(
                    "a computed value is sealed for another column".to_owned(),
                ));
            }
        }
    }
    labels.check_hidden(&hidden)
}

/// The labels of the columns that a statement returns.
fn of_translated(translated: &Translated, labels: &mut Labels) -> Result<Columns, Doubt> {
    labelled(translated, Computes::default(), labels)
}

/// The same of a statement that may take arrays of what the finisher computed, also in clear.
fn labelled(
    translated: &Translated,
    computes: Computes,
    labels: &mut Labels,
) -> Result<Columns, Doubt> {
    let statement = read(&translated.template, labels.schema.dialect)?;
    let mut verifier = Verifier::new(&translated.holes, labels);
    verifier.computes = computes;
    let columns = match &statement {
        Statement::Query(query) => verifier.query(query, None)?,
        Statement::Insert(insert) => verifier.insert(insert, None)?,
        Statement::Update(update) => verifier.update(update, None)?,
        Statement::Delete(delete) => verifier.delete(delete, None)?,
        Statement::Merge(merge) => verifier.merge(merge)?,
        _ => return Err(Doubt("a statement of this kind".to_owned())),
    };
    verifier.check_seen(&statement)?;
    Ok(columns)
}

/// The tree of what would be sent.
fn read(template: &Template, dialect: Dialect) -> Result<Statement, Doubt> {
    let parsed = dialect.parse(&dialect.with_parameters(template));
    parsed.map_err(|_| Doubt("what would be sent cannot be read".to_owned()))
}

/// Checks that the outputs that are opened are those that are sealed.
fn check_outputs(outputs: &[Output], columns: &Columns, labels: &Labels) -> Result<(), Doubt> {
    if columns.others.is_some() || outputs.is_empty() {
        return match columns.has_sealed() || !outputs.is_empty() {
            true => Err(Doubt("ciphertext would be given to the client".to_owned())),
            false => Ok(()),
        };
    }
    let known = &columns.known;
    let is_alike = |(output, (_, label)): (&Output, &(Option<String>, Label))| {
        let domain = |column| groups::domain(column, labels.schema);
        match (output.kind, label.sealed) {
            (OutputKind::Plain, None) => true,
            (OutputKind::Sealed(column), Some(sealed)) => {
                !sealed.is_array && domain(column) == domain(sealed.column)
            }
            (OutputKind::Gathered(column, _), Some(sealed)) => {
                sealed.is_array && domain(column) == domain(sealed.column)
            }
            // NULL is NULL, sealed or not.
            (OutputKind::Sealed(_) | OutputKind::Gathered(..), None) => *label == Label::null(),
            (OutputKind::Plain, Some(_)) => false,
        }
    };
    match known.len() == outputs.len() && outputs.iter().zip(known).all(is_alike) {
        true => Ok(()),
        false => Err(Doubt(
            "other columns would be opened than are sealed".to_owned(),
        )),
    }
}

/// Values that are sealed.
fn hidden_by(holes: &[Hole]) -> Vec<Atom> {
    let sealed = holes.iter().filter(|hole| hole.form != Form::Plain);
    sealed
        .flat_map(|hole| computed::atoms_of(&hole.source))
        .collect()
}

/// What the proxy or the finisher computes for a text.
#[derive(Clone, Copy, Default)]
struct Computes {
    /// Computed values come as arrays, also in clear.
    arrays: bool,
    /// The values of all members of a group are computed together.
    groups: bool,
}

impl Computes {
    const ARRAYS: Self = Self {
        arrays: true,
        groups: false,
    };
    /// The same of all rows that were found.
    const LOCATED: Self = Self {
        arrays: true,
        groups: true,
    };
    const GROUPS: Self = Self {
        arrays: false,
        groups: true,
    };
}

/// One text that would be sent.
struct Verifier<'v, 's> {
    labels: &'v mut Labels<'s>,
    holes: &'v [Hole],
    /// What is computed for the text.
    computes: Computes,
    /// What an `INSERT` would have stored in a row that is there.
    proposed: Option<Columns>,
    /// Common table expressions in sight, the innermost last.
    ctes: Vec<(String, Columns)>,
    /// Places of the expressions that have had a label.
    seen: HashSet<usize>,
}

impl<'v, 's> Verifier<'v, 's> {
    fn dialect(&self) -> Dialect {
        self.labels.schema.dialect
    }

    fn new(holes: &'v [Hole], labels: &'v mut Labels<'s>) -> Self {
        Self {
            labels,
            holes,
            computes: Computes::default(),
            proposed: None,
            ctes: Vec::new(),
            seen: HashSet::new(),
        }
    }

    fn saw(&mut self, expression: &Expr) {
        self.seen.insert(std::ptr::from_ref(expression).addr());
    }

    /// Invariant 1.
    fn check_seen(&self, statement: &Statement) -> Result<(), Doubt> {
        let missed = walk::expressions(statement, |expression| {
            match self.seen.contains(&std::ptr::from_ref(expression).addr()) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        match missed {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Doubt(
                "an expression at a place that is not known".to_owned(),
            )),
        }
    }
}
