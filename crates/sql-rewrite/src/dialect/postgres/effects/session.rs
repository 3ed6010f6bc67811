//! What a statement does to the state of its session at the server: locked rows and prepared
//! statements. It is read from the words of the text. When unsure, assume that the statement
//! changes that state.

/// Words before a parenthesis that are no user-defined function.
const HARMLESS: &[&str] = &[
    "all",
    "and",
    "any",
    "as",
    "avg",
    "between",
    "by",
    "case",
    "coalesce",
    "count",
    "distinct",
    "else",
    "exists",
    "from",
    "greatest",
    "having",
    "in",
    "join",
    "least",
    "limit",
    "lower",
    "max",
    "min",
    "not",
    "now",
    "nullif",
    "offset",
    "on",
    "or",
    "over",
    "returning",
    "select",
    "set",
    "some",
    "sum",
    "then",
    "union",
    "upper",
    "using",
    "values",
    "when",
    "where",
];

/// Whether a statement cannot change the rows that the transaction has locked: it reads or adds
/// rows, and calls no function that may write.
pub(crate) fn keeps_locked_rows(statement: &str) -> bool {
    let mut words = words(statement);
    match words.next().unwrap_or_default().as_str() {
        "" | "begin" | "start" | "savepoint" | "release" | "show" | "set" | "listen"
        | "unlisten" | "notify" | "lock" | "table" | "values" => !calls(statement, 0),
        // Not in front only: `WITH` may write, `INTO` makes a table.
        "select" => !calls(statement, 0) && words.all(|word| word != "into"),
        // What a conflict sets may be what is locked.
        "insert" => {
            let free = usize::from(has_columns(statement));
            !calls(statement, free) && words.all(|word| word != "conflict")
        }
        _ => false,
    }
}

/// Whether statements that the proxy has prepared for itself may be gone after a statement. One
/// of another name leaves them alone: drivers drop what they have not used for long.
pub(crate) fn forgets_statements(statement: &str) -> bool {
    let words: Vec<String> = words(statement).collect();
    let last = words.last().map_or("", String::as_str);
    match words.first().map(String::as_str) {
        Some("deallocate") => last == "all" || last.starts_with("strongroom_"),
        Some("discard") => last == "all",
        _ => {
            let mut words = words.iter();
            words.any(|word| matches!(word.as_str(), "discard" | "deallocate"))
        }
    }
}

/// Whether a list of columns follows the name of the table of an `INSERT`.
fn has_columns(statement: &str) -> bool {
    let Some((before, _)) = statement.split_once('(') else {
        return false;
    };
    let words: Vec<&str> = before.split_whitespace().collect();
    let [insert, into, table] = words[..] else {
        return false;
    };
    let is_name = |part: &str| {
        let name = part.trim_matches('"');
        !name.is_empty() && name.chars().all(is_of_word)
    };
    insert.eq_ignore_ascii_case("insert")
        && into.eq_ignore_ascii_case("into")
        && table.split('.').count() <= 2
        && table.split('.').all(is_name)
        // The parenthesis after one of these is not counted.
        && !HARMLESS.contains(&table.to_ascii_lowercase().as_str())
}

/// Words in small letters.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|character: char| !is_of_word(character))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// Whether more than `free` parentheses follow something that may be the name of a function.
fn calls(text: &str, free: usize) -> bool {
    if text.contains("--") || text.contains("/*") {
        // A comment may stand between a name and its parenthesis.
        return text.contains('(');
    }
    let mut found = 0;
    for (start, _) in text.match_indices('(') {
        let before = text[..start].trim_end();
        let word_start = before
            .char_indices()
            .rev()
            .take_while(|(_, character)| is_of_word(*character))
            .last()
            .map_or(before.len(), |(start, _)| start);
        let word = before[word_start..].to_ascii_lowercase();
        let is_harmless = match before.chars().next_back() {
            None => true,
            Some(last) if is_of_word(last) => HARMLESS.contains(&word.as_str()),
            // A quote ends a name.
            Some(last) => matches!(
                last,
                '(' | ',' | '=' | '<' | '>' | '+' | '-' | '*' | '/' | '|'
            ),
        };
        found += usize::from(!is_harmless);
    }
    found > free
}

#[cfg(test)]
mod tests {
    use super::{forgets_statements, keeps_locked_rows};

    #[test]
    fn statements_that_read_or_add_rows_keep_locked_rows() {
        for text in [
            "SELECT a, b FROM t WHERE c = $1 AND d IN ($2, $3) FOR UPDATE",
            "select count(distinct (a)) from t",
            "INSERT INTO t (a, b) VALUES ($1, (2 + 3)), ($3, $4)",
            "INSERT INTO \"public\".t (a) VALUES ($1)",
            "insert into t values (1)",
            "SAVEPOINT a",
        ] {
            assert!(keeps_locked_rows(text), "{text}");
        }
    }

    #[test]
    fn statements_that_may_write_do_not_keep_locked_rows() {
        for text in [
            "UPDATE t SET a = 1",
            "DELETE FROM t",
            "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
            "SELECT reset(a) FROM t",
            "SELECT \"reset\"(a) FROM t",
            "SELECT reset/**/(a) FROM t",
            "SELECT reset -- (\n (a) FROM t",
            "SELECT a INTO b FROM t",
            "INSERT INTO t (a) SELECT reset(1)",
            "INSERT INTO t VALUES (reset(1))",
            "INSERT INTO t SELECT reset(1)",
            "INSERT INTO t SELECT (reset(1))",
            "INSERT INTO t (SELECT reset(1))",
            "INSERT INTO min (a) SELECT reset(1)",
            "INSERT INTO public.t SELECT reset(1)",
            "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2",
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "INSERT INTO t (a) VALUES (reset(1))",
            "EXECUTE prepared",
            "FETCH ALL FROM cursor",
            "COPY t FROM STDIN",
            "DO $$ BEGIN END $$",
        ] {
            assert!(!keeps_locked_rows(text), "{text}");
        }
    }

    #[test]
    fn deallocated_statements_are_noticed() {
        assert!(forgets_statements("DISCARD ALL"));
        assert!(forgets_statements("deallocate all"));
        assert!(forgets_statements("DEALLOCATE PREPARE \"strongroom_1\""));
        assert!(forgets_statements(
            "DO $$ BEGIN EXECUTE 'DISCARD ALL'; END $$"
        ));
        assert!(!forgets_statements("DEALLOCATE _pg3_7"));
        assert!(!forgets_statements("DISCARD PLANS"));
        assert!(!forgets_statements("SELECT 1"));
    }
}
