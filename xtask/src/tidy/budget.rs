//! Size budgets: lines of a function, lines of a file, fields of a type, columns; and every file
//! must start with a `//!` head.

use std::fmt;

use proc_macro2::{Delimiter, TokenTree};

use super::Violation;
use super::tokens::{Source, identifiers, inside, is_ident, is_punct, walk};
use super::tree::File;

pub const FUNCTION_LINES_MAX: usize = 70;
pub const FILE_LINES_MAX: usize = 600;
/// A type with more fields does several things.
pub const FIELDS_MAX: usize = 12;
const COLUMNS_MAX: usize = 100;

/// What has a budget.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    File,
    Function(String),
    Type(String),
}

/// Lines of a file or of a function in it, or fields of a type.
#[derive(Debug, PartialEq)]
pub struct Measured {
    pub path: String,
    pub subject: Subject,
    pub line: usize,
    pub size: usize,
}

impl Measured {
    pub fn budget(&self) -> usize {
        match self.subject {
            Subject::File => FILE_LINES_MAX,
            Subject::Function(_) => FUNCTION_LINES_MAX,
            Subject::Type(_) => FIELDS_MAX,
        }
    }
}

impl Subject {
    pub fn unit(&self) -> &'static str {
        match self {
            Self::File | Self::Function(_) => "lines",
            Self::Type(_) => "fields",
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::File => "file",
            Self::Function(name) | Self::Type(name) => name,
        })
    }
}

/// A function spans from its `fn` to its closing brace. Fields are counted only in product code.
pub fn measure(source: &Source) -> Vec<Measured> {
    let path = &source.file.path;
    let mut measured = vec![Measured {
        path: path.clone(),
        subject: Subject::File,
        line: 0,
        size: source.file.text.lines().count(),
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
                    subject: Subject::Function(name),
                    line,
                    size: last + 1 - line,
                });
            }
        }
    });
    if source.is_product() {
        walk(&source.product_tokens(), &mut |siblings| {
            measured.extend(types(siblings, path));
        });
    }
    measured
}

/// Attributes of types whose fields are dictated from outside: records in files, the command line,
/// C.
const RECORDS: &[&str] = &["Serialize", "Deserialize", "Args", "Parser", "repr"];

/// Types with named fields among siblings.
fn types<'a>(siblings: &'a [TokenTree], path: &'a str) -> impl Iterator<Item = Measured> + 'a {
    let is_struct = |index: &usize| is_ident(siblings.get(*index), "struct");
    (0..siblings.len()).filter(is_struct).filter_map(|index| {
        let TokenTree::Ident(name) = siblings.get(index + 1)? else {
            return None;
        };
        let attributes = siblings[..index].iter().rev();
        let mut attributes = attributes.take_while(|token| {
            // Back to the end of the previous item.
            !is_punct(Some(token), ';')
                && !matches!(token, TokenTree::Group(group)
                    if group.delimiter() == Delimiter::Brace)
        });
        if attributes.any(|token| {
            let words = identifiers(std::slice::from_ref(token));
            words
                .iter()
                .any(|word| RECORDS.iter().any(|record| word == record))
        }) {
            return None;
        }
        let body = siblings[index + 2..]
            .iter()
            .take_while(|token| !is_punct(Some(token), ';'))
            .find_map(|token| match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
                _ => None,
            })?;
        Some(Measured {
            path: path.to_owned(),
            subject: Subject::Type(name.to_string()),
            line: name.span().start().line,
            size: count_fields(&inside(body)),
        })
    })
}

/// Counts single colons that follow a name, outside of angle brackets.
fn count_fields(body: &[TokenTree]) -> usize {
    let mut depth = 0_usize;
    let mut fields = 0;
    for index in 0..body.len() {
        let is = |offset: isize, sign| {
            let index = index.checked_add_signed(offset);
            is_punct(index.and_then(|index| body.get(index)), sign)
        };
        if is(0, '<') {
            depth += 1;
        } else if is(0, '>') && !is(-1, '-') {
            depth = depth.saturating_sub(1);
        }
        let follows_name = index > 0 && matches!(body[index - 1], TokenTree::Ident(_));
        if depth == 0 && is(0, ':') && !is(1, ':') && !is(-1, ':') && follows_name {
            fields += 1;
        }
    }
    fields
}

/// `None` for a function type and for a declaration without a body.
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
            .filter_map(|measured| match measured.subject {
                Subject::Function(name) => Some((name, measured.line, measured.size)),
                Subject::File | Subject::Type(_) => None,
            })
            .collect();
        assert_eq!(
            functions,
            [("method".to_owned(), 3, 3), ("inner".to_owned(), 4, 1)]
        );
    }

    #[test]
    fn a_file_is_measured_as_a_whole() {
        let file = file("crates/a/src/lib.rs", "//! x\n\nfn a() {}\n");
        assert_eq!(measure(&source(&file))[0].size, 3);
    }

    #[test]
    fn fields_of_types_are_counted_but_for_records_and_tests() {
        let text = "//! x\nstruct Empty;\nstruct Pair(u8, u8);\n\
                    struct A<T: Copy> {\n    one: HashMap<a::B, Fn(c: u8) -> d::E<u8>>,\n    \
                    pub(crate) two: T,\n}\n#[derive(Serialize)]\nstruct Record { one: u8 }\n\
                    fn f() { struct Inner { one: u8 } }\n\
                    #[cfg(test)]\nmod tests { struct Hidden { one: u8 } }\n";
        let file = file("crates/a/src/lib.rs", text);
        let types: Vec<_> = measure(&source(&file))
            .into_iter()
            .filter_map(|measured| match measured.subject {
                Subject::Type(name) => Some((name, measured.line, measured.size)),
                Subject::File | Subject::Function(_) => None,
            })
            .collect();
        assert_eq!(types, [("A".to_owned(), 4, 2), ("Inner".to_owned(), 10, 1)]);
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
