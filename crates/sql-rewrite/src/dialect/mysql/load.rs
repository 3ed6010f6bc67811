//! `LOAD DATA`: a file of the client that the proxy reads on its way to the server (`LOCAL`).
//!
//! The server is given rows in one form, whatever the form of the file is. Sealed values are
//! hexadecimal digits there, which a variable takes and `UNHEX` makes bytes of.
//! `LOCAL` makes errors warnings, so a value of [`STOP`] makes the statement fail as a whole.

use sql_plan::{refuse, unsupported};
use sqlparser::ast::ObjectName;

use super::lexer::{self, Kind};
use super::misfit::misfit;
use super::readings::readings;
use super::relations::check_relation;
use super::shown::take_word;
use super::{MySql, bytes, names};
use crate::mention::Mentions;
use crate::{
    ColumnId, Dialect, Effects, Form, Hole, Literal, Piece, Purpose, Refusal, Schema, Source,
    Table, Template, Translated, Use, verify,
};

mod read;

use read::{Statement, statement};

/// In the place of hexadecimal digits it ends the statement with an error that `LOCAL` and `IGNORE`
/// do not make a warning.
pub const STOP: &str = "!";

/// The form of rows for the server, whatever the SQL mode.
const FORM: &str = "FIELDS TERMINATED BY x'09' ESCAPED BY x'5c' LINES TERMINATED BY x'0a'";

/// A `LOAD DATA LOCAL`.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The name of the file, for which the server asks.
    pub file: String,
    /// None: the table has no protected column, and text and file pass as they come.
    pub rows: Option<Rows>,
}

/// How the rows of a file become those for the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The statement for the server.
    pub text: Translated,
    /// The form of the file.
    pub form: FileForm,
    /// The character set of the file, where the statement names it.
    pub character_set: Option<String>,
    /// A field for each column of the statement.
    pub fields: Vec<Field>,
}

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The protected column that it is for.
    pub sealed: Option<ColumnId>,
    /// Whether NULL would become an empty value.
    pub not_null: bool,
}

/// The form of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileForm {
    /// What ends a field.
    pub field_end: Vec<u8>,
    /// What ends a row.
    pub line_end: Vec<u8>,
    /// What may stand around a field.
    pub enclosing: Option<u8>,
    /// What takes the meaning from the byte behind it, or gives it another.
    pub escape: Option<u8>,
    /// Lines at the start that are no rows.
    pub skipped_lines: u64,
}

/// What a text begins with.
struct Head {
    is_data: bool,
    is_local: bool,
    file: String,
}

/// What becomes of a text. None: it is another statement, or one that reads no file of the client
/// and no protected table.
///
/// # Errors
/// It loads a protected table in a way that is not understood.
pub fn load(text: &str, schema: &Schema, own: MySql) -> Option<Result<Load, Refusal>> {
    let head = head(text, own)?;
    let mentions = Mentions::of(schema);
    let named = readings(text).iter().find_map(|text| mentions.find(text));
    let Some(name) = named.filter(|_| !reads_plain(text, schema, own)) else {
        let single = is_single(text, own);
        return head.is_local.then(|| match single {
            true => Ok(Load {
                file: head.file,
                rows: None,
            }),
            false => Err(several()),
        });
    };
    let rows = rows(text, &head, schema, own);
    Some(match rows {
        Ok(rows) => Ok(Load {
            file: head.file,
            rows: Some(rows),
        }),
        Err(refusal) => Err(refusal.naming(Some(&name))),
    })
}

/// Whether a text loads a table without protected columns, and names protected ones in constants
/// alone.
pub(super) fn reads_plain(text: &str, schema: &Schema, own: MySql) -> bool {
    let Some(found) = head(text, own).and_then(|_| lexer::lexemes(text, own).ok()) else {
        return false;
    };
    let Some(statement) = statement(&found, text, own) else {
        return false;
    };
    let table = table(&statement, schema, own);
    table.is_some_and(|table| {
        let is_known = !table.opaque && !table.columns.is_empty();
        is_known && !table.is_protected()
    })
}

/// The plan of a text that loads a protected table. None: it is another one.
///
/// # Errors
/// It is not understood.
pub(super) fn planned(
    text: &str,
    schema: &Schema,
    own: MySql,
) -> Option<Result<(Translated, Effects), Refusal>> {
    let rows = match load(text, schema, own)? {
        Ok(Load { rows, .. }) => rows?,
        Err(refusal) => return Some(Err(refusal)),
    };
    let sealed = rows.fields.iter().filter_map(|field| field.sealed);
    let effects = Effects {
        uses: sealed.map(|id| (id, Use::Written)).collect(),
        ..Effects::default()
    };
    Some(Ok((rows.text, effects)))
}

