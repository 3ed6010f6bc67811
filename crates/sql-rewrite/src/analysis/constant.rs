//! Constants and parameters of a statement, and whether they fit a column.

use column_value::{
    ExtensionType, LogicalType, NamedKind, NamedType, OpaqueType, Value as Constantly, WholeType,
};
use semantics_postgres::{TextContext, ValueText};
use sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Ident, Interval, UnaryOperator,
    Value,
};
use sqlstate::SqlState;

use crate::dialect::mysql::bytes;
use crate::{
    Dialect, Literal, ParameterType, ProtectedColumn, Purpose, Refusal, Schema, Source, user_casts,
};
use sql_plan::{refuse, unsupported};

/// A constant or parameter, and the type that it is cast to, if any.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub source: Source,
    pub cast: Option<LogicalType>,
    /// The number that bytes are beside numbers, to MySQL: `b'101'` and `0x05`.
    pub number: Option<u64>,
}

/// `$1` is 0.
pub(crate) fn parameter_number(name: &str) -> Result<usize, Refusal> {
    let number = name
        .strip_prefix('$')
        .and_then(|digits| digits.parse().ok());
    match number {
        // PostgreSQL's Bind carries the count in 16 bits.
        Some(number @ 1..=65535) => Ok(number - 1),
        _ => Err(refuse(format!("there is no parameter {name}"))
            .with_state(SqlState::UNDEFINED_PARAMETER)),
    }
}

impl Constant {
    /// The constant that an expression is; None for any other expression.
    pub fn of(expression: &Expr) -> Result<Option<Self>, Refusal> {
        let constant = match expression {
            Expr::Nested(inner) => return Self::of(inner),
            Expr::Value(value) => Self::of_value(&value.value)?,
            Expr::UnaryOp { op, expr } => Self::signed(*op, expr)?,
            // As the plain form of MySQL has bytes; PostgreSQL knows no such prefix.
            Expr::Prefixed { prefix, value } => bytes_of(prefix, value).map(|own| Self {
                number: bytes::number(&prefix.value, &own),
                source: Source::Literal(Literal::Bytes(own)),
                cast: None,
            }),
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => match (Self::of(expr)?, logical_type(data_type)) {
                (Some(inner), Some(cast)) if inner.cast.is_none_or(|earlier| earlier == cast) => {
                    Some(Self {
                        cast: Some(cast),
                        ..inner
                    })
                }
                _ => None,
            },
            Expr::TypedString(typed) if !typed.uses_odbc_syntax => {
                match (
                    Self::of_value(&typed.value.value)?,
                    logical_type(&typed.data_type),
                ) {
                    (Some(inner), Some(cast)) => Some(Self {
                        cast: Some(cast),
                        ..inner
                    }),
                    _ => None,
                }
            }
            Expr::Interval(Interval {
                value,
                leading_field: None,
                leading_precision: None,
                last_field: None,
                fractional_seconds_precision: None,
            }) => match Self::of(value)? {
                Some(inner) if inner.cast.is_none() => Some(Self {
                    cast: OpaqueType::from_parts("interval", &[]).map(LogicalType::Opaque),
                    ..inner
                }),
                _ => None,
            },
            _ => None,
        };
        Ok(constant)
    }

    fn of_value(value: &Value) -> Result<Option<Self>, Refusal> {
        let literal = match value {
            Value::Number(digits, false) => Literal::Number(digits.clone()),
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::UnicodeStringLiteral(text) => Literal::Text(text.clone()),
            Value::DollarQuotedString(text) => Literal::Text(text.value.clone()),
            Value::Boolean(value) => Literal::Boolean(*value),
            Value::Null => Literal::Null,
            // A hole already.
            Value::Placeholder(name) if name.starts_with(super::template::MARK) => return Ok(None),
            Value::Placeholder(name) => {
                return Ok(Some(Self {
                    source: Source::Parameter(parameter_number(name)?),
                    cast: None,
                    number: None,
                }));
            }
            Value::SingleQuotedByteStringLiteral(bits) => {
                return Ok(Some(Self {
                    source: Source::Literal(Literal::Text(bits.clone())),
                    cast: Some(LogicalType::Opaque(OpaqueType::BITS)),
                    number: None,
                }));
            }
            _ => return Ok(None),
        };
        Ok(Some(Self {
            source: Source::Literal(literal),
            cast: None,
            number: None,
        }))
    }

