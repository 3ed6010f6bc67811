//! Lexemes of MySQL, and a statement in one plain form.
//!
//! The plain form is the same for all SQL modes: texts in single quotes in which only a quote is
//! doubled, names in backquotes or without quotes, parameters `$1`, no comments but hints to the
//! optimizer. What servers read in different ways, or what depends on more than the text and the
//! mode, has no plain form: the statement is refused.

mod hints;
mod modifiers;
mod shared;
#[cfg(all(test, unix))]
mod tests;
mod updated;
mod written;

use std::ops::Range;

use super::bytes::is_word;
use super::{MySql, bytes};
use crate::dialect::{Unread, lexeme as common};

pub(crate) use written::{for_server, plain, write_hole};

/// Stands around the number of a hole in a text of ours. A text of a client that has it is refused.
pub(crate) const HOLE: char = '\u{2}';

/// Key words of forms that are not understood. As names they are quoted.
const OTHER_FORMS: &[&str] = &[
    "against",
    "binary",
    "collate",
    "delayed",
    "div",
    "dumpfile",
    "force",
    "high_priority",
    "ignore",
    "interval",
    "lateral",
    "low_priority",
    "match",
    "mod",
    "outfile",
    "over",
    "partition",
    "procedure",
    "quick",
    "regexp",
    "returning",
    "rlike",
    "sounds",
    "sql_big_result",
    "sql_buffer_result",
    "sql_cache",
    "sql_calc_found_rows",
    "sql_no_cache",
    "sql_small_result",
    "straight_join",
    "use",
    "window",
    "xor",
];

/// Functions of plugins that run a text as SQL (the engine SPIDER).
pub(crate) const RUNNING_FUNCTIONS: [&str; 2] = ["spider_direct_sql", "spider_bg_direct_sql"];

/// Words behind which a text is a value. Elsewhere it may be an alias, or have a character set.
const BEFORE_TEXTS: &[&str] = &[
    "select", "where", "and", "or", "not", "like", "between", "by", "when", "then", "else", "on",
    "having", "comment", "is", "default",
];

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A key word or a name without quotes.
    Word,
    /// A name in quotes.
    Name,
    /// A text.
    Text,
    /// Bytes in hexadecimal, or bits: the value is what introduces them, and their digits.
    Bytes,
    /// A number.
    Number,
    /// A parameter.
    Parameter,
    /// A hole of ours, by its index.
    Hole(usize),
    /// An operator or a mark.
    Symbol,
}

/// One lexeme with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lexeme {
    pub kind: Kind,
    pub span: Range<usize>,
    /// Without quotes and escapes, for names and texts.
    pub value: String,
    /// Whether something stands between it and the lexeme before.
    pub is_apart: bool,
}

fn refused(what: &'static str) -> Unread {
    Unread::Form(what)
}

/// The lexemes of a text.
///
/// # Errors
/// It is not known how the server reads it.
pub(crate) fn lexemes(text: &str, dialect: MySql) -> Result<Vec<Lexeme>, Unread> {
    read(text, dialect, Reading::Tree)
}

/// As many of them at the start of a text.
///
/// # Errors
/// It is not known how the server reads these.
pub(super) fn first_lexemes(
    text: &str,
    dialect: MySql,
    count_max: usize,
) -> Result<Vec<Lexeme>, Unread> {
    read_first(text, dialect, Reading::Tree, count_max)
}

/// What lexemes are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A tree that has to be the server's own.
    Tree,
    /// The names and constants alone: the text itself goes to a server of the same product.
    Names,
}

/// The lexemes of a text, for a purpose.
///
/// # Errors
/// It is not known how the server reads it.
pub(crate) fn read(text: &str, dialect: MySql, reading: Reading) -> Result<Vec<Lexeme>, Unread> {
    read_first(text, dialect, reading, usize::MAX)
}

