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

/// Whether a prefix is that of bytes in the plain form.
pub(crate) fn is_prefix(prefix: &Ident) -> bool {
    [INTRODUCER, BARE_TEXT, BARE_NUMBER].contains(&prefix.value.as_str())
}

/// A part of a statement in the plain form, with bare bytes as they came.
pub(super) fn as_they_came(text: String) -> String {
    if ![BARE_TEXT, BARE_NUMBER]
        .iter()
        .any(|own| text.contains(own))
    {
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
        match (&text[at..end], digits) {
            (BARE_TEXT, Some(digits)) => {
                out.push_str(&format!("X'{digits}'"));
                at = end + digits.len() + 4;
            }
            (BARE_NUMBER, Some(digits)) => {
                out.push_str(&format!("0x{digits}"));
                at = end + digits.len() + 4;
            }
            (other, _) => {
                out.push_str(other);
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
