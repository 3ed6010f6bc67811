//! Texts of bytes (`_binary'…'`), which need not be UTF-8, as hexadecimal ones of the same meaning.
//!
//! Drivers write bytes so where they put values into texts themselves. A server takes `_binary
//! x'00'` for the same text, also where it is compared with a number.

use std::borrow::Cow;

use sqlparser::ast::Ident;

use super::MySql;

/// The character set that a text of bytes has.
pub(crate) const INTRODUCER: &str = "_binary";
/// Stand in the plain form before bytes whose meaning depends on what is beside them. For MariaDB
/// `x'00'` is a text also beside a number, and `0x00` a number there: each is sent as it came.
pub(super) const BARE_TEXT: &str = "_strongroom_text";
pub(super) const BARE_NUMBER: &str = "_strongroom_number";
/// The same of `b'101'` and `0b101`, whose digits are bits.
pub(super) const BARE_BITS: &str = "_strongroom_bits";
pub(super) const BARE_BIT_NUMBER: &str = "_strongroom_bit_number";

/// What was around the digits of bare bytes.
const BARE: [(&str, &str, &str); 4] = [
    (BARE_TEXT, "X'", "'"),
    (BARE_NUMBER, "0x", ""),
    (BARE_BITS, "b'", "'"),
    (BARE_BIT_NUMBER, "0b", ""),
];

/// Whether a prefix is that of bytes in the plain form.
pub(crate) fn is_prefix(prefix: &Ident) -> bool {
    let own = prefix.value.as_str();
    own == INTRODUCER || BARE.iter().any(|(bare, ..)| *bare == own)
}

/// Whether a prefix is that of digits which are bits.
pub(super) fn has_bits(prefix: &str) -> bool {
    [BARE_BITS, BARE_BIT_NUMBER].contains(&prefix)
}

/// The bytes of what stands behind a prefix of the plain form.
pub(crate) fn of_digits(prefix: &str, digits: &str) -> Option<Vec<u8>> {
    let (size, radix) = match has_bits(prefix) {
        true => (8, 2),
        false => (2, 16),
    };
    // Bits fill the first byte from its low end.
    let missing = digits.len().next_multiple_of(size) - digits.len();
    let digits = format!("{}{digits}", "0".repeat(missing));
    let byte = |start: usize| u8::from_str_radix(digits.get(start..start + size)?, radix).ok();
    (0..digits.len()).step_by(size).map(byte).collect()
}

/// The number that bytes are beside a number to servers of both products. None: they may be a text
/// there, or a number below zero (MariaDB finds no bits by `0xffffffffffffffff`), or are too many.
pub(crate) fn number(prefix: &str, bytes: &[u8]) -> Option<u64> {
    let is_number = prefix == BARE_NUMBER || has_bits(prefix);
    let fits = is_number && bytes.len() <= size_of::<u64>();
    let number = fits.then(|| {
        bytes
            .iter()
            .fold(0_u64, |all, byte| all << 8 | u64::from(*byte))
    });
    number.filter(|own| i64::try_from(*own).is_ok())
}

