//! `CREATE INDEX … WITH (…) TABLESPACE s WHERE …`

use super::{Changes, Word};
use crate::dialect::marks::TABLESPACE;

/// The words become the last of the options.
pub(super) fn tablespace(words: &[Word], at: usize) -> Option<Changes> {
    let [own, name, ..] = &words[at..] else {
        return None;
    };
    let makes_index = words[0].word == "create"
        && words
            .iter()
            .skip(1)
            .take(2)
            .any(|word| word.word == "index");
    if !makes_index || own.word != "tablespace" || !name.is_name || at == 0 {
        return None;
    }
    let option = format!("\"{TABLESPACE}\" = {}", name.text);
    let taken = own.span.start..name.span.end;
    let close = &words[at - 1];
    let open = words[..at].iter().rposition(|word| word.word == "(")?;
    let has_options = close.word == ")" && open > 0 && words[open - 1].word == "with";
    Some(match has_options {
        true => vec![
            (close.span.start..close.span.start, format!(", {option}")),
            (taken, String::new()),
        ],
        false => vec![(taken, format!("WITH ({option})"))],
    })
}

/// A printed text, with the words in place of the mark.
pub(super) fn for_server(text: String) -> String {
    let mark = format!("\"{TABLESPACE}\" = ");
    let Some(start) = text.find(&mark) else {
        return text;
    };
    let (before, behind) = (&text[..start], &text[start + mark.len()..]);
    let Some((name, rest)) = behind.split_once(')') else {
        return text;
    };
    let before = match before.strip_suffix("WITH (") {
        Some(before) => before.to_owned(),
        None => format!("{}) ", before.trim_end_matches([',', ' '])),
    };
    format!("{before}TABLESPACE {name}{rest}")
}

#[cfg(test)]
mod tests {
    use crate::dialect::postgres::forms::{for_parser, for_server};

    #[test]
    fn a_tablespace_is_replaced_for_the_parser_and_restored() {
        for (text, marked) in [
            (
                "CREATE INDEX i ON t (a) TABLESPACE s WHERE b = 1",
                "CREATE INDEX i ON t (a) WITH (\"\u{2}tablespace\" = s) WHERE b = 1",
            ),
            (
                "CREATE UNIQUE INDEX i ON t (a) WITH (fillfactor = 70) TABLESPACE \"a b\"",
                "CREATE UNIQUE INDEX i ON t (a) WITH (fillfactor = 70, \"\u{2}tablespace\" = \
                 \"a b\") ",
            ),
        ] {
            let own = for_parser(text).into_owned();
            assert_eq!(own, marked);
            assert_eq!(for_server(own.trim_end().to_owned()), text);
        }
        for text in [
            "SELECT tablespace FROM index",
            "CREATE TABLE t (a integer) TABLESPACE s",
            "CREATE INDEX tablespace ON t (tablespace)",
        ] {
            assert_eq!(for_parser(text), text);
        }
    }
}
