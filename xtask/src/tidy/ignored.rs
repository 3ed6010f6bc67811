//! An ignored test must have a reason.

use super::Violation;
use super::tokens::{Source, attribute, inside, is_ident, walk};

pub fn check(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    walk(&source.tokens, &mut |siblings| {
        for index in 0..siblings.len() {
            let Some(group) = attribute(&siblings[index..]) else {
                continue;
            };
            let words = inside(group);
            if is_ident(words.first(), "ignore") && words.len() == 1 {
                let line = group.span_open().start().line;
                let message = "`#[ignore]` without a reason: `#[ignore = \"why\"]`";
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

    #[test]
    fn a_reason_is_asked_for() {
        let text = "mod a {\n#[ignore]\nfn b() {}\n#[ignore = \"slow\"]\nfn c() {}\n}";
        let found = check(&source(&file("crates/a/tests/b.rs", text)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
    }
}
