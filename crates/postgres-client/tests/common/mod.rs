//! A real server, and clients in this process.

use std::path::{Path, PathBuf};

use server_testkit::Postgres;
use strongroom_postgres::tokio_postgres::error::SqlState;
use strongroom_postgres::tokio_postgres::{Client, Config, Error};
use strongroom_postgres::{Connector, Key, Options};

pub const RULES: &str = r#"
[columns.customer]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(16)" }
place = { type = "text", mode = "equality" }
credit = { type = "bigint", mode = "order", bits = 32 }
born = { type = "date" }
"#;

pub const CREATE: &str = "CREATE TABLE customer (id integer PRIMARY KEY, name varchar(16) NOT \
                          NULL, place text, credit bigint, born date, plain integer)";

pub const INSERT: &str =
    "INSERT INTO customer (id, name, place, credit, plain) VALUES ($1, $2, $3, $4, $5)";

/// A server, and what connects to it.
pub struct Setup {
    pub connector: Connector,
    pub config: Config,
    pub server: Postgres,
    /// Of a socket of the file system.
    folder: tempfile::TempDir,
}

impl Setup {
    /// A server with an empty table that has rules; nothing where no server is installed.
    pub async fn start() -> Option<Self> {
        let setup = Self::start_empty()?;
        setup
            .connect()
            .await
            .batch_execute(CREATE)
            .await
            .expect(CREATE);
        Some(setup)
    }

    /// A server without a table.
    pub fn start_empty() -> Option<Self> {
        Self::start_with(&[])
    }

    /// A server without a table, with settings.
    pub fn start_with(settings: &[(&str, &str)]) -> Option<Self> {
        Self::start_as(settings, None)
    }

    /// A server without a table, with settings and who may log in how (`pg_hba.conf`).
    pub fn start_as(settings: &[(&str, &str)], access: Option<&str>) -> Option<Self> {
        if !server_testkit::is_installed() {
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        give_away(folder.path(), 0o755);
        let socket = folder.path().display().to_string();
        let own = [
            ("log_statement", "all"),
            ("unix_socket_directories", &socket),
        ];
        let settings = [&own, settings].concat();
        // It connects as one that waits, which a thread of the runtime may not.
        let server = std::thread::scope(|scope| {
            let server = scope.spawn(|| {
                Postgres::start_as(&server_testkit::Options {
                    settings: &settings,
                    access,
                    ..server_testkit::Options::default()
                })
            });
            server.join().expect("a server")
        });
        Some(Self {
            connector: connector(),
            config: server.url().parse().expect("the server's URL"),
            server,
            folder,
        })
    }

    /// The folder of the server's socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// A client whose columns are sealed here.
    pub async fn connect(&self) -> Client {
        connect(&self.connector, &self.config)
            .await
            .expect("connected")
    }

    /// What the server has, as `psql` without the key sees it.
    pub fn raw(&self, query: &str) -> String {
        let said = self.server.run("psql", &["-XAtqc", query]);
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    /// No `canary` stands in any of the server's files.
    pub fn assert_unseen(&self, canaries: &[&str]) {
        let said = self.server.run("psql", &["-XAtqc", "CHECKPOINT"]);
        assert!(said.status.success(), "the server writes its pages");
        look_into(self.server.folder(), canaries);
    }
}

/// Adds a row to the table; credit and the column without a rule are the number.
pub async fn add(client: &Client, id: i32, name: &str, place: &str) -> Result<u64, Error> {
    let credit = i64::from(id);
    client
        .execute(INSERT, &[&id, &name, &place, &credit, &id])
        .await
}

pub fn connector() -> Connector {
    let options = Options::with_key(RULES, Key::from_bytes([0x5a; 32])).expect("rules");
    Connector::new(options).expect("a connector")
}

pub async fn connect(connector: &Connector, config: &Config) -> Result<Client, Error> {
    let (client, connection) = connector.connect(config).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The server's code of a failure.
pub fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> SqlState {
    let error = result.expect_err("a failure");
    let code = error.code().cloned();
    code.unwrap_or_else(|| panic!("not of the server: {error:?}"))
}

/// The server runs as nobody where the tests run as the superuser, and wants its files for itself.
pub fn give_away(path: &Path, mode: u32) {
    use std::os::unix::fs::{PermissionsExt, chown};
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("own file");
    // Whoever is not the superuser runs the server himself.
    let _ = chown(path, Some(65534), Some(65534));
}

fn look_into(folder: &Path, canaries: &[&str]) {
    for entry in std::fs::read_dir(folder).expect("a folder of the server") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            look_into(&path, canaries);
            continue;
        }
        // The server may remove a file meanwhile.
        let bytes = std::fs::read(&path).unwrap_or_default();
        for canary in canaries {
            let is_there = server_testkit::contains(&bytes, canary.as_bytes());
            assert!(!is_there, "{canary} is in {}", path.display());
        }
    }
}
