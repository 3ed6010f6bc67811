//! The text of a test, and the end of each of its statements.

/// Statements in one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    text: String,
    /// Length of the text at the end of each statement.
    ends: Vec<usize>,
}

impl Script {
    /// A script without statements.
    pub fn new() -> Self {
        Self::default()
    }

    /// A script with one statement per line.
    pub fn lines(text: String) -> Self {
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        if !text.is_empty() && !text.ends_with('\n') {
            ends.push(text.len());
        }
        Self { text, ends }
    }

    /// A single statement, with its semicolon.
    pub fn single(statement: &str) -> Self {
        let mut script = Self::new();
        script.push(statement);
        script
    }

    /// Adds a statement, with its semicolon, on new lines.
    pub fn push(&mut self, statement: &str) {
        self.text.push_str(statement);
        self.text.push('\n');
        self.ends.push(self.text.len());
    }

    /// The statements in order, without the final line feed.
    pub fn statements(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let statement = &self.text[start..end];
            start = end;
            statement.strip_suffix('\n').unwrap_or(statement)
        })
    }

    /// The whole text, as a shell would read it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_statements() {
        for (text, statements) in [
            ("", vec![]),
            ("a;\nb;\n", vec!["a;", "b;"]),
            ("a;\nb;", vec!["a;", "b;"]),
        ] {
            let script = Script::lines(text.to_owned());
            assert_eq!(script.statements().collect::<Vec<_>>(), statements);
            assert_eq!(script.text(), text);
        }
    }

    #[test]
    fn a_pushed_statement_may_span_lines() {
        let mut script = Script::new();
        script.push("CREATE TABLE t(\n  a\n);");
        script.push("DROP TABLE t;");
        let statements: Vec<&str> = script.statements().collect();
        assert_eq!(statements, ["CREATE TABLE t(\n  a\n);", "DROP TABLE t;"]);
        assert_eq!(script.text(), "CREATE TABLE t(\n  a\n);\nDROP TABLE t;\n");
    }
}
