//! What protecting a column means: which operations work, where they run, and what an attacker who
//! reads the server learns. Data only; the program prints it.

use std::collections::BTreeMap;

use column_value::{LogicalType, Pad};

use crate::dialect::lexeme::{Lexeme, Part};
use crate::{
    ColumnId, Mode, ObjectEffect, Plan, ProtectedColumn, Refusal, Schema, ServerType, Use, uses,
};
use sql_plan::few_values;

mod groups;

pub use groups::{GroupProposal, proposed as proposed_groups};

/// Where an operation is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By the server, on ciphertext.
    Server,
    /// By the proxy, over the rows that the rest of the query finds, up to `max_finish_rows`.
    Proxy,
    /// The proxy reads and locks the rows, computes, and writes.
    ReadModifyWrite,
    /// Nowhere: refused.
    Nowhere,
}

/// What somebody who reads the server's disk, memory or logs learns of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    /// Which values are NULL.
    Nulls,
    /// About how long each value is.
    Length,
    /// Which rows have equal values, and so how often each value occurs.
    EqualValues,
    /// The same across all columns of the domain.
    EqualAcrossDomain,
    /// The order of all values, and at which bit any two of them begin to differ.
    Order,
}

impl Leak {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nulls => "which values are NULL",
            Self::Length => "about how long each value is",
            Self::EqualValues => "which values are equal, so how often each occurs",
            Self::EqualAcrossDomain => "which values are equal in all columns of its domain",
            Self::Order => "the order of the values, and about how far any two of them lie apart",
        }
    }
}

/// An attack that is known from the literature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attack {
    /// What it gained.
    pub gain: &'static str,
    /// Where it is described.
    pub source: &'static str,
}

const FREQUENCIES: Attack = Attack {
    gain: "equal ciphertexts, counted and compared with public statistics, gave sex, race and \
           risk of more than 60 % of the patients in more than 60 % of 200 hospitals",
    source: "Naveed, Kamara, Wright, CCS 2015",
};
const SORTED: Attack = Attack {
    gain: "ordered ciphertexts gave age and severity of more than 80 % of the patients in 95 % of \
           200 hospitals",
    source: "Naveed, Kamara, Wright, CCS 2015",
};
const CORRELATED: Attack = Attack {
    gain: "several ordered columns of one table, taken together, gave more than each alone",
    source: "Durak, DuBuisson, Cash, CCS 2016",
};
const RANGES: Attack = Attack {
    gain: "whoever sees which rows many range queries return rebuilds the values, whatever the \
           cipher",
    source: "Kellaris, Kollios, Nissim, O'Neill, CCS 2016; Lacharité, Minaud, Paterson, S&P 2018",
};
const PAST_QUERIES: Attack = Attack {
    gain: "a copy of a real server holds past queries in logs, caches and statistics, so that it \
           tells more than its tables do",
    source: "Grubbs, Ristenpart, Shmatikov, HotOS 2017",
};

/// One protected column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnReport {
    /// `schema.table`
    pub table: String,
    /// The column.
    pub column: String,
    /// The type that clients see.
    pub logical: LogicalType,
    /// The mode.
    pub mode: Mode,
    /// The domain, if it is shared.
    pub domain: Option<String>,
    /// Bits kept in order.
    pub bits: Option<u8>,
    /// In which steps lengths are learnt, where values have one.
    pub pad: Option<Pad>,
    /// Operations, and where they are done.
    pub operations: Vec<(&'static str, Place)>,
    /// What is learnt.
    pub leaks: Vec<Leak>,
    /// Attacks on that.
    pub attacks: Vec<Attack>,
    /// What makes it worse here.
    pub warnings: Vec<String>,
}

/// Reports on all protected columns, in the order of the rules.
pub fn columns(schema: &Schema) -> Vec<ColumnReport> {
    let report = |rule| report(rule, schema);
    schema.protected.iter().map(report).collect()
}

fn report(rule: &ProtectedColumn, schema: &Schema) -> ColumnReport {
    let shared = !rule.domain.contains(':');
    ColumnReport {
        table: format!("{}.{}", rule.schema, rule.table),
        column: rule.column.clone(),
        logical: rule.logical,
        mode: mode_of(rule),
        domain: shared.then(|| rule.domain.clone()),
        bits: rule.form.bits,
        pad: rule.logical.has_length().then_some(rule.form.pad),
        operations: operations(rule),
        leaks: leaks(rule, shared),
        attacks: attacks(mode_of(rule)),
        warnings: warnings(rule, schema),
    }
}

/// The mode of the rule. To the planner, texts that are found by a collation are of mode random.
fn mode_of(rule: &ProtectedColumn) -> Mode {
    match rule.form.tokens {
        Some(_) => Mode::Equality,
        None => rule.mode,
    }
}

