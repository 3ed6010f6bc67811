//! Comparisons of columns whose values begin with a token of their collation key
//! ([`SealedForm::tokens`](crate::SealedForm::tokens)).
//!
//! To everything else such a column is of mode random. What is written here is the only way in
//! which a server compares one:
//!
//! | the client writes | the server gets |
//! |---|---|
//! | `c = 'x'`, `c <> 'x'` | `c BETWEEN token AND end`, `c NOT BETWEEN token AND end` |
//! | `c IN ('x', 'y')` | `c BETWEEN … OR c BETWEEN …` |
//! | `c <> d` | `LEFT(c, 18) <> LEFT(d, 18)` |
//! | `c = d` | the same with `=`, and each of both between the token of the other and its end |
//!
//! `token` is what the values of all equal texts begin with. `end` is the least that sorts behind
//! all of these; no value is `end` itself, since values are longer than tokens. A server finds the
//! values between them by a key over the token. For the same reason two columns are compared by
//! ranges, too: by `LEFT` alone, a join would compare each row with each.

use column_codec::TOKEN_PREFIX_SIZE;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, UnaryOperator, Value,
};

use super::{Analysis, Constant, Scope};
use crate::dialect::mysql::bytes;
use crate::{ColumnId, Purpose, Refusal, Use};

/// Bytes of the tag behind a token.
const TAG_SIZE: usize = 16;

impl Analysis<'_> {
    /// Writes a comparison of a column with tokens as the server decides it. False: it is none.
    ///
    /// # Errors
    /// A name is not known.
    pub(super) fn by_tokens(
        &mut self,
        expression: &mut Expr,
        scope: &Scope,
    ) -> Result<bool, Refusal> {
        if !self.schema.has_tokens() {
            return Ok(false);
        }
        let replaced = match expression {
            Expr::BinaryOp {
                left,
                op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq),
                right,
            } => {
                let negated = *op == BinaryOperator::NotEq;
                let (one, other) = (
                    self.token_column(left, scope)?,
                    self.token_column(right, scope)?,
                );
                match (one, other) {
                    (Some((column, own)), None) => {
                        self.between_tokens((column, own, negated), right)?
                    }
                    (None, Some((column, own))) => {
                        self.between_tokens((column, own, negated), left)?
                    }
                    (Some((one, left)), Some((other, right))) if self.are_alike(one, other) => {
                        self.note_use([one, other], Use::Paired);
                        Some(paired(left, op, right))
                    }
                    _ => None,
                }
            }
            Expr::InList {
                expr,
                list,
                negated,
            } => match self.token_column(expr, scope)? {
                Some((column, own)) => self.in_tokens((column, own, *negated), list)?,
                None => None,
            },
            _ => None,
        };
        match replaced {
            None => Ok(false),
            Some(replaced) => {
                *expression = Expr::Nested(Box::new(replaced));
                Ok(true)
            }
        }
    }

    /// The column with tokens that an expression names, and its name as the server gets it.
    fn token_column(
        &mut self,
        expression: &Expr,
        scope: &Scope,
    ) -> Result<Option<(ColumnId, Expr)>, Refusal> {
        if !super::comparison::is_column(expression) {
            return Ok(None);
        }
        let mut own = expression.clone();
        let column = self.value(&mut own, scope)?;
        let column = column.filter(|id| self.column(*id).form.tokens.is_some());
        Ok(column.map(|id| (id, own)))
    }

    fn are_alike(&self, one: ColumnId, other: ColumnId) -> bool {
        let (one, other) = (self.column(one), self.column(other));
        one.domain == other.domain && one.form.tokens == other.form.tokens
    }

    /// The values of a column that are equal to a constant. None: it is none.
    fn between_tokens(
        &mut self,
        (column, own, negated): (ColumnId, Expr, bool),
        constant: &Expr,
    ) -> Result<Option<Expr>, Refusal> {
        let (Some(low), Some(high)) = (Constant::of(constant)?, Constant::of(constant)?) else {
            return Ok(None);
        };
        Ok(Some(Expr::Between {
            expr: Box::new(own),
            negated,
            low: Box::new(self.sealed(low, column, Purpose::Match)?),
            high: Box::new(self.sealed(high, column, Purpose::MatchEnd)?),
        }))
    }

    /// Those that are equal to one of several. None: one is no constant.
    fn in_tokens(
        &mut self,
        (column, own, negated): (ColumnId, Expr, bool),
        list: &[Expr],
    ) -> Result<Option<Expr>, Refusal> {
        let mut any: Option<Expr> = None;
        for constant in list {
            if Constant::of(constant)?.is_none() {
                return Ok(None);
            }
        }
        for constant in list {
            let Some(one) = self.between_tokens((column, own.clone(), false), constant)? else {
                return Ok(None);
            };
            any = Some(match any {
                None => one,
                Some(earlier) => Expr::BinaryOp {
                    left: Box::new(earlier),
                    op: BinaryOperator::Or,
                    right: Box::new(one),
                },
            });
        }
        Ok(any.map(|any| match negated {
            false => any,
            true => Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: Box::new(Expr::Nested(Box::new(any))),
            },
        }))
    }
}

/// Two columns are compared.
fn paired(left: Expr, operator: &BinaryOperator, right: Expr) -> Expr {
    let both = |left, op, right| Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    };
    let tokens = both(
        token_of(left.clone()),
        operator.clone(),
        token_of(right.clone()),
    );
    if *operator != BinaryOperator::Eq {
        return tokens;
    }
    let within = |column: &Expr, other: &Expr| Expr::Between {
        expr: Box::new(column.clone()),
        negated: false,
        low: Box::new(token_of(other.clone())),
        high: Box::new(call("CONCAT", token_of(other.clone()), last())),
    };
    let first = both(tokens, BinaryOperator::And, within(&left, &right));
    both(first, BinaryOperator::And, within(&right, &left))
}

/// What a tag is never: behind a token, it is the end of all values that begin with the token.
fn last() -> Expr {
    Expr::Prefixed {
        prefix: Ident::new(bytes::INTRODUCER),
        value: Box::new(Expr::Value(
            Value::HexStringLiteral("FF".repeat(TAG_SIZE)).into(),
        )),
    }
}

/// The token of a value.
fn token_of(column: Expr) -> Expr {
    let size = Value::Number(TOKEN_PREFIX_SIZE.to_string(), false);
    call("LEFT", column, Expr::Value(size.into()))
}

fn call(name: &str, first: Expr, second: Expr) -> Expr {
    let argument = |own| FunctionArg::Unnamed(FunctionArgExpr::Expr(own));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(first), argument(second)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
