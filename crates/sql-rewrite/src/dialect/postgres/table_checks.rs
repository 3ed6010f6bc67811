//! Check constraints over protected columns.
//!
//! The server cannot evaluate one, and is not told what it says. In its place it has a constraint
//! of the same name that refuses a *mark*: 16 bytes that stand for this constraint. The proxy has
//! the finisher evaluate the expression of the rule for each value that it seals, and puts the mark
//! into a sealed value that fails. So the server itself decides whether the row is written, in
//! which order its constraints are checked, and says which one failed.
//!
//! Invariants:
//! 1. NULL is never sealed, so a constraint that NULL does not meet also says `IS NOT NULL`. Of one
//!    for which that is not clear there is no rule.
//! 2. The mark stands behind the header of a sealed value, and the header is one that the guard
//!    refuses ([`super::table_guard`]): without the constraint, which may be dropped while the
//!    value is on its way, the value is not stored either. The constraint comes first by its name.
//! 3. A sealed value without a mark has that mark there by chance only, one time in 2^128.

use std::collections::BTreeMap;

use column_codec::{CHECK_MARK_SIZE, HEADER_SIZE};
use column_value::LogicalType;
use sha2::{Digest, Sha256};
use sqlparser::ast::{Expr, Ident, ObjectName, Query, Visitor};
use std::ops::ControlFlow;

use super::finisher;
use super::names::{folded, quoted};
use super::parse;
use super::table_guard::{self, tree};
use crate::schema::ColumnCheck;
use crate::walk;
use crate::{ProtectedColumn, Schema};

mod null;
mod same;
mod session;

pub(crate) use same::is_same;

/// Where the mark is in a sealed value, from 1.
const MARK_PLACE: usize = HEADER_SIZE + 1;

/// The checks of a rule.
///
/// # Errors
/// What is wrong with one, and what to do.
pub(crate) fn read_all(
    column: &str,
    logical: LogicalType,
    checks: &BTreeMap<String, String>,
) -> Result<Vec<ColumnCheck>, String> {
    let read = checks.iter().map(|(name, text)| {
        read((column, logical), name, text).map_err(|wrong| format!("check {name}: {wrong}"))
    });
    read.collect()
}

/// One check of a rule.
///
/// # Errors
/// What is wrong with it, and what to do.
pub(crate) fn read(
    (column, logical): (&str, LogicalType),
    name: &str,
    text: &str,
) -> Result<ColumnCheck, String> {
    if !table_guard::is_before_last(name) {
        return Err(
            "its name begins with ~ or a letter outside of ASCII: give it another name".to_owned(),
        );
    }
    let expression = parse::expression(text)
        // The finisher gets what is written of the tree.
        .filter(|own| parse::expression(&own.to_string()).as_ref() == Some(own));
    let Some(expression) = expression else {
        return Err("its expression cannot be read: write it as behind CHECK".to_owned());
    };
    session::check(&expression, logical)?;
    if let ControlFlow::Break(wrong) = walk::visit(&expression, &mut Own { column }) {
        return Err(wrong);
    }
    finisher::check_expression(&expression, &Schema::default())
        .map_err(|refusal| format!("the finisher does not evaluate it: {}", refusal.message))?;
    let refuses_null = match null::of(&expression) {
        Some(null::Outcome::Null | null::Outcome::True) => false,
        Some(null::Outcome::False) => true,
        Some(null::Outcome::Known) | None => {
            return Err(format!(
                "it is not clear whether it accepts NULL: write `{column} IS NULL OR …` or \
                 `{column} IS NOT NULL AND …`"
            ));
        }
    };
    Ok(ColumnCheck {
        name: name.to_owned(),
        question: question(column, &expression),
        expression: text.to_owned(),
        refuses_null,
        mark: mark_of(name),
        is_there: false,
    })
}

/// Refuses what is not of the one column.
struct Own<'a> {
    column: &'a str,
}

