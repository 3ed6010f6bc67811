//! Statements that show how a protected table is declared (`SHOW CREATE TABLE`, `SHOW COLUMNS`,
//! `DESCRIBE`). They go to the server as they are; its answer gets the declared types in the place
//! of those of sealed values, and has no guard.

use std::borrow::Cow;

use column_codec::TOKEN_PREFIX_SIZE;
use column_value::{Collation, LogicalType, WholeType};

use super::lexer::{self, Kind, Lexeme};
use super::misfit::misfit;
use super::{MySql, defaults, names, schema::type_name};
use crate::{Column, Dialect, ProtectedColumn, Schema};

/// What a statement shows of a protected table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// In which form.
    pub form: Form,
    own: MySql,
    columns: Vec<Declared>,
    /// The name of the table's guard.
    guard: String,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The text of `CREATE TABLE` is the second column.
    Create,
    /// A row for each column: its name, its type, and others.
    Columns,
    /// The same with the collation behind the type.
    FullColumns,
}

/// A protected column as it was declared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declared {
    name: String,
    type_text: String,
    /// The collation that a text of the table has.
    collation: Option<String>,
    /// Whether keys are over the token with which its values begin.
    has_tokens: bool,
    /// Its collation, where it is not that of the table.
    own_collation: Option<&'static str>,
    /// Whether the server shows `DEFAULT NULL` for the declared type, but not for the sealed one.
    may_lack_default: bool,
    /// Whether the server never shows it for the declared type.
    lacks_default: bool,
    /// Whether a column that is sealed with others is NOT NULL, which the server does not know.
    not_null: Option<bool>,
    /// Its default, which the server does not have.
    default: Option<defaults::Shown>,
}

/// What a text shows, if it is one of these statements about a table with protected columns. The
/// rules must fit that table.
pub fn described(text: &str, schema: &Schema) -> Option<Described> {
    let Dialect::MySql(own) = schema.dialect else {
        return None;
    };
    let first = text.trim_ascii_start().get(..4)?.to_ascii_lowercase();
    if !["show", "desc", "expl"].contains(&first.as_str()) || misfit(text, schema).is_some() {
        return None;
    }
    let found = lexer::lexemes(text, own).ok()?;
    let (form, database, table) = read(&found, text)?;
    let name = |name: &str| names::table(name, own);
    let (database, table) = (database.map(name), name(table));
    let database = database.or_else(|| schema.search_path.first().cloned())?;
    // The server answers that there is no table, or shows one that was made since the last look.
    let found = schema.find(Some(&database), &table);
    let is_known = found.is_none_or(|own| own.oid == 0 || !own.columns.is_empty());
    let written = |rule: &ProtectedColumn| {
        let column = found.and_then(|own| Some(&own.columns[own.position(&rule.column)?]));
        column
            .map_or(rule.column.as_str(), Column::written)
            .to_owned()
    };
    let rules = schema.protected.iter();
    let rules = rules.filter(|rule| rule.schema == database && rule.table == table);
    let guard = super::schema::guard_name(&table);
    let key = (database.clone(), table.clone());
    let collation = schema.catalogue.collations.get(&key);
    let columns: Vec<Declared> = rules
        .map(|rule| Declared {
            name: written(rule),
            type_text: shown_type((rule.logical, schema.is_long(rule.id)), own),
            collation: match rule.form.tokens {
                Some(own) => Some(own.name().to_owned()),
                None => collation.filter(|_| rule.logical.has_collation()).cloned(),
            },
            has_tokens: rule.form.tokens.is_some(),
            own_collation: rule
                .form
                .tokens
                .map(Collation::name)
                .filter(|own| collation.is_none_or(|of_table| of_table != own)),
            may_lack_default: !own.is_mariadb && matches!(rule.logical, LogicalType::Varchar(_)),
            lacks_default: !own.is_mariadb
                && matches!(rule.logical, LogicalType::Text | LogicalType::Bytes),
            not_null: rule.form.group.map(|_| rule.not_null),
            default: defaults::shown(rule, own),
        })
        .collect();
    (is_known && !columns.is_empty()).then_some(Described {
        form,
        own,
        columns,
        guard,
    })
}

