//! Budgets: lines of a function, lines of a file, columns; and a head for every file.

use proc_macro2::{Delimiter, TokenTree};

use super::Violation;
use super::tokens::{Source, is_ident, is_punct, walk};
use super::tree::File;

pub const FUNCTION_LINES_MAX: usize = 70;
pub const FILE_LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;

/// Lines of a file or of a function in it.
#[derive(Debug, PartialEq)]
pub struct Measured {
    pub path: String,
    /// None: the whole file.
    pub function: Option<String>,
    pub line: usize,
    pub lines: usize,
}

impl Measured {
    pub fn budget(&self) -> usize {
        match self.function {
            Some(_) => FUNCTION_LINES_MAX,
            None => FILE_LINES_MAX,
        }
    }
}

/// A function spans from its `fn` to its closing brace.
pub fn measure(source: &Source) -> Vec<Measured> {
    let path = &source.file.path;
    let mut measured = vec![Measured {
        path: path.clone(),
        function: None,
        line: 0,
        lines: source.file.text.lines().count(),
    }];
    walk(&source.tokens, &mut |siblings| {
        for (index, token) in siblings.iter().enumerate() {
            let rest = &siblings[index + 1..];
            if !is_ident(Some(token), "fn") {
                continue;
            }
            if let Some((name, last)) = name_and_last_line(rest) {
                let line = token.span().start().line;
                measured.push(Measured {
                    path: path.clone(),
                    function: Some(name),
                    line,
                    lines: last + 1 - line,
                });
            }
        }
    });
    measured
}

/// None for a type of function and for a declaration without a body.
fn name_and_last_line(after_fn: &[TokenTree]) -> Option<(String, usize)> {
    let TokenTree::Ident(name) = after_fn.first()? else {
        return None;
    };
    for token in after_fn {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return Some((name.to_string(), group.span_close().end().line));
            }
            other if is_punct(Some(other), ';') => return None,
            _ => {}
        }
    }
    None
}

pub fn check_head_and_width(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !file.text.starts_with("//!") {
        let message = "starts without `//!`: say in a sentence what the file is for";
        violations.push(Violation::new(&file.path, 1, message));
    }
    for (index, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            let message = format!("{columns} columns, at most {COLUMNS_MAX}");
            violations.push(Violation::new(&file.path, index + 1, message));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{file, source};
    use super::*;

    #[test]
    fn functions_are_measured_wherever_they_stand() {
        let text = "//! x\nimpl A {\n    fn method() {\n        fn inner() {}\n    }\n}\n\
                    trait T { fn declared(); }\ntype F = fn(u8) -> u8;\n";
        let file = file("crates/a/src/lib.rs", text);
        let functions: Vec<_> = measure(&source(&file))
            .into_iter()
            .filter_map(|measured| Some((measured.function?, measured.line, measured.lines)))
            .collect();
        assert_eq!(
            functions,
            [("method".to_owned(), 3, 3), ("inner".to_owned(), 4, 1)]
        );
    }

    #[test]
    fn a_file_is_measured_as_a_whole() {
        let file = file("crates/a/src/lib.rs", "//! x\n\nfn a() {}\n");
        assert_eq!(measure(&source(&file))[0].lines, 3);
    }

    #[test]
    fn head_and_width_are_asked_for() {
        let wide = format!("// {}\n", "x".repeat(98));
        let found = check_head_and_width(&file("a.rs", &wide));
        assert_eq!(found.len(), 2);
        assert!(found[1].message.starts_with("101 columns"));
        let umlauts = format!("//! {}\n", "ä".repeat(96));
        assert!(check_head_and_width(&file("a.rs", &umlauts)).is_empty());
    }
}
