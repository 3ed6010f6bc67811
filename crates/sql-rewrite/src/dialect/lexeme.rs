//! Lexemes and words of a text. All dialects share these types.

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

/// Lexemes of a text with their spans.
pub(crate) type Part = [(Lexeme, Range<usize>)];

/// Whether a byte can stand in a name without quotes.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The words and the names in quotes of a statement, in small letters and without quotes.
pub(crate) fn words(text: &str, part: &Part) -> Vec<String> {
    part.iter()
        .filter_map(|(lexeme, span)| {
            let own = text.get(span.clone())?;
            let is_word = match lexeme {
                Lexeme::Word => true,
                Lexeme::Other => own.starts_with('"'),
                _ => false,
            };
            is_word.then(|| own.trim_matches('"').to_ascii_lowercase())
        })
        .collect()
}

/// A name in small letters of whatever script, to be looked for: a server with an encoding of
/// single bytes folds more letters than others do.
pub(crate) fn lower(name: &str) -> String {
    match name.is_ascii() {
        true => name.to_ascii_lowercase(),
        // Letter by letter: a letter must not depend on its neighbours. A server of single
        // bytes with a Turkish locale makes the dotted capital I the small one of ASCII, for which
        // Unicode has two characters.
        false => name
            .chars()
            .map(|letter| if letter == 'İ' { 'i' } else { letter })
            .flat_map(char::to_lowercase)
            .collect(),
    }
}

/// Whether `word` stands in `text` as a whole word. Both are in lower case.
pub(crate) fn names_word(text: &str, word: &str) -> bool {
    // `$` can stand in a name, and around one (`$function$SELECT … FROM people$function$`).
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            !inside(text[..at].chars().next_back())
                && !inside(text[at + word.len()..].chars().next())
        })
}
