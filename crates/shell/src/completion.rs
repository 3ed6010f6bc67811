//! Completion of the word before the cursor: tables, columns, keywords, dot commands, paths.
//!
//! Pure except for [`Names`], through which the schema is read when needed.

use crate::commands::{self, Takes};
use crate::keywords;
use crate::quote;
use crate::scanner::{Inside, Piece, PieceKind, pieces};
use crate::schema_names::Names;
use std::collections::HashSet;

/// Candidates for the word before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Words that replace the line from byte `start` to the cursor.
    Words {
        /// Where the word begins.
        start: usize,
        /// The candidates, without duplicates, in display order.
        words: Vec<String>,
    },
    /// The path of a file.
    Path,
}

impl Completion {
    fn nothing(cursor: usize) -> Self {
        Completion::Words {
            start: cursor,
            words: Vec::new(),
        }
    }
}

/// Completes the word before the cursor. `before` contains the earlier lines of the same statement,
/// with their newlines.
pub fn complete(before: &str, line: &str, cursor: usize, names: &dyn Names) -> Completion {
    let Some(typed) = line.get(..cursor) else {
        return Completion::nothing(cursor);
    };
    if before.is_empty() && typed.starts_with('.') {
        return dot_command(typed, names);
    }
    Sql::new(before, typed, &line[cursor..]).complete(names)
}

fn dot_command(typed: &str, names: &dyn Names) -> Completion {
    let Some((name, rest)) = typed[1..].split_once(char::is_whitespace) else {
        let matching = commands::names().filter(|name| starts_with(name, &typed[1..]));
        return Completion::Words {
            start: 1,
            words: matching.map(str::to_owned).collect(),
        };
    };
    let start = typed.len() - rest.len() + word_start(rest);
    let word = &typed[start..];
    let possible: Vec<String> = match commands::takes(name) {
        Some(Takes::Path) if !word.starts_with("--") => return Completion::Path,
        Some(Takes::Table) => names.tables(None),
        Some(Takes::Command) => commands::names().map(str::to_owned).collect(),
        Some(Takes::OneOf(words)) => words().into_iter().map(str::to_owned).collect(),
        Some(Takes::Path | Takes::Nothing) | None => Vec::new(),
    };
    let matching = possible.into_iter().filter(|one| starts_with(one, word));
    Completion::Words {
        start,
        words: matching.collect(),
    }
}

/// Where the last word of a text begins.
fn word_start(text: &str) -> usize {
    text.char_indices()
        .rev()
        .find(|(_, character)| character.is_whitespace())
        .map_or(0, |(index, character)| index + character.len_utf8())
}

fn starts_with(word: &str, beginning: &str) -> bool {
    word.get(..beginning.len())
        .is_some_and(|first| first.eq_ignore_ascii_case(beginning))
}

/// Keywords that precede a table name.
const BEFORE_TABLES: [&str; 6] = ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "VIEW"];

/// At most this many tables contribute columns while a statement names no table.
const TABLES_MAX: usize = 200;

/// The statement at the cursor.
struct Sql<'a> {
    /// The lines before, and this one up to the cursor.
    text: String,
    /// This line up to the cursor.
    typed: &'a str,
    /// The text after the cursor.
    after: &'a str,
    /// The pieces of `text`.
    pieces: Vec<Piece>,
    /// The lexical state at the end of `text`.
    inside: Inside,
}

/// The word to complete.
struct Word {
    /// Where it begins in [`Sql::text`].
    start: usize,
    /// The quote before it, if any.
    quote: Option<u8>,
}

/// A word, a name or a sign.
type Token<'a> = (PieceKind, &'a str);

impl<'a> Sql<'a> {
    fn new(before: &str, typed: &'a str, after: &'a str) -> Self {
        let text = format!("{before}{typed}");
        let (mut pieces, inside) = pieces(Inside::default(), &text);
        let ends_one = |piece: &Piece| &text[piece.start..piece.end] == ";";
        if let Some(end) = pieces.iter().rposition(ends_one) {
            pieces.drain(..=end);
        }
        Sql {
            text,
            typed,
            after,
            pieces,
            inside,
        }
    }

