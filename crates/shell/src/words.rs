//! Splits a dot command into words, and suggests the name that was probably meant.

/// Splits the line of a dot command into words. Single quotes keep everything; double quotes
/// support `\n`, `\t`, `\r`, `\"` and `\\`.
pub fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '\'' => match rest[1..].split_once('\'') {
                Some((word, after)) => (word.to_owned(), after),
                None => (rest[1..].to_owned(), ""),
            },
            '"' => double_quoted(&rest[1..]),
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn double_quoted(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (word, &text[index + 1..]),
            '\\' => word.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, 'r')) => '\r',
                Some((_, other)) => other,
                None => '\\',
            }),
            other => word.push(other),
        }
    }
    (word, "")
}

/// A count with a noun, which gets an `s` unless the count is one.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{s}")
}

/// The candidate closest to `word`, unless all differ too much.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (difference(word, candidate), candidate))
        .min_by_key(|(difference, _)| *difference)
        .filter(|(difference, _)| *difference <= 1 + word.chars().count() / 3)
        .map(|(_, candidate)| candidate)
}

/// Edits (change, insert, delete, or swap adjacent letters) that turn one word into the other
/// (optimal string alignment).
fn difference(first: &str, second: &str) -> usize {
    let (first, second): (Vec<char>, Vec<char>) =
        (first.chars().collect(), second.chars().collect());
    let mut rows = vec![(0..=second.len()).collect::<Vec<usize>>()];
    for i in 1..=first.len() {
        let mut row = vec![i];
        for j in 1..=second.len() {
            let changed = usize::from(first[i - 1] != second[j - 1]);
            let mut best = (rows[i - 1][j - 1] + changed)
                .min(rows[i - 1][j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && first[i - 1] == second[j - 2] && first[i - 2] == second[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[first.len()][second.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(split(".mode  csv "), [".mode", "csv"]);
        assert_eq!(
            split(".separator \"\\t\" '\\n'"),
            [".separator", "\t", "\\n"]
        );
        assert_eq!(split(".encrypt 'two words'"), [".encrypt", "two words"]);
        assert_eq!(split(".print \"a \\\" b\" ''"), [".print", "a \" b", ""]);
        assert_eq!(split(".print 'open"), [".print", "open"]);
        assert!(split("  ").is_empty());
    }

    #[test]
    fn a_slip_finds_its_word() {
        let names = ["tables", "schema", "mode", "encrypt", "quit"];
        assert_eq!(nearest("talbes", names), Some("tables"));
        assert_eq!(nearest("encrpt", names), Some("encrypt"));
        assert_eq!(nearest("quti", names), Some("quit"));
        assert_eq!(nearest("xyzzy", names), None);
    }
}
