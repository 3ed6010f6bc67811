//! Files of a crate must not import each other in circles, so that one can read what a file builds
//! on first.
//!
//! A path in the code (`super::rows::Shape`) refers to the file of the module that defines its
//! item. If a module only re-exports the item (`use`), the defining file is meant. Imports from
//! parent modules do not count: `session/rows.rs` may name the types of `session.rs`. Methods are
//! not considered: a type whose methods are spread over files is not a circle.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenTree;

use super::Violation;
use super::tokens::{Source, inside, is_ident, is_punct, walk};

/// Crates that still have circles, with the number of files in them. The number may only decrease.
const KNOWN: &[(&str, usize)] = &[];

type Path = Vec<String>;

/// A file as a module.
struct Module {
    /// The path of its file.
    file: String,
    /// Modules that it declares.
    children: BTreeSet<String>,
    /// Names that it imports, with their paths.
    uses: BTreeMap<String, Path>,
    /// Paths in its code.
    paths: BTreeSet<Path>,
}

/// The modules of a crate, by their paths from its root.
#[derive(Default)]
pub struct Modules(BTreeMap<Path, Module>);

impl Modules {
    /// Adds a source file, if it is a module of the product.
    pub fn add(&mut self, source: &Source<'_>) {
        let file = &source.file.path;
        let Some(path) = module_path(file).filter(|_| source.is_product()) else {
            return;
        };
        let tokens = source.product_tokens();
        let mut module = Module {
            file: file.clone(),
            children: BTreeSet::new(),
            uses: BTreeMap::new(),
            paths: BTreeSet::new(),
        };
        walk(&tokens, &mut |siblings| module.read(siblings));
        self.0.insert(path, module);
    }

    /// The files of each circle.
    fn circles(&self) -> Vec<BTreeSet<&Path>> {
        let edges: BTreeMap<&Path, BTreeSet<&Path>> = self
            .0
            .keys()
            .map(|from| (from, self.targets(from).into_keys().collect()))
            .collect();
        let mut circles: Vec<BTreeSet<&Path>> = Vec::new();
        let mut left: BTreeSet<&Path> = self.0.keys().collect();
        while let Some(first) = left.pop_first() {
            let ahead = reachable(first, &edges).into_iter();
            let circle: BTreeSet<&Path> = ahead
                .filter(|other| *other == first || reachable(other, &edges).contains(first))
                .collect();
            if circle.len() > 1 {
                left.retain(|other| !circle.contains(other));
                circles.push(circle);
            }
        }
        circles
    }

    /// The imports that form a circle.
    fn ties(&self, circle: &BTreeSet<&Path>) -> Vec<String> {
        let mut ties = Vec::new();
        for from in circle {
            for (to, names) in self.targets(from) {
                if circle.contains(to) {
                    let names: Vec<&str> = names.into_iter().collect();
                    let (from, to) = (&self.0[*from].file, &self.0[to].file);
                    ties.push(format!("    {from} -> {to}: {}", names.join(", ")));
                }
            }
        }
        ties
    }

    /// The other modules that a module's code names, and what it imports from them.
    fn targets(&self, from: &Path) -> BTreeMap<&Path, BTreeSet<&str>> {
        let module = &self.0[from];
        let mut targets: BTreeMap<&Path, BTreeSet<&str>> = BTreeMap::new();
        for path in module.paths.iter().chain(module.uses.values()) {
            if let Some(target) = self.definer(from, path, 8)
                && !from.starts_with(target)
            {
                let name = path.last().map_or("", String::as_str);
                targets.entry(target).or_default().insert(name);
            }
        }
        targets
    }

    /// The module that defines the item of a path used in another one.
    fn definer(&self, from: &Path, path: &[String], hops_max: usize) -> Option<&Path> {
        let (mut at, mut rest) = (from.clone(), path);
        match rest.first()?.as_str() {
            "crate" => (at, rest) = (Path::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            child if self.0[from].children.contains(child) => {}
            _ => return None,
        }
        while let [segment, behind @ ..] = rest {
            let child = [at.as_slice(), std::slice::from_ref(segment)].concat();
            if !self.0.contains_key(&child) {
                break;
            }
            (at, rest) = (child, behind);
        }
        let (known, module) = self.0.get_key_value(&at)?;
        let passed_on = rest.first().and_then(|name| module.uses.get(name));
        match passed_on.filter(|_| hops_max > 0 && known != from) {
            Some(path) => self.definer(known, path, hops_max - 1),
            None => Some(known),
        }
    }
}

impl Module {
    /// Collects what a list of sibling tokens declares and names.
    fn read(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        while at < tokens.len() {
            if is_ident(tokens.get(at), "mod") && is_punct(tokens.get(at + 2), ';') {
                self.children.insert(tokens[at + 1].to_string());
                at += 3;
            } else if is_ident(tokens.get(at), "use") {
                let end = (at..tokens.len()).find(|place| is_punct(tokens.get(*place), ';'));
                let end = end.unwrap_or(tokens.len());
                let mut found = Vec::new();
                tree(&[], &tokens[at + 1..end], &mut found);
                self.uses.extend(found);
                at = end;
            } else {
                at += self.path(&tokens[at..]).max(1);
            }
        }
    }

