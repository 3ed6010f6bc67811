//! Which scripts are chosen: those for the slice, and those that come beside `veryquick`.

/// The scripts that belong to `cargo xtask test`, by how their names begin: those that try the
/// file most. Pager, journal, log, backup, vacuum, corruption, recovery, parts of blobs, shared
/// cache, locks, failing calls.
const PREFIXES: &[&str] = &[
    "atomic",
    "attach",
    "autovacuum",
    "avtrans",
    "backup",
    "boundary",
    "cacheflush",
    "chunksize",
    "corrupt",
    "crash",
    "cursor",
    "dbpage",
    "dbstatus",
    "delete_db",
    "diskfull",
    "e_vacuum",
    "e_wal",
    "exclusive",
    "fallocate",
    "filectrl",
    "filefmt",
    "hook",
    "incr",
    "interrupt",
    "io.",
    "journal",
    "jrnlmode",
    "lock",
    "manydb",
    "memdb",
    "memjournal",
    "memsubsys",
    "mjournal",
    "mmap",
    "multiplex",
    "nolock",
    "openv2",
    "pager",
    "pcache",
    "pragma",
    "quota",
    "rdonly",
    "recover",
    "resetdb",
    "rollback",
    "rowallock",
    "savepoint",
    "schema6",
    "session4",
    "shared",
    "shmlock",
    "shrink",
    "snapshot",
    "sort",
    "stat.",
    "stmt",
    "superlock",
    "sync",
    "syscall",
    "temp",
    "tkt-3",
    "trans",
    "unixexcl",
    "uri",
    "vacuum",
    "wal",
    "zerodamage",
    "zeroblob",
];

/// Scripts of the slice's subjects that take too long for it.
const LEFT_OUT: &[&str] = &["walsetlk.test"];

/// Scripts that are not in `veryquick` and are about what we do. Those whose programs die as they
/// write (`crash.test` and its kind) are not here: the VFS that they put above ours writes pieces
/// of pages where it plays a failing disk, which is refused, so that they would show little.
pub const BESIDE: &[&str] = &[
    "backup.test",
    "corrupt.test",
    "corruptC.test",
    "savepoint6.test",
    "trans2.test",
    "vacuum3.test",
    "walprotocol.test",
];

/// Whether a script belongs to the slice.
pub fn has(script: &str) -> bool {
    let chosen = PREFIXES.iter().any(|prefix| script.starts_with(prefix));
    chosen && !LEFT_OUT.contains(&script) && !BESIDE.contains(&script)
}
