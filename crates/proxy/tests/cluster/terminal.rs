//! Terminals of TPC-C that outlive the server of their session. Each transaction that changes
//! something also writes a row into a ledger, which tells for certain whether it was committed.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use lab::engine::{Connection, Contention, Durability, Engine, EngineError, Profile, Server};
use lab::tpcc::{Call, Replies, Terminal, Terminals};
use workloads::tpcc::Isolation;
use workloads::tpcc::population::Row;
use workloads::tpcc::schema::Table;
use workloads::tpcc::statements::Statement;
use workloads::tpcc::value::{Type, Value};

use super::client::{Answer, Client, Failure};

/// How long no server need be there.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much of a statement an error shows.
const STATEMENT_SHOWN: usize = 200;

/// The ledger: what each transaction has done.
pub const LEDGER: &str = "CREATE TABLE ledger (number int PRIMARY KEY, orders int NOT NULL, \
                      payments int NOT NULL, deliveries int NOT NULL)";

/// What the terminals of a run have in common.
#[derive(Default)]
pub struct Run {
    next: AtomicU64,
    acknowledged: Mutex<BTreeSet<u64>>,
    outages: Mutex<Vec<Duration>>,
    heard: Mutex<BTreeSet<String>>,
}

impl Run {
    /// Numbers in the ledger of the transactions that were acknowledged.
    pub fn acknowledged(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.acknowledged.lock().expect("no panic")
    }

    /// From the loss of a session to the next acknowledged commit.
    pub fn outages(&self) -> MutexGuard<'_, Vec<Duration>> {
        self.outages.lock().expect("no panic")
    }

    /// What clients were told when they lost their server or found none.
    pub fn heard(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.heard.lock().expect("no panic")
    }

    fn hear(&self, words: &str) {
        self.heard().insert(words.to_owned());
    }
}

/// The servers behind a proxy, as an engine of the lab.
pub struct Cluster<C> {
    profile: Profile,
    port: u16,
    pub run: Arc<Run>,
    client: PhantomData<fn() -> C>,
}

impl<C: Client> Cluster<C> {
    pub fn behind(port: u16) -> Self {
        let name = "cluster".to_owned();
        Self {
            profile: Profile {
                name: name.clone(),
                description: name.clone(),
                family: name,
                dialect: C::DIALECT,
                base: None,
                durability: Durability::Full,
                cipher: None,
                control: false,
            },
            port,
            run: Arc::default(),
            client: PhantomData,
        }
    }
}

impl<C: Client> Engine for Cluster<C> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn create(&self, _: &Path) -> Result<(), EngineError> {
        Ok(())
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Connection>, EngineError> {
        Err(EngineError::Open("it has terminals only".into()))
    }

    fn server(&self) -> Server {
        Server::Elsewhere
    }

    fn terminals(&self) -> Option<&dyn Terminals> {
        Some(self)
    }
}

impl<C: Client> Terminals for Cluster<C> {
    fn open_terminal(
        &self,
        _: &Path,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, EngineError> {
        Ok(Box::new(Reconnecting::<C> {
            port: self.port,
            run: Arc::clone(&self.run),
            isolation,
            client: None,
            is_open: false,
            done: Done::default(),
            lost: None,
        }))
    }

    fn gather_statistics(&self, _: &str) -> Result<(), EngineError> {
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn database_bytes(&self) -> Result<u64, EngineError> {
        Ok(0)
    }
}

/// What a transaction has done so far.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Done {
    orders: u32,
    payments: u32,
    deliveries: u32,
}

struct Reconnecting<C> {
    port: u16,
    run: Arc<Run>,
    isolation: Isolation,
    client: Option<C>,
    /// Whether a transaction has begun.
    is_open: bool,
    done: Done,
    /// Since when it has had no commit for want of a server.
    lost: Option<Instant>,
}

impl<C: Client> Reconnecting<C> {
    fn connected(&mut self) -> Result<&mut C, EngineError> {
        let since = Instant::now();
        loop {
            if self.client.is_some() {
                break;
            }
            match C::connect(self.port, self.isolation) {
                Ok(client) => self.client = Some(client),
                Err(words) if since.elapsed() > PATIENCE => {
                    return Err(EngineError::Open(words.into()));
                }
                Err(words) => {
                    self.run.hear(&words);
                    thread::sleep(Duration::from_millis(50));
                }
            }
        }
        Ok(self.client.as_mut().expect("the loop has ended"))
    }

