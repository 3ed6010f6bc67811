//! PostgreSQL's own regression tests, at the server itself and through the proxy. Its own driver
//! runs them; what it finds of the server itself is the reference, whatever was expected. No part
//! of PostgreSQL is in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::debian;
use super::differences::Found;
use super::modes::{Mode, judge};
use super::script::{CRASHED, TIMED_OUT};
use super::servers::{Server, as_server, give_to_server};
use crate::command::{program, read, run as run_command};
use crate::process::{self, Ended};
use crate::{apt, built, workspace};

/// The folder of the installation, the same in all of Debian's packages of this version.
const INSTALLED: &str = "/usr/lib/postgresql/15";
const MAJOR: &str = "15";
/// The differences that have a reason.
const LIST: &str = "xtask/suites/postgres-differences.toml";
const DATABASE: &str = "regression";
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// What to run.
#[derive(clap::Args)]
pub struct Options {
    /// Run the tests of this schedule's line, such as `boolean`, alone, after `test_setup`; may be
    /// given several times. Many need tests before them.
    tests: Vec<String>,
    /// Run in this mode and in `direct` alone; may be given several times.
    #[arg(long, value_name = "MODE")]
    only: Vec<Mode>,
    /// Take what the server itself did from the last run.
    #[arg(long)]
    keep_direct: bool,
}

/// The outputs of one run, by test.
type Outputs = BTreeMap<String, PathBuf>;

/// Runs the tests in all modes, and compares.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let built = built::build()?;
    let work = workspace::target_folder()?.join("suites-postgres");
    fs::create_dir_all(&work)?;
    let suite = Suite {
        version: installed_version()?,
        tests: &options.tests,
        strongroom: &built.program,
        work: &work,
    };
    suite.fetch()?;
    println!("PostgreSQL {}", suite.version);
    let direct = match options.keep_direct {
        true => suite.outputs(Mode::Direct)?,
        false => suite.run(Mode::Direct)?,
    };
    let mut found = Found::new();
    let mut ran = BTreeSet::new();
    for mode in Mode::chosen(&options.only) {
        let outputs = suite.run(mode)?;
        let mut same = 0;
        for (test, reference) in &direct {
            let lines = match outputs.get(test) {
                Some(output) => different_lines(reference, output)?,
                None => BTreeSet::from([TIMED_OUT.to_owned()]),
            };
            same += usize::from(lines.is_empty());
            let part = format!("{} {test}", mode.name());
            ran.insert(part.clone());
            found.insert(part, lines);
        }
        println!(
            "{}: {same} of {} tests are alike",
            mode.name(),
            direct.len()
        );
    }
    judge(&work, LIST, MAJOR, &ran, &found)
}

struct Suite<'a> {
    /// The version of the package.
    version: String,
    tests: &'a [String],
    strongroom: &'a Path,
    work: &'a Path,
}