/// A declared type as the server shows it: with the width of a number, before MySQL 8.0.19.
pub(super) fn shown_type((logical, is_long): (LogicalType, bool), own: MySql) -> String {
    let name = type_name(logical);
    let has_width = own.is_mariadb || own.version < 80_019;
    if let (LogicalType::Whole(whole), true) = (logical, has_width) {
        return shown_whole(whole).to_owned();
    }
    let width = match logical {
        _ if is_long => return format!("long{name}"),
        _ if !has_width => "",
        LogicalType::SmallInt => "(6)",
        LogicalType::Integer => "(11)",
        LogicalType::BigInt => "(20)",
        _ => "",
    };
    format!("{name}{width}")
}

fn shown_whole(whole: WholeType) -> &'static str {
    match whole {
        WholeType::Flag => "tinyint(1)",
        WholeType::Tiny => "tinyint(4)",
        WholeType::Medium => "mediumint(9)",
        WholeType::UnsignedTiny => "tinyint(3) unsigned",
        WholeType::UnsignedSmall => "smallint(5) unsigned",
        WholeType::UnsignedMedium => "mediumint(8) unsigned",
        WholeType::UnsignedInteger => "int(10) unsigned",
        WholeType::UnsignedBig => "bigint(20) unsigned",
        WholeType::Year => "year(4)",
    }
}

/// What MySQL says of a column whose default is computed.
pub(super) const GENERATED: &str = "DEFAULT_GENERATED";

/// What the definition of a protected column says of its default. None: it has none, or NULL.
pub fn listed_default(rule: &ProtectedColumn, own: MySql) -> Option<Vec<u8>> {
    let shown = defaults::shown(rule, own)?;
    defaults::text(rule).filter(|_| !shown.is_moment())
}

type Shows<'t> = (Form, Option<&'t str>, &'t str);

/// The form of a statement, and the database and table of which it speaks.
fn read<'t>(found: &'t [Lexeme], text: &'t str) -> Option<Shows<'t>> {
    let mut part = found;
    while let Some((last, before)) = part.split_last()
        && is_symbol(last, ";")
    {
        part = before;
    }
    let mut rest = part;
    let is = take_word;
    if is(&mut rest, &["describe", "desc", "explain"]) {
        let (database, table) = take_table(&mut rest, text)?;
        // The name of a column, or nothing.
        let is_end = rest.is_empty() || (rest.len() == 1 && name(&rest[0], text).is_some());
        return is_end.then_some((Form::Columns, database, table));
    }
    if !is(&mut rest, &["show"]) {
        return None;
    }
    if is(&mut rest, &["create"]) {
        let is_table = is(&mut rest, &["table"]);
        let (database, table) = take_table(&mut rest, text)?;
        let is_end = is_table && rest.is_empty();
        return is_end.then_some((Form::Create, database, table));
    }
    let form = match is(&mut rest, &["full"]) {
        true => Form::FullColumns,
        false => Form::Columns,
    };
    if !is(&mut rest, &["columns", "fields"]) || !is(&mut rest, &["from", "in"]) {
        return None;
    }
    let (mut database, table) = take_table(&mut rest, text)?;
    if is(&mut rest, &["from", "in"]) {
        let (first, behind) = rest.split_first()?;
        (database, rest) = (Some(name(first, text)?), behind);
    }
    if is(&mut rest, &["like"]) {
        let (first, behind) = rest.split_first()?;
        if first.kind != Kind::Text {
            return None;
        }
        rest = behind;
    }
    rest.is_empty().then_some((form, database, table))
}

pub(super) fn is_symbol(lexeme: &Lexeme, symbol: &str) -> bool {
    lexeme.kind == Kind::Symbol && lexeme.value == symbol
}

/// Takes one of some words, if it comes next.
pub(super) fn take_word(rest: &mut &[Lexeme], words: &[&str]) -> bool {
    match rest.split_first() {
        Some((first, behind))
            if first.kind == Kind::Word && words.contains(&first.value.as_str()) =>
        {
            *rest = behind;
            true
        }
        _ => false,
    }
}

/// A name as it is written.
fn name<'t>(lexeme: &'t Lexeme, text: &'t str) -> Option<&'t str> {
    match lexeme.kind {
        Kind::Word => text.get(lexeme.span.clone()),
        Kind::Name => Some(&lexeme.value),
        _ => None,
    }
}

