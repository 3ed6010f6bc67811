//! Whether a text may name a protected table. The names of all protected tables are looked for in
//! the bytes of the text.
//!
//! This needs no parser. A name also counts inside quotes, comments and constants, since a function
//! of the server may run a constant as SQL. A text that could spell a name with escapes counts as
//! one that names a table.

use std::collections::HashSet;

use crate::dialect::lexeme::{is_word, lower};
use crate::{Dialect, Schema};

/// Two names with this many equal bytes at the start count as equal if the server has cut one of
/// them. It is less than the server keeps, since a small letter may be longer than its capital.
const CUT_SIZE_MIN: usize = 40;

/// Names of protected tables and of what shows them, in small letters.
pub(crate) struct Mentions {
    dialect: Dialect,
    words: HashSet<String>,
    phrases: Vec<String>,
}

impl Mentions {
    /// The names of a schema: protected tables, what shows their columns or hides their defaults,
    /// functions that read them.
    pub fn of(schema: &Schema) -> Self {
        let mut mentions = Self {
            dialect: schema.dialect,
            words: HashSet::new(),
            phrases: Vec::new(),
        };
        let tables = schema.tables.values().filter(|table| {
            table.opaque
                || table
                    .columns
                    .iter()
                    .any(|column| column.protected.is_some())
        });
        let names = tables
            .map(|table| &table.name)
            .chain(schema.protected.iter().map(|column| &column.table))
            .chain(schema.hidden_defaults.keys().map(|(_, view)| view))
            .chain(&schema.suspect_functions);
        for name in names {
            let name = lower(name);
            if name.bytes().all(is_word) {
                mentions.words.insert(name);
            } else {
                mentions.phrases.push(name.replace('"', "\"\""));
                mentions.phrases.push(name);
            }
        }
        mentions
    }

    /// The first name that the text has, if any.
    pub fn find(&self, text: &str) -> Option<String> {
        if self.words.is_empty() && self.phrases.is_empty() {
            return None;
        }
        if let Some(name) = self.named(text) {
            return Some(name);
        }
        self.dialect
            .may_hide_names(text, &lower(text))
            .then(|| HIDDEN.to_owned())
    }

    /// The same of a single statement with this first word. What its constants spell with escapes
    /// is read, if they are values.
    pub fn find_in(&self, statement: &str, first: &str) -> Option<String> {
        let found = self.find(statement)?;
        if found != HIDDEN {
            return Some(found);
        }
        match self.dialect.readings(statement, first) {
            Some(readings) => readings.iter().find_map(|reading| self.named(reading)),
            None => Some(found),
        }
    }

    /// The first name that stands in a text.
    fn named(&self, text: &str) -> Option<String> {
        let lower = lower(text);
        let words = lower.split(|character: char| {
            !(character == '_' || character.is_ascii_alphanumeric() || !character.is_ascii())
        });
        // `$` can stand in a name, and around one: both readings count.
        let with_dollar = lower.split(|character: char| {
            !(character == '_'
                || character == '$'
                || character.is_ascii_alphanumeric()
                || !character.is_ascii())
        });
        let word = words
            .chain(with_dollar)
            .find(|word| self.words.contains(*word) || self.is_cut(word));
        let phrase = || self.phrases.iter().find(|phrase| lower.contains(*phrase));
        word.map(str::to_owned).or_else(|| phrase().cloned())
    }

    /// Whether a text may have one of the names, if nobody knows which letters its bytes beyond
    /// ASCII stand for. Names that have none such are found by [`Self::find`].
    fn may_be_in(&self, text: &[u8]) -> bool {
        if self.words.is_empty() && self.phrases.is_empty() {
            return false;
        }
        let is_long = |name: &String| name.len() >= CUT_SIZE_MIN;
        if !self.phrases.is_empty() || self.words.iter().any(is_long) {
            return true;
        }
        let text = text.to_ascii_lowercase();
        let words = text.split(|&byte| !is_word(byte) || byte == b'$');
        let with_dollar = text.split(|&byte| !is_word(byte));
        let mut doubtful = words.chain(with_dollar).filter(|word| !word.is_ascii());
        doubtful.any(|word| {
            let mut names = self.words.iter().map(String::as_str);
            names.any(|name| may_be(word, name.as_bytes()))
                || self
                    .dialect
                    .running_functions()
                    .into_iter()
                    .any(|name| may_be(word, name.as_bytes()))
        })
    }

    /// Whether the server would cut a word, and may then have one of the names.
    fn is_cut(&self, word: &str) -> bool {
        let start = word.as_bytes().get(..CUT_SIZE_MIN);
        let Some(start) = start.filter(|_| self.dialect.cuts(word)) else {
            return false;
        };
        let mut names = self.words.iter();
        names.any(|name| name.as_bytes().starts_with(start))
    }
}

/// Whether a word may be a name, where nobody knows which letters its bytes beyond ASCII stand for,
/// and how many. A server may fold one of them to the `i` of ASCII, and to no other: see [`lower`].
fn may_be(word: &[u8], name: &[u8]) -> bool {
    let is_unknown = |at: usize| word.get(at).is_some_and(|byte| !byte.is_ascii());
    // Where in the word one may be behind each letter of the name.
    let reach = |places: &mut [bool]| {
        for at in 0..word.len() {
            places[at + 1] |= places[at] && is_unknown(at);
        }
    };
    let mut places = vec![false; word.len() + 1];
    places[0] = true;
    reach(&mut places);
    for &letter in name {
        let mut next = vec![false; word.len() + 1];
        for at in (0..word.len()).filter(|at| places[*at]) {
            if is_unknown(at) {
                next[at] |= !letter.is_ascii() || letter == b'i';
            } else {
                next[at + 1] |= word[at] == letter;
            }
        }
        reach(&mut next);
        places = next;
    }
    places[word.len()]
}

