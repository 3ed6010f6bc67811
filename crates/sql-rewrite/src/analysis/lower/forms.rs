//! Syntax that the proxy computes by other operators (`IN`, `LIKE`, `CASE`, …), and functions.

use column_value::LogicalType;
use sqlparser::ast::{
    BinaryOperator as B, CaseWhen, Expr, Function, FunctionArguments, UnaryOperator as U, Value,
};
use sqlstate::SqlState;

use super::{Lowering, Typed, as_read, both, compare, known, shape, truth};
use crate::analysis::any::{Listed, not_listed};
use crate::analysis::function::argument_expression;
use crate::analysis::{Constant, Scope};
use crate::type_limits::without_limits;
use crate::{
    BinaryOperator, Dialect, Expression, Literal, ParameterType, Refusal, ScalarFunction, Source,
    UnaryOperator,
};
use sql_plan::{refuse, unsupported};

impl Lowering<'_, '_> {
    /// `left IS DISTINCT FROM right`: a comparison for which NULL is a value.
    pub(super) fn distinct(
        &mut self,
        left: &Expr,
        right: &Expr,
        is_distinct: bool,
    ) -> Result<Typed, Refusal> {
        let (left, right) = self.pair(left, right)?;
        let (equal, logical) = compare(left.clone(), BinaryOperator::Equal, right.clone())?;
        let is_null =
            |operand: &Typed| Expression::Unary(UnaryOperator::IsNull, Box::new(operand.0.clone()));
        let neither = both(BinaryOperator::And, is_null(&left), is_null(&right));
        let otherwise = Expression::Coalesce(vec![equal, boolean(false)]);
        let is_same = both(BinaryOperator::Or, neither, otherwise);
        debug_assert_eq!(logical, Some(LogicalType::Boolean));
        Ok(truth(is_distinct, is_same))
    }

    /// `condition IS TRUE`, `IS NOT FALSE` and the like, which are never NULL.
    pub(super) fn truth_test(
        &mut self,
        inner: &Expr,
        wanted: bool,
        negated: bool,
    ) -> Result<Typed, Refusal> {
        let condition = self.condition(inner)?;
        let (condition, _) = truth(!wanted, condition);
        let is_so = Expression::Coalesce(vec![condition, boolean(false)]);
        Ok(truth(negated, is_so))
    }

    /// `a AND b AND c …`, however long it is.
    pub(super) fn conditions(
        &mut self,
        left: &Expr,
        operator: &B,
        right: &Expr,
        meant: BinaryOperator,
    ) -> Result<Typed, Refusal> {
        let mut parts = vec![right];
        let mut left = left;
        while let Expr::BinaryOp {
            left: inner,
            op,
            right,
        } = left
            && op == operator
        {
            parts.push(right);
            left = inner;
        }
        parts.push(left);
        let parts = parts.into_iter().rev().map(|part| self.condition(part));
        let all = balanced(meant, parts.collect::<Result<_, _>>()?);
        let all = all.ok_or_else(|| unsupported("a condition without parts"))?;
        Ok((all, Some(LogicalType::Boolean)))
    }

    pub(super) fn in_list(
        &mut self,
        operand: &Expr,
        list: &[Expr],
        negated: bool,
    ) -> Result<Typed, Refusal> {
        if matches!(operand, Expr::Tuple(_)) {
            return self.row_in_list(operand, list, negated);
        }
        let operand = self.lower(operand, None)?;
        let logical = known(operand.1)?;
        let mut values = Vec::new();
        for value in list {
            let value = self.lower(value, Some(logical))?;
            compare(operand.clone(), BinaryOperator::Equal, value.clone())?;
            values.push(value.0);
        }
        Ok(truth(negated, Expression::In(Box::new(operand.0), values)))
    }