/// Takes the name of a table, and the database before it.
pub(super) fn take_table<'t>(
    rest: &mut &'t [Lexeme],
    text: &'t str,
) -> Option<(Option<&'t str>, &'t str)> {
    let (first, behind) = rest.split_first()?;
    let own = name(first, text)?;
    *rest = behind;
    match behind {
        [point, table, behind @ ..] if is_symbol(point, ".") => {
            let table = name(table, text)?;
            *rest = behind;
            Some((Some(own), table))
        }
        _ => Some((None, own)),
    }
}

/// Types that sealed values have.
fn is_sealed_type(found: &[u8]) -> bool {
    let found = found.to_ascii_lowercase();
    found.starts_with(b"varbinary(") || found == b"mediumblob" || found == b"longblob"
}

impl Described {
    fn column(&self, name: &[u8]) -> Option<&Declared> {
        let mut columns = self.columns.iter();
        columns.find(|own| own.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// The declared type and the collation of a column, in the place of a type that the server
    /// shows. None: the server's own stay.
    pub fn shown(&self, column: &[u8], found: &[u8]) -> Option<(&str, Option<&str>)> {
        let own = self.column(column).filter(|_| is_sealed_type(found))?;
        Some((&own.type_text, own.collation.as_deref()))
    }

    /// What `Null` says of a column that is sealed with others. None: the server's own stays.
    pub fn shown_null(&self, column: &[u8]) -> Option<&'static str> {
        let not_null = self.column(column)?.not_null?;
        Some(if not_null { "NO" } else { "YES" })
    }

    /// What `Default` and `Extra` say of a column with a default. None: the server's own stay.
    pub fn shown_default(&self, column: &[u8]) -> Option<(&str, Option<&'static str>)> {
        let default = self.column(column)?.default.as_ref()?;
        let is_generated = default.is_moment() && !self.own.is_mariadb;
        Some((&default.text, is_generated.then_some(GENERATED)))
    }

    /// The text of `CREATE TABLE` with the declared types and without the guard. None: it is not
    /// written as it is expected.
    pub fn create(&self, text: &[u8]) -> Option<Vec<u8>> {
        let start = find(text, b" (\n")? + 3;
        let (parts, end) = self.parts(text, start)?;
        let mut out = text[..start].to_vec();
        let (mut is_first, mut replaced) = (true, 0);
        for part in parts {
            if self.is_guard(part) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.extend_from_slice(b",\n");
            }
            match self.declared(part) {
                Some(line) => {
                    replaced += 1;
                    out.extend_from_slice(&line);
                }
                None => out.extend_from_slice(&self.key(part)),
            }
        }
        out.extend_from_slice(&text[end..]);
        (replaced == self.columns.len()).then_some(out)
    }

