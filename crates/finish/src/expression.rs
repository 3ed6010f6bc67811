//! Expressions of a plan with constants substituted and types resolved, ready for repeated
//! evaluation.

use std::collections::HashSet;

use column_value::{LogicalType, Value, ValueError};
use semantics_postgres::{Arithmetic, Like, TextContext, cast};
use sql_plan::{BinaryOperator, Expression, Literal, ScalarFunction, Source, UnaryOperator};
use sqlstate::SqlState;

/// What an expression can refer to, and the values of its constants.
pub struct Names<'a> {
    /// Types of a row's columns; `None` for a type that the proxy does not know, and only passes
    /// on.
    pub columns: &'a [Option<LogicalType>],
    /// Types of the group keys.
    pub groups: &'a [Option<LogicalType>],
    /// Types of the aggregates.
    pub aggregates: &'a [LogicalType],
    /// The values of constants.
    pub constants: &'a dyn Constants,
}

/// The elements of an array; `None` is NULL.
pub type Elements = Vec<Option<Value>>;

/// Supplies the values of constants and parameters. The type in the plan applies to those without a
/// type.
pub trait Constants {
    /// The value of a constant, and its actual type.
    ///
    /// # Errors
    ///
    /// If it is not a value of its type.
    fn one(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Value>, LogicalType), ValueError>;

    /// The elements of an array, and their actual type. `None` if it is NULL, or not known yet.
    ///
    /// # Errors
    ///
    /// If it is not an array of such values.
    fn array(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Elements>, LogicalType), ValueError>;
}

/// An expression that is ready for evaluation.
#[derive(Clone, Debug)]
pub struct Ready {
    pub(crate) node: Node,
    /// Its type; `None` for a column whose type the proxy does not know.
    pub logical: Option<LogicalType>,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Column(usize),
    Group(usize),
    Aggregate(usize),
    Constant(Option<Value>),
    Negate(Box<Node>, LogicalType),
    Not(Box<Node>),
    /// An operand, and whether the test is negated.
    IsNull(Box<Node>, bool),
    Calculate(Arithmetic, Box<Node>, Box<Node>, LogicalType),
    Concatenate(Box<Node>, Box<Node>),
    Compare(Relation, Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    /// A constant pattern.
    Like(Box<Node>, Like),
    /// A computed pattern, its escape character, and whether it is case-sensitive.
    LikeComputed(Box<Node>, Box<Node>, char, bool),
    /// The comparisons for the elements of the list.
    In(Vec<Node>),
    /// An operand and its type; the values to look for, as bytes that are equal if the values are;
    /// and whether NULL is among them.
    InSet(Box<Node>, LogicalType, HashSet<Box<[u8]>>, bool),
    Coalesce(Vec<Node>),
    Case(Vec<(Node, Node)>, Option<Box<Node>>),
    Cast(Box<Node>, LogicalType, LogicalType),
    /// A function applied to a value of the type.
    Call(ScalarFunction, Box<Node>, LogicalType),
}

/// A comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relation {
    pub operator: BinaryOperator,
    /// Both sides are compared as `char`, ignoring trailing blanks.
    pub is_char: bool,
}

