//! Texts with their constants taken out, so that texts which differ in constants alone share a
//! plan: programs that send no parameters send each statement with other constants.
//!
//! A constant becomes a parameter, and the plan is that of the text with parameters. For a text of
//! the same shape its own constants are put back ([`Shape::fill`]), and the result is the plan that
//! the text itself would have.
//!
//! Invariants:
//! 1. Only constants are taken out whose value does not decide how a statement is planned: those
//!    that something is compared with or set to, and those of lists behind `IN` and `VALUES`.
//!    Elsewhere a number may be the place of a column, and a text a name.
//! 2. A plan is shared only where it was seen to be right ([`Shape::fits`]): filled with the
//!    constants of the first text it is the plan of that text.
//! 3. Where a text that is sealed also stands in the statement in clear, or sealed values are
//!    computed, the statement is planned by itself: the verifier tells the two apart by their
//!    values.
//!
//! A filled plan is not verified a second time, so this file is a part of what the proof rests on.

use std::collections::BTreeSet;
use std::ops::Range;

use super::lexer::{self, Kind, Lexeme};
use super::{MySql, kinds};
use crate::analysis::template::MARK;
use crate::{
    Dialect, Form, Hole, Literal, Piece, Plan, Planned, Schema, Source, Template, Translated,
};

/// Bytes of a text whose constants are taken out. Longer ones are rarely sent twice.
pub const SIZE_MAX: usize = 64 << 10;

/// Statements over rows.
const STATEMENTS: [&str; 5] = ["select", "insert", "replace", "update", "delete"];
/// Operators behind which a constant is a value.
const BEFORE: [&str; 7] = ["=", "<", ">", "<=", ">=", "<>", "!="];
/// The database of the server's own tables. Texts that name it have plans that depend on the names
/// in their constants.
const INFORMATION: &str = "information_schema";
/// Words that may follow such a constant. Behind others it may be a part of something else.
const BEHIND: [&str; 9] = [
    "and", "for", "group", "having", "limit", "lock", "or", "order", "where",
];

/// A text without constants, and these.
pub struct Shape {
    /// The text with a parameter in the place of each constant.
    pub text: String,
    /// The text, and of which kind its constants are: plans are kept by it.
    pub key: String,
    constants: Vec<Constant>,
    /// Texts that stay in the text.
    kept: BTreeSet<String>,
    /// How many bytes the text itself has.
    size: usize,
}

/// A constant, and how SQL writes it.
struct Constant {
    literal: Literal,
    written: String,
}

/// A constant that is taken out.
struct Taken {
    span: Range<usize>,
    constant: Constant,
}

impl Shape {
    /// The shape of a text. None: it is none of a single statement over rows, none of its constants
    /// can be taken out, or it has parameters.
    pub fn of(text: &str, schema: &Schema) -> Option<Self> {
        let Dialect::MySql(own) = schema.dialect else {
            return None;
        };
        if text.len() > SIZE_MAX || text.contains(['\0', MARK, lexer::HOLE]) {
            return None;
        }
        let found = lexer::lexemes(text, own).ok()?;
        let first = found.first().filter(|first| first.kind == Kind::Word)?;
        let is_single = !found.iter().any(|one| is(one, ";"));
        let has_parameters = found
            .iter()
            .any(|one| matches!(one.kind, Kind::Parameter | Kind::Hole(_)));
        let asks_server = found
            .iter()
            .any(|one| one.value.eq_ignore_ascii_case(INFORMATION));
        if !STATEMENTS.contains(&first.value.as_str())
            || !is_single
            || has_parameters
            || asks_server
        {
            return None;
        }
        Self::without(text, &found, own)
    }

