//! What the server does with the sealed values of a protected column in one statement, and so what
//! an attacker who watches it learns.

use std::collections::BTreeSet;

use crate::{ColumnId, Form, Hole, ObjectEffect, OutputKind, Plan, Purpose, Translated, Use};

/// What the server does with protected columns for a plan.
pub(crate) fn of_plan(plan: &Plan) -> BTreeSet<(ColumnId, Use)> {
    let mut uses = BTreeSet::new();
    match plan {
        Plan::Pass(_) => {}
        Plan::One(translated, effects) => {
            uses.extend(&effects.uses);
            of_translated(translated, Use::Returned, &mut uses);
            for effect in &effects.objects {
                if let ObjectEffect::Declares { outputs, .. } = effect {
                    let kinds = outputs.iter().map(|output| output.kind);
                    of_outputs(kinds, Use::Returned, &mut uses);
                }
            }
        }
        Plan::ReadModifyWrite(modify) => {
            uses.extend(&modify.effects.uses);
            of_translated(&modify.read, Use::Fetched, &mut uses);
            of_translated(&modify.write, Use::Returned, &mut uses);
        }
        Plan::Finish(finish) => {
            uses.extend(&finish.effects.uses);
            of_translated(&finish.fetch, Use::Fetched, &mut uses);
        }
        Plan::Finisher(query) => {
            uses.extend(&query.effects.uses);
            of_translated(&query.fetch, Use::Fetched, &mut uses);
        }
        Plan::FinisherTables(query) => {
            uses.extend(&query.effects.uses);
            for fetch in query.tables.iter().filter_map(|table| table.fetch.as_ref()) {
                of_translated(fetch, Use::Fetched, &mut uses);
            }
            if let Some(insert) = &query.insert {
                of_translated(&insert.write, Use::Returned, &mut uses);
            }
        }
        Plan::FinisherWrite(write) => {
            uses.extend(&write.query.effects.uses);
            of_translated(&write.query.fetch, Use::Fetched, &mut uses);
            of_translated(&write.write, Use::Returned, &mut uses);
            if let Some(upsert) = &write.upsert {
                of_translated(&upsert.update, Use::Returned, &mut uses);
            }
        }
        Plan::FinisherMerge(merge) => {
            uses.extend(&merge.query.effects.uses);
            of_translated(&merge.query.fetch, Use::Fetched, &mut uses);
            of_translated(&merge.write, Use::Returned, &mut uses);
        }
        Plan::Copy(copy) => {
            uses.extend(&copy.effects.uses);
            of_holes(&copy.holes, &mut uses);
            let how = match copy.into_server {
                true => Use::Written,
                false => Use::Returned,
            };
            of_outputs(copy.fields.iter().copied(), how, &mut uses);
            let added = copy.added.iter();
            uses.extend(added.map(|(column, _)| (*column, Use::Written)));
        }
    }
    uses
}

fn of_translated(translated: &Translated, given: Use, uses: &mut BTreeSet<(ColumnId, Use)>) {
    of_holes(&translated.holes, uses);
    let kinds = translated.outputs.iter().map(|output| output.kind);
    of_outputs(kinds, given, uses);
}

fn of_holes(holes: &[Hole], uses: &mut BTreeSet<(ColumnId, Use)>) {
    for hole in holes {
        let (column, purpose) = match hole.form {
            Form::Plain => continue,
            Form::Sealed(column, purpose) | Form::SealedArray(column, purpose) => (column, purpose),
        };
        let what = match purpose {
            Purpose::Store => Use::Written,
            Purpose::Match | Purpose::MatchEnd => Use::Matched,
            Purpose::Bound => Use::Bounded,
        };
        uses.insert((column, what));
    }
}

fn of_outputs(
    kinds: impl Iterator<Item = OutputKind>,
    given: Use,
    uses: &mut BTreeSet<(ColumnId, Use)>,
) {
    uses.extend(kinds.filter_map(|kind| match kind {
        OutputKind::Plain => None,
        OutputKind::Sealed(column) => Some((column, given)),
        OutputKind::Gathered(column, _) => Some((column, Use::Fetched)),
    }));
}
