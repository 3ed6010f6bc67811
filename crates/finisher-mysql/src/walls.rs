//! What keeps a query from anything but computing: settings of the server, and privileges.
//!
//! The planner lets only queries through whose functions it knows. This is the second wall, for
//! what it may have missed.
//!
//! 1. Rows are in no file and no log: no statement, no value and no error is logged, and temporary
//!    tables are in memory.
//! 2. The user of a question may make temporary tables, and read those alone; no file can be read
//!    or written, and no port is open.
//! 3. Each connection has a user of its own, who is dropped once it is open: a user without
//!    privileges sees the threads of the same user in `information_schema`, and there are none.

mod mariadb;
mod mysql;

use std::ffi::OsString;
use std::path::Path;

use zeroize::Zeroizing;

use crate::options::FinisherOptions;
use crate::product::Product;
use crate::programs::Program;

/// The superuser, who makes databases and accounts.
pub(crate) const OWNER: &str = "strongroom_owner";

/// Connections beside those of questions, each of which may have one of the superuser for its
/// account: those that make databases, and those that were dropped and have not noticed yet.
const CONNECTIONS_SPARE: usize = 16;

/// What the server does when it starts. None of it is logged.
pub(crate) fn first_statements(product: Product, password: &str) -> Zeroizing<String> {
    let identified = identified(product, password);
    // MySQL makes a superuser of its own, without a password.
    Zeroizing::new(format!(
        "CREATE USER {OWNER}@localhost {};\n\
         GRANT ALL ON *.* TO {OWNER}@localhost WITH GRANT OPTION;\n\
         DROP USER IF EXISTS root@localhost;\n",
        identified.as_str()
    ))
}

fn identified(product: Product, password: &str) -> Zeroizing<String> {
    Zeroizing::new(match product {
        Product::MariaDb => format!("IDENTIFIED BY '{password}'"),
        Product::MySql => format!("IDENTIFIED WITH {} BY '{password}'", product.plugin()),
    })
}

/// The name of the user of a connection.
pub(crate) fn user(number: u64) -> String {
    format!("strongroom_{number}")
}

/// What makes a user of questions.
pub(crate) fn make_user(product: Product, user: &str, password: &str) -> [Zeroizing<String>; 2] {
    [
        Zeroizing::new(format!(
            "CREATE USER {user}@localhost {} WITH MAX_USER_CONNECTIONS 1",
            identified(product, password).as_str()
        )),
        Zeroizing::new(format!(
            "GRANT CREATE TEMPORARY TABLES ON *.* TO {user}@localhost"
        )),
    ]
}

/// What drops the user of a connection that is open, which keeps its privileges.
pub(crate) fn drop_user(user: &str) -> String {
    format!("DROP USER {user}@localhost")
}

/// The shell commands that make its files and start it.
pub(crate) fn command(product: Product) -> &'static str {
    match product {
        Product::MariaDb => mariadb::COMMAND,
        Product::MySql => mysql::COMMAND,
    }
}

/// Options of the server, whose folder is this one.
pub(crate) fn arguments(
    program: &Program,
    options: &FinisherOptions,
    (socket, first): (&Path, &Path),
    folds_tables: bool,
) -> Vec<OsString> {
    let connections = 2 * options.connections_max.max(1) + CONNECTIONS_SPARE;
    let temporary = u64::from(options.temporary_mib);
    let folds = u8::from(folds_tables);
    let mut arguments: Vec<OsString> = vec![
        program.server.clone().into(),
        program.messages.clone().into(),
        folds.to_string().into(),
    ];
    if Product::of(program.series) == Product::MySql {
        arguments.push(mysql::blocks(options).to_string().into());
    }
    let named = [("socket", socket), ("init-file", first)];
    arguments.extend(named.map(|(name, path)| {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(path);
        argument
    }));
    let sized = [
        format!("--lower-case-table-names={folds}"),
        format!("--max-connections={connections}"),
        format!("--tmp-table-size={temporary}M"),
        format!("--max-heap-table-size={temporary}M"),
    ];
    arguments.extend(sized.map(OsString::from));
    let (own, settings) = match Product::of(program.series) {
        Product::MariaDb => (mariadb::sized(program, options), mariadb::SETTINGS),
        Product::MySql => (mysql::sized(options), mysql::SETTINGS),
    };
    arguments.extend(own);
    arguments.extend(SETTINGS.iter().chain(settings).map(OsString::from));
    arguments
}

const SETTINGS: &[&str] = &[
    "--skip-networking",
    "--skip-name-resolve",
    "--key-buffer-size=1M",
    "--performance-schema=OFF",
    "--thread-cache-size=8",
    "--table-open-cache=64",
    // No function makes a longer value, and the server's own is at least as large.
    "--max-allowed-packet=16M",
    // The proxy wrote what it sends at once; what idles has been dropped.
    "--wait-timeout=86400",
    "--skip-log-bin",
    "--general-log=OFF",
    "--slow-query-log=OFF",
    "--log-output=NONE",
    "--local-infile=OFF",
    "--event-scheduler=DISABLED",
    "--character-set-server=utf8mb4",
    "--default-time-zone=+00:00",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_listens_but_the_socket_and_nothing_is_logged() {
        for wanted in [
            "--skip-networking",
            "--skip-log-bin",
            "--general-log=OFF",
            "--slow-query-log=OFF",
            "--local-infile=OFF",
        ] {
            assert!(SETTINGS.contains(&wanted), "{wanted}");
        }
        let [_, grant] = make_user(Product::MySql, "x", "y");
        assert!(grant.starts_with("GRANT CREATE TEMPORARY TABLES ON"));
    }
}
