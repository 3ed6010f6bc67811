//! Other products that encrypt SQLite, built from source: each folder of `peers/` is a separate
//! project outside the workspace.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use serde::Deserialize;

use crate::command::{cargo, program, read, run as run_command};
use crate::workspace::{self, ALL_FEATURES};

/// Which peer, and what else is wanted of it.
#[derive(clap::Args)]
pub struct Options {
    /// The product
    peer: Peer,
    /// Write the samples in `vectors/` anew; they come out different each time
    #[arg(long)]
    write_vectors: bool,
    /// Size of the large database that is imported, in MiB
    #[arg(long, value_name = "MEBIBYTES", default_value_t = 8)]
    large: u32,
    /// Use the release build of the program, as for measurements
    #[arg(long)]
    release: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Peer {
    /// SQLCipher, whose databases are imported
    Sqlcipher,
    /// All that `strongroom lab install` compiles, as engines of the lab
    Libraries,
}

/// Builds the peer and compares.
pub fn run(options: &Options) -> anyhow::Result<()> {
    match options.peer {
        Peer::Sqlcipher => sqlcipher(options),
        Peer::Libraries => libraries(),
    }
}

/// Environment variable with the lab's home; a value set by the user is kept.
const LAB_HOME: &str = "STRONGROOM_LAB_HOME";

/// Installs the libraries, below the target folder unless another is set, and runs the engines'
/// conformance tests there.
fn libraries() -> anyhow::Result<()> {
    let home = match std::env::var_os(LAB_HOME) {
        Some(named) => PathBuf::from(named),
        None => workspace::target_folder()?.join("peers/lab"),
    };
    let strongroom = [
        "run",
        "--quiet",
        "--locked",
        "--package",
        "strongroom-cli",
        "--",
    ];
    let install = ["lab", "install", "sqlcipher", "sqlite3mc"];
    let lab = |arguments: &[&str]| {
        let mut cargo = cargo();
        cargo.args(arguments).env(LAB_HOME, &home);
        cargo
    };
    run_command(lab(&strongroom).args(install))?;
    let engines = ["test", "--locked", "--package", "strongroom-lab-engines"];
    let engines = [&engines[..], &["--features", "servers"]].concat();
    let program = ["test", "--locked", "--package", "strongroom-cli"];
    let program = [&program[..], &ALL_FEATURES, &["--test", "products"]].concat();
    for tests in [&engines, &program] {
        // None of them may be skipped.
        run_command(lab(tests).env("STRONGROOM_LAB_PEERS", "required"))?;
    }
    Ok(())
}

const CASES: &str = "vectors/sqlcipher/cases.json";
const CONTENT: &str = "vectors/sqlcipher/content.sql";
const VECTORS: &str = "vectors/sqlcipher";

/// The parts of a sample's description that its reader needs.
#[derive(Deserialize)]
struct Case {
    name: String,
    key: String,
    #[serde(default)]
    options: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    leave: Option<String>,
}

/// The programs, and a folder for what they write.
struct Bench {
    peer: PathBuf,
    strongroom: PathBuf,
    folder: PathBuf,
}

fn sqlcipher(options: &Options) -> anyhow::Result<()> {
    let bench = build(options)?;
    println!("SQLCipher {}", read(bench.peer().arg("version"))?.trim());
    if options.write_vectors {
        return run_command(bench.peer().args(["write", CASES, CONTENT, VECTORS]));
    }
    run_command(
        bench
            .peer()
            .args(["write", CASES, CONTENT])
            .arg(&bench.folder),
    )?;
    let cases: Vec<Case> = serde_json::from_str(&fs::read_to_string(CASES)?)?;
    for case in &cases {
        bench
            .compare(case)
            .with_context(|| format!("case {}", case.name))?;
    }
    bench.compare_large(options.large)?;
    bench.import_while_written()
}

fn build(options: &Options) -> anyhow::Result<Bench> {
    let target = workspace::target_folder()?;
    let folder = target.join("peers");
    // Optimised, because SQLCipher itself would take minutes for the large database.
    let build = ["build", "--quiet", "--locked", "--release"];
    let manifest = ["--manifest-path", "peers/sqlcipher/Cargo.toml"];
    let built = run_command(
        cargo()
            .args(build)
            .args(manifest)
            .arg("--target-dir")
            .arg(&folder),
    );
    built.context("SQLCipher needs libcrypto with its headers (Debian: libssl-dev)")?;
    let package = [
        "build",
        "--quiet",
        "--locked",
        "--package",
        "strongroom-cli",
    ];
    let profile: &[&str] = if options.release { &["--release"] } else { &[] };
    run_command(cargo().args(package).args(profile))?;
    let suffix = std::env::consts::EXE_SUFFIX;
    let profile = if options.release { "release" } else { "debug" };
    let samples = folder.join("samples");
    if samples.exists() {
        fs::remove_dir_all(&samples)?;
    }
    fs::create_dir_all(&samples)?;
    Ok(Bench {
        peer: folder.join(format!("release/sqlcipher-peer{suffix}")),
        strongroom: target.join(format!("{profile}/strongroom{suffix}")),
        folder: samples,
    })
}

/// Environment variable with the key of the source, and that of the copy.
const KEY_VARIABLE: &str = "SQLCIPHER_SAMPLE_KEY";
const KEY_OPTION: [&str; 2] = ["--passphrase-env", KEY_VARIABLE];
const KEY: &str = "correct horse";

impl Bench {
    fn peer(&self) -> Command {
        program(&self.peer.to_string_lossy())
    }

