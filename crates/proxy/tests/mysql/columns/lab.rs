//! A server with a log of all that it is sent, and a proxy with rules before it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use mysql::prelude::Queryable as _;
use mysql::{Conn, OptsBuilder, Value};
use server_testkit::mysql::{Brand, MySql};

use crate::mysql::setup::{PASSWORD, Proxy, options_at};

pub const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.person\"]
name = { type = \"varchar(20)\" }
number = { type = \"bigint\", mode = \"equality\", equality = \"compact\", domain = \"n\" }
small = { type = \"smallint\", mode = \"equality\", equality = \"compact\" }
whole = { type = \"integer\", mode = \"equality\" }
born = { type = \"date\", mode = \"equality\" }
paid = { type = \"decimal(10,2)\" }
seen = { type = \"timestamp(3)\" }
note = { type = \"text\" }
face = { type = \"bytea\" }
[columns.\"shop.card\"]
number = { type = \"bigint\", mode = \"equality\", equality = \"compact\", domain = \"n\" }
";

pub const TABLES: [&str; 3] = [
    "CREATE TABLE person (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, number \
     BIGINT UNIQUE, small SMALLINT, whole INT, born DATE DEFAULT NULL, paid DECIMAL(10,2), seen \
     DATETIME(3), note TEXT, face BLOB, city VARCHAR(10) DEFAULT 'x', KEY by_birth (born, city))",
    "CREATE TABLE card (number BIGINT NOT NULL, kind CHAR(3), person INT, PRIMARY KEY (number))",
    "CREATE TABLE plain (id INT PRIMARY KEY, note VARCHAR(20))",
];

pub struct Lab {
    pub brand: Brand,
    pub server: MySql,
    pub proxy: Proxy,
    /// Through the proxy, in the database with rules.
    pub ours: Conn,
    /// Past it, in the database with plain tables of the same names.
    pub theirs: Conn,
}

impl Lab {
    /// None: the server is not installed.
    pub fn start(brand: Brand) -> Option<Self> {
        Self::with(brand, RULES, &TABLES)
    }

    /// With rules and tables of a test's own.
    pub fn with(brand: Brand, rules: &str, tables: &[&str]) -> Option<Self> {
        if !brand.is_installed() {
            println!("left out: {brand:?} is not installed");
            return None;
        }
        let method = match brand {
            Brand::MariaDb => {
                format!("IDENTIFIED VIA mysql_native_password USING PASSWORD('{PASSWORD}')")
            }
            Brand::MySql => format!("IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'"),
        };
        let sql = format!(
            "CREATE DATABASE shop;\nCREATE DATABASE twin;\nCREATE USER nat@localhost {method};\n\
             GRANT ALL ON *.* TO nat@localhost;\n"
        );
        let arguments = [
            "--general-log=1",
            "--general-log-file=general.log",
            "--local-infile=1",
            // Plans, and with them flags of columns, stay as they are: on a busy machine new
            // statistics come in the midst of a test.
            "--innodb-stats-auto-recalc=0",
        ];
        let server = MySql::start(brand, &arguments, &[], &sql);
        let proxy = Proxy::start(&server, rules);
        let mut lab = Self {
            brand,
            ours: connect(proxy.port(), "shop"),
            theirs: connect(server.port(), "twin"),
            proxy,
            server,
        };
        for table in tables {
            lab.theirs.query_drop(table).expect(table);
            lab.ours.query_drop(table).expect(table);
        }
        Some(lab)
    }

    /// The file with each statement that the server got.
    pub fn log(&self) -> PathBuf {
        self.server.folder().join("data/general.log")
    }

    /// Past the proxy, in the database with rules.
    pub fn past(&self) -> Conn {
        connect(self.server.port(), "shop")
    }
}

/// That the proxy refuses a statement itself.
pub fn assert_refused(lab: &mut Lab, text: &str) {
    let error = lab.ours.query_drop(text).expect_err(text).to_string();
    assert!(error.contains("strongroom: "), "{text}: {error}");
}

/// The same of one with a parameter.
pub fn assert_bound_refused(lab: &mut Lab, text: &str, value: Value) {
    let error = lab.ours.exec_drop(text, (value.clone(),));
    let error = error.expect_err(text).to_string();
    assert!(error.contains("strongroom: "), "{text}, {value:?}: {error}");
}

/// That a statement is done on both sides, or has the same code: what is out of range has the
/// server's, for the one or the other.
pub fn assert_same_code(lab: &mut Lab, text: &str) {
    let code = |client: &mut Conn| match client.query_drop(text) {
        Ok(()) => None,
        Err(mysql::Error::MySqlError(error)) => Some(error.code),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(code(&mut lab.ours), code(&mut lab.theirs), "{text}");
}

/// A text as a parameter.
pub fn text(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

/// A lab on each server.
pub fn on_each(start: impl Fn(Brand) -> Option<Lab>) -> impl Iterator<Item = Lab> {
    [Brand::MariaDb, Brand::MySql].into_iter().filter_map(start)
}

pub fn both() -> impl Iterator<Item = Lab> {
    on_each(Lab::start)
}

pub fn connect(port: u16, database: &str) -> Conn {
    let options: OptsBuilder = options_at(port, "nat").db_name(Some(database));
    Conn::new(options.stmt_cache_size(0)).expect("it lets in")
}

/// A finisher of a server's own product.
pub fn finisher_of(brand: Brand) -> String {
    finish(match brand {
        Brand::MariaDb => "mariadb",
        Brand::MySql => "mysql",
    })
}

/// A finisher of an engine.
pub fn finish(engine: &str) -> String {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let run_as = if is_root { "run_as = \"nobody\"\n" } else { "" };
    // Packages put it where it is found.
    let programs = Brand::MySql.programs().filter(|_| engine == "mysql");
    let programs = programs.map_or_else(String::new, |own| format!("programs = {own:?}\n"));
    format!("\n[finish]\nengine = \"{engine}\"\n{run_as}{programs}")
}

/// Asserts that a table is shown through the proxy as the plain twin is, each way there is.
#[track_caller]
pub fn assert_shown_alike(lab: &mut Lab, table: &str) {
    let said = |client: &mut Conn, text: &str| {
        let rows: Vec<mysql::Row> = client.query(text).expect(text);
        let rows: Vec<_> = rows.into_iter().map(mysql::Row::unwrap).collect();
        format!("{rows:?}").replace("twin", "shop")
    };
    for text in [
        format!("SHOW CREATE TABLE {table}"),
        format!("SHOW FULL COLUMNS FROM {table}"),
        format!("DESCRIBE {table}"),
        format!(
            "SELECT * FROM information_schema.columns WHERE table_schema = DATABASE() AND \
             table_name = '{table}' ORDER BY ordinal_position"
        ),
    ] {
        let (ours, theirs) = (said(&mut lab.ours, &text), said(&mut lab.theirs, &text));
        assert_eq!(ours, theirs, "{text}");
    }
}
