//! `real` and `double precision`: their texts.

use std::fmt::Write as _;

use crate::value::{Value, ValueError};

/// Reads a `double precision`, or with `single` a `real`.
///
/// # Errors
/// 22P02: no number. 22003: too large, or too small to be told from 0.
pub(crate) fn parse(text: &str, single: bool) -> Result<Value, ValueError> {
    let name = if single { "real" } else { "double precision" };
    let text = text.trim_matches(crate::text::is_space);
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
        return Err(ValueError::new("22003", message));
    }
    Ok(Value::Float(number))
}

/// Writes the fewest digits that are read back as the same number (`extra_float_digits` 1).
pub(crate) fn write(number: f64, single: bool, out: &mut String) {
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
    // Sign, digits with a point behind the first, exponent.
    let shortest = if single {
        format!("{:e}", number as f32)
    } else {
        format!("{number:e}")
    };
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let fixed_below = if single { 6 } else { 15 };
    let result = if (-4..fixed_below).contains(&exponent) {
        write!(out, "{}", Plain(mantissa, exponent))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs())
    };
    result.expect("writing to a String does not fail");
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
