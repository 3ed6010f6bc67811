//! Expressions that the proxy computes from the columns that it fetches.

use column_value::{LogicalType, Value as Constantly};
use semantics_postgres::{Arithmetic, ValueText};
use sqlparser::ast::{BinaryOperator as B, CastKind, Expr, TrimWhereField, UnaryOperator as U};
use sqlstate::SqlState;

mod forms;
mod plain;

pub(crate) use forms::{balanced, is_given_as_text, plain_arguments};
pub(crate) use plain::{has_aggregate, window_function};

use super::constant::as_read;
use super::meeting::has_constant;
use super::{Analysis, Constant, Scope, constant};
use crate::analysis::fetched::Fetched;
use crate::dialect::postgres::finisher::check_operator;
use crate::type_limits::without_limits;
use crate::{BinaryOperator, Expression, Literal, Refusal, ScalarFunction, Source, UnaryOperator};
use sql_plan::{refuse, unsupported};

/// An expression with its type; None: that of the fetched column, which only the server knows.
pub(crate) type Typed = (Expression, Option<LogicalType>);

/// Turns expressions of one query into those of the proxy.
pub(crate) struct Lowering<'a, 's> {
    pub analysis: &'a mut Analysis<'s>,
    pub scope: &'a Scope<'a>,
    pub fetched: Vec<Fetched>,
    /// Outputs before those of `fetched`.
    pub before: usize,
    /// Whether plain expressions may be fetched too; else only sealed columns.
    pub plain: bool,
}

impl Lowering<'_, '_> {
    /// Lowers an expression. `hint` is the type that its context suggests for constants. What has
    /// values that are kept unread is left to the finisher.
    pub fn lower(
        &mut self,
        expression: &Expr,
        hint: Option<LogicalType>,
    ) -> Result<Typed, Refusal> {
        let lowered = self.lower_any(expression, hint)?;
        match lowered.1.and_then(LogicalType::opaque) {
            None => Ok(lowered),
            Some(opaque) => Err(unsupported(&format!(
                "to compute with values of type {opaque}"
            ))),
        }
    }

