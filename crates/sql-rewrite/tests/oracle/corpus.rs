//! The statements of other tests: each quoted text that the server's grammar reads.

use sql_oracle::read;

/// Sources of tests, and texts of statements.
const SOURCES: &[&str] = &[
    include_str!("../canary.rs"),
    include_str!("../derived.rs"),
    include_str!("../explain.rs"),
    include_str!("../gathered.rs"),
    include_str!("../meanings.rs"),
    include_str!("../regressions.rs"),
    include_str!("../safety.rs"),
    include_str!("../statements.rs"),
    include_str!("../written.rs"),
    include_str!("../postgres/clients.rs"),
    include_str!("../postgres/mod.rs"),
    include_str!("../../src/dialect/postgres/ddl/tests.rs"),
    include_str!("../../src/dialect/postgres/forms.rs"),
    include_str!("../../src/mention.rs"),
    include_str!("../../../workloads/src/tpcc.rs"),
];

/// Statements line by line.
const LINES: &[&str] = &[
    include_str!("../tpcc.plans"),
    include_str!("../../../../interop/postgres-schema.sql"),
    include_str!("../../../../interop/postgres-dump/schema.sql"),
    include_str!("../../../../interop/postgres-pgbench/movement.sql"),
];

/// Texts that the server's grammar reads, each once.
pub fn statements() -> Vec<String> {
    let quoted = SOURCES.iter().flat_map(|source| quoted(source));
    let lines = LINES.iter().flat_map(|text| text.lines());
    let mut texts: Vec<String> = quoted.chain(lines.map(str::to_owned)).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.retain(|text| read(text).is_ok_and(|reading| !reading.kinds.is_empty()));
    texts
}

/// The texts in quotes of a source in Rust.
fn quoted(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find('"') {
        let hashes = match rest[..at].strip_suffix('#') {
            Some(before) if before.ends_with('r') => Some("\"#"),
            _ if rest[..at].ends_with('r') => Some("\""),
            _ => None,
        };
        rest = &rest[at + 1..];
        let (text, end) = match hashes {
            Some(end) => {
                let length = rest.find(end).unwrap_or(rest.len());
                (rest[..length].to_owned(), length + end.len())
            }
            None => unescaped(rest),
        };
        found.push(text);
        rest = rest.get(end..).unwrap_or_default();
    }
    found
}

/// The text up to the next quote, and where it goes on behind that.
fn unescaped(rest: &str) -> (String, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (text, at + 1),
            '\\' => match characters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, 't')) => text.push('\t'),
                Some((at, '\n')) => {
                    let blanks = rest[at + 1..].find(|next: char| !next.is_whitespace());
                    (0..blanks.unwrap_or(0)).for_each(|_| {
                        characters.next();
                    });
                }
                Some((_, other)) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    (text, rest.len())
}

#[test]
fn statements_are_found_in_sources() {
    let source = r##" f("a \"b\" \
        c"), r"d\e", r#"f"g"# "##;
    assert_eq!(quoted(source), ["a \"b\" c", "d\\e", "f\"g"]);
    let statements = statements();
    assert!(statements.len() > 700, "{}", statements.len());
}
