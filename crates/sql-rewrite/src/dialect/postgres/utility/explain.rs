//! `EXPLAIN`: the server explains what the proxy sends it. Where the finisher computes the answer,
//! its query follows.

use std::fmt::Write as _;

use sqlparser::ast::UtilityOption;

use crate::{
    Dialect, Effects, FinisherQuery, FinisherWrite, Output, OutputKind, Piece, Plan, Refusal,
    Source, Translated,
};
use sql_plan::{Element, FetchedColumnPlan, FetchedRelation, unsupported};

/// The plan of `EXPLAIN` of a statement with a plan.
pub(super) fn plan(
    (analyze, verbose): (bool, bool),
    options: Option<&[UtilityOption]>,
    plan: Plan,
) -> Result<Plan, Refusal> {
    let writes_more = matches!(
        plan,
        Plan::ReadModifyWrite(_) | Plan::FinisherWrite(_) | Plan::FinisherMerge(_)
    );
    if writes_more && (analyze || analyzes(options)) {
        return Err(unsupported(
            "EXPLAIN ANALYZE of a statement that becomes several, since the server would execute \
             only the one that finds the rows, and write nothing,",
        )
        .with_hint("Use EXPLAIN without ANALYZE, or execute the statement itself."));
    }
    let prefix = prefix((analyze, verbose), options);
    let mut lines = Vec::new();
    let (mut translated, effects) = match plan {
        Plan::One(translated, effects) => (translated, effects),
        Plan::ReadModifyWrite(plan) => (plan.read, plan.effects),
        Plan::Finish(plan) => (plan.fetch, plan.effects),
        Plan::Finisher(plan) => {
            lines.push(format!("Finisher: {}", plan.text));
            (plan.fetch, plan.effects)
        }
        Plan::FinisherTables(_) => return Err(unsupported("EXPLAIN of such a statement")),
        Plan::FinisherWrite(plan) => {
            lines.extend(lines_of_write(&plan));
            (plan.query.fetch, plan.query.effects)
        }
        Plan::FinisherMerge(plan) => {
            lines.push(format!("Finisher: {}", plan.query.text));
            let written = Dialect::Postgres.with_parameters(&plan.write.template);
            lines.push(format!("Write of all rows: {written}"));
            (plan.query.fetch, plan.query.effects)
        }
        Plan::Pass(_) | Plan::Copy(_) => {
            return Err(unsupported("EXPLAIN of such a statement"));
        }
    };
    // A computed value is not there yet, and would not be part of a plan.
    let is_given = |source: &Source| match source {
        Source::Parameter(_) | Source::Literal(_) | Source::Calculated(..) | Source::Members(_) => {
            true
        }
        Source::Computed(_) | Source::Locator(_) => false,
    };
    if !translated.holes.iter().all(|hole| is_given(&hole.source)) {
        return Err(unsupported("EXPLAIN of such a statement"));
    }
    translated.template.pieces.insert(0, Piece::Text(prefix));
    translated.outputs = Vec::new();
    translated.locks = None;
    Ok(match lines.is_empty() || has_format(options) {
        true => Plan::One(translated, effects),
        false => with_lines(translated, &lines, effects),
    })
}

/// What becomes of rows that the finisher finds.
fn lines_of_write(plan: &FinisherWrite) -> Vec<String> {
    let written = Dialect::Postgres.with_parameters(&plan.write.template);
    let mut lines = vec![
        format!("Finisher: {}", plan.query.text),
        format!("Write of all rows: {written}"),
    ];
    if let Some(returning) = &plan.returning {
        let text = &returning.text;
        lines.push(format!("Finisher, of rows that are returned: {text}"));
    }
    if let Some(upsert) = &plan.upsert {
        let update = Dialect::Postgres.with_parameters(&upsert.update.template);
        lines.push(format!("Finisher, of rows that are there: {}", upsert.text));
        lines.push(format!("Write of each of these: {update}"));
    }
    lines
}

/// What stands before the statement that is explained.
fn prefix((analyze, verbose): (bool, bool), options: Option<&[UtilityOption]>) -> String {
    let mut prefix = "EXPLAIN ".to_owned();
    match options {
        Some(options) => {
            let options: Vec<String> = options.iter().map(ToString::to_string).collect();
            write!(prefix, "({}) ", options.join(", ")).expect("a String takes all");
        }
        None => {
            prefix.push_str(if analyze { "ANALYZE " } else { "" });
            prefix.push_str(if verbose { "VERBOSE " } else { "" });
        }
    }
    prefix
}

/// Whether the options say that the statement is executed.
fn analyzes(options: Option<&[UtilityOption]>) -> bool {
    let options = options.into_iter().flatten();
    let mut own = options.filter(|option| option.name.value.eq_ignore_ascii_case("analyze"));
    // The last one counts. What is no known word for false is taken for true.
    own.next_back().is_some_and(|option| {
        let value = option.arg.as_ref().map(ToString::to_string);
        let value = value.map(|value| value.trim_matches('\'').to_ascii_lowercase());
        !value.is_some_and(|value| matches!(value.as_str(), "false" | "off" | "0"))
    })
}

/// Whether the explanation may be a document rather than lines.
fn has_format(options: Option<&[UtilityOption]>) -> bool {
    let mut options = options.into_iter().flatten();
    options.any(|option| option.name.value.eq_ignore_ascii_case("format"))
}

/// The server's explanation with lines behind it, put together by the finisher.
fn with_lines(explanation: Translated, lines: &[String], effects: Effects) -> Plan {
    let types = explanation.parameter_types.iter();
    let declared: Option<Vec<_>> = types
        .map(|known| match known {
            Some(noted) if !noted.is_array() => Some(Some(noted.logical())),
            _ => None,
        })
        .collect();
    // The finisher's query has none of the parameters, so their types must be known.
    let Some(declared) = declared else {
        return Plan::One(explanation, effects);
    };
    let parameters = declared.len();
    let own: Vec<String> = lines
        .iter()
        .zip(1..)
        .map(|(line, number)| format!("({number}, '{}')", line.replace('\'', "''")))
        .collect();
    let text = format!(
        "SELECT line AS \"QUERY PLAN\" FROM (SELECT 0 AS part, number, line FROM \
         unnest(CAST(${} AS text[])) WITH ORDINALITY AS plan (line, number) UNION ALL SELECT 1, \
         number, line FROM (VALUES {}) AS own (number, line)) AS lines ORDER BY part, number",
        parameters + 1,
        own.join(", ")
    );
    Plan::Finisher(Box::new(FinisherQuery {
        fetch: Translated {
            outputs: vec![Output::shown(OutputKind::Plain)],
            ..explanation
        },
        has_index: false,
        is_of_no_row: false,
        relations: vec![FetchedRelation {
            columns: vec![FetchedColumnPlan {
                output: 0,
                element: Element::Text,
            }],
        }],
        text,
        parameters,
        declared,
        returned_by: None,
        effects,
    }))
}