    fn lower_any(
        &mut self,
        expression: &Expr,
        hint: Option<LogicalType>,
    ) -> Result<Typed, Refusal> {
        if let Some(constant) = Constant::of(expression)? {
            return self.constant(constant, hint);
        }
        if let Expr::IsNull(inner) | Expr::IsNotNull(inner) = expression
            && let Some(constant) = Constant::of(inner)?
            && constant.cast.and_then(LogicalType::opaque).is_none()
        {
            return Ok(self.null_test(constant, matches!(expression, Expr::IsNull(_))));
        }
        if let Some(fetched) = self.fetch(expression) {
            return Ok(fetched);
        }
        match expression {
            Expr::Nested(inner) => self.lower(inner, hint),
            Expr::UnaryOp { op, expr } => match op {
                U::Not => self.unary(UnaryOperator::Not, expr, Some(LogicalType::Boolean)),
                U::Minus | U::Plus => self.signed(*op, expr, hint),
                _ => Err(unsupported(&format!("operator {op} on protected columns"))),
            },
            Expr::IsNull(inner) => self.test(UnaryOperator::IsNull, inner),
            Expr::IsNotNull(inner) => self.test(UnaryOperator::IsNotNull, inner),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let (low, _) = self.compared(expr, BinaryOperator::GreaterOrEqual, low)?;
                let (high, _) = self.compared(expr, BinaryOperator::LessOrEqual, high)?;
                Ok(truth(*negated, both(BinaryOperator::And, low, high)))
            }
            Expr::InList {
                expr,
                list,
                negated,
            } => self.in_list(expr, list, *negated),
            Expr::AnyOp {
                left,
                compare_op: B::Eq,
                right,
                is_some: _,
            } => self.in_array(left, right, false),
            Expr::AllOp {
                left,
                compare_op: B::NotEq,
                right,
            } => self.in_array(left, right, true),
            Expr::Like { .. } | Expr::ILike { .. } => self.like(expression),
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => {
                let logical = constant::cast_type(data_type, self.analysis.schema)?;
                let (inner, _) = self.lower(expr, None)?;
                Ok((Expression::Cast(Box::new(inner), logical), Some(logical)))
            }
            Expr::Case { .. } => self.case(expression),
            _ => self.lower_form(expression),
        }
    }

    /// Forms that mean others, and functions.
    fn lower_form(&mut self, expression: &Expr) -> Result<Typed, Refusal> {
        match expression {
            Expr::Function(function) => self.call(function),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right, true),
            Expr::IsNotDistinctFrom(left, right) => self.distinct(left, right, false),
            Expr::IsTrue(inner) => self.truth_test(inner, true, false),
            Expr::IsNotTrue(inner) => self.truth_test(inner, true, true),
            Expr::IsFalse(inner) => self.truth_test(inner, false, false),
            Expr::IsNotFalse(inner) => self.truth_test(inner, false, true),
            Expr::IsUnknown(inner) => self.test(UnaryOperator::IsNull, inner),
            Expr::IsNotUnknown(inner) => self.test(UnaryOperator::IsNotNull, inner),
            Expr::Trim {
                expr,
                trim_where: None | Some(TrimWhereField::Both),
                trim_what: None,
                trim_characters: None,
            } => self.apply(ScalarFunction::Trim, expr),
            _ => Err(refuse(format!(
                "this expression over protected columns is not supported: {}",
                shape(expression)
            ))),
        }
    }

    /// A condition.
    pub fn condition(&mut self, expression: &Expr) -> Result<Expression, Refusal> {
        let (lowered, logical) = self.lower(expression, Some(LogicalType::Boolean))?;
        match logical {
            Some(LogicalType::Boolean) | None => Ok(lowered),
            Some(other) => Err(refuse(format!("a condition must be boolean, not {other}"))
                .with_state(SqlState::DATATYPE_MISMATCH)),
        }
    }

    fn constant(
        &mut self,
        constant: Constant,
        hint: Option<LogicalType>,
    ) -> Result<Typed, Refusal> {
        let natural = match &constant.source {
            Source::Literal(Literal::Number(digits)) => Some(
                Constantly::from_number(digits)
                    .map_err(|_| unsupported("this number"))?
                    .1,
            ),
            Source::Literal(Literal::Boolean(_)) => Some(LogicalType::Boolean),
            Source::Literal(Literal::TransactionTime) => Some(LogicalType::TimestampTz(None)),
            _ => None,
        };
        if let Source::Parameter(number) = constant.source {
            self.analysis.parameters.compute(number);
        }
        self.analysis.parameters.hide(&constant.source);
        let logical = natural
            .or(constant.cast.map(as_read))
            .or(hint.map(without_limits))
            .unwrap_or(LogicalType::Text);
        let noted = constant.parameter_type(logical);
        let (source, cast) = (constant.source, constant.cast);
        if natural.is_none() {
            self.analysis.parameters.note(&source, noted);
        }
        let value = Expression::Value(source, logical);
        match cast {
            Some(cast) if cast != logical => {
                Ok((Expression::Cast(Box::new(value), cast), Some(cast)))
            }
            _ => Ok((value, Some(logical))),
        }
    }

    /// Whether a constant is NULL. The test does not show the type of the constant.
    fn null_test(&mut self, constant: Constant, asks_null: bool) -> Typed {
        if let Source::Parameter(number) = constant.source {
            self.analysis.parameters.compute(number);
            if let Some(cast) = constant.cast {
                self.analysis.parameters.note_type(&constant.source, cast);
            }
        }
        let logical = constant.cast.unwrap_or(LogicalType::Text);
        let value = match &constant.source {
            Source::Literal(Literal::Null) => Literal::Null,
            Source::Literal(_) => Literal::Boolean(true),
            _ => {
                let value = Box::new(Expression::Value(constant.source, logical));
                let tested = Expression::Unary(null_operator(asks_null), value);
                return (tested, Some(LogicalType::Boolean));
            }
        };
        let is_true = (value == Literal::Null) == asks_null;
        let value = Source::Literal(Literal::Boolean(is_true));
        let logical = LogicalType::Boolean;
        (Expression::Value(value, logical), Some(logical))
    }

    /// Fetches from the server: a sealed column, or an expression that is plain in all its parts.
    fn fetch(&mut self, expression: &Expr) -> Option<Typed> {
        if has_aggregate(expression, self.scope.dialect) || window_function(expression).is_some() {
            return None;
        }
        let mut attempt = self.analysis.clone();
        let mut changed = expression.clone();
        let (sealed, gathered) = attempt.value_or_gathered(&mut changed, self.scope).ok()?;
        let logical = match (sealed, gathered) {
            (Some(column), _) => match attempt.column(column).logical {
                own if own.is_varchar() && is_given_as_text(expression, self.scope) => {
                    Some(LogicalType::Text)
                }
                own => Some(own),
            },
            (None, Some(gathered)) => Some(attempt.gathered_type(gathered).ok()?),
            (None, None) if !self.plain => return None,
            (None, None) => self.analysis.plain_type(expression, self.scope),
        };
        // A constant in it may be meant for the protected column that its value is compared with.
        // One in a predicate has met its operand there.
        if sealed.is_none()
            && gathered.is_none()
            && logical != Some(LogicalType::Boolean)
            && has_constant(expression)
        {
            return None;
        }
        let is_free = self.analysis.is_free(expression, self.scope);
        *self.analysis = attempt;
        let mut known = self.fetched.iter();
        let index = match known.position(|own| own.is(&changed, sealed)) {
            Some(index) => index,
            None => {
                self.fetched.push(Fetched {
                    expression: changed,
                    sealed,
                    gathered,
                    logical,
                    is_free: is_free && sealed.is_none() && gathered.is_none(),
                });
                self.fetched.len() - 1
            }
        };
        Some((Expression::Column(self.before + index), logical))
    }

    fn unary(
        &mut self,
        operator: UnaryOperator,
        inner: &Expr,
        hint: Option<LogicalType>,
    ) -> Result<Typed, Refusal> {
        let (lowered, logical) = self.lower(inner, hint)?;
        let logical = known(logical.or(hint))?;
        let lowered = Expression::Unary(operator, Box::new(lowered));
        Ok((lowered, Some(without_limits(logical))))
    }

    fn test(&mut self, operator: UnaryOperator, inner: &Expr) -> Result<Typed, Refusal> {
        let (lowered, _) = self.lower(inner, None)?;
        let lowered = Expression::Unary(operator, Box::new(lowered));
        Ok((lowered, Some(LogicalType::Boolean)))
    }

    fn binary(&mut self, left: &Expr, operator: &B, right: &Expr) -> Result<Typed, Refusal> {
        let hint = match operator {
            B::And => return self.conditions(left, operator, right, BinaryOperator::And),
            B::Or => return self.conditions(left, operator, right, BinaryOperator::Or),
            B::StringConcat => LogicalType::Text,
            B::Eq | B::NotEq if matches!((left, right), (Expr::Tuple(_), Expr::Tuple(_))) => {
                let equal = self.rows_equal(left, right)?;
                return Ok(truth(*operator == B::NotEq, equal));
            }
            _ => {
                let (left, right) = self.pair(left, right)?;
                self.check_order(operator, &left)?;
                return combine(left, operator, right);
            }
        };
        let left = self.lower(left, Some(hint))?;
        let right = self.lower(right, Some(hint))?;
        self.check_order(operator, &left)?;
        combine(left, operator, right)
    }

    /// Leaves an order of texts to the finisher, if there is one that may answer in place of the
    /// proxy and sorts otherwise. Refuses an operator of users.
    pub(crate) fn check_order(&self, operator: &B, left: &Typed) -> Result<(), Refusal> {
        check_operator(self.analysis.schema, &operator.to_string())?;
        let is_order = matches!(operator, B::Lt | B::LtEq | B::Gt | B::GtEq);
        let is_text = left.1.is_some_and(LogicalType::is_text);
        match is_order && is_text && self.may_leave() && self.analysis.schema.leaves_text_order() {
            true => Err(unsupported("an order of texts in the proxy")),
            false => Ok(()),
        }
    }

    /// Whether a finisher may answer in place of the proxy.
    pub(crate) fn may_leave(&self) -> bool {
        self.analysis.gathers && self.analysis.schema.has_finisher()
    }

    fn compared(
        &mut self,
        left: &Expr,
        operator: BinaryOperator,
        right: &Expr,
    ) -> Result<Typed, Refusal> {
        let (left, right) = self.pair(left, right)?;
        self.check_order(&B::Lt, &left)?;
        compare(left, operator, right)
    }

    /// Two operands with their types: the type of one is that of a constant beside it.
    fn pair(&mut self, left: &Expr, right: &Expr) -> Result<(Typed, Typed), Refusal> {
        if Constant::of(left)?.is_some() {
            let right = self.lower(right, None)?;
            Ok((self.lower(left, right.1)?, right))
        } else {
            let left = self.lower(left, None)?;
            let hint = left.1;
            Ok((left, self.lower(right, hint)?))
        }
    }

    /// Values of which one becomes the result: of one type. Of texts it is that of the first, or of
    /// the last, as PostgreSQL 10.5 has it for `CASE … ELSE`.
    fn alike<'e>(
        &mut self,
        values: impl Iterator<Item = &'e Expr> + Clone,
        last_tells: bool,
    ) -> Result<(Vec<Expression>, Option<LogicalType>), Refusal> {
        let mut common: Option<LogicalType> = None;
        let mut text = None;
        let count = values.clone().count();
        for (index, value) in values.clone().enumerate() {
            // A text in quotes, NULL or a parameter becomes what the others are.
            let has_type = Constant::of(value)?.is_none_or(|constant| {
                let is_number = matches!(constant.source, Source::Literal(Literal::Number(_)));
                is_number || constant.cast.is_some()
            });
            if has_type {
                let (_, logical) = self.lower(value, None)?;
                let own = known(logical)?;
                let logical = without_limits(own);
                if text.is_none() || (last_tells && index + 1 == count) {
                    text = Some(own);
                }
                common = Some(match common {
                    Some(earlier) if earlier != logical => earlier
                        .common_number(logical)
                        .ok_or_else(|| unsupported("results of different types"))?,
                    _ => logical,
                });
            }
        }
        let mut lowered = Vec::new();
        for value in values {
            // Numbers become alike when the types of the parameters in them are known.
            lowered.push(self.lower(value, common)?.0);
        }
        let result = match (common, text) {
            (Some(LogicalType::Text), Some(LogicalType::Varchar(_))) => {
                Some(LogicalType::Varchar(None))
            }
            _ => common,
        };
        Ok((lowered, result))
    }
}

