//! A terminal of workload `tpcc` on PostgreSQL: every statement is prepared, a batch is sent at
//! once, integers and times are binary, everything else is text, as in usual drivers.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use lab::engine::{Cause, Contention, EngineError};
use lab::tpcc::{Call, Replies, Terminal};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use session_postgres::Session;
use workloads::tpcc::Isolation;
use workloads::tpcc::population::Row;
use workloads::tpcc::schema::Table;
use workloads::tpcc::statements::Statement;
use workloads::tpcc::value::{Type, Value};

use super::wire::{Wire, WireError, refused, tag};
use crate::server::{Address, Witness};

/// Names of the prepared statements around a transaction, identical to their texts.
const BEGIN: &str = "BEGIN";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// PostgreSQL counts microseconds from 2000-01-01 instead of 1970-01-01.
const EPOCH_2000: i64 = 946_684_800_000_000;

/// A connection for a terminal.
pub(crate) struct PostgresTerminal {
    wire: Wire,
    witness: Arc<dyn Witness>,
    in_transaction: bool,
    /// Names of the statements prepared so far.
    prepared: HashSet<String>,
    /// The name of each statement, by its index.
    names: Vec<String>,
}

impl PostgresTerminal {
    /// Logs in at that address; through a session in this process, if there is one.
    pub(crate) fn connect(
        address: &Address,
        session: Option<Session>,
        witness: Arc<dyn Witness>,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, Cause> {
        let logged_in = Self::log_in(address, session, Arc::clone(&witness), isolation);
        match logged_in {
            Ok(terminal) => Ok(Box::new(terminal)),
            Err(error) => Err(explained(error, witness.as_ref())),
        }
    }

    fn log_in(
        address: &Address,
        session: Option<Session>,
        witness: Arc<dyn Witness>,
        isolation: Isolation,
    ) -> Result<Self, WireError> {
        let names = Statement::ALL.iter().map(|one| format!("{one:?}"));
        let mut terminal = Self {
            wire: Wire::connect(address, session)?,
            witness,
            in_transaction: false,
            prepared: HashSet::new(),
            names: names.collect(),
        };
        let level = isolation.sql();
        terminal.query(&format!(
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"
        ))?;
        let out = &mut terminal.wire.out;
        for order in [BEGIN, COMMIT, ROLLBACK] {
            frontend::parse(order, order, [], out)?;
        }
        terminal.round(|_, _| Ok(()))?;
        Ok(terminal)
    }

    /// Prepares a statement on first use, because its tables may be created after login.
    fn prepare(&mut self, statement: Statement) -> Result<(), WireError> {
        let text = statement.text();
        let types = text.parameters.iter().map(|&kind| object_id(kind));
        let name = format!("{statement:?}");
        frontend::parse(&name, &numbered(text.sql), types, &mut self.wire.out)?;
        Ok(())
    }

    /// Runs a statement alone, with the simple query protocol.
    fn query(&mut self, statement: &str) -> Result<(), WireError> {
        frontend::query(statement, &mut self.wire.out)?;
        self.wire.send()?;
        self.listen(|_, _| Ok(()))
    }

    /// Sends the gathered messages, and reads all replies.
    fn round(
        &mut self,
        hear: impl FnMut(u8, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        frontend::sync(&mut self.wire.out);
        self.wire.send()?;
        self.listen(hear)
    }

    /// Reads until ReadyForQuery; returns the first error.
    fn listen(
        &mut self,
        mut hear: impl FnMut(u8, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let mut end = Ok(());
        loop {
            let message = self.wire.next()?;
            match message.tag {
                tag::READY => {
                    self.in_transaction = message.body != b"I";
                    return end;
                }
                tag::ERROR if end.is_ok() => end = Err(refused(message.body)),
                _ if end.is_ok() => end = hear(message.tag, message.body),
                _ => {}
            }
        }
    }

    fn gather_order(&mut self, order: &str) -> Result<(), WireError> {
        let none = || std::iter::empty::<i16>();
        let bound = frontend::bind(
            "",
            order,
            none(),
            none(),
            no_value,
            none(),
            &mut self.wire.out,
        );
        bound.map_err(unbound)?;
        Ok(frontend::execute("", 0, &mut self.wire.out)?)
    }

    /// Prepends BEGIN to the first statement of a transaction, in the same round trip.
    fn gather_begin(&mut self) -> Result<(), WireError> {
        if self.in_transaction {
            return Ok(());
        }
        self.gather_order(BEGIN)
    }

    fn end(&mut self, order: &str) -> Result<(), WireError> {
        if !self.in_transaction {
            return Ok(());
        }
        self.gather_order(order)?;
        self.round(|tag, body| {
            // A failed transaction ends with ROLLBACK, even on COMMIT.
            if tag == tag::COMMAND_COMPLETE && !body.starts_with(order.as_bytes()) {
                return Err(WireError::Unknown(
                    "it rolled back what was to be committed",
                ));
            }
            Ok(())
        })
    }

    fn insert_rows(&mut self, table: &Table, rows: &[Row]) -> Result<(), WireError> {
        let types: Vec<Type> = table.types().collect();
        let name = format!("insert_{}_{}", table.name, rows.len());
        if self.prepared.insert(name.clone()) {
            let statement = insert(table, rows.len());
            let all = std::iter::repeat_n(&types, rows.len()).flatten();
            let ids = all.map(|&kind| object_id(kind));
            frontend::parse(&name, &statement, ids, &mut self.wire.out)?;
        }
        self.gather_begin()?;
        let all = std::iter::repeat_n(&types, rows.len()).flatten().copied();
        let values = rows.iter().flatten();
        let none = std::iter::empty();
        let out = &mut self.wire.out;
        frontend::bind("", &name, all.map(format), values, write, none, out).map_err(unbound)?;
        frontend::execute("", 0, out)?;
        self.round(|_, _| Ok(()))
    }

    fn run_calls(&mut self, calls: &[Call<'_>], replies: &mut Replies) -> Result<(), WireError> {
        for call in calls {
            let name = &self.names[call.statement as usize];
            if !self.prepared.contains(name) {
                self.prepared.insert(name.clone());
                self.prepare(call.statement)?;
            }
        }
        self.gather_begin()?;
        for call in calls {
            let text = call.statement.text();
            let formats = text.parameters.iter().map(|&kind| format(kind));
            let results = text.results.iter().map(|&kind| format(kind));
            let name = &self.names[call.statement as usize];
            let out = &mut self.wire.out;
            frontend::bind("", name, formats, call.parameters, write, results, out)
                .map_err(unbound)?;
            frontend::execute("", 0, out)?;
        }
        // The replies to BEGIN precede those to the first call.
        let mut place = if self.in_transaction { 0 } else { -1 };
        let mut results: &[Type] = &[];
        self.round(|tag, body| {
            let call = usize::try_from(place)
                .ok()
                .and_then(|place| calls.get(place));
            let Some(call) = call else {
                place += i32::from(tag == tag::COMMAND_COMPLETE);
                return Ok(());
            };
            match tag {
                tag::BIND_COMPLETE => {
                    results = call.statement.text().results;
                    replies.begin(call.statement);
                }
                tag::DATA_ROW => read_row(body, results, replies)?,
                tag::COMMAND_COMPLETE => {
                    replies.end(changed(body));
                    place += 1;
                }
                _ => {}
            }
            Ok(())
        })
    }

    fn failure(&self, statement: &str, number: usize, error: WireError) -> EngineError {
        let contention = match &error {
            WireError::Refused { code, .. } => met(code),
            WireError::Lost(_) | WireError::Unknown(_) => None,
        };
        let source = explained(error, self.witness.as_ref());
        EngineError::of_statement(contention, number, statement, source)
    }
}

/// The client's error, and what happened to the server if the connection was lost.
fn explained(error: WireError, witness: &dyn Witness) -> Cause {
    let lost = match &error {
        WireError::Lost(_) => true,
        // Class 57: the server shuts down or crashes; the connection closes a moment later.
        WireError::Refused { code, .. } => code.starts_with("57P"),
        WireError::Unknown(_) => false,
    };
    if !lost {
        return error.into();
    }
    let message = lab::engine::whole_message(&error);
    format!("{}: {message}", witness.why_lost()).into()
}

/// PostgreSQL's appendix A, classes 40 and 55.
fn met(code: &str) -> Option<Contention> {
    match code {
        "55P03" => Some(Contention::Busy),
        "40P01" => Some(Contention::Deadlock),
        "40001" => Some(Contention::Order),
        _ => None,
    }
}

impl Terminal for PostgresTerminal {
    fn define(&mut self, statement: &str) -> Result<(), EngineError> {
        let done = self.query(statement);
        done.map_err(|error| self.failure(statement, 1, error))
    }

    fn insert(&mut self, table: &Table, rows: &[Row]) -> Result<(), EngineError> {
        let done = self.insert_rows(table, rows);
        done.map_err(|error| self.failure(&format!("INSERT INTO {}", table.name), 1, error))
    }

    fn run(&mut self, calls: &[Call<'_>], replies: &mut Replies) -> Result<(), EngineError> {
        let done = self.run_calls(calls, replies);
        done.map_err(|error| {
            // The number of complete replies is the index of the statement that failed.
            let failed = replies.count().min(calls.len().saturating_sub(1));
            let statement = calls
                .get(failed)
                .map_or("", |call| call.statement.text().sql);
            self.failure(statement, failed + 1, error)
        })
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        let done = self.end(COMMIT);
        done.map_err(|error| self.failure(COMMIT, 1, error))
    }

    fn rollback(&mut self) -> Result<(), EngineError> {
        let done = self.end(ROLLBACK);
        done.map_err(|error| self.failure(ROLLBACK, 1, error))
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        frontend::terminate(&mut self.wire.out);
        let sent = self.wire.send();
        sent.map_err(|error| EngineError::Close(error.into()))
    }
}

/// PostgreSQL's type numbers (`pg_type.oid`).
fn object_id(kind: Type) -> u32 {
    match kind {
        Type::Integer => 23,
        Type::Count => 20,
        Type::Decimal => 1700,
        Type::Float => 701,
        Type::Text => 1043,
        Type::Timestamp => 1114,
    }
}

/// 1 is binary, 0 is text.
fn format(kind: Type) -> i16 {
    match kind {
        Type::Integer | Type::Count | Type::Float | Type::Timestamp => 1,
        Type::Decimal | Type::Text => 0,
    }
}

fn write(value: &Value<'_>, out: &mut BytesMut) -> Result<IsNull, Cause> {
    match value {
        Value::Null => return Ok(IsNull::Yes),
        Value::Integer(number) => out.put_i32(i32::try_from(*number)?),
        Value::Decimal(decimal) => out.put_slice(decimal.to_string().as_bytes()),
        Value::Float(number) => out.put_f64(*number),
        Value::Text(text) => out.put_slice(text.as_bytes()),
        Value::Timestamp(microseconds) => out.put_i64(microseconds - EPOCH_2000),
    }
    Ok(IsNull::No)
}

fn no_value(_: i16, _: &mut BytesMut) -> Result<IsNull, Cause> {
    Ok(IsNull::Yes)
}

fn unbound(error: frontend::BindError) -> WireError {
    match error {
        frontend::BindError::Conversion(_) => {
            WireError::Unknown("a number that fits no column was to be sent")
        }
        frontend::BindError::Serialization(error) => WireError::Lost(error),
    }
}

/// DataRow: the number of values, then length and bytes of each; length -1 is NULL.
fn read_row(body: &[u8], types: &[Type], replies: &mut Replies) -> Result<(), WireError> {
    const CUT: WireError = WireError::Unknown("a row that is cut off");
    let (_, mut rest) = body.split_first_chunk::<2>().ok_or(CUT)?;
    for kind in types {
        let (length, tail) = rest.split_first_chunk::<4>().ok_or(CUT)?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            replies.push_null();
            rest = tail;
            continue;
        };
        let (value, tail) = tail.split_at_checked(length).ok_or(CUT)?;
        rest = tail;
        match kind {
            Type::Integer => {
                let value = value.try_into().map_err(|_| CUT)?;
                replies.push_integer(i32::from_be_bytes(value).into());
            }
            Type::Count | Type::Timestamp => {
                let value = value.try_into().map_err(|_| CUT)?;
                replies.push_integer(i64::from_be_bytes(value));
            }
            Type::Float => {
                let value = value.try_into().map_err(|_| CUT)?;
                replies.push_float(f64::from_be_bytes(value));
            }
            Type::Decimal | Type::Text => replies.push_text(value),
        }
    }
    Ok(())
}

/// The number at the end of a command tag such as "UPDATE 1".
fn changed(body: &[u8]) -> u64 {
    let words = body.strip_suffix(&[0]).unwrap_or(body);
    let last = words
        .rsplit(|&byte| byte == b' ')
        .next()
        .unwrap_or_default();
    std::str::from_utf8(last)
        .ok()
        .and_then(|last| last.parse().ok())
        .unwrap_or(0)
}

/// Replaces each `?` by `$1`, `$2` and so on.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .zip(1..)
        .fold(first, |sql, (part, number)| format!("{sql}${number}{part}"))
}

/// An INSERT statement for that many rows.
fn insert(table: &Table, rows: usize) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.0).collect();
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let rows = vec![row; rows].join(", ");
    numbered(&format!(
        "INSERT INTO {} ({}) VALUES {rows}",
        table.name,
        columns.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_written_in_postgres_syntax() {
        assert_eq!(numbered("a = ? AND b = ?"), "a = $1 AND b = $2");
        assert_eq!(
            insert(&workloads::tpcc::schema::NEW_ORDER, 2),
            "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3), ($4, $5, $6)"
        );
        assert_eq!(changed(b"INSERT 0 12\0"), 12);
        assert_eq!(changed(b"BEGIN\0"), 0);
    }
}
