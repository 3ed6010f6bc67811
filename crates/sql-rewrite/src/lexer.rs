//! Lexemes of PostgreSQL's SQL, as far as is needed to part statements and to see their words.
//!
//! What is safe never rests on this alone: names of protected tables are looked for in the bytes
//! of the text, however they are quoted (`mention.rs`), and a statement with one is parsed.

use std::ops::Range;

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lexeme {
    /// A key word or a name without quotes.
    Word,
    /// A name in quotes, a constant, a parameter.
    Other,
    /// One character of an operator.
    Operator,
    /// `,`
    Comma,
    /// `(`, `[`
    Open,
    /// `)`, `]`
    Close,
    /// `;`
    Semicolon,
}

/// The lexemes of a text with their places; blanks and comments are left out.
pub(crate) fn lexemes(text: &str) -> Vec<(Lexeme, Range<usize>)> {
    let mut lexemes = Vec::new();
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        let end;
        let lexeme = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                at += 1;
                continue;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at = find_line_end(bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = comment_end(bytes, at);
                continue;
            }
            b'\'' => {
                end = quoted_end(bytes, at, b'\'', false);
                Lexeme::Other
            }
            b'"' => {
                end = quoted_end(bytes, at, b'"', false);
                Lexeme::Other
            }
            b'$' => {
                end = dollar_end(text, at);
                Lexeme::Other
            }
            b'0'..=b'9' => {
                end = run(bytes, at, |byte| is_word(byte) || byte == b'.');
                Lexeme::Other
            }
            b'e' | b'E' if bytes.get(at + 1) == Some(&b'\'') => {
                end = quoted_end(bytes, at + 1, b'\'', true);
                Lexeme::Other
            }
            byte if is_word(byte) => {
                end = run(bytes, at, is_word);
                Lexeme::Word
            }
            byte => {
                end = at + 1;
                match byte {
                    b';' => Lexeme::Semicolon,
                    b',' => Lexeme::Comma,
                    b'(' | b'[' => Lexeme::Open,
                    b')' | b']' => Lexeme::Close,
                    _ => Lexeme::Operator,
                }
            }
        };
        lexemes.push((lexeme, at..end));
        at = end;
    }
    lexemes
}

/// Whether a byte can stand in a name without quotes.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The words and the names in quotes of a statement, in small letters and without quotes.
pub(crate) fn words(text: &str, part: &[(Lexeme, Range<usize>)]) -> Vec<String> {
    part.iter()
        .filter_map(|(lexeme, place)| {
            let own = text.get(place.clone())?;
            let is_word = match lexeme {
                Lexeme::Word => true,
                Lexeme::Other => own.starts_with('"'),
                _ => false,
            };
            is_word.then(|| own.trim_matches('"').to_ascii_lowercase())
        })
        .collect()
}

fn run(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let length = bytes[from..].iter().take_while(|byte| belongs(**byte));
    from + length.count()
}

fn find_line_end(bytes: &[u8], from: usize) -> usize {
    run(bytes, from, |byte| byte != b'\n' && byte != b'\r')
}

/// Comments of this kind nest (PostgreSQL 4.1.5).
fn comment_end(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], from: usize, quote: u8, backslash: bool) -> usize {
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of a parameter, or of a constant in dollar quotes.
fn dollar_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let tag_end = run(bytes, from + 1, |byte| is_word(byte) && byte != b'$');
    let starts_with_digit = bytes.get(from + 1).is_some_and(u8::is_ascii_digit);
    if starts_with_digit || bytes.get(tag_end) != Some(&b'$') {
        return tag_end;
    }
    let tag = &text[from..=tag_end];
    let inside = &text[tag_end + 1..];
    inside
        .find(tag)
        .map_or(text.len(), |place| tag_end + 1 + place + tag.len())
}

#[cfg(test)]
mod tests {
    use super::{Lexeme, lexemes};

    fn words(text: &str) -> Vec<&str> {
        lexemes(text)
            .into_iter()
            .map(|(_, place)| &text[place])
            .collect()
    }

    #[test]
    fn quotes_hide_what_is_inside() {
        assert_eq!(
            words(r#"a ';' "x;""y" E'\';' $t$ ; $u$ $t$ $1 b"#),
            [
                "a",
                "';'",
                r#""x;""y""#,
                r"E'\';'",
                "$t$ ; $u$ $t$",
                "$1",
                "b"
            ]
        );
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(words("a -- ;\n b /* ; /* ; */ ; */ c"), ["a", "b", "c"]);
    }

    #[test]
    fn what_does_not_end_ends_with_the_text() {
        for text in ["'a", "\"a", "E'\\", "$a$ b", "/* a", "-- a", "$"] {
            let places = lexemes(text);
            assert!(
                places
                    .iter()
                    .all(|(_, place)| place.end <= text.len().max(place.start + 1))
            );
        }
    }

    #[test]
    fn names_in_quotes_are_words() {
        let text = r#"SET "TimeZone" = 'UTC', a."b c" "#;
        let own = super::words(text, &lexemes(text));
        assert_eq!(own, ["set", "timezone", "a", "b c"]);
    }

    #[test]
    fn statements_are_parted_by_semicolons() {
        let kinds: Vec<_> = lexemes("a;b").into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [Lexeme::Word, Lexeme::Semicolon, Lexeme::Word]);
    }
}
