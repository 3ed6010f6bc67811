//! Splits a text of SQL into statements.
//!
//! A statement ends at a semicolon outside of quoted texts, quoted names, comments and bodies. The
//! syntax of quotes and bodies depends on the dialect:
//!
//! | | SQLite | PostgreSQL | MySQL |
//! |---|---|---|---|
//! | texts | `'…'` | `'…'`, `E'…\…'`, `$tag$…$tag$` | `'…\…'`, `"…\…"` |
//! | names | `"…"`, `` `…` ``, `[…]` | `"…"` | `` `…` `` |
//! | comments | `--`, `/* */` | `--`, `/* /* */ */` | `-- `, `#`, `/* */` |
//! | bodies | of a trigger | `BEGIN ATOMIC`, parentheses | none |
//!
//! A body ends where SQLite's own shell ends it: at `; END ;`.

use crate::Dialect;

/// A statement and the comments before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// From its first word to its last, without the semicolon.
    pub text: &'a str,
    /// Line of its first word, from 1.
    pub line: usize,
    /// The line comments since the previous statement, without their markers: line number and text.
    pub comments: Vec<(usize, &'a str)>,
}

/// Why a text cannot be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SplitProblem {
    /// An unterminated quoted text or name.
    #[error("the {mark} that opens here is never closed")]
    Quote {
        /// The mark.
        mark: char,
    },
    /// An unterminated dollar-quoted text.
    #[error("the dollar quote that opens here is never closed by the same tag")]
    DollarQuote,
    /// An unterminated comment.
    #[error("the comment that opens here is never closed")]
    Comment,
    /// An unterminated body.
    #[error("the body of this statement never ends; it ends at `; END;`")]
    Body,
    /// A closing parenthesis is missing.
    #[error("this statement opens a parenthesis and never closes it")]
    Parenthesis,
    /// A shell command, such as `.read`.
    #[error("this is a command of a shell, not SQL; leave it out")]
    ShellCommand,
}

/// A problem and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: SplitProblem,
}

/// The statements of a text, without empty ones; the last may lack its semicolon.
///
/// # Errors
///
/// If something is unterminated, or there is a shell command.
pub fn split(text: &str, dialect: Dialect) -> Result<Vec<Statement<'_>>, SplitError> {
    let mut splitter = Splitter {
        scanner: Scanner {
            text,
            at: 0,
            line: 1,
            dialect,
        },
        statements: Vec::new(),
        comments: Vec::new(),
        open: None,
    };
    while let Some(token) = splitter.scanner.next()? {
        splitter.take(token)?;
    }
    splitter.finish()
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A word, a number or an unquoted name.
    Word,
    /// A quoted text or name.
    Quoted,
    Semicolon,
    LineComment,
    BlockComment,
    /// Any other character.
    Mark(char),
}

#[derive(Debug, Clone, Copy)]
struct Token {
    kind: Kind,
    begin: usize,
    end: usize,
    line: usize,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    dialect: Dialect,
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips that many bytes, which must end at a character boundary.
    fn skip(&mut self, bytes: usize) {
        let skipped = &self.text[self.at..self.at + bytes];
        self.line += skipped.bytes().filter(|&byte| byte == b'\n').count();
        self.at += bytes;
    }

    fn next(&mut self) -> Result<Option<Token>, SplitError> {
        let blank = self.rest().len() - self.rest().trim_start().len();
        self.skip(blank);
        let Some(first) = self.rest().chars().next() else {
            return Ok(None);
        };
        let (begin, line) = (self.at, self.line);
        let (kind, length) = self
            .measure(first)
            .map_err(|problem| SplitError { line, problem })?;
        self.skip(length);
        Ok(Some(Token {
            kind,
            begin,
            end: self.at,
            line,
        }))
    }