    /// `operand = ANY (array)`
    pub(super) fn in_array(
        &mut self,
        operand: &Expr,
        array: &Expr,
        negated: bool,
    ) -> Result<Typed, Refusal> {
        let (source, cast) = match Listed::of(array)? {
            Some(Listed::Elements(list)) => return self.in_list(operand, &list, negated),
            Some(Listed::Parameter(number, cast)) => (Source::Parameter(number), cast),
            None => return Err(not_listed(&shape(operand))),
        };
        let operand = self.lower(operand, None)?;
        let logical = without_limits(known(operand.1)?);
        let element = cast.unwrap_or(logical);
        if cast.is_some_and(|cast| as_read(cast) != cast) {
            return Err(unsupported(&format!("a cast to an array of {element}"))
                .with_hint("Leave the limits of the type out."));
        }
        let sample = Expression::Value(Source::Literal(Literal::Null), element);
        compare(
            operand.clone(),
            BinaryOperator::Equal,
            (sample, Some(element)),
        )?;
        if let Source::Parameter(number) = source {
            self.analysis.parameters.compute(number);
        }
        self.analysis
            .parameters
            .note(&source, ParameterType::Array(element));
        let found = Expression::InArray(Box::new(operand.0), source, element);
        Ok(truth(negated, found))
    }

    /// `(a, b) = (c, d)`
    pub(super) fn rows_equal(&mut self, left: &Expr, right: &Expr) -> Result<Expression, Refusal> {
        let (Expr::Tuple(lefts), Expr::Tuple(rights)) = (left, right) else {
            return Err(unsupported("a row that is compared with another value"));
        };
        if lefts.len() != rights.len() {
            return Err(refuse("unequal number of entries in row expressions")
                .with_state(SqlState::SYNTAX_ERROR));
        }
        let mut equal = Vec::new();
        for (left, right) in lefts.iter().zip(rights) {
            equal.push(self.compared(left, BinaryOperator::Equal, right)?.0);
        }
        balanced(BinaryOperator::And, equal).ok_or_else(|| unsupported("a row without columns"))
    }

    /// `(a, b) IN ((1, 2), (3, 4))`
    pub(super) fn row_in_list(
        &mut self,
        operand: &Expr,
        list: &[Expr],
        negated: bool,
    ) -> Result<Typed, Refusal> {
        let equal = list.iter().map(|row| self.rows_equal(operand, row));
        let any = balanced(BinaryOperator::Or, equal.collect::<Result<_, _>>()?);
        Ok(truth(negated, any.unwrap_or_else(|| boolean(false))))
    }

    /// `-a`, `+a`. The parser takes a sign before `^` for one of the power, the server for one of
    /// the base (PostgreSQL 4.1.6).
    pub(super) fn signed(
        &mut self,
        sign: U,
        operand: &Expr,
        hint: Option<LogicalType>,
    ) -> Result<Typed, Refusal> {
        if matches!(operand, Expr::BinaryOp { op: B::PGExp, .. }) {
            return Err(unsupported("a sign before ^ on protected columns")
                .with_hint("Put parentheses around what it is the sign of."));
        }
        match sign {
            U::Minus => self.unary(UnaryOperator::Negate, operand, None),
            _ => self.lower(operand, hint),
        }
    }

    pub(super) fn like(&mut self, expression: &Expr) -> Result<Typed, Refusal> {
        let (Expr::Like {
            negated,
            any: false,
            expr,
            pattern,
            escape_char,
        }
        | Expr::ILike {
            negated,
            any: false,
            expr,
            pattern,
            escape_char,
        }) = expression
        else {
            return Err(unsupported("LIKE ANY"));
        };
        let escape = match escape_char.as_deref() {
            None => None,
            Some(Expr::Value(value)) => match &value.value {
                Value::SingleQuotedString(text) if text.chars().count() == 1 => text.chars().next(),
                _ => return Err(unsupported("an ESCAPE that is not one character")),
            },
            Some(_) => return Err(unsupported("a computed ESCAPE")),
        };
        let folds = matches!(expression, Expr::ILike { .. });
        if folds && self.may_leave() {
            return Err(unsupported(
                "ILIKE in the proxy, where a finisher folds letters",
            ));
        }
        let (operand, logical) = self.lower(expr, None)?;
        if !known(logical)?.is_text() {
            return Err(unsupported("LIKE on another type than text"));
        }
        let (pattern, _) = self.lower(pattern, Some(LogicalType::Text))?;
        let like = Expression::Like {
            operand: Box::new(operand),
            pattern: Box::new(pattern),
            escape,
            case_sensitive: matches!(expression, Expr::Like { .. }),
        };
        Ok(truth(*negated, like))
    }

