//! Checks of the rules that need no server.

use std::collections::BTreeMap;

use column_value::{Collation, EqualityForm, LogicalType, Value, WholeType};
use semantics_postgres::{TextContext, ValueText, assign};

use super::leaks::{check_leakage, check_pad};
use super::{ColumnRule, Draws, Mode, Rules, RulesError};
use crate::Literal;

/// Longest name in PostgreSQL's catalogue, bytes (NAMEDATALEN - 1).
const NAME_BYTES_MAX: usize = 63;
/// What the name of every guard begins with.
const GUARD_PREFIX: &str = "strongroom_guard";
/// Longest name of a domain, bytes.
const DOMAIN_BYTES_MAX: usize = 64;
/// Columns that every table of PostgreSQL has (5.5 "System Columns").
const SYSTEM_COLUMNS: &[&str] = &["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "oid"];
/// Digits of a `numeric` that can be sorted: it must fit 64 bits as a scaled integer.
const ORDER_DIGITS_MAX: u16 = 18;

impl Rules {
    /// Finds rules that contradict themselves or each other, and rules that protect too little.
    ///
    /// # Errors
    /// All of them, in the order of their names.
    pub fn check(&self) -> Result<(), Vec<RulesError>> {
        let mut errors = Vec::new();
        for (table, columns) in &self.tables {
            if let Err(problem) = self.check_table_name(table) {
                errors.push(error(table, "*", problem));
            }
            if columns.is_empty() {
                let problem = "has no column: name one, or remove the table".to_owned();
                errors.push(error(table, "*", problem));
            }
            for (column, rule) in columns {
                for problem in [
                    check_column_name(column),
                    check_mode(rule),
                    check_bits(rule),
                    check_pad(rule),
                    check_equality(rule),
                    check_leakage(rule),
                    check_collation(rule),
                    check_domain_name(rule),
                    check_default(rule),
                    check_names_of_checks(rule),
                ] {
                    errors.extend(problem.err().map(|problem| error(table, column, problem)));
                }
            }
        }
        self.check_domains(&mut errors);
        self.check_checks(&mut errors);
        self.check_groups(&mut errors);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    fn check_table_name(&self, name: &str) -> Result<(), String> {
        let (schema, table) = Self::split_name(name);
        if table.contains('.') {
            return Err("has more than one dot: write table or schema.table".into());
        }
        for part in [schema, table] {
            check_name(part)?;
        }
        if schema.starts_with("pg_") || schema == "information_schema" {
            return Err(format!(
                "{schema} belongs to the server: only your own tables can be protected"
            ));
        }
        if name.contains('.') && schema == super::DEFAULT_SCHEMA && self.tables.contains_key(table)
        {
            return Err(format!(
                "is the same table as {table}: put their columns under one name"
            ));
        }
        Ok(())
    }

    /// The constraints of a table have names of their own.
    fn check_checks(&self, errors: &mut Vec<RulesError>) {
        for (table, columns) in &self.tables {
            let mut names: BTreeMap<&str, &str> = BTreeMap::new();
            for (column, rule) in columns {
                for name in rule.checks.keys() {
                    if let Some(other) = names.insert(name, column) {
                        let problem = format!(
                            "its check {name} has the name of one of {other}: a table has one \
                             constraint of a name"
                        );
                        errors.push(error(table, column, problem));
                    }
                }
            }
        }
    }

    fn check_domains(&self, errors: &mut Vec<RulesError>) {
        let mut domains: BTreeMap<&str, (&str, &str, &ColumnRule)> = BTreeMap::new();
        for (table, columns) in &self.tables {
            for (column, rule) in columns {
                let Some(domain) = rule.domain.as_deref() else {
                    continue;
                };
                let (first_table, first_column, first) =
                    *domains.entry(domain).or_insert((table, column, rule));
                let problem = if first.mode != rule.mode {
                    "another mode"
                } else if first.bits != rule.bits {
                    "other bits"
                } else if first.pad.unwrap_or_default() != rule.pad.unwrap_or_default() {
                    "another pad"
                } else if first.equality.unwrap_or_default() != rule.equality.unwrap_or_default() {
                    "another form of equality"
                } else if first.tokens() != rule.tokens() {
                    "another collation"
                } else if !comparable(first, rule) {
                    "a type that cannot be compared with it"
                } else {
                    continue;
                };
                errors.push(error(
                    table,
                    column,
                    format!(
                        "domain {domain:?} has {problem} at {first_table}.{first_column}: columns \
                         of one domain share their key, so mode, form of equality, collation, \
                         bits, pad and kind of type must be the same"
                    ),
                ));
            }
        }
    }
}

pub(super) fn error(table: &str, column: &str, problem: String) -> RulesError {
    RulesError::Column {
        table: table.to_owned(),
        column: column.to_owned(),
        problem,
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        Err("a name is empty".into())
    } else if name.len() > NAME_BYTES_MAX {
        Err(format!(
            "a name is longer than the server's {NAME_BYTES_MAX} bytes"
        ))
    } else if name.chars().any(char::is_control) {
        Err("a name has a control character".into())
    } else {
        Ok(())
    }
}

fn check_column_name(name: &str) -> Result<(), String> {
    check_name(name)?;
    if SYSTEM_COLUMNS.contains(&name) {
        return Err("is a column of the server's own: remove the rule".into());
    }
    Ok(())
}

fn check_mode(rule: &ColumnRule) -> Result<(), String> {
    let logical = rule.logical;
    match rule.mode {
        Mode::Random => Ok(()),
        Mode::Equality if logical == LogicalType::Json => {
            Err("json has no equality, not even in the server: use mode \"random\", or text".into())
        }
        Mode::Equality if logical.opaque().is_some() => Err(format!(
            "equal values of {logical} may have different bytes, so mode \"equality\" would not \
             find them: use mode \"random\"; the finisher compares what a query returns"
        )),
        Mode::Equality => Ok(()),
        Mode::Order => match logical {
            LogicalType::SmallInt
            | LogicalType::Integer
            | LogicalType::BigInt
            | LogicalType::Whole(_)
            | LogicalType::Real
            | LogicalType::Double
            | LogicalType::Date
            | LogicalType::Time(_)
            | LogicalType::SignedTime(_)
            | LogicalType::Timestamp(_)
            | LogicalType::TimestampTz(_) => Ok(()),
            LogicalType::Numeric(Some((precision, _))) if precision <= ORDER_DIGITS_MAX => Ok(()),
            LogicalType::Numeric(_) => Err(format!(
                "mode \"order\" needs a numeric of at most {ORDER_DIGITS_MAX} digits: declare \
                 numeric(precision,scale), or use mode \"random\" and let the proxy sort"
            )),
            LogicalType::Boolean
            | LogicalType::Text
            | LogicalType::Varchar(_)
            | LogicalType::Char(_)
            | LogicalType::Bytes
            | LogicalType::Enum(_)
            | LogicalType::Set(_)
            | LogicalType::Bits(_)
            | LogicalType::Uuid
            | LogicalType::Json => Err(format!(
                "{logical} has no mode \"order\": use \"equality\" or \"random\"; the proxy sorts \
                 what a query returns"
            )),
            LogicalType::Opaque(_) => Err(format!(
                "{logical} has no mode \"order\": use \"random\"; the finisher sorts what a query \
                 returns"
            )),
        },
    }
}

fn check_collation(rule: &ColumnRule) -> Result<(), String> {
    match rule.collation.as_deref() {
        None => Ok(()),
        Some(_) if !rule.logical.is_text() => Err(format!(
            "{} has no collation: only texts are compared by one",
            rule.logical
        )),
        Some("binary") => Ok(()),
        Some(other) => match other.parse::<Collation>() {
            Err(()) => Err(format!(
                "collation {other:?} is not supported: write collation = \"binary\", with which \
                 texts are equal if their bytes are, or one of {}",
                Collation::ALL.map(Collation::name).join(", ")
            )),
            Ok(_) if rule.mode != Mode::Equality => Err(format!(
                "collation {other:?} belongs to mode \"equality\": leave it out; the finisher \
                 compares texts by the collation of their table"
            )),
            Ok(own) if !own.pads() && matches!(rule.logical, LogicalType::Char(_)) => Err(format!(
                "a {} has no blanks at its end, for which collation {other:?} counts them: use \
                 varchar(n)",
                rule.logical
            )),
            Ok(_) => Ok(()),
        },
    }
}

/// Bits of the greatest number of the type, as `bits` counts them. None: not a type of whole
/// numbers.
fn bits_of(logical: LogicalType) -> Option<u8> {
    match logical {
        LogicalType::SmallInt => Some(15),
        LogicalType::Integer => Some(31),
        LogicalType::BigInt | LogicalType::Numeric(_) => Some(63),
        LogicalType::Whole(WholeType::UnsignedBig) => Some(63),
        LogicalType::Whole(whole) if whole.is_unsigned() => Some(whole.bits()),
        LogicalType::Whole(whole) => Some(whole.bits() - 1),
        LogicalType::Boolean
        | LogicalType::Real
        | LogicalType::Double
        | LogicalType::Text
        | LogicalType::Varchar(_)
        | LogicalType::Char(_)
        | LogicalType::Bytes
        | LogicalType::Date
        | LogicalType::Time(_)
        | LogicalType::SignedTime(_)
        | LogicalType::Enum(_)
        | LogicalType::Set(_)
        | LogicalType::Bits(_)
        | LogicalType::Timestamp(_)
        | LogicalType::TimestampTz(_)
        | LogicalType::Uuid
        | LogicalType::Json
        | LogicalType::Opaque(_) => None,
    }
}

fn check_equality(rule: &ColumnRule) -> Result<(), String> {
    let Some(equality) = rule.equality else {
        return Ok(());
    };
    if rule.mode != Mode::Equality {
        return Err(
            "`equality` belongs to mode \"equality\": remove it, or change the mode".into(),
        );
    }
    if equality == EqualityForm::Authenticated {
        return Ok(());
    }
    if !equality.is_for(rule.logical) {
        return Err(format!(
            "compact equality is for integers, dates and times: {} is kept as bytes, so leave \
             `equality` out",
            rule.logical
        ));
    }
    if !rule.checks.is_empty() {
        return Err(
            "a value in compact equality has no room for the mark of a check that it fails: \
             leave `equality` out, or remove the checks"
                .into(),
        );
    }
    Ok(())
}

fn check_bits(rule: &ColumnRule) -> Result<(), String> {
    let Some(bits) = rule.bits else {
        return Ok(());
    };
    if rule.mode != Mode::Order {
        return Err("`bits` belongs to mode \"order\": remove it, or change the mode".into());
    }
    match bits_of(rule.logical) {
        // A wrong mode has been named already.
        None if check_mode(rule).is_err() => Ok(()),
        None => Err(format!(
            "{} cannot be cut to bits: remove `bits`",
            rule.logical
        )),
        Some(most) if (1..=most).contains(&bits) => Ok(()),
        Some(most) => Err(format!("`bits` of {} is from 1 to {most}", rule.logical)),
    }
}

fn check_domain_name(rule: &ColumnRule) -> Result<(), String> {
    let Some(domain) = rule.domain.as_deref() else {
        return Ok(());
    };
    if rule.mode == Mode::Random {
        return Err(
            "`domain` is for columns that are compared, and mode \"random\" compares \
                    nothing: remove it, or use mode \"equality\" or \"order\""
                .into(),
        );
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if domain.is_empty() || domain.len() > DOMAIN_BYTES_MAX || !domain.chars().all(fits) {
        return Err(format!(
            "a domain's name has 1 to {DOMAIN_BYTES_MAX} letters, digits, `-` and `_`"
        ));
    }
    Ok(())
}

/// Whether values of both rules have one canonical form, so that equal values have equal
/// ciphertexts, and in mode `order` greater ones greater.
fn comparable(left: &ColumnRule, right: &ColumnRule) -> bool {
    use LogicalType::{Char, Numeric, Text, Varchar};
    let are_whole = |left: LogicalType, right: LogicalType| {
        let is_alone = |own| matches!(own, LogicalType::Whole(own) if own.is_alone());
        let is_mixed = left != right && (is_alone(left) || is_alone(right));
        left.is_whole() && right.is_whole() && !is_mixed
    };
    if left.mode == Mode::Order {
        // How many bits a value has is part of what its digits mean.
        return match (left.logical, right.logical) {
            (left_type, right_type) if left.bits.is_some() && left_type.is_whole() => {
                are_whole(left_type, right_type)
            }
            (Numeric(Some((_, left_scale))), Numeric(Some((_, right_scale))))
                if left.bits.is_some() =>
            {
                left_scale == right_scale
            }
            (left, right) => left.with_all_digits() == right.with_all_digits(),
        };
    }
    match (left.logical, right.logical) {
        (left, right) if are_whole(left, right) => true,
        (Numeric(_), Numeric(_)) | (Text | Varchar(_), Text | Varchar(_)) | (Char(_), Char(_)) => {
            true
        }
        (left, right) => left.with_all_digits() == right.with_all_digits(),
    }
}

fn check_names_of_checks(rule: &ColumnRule) -> Result<(), String> {
    let is_drawn = rule
        .default
        .as_deref()
        .is_some_and(|own| Draws::parse(own).is_some());
    if is_drawn && !rule.checks.is_empty() {
        return Err(
            "has a check, and values of a sequence, which nobody could check before they are \
             drawn: remove the check"
                .to_owned(),
        );
    }
    for name in rule.checks.keys() {
        check_name(name)?;
        if name.starts_with(GUARD_PREFIX) {
            return Err(format!(
                "its check {name} has the name of a guard, which the proxy adds by itself: give it \
                 another name"
            ));
        }
    }
    Ok(())
}

fn check_default(rule: &ColumnRule) -> Result<(), String> {
    match rule.default.as_deref() {
        None => Ok(()),
        Some(text) => parse_default(text, rule.logical).map(|_| ()),
    }
}

/// A default as the rule or the DDL writes it.
///
/// # Errors
/// What is wrong and what to do. The message leaves out the text, which may be confidential.
pub fn parse_default(text: &str, logical: LogicalType) -> Result<Literal, String> {
    let text = text.trim();
    if Draws::parse(text).is_some() {
        return match Draws::fits(logical) {
            true => Ok(Literal::Drawn),
            false => Err(format!(
                "a sequence has no values of type {logical}: use smallint, integer or bigint"
            )),
        };
    }
    let lower = text.to_ascii_lowercase();
    match moment_digits(&lower) {
        None => {}
        Some(digits) if digits.is_none() || digits == logical.second_digits() => {
            return default_of_time(logical);
        }
        Some(_) => {
            return Err(format!(
                "the default is a time with other digits of a second than those of {logical}: \
                 change one of them"
            ));
        }
    }
    let literal = match lower.as_str() {
        "null" => Literal::Null,
        "true" => Literal::Boolean(true),
        "false" => Literal::Boolean(false),
        "current_date" if logical == LogicalType::Date => return Ok(Literal::TransactionTime),
        "current_time" | "localtime" if matches!(logical, LogicalType::Time(_)) => {
            return Ok(Literal::TransactionTime);
        }
        _ => match (unquote(text), bits_of_default(text, logical)) {
            (Some(content), _) => Literal::Text(content),
            (None, Some(number)) => Literal::Number(number.to_string()),
            (None, None) if is_number(text) => Literal::Number(text.to_owned()),
            (None, None) => {
                return Err(
                    "the default is neither a number, a text in quotes, TRUE, FALSE, NULL \
                            nor CURRENT_TIMESTAMP, serial or nextval('…'): the proxy computes no \
                            other"
                        .into(),
                );
            }
        },
    };
    match &literal {
        // What these are to MySQL is looked at with the rules for it.
        literal if logical.is_of_mysql() && *literal != Literal::TransactionTime => {
            return Ok(literal.clone());
        }
        Literal::Boolean(_) if logical != LogicalType::Boolean => {}
        Literal::Null | Literal::Boolean(_) | Literal::TransactionTime | Literal::Drawn => {
            return Ok(literal);
        }
        Literal::Number(_) if !logical.is_number() => {}
        // What is no value is refused when a row is written.
        Literal::Text(_) if logical.opaque().is_some() => return Ok(literal),
        // To MySQL it is one.
        Literal::Text(text) if logical.is_moment() && is_zero_date(text) => return Ok(literal),
        Literal::Number(_) | Literal::Text(_) | Literal::Bytes(_) => {
            if constant_value(&literal, logical).is_some() {
                return Ok(literal);
            }
        }
    }
    Err(format!(
        "the default is no value of type {logical}: write it in quotes, or change it"
    ))
}

/// Whether a text may be the zero date of MySQL, with or without its time.
fn is_zero_date(text: &str) -> bool {
    let is_mark = |byte: u8| matches!(byte, b'-' | b':' | b'.' | b' ');
    text.starts_with("0000-00-00") && text.bytes().all(|byte| byte == b'0' || is_mark(byte))
}

/// Digits of a second of a moment as SQL writes it, in small letters: `now()`,
/// `current_timestamp(3)`. Some(None): it says none. None: it is another expression.
pub fn moment_digits(text: &str) -> Option<Option<u8>> {
    match text {
        "current_timestamp"
        | "current_timestamp()"
        | "now()"
        | "localtimestamp"
        | "transaction_timestamp()" => return Some(None),
        _ => {}
    }
    let behind = ["current_timestamp(", "now("].into_iter();
    let behind = behind.filter_map(|start| text.strip_prefix(start)).next()?;
    let digits = behind.strip_suffix(')')?.trim();
    match digits.as_bytes() {
        [digit @ b'0'..=b'6'] => Some(Some(digit - b'0')),
        _ => None,
    }
}

/// The value of a number or text as a column of the type stores it; None: the type has no such
/// value, or the literal is no constant.
pub fn constant_value(literal: &Literal, logical: LogicalType) -> Option<Value> {
    // A constant that depends on settings is read as the server reads it without any.
    let context = TextContext::default();
    let (value, from) = match literal {
        Literal::Number(digits) => Value::from_number(digits).ok()?,
        Literal::Text(text) => (Value::from_text(text, logical, &context).ok()?, logical),
        Literal::Null
        | Literal::Boolean(_)
        | Literal::Bytes(_)
        | Literal::TransactionTime
        | Literal::Drawn => {
            return None;
        }
    };
    assign(value, from, logical, &context).ok()
}

fn default_of_time(logical: LogicalType) -> Result<Literal, String> {
    match logical {
        LogicalType::Date
        | LogicalType::Time(_)
        | LogicalType::Timestamp(_)
        | LogicalType::TimestampTz(_) => Ok(Literal::TransactionTime),
        _ => Err(format!(
            "the default is a time, and the type {logical}: change one of them"
        )),
    }
}

/// The number of `b'101'`, as MySQL has it. None: it is something else.
fn bits_of_default(text: &str, logical: LogicalType) -> Option<u64> {
    let digits = text.strip_prefix(['b', 'B'])?.strip_prefix('\'')?;
    let digits = digits.strip_suffix('\'')?;
    let is_known = matches!(logical, LogicalType::Bits(_)) && !digits.starts_with('+');
    is_known.then(|| u64::from_str_radix(digits, 2).ok())?
}

/// The content of `'…'` without doubled quotes; None: the text is something else.
fn unquote(text: &str) -> Option<String> {
    let inside = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let without_pairs = inside.replace("''", "");
    (!without_pairs.contains('\'')).then(|| inside.replace("''", "'"))
}

/// Whether a text is a numeric constant of SQL, with a sign.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.chars().any(|c| c.is_ascii_digit())
        && digits.parse::<f64>().is_ok()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
