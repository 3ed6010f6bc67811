//! A lexer for PostgreSQL's SQL: enough to split a text into statements and to see their words.
//!
//! Safety never rests on the lexer alone. Names of protected tables are looked for in the bytes of
//! the text, however they are quoted (`mention.rs`), and a statement that has one is parsed.

use std::ops::Range;

use crate::dialect::lexeme::{Lexeme, Part, is_word};

/// The lexemes of a text with their spans; blanks and comments are left out.
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
                end = constant_end(bytes, at, false);
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
                end = constant_end(bytes, at + 1, true);
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

/// The end of a constant that begins at a quote, with all parts that continue it.
fn constant_end(bytes: &[u8], from: usize, backslash: bool) -> usize {
    let mut end = quoted_end(bytes, from, b'\'', backslash);
    while let Some(next) = continuation(bytes, end) {
        end = quoted_end(bytes, next, b'\'', backslash);
    }
    end
}

/// The quote that continues a constant, if any: after a new line, blanks and
/// comments of one line (PostgreSQL, `scan.l`, `quotecontinue`).
fn continuation(bytes: &[u8], end: usize) -> Option<usize> {
    let mut has_line = false;
    let mut at = end;
    loop {
        match bytes.get(at)? {
            b'\n' | b'\r' => has_line = true,
            b' ' | b'\t' | 0x0b | 0x0c => {}
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at = find_line_end(bytes, at);
                continue;
            }
            b'\'' if has_line => return Some(at),
            _ => return None,
        }
        at += 1;
    }
}

/// Between the parts of a constant: from the quote that ends one to that which begins the next.
pub(crate) fn joints(text: &str, span: &Range<usize>) -> Vec<Range<usize>> {
    let bytes = &text.as_bytes()[..span.end.min(text.len())];
    let backslash = matches!(bytes.get(span.start), Some(b'e' | b'E'));
    let mut joints = Vec::new();
    let mut from = span.start + usize::from(backslash);
    if bytes.get(from) != Some(&b'\'') {
        return joints;
    }
    loop {
        let end = quoted_end(bytes, from, b'\'', backslash);
        let Some(next) = continuation(bytes, end) else {
            return joints;
        };
        joints.push(end - 1..next + 1);
        from = next;
    }
}

/// Whether a text has numbers or constants that the parser or some server reads differently.
pub(crate) fn has_doubtful_words(text: &str, lexemes: &Part) -> bool {
    let own = |span: &Range<usize>| &text[span.start..span.end.min(text.len())];
    let is_constant = |span: &Range<usize>| own(span).ends_with('\'');
    // The parser would take the second for an alias.
    let beside = |pair: &Part| is_constant(&pair[0].1) && own(&pair[1].1).starts_with('\'');
    lexemes.windows(2).any(beside)
        || lexemes.iter().any(|(_, span)| match own(span).as_bytes() {
            [b'0'..=b'9', ..] => !is_plain_number(text, span),
            [b'e' | b'E', b'\'', ..] => !is_plain_escape_string(text, span),
            _ => false,
        })
}

/// Not `0x1F` or `1_000`, which some take for two words, nor `1a`.
fn is_plain_number(text: &str, span: &Range<usize>) -> bool {
    let own = &text[span.clone()];
    let (digits, exponent) = own.split_once(['e', 'E']).unwrap_or((own, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let behind = text.as_bytes().get(span.end..).unwrap_or_default();
    let has_exponent = match exponent {
        "" => matches!(behind, [b'+' | b'-', digit, ..] if digit.is_ascii_digit()),
        exponent => are_digits(exponent),
    };
    are_digits(whole) && are_digits(part) && has_exponent
}

/// Not `E'\v'`, which is another character to some servers, nor `E'\6'`, a new line, `'3'`, where
/// an escape ends with its part.
fn is_plain_escape_string(text: &str, span: &Range<usize>) -> bool {
    let mut bytes = text[span.start..span.end.min(text.len())].bytes();
    let mut is_plain = joints(text, span).is_empty();
    while let Some(byte) = bytes.next() {
        is_plain &= byte != b'\\' || bytes.next() != Some(b'v');
    }
    is_plain
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
        .map_or(text.len(), |span| tag_end + 1 + span + tag.len())
}

#[cfg(test)]
mod tests {
    use super::{Lexeme, lexemes};

    fn words(text: &str) -> Vec<&str> {
        lexemes(text)
            .into_iter()
            .map(|(_, span)| &text[span])
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
    fn a_constant_continues_after_a_new_line() {
        for (text, expected) in [
            ("'a'\n'b' c", &["'a'\n'b'", "c"][..]),
            ("E'a' -- ;\r 'b\\';' c", &["E'a' -- ;\r 'b\\';'", "c"]),
            ("'a'\n--'\n'b'\x0c\n'c'", &["'a'\n--'\n'b'\x0c\n'c'"]),
            ("'a' 'b'", &["'a'", "'b'"]),
            ("'a'\n/**/'b'", &["'a'", "'b'"]),
            ("'a'\n-- 'b'", &["'a'"]),
            ("\"a\"\n'b'", &["\"a\"", "'b'"]),
        ] {
            assert_eq!(words(text), expected);
        }
        let text = "x E'a'\n'b\\'' -- y\n'c' z";
        let constant = &lexemes(text)[1].1;
        let joints: Vec<&str> = super::joints(text, constant)
            .into_iter()
            .map(|joint| &text[joint])
            .collect();
        assert_eq!(joints, ["'\n'", "' -- y\n'"]);
    }

    #[test]
    fn ambiguous_words_are_found() {
        let is_doubtful = |text: &str| super::has_doubtful_words(text, &lexemes(text));
        for text in [
            "1",
            "1.5",
            "6.",
            "007",
            "1e5",
            "1.5E10",
            "1e-5",
            "2E+1",
            "a1 $1 x'1f'",
            "'1a'",
            "'a'\n'b'",
            "E'\\n\\\\v' , 'b'",
            "\"a\" 'b'",
        ] {
            assert!(!is_doubtful(text), "{text}");
        }
        for text in [
            "0x1F",
            "0b1",
            "0o7",
            "1_000",
            "1a",
            "1e",
            "1e -5",
            "1e+a",
            "1.2.3",
            "1..2",
            "1$",
            "E'\\v'",
            "e'\\6'\n'3'",
            "'a' 'b'",
            "E'a' 'b'",
        ] {
            assert!(is_doubtful(text), "{text}");
        }
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(words("a -- ;\n b /* ; /* ; */ ; */ c"), ["a", "b", "c"]);
    }

    #[test]
    fn an_open_lexeme_ends_with_the_text() {
        for text in ["'a", "\"a", "E'\\", "$a$ b", "/* a", "-- a", "$"] {
            let spans = lexemes(text);
            assert!(
                spans
                    .iter()
                    .all(|(_, span)| span.end <= text.len().max(span.start + 1))
            );
        }
    }

    #[test]
    fn names_in_quotes_are_words() {
        let text = r#"SET "TimeZone" = 'UTC', a."b c" "#;
        let own = crate::dialect::lexeme::words(text, &lexemes(text));
        assert_eq!(own, ["set", "timezone", "a", "b c"]);
    }

    #[test]
    fn statements_are_split_at_semicolons() {
        let kinds: Vec<_> = lexemes("a;b").into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [Lexeme::Word, Lexeme::Semicolon, Lexeme::Word]);
    }
}
