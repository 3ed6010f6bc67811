//! Features restricted to some crates: `unsafe`, and printing.

use super::Violation;
use super::tokens::{Source, identifiers, is_ident, is_punct, walk};

/// The crates that call C. `testkit` is for tests alone (`edges`), and the foreign clients in
/// `interop` are not members.
const UNSAFE_ALLOWED: &[&str] = &[
    "vfs",
    "sqlite-linked",
    "sqlite-extension",
    "sqlite-api",
    "postgres-client-c",
    "browser",
    "testkit",
    "interop",
];

/// Programs, not libraries.
const PRINTING_ALLOWED: &[&str] = &["cli", "xtask", "interop", "peers"];

const PRINTING: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

pub fn check(source: &Source) -> Vec<Violation> {
    let mut violations = check_unsafe(source);
    if source.is_product() && !PRINTING_ALLOWED.contains(&source.crate_name()) {
        violations.extend(check_printing(source));
    }
    violations
}

fn check_unsafe(source: &Source) -> Vec<Violation> {
    if UNSAFE_ALLOWED.contains(&source.crate_name()) {
        return Vec::new();
    }
    let message = format!("`unsafe` outside {}", UNSAFE_ALLOWED.join(", "));
    identifiers(&source.tokens)
        .into_iter()
        .filter(|ident| ident == "unsafe")
        .map(|ident| Violation::new(&source.file.path, ident.span().start().line, &message))
        .collect()
}

fn check_printing(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    walk(&source.product_tokens(), &mut |siblings| {
        for (index, token) in siblings.iter().enumerate() {
            let macro_name = PRINTING.iter().find(|name| is_ident(Some(token), name));
            if let (Some(name), true) = (macro_name, is_punct(siblings.get(index + 1), '!')) {
                let message = format!("`{name}!` in a library: return it, or take a writer");
                let line = token.span().start().line;
                violations.push(Violation::new(&source.file.path, line, message));
            }
        }
    });
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{file, source};
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Violation> {
        check(&source(&file(path, text)))
    }

    #[test]
    fn unsafe_is_found_where_it_may_not_be() {
        let text = "//! unsafe\n/// unsafe\nfn a() {\n    m!(unsafe { b() });\n}\n";
        let violations = found("crates/store/src/lib.rs", text);
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].line, 4);
        assert!(found("crates/vfs/src/lib.rs", text).is_empty());
    }

    #[test]
    fn unsafe_is_found_in_tests_too() {
        assert_eq!(
            found("crates/store/tests/a.rs", "unsafe fn a() {}").len(),
            1
        );
    }

    #[test]
    fn a_library_that_prints_is_found() {
        let text = "fn a() { if b { println!(\"x\") } dbg!(1); }";
        assert_eq!(found("crates/store/src/lib.rs", text).len(), 2);
        assert!(found("crates/cli/src/main.rs", text).is_empty());
        assert!(found("crates/store/tests/a.rs", text).is_empty());
        assert!(found("crates/store/examples/a.rs", text).is_empty());
    }

    #[test]
    fn words_and_tests_are_not_taken_for_printing() {
        let text = "/// Unlike println!().\nfn print() {}\n#[cfg(test)]\nmod tests { fn a() { \
                    println!(); } }";
        assert!(found("crates/store/src/lib.rs", text).is_empty());
    }
}
