//! The parts of `LOAD DATA`, as far as they are understood.

use super::FileForm;
use crate::Literal;
use crate::dialect::mysql::MySql;
use crate::dialect::mysql::lexer::{Kind, Lexeme};
use crate::dialect::mysql::shown::{is_symbol, take_table, take_word};

/// The parts of a statement.
pub(super) struct Statement<'t> {
    /// `LOW_PRIORITY` and the like, as it stands.
    pub(super) before: String,
    /// `REPLACE` or `IGNORE`.
    pub(super) duplicates: Option<String>,
    pub(super) database: Option<&'t str>,
    pub(super) table: &'t str,
    pub(super) character_set: Option<String>,
    pub(super) form: FileForm,
    pub(super) columns: Option<Vec<String>>,
    pub(super) set: Vec<(String, Constant)>,
}

/// A constant behind `SET`.
pub(super) struct Constant {
    pub(super) literal: Literal,
    /// As the client has written it.
    pub(super) text: String,
}

/// Reads a statement. None: it has a form that is not understood.
pub(super) fn statement<'t>(
    found: &'t [Lexeme],
    text: &'t str,
    own: MySql,
) -> Option<Statement<'t>> {
    let mut rest = found;
    while let Some((last, before)) = rest.split_last()
        && is_symbol(last, ";")
    {
        rest = before;
    }
    let word = |rest: &mut &'t [Lexeme], words: &[&str]| {
        let first = *rest;
        take_word(rest, words).then(|| first[0].value.clone())
    };
    let needed = |rest: &mut &'t [Lexeme], words: &[&str]| word(rest, words).map(drop);
    needed(&mut rest, &["load"])?;
    needed(&mut rest, &["data"])?;
    let before = word(&mut rest, &["low_priority", "concurrent"]).unwrap_or_default();
    word(&mut rest, &["local"]);
    needed(&mut rest, &["infile"])?;
    take_text(&mut rest)?;
    let duplicates = word(&mut rest, &["replace", "ignore"]);
    needed(&mut rest, &["into"])?;
    needed(&mut rest, &["table"])?;
    let (database, table) = take_table(&mut rest, text)?;
    let mut character_set = None;
    if take_word(&mut rest, &["charset"])
        || (take_word(&mut rest, &["character", "char"]) && word(&mut rest, &["set"]).is_some())
    {
        let (first, behind) = rest.split_first()?;
        rest = behind;
        let is_name = matches!(first.kind, Kind::Word | Kind::Text);
        character_set = Some(is_name.then(|| first.value.to_ascii_lowercase())?);
    }
    let mut form = take_form(&mut rest, own)?;
    if take_word(&mut rest, &["ignore"]) {
        let (first, behind) = rest.split_first()?;
        let digits = &text[first.span.clone()];
        form.skipped_lines = digits.parse().ok().filter(|_| first.kind == Kind::Number)?;
        rest = behind;
        needed(&mut rest, &["lines", "rows"])?;
    }
    let columns = take_columns(&mut rest)?;
    let set = take_constants(&mut rest, text)?;
    rest.is_empty().then_some(Statement {
        before,
        duplicates,
        database,
        table,
        character_set,
        form,
        columns,
        set,
    })
}

fn take_text(rest: &mut &[Lexeme]) -> Option<String> {
    let (first, behind) = rest.split_first()?;
    *rest = behind;
    (first.kind == Kind::Text).then(|| first.value.clone())
}

/// `FIELDS …` and `LINES …`. Without a mark at the end, or with one that begins a line, rows have
/// another form.
fn take_form(rest: &mut &[Lexeme], own: MySql) -> Option<FileForm> {
    // Where a backslash is itself in a text, MariaDB has it so in a file, too.
    let is_known = own.is_mariadb || !own.plain_backslashes;
    let mut has_escape = false;
    let mut form = FileForm {
        field_end: b"\t".to_vec(),
        line_end: b"\n".to_vec(),
        enclosing: None,
        escape: Some(b'\\').filter(|_| !own.plain_backslashes),
        skipped_lines: 0,
    };
    let by = |rest: &mut &[Lexeme]| take_word(rest, &["by"]).then(|| take_text(rest))?;
    let single = |text: String| match text.as_bytes() {
        [] => Some(None),
        [byte] => Some(Some(*byte)),
        _ => None,
    };
    if take_word(rest, &["fields", "columns"]) {
        let mut has_any = false;
        loop {
            if take_word(rest, &["terminated"]) {
                form.field_end = by(rest)?.into_bytes();
            } else if take_word(rest, &["optionally"]) {
                take_word(rest, &["enclosed"]).then_some(())?;
                form.enclosing = single(by(rest)?)?;
            } else if take_word(rest, &["enclosed"]) {
                form.enclosing = single(by(rest)?)?;
            } else if take_word(rest, &["escaped"]) {
                form.escape = single(by(rest)?)?;
                has_escape = true;
            } else if has_any {
                break;
            } else {
                return None;
            }
            has_any = true;
        }
    }
    if take_word(rest, &["lines"]) {
        take_word(rest, &["terminated"]).then_some(())?;
        form.line_end = by(rest)?.into_bytes();
    }
    let marks = [&form.field_end, &form.line_end];
    let is_plain = marks.iter().all(|mark| !mark.is_empty() && mark.is_ascii());
    let singles = [form.enclosing, form.escape];
    let is_ascii = singles.iter().flatten().all(u8::is_ascii);
    let is_read = is_plain && is_ascii && (is_known || has_escape);
    (is_read && form.field_end != form.line_end).then_some(form)
}

/// `(column, …)`. None within: there is no list.
fn take_columns(rest: &mut &[Lexeme]) -> Option<Option<Vec<String>>> {
    if !rest.first().is_some_and(|first| is_symbol(first, "(")) {
        return Some(None);
    }
    let end = rest.iter().position(|own| is_symbol(own, ")"))?;
    let columns = rest[1..end]
        .split(|own| is_symbol(own, ","))
        .map(|one| match one {
            [name] => column(name),
            _ => None,
        });
    let columns: Vec<String> = columns.collect::<Option<_>>()?;
    *rest = &rest[end + 1..];
    Some(Some(columns))
}

fn column(name: &Lexeme) -> Option<String> {
    let is_name = matches!(name.kind, Kind::Word | Kind::Name) && !name.value.starts_with('@');
    is_name.then(|| name.value.to_ascii_lowercase())
}

/// `SET column = constant, …`
fn take_constants(rest: &mut &[Lexeme], text: &str) -> Option<Vec<(String, Constant)>> {
    if !take_word(rest, &["set"]) {
        return Some(Vec::new());
    }
    let set = rest.split(|own| is_symbol(own, ",")).map(|one| {
        let [name, equals, value @ ..] = one else {
            return None;
        };
        let constant = constant(value, text)?;
        is_symbol(equals, "=").then_some((column(name)?, constant))
    });
    let set = set.collect();
    *rest = &[];
    set
}

fn constant(value: &[Lexeme], text: &str) -> Option<Constant> {
    let (is_negative, value) = match value {
        [sign, value] if is_symbol(sign, "-") && value.kind == Kind::Number => (true, value),
        [value] => (false, value),
        _ => return None,
    };
    let sign = if is_negative { "-" } else { "" };
    let own = format!("{sign}{}", &text[value.span.clone()]);
    let literal = match value.kind {
        Kind::Number => Literal::Number(own.clone()),
        Kind::Text => Literal::Text(value.value.clone()),
        Kind::Word if value.value == "null" => Literal::Null,
        _ => return None,
    };
    Some(Constant { literal, text: own })
}
