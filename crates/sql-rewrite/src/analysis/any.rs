//! `= ANY (…)` and `<> ALL (…)`: the server looks for a sealed value in a list.

use column_value::LogicalType;
use semantics_postgres::array_elements;
use sqlparser::ast::{Array, ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Value};

use super::{Analysis, Constant, Scope, constant, template};
use crate::{ColumnId, Form, Literal, Mode, ParameterType, Purpose, Refusal, Source};
use sql_plan::refuse;

impl Analysis<'_> {
    /// A protected operand that is looked for in an array or a query. False: the operand is plain,
    /// and nothing was changed.
    pub(super) fn any(&mut self, expression: &mut Expr, scope: &Scope) -> Result<bool, Refusal> {
        let (left, operator, right, is_any) = match expression {
            Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some: _,
            } => (left, compare_op, right, true),
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => (left, compare_op, right, false),
            _ => return Ok(false),
        };
        let mut attempt = self.clone();
        let Some(column) = attempt.value(&mut left.clone(), scope)? else {
            return Ok(false);
        };
        let negated = match (operator, is_any) {
            (BinaryOperator::Eq, true) => false,
            (BinaryOperator::NotEq, false) => true,
            (operator, _) => {
                let word = if is_any { "ANY" } else { "ALL" };
                return Err(refuse(format!(
                    "{operator} {word} on protected column {}",
                    self.title(column)
                ))
                .with_hint("Use = ANY or <> ALL."));
            }
        };
        if let Expr::Subquery(subquery) = &mut **right {
            *expression = Expr::InSubquery {
                expr: left.clone(),
                subquery: subquery.clone(),
                negated,
            };
        } else {
            match Listed::of(right)? {
                Some(Listed::Elements(list)) if !list.is_empty() => {
                    *expression = Expr::InList {
                        expr: left.clone(),
                        list,
                        negated,
                    };
                }
                Some(Listed::Elements(_)) => {
                    let none = Source::Literal(Literal::Text("{}".to_owned()));
                    **right = self.array(none, None, column)?;
                    return self.value(left, scope).map(|_| true);
                }
                Some(Listed::Parameter(number, cast)) => {
                    **right = self.array(Source::Parameter(number), cast, column)?;
                    return self.value(left, scope).map(|_| true);
                }
                None => return Err(not_listed(&self.title(column))),
            }
        }
        self.value(expression, scope)?;
        Ok(true)
    }

    /// An array that is searched for values of a column: each element is sealed for it.
    fn array(
        &mut self,
        source: Source,
        cast: Option<LogicalType>,
        column: ColumnId,
    ) -> Result<Expr, Refusal> {
        self.demand(column, Mode::Equality, "= ANY")?;
        let element = Constant {
            source,
            cast,
            number: None,
        };
        let cast = element.value_cast();
        let source = element.for_column(self.column(column), Purpose::Match)?;
        let noted = match cast {
            Some(cast) => ParameterType::CastArray(cast),
            None => ParameterType::Array(self.column(column).logical),
        };
        self.parameters.note(&source, noted);
        Ok(self.hole(source, Form::SealedArray(column, Purpose::Match)))
    }
}

pub(super) fn not_listed(column: &str) -> Refusal {
    refuse(format!(
        "an array that is looked through for protected column {column} has to be a parameter, or \
         written out"
    ))
    .with_hint("Use = ANY ($1), ARRAY[$1, $2], or IN with a parameter for each value.")
}

/// The elements of an array, as far as the text shows them.
pub(super) enum Listed {
    Elements(Vec<Expr>),
    /// A parameter, and the type that its elements are cast to.
    Parameter(usize, Option<LogicalType>),
}

impl Listed {
    pub(super) fn of(array: &Expr) -> Result<Option<Self>, Refusal> {
        Ok(match array {
            Expr::Nested(inner) => Self::of(inner)?,
            Expr::Array(Array { elem, named: true }) => Some(Self::Elements(elem.clone())),
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type:
                    DataType::Array(
                        ArrayElemTypeDef::SquareBracket(element, None)
                        | ArrayElemTypeDef::AngleBracket(element),
                    ),
                format: None,
            } => match (Self::of(expr)?, constant::logical_type(element)) {
                (Some(Self::Elements(elements)), _) => {
                    let cast = |one: Expr| Expr::Cast {
                        kind: CastKind::Cast,
                        expr: Box::new(one),
                        data_type: (**element).clone(),
                        format: None,
                    };
                    Some(Self::Elements(elements.into_iter().map(cast).collect()))
                }
                (Some(Self::Parameter(number, None)), Some(cast)) => {
                    Some(Self::Parameter(number, Some(cast)))
                }
                _ => None,
            },
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => {
                    let constant =
                        |text: String| Expr::Value(Value::SingleQuotedString(text).into());
                    let null = || Expr::Value(Value::Null.into());
                    array_elements(text).map(|elements| {
                        let elements = elements.into_iter();
                        Self::Elements(
                            elements
                                .map(|one| one.map_or_else(null, constant))
                                .collect(),
                        )
                    })
                }
                // Nothing is found in it, and nothing is known not to be.
                Value::Null => Some(Self::Elements(vec![array.clone()])),
                Value::Placeholder(name) if !name.starts_with(template::MARK) => {
                    Some(Self::Parameter(constant::parameter_number(name)?, None))
                }
                _ => None,
            },
            _ => None,
        })
    }
}
