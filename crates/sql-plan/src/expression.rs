//! Expressions that the proxy computes, over rows, constants and parameters.

use std::fmt;

use column_value::LogicalType;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A parameter of the client, counted from 0 (`$1`).
    Parameter(usize),
    /// A constant of the client's text.
    Literal(Literal),
    /// A value of this type that the proxy computes from parameters and constants alone.
    Calculated(Box<Expression>, LogicalType),
    /// The value of one of [`ReadModifyWrite::assignments`], by index.
    Computed(usize),
    /// Values of the members of a group, in their order, which are sealed together.
    Members(Vec<Source>),
    /// A part of the row locator of a [`ReadModifyWrite`], by index among the outputs of `read`. In
    /// PostgreSQL 0 is `ctid` and 1 is `tableoid`, since partitions number their rows alike.
    Locator(usize),
}

impl Source {
    /// The parameters that the value is made of.
    pub fn parameters(&self) -> Vec<usize> {
        match self {
            Self::Parameter(number) => vec![*number],
            Self::Calculated(value, _) => value.parameters(),
            Self::Members(members) => members.iter().flat_map(Self::parameters).collect(),
            Self::Literal(_) | Self::Computed(_) | Self::Locator(_) => Vec::new(),
        }
    }
}

/// A constant. `Debug` hides its content, which may be meant for a protected column.
#[derive(Clone, PartialEq, Eq)]
pub enum Literal {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`
    Boolean(bool),
    /// Digits as they were written, with sign.
    Number(String),
    /// A quoted text, without quotes. Its context decides its type.
    Text(String),
    /// Bytes in hexadecimal, before MySQL alone.
    Bytes(Vec<u8>),
    /// The start time of the transaction (`CURRENT_TIMESTAMP`, `now()`).
    TransactionTime,
    /// The next value of the sequence of the column that it is stored in. The proxy asks the server
    /// for it before it sends the statement.
    Drawn,
}

impl Literal {
    /// Writes it for PostgreSQL, so that `standard_conforming_strings` does not matter.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("NULL"),
            Self::Boolean(true) => out.push_str("TRUE"),
            Self::Boolean(false) => out.push_str("FALSE"),
            Self::Number(digits) => out.push_str(digits),
            Self::Text(text) => {
                out.push_str("E'");
                for character in text.chars() {
                    if matches!(character, '\'' | '\\') {
                        out.push(character);
                    }
                    out.push(character);
                }
                out.push('\'');
            }
            Self::Bytes(bytes) => {
                out.push_str("'\\x");
                bytes
                    .iter()
                    .for_each(|byte| out.push_str(&format!("{byte:02x}")));
                out.push('\'');
            }
            Self::TransactionTime => out.push_str("CURRENT_TIMESTAMP"),
            // In no text that is sent: it is sealed.
            Self::Drawn => out.push_str("DEFAULT"),
        }
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "Null",
            Self::Boolean(_) => "Boolean(…)",
            Self::Number(_) => "Number(…)",
            Self::Text(_) => "Text(…)",
            Self::Bytes(_) => "Bytes(…)",
            Self::TransactionTime => "TransactionTime",
            Self::Drawn => "Drawn",
        })
    }
}

/// An expression that the proxy computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A column of the fetched row, by index among the outputs.
    Column(usize),
    /// A constant or parameter, taken for a value of the type.
    Value(Source, LogicalType),
    /// An aggregate, by index in [`Finish::aggregates`].
    Aggregate(usize),
    /// A group key, by index in [`Finish::group_by`].
    Group(usize),
    /// One operand.
    Unary(UnaryOperator, Box<Expression>),
    /// Two operands.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `LIKE`, `ILIKE`: operand, pattern, escape character, whether case counts.
    Like {
        /// The text that is matched.
        operand: Box<Expression>,
        /// The pattern.
        pattern: Box<Expression>,
        /// The escape character; None: backslash.
        escape: Option<char>,
        /// Whether case counts (`LIKE`).
        case_sensitive: bool,
    },
    /// `IN (…)`
    In(Box<Expression>, Vec<Expression>),
    /// `= ANY (…)`: an array of values of the type.
    InArray(Box<Expression>, Source, LogicalType),
    /// `COALESCE(…)`
    Coalesce(Vec<Expression>),
    /// `CASE WHEN … THEN … ELSE … END`
    Case(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    /// `CAST(… AS type)`
    Cast(Box<Expression>, LogicalType),
    /// A function of one value.
    Call(ScalarFunction, Box<Expression>),
}

impl Expression {
    /// How deep expressions are nested in it, itself included.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut rest = vec![(self, 1)];
        while let Some((expression, depth)) = rest.pop() {
            deepest = deepest.max(depth);
            let inner = expression.parts();
            rest.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
        }
        deepest
    }

    /// The parameters that it takes.
    pub fn parameters(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut rest = vec![self];
        while let Some(expression) = rest.pop() {
            if let Self::Value(source, _) | Self::InArray(_, source, _) = expression {
                found.extend(source.parameters());
            }
            rest.extend(expression.parts());
        }
        found
    }

    /// Its operands.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Column(_) | Self::Value(..) | Self::Aggregate(_) | Self::Group(_) => Vec::new(),
            Self::Unary(_, inner)
            | Self::InArray(inner, ..)
            | Self::Cast(inner, _)
            | Self::Call(_, inner) => vec![inner],
            Self::Binary(_, left, right) => vec![left, right],
            Self::Like {
                operand, pattern, ..
            } => vec![operand, pattern],
            Self::In(operand, values) => values.iter().chain([&**operand]).collect(),
            Self::Coalesce(values) => values.iter().collect(),
            Self::Case(whens, otherwise) => whens
                .iter()
                .flat_map(|(when, then)| [when, then])
                .chain(otherwise.as_deref())
                .collect(),
        }
    }
}

/// Functions of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarFunction {
    /// `lower`, by Unicode
    Lower,
    /// `upper`, by Unicode
    Upper,
    /// `length`, `char_length`: characters of a text
    Length,
    /// `trim`, `btrim` of blanks
    Trim,
    /// `abs`
    Absolute,
}

/// Operators on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-x`
    Negate,
    /// `NOT x`
    Not,
    /// `x IS NULL`
    IsNull,
    /// `x IS NOT NULL`
    IsNotNull,
}

/// Operators on two operands, with SQL's three-valued logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `^`, `power(…)`
    Power,
    /// `||`
    Concatenate,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `AND`
    And,
    /// `OR`
    Or,
}

/// Aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// `COUNT`
    Count,
    /// `SUM`
    Sum,
    /// `AVG`
    Average,
    /// `MIN`
    Minimum,
    /// `MAX`
    Maximum,
}