/// Two values by an operator, where their types allow it.
pub(crate) fn combine(left: Typed, operator: &B, right: Typed) -> Result<Typed, Refusal> {
    let (operator, arithmetic) = match operator {
        B::Eq => return compare(left, BinaryOperator::Equal, right),
        B::NotEq => return compare(left, BinaryOperator::NotEqual, right),
        B::Lt => return compare(left, BinaryOperator::Less, right),
        B::LtEq => return compare(left, BinaryOperator::LessOrEqual, right),
        B::Gt => return compare(left, BinaryOperator::Greater, right),
        B::GtEq => return compare(left, BinaryOperator::GreaterOrEqual, right),
        B::And => return join(left, BinaryOperator::And, right),
        B::Or => return join(left, BinaryOperator::Or, right),
        B::StringConcat => return concatenate(left, right),
        B::Plus => (BinaryOperator::Add, Arithmetic::Add),
        B::Minus => (BinaryOperator::Subtract, Arithmetic::Subtract),
        B::Multiply => (BinaryOperator::Multiply, Arithmetic::Multiply),
        B::Divide => (BinaryOperator::Divide, Arithmetic::Divide),
        B::PGExp => (BinaryOperator::Power, Arithmetic::Power),
        _ => {
            return Err(unsupported(&format!(
                "operator {operator} on protected columns"
            )));
        }
    };
    let logical = arithmetic
        .result_type(known(left.1)?, known(right.1)?)
        .map_err(|error| refuse(error.message).with_state(error.sqlstate))?;
    Ok((both(operator, left.0, right.0), Some(logical)))
}