    fn complete(&self, names: &dyn Names) -> Completion {
        let before_line = self.text.len() - self.typed.len();
        let word = match self.word() {
            Some(word) if word.start >= before_line => word,
            _ => return Completion::nothing(self.typed.len()),
        };
        let beginning = &self.text[word.start..];
        let qualifier = self.qualifier(&word);
        let mut found = match &qualifier {
            Some(qualifier) => self.qualified(qualifier, names),
            None => self.unqualified(&word, names),
        };
        found.retain(|name| starts_with(name, beginning));
        let mut words: Vec<String> = match word.quote {
            None => found
                .iter()
                .map(|name| quote::identifier_if_needed(name))
                .collect(),
            Some(quote) => quoted(found, quote),
        };
        if word.quote.is_none() && qualifier.is_none() && !self.is_before_tables(word.start) {
            words.extend(keywords_like(beginning));
        }
        let mut seen = HashSet::new();
        words.retain(|word| seen.insert(word.clone()));
        Completion::Words {
            start: word.start - before_line,
            words,
        }
    }

    /// The word before the cursor, which may be empty; `None` if nothing can be completed there.
    fn word(&self) -> Option<Word> {
        let (end, last) = (self.text.len(), self.pieces.last());
        let word = |start, quote| Some(Word { start, quote });
        match (
            self.inside.quote(),
            last.map(|last| (last.kind, last.start)),
        ) {
            _ if self.inside.is_comment() => None,
            (Some(b'\''), _) => None,
            (Some(quote), Some((_, start))) => word(start + 1, Some(quote)),
            (None, Some((PieceKind::Word, start))) => word(start, None),
            (None, Some((PieceKind::Other, _)) | None) => word(end, None),
            _ => None,
        }
    }

    fn of(&self, piece: &Piece) -> &str {
        &self.text[piece.start..piece.end]
    }

    /// The name before the dot that precedes the word.
    fn qualifier(&self, word: &Word) -> Option<String> {
        let end = word.start - usize::from(word.quote.is_some());
        let mut before = self.pieces.iter().rev().skip_while(|one| one.end > end);
        let dot = before.next()?;
        if dot.end != end || self.of(dot) != "." {
            return None;
        }
        let piece = before.next()?;
        name((piece.kind, self.of(piece)))
    }

