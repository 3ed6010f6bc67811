//! `strongroom compare`: runs a workload on several engines and writes the report.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use lab::custom::FolderError;
use lab::engine::{EngineOptions, Mode, Profile};
use lab::machine::Machine;
use lab::results::{FORMAT, Header, WorkloadHead};
use lab::run::{Existing, Plan, moment, this_program};
use workloads::{Dialect, Spec};

use crate::compare_output::{Output, say};
use crate::compare_progress::{Display, explain_resuming_on_interrupt};
use crate::engine_arguments::{EngineArguments, arguments};
use crate::workload;

/// Name of the subcommand that makes this program a worker.
pub const WORKER_COMMAND: &str = "lab-worker";

/// How long rounds of a quick run may take: with the page it ends within a minute. Where a commit
/// waits long for the disk, three rounds take several.
const QUICK: Duration = Duration::from_secs(50);

/// Name of the subcommand that makes this program a keeper.
pub const KEEPER_COMMAND: &str = "lab-keeper";

/// Compare engines: time the same tests on each and write a page
#[derive(Debug, Parser)]
pub struct Args {
    /// Engines to compare, separated by commas; the first is the reference [default: sqlite,
    /// strongroom, sqlite-mmap, sqlite-nosync, strongroom-nosync, sqlite-again; for `tpcc`
    /// postgres, every proxy that is available, and the proxy's engine in process]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    engines: Vec<String>,

    /// Rounds; in each, every engine runs all tests once (10 or more give intervals) [default: 12;
    /// for `tpcc` 3, as published]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,

    /// Three rounds, or as many as end within a minute, at least one; no intervals
    #[arg(long, conflicts_with = "repetitions")]
    quick: bool,

    /// Folder for the page, the samples and, while a test runs, its database
    #[arg(long, default_value = "report", value_name = "DIR")]
    out: PathBuf,

    /// List the engines and workloads, and do nothing else
    #[arg(long)]
    list: bool,

    /// Seed of the order of the engines
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Workload to run, or the folder of one of your own, as ./my-app
    #[arg(long, default_value = "speed", value_name = "NAME")]
    workload: String,

    #[command(flatten)]
    parameters: workload::Parameters,

    #[command(flatten)]
    pub(crate) further: EngineArguments,

    /// How statements reach the engines: through their interface for programs, or as a script that
    /// their own shell reads, a process per test
    #[arg(long, value_enum, default_value = "direct", value_name = "MODE")]
    mode: ModeArgument,

    /// Continue the run in the folder, or fail [default: continue it if it is of the same program,
    /// workload, engines and machine and lacks something, else set it aside and begin anew]
    #[arg(long, conflicts_with = "fresh")]
    resume: bool,

    /// Set an older run in the folder aside and begin anew
    #[arg(long)]
    fresh: bool,

    /// Measure nothing: write the page again from the samples in the folder
    #[arg(long, conflicts_with_all = ["fresh", "resume"])]
    redraw: bool,

    /// Show no progress, and print no table
    #[arg(long)]
    quiet: bool,

    /// Print the result as one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// [`Mode`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArgument {
    Direct,
    Script,
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Direct => Mode::Direct,
            ModeArgument::Script => Mode::Script,
        }
    }
}

/// Runs `strongroom compare`.
pub fn run(args: Args) -> anyhow::Result<()> {
    if args.list {
        return list(&args.further.options()?);
    }
    let output = Output {
        folder: &args.out,
        quick: args.quick,
        quiet: args.quiet,
        json: args.json,
    };
    if args.redraw {
        return output.redraw();
    }
    let spec = args.parameters.spec(&args.workload)?;
    let options = args.further.options()?;
    let engines = profiles(&args.engines, &spec, &options)?;
    for engine in &engines {
        // Reported here, and not by a worker in the middle of the run.
        lab::custom::check(&spec, engine.dialect).map_err(|error| match error {
            FolderError::Build(_) => anyhow::Error::new(error)
                .context(format!("engine `{}` cannot take part", engine.name)),
            of_the_folder => of_the_folder.into(),
        })?;
    }
    let reference = engines
        .first()
        .map_or(Dialect::Sqlite, |engine| engine.dialect);
    let workload = lab::custom::build(&spec, reference)?;
    let spec = lab::custom::pinned(spec, &workload);
    let head = WorkloadHead::new(spec, &workload);
    // Some texts are large, and this one is not needed while the workers run.
    drop(workload);
    let mut display = Display::new(head.tests.clone());
    let plan = plan(&args, head, engines, options)?;
    let quiet = args.quiet || args.json;
    if !quiet {
        explain_resuming_on_interrupt();
    }
    let outcome = lab::run::run(&plan, &mut |progress| {
        if !quiet {
            display.show(&progress);
        }
    });
    display.finish();
    output.report(&outcome?)
}

/// Looks after a worker.
#[derive(Debug, Parser)]
pub struct KeeperArgs {
    /// The worker's program and arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    worker: Vec<OsString>,
}