    fn signed(operator: UnaryOperator, inner: &Expr) -> Result<Option<Self>, Refusal> {
        let Some(inner) = Self::of(inner)? else {
            return Ok(None);
        };
        let (Source::Literal(Literal::Number(digits)), None) = (&inner.source, inner.cast) else {
            return Ok(None);
        };
        let number = match (operator, digits.strip_prefix('-')) {
            (UnaryOperator::Plus, _) => digits.clone(),
            (UnaryOperator::Minus, None) => format!("-{digits}"),
            (UnaryOperator::Minus, Some(positive)) => positive.to_owned(),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            source: Source::Literal(Literal::Number(number)),
            cast: None,
            number: None,
        }))
    }

    pub fn is_null(&self) -> bool {
        matches!(self.source, Source::Literal(Literal::Null))
    }

    pub fn parameter(&self) -> Option<usize> {
        match self.source {
            Source::Parameter(number) => Some(number),
            _ => None,
        }
    }

    /// The type that a value of a parameter is cast to, whatever type the client declares for it.
    /// None: there is no cast, or one to a text, which changes no text.
    pub fn value_cast(&self) -> Option<LogicalType> {
        let is_text =
            |cast: &LogicalType| matches!(cast, LogicalType::Text | LogicalType::Varchar(_));
        self.parameter()?;
        self.cast.filter(|cast| !is_text(cast))
    }

    /// What is noted of a parameter: the type that it is cast to, else another one.
    pub fn parameter_type(&self, otherwise: LogicalType) -> ParameterType {
        let cast = self.value_cast().map(as_read);
        cast.map_or(ParameterType::One(otherwise), ParameterType::Cast)
    }

    /// The source, if the constant means the same for the column as for the server.
    pub fn for_column(
        mut self,
        column: &ProtectedColumn,
        purpose: Purpose,
    ) -> Result<Source, Refusal> {
        let logical = column.logical;
        self.read_as_mysql(logical);
        if purpose == Purpose::Store && (logical.is_number() || logical.second_digits().is_some()) {
            // It is rounded to the same digits, and kept to the same range.
            self.cast = self.cast.filter(|cast| *cast != logical);
        }
        self.read_local_time(logical);
        self.read_float(logical);
        if let Some(cast) = self.cast
            && (!self.cast_changes_nothing(cast, logical)
                || self.is_compared_as_text(logical, purpose))
        {
            let title = format!("{}.{}", column.table, column.column);
            return Err(refuse(format!(
                "a cast to {cast} beside protected column {title} of type {logical}"
            ))
            .with_hint("Leave the cast out: the value is taken for the column's type."));
        }
        if purpose != Purpose::Store && self.mismatches(logical) {
            return Err(refuse(format!(
                "operator does not exist between {logical} and this constant (column {}.{})",
                column.table, column.column
            ))
            .with_state(SqlState::UNDEFINED_FUNCTION)
            .with_hint("Cast the constant, or write it in quotes."));
        }
        Ok(self.source)
    }

    /// Beside what is a truth value to MySQL, TRUE is 1. Bits are a number beside bits.
    fn read_as_mysql(&mut self, logical: LogicalType) {
        let is_flag = matches!(
            logical,
            LogicalType::Whole(WholeType::Flag) | LogicalType::Bits(_)
        );
        let number = match (&self.source, logical) {
            (Source::Literal(Literal::Boolean(truth)), _) if is_flag => Some(u64::from(*truth)),
            (Source::Literal(Literal::Bytes(_)), LogicalType::Bits(_)) => self.number,
            _ => None,
        };
        if let Some(number) = number {
            self.source = Source::Literal(Literal::Number(number.to_string()));
        }
    }

    /// A text that is cast to `timestamp` beside a `timestamptz` is a time of the session's zone,
    /// whatever zone it names: without that zone it means the same for the column. Beside another
    /// `timestamp`, one that is cast to some digits of a second is rounded.
    fn read_local_time(&mut self, logical: LogicalType) {
        let (Source::Literal(Literal::Text(text)), Some(cast @ LogicalType::Timestamp(digits))) =
            (&self.source, self.cast)
        else {
            return;
        };
        // Other texts may depend on settings or on the moment.
        let begins_with_year = text.len() > 4
            && text.as_bytes()[..4].iter().all(u8::is_ascii_digit)
            && text.as_bytes()[4] == b'-';
        let is_read = match logical {
            LogicalType::TimestampTz(_) => true,
            LogicalType::Timestamp(_) => digits.is_some(),
            _ => false,
        };
        if !is_read || !begins_with_year {
            return;
        }
        let context = TextContext::default();
        let whole = LogicalType::Timestamp(None);
        let value = Constantly::from_text(text, whole, &context)
            .and_then(|value| semantics_postgres::cast(value, whole, cast, &context));
        if let Ok(value) = value {
            let text = value.to_text(cast, &context);
            self.source = Source::Literal(Literal::Text(text));
            self.cast = None;
        }
    }

    /// A number that is cast to the column's floating-point type is read as of that type. Without
    /// the cast it would be a `numeric`, to which no value of the column may be equal.
    fn read_float(&mut self, logical: LogicalType) {
        if let Source::Literal(Literal::Number(digits)) = &self.source
            && matches!(logical, LogicalType::Real | LogicalType::Double)
            && self.cast == Some(logical)
        {
            self.source = Source::Literal(Literal::Text(digits.clone()));
            self.cast = None;
        }
    }

    /// Whether a `char` is compared with it as a `text`, in which blanks at the end count, and it
    /// may end with some.
    pub fn is_compared_as_text(&self, logical: LogicalType, purpose: Purpose) -> bool {
        let may_end_with_blanks = match &self.source {
            Source::Literal(Literal::Text(text)) => text.ends_with(' '),
            Source::Literal(Literal::Null) => false,
            _ => true,
        };
        purpose != Purpose::Store
            && self.cast == Some(LogicalType::Text)
            && matches!(logical, LogicalType::Char(_))
            && may_end_with_blanks
    }

    /// A cast that does not change how the value is read for the column.
    fn cast_changes_nothing(&self, cast: LogicalType, logical: LogicalType) -> bool {
        use LogicalType as T;
        let has_limits = matches!(cast, T::Varchar(Some(_)) | T::Char(_) | T::Numeric(Some(_)))
            || cast.second_digits().is_some()
            || cast.opaque().is_some_and(OpaqueType::is_cut_by_cast);
        let whole = |logical| matches!(logical, T::SmallInt | T::Integer | T::BigInt);
        let is_whole_number = match &self.source {
            Source::Literal(Literal::Number(digits)) => digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-'),
            Source::Literal(Literal::Boolean(_) | Literal::TransactionTime | Literal::Drawn) => {
                false
            }
            _ => true,
        };
        // A column's digits of a second are put to the value afterwards.
        if cast == logical.with_all_digits() && !has_limits {
            return !whole(cast) || is_whole_number;
        }
        if let (T::Opaque(cast), T::Opaque(own)) = (cast, logical) {
            // The limits of the column are put to it afterwards. Bits are varying ones, too.
            let is_same = |cast: OpaqueType| {
                let names = [cast, own].map(|of| of.named().map(|of| (&of.schema, &of.name)));
                let are_same = names[0].is_some() && names[0] == names[1];
                are_same && cast.is_array() == own.is_array()
            };
            return cast == own.unlimited()
                || is_same(cast)
                || (cast.is_bits() && own.is_varying_bits());
        }
        match cast {
            T::Text | T::Varchar(None) => logical.is_text(),
            T::Numeric(None) => whole(logical) || matches!(logical, T::Numeric(_)),
            cast if whole(cast) => {
                is_whole_number && (whole(logical) || matches!(logical, T::Numeric(_)))
            }
            _ => false,
        }
    }

    /// Whether the server has no operator between the column's type and the constant's.
    fn mismatches(&self, logical: LogicalType) -> bool {
        if self.cast.is_some() {
            return false;
        }
        match &self.source {
            Source::Literal(Literal::Number(_)) => {
                !logical.is_number() && !matches!(logical, LogicalType::Bits(_))
            }
            Source::Literal(Literal::Boolean(_)) => logical != LogicalType::Boolean,
            _ => false,
        }
    }
}

