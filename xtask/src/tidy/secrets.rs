//! Secret bytes must not be compared with `==`, whose duration reveals where two values differ.
//!
//! The types that hold secrets have no `PartialEq` (doctests of `crypto` prove it); this rule finds
//! comparisons of what `expose` returns.

use proc_macro2::TokenTree;

use super::Violation;
use super::tokens::{Source, is_ident, is_punct, walk};

const LENDING: &[&str] = &["expose", "expose_mut"];

pub fn check(source: &Source) -> Vec<Violation> {
    if !source.is_product() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    walk(&source.product_tokens(), &mut |siblings| {
        for expression in siblings.split(ends_expression) {
            if !compares(expression) {
                continue;
            }
            if let Some(line) = lends(expression) {
                let message = "secret bytes compared in variable time: use `constant_time_eq`, or \
                               the verification of the cipher or HMAC";
                violations.push(Violation::new(&source.file.path, line, message));
            }
        }
    });
    violations
}

fn ends_expression(token: &TokenTree) -> bool {
    [',', ';', '|']
        .iter()
        .any(|sign| is_punct(Some(token), *sign))
}

fn compares(tokens: &[TokenTree]) -> bool {
    tokens.windows(2).any(|pair| {
        let first = is_punct(pair.first(), '=') || is_punct(pair.first(), '!');
        first && is_punct(pair.get(1), '=')
    })
}

/// The line where secret bytes are exposed; their length is not secret.
fn lends(tokens: &[TokenTree]) -> Option<usize> {
    let lent = tokens.iter().enumerate().find(|(index, token)| {
        let is_lent = LENDING.iter().any(|name| is_ident(Some(token), name));
        let is_length = is_punct(tokens.get(index + 2), '.')
            && ["len", "is_empty"]
                .iter()
                .any(|name| is_ident(tokens.get(index + 3), name));
        is_lent && matches!(tokens.get(index + 1), Some(TokenTree::Group(_))) && !is_length
    });
    lent.map(|(_, token)| token.span().start().line)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{file, source};
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&source(&file(path, text))).len()
    }

    #[test]
    fn compared_secrets_are_found() {
        for text in [
            "fn a() -> bool { key.expose() == other.expose() }",
            "fn a() -> bool { x && *bytes != key.expose()[..] }",
            "fn a() { if f(key.expose() == b, 1) {} }",
        ] {
            assert_eq!(found("crates/keyring/src/lib.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn lengths_and_tests_may() {
        let text = "fn a() -> bool { key.expose().len() == 3 && b == c } fn d() { let e = \
                    f.expose(); g == h; }";
        assert_eq!(found("crates/keyring/src/lib.rs", text), 0);
        let text = "fn a() -> bool { key.expose() == other.expose() }";
        assert_eq!(found("crates/keyring/tests/a.rs", text), 0);
    }
}