/// A part of a statement in the plain form, with bare bytes as they came.
pub(super) fn as_they_came(text: String) -> String {
    if !BARE.iter().any(|(bare, ..)| text.contains(bare)) {
        return text;
    }
    // The plain form has no comments, names in backticks, and backslashes that are letters.
    let plain = MySql {
        ansi_quotes: true,
        plain_backslashes: true,
        ..MySql::default()
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(end) = part_end(text.as_bytes(), at, plain) {
        let behind = text[end..].strip_prefix(" X'");
        let digits = behind.and_then(|behind| behind.split_once('\'').map(|(digits, _)| digits));
        let bare = BARE.iter().find(|(bare, ..)| *bare == &text[at..end]);
        match (bare, digits) {
            (Some((_, before, behind)), Some(digits)) => {
                out.push_str(&format!("{before}{digits}{behind}"));
                at = end + digits.len() + 4;
            }
            _ => {
                out.push_str(&text[at..end]);
                at = end;
            }
        }
    }
    out.push_str(&text[at..]);
    out
}

/// The text of a client in UTF-8, with each text of bytes in hexadecimal. None: other parts of it
/// are no UTF-8, or it has no end.
pub fn in_hexadecimal(text: &[u8], dialect: MySql) -> Option<Cow<'_, str>> {
    let has_introducer = text
        .windows(INTRODUCER.len())
        .any(|part| part.eq_ignore_ascii_case(INTRODUCER.as_bytes()));
    if !has_introducer {
        return std::str::from_utf8(text).ok().map(Cow::Borrowed);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let end = part_end(text, at, dialect)?;
        if is_word(byte) {
            let apart = text[end..].iter().take_while(|byte| is_blank(**byte));
            let start = end + apart.count();
            let is_text = match text.get(start) {
                Some(b'\'') => true,
                Some(b'"') => !dialect.ansi_quotes,
                _ => false,
            };
            if is_text && text[at..end].eq_ignore_ascii_case(INTRODUCER.as_bytes()) {
                let (end, value) = quoted(text, start, dialect)?;
                out.extend_from_slice(INTRODUCER.as_bytes());
                out.extend_from_slice(b" x'");
                out.extend_from_slice(hexadecimal(&value).as_bytes());
                out.push(b'\'');
                at = end;
                continue;
            }
        }
        out.extend_from_slice(text.get(at..end)?);
        at = end;
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

/// Where a part of a text ends: a text or name in quotes, a comment, a word, or one other byte.
/// None: it has no end.
pub(super) fn part_end(text: &[u8], at: usize, dialect: MySql) -> Option<usize> {
    Some(match *text.get(at)? {
        b'\'' | b'"' | b'`' => quoted(text, at, dialect)?.0,
        b'#' => line_end(text, at),
        b'-' if text[at..].starts_with(b"--") && is_comment(text.get(at + 2)) => line_end(text, at),
        b'/' if text[at..].starts_with(b"/*") => {
            let inside = text.get(at + 2..)?;
            at + 4 + inside.windows(2).position(|pair| pair == b"*/")?
        }
        byte if is_word(byte) => at + text[at..].iter().take_while(|byte| is_word(**byte)).count(),
        _ => at + 1,
    })
}

/// Where a text or name in quotes ends, and its bytes.
fn quoted(text: &[u8], start: usize, dialect: MySql) -> Option<(usize, Vec<u8>)> {
    let quote = text[start];
    let is_name = quote == b'`' || (quote == b'"' && dialect.ansi_quotes);
    let escapes = !is_name && !dialect.plain_backslashes;
    let mut value = Vec::new();
    let mut at = start + 1;
    loop {
        let byte = *text.get(at)?;
        at += 1;
        if byte == quote {
            match text.get(at) {
                Some(&next) if next == quote => at += 1,
                _ => return Some((at, value)),
            }
        }
        if byte != b'\\' || !escapes {
            value.push(byte);
            continue;
        }
        let escaped = *text.get(at)?;
        at += 1;
        match escaped {
            b'%' | b'_' => value.extend([b'\\', escaped]),
            // A letter beyond ASCII stands for itself, in each of its bytes.
            other => value.push(unescaped(char::from(other)) as u8),
        }
    }
}

/// What a letter behind a backslash stands for.
pub(super) fn unescaped(letter: char) -> char {
    match letter {
        '0' => '\0',
        'b' => '\u{8}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'Z' => '\u{1a}',
        other => other,
    }
}

/// Digits of bytes, two for each.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(digits, "{byte:02x}").expect("a String takes everything");
    }
    digits
}

fn line_end(text: &[u8], at: usize) -> usize {
    let end = text[at..].iter().position(|&byte| byte == b'\n');
    end.map_or(text.len(), |end| at + end + 1)
}

/// Whether `--` before this is a comment.
fn is_comment(next: Option<&u8>) -> bool {
    next.is_none_or(|&byte| byte <= b' ')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_bytes_and_numbers() {
        for (prefix, digits, bytes, own) in [
            (BARE_BITS, "101", &[5][..], Some(5)),
            (BARE_BIT_NUMBER, "100000000", &[1, 0], Some(256)),
            (BARE_NUMBER, "0102", &[1, 2], Some(258)),
            (BARE_NUMBER, "ffffffffffffffff", &[0xff; 8], None),
            (
                BARE_NUMBER,
                "00ffffffffffffffff",
                &[0, 255, 255, 255, 255, 255, 255, 255, 255],
                None,
            ),
            (BARE_TEXT, "01", &[1], None),
            (INTRODUCER, "01", &[1], None),
        ] {
            let found = of_digits(prefix, digits);
            assert_eq!(found.as_deref(), Some(bytes), "{prefix} {digits}");
            assert_eq!(number(prefix, bytes), own, "{prefix} {digits}");
        }
        assert_eq!(of_digits(BARE_BITS, "12"), None);
        let plain = "SELECT _strongroom_bits X'010', _strongroom_bit_number X'1'";
        assert_eq!(as_they_came(plain.to_owned()), "SELECT b'010', 0b1");
    }

    #[test]
    fn texts_of_bytes_become_hexadecimal_and_nothing_else_does() {
        let plain = MySql::default();
        let ansi = MySql {
            ansi_quotes: true,
            plain_backslashes: true,
            ..plain
        };
        for (text, dialect, wanted) in [
            (
                &b"VALUES (1, _binary'\x00\xff\\'\\0\\%''a')"[..],
                plain,
                Some("VALUES (1, _binary x'00ff27005c252761')"),
            ),
            (b"_BINARY \"\xff\"", plain, Some("_binary x'ff'")),
            (b"_binary\"\xff\"", ansi, None),
            (b"_binary'\\'", ansi, Some("_binary x'5c'")),
            (b"'_binary''\xff'", plain, None),
            (
                b"'_binary' -- _binary'\n, _binary'a'",
                plain,
                Some("'_binary' -- _binary'\n, _binary x'61'"),
            ),
            (
                b"/* _binary' */ # '\n`_binary` my_binary'a'",
                plain,
                Some("/* _binary' */ # '\n`_binary` my_binary'a'"),
            ),
            (b"_binary'\\'", plain, None),
            (b"_binary'", plain, None),
            (b"/* _binary", plain, None),
            (b"'\xff'", plain, None),
            (b"SELECT 1", plain, Some("SELECT 1")),
        ] {
            let found = in_hexadecimal(text, dialect);
            assert_eq!(found.as_deref(), wanted, "{text:?}");
        }
    }
}
