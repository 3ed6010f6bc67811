//! The plan of every statement that the tests of this repository send, compared with a file.
//!
//! A change that keeps what the planner does leaves `golden/plans.txt` as it is, to the byte. One
//! that changes plans on purpose writes the file anew, and its diff shows every statement that is
//! planned otherwise: run the test with `STRONGROOM_WRITE_TABLES=1`.
//!
//! `golden/statements.txt` has the statements, one a line, with `\n`, `\r`, `\t` and `\\` for line
//! ends, tabs and backslashes. They are planned for three schemas. A plan that is the same for a
//! later schema is written once. The files `mysql-…` are the same of the dialect of MySQL.

use std::fmt::Write as _;
use std::path::Path;

use sql_plan::{
    Effects, Expression, Hole, LockKey, ObjectEffect, Output, OutputKind, Plan, Refusal, Rules,
    Source, Translated,
};
use sql_rewrite::{Objects, Schema, describe, plan, plan_with};

use crate::common::{build, people, tpcc};
use crate::mysql;

/// Set to write the file of plans anew, instead of comparing it.
const WRITE: &str = "STRONGROOM_WRITE_TABLES";

const STATEMENTS: &str = include_str!("golden/statements.txt");
const MYSQL_STATEMENTS: &str = include_str!("golden/mysql-statements.txt");

/// Prepared and declared before texts that name one of these.
const PREPARED: &[&str] = &[
    "PREPARE find (text, int) AS SELECT name FROM person WHERE mail = $1 AND id = $2",
    "PREPARE put (int, text) AS INSERT INTO person (id, name) VALUES ($1, $2)",
    "PREPARE st AS SELECT mail FROM person WHERE mail = $1",
    "DECLARE c CURSOR WITH HOLD FOR SELECT name, active FROM person",
];

const RULES: &str = r#"
    [people]
    id = { type = "integer", mode = "equality", domain = "person" }
    name = { type = "varchar(40)", mode = "equality" }
    note = { type = "text" }
    born = { type = "date", mode = "order" }
    fee = { type = "numeric(6,2)", default = "0" }
    since = { type = "timestamp", default = "CURRENT_TIMESTAMP" }
    [visits]
    person = { type = "integer", mode = "equality", domain = "person" }
    doctor = { type = "integer", mode = "equality", domain = "doctor" }
    reason = { type = "text" }
    [account]
    name = { type = "varchar(12)", mode = "equality" }
    note = { type = "text" }
    amount = { type = "numeric(10,2)" }
    day = { type = "date", mode = "order" }
    place = { type = "integer", mode = "equality", domain = "place" }
    score = { type = "integer" }
    [entry]
    value = { type = "bigint" }
    memo = { type = "varchar(20)", mode = "equality" }
    [item]
    name = { type = "varchar(20)", mode = "equality" }
    kind = { type = "char(4)" }
    price = { type = "numeric(8,2)", mode = "order" }
    made = { type = "date" }
    seen = { type = "timestamp with time zone" }
    [counter]
    n = { type = "integer" }
    [note]
    text = { type = "text" }
    name = { type = "varchar(40)" }
    [t]
    n2 = { type = "smallint" }
    n4 = { type = "integer" }
    n8 = { type = "bigint" }
    d = { type = "numeric(12,3)" }
    f = { type = "double precision" }
    r = { type = "real" }
    s = { type = "varchar(8)" }
    c = { type = "char(5)" }
    x = { type = "text" }
    dt = { type = "date" }
    ts = { type = "timestamp" }
    b = { type = "boolean" }
"#;

/// The tables that tests of DDL, of the proxy and of what it finishes have.
fn others() -> Schema {
    let rules: Rules = toml::from_str(RULES).expect("rules");
    build(
        "public",
        &rules,
        &[
            ("people", "id name note born fee since city", &["id"]),
            ("plain", "a b id name amount", &["a"]),
            ("visits", "person doctor reason", &[]),
            (
                "account",
                "id name note amount day place score plain label",
                &["id", "name"],
            ),
            (
                "entry",
                "account_id number value memo",
                &["account_id number"],
            ),
            ("item", "id name kind price made seen amount", &["id"]),
            ("counter", "id n", &["id"]),
            ("note", "id text name", &["id"]),
            ("t", "id g n2 n4 n8 d f r s c x dt ts b", &["id"]),
        ],
    )
}

/// What the sessions of the texts have prepared and declared.
fn objects(schema: &Schema) -> Objects {
    let mut objects = Objects::default();
    for text in PREPARED {
        for one in plan(text, schema).unwrap_or_default() {
            objects.note(one.plan.effects());
        }
    }
    objects
}

