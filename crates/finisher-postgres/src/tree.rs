//! The trees of queries that a server has analysed, as it tells them (`debug_print_parse`).

use std::iter::Peekable;

/// Deeper trees are not looked into.
const DEPTH_MAX: usize = 1000;

/// Has the server tell its trees on a connection.
pub(crate) const TELL_TREES: &str = "SET debug_pretty_print = off; SET debug_print_parse = on; \
                                     SET client_min_messages = log";

/// Has the server tell them no more.
pub(crate) const TELL_NO_TREES: &str = "RESET debug_pretty_print; RESET debug_print_parse; RESET \
                                        client_min_messages";

/// A part of a tree (`nodeToString`).
#[derive(Debug)]
pub(crate) enum Tree {
    Word(String),
    List(Vec<Tree>),
    /// Its name, and fields with what follows each.
    Node(String, Vec<(String, Vec<Tree>)>),
}

impl Tree {
    /// The tree that a server has told.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut tokens = tokens(text).into_iter().peekable();
        Self::read(&mut tokens, 0)
    }

    fn read(tokens: &mut Peekable<std::vec::IntoIter<String>>, depth: usize) -> Option<Self> {
        if depth > DEPTH_MAX {
            return None;
        }
        match tokens.next()?.as_str() {
            "{" => {
                let name = tokens.next()?;
                let mut fields: Vec<(String, Vec<Self>)> = Vec::new();
                while tokens.next_if(|token| token == "}").is_none() {
                    match tokens.next_if(|token| token.starts_with(':')) {
                        Some(field) => fields.push((field[1..].to_owned(), Vec::new())),
                        None => fields.last_mut()?.1.push(Self::read(tokens, depth + 1)?),
                    }
                }
                Some(Self::Node(name, fields))
            }
            "(" => {
                let mut parts = Vec::new();
                while tokens.next_if(|token| token == ")").is_none() {
                    parts.push(Self::read(tokens, depth + 1)?);
                }
                Some(Self::List(parts))
            }
            "}" | ")" => None,
            word => Some(Self::Word(word.to_owned())),
        }
    }

    /// What follows the name of a field.
    pub(crate) fn field(&self, name: &str) -> &[Self] {
        let Self::Node(_, fields) = self else {
            return &[];
        };
        let mut fields = fields.iter();
        let found = fields.find(|(own, _)| own == name);
        found.map_or(&[], |(_, parts)| parts)
    }

    /// The only word of a field.
    pub(crate) fn word(&self, name: &str) -> &str {
        match self.field(name) {
            [Self::Word(word)] => word,
            _ => "",
        }
    }
}

fn tokens(tree: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            tokens.push(std::mem::take(word));
        }
    };
    let mut signs = tree.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => {
                // What is escaped is part of a name, and no brace of the tree's.
                word.push('\\');
                word.extend(signs.next());
            }
            '{' | '}' | '(' | ')' => {
                end(&mut word);
                word.push(sign);
                end(&mut word);
            }
            sign if sign.is_ascii_whitespace() => end(&mut word),
            sign => word.push(sign),
        }
    }
    end(&mut word);
    tokens
}