/// The start of a text that loads a file.
fn head(text: &str, own: MySql) -> Option<Head> {
    /// `LOAD DATA LOW_PRIORITY LOCAL INFILE 'name'`
    const LEXEMES_MAX: usize = 6;
    let start = text.trim_ascii_start();
    let may_be = start
        .get(..4)
        .is_some_and(|first| first.eq_ignore_ascii_case("load"));
    // It may stand behind a comment.
    if !may_be && !start.starts_with(['/', '-', '#']) {
        return None;
    }
    let found = lexer::first_lexemes(text, own, LEXEMES_MAX).ok()?;
    let mut rest = &found[..];
    if !take_word(&mut rest, &["load"]) {
        return None;
    }
    let is_data = take_word(&mut rest, &["data"]);
    if !is_data && !take_word(&mut rest, &["xml"]) {
        return None;
    }
    take_word(&mut rest, &["low_priority", "concurrent"]);
    let is_local = take_word(&mut rest, &["local"]);
    let (file, _) = take_word(&mut rest, &["infile"]).then(|| rest.split_first())??;
    (file.kind == Kind::Text).then(|| Head {
        is_data,
        is_local,
        file: file.value.clone(),
    })
}

/// Whether nothing follows the first statement of a text.
fn is_single(text: &str, own: MySql) -> bool {
    if text.contains("/*!") || text.contains("/*M!") {
        return false;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let Some(end) = bytes::part_end(bytes, at, own) else {
            return false;
        };
        if byte == b';' {
            let rest = &bytes[end..];
            return rest
                .iter()
                .all(|byte| byte.is_ascii_whitespace() || *byte == b';');
        }
        at = end;
    }
    true
}

fn table<'s>(statement: &Statement<'_>, schema: &'s Schema, own: MySql) -> Option<&'s Table> {
    let database = statement.database.map(|name| names::table(name, own));
    schema.find(database.as_deref(), &names::table(statement.table, own))
}

fn several() -> Refusal {
    unsupported("LOAD DATA LOCAL in a text of several statements").with_hint("Send it by itself.")
}

/// How a file for a protected table is read.
fn rows(text: &str, head: &Head, schema: &Schema, own: MySql) -> Result<Rows, Refusal> {
    if let Some(error) = misfit(text, schema) {
        return Err(refuse(format!("rules and server do not fit: {error}")));
    }
    if !head.is_data {
        return Err(unsupported("LOAD XML").with_hint("Use LOAD DATA LOCAL INFILE."));
    }
    if !head.is_local {
        let message = "LOAD DATA INFILE, which reads a file of the server whose values are not \
                       sealed,";
        return Err(unsupported(message).with_hint(
            "Use LOAD DATA LOCAL INFILE, which reads a file of the client: the proxy seals its \
             values.",
        ));
    }
    let found = lexer::lexemes(text, own).map_err(|unread| unread.refusal())?;
    if !is_single(text, own) {
        return Err(several());
    }
    let statement = statement(&found, text, own).ok_or_else(|| {
        unsupported(
            "LOAD DATA LOCAL with something else than the marks of fields and lines, a \
                     list of columns, and SET of constants,",
        )
        .with_hint(
            "Give fields and lines a mark at their end, name a column for each field, and no \
             variables.",
        )
    })?;
    let found = table(&statement, schema, own);
    let name = ObjectName::from(vec![names::quote(statement.table)]);
    check_relation(&name, found, schema)?;
    let table = found.ok_or_else(|| unsupported("a table that is not known"))?;
    let rows = Builder {
        statement: &statement,
        table,
        schema,
        pieces: Vec::new(),
        holes: Vec::new(),
    }
    .rows(head)?;
    let sealed: Vec<_> = rows.fields.iter().map(|field| field.sealed).collect();
    let mut ids = sealed.iter().flatten();
    if let Some(id) = ids.find(|id| schema.column(**id).form.tokens.is_some()) {
        return Err(unsupported(&format!(
            "LOAD DATA of {}, which is found by a collation",
            schema.title(*id)
        ))
        .with_hint("Insert the rows by INSERT, many of them at once."));
    }
    verify::check_load(&rows.text, &sealed, (schema, own))?;
    Ok(rows)
}

/// Writes the statement for the server.
struct Builder<'a> {
    statement: &'a Statement<'a>,
    table: &'a Table,
    schema: &'a Schema,
    pieces: Vec<Piece>,
    holes: Vec<Hole>,
}

