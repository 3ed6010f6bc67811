//! A server for tests without sockets: one table, and the statements that plans make of it.

use std::collections::HashMap;
use std::sync::Arc;

use crypto::secret::Key;
use session_core::{Database, Protection, Reading, Root};
use sql_plan::{ColumnId, Mode, Rules};
use sql_rewrite::{Column, ProtectedColumn, RelationKind, Schema, SealedForm, Table};
use wire_postgres::backend;
use wire_postgres::frontend::{Bind, Execute, Parse, Target};

use super::{message, taken};
use crate::session::{Session, Terms};

/// Columns of `counter`; `id` and `c`, `d` are protected.
const COLUMNS: [&str; 4] = ["id", "c", "d", "plain"];

type Value = Option<Vec<u8>>;

/// What the server does.
#[derive(Default)]
pub(super) struct Server {
    rows: Vec<Vec<Value>>,
    statements: HashMap<Vec<u8>, String>,
    portals: HashMap<Vec<u8>, (String, Vec<Value>)>,
    input: Vec<u8>,
    /// Kinds of the messages that came.
    pub seen: String,
    /// Texts that were parsed.
    pub parsed: Vec<String>,
    in_block: bool,
    has_failed: bool,
    is_skipping: bool,
    /// The session has a temporary table.
    pub has_temporary: bool,
    /// There are no rows any more for UPDATE.
    pub loses_rows: bool,
    /// The next text that holds this fails.
    pub fails_on: Option<&'static str>,
    /// It has opened another database than the session asked for.
    pub is_elsewhere: bool,
    /// What came of rows of a COPY, message by message.
    pub copied: Vec<Vec<u8>>,
}

/// A session with a server behind it.
pub(super) struct Both {
    pub session: Session,
    pub server: Server,
    pub protection: Arc<Protection>,
}

impl Both {
    pub(super) fn begin() -> Self {
        let protection = Arc::new(protection());
        let mut session = Session::new(Terms {
            message_size_max: 100_000,
            protection: Some((Arc::clone(&protection), Database::named(b"base"))),
            ..Terms::default()
        });
        session.server_bytes(&message(b'R', &[0; 4]));
        session.server_bytes(&message(b'Z', b"I"));
        session.to_client.bytes.clear();
        let mut both = Self {
            session,
            server: Server::default(),
            protection,
        };
        assert_eq!(both.query("SELECT 1"), "C(SELECT 1) Z(I)");
        both.server.seen.clear();
        both.server.parsed.clear();
        both
    }

    /// Sends messages, lets the server answer until all is still, and tells what the client saw.
    pub(super) fn send(&mut self, messages: &[Vec<u8>]) -> String {
        self.session.client_bytes(&messages.concat());
        let mut said = Vec::new();
        loop {
            let sent = taken(&mut self.session.to_server);
            said.extend(taken(&mut self.session.to_client));
            if sent.is_empty() {
                break;
            }
            let answer = self.server.take(&sent);
            self.session.server_bytes(&answer);
        }
        said.extend(taken(&mut self.session.to_client));
        told(&said)
    }

    pub(super) fn query(&mut self, text: &str) -> String {
        self.send(&[message(b'Q', &[text.as_bytes(), &[0]].concat())])
    }

    /// The messages that the server got, since this was asked last.
    pub(super) fn seen(&mut self) -> String {
        std::mem::take(&mut self.server.seen)
    }
}

pub(super) fn parse(name: &str, text: &str) -> Vec<u8> {
    let body = [name.as_bytes(), &[0], text.as_bytes(), &[0, 0, 0]].concat();
    message(b'P', &body)
}

/// Bind of texts.
pub(super) fn bind(portal: &str, name: &str, values: &[&str]) -> Vec<u8> {
    let mut body = [portal.as_bytes(), &[0], name.as_bytes(), &[0, 0, 0]].concat();
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value.as_bytes());
    }
    body.extend([0, 0]);
    message(b'B', &body)
}

pub(super) fn execute(portal: &str) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), &[0; 5]].concat())
}

