//! Clusters behind the proxy: Galera of three nodes, and PostgreSQL with standbys of which one must
//! confirm each commit. The server that has all sessions is killed under the load of TPC-C.

use std::path::Path;

use crate::command::{cargo, run as run_command};
use crate::newest;
use crate::requirements::{self, Requirement};

const NEEDED: &[Requirement] = &[
    Requirement {
        name: "Galera",
        present: || Path::new("/usr/lib/galera/libgalera_smm.so").is_file(),
        packages: &["galera-4"],
        remedy: "install Galera's library where Debian's package galera-4 has it",
    },
    Requirement {
        name: "rsync",
        present: || requirements::has("rsync"),
        packages: &["rsync"],
        remedy: "install rsync, by which a node gets its data",
    },
];

/// Runs the tests, one after the other; they print what they measured.
pub fn run() -> anyhow::Result<()> {
    requirements::ensure(NEEDED)?;
    let postgres = newest::Server::fetch()?;
    let target = ["--package", "strongroom-proxy", "--test", "all"];
    let tests = ["--ignored", "cluster::", "--nocapture", "--test-threads=1"];
    run_command(
        cargo()
            .args(["test", "--locked"])
            .args(target)
            .arg("--")
            .args(tests)
            .env("STRONGROOM_TEST_SERVERS", "1")
            .env(newest::PROGRAMS, &postgres.programs),
    )
}