    fn without(text: &str, found: &[Lexeme], own: MySql) -> Option<Self> {
        let mut lists = Lists::default();
        let mut shape = Self {
            text: String::with_capacity(text.len()),
            key: String::new(),
            constants: Vec::new(),
            kept: BTreeSet::new(),
            size: text.len(),
        };
        let (mut at, mut kinds) = (0, String::new());
        for (index, lexeme) in found.iter().enumerate() {
            let is_in_list = lists.enter(found, index);
            let taken = match lexeme.kind {
                Kind::Text | Kind::Number => taken((text, found, index), is_in_list, own),
                _ => None,
            };
            match taken {
                Some(Taken { span, constant }) => {
                    shape.text.push_str(&text[at..span.start]);
                    shape.text.push('?');
                    at = span.end;
                    kinds.push(if lexeme.kind == Kind::Text { 't' } else { 'n' });
                    shape.constants.push(constant);
                }
                None if matches!(lexeme.kind, Kind::Text | Kind::Bytes) => {
                    shape.kept.insert(lexeme.value.clone());
                }
                None => {}
            }
        }
        shape.text.push_str(&text[at..]);
        shape.key = format!("{}\0{kinds}", shape.text);
        (!shape.constants.is_empty()).then_some(shape)
    }

    /// Whether the plan of the shape, filled, is that of the text itself. None: it cannot be filled
    /// with these constants, which says nothing of others.
    pub fn fits(&self, shared: &[Planned], own: &[Planned], schema: &Schema) -> Option<bool> {
        let [Planned { plan, .. }] = shared else {
            return Some(false);
        };
        let Plan::One(translated, _) = plan else {
            return Some(false);
        };
        if translated.locks.is_some() {
            return Some(false);
        }
        let filled = self.fill(shared, schema)?;
        Some(own.len() == 1 && own[0].plan == filled.plan)
    }

    /// The plan of a text by that of its shape. None: it has to be planned by itself.
    pub fn fill(&self, shared: &[Planned], schema: &Schema) -> Option<Planned> {
        let [Planned { span, plan }] = shared else {
            return None;
        };
        let Plan::One(translated, effects) = plan else {
            return None;
        };
        if translated.locks.is_some() {
            return None;
        }
        let plan = Plan::One(self.filled(translated)?, effects.clone());
        // What of a constant decides whether it is understood is looked at there.
        kinds::check(&plan, schema).ok()?;
        let behind = self.text.len().checked_sub(span.end)?;
        Some(Planned {
            span: span.start..self.size.checked_sub(behind)?,
            plan,
        })
    }

    fn filled(&self, shared: &Translated) -> Option<Translated> {
        let mut pieces = Vec::with_capacity(shared.template.pieces.len());
        let mut holes = Vec::new();
        let mut numbers = vec![None; shared.holes.len()];
        let mut clear = Vec::new();
        for piece in &shared.template.pieces {
            let number = match piece {
                Piece::Text(text) => {
                    write(text, &mut pieces);
                    continue;
                }
                Piece::Hole(number) => *number,
            };
            let hole = shared.holes.get(number)?;
            if let (Form::Plain, Source::Parameter(own)) = (hole.form, &hole.source) {
                let constant = self.constants.get(*own)?;
                write(&constant.written, &mut pieces);
                clear.push(&constant.literal);
                continue;
            }
            let number = match numbers[number] {
                Some(known) => known,
                None => {
                    let source = self.source(&hole.source)?;
                    holes.push(Hole {
                        source,
                        ..hole.clone()
                    });
                    *numbers[number].insert(holes.len() - 1)
                }
            };
            pieces.push(Piece::Hole(number));
        }
        self.are_apart(&holes, &clear).then(|| Translated {
            template: Template { pieces },
            holes,
            outputs: shared.outputs.clone(),
            parameter_types: Vec::new(),
            locks: None,
        })
    }

    /// A source with constants in the places of their parameters. None: it is computed.
    fn source(&self, shared: &Source) -> Option<Source> {
        Some(match shared {
            Source::Parameter(own) => Source::Literal(self.constants.get(*own)?.literal.clone()),
            Source::Members(members) => {
                let members = members.iter().map(|own| self.source(own));
                Source::Members(members.collect::<Option<_>>()?)
            }
            Source::Literal(_) => shared.clone(),
            Source::Calculated(..) | Source::Computed(_) | Source::Locator(_) => return None,
        })
    }

