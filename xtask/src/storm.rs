//! `storm`: many processes with kills on one database, and extreme sizes, for any length of time.

use crate::command::{cargo, run as run_command};

/// The tests of `storm`, which share the time.
const STORMS: [&str; 2] = [
    "schedules_of_several_processes_show_every_reader_its_snapshot",
    "processes_killed_at_any_time_lose_no_commit_and_leave_nothing_half_done",
];

/// How long, and from which seed on. A failing run prints its seed; the same seed begins with it.
#[derive(clap::Args)]
pub struct Options {
    /// How long to go on, all storms together.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// The first seed; each storm counts up from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Instead: files beyond 1 GiB and 4 GiB and thousands of connections, which takes minutes
    /// and 5 GB in the folder for temporary files.
    #[arg(long)]
    large: bool,
}

/// Runs each test of `crates/sqlite-linked/tests/storm` for its share of the time. The databases
/// are created in the folder for temporary files, so `TMPDIR` selects the disk.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if options.large {
        let target = ["--package", "strongroom-sqlite-linked", "--test", "sizes"];
        return run_command(
            cargo()
                .args(["test", "--release", "--locked"])
                .args(target)
                .env("STRONGROOM_STORM_LARGE", "1"),
        );
    }
    let seconds = options.minutes * 60 / STORMS.len() as u64;
    for storm in STORMS {
        println!("{storm}, {seconds} s from seed {}", options.seed);
        let target = ["--package", "strongroom-sqlite-linked", "--test", "storm"];
        run_command(
            cargo()
                .args(["test", "--quiet", "--locked"])
                .args(target)
                .args(["--", "--exact", storm, "--nocapture"])
                .env("STRONGROOM_STORM_SECONDS", seconds.to_string())
                .env("STRONGROOM_STORM_SEED", options.seed.to_string()),
        )?;
    }
    Ok(())
}