/// What is done with texts that are found by a collation.
const OF_TOKENS: [(&str, Place); 8] = [
    (
        "INSERT, UPDATE, SELECT of the value, IS NULL",
        Place::Server,
    ),
    ("= and IN with a constant", Place::Server),
    ("join within the domain", Place::Server),
    ("foreign key", Place::Nowhere),
    ("PRIMARY KEY, UNIQUE, index", Place::Server),
    ("GROUP BY, DISTINCT", Place::Proxy),
    ("<, >, BETWEEN, ORDER BY, MIN, MAX", Place::Proxy),
    ("LIKE", Place::Proxy),
];

fn operations(rule: &ProtectedColumn) -> Vec<(&'static str, Place)> {
    if rule.form.tokens.is_some() {
        return OF_TOKENS.to_vec();
    }
    let comparable = match rule.mode {
        Mode::Random => Place::Proxy,
        Mode::Equality | Mode::Order => Place::Server,
    };
    let sortable = match rule.mode {
        Mode::Random | Mode::Equality => Place::Proxy,
        Mode::Order => Place::Server,
    };
    let keys = match rule.mode {
        Mode::Random => Place::Nowhere,
        Mode::Equality | Mode::Order => Place::Server,
    };
    let mut operations = match rule.form.group {
        None => vec![(
            "INSERT, UPDATE, SELECT of the value, IS NULL",
            Place::Server,
        )],
        Some(_) => vec![
            ("INSERT, SELECT of the value", Place::Server),
            ("UPDATE of all columns of its group", Place::Server),
            ("UPDATE of some of them", Place::ReadModifyWrite),
            ("IS NULL, COUNT", Place::Proxy),
        ],
    };
    operations.extend([
        ("= and IN with a constant", comparable),
        ("join, foreign key within the domain", keys),
        ("PRIMARY KEY, UNIQUE, index", keys),
        ("GROUP BY, DISTINCT", comparable),
        ("<, >, BETWEEN, ORDER BY, MIN, MAX", sortable),
    ]);
    if rule.logical.is_number() {
        operations.push(("SUM, AVG", Place::Proxy));
        operations.push(("column = column + x", Place::ReadModifyWrite));
    }
    if rule.logical.is_text() {
        operations.push(("LIKE", Place::Proxy));
    }
    if !rule.logical.is_comparable() {
        // json has no equality and no order in the server either; those of the others are left to
        // the finisher.
        operations.retain(|(_, place)| *place == Place::Server);
    }
    operations
}

fn leaks(rule: &ProtectedColumn, shared: bool) -> Vec<Leak> {
    if rule.form.group.is_some() {
        // Of all members together.
        return vec![Leak::Length];
    }
    let mut leaks = vec![Leak::Nulls];
    let varies = rule.logical.is_text()
        || matches!(
            rule.logical,
            LogicalType::Bytes
                | LogicalType::Json
                | LogicalType::Numeric(_)
                | LogicalType::Opaque(_)
        );
    if varies && mode_of(rule) != Mode::Order {
        leaks.push(Leak::Length);
    }
    if mode_of(rule) != Mode::Random {
        leaks.push(Leak::EqualValues);
        if shared {
            leaks.push(Leak::EqualAcrossDomain);
        }
    }
    if rule.mode == Mode::Order {
        leaks.push(Leak::Order);
    }
    leaks
}

fn attacks(mode: Mode) -> Vec<Attack> {
    match mode {
        Mode::Random => vec![PAST_QUERIES],
        Mode::Equality => vec![FREQUENCIES, PAST_QUERIES],
        Mode::Order => vec![FREQUENCIES, SORTED, CORRELATED, RANGES, PAST_QUERIES],
    }
}

fn warnings(rule: &ProtectedColumn, schema: &Schema) -> Vec<String> {
    let mut warnings = Vec::new();
    if mode_of(rule) != Mode::Random
        && let Some(reason) = few_values(rule.logical, rule.form.bits)
    {
        warnings.push(format!("{reason}: counting equal ciphertexts reads them"));
    }
    if rule.server_type() == ServerType::Number {
        warnings.push(
            "its numbers are not authenticated, and no guard holds them: who writes to the server \
             can put any number there"
                .to_owned(),
        );
    }
    if let Some(group) = schema.group_of(rule.id) {
        warnings.push(format!(
            "sealed together with the others of its group {}: who reads the server learns how long \
             all of them are together, and whether all are NULL",
            group.name
        ));
    }
    let others = schema.protected.iter().filter(|other| {
        other.id != rule.id
            && (&other.schema, &other.table) == (&rule.schema, &rule.table)
            && other.mode == Mode::Order
    });
    if rule.mode == Mode::Order {
        let is_small = matches!(rule.logical, LogicalType::Whole(whole) if whole.bits() <= 16);
        if is_small || matches!(rule.logical, LogicalType::Date | LogicalType::SmallInt) {
            warnings.push(
                "where nearly every possible value occurs, the order alone is the value".to_owned(),
            );
        }
        let names: Vec<&str> = others.map(|other| other.column.as_str()).collect();
        if !names.is_empty() {
            warnings.push(format!(
                "{} of the same table {} ordered too: together they tell more",
                names.join(", "),
                if names.len() == 1 { "is" } else { "are" }
            ));
        }
    }
    let table = schema.find(Some(&rule.schema), &rule.table);
    match table {
        Some(table) if table.oid != 0 => {
            if table.has_triggers {
                warnings.push("triggers of the table see and may copy its ciphertext".to_owned());
            }
            if table.position(&rule.column).is_none() {
                warnings.push("the server has no such column yet".to_owned());
            }
        }
        _ => warnings.push("the server has no such table yet".to_owned()),
    }
    warnings
}

