//! What client and server send a session of the proxy, in any order and cut anywhere.

use std::collections::HashMap;
use std::sync::Arc;

use crypto::secret::Key;
use session_core::{Database, Protection, Reading, Root};
use session_postgres::{Session, Terms};
use sql_plan::{ColumnId, Mode, Rules};
use sql_rewrite::{Column, ProtectedColumn, RelationKind, Schema, SealedForm, Table};
use wire_postgres::backend;

use crate::input::Input;

/// Stands in texts only where it meets a protected column.
const CANARY: &[u8] = b"CANARY";

/// Texts that a client sends.
const TEXTS: &[&[u8]] = &[
    b"SELECT name FROM customer WHERE id = $1",
    b"INSERT INTO customer (id, name) VALUES (1, 'CANARY')",
    b"INSERT INTO customer (id, name) VALUES ($1, 'CANARY')",
    b"UPDATE customer SET name = 'CANARY' WHERE id = 2; SELECT 1",
    b"SELECT name FROM customer WHERE name LIKE 'CANARY%'",
    b"SELECT 1",
    b"CREATE TABLE other (a integer)",
    b"BEGIN",
    b"ROLLBACK",
    b"",
];

const CLIENT_KINDS: &[u8] = b"BCDEFHPQSXcdfp";
const SERVER_KINDS: &[u8] = b"123CDEGHIKNRSTVWZcdnstv";

/// Takes what both sides send.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let is_protected = input.byte() & 1 == 1;
    let mut session = begin(is_protected);
    while !input.is_empty() {
        let size = input.below(64);
        match input.byte() % 6 {
            0 => session.client_bytes(input.take(size)),
            1 => session.server_bytes(input.take(size)),
            2 => {
                let kind = input.one_of(CLIENT_KINDS);
                session.client_bytes(&message(kind, input.take(size)));
            }
            3 => {
                let kind = input.one_of(SERVER_KINDS);
                session.server_bytes(&message(kind, input.take(size)));
            }
            4 => {
                let text = input.one_of(TEXTS);
                session.client_bytes(&message(b'Q', &[text, &[0]].concat()));
            }
            _ => {
                let text = input.one_of(TEXTS);
                let parse = message(b'P', &[&[0], text, &[0, 0, 0]].concat());
                let bind = message(b'B', b"\0\0\0\0\0\x01\0\0\0\x011\0\0");
                let execute = message(b'E', b"\0\0\0\0\0");
                session.client_bytes(&[parse, bind, execute, message(b'S', b"")].concat());
            }
        }
        let _ = (session.wants_client(), session.wants_server());
        if is_protected {
            let sent = &session.to_server.bytes;
            // What the fuzzer itself writes may hold anything: it knows no canary by chance.
            assert!(
                !sent.windows(CANARY.len()).any(|part| part == CANARY) || holds_canary(bytes),
                "plaintext of a protected column goes to the server"
            );
        }
        session.to_server.bytes.clear();
        session.to_client.bytes.clear();
    }
    session.drain(input.byte() & 1 == 1);
    session.server_closed();
    session.client_closed();
}

fn holds_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|part| part == CANARY)
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    backend::write(kind, &mut out, |out| out.extend_from_slice(body));
    out
}

fn begin(is_protected: bool) -> Session {
    let protection = is_protected.then(|| (protection(), Database::named(b"base")));
    let mut session = Session::new(Terms {
        message_size_max: 1000,
        cancel_key: Some([2; 32]),
        protection,
        ..Terms::default()
    });
    session.server_bytes(&message(b'R', &[0; 4]));
    session.server_bytes(&message(b'Z', b"I"));
    if is_protected {
        // The first statement asks for the search path and the database, behind a Close.
        session.client_bytes(&message(b'Q', b"SELECT 1\0"));
        for (kind, body) in [
            (b'3', &b""[..]),
            (b'1', b""),
            (b'2', b""),
            (b'D', b"\0\x01\0\0\0\x06public"),
            (b'D', b"\0\x02\0\0\0\x0862617365\0\0\0\x08database"),
            (b'C', b"SELECT 1\0"),
            (b'3', b""),
            (b'3', b""),
            (b'Z', b"I"),
            (b'C', b"SELECT 1\0"),
            (b'Z', b"I"),
        ] {
            session.server_bytes(&message(kind, body));
        }
        assert!(!session.has_ended(), "these answers are the right ones");
    }
    session.to_server.bytes.clear();
    session.to_client.bytes.clear();
    session
}

fn protection() -> Arc<Protection> {
    let root = Root::new(Key::from_bytes([7; 32]));
    let protection = Protection::new(Rules::default(), root, || 0);
    let reading = Reading {
        schema: schema(),
        fingerprint: Some(String::new()),
        forgets: 0,
    };
    let entered = protection.enter("base", reading, true);
    assert!(entered.is_ok(), "the columns can be sealed");
    Arc::new(protection)
}

/// `customer (id integer, name varchar(16))`, both protected.
fn schema() -> Schema {
    let protected: Vec<ProtectedColumn> = [
        ("id", "integer", Mode::Equality),
        ("name", "varchar(16)", Mode::Random),
    ]
    .into_iter()
    .zip(0..)
    .map(|((column, logical, mode), number)| ProtectedColumn {
        id: ColumnId(number),
        schema: "public".to_owned(),
        table: "customer".to_owned(),
        column: column.to_owned(),
        logical: logical.parse().expect("a known type"),
        mode,
        domain: format!("column:public.customer.{column}"),
        form: SealedForm::default(),
        default: None,
        draws: None,
        not_null: false,
        checks: Default::default(),
    })
    .collect();
    let columns = protected.iter().zip(1..).map(|(column, number)| Column {
        name: column.column.clone(),
        written: None,
        number,
        not_null: false,
        has_default: false,
        is_generated: false,
        protected: Some(column.id),
        physical: None,
    });
    let table = Table {
        schema: "public".to_owned(),
        name: "customer".to_owned(),
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
    let name = ("public".to_owned(), "customer".to_owned());
    Schema {
        tables: HashMap::from([(name, table)]).into(),
        protected,
        search_path: vec!["public".to_owned()],
        ..Schema::default()
    }
}
