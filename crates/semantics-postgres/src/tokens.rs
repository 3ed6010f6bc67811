//! Cuts a text that holds a date or a time into tokens.

use column_value::is_space;

use crate::words::{Word, word};

/// A piece of the text, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Digits alone.
    Number(&'a str),
    /// Digits with colons.
    Time(&'a str),
    /// Numbers or a month's name, with `-`, `/` or `.` between them.
    Date(&'a str),
    /// A sign and digits.
    Offset(&'a str),
    /// A sign (whether it is `-`) and a word.
    SignedWord(bool, &'a str),
    /// Letters.
    Word(&'a str),
    /// Letters with `/`, `_` and the like: the name of a zone.
    Zone(&'a str),
}

/// The tokens of a text; None: it has a character that no token has.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|character| is_space(character) || character == ',');
        let Some(first) = rest.bytes().next() else {
            return Some(tokens);
        };
        let (token, length) = match first {
            b'0'..=b'9' => from_digit(rest),
            b'a'..=b'z' => from_letter(rest),
            b'+' | b'-' => from_sign(rest)?,
            _ => return None,
        };
        tokens.push(token);
        rest = &rest[length..];
    }
}

/// How many bytes at the start are of a kind.
fn run(text: &str, of_kind: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| of_kind(*byte)).count()
}

fn from_digit(text: &str) -> (Token<'_>, usize) {
    let bytes = text.as_bytes();
    let digits = run(text, |byte| byte.is_ascii_digit());
    match bytes.get(digits) {
        Some(b':') => {
            let length = run(text, |byte| byte.is_ascii_digit() || b":.".contains(&byte));
            (Token::Time(&text[..length]), length)
        }
        Some(&mark @ (b'-' | b'/' | b'.')) => {
            let behind = &text[digits + 1..];
            let second_is_number = behind
                .bytes()
                .next()
                .is_some_and(|byte| byte.is_ascii_digit());
            let length = digits
                + 1
                + if second_is_number {
                    run(behind, |byte| byte.is_ascii_digit() || byte == mark)
                } else {
                    run(behind, |byte| byte.is_ascii_alphanumeric() || byte == mark)
                };
            (Token::Date(&text[..length]), length)
        }
        _ => (Token::Number(&text[..digits]), digits),
    }
}

fn from_letter(text: &str) -> (Token<'_>, usize) {
    let letters = run(text, |byte| byte.is_ascii_lowercase());
    let (name, behind) = text.split_at(letters);
    let is_month = matches!(word(name), Some(Word::Month(_)));
    let next = behind.bytes().next();
    if is_month && matches!(next, Some(b'-' | b'/' | b'.')) {
        let length = run(text, |byte| {
            byte.is_ascii_alphanumeric() || b"-/.".contains(&byte)
        });
        return (Token::Date(&text[..length]), length);
    }
    let is_zone = match next {
        Some(b'/' | b'_') => true,
        // `pm-02` is no time with an offset for the server either; `pm+02` is one.
        Some(b'-') => true,
        Some(b'+' | b'0'..=b'9') => word(name).is_none(),
        _ => false,
    };
    if is_zone {
        let length = run(text, |byte| {
            byte.is_ascii_alphanumeric() || b"/_+-:".contains(&byte)
        });
        return (Token::Zone(&text[..length]), length);
    }
    (Token::Word(name), letters)
}

fn from_sign(text: &str) -> Option<(Token<'_>, usize)> {
    let behind = text[1..].trim_start_matches(is_space);
    let skipped = text.len() - behind.len();
    match behind.bytes().next()? {
        b'0'..=b'9' => {
            let length = run(behind, |byte| byte.is_ascii_digit() || byte == b':');
            // Blanks between sign and digits are the server's to refuse or take: we refuse.
            (skipped == 1).then(|| (Token::Offset(&text[..1 + length]), 1 + length))
        }
        b'a'..=b'z' => {
            let length = run(behind, |byte| byte.is_ascii_lowercase());
            let token = Token::SignedWord(text.starts_with('-'), &behind[..length]);
            Some((token, skipped + length))
        }
        _ => None,
    }
}