fn read_first(
    text: &str,
    dialect: MySql,
    reading: Reading,
    count_max: usize,
) -> Result<Vec<Lexeme>, Unread> {
    let mut reader = Reader {
        text,
        dialect,
        reading,
        at: 0,
        found: Vec::new(),
    };
    loop {
        let is_apart = reader.skip()?;
        if reader.at >= text.len() || reader.found.len() >= count_max {
            return Ok(reader.found);
        }
        reader.lexeme(is_apart)?;
    }
}

/// The lexemes of a text as all dialects have them. A text that is not understood is one lexeme:
/// none of what it has is a statement by itself.
pub(crate) fn shared(text: &str, dialect: MySql) -> Vec<(common::Lexeme, Range<usize>)> {
    let Ok(found) = lexemes(text, dialect) else {
        return vec![(common::Lexeme::Other, 0..text.len())];
    };
    let shared = |lexeme: Lexeme| {
        let kind = match (lexeme.kind, lexeme.value.as_str()) {
            (Kind::Word, _) => common::Lexeme::Word,
            (Kind::Symbol, ",") => common::Lexeme::Comma,
            (Kind::Symbol, "(") => common::Lexeme::Open,
            (Kind::Symbol, ")") => common::Lexeme::Close,
            (Kind::Symbol, ";") => common::Lexeme::Semicolon,
            (Kind::Symbol, _) => common::Lexeme::Operator,
            (
                Kind::Name
                | Kind::Text
                | Kind::Bytes
                | Kind::Number
                | Kind::Parameter
                | Kind::Hole(_),
                _,
            ) => common::Lexeme::Other,
        };
        (kind, lexeme.span)
    };
    found.into_iter().map(shared).collect()
}

