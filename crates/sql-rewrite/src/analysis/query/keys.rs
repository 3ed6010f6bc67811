//! Keys of `ORDER BY`, `GROUP BY` and `DISTINCT ON`.

use sqlparser::ast::{Expr, GroupByExpr, OrderBy, UnaryOperator, Value};
use sqlstate::SqlState;

use super::super::function::{check_sort_options, sort_keys};
use super::super::scope::refuse_gathered;
use super::super::{Analysis, OutColumn, Scope};
use crate::{Dialect, Refusal};
use sql_plan::unsupported;

impl Analysis<'_> {
    /// `ORDER BY`; one that is free is left out where the server cannot sort.
    pub fn order(
        &mut self,
        (order_by, is_free): (&mut Option<OrderBy>, bool),
        scope: &Scope,
        outputs: Option<&[OutColumn]>,
    ) -> Result<(), Refusal> {
        let Some(keys) = order_by else { return Ok(()) };
        if !is_free {
            return self.sort(keys, scope, outputs);
        }
        let before = self.clone();
        if self.sort(keys, scope, outputs).is_err() {
            *self = before;
            *order_by = None;
        }
        Ok(())
    }

    fn sort(
        &mut self,
        order_by: &mut OrderBy,
        scope: &Scope,
        outputs: Option<&[OutColumn]>,
    ) -> Result<(), Refusal> {
        for key in sort_keys(order_by)? {
            check_key(&key.expr)?;
            match output_of(&key.expr, outputs, self.dialect()) {
                Some(output) => {
                    check_sort_options(&key.options)?;
                    refuse_gathered([output], self.schema)?;
                    if let Some(column) = output.sealed {
                        self.sort_by(column, "ORDER BY")?;
                    }
                }
                None => {
                    let before = key.expr.clone();
                    self.sort_key(key, scope)?;
                    check_unfolded(&before, &key.expr)?;
                }
            }
        }
        Ok(())
    }

    pub fn group_by(
        &mut self,
        group_by: &mut GroupByExpr,
        scope: &Scope,
        outputs: Option<&[OutColumn]>,
    ) -> Result<(), Refusal> {
        match group_by {
            GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys
                .iter_mut()
                .try_for_each(|key| self.group_keys(key, scope, outputs)),
            _ => Err(unsupported("GROUP BY ALL or with a modifier")),
        }
    }

    /// A key, or several ones in parentheses, each of which is as one by itself (PostgreSQL 7.2.4).
    fn group_keys(
        &mut self,
        key: &mut Expr,
        scope: &Scope,
        outputs: Option<&[OutColumn]>,
    ) -> Result<(), Refusal> {
        match key {
            Expr::Nested(inner) if matches!(key_of(inner), Expr::Tuple(_)) => {
                self.group_keys(inner, scope, outputs)
            }
            Expr::Tuple(parts) => parts
                .iter_mut()
                .try_for_each(|part| self.group_keys(part, scope, outputs)),
            key => self.group_key(key, scope, outputs, "GROUP BY"),
        }
    }

    /// A name means a column of the relations before it means one of the outputs (unlike in
    /// `ORDER BY`), except in `DISTINCT ON`; both are checked.
    pub fn group_key(
        &mut self,
        key: &mut Expr,
        scope: &Scope,
        outputs: Option<&[OutColumn]>,
        operation: &str,
    ) -> Result<(), Refusal> {
        check_key(key)?;
        let output = output_of(key, outputs, self.dialect());
        refuse_gathered(output, self.schema)?;
        if let Some(column) = output.and_then(|output| output.sealed) {
            self.group(column, operation)?;
        }
        let named = output_of(key, outputs, self.dialect()).is_some();
        let is_number = matches!(key_of(key), Expr::Value(_));
        if named && is_number {
            return Ok(());
        }
        let before = key.clone();
        match self.value(key, scope) {
            Ok(Some(column)) => self.group(column, operation),
            Ok(None) => check_unfolded(&before, key),
            Err(refusal) if named && refusal.sqlstate == SqlState::UNDEFINED_COLUMN => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// `ORDER BY` after a set operation or `VALUES` can only name outputs.
    pub fn order_outputs(
        &mut self,
        order_by: &mut OrderBy,
        outputs: Option<&[OutColumn]>,
    ) -> Result<(), Refusal> {
        for key in sort_keys(order_by)? {
            check_sort_options(&key.options)?;
            match output_of(&key.expr, outputs, self.dialect()) {
                Some(output) => {
                    if let Some(column) = output.sealed {
                        self.sort_by(column, "ORDER BY")?;
                    }
                }
                None if outputs.is_none() => {}
                None => return Err(unsupported("ORDER BY an expression behind a set operation")),
            }
        }
        Ok(())
    }
}

/// Refuses a constant with a sign: the servers' grammars fold signs into constants, so that
/// `-(-1)`, or `+1` in MySQL, is the place of an output.
pub(crate) fn check_key(key: &Expr) -> Result<(), Refusal> {
    let mut inner = key;
    let mut is_signed = false;
    loop {
        match inner {
            Expr::Nested(next) => inner = next,
            Expr::UnaryOp {
                op: UnaryOperator::Plus | UnaryOperator::Minus,
                expr,
            } => (inner, is_signed) = (expr, true),
            Expr::Value(_) if is_signed => {
                return Err(unsupported(
                    "ORDER BY or GROUP BY of a constant with a sign",
                ));
            }
            _ => return Ok(()),
        }
    }
}

/// Refuses a comparison of constants in whose place its result would stand, since MySQL takes that
/// for the place of an output.
fn check_unfolded(before: &Expr, after: &Expr) -> Result<(), Refusal> {
    let is_value = |key: &Expr| matches!(key_of(key), Expr::Value(_));
    match !is_value(before) && is_value(after) {
        true => Err(unsupported(
            "ORDER BY or GROUP BY of a comparison of constants",
        )),
        false => Ok(()),
    }
}

/// The output that a key of `ORDER BY` means: its index, or its name.
pub(crate) fn output_of<'o>(
    key: &Expr,
    outputs: Option<&'o [OutColumn]>,
    dialect: Dialect,
) -> Option<&'o OutColumn> {
    let outputs = outputs?;
    match key_of(key) {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, false) => {
                let number: usize = digits.parse().ok()?;
                outputs.get(number.checked_sub(1)?)
            }
            _ => None,
        },
        Expr::Identifier(name) => {
            let name = dialect.fold(name);
            outputs
                .iter()
                .find(|output| output.name.as_deref() == Some(&name))
        }
        _ => None,
    }
}

/// A key of `ORDER BY` or `GROUP BY` without parentheses, which the servers' grammars drop: `(1)`
/// is the place of an output as `1` is.
pub(crate) fn key_of(mut key: &Expr) -> &Expr {
    while let Expr::Nested(inner) = key {
        key = inner;
    }
    key
}
