//! A planned statement against the server's reading of what the client wrote, and of what is sent.

use std::collections::BTreeMap;

use sql_oracle::{Constant, Reading, Unread, read};
use sql_plan::{Literal, Plan};
use sql_rewrite::{Schema, plan};

use super::corpus;
use super::meant::meant;
use crate::common::{people, tpcc};

/// What the server and the planner do not agree in, of a text that is planned. `whole`: no constant
/// may be folded away.
pub fn disagreements(text: &str, schema: &Schema, whole: bool) -> Vec<String> {
    let Ok(planned) = plan(text, schema) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut is_planned = false;
    for one in &planned {
        if matches!(one.plan, Plan::Pass(_)) {
            continue;
        }
        is_planned = true;
        match read(&text[one.span.clone()]) {
            // What they mean is kept by the proxy, or was given to it before.
            Ok(own) if ["PrepareStmt", "ExecuteStmt"].contains(&own.kinds[0].as_str()) => {}
            Ok(own) => found.extend(differences(&own, &one.plan, schema, whole)),
            // It means nothing to the server: the parser may read more than that.
            Err(_) => {}
        }
    }
    if let (true, Ok(reading)) = (is_planned, read(text)) {
        let (own, ours) = (reading.kinds.len(), planned.len());
        found.extend((own != ours).then(|| format!("{own} statements, and not {ours}")));
    }
    found
}

fn differences(own: &Reading, one: &Plan, schema: &Schema, whole: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_clear = Vec::new();
    let meant = meant(one);
    for sent in &meant.sent {
        match read(sent) {
            Ok(reading) => {
                found.extend(of_relations(own, &reading, schema));
                in_clear.extend(reading.constants.iter().filter_map(normal));
            }
            Err(Unread::Refused(error)) => found.push(format!("{error}, in what is sent: {sent}")),
            Err(Unread::Unknown(_)) => {}
        }
    }
    let (before, after) = (&own.parameters, &meant.parameters);
    if before != after && matches!(one, Plan::One(..)) {
        found.push(format!("parameters {before:?}, and not {after:?}"));
    }
    let client = counted(own.constants.iter().filter_map(normal));
    let kept = counted(meant.constants.iter().filter_map(of_literal));
    let has_guard = GUARDED.contains(&own.kinds[0].as_str());
    let of_guard = |constant: &String| has_guard && OF_GUARD.contains(&constant.as_str());
    let sent = counted(
        in_clear
            .into_iter()
            .filter(|constant| !of_guard(constant) || client.contains_key(constant)),
    );
    found.extend(of_constants(&client, &kept, &sent));
    if whole && matches!(one, Plan::One(..)) {
        found.extend(lost(&client, &kept, &sent));
    }
    found
}

/// The relations of what is sent are those of the client, each with its schema.
fn of_relations(own: &Reading, sent: &Reading, schema: &Schema) -> Vec<String> {
    let (before, after) = (own.names(), sent.names());
    let mut found = Vec::new();
    if before != after {
        found.push(format!("relations {before:?}, and not {after:?}"));
    }
    let bare = sent.stored().filter(|one| one.schema.is_none());
    let is_known = |name: &str| schema.tables.keys().any(|(_, own)| own == name);
    let bare = bare.filter(|one| is_known(&one.name));
    found.extend(bare.map(|one| format!("{} is sent without its schema", one.name)));
    found
}

/// What the proxy asks for where it needs rows and no column of them; the default of a column.
const OF_PROXY: [&str; 2] = ["1", "0"];

/// Statements that give a table its guard, and the constants of that: headers of values, the place
/// and size of a header, and how small a sealed text can be.
const GUARDED: [&str; 2] = ["CreateStmt", "AlterTableStmt"];
const OF_GUARD: [&str; 9] = [
    r#""\\x81""#,
    r#""\\x82""#,
    r#""\\x90""#,
    r#""\\x91""#,
    r#""\\x9d""#,
    r#""\\x9e""#,
    "1",
    "33",
    "41",
];

type Counts = BTreeMap<String, usize>;

fn counted(constants: impl Iterator<Item = String>) -> Counts {
    let mut counts = Counts::new();
    for constant in constants {
        *counts.entry(constant).or_default() += 1;
    }
    counts
}

/// What is sent or sealed is the client's, and what is sealed is not sent as well.
fn of_constants(client: &Counts, kept: &Counts, sent: &Counts) -> Vec<String> {
    let of = |counts: &Counts, constant: &String| counts.get(constant).copied().unwrap_or(0);
    // Elements of an array are sealed one by one.
    let has_array = client.keys().any(|constant| constant.starts_with("\"{"));
    let of_proxy = |constant: &str| OF_PROXY.contains(&constant) || has_array;
    let made = kept.keys().chain(sent.keys());
    let made = made.filter(|one| !client.contains_key(*one) && !of_proxy(one));
    let made = made.map(|constant| format!("{constant} is not the client's"));
    let shown = sent.iter().filter(|(constant, count)| {
        of(kept, constant) > 0 && of(kept, constant) + **count > of(client, constant)
    });
    let shown = shown.map(|(constant, _)| format!("{constant} is kept, and sent as well"));
    made.chain(shown).collect()
}

/// Every constant of the client is sent, sealed or kept.
fn lost(client: &Counts, kept: &Counts, sent: &Counts) -> Vec<String> {
    let of = |counts: &Counts, constant: &String| counts.get(constant).copied().unwrap_or(0);
    let lost = client
        .iter()
        .filter(|(constant, count)| of(kept, constant) + of(sent, constant) < **count);
    lost.map(|(constant, _)| format!("{constant} is lost"))
        .collect()
}

fn normal(constant: &Constant) -> Option<String> {
    Some(match constant {
        Constant::Null | Constant::Boolean(_) => return None,
        Constant::Number(digits) => number(digits),
        Constant::Text(text) => format!("{text:?}"),
        Constant::Bits(digits) => format!("bits {digits}"),
    })
}

fn of_literal(literal: &Literal) -> Option<String> {
    match literal {
        Literal::Null | Literal::Boolean(_) | Literal::TransactionTime | Literal::Drawn => None,
        Literal::Number(digits) => Some(number(digits)),
        Literal::Text(text) => Some(format!("{text:?}")),
        Literal::Bytes(bytes) => Some(format!("{bytes:02x?}")),
    }
}

/// A sign may be the constant's own or an operator.
fn number(digits: &str) -> String {
    let digits = digits.trim_start_matches(['-', '+']);
    let whole = digits.parse::<i64>();
    whole.map_or_else(|_| digits.to_owned(), |whole| whole.to_string())
}

#[test]
fn statements_of_other_tests_keep_their_meaning() {
    let schemas = [people(), tpcc()];
    let mut found = Vec::new();
    let mut planned = 0;
    for text in corpus::statements() {
        for schema in &schemas {
            let plans = plan(&text, schema).unwrap_or_default();
            planned += plans
                .iter()
                .filter(|one| !matches!(one.plan, Plan::Pass(_)))
                .count();
            let reasons = disagreements(&text, schema, false);
            found.extend(
                reasons
                    .into_iter()
                    .map(|reason| format!("{text}\n    {reason}")),
            );
        }
    }
    assert!(planned > 200, "{planned}");
    assert!(found.is_empty(), "{}\n{}", found.len(), found.join("\n"));
}
