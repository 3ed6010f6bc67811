//! Checks for enough disk space before the tests are built, which would otherwise fail after an
//! hour.

use anyhow::{Context, bail};

use crate::command::program;

/// What a run of every step leaves in the folder `target` and beside it, in GiB, including servers
/// of tests and caches of package managers.
const BUILT_GIB: u64 = 15;
/// The size of cargo's incremental data, which `CARGO_INCREMENTAL=0` avoids.
const INCREMENTAL_GIB: u64 = 9;
const KIB_PER_GIB: u64 = 1 << 20;

/// Fails if the disk of the checkout is too small.
pub fn check() -> anyhow::Result<()> {
    let folder = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder}"))?;
    let built = number(&said("du", &["-sk", &folder]), 0, 0).unwrap_or(0);
    // If the free space is unknown, the build itself has to fail.
    let Some(free) = number(&said("df", &["-Pk", &folder]), 1, 3) else {
        return Ok(());
    };
    let incremental = std::env::var("CARGO_INCREMENTAL").map_or(true, |value| value != "0");
    let total = BUILT_GIB + if incremental { INCREMENTAL_GIB } else { 0 };
    if let Some(needed) = lacking_gib(total, built, free) {
        bail!(
            "the tests build about {total} GiB in {folder}; its disk has {} GiB free and needs \
             {needed} more: make room, or name a folder on another disk in CARGO_TARGET_DIR",
            free / KIB_PER_GIB
        );
    }
    Ok(())
}

fn lacking_gib(total_gib: u64, built_kib: u64, free_kib: u64) -> Option<u64> {
    let lacking_kib = (total_gib * KIB_PER_GIB)
        .saturating_sub(built_kib)
        .saturating_sub(free_kib);
    (lacking_kib > 0).then(|| lacking_kib.div_ceil(KIB_PER_GIB))
}

fn said(name: &str, arguments: &[&str]) -> String {
    let output = program(name).args(arguments).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

/// A number in a whitespace-separated table (POSIX `df -P`, `du`).
fn number(text: &str, line: usize, field: usize) -> Option<u64> {
    let line = text.lines().nth(line)?;
    line.split_whitespace().nth(field)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_already_needs_no_room() {
        assert_eq!(lacking_gib(22, 0, 22 * KIB_PER_GIB), None);
        assert_eq!(lacking_gib(22, 10 * KIB_PER_GIB, 12 * KIB_PER_GIB), None);
        assert_eq!(
            lacking_gib(22, 10 * KIB_PER_GIB, 11 * KIB_PER_GIB + 7),
            Some(1)
        );
        assert_eq!(lacking_gib(22, 0, 0), Some(22));
    }

    #[test]
    fn numbers_are_read_from_tables() {
        let table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                     /dev/disk   264000000 1 69000000 29% /\n";
        assert_eq!(number(table, 1, 3), Some(69_000_000));
        assert_eq!(number(table, 0, 3), None);
        assert_eq!(number("", 1, 3), None);
        assert!(number(&said("df", &["-Pk", "."]), 1, 3).is_some_and(|free| free > 0));
    }
}
