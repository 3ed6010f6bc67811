//! Converts real numbers to text and back without loss.

/// A real number in SQLite's format: always with a decimal point, and with an exponent below 1e-4
/// and from 1e17 on. It has the fewest digits that identify the number, whereas SQLite sometimes
/// writes 17.
pub fn display(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        return "0.0".to_owned();
    }
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let sign = if value < 0.0 { "-" } else { "" };
    if !(-4..17).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}.{rest}e{exponent_sign}{:02}", exponent.abs());
    }
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{sign}{digits:0<whole$}.0");
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}

/// A literal that SQLite reads back as exactly this number.
pub fn literal(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "9.0e+999" } else { "-9.0e+999" }.to_owned();
    }
    display(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::Connection;

    fn sqlite_text(value: f64) -> String {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .query_row("SELECT CAST(?1 AS TEXT)", [value], |row| row.get(0))
            .unwrap()
    }

    fn sqlite_reads(literal: &str) -> f64 {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .query_row(&format!("SELECT {literal}"), [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn everyday_numbers_look_as_in_sqlite() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.1,
            0.5,
            100.5,
            1e15,
            1e16,
            1e17,
            1e-4,
            1e-5,
            0.1 + 0.2,
            1e23,
            1e100,
            1.5e-7,
            123456.789,
            9007199254740993.0,
            -12345678901234567.0,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        for number in numbers {
            assert_eq!(display(number), sqlite_text(number));
        }
    }

    proptest! {
        #[test]
        fn decimals_look_as_in_sqlite(mantissa in -1_000_000i64..1_000_000, shift in 0..8i32) {
            let number = mantissa as f64 / 10f64.powi(shift);
            prop_assert_eq!(display(number), sqlite_text(number));
        }

        #[test]
        fn a_literal_is_exact(number in any::<f64>().prop_filter("stored", |n| !n.is_nan())) {
            prop_assert_eq!(sqlite_reads(&literal(number)), number);
        }
    }
}