impl Ready {
    /// Substitutes constants, and resolves types.
    ///
    /// # Errors
    ///
    /// If a constant is not a value of its type, or an operator does not exist for the types.
    pub fn new(expression: &Expression, names: &Names<'_>) -> Result<Self, ValueError> {
        let make = |expression: &Expression| Self::new(expression, names);
        Ok(match expression {
            Expression::Column(index) => Self {
                node: Node::Column(*index),
                logical: names.columns.get(*index).copied().flatten(),
            },
            Expression::Group(index) => Self {
                node: Node::Group(*index),
                logical: names.groups.get(*index).copied().flatten(),
            },
            Expression::Aggregate(index) => Self {
                node: Node::Aggregate(*index),
                logical: names.aggregates.get(*index).copied(),
            },
            Expression::Value(source, logical) => {
                let (value, logical) = names.constants.one(source, *logical)?;
                of(Node::Constant(value), logical)
            }
            Expression::Unary(operator, inner) => unary(*operator, make(inner)?)?,
            Expression::Binary(operator, left, right) => {
                binary(*operator, make(left)?, make(right)?)?
            }
            Expression::Like {
                operand,
                pattern,
                escape,
                case_sensitive,
            } => {
                let escape = escape.unwrap_or('\\');
                like(make(operand)?, make(pattern)?, escape, *case_sensitive)?
            }
            Expression::In(operand, values) => {
                let values = values.iter().map(make).collect::<Result<Vec<_>, _>>()?;
                found_in(make(operand)?, values)?
            }
            Expression::InArray(operand, source, logical) => {
                found_in_array(make(operand)?, (source, *logical), names)?
            }
            Expression::Coalesce(values) => {
                let (nodes, logical) = alike(values, names, "COALESCE")?;
                of(Node::Coalesce(nodes), logical)
            }
            Expression::Case(whens, otherwise) => case(whens, otherwise.as_deref(), names)?,
            Expression::Cast(inner, to) => make(inner)?.cast(*to)?,
            Expression::Call(function, inner) => {
                let inner = make(inner)?;
                let logical = without_limits(known(inner.logical)?);
                let result = match function {
                    ScalarFunction::Absolute => logical,
                    ScalarFunction::Length => LogicalType::Integer,
                    ScalarFunction::Lower | ScalarFunction::Upper | ScalarFunction::Trim => {
                        LogicalType::Text
                    }
                };
                of(Node::Call(*function, Box::new(inner.node), logical), result)
            }
        })
    }

    /// The index of the column, if the expression is just a column.
    pub fn column(&self) -> Option<usize> {
        match self.node {
            Node::Column(index) => Some(index),
            _ => None,
        }
    }

    /// The index of the group key, if the expression is just a group key.
    pub(crate) fn group(&self) -> Option<usize> {
        match self.node {
            Node::Group(index) => Some(index),
            _ => None,
        }
    }

    /// Casts to another type.
    pub fn cast(self, to: LogicalType) -> Result<Self, ValueError> {
        let from = known(self.logical)?;
        Ok(of(Node::Cast(Box::new(self.node), from, to), to))
    }

    /// Converts a number as the server does to compare it with floats. A constant that is out of
    /// range is refused even if there are no rows.
    fn into_double(self) -> Result<Self, ValueError> {
        let to = LogicalType::Double;
        let from = known(self.logical)?;
        match self.node {
            Node::Constant(Some(value)) => {
                // Conversion of numbers depends on no setting.
                let value = cast(value, from, to, &TextContext::default())?;
                Ok(of(Node::Constant(Some(value)), to))
            }
            node => of(node, from).cast(to),
        }
    }

    /// Calls `see` for each column whose value is needed: all except those that are only tested for
    /// NULL.
    pub(crate) fn columns(&self, see: &mut dyn FnMut(usize)) {
        self.node.columns(see);
    }
}

impl Node {
    fn columns(&self, see: &mut dyn FnMut(usize)) {
        match self {
            Self::Column(index) => see(*index),
            Self::Group(_) | Self::Aggregate(_) | Self::Constant(_) => {}
            Self::IsNull(inner, _) if matches!(**inner, Self::Column(_)) => {}
            Self::Negate(inner, _)
            | Self::Not(inner)
            | Self::IsNull(inner, _)
            | Self::Like(inner, _)
            | Self::InSet(inner, ..)
            | Self::Call(_, inner, _)
            | Self::Cast(inner, ..) => inner.columns(see),
            Self::Calculate(_, left, right, _)
            | Self::Concatenate(left, right)
            | Self::Compare(_, left, right)
            | Self::And(left, right)
            | Self::Or(left, right)
            | Self::LikeComputed(left, right, ..) => {
                left.columns(see);
                right.columns(see);
            }
            Self::In(nodes) | Self::Coalesce(nodes) => {
                for node in nodes {
                    node.columns(see);
                }
            }
            Self::Case(whens, otherwise) => {
                for (when, then) in whens {
                    when.columns(see);
                    then.columns(see);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.columns(see);
                }
            }
        }
    }
}