impl Schema {
    /// Whether a text whose letters beyond ASCII nobody knows may name a protected table with them.
    /// That it names none with ASCII alone is known from its plan.
    pub fn may_be_named_in(&self, text: &[u8]) -> bool {
        Mentions::of(self).may_be_in(text)
    }
}

/// Stands in messages for a name that escapes may hide.
const HIDDEN: &str = "(perhaps: the text has escapes, or a constant in parts)";

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Dialect, Mentions};

    fn mentions() -> Mentions {
        Mentions {
            dialect: Dialect::Postgres,
            words: HashSet::from(["customer".to_owned(), "a$b".to_owned()]),
            phrases: vec!["two words".to_owned()],
        }
    }

    fn of_word(word: &str) -> Mentions {
        Mentions {
            words: HashSet::from([word.to_owned()]),
            phrases: Vec::new(),
            ..mentions()
        }
    }

    #[test]
    fn a_name_is_found_however_it_is_quoted() {
        for text in [
            "select * from Customer",
            "select * from \"customer\"",
            "select query_to_xml('select * from customer')",
            "do $customer$ x $customer$",
            "do $$ update customer $$",
            "/* customer */",
            "select * from \"Two Words\"",
            "select * from a$b",
            r#"select * from U&"\0063ustomer""#,
            r"select E'\x63ustomer'",
            r"do E'begin insert into cu\stomer values (1); end'",
            r"do E'begin insert into \Customer values (1); end'",
            r"do E'begin insert into cu\\sto\mer values (1); end'",
            r"do e'begin insert into cust\omer values (1); end'",
            r"select E'cus\Tomer'",
            r"select E'ku\ünde'",
            "customer",
            "select query_to_xml('select * from cust'\n'omer')",
            "select query_to_xml('select * from cust' -- and\r\n  'omer')",
        ] {
            assert!(mentions().find(text).is_some(), "{text}");
        }
    }

    #[test]
    fn escapes_in_values_hide_nothing() {
        for text in [
            r"select E'\x64ustomer\v'",
            r"select U&'\0064ustomer'",
            "insert into t values ('cust'\n'omers')",
        ] {
            let first = text.split(' ').next().unwrap_or_default();
            assert!(mentions().find(text).is_some(), "{text}");
            assert_eq!(mentions().find_in(text, first), None, "{text}");
            assert!(mentions().find_in(text, "do").is_some(), "{text}");
        }
        for text in [
            r"select E'\x63ustomer'",
            r"select U&'\0063ustomer'",
            "insert into t values ('cust'\n'omer')",
            r"select E'two\x20words'",
        ] {
            let first = text.split(' ').next().unwrap_or_default();
            let found = mentions().find_in(text, first);
            assert!(
                matches!(found.as_deref(), Some("customer" | "two words")),
                "{text}"
            );
        }
    }

    #[test]
    fn other_names_are_not_found() {
        for text in [
            "select * from customers, customer_id, b_customer",
            r"insert into t values ('\x0163')",
            r"insert into t values (e'\n')",
            r"insert into t values (e'\n\t\r\f\b \' \\ \\path')",
            "select a.b, u & 'x'",
            "select 'a' 'b',\n'c' from \"d\" where e = -- f\n'g'",
            "",
        ] {
            assert_eq!(mentions().find(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_is_found_where_the_server_cuts_it() {
        let name = "k".repeat(63);
        let mentions = of_word(&name);
        assert!(mentions.find(&format!("select * from {name}")).is_some());
        assert!(mentions.find(&format!("select * from {name}er")).is_some());
        assert!(
            mentions
                .find(&format!("select * from \"{name}é\""))
                .is_some()
        );
        assert_eq!(
            mentions.find(&format!("select * from {}", &name[1..])),
            None
        );
    }

    #[test]
    fn a_name_may_be_written_with_letters_that_are_not_known() {
        let mentions = of_word("kisi");
        for text in [
            &b"insert into k\xdds\xdd values (1)"[..],
            b"insert into KIS\xe9\xe9 values (1)",
            b"select dbl\xddnk('x')",
        ] {
            assert!(mentions.may_be_in(text), "{text:?}");
        }
        for text in [
            &b"insert into plain values ('Zo\xeb', 'caf\xe9')"[..],
            b"select 'kisi\xe9s x'",
            b"select c\xe9si, \xe9t\xe9, \xff from kis\xe9r",
            b"kisi",
        ] {
            assert!(!mentions.may_be_in(text), "{text:?}");
        }
        for text in [
            &b"select * from K\xdcNDE"[..],
            b"k\xc3\xbcnde",
            b"'\xfcbrig k\xfcnde'",
        ] {
            assert!(of_word("k\u{fc}nde").may_be_in(text), "{text:?}");
        }
        assert!(!of_word("k\u{fc}nde").may_be_in(b"select 'K\xdcNDER'"));
        let spaced = Mentions {
            phrases: vec!["two words".to_owned()],
            ..of_word("x")
        };
        assert!(spaced.may_be_in(b"caf\xe9"), "nobody knows");
    }

    #[test]
    fn letters_of_every_script_are_folded() {
        let mentions = of_word("künde");
        assert!(mentions.find("select * from KÜNDE").is_some());
        // ISO 8859-9 in a Turkish locale.
        let mentions = of_word("kisi");
        assert!(mentions.find("insert into KİSİ values (1)").is_some());
    }
}
