//! A terminal of workload `tpcc` on MariaDB or MySQL: every statement is prepared, and they are
//! sent one after the other, since the protocol is question and answer.

use std::collections::HashMap;
use std::sync::Arc;

use column_value::civil::{self, DAY_US, Date};
use lab::engine::{Cause, EngineError};
use lab::tpcc::{Call, Replies, Terminal};
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params, Statement as Prepared, Value as Sent};
use workloads::tpcc::Isolation;
use workloads::tpcc::population::Row;
use workloads::tpcc::schema::{TABLES, Table};
use workloads::tpcc::value::{Type, Value};

use super::{USER, met, told};
use crate::server::{Address, Witness};

/// 1970-01-01, in days since 2000-01-01.
const DAY_1970: i64 = -10_957;

/// A connection for a terminal.
pub(crate) struct MySqlTerminal {
    connection: Conn,
    witness: Arc<dyn Witness>,
    in_transaction: bool,
    /// Statements prepared so far, by their texts.
    prepared: HashMap<String, Prepared>,
}

impl MySqlTerminal {
    /// Logs in at that address.
    pub(crate) fn connect(
        address: &Address,
        witness: Arc<dyn Witness>,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, Cause> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(address.port)
            .user(Some(USER))
            .pass(Some(&address.password))
            .db_name(Some(USER))
            .prefer_socket(false)
            .stmt_cache_size(0)
            // A row that has the new values already counts, as in other products.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
        let mut connection = Conn::new(options).map_err(told)?;
        let level = isolation.sql();
        let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
        connection.query_drop(set).map_err(told)?;
        Ok(Box::new(Self {
            connection,
            witness,
            in_transaction: false,
            prepared: HashMap::new(),
        }))
    }

    fn prepare(&mut self, text: &str) -> mysql::Result<Prepared> {
        if let Some(known) = self.prepared.get(text) {
            return Ok(known.clone());
        }
        let prepared = self.connection.prep(text)?;
        self.prepared.insert(text.to_owned(), prepared.clone());
        Ok(prepared)
    }

    fn begin(&mut self) -> mysql::Result<()> {
        if !self.in_transaction {
            self.connection.query_drop("BEGIN")?;
            self.in_transaction = true;
        }
        Ok(())
    }

    fn insert_rows(&mut self, table: &Table, rows: &[Row]) -> mysql::Result<()> {
        let statement = self.prepare(&insert(table, rows.len()))?;
        self.begin()?;
        let values = rows.iter().flatten().map(sent).collect();
        self.connection
            .exec_drop(&statement, Params::Positional(values))
    }

    fn run_call(&mut self, call: &Call<'_>, replies: &mut Replies) -> mysql::Result<()> {
        let text = call.statement.text();
        let statement = self.prepare(text.sql)?;
        self.begin()?;
        let values: Vec<Sent> = call.parameters.iter().map(sent).collect();
        let values = match values.is_empty() {
            true => Params::Empty,
            false => Params::Positional(values),
        };
        replies.begin(call.statement);
        let mut result = self.connection.exec_iter(&statement, values)?;
        let changed = result.affected_rows();
        for row in result.by_ref() {
            let row = row?.unwrap();
            for (value, kind) in row.into_iter().zip(text.results) {
                push(&value, *kind, replies);
            }
        }
        replies.end(changed);
        Ok(())
    }

    fn end(&mut self, order: &str) -> Result<(), EngineError> {
        if !std::mem::take(&mut self.in_transaction) {
            return Ok(());
        }
        let done = self.connection.query_drop(order);
        done.map_err(|error| self.failure(order, 1, error))
    }

    fn failure(&self, statement: &str, number: usize, error: mysql::Error) -> EngineError {
        let contention = met(&error);
        let is_lost = !matches!(error, mysql::Error::MySqlError(_));
        let cause = told(error);
        let source = match is_lost {
            true => format!("{}: {cause}", self.witness.why_lost()).into(),
            false => cause,
        };
        EngineError::of_statement(contention, number, statement, source)
    }
}

impl Terminal for MySqlTerminal {
    fn define(&mut self, statement: &str) -> Result<(), EngineError> {
        let done = self.connection.query_drop(statement);
        done.map_err(|error| self.failure(statement, 1, error))
    }

    fn define_tables(&mut self) -> Result<(), EngineError> {
        TABLES
            .iter()
            .try_for_each(|table| self.define(&table.ddl_in_mysql()))
    }

    fn insert(&mut self, table: &Table, rows: &[Row]) -> Result<(), EngineError> {
        let done = self.insert_rows(table, rows);
        done.map_err(|error| self.failure(&format!("INSERT INTO {}", table.name), 1, error))
    }

    fn run(&mut self, calls: &[Call<'_>], replies: &mut Replies) -> Result<(), EngineError> {
        for (call, number) in calls.iter().zip(1..) {
            let done = self.run_call(call, replies);
            done.map_err(|error| self.failure(call.statement.text().sql, number, error))?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.end("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), EngineError> {
        self.end("ROLLBACK")
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        // The destructor sends the quit command, which the server does not answer.
        drop(self.connection);
        Ok(())
    }
}

/// A parameter. Decimals are texts, as usual drivers send them.
fn sent(value: &Value<'_>) -> Sent {
    match value {
        Value::Null => Sent::NULL,
        Value::Integer(number) => Sent::Int(i64::from(*number)),
        Value::Decimal(decimal) => Sent::Bytes(decimal.to_string().into_bytes()),
        Value::Float(number) => Sent::Double(*number),
        Value::Text(text) => Sent::Bytes(text.as_bytes().to_vec()),
        Value::Timestamp(microseconds) => moment(*microseconds),
    }
}

/// A time, from microseconds since 1970.
fn moment(microseconds: i64) -> Sent {
    let Date { year, month, day } = civil::date(microseconds.div_euclid(DAY_US) + DAY_1970);
    let of_day = microseconds.rem_euclid(DAY_US);
    let seconds = of_day / 1_000_000;
    Sent::Date(
        year as u16,
        month as u8,
        day as u8,
        (seconds / 3600) as u8,
        (seconds / 60 % 60) as u8,
        (seconds % 60) as u8,
        (of_day % 1_000_000) as u32,
    )
}

/// Keeps a value of a row. Of a time it only matters whether there is one.
fn push(value: &Sent, kind: Type, replies: &mut Replies) {
    match (value, kind) {
        (Sent::Bytes(text), _) => replies.push_text(text),
        (Sent::Int(number), _) => replies.push_integer(*number),
        (Sent::UInt(number), _) => replies.push_integer(i64::try_from(*number).unwrap_or(i64::MAX)),
        (Sent::Float(number), _) => replies.push_float(f64::from(*number)),
        (Sent::Double(number), _) => replies.push_float(*number),
        (Sent::Date(..) | Sent::Time(..), _) => replies.push_integer(0),
        (Sent::NULL, _) => replies.push_null(),
    }
}

/// An INSERT statement for that many rows.
fn insert(table: &Table, rows: usize) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.0).collect();
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let rows = vec![row; rows].join(", ");
    format!(
        "INSERT INTO {} ({}) VALUES {rows}",
        table.name,
        columns.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_of_the_calendar() {
        assert_eq!(moment(0), Sent::Date(1970, 1, 1, 0, 0, 0, 0));
        let leap = moment(951_782_400_000_000 + 3_661_000_007);
        assert_eq!(leap, Sent::Date(2000, 2, 29, 1, 1, 1, 7));
    }
}
