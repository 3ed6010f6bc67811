//! `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which the parser does not know: it is given the lock
//! that it knows, of a table whose name stands for the difference.

use std::borrow::Cow;

use crate::lexer::{Lexeme, lexemes};

/// Begins the names that stand for a lock. A text of a client that has it is refused.
pub(crate) const MARK: char = '\u{2}';

/// What the server knows, as words, and what the parser is given.
const LOCKS: [(&[&str], &str); 2] = [
    (&["no", "key", "update"], "UPDATE OF \"\u{2}no key\""),
    (&["key", "share"], "SHARE OF \"\u{2}key\""),
];

/// The text for the parser.
pub(crate) fn for_parser(text: &str) -> Cow<'_, str> {
    let words: Vec<_> = lexemes(text)
        .into_iter()
        .map(|(lexeme, place)| {
            let word = match lexeme {
                Lexeme::Word => text[place.clone()].to_ascii_lowercase(),
                _ => String::new(),
            };
            (word, place)
        })
        .collect();
    let mut out = String::new();
    let mut taken = 0;
    for at in 0..words.len() {
        let behind = &words[at + 1..];
        let starts = |lock: &[&str]| {
            words[at].0 == "for"
                && behind.len() >= lock.len()
                && behind.iter().zip(lock).all(|(own, word)| own.0 == *word)
        };
        let Some((lock, mark)) = LOCKS.iter().find(|(lock, _)| starts(lock)) else {
            continue;
        };
        out.push_str(&text[taken..behind[0].1.start]);
        out.push_str(mark);
        taken = behind[lock.len() - 1].1.end;
        if let Some((_, of)) = behind.get(lock.len()).filter(|(word, _)| word == "of") {
            out.push('.');
            taken = of.end;
        }
    }
    match taken {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[taken..]),
    }
}

/// A text that was printed, for the server.
pub(crate) fn for_server(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    LOCKS.iter().fold(text, |text, (lock, mark)| {
        let lock = lock.join(" ").to_uppercase();
        text.replace(&format!("{mark}."), &format!("{lock} OF "))
            .replace(mark, &lock)
    })
}

#[cfg(test)]
mod tests {
    use super::{for_parser, for_server};

    #[test]
    fn a_lock_goes_to_the_parser_and_back() {
        for text in [
            "SELECT a FROM t FOR NO KEY UPDATE",
            "SELECT a FROM t FOR KEY SHARE OF t SKIP LOCKED",
            "SELECT a FROM t FOR NO KEY UPDATE OF u FOR KEY SHARE NOWAIT",
            "SELECT 'for key share' FROM t FOR UPDATE",
        ] {
            let marked = for_parser(text);
            assert!(
                !marked.contains("FOR NO") && !marked.contains("FOR KEY"),
                "{marked}"
            );
            let printed = marked.replace("\". ", "\".");
            assert_eq!(for_server(printed), text);
        }
    }
}
