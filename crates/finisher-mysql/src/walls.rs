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

use std::ffi::OsString;
use std::path::Path;

use zeroize::Zeroizing;

use crate::options::FinisherOptions;
use crate::programs::Program;

/// The superuser, who makes databases and accounts.
pub(crate) const OWNER: &str = "strongroom_owner";

/// Connections beside those of questions, each of which may have one of the superuser for its
/// account: those that make databases, and those that were dropped and have not noticed yet.
const CONNECTIONS_SPARE: usize = 16;

/// The first MariaDB that bounds the temporary tables of a session as a whole: 11.5.
const SERIES_WITH_SPACE: u16 = 1105;

/// Arguments: the program, the statements that make its tables, the folder of its messages, options
/// of the server. Its own tables take 0.7 MB; InnoDB's files alone would take 80 MB.
pub(crate) const COMMAND: &str = r#"
server=$1
tables=$2
messages=$3
shift 3
mkdir -p "$folder/data/mysql" "$folder/temporary" "$folder/no-files" &&
    { echo 'USE mysql;'; cat "$tables"; } | "$server" --no-defaults --bootstrap \
        --datadir="$folder/data" --tmpdir="$folder/temporary" --lc-messages-dir="$messages" \
        --skip-innodb --default-storage-engine=Aria --aria-log-file-size=8M \
        --skip-log-bin --log-warnings=0 >/dev/null &&
    exec $end_with_keeper "$server" --no-defaults --datadir="$folder/data" \
        --tmpdir="$folder/temporary" --lc-messages-dir="$messages" \
        --secure-file-priv="$folder/no-files" --pid-file="$folder/pid" "$@"
"#;

/// What the server does when it starts. None of it is logged.
pub(crate) fn first_statements(password: &str) -> Zeroizing<String> {
    Zeroizing::new(format!(
        "CREATE USER {OWNER}@localhost IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO {OWNER}@localhost WITH GRANT OPTION;\n"
    ))
}

/// The name of the user of a connection.
pub(crate) fn user(number: u64) -> String {
    format!("strongroom_{number}")
}

/// What makes a user of questions.
pub(crate) fn make_user(user: &str, password: &str) -> [Zeroizing<String>; 2] {
    [
        Zeroizing::new(format!(
            "CREATE USER {user}@localhost IDENTIFIED BY '{password}' WITH MAX_USER_CONNECTIONS 1"
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

/// Options of the server, whose folder is this one.
pub(crate) fn arguments(
    program: &Program,
    options: &FinisherOptions,
    (socket, first): (&Path, &Path),
    folds_tables: bool,
) -> Vec<OsString> {
    let connections = 2 * options.connections_max.max(1) + CONNECTIONS_SPARE;
    let temporary = u64::from(options.temporary_mib);
    let mut arguments: Vec<OsString> = vec![
        program.server.clone().into(),
        program.tables.clone().into(),
        program.messages.clone().into(),
    ];
    let named = [("socket", socket), ("init-file", first)];
    arguments.extend(named.map(|(name, path)| {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(path);
        argument
    }));
    let sized = [
        format!("--lower-case-table-names={}", u8::from(folds_tables)),
        format!("--max-connections={connections}"),
        format!("--tmp-table-size={temporary}M"),
        format!("--max-heap-table-size={temporary}M"),
        format!("--tmp-disk-table-size={}", temporary << 20),
        format!("--max-session-mem-used={}", 2 * (temporary << 20)),
        format!(
            "--max-statement-time={}",
            options.statement_timeout.as_secs_f64()
        ),
    ];
    arguments.extend(sized.map(OsString::from));
    if program.series >= SERIES_WITH_SPACE {
        let space = format!("--max-tmp-session-space-usage={}", temporary << 20);
        arguments.push(space.into());
    }
    arguments.extend(SETTINGS.iter().map(OsString::from));
    arguments
}

const SETTINGS: &[&str] = &[
    "--skip-networking",
    "--skip-name-resolve",
    "--skip-innodb",
    "--default-storage-engine=Aria",
    "--default-tmp-storage-engine=Aria",
    "--aria-log-file-size=8M",
    "--aria-pagecache-buffer-size=8M",
    "--key-buffer-size=1M",
    "--query-cache-size=0",
    "--query-cache-type=0",
    "--performance-schema=OFF",
    "--thread-cache-size=8",
    "--table-open-cache=64",
    "--host-cache-size=0",
    // No function makes a longer value, and the server's own is at least as large.
    "--max-allowed-packet=16M",
    // The proxy wrote what it sends at once; what idles has been dropped.
    "--wait-timeout=86400",
    "--skip-log-bin",
    "--general-log=OFF",
    "--slow-query-log=OFF",
    "--log-warnings=0",
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
        let [_, grant] = make_user("x", "y");
        assert!(grant.starts_with("GRANT CREATE TEMPORARY TABLES ON"));
    }
}
