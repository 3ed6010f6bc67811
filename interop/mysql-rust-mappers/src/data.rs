//! The values that are written.

use bigdecimal::BigDecimal;
use chrono::{NaiveDate, NaiveDateTime};

/// In each text.
const CANARY: &str = "canary-59d2-in-plain-text";

pub fn text(of: impl std::fmt::Display) -> String {
    format!("{CANARY} {of}")
}

pub fn mail(number: u32) -> Option<String> {
    (number != 4).then(|| format!("{CANARY}{number}@example.com"))
}

pub fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

pub fn born(number: u32) -> Option<NaiveDate> {
    (number != 4).then(|| date(1950 + number as i32 * 7, number + 1, 3))
}

pub fn made() -> NaiveDateTime {
    date(2023, 11, 14)
        .and_hms_micro_opt(22, 13, 20, 125_000)
        .unwrap()
}

pub fn title(number: u32) -> String {
    text(match number % 5 {
        0 => format!("Almanac 100% of {number}"),
        _ => format!("novel {number}"),
    })
}

pub fn price(number: u32) -> Option<BigDecimal> {
    (number % 7 != 0).then(|| format!("{number}.50").parse().unwrap())
}

pub fn published(number: u32) -> NaiveDateTime {
    let day = date(2000 + number as i32 % 4, number % 12 + 1, 3);
    day.and_hms_opt(number, 0, 0).unwrap()
}

pub fn facts(number: u32) -> Option<serde_json::Value> {
    (number % 6 != 0).then(|| serde_json::json!({"pages": number * 10, "kind": number % 2}))
}