pub(super) fn describe(kind: u8, name: &str) -> Vec<u8> {
    message(b'D', &[&[kind], name.as_bytes(), &[0]].concat())
}

pub(super) fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// Messages as a line: kinds, with tags, statuses, SQLSTATEs and the first value of rows.
fn told(bytes: &[u8]) -> String {
    let mut line = Vec::new();
    for (kind, body) in messages(bytes) {
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes)
                .trim_end_matches('\0')
                .to_owned()
        };
        line.push(match kind {
            b'C' | b'Z' => format!("{}({})", kind as char, text(&body)),
            b'E' => {
                let fields = backend::read_fields(&body).unwrap();
                let code = fields.iter().find(|(letter, _)| *letter == b'C').unwrap();
                format!("E({})", text(code.1))
            }
            b'D' => {
                let row = backend::read_data_row(&body).unwrap();
                let values = row.iter().map(|value| value.map_or("-".to_owned(), text));
                format!("D({})", values.collect::<Vec<_>>().join(","))
            }
            kind => char::from(kind).to_string(),
        });
    }
    line.join(" ")
}

pub(super) fn messages(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let [kind, a, b, c, d, ..] = *bytes {
        let size = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
        found.push((kind, bytes[5..size].to_vec()));
        bytes = &bytes[size..];
    }
    found
}

