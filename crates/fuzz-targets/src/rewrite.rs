//! SQL of a client, and what the rewriter makes of it.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use sql_plan::{ColumnId, Mode, Plan, Planned, Refusal, Translated};
use sql_rewrite::{
    Column, Dialect, ProtectedColumn, RelationKind, Schema, Table, is_of_second_proof, plan,
};
use sqlparser::ast::{
    AssignmentTarget, Expr, Query, SelectItem, SetExpr, Statement, TableAlias, TableFactor, Value,
    Visit, Visitor, visit_expressions,
};

use crate::input;

#[cfg(feature = "oracle")]
mod oracle;

/// Stands in constants. It must not stand beside a protected column in what is sent.
const CANARY: &str = "CANARY";

/// Tables with their columns: a name, and of a protected one its type, mode and domain. The first
/// columns, as many as the number says, are a key. `shown` is a view.
const TABLES: &[(&str, usize, &str)] = &[
    (
        "person",
        1,
        "id:integer:equality:person name:varchar(20):random mail:text:equality born:date:order \
         salary:numeric(10,2):random active",
    ),
    (
        "visit",
        1,
        "visit_id person_id:integer:equality:person note:text:random at",
    ),
    ("plain", 1, "key label amount"),
    (
        "shown",
        0,
        "id:integer:equality:person mail:text:equality active",
    ),
    (
        "customer",
        3,
        "c_w_id:integer:equality:w c_d_id:integer:equality:d c_id:integer:equality:c \
         c_last:varchar(16):equality c_first:varchar(16):random c_balance:numeric(12,2):random \
         c_ytd_payment:double:random c_payment_cnt:integer:random c_delivery_cnt:integer:random \
         c_discount:numeric(4,4):random c_credit:char(2):random c_data:varchar(500):random",
    ),
    (
        "district",
        2,
        "d_w_id:integer:equality:w d_id:integer:equality:d d_next_o_id:integer:random \
         d_tax:numeric(4,4):random d_ytd:numeric(12,2):random",
    ),
    (
        "warehouse",
        1,
        "w_id:integer:equality:w w_ytd:numeric(12,2):random w_tax:numeric(4,4):random",
    ),
    (
        "stock",
        2,
        "s_w_id:integer:equality:w s_i_id:integer:equality:i s_quantity:integer:order \
         s_ytd:numeric(8,2):random s_order_cnt:integer:random s_data:varchar(50):random",
    ),
    (
        "new_order",
        3,
        "no_w_id:integer:equality:w no_d_id:integer:equality:d no_o_id:integer:order:o",
    ),
    (
        "order_line",
        4,
        "ol_w_id:integer:equality:w ol_d_id:integer:equality:d ol_o_id:integer:order:o \
         ol_number:integer:equality ol_i_id:integer:equality:i ol_amount:numeric(6,2):random",
    ),
];

/// What texts are put together from, where an input says so.
const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "person",
    "visit",
    "plain",
    "shown",
    "name",
    "mail",
    "id",
    "born",
    "salary",
    "active",
    "label",
    "amount",
    "=",
    "<",
    "<>",
    "AND",
    "OR",
    "NOT",
    "(",
    ")",
    ",",
    "*",
    ".",
    "'CANARY'",
    "E'CANARY'",
    "$$CANARY$$",
    "$1",
    "$2",
    "1",
    "NULL",
    "IN",
    "BETWEEN",
    "LIKE",
    "IS",
    "DISTINCT",
    "INSERT INTO",
    "VALUES",
    "UPDATE",
    "SET",
    "DELETE",
    "RETURNING",
    "ON",
    "CONFLICT",
    "DO",
    "JOIN",
    "USING",
    "LEFT",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "FOR",
    "NO KEY UPDATE",
    "WITH",
    "RECURSIVE",
    "AS",
    "p",
    "q",
    "UNION",
    "ALL",
    "ANY",
    "ARRAY[",
    "]",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "||",
    "+",
    "::",
    "text",
    "count",
    "sum",
    "min",
    "max",
    "coalesce",
    "nullif",
    "upper",
    "EXISTS",
    "ONLY",
    "COPY",
    "TO STDOUT",
    "PREPARE",
    "EXECUTE",
    "DECLARE",
    "CURSOR",
    "FETCH",
    "EXPLAIN",
    "CREATE",
    "TABLE",
    "VIEW",
    "INDEX",
    "TEMP",
    ";",
    "\"",
    "'",
    "\\",
    "--",
    "\n",
    "/*",
    "*/",
    "public",
    "DEFAULT",
    "EXCLUDED",
    "ROW",
    "OVER",
    "PARTITION BY",
    "integer",
    "PRIMARY KEY",
    "ALTER",
    "RENAME",
    "LATERAL",
    "NATURAL",
];

