//! A text of which it is not known how the server reads it.

use std::borrow::Cow;

/// A text as it came, and as a server may read the words in it: without the number of a version at
/// the start of SQL in a comment (`/*!50000person */`), and without backslashes.
pub(super) fn readings(text: &str) -> Vec<Cow<'_, str>> {
    let mut readings = vec![Cow::Borrowed(text)];
    if text.contains("/*!") || text.contains("/*M!") {
        // Servers take five digits or six.
        readings.extend([5, 6].map(|digits| Cow::Owned(without_version(text, digits))));
    }
    if text.contains('\\') {
        let mut letters = text.chars();
        let mut blank = String::with_capacity(text.len());
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => {
                    letters.next();
                    blank.push(' ');
                }
                letter => blank.push(letter),
            }
        }
        readings.push(Cow::Owned(text.replace('\\', "")));
        readings.push(Cow::Owned(blank));
    }
    readings
}

fn without_version(text: &str, digits: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        out.push_str("/* ");
        rest = &rest[at + 2..];
        let Some(inside) = rest.strip_prefix('!').or_else(|| rest.strip_prefix("M!")) else {
            continue;
        };
        rest = match inside
            .bytes()
            .take(digits)
            .filter(u8::is_ascii_digit)
            .count()
            == digits
        {
            true => &inside[digits..],
            false => inside,
        };
    }
    out.push_str(rest);
    out
}