    /// Collects a path in the code, and returns its number of tokens.
    fn path(&mut self, tokens: &[TokenTree]) -> usize {
        let mut path = Path::new();
        let mut at = 0;
        while let Some(TokenTree::Ident(segment)) = tokens.get(at) {
            path.push(segment.to_string());
            at += 1;
            if !(is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')) {
                break;
            }
            at += 2;
        }
        if path.len() > 1 {
            self.paths.insert(path);
        }
        at
    }
}

/// The names that a `use` tree imports, each with its path.
fn tree(before: &[String], tokens: &[TokenTree], found: &mut Vec<(String, Path)>) {
    let mut path = before.to_vec();
    let mut name = None;
    let mut rest = tokens.iter().peekable();
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Ident(ident) if ident == "as" => {
                name = rest.next().map(ToString::to_string);
            }
            TokenTree::Ident(ident) => path.push(ident.to_string()),
            TokenTree::Group(group) => {
                let inner = inside(group);
                for part in inner.split(|token| is_punct(Some(token), ',')) {
                    tree(&path, part, found);
                }
                return;
            }
            _ => {}
        }
    }
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    if let (Some(last), true) = (path.last(), path.len() > before.len() || !before.is_empty()) {
        found.push((name.unwrap_or_else(|| last.clone()), path));
    }
}

fn reachable<'a>(
    from: &'a Path,
    edges: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
) -> BTreeSet<&'a Path> {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for target in &edges[next] {
            if seen.insert(target) {
                open.push(target);
            }
        }
    }
    seen
}

/// Converts `crates/a/src/b/c.rs` to `b`, `c`.
fn module_path(file: &str) -> Option<Path> {
    let (_, inner) = file.split_once("/src/")?;
    let inner = inner.strip_suffix(".rs")?;
    let mut path: Path = inner.split('/').map(str::to_owned).collect();
    if path == ["lib"] || path == ["main"] || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    Some(path)
}

/// Checks the crates, by name.
pub fn check(crates: &BTreeMap<String, Modules>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, modules) in crates {
        let circles = modules.circles();
        let files: usize = circles.iter().map(BTreeSet::len).sum();
        let known = KNOWN.iter().find(|(known, _)| known == name);
        let known = known.map_or(0, |(_, files)| *files);
        let message = match files.cmp(&known) {
            Ordering::Equal => continue,
            Ordering::Less => {
                format!("{files} files in circles: lower the number in circles.rs to that")
            }
            Ordering::Greater => {
                let ties: Vec<String> = circles.iter().flat_map(|it| modules.ties(it)).collect();
                let ties = ties.join("\n");
                format!("{files} files import each other in circles, at most {known}:\n{ties}")
            }
        };
        violations.push(Violation::new(&format!("crates/{name}"), 0, message));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::Tree;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let tree = Tree::of(files);
        let mut modules = Modules::default();
        for file in tree.rust_files() {
            modules.add(&Source::parse(file).unwrap_or_else(|wrong| panic!("{wrong}")));
        }
        let files = |circle: &BTreeSet<&Path>| {
            let files = circle.iter().map(|path| modules.0[*path].file.clone());
            files.collect()
        };
        modules.circles().iter().map(files).collect()
    }

    #[test]
    fn files_that_name_each_other_are_a_circle() {
        let both = circles(&[
            ("crates/a/src/lib.rs", "mod b; mod c; pub use b::B;"),
            ("crates/a/src/b.rs", "use crate::c::C; pub struct B;"),
            (
                "crates/a/src/c.rs",
                "pub struct C; fn f() { super::b::g() }",
            ),
        ]);
        assert_eq!(both, [["crates/a/src/b.rs", "crates/a/src/c.rs"]]);
    }

    #[test]
    fn what_is_passed_on_is_of_who_defines_it() {
        let passed_on = circles(&[
            (
                "crates/a/src/lib.rs",
                "mod b; mod c; use c::C; fn f(c: C) {}",
            ),
            ("crates/a/src/b.rs", "use super::{C, c::{self, D as E}};"),
            ("crates/a/src/c.rs", "pub struct C; pub struct D;"),
        ]);
        assert!(passed_on.is_empty(), "{passed_on:?}");
    }

    #[test]
    fn a_module_may_take_from_those_that_it_is_part_of() {
        let inner = circles(&[
            ("crates/a/src/lib.rs", "mod b; use b::B; struct A;"),
            ("crates/a/src/b.rs", "pub struct B(super::A);"),
        ]);
        assert!(inner.is_empty(), "{inner:?}");
    }

    #[test]
    fn tests_are_left_out() {
        let tests = circles(&[
            ("crates/a/src/lib.rs", "mod b; use b::B; struct A;"),
            (
                "crates/a/src/b.rs",
                "pub struct B; #[cfg(test)] mod tests { use crate::A; }",
            ),
        ]);
        assert!(tests.is_empty(), "{tests:?}");
    }
}
