//! MariaDB and MySQL: two products with one protocol.

mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use lab::answer::{Answers, Value};
use lab::engine::{Cause, Contention, Durability, Profile, ScriptCommand, ScriptOutput};
use lab::tpcc::Terminal;
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, OptsBuilder};
use nix::sys::signal::Signal;
use workloads::Dialect;
use workloads::tpcc::Isolation;

use terminal::MySqlTerminal;

use crate::server::{
    Address, Place, Product, Programs, Session, Witness, find, installed, version,
};
use crate::server_engine::ServerEngine;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brand {
    MariaDb,
    MySql,
}

/// One of the products, with settings besides its defaults.
pub(crate) struct MySql {
    brand: Brand,
    settings: &'static [&'static str],
}

/// The account and the database that the lab creates.
const USER: &str = "lab";

/// Settings for engines that do not wait for the disk. MySQL by default keeps a binary log and
/// waits for that, too.
const MARIADB_NOSYNC: &[&str] = &["--innodb-flush-log-at-trx-commit=2"];
const MYSQL_NOSYNC: &[&str] = &["--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0"];

/// One of the products with its defaults, for finding out where it is installed.
pub(crate) fn product(brand: Brand) -> MySql {
    let settings = &[];
    MySql { brand, settings }
}

pub(crate) fn family() -> [ServerEngine<MySql>; 4] {
    let engine = |name: &str, base: &str, brand, durability, description: &str, settings| {
        let family = match brand {
            Brand::MariaDb => "mariadb",
            Brand::MySql => "mysql",
        };
        let profile = Profile {
            name: name.to_owned(),
            description: description.to_owned(),
            family: family.to_owned(),
            dialect: Dialect::Mysql,
            base: Some(base.to_owned()),
            durability,
            cipher: None,
            control: false,
        };
        ServerEngine::new(profile, MySql { brand, settings })
    };
    let (full, delayed) = (Durability::Full, Durability::Delayed);
    let later = "that lets the disk follow (innodb_flush_log_at_trx_commit=2";
    [
        engine(
            "mariadb",
            "sqlite",
            Brand::MariaDb,
            full,
            "MariaDB, a new server for each pass",
            &[],
        ),
        engine(
            "mariadb-nosync",
            "sqlite-nosync",
            Brand::MariaDb,
            delayed,
            &format!("MariaDB {later})"),
            MARIADB_NOSYNC,
        ),
        engine(
            "mysql",
            "sqlite",
            Brand::MySql,
            full,
            "MySQL, a new server for each pass",
            &[],
        ),
        engine(
            "mysql-nosync",
            "sqlite-nosync",
            Brand::MySql,
            delayed,
            &format!("MySQL {later}, sync_binlog=0)"),
            MYSQL_NOSYNC,
        ),
    ]
}

impl MySql {
    fn installed(&self) -> Vec<PathBuf> {
        installed(&self.name().to_lowercase(), "bin")
    }

    /// The folder of the product that contains `bin`.
    fn base(server: &Path) -> Option<&Path> {
        server.parent()?.parent()
    }
}