impl Visitor for Own<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<String> {
        ControlFlow::Break("it has a query, which no check has".to_owned())
    }

    fn pre_visit_relation(&mut self, _: &ObjectName) -> ControlFlow<String> {
        ControlFlow::Break("it names a table".to_owned())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<String> {
        let named = match expression {
            _ if finisher::is_of_moment(expression) => {
                return ControlFlow::Break("it depends on the moment or the session".to_owned());
            }
            Expr::Identifier(name) => name,
            Expr::CompoundIdentifier(_) => {
                return ControlFlow::Break(
                    "it names a column with its table: write the column alone".to_owned(),
                );
            }
            Expr::Function(function) if !finisher::is_of_a_row(function) => {
                return ControlFlow::Break("it has a function of several rows".to_owned());
            }
            Expr::Value(value) if matches!(value.value, sqlparser::ast::Value::Placeholder(_)) => {
                return ControlFlow::Break("it has a parameter".to_owned());
            }
            _ => return ControlFlow::Continue(()),
        };
        match folded(named) == self.column {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(format!(
                "it reads {named}: a check of a rule reads the column of the rule and no other. \
                 Check the values in the application"
            )),
        }
    }
}

/// The condition that the finisher evaluates for values of the column `x`.
fn question(column: &str, expression: &Expr) -> String {
    /// Gives the column its name without a table.
    struct Unqualified(Ident);
    impl sqlparser::ast::VisitorMut for Unqualified {
        type Break = ();
        fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
            if matches!(
                expression,
                Expr::Identifier(_) | Expr::CompoundIdentifier(_)
            ) {
                *expression = Expr::Identifier(self.0.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut own = expression.clone();
    let name = Ident::with_quote('"', column);
    let _: ControlFlow<()> = walk::visit_mut(&mut own, &mut Unqualified(name));
    format!("({own}) IS NOT FALSE")
}

/// The bytes that stand for a constraint.
fn mark_of(name: &str) -> [u8; CHECK_MARK_SIZE] {
    let hash = Sha256::new()
        .chain_update(b"strongroom check\0")
        .chain_update(name.as_bytes())
        .finalize();
    let mut mark = [0; CHECK_MARK_SIZE];
    mark.copy_from_slice(&hash[..CHECK_MARK_SIZE]);
    mark
}

fn digits(mark: &[u8]) -> String {
    mark.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The condition that the server gets.
pub(crate) fn condition(check: &ColumnCheck, column: &str) -> String {
    let name = format!("\"{}\"", column.replace('"', "\"\""));
    let unmarked = format!(
        "pg_catalog.\"substr\"({name}, {MARK_PLACE}, {CHECK_MARK_SIZE}) OPERATOR(pg_catalog.<>) \
         E'\\\\x{}'::pg_catalog.bytea",
        digits(&check.mark)
    );
    match check.refuses_null {
        true => format!("{name} IS NOT NULL AND {unmarked}"),
        false => unmarked,
    }
}

/// Whether an expression is this condition, as the server prints it: a dump has it so.
pub(crate) fn is_printed(check: &ColumnCheck, column: &ProtectedColumn, expression: &Expr) -> bool {
    let name = quoted(&column.column);
    let unmarked = format!(
        "substr({name}, {MARK_PLACE}, {CHECK_MARK_SIZE}) <> '\\x{}'::bytea",
        digits(&check.mark)
    );
    let text = match check.refuses_null {
        true => format!("{name} IS NOT NULL AND {unmarked}"),
        false => unmarked,
    };
    parse::expression(&text).is_some_and(|own| same::is_alike(&own, expression, &column.table))
}

/// Whether a constraint is this condition, by what the catalogue stores of it for a column of this
/// number.
pub(crate) fn is_stored(check: &ColumnCheck, number: i16, stored: &str) -> bool {
    let unmarked = format!(
        "substr(${number}, {MARK_PLACE}, {CHECK_MARK_SIZE}) <> x{}",
        digits(&check.mark)
    );
    let wanted = match check.refuses_null {
        true => vec![format!("${number} IS NOT NULL"), unmarked],
        false => vec![unmarked],
    };
    tree::conditions(stored).is_some_and(|own| own == wanted)
}

#[cfg(test)]
mod tests;