    fn strongroom(&self, key: &str) -> Command {
        let mut command = program(&self.strongroom.to_string_lossy());
        command.env(KEY_VARIABLE, key).stderr(Stdio::null());
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn import(&self, case: &Case, source: &Path, copy: &Path) -> Command {
        let mut command = self.strongroom(&case.key);
        command
            .args(["import", "--force", "--from", "sqlcipher"])
            .args([source, copy])
            .args(KEY_OPTION)
            .args(["--new-passphrase-env", KEY_VARIABLE]);
        for (name, value) in &case.options {
            command.arg(format!("--{name}")).arg(value);
        }
        command
    }

    fn decrypt(&self, copy: &Path, plain: &Path, key: &str) -> anyhow::Result<()> {
        let mut command = self.strongroom(key);
        command.args(["decrypt", "--force"]).args([copy, plain]);
        run_command(command.args(KEY_OPTION))
    }

    /// SQLCipher must read the same in its own file as in the plain export of our import.
    fn compare(&self, case: &Case) -> anyhow::Result<()> {
        let source = self.path(&format!("{}.db", case.name));
        let (copy, plain) = (self.path("copy.db"), self.path("plain.db"));
        let name = [CASES, &case.name];
        if case.leave.as_deref() == Some("journal") {
            let refused = self.import(case, &source, &copy).status()?;
            ensure!(!refused.success(), "a hot journal was not refused");
            // The remedy given in the message.
            run_command(self.peer().arg("read").args(name).arg(&source))?;
        }
        run_command(&mut self.import(case, &source, &copy))?;
        self.decrypt(&copy, &plain, &case.key)?;
        println!("{}:", case.name);
        run_command(
            self.peer()
                .arg("compare")
                .args(name)
                .args([&source, &plain]),
        )
    }

    fn compare_large(&self, mebibytes: u32) -> anyhow::Result<()> {
        let source = self.path("large.db");
        let (copy, plain) = (self.path("copy.db"), self.path("plain.db"));
        let size = mebibytes.to_string();
        run_command(self.peer().arg("write-large").arg(&source).arg(size))?;
        let case = large();
        let start = Instant::now();
        run_command(&mut self.import(&case, &source, &copy))?;
        let seconds = start.elapsed().as_secs_f64();
        let megabytes = fs::metadata(&source)?.len() as f64 / 1e6;
        let rate = megabytes / seconds;
        println!("large: {megabytes:.1} MB imported in {seconds:.2} s, {rate:.0} MB/s");
        self.decrypt(&copy, &plain, KEY)?;
        run_command(self.peer().arg("compare-large").args([&source, &plain]))
    }

    /// Imports while SQLCipher writes: each copy is a consistent snapshot, and SQLCipher is not
    /// disturbed.
    fn import_while_written(&self) -> anyhow::Result<()> {
        let source = self.path("live.db");
        let mut writer = self.start_writer(&source)?;
        let imported = self.import_often(&source);
        // It ends at the end of its input.
        drop(writer.stdin.take());
        let status = writer.wait()?;
        ensure!(status.success(), "SQLCipher was disturbed: {status}");
        imported
    }

    fn import_often(&self, source: &Path) -> anyhow::Result<()> {
        const IMPORTS: usize = 5;
        let (copy, plain) = (self.path("copy.db"), self.path("plain.db"));
        for _ in 0..IMPORTS {
            run_command(&mut self.import(&large(), source, &copy))?;
            self.decrypt(&copy, &plain, KEY)?;
            let mut sum = self.strongroom(KEY);
            sum.arg("shell")
                .arg(&plain)
                .arg("SELECT sum(amount) FROM account");
            let sum = read(&mut sum)?;
            ensure!(
                sum.trim() == "1000000",
                "half a transaction was copied: {sum}"
            );
        }
        let mut in_place = self.strongroom(KEY);
        in_place.args(["import", "--from", "sqlcipher", "--in-place"]);
        let replaced = in_place.arg(source).args(KEY_OPTION).status()?;
        ensure!(!replaced.success(), "a database in use was replaced");
        println!("live: {IMPORTS} imports while SQLCipher wrote");
        Ok(())
    }

    fn start_writer(&self, path: &Path) -> anyhow::Result<Child> {
        let mut writer = self
            .peer()
            .arg("live")
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the writer")?;
        let output = writer.stdout.take().context("its output is piped")?;
        let mut line = String::new();
        let mut output = BufReader::new(output);
        output.read_line(&mut line)?;
        if line.trim() != "began" {
            bail!("the writer did not begin");
        }
        // The pipe must be drained, or the writer would block.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::stdout()));
        Ok(writer)
    }
}

fn large() -> Case {
    Case {
        name: "large".to_owned(),
        key: KEY.to_owned(),
        options: std::collections::BTreeMap::new(),
        leave: None,
    }
}