/// The type that a text or a parameter is read as before it is cast: reading keeps to no limits,
/// and the cast rounds, cuts and pads.
pub(super) fn as_read(cast: LogicalType) -> LogicalType {
    match cast {
        LogicalType::Numeric(_) => LogicalType::Numeric(None),
        LogicalType::Varchar(_) => LogicalType::Varchar(None),
        LogicalType::Char(_) => LogicalType::Text,
        other => other.with_all_digits(),
    }
}

/// The bytes of a constant behind a prefix.
fn bytes_of(prefix: &Ident, value: &Expr) -> Option<Vec<u8>> {
    let Expr::Value(value) = value else {
        return None;
    };
    let Value::HexStringLiteral(digits) = &value.value else {
        return None;
    };
    bytes::of_digits(&prefix.value, digits)
}

/// The text of a constant in quotes, unless it is empty.
pub(crate) fn text(value: &Value) -> Option<&str> {
    let text = match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => text,
        Value::DollarQuotedString(text) => &text.value,
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// What a comparison of two constants says, so that neither needs to be sent: one may be the value
/// that a protected column is compared with beside it. None: not known here.
pub(crate) fn compared(
    left: &Constant,
    operator: &BinaryOperator,
    right: &Constant,
    dialect: Dialect,
) -> Option<Value> {
    use std::cmp::Ordering;
    let (Source::Literal(one), Source::Literal(other)) = (&left.source, &right.source) else {
        return None;
    };
    if left.is_null() || right.is_null() {
        return compares(operator).then_some(Value::Null);
    }
    let is_text = |cast: Option<LogicalType>| {
        cast.is_none_or(|cast| matches!(cast, LogicalType::Text | LogicalType::Varchar(None)))
    };
    // MySQL compares unlike texts by the connection's collation, and numbers with an exponent as
    // floating-point numbers.
    let is_mysql = matches!(dialect, Dialect::MySql(_));
    let has_exponent = |digits: &str| digits.contains(['e', 'E']);
    let order = match (one, other) {
        (Literal::Number(one), Literal::Number(other))
            if left.cast.is_none() && right.cast.is_none() =>
        {
            if is_mysql && (has_exponent(one) || has_exponent(other)) {
                return None;
            }
            let numeric = |digits: &str| Constantly::from_number(digits).ok();
            let ((one, from), (other, to)) = (numeric(one)?, numeric(other)?);
            (from.is_number() && to.is_number())
                .then(|| semantics_postgres::compare(&one, &other))??
        }
        // Which of two texts is the less depends on a collation.
        (Literal::Text(one), Literal::Text(other)) if is_text(left.cast) && is_text(right.cast) => {
            match (one == other, operator) {
                (true, _) => Ordering::Equal,
                (false, BinaryOperator::Eq | BinaryOperator::NotEq) if !is_mysql => Ordering::Less,
                _ => return None,
            }
        }
        (Literal::Boolean(one), Literal::Boolean(other)) => one.cmp(other),
        _ => return None,
    };
    Some(Value::Boolean(match operator {
        BinaryOperator::Eq => order.is_eq(),
        BinaryOperator::NotEq => order.is_ne(),
        BinaryOperator::Lt => order.is_lt(),
        BinaryOperator::LtEq => order.is_le(),
        BinaryOperator::Gt => order.is_gt(),
        BinaryOperator::GtEq => order.is_ge(),
        _ => return None,
    }))
}

/// Whether an operator compares: then it gives NULL wherever an operand is NULL, unlike `OR`, or
/// `||` of arrays.
fn compares(operator: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        operator,
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq
    )
}