    /// The tokens before `end`.
    fn tokens_before(&self, end: usize) -> Vec<Token<'_>> {
        let pieces = self.pieces.iter().filter(|piece| piece.end <= end);
        let tokens = pieces.map(|piece| (piece.kind, self.of(piece)));
        tokens.filter(is_token).collect()
    }

    /// All tokens of the statement, including those after the cursor.
    fn tokens(&self) -> Vec<Token<'_>> {
        let (behind, _) = pieces(self.inside, self.after);
        let behind = behind
            .iter()
            .map(|piece| (piece.kind, &self.after[piece.start..piece.end]));
        let mut tokens = self.tokens_before(self.text.len());
        tokens.extend(behind.take_while(|(_, text)| *text != ";").filter(is_token));
        tokens
    }

    /// Columns of the table or alias `qualifier`, or tables of that database.
    fn qualified(&self, qualifier: &str, names: &dyn Names) -> Vec<String> {
        let columns = names.columns(qualifier);
        if !columns.is_empty() {
            return columns;
        }
        let mut databases = names.databases().into_iter();
        if databases.any(|name| name.eq_ignore_ascii_case(qualifier)) {
            return names.tables(Some(qualifier));
        }
        let table = self.table_behind(qualifier, &names.tables(None));
        table.map_or_else(Vec::new, |table| names.columns(&table))
    }

    /// The table of an alias, as in `FROM t AS a`.
    fn table_behind(&self, alias: &str, tables: &[String]) -> Option<String> {
        let tokens = self.tokens();
        let is = |place: usize, word: &str| tokens[place].1.eq_ignore_ascii_case(word);
        (1..tokens.len()).find_map(|place| {
            let between = usize::from(is(place - 1, "AS"));
            if !is(place, alias) || place < 1 + between {
                return None;
            }
            let table = name(tokens[place - 1 - between])?;
            let is_table = |one: &&String| one.eq_ignore_ascii_case(&table);
            tables.iter().find(is_table).cloned()
        })
    }

    /// Whether a table name is expected there.
    fn is_before_tables(&self, place: usize) -> bool {
        let tokens = self.tokens_before(place);
        let last = tokens.last().map(|(_, text)| text.to_ascii_uppercase());
        last.is_some_and(|last| BEFORE_TABLES.contains(&last.as_str()))
    }

    fn unqualified(&self, word: &Word, names: &dyn Names) -> Vec<String> {
        let tables = names.tables(None);
        let place = word.start - usize::from(word.quote.is_some());
        if self.is_before_tables(place) {
            return tables.into_iter().chain(names.databases()).collect();
        }
        let tokens = self.tokens();
        let is_named = |table: &&String| {
            let is =
                |token: &Token<'_>| name(*token).is_some_and(|n| n.eq_ignore_ascii_case(table));
            tokens.iter().any(is)
        };
        let mut named: Vec<&String> = tables.iter().filter(is_named).collect();
        if named.is_empty() && word.start < self.text.len() {
            named = tables.iter().take(TABLES_MAX).collect();
        }
        let columns = named.into_iter().flat_map(|table| names.columns(table));
        columns.chain(tables.iter().cloned()).collect()
    }
}

fn is_token(token: &Token<'_>) -> bool {
    match token.0 {
        PieceKind::Comment => false,
        PieceKind::Other => !token.1.trim().is_empty(),
        _ => true,
    }
}

/// The name that a token denotes.
fn name(token: Token<'_>) -> Option<String> {
    match token {
        (PieceKind::Word, text) => Some(text.to_owned()),
        (PieceKind::QuotedName, text) => Some(text.get(1..text.len() - 1)?.to_owned()),
        _ => None,
    }
}

/// Keywords with this prefix, in the case that the user types; none for an empty prefix.
fn keywords_like(beginning: &str) -> Vec<String> {
    if beginning.is_empty() {
        return Vec::new();
    }
    let small = beginning.bytes().any(|byte| byte.is_ascii_lowercase());
    let matching = keywords::all().filter(|word| starts_with(word, beginning));
    let mut words: Vec<String> = match small {
        true => matching.map(str::to_ascii_lowercase).collect(),
        false => matching.map(str::to_owned).collect(),
    };
    words.sort_unstable();
    words
}