fn of(node: Node, logical: LogicalType) -> Ready {
    Ready {
        node,
        logical: Some(logical),
    }
}

/// The error for a value that contradicts the plan.
pub(crate) fn other_type() -> ValueError {
    error(
        SqlState::INTERNAL_ERROR,
        "a value is of another type than planned",
    )
}

pub(crate) fn error(sqlstate: SqlState, message: impl Into<String>) -> ValueError {
    ValueError {
        sqlstate,
        message: message.into(),
    }
}

/// The type, which must be known to compute with it.
pub(crate) fn known(logical: Option<LogicalType>) -> Result<LogicalType, ValueError> {
    let message = "the proxy cannot compute with a column of this type beside protected ones";
    logical.ok_or_else(|| error(SqlState::FEATURE_NOT_SUPPORTED, message))
}

fn unary(operator: UnaryOperator, inner: Ready) -> Result<Ready, ValueError> {
    let node = Box::new(inner.node);
    Ok(match operator {
        UnaryOperator::Negate => {
            let logical = without_limits(known(inner.logical)?);
            of(Node::Negate(node, logical), logical)
        }
        UnaryOperator::Not => of(Node::Not(node), LogicalType::Boolean),
        UnaryOperator::IsNull => of(Node::IsNull(node, false), LogicalType::Boolean),
        UnaryOperator::IsNotNull => of(Node::IsNull(node, true), LogicalType::Boolean),
    })
}

fn binary(operator: BinaryOperator, left: Ready, right: Ready) -> Result<Ready, ValueError> {
    let arithmetic = match operator {
        BinaryOperator::Add => Arithmetic::Add,
        BinaryOperator::Subtract => Arithmetic::Subtract,
        BinaryOperator::Multiply => Arithmetic::Multiply,
        BinaryOperator::Divide => Arithmetic::Divide,
        BinaryOperator::Power => Arithmetic::Power,
        BinaryOperator::Concatenate => {
            let node = Node::Concatenate(Box::new(left.node), Box::new(right.node));
            return Ok(of(node, LogicalType::Text));
        }
        BinaryOperator::And => {
            let node = Node::And(Box::new(left.node), Box::new(right.node));
            return Ok(of(node, LogicalType::Boolean));
        }
        BinaryOperator::Or => {
            let node = Node::Or(Box::new(left.node), Box::new(right.node));
            return Ok(of(node, LogicalType::Boolean));
        }
        BinaryOperator::Equal
        | BinaryOperator::NotEqual
        | BinaryOperator::Less
        | BinaryOperator::LessOrEqual
        | BinaryOperator::Greater
        | BinaryOperator::GreaterOrEqual => return compare(operator, left, right),
    };
    let result = arithmetic.result_type(known(left.logical)?, known(right.logical)?)?;
    let (left, right) = (Box::new(left.node), Box::new(right.node));
    Ok(of(Node::Calculate(arithmetic, left, right, result), result))
}

/// A comparison of operands, converted to a common type as in the server.
fn compare(operator: BinaryOperator, left: Ready, right: Ready) -> Result<Ready, ValueError> {
    use LogicalType as T;
    let (left_type, right_type) = (known(left.logical)?, known(right.logical)?);
    let (left, right) = match (left_type, right_type) {
        // Compared with a `text`, `char` is converted to it, and loses trailing blanks; a `varchar`
        // is converted to `char`.
        (T::Char(_), T::Text) => (left.cast(T::Text)?, right),
        (T::Text, T::Char(_)) => (left, right.cast(T::Text)?),
        (T::Date | T::Timestamp(_), T::TimestampTz(_)) => (left.cast(T::TimestampTz(None))?, right),
        (T::TimestampTz(_), T::Date | T::Timestamp(_)) => (left, right.cast(T::TimestampTz(None))?),
        (T::Numeric(_), T::Real | T::Double) => (left.into_double()?, right),
        (T::Real | T::Double, T::Numeric(_)) => (left, right.into_double()?),
        _ => (left, right),
    };
    let relation = Relation {
        operator,
        is_char: matches!(
            (left_type, right_type),
            (T::Char(_), T::Char(_) | T::Varchar(_)) | (T::Varchar(_), T::Char(_))
        ),
    };
    let node = Node::Compare(relation, Box::new(left.node), Box::new(right.node));
    Ok(of(node, T::Boolean))
}