/// How one statement is executed, and what it reveals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementReport {
    /// The statement.
    pub text: String,
    /// How it is executed.
    pub how: How,
    /// What an attacker who watches the server learns of protected columns from this statement.
    pub learnt: Vec<Learnt>,
}

/// What one statement reveals of one protected column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// `schema.table`
    pub table: String,
    /// The column.
    pub column: String,
    /// Its mode.
    pub mode: Mode,
    /// What the server does with it, and what that reveals.
    pub uses: Vec<(Use, String)>,
}

/// What a plan reveals, in the order of the rules.
fn learnt(plan: &Plan, schema: &Schema) -> Vec<Learnt> {
    let mut columns: BTreeMap<ColumnId, Vec<(Use, String)>> = BTreeMap::new();
    for (id, what) in uses::of_plan(plan) {
        let told = told(what, schema.column(id));
        columns.entry(id).or_default().push((what, told));
    }
    let columns = columns.into_iter().map(|(id, uses)| {
        let rule = schema.column(id);
        Learnt {
            table: format!("{}.{}", rule.schema, rule.table),
            column: rule.column.clone(),
            mode: mode_of(rule),
            uses,
        }
    });
    columns.collect()
}

fn told(what: Use, rule: &ProtectedColumn) -> String {
    let text = match (what, mode_of(rule)) {
        (Use::Written, _) if rule.form.group.is_some() => {
            "how long it is, together with the others of its group"
        }
        (Use::Written, mode) => {
            let mut text = "whether it is NULL".to_owned();
            if leaks(rule, false).contains(&Leak::Length) {
                text.push_str(", about how long it is");
            }
            text.push_str(match mode {
                Mode::Random => "",
                Mode::Equality => ", which rows have the same value",
                Mode::Order => ", where it stands in the order of the others",
            });
            return text;
        }
        (Use::Matched, _) => "which rows have the value, and when it is asked for again",
        (Use::Bounded, _) => "which rows lie within the bound, and where it stands in their order",
        (Use::Paired, Mode::Order) => "which rows have the same value, and the order of the others",
        (Use::Paired | Use::Grouped, _) => "which rows have the same value",
        (Use::Sorted, _) => "the order of the rows",
        (Use::NullTested, _) => "which rows have NULL",
        (Use::NeverNull, _) => "that the rows have no NULL",
        (Use::Returned, _) => "which rows are read",
        (Use::Fetched, _) => "which rows are read, not what is looked for in them",
    };
    text.to_owned()
}

/// How a statement is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// It is passed on unchanged: no protected column takes part.
    Passed,
    /// The server does it on ciphertext.
    Server,
    /// The proxy reads and locks, computes, writes.
    ReadModifyWrite,
    /// The proxy fetches rows and finishes.
    Finished,
    /// The proxy fetches rows, and the finisher answers.
    ByFinisher,
    /// `COPY`: rows are sealed or opened as they pass.
    Copied,
    /// It is refused.
    Refused(Refusal),
}

impl How {
    fn of(plan: &Plan) -> Self {
        match plan {
            Plan::Pass(_) => Self::Passed,
            Plan::One(..) => Self::Server,
            Plan::ReadModifyWrite(_) => Self::ReadModifyWrite,
            Plan::Finish(_) => Self::Finished,
            Plan::Finisher(_)
            | Plan::FinisherTables(_)
            | Plan::FinisherWrite(_)
            | Plan::FinisherMerge(_) => Self::ByFinisher,
            Plan::Copy(_) => Self::Copied,
        }
    }