fn compare(left: Typed, operator: BinaryOperator, right: Typed) -> Result<Typed, Refusal> {
    let class = |logical: LogicalType| {
        if logical.is_number() {
            LogicalType::Numeric(None)
        } else if logical.is_text() {
            LogicalType::Text
        } else {
            logical.with_all_digits()
        }
    };
    let (left_type, right_type) = (known(left.1)?, known(right.1)?);
    if class(left_type) != class(right_type) {
        if left_type.is_moment() && right_type.is_moment() {
            let what = format!("a comparison of {left_type} with {right_type}");
            return Err(unsupported(&what));
        }
        return Err(refuse(format!(
            "operator does not exist: {left_type} and {right_type}"
        ))
        .with_state(SqlState::UNDEFINED_FUNCTION));
    }
    Ok((both(operator, left.0, right.0), Some(LogicalType::Boolean)))
}

fn join(left: Typed, operator: BinaryOperator, right: Typed) -> Result<Typed, Refusal> {
    for logical in [left.1, right.1].into_iter().flatten() {
        if logical != LogicalType::Boolean {
            return Err(
                refuse(format!("a condition must be boolean, not {logical}"))
                    .with_state(SqlState::DATATYPE_MISMATCH),
            );
        }
    }
    Ok((both(operator, left.0, right.0), Some(LogicalType::Boolean)))
}