/// Names with the closing quote; those that contain the quote are left out.
fn quoted(names: Vec<String>, quote: u8) -> Vec<String> {
    let closing = char::from(if quote == b'[' { b']' } else { quote });
    let fitting = names.into_iter().filter(|name| !name.contains(closing));
    fitting.map(|name| format!("{name}{closing}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tables, one with an unusual name, and an attached database.
    struct Library;

    impl Names for Library {
        fn databases(&self) -> Vec<String> {
            vec!["main".to_owned(), "attic".to_owned()]
        }

        fn tables(&self, database: Option<&str>) -> Vec<String> {
            let tables: &[&str] = match database {
                None => &["authors", "books", "order", "old loans"],
                Some("attic") => &["old loans"],
                Some(_) => &["authors", "books", "order"],
            };
            tables.iter().map(|name| (*name).to_owned()).collect()
        }

        fn columns(&self, table: &str) -> Vec<String> {
            let columns: &[&str] = match table.to_ascii_lowercase().as_str() {
                "authors" => &["id", "name"],
                "books" => &["id", "title", "author"],
                _ => &[],
            };
            columns.iter().map(|name| (*name).to_owned()).collect()
        }
    }

    /// Start and candidates of the word; `|` marks the cursor.
    fn of(before: &str, line: &str) -> (usize, Vec<String>) {
        let cursor = line.find('|').unwrap();
        match complete(before, &line.replace('|', ""), cursor, &Library) {
            Completion::Words { start, words } => (start, words),
            Completion::Path => panic!("a path"),
        }
    }

    fn words(line: &str) -> Vec<String> {
        of("", line).1
    }

    #[test]
    fn key_words_follow_the_case_of_their_beginning() {
        assert_eq!(of("", "sel|"), (0, vec!["select".to_owned()]));
        assert_eq!(words("SEL|"), ["SELECT"]);
        assert_eq!(words("select 1 orde|"), ["\"order\"", "order"]);
        assert_eq!(of("", "select * fro|"), (9, vec!["from".to_owned()]));
    }

    #[test]
    fn tables_stand_behind_from_and_its_kin() {
        let all = [
            "authors",
            "books",
            "\"order\"",
            "\"old loans\"",
            "main",
            "attic",
        ];
        assert_eq!(words("select * from |"), all);
        assert_eq!(words("select * from B|"), ["books"]);
        assert_eq!(words("insert into au|"), ["authors"]);
        assert_eq!(words("select * from \"ol|"), ["old loans\""]);
        assert_eq!(words("select * from [ol|"), ["old loans]"]);
        assert_eq!(words("select * from attic.|"), ["\"old loans\""]);
        assert_eq!(
            of("select *\nfrom\n", "  bo|"),
            (2, vec!["books".to_owned()])
        );
    }

    #[test]
    fn columns_are_those_of_the_tables_that_are_named() {
        assert_eq!(
            words("select t| from books"),
            [
                "title",
                "table",
                "temp",
                "temporary",
                "then",
                "ties",
                "to",
                "transaction",
                "trigger"
            ]
        );
        assert_eq!(
            words("update books set au|"),
            ["author", "authors", "autoincrement"]
        );
        assert_eq!(words("select na|"), ["name", "natural"]);
        assert_eq!(words("select books.|"), ["id", "title", "author"]);
        assert_eq!(
            words("select b.t| from authors a join books as b"),
            ["title"]
        );
        assert_eq!(words("select a.| from authors a"), ["id", "name"]);
        assert_eq!(
            words("select 1 from authors; select ti|"),
            ["title", "ties"]
        );
        assert_eq!(words("select \"Books\".ti|"), ["title"]);
        assert!(words("select none.|").is_empty());
    }

    #[test]
    fn texts_comments_and_numbers_are_left_alone() {
        for line in ["select 'sel|", "-- sel|", "/* sel|", "select 1|"] {
            assert!(words(line).is_empty(), "{line}");
        }
        assert!(of("select 'a\n", "sel|").1.is_empty());
        assert!(words("|").iter().all(|word| !word.contains("select")));
    }

    #[test]
    fn dot_commands_and_their_arguments() {
        assert_eq!(of("", ".ta|"), (1, vec!["tables".to_owned()]));
        assert_eq!(of("", ".schema bo|"), (8, vec!["books".to_owned()]));
        assert_eq!(words(".mode js|"), ["json"]);
        assert_eq!(words(".help tim|"), ["timer"]);
        assert_eq!(words(".timer |"), ["on", "off"]);
        assert!(words(".quit |").is_empty() && words(".nope |").is_empty());
        for line in [".open ", ".read a", ".imp --csv x", ".output 'a b"] {
            assert_eq!(
                complete("", line, line.len(), &Library),
                Completion::Path,
                "{line}"
            );
        }
        // A dot within a statement does not begin a command.
        let words = of("select a\n", ".ta|").1;
        assert!(!words.contains(&"tables".to_owned()), "{words:?}");
    }
}