    /// Whether no text is both sealed and sent in clear.
    fn are_apart(&self, holes: &[Hole], clear: &[&Literal]) -> bool {
        let sources = holes.iter().flat_map(|hole| match &hole.source {
            Source::Members(members) => members.as_slice(),
            own => std::slice::from_ref(own),
        });
        let mut sealed = sources.filter_map(|source| match source {
            Source::Literal(Literal::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        });
        let sent: BTreeSet<&str> = clear
            .iter()
            .filter_map(|literal| match literal {
                Literal::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .chain(self.kept.iter().map(String::as_str))
            .collect();
        !sealed.any(|text| sent.contains(text.as_str()))
    }
}

/// Writes a text behind pieces.
fn write(text: &str, pieces: &mut Vec<Piece>) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

fn is(lexeme: &Lexeme, symbol: &str) -> bool {
    lexeme.kind == Kind::Symbol && lexeme.value == symbol
}

/// The constant at a place, if it is a value there.
fn taken(
    (text, found, index): (&str, &[Lexeme], usize),
    is_in_list: bool,
    own: MySql,
) -> Option<Taken> {
    let lexeme = &found[index];
    let before = |steps: usize| index.checked_sub(steps).map(|at| &found[at]);
    let minus =
        before(1).filter(|one| lexeme.kind == Kind::Number && is(one, "-") && !lexeme.is_apart);
    let steps = if minus.is_some() { 2 } else { 1 };
    let operator = before(steps)?;
    let is_set = before(steps + 1).is_some_and(|one| is(one, ":"));
    let is_compared =
        operator.kind == Kind::Symbol && BEFORE.contains(&operator.value.as_str()) && !is_set;
    let is_member = is_in_list && (is(operator, "(") || is(operator, ","));
    let is_whole = found.get(index + 1).is_none_or(|next| match next.kind {
        Kind::Symbol => [")", ","].contains(&next.value.as_str()),
        Kind::Word => BEHIND.contains(&next.value.as_str()),
        _ => false,
    });
    if !is_whole || !(is_compared || is_member) {
        return None;
    }
    let start = minus.map_or(lexeme.span.start, |one| one.span.start);
    let constant = match lexeme.kind {
        Kind::Text => text_of(&lexeme.value, own)?,
        _ => number_of(&text[lexeme.span.clone()], minus.is_some())?,
    };
    Some(Taken {
        span: start..lexeme.span.end,
        constant,
    })
}

/// A text that is written in one way only. None: it is not, or there may be other ways.
fn text_of(value: &str, own: MySql) -> Option<Constant> {
    let is_simple = |letter: char| !letter.is_control() && !matches!(letter, '\'' | '\\');
    let written = format!("'{value}'");
    let is_same =
        value.chars().all(is_simple) && lexer::for_server(written.clone(), own) == written;
    is_same.then(|| Constant {
        literal: Literal::Text(value.to_owned()),
        written,
    })
}

/// A number without an exponent.
fn number_of(digits: &str, is_negative: bool) -> Option<Constant> {
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.starts_with(|first: char| first.is_ascii_digit());
    let written = format!("{}{digits}", if is_negative { "-" } else { "" });
    is_plain.then(|| Constant {
        literal: Literal::Number(written.clone()),
        written,
    })
}

/// A list of values in parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// Behind `IN`.
    Members,
    /// Behind `VALUES`, and behind another row there.
    Row,
}

/// Which parentheses hold lists of values.
#[derive(Default)]
struct Lists {
    /// Of those that are open: the list that they hold.
    open: Vec<Option<List>>,
    /// Whether a row of values has ended, so that another one may follow.
    has_row: bool,
}

impl Lists {
    /// Goes on to a lexeme. Returns whether it stands directly in a list.
    fn enter(&mut self, found: &[Lexeme], index: usize) -> bool {
        let lexeme = &found[index];
        if is(lexeme, "(") {
            let before = index.checked_sub(1).map(|at| &found[at]);
            let list = before.and_then(|one| match (one.kind, one.value.as_str()) {
                (Kind::Word, "in") => Some(List::Members),
                (Kind::Word, "value" | "values") => Some(List::Row),
                _ => (self.has_row && is(one, ",")).then_some(List::Row),
            });
            self.open.push(list);
            self.has_row = false;
        } else if is(lexeme, ")") {
            self.has_row = self.open.pop() == Some(Some(List::Row));
        } else if !is(lexeme, ",") {
            self.has_row = false;
        }
        self.open.last().is_some_and(Option::is_some)
    }
}
