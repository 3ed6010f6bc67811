//! A text of SQL, cut into statements.
//!
//! A statement ends at a semicolon that stands neither in a quoted text, a quoted name, a comment
//! nor a body. What is quoted and what is a body differs between the dialects:
//!
//! | | SQLite | PostgreSQL | MySQL |
//! |---|---|---|---|
//! | texts | `'…'` | `'…'`, `E'…\…'`, `$tag$…$tag$` | `'…\…'`, `"…\…"` |
//! | names | `"…"`, `` `…` ``, `[…]` | `"…"` | `` `…` `` |
//! | comments | `--`, `/* */` | `--`, `/* /* */ */` | `-- `, `#`, `/* */` |
//! | bodies | of a trigger | `BEGIN ATOMIC`, parentheses | none |
//!
//! A body ends where SQLite's own shell sees its end: at `; END ;`.

use crate::Dialect;

/// A statement and the comments before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// From its first word to its last, without the semicolon.
    pub text: &'a str,
    /// Line of its first word, from 1.
    pub line: usize,
    /// The line comments since the statement before, without their marks: line and text.
    pub comments: Vec<(usize, &'a str)>,
}

/// What makes a text no list of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SplitProblem {
    /// A quoted text or name without an end.
    #[error("the {mark} that opens here is never closed")]
    Quote {
        /// The mark.
        mark: char,
    },
    /// A text between dollar tags without an end.
    #[error("the dollar quote that opens here is never closed by the same tag")]
    DollarQuote,
    /// A comment without an end.
    #[error("the comment that opens here is never closed")]
    Comment,
    /// A body without an end.
    #[error("the body of this statement never ends; it ends at `; END;`")]
    Body,
    /// A closing parenthesis is missing.
    #[error("this statement opens a parenthesis and never closes it")]
    Parenthesis,
    /// A command of a shell.
    #[error("this is a command of a shell, not SQL; leave it out")]
    ShellCommand,
}

/// Where it is, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: SplitProblem,
}

/// The statements of a text. Empty ones are left out; the last may lack its semicolon.
///
/// # Errors
/// When something that was opened is not closed, or a shell's command stands there.
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

/// What the text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A word, a number or a name without quotes.
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

    /// Takes that many bytes, which end between two characters.
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

    /// What begins here, and how many bytes it has.
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
            // There, two minus signs before a word are a double negation.
            Dialect::Mysql => {
                rest.starts_with('#')
                    || rest
                        .strip_prefix("--")
                        .is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
            }
        }
    }

    /// Length of the comment that begins here. In PostgreSQL comments contain comments.
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

    /// The mark that closes what this one opens.
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

/// Length of a quoted text whose inside begins after `opening` bytes. A doubled closing mark is one
/// inside, but for a bracket, which nothing can put inside.
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

/// The tag of a dollar quote that begins here, with its dollar signs. `$1` is a parameter.
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

/// A statement that has begun.
struct Open {
    begin: usize,
    end: usize,
    line: usize,
    /// Open parentheses, where semicolons between them end nothing.
    depth: usize,
    /// Whether its first word is `CREATE`.
    creates: bool,
    /// How many words it has so far.
    words: usize,
    /// Whether the last of them is `BEGIN`.
    after_begin: bool,
    body: Body,
}

/// Whether the statement has a body, and how near its end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// None that is known of.
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
    /// True when the token, a semicolon, ends the statement.
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