    /// Kind and length of the token that begins here.
    fn measure(&self, first: char) -> Result<(Kind, usize), SplitProblem> {
        let rest = self.rest();
        if self.line_comment_begins() {
            let length = rest.find('\n').unwrap_or(rest.len());
            return Ok((Kind::LineComment, length));
        }
        if rest.starts_with("/*") {
            return Ok((Kind::BlockComment, self.block_comment()?));
        }
        if let Some(closing) = self.closing_quote(first) {
            let length = quoted_length(rest, 1, closing, self.has_backslashes(first))
                .ok_or(SplitProblem::Quote { mark: first })?;
            return Ok((Kind::Quoted, length));
        }
        if self.dialect == Dialect::Postgres {
            if first == '$'
                && let Some(tag) = dollar_tag(rest)
            {
                let body = &rest[tag.len()..];
                let end = body.find(tag).ok_or(SplitProblem::DollarQuote)?;
                return Ok((Kind::Quoted, end + 2 * tag.len()));
            }
            if rest.starts_with("E'") || rest.starts_with("e'") {
                let length =
                    quoted_length(rest, 2, '\'', true).ok_or(SplitProblem::Quote { mark: '\'' })?;
                return Ok((Kind::Quoted, length));
            }
        }
        if first == ';' {
            return Ok((Kind::Semicolon, 1));
        }
        if is_word(first) {
            let length = rest.find(|character| !is_word(character));
            return Ok((Kind::Word, length.unwrap_or(rest.len())));
        }
        Ok((Kind::Mark(first), first.len_utf8()))
    }

    fn line_comment_begins(&self) -> bool {
        let rest = self.rest();
        match self.dialect {
            Dialect::Sqlite | Dialect::Postgres => rest.starts_with("--"),
            // In MySQL, two minus signs before a word are a double negation.
            Dialect::Mysql => {
                rest.starts_with('#')
                    || rest
                        .strip_prefix("--")
                        .is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
            }
        }
    }

    /// Length of the comment that begins here. In PostgreSQL comments nest.
    fn block_comment(&self) -> Result<usize, SplitProblem> {
        let rest = self.rest();
        let nests = self.dialect == Dialect::Postgres;
        let (mut at, mut depth) = (2, 1);
        while depth > 0 {
            let close = rest[at..].find("*/").ok_or(SplitProblem::Comment)? + at;
            match rest[at..close].find("/*") {
                Some(open) if nests => {
                    at += open + 2;
                    depth += 1;
                }
                _ => {
                    at = close + 2;
                    depth -= 1;
                }
            }
        }
        Ok(at)
    }

    /// The closing quote for an opening one.
    fn closing_quote(&self, first: char) -> Option<char> {
        match (first, self.dialect) {
            ('\'' | '"', _) | ('`', Dialect::Sqlite | Dialect::Mysql) => Some(first),
            ('[', Dialect::Sqlite) => Some(']'),
            _ => None,
        }
    }

    fn has_backslashes(&self, first: char) -> bool {
        self.dialect == Dialect::Mysql && first != '`'
    }
}

/// Length of a quoted text with an opening of `opening` bytes. A doubled closing quote belongs to
/// the text, except for a bracket, which cannot be escaped.
fn quoted_length(
    text: &str,
    opening: usize,
    closing: char,
    has_backslashes: bool,
) -> Option<usize> {
    let mut characters = text[opening..].char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && has_backslashes {
            characters.next();
        } else if character == closing {
            let is_doubled = closing != ']'
                && characters
                    .next_if(|&(_, character)| character == closing)
                    .is_some();
            if !is_doubled {
                return Some(opening + at + closing.len_utf8());
            }
        }
    }
    None
}

/// The tag of a dollar quote that begins here, including its dollar signs. `$1` is a parameter.
fn dollar_tag(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('$')?;
    let length = inside.find('$')?;
    let tag = &inside[..length];
    let is_name = tag
        .chars()
        .all(|character| character.is_alphanumeric() || character == '_')
        && !tag.starts_with(|first: char| first.is_ascii_digit());
    is_name.then(|| &text[..length + 2])
}

/// A statement in progress.
struct Open {
    begin: usize,
    end: usize,
    line: usize,
    /// Nesting depth of parentheses, in dialects where a semicolon within them ends nothing.
    depth: usize,
    /// Whether its first word is `CREATE`.
    creates: bool,
    /// The number of words so far.
    words: usize,
    /// Whether the last of them is `BEGIN`.
    after_begin: bool,
    body: Body,
}

/// Whether the statement has a body, and how near its end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// None so far.
    None,
    /// Inside.
    Inside,
    /// After a semicolon inside.
    Semicolon,
    /// After a semicolon and `END`.
    End,
}

