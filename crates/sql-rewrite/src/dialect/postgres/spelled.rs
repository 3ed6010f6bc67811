//! What a text spells with escapes and with constants in parts, as its constants mean it.
//!
//! A constant may hold SQL with constants of its own, in which escapes are doubled. So each way of
//! reading is applied to what every other has read, until nothing new comes. Escapes are read
//! everywhere, not only where the server would: that shows too many names, never too few.

use crate::dialect::lexeme::{is_word, lower};

/// So many readings of a text are looked into, of so many bytes together.
const READINGS_MAX: usize = 64;
const SIZE_MAX: usize = 4 * 1024 * 1024;

/// Statements whose constants are values: no code, and no names but those of what is there.
const OF_VALUES: &[&str] = &[
    "select", "with", "values", "table", "insert", "update", "delete", "merge", "explain",
    "declare",
];

/// All readings of a statement, given its first word. None: it may mean more than they show.
pub(crate) fn readings(text: &str, first: &str) -> Option<Vec<String>> {
    let is_doubtful = !OF_VALUES.contains(&first) || {
        let lower = lower(text);
        let mut words =
            lower.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        // A name in quotes with escapes is a name wherever it stands, also of a function.
        lower.contains("u&\"") || words.any(|word| word == "uescape")
    };
    if is_doubtful {
        return None;
    }
    let mut readings = vec![text.to_owned()];
    let mut next = 0;
    let mut size = 0;
    while let Some(text) = readings.get(next).cloned() {
        next += 1;
        let of_inner_quotes = text.replace("''", "'");
        let read = [joined(&text), escaped(&text), unicode_escaped(&text)];
        for reading in read.into_iter().chain([of_inner_quotes]) {
            if !readings.contains(&reading) {
                size += reading.len();
                readings.push(reading);
            }
        }
        if readings.len() > READINGS_MAX || size > SIZE_MAX {
            return None;
        }
    }
    Some(readings)
}