    pub(super) fn case(&mut self, expression: &Expr) -> Result<Typed, Refusal> {
        let Expr::Case {
            operand,
            conditions,
            else_result,
            ..
        } = expression
        else {
            return Err(unsupported("this expression"));
        };
        let results = conditions
            .iter()
            .map(|when| &when.result)
            .chain(else_result.as_deref());
        let (values, logical) = self.alike(results, else_result.is_some())?;
        let mut values = values.into_iter();
        let mut whens = Vec::new();
        for CaseWhen { condition, .. } in conditions {
            let condition = match operand {
                Some(operand) => self.compared(operand, BinaryOperator::Equal, condition)?.0,
                None => self.condition(condition)?,
            };
            let value = values.next().expect("a value per condition");
            whens.push((condition, value));
        }
        Ok((
            Expression::Case(whens, values.next().map(Box::new)),
            logical,
        ))
    }

    /// A function that the proxy knows.
    pub(super) fn call(&mut self, function: &Function) -> Result<Typed, Refusal> {
        let arguments = plain_arguments(function, self.scope.dialect)?;
        let name = self
            .scope
            .dialect
            .split(&function.name)
            .map(|(_, name)| name)
            .unwrap_or_default();
        match (name.as_str(), arguments.as_slice()) {
            ("coalesce", [_, ..]) => {
                let (values, logical) = self.alike(arguments.iter(), false)?;
                Ok((Expression::Coalesce(values), logical))
            }
            ("power" | "pow", [base, exponent]) => self.binary(base, &B::PGExp, exponent),
            ("concat", [_, ..]) => self.concatenation(&arguments),
            ("nullif", [one, other]) => self.null_if(one, other),
            ("lower", [text]) => self.apply(ScalarFunction::Lower, text),
            ("upper", [text]) => self.apply(ScalarFunction::Upper, text),
            ("length" | "char_length" | "character_length", [text]) => {
                self.apply(ScalarFunction::Length, text)
            }
            ("trim" | "btrim", [text]) => self.apply(ScalarFunction::Trim, text),
            ("abs", [number]) => self.apply(ScalarFunction::Absolute, number),
            _ => Err(unknown_function(function)),
        }
    }

    /// A function of one value.
    pub(super) fn apply(
        &mut self,
        function: ScalarFunction,
        argument: &Expr,
    ) -> Result<Typed, Refusal> {
        let folds = matches!(function, ScalarFunction::Lower | ScalarFunction::Upper);
        if folds && self.may_leave() {
            return Err(unsupported(
                "letters in the proxy, where a finisher folds them",
            ));
        }
        let hint = match function {
            ScalarFunction::Absolute => None,
            _ => Some(LogicalType::Text),
        };
        let (value, logical) = self.lower(argument, hint)?;
        let logical = without_limits(known(logical)?);
        let (result, fits) = match function {
            ScalarFunction::Absolute => (logical, logical.is_number()),
            ScalarFunction::Length => (LogicalType::Integer, logical.is_text()),
            _ => (LogicalType::Text, logical.is_text()),
        };
        // Of a `char`, blanks would have to be left out first.
        if !fits || matches!(logical, LogicalType::Char(_)) {
            return Err(unsupported(&format!(
                "function {function:?} of {logical} in the proxy"
            )));
        }
        Ok((Expression::Call(function, Box::new(value)), Some(result)))
    }

    /// `NULLIF(one, other)`
    fn null_if(&mut self, one: &Expr, other: &Expr) -> Result<Typed, Refusal> {
        let (one, other) = self.pair(one, other)?;
        let logical = one.1;
        let value = one.0.clone();
        let (equal, _) = compare(one, BinaryOperator::Equal, other)?;
        let null = Expression::Value(Source::Literal(Literal::Null), known(logical)?);
        let case = Expression::Case(vec![(equal, null)], Some(Box::new(value)));
        // Texts are compared as `text`, and given so.
        Ok((case, logical.map(without_limits)))
    }