static SCHEMA: LazyLock<Schema> = LazyLock::new(schema);

/// Takes a text; behind a byte 1 numbers of words.
pub fn run(bytes: &[u8]) {
    let Some(text) = input::statement(bytes, WORDS) else {
        return;
    };
    match plan(&text, &SCHEMA) {
        Ok(planned) => {
            check(&text, &planned);
            #[cfg(feature = "oracle")]
            oracle::check(&text, &planned, &SCHEMA);
        }
        Err(refusal) => check_refusal(&refusal),
    }
}

/// A refusal says why, and none is the verifier's: the planner makes nothing that it cannot prove.
pub(crate) fn check_refusal(refusal: &Refusal) {
    assert!(!refusal.message.is_empty(), "a refusal says what is wrong");
    assert!(
        !is_of_second_proof(&refusal.message),
        "planner and verifier disagree: {}",
        refusal.message
    );
}

fn check(text: &str, planned: &[Planned]) {
    let mut end = 0;
    for Planned { span, plan } in planned {
        assert!(
            end <= span.start && span.start < span.end,
            "spans are in order"
        );
        let statement = text
            .get(span.clone())
            .expect("a span is a part of the text");
        end = span.end;
        match plan {
            Plan::Pass(_) => check_passed(statement),
            Plan::One(one, _) => check_sent(one),
            Plan::ReadModifyWrite(plan) => {
                [&plan.read, &plan.write].into_iter().for_each(check_sent);
                plan.write_all.iter().for_each(check_sent);
                plan.write_by_key.iter().for_each(check_sent);
            }
            Plan::Finish(finish) => check_sent(&finish.fetch),
            Plan::Finisher(query) => check_sent(&query.fetch),
            // No schema here is of MariaDB.
            Plan::FinisherTables(_) => unreachable!("a finisher before MariaDB"),
            Plan::FinisherWrite(plan) => {
                check_sent(&plan.query.fetch);
                check_sent(&plan.write);
                if let Some(upsert) = &plan.upsert {
                    check_sent(&upsert.update);
                }
            }
            Plan::FinisherMerge(plan) => {
                check_sent(&plan.query.fetch);
                check_sent(&plan.write);
            }
            Plan::Copy(copy) => check_text(&copy.template.render(|_, _| {})),
        }
        let _ = sql_rewrite::describe(plan, &SCHEMA);
    }
}

/// A statement that reads or writes rows, and names a protected table, is not sent as it came.
fn check_passed(statement: &str) {
    let lower = statement.to_lowercase();
    if lower.contains("pg_") || lower.contains("information_schema") {
        return;
    }
    // To PostgreSQL every character beyond ASCII is a letter of a name.
    let is_of_name =
        |one: char| one.is_ascii_alphanumeric() || "_$".contains(one) || !one.is_ascii();
    let mut words = lower.split(|one: char| !is_of_name(one));
    let rows = [
        "select", "insert", "update", "delete", "with", "values", "merge", "copy", "explain",
    ];
    let reads = words.clone().find(|word| !word.is_empty());
    if reads.is_some_and(|first| rows.contains(&first)) {
        let named = words.find(|word| matches!(*word, "person" | "visit" | "shown" | "customer"));
        assert_eq!(named, None, "passed: {statement}");
    }
}