fn concatenate(left: Typed, right: Typed) -> Result<Typed, Refusal> {
    for logical in [left.1, right.1] {
        // A `char` would lose its blanks, other types would be written out: not known here.
        let is_text = logical.is_some_and(LogicalType::is_text);
        if !is_text || matches!(logical, Some(LogicalType::Char(_))) {
            return Err(unsupported(
                "|| of protected columns and other types than text",
            ));
        }
    }
    let joined = both(BinaryOperator::Concatenate, left.0, right.0);
    Ok((joined, Some(LogicalType::Text)))
}

/// The type of an operand, which must be known.
fn known(logical: Option<LogicalType>) -> Result<LogicalType, Refusal> {
    logical.ok_or_else(|| {
        refuse("the type of a value beside protected columns is not known").with_hint("Cast it.")
    })
}

fn null_operator(asks_null: bool) -> UnaryOperator {
    match asks_null {
        true => UnaryOperator::IsNull,
        false => UnaryOperator::IsNotNull,
    }
}

fn both(operator: BinaryOperator, left: Expression, right: Expression) -> Expression {
    Expression::Binary(operator, Box::new(left), Box::new(right))
}

fn truth(negated: bool, condition: Expression) -> Typed {
    let condition = match negated {
        true => Expression::Unary(UnaryOperator::Not, Box::new(condition)),
        false => condition,
    };
    (condition, Some(LogicalType::Boolean))
}

/// What an expression is, without its constants.
fn shape(expression: &Expr) -> String {
    match expression {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            parts.join(".")
        }
        Expr::Function(function) => format!("{}(…)", function.name),
        Expr::Extract { .. } => "EXTRACT(…)".to_owned(),
        Expr::Substring { .. } => "SUBSTRING(…)".to_owned(),
        Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => {
            "a subquery".to_owned()
        }
        _ => "this part".to_owned(),
    }
}