impl Server {
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.input.extend(bytes);
        let mut out = Vec::new();
        for (kind, body) in messages(&std::mem::take(&mut self.input)) {
            self.seen.push(kind as char);
            if kind == b'S' {
                self.is_skipping = false;
                self.ready(&mut out);
            } else if !self.is_skipping {
                self.answer(kind, &body, &mut out);
            }
        }
        out
    }

    fn ready(&mut self, out: &mut Vec<u8>) {
        let status = match (self.in_block, self.has_failed) {
            (false, _) => b"I",
            (true, false) => b"T",
            (true, true) => b"E",
        };
        self.has_failed &= self.in_block;
        out.extend(message(b'Z', status));
    }

    fn answer(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) {
        match kind {
            b'P' => {
                let parse = Parse::read(body).unwrap();
                let text = String::from_utf8(parse.text.to_vec()).unwrap();
                if text.starts_with("strongroom refused") {
                    return self.fail("42601", out);
                }
                let is_there = self.statements.contains_key(parse.statement);
                if is_there && !parse.statement.is_empty() {
                    return self.fail("42P05", out);
                }
                self.parsed.push(text.clone());
                self.statements.insert(parse.statement.to_vec(), text);
                out.extend(message(b'1', b""));
            }
            b'B' => {
                let bind = Bind::read(body).unwrap();
                let values = bind.parameters.iter();
                let values = values.map(|value| value.map(<[u8]>::to_vec)).collect();
                let Some(text) = self.statements.get(bind.statement) else {
                    return self.fail("26000", out);
                };
                let portal = (text.clone(), values);
                self.portals.insert(bind.portal.to_vec(), portal);
                out.extend(message(b'2', b""));
            }
            b'D' => self.describe(Target::read(body).unwrap(), out),
            b'C' => {
                if let Target::Statement(name) = Target::read(body).unwrap() {
                    self.statements.remove(name);
                }
                out.extend(message(b'3', b""));
            }
            b'E' => {
                let execute = Execute::read(body).unwrap();
                let (text, values) = self.portals[execute.portal].clone();
                self.execute(&text, &values, out);
            }
            b'Q' => {
                let text = String::from_utf8_lossy(&body[..body.len() - 1]).into_owned();
                if text.starts_with("COPY") {
                    return out.extend(message(b'G', &[0; 3]));
                }
                if text.starts_with("strongroom refused") {
                    return self.fail_query("42601", out);
                }
                self.execute(&text, &[], out);
                self.is_skipping = false;
                self.ready(out);
            }
            b'd' => self.copied.push(body.to_vec()),
            b'c' => {
                out.extend(message(b'C', b"COPY\0"));
                self.ready(out);
            }
            b'f' => self.fail_query("57014", out),
            b'H' => {}
            other => panic!("message {}", other as char),
        }
    }

    fn describe(&self, target: Target<'_>, out: &mut Vec<u8>) {
        let text = match target {
            Target::Statement(name) => {
                let text = &self.statements[name];
                let count = text.matches('$').count();
                let types = [
                    &(count as u16).to_be_bytes()[..],
                    &[0, 0, 0, 17].repeat(count),
                ];
                out.extend(message(b't', &types.concat()));
                text
            }
            Target::Portal(name) => &self.portals[name].0,
        };
        if !text.starts_with("SELECT") {
            return out.extend(message(b'n', b""));
        }
        let names = selected(text);
        let mut body = (names.len() as u16).to_be_bytes().to_vec();
        for name in names {
            body.extend(name.as_bytes());
            body.extend([0; 7]);
            body.extend([0, 0, 0, 17, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1]);
        }
        out.extend(message(b'T', &body));
    }

    fn fail(&mut self, code: &str, out: &mut Vec<u8>) {
        self.is_skipping = true;
        self.has_failed = true;
        let body = format!("SERROR\0VERROR\0C{code}\0Mfailed\0\0");
        out.extend(message(b'E', body.as_bytes()));
    }

    fn fail_query(&mut self, code: &str, out: &mut Vec<u8>) {
        self.fail(code, out);
        self.is_skipping = false;
        self.ready(out);
    }

    fn execute(&mut self, text: &str, values: &[Value], out: &mut Vec<u8>) {
        if self.fails_on.is_some_and(|part| text.contains(part)) {
            self.fails_on = None;
            return self.fail("40001", out);
        }
        match self.give_names(text) {
            None => {}
            Some(Ok(tag)) => return out.extend(message(b'C', &[tag.as_bytes(), &[0]].concat())),
            Some(Err(code)) => return self.fail(code, out),
        }
        let word = text.split(' ').next().unwrap_or_default();
        if self.in_block && self.has_failed && !matches!(word, "COMMIT" | "ROLLBACK") {
            return self.fail("25P02", out);
        }
        let tag = match word {
            "BEGIN" => {
                self.in_block = true;
                "BEGIN".to_owned()
            }
            "COMMIT" | "ROLLBACK" if !text.contains(" TO ") => {
                (self.in_block, self.has_failed) = (false, false);
                word.to_owned()
            }
            "ROLLBACK" => {
                self.has_failed = false;
                word.to_owned()
            }
            "DECLARE" => {
                let (head, query) = text.split_once(" FOR ").unwrap();
                let quoted = head.split('"').nth(1);
                let name = quoted.unwrap_or_else(|| head.split(' ').nth(1).unwrap());
                let portal = (query.to_owned(), Vec::new());
                self.portals.insert(name.as_bytes().to_vec(), portal);
                "DECLARE CURSOR".to_owned()
            }
            "INSERT" => {
                let mut row = values.to_vec();
                row.resize(COLUMNS.len(), None);
                self.rows.push(row);
                "INSERT 0 1".to_owned()
            }
            "SELECT" if text.contains("pg_") || text.contains("current_schemas") => {
                if self.has_temporary && text.contains("current_schemas") {
                    let row = b"\0\x02\0\0\0\x01t\0\0\0\x09temporary";
                    out.extend(message(b'D', row));
                }
                out.extend(message(b'D', b"\0\x01\0\0\0\x06public"));
                if text.contains("current_schemas") {
                    self.tell_database(out);
                }
                "SELECT 1".to_owned()
            }
            "SELECT" if text.contains("counter") => self.select(text, values, out),
            "UPDATE" if text.contains("counter") => self.update(text, values),
            "SELECT" => "SELECT 1".to_owned(),
            other => other.to_owned(),
        };
        out.extend(message(b'C', &[tag.as_bytes(), &[0]].concat()));
    }

    fn tell_database(&self, out: &mut Vec<u8>) {
        // Digits of `else` and `base`.
        let name = if self.is_elsewhere {
            b"656c7365"
        } else {
            b"62617365"
        };
        let parts: [&[u8]; 4] = [b"\0\x02\0\0\0\x08", name, b"\0\0\0\x08", b"database"];
        out.extend(message(b'D', &parts.concat()));
    }

    /// The tag of a statement about prepared ones, or why it fails; None: it is another.
    fn give_names(&mut self, text: &str) -> Option<Result<String, &'static str>> {
        let mut words = text.split([' ', '(']);
        let (word, name) = (words.next()?, words.next()?.as_bytes());
        let is_known = self.statements.contains_key(name);
        match word {
            "DEALLOCATE" | "DISCARD" if name == b"ALL" => {
                self.statements.clear();
                return Some(Ok(text.to_owned()));
            }
            "DEALLOCATE" | "EXECUTE" if !is_known => return Some(Err("26000")),
            "DEALLOCATE" => drop(self.statements.remove(name)),
            "PREPARE" if is_known => return Some(Err("42P05")),
            "PREPARE" => {
                let (_, meant) = text.split_once(" AS ").unwrap();
                self.statements.insert(name.to_vec(), meant.to_owned());
            }
            "EXECUTE" => panic!("it came in clear: {text}"),
            _ => return None,
        }
        Some(Ok(word.to_owned()))
    }

    fn select(&self, text: &str, values: &[Value], out: &mut Vec<u8>) -> String {
        let found = self.find(text, values);
        for &index in &found {
            let names = selected(text);
            let mut body = (names.len() as u16).to_be_bytes().to_vec();
            for name in names {
                let value = match name.as_str() {
                    "ctid" => Some(vec![0, 0, 0, 0, 0, index as u8]),
                    "tableoid" => Some(vec![0, 0, 0, 9]),
                    name => self.rows[index][column(name)].clone(),
                };
                match value {
                    None => body.extend([0xff; 4]),
                    Some(value) => {
                        body.extend((value.len() as u32).to_be_bytes());
                        body.extend(value);
                    }
                }
            }
            out.extend(message(b'D', &body));
        }
        format!("SELECT {}", found.len())
    }

    fn update(&mut self, text: &str, values: &[Value]) -> String {
        if let Some((set, _)) = text.split_once(" FROM UNNEST(") {
            return self.update_all(set, values);
        }
        let mut found = self.find(text, values);
        if self.loses_rows {
            found.clear();
        }
        let (_, rest) = text.split_once(" SET ").unwrap();
        let (set, _) = rest.split_once(" WHERE ").unwrap_or((rest, ""));
        for assignment in set.split(", ") {
            let (name, value) = assignment.split_once(" = ").unwrap();
            let value = parameter(value, values);
            for &index in &found {
                self.rows[index][column(name)].clone_from(&value);
            }
        }
        format!("UPDATE {}", found.len())
    }

    /// Places of the rows for which the condition holds: `name = $1 AND …`.
    /// Rows by arrays: their places, their tables, and new values.
    fn update_all(&mut self, text: &str, values: &[Value]) -> String {
        let arrays: Vec<Vec<Value>> = values.iter().map(elements).collect();
        let (_, set) = text.split_once(" SET ").unwrap();
        for (at, ctid) in arrays[0].iter().enumerate() {
            let index = usize::from(ctid.as_ref().unwrap()[5]);
            for assignment in set.split(", ") {
                let (name, value) = assignment.split_once(" = ").unwrap();
                let (_, number) = value.rsplit_once('_').unwrap();
                let number: usize = number.parse().unwrap();
                self.rows[index][column(name)].clone_from(&arrays[2 + number][at]);
            }
        }
        format!("UPDATE {}", arrays[0].len())
    }

    fn find(&self, text: &str, values: &[Value]) -> Vec<usize> {
        let condition = text.split_once(" WHERE ").map(|(_, rest)| rest);
        let condition = condition.map(|rest| rest.split(" FOR ").next().unwrap());
        let holds = |index: &usize| {
            condition.is_none_or(|condition| {
                condition.split(" AND ").all(|part| {
                    let (name, value) = part.split_once(" = ").unwrap();
                    let value = parameter(value, values);
                    match name.rsplit('.').next().unwrap() {
                        "ctid" => value.is_some_and(|ctid| ctid[5] == *index as u8),
                        "tableoid" => value == Some(vec![0, 0, 0, 9]),
                        name => self.rows[*index][column(name)] == value,
                    }
                })
            })
        };
        (0..self.rows.len()).filter(holds).collect()
    }
}

