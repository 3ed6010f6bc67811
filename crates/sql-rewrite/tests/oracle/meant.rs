//! What a plan means: its texts for the server, its constants and its parameters.

use std::collections::BTreeSet;

use sql_plan::{Expression, Literal, Plan, Source, Template, Translated};

/// The parts of a plan.
#[derive(Default)]
pub struct Meant {
    /// What the server gets, with `$n` for the hole n.
    pub sent: Vec<String>,
    /// Constants that fill holes, or that the proxy computes with.
    pub constants: Vec<Literal>,
    /// Parameters of the client: 1 for `$1`.
    pub parameters: BTreeSet<u64>,
}

/// The parts of a plan; none of one by which the text goes on as it is.
pub fn meant(plan: &Plan) -> Meant {
    let mut meant = Meant::default();
    match plan {
        Plan::Pass(_) => {}
        Plan::One(translated, _) => meant.translated(translated),
        Plan::ReadModifyWrite(plan) => {
            meant.translated(&plan.read);
            meant.translated(&plan.write);
            plan.write_all
                .iter()
                .chain(&plan.write_by_key)
                .for_each(|one| meant.translated(one));
            let values = plan.assignments.iter().map(|one| &one.value);
            values.for_each(|value| meant.expression(value));
        }
        Plan::Finisher(_)
        | Plan::FinisherTables(_)
        | Plan::FinisherWrite(_)
        | Plan::FinisherMerge(_) => {
            unreachable!("no schema here has a finisher")
        }
        Plan::Finish(plan) => {
            meant.translated(&plan.fetch);
            let aggregates = plan.aggregates.iter();
            let of_aggregates = aggregates.flat_map(|one| one.argument.iter().chain(&one.filter));
            let conditions = plan.filter.iter().chain(&plan.having);
            let rows = plan.limit.iter().chain(&plan.offset);
            let all = conditions
                .chain(rows)
                .chain(of_aggregates)
                .chain(plan.group_by.iter().map(|key| &key.value))
                .chain(plan.project.iter().map(|(_, value, _)| value))
                .chain(plan.order_by.iter().map(|sort| &sort.value));
            all.for_each(|value| meant.expression(value));
        }
        Plan::Copy(copy) => {
            meant.sent.push(rendered(&copy.template));
            copy.holes
                .iter()
                .for_each(|hole| meant.source(&hole.source));
        }
    }
    meant
}

fn rendered(template: &Template) -> String {
    template.render(|hole, text| text.push_str(&format!("${}", hole + 1)))
}

impl Meant {
    fn translated(&mut self, translated: &Translated) {
        self.sent.push(rendered(&translated.template));
        for hole in &translated.holes {
            self.source(&hole.source);
        }
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Parameter(number) => drop(self.parameters.insert(*number as u64 + 1)),
            Source::Literal(literal) => {
                self.constants.push(literal.clone());
            }
            Source::Calculated(expression, _) => self.expression(expression),
            Source::Members(members) => members.iter().for_each(|own| self.source(own)),
            Source::Computed(_) | Source::Locator(_) => {}
        }
    }

    fn expression(&mut self, expression: &Expression) {
        match expression {
            Expression::Value(source, _) => self.source(source),
            Expression::InArray(operand, source, _) => {
                self.source(source);
                self.expression(operand);
            }
            Expression::Column(_) | Expression::Aggregate(_) | Expression::Group(_) => {}
            Expression::Unary(_, inner)
            | Expression::Cast(inner, _)
            | Expression::Call(_, inner) => self.expression(inner),
            Expression::Binary(_, left, right) => {
                [left, right]
                    .into_iter()
                    .for_each(|one| self.expression(one));
            }
            Expression::Like {
                operand, pattern, ..
            } => [operand, pattern]
                .into_iter()
                .for_each(|one| self.expression(one)),
            Expression::In(operand, values) => {
                self.expression(operand);
                values.iter().for_each(|value| self.expression(value));
            }
            Expression::Coalesce(values) => values.iter().for_each(|one| self.expression(one)),
            Expression::Case(whens, otherwise) => {
                let whens = whens.iter().flat_map(|(when, then)| [when, then]);
                whens
                    .chain(otherwise.as_deref())
                    .for_each(|one| self.expression(one));
            }
        }
    }
}
