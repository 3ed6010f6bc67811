//! MySQL: how it is made and started.
//!
//! Settings that not every version has are `loose`: a version without them starts all the same.

use std::ffi::OsString;

use crate::options::FinisherOptions;

/// What a file needs that holds no rows, in MiB: the dictionary has 24.
const FILE_MIB_MIN: u32 = 64;

/// Arguments: the program, the folder of its messages, whether names of tables are folded (which is
/// settled when the files are made), how many blocks of 512 bytes a file may have, options of the
/// server. Its own files take 75 MB, most of them undo logs, the dictionary and temporary tables,
/// which have no smaller size.
///
/// The temporary tables of a session are one file, which no option bounds before 8.0.28: the limit
/// for files is that of the process. Its signal is ignored, so that a query that needs more gets an
/// error, and the server goes on.
pub(super) const COMMAND: &str = r#"
server=$1
messages=$2
folds=$3
blocks=$4
shift 4
small="--innodb-data-file-path=ibdata1:5M:autoextend --innodb-autoextend-increment=1
    --innodb-buffer-pool-size=8M
    --loose-innodb-log-file-size=4M --loose-innodb-redo-log-capacity=8M
    --innodb-use-native-aio=OFF --innodb-flush-log-at-trx-commit=0
    --innodb-doublewrite=0 --skip-log-bin --log-error-verbosity=1
    --loose-auto-generate-certs=OFF --loose-sha256-password-auto-generate-rsa-keys=OFF
    --loose-caching-sha2-password-auto-generate-rsa-keys=OFF"
mkdir -p "$folder/temporary" "$folder/no-files" &&
    "$server" --no-defaults --initialize-insecure --datadir="$folder/data" \
        --tmpdir="$folder/temporary" --lc-messages-dir="$messages" \
        --lower-case-table-names="$folds" $small >/dev/null &&
    trap '' XFSZ && ulimit -f "$blocks" &&
    exec $end_with_keeper "$server" --no-defaults --datadir="$folder/data" \
        --tmpdir="$folder/temporary" --lc-messages-dir="$messages" \
        --secure-file-priv="$folder/no-files" --pid-file="$folder/pid" $small "$@"
"#;

/// The blocks of the longest file.
pub(super) fn blocks(options: &FinisherOptions) -> u64 {
    u64::from(options.temporary_mib.max(FILE_MIB_MIN)) << 11
}

/// Options that depend on others.
pub(super) fn sized(options: &FinisherOptions) -> Vec<OsString> {
    let temporary = options.temporary_mib.max(FILE_MIB_MIN);
    let sized = [
        format!("--innodb-temp-data-file-path=ibtmp1:12M:autoextend:max:{temporary}M"),
        format!(
            "--loose-connection-memory-limit={}",
            2 * (u64::from(temporary) << 20)
        ),
        format!(
            "--max-execution-time={}",
            options.statement_timeout.as_millis()
        ),
    ];
    sized.map(OsString::from).into()
}

pub(super) const SETTINGS: &[&str] = &[
    "--loose-mysqlx=OFF",
    "--default-storage-engine=InnoDB",
    "--default-tmp-storage-engine=InnoDB",
    // The other one takes memory without a bound.
    "--internal-tmp-mem-storage-engine=MEMORY",
    "--innodb-log-buffer-size=1M",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--innodb-adaptive-hash-index=OFF",
    "--innodb-read-io-threads=1",
    "--innodb-write-io-threads=1",
    "--innodb-purge-threads=1",
    "--innodb-page-cleaners=1",
    // A temporary table may be wider than its rows are.
    "--innodb-strict-mode=OFF",
    "--loose-host-cache-size=0",
];