    /// The parts between the parentheses of `CREATE TABLE`, and where they end.
    fn parts<'t>(&self, text: &'t [u8], start: usize) -> Option<(Vec<&'t [u8]>, usize)> {
        // MariaDB writes texts as the session reads them.
        let escapes = !(self.own.is_mariadb && self.own.plain_backslashes);
        let mut parts = Vec::new();
        let (mut quote, mut at, mut from) = (None, start, start);
        while let Some(&byte) = text.get(at) {
            match (quote, byte) {
                (Some(b'\''), b'\\') if escapes => at += 1,
                (Some(own), byte) if byte == own => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'`' | b'"') => quote = Some(byte),
                (None, b',') if text.get(at + 1) == Some(&b'\n') => {
                    parts.push(&text[from..at]);
                    from = at + 2;
                }
                (None, b'\n') if text.get(at + 1) == Some(&b')') => {
                    parts.push(&text[from..at]);
                    return Some((parts, at));
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The name with which a text begins, and what follows. A session may want names without
    /// quotes.
    fn named<'t>(&self, text: &'t [u8]) -> Option<(&'t [u8], &'t [u8])> {
        let quote = if self.own.ansi_quotes { b'"' } else { b'`' };
        let Some(inside) = text.strip_prefix(&[quote]) else {
            let end = text.iter().position(|&byte| byte == b' ')?;
            return Some(text.split_at(end));
        };
        let end = inside.iter().position(|&byte| byte == quote)?;
        Some((&inside[..end], &inside[end + 1..]))
    }

    fn is_guard(&self, part: &[u8]) -> bool {
        let behind = part.strip_prefix(b"  CONSTRAINT ");
        let own = behind.and_then(|behind| self.named(behind));
        own.is_some_and(|(name, behind)| {
            name == self.guard.as_bytes() && behind.starts_with(b" CHECK (")
        })
    }

    /// The line of a key, which is over texts where the server has it over tokens.
    fn key<'t>(&self, part: &'t [u8]) -> Cow<'t, [u8]> {
        let mut part = Cow::Borrowed(part);
        let is_key = [&b"  PRIMARY KEY "[..], b"  UNIQUE KEY ", b"  KEY "];
        if !is_key.iter().any(|start| part.starts_with(start)) {
            return part;
        }
        let quote = if self.own.ansi_quotes { "\"" } else { "`" };
        for own in self.columns.iter().filter(|own| own.has_tokens) {
            for name in [format!("{quote}{}{quote}", own.name), own.name.clone()] {
                for (before, behind) in [("(", ","), ("(", ")"), (",", ","), (",", ")")] {
                    let long = format!("{before}{name}({TOKEN_PREFIX_SIZE}){behind}");
                    if let Some(at) = find(&part, long.as_bytes()) {
                        let short = format!("{before}{name}{behind}");
                        let rest = &part[at + long.len()..];
                        part = [&part[..at], short.as_bytes(), rest].concat().into();
                    }
                }
            }
        }
        part
    }

    /// The line of a protected column with its declared type.
    fn declared(&self, part: &[u8]) -> Option<Vec<u8>> {
        let (name, behind) = self.named(part.strip_prefix(b"  ")?)?;
        let own = self.column(name)?;
        let behind = behind.strip_prefix(b" ")?;
        let end = behind.iter().position(|&byte| byte == b' ');
        let (found, rest) = behind.split_at(end.unwrap_or(behind.len()));
        if !is_sealed_type(found) {
            return None;
        }
        let head = part.len() - behind.len();
        let mut line = [&part[..head], own.type_text.as_bytes()].concat();
        // MySQL itself names each collation that its character set does not have by default.
        let collation = own.collation.as_deref().filter(|own| !is_default(own));
        if let Some(name) = own.own_collation {
            let text = format!(" CHARACTER SET utf8mb4 COLLATE {name}");
            line.extend_from_slice(text.as_bytes());
        } else if let (Some(collation), false) = (collation, self.own.is_mariadb) {
            line.extend_from_slice(format!(" COLLATE {collation}").as_bytes());
        }
        // Without a word it was NOT NULL once.
        let is_null = !own.not_null.unwrap_or(rest.starts_with(b" NOT NULL"));
        if own.type_text.starts_with("timestamp") && is_null {
            line.extend_from_slice(b" NULL");
        }
        let said = [&b" NOT NULL"[..], b" DEFAULT NULL"];
        let said = said.iter().find(|said| rest.starts_with(said));
        if let Some(default) = &own.default {
            if !is_null {
                line.extend_from_slice(b" NOT NULL");
            }
            line.extend_from_slice(format!(" DEFAULT {}", default.in_create(self.own)).as_bytes());
            line.extend_from_slice(&rest[said.map_or(0, |said| said.len())..]);
            return Some(line);
        }
        if let Some(not_null) = own.not_null {
            line.extend_from_slice(match not_null {
                true => b" NOT NULL",
                false if own.lacks_default => b"",
                false => b" DEFAULT NULL",
            });
            line.extend_from_slice(&rest[said.map_or(0, |said| said.len())..]);
            return Some(line);
        }
        let has_default = said.is_some();
        if own.may_lack_default && !has_default {
            line.extend_from_slice(b" DEFAULT NULL");
        }
        line.extend_from_slice(rest);
        Some(line)
    }
}

/// Whether a character set of MySQL 8 has this collation by default.
fn is_default(collation: &str) -> bool {
    const DEFAULTS: [&str; 6] = [
        "ascii_general_ci",
        "binary",
        "latin1_swedish_ci",
        "utf8_general_ci",
        "utf8mb3_general_ci",
        "utf8mb4_0900_ai_ci",
    ];
    DEFAULTS.contains(&collation)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|own| own == part)
}
