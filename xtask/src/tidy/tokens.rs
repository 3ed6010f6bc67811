//! Rust source as tokens with lines, so that words in comments and strings are not mistaken for
//! code.

use std::str::FromStr;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use super::Violation;
use super::tree::File;

/// A source file, its crate, and whether it is test code as a whole.
pub struct Source<'a> {
    pub file: &'a File,
    pub tokens: Vec<TokenTree>,
}

impl<'a> Source<'a> {
    pub fn parse(file: &'a File) -> Result<Self, Violation> {
        let stream = TokenStream::from_str(&file.text)
            .map_err(|error| Violation::new(&file.path, 0, format!("not Rust: {error}")))?;
        let tokens = stream.into_iter().collect();
        Ok(Self { file, tokens })
    }

    /// Folder below `crates/`, or `xtask`.
    pub fn crate_name(&self) -> &'a str {
        let path = self.file.path.as_str();
        let path = path.strip_prefix("crates/").unwrap_or(path);
        path.split('/').next().unwrap_or(path)
    }

    /// Whether it is part of the product, and not a test or example.
    pub fn is_product(&self) -> bool {
        let path = self.file.path.as_str();
        path.contains("/src/") && !path.ends_with("/tests.rs") && !path.contains("/tests/")
    }

    /// The tokens without test-only items.
    pub fn product_tokens(&self) -> Vec<TokenTree> {
        without_test_items(&self.tokens)
    }
}

/// Calls `visit` with each list of sibling tokens, outer ones first.
pub fn walk(tokens: &[TokenTree], visit: &mut impl FnMut(&[TokenTree])) {
    visit(tokens);
    for token in tokens {
        if let TokenTree::Group(group) = token {
            walk(&inside(group), visit);
        }
    }
}

/// Every identifier at any depth.
pub fn identifiers(tokens: &[TokenTree]) -> Vec<Ident> {
    let mut found = Vec::new();
    walk(tokens, &mut |siblings| {
        found.extend(siblings.iter().filter_map(|token| match token {
            TokenTree::Ident(ident) => Some(ident.clone()),
            _ => None,
        }));
    });
    found
}

pub fn inside(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

pub fn is_ident(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

pub fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// The attribute's bracket, if an attribute starts here.
pub fn attribute(tokens: &[TokenTree]) -> Option<&Group> {
    match tokens {
        [TokenTree::Punct(punct), TokenTree::Group(group), ..]
            if punct.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group)
        }
        _ => None,
    }
}

fn without_test_items(tokens: &[TokenTree]) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let rest = &tokens[index..];
        if attribute(rest).is_some_and(is_for_tests) {
            index += item_length(rest);
            continue;
        }
        kept.push(match token {
            TokenTree::Group(group) => {
                let stream = without_test_items(&inside(group)).into_iter().collect();
                let mut copy = Group::new(group.delimiter(), stream);
                copy.set_span(group.span());
                TokenTree::Group(copy)
            }
            other => other.clone(),
        });
        index += 1;
    }
    kept
}

fn is_for_tests(attribute: &Group) -> bool {
    let tokens = inside(attribute);
    let [TokenTree::Ident(name), rest @ ..] = tokens.as_slice() else {
        return false;
    };
    match rest {
        [] => name == "test",
        [TokenTree::Group(condition)] if name == "cfg" => {
            matches!(inside(condition).as_slice(), [TokenTree::Ident(word)] if word == "test")
        }
        _ => false,
    }
}

/// An item ends with its first brace or semicolon.
fn item_length(tokens: &[TokenTree]) -> usize {
    let end = tokens.iter().position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => is_punct(Some(other), ';'),
    });
    end.map_or(tokens.len(), |last| last + 1)
}

#[cfg(test)]
pub fn source(file: &File) -> Source<'_> {
    Source::parse(file).unwrap()
}

#[cfg(test)]
pub fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_items_are_left_out_and_the_rest_stays() {
        let text = "fn kept() {} #[cfg(test)] mod tests { fn gone() {} } #[test] fn gone() {} \
                    mod inner { #[cfg(test)] use gone; fn kept() {} } #[cfg(unix)] fn kept() {}";
        let file = file("crates/a/src/lib.rs", text);
        let words = identifiers(&source(&file).product_tokens());
        assert_eq!(words.iter().filter(|word| *word == "kept").count(), 3);
        assert!(words.iter().all(|word| word != "gone"));
    }

    #[test]
    fn what_does_not_parse_is_a_violation() {
        let file = file("crates/a/src/lib.rs", "fn a( {");
        assert!(Source::parse(&file).is_err());
    }

    #[test]
    fn crates_are_told_by_their_folder() {
        let file_a = file("crates/page-codec/src/lib.rs", "");
        assert_eq!(source(&file_a).crate_name(), "page-codec");
        let file_b = file("xtask/src/main.rs", "");
        assert_eq!(source(&file_b).crate_name(), "xtask");
    }
}
