//! The tree of an expression is the server's own: with parentheses around each part of the tree,
//! the server gives the same values.

use std::ops::ControlFlow;

use mysql::prelude::Queryable as _;
use mysql::{Conn, OptsBuilder, Value};
use server_testkit::mysql::{Brand, MySql as Server};
use sqlparser::ast::{Expr, VisitorMut};

use super::parse;
use crate::dialect::mysql::MySql;
use crate::dialect::mysql::lexer::for_server;
use crate::walk;

/// The number of an error of the server's parser: what is sent is the same text to it.
const SYNTAX: u16 = 1064;

/// Statements for each server.
const TEXTS: usize = 6000;

/// The same numbers in each run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    /// An expression with few parentheses.
    fn expression(&mut self, depth: usize) -> String {
        let leaves = [
            "a", "b", "t.c", "0", "1", "2.5", "'1'", "'x%'", "NULL", "TRUE",
        ];
        if depth == 0 {
            return leaves[self.below(leaves.len())].to_owned();
        }
        let mut part = || self.expression(depth - 1);
        let (one, two, three) = (part(), part(), part());
        let joined = [
            "=", "<>", "<", ">=", "AND", "OR", "+", "-", "*", "/", "%", "LIKE", "NOT LIKE",
        ];
        let not = ["", "NOT "][self.below(2)];
        match self.below(12) {
            0 => format!("NOT {one}"),
            1 => format!("-{one}"),
            2 => format!("{one} IS {not}NULL"),
            3 => format!("{one} {not}BETWEEN {two} AND {three}"),
            4 => format!("{one} {not}IN ({two}, {three})"),
            5 => format!("({one})"),
            6 => format!("ABS({one})"),
            _ => {
                let operator = joined[self.below(joined.len())];
                let blank = ["", " "][self.below(2)];
                match operator.starts_with(|letter: char| letter.is_alphabetic()) {
                    true => format!("{one} {operator} {two}"),
                    false => format!("{one}{blank}{operator}{blank}{two}"),
                }
            }
        }
    }
}

/// Puts parentheses around each expression.
struct Parentheses;

impl VisitorMut for Parentheses {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        *expression = Expr::Nested(Box::new(expression.clone()));
        ControlFlow::Continue(())
    }
}

fn answer(connection: &mut Conn, text: &str) -> Result<Vec<Vec<Value>>, u16> {
    match connection.query::<mysql::Row, _>(text) {
        Ok(rows) => Ok(rows.into_iter().map(mysql::Row::unwrap).collect()),
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(other) => panic!("{text}: {other}"),
    }
}

#[test]
fn trees_of_expressions_are_those_of_the_server() {
    for (brand, is_mariadb) in [(Brand::MariaDb, true), (Brand::MySql, false)] {
        if !brand.is_installed() {
            println!("left out: {brand:?} is not installed");
            continue;
        }
        let server = Server::start(brand, &[], &[], "CREATE DATABASE shop;");
        let builder = OptsBuilder::new()
            .user(Some("root"))
            .db_name(Some("shop"))
            .socket(Some(server.socket().display().to_string()));
        let mut connection = Conn::new(builder).expect("the server answers");
        for text in [
            "CREATE TABLE t (a INT, b INT, c VARCHAR(5))",
            "INSERT INTO t VALUES (0, 1, '1'), (1, 0, 'x'), (2, NULL, '0'), (NULL, 3, 'xy'), \
             (-1, 2, '')",
        ] {
            connection.query_drop(text).expect(text);
        }
        let own = MySql {
            is_mariadb,
            ..MySql::default()
        };
        compare(&mut connection, own);
    }
}

fn compare(connection: &mut Conn, own: MySql) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut answered = 0;
    for number in 0..TEXTS {
        let value = random.expression(1 + number % 3);
        let text = format!("SELECT {value} AS v FROM t ORDER BY a, b");
        let Ok(mut tree) = parse(&text, own) else {
            continue;
        };
        let _: ControlFlow<()> = walk::visit_mut(&mut tree, &mut Parentheses);
        let nested = for_server(tree.to_string(), own);
        let theirs = answer(connection, &text);
        if theirs == Err(SYNTAX) {
            continue;
        }
        let ours = answer(connection, &nested);
        answered += usize::from(theirs.is_ok());
        assert_eq!(ours, theirs, "{text} is not {nested}");
    }
    println!("{answered} of {TEXTS} texts are understood and answered");
    assert!(answered > TEXTS / 10, "{answered}");
}