#[test]
fn every_plan_is_that_of_the_file() {
    let schemas = [people(), tpcc(), others()].map(|schema| {
        let objects = objects(&schema);
        (schema, objects)
    });
    compare(STATEMENTS, &schemas, "plans.txt");
}

/// For MariaDB, for MariaDB in another SQL mode, and for a MySQL without checks.
#[test]
fn every_plan_for_mysql_is_that_of_the_file() {
    let schemas = mysql::servers().map(|own| (mysql::people(own), Objects::default()));
    compare(MYSQL_STATEMENTS, &schemas, "mysql-plans.txt");
}

/// Plans statements, a line each, for several schemas, and compares the plans with a file.
fn compare(statements: &str, schemas: &[(Schema, Objects)], file: &str) {
    let mut found = String::new();
    for line in statements.lines() {
        let text = unescaped(line);
        writeln!(found, "{line}").expect("a String takes all");
        let mut seen: Vec<String> = Vec::new();
        for (number, (schema, objects)) in (1..).zip(schemas) {
            let planned = of_text(&text, schema, objects);
            if !seen.contains(&planned) {
                for line in planned.lines() {
                    writeln!(found, "{number} {line}").expect("a String takes all");
                }
                seen.push(planned);
            }
        }
        found.push('\n');
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = folder.join(file);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &found).expect("a writable file");
    }
    let known = std::fs::read_to_string(&path).expect("the file of plans");
    let blocks = known.split("\n\n").zip(found.split("\n\n"));
    for (known, found) in blocks {
        assert_eq!(found, known);
    }
    assert!(known == found, "a statement was added or left out");
}

fn unescaped(line: &str) -> String {
    let mut characters = line.chars();
    let mut text = String::new();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => panic!("a backslash at the end: {line}"),
            },
            other => other,
        });
    }
    text
}

/// The plans of a text, or why it is refused, with all that they have.
fn of_text(text: &str, schema: &Schema, objects: &Objects) -> String {
    let planned = match plan_with(text, schema, objects) {
        Ok(planned) => planned,
        Err(refusal) => return of_refusal(&refusal),
    };
    let mut out = String::new();
    for one in &planned {
        if planned.len() > 1 {
            writeln!(out, "at {:?}", one.span).expect("a String takes all");
        }
        out.push_str(&describe(&one.plan, schema).replace('\r', "\\r"));
        of_plan(&mut out, &one.plan, schema);
        of_effects(&mut out, one.plan.effects());
    }
    out
}

fn of_refusal(refusal: &Refusal) -> String {
    let Refusal {
        sqlstate,
        message,
        hint,
    } = refusal;
    let hint = hint
        .as_deref()
        .map_or(String::new(), |hint| format!("\nhint: {hint}"));
    format!("refused {sqlstate}: {message}{hint}\n")
}

fn note(out: &mut String, name: &str, content: &str) {
    writeln!(out, "  {name}: {content}").expect("a String takes all");
}

/// What `describe` leaves out.
fn of_plan(out: &mut String, plan: &Plan, schema: &Schema) {
    match plan {
        Plan::Pass(_) => {}
        Plan::One(one, _) => {
            of_translated(out, "one", one);
            of_wider(out, one, schema);
        }
        Plan::ReadModifyWrite(modify) => {
            of_translated(out, "read", &modify.read);
            of_translated(out, "write", &modify.write);
            if let Some(write) = &modify.write_all {
                of_translated(out, "write all", write);
            }
            if let Some(write) = &modify.write_by_key {
                of_translated(out, "write by key", write);
            }
            note(out, "current", &format!("{:?}", modify.current));
            if let Some(locks) = &modify.locks {
                of_key(out, locks);
            }
            let values = modify.assignments.iter().map(|one| &one.value);
            note(out, "constants", &constants(values));
        }
        Plan::Finisher(_)
        | Plan::FinisherTables(_)
        | Plan::FinisherWrite(_)
        | Plan::FinisherMerge(_) => {
            unreachable!("no schema here has a finisher")
        }
        Plan::Finish(finish) => {
            of_translated(out, "fetch", &finish.fetch);
            if finish.grouped {
                note(out, "grouped", "");
            }
            let bounds = finish.limit.iter().chain(&finish.offset);
            note(
                out,
                "constants",
                &constants(finish.expressions().chain(bounds)),
            );
        }
        Plan::Copy(copy) => {
            note(out, "holes", &of_holes(&copy.holes));
            let direction = if copy.into_server { "from" } else { "to" };
            note(
                out,
                direction,
                &format!("{:?} {:?} {:?}", copy.table, copy.columns, copy.format),
            );
        }
    }
}