/// With fewer values, they are compared one by one.
const SET_MIN: usize = 8;

/// `operand IN (values)`
fn found_in(operand: Ready, values: Vec<Ready>) -> Result<Ready, ValueError> {
    if let Some(set) = set_of(&operand, &values)? {
        return Ok(of(set, LogicalType::Boolean));
    }
    let compared = values
        .into_iter()
        .map(|value| Ok(compare(BinaryOperator::Equal, operand.clone(), value)?.node));
    let compared = compared.collect::<Result<_, ValueError>>()?;
    Ok(of(Node::In(compared), LogicalType::Boolean))
}

/// `operand = ANY (array)`
fn found_in_array(
    operand: Ready,
    (source, logical): (&Source, LogicalType),
    names: &Names<'_>,
) -> Result<Ready, ValueError> {
    let (elements, logical) = names.constants.array(source, logical)?;
    // Checks whether the types can be compared at all.
    let null = of(Node::Constant(None), logical);
    compare(BinaryOperator::Equal, operand.clone(), null)?;
    let Some(elements) = elements else {
        return Ok(of(Node::Constant(None), LogicalType::Boolean));
    };
    let elements = elements.into_iter();
    let values = elements.map(|value| of(Node::Constant(value), logical));
    found_in(operand, values.collect())
}

/// A hash set for many constants, if equal values of the type have equal bytes: a long list then
/// costs no more per row than a short one.
fn set_of(operand: &Ready, values: &[Ready]) -> Result<Option<Node>, ValueError> {
    let Some(logical) = operand.logical.and_then(set_type) else {
        return Ok(None);
    };
    if values.len() < SET_MIN {
        return Ok(None);
    }
    let mut set = HashSet::with_capacity(values.len());
    let mut has_null = false;
    for value in values {
        let Node::Constant(constant) = &value.node else {
            return Ok(None);
        };
        let Some(constant) = constant else {
            has_null = true;
            continue;
        };
        let fits = value.logical.and_then(set_type) == Some(logical);
        let mut bytes = Vec::new();
        if !fits || !column_codec::append_equal(constant, logical, &mut bytes) {
            return Ok(None);
        }
        set.insert(bytes.into_boxed_slice());
    }
    let operand = Box::new(operand.node.clone());
    Ok(Some(Node::InSet(operand, logical, set, has_null)))
}

/// The type whose byte encoding identifies equal values; `None` if there is none.
fn set_type(logical: LogicalType) -> Option<LogicalType> {
    use LogicalType as T;
    match logical {
        T::SmallInt | T::Integer | T::BigInt => Some(T::BigInt),
        T::Numeric(_) => Some(T::Numeric(None)),
        T::Text | T::Varchar(_) => Some(T::Text),
        T::Bytes | T::Date | T::Time(_) | T::Timestamp(_) | T::TimestampTz(_) | T::Uuid => {
            Some(logical.with_all_digits())
        }
        T::Boolean
        | T::Whole(_)
        | T::SignedTime(_)
        | T::Enum(_)
        | T::Set(_)
        | T::Bits(_)
        | T::Real
        | T::Double
        | T::Char(_)
        | T::Json
        | T::Opaque(_) => None,
    }
}

fn like(
    operand: Ready,
    pattern: Ready,
    escape: char,
    case_sensitive: bool,
) -> Result<Ready, ValueError> {
    known(operand.logical)?;
    let operand = Box::new(operand.node);
    let node = match pattern.node {
        Node::Constant(None) => Node::Constant(None),
        Node::Constant(Some(Value::Text(pattern))) => {
            Node::Like(operand, Like::new(&pattern, Some(escape), case_sensitive))
        }
        pattern => Node::LikeComputed(operand, Box::new(pattern), escape, case_sensitive),
    };
    Ok(of(node, LogicalType::Boolean))
}

