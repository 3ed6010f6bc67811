//! Whether two texts of a check are the same: one of a rule and one of DDL, which the server may
//! have printed (`ruleutils.c`).
//!
//! What is called the same has one meaning: a cast is left out only of a constant that is compared
//! with the bare column, where the server would make it of the same type by itself.

use std::ops::ControlFlow;

use column_value::LogicalType;
use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg};
use sqlparser::ast::{FunctionArgExpr, FunctionArguments, Ident, UnaryOperator, Value, VisitorMut};

use crate::ProtectedColumn;
use crate::dialect::postgres::names::{builtin, folded};
use crate::walk;

/// Digits that `double precision` keeps, and whole numbers that `real` has.
const DOUBLE_DIGITS_MAX: usize = 15;
const REAL_WHOLE_MAX: u64 = 1 << 24;

/// Whether two checks over a column are the same apart from parentheses, the name of the table,
/// casts that the server adds, and forms for which it prints another one.
pub(crate) fn is_same(one: &Expr, other: &Expr, column: &ProtectedColumn) -> bool {
    let mut own = Normal {
        table: &column.table,
        logical: Some(column.logical),
    };
    own.of(one) == own.of(other)
}

/// Whether two expressions are the same apart from parentheses and quotes of names.
pub(crate) fn is_alike(one: &Expr, other: &Expr, table: &str) -> bool {
    let mut own = Normal {
        table,
        logical: None,
    };
    own.of(one) == own.of(other)
}

struct Normal<'a> {
    /// The table that may qualify a column.
    table: &'a str,
    /// The type of the column. None: casts stay.
    logical: Option<LogicalType>,
}

impl VisitorMut for Normal<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let taken = std::mem::replace(expression, Expr::Tuple(Vec::new()));
        *expression = self.changed(taken);
        ControlFlow::Continue(())
    }
}

impl Normal<'_> {
    fn of(&mut self, expression: &Expr) -> Expr {
        let mut own = expression.clone();
        let _: ControlFlow<()> = walk::visit_mut(&mut own, self);
        own
    }

    /// An expression whose parts have been changed.
    fn changed(&self, expression: Expr) -> Expr {
        match expression {
            Expr::Nested(inner) => *inner,
            Expr::Identifier(name) => column(&name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] if folded(table) == self.table => column(name),
                _ => Expr::CompoundIdentifier(parts),
            },
            Expr::Cast {
                expr,
                data_type,
                kind: CastKind::Cast | CastKind::DoubleColon,
                ..
            } if self.keeps_text() && is_text(&data_type) && is_column(&expr) => *expr,
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let (from, both, to) = match negated {
                    false => (
                        BinaryOperator::GtEq,
                        BinaryOperator::And,
                        BinaryOperator::LtEq,
                    ),
                    true => (BinaryOperator::Lt, BinaryOperator::Or, BinaryOperator::Gt),
                };
                let from = self.compared(expr.clone(), from, low);
                let to = self.compared(expr, to, high);
                binary(Box::new(from), both, Box::new(to))
            }
            Expr::BinaryOp { left, op, right } => self.compared(left, op, right),
            other => self.of_pattern(self.of_list(other)),
        }
    }

    /// A list as a list, in the forms of SQL and of the server.
    fn of_list(&self, expression: Expr) -> Expr {
        match expression {
            Expr::InList {
                expr,
                list,
                negated,
            } => self.listed(expr, list, negated),
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                is_some,
            } => match self.elements(&right) {
                Some(list) => self.listed(left, list, false),
                None => Expr::AnyOp {
                    left,
                    compare_op: BinaryOperator::Eq,
                    right,
                    is_some,
                },
            },
            Expr::AllOp {
                left,
                compare_op: BinaryOperator::NotEq,
                right,
            } => match self.elements(&right) {
                Some(list) => self.listed(left, list, true),
                None => Expr::AllOp {
                    left,
                    compare_op: BinaryOperator::NotEq,
                    right,
                },
            },
            other => other,
        }
    }

    /// LIKE and ILIKE as the operators that they are.
    fn of_pattern(&self, expression: Expr) -> Expr {
        match expression {
            Expr::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char: None,
            } => {
                let operator = match negated {
                    false => BinaryOperator::PGLikeMatch,
                    true => BinaryOperator::PGNotLikeMatch,
                };
                self.compared(expr, operator, pattern)
            }
            Expr::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char: None,
            } => {
                let operator = match negated {
                    false => BinaryOperator::PGILikeMatch,
                    true => BinaryOperator::PGNotILikeMatch,
                };
                self.compared(expr, operator, pattern)
            }
            other => other,
        }
    }

    /// A comparison, or another operator, which keeps its operands.
    fn compared(&self, left: Box<Expr>, op: BinaryOperator, right: Box<Expr>) -> Expr {
        use BinaryOperator as B;
        let compares = matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq);
        let matches = matches!(
            op,
            B::PGLikeMatch
                | B::PGILikeMatch
                | B::PGNotLikeMatch
                | B::PGNotILikeMatch
                | B::PGRegexMatch
                | B::PGRegexIMatch
                | B::PGRegexNotMatch
                | B::PGRegexNotIMatch
        );
        let takes_constants = compares || (matches && self.keeps_text());
        let (left, right) = match (self.is_operand(&left), self.is_operand(&right)) {
            _ if !takes_constants => (left, right),
            (true, false) => (left, Box::new(self.bare(*right))),
            (false, true) => (Box::new(self.bare(*left)), right),
            _ => (left, right),
        };
        binary(left, op, right)
    }

    /// A list of values; one value is compared.
    fn listed(&self, operand: Box<Expr>, mut list: Vec<Expr>, negated: bool) -> Expr {
        if self.is_operand(&operand) {
            list = list.into_iter().map(|value| self.bare(value)).collect();
        }
        match (list.pop(), list.is_empty()) {
            (Some(one), true) => {
                let operator = match negated {
                    false => BinaryOperator::Eq,
                    true => BinaryOperator::NotEq,
                };
                binary(operand, operator, Box::new(one))
            }
            (last, _) => {
                list.extend(last);
                Expr::InList {
                    expr: operand,
                    list,
                    negated,
                }
            }
        }
    }

    /// The elements of an array that is written out.
    fn elements(&self, array: &Expr) -> Option<Vec<Expr>> {
        match array {
            Expr::Array(array) if !array.elem.is_empty() => Some(array.elem.clone()),
            Expr::Cast {
                expr, data_type, ..
            } if self.keeps_text() && data_type.to_string().eq_ignore_ascii_case("text[]") => {
                self.elements(expr)
            }
            _ => None,
        }
    }

    /// Whether the column is one of texts without padding: to the server `varchar` is `text`.
    fn keeps_text(&self) -> bool {
        matches!(
            self.logical,
            Some(LogicalType::Text | LogicalType::Varchar(_))
        )
    }

    /// Whether it has the type of the column: the column itself, or a text of its letters.
    fn is_operand(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Function(function) if self.keeps_text() => is_of_letters(function),
            other => is_column(other),
        }
    }

    /// A constant without the casts to what it is compared with.
    fn bare(&self, expression: Expr) -> Expr {
        let Some(logical) = self.logical else {
            return expression;
        };
        match content(&expression, logical) {
            Some(content) => Expr::value(Value::SingleQuotedString(content)),
            None => expression,
        }
    }
}