fn check_sent(translated: &Translated) {
    let holes = &translated.holes;
    let text = translated.template.render(|hole, text| {
        assert!(hole < holes.len(), "a hole is one of the statement");
        text.push('$');
        text.push_str(&(hole + 1).to_string());
    });
    check_text(&text);
    if let Some(wider) = translated.locks.iter().find_map(|own| own.wider.as_ref()) {
        assert!(
            wider.outputs.len() > translated.outputs.len(),
            "it reads more"
        );
        check_sent(wider);
    }
}

/// No constant with the canary stands where it meets a protected column.
fn check_text(text: &str) {
    if !text.contains(CANARY) {
        return;
    }
    let Some(statements) = Dialect::Postgres.statements(text) else {
        return;
    };
    for statement in &statements {
        let mut aliases = Aliases(false);
        let _: ControlFlow<()> = statement.visit(&mut aliases);
        // Of another table ON CONFLICT may name columns as a protected one has them.
        if let Statement::Insert(insert) = statement {
            aliases.0 |= insert.on.is_some() && !is_own(&insert.table.to_string());
        }
        // A plain value may have been given the name of a protected column.
        if aliases.0 {
            continue;
        }
        let _ = visit_expressions(statement, |expression| {
            check_expression(expression, text);
            ControlFlow::<()>::Continue(())
        });
        check_stored(statement, text);
    }
}

fn check_expression(expression: &Expr, text: &str) {
    let pair = |left: &Expr, right: &Expr| {
        let meet = |one: &Expr, other: &Expr| is_protected(one) && has_canary(other);
        assert!(!meet(left, right) && !meet(right, left), "in clear: {text}");
    };
    match expression {
        Expr::BinaryOp { left, right, .. }
        | Expr::AnyOp { left, right, .. }
        | Expr::AllOp { left, right, .. }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => match (&**left, &**right) {
            (Expr::Tuple(lefts), Expr::Tuple(rights)) => {
                lefts
                    .iter()
                    .zip(rights)
                    .for_each(|(left, right)| pair(left, right));
            }
            (left, right) => pair(left, right),
        },
        Expr::Like { expr, pattern, .. }
        | Expr::ILike { expr, pattern, .. }
        | Expr::SimilarTo { expr, pattern, .. } => pair(expr, pattern),
        Expr::Between {
            expr, low, high, ..
        } => {
            pair(expr, low);
            pair(expr, high);
        }
        Expr::InList { expr, list, .. } => list.iter().for_each(|one| match (&**expr, one) {
            (Expr::Tuple(lefts), Expr::Tuple(rights)) => {
                lefts
                    .iter()
                    .zip(rights)
                    .for_each(|(left, right)| pair(left, right));
            }
            (left, right) => pair(left, right),
        }),
        _ => {}
    }
}

fn check_stored(statement: &Statement, text: &str) {
    match statement {
        Statement::Insert(insert) => {
            let columns: Vec<bool> = insert
                .columns
                .iter()
                .map(|name| is_protected_name(&name.to_string()))
                .collect();
            let source = insert.source.as_ref().map(|source| &*source.body);
            if let Some(SetExpr::Values(values)) = source
                && is_own(&insert.table.to_string())
            {
                for row in &values.rows {
                    for (value, protected) in row.content.iter().zip(&columns) {
                        assert!(
                            !(*protected && has_canary(value)),
                            "stored in clear: {text}"
                        );
                    }
                }
            }
        }
        Statement::Update(update) if is_own(&update.table.to_string()) => {
            for assignment in &update.assignments {
                if let AssignmentTarget::ColumnName(name) = &assignment.target {
                    let stores = is_protected_name(&name.to_string());
                    let clear = stores && has_canary(&assignment.value);
                    assert!(!clear, "stored in clear: {text}");
                }
            }
        }
        _ => {}
    }
}

fn is_own(table: &str) -> bool {
    table.starts_with("\"public\"")
}

fn is_protected_name(name: &str) -> bool {
    let name = name.trim_matches('"').to_ascii_lowercase();
    SCHEMA.protected.iter().any(|own| own.column == name)
}

