//! Chains of operators without parentheses, compared with the server's own grammar.

use std::ops::ControlFlow;

use proptest::prelude::*;
use proptest::sample::select;
use sql_oracle::read;
use sqlparser::ast::{Expr, VisitorMut};

use crate::dialect::postgres::forms::{for_parser, for_server};
use crate::dialect::postgres::parse::{parse, statements};
use crate::walk;

const OPERANDS: &[&str] = &[
    "a",
    "b.c",
    "'x'",
    "$1",
    "1",
    "NULL",
    "f(a)",
    "(a, b)",
    "ARRAY[1]",
    "(a = b)",
    "INTERVAL '1 day'",
    "DATE '2020-01-01'",
    "CASE a WHEN b = c THEN d ~ e ELSE 1 END",
    "CAST(a AS int)",
    "(SELECT 1)",
    "EXISTS (SELECT 1)",
    "EXTRACT(year FROM a)",
    "POSITION('a' IN b)",
    "SUBSTRING(a FROM 1 FOR 2)",
    "TRIM(BOTH 'x' FROM a)",
    "current_date",
    "count(*) FILTER (WHERE a = b)",
];

const BEFORE: &[&str] = &["", "", "", "", "", "NOT ", "- ", "+ ", "~ ", "@ ", "!! "];

const BEHIND: &[&str] = &[
    "",
    "",
    "",
    "",
    "",
    "",
    " IS NULL",
    " IS NOT NULL",
    " IS TRUE",
    " IS NOT FALSE",
    " IS UNKNOWN",
    "::text",
    "[1]",
    " COLLATE \"C\"",
    " AT TIME ZONE 'UTC'",
    " NOTNULL",
    " ISNULL",
    " IS NORMALIZED",
];

const BETWEEN: &[&str] = &[
    "=",
    "<>",
    "!=",
    "<",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "||",
    "AND",
    "OR",
    "LIKE",
    "NOT LIKE",
    "ILIKE",
    "SIMILAR TO",
    "~",
    "!~*",
    "->",
    "->>",
    "#>",
    "@>",
    "?",
    "?|",
    "&&",
    "|",
    "&",
    "#",
    "<<",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
    "OPERATOR(pg_catalog.+)",
    "<->",
    "@@",
    "BETWEEN 1 AND",
    "NOT BETWEEN a AND",
    "BETWEEN SYMMETRIC 2 AND",
    "^@",
    "~~",
    "<@",
    "-|-",
    "AT TIME ZONE",
    "BETWEEN a + 1 AND",
];

/// Lists and arrays stand on the right only.
const LAST: &[&str] = &[
    "",
    "",
    "",
    "",
    " IN (1, 2)",
    " NOT IN (a)",
    " = ANY ($2)",
    " < ALL ($1)",
];

fn chain() -> impl Strategy<Value = String> {
    let operand = (select(BEFORE), select(OPERANDS), select(BEHIND))
        .prop_map(|(before, operand, behind)| format!("{before}{operand}{behind}"));
    let more = (select(BETWEEN), operand.clone())
        .prop_map(|(between, operand)| format!(" {between} {operand}"));
    (operand, prop::collection::vec(more, 1..5), select(LAST))
        .prop_map(|(first, more, last)| format!("{first}{}{last}", more.concat()))
}

/// Puts parentheses around all that an operator has made.
struct Parentheses;

impl VisitorMut for Parentheses {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let is_whole = matches!(
            expression,
            Expr::Identifier(_)
                | Expr::CompoundIdentifier(_)
                | Expr::Value(_)
                | Expr::Function(_)
                | Expr::Tuple(_)
                | Expr::Array(_)
                | Expr::Nested(_)
        );
        if !is_whole {
            *expression = Expr::Nested(Box::new(expression.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// What the parser by itself makes of a text, with all parentheses; None: it does not read it.
fn with_parentheses(text: &str) -> Option<String> {
    let mut parsed = statements(&for_parser(text))?;
    let _: ControlFlow<()> = walk::visit_mut(&mut parsed, &mut Parentheses);
    Some(for_server(parsed.first()?.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    fn accepted_operators_have_the_precedence_of_the_server(chain in chain()) {
        let text = format!("SELECT {chain} FROM t");
        if let (Ok(own), Some(whole)) = (read(&text), with_parentheses(&text)) {
            let ours = read(&whole).expect("the same in parentheses");
            let is_read = parse(&text).is_ok();
            prop_assert_eq!(is_read, ours.tree == own.tree, "{}\n{}", text, whole);
        }
    }
}

#[test]
fn other_precedence_is_refused() {
    let is_read = |text: &str| parse(&format!("SELECT {text} FROM t")).is_ok();
    for text in [
        "NOT a = b AND c < d OR e IS NULL",
        "a + b * c ^ - d::text",
        "a || b LIKE c || d",
        "a -> 'b' ->> 'c' = 'd'",
        "a BETWEEN b + 1 AND c AND d IN (1)",
        "(a ~ b) IN (true)",
        "a = - b AND NOT c",
        "a IS DISTINCT FROM b",
    ] {
        assert!(is_read(text), "{text}");
    }
    for text in ["a ~ b IN (true)", "@ a + b", "a ~ b || c"] {
        assert!(!is_read(text), "{text}");
    }
}