/// Starts a worker and makes sure that nothing of it is left behind.
pub fn run_keeper(args: &KeeperArgs) -> anyhow::Result<()> {
    Ok(lab::keeper::keep(&args.worker)?)
}

/// Runs one pass in this process, as requested on standard input.
pub fn run_worker() -> anyhow::Result<()> {
    lab::keeper::end_with_keeper();
    let mut output = io::stdout().lock();
    Ok(lab::worker::serve(
        io::stdin().lock(),
        &mut output,
        lab_engines::named,
    )?)
}

fn plan(
    args: &Args,
    workload: WorkloadHead,
    engines: Vec<Profile>,
    options: EngineOptions,
) -> anyhow::Result<Plan> {
    fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create the folder {}", args.out.display()))?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let is_tpcc = matches!(workload.spec, Spec::Tpcc { .. });
    Ok(Plan {
        header: Header {
            format: FORMAT,
            began: moment(),
            program: this_program(env!("CARGO_PKG_VERSION"))?,
            workload,
            mode: args.mode.into(),
            engines,
            engine_arguments: arguments(&options),
            seed: args.seed,
            machine: Machine::describe(&args.out),
        },
        options,
        rounds: match args.repetitions {
            Some(rounds) => rounds,
            None if is_tpcc || args.quick => 3,
            None => 12,
        },
        time_limit: args.quick.then_some(QUICK),
        folder: args.out.clone(),
        worker: vec![
            program.clone(),
            KEEPER_COMMAND.into(),
            program,
            WORKER_COMMAND.into(),
        ],
        // Its databases are probed by the other workloads.
        probe: !is_tpcc,
        existing: match (args.resume, args.fresh) {
            (true, _) => Existing::Continued,
            (_, true) => Existing::SetAside,
            (false, false) => Existing::Either,
        },
    })
}

/// The default engines of a run. Column engines that are not available are left out, with a
/// message.
fn default_names(spec: &Spec, options: &EngineOptions) -> Vec<&'static str> {
    if !matches!(spec, Spec::Tpcc { .. }) {
        return lab_engines::DEFAULT.to_vec();
    }
    let is_available = |name: &&str| {
        let engine = lab_engines::named(name, options);
        let ours = engine.filter(|engine| {
            lab_engines::COLUMN_FAMILIES.contains(&engine.profile().family.as_str())
        });
        let Some(missing) = ours.and_then(|engine| engine.missing()) else {
            return true;
        };
        // Nobody reads standard error: no reason to stop.
        drop(writeln!(io::stderr(), "{name} is left out: {missing}"));
        false
    };
    lab_engines::DEFAULT_TPCC
        .into_iter()
        .filter(is_available)
        .collect()
}

fn profiles(
    names: &[String],
    spec: &Spec,
    options: &EngineOptions,
) -> anyhow::Result<Vec<Profile>> {
    let names: Vec<&str> = if names.is_empty() {
        default_names(spec, options)
    } else {
        names.iter().map(String::as_str).collect()
    };
    let mut profiles: Vec<Profile> = Vec::new();
    for name in names {
        let Some(engine) = lab_engines::named(name, options) else {
            if lab_engines::is_left_out(name) {
                bail!(
                    "engine `{name}` is not in this build of the program; build it with all \
                     features: `cargo build --release --features full`"
                );
            }
            bail!("there is no engine `{name}`; `compare --list` shows those there are");
        };
        if profiles.iter().any(|profile| profile.name == name) {
            bail!("engine `{name}` is named twice; `sqlite-again` is there to be its double");
        }
        if let Some(missing) = engine.missing() {
            bail!("engine `{name}` cannot take part: {missing}");
        }
        if matches!(spec, Spec::Tpcc { .. }) && engine.terminals().is_none() {
            bail!(
                "engine `{name}` has no terminals for `tpcc`; there are: {}",
                lab_engines::DEFAULT_TPCC.join(", ")
            );
        }
        let profile = engine.profile();
        if !matches!(spec, Spec::Tpcc { .. }) && profile.family == lab_engines::IN_PROCESS_FAMILY {
            bail!("engine `{name}` has terminals only: it runs workload `tpcc`");
        }
        profiles.push(profile.clone());
    }
    Ok(profiles)
}

fn list(options: &EngineOptions) -> anyhow::Result<()> {
    let mut text = String::from("Engines (* in a run for which none are named):\n");
    for engine in lab_engines::all(options) {
        let profile = engine.profile();
        let mark = if lab_engines::DEFAULT.contains(&profile.name.as_str()) {
            '*'
        } else {
            ' '
        };
        text += &format!("{mark} {:<36} {}\n", profile.name, profile.description);
    }
    text += "\nWorkloads:\n";
    for (name, description) in workloads::CATALOGUE {
        text += &format!("  {name:<36} {description}\n");
    }
    text += &format!("  {:<36} {}\n", "./FOLDER", workloads::custom::DESCRIPTION);
    say(&text)
}
