//! What keeps a query from anything but computing: settings of the server, and privileges.
//!
//! The planner lets only queries through whose functions it knows. This is the second wall, for
//! what it may have missed.
//!
//! 1. Rows are in no file and no log: no statement, no value and no error is logged, and temporary
//!    tables are in memory.
//! 2. The user of questions may make temporary tables, and read those alone; no file can be read or
//!    written, and no port is open.

use std::ffi::OsString;
use std::path::Path;

use zeroize::Zeroizing;

use crate::options::FinisherOptions;
use crate::programs::Program;

/// The superuser, who makes databases.
pub(crate) const OWNER: &str = "strongroom_owner";
/// The user of questions.
pub(crate) const QUERIES: &str = "strongroom_queries";

/// Connections beside those of questions: one that makes databases, and those that were dropped
/// and have not noticed yet.
const CONNECTIONS_SPARE: usize = 16;

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
         GRANT ALL ON *.* TO {OWNER}@localhost;\n\
         CREATE USER {QUERIES}@localhost IDENTIFIED BY '{password}';\n\
         GRANT CREATE TEMPORARY TABLES ON *.* TO {QUERIES}@localhost;\n"
    ))
}

/// Options of the server, whose folder is this one.
pub(crate) fn arguments(
    program: &Program,
    options: &FinisherOptions,
    (socket, first): (&Path, &Path),
    folds_tables: bool,
) -> Vec<OsString> {
    let connections = options.connections_max.max(1) + CONNECTIONS_SPARE;
    let temporary = options.temporary_mib;
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
        format!(
            "--max-statement-time={}",
            options.statement_timeout.as_secs_f64()
        ),
    ];
    arguments.extend(sized.map(OsString::from));
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
    "--max-allowed-packet=1G",
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
        assert!(!first_statements("x").contains("FILE"));
    }
}