/// The elements of an array in binary.
fn elements(array: &Value) -> Vec<Value> {
    /// Dimensions, whether there are NULLs, the type, the length, the lower bound.
    const HEADER_SIZE: usize = 20;
    let mut rest = &array.as_ref().unwrap()[HEADER_SIZE..];
    let mut all = Vec::new();
    while let Some((size, behind)) = rest.split_first_chunk() {
        let (element, behind) = behind.split_at(u32::from_be_bytes(*size) as usize);
        all.push(Some(element.to_vec()));
        rest = behind;
    }
    all
}

fn column(name: &str) -> usize {
    let name = name.trim_matches('"');
    COLUMNS.iter().position(|own| *own == name).unwrap()
}

fn selected(text: &str) -> Vec<String> {
    let list = text.strip_prefix("SELECT ").unwrap();
    let (list, _) = list.split_once(" FROM ").unwrap_or((list, ""));
    let last = |name: &str| {
        name.rsplit('.')
            .next()
            .unwrap()
            .trim_matches('"')
            .to_owned()
    };
    list.split(", ").map(last).collect()
}

/// `$1`, sealed bytes in a text, or a plain constant.
fn parameter(text: &str, values: &[Value]) -> Value {
    if let Some(number) = text.strip_prefix('$') {
        return values[number.parse::<usize>().unwrap() - 1].clone();
    }
    let Some(digits) = text.strip_prefix("E'\\\\x") else {
        return Some(text.as_bytes().to_vec());
    };
    let digits = digits.strip_suffix("'::bytea").unwrap();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    Some(digits.as_bytes().chunks(2).map(byte).collect())
}