    /// An argument of a function that takes any type, so that a parameter has none of it.
    fn any_type(&mut self, argument: &Expr) -> Result<Typed, Refusal> {
        let text = LogicalType::Text;
        match Constant::of(argument)? {
            Some(constant) if constant.cast.is_none() && constant.parameter().is_some() => {
                if let Source::Parameter(number) = constant.source {
                    self.analysis.parameters.compute(number);
                }
                Ok((Expression::Value(constant.source, text), Some(text)))
            }
            _ => self.lower(argument, Some(text)),
        }
    }

    /// `concat(…)` of texts: NULL is left out.
    fn concatenation(&mut self, arguments: &[Expr]) -> Result<Typed, Refusal> {
        let mut joined: Option<Expression> = None;
        for argument in arguments {
            let (value, logical) = self.any_type(argument)?;
            if !matches!(logical, Some(LogicalType::Text | LogicalType::Varchar(_))) {
                return Err(unsupported("concat of other types than text in the proxy"));
            }
            let empty = Source::Literal(Literal::Text(String::new()));
            let empty = Expression::Value(empty, LogicalType::Text);
            let value = Expression::Coalesce(vec![value, empty]);
            joined = Some(match joined {
                None => value,
                Some(earlier) => both(BinaryOperator::Concatenate, earlier, value),
            });
        }
        let joined = joined.ok_or_else(|| unsupported("concat of nothing"))?;
        Ok((joined, Some(LogicalType::Text)))
    }
}

/// Many conditions as one, that is nested no deeper than it has to be.
pub(crate) fn balanced(
    operator: BinaryOperator,
    mut conditions: Vec<Expression>,
) -> Option<Expression> {
    while conditions.len() > 1 {
        let mut pairs = Vec::with_capacity(conditions.len().div_ceil(2));
        let mut rest = conditions.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => both(operator, left, right),
                None => left,
            });
        }
        conditions = pairs;
    }
    conditions.pop()
}

fn boolean(truth: bool) -> Expression {
    let literal = Source::Literal(Literal::Boolean(truth));
    Expression::Value(literal, LogicalType::Boolean)
}

/// The arguments of a function without clauses.
pub(crate) fn plain_arguments(function: &Function, dialect: Dialect) -> Result<Vec<Expr>, Refusal> {
    let FunctionArguments::List(list) = &function.args else {
        return Err(unknown_function(function));
    };
    let is_plain = function.over.is_none()
        && function.filter.is_none()
        && function.within_group.is_empty()
        && list.clauses.is_empty()
        && list.duplicate_treatment.is_none();
    if !is_plain || dialect.builtin(&function.name).is_none() {
        return Err(unknown_function(function));
    }
    let mut arguments = list.args.clone();
    let arguments = arguments.iter_mut();
    arguments
        .map(|argument| argument_expression(argument).cloned())
        .collect()
}

/// Whether the server gives what is a `varchar` in this expression as `text`: `NULLIF` compares
/// texts as such, and has the type of what it compares.
pub(crate) fn is_given_as_text(expression: &Expr, scope: &Scope) -> bool {
    let is_named = |parts: &[_]| {
        let found = scope.resolve(parts);
        found.is_ok_and(|found| found.shown_as == Some(LogicalType::Text))
    };
    match expression {
        Expr::Identifier(name) => is_named(std::slice::from_ref(name)),
        Expr::CompoundIdentifier(parts) => is_named(parts),
        Expr::Nested(inner) => is_given_as_text(inner, scope),
        Expr::Function(function) => match scope.dialect.builtin(&function.name).as_deref() {
            Some("nullif") => true,
            Some("coalesce") => plain_arguments(function, scope.dialect).is_ok_and(|values| {
                values
                    .first()
                    .is_some_and(|one| is_given_as_text(one, scope))
            }),
            _ => false,
        },
        // The type of texts is that of ELSE, or of the first result.
        Expr::Case {
            conditions,
            else_result,
            ..
        } => {
            let first = conditions.first().map(|when| &when.result);
            let told = else_result.as_deref().or(first);
            told.is_some_and(|told| is_given_as_text(told, scope))
        }
        _ => false,
    }
}

fn unknown_function(function: &Function) -> Refusal {
    refuse(format!(
        "function {} over protected columns is not supported",
        function.name
    ))
}
