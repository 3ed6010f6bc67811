//! `real` and `double precision`: their texts.

use std::fmt::Write as _;

use sqlstate::SqlState;

use crate::value::{Value, ValueError};

/// Reads a `double precision`, or with `single` a `real`.
///
/// # Errors
/// 22P02: no number. 22003: too large, or too small to be told from 0.
pub fn parse(text: &str, single: bool) -> Result<Value, ValueError> {
    let name = if single { "real" } else { "double precision" };
    let text = text.trim_matches(crate::space::is_space);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_word = ["nan", "inf", "infinity"]
        .iter()
        .any(|word| unsigned.eq_ignore_ascii_case(word));
    if !is_word && !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Err(ValueError::syntax(name));
    }
    let number = if single {
        text.parse::<f32>().map(f64::from)
    } else {
        text.parse::<f64>()
    }
    .map_err(|_| ValueError::syntax(name))?;
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or(unsigned);
    let lost = number == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    if !is_word && (number.is_infinite() || lost) {
        let message = format!("value is out of range for type {name}");
        return Err(ValueError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            message,
        ));
    }
    Ok(Value::Float(number))
}

/// Writes a number as `extra_float_digits` says: above 0 with the fewest digits that are read back
/// as the same one, else with those that every number of the type has, and so many more or less.
pub fn write(number: f64, single: bool, extra_digits: i32, out: &mut String) {
    if number.is_nan() {
        out.push_str("NaN");
        return;
    }
    if number.is_infinite() {
        out.push_str(if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        });
        return;
    }
    // `FLT_DIG` and `DBL_DIG`
    let own_digits: i32 = if single { 6 } else { 15 };
    let (digits, fixed_below) = if extra_digits > 0 {
        (shortest(number, single), own_digits)
    } else {
        let count = own_digits.saturating_add(extra_digits).max(1);
        (rounded(number, count), count)
    };
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let result = if (-4..fixed_below).contains(&exponent) {
        write!(out, "{}", Plain(mantissa, exponent))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs())
    };
    result.expect("writing to a String does not fail");
}

/// So many digits as `%.*g` of C gives: without zeros at the end of the fraction.
fn rounded(number: f64, count: i32) -> String {
    let places = usize::try_from(count - 1).unwrap_or(0);
    let text = format!("{number:.places$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => {
            let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
            format!("{mantissa}e{exponent}")
        }
        _ => text,
    }
}

/// Sign, digits with a point behind the first, and exponent: the fewest digits that lie *within*
/// the numbers that are read as this one. Rust also takes a number on their border, which is read
/// as the even one of two; PostgreSQL leaves that out, in case a reader rounds otherwise. Of two
/// numbers that are equally near, both PostgreSQL and exact formatting take the even one.
fn shortest(number: f64, single: bool) -> String {
    let shortest = if single {
        format!("{:e}", number as f32)
    } else {
        format!("{number:e}")
    };
    let digits = |text: &str| {
        let mantissa = text.split('e').next().unwrap_or(text);
        mantissa.bytes().filter(u8::is_ascii_digit).count()
    };
    let most = if single { 9 } else { 17 };
    for count in digits(&shortest)..=most {
        let places = count - 1;
        let nearest = if single {
            format!("{:.places$e}", number as f32)
        } else {
            format!("{number:.places$e}")
        };
        if is_within(&nearest, number, single) {
            return nearest;
        }
        // Below a power of two neighbours are nearer: the other side may have the digits.
        if count == digits(&shortest) && is_within(&shortest, number, single) {
            return shortest;
        }
    }
    shortest
}

/// Whether the text, and what lies a trace to either side of it, are read as the number.
fn is_within(text: &str, number: f64, single: bool) -> bool {
    let reads = |text: &str| {
        if single {
            text.parse() == Ok(number as f32)
        } else {
            text.parse() == Ok(number)
        }
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", mantissa),
    };
    let digits = unsigned.replace('.', "");
    let point = digits.len() as i64 - 1;
    let (Ok(whole), Ok(exponent)) = (digits.parse::<u64>(), exponent.parse::<i64>()) else {
        return true;
    };
    let Some(below) = whole.checked_sub(1) else {
        return reads(text);
    };
    let exponent = exponent - point;
    reads(text)
        && reads(&format!("{sign}{whole}.00000000000000000001e{exponent}"))
        && reads(&format!("{sign}{below}.99999999999999999999e{exponent}"))
}

/// A mantissa and exponent as a number without exponent.
struct Plain<'a>(&'a str, i32);

impl std::fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let &Self(mantissa, exponent) = self;
        let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
        if unsigned.len() < mantissa.len() {
            f.write_char('-')?;
        }
        let (first, rest) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let Ok(shift) = usize::try_from(exponent) else {
            let zeros = exponent.unsigned_abs() as usize - 1;
            return write!(f, "0.{:0<zeros$}{first}{rest}", "");
        };
        if rest.len() <= shift {
            let zeros = shift - rest.len();
            return write!(f, "{first}{rest}{:0<zeros$}", "");
        }
        write!(f, "{first}{}.{}", &rest[..shift], &rest[shift..])
    }
}
