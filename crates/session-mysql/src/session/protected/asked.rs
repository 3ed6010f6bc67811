//! What clients ask about what was said of the last statement: `SHOW WARNINGS` and its kin.

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Rows of `SHOW WARNINGS`, or of errors alone, from one on and at most so many.
    Rows {
        of: Said,
        skipped: usize,
        count_max: usize,
    },
    /// How many there are.
    Counts(Vec<Said>),
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Warnings,
    Errors,
}

/// The question that a text is; None: it is another text, or does more.
pub(super) fn read(text: &[u8]) -> Option<Asked> {
    /// Such a text has at most some aliases.
    const SIZE_MAX: usize = 1024;
    if text.len() > SIZE_MAX {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?.trim();
    let text = text.strip_suffix(';').unwrap_or(text);
    let is_mark = |letter: char| matches!(letter, '(' | ')' | '*' | ',');
    let spaced = text.replace(is_mark, " \0 ");
    // The marks themselves, in their order.
    let mut marks = text.matches(is_mark);
    let lower = spaced.to_ascii_lowercase();
    let mut words = Vec::new();
    for word in lower.split_ascii_whitespace() {
        words.push(match word {
            "\0" => marks.next()?,
            word => word,
        });
    }
    match words[..] {
        ["show", of, ref limit @ ..] if said(of).is_some() => {
            let (skipped, count_max) = limits(limit)?;
            Some(Asked::Rows {
                of: said(of)?,
                skipped,
                count_max,
            })
        }
        ["show", "count", "(", "*", ")", of] => Some(Asked::Counts(vec![said(of)?])),
        ["select", ref items @ ..] => {
            let items = items.split(|word| *word == ",").map(counted);
            items.collect::<Option<_>>().map(Asked::Counts)
        }
        _ => None,
    }
}

fn said(word: &str) -> Option<Said> {
    match word {
        "warnings" => Some(Said::Warnings),
        "errors" => Some(Said::Errors),
        _ => None,
    }
}

fn limits(words: &[&str]) -> Option<(usize, usize)> {
    let number = |word: &str| word.parse().ok();
    match *words {
        [] => Some((0, usize::MAX)),
        ["limit", count] => Some((0, number(count)?)),
        ["limit", skipped, ",", count] | ["limit", count, "offset", skipped] => {
            Some((number(skipped)?, number(count)?))
        }
        _ => None,
    }
}

/// `@@warning_count` or `@@error_count`, perhaps with an alias.
fn counted(item: &[&str]) -> Option<Said> {
    let is_alias = |word: &str| {
        let inside = word
            .strip_prefix('`')
            .and_then(|word| word.strip_suffix('`'));
        let mut letters = inside.unwrap_or(word).bytes();
        letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let variable = match *item {
        [variable] => variable,
        [variable, alias] | [variable, "as", alias] if is_alias(alias) => variable,
        _ => return None,
    };
    let name = variable.strip_prefix("@@")?;
    let scopes = ["session.", "local."];
    let scope = scopes.iter().find_map(|scope| name.strip_prefix(scope));
    match scope.unwrap_or(name) {
        "warning_count" => Some(Said::Warnings),
        "error_count" => Some(Said::Errors),
        _ => None,
    }
}

/// Whether such a text is a query, and not `SHOW`.
pub(super) fn is_query(text: &[u8]) -> bool {
    let start = text.trim_ascii_start().get(..6);
    start.is_some_and(|start| start.eq_ignore_ascii_case(b"select"))
}

/// Whether a text may ask in another way.
pub(super) fn may_ask(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let has = |name: &[u8]| text.windows(name.len()).any(|own| own == name);
    has(b"warning_count") || has(b"error_count") || has(b"diagnostics")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_in_all_their_forms() {
        use Said::{Errors, Warnings};
        let rows = |of, skipped, count_max| {
            Some(Asked::Rows {
                of,
                skipped,
                count_max,
            })
        };
        let counts = |all: &[Said]| Some(Asked::Counts(all.to_vec()));
        for (text, wanted) in [
            (" show Warnings ; ", rows(Warnings, 0, usize::MAX)),
            ("SHOW ERRORS LIMIT 3", rows(Errors, 0, 3)),
            ("show warnings limit 1,2", rows(Warnings, 1, 2)),
            ("show warnings limit 2 offset 1", rows(Warnings, 1, 2)),
            ("SHOW COUNT(*) WARNINGS", counts(&[Warnings])),
            ("show count( * ) errors;", counts(&[Errors])),
            ("SELECT @@warning_count", counts(&[Warnings])),
            (
                "select @@session.error_count as e,@@LOCAL.warning_count `W`",
                counts(&[Errors, Warnings]),
            ),
            ("SELECT @@warning_count + 0", None),
            ("SELECT @@warning_count, 1", None),
            ("SELECT @@global.warning_count", None),
            ("SELECT @@warning_count 'a'", None),
            ("SELECT @@warning_count FROM t", None),
            ("show warnings; select 1", None),
            ("show warnings limit x", None),
            ("show count(*) tables", None),
            ("show \0 warnings", None),
            ("", None),
        ] {
            assert_eq!(read(text.as_bytes()), wanted, "{text}");
        }
        assert!(may_ask(b"SELECT @@Warning_Count + 0"));
        assert!(may_ask(b"GET DIAGNOSTICS @n = NUMBER"));
        assert!(!may_ask(b"SELECT 1"));
    }
}