/// The type that a cast of a value gives.
///
/// # Errors
/// The proxy does not know it, or users have defined casts.
pub fn cast_type(data_type: &DataType, schema: &Schema) -> Result<LogicalType, Refusal> {
    user_casts::check(schema)?;
    logical_type(data_type).ok_or_else(|| unsupported(&format!("a cast to {data_type}")))
}

/// The logical type of a type in the tree; None: columns of the type cannot be protected.
pub(crate) fn logical_type(data_type: &DataType) -> Option<LogicalType> {
    if let DataType::Custom(name, _) = data_type
        && let [schema, own] = name.0.as_slice()
        && let (Some(schema), Some(own)) = (schema.as_ident(), own.as_ident())
        && schema.quote_style.is_some()
        && schema.value != "pg_catalog"
    {
        // A type without a fixed number, as it is spelled in statements: only its column knows
        // more.
        let extension = ExtensionType::of_name(&own.value).map(NamedKind::Extension);
        let mut kinds = extension.into_iter().chain([NamedKind::Enumeration]);
        let met = kinds.find_map(|kind| {
            OpaqueType::met(&NamedType {
                schema: schema.value.clone(),
                name: own.value.clone(),
                kind,
                known: None,
            })
        });
        return met.map(LogicalType::Opaque);
    }
    if let DataType::Array(
        ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
    ) = data_type
        && let Some(LogicalType::Opaque(own)) = logical_type(element)
        && own.named().is_some()
    {
        return Some(LogicalType::Opaque(own.array()));
    }
    let text = data_type.to_string().to_ascii_lowercase();
    match text.as_str() {
        "int2" => Some(LogicalType::SmallInt),
        "bpchar" => None,
        // What a cast to a type of MySQL alone gives is left to the server.
        _ => {
            let found: Option<LogicalType> = text.parse().ok();
            found.filter(|own| !own.is_of_mysql())
        }
    }
}

/// Accepts a value that stays in the text, if its kind is known.
pub(crate) fn check_plain_value(value: &Value) -> Result<(), Refusal> {
    match value {
        Value::Number(_, false)
        | Value::SingleQuotedString(_)
        | Value::EscapedStringLiteral(_)
        | Value::UnicodeStringLiteral(_)
        | Value::DollarQuotedString(_)
        | Value::SingleQuotedByteStringLiteral(_)
        | Value::HexStringLiteral(_)
        | Value::NationalStringLiteral(_)
        | Value::Boolean(_)
        | Value::Null
        | Value::Placeholder(_) => Ok(()),
        _ => Err(unsupported("a constant of this form")),
    }
}