/// Words before `TRIGGER`: `CREATE`, and perhaps `TEMP` or `TEMPORARY`.
const WORDS_BEFORE_TRIGGER: usize = 2;

struct Splitter<'a> {
    scanner: Scanner<'a>,
    statements: Vec<Statement<'a>>,
    comments: Vec<(usize, &'a str)>,
    open: Option<Open>,
}

impl<'a> Splitter<'a> {
    fn take(&mut self, token: Token) -> Result<(), SplitError> {
        let text = &self.scanner.text[token.begin..token.end];
        match (token.kind, &self.open) {
            (Kind::LineComment, None) => {
                let comment = text.trim_start_matches(['-', '#']).trim();
                self.comments.push((token.line, comment));
                return Ok(());
            }
            (Kind::LineComment | Kind::BlockComment, _) | (Kind::Semicolon, None) => {
                return Ok(());
            }
            (_, None) => self.begin(token, text)?,
            _ => {}
        }
        let dialect = self.scanner.dialect;
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if open.take(token, text, dialect) {
            self.close();
        }
        Ok(())
    }

    fn begin(&mut self, token: Token, text: &str) -> Result<(), SplitError> {
        let is_command = match (token.kind, self.scanner.dialect) {
            (Kind::Mark('.'), Dialect::Sqlite) | (Kind::Mark('\\'), _) => true,
            (Kind::Word, Dialect::Mysql) => text.eq_ignore_ascii_case("DELIMITER"),
            _ => false,
        };
        if is_command {
            return Err(SplitError {
                line: token.line,
                problem: SplitProblem::ShellCommand,
            });
        }
        self.open = Some(Open {
            begin: token.begin,
            end: token.end,
            line: token.line,
            depth: 0,
            creates: text.eq_ignore_ascii_case("CREATE"),
            words: 0,
            after_begin: false,
            body: Body::None,
        });
        Ok(())
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.statements.push(Statement {
                text: &self.scanner.text[open.begin..open.end],
                line: open.line,
                comments: std::mem::take(&mut self.comments),
            });
        }
    }

    fn finish(mut self) -> Result<Vec<Statement<'a>>, SplitError> {
        if let Some(open) = &self.open {
            let problem = match open.body {
                Body::Inside | Body::Semicolon => Some(SplitProblem::Body),
                Body::None | Body::End if open.depth > 0 => Some(SplitProblem::Parenthesis),
                Body::None | Body::End => None,
            };
            if let Some(problem) = problem {
                return Err(SplitError {
                    line: open.line,
                    problem,
                });
            }
        }
        self.close();
        Ok(self.statements)
    }
}

impl Open {
    /// Processes a token; returns whether it, a semicolon, ends the statement.
    fn take(&mut self, token: Token, text: &str, dialect: Dialect) -> bool {
        if token.kind == Kind::Semicolon {
            let ends = match self.body {
                Body::None => self.depth == 0,
                Body::End => true,
                Body::Inside | Body::Semicolon => false,
            };
            if ends {
                return true;
            }
            if self.body != Body::None {
                self.body = Body::Semicolon;
            }
            self.end = token.end;
            return false;
        }
        self.end = token.end;
        match token.kind {
            Kind::Mark('(') if dialect == Dialect::Postgres => self.depth += 1,
            Kind::Mark(')') if dialect == Dialect::Postgres => {
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
        let is = |word: &str| token.kind == Kind::Word && text.eq_ignore_ascii_case(word);
        match self.body {
            Body::None => {
                let begins = match dialect {
                    Dialect::Sqlite => is("TRIGGER") && self.words <= WORDS_BEFORE_TRIGGER,
                    Dialect::Postgres => is("ATOMIC") && self.after_begin,
                    Dialect::Mysql => false,
                };
                if self.creates && begins {
                    self.body = Body::Inside;
                }
            }
            Body::Semicolon if is("END") => self.body = Body::End,
            Body::Inside | Body::Semicolon | Body::End => self.body = Body::Inside,
        }
        self.words += usize::from(token.kind == Kind::Word);
        self.after_begin = is("BEGIN");
        false
    }
}