    /// In words.
    pub fn text(&self) -> String {
        match self {
            Self::Passed => "passed on".to_owned(),
            Self::Server => "done by the server on ciphertext".to_owned(),
            Self::ReadModifyWrite => {
                "rows are read and locked, computed by the proxy, written".to_owned()
            }
            Self::Finished => "finished by the proxy, over the rows that it fetches".to_owned(),
            Self::ByFinisher => {
                "evaluated by the finisher, over the rows that the proxy fetches".to_owned()
            }
            Self::Copied => "copied; rows are sealed or opened by the proxy".to_owned(),
            Self::Refused(refusal) => match &refusal.hint {
                None => format!("refused: {}", refusal.message),
                Some(hint) => format!("refused: {}. {hint}", refusal.message),
            },
        }
    }
}

/// For `PREPARE`, the plan of the statement that is prepared: that is what is executed later.
fn meant(plan: Plan, schema: &Schema) -> Plan {
    let prepared = match &plan {
        Plan::One(_, effects) => effects.objects.iter().find_map(|effect| match effect {
            ObjectEffect::Prepares { text, .. } => crate::plan(text, schema).ok()?.pop(),
            _ => None,
        }),
        _ => None,
    };
    prepared.map_or(plan, |planned| planned.plan)
}

/// Reports on the statements of a text, each by itself: a refused one does not hide the others.
pub fn statements(text: &str, schema: &Schema) -> Vec<StatementReport> {
    let report = |text: &&str| {
        let (how, learnt) = match crate::plan(text, schema) {
            Err(refusal) => (How::Refused(refusal), Vec::new()),
            Ok(mut planned) => {
                let plan = meant(planned.pop()?.plan, schema);
                (How::of(&plan), learnt(&plan, schema))
            }
        };
        Some(StatementReport {
            text: (*text).to_owned(),
            how,
            learnt,
        })
    };
    parts(text, schema).iter().filter_map(report).collect()
}

/// The statements of a text.
pub(crate) fn parts<'a>(text: &'a str, schema: &Schema) -> Vec<&'a str> {
    let lexemes = schema.dialect.lexemes(text);
    let parts = lexemes.split(|(lexeme, _)| *lexeme == Lexeme::Semicolon);
    let part = |part: &Part| {
        // A lexeme that is not closed, as a constant without its last quote, ends behind the text.
        let end = part.last()?.1.end.min(text.len());
        Some(&text[part.first()?.1.start..end])
    };
    parts.filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::{Leak, Place, columns};
    use crate::schema::QUERIES;
    use crate::{Rules, Schema};

    fn schema(rules: &str) -> Schema {
        let rules = Rules::from_toml(rules).expect("right rules");
        Schema::build(&rules, &vec![Vec::new(); QUERIES.len()]).expect("nothing contradicts")
    }

    #[test]
    fn modes_decide_where_operations_run_and_what_they_reveal() {
        let schema = schema(
            "[columns.t]\n\
             a = { type = \"text\" }\n\
             b = { type = \"integer\", mode = \"equality\", domain = \"d\" }\n\
             c = { type = \"date\", mode = \"order\" }\n\
             d = { type = \"integer\", mode = \"order\", bits = 8, accept_leakage = true }\n\
             e = { type = \"integer\", group = \"g\" }\n\
             f = { type = \"boolean\", group = \"g\" }",
        );
        let reports = columns(&schema);
        let place = |at: usize, part: &str| {
            let mut operations = reports[at].operations.iter();
            let found = operations.find(|(operation, _)| operation.contains(part));
            found.map(|(_, place)| *place)
        };
        assert_eq!(place(0, "LIKE"), Some(Place::Proxy));
        assert_eq!(place(0, "UNIQUE"), Some(Place::Nowhere));
        assert_eq!(place(1, "UNIQUE"), Some(Place::Server));
        assert_eq!(place(1, "ORDER BY"), Some(Place::Proxy));
        assert_eq!(place(1, "column + x"), Some(Place::ReadModifyWrite));
        assert_eq!(place(2, "ORDER BY"), Some(Place::Server));
        assert_eq!(place(2, "SUM"), None);
        assert_eq!(reports[0].leaks, [Leak::Nulls, Leak::Length]);
        assert_eq!(place(4, "IS NULL"), Some(Place::Proxy));
        assert_eq!(place(4, "UPDATE of some"), Some(Place::ReadModifyWrite));
        assert_eq!(reports[5].leaks, [Leak::Length]);
        assert_eq!(
            reports[1].leaks,
            [Leak::Nulls, Leak::EqualValues, Leak::EqualAcrossDomain]
        );
        assert_eq!(
            reports[2].leaks,
            [Leak::Nulls, Leak::EqualValues, Leak::Order]
        );
        let warned = |at: usize, part: &str| {
            let mut warnings = reports[at].warnings.iter();
            warnings.any(|warning| warning.contains(part))
        };
        assert!(warned(3, "8 bits") && warned(3, "c of the same table is ordered too"));
        assert!(warned(2, "d of the same table") && warned(2, "no such table yet"));
        assert!(!warned(0, "ordered"));
    }
}
