//! MariaDB: how it is made and started.

use std::ffi::OsString;

use crate::options::FinisherOptions;
use crate::programs::Program;

/// The first MariaDB that bounds the temporary tables of a session as a whole: 11.5.
const SERIES_WITH_SPACE: u16 = 1105;

/// Arguments: the program, the folder of its messages, whether names of tables are folded, options
/// of the server. Its own tables take 0.7 MB; InnoDB's files alone would take 80 MB.
pub(super) const COMMAND: &str = r#"
server=$1
messages=$2
tables=$messages/mysql_system_tables.sql
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

/// Options that depend on others.
pub(super) fn sized(program: &Program, options: &FinisherOptions) -> Vec<OsString> {
    let temporary = u64::from(options.temporary_mib);
    let sized = [
        format!("--tmp-disk-table-size={}", temporary << 20),
        format!("--max-session-mem-used={}", 2 * (temporary << 20)),
        format!(
            "--max-statement-time={}",
            options.statement_timeout.as_secs_f64()
        ),
    ];
    let mut arguments: Vec<OsString> = sized.map(OsString::from).into();
    if program.series >= SERIES_WITH_SPACE {
        let space = format!("--max-tmp-session-space-usage={}", temporary << 20);
        arguments.push(space.into());
    }
    arguments
}

pub(super) const SETTINGS: &[&str] = &[
    "--skip-innodb",
    "--default-storage-engine=Aria",
    "--default-tmp-storage-engine=Aria",
    "--aria-log-file-size=8M",
    "--aria-pagecache-buffer-size=8M",
    "--query-cache-size=0",
    "--query-cache-type=0",
    "--host-cache-size=0",
    "--log-warnings=0",
];