impl Product for MySql {
    fn name(&self) -> &'static str {
        match self.brand {
            Brand::MariaDb => "MariaDB",
            Brand::MySql => "MySQL",
        }
    }

    fn locate(&self) -> Result<Programs, String> {
        let mut folders = self.installed();
        folders.extend(["/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin"].map(Into::into));
        let name = self.name().to_lowercase();
        let remedy = || format!("`strongroom lab install {name}` says how to get it");
        match self.brand {
            Brand::MariaDb => {
                let server = find(&["mariadbd"], &folders).ok_or_else(remedy)?;
                let initialiser = find(&["mariadb-install-db"], &folders).ok_or_else(remedy)?;
                let shell = find(&["mariadb"], &folders);
                Ok(Programs {
                    server,
                    initialiser,
                    shell,
                })
            }
            Brand::MySql => {
                let server = find(&["mysqld"], &folders).ok_or_else(remedy)?;
                // MariaDB installs itself under this name too.
                if version(&server).contains("MariaDB") {
                    let there =
                        format!("{} is MariaDB, which is another product", server.display());
                    return Err(format!("{there}; {}", remedy()));
                }
                Ok(Programs {
                    initialiser: server.clone(),
                    shell: find(&["mysql", "mariadb"], &folders),
                    server,
                })
            }
        }
    }

    fn initialise(&self, programs: &Programs, place: &Place) -> Result<(), Cause> {
        let mut command = place.command(&programs.initialiser);
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", place.data().display()));
        match self.brand {
            // Its superuser can log in only through the socket, from the account that runs the
            // server.
            Brand::MariaDb => {
                command.args(["--skip-test-db", "--auth-root-authentication-method=socket"]);
            }
            // Its superuser has an unknown password.
            Brand::MySql => {
                command
                    .args(["--initialize"])
                    .args(folders_of_mysql(&programs.server));
            }
        }
        place.run(command)?;
        let password = place.password()?;
        let account = format!(
            "CREATE DATABASE IF NOT EXISTS {USER};\n\
             CREATE USER IF NOT EXISTS '{USER}'@'localhost' IDENTIFIED BY '{password}';\n\
             GRANT ALL ON *.* TO '{USER}'@'localhost';\n"
        );
        place.write("account.sql", &account)?;
        Ok(())
    }

    fn command(&self, programs: &Programs, place: &Place, port: u16) -> Command {
        let mut command = place.command(&programs.server);
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", place.data().display()))
            .arg(format!("--port={port}"))
            .arg("--bind-address=127.0.0.1")
            // A relative path is resolved in the data folder, and is short enough for the system.
            .arg("--socket=server.sock")
            .arg(format!("--pid-file={}", place.pid_file().display()))
            .arg("--character-set-server=utf8mb4");
        if self.brand == Brand::MySql {
            // Otherwise it listens on a second port.
            command
                .arg("--mysqlx=OFF")
                .args(folders_of_mysql(&programs.server));
        }
        let account = place.path("account.sql");
        if account.exists() {
            command.arg(format!("--init-file={}", account.display()));
        }
        command.args(self.settings);
        command
    }

    fn is_ready(&self, place: &Place) -> bool {
        place.pid_file().exists()
    }

    fn end_signal(&self) -> Signal {
        Signal::SIGTERM
    }

    fn connect(&self, address: &Address) -> Result<Box<dyn Session>, Cause> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(address.port)
            .user(Some(USER))
            .pass(Some(&address.password))
            .db_name(Some(USER))
            .prefer_socket(false);
        Ok(Box::new(MySqlSession::connect(options.into())?))
    }

    fn terminal(
        &self,
        address: &Address,
        witness: Arc<dyn Witness>,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, Cause> {
        MySqlTerminal::connect(address, witness, isolation)
    }

    fn has_terminals(&self) -> bool {
        true
    }

    fn gathering(&self, table: &str) -> String {
        format!("ANALYZE TABLE {table}")
    }

    fn settling(&self) -> &'static [&'static str] {
        // Rows that come in the order of their key fill pages that those in another one leave half
        // empty.
        &[
            "OPTIMIZE TABLE warehouse, item, stock, district, customer, history, oorder, \
             new_order, order_line",
        ]
    }

    fn sizing(&self) -> &'static str {
        // Of the files: other figures are kept for a day.
        match self.brand {
            Brand::MariaDb => {
                "SELECT CAST(SUM(file_size) AS SIGNED) FROM \
                 information_schema.innodb_sys_tablespaces WHERE name LIKE 'lab/%'"
            }
            Brand::MySql => {
                "SELECT CAST(SUM(file_size) AS SIGNED) FROM \
                 information_schema.innodb_tablespaces WHERE name LIKE 'lab/%'"
            }
        }
    }

    fn shell(&self, programs: &Programs, address: &Address) -> Option<ScriptCommand> {
        let port = format!("--port={}", address.port);
        let arguments = [
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            // Texts of workloads are UTF-8, whatever the locale.
            "--default-character-set=utf8mb4",
            "--protocol=tcp",
            "--host=127.0.0.1",
            &port,
            "--user",
            USER,
            USER,
        ];
        Some(ScriptCommand {
            program: programs.shell.clone()?,
            arguments: arguments.map(Into::into).to_vec(),
            environment: vec![("MYSQL_PWD".into(), (&address.password).into())],
            output: ScriptOutput::Tsv,
        })
    }
}

/// A MySQL that was unpacked to any folder must be told where it is.
fn folders_of_mysql(server: &Path) -> Vec<String> {
    let server = server.canonicalize().unwrap_or_else(|_| server.to_owned());
    let share = |base: &Path| base.join("share").join("errmsg-utf8.txt").exists();
    match MySql::base(&server).filter(|base| share(base)) {
        Some(base) => vec![
            format!("--basedir={}", base.display()),
            format!("--lc-messages-dir={}", base.join("share").display()),
        ],
        None => vec![],
    }
}

/// The settings to report.
const SETTINGS: [&str; 10] = [
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "character_set_server",
    "collation_server",
    "sql_mode",
    "performance_schema",
];

pub(crate) struct MySqlSession {
    connection: Conn,
    contention: Option<Contention>,
    lost: bool,
}