fn is_protected(expression: &Expr) -> bool {
    match expression {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_protected(inner),
        Expr::Identifier(name) => is_protected_name(&name.value),
        Expr::CompoundIdentifier(parts) => parts
            .last()
            .is_some_and(|name| is_protected_name(&name.value)),
        _ => false,
    }
}

/// Whether an operand is a constant with the canary, or computed from one.
fn has_canary(expression: &Expr) -> bool {
    // What a subquery compares is looked at there.
    if matches!(
        expression,
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. }
    ) {
        return false;
    }
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

/// Whether anything has been given the name of a protected column.
struct Aliases(bool);

impl Aliases {
    fn note(&mut self, alias: Option<&TableAlias>) {
        let mut columns = alias.into_iter().flat_map(|alias| &alias.columns);
        self.0 |= columns.any(|column| is_protected_name(&column.name.value));
    }
}

impl Visitor for Aliases {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.note(Some(&cte.alias));
        }
        self.selects(&query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                self.0 |= !name.to_string().starts_with("\"public\"");
                self.note(alias.as_ref());
            }
            TableFactor::Derived { alias, .. } => self.note(alias.as_ref()),
            // Columns may have any name.
            TableFactor::Function { .. } | TableFactor::UNNEST { .. } => self.0 = true,
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Aliases {
    fn selects(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => {
                for item in &select.projection {
                    if let SelectItem::ExprWithAlias { alias, .. } = item {
                        self.0 |= is_protected_name(&alias.value);
                    }
                }
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.selects(left);
                self.selects(right);
            }
            _ => {}
        }
    }
}

fn schema() -> Schema {
    let mut schema = Schema {
        search_path: vec!["public".to_owned()],
        ..Schema::default()
    };
    for ((name, key, columns), oid) in TABLES.iter().zip(1..) {
        let is_view = *key == 0;
        let mut table = Table {
            schema: "public".to_owned(),
            name: (*name).to_owned(),
            oid,
            kind: if is_view {
                RelationKind::View
            } else {
                RelationKind::Table
            },
            columns: Vec::new(),
            unique_keys: if is_view {
                Vec::new()
            } else {
                vec![(0..*key).collect()]
            },
            has_primary_key: !is_view,
            opaque: false,
            has_triggers: false,
            has_column_privileges: false,
            rows: sql_rewrite::RowRules::default(),
        };
        for (column, number) in columns.split(' ').zip(1..) {
            let mut parts = column.split(':');
            let column = parts.next().expect("a name");
            // A view shows the columns of `person`.
            let of = if is_view { "person" } else { name };
            let protected = parts.next().map(|logical| {
                let known = schema.rule("public", of, column).map(|rule| rule.id);
                known.unwrap_or_else(|| protect(&mut schema, (name, column, logical), parts))
            });
            table.columns.push(Column {
                name: column.to_owned(),
                written: None,
                number,
                not_null: false,
                has_default: false,
                is_generated: false,
                protected,
                physical: "integer".parse().ok(),
            });
        }
        schema
            .tables
            .insert((table.schema.clone(), table.name.clone()), table);
    }
    schema
}

fn protect<'p>(
    schema: &mut Schema,
    (table, column, logical): (&str, &str, &str),
    mut rest: impl Iterator<Item = &'p str>,
) -> ColumnId {
    let id = ColumnId(u32::try_from(schema.protected.len()).expect("few columns"));
    let logical = match logical {
        "double" => "double precision",
        other => other,
    };
    schema.protected.push(ProtectedColumn {
        id,
        schema: "public".to_owned(),
        table: table.to_owned(),
        column: column.to_owned(),
        logical: logical.parse().expect("a known type"),
        mode: match rest.next() {
            Some("equality") => Mode::Equality,
            Some("order") => Mode::Order,
            _ => Mode::Random,
        },
        domain: rest
            .next()
            .map_or_else(|| format!("column:public.{table}.{column}"), str::to_owned),
        form: sql_rewrite::SealedForm::default(),
        default: None,
        draws: None,
        not_null: false,
        checks: Default::default(),
    });
    id
}