/// Constants in parts become one (PostgreSQL 4.1.2.1).
fn joined(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match continuation(bytes, at) {
            Some(next) => at = next,
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Behind the next part of a constant's quote, if its part ends here.
fn continuation(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at] != b'\'' {
        return None;
    }
    let mut has_line = false;
    let mut in_comment = false;
    for next in at + 1..bytes.len() {
        match bytes[next] {
            b'\n' | b'\r' => {
                in_comment = false;
                has_line = true;
            }
            _ if in_comment => {}
            b'\'' => return has_line.then_some(next + 1),
            b' ' | b'\t' | 0x0b | 0x0c => {}
            b'-' if bytes[next..].starts_with(b"--") => in_comment = true,
            _ => return None,
        }
    }
    None
}

/// Escapes of `E'…'` (PostgreSQL 4.1.2.2).
fn escaped(text: &str) -> String {
    replaced(text, |rest| {
        let digits = |from: usize, max: usize, radix: u32| {
            let all = rest[from.min(rest.len())..].iter().take(max);
            let count = all
                .take_while(|byte| char::from(**byte).is_digit(radix))
                .count();
            let digits = std::str::from_utf8(&rest[from.min(rest.len())..][..count]).ok()?;
            Some((u32::from_str_radix(digits, radix).ok()?, from + count))
        };
        let byte = |(number, length): (u32, usize)| (vec![number.to_le_bytes()[0]], length);
        let letter = |(number, length): (u32, usize)| {
            let letter = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            (letter.to_string().into_bytes(), length)
        };
        let number = match rest.first()? {
            b'0'..=b'7' => digits(0, 3, 8).map(byte),
            b'x' => digits(1, 2, 16).map(byte),
            b'u' => digits(1, 4, 16)
                .filter(|(_, length)| *length == 5)
                .map(letter),
            b'U' => digits(1, 8, 16)
                .filter(|(_, length)| *length == 9)
                .map(letter),
            // A new line between quotes makes one constant of two.
            b'n' | b'r' => Some((b"\n".to_vec(), 1)),
            b'b' | b'f' | b't' => Some((b" ".to_vec(), 1)),
            _ => None,
        };
        Some(number.unwrap_or_else(|| (vec![rest[0]], 1)))
    })
}

/// Escapes of `U&'…'` (PostgreSQL 4.1.2.3).
fn unicode_escaped(text: &str) -> String {
    replaced(text, |rest| {
        let (from, count) = match rest.first()? {
            b'\\' => return Some((b"\\".to_vec(), 1)),
            b'+' => (1, 6),
            _ => (0, 4),
        };
        let digits = std::str::from_utf8(rest.get(from..from + count)?).ok()?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let letter = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
        Some((letter.to_string().into_bytes(), from + count))
    })
}

/// A text with what stands in place of backslashes: bytes, and how many bytes behind the backslash
/// they stand for.
fn replaced(text: &str, of: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let found = match bytes[at] {
            b'\\' => of(&bytes[at + 1..]),
            _ => None,
        };
        match found {
            Some((read, length)) => {
                out.extend(read);
                at += 1 + length;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether a text, also given in small letters, may spell a name so that its letters do not stand
/// in it: `U&"…"`, `U&'…'`, `E'…'` with an escape that is a part of a word, and a constant that
/// goes on in the next line.
pub(crate) fn may_hide_names(text: &str, lower: &str) -> bool {
    let bytes = lower.as_bytes();
    let starts = |at: usize| at == 0 || !is_word(bytes[at - 1]);
    let unicode = (0..bytes.len())
        .any(|at| starts(at) && matches!(bytes.get(at..at + 3), Some(b"u&\"" | b"u&'")));
    let escape_string =
        (0..bytes.len()).any(|at| starts(at) && bytes.get(at..at + 2) == Some(b"e'"));
    unicode || (escape_string && spells(text)) || has_continuation(bytes)
}

/// Whether a text has an escape that is a part of a word: the number of a character, or a sign that
/// stands for itself (`\s` is `s`, PostgreSQL 4.1.2.2).
fn spells(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\'
            && let Some(next) = bytes.next()
            && (is_word(next) || next == b'$')
            && !matches!(next, b'b' | b'f' | b'n' | b'r' | b't')
        {
            return true;
        }
    }
    false
}

/// `'…'`, a new line, `'…'`: one constant. Comments may stand between.
fn has_continuation(bytes: &[u8]) -> bool {
    (0..bytes.len()).any(|at| continuation(bytes, at).is_some())
}

#[cfg(test)]
mod tests {
    use super::readings;

    fn shows(text: &str, name: &str) -> bool {
        let all = readings(text, "select").expect("no doubt");
        all.iter()
            .any(|reading| reading.to_lowercase().contains(name))
    }

    #[test]
    fn names_are_shown_however_they_are_spelled() {
        for text in [
            r"select E'\x63ustomer'",
            r"select E'\143ustome\162'",
            r"select E'cu\stom\er'",
            r"select E'\u0063\U00000075stomer'",
            r"select U&'\0063\+000075stomer'",
            r"select f(E'select E\'\\x63ust\\omer\'')",
            r"select f(E'select U&\'\\0063ust\x6fmer\'')",
            "select f('cust'\n'omer')",
            "select f('cust' -- and\r\n  'omer')",
            "select f(E'cus\\x74'\n'o\\mer')",
            "select f(E'''cust''\\n''omer''')",
            r"select '\', E'\x63ustomer'",
            r"select 'a\\\', E'\\\x63ustomer'",
        ] {
            assert!(shows(text, "customer"), "{text}");
        }
        assert!(shows(r"select E'k\xc3\xbcnde'", "künde"));
        for text in [
            r"select E'\x64ustomer'",
            "select 'cust', 'omer'",
            r"select E'cust\nomer'",
        ] {
            assert!(!shows(text, "customer"), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_value_stays_in_doubt() {
        for (text, first) in [
            (r"do E'\x63'", "do"),
            (
                r"create function f() returns int language sql as E'\x63'",
                "create",
            ),
            (r#"select U&"\0063"('x')"#, "select"),
            ("select U&'!0063' UESCAPE '!'", "select"),
        ] {
            assert_eq!(readings(text, first), None, "{text}");
        }
        let deep = format!("select E'{}x63'", r"\".repeat(1 << 12));
        let many = readings(&deep, "select").expect("halved each time");
        assert!(many.len() < 40, "{}", many.len());
    }
}
