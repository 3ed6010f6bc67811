//! `program`, `program-arm64`: the static program with its documents, to be unpacked anywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::build::{self, C_COMPILER, DPKG};
use super::musl::{self, Machine};
use super::sandbox::{self, Sandbox, UNSHARE};
use super::{Context, Part, documents, source};
use crate::command::{program, read, run as run_command};
use crate::requirements::{Requirement, has};

pub const X86_64: Part = Part {
    name: "program",
    needs: &[C_COMPILER, DPKG, UNSHARE],
    make: |context| make(context, musl::X86_64),
    check: |context| check(context, musl::X86_64, None),
};

pub const ARM_64: Part = Part {
    name: "program-arm64",
    needs: &[C_COMPILER, ARM_COMPILER, DPKG, UNSHARE, EMULATOR],
    make: |context| make(context, musl::ARM_64),
    check: |context| check(context, musl::ARM_64, Some(QEMU)),
};

const ARM_COMPILER: Requirement = Requirement {
    name: "a C compiler for aarch64",
    present: || has("aarch64-linux-gnu-gcc"),
    packages: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    remedy: "install GCC for aarch64, as `aarch64-linux-gnu-gcc`",
};

const EMULATOR: Requirement = Requirement {
    name: "qemu for aarch64",
    present: || Path::new(QEMU).is_file(),
    packages: &["qemu-user-static"],
    remedy: "install qemu's static emulator of a user's programs as /usr/bin/qemu-aarch64-static",
};

const QEMU: &str = "/usr/bin/qemu-aarch64-static";

/// Beside the program and its documents.
const FILES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"];

/// The name of the folder inside, and of the file.
fn stem(context: &Context, machine: Machine) -> String {
    format!("strongroom-{}-{}-linux", context.version, machine.processor)
}

/// Where the tarball is.
pub fn path(context: &Context, machine: Machine) -> PathBuf {
    let name = format!("{}.tar.gz", stem(context, machine));
    context.artefacts.join(name)
}

fn make(context: &Context, machine: Machine) -> anyhow::Result<Vec<PathBuf>> {
    let built = build::static_program(machine)?;
    let stem = stem(context, machine);
    let above = context.empty_folder("tarball")?;
    let folder = above.join(&stem);
    fs::create_dir(&folder)?;
    fs::copy(&built, folder.join("strongroom"))?;
    for file in FILES {
        fs::copy(file, folder.join(file)).with_context(|| format!("cannot copy {file}"))?;
    }
    // Those of the program for this machine: another one's does not run here.
    documents::write(&build::static_program(musl::X86_64)?, &folder)?;
    let path = path(context, machine);
    pack(&above, &stem, &path)?;
    Ok(vec![path])
}

/// The same files make the same bytes: names are sorted, and times are that of the commit.
fn pack(above: &Path, stem: &str, to: &Path) -> anyhow::Result<()> {
    run_command(
        program("tar")
            .args(["--create", "--sort=name", "--format=gnu"])
            .args(["--owner=0", "--group=0", "--numeric-owner"])
            .arg(format!("--mtime=@{}", source::time()?))
            .args(["--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n"])
            .arg("--file")
            .arg(to)
            .arg("--directory")
            .args([above, Path::new(stem)]),
    )
}

fn check(context: &Context, machine: Machine, emulator: Option<&str>) -> anyhow::Result<String> {
    let root = context.empty_folder(&format!("check-{}", machine.debian))?;
    run_command(
        program("tar")
            .args(["--extract", "--file"])
            .arg(path(context, machine))
            .arg("--directory")
            .arg(&root),
    )?;
    let unpacked = root.join(stem(context, machine)).join("strongroom");
    is_static(&unpacked)?;
    in_an_empty_environment(&root, &unpacked, emulator)?;
    in_an_empty_root(context, machine, &unpacked, emulator)?;
    Ok(format!(
        "static, {}; unpacked, it encrypted a database and read it back with no variables set, \
         and in a root folder with nothing else",
        dependencies(&unpacked)?
    ))
}

/// No loader and no library of the system is asked for.
fn is_static(file: &Path) -> anyhow::Result<()> {
    let said = read(
        program("readelf")
            .args(["--program-headers", "--dynamic"])
            .arg(file),
    )?;
    ensure!(!said.contains("INTERP"), "the program asks for a loader");
    ensure!(!said.contains("(NEEDED)"), "the program asks for libraries");
    Ok(())
}

/// Whether `cargo auditable` put its list into the program.
fn dependencies(file: &Path) -> anyhow::Result<&'static str> {
    let said = read(program("readelf").args(["--sections", "--wide"]).arg(file))?;
    ensure!(
        said.contains(".dep-v0"),
        "the list of dependencies is missing"
    );
    Ok("with the list of its dependencies")
}

fn in_an_empty_environment(
    root: &Path,
    unpacked: &Path,
    emulator: Option<&str>,
) -> anyhow::Result<()> {
    let folder = root.join("used");
    fs::create_dir(&folder)?;
    let name = folder.to_string_lossy().into_owned();
    let strongroom = |arguments: &[&str]| -> Command {
        let mut command = program(emulator.unwrap_or("env"));
        command.env_clear().current_dir(&folder);
        command.arg(unpacked).args(arguments);
        command
    };
    sandbox::encrypts_and_reads_back(strongroom, &name, &folder)
}

fn in_an_empty_root(
    context: &Context,
    machine: Machine,
    unpacked: &Path,
    emulator: Option<&str>,
) -> anyhow::Result<()> {
    let root = context.empty_folder(&format!("root-{}", machine.debian))?;
    fs::copy(unpacked, root.join("strongroom"))?;
    let mut words = vec!["/strongroom"];
    if let Some(emulator) = emulator {
        fs::copy(emulator, root.join("emulator"))?;
        words.insert(0, "/emulator");
    }
    let sandbox = Sandbox::new(root.clone());
    let strongroom = |arguments: &[&str]| sandbox.command([&words[..], arguments].concat());
    sandbox::encrypts_and_reads_back(strongroom, "", &root)?;
    fs::copy(unpacked, root.join("library"))?;
    refuses_to_load_libraries(&mut strongroom(&LOADING))
}

/// What a static program cannot do.
const LOADING: [&str; 6] = [
    "compare",
    "--quick",
    "--engines",
    "library",
    "--sqlite-library",
    "/library",
];

fn refuses_to_load_libraries(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().context("cannot start unshare")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && said.contains("this program is static"),
        "asked to load a library, it said: {said}"
    );
    Ok(())
}
