//! What PostgreSQL's own grammar reads in a statement, and in what is sent for it.

use std::collections::BTreeSet;

use sql_oracle::{Constant, Reading, Unread, read};
use sql_plan::{Plan, Planned, Translated};
use sql_rewrite::Schema;

/// Statements that read or write rows, or hold one that does.
const OF_ROWS: &[&str] = &[
    "SelectStmt",
    "InsertStmt",
    "UpdateStmt",
    "DeleteStmt",
    "MergeStmt",
    "CopyStmt",
    "ExplainStmt",
    "DeclareCursorStmt",
    "CreateTableAsStmt",
    "ViewStmt",
];

/// Statements whose meaning the proxy keeps, or was given before.
const KEPT: &[&str] = &["PrepareStmt", "ExecuteStmt"];

/// Trees of the server's grammar are as deep as its texts are nested.
const STACK_SIZE: usize = 128 << 20;

pub fn check(text: &str, planned: &[Planned], schema: &Schema) {
    std::thread::scope(|scope| {
        let deep = std::thread::Builder::new().stack_size(STACK_SIZE);
        let checked = deep.spawn_scoped(scope, || compare(text, planned, schema));
        let checked = checked.expect("a thread").join();
        checked.expect("the server reads the same");
    });
}

fn compare(text: &str, planned: &[Planned], schema: &Schema) {
    let passes = |one: &Planned| matches!(one.plan, Plan::Pass(_));
    if let Ok(reading) = read(text)
        && !planned.iter().all(passes)
    {
        assert_eq!(reading.kinds.len(), planned.len(), "statements of {text:?}");
    }
    for one in planned {
        // What the server refuses means nothing.
        let Ok(own) = read(&text[one.span.clone()]) else {
            continue;
        };
        let kind = own.kinds.first().map_or("", String::as_str);
        if passes(one) {
            check_passed(&own, kind, schema);
        } else if !KEPT.contains(&kind) {
            sent(&one.plan)
                .iter()
                .for_each(|sent| check_sent(&own, sent, schema));
        }
    }
}

fn check_passed(own: &Reading, kind: &str, schema: &Schema) {
    if !OF_ROWS.contains(&kind) {
        return;
    }
    for relation in own.stored() {
        let at = relation.schema.as_deref();
        let found = schema.find(at, &relation.name);
        let is_protected = found.is_some_and(|table| table.is_protected());
        assert!(!is_protected, "passed: {own:?}");
    }
}

/// The server reads what is sent: the client's relations, each with its schema, and constants that
/// are the client's or the proxy's own.
fn check_sent(own: &Reading, sent: &str, schema: &Schema) {
    let reading = match read(sent) {
        Ok(reading) => reading,
        Err(Unread::Refused(error)) => panic!("{error}, in what is sent: {sent}"),
        Err(Unread::Unknown(_)) => return,
    };
    assert_eq!(own.names(), reading.names(), "relations of {sent}");
    for relation in reading.stored() {
        let is_known = schema.find(None, &relation.name).is_some();
        assert!(
            !is_known || relation.schema.is_some(),
            "without a schema: {sent}"
        );
    }
    // Elements of an array are taken apart.
    let texts = |reading: &Reading| -> BTreeSet<String> {
        let constants = reading.constants.iter();
        let texts = constants.filter_map(|one| match one {
            Constant::Text(text) => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    };
    let theirs = texts(own);
    let mut made = texts(&reading).into_iter();
    let made = made.find(|text| !theirs.contains(text));
    let has_array = theirs.iter().any(|text| text.starts_with('{'));
    assert!(made.is_none() || has_array, "{made:?} is new in {sent}");
}

fn sent(plan: &Plan) -> Vec<String> {
    let number = |hole: usize, text: &mut String| text.push_str(&format!("${}", hole + 1));
    let rendered = |one: &Translated| one.template.render(number);
    match plan {
        Plan::Pass(_) => Vec::new(),
        Plan::One(one, _) => vec![rendered(one)],
        Plan::ReadModifyWrite(plan) => {
            let parts = [&plan.read, &plan.write].into_iter();
            let parts = parts.chain(&plan.write_all).chain(&plan.write_by_key);
            parts.map(rendered).collect()
        }
        Plan::Finish(finish) => vec![rendered(&finish.fetch)],
        Plan::Finisher(query) => vec![rendered(&query.fetch)],
        Plan::FinisherTables(query) => {
            let fetches = query.tables.iter().filter_map(|table| table.fetch.as_ref());
            fetches.map(rendered).collect()
        }
        Plan::FinisherWrite(plan) => {
            let update = plan.upsert.as_ref().map(|upsert| &upsert.update);
            let parts = [&plan.query.fetch, &plan.write].into_iter();
            parts.chain(update).map(rendered).collect()
        }
        Plan::FinisherMerge(plan) => [&plan.query.fetch, &plan.write].map(rendered).into(),
        Plan::Copy(copy) => vec![copy.template.render(number)],
    }
}