impl MySqlSession {
    pub(crate) fn connect(options: mysql::Opts) -> Result<Self, Cause> {
        Ok(Self {
            connection: Conn::new(options).map_err(told)?,
            contention: None,
            lost: false,
        })
    }

    fn rows(&mut self, statement: &str, answers: &mut Answers) -> mysql::Result<()> {
        let mut result = self.connection.query_iter(statement)?;
        while let Some(set) = result.iter() {
            for row in set {
                let row = row?;
                for (index, column) in row.columns_ref().iter().enumerate() {
                    answers.push(match row.as_ref(index) {
                        Some(value) => decoded(column, value),
                        None => Value::Null,
                    });
                }
                answers.end_row();
            }
        }
        Ok(())
    }

    fn texts(&mut self, statement: &str) -> Result<Vec<(String, String)>, Cause> {
        self.connection.query(statement).map_err(told)
    }
}

/// The server's message, without a password.
fn told(error: mysql::Error) -> Cause {
    match error {
        mysql::Error::MySqlError(said) => format!("{} (error {})", said.message, said.code).into(),
        error => lab::engine::whole_message(&error).into(),
    }
}

/// Values arrive as texts, with the type of their column.
fn decoded(column: &Column, value: &mysql::Value) -> Value {
    const BINARY: u16 = 63;
    let mysql::Value::Bytes(bytes) = value else {
        return Value::Null;
    };
    let text = || String::from_utf8_lossy(bytes).into_owned();
    let real = || {
        text()
            .parse()
            .map_or_else(|_| Value::Text(text()), Value::Real)
    };
    let number = || text().parse().map_or_else(|_| real(), Value::Integer);
    match column.column_type() {
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_SHORT
        | ColumnType::MYSQL_TYPE_INT24
        | ColumnType::MYSQL_TYPE_LONG
        | ColumnType::MYSQL_TYPE_LONGLONG
        | ColumnType::MYSQL_TYPE_YEAR => number(),
        ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => {
            if column.decimals() == 0 {
                number()
            } else {
                real()
            }
        }
        ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => real(),
        ColumnType::MYSQL_TYPE_BIT => {
            let fold = |number: i64, &byte: &u8| number << 8 | i64::from(byte);
            Value::Integer(bytes.iter().fold(0, fold))
        }
        ColumnType::MYSQL_TYPE_TINY_BLOB
        | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
        | ColumnType::MYSQL_TYPE_LONG_BLOB
        | ColumnType::MYSQL_TYPE_BLOB
        | ColumnType::MYSQL_TYPE_VARCHAR
        | ColumnType::MYSQL_TYPE_VAR_STRING
        | ColumnType::MYSQL_TYPE_STRING
        | ColumnType::MYSQL_TYPE_GEOMETRY
            if column.character_set() == BINARY =>
        {
            Value::Blob(bytes.clone())
        }
        _ => Value::Text(text()),
    }
}

/// Classifies by the server's error number.
fn met(error: &mysql::Error) -> Option<Contention> {
    match error {
        mysql::Error::MySqlError(said) => match said.code {
            1205 => Some(Contention::Busy),
            1213 => Some(Contention::Deadlock),
            // MariaDB's "record has changed since last read".
            1020 => Some(Contention::Order),
            _ => None,
        },
        _ => None,
    }
}

impl Session for MySqlSession {
    fn run(&mut self, statement: &str, answers: &mut Answers) -> Result<(), Cause> {
        let done = self.rows(statement, answers);
        answers.end_statement();
        done.map_err(|error| {
            self.lost = !matches!(error, mysql::Error::MySqlError(_));
            self.contention = met(&error);
            told(error)
        })
    }

    fn contention(&self) -> Option<Contention> {
        self.contention
    }

    fn is_lost(&self) -> bool {
        self.lost
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, Cause> {
        let version = self.texts("SELECT version(), @@version_comment")?;
        let (version, comment) = version.into_iter().next().unwrap_or_default();
        let is_mariadb = format!("{version} {comment}").contains("MariaDB");
        let product = if is_mariadb { "MariaDB" } else { "MySQL" };
        let mut settings = vec![
            ("product".to_owned(), product.to_owned()),
            ("version".to_owned(), version),
            ("version_comment".to_owned(), comment),
        ];
        let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
        settings.extend(self.texts(&format!("SHOW VARIABLES WHERE variable_name IN ({names})"))?);
        Ok(settings)
    }

    fn close(self: Box<Self>) -> Result<(), Cause> {
        // The destructor sends the quit command, which the server does not answer.
        drop(self.connection);
        Ok(())
    }
}
