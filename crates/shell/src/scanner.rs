//! Finds the end of a statement, given strings, quoted names, comments and trigger bodies.
//!
//! Follows the rules of `sqlite3_complete`: a statement ends at a semicolon outside quotes and
//! comments, and inside `CREATE TRIGGER` only at the semicolon after `; END`. The scanner keeps its
//! state, so that a statement of many lines is scanned only once.

/// The scanner's state inside a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Token {
    #[default]
    Code,
    /// Inside quotes that end with this byte; a doubled quote ends one string and starts another.
    Quoted(u8),
    LineComment,
    BlockComment,
}

/// The scanner's state inside a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statement {
    Start,
    Normal,
    Explain,
    Create,
    Trigger,
    /// After a semicolon inside a trigger body.
    TriggerSemicolon,
    /// After `; END` inside a trigger body.
    TriggerEnd,
}

/// The meaning of a token for the end of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Semicolon,
    Other,
    Explain,
    Create,
    Temporary,
    Trigger,
    End,
}

/// Finds statement ends in a text that grows line by line.
#[derive(Debug)]
pub struct Scanner {
    position: usize,
    token: Token,
    statement: Statement,
    first_code: Option<usize>,
}

/// A complete statement in the scanned text, as byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte that is neither white space nor comment; `end` for an empty statement.
    pub first_code: usize,
    /// One past the closing semicolon.
    pub end: usize,
}

/// The kind of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A keyword, or a name without quotes.
    Word,
    /// A number.
    Number,
    /// Text in single quotes, or a part of it.
    Text,
    /// A name in quotes or brackets, or a part of it.
    QuotedName,
    /// A comment, or a part of it.
    Comment,
    /// White space, operators and the like.
    Other,
}

/// A piece of a text, as byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Its first byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// The kind of quotes or comment that a text ended in, and the next line begins in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside(Token);

impl Inside {
    /// The opening quote, or `None` outside of quotes.
    pub fn quote(self) -> Option<u8> {
        match self.0 {
            Token::Quoted(b']') => Some(b'['),
            Token::Quoted(quote) => Some(quote),
            Token::Code | Token::LineComment | Token::BlockComment => None,
        }
    }

    /// Whether it is a comment.
    pub fn is_comment(self) -> bool {
        matches!(self.0, Token::LineComment | Token::BlockComment)
    }
}

/// Splits a text into adjacent pieces; `inside` is the state after the text before it. Also returns
/// the state at the end of this one.
pub fn pieces(inside: Inside, text: &str) -> (Vec<Piece>, Inside) {
    let bytes = text.as_bytes();
    let mut scanner = Scanner {
        token: inside.0,
        ..Scanner::new()
    };
    let mut pieces: Vec<Piece> = Vec::new();
    while scanner.position < bytes.len() {
        let (start, before) = (scanner.position, scanner.token);
        scanner.next_word(bytes);
        let end = scanner.position;
        let kind = match (before, scanner.token) {
            (Token::Code, Token::Code) => kind_in_code(bytes[start]),
            (Token::Code, quoted) | (quoted, _) => kind_of(quoted),
        };
        match pieces.last_mut() {
            // An opening quote and its content come as separate pieces.
            Some(last) if before != Token::Code && last.kind == kind => last.end = end,
            _ => pieces.push(Piece { kind, start, end }),
        }
    }
    (pieces, Inside(scanner.token))
}

fn kind_in_code(first: u8) -> PieceKind {
    match first {
        b'0'..=b'9' => PieceKind::Number,
        byte if is_word_byte(byte) => PieceKind::Word,
        _ => PieceKind::Other,
    }
}