fn of_translated(out: &mut String, name: &str, translated: &Translated) {
    let Translated {
        template: _,
        holes,
        outputs,
        parameter_types,
        locks,
    } = translated;
    if !holes.is_empty() {
        note(out, name, &of_holes(holes));
    }
    if !parameter_types.is_empty() {
        note(out, "types", &format!("{parameter_types:?}"));
    }
    let names = outputs.iter().filter_map(|output| output.name.as_deref());
    let names: Vec<&str> = names.collect();
    if !names.is_empty() {
        note(out, "names", &names.join(", "));
    }
    if let Some(locks) = locks {
        of_key(out, locks);
    }
}

fn of_key(out: &mut String, locks: &LockKey) {
    let read = locks.read.iter().map(|read| (read.column, read.output));
    let read: Vec<_> = read.collect();
    note(
        out,
        "key",
        &format!("{:?} {:?} {read:?}", locks.table, locks.key),
    );
}

/// A locking statement with what increments may need beside what it reads.
fn of_wider(out: &mut String, one: &Translated, schema: &Schema) {
    let locks = one.locks.as_ref();
    if let Some(wider) = locks.and_then(|locks| locks.wider.as_deref()) {
        let plan = Plan::One(wider.clone(), Effects::default());
        for line in describe(&plan, schema).lines() {
            note(out, "wider", line);
        }
        of_translated(out, "wider", wider);
    }
}

fn of_holes(holes: &[Hole]) -> String {
    let holes = holes.iter().map(|hole| {
        let Hole { source, form } = hole;
        format!("{} {form:?}", of_source(source))
    });
    holes.collect::<Vec<_>>().join(", ")
}

/// With constants, which `Debug` does not show.
fn of_source(source: &Source) -> String {
    use sql_plan::Literal as L;
    match source {
        Source::Literal(literal) => match literal {
            L::Null => "NULL".to_owned(),
            L::Boolean(value) => format!("{value}"),
            L::Number(digits) => digits.clone(),
            L::Text(text) => format!("{text:?}"),
            L::Bytes(bytes) => format!("{bytes:02x?}"),
            L::TransactionTime => "now".to_owned(),
            L::Drawn => "next value".to_owned(),
        },
        Source::Calculated(value, logical) => {
            format!("{value:?}::{logical} of [{}]", constants([&**value]))
        }
        other => format!("{other:?}"),
    }
}

/// The constants and parameters of expressions, in an order that depends on nothing else.
fn constants<'e>(values: impl IntoIterator<Item = &'e Expression>) -> String {
    let mut found = Vec::new();
    let mut rest: Vec<&Expression> = values.into_iter().collect();
    while let Some(value) = rest.pop() {
        match value {
            Expression::Value(source, _) | Expression::InArray(_, source, _) => {
                found.push(of_source(source));
            }
            Expression::Like { escape, .. } => found.push(format!("escape {escape:?}")),
            _ => {}
        }
        rest.extend(value.parts());
    }
    found.join(", ")
}

fn of_effects(out: &mut String, effects: &Effects) {
    let Effects {
        transaction,
        changes_schema,
        // All names of a text; what reads them tests them.
        changes_only: _,
        reshapes,
        forgets_locks,
        keeps_locked_rows,
        forgets_statements,
        writes,
        changes_settings,
        changes_texts,
        objects,
        uses,
    } = effects;
    let flags = [
        (*changes_schema, "changes schema"),
        (*forgets_locks, "forgets locks"),
        (*keeps_locked_rows, "keeps locked rows"),
        (*forgets_statements, "forgets statements"),
        (*changes_settings, "changes settings"),
        (*changes_texts, "changes texts"),
    ];
    let mut parts: Vec<String> = Vec::new();
    parts.extend(transaction.iter().map(|one| format!("{one:?}")));
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    parts.extend(set.map(|(_, name)| (*name).to_owned()));
    parts.extend(
        writes
            .iter()
            .map(|(schema, table)| format!("writes {schema}.{table}")),
    );
    parts.extend(
        reshapes
            .iter()
            .map(|(schema, table)| format!("reshapes {schema}.{table}")),
    );
    parts.extend(
        uses.iter()
            .map(|(column, own)| format!("{own:?} {}", column.0)),
    );
    parts.extend(objects.iter().map(of_object));
    if !parts.is_empty() {
        note(out, "effects", &parts.join(", "));
    }
}

fn of_object(effect: &ObjectEffect) -> String {
    match effect {
        ObjectEffect::Prepares { name, types, text } => {
            format!("prepares {name:?} {types:?} {text:?}")
        }
        ObjectEffect::Declares {
            name,
            outputs,
            hold,
        } => {
            let outputs = outputs.iter().map(|output: &Output| match output.kind {
                OutputKind::Plain => "-".to_owned(),
                kind => format!("{kind:?}"),
            });
            let outputs: Vec<_> = outputs.collect();
            format!("declares {name:?} {} hold {hold}", outputs.join(" "))
        }
        other => format!("{other:?}"),
    }
}