fn case(
    whens: &[(Expression, Expression)],
    otherwise: Option<&Expression>,
    names: &Names<'_>,
) -> Result<Ready, ValueError> {
    let conditions = whens
        .iter()
        .map(|(when, _)| Ok(Ready::new(when, names)?.node));
    let conditions = conditions.collect::<Result<Vec<_>, ValueError>>()?;
    let results = whens.iter().map(|(_, then)| then).chain(otherwise);
    let (results, logical) = alike(results, names, "CASE")?;
    let mut results = results.into_iter();
    // The conditions end first; the remaining result is that of ELSE.
    let whens = conditions.into_iter().zip(results.by_ref()).collect();
    let node = Node::Case(whens, results.next().map(Box::new));
    Ok(of(node, logical))
}

/// Values of which one becomes the result, converted to a common type. The plan has already made
/// the types agree, except for limits, for untyped NULLs, and for parameters, whose types the
/// client declares: numbers, and dates and times, get the widest of their types. `construct` is
/// what the server calls the expression.
fn alike<'e>(
    values: impl IntoIterator<Item = &'e Expression>,
    names: &Names<'_>,
    construct: &str,
) -> Result<(Vec<Node>, LogicalType), ValueError> {
    let mut alike = Vec::new();
    let mut common = None;
    for value in values {
        // A parameter has its type even if it is NULL, or not known yet.
        let is_null = matches!(value, Expression::Value(Source::Literal(Literal::Null), _));
        let value = Ready::new(value, names)?;
        let logical = known(value.logical)?;
        common = match common {
            Some((earlier, false)) if is_null || earlier == logical => Some((earlier, false)),
            Some((earlier, false)) => Some((wider(earlier, logical, construct)?, false)),
            Some((_, true)) | None => Some((logical, is_null)),
        };
        alike.push((value, logical));
    }
    let (common, _) =
        common.ok_or_else(|| error(SqlState::SYNTAX_ERROR, "an expression without values"))?;
    let nodes = alike.into_iter().map(|(value, logical)| {
        let is_other = without_limits(logical) != without_limits(common);
        let converts =
            (logical.is_number() && common.is_number()) || common_moment(logical, common).is_some();
        match is_other && converts {
            true => Ok(value.cast(common)?.node),
            false => Ok(value.node),
        }
    });
    Ok((nodes.collect::<Result<Vec<_>, ValueError>>()?, common))
}

/// The type of which both are, as the server has it.
fn wider(one: LogicalType, other: LogicalType, construct: &str) -> Result<LogicalType, ValueError> {
    let common = one
        .common_number(other)
        .or_else(|| common_moment(one, other));
    let is_one = (one.is_text() && other.is_text()) || without_limits(one) == without_limits(other);
    match common {
        Some(common) => Ok(common),
        None if is_one => Ok(without_limits(one)),
        None => Err(error(
            SqlState::DATATYPE_MISMATCH,
            format!("{construct} types {one} and {other} cannot be matched"),
        )),
    }
}

/// The wider one of two types of dates and times: each is also a value of the next.
fn common_moment(one: LogicalType, other: LogicalType) -> Option<LogicalType> {
    const BY_WIDTH: [LogicalType; 3] = [
        LogicalType::Date,
        LogicalType::Timestamp(None),
        LogicalType::TimestampTz(None),
    ];
    let width = |logical: LogicalType| {
        let logical = logical.with_all_digits();
        BY_WIDTH.iter().position(|known| *known == logical)
    };
    Some(BY_WIDTH[width(one)?.max(width(other)?)])
}

/// The type of a computed value, which has no length, precision or scale.
pub(crate) fn without_limits(logical: LogicalType) -> LogicalType {
    match logical {
        LogicalType::Numeric(_) => LogicalType::Numeric(None),
        LogicalType::Varchar(_) => LogicalType::Text,
        other => other.with_all_digits(),
    }
}
