//! Builds with the profile `dist`; the programs contain the list of their dependencies.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use super::musl::{self, Machine};
use crate::built::Built;
use crate::command::{cargo, program, read, run as run_command};
use crate::requirements::{Requirement, has};
use crate::tool::Tool;
use crate::workspace::{self, ALL_FEATURES};

const AUDITABLE: Tool = Tool {
    name: "cargo-auditable",
    version: "0.7.7",
};

const PROFILE: &str = "dist";

/// Required for every C build.
pub const C_COMPILER: Requirement = Requirement {
    name: "a C compiler",
    present: || has("cc"),
    packages: &["gcc", "libc6-dev"],
    remedy: "install a C compiler that is called as `cc`",
};

/// Unpacks the packages for a compiler of static programs.
pub const DPKG: Requirement = Requirement {
    name: "dpkg-deb",
    present: || has("dpkg-deb") && has("apt-get"),
    packages: &["dpkg"],
    remedy: "use Debian 12 or newer",
};

/// The statically linked program.
pub fn static_program(machine: Machine) -> anyhow::Result<PathBuf> {
    let musl = musl::prepare(machine)?;
    let mut command = auditable()?;
    command
        .args(["--package", "strongroom-cli"])
        .args(ALL_FEATURES);
    musl.applied_to(&mut command)?;
    run_command(&mut command)?;
    Ok(output(&machine.target())?.join("strongroom"))
}

/// The program and the libraries, linked against this machine's C library.
pub struct Dynamic {
    pub program: PathBuf,
    pub extension: PathBuf,
    /// For drivers of PostgreSQL.
    pub client: PathBuf,
}

impl From<Dynamic> for Built {
    fn from(dynamic: Dynamic) -> Self {
        Built {
            extension: dynamic.extension,
            client: dynamic.client,
            program: dynamic.program,
        }
    }
}

/// All in one build, since they share most of it.
pub fn dynamic() -> anyhow::Result<Dynamic> {
    let host = host()?;
    let mut command = auditable()?;
    command
        .args(["--package", "strongroom-cli"])
        .args(["--package", "strongroom-sqlite-extension"])
        .args(["--package", "strongroom-postgres-c"])
        .args(ALL_FEATURES)
        // With an explicit target, cargo does not build in `target/dist`, where the artefacts are.
        .args(["--target", &host]);
    run_command(&mut command)?;
    let folder = output(&host)?;
    Ok(Dynamic {
        program: folder.join("strongroom"),
        extension: folder.join("libstrongroom.so"),
        client: folder.join("libstrongroom_client.so"),
    })
}

/// A build by `cargo auditable`.
fn auditable() -> anyhow::Result<Command> {
    let tool = AUDITABLE.find_or_install()?;
    let mut command = program(&tool.to_string_lossy());
    command
        .args(["auditable", "build", "--quiet", "--locked"])
        .args(["--profile", PROFILE])
        .env("CARGO", cargo().get_program());
    Ok(command)
}

fn output(target: &str) -> anyhow::Result<PathBuf> {
    Ok(workspace::target_folder()?.join(target).join(PROFILE))
}

fn host() -> anyhow::Result<String> {
    let said = read(program("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}