impl Builder<'_> {
    fn rows(mut self, head: &Head) -> Result<Rows, Refusal> {
        let Statement { columns, set, .. } = self.statement;
        let all = || {
            self.table
                .columns
                .iter()
                .map(|own| own.name.clone())
                .collect()
        };
        let columns: Vec<String> = columns.clone().unwrap_or_else(all);
        let given: Vec<&String> = columns
            .iter()
            .chain(set.iter().map(|(name, _)| name))
            .collect();
        for (index, name) in given.iter().enumerate() {
            if self.table.position(name).is_none() || given[..index].contains(name) {
                return Err(unsupported(&format!(
                    "a column {name} that the table does not have, or that is given twice,"
                )));
            }
        }
        let mut needed = self.table.columns.iter();
        let missing = needed.find(|own| {
            let Some(id) = own.protected.filter(|_| !given.contains(&&own.name)) else {
                return false;
            };
            own.not_null || self.schema.column(id).default.is_some()
        });
        if let Some(missing) = missing {
            let message = format!(
                "LOAD DATA without protected column {}, which is NOT NULL or has a default,",
                missing.name
            );
            return Err(unsupported(&message).with_hint("Give it a field, or a constant by SET."));
        }
        let fields = self.begin(head, &columns)?;
        if fields.iter().all(|field| field.sealed.is_none()) {
            // No row could stop the server.
            let message = "LOAD DATA LOCAL without a field for a protected column";
            return Err(unsupported(message)
                .with_hint("Give a protected column a field, or insert the rows by INSERT."));
        }
        self.set(&columns, &fields)?;
        Ok(Rows {
            text: Translated {
                template: Template {
                    pieces: self.pieces,
                },
                holes: self.holes,
                outputs: Vec::new(),
                parameter_types: Vec::new(),
                locks: None,
            },
            form: self.statement.form.clone(),
            character_set: self.statement.character_set.clone(),
            fields,
        })
    }

    fn protected(&self, name: &str) -> Result<Option<ColumnId>, Refusal> {
        let own = self
            .table
            .position(name)
            .map(|index| &self.table.columns[index]);
        let id = own.and_then(|own| own.protected);
        if let Some(id) = id.filter(|id| self.schema.is_member(*id)) {
            return Err(unsupported(&format!(
                "LOAD DATA into protected column {}, which is sealed with others,",
                self.schema.column(id).column
            ))
            .with_hint("Insert the rows by INSERT."));
        }
        match id.filter(|id| self.schema.column(*id).is_checked()) {
            None => Ok(id),
            Some(_) => Err(unsupported(
                "LOAD DATA into a column with check constraints",
            )),
        }
    }

    /// The statement up to its list of columns.
    fn begin(&mut self, head: &Head, columns: &[String]) -> Result<Vec<Field>, Refusal> {
        let Dialect::MySql(own) = self.schema.dialect else {
            return Err(unsupported("LOAD DATA"));
        };
        let mut text = "LOAD DATA ".to_owned();
        let mut word = |word: &str| {
            text.push_str(word);
            text.push(' ');
        };
        word(&self.statement.before);
        word("LOCAL INFILE");
        word(&lexer::for_server(
            format!("'{}'", head.file.replace('\'', "''")),
            own,
        ));
        word(self.statement.duplicates.as_deref().unwrap_or_default());
        let (database, table) = (&self.table.schema, &self.table.name);
        word(&format!(
            "INTO TABLE {}.{}",
            names::quote(database),
            names::quote(table)
        ));
        if let Some(name) = &self.statement.character_set {
            let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            is_word
                .then_some(())
                .ok_or_else(|| unsupported("a character set of this name"))?;
            word(&format!("CHARACTER SET {name}"));
        }
        let mut fields = Vec::new();
        let mut list = Vec::new();
        for name in columns {
            let sealed = self.protected(name)?;
            list.push(match sealed {
                Some(id) => variable(id),
                None => names::quote(name).to_string(),
            });
            let not_null = sealed.is_some_and(|id| self.schema.column(id).not_null)
                || self
                    .table
                    .position(name)
                    .is_some_and(|at| self.table.columns[at].not_null);
            fields.push(Field { sealed, not_null });
        }
        word(FORM);
        word(&format!("({})", list.join(", ")));
        self.pieces.push(Piece::Text(text));
        Ok(fields)
    }

    /// What is not taken from a field as it is.
    fn set(&mut self, columns: &[String], fields: &[Field]) -> Result<(), Refusal> {
        let mut before = "SET ";
        let mut add = |pieces: &mut Vec<Piece>, text: String| {
            pieces.push(Piece::Text(format!("{before}{text}")));
            before = ", ";
        };
        for (name, field) in columns.iter().zip(fields) {
            let Some(id) = field.sealed else {
                continue;
            };
            let own = variable(id);
            add(
                &mut self.pieces,
                format!(
                    "{} = UNHEX(IF({own} = '{STOP}', 18446744073709551615 + LENGTH({own}), {own}))",
                    names::quote(name)
                ),
            );
        }
        for (name, constant) in &self.statement.set {
            let own = names::quote(name);
            let Some(id) = self.protected(name)? else {
                add(&mut self.pieces, format!("{own} = {}", constant.text));
                continue;
            };
            if constant.literal == Literal::Null && self.schema.column(id).not_null {
                return Err(unsupported("NULL for a protected column that is NOT NULL"));
            }
            add(&mut self.pieces, format!("{own} = "));
            self.pieces.push(Piece::Hole(self.holes.len()));
            self.holes.push(Hole {
                source: Source::Literal(constant.literal.clone()),
                form: Form::Sealed(id, Purpose::Store),
            });
        }
        Ok(())
    }
}

/// The variable that takes the digits of a field.
fn variable(id: ColumnId) -> String {
    format!("@strongroom_{}", id.0)
}