fn protection() -> Protection {
    let root = Root::new(Key::from_bytes([7; 32]));
    let protection = Protection::new(Rules::default(), root, || 0).with_finish_rows_max(3);
    let entered = protection.enter(
        "base",
        Reading {
            schema: schema(),
            fingerprint: Some(String::new()),
            forgets: 0,
        },
        true,
    );
    assert!(entered.is_ok(), "the columns can be sealed");
    protection
}

fn schema() -> Schema {
    let protected: Vec<ProtectedColumn> = [
        ("id", "integer", Mode::Equality),
        ("c", "integer", Mode::Random),
        ("d", "bigint", Mode::Random),
    ]
    .into_iter()
    .zip(0..)
    .map(|((column, logical, mode), number)| ProtectedColumn {
        id: ColumnId(number),
        schema: "public".to_owned(),
        table: "counter".to_owned(),
        column: column.to_owned(),
        logical: logical.parse().expect("a known type"),
        mode,
        domain: format!("column:public.counter.{column}"),
        form: SealedForm::default(),
        default: None,
        draws: None,
        not_null: false,
        checks: Default::default(),
    })
    .collect();
    let columns = COLUMNS.iter().zip(1..).map(|(name, number)| Column {
        name: (*name).to_owned(),
        written: None,
        number,
        not_null: false,
        has_default: false,
        is_generated: false,
        protected: protected
            .iter()
            .find(|own| own.column == *name)
            .map(|own| own.id),
        physical: None,
    });
    let table = Table {
        schema: "public".to_owned(),
        name: "counter".to_owned(),
        oid: 1,
        kind: RelationKind::Table,
        columns: columns.collect(),
        unique_keys: vec![vec![0]],
        has_primary_key: true,
        opaque: false,
        has_triggers: false,
        has_column_privileges: false,
        rows: sql_rewrite::RowRules::default(),
    };
    let name = ("public".to_owned(), "counter".to_owned());
    Schema {
        tables: HashMap::from([(name, table)]).into(),
        protected,
        search_path: vec!["public".to_owned()],
        ..Schema::default()
    }
}
