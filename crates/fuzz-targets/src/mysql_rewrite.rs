//! SQL of a client of MySQL or MariaDB, and what the rewriter makes of it.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use sql_plan::{Plan, Rules, Translated};
use sql_rewrite::mysql::MySql;
use sql_rewrite::mysql::schema::build;
use sql_rewrite::{Answer, Dialect, Schema, describe, plan};
use sqlparser::ast::{AssignmentTarget, Expr, SetExpr, Statement, Value, visit_expressions};

use crate::input;
use crate::rewrite::check_refusal;

/// Stands in constants. It must not stand beside a protected column in what is sent.
const CANARY: &str = "CANARY";

const RULES: &str = "
    [columns.\"shop.person\"]
    name = { type = \"varchar(20)\" }
    number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
    level = { type = \"integer\", mode = \"order\" }
    [columns.\"shop.card\"]
    number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
";

const PROTECTED: [&str; 3] = ["name", "number", "level"];

const WORDS: &[&str] = &[
    "person",
    "card",
    "plain",
    "shop",
    "p",
    "c",
    "id",
    "name",
    "number",
    "level",
    "note",
    "'CANARY'",
    "CANARY",
    "\"CANARY\"",
    "_binary'CANARY'",
    "x'4142'",
    "0x4142",
    "1",
    "5",
    "NULL",
    "TRUE",
    "?",
    "@x",
    ":=",
    "=",
    "<=>",
    "<>",
    "<",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "||",
    "&&",
    "!",
    "^",
    "(",
    ")",
    ",",
    ".",
    ";",
    "*",
    "SELECT",
    "DISTINCT",
    "FROM",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "IS",
    "INSERT",
    "IGNORE",
    "INTO",
    "REPLACE",
    "VALUES",
    "ON DUPLICATE KEY UPDATE",
    "UPDATE",
    "SET",
    "DELETE",
    "USING",
    "JOIN",
    "LEFT",
    "CROSS",
    "ON",
    "AS",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "FOR UPDATE",
    "UNION",
    "count",
    "min",
    "sum",
    "concat",
    "RETURNING",
    "LOAD DATA",
    "LOCAL",
    "INFILE",
    "TABLE",
    "FIELDS",
    "LINES",
    "TERMINATED BY",
    "CREATE",
    "INDEX",
    "ALTER",
    "DROP",
    "TRUNCATE",
    "SHOW",
    "COLUMNS",
    "information_schema.columns",
    "PREPARE",
    "EXECUTE",
    "IMMEDIATE",
    "CALL",
    "HANDLER",
    "OPEN",
    "/*",
    "*/",
    "/*!",
    "/*!50000",
    "/*M!",
    "--",
    "#",
    "\n",
    "'",
    "\"",
    "`",
    "\\",
    "DEFAULT",
    "CASE",
    "WHEN",
    "END",
    "BINARY",
    "INTERVAL",
];

/// MariaDB as it is by default and in another SQL mode, and MySQL.
static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let mariadb = MySql::of_version("10.11.19-MariaDB", false);
    let ansi = MySql {
        ansi_quotes: true,
        plain_backslashes: true,
        ..mariadb
    };
    let mysql = MySql::of_version("8.0.15", false);
    [mariadb, ansi, mysql].map(schema).to_vec()
});

fn schema(own: MySql) -> Schema {
    let row = |parts: &[&str]| -> Vec<Option<String>> {
        parts.iter().map(|part| Some((*part).to_owned())).collect()
    };
    let table = |name| row(&["shop", name, "BASE TABLE", "InnoDB"]);
    let column = |table, name, kind| row(&["shop", table, name, kind, "1", "0", ""]);
    let answers: Vec<Answer> = vec![
        vec![table("card"), table("person"), table("plain")],
        vec![
            column("card", "number", "varbinary(17)"),
            column("person", "id", "int(11)"),
            column("person", "name", "varbinary(121)"),
            column("person", "number", "varbinary(17)"),
            column("person", "level", "varbinary(57)"),
            column("plain", "id", "int(11)"),
            column("plain", "note", "varchar(20)"),
        ],
        vec![],
        vec![],
        vec![],
        vec![row(&["%", "%"])],
        vec![],
    ];
    let rules = Rules::from_toml(RULES).expect("the rules are written here");
    build(&rules, &answers, own, Some("shop"))
}

/// Takes a text; behind a byte 1 numbers of words.
pub fn run(bytes: &[u8]) {
    let Some(text) = input::statement(bytes, WORDS) else {
        return;
    };
    for schema in &*SCHEMAS {
        let _ = sql_rewrite::explain::statements(&text, schema);
        match plan(&text, schema) {
            Ok(planned) => {
                for one in planned {
                    check(&text, &one.plan, schema);
                }
            }
            Err(refusal) => check_refusal(&refusal),
        }
    }
}

fn check(text: &str, plan: &Plan, schema: &Schema) {
    let _ = describe(plan, schema);
    match plan {
        Plan::Pass(_) => check_passed(text),
        Plan::One(one, _) => check_sent(one, schema),
        Plan::ReadModifyWrite(plan) => {
            check_sent(&plan.read, schema);
            check_sent(&plan.write, schema);
        }
        Plan::Finish(finish) => check_sent(&finish.fetch, schema),
        _ => {}
    }
}

/// A statement that writes rows, and names a protected table, is not sent as it came.
fn check_passed(text: &str) {
    // Names may stand in constants and comments, which are no names to the server.
    if text.contains(['\'', '"', '`', '\\', '/', '#', '-', '@', ';', '.']) {
        return;
    }
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split_ascii_whitespace();
    let writes = ["insert", "update", "delete", "replace"];
    if words
        .clone()
        .next()
        .is_some_and(|first| writes.contains(&first))
    {
        let named = words.find(|word| matches!(*word, "person" | "card"));
        assert_eq!(named, None, "passed: {text}");
    }
}

/// No constant with the canary stands where it meets a protected column.
fn check_sent(translated: &Translated, schema: &Schema) {
    let holes = &translated.holes;
    let text = translated.template.render(|hole, text| {
        assert!(hole < holes.len(), "a hole is one of the statement");
        text.push('?');
    });
    if !text.contains(CANARY) {
        return;
    }
    let Dialect::MySql(_) = schema.dialect else {
        return;
    };
    for statement in schema.dialect.statements(&text).into_iter().flatten() {
        let _ = visit_expressions(&statement, |expression| {
            check_expression(expression, &text);
            ControlFlow::<()>::Continue(())
        });
        check_stored(&statement, &text);
    }
}

fn check_expression(expression: &Expr, text: &str) {
    let pair = |left: &Expr, right: &Expr| {
        let meet = |one: &Expr, other: &Expr| is_protected(one) && has_canary(other);
        assert!(!meet(left, right) && !meet(right, left), "in clear: {text}");
    };
    match expression {
        Expr::BinaryOp { left, right, .. } => pair(left, right),
        Expr::Like { expr, pattern, .. } => pair(expr, pattern),
        Expr::Between {
            expr, low, high, ..
        } => {
            pair(expr, low);
            pair(expr, high);
        }
        Expr::InList { expr, list, .. } => list.iter().for_each(|one| pair(expr, one)),
        _ => {}
    }
}

fn check_stored(statement: &Statement, text: &str) {
    let is_name = |name: String| {
        let last = name.rsplit('.').next().unwrap_or_default();
        let last = last.trim_matches('`').to_ascii_lowercase();
        PROTECTED.contains(&last.as_str())
    };
    match statement {
        Statement::Insert(insert) => {
            let columns: Vec<bool> = insert
                .columns
                .iter()
                .map(|name| is_name(name.to_string()))
                .collect();
            let source = insert.source.as_ref().map(|source| &*source.body);
            if let Some(SetExpr::Values(values)) = source {
                for row in &values.rows {
                    for (value, protected) in row.content.iter().zip(&columns) {
                        let clear = *protected && has_canary(value);
                        assert!(!clear, "stored in clear: {text}");
                    }
                }
            }
        }
        Statement::Update(update) => {
            for assignment in &update.assignments {
                if let AssignmentTarget::ColumnName(name) = &assignment.target {
                    let clear = is_name(name.to_string()) && has_canary(&assignment.value);
                    assert!(!clear, "stored in clear: {text}");
                }
            }
        }
        _ => {}
    }
}

/// Whether an operand is a column of a protected one's name.
fn is_protected(expression: &Expr) -> bool {
    let is_name = |name: &str| PROTECTED.contains(&name.to_ascii_lowercase().as_str());
    match expression {
        Expr::Nested(inner) => is_protected(inner),
        Expr::Identifier(name) => is_name(&name.value),
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|own| is_name(&own.value)),
        _ => false,
    }
}

/// Whether an operand is a constant with the canary, or computed from one.
fn has_canary(expression: &Expr) -> bool {
    let found = visit_expressions(expression, |part| match part {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(_) => ControlFlow::Continue(()),
            value if value.to_string().contains(CANARY) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