struct Reader<'t> {
    text: &'t str,
    dialect: MySql,
    reading: Reading,
    at: usize,
    found: Vec<Lexeme>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Skips blanks and comments; whether there were any.
    fn skip(&mut self) -> Result<bool, Unread> {
        let start = self.at;
        loop {
            match self.byte(0) {
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'#') => self.skip_line(),
                // Without a blank behind them they are two signs.
                Some(b'-') if self.byte(1) == Some(b'-') => match self.byte(2) {
                    // Servers cut these off before they read the text.
                    _ if self.rest()[2..]
                        .trim_end_matches([';', ' ', '\t', '\n', '\r'])
                        .is_empty() =>
                    {
                        return Err(refused("-- at the end of a statement"));
                    }
                    Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => self.skip_line(),
                    Some(byte) if byte < b' ' => {
                        return Err(refused("a control character behind --"));
                    }
                    Some(_) | None => break,
                },
                Some(b'/') if self.byte(1) == Some(b'*') => self.skip_comment()?,
                _ => break,
            }
        }
        Ok(self.at > start)
    }

    fn skip_line(&mut self) {
        let end = self.rest().find('\n');
        self.at = end.map_or(self.text.len(), |end| self.at + end + 1);
    }

    fn skip_comment(&mut self) -> Result<(), Unread> {
        let inside = &self.rest()[2..];
        // What a dump says beside its tables, and no server answers otherwise for: MariaDB and
        // MySQL of all versions read it.
        let (hint, first, count_max) = match inside.starts_with("!32311 ") {
            true => ("!32311 LOCAL */", "lock", usize::MAX),
            false => ("!40001 SQL_NO_CACHE */", "select", 1),
        };
        let is_behind = |word: &str| {
            let own = self.found.first();
            own.is_some_and(|own| own.kind == Kind::Word && own.value == word)
        };
        if inside.starts_with(hint) && is_behind(first) && self.found.len() <= count_max {
            self.at += 2 + hint.len();
            return Ok(());
        }
        if inside.starts_with('!') || inside.starts_with("M!") {
            return Err(refused("SQL in a comment (/*! */, /*M! */)"));
        }
        let end = inside.find("*/").ok_or(Unread::Syntax)?;
        let hint = inside[..end].strip_prefix('+');
        if self.dialect.reads_hints() && !hint.is_none_or(hints::are_known) {
            return Err(refused(
                "a hint to the optimizer (/*+ */) that changes a setting, or is not known,",
            ));
        }
        // Whether comments nest depends on the server's version.
        if inside[..end].contains("/*") {
            return Err(refused("a comment within a comment"));
        }
        self.at += 2 + end + 2;
        Ok(())
    }

    fn push(&mut self, kind: Kind, size: usize, value: String, is_apart: bool) {
        let span = self.at..self.at + size;
        self.at = span.end;
        self.found.push(Lexeme {
            kind,
            span,
            value,
            is_apart,
        });
    }

    fn lexeme(&mut self, is_apart: bool) -> Result<(), Unread> {
        let first = self.rest().chars().next().ok_or(Unread::Syntax)?;
        match first {
            '\'' => self.quoted(Kind::Text, '\'', is_apart),
            '"' if self.dialect.ansi_quotes => self.quoted(Kind::Name, '"', is_apart),
            '"' => self.quoted(Kind::Text, '"', is_apart),
            '`' => self.quoted(Kind::Name, '`', is_apart),
            '0' if self.byte(1) == Some(b'x') => self.bytes(bytes::BARE_NUMBER, "", is_apart),
            '0' if self.byte(1) == Some(b'b') => self.bytes(bytes::BARE_BIT_NUMBER, "", is_apart),
            'x' | 'X' if self.byte(1) == Some(b'\'') => self.bytes(bytes::BARE_TEXT, "'", is_apart),
            'b' | 'B' if self.byte(1) == Some(b'\'') => self.bytes(bytes::BARE_BITS, "'", is_apart),
            '0'..='9' => self.number(is_apart),
            '.' if self.byte(1).is_some_and(|next| next.is_ascii_digit())
                && !self.is_behind_name() =>
            {
                self.number(is_apart)
            }
            'a'..='z' | 'A'..='Z' | '_' => self.word(is_apart),
            '?' => match self.byte(1) {
                Some(next) if is_word(next) => Err(Unread::Syntax),
                _ => {
                    self.push(Kind::Parameter, 1, String::new(), is_apart);
                    Ok(())
                }
            },
            '@' => self.variable(is_apart),
            ':' => Err(refused("an assignment to a variable (:=)")),
            HOLE => self.hole(is_apart),
            '(' | ')' | ',' | ';' | '*' | '/' | '+' | '-' | '%' | '=' | '<' | '>' | '!' | '.' => {
                self.symbol(is_apart)
            }
            '|' | '&' | '^' | '~' if self.reading == Reading::Names => self.symbol(is_apart),
            _ => Err(refused("an operator or character of this kind")),
        }
    }

    fn is_behind_name(&self) -> bool {
        let last = self.found.last();
        last.is_some_and(|last| {
            matches!(last.kind, Kind::Word | Kind::Name) && last.span.end == self.at
        })
    }

    fn word(&mut self, is_apart: bool) -> Result<(), Unread> {
        let size = self
            .rest()
            .bytes()
            .take_while(|byte| is_word(*byte))
            .count();
        let word = &self.rest()[..size];
        if !word.is_ascii() || word.contains('$') {
            return Err(refused("a name without quotes beyond A-Z, 0-9 and _"));
        }
        let lower = word.to_ascii_lowercase();
        let before = self.found.last();
        let is_part =
            before.is_some_and(|before| before.value == "." && before.kind == Kind::Symbol);
        // A collation of a column that is declared is read by `ddl`.
        let is_declared = lower == "collate"
            && self
                .found
                .first()
                .is_some_and(|first| first.value == "create");
        if self.reading == Reading::Tree && modifiers::is_idle(&lower, &self.found) {
            self.at += size;
            return Ok(());
        }
        let is_ignore = lower == "ignore"
            && matches!(&self.found[..], [first]
                if ["insert", "update"].contains(&first.value.as_str()));
        let is_modifier = modifiers::is_of_query(&lower, &self.found);
        // Of rows that are written, where the server has it: `subset` reads what follows.
        let is_returning = lower == "returning"
            && self.dialect.returns_rows()
            && self.found.first().is_some_and(|first| {
                ["insert", "replace", "delete"].contains(&first.value.as_str())
            });
        let is_any = self.reading == Reading::Names;
        let is_file = self.loads_a_file();
        let is_known =
            is_any || is_part || is_declared || is_ignore || is_returning || is_file || is_modifier;
        if !is_known && OTHER_FORMS.contains(&lower.as_str()) {
            return Err(refused("a key word of a form that is not understood yet"));
        }
        self.push(Kind::Word, size, lower, is_apart);
        Ok(())
    }

    /// Whether the statement is read by `load` alone, which knows its words.
    fn loads_a_file(&self) -> bool {
        let first = self.found.first();
        first.is_some_and(|first| first.kind == Kind::Word && first.value == "load")
    }

    /// A user variable, as a word that begins with `@`.
    fn variable(&mut self, is_apart: bool) -> Result<(), Unread> {
        let rest = &self.rest()[1..];
        let size = rest.bytes().take_while(|byte| is_word(*byte)).count();
        let (name, behind) = rest.split_at(size);
        let is_plain = name.is_ascii() && !name.is_empty() && !name.contains('$');
        // `@x.y` is one name, and `a@b` an account.
        let goes_on = behind.starts_with(['.', '@', '\'', '"', '`']);
        let is_mark = |own: &Lexeme| own.kind == Kind::Symbol;
        if !is_plain || goes_on || !(is_apart || self.found.last().is_some_and(is_mark)) {
            return Err(refused(
                "@ otherwise than before the name of a user variable of A-Z, 0-9 and _",
            ));
        }
        let value = format!("@{}", name.to_ascii_lowercase());
        self.push(Kind::Word, 1 + size, value, is_apart);
        Ok(())
    }

    /// `x'00'`, `0x00`, `b'101'` and `0b101`, and what introduces them: `_binary`, or nothing.
    fn bytes(&mut self, bare: &str, end: &str, is_apart: bool) -> Result<(), Unread> {
        let has_bits = bytes::has_bits(bare);
        let inside = &self.rest()[2..];
        let is_digit = |byte: &u8| match has_bits {
            true => matches!(byte, b'0' | b'1'),
            false => byte.is_ascii_hexdigit(),
        };
        let size = inside.bytes().take_while(is_digit).count();
        let (digits, behind) = inside.split_at(size);
        let is_end = behind.strip_prefix(end).is_some_and(|behind| {
            let next = behind.bytes().next();
            next.is_none_or(|byte| !is_word(byte) && byte != b'.' && byte != b'\'')
        });
        let is_odd = size % 2 == 1 && !has_bits;
        if !is_end || is_odd || (size == 0 && (end.is_empty() || has_bits)) {
            return Err(refused("bytes in hexadecimal, or bits, of this form"));
        }
        let value = format!("{bare} X'{digits}'");
        let introduced = format!("{} X'{digits}'", bytes::INTRODUCER);
        let size = 2 + size + end.len();
        let is_introduced = self
            .found
            .last()
            .is_some_and(|own| own.kind == Kind::Word && own.value == bytes::INTRODUCER);
        if is_introduced && is_apart && !has_bits {
            let before = self.found.pop();
            let is_apart = before.is_some_and(|own| own.is_apart);
            self.check_is_value(is_apart)?;
            self.push(Kind::Bytes, size, introduced, is_apart);
            return Ok(());
        }
        self.check_is_value(is_apart)?;
        self.push(Kind::Bytes, size, value, is_apart);
        Ok(())
    }

    fn number(&mut self, is_apart: bool) -> Result<(), Unread> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut size = digits(0);
        if bytes.get(size) == Some(&b'.') {
            size += 1 + digits(size + 1);
        }
        if matches!(bytes.get(size), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(size + 1), Some(b'+' | b'-')));
            let exponent = digits(size + 1 + sign);
            if exponent > 0 {
                size += 1 + sign + exponent;
            }
        }
        if bytes
            .get(size)
            .is_some_and(|byte| is_word(*byte) || *byte == b'.')
        {
            return Err(refused(
                "a number that letters follow (0x…, 0b…, a name that begins with a digit)",
            ));
        }
        self.push(Kind::Number, size, String::new(), is_apart);
        Ok(())
    }

    /// A text or name in quotes.
    fn quoted(&mut self, kind: Kind, quote: char, is_apart: bool) -> Result<(), Unread> {
        let mut value = String::new();
        let mut letters = self.rest()[1..].char_indices();
        let escapes = kind == Kind::Text && !self.dialect.plain_backslashes;
        let size = loop {
            let (at, letter) = letters.next().ok_or(Unread::Syntax)?;
            if letter == quote {
                match letters.clone().next() {
                    Some((_, next)) if next == quote => {
                        letters.next();
                        value.push(quote);
                    }
                    _ => break at + 2,
                }
            } else if escapes && letter == '\\' {
                let (_, escaped) = letters.next().ok_or(Unread::Syntax)?;
                let is_kept = matches!(escaped, '%' | '_');
                if is_kept && self.reading == Reading::Names {
                    value.push('\\');
                }
                value.push(match escaped {
                    // Patterns keep them.
                    '%' | '_' if self.reading == Reading::Names => escaped,
                    '%' | '_' => return Err(refused("\\% or \\_ in a text")),
                    other => bytes::unescaped(other),
                });
            } else {
                value.push(letter);
            }
        };
        if kind == Kind::Name
            && (!value.is_ascii() || value.contains(['`', '\\']) || value.is_empty())
        {
            return Err(refused(
                "a name beyond ASCII, or one with a backquote or backslash",
            ));
        }
        if value.contains(['\0', '\u{1}', HOLE]) {
            return Err(refused("the character U+0000, U+0001 or U+0002"));
        }
        if kind == Kind::Text {
            self.check_is_value(is_apart)?;
        }
        self.push(kind, size, value, is_apart);
        Ok(())
    }

    /// A text may be an alias, go on with another text, or be of a character set.
    fn check_is_value(&self, is_apart: bool) -> Result<(), Unread> {
        let Some(before) = self.found.last() else {
            return Ok(());
        };
        if self.reading == Reading::Names {
            return Ok(());
        }
        let is_value = match before.kind {
            Kind::Symbol => before.value != ")" && before.value != ".",
            Kind::Word if self.loads_a_file() => is_apart,
            Kind::Word => is_apart && BEFORE_TEXTS.contains(&before.value.as_str()),
            _ => false,
        };
        match is_value {
            true => Ok(()),
            false => Err(refused(
                "a text behind a name or another text (as an alias, or with a character set)",
            )),
        }
    }

    fn hole(&mut self, is_apart: bool) -> Result<(), Unread> {
        let inner = &self.rest()[HOLE.len_utf8()..];
        let end = inner.find(HOLE).ok_or(Unread::Syntax)?;
        let index = inner[..end].parse().map_err(|_| Unread::Syntax)?;
        self.push(Kind::Hole(index), end + 2, String::new(), is_apart);
        Ok(())
    }

    fn symbol(&mut self, is_apart: bool) -> Result<(), Unread> {
        let rest = self.rest();
        let known = ["<=>", "<=", ">=", "<>", "!="];
        let found = known.into_iter().find(|known| rest.starts_with(known));
        let symbol = match found {
            Some(symbol) => symbol,
            None if self.reading == Reading::Tree
                && (rest.starts_with('!') || rest.starts_with("<<") || rest.starts_with(">>")) =>
            {
                return Err(refused("an operator of this kind"));
            }
            None => &rest[..1],
        };
        let (size, value) = (symbol.len(), symbol.to_owned());
        self.push(Kind::Symbol, size, value, is_apart);
        Ok(())
    }
}
