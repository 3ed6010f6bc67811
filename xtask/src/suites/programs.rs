//! Runs the programs of SQLite's suite other than its scripts: each must pass under our extension.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::script::{Bench, Mode};
use crate::process::{self, Ended};

/// Far more than any of them needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(1_800);

/// The built programs, and their work folder.
pub struct Programs<'bench> {
    pub bench: &'bench Bench,
    /// The folder of the programs.
    pub folder: PathBuf,
    /// The folder of SQLite's source.
    pub source: PathBuf,
}

impl Programs<'_> {
    /// Many processes on one database, some of which die.
    pub fn mptest(&self, repetitions: u32) -> anyhow::Result<()> {
        for script in ["multiwrite01.test", "crash01.test"] {
            for journal in ["delete", "wal"] {
                let folder = self.emptied("mptest")?;
                let path = self.source.join("mptest").join(script);
                let repeat = repetitions.to_string();
                let arguments = [
                    "mptest.db",
                    &path.to_string_lossy(),
                    "--repeat",
                    &repeat,
                    "--journalmode",
                    journal,
                ];
                self.must_pass(
                    "mptester",
                    &arguments,
                    &folder,
                    &format!("{script} {journal}"),
                )?;
            }
        }
        Ok(())
    }

    /// Blobs by key, through SQL and incremental blob I/O.
    pub fn kvtest(&self) -> anyhow::Result<()> {
        let folder = self.emptied("kvtest")?;
        let runs: [&[&str]; 7] = [
            &[
                "init",
                "kv.db",
                "--count",
                "10000",
                "--size",
                "12000",
                "--variance",
                "6000",
            ],
            &["stat", "kv.db"],
            &[
                "run",
                "kv.db",
                "--count",
                "10000",
                "--random",
                "--integrity-check",
            ],
            &[
                "run",
                "kv.db",
                "--count",
                "10000",
                "--desc",
                "--blob-api",
                "--mmap",
                "300000000",
            ],
            &[
                "run", "kv.db", "--count", "5000", "--update", "--random", "--jmode", "wal",
            ],
            &[
                "run",
                "kv.db",
                "--count",
                "5000",
                "--update",
                "--blob-api",
                "--jmode",
                "delete",
            ],
            &[
                "run",
                "kv.db",
                "--count",
                "10000",
                "--asc",
                "--integrity-check",
            ],
        ];
        for arguments in runs {
            self.must_pass("kvtest", arguments, &folder, &arguments.join(" "))?;
        }
        must_be_sealed(&folder.join("kv.db"))?;
        self.removed(&folder)
    }

    /// Threads with separate connections.
    pub fn threadtest3(&self) -> anyhow::Result<()> {
        let folder = self.emptied("threadtest3")?;
        self.must_pass("threadtest3", &[], &folder, "all")?;
        self.removed(&folder)
    }

    /// Prints the time of SQLite's own benchmark with and without the extension, interleaved.
    pub fn speedtest1(&self, rounds: usize, size: u32) -> anyhow::Result<()> {
        let folder = self.emptied("speedtest1")?;
        let size = size.to_string();
        let mut ratios = Vec::new();
        for round in 0..rounds {
            let mut seconds = [0.0; 2];
            let mut modes = [(0, Mode::Stock), (1, Mode::Strongroom)];
            // The order changes, so that neither side profits from its position.
            modes.rotate_left(round % 2);
            for (index, mode) in modes {
                let database = folder.join("speed.db");
                if database.exists() {
                    fs::remove_file(&database)?;
                }
                let arguments = ["--size", &size, "speed.db"];
                let start = Instant::now();
                self.pass(mode, "speedtest1", &arguments, &folder)?;
                seconds[index] = start.elapsed().as_secs_f64();
                if mode == Mode::Strongroom {
                    must_be_sealed(&database)?;
                }
            }
            ratios.push(seconds[1] / seconds[0]);
            let (stock, ours) = (seconds[0], seconds[1]);
            println!(
                "speedtest1: {ours:.2} s, stock {stock:.2} s, ratio {:.3}",
                ours / stock
            );
        }
        ratios.sort_by(f64::total_cmp);
        if let Some(median) = ratios.get(ratios.len() / 2) {
            println!("speedtest1: median ratio to stock {median:.3}");
        }
        self.removed(&folder)
    }

    fn must_pass(
        &self,
        name: &str,
        arguments: &[&str],
        folder: &Path,
        what: &str,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        self.pass(Mode::Strongroom, name, arguments, folder)?;
        println!("{name} {what}: ok ({:.1} s)", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn pass(
        &self,
        mode: Mode,
        name: &str,
        arguments: &[&str],
        folder: &Path,
    ) -> anyhow::Result<()> {
        let output = folder.join("output.txt");
        let mut command = self.bench.program(mode, &self.folder.join(name));
        command.current_dir(folder).args(arguments);
        match process::run(&mut command, &output, LIMIT)? {
            Ended::WithStatus(0) => Ok(()),
            ended => bail!(
                "{name} {} in mode {}: {ended:?}; see {}",
                arguments.join(" "),
                mode.name(),
                output.display()
            ),
        }
    }

    fn emptied(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.bench.work.join("run").join(name);
        self.removed(&folder)?;
        self.bench.make(&folder)?;
        Ok(folder)
    }

    fn removed(&self, folder: &Path) -> anyhow::Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        Ok(())
    }
}

/// A program that also passes without the extension proves nothing, so the file must be sealed.
fn must_be_sealed(path: &Path) -> anyhow::Result<()> {
    let mut start = [0; page_codec::header::MAGIC.len()];
    let mut file =
        fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    std::io::Read::read_exact(&mut file, &mut start)?;
    ensure!(
        start == page_codec::header::MAGIC,
        "{} is not encrypted",
        path.display()
    );
    Ok(())
}
