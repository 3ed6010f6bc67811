//! Pure crates must have no I/O, clock, environment or randomness. Crates of sessions must have no
//! I/O, time of day or environment. Crates in the module for browsers must not use a clock, sleep
//! or processes, which compile for browsers but panic there.

use proc_macro2::{Delimiter, TokenTree};

use super::Violation;
use super::tokens::{Source, inside, is_punct, walk};

const PURE: &[&str] = &[
    "crypto",
    "page-codec",
    "sqlcipher-format",
    "sqlstate",
    "column-value",
    "semantics-postgres",
    "semantics-mysql",
    "column-codec",
    "sql-plan",
    "sql-rewrite",
    "finish",
    "wire-mysql",
    "wire-postgres",
    "workloads",
    "lab-report",
];

/// Sessions move bytes between buffers. They draw nonces and read the monotonic clock, by which
/// looks at the catalogues are spread; all else is passed in.
const SESSIONS: &[&str] = &["session-core", "session-mysql", "session-postgres"];

/// What those crates may use of [`EFFECTS`].
const ALLOWED_IN_SESSIONS: &[&str] = &["std::time::Instant", "getrandom"];

/// I/O and timers of the library that sessions take channels from.
const RUNTIME: &[&str] = &[
    "tokio::net",
    "tokio::fs",
    "tokio::time",
    "tokio::spawn",
    "tokio::task",
];

/// Prefixes of forbidden paths; `core` and `alloc` contain nothing forbidden.
const EFFECTS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "getrandom",
    "libc",
];

/// Crates of the module for browsers that are not pure.
const IN_BROWSERS: &[&str] = &["browser", "keyring", "vfs"];

/// Parts of the standard library that panic in browsers.
const ABSENT_IN_BROWSERS: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "std::thread::sleep",
    "thread::sleep",
    "std::process::id",
    "process::id",
];

/// Conditions under which code is not compiled for browsers.
const ELSEWHERE: &[&str] = &[
    "crates/keyring/src/derivation/measured.rs",
    "crates/vfs/src/pause.rs",
];

/// Keywords that may precede a path.
const KEYWORDS: &[&str] = &[
    "as", "break", "dyn", "else", "for", "if", "impl", "in", "match", "mut", "return", "use",
    "where", "while",
];

pub fn check(source: &Source) -> Vec<Violation> {
    let Some((forbidden, reason)) = rule(source) else {
        return Vec::new();
    };
    if !source.is_product() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    walk(&source.product_tokens(), &mut |siblings| {
        for (path, line) in paths(siblings) {
            if forbidden.iter().any(|effect| starts_with(&path, effect)) {
                let message = format!("`{path}` {reason}");
                violations.push(Violation::new(&source.file.path, line, message));
            }
        }
    });
    violations
}

/// What a file may not name, and what to say of it.
fn rule(source: &Source) -> Option<(Vec<&'static str>, &'static str)> {
    let name = source.crate_name();
    if PURE.contains(&name) {
        let reason = "in a pure crate: let the caller pass it in";
        return Some((EFFECTS.to_vec(), reason));
    }
    if SESSIONS.contains(&name) {
        let effects = EFFECTS.iter().chain(RUNTIME).copied();
        let forbidden = effects.filter(|effect| !ALLOWED_IN_SESSIONS.contains(effect));
        let reason = "in a crate of sessions, which do no I/O: let the caller pass it in";
        return Some((forbidden.collect(), reason));
    }
    if IN_BROWSERS.contains(&name) && !ELSEWHERE.contains(&source.file.path.as_str()) {
        let reason =
            "panics in browsers: put it into a module of its own that is not compiled there";
        return Some((ABSENT_IN_BROWSERS.to_vec(), reason));
    }
    None
}

fn starts_with(path: &str, effect: &str) -> bool {
    let rest = path.strip_prefix(effect);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every path among these tokens; `a::{b, c::d}` as `a::b` and `a::c::d`.
fn paths(tokens: &[TokenTree]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        index += path_at(&tokens[index..], "", &mut found).max(1);
    }
    found
}

