//! Clients of both protocols, which send statements as texts.

use std::time::Duration;

use lab::engine::Contention;
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use postgres::error::SqlState;
use postgres::{NoTls, SimpleQueryMessage};
use workloads::Dialect;
use workloads::tpcc::Isolation;
use workloads::tpcc::schema::{INDEX, TABLES};

/// Why a client did not get an answer.
pub enum Failure {
    /// The server has rolled back, and the transaction can be tried again.
    Contention(Contention, String),
    /// The session is over, or its server no longer serves.
    Lost(String),
    /// Anything else.
    Refused(String),
}

/// What a statement answered: rows of texts, and how many rows it changed.
#[derive(Default)]
pub struct Answer {
    pub rows: Vec<Vec<Option<String>>>,
    pub changed: u64,
}

/// A client of one of the protocols.
pub trait Client: Send + Sized + 'static {
    const DIALECT: Dialect;

    fn connect(port: u16, isolation: Isolation) -> Result<Self, String>;

    fn ask(&mut self, sql: &str) -> Result<Answer, Failure>;

    /// The statements that create the tables.
    fn tables() -> Vec<String>;
}

impl Client for postgres::Client {
    const DIALECT: Dialect = Dialect::Postgres;

    fn connect(port: u16, isolation: Isolation) -> Result<Self, String> {
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?connect_timeout=5");
        let client = postgres::Client::connect(&url, NoTls);
        let mut client = client.map_err(|error| in_words(&error))?;
        let level = isolation.sql();
        let set = format!("SET default_transaction_isolation = '{level}'");
        let done = client.batch_execute(&set);
        done.map_err(|error| in_words(&error))?;
        Ok(client)
    }

    fn ask(&mut self, sql: &str) -> Result<Answer, Failure> {
        let messages = self.simple_query(sql).map_err(|error| {
            let words = in_words(&error);
            match error.code() {
                Some(&SqlState::T_R_SERIALIZATION_FAILURE) => {
                    Failure::Contention(Contention::Order, words)
                }
                Some(&SqlState::T_R_DEADLOCK_DETECTED) => {
                    Failure::Contention(Contention::Deadlock, words)
                }
                // A connection that has failed, and a server that stops.
                Some(code) if !["08", "57"].contains(&&code.code()[..2]) => Failure::Refused(words),
                _ => Failure::Lost(words),
            }
        })?;
        let mut answer = Answer::default();
        for message in messages {
            match message {
                SimpleQueryMessage::Row(row) => {
                    let cells = (0..row.len()).map(|index| row.get(index).map(str::to_owned));
                    answer.rows.push(cells.collect());
                }
                SimpleQueryMessage::CommandComplete(rows) => answer.changed = rows,
                _ => {}
            }
        }
        Ok(answer)
    }

    fn tables() -> Vec<String> {
        let tables = TABLES.iter().map(|table| table.ddl());
        tables.chain([INDEX.to_owned()]).collect()
    }
}

fn in_words(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{}: {}", said.code().code(), said.message()),
        None => error.to_string(),
    }
}

/// How a client logs in to a server of MySQL's protocol.
pub fn options(port: u16, database: Option<&str>) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some("worker"))
        .db_name(database)
        .prefer_socket(false)
        .tcp_connect_timeout(Some(Duration::from_secs(5)))
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
}

impl Client for Conn {
    const DIALECT: Dialect = Dialect::Mysql;

    fn connect(port: u16, isolation: Isolation) -> Result<Self, String> {
        let client = Conn::new(options(port, Some("tpcc")));
        let mut client = client.map_err(|error| error.to_string())?;
        let level = isolation.sql();
        let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
        client.query_drop(set).map_err(|error| error.to_string())?;
        Ok(client)
    }

    fn ask(&mut self, sql: &str) -> Result<Answer, Failure> {
        let failure = |error: mysql::Error| {
            let words = error.to_string();
            match error {
                mysql::Error::MySqlError(said) => match said.code {
                    1205 => Failure::Contention(Contention::Busy, words),
                    1213 => Failure::Contention(Contention::Deadlock, words),
                    // A node that has lost the others, and a proxy that has lost the node.
                    1047 | 1105 => Failure::Lost(words),
                    _ => Failure::Refused(words),
                },
                _ => Failure::Lost(words),
            }
        };
        let mut result = self.query_iter(sql).map_err(failure)?;
        let mut answer = Answer {
            changed: result.affected_rows(),
            rows: Vec::new(),
        };
        for row in result.by_ref() {
            let values = row.map_err(failure)?.unwrap().into_iter();
            let cells = values.map(|value| match value {
                mysql::Value::NULL => None,
                value => Some(mysql::from_value(value)),
            });
            answer.rows.push(cells.collect());
        }
        Ok(answer)
    }

    fn tables() -> Vec<String> {
        TABLES.iter().map(|table| table.ddl_in_mysql()).collect()
    }
}