fn kind_of(token: Token) -> PieceKind {
    match token {
        Token::Quoted(b'\'') => PieceKind::Text,
        Token::Quoted(_) => PieceKind::QuotedName,
        Token::LineComment | Token::BlockComment => PieceKind::Comment,
        Token::Code => PieceKind::Other,
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner at the start of a text.
    pub fn new() -> Self {
        Self {
            position: 0,
            token: Token::Code,
            statement: Statement::Start,
            first_code: None,
        }
    }

    /// The next complete statement of `text`, continuing after the last call. `text` must be the
    /// text of the last call, possibly with lines appended.
    pub fn next_statement(&mut self, text: &str) -> Option<Span> {
        let bytes = text.as_bytes();
        while self.position < bytes.len() {
            let word = self.next_word(bytes);
            if let Some(word) = word
                && self.advance(word)
            {
                let end = self.position;
                let first_code = self.first_code.take().unwrap_or(end);
                return Some(Span { first_code, end });
            }
        }
        None
    }

    /// Whether there is nothing but white space and finished comments after the last statement.
    pub fn at_rest(&self) -> bool {
        self.first_code.is_none() && self.token != Token::BlockComment
    }

    /// Where the unfinished statement starts, if one has begun.
    pub fn pending_start(&self) -> Option<usize> {
        self.first_code
    }

    /// Consumes a token or part of one; returns what matters for the end of a statement.
    fn next_word(&mut self, bytes: &[u8]) -> Option<Word> {
        let start = self.position;
        let rest = &bytes[start..];
        match self.token {
            Token::Code => self.next_in_code(rest, start),
            Token::Quoted(quote) => {
                self.skip_to(rest, quote);
                None
            }
            Token::LineComment => {
                self.skip_to(rest, b'\n');
                None
            }
            Token::BlockComment => {
                match rest.windows(2).position(|pair| pair == b"*/") {
                    Some(index) => {
                        self.position += index + 2;
                        self.token = Token::Code;
                    }
                    None => self.position += rest.len(),
                }
                None
            }
        }
    }

    fn skip_to(&mut self, rest: &[u8], last: u8) {
        match rest.iter().position(|&byte| byte == last) {
            Some(index) => {
                self.position += index + 1;
                self.token = Token::Code;
            }
            None => self.position += rest.len(),
        }
    }

    fn next_in_code(&mut self, rest: &[u8], start: usize) -> Option<Word> {
        self.position += 1;
        match (rest[0], rest.get(1)) {
            (b';', _) => Some(Word::Semicolon),
            (b' ' | b'\t' | b'\n' | b'\r' | b'\x0c', _) => None,
            (b'-', Some(b'-')) => {
                self.token = Token::LineComment;
                None
            }
            (b'/', Some(b'*')) => {
                self.position += 1;
                self.token = Token::BlockComment;
                None
            }
            (byte, _) => {
                self.first_code.get_or_insert(start);
                match byte {
                    b'\'' | b'"' | b'`' => self.token = Token::Quoted(byte),
                    b'[' => self.token = Token::Quoted(b']'),
                    _ if is_word_byte(byte) => return Some(self.rest_of_word(rest)),
                    _ => {}
                }
                Some(Word::Other)
            }
        }
    }

    fn rest_of_word(&mut self, rest: &[u8]) -> Word {
        let length = rest
            .iter()
            .position(|&byte| !is_word_byte(byte))
            .unwrap_or(rest.len());
        self.position += length - 1;
        let word = &rest[..length];
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        if is("create") {
            Word::Create
        } else if is("trigger") {
            Word::Trigger
        } else if is("temp") || is("temporary") {
            Word::Temporary
        } else if is("end") {
            Word::End
        } else if is("explain") {
            Word::Explain
        } else {
            Word::Other
        }
    }

    /// Processes one word; returns whether it ended a statement.
    fn advance(&mut self, word: Word) -> bool {
        use Statement::{Create, Explain, Normal, Start, Trigger, TriggerEnd, TriggerSemicolon};
        self.statement = match (self.statement, word) {
            (Trigger | TriggerSemicolon, Word::Semicolon) => TriggerSemicolon,
            (_, Word::Semicolon) => Start,
            (Start, Word::Explain) | (Explain, Word::Other) => Explain,
            (Start | Explain, Word::Create) | (Create, Word::Temporary) => Create,
            (Create, Word::Trigger) => Trigger,
            (TriggerSemicolon, Word::End) => TriggerEnd,
            (Trigger | TriggerSemicolon | TriggerEnd, _) => Trigger,
            (Start | Normal | Explain | Create, _) => Normal,
        };
        self.statement == Start
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<String> {
        let mut scanner = Scanner::new();
        let mut start = 0;
        let mut found = Vec::new();
        while let Some(span) = scanner.next_statement(text) {
            found.push(text[start..span.end].trim().to_owned());
            start = span.end;
        }
        found
    }

    #[test]
    fn ends_at_semicolons_outside_quotes_and_comments() {
        let cases: &[(&str, usize)] = &[
            ("select 1;", 1),
            ("select 1", 0),
            ("select ';", 0),
            ("select ';';", 1),
            ("select 'it''s; ' ;", 1),
            ("select \"a;b\", [c;d], `e;f`;", 1),
            ("-- ; \n", 0),
            ("/* ; \n ; */ select 1;", 1),
            ("/* ; ", 0),
            ("select 1; select 2;", 2),
            ("select 1 - -1; ", 1),
            ("select 1/2;", 1),
            (";;", 2),
        ];
        for (text, count) in cases {
            assert_eq!(statements(text).len(), *count, "{text}");
        }
    }

    #[test]
    fn a_trigger_ends_after_its_body() {
        let trigger = "create temp trigger t after insert on a begin
            update b set c = case when 1 then 2 end; select 'end;'; end;";
        assert_eq!(statements(trigger), [trigger]);
        assert_eq!(statements("create trigger t begin select 1; end").len(), 0);
        assert_eq!(
            statements("explain create trigger t begin select 1; end;").len(),
            1
        );
        assert_eq!(
            statements("create table trigger_log(a); select 1;").len(),
            2
        );
        assert_eq!(
            statements("create trigger t begin select 1; -- x\n /* y */ end ;").len(),
            1
        );
    }

    #[test]
    fn lines_fed_one_by_one_give_the_same_statements() {
        let text = "select\n 1;\n-- c ;\ncreate trigger x begin\n select ';\n';\nend;\nselect 2;\n";
        let mut scanner = Scanner::new();
        let (mut fed, mut ends) = (String::new(), Vec::new());
        for line in text.split_inclusive('\n') {
            fed.push_str(line);
            while let Some(span) = scanner.next_statement(&fed) {
                ends.push((span.first_code, span.end));
            }
        }
        assert_eq!(ends.len(), 3);
        assert!(text[ends[1].0..].starts_with("create trigger"));
        assert!(scanner.at_rest());
    }

    fn kinds(inside: Inside, text: &str) -> (Vec<(PieceKind, &str)>, Inside) {
        let (pieces, inside) = pieces(inside, text);
        let kinds = pieces
            .iter()
            .map(|piece| (piece.kind, &text[piece.start..piece.end]))
            .filter(|(kind, _)| *kind != PieceKind::Other);
        (kinds.collect(), inside)
    }

    #[test]
    fn pieces_have_kinds_and_no_gaps() {
        use PieceKind::{Comment, Number, QuotedName, Text, Word};
        let text = "select a1, 'it''s', \"q\", [b] -- c ;";
        let (found, inside) = kinds(Inside::default(), text);
        let expected = [
            (Word, "select"),
            (Word, "a1"),
            (Text, "'it'"),
            (Text, "'s'"),
            (QuotedName, "\"q\""),
            (QuotedName, "[b]"),
            (Comment, "-- c ;"),
        ];
        assert_eq!(found, expected);
        assert!(inside.is_comment() && inside.quote().is_none());
        let (found, inside) = kinds(Inside::default(), "12 'open");
        assert_eq!(found, [(Number, "12"), (Text, "'open")]);
        assert_eq!(inside.quote(), Some(b'\''));
        let (found, inside) = kinds(inside, "on' x");
        assert_eq!(found, [(Text, "on'"), (Word, "x")]);
        assert_eq!(inside, Inside::default());
        for text in ["", "ü'ö'", "/* a */ select 1;\n-- b\nx", "a.b=?1||'c'"] {
            let (pieces, _) = pieces(Inside::default(), text);
            let mut end = 0;
            for piece in pieces {
                assert_eq!(piece.start, end, "{text}");
                end = piece.end;
            }
            assert_eq!(end, text.len(), "{text}");
        }
    }

    #[test]
    fn an_open_comment_is_not_at_rest() {
        let mut scanner = Scanner::new();
        assert_eq!(scanner.next_statement("/* .tables\n"), None);
        assert!(!scanner.at_rest());
    }
}
