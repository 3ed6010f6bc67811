//! What both mappers write, and how they show what they get.

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde::Serialize;
use uuid::Uuid;

/// In each text.
pub const CANARY: &str = "canary-59d2-in-plain-text";

/// Writes an answer; of an error what `told` makes of it.
pub fn show<T: Serialize, E>(what: &str, answer: Result<T, E>, told: impl FnOnce(E) -> String) {
    let answer = match answer {
        Ok(answer) => serde_json::to_string(&answer).unwrap(),
        Err(error) => serde_json::to_string(&told(error)).unwrap(),
    };
    println!("{what}\t{answer}");
}

pub fn text(of: impl std::fmt::Display) -> String {
    format!("{CANARY} {of}")
}

pub fn key(number: u32) -> Uuid {
    Uuid::parse_str(&format!("59d20000-0000-4000-8000-{number:012}")).unwrap()
}

pub fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

/// Name, mail, born, active of an author.
pub fn author(number: u32) -> (String, Option<String>, Option<NaiveDate>, bool) {
    let born = date(1950 + number as i32 * 7, number + 1, 3);
    let letter = char::from(b'a' + number as u8).to_string();
    let mail = format!("{CANARY}{number}@example.com");
    (
        text(letter.repeat(3)),
        (number != 4).then_some(mail),
        (number != 4).then_some(born),
        number % 2 == 0,
    )
}

pub fn title(number: u32) -> String {
    text(if number % 5 == 0 {
        format!("Almanac 100% of {number}")
    } else {
        format!("novel {number}")
    })
}

pub fn price(number: u32) -> Option<String> {
    (number % 7 != 0).then(|| format!("{number}.50"))
}

pub fn published(number: u32) -> NaiveDateTime {
    date(2000 + number as i32 % 4, number % 12 + 1, 3)
        .and_hms_opt(number, 0, 0)
        .unwrap()
}

pub fn made() -> DateTime<chrono::Utc> {
    DateTime::from_timestamp(1_700_000_000, 0).unwrap()
}

pub fn facts(number: u32) -> Option<serde_json::Value> {
    (number % 6 != 0).then(|| serde_json::json!({"pages": number * 10, "kind": text(number % 2)}))
}
