//! Defaults of protected columns: rules have them, and the proxy fills them in. The server has
//! none, since it would store it in clear.

use column_value::{LogicalType, Value};
use semantics_mysql::{Given, check_ending, is_zero_date, matched, stored};
use sql_plan::{Mode, moment_digits, parse_default, refuse};
use sqlparser::ast::{ColumnDef, ColumnOption, Expr, UnaryOperator};

use super::MySql;
use crate::analysis::Constant;
use crate::{ColumnRule, Literal, ProtectedColumn, Refusal, Schema};

/// The default of a rule. None: it has none, or NULL.
///
/// # Errors
/// What is wrong and what to do, without the text itself.
pub(super) fn of_rule(rule: &ColumnRule) -> Result<Option<Literal>, String> {
    let Some(text) = rule.default.as_deref() else {
        return Ok(None);
    };
    let literal = read(text, rule.logical)?;
    let value = literal.as_ref().and_then(|own| value(own, rule.logical));
    match value {
        Some(value) if rule.mode == Mode::Equality && check_ending(&value).is_err() => {
            Err("has a default that ends with a blank, and mode equality: remove the blank".into())
        }
        _ => Ok(literal),
    }
}

/// A default as a rule or the DDL writes it. None: NULL.
fn read(text: &str, logical: LogicalType) -> Result<Option<Literal>, String> {
    let other = |what: &str| Err(format!("has a default {what}"));
    let has_length = !matches!(logical, LogicalType::Text | LogicalType::Bytes);
    let literal = match parse_default(text, logical)? {
        Literal::Null => return Ok(None),
        _ if !has_length => {
            return other("on a column without a length: remove it, or use varchar(n)");
        }
        Literal::Boolean(truth) => Literal::Number(u8::from(truth).to_string()),
        Literal::TransactionTime => {
            return match is_moment_of(text, logical) {
                true => Ok(Some(Literal::TransactionTime)),
                false => other(
                    "that is a time: only a timestamp(n) has one, written CURRENT_TIMESTAMP(n) \
                     with the digits of the column",
                ),
            };
        }
        Literal::Drawn => return other("of a sequence, which is not supported before MySQL"),
        literal => literal,
    };
    match value(&literal, logical) {
        Some(_) => Ok(Some(literal)),
        None => other("that is no value of its type, with all its digits: change one of them"),
    }
}

/// Whether an expression is the moment of the statement, with as many digits of a second as values
/// of the type have.
pub(crate) fn is_moment_of(text: &str, logical: LogicalType) -> bool {
    let is_moment = matches!(
        logical,
        LogicalType::Timestamp(Some(_)) | LogicalType::TimestampTz(Some(_))
    );
    let text = text.trim().to_ascii_lowercase();
    // PostgreSQL's alone.
    let is_moment = is_moment && !text.starts_with("transaction");
    let digits = moment_digits(&text);
    is_moment && digits.is_some_and(|own| Some(own.unwrap_or(0)) == logical.second_digits())
}

/// The value that a column stores of a constant. None: there is none, or the server would change
/// it.
fn value(literal: &Literal, logical: LogicalType) -> Option<Value> {
    let given = match literal {
        Literal::Number(digits) => Given::Number(digits),
        Literal::Text(text) => Given::Text(text),
        _ => return None,
    };
    // What a moment with a zone means depends on the session, but for the zero date.
    let has_zone = matches!(logical, LogicalType::TimestampTz(_));
    let is_known = |value: &Value| !has_zone || is_zero_date(value);
    let value = stored(given, logical).ok().filter(is_known)?;
    let is_exact = logical.is_whole() || matches!(logical, LogicalType::Numeric(_));
    match is_exact && matched(given, logical).ok()?.as_ref() != Some(&value) {
        true => None,
        false => Some(value),
    }
}

/// Checks that a new column is declared with the default of its rule.
///
/// # Errors
/// It has another one, or none.
pub(super) fn check(
    column: &ColumnDef,
    rule: &ProtectedColumn,
    schema: &Schema,
) -> Result<(), Refusal> {
    let declared = column.options.iter().find_map(|own| match &own.option {
        ColumnOption::Default(expr) => Some(expr),
        _ => None,
    });
    let declared = match declared {
        Some(expr) => of_expression(expr, rule.logical),
        None => Ok(None),
    };
    let is_same = match (&declared, &rule.default) {
        (Ok(None), None) => true,
        (Ok(Some(Literal::TransactionTime)), Some(Literal::TransactionTime)) => true,
        (Ok(Some(declared)), Some(own)) => {
            let declared = self::value(declared, rule.logical);
            declared.is_some() && declared == self::value(own, rule.logical)
        }
        _ => false,
    };
    let value = rule.default.as_ref();
    let value = value.and_then(|own| self::value(own, rule.logical));
    match value {
        Some(value) if is_zero_date(&value) && schema.terms(rule.id).refuses_zero_dates => {
            return Err(refuse(format!(
                "{}.{} would have the zero date as its default in a SQL mode with NO_ZERO_DATE",
                rule.table, rule.column
            ))
            .with_hint("Leave NO_ZERO_DATE out of sql_mode."));
        }
        _ if is_same => return Ok(()),
        _ => {}
    }
    let hint = match &declared {
        Ok(_) => "Write the same default into the rule (default = \"…\"): the proxy fills it in.",
        Err(_) => {
            "The proxy fills in constants of the column's type, and CURRENT_TIMESTAMP with the \
             digits of the column: leave the default out, or protect the column with another type."
        }
    };
    Err(refuse(format!(
        "{}.{} is declared with another default than its rule has",
        rule.table, rule.column
    ))
    .with_hint(hint))
}