/// What a constant says that is compared with a column of a type. None: it is none, or has another
/// type.
fn content(expression: &Expr, logical: LogicalType) -> Option<String> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, false) => is_number(digits, logical).then(|| digits.clone()),
            Value::SingleQuotedString(text) => {
                (!is_of_numbers(logical) || is_number(text, logical)).then(|| text.clone())
            }
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match &**expr {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, false) if is_number(digits, logical) => {
                    Some(format!("-{digits}"))
                }
                _ => None,
            },
            _ => None,
        },
        Expr::TypedString(typed) => match &typed.value.value {
            Value::SingleQuotedString(text) => {
                keeps(&typed.data_type, text, logical).then(|| text.clone())
            }
            _ => None,
        },
        Expr::Cast {
            expr,
            data_type,
            kind: CastKind::Cast | CastKind::DoubleColon,
            ..
        } => content(expr, logical).filter(|text| keeps(data_type, text, logical)),
        _ => None,
    }
}

fn is_of_numbers(logical: LogicalType) -> bool {
    use LogicalType as L;
    matches!(
        logical,
        L::SmallInt | L::Integer | L::BigInt | L::Real | L::Double | L::Numeric(_)
    )
}

/// Whether digits mean the same number for a column of a type, however they are written.
fn is_number(text: &str, logical: LogicalType) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_decimal = [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_whole = !digits.contains('.');
    is_decimal
        && match logical {
            LogicalType::SmallInt => is_whole && text.parse::<i16>().is_ok(),
            LogicalType::Integer => is_whole && text.parse::<i32>().is_ok(),
            LogicalType::BigInt => is_whole && text.parse::<i64>().is_ok(),
            LogicalType::Numeric(_) => true,
            LogicalType::Double => digits.len() <= DOUBLE_DIGITS_MAX,
            LogicalType::Real => {
                is_whole
                    && whole
                        .parse()
                        .is_ok_and(|number: u64| number < REAL_WHOLE_MAX)
            }
            _ => false,
        }
}

/// Whether a cast of a constant changes nothing where it is compared with a column of a type.
fn keeps(data_type: &DataType, text: &str, logical: LogicalType) -> bool {
    use LogicalType as L;
    let name = data_type.to_string().to_ascii_lowercase();
    let name = name.as_str();
    if is_of_numbers(logical) {
        return match name {
            "smallint" => text.parse::<i16>().is_ok(),
            "integer" | "int" => text.parse::<i32>().is_ok(),
            "bigint" => text.parse::<i64>().is_ok(),
            "numeric" => logical != L::Real || !text.contains('.'),
            "double precision" => matches!(logical, L::Double | L::Real),
            _ => false,
        };
    }
    match logical {
        L::Text | L::Varchar(_) => is_text(data_type) || name == "character varying",
        L::Char(_) => name == "bpchar",
        L::Date => name == "date",
        L::Time(_) => name == "time" || name == "time without time zone",
        L::Timestamp(_) => name == "timestamp" || name == "timestamp without time zone",
        L::TimestampTz(_) => name == "timestamptz" || name == "timestamp with time zone",
        L::Uuid => name == "uuid",
        _ => false,
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Text)
}

fn is_column(expression: &Expr) -> bool {
    matches!(expression, Expr::Identifier(_))
}

/// `lower(x)` and `upper(x)` of the column.
fn is_of_letters(function: &Function) -> bool {
    let name = builtin(&function.name);
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    let is_own = matches!(name.as_deref(), Some("lower" | "upper"));
    is_own
        && matches!(
            list.args.as_slice(),
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(own))] if is_column(own)
        )
}

fn column(name: &Ident) -> Expr {
    Expr::Identifier(Ident::with_quote('"', folded(name)))
}

fn binary(left: Box<Expr>, op: BinaryOperator, right: Box<Expr>) -> Expr {
    Expr::BinaryOp { left, op, right }
}