impl Suite<'_> {
    /// Gets the source, and compiles the functions in C that tests call, unless that was done.
    fn fetch(&self) -> anyhow::Result<()> {
        let ready = self.work.join("ready");
        if fs::read_to_string(&ready).is_ok_and(|version| version == self.version) {
            return Ok(());
        }
        let source = self.work.join("source");
        let package = format!("postgresql-{MAJOR}={}", self.version);
        debian::source(&self.work.join("download"), &package, None, &source)?;
        // The headers alone: the package itself brings a compiler of its own.
        let headers = self.work.join("headers");
        fs::create_dir_all(&headers)?;
        let package = format!("postgresql-server-dev-{MAJOR}={}", self.version);
        let download = || {
            run_command(
                program("apt-get")
                    .current_dir(&headers)
                    .args([
                        "--quiet=2",
                        "--option",
                        "APT::Sandbox::User=root",
                        "download",
                    ])
                    .arg(&package),
            )
        };
        if download().is_err() {
            apt::update_package_lists();
            download()?;
        }
        for entry in fs::read_dir(&headers)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "deb") {
                run_command(program("dpkg-deb").arg("-x").arg(&path).arg(&headers))?;
            }
        }
        let include = headers.join(format!("usr/include/postgresql/{MAJOR}/server"));
        let tests = source.join("src/test/regress");
        run_command(
            program("cc")
                .current_dir(&tests)
                .args(["-O1", "-fPIC", "-shared", "-w", "-o", "regress.so", "-I"])
                .arg(include)
                .arg("regress.c"),
        )?;
        fs::write(ready, &self.version)?;
        Ok(())
    }

    /// Runs the tests in one mode, on a server of their own: they make roles and tablespaces.
    fn run(&self, mode: Mode) -> anyhow::Result<Outputs> {
        let folder = tempfile::tempdir()?;
        let tests = self.tests_below(folder.path())?;
        let programs = Path::new(INSTALLED).join("bin");
        let settings = ["max_prepared_transactions=2", "max_connections=60"];
        let server = Server::start(&programs, folder.path(), &settings)?;
        server.sql(
            "postgres",
            &format!("CREATE DATABASE {DATABASE} TEMPLATE template0"),
        )?;
        for setting in DATABASE_SETTINGS {
            server.sql(
                "postgres",
                &format!("ALTER DATABASE {DATABASE} SET {setting}"),
            )?;
        }
        let (proxy, port) = mode.start(self.strongroom, &server, folder.path())?;
        Mode::make_table(&server, port, DATABASE)?;
        let log = self.work.join(format!("{}.log", mode.name()));
        let driver = Path::new(INSTALLED).join("lib/pgxs/src/test/regress/pg_regress");
        let port = port.to_string();
        let mut command = program(&driver.to_string_lossy());
        as_server(&mut command)
            .current_dir(&tests)
            .args(["--host", "127.0.0.1", "--port", &port, "--user", "postgres"])
            .args([
                "--use-existing",
                "--dbname",
                DATABASE,
                "--dlpath",
                ".",
                "--bindir",
            ])
            .arg(&programs)
            // One after the other: what tests that run together print depends on chance.
            .args(["--max-connections", "1", "--schedule", "parallel_schedule"]);
        let ended = process::run(&mut command, &log, LIMIT)?;
        let log = log.display();
        match ended {
            Ended::WithStatus(0 | 1) => {}
            ended => bail!("{}: {CRASHED}: {ended:?}, see {log}", mode.name()),
        }
        drop(proxy);
        let results = self.results(mode);
        if results.exists() {
            fs::remove_dir_all(&results)?;
        }
        fs::create_dir_all(&results)?;
        // Tests print where they are.
        let own = tests.display().to_string();
        for entry in fs::read_dir(tests.join("results"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "out") {
                let text = String::from_utf8_lossy(&fs::read(&path)?).replace(&own, "/regress");
                fs::write(results.join(path.file_name().unwrap_or_default()), text)?;
            }
        }
        self.outputs(mode)
    }

    /// Copies the tests: files of theirs are read and written by the server.
    fn tests_below(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let tests = folder.join("regress");
        let source = self.work.join("source/src/test/regress");
        run_command(program("cp").arg("-R").arg(&source).arg(&tests))?;
        if let [_, ..] = self.tests {
            let lines = self.tests.iter().map(|test| format!("test: {test}\n"));
            let schedule = lines.fold("test: test_setup\n".to_owned(), |text, line| text + &line);
            fs::write(tests.join("parallel_schedule"), schedule)?;
        }
        for library in LIBRARIES {
            let path = Path::new(INSTALLED).join("lib").join(library);
            std::os::unix::fs::symlink(path, tests.join(library))?;
        }
        for path in [
            &tests,
            &tests.join("sql"),
            &tests.join("expected"),
            &tests.join("data"),
        ] {
            give_to_server(path)?;
        }
        Ok(tests)
    }

    fn results(&self, mode: Mode) -> PathBuf {
        self.work.join("results").join(mode.name())
    }

    fn outputs(&self, mode: Mode) -> anyhow::Result<Outputs> {
        let folder = self.results(mode);
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("no earlier run has left {}", folder.display()))?;
        let mut outputs = Outputs::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if path.extension().is_some_and(|extension| extension == "out") {
                outputs.insert(name.into_owned(), path);
            }
        }
        Ok(outputs)
    }
}

/// Libraries that tests expect beside their own.
const LIBRARIES: [&str; 2] = ["autoinc.so", "refint.so"];

/// What the driver sets in databases that it makes itself.
const DATABASE_SETTINGS: &[&str] = &[
    "lc_messages TO 'C'",
    "lc_monetary TO 'C'",
    "lc_numeric TO 'C'",
    "lc_time TO 'C'",
    "bytea_output TO 'hex'",
    "timezone_abbreviations TO 'Default'",
];

fn installed_version() -> anyhow::Result<String> {
    let package = format!("postgresql-{MAJOR}");
    let query = ["--show", "--showformat", "${Version}", &package];
    let version = read(program("dpkg-query").args(query))
        .with_context(|| format!("Debian's package {package} is not installed"))?;
    Ok(version.trim().to_owned())
}

/// The lines that only one of two files has there, with `<` before those of the first.
fn different_lines(first: &Path, second: &Path) -> anyhow::Result<BTreeSet<String>> {
    let output = program("diff")
        .args(["--text", "--"])
        .args([first, second])
        .output()
        .context("cannot start diff")?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("diff: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| line.starts_with(['<', '>']));
    Ok(lines.map(str::to_owned).collect())
}