/// Removes the default of a column, which the server must not have, but for NULL.
pub(super) fn take_out(column: &mut ColumnDef) {
    column.options.retain(|own| match &own.option {
        ColumnOption::Default(expr) => is_null(expr),
        _ => true,
    });
}

/// Whether a column is declared with a default that is not NULL.
pub(super) fn has_any(column: &ColumnDef) -> bool {
    let mut options = column.options.iter();
    options.any(|own| matches!(&own.option, ColumnOption::Default(expr) if !is_null(expr)))
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == sqlparser::ast::Value::Null)
}

/// A default as a tree. None: NULL.
fn of_expression(expr: &Expr, logical: LogicalType) -> Result<Option<Literal>, String> {
    let is_written = match expr {
        Expr::Value(_) | Expr::Function(_) => true,
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => matches!(**expr, Expr::Value(_)),
        _ => false,
    };
    match (is_written, expr) {
        (false, Expr::Prefixed { .. }) if matches!(logical, LogicalType::Bits(_)) => {
            let number = Constant::of(expr).ok().flatten().and_then(|own| own.number);
            let number = number.ok_or_else(|| "is computed".to_owned())?;
            read(&number.to_string(), logical)
        }
        (false, _) => Err("is computed".to_owned()),
        (true, Expr::Value(own)) => match &own.value {
            // Its quotes would be written as the server reads them.
            sqlparser::ast::Value::SingleQuotedString(text) => {
                read(&format!("'{}'", text.replace('\'', "''")), logical)
            }
            other => read(&other.to_string(), logical),
        },
        (true, expr) => read(&expr.to_string(), logical),
    }
}

/// The default of a column as the server shows it. None: it has none, or NULL.
pub(super) fn shown(rule: &ProtectedColumn, own: MySql) -> Option<Shown> {
    let text = match rule.default.as_ref()? {
        Literal::TransactionTime => {
            let digits = rule.logical.second_digits().unwrap_or(0);
            let text = match (own.is_mariadb, digits) {
                (true, 0) => "current_timestamp()".to_owned(),
                (true, digits) => format!("current_timestamp({digits})"),
                (false, 0) => "CURRENT_TIMESTAMP".to_owned(),
                (false, digits) => format!("CURRENT_TIMESTAMP({digits})"),
            };
            return Some(Shown {
                text,
                kind: ShownKind::Moment,
            });
        }
        literal => match (value(literal, rule.logical)?, rule.logical) {
            (Value::Unsigned(number), LogicalType::Bits(_)) => format!("b'{number:b}'"),
            _ => String::from_utf8(text(rule)?).ok()?,
        },
    };
    let kind = match rule.logical {
        LogicalType::Bits(_) => ShownKind::Bits,
        logical if logical.is_number() => ShownKind::Number,
        _ => ShownKind::Text,
    };
    Some(Shown { text, kind })
}

/// What the server would write for the default of a rule, as for a value. None: it has none, or
/// NULL, or it is the moment of the statement.
pub(super) fn text(rule: &ProtectedColumn) -> Option<Vec<u8>> {
    let value = value(rule.default.as_ref()?, rule.logical)?;
    semantics_mysql::text(&value, rule.logical).ok()
}

/// The default of a rule for what `information_schema` shows of a plain column. None: it is an
/// expression that no rule has.
pub(super) fn of_server(
    text: &str,
    (type_name, extra): (&str, &str),
    is_mariadb: bool,
) -> Option<String> {
    // `b'101'`
    if type_name.starts_with("bit(") {
        return Some(text.to_owned()).filter(|own| own.starts_with("b'"));
    }
    let is_moment = moment_digits(&text.to_ascii_lowercase()).is_some();
    let is_computed = extra.contains("default_generated");
    match (is_mariadb, is_moment) {
        (true, true) => Some(text.replace("()", "").to_ascii_uppercase()),
        (false, true) if is_computed => Some(text.to_owned()),
        // As it stands in SQL.
        (true, false) => {
            let is_known = text.starts_with('\'')
                || text.starts_with(|own: char| own.is_ascii_digit() || own == '-');
            is_known.then(|| text.replace("\\\\", "\\"))
        }
        (false, _) if is_computed => None,
        (false, _) => Some(format!("'{}'", text.replace('\'', "''"))),
    }
}

/// A default as the server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Without quotes.
    pub text: String,
    kind: ShownKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShownKind {
    Moment,
    Number,
    Bits,
    Text,
}

impl Shown {
    /// Whether it is the moment of the statement.
    pub fn is_moment(&self) -> bool {
        self.kind == ShownKind::Moment
    }

    /// As `SHOW CREATE TABLE` has it.
    pub fn in_create(&self, own: MySql) -> String {
        match (self.kind, own.is_mariadb) {
            (ShownKind::Moment | ShownKind::Bits, _) | (ShownKind::Number, true) => {
                self.text.clone()
            }
            (ShownKind::Number, false) | (ShownKind::Text, _) => self.quoted(own),
        }
    }

    /// As `COLUMN_DEFAULT` of `information_schema.columns` has it.
    pub fn in_information(&self, own: MySql) -> String {
        match (self.kind, own.is_mariadb) {
            (ShownKind::Text, true) => self.quoted(own),
            _ => self.text.clone(),
        }
    }

    fn quoted(&self, own: MySql) -> String {
        let text = self.text.replace('\'', "''");
        match own.plain_backslashes && own.is_mariadb {
            true => format!("'{text}'"),
            false => format!("'{}'", text.replace('\\', "\\\\")),
        }
    }
}