/// Reads the path that starts here and returns its number of tokens.
fn path_at(tokens: &[TokenTree], prefix: &str, found: &mut Vec<(String, usize)>) -> usize {
    let mut path = prefix.to_owned();
    let mut line = None;
    let mut index = 0;
    loop {
        match tokens.get(index) {
            // In `use ::std::fs` the keyword is not part of the path after it.
            Some(TokenTree::Ident(ident)) if KEYWORDS.iter().any(|word| ident == word) => {
                return index + 1;
            }
            Some(TokenTree::Ident(ident)) => {
                path = join(&path, &ident.to_string());
                line = Some(ident.span().start().line);
                index += 1;
            }
            Some(TokenTree::Group(group)) if index > 0 && group.delimiter() == Delimiter::Brace => {
                for item in inside(group).split(|token| is_punct(Some(token), ',')) {
                    path_at(item, &path, found);
                }
                return index + 1;
            }
            _ => break,
        }
        let separated = is_punct(tokens.get(index), ':') && is_punct(tokens.get(index + 1), ':');
        if !separated {
            break;
        }
        index += 2;
    }
    if let Some(line) = line {
        found.push((path, line));
    }
    index
}

fn join(prefix: &str, word: &str) -> String {
    match (prefix, word) {
        ("", word) => word.to_owned(),
        (prefix, "self") => prefix.to_owned(),
        (prefix, word) => format!("{prefix}::{word}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{file, source};
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let violations = check(&source(&file(path, text)));
        violations
            .into_iter()
            .map(|violation| violation.message)
            .collect()
    }

    #[test]
    fn effects_are_found_in_every_form() {
        for text in [
            "use std::fs;",
            "use std::fs::File;",
            "use std::{fmt, fs};",
            "use std::{collections::BTreeMap, time::{Duration, Instant}};",
            "use std::env::{self, var};",
            "use ::std::net::TcpStream;",
            "fn a() { format!(\"{}\", std::env::var(\"x\")); }",
            "fn a() { getrandom::fill(&mut b); }",
            "fn a() -> u8 { match std::process::id() { _ => 1 } }",
        ] {
            assert!(
                !found("crates/crypto/src/lib.rs", text).is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_pure_passes() {
        for text in [
            "use std::{fmt, io::Read, time::Duration};",
            "/// std::fs\nfn a() { \"std::fs\"; }",
            "fn fs() { self::fs(); a.env; }",
            "#[cfg(test)] mod tests { use std::fs; }",
        ] {
            assert!(found("crates/crypto/src/lib.rs", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_panics_in_browsers_is_found() {
        for text in [
            "use std::time::{Duration, Instant};",
            "fn a() { std::thread::sleep(b); }",
            "use std::thread; fn a() { thread::sleep(b); }",
            "fn a() -> u32 { std::process::id() }",
        ] {
            assert_eq!(found("crates/vfs/src/a.rs", text).len(), 1, "{text}");
            assert!(found("crates/vfs/src/pause.rs", text).is_empty(), "{text}");
            assert!(found("crates/store/src/a.rs", text).is_empty(), "{text}");
        }
        assert!(found("crates/keyring/src/a.rs", "use std::process::Command;").is_empty());
    }

    #[test]
    fn sessions_do_no_io() {
        for text in [
            "use std::net::TcpStream;",
            "use std::fs;",
            "fn a() -> b { std::time::SystemTime::now() }",
            "use tokio::time::timeout;",
        ] {
            assert_eq!(
                found("crates/session-core/src/a.rs", text).len(),
                1,
                "{text}"
            );
        }
        for text in ["use std::time::Instant;", "fn a() { getrandom::fill(b); }"] {
            assert!(
                found("crates/session-core/src/a.rs", text).is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn other_crates_and_tests_may() {
        assert!(found("crates/store/src/lib.rs", "use std::fs;").is_empty());
        assert!(found("crates/crypto/tests/a.rs", "use std::fs;").is_empty());
        assert!(found("crates/crypto/src/page/tests.rs", "use std::fs;").is_empty());
    }
}