    fn say(&mut self, sql: &str, number: usize) -> Result<Answer, EngineError> {
        let failure = match self.connected()?.ask(sql) {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        let (contention, words) = match failure {
            Failure::Contention(contention, words) => (Some(contention), words),
            // Whoever tries it again begins on another server.
            Failure::Lost(words) => {
                self.client = None;
                self.is_open = false;
                self.lost.get_or_insert_with(Instant::now);
                self.run.hear(&words);
                (Some(Contention::Busy), words)
            }
            Failure::Refused(words) => (None, words),
        };
        let begin: String = sql.chars().take(STATEMENT_SHOWN).collect();
        Err(EngineError::of_statement(
            contention,
            number,
            &begin,
            words.into(),
        ))
    }

    fn ask(&mut self, sql: &str, number: usize) -> Result<Answer, EngineError> {
        if !self.is_open {
            self.done = Done::default();
            self.say("BEGIN", number)?;
            self.is_open = true;
        }
        self.say(sql, number)
    }

    fn write_ledger(&mut self) -> Result<Option<u64>, EngineError> {
        let done = self.done;
        if done == Done::default() {
            return Ok(None);
        }
        let number = self.run.next.fetch_add(1, Ordering::SeqCst);
        let Done {
            orders,
            payments,
            deliveries,
        } = done;
        let row = format!("({number}, {orders}, {payments}, {deliveries})");
        self.say(&format!("INSERT INTO ledger VALUES {row}"), 1)?;
        Ok(Some(number))
    }
}

impl<C: Client> Terminal for Reconnecting<C> {
    fn define(&mut self, statement: &str) -> Result<(), EngineError> {
        self.say(statement, 1).map(drop)
    }

    fn define_tables(&mut self) -> Result<(), EngineError> {
        C::tables()
            .iter()
            .try_for_each(|statement| self.define(statement))?;
        self.define(LEDGER)
    }

    fn insert(&mut self, table: &Table, rows: &[Row]) -> Result<(), EngineError> {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.0).collect();
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                let values: Vec<String> = row.iter().map(literal).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        let (columns, rows) = (columns.join(", "), rows.join(", "));
        let text = format!("INSERT INTO {} ({columns}) VALUES {rows}", table.name);
        self.ask(&text, 1).map(drop)
    }

    fn run(&mut self, calls: &[Call<'_>], replies: &mut Replies) -> Result<(), EngineError> {
        for (call, number) in calls.iter().zip(1..) {
            let answer = self.ask(&written(call), number)?;
            match call.statement {
                Statement::NewOrderInsert => self.done.orders += 1,
                Statement::PaymentHistory => self.done.payments += 1,
                Statement::DeliveryDone => self.done.deliveries += 1,
                _ => {}
            }
            replies.begin(call.statement);
            for row in &answer.rows {
                for (value, kind) in row.iter().zip(call.statement.text().results) {
                    push(value.as_deref(), *kind, replies);
                }
            }
            replies.end(answer.changed);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        if !self.is_open {
            return Ok(());
        }
        let number = self.write_ledger()?;
        let answer = self.say("COMMIT", 1);
        self.is_open = false;
        answer?;
        if let Some(number) = number {
            self.run.acknowledged().insert(number);
        }
        if let Some(since) = self.lost.take() {
            self.run.outages().push(since.elapsed());
        }
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), EngineError> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        match self.say("ROLLBACK", 1) {
            // With its session the transaction is gone too.
            Err(EngineError::Contention { .. }) => Ok(()),
            answer => answer.map(drop),
        }
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

/// The statement with its values.
fn written(call: &Call<'_>) -> String {
    let mut values = call.parameters.iter();
    let mut text = String::new();
    for part in call.statement.text().sql.split('?') {
        if !text.is_empty() {
            text += &literal(values.next().expect("a value for each parameter"));
        }
        text += part;
    }
    text
}

fn literal(value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => {
            assert!(!text.contains(['\'', '\\']), "{text}");
            format!("'{text}'")
        }
        // Only that there is a time matters.
        Value::Timestamp(_) => "'2026-02-03 04:05:06'".to_owned(),
    }
}

fn push(value: Option<&str>, kind: Type, replies: &mut Replies) {
    match (value, kind) {
        (None, _) => replies.push_null(),
        (Some(_), Type::Timestamp) => replies.push_integer(0),
        (Some(text), Type::Integer | Type::Count) => {
            replies.push_integer(text.parse().expect("a whole number"));
        }
        (Some(text), Type::Float) => replies.push_float(text.parse().expect("a number")),
        (Some(text), Type::Decimal | Type::Text) => replies.push_text(text.as_bytes()),
    }
}
