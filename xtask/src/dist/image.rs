//! `image`: a container image with only the static program, built with the repository's Dockerfile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::build::{self, C_COMPILER, DPKG};
use super::sandbox::{self, UNSHARE};
use super::{Context, Part, musl};
use crate::command::{program, read, run as run_command};
use crate::requirements::{Requirement, has};

pub const PART: Part = Part {
    name: "image",
    needs: &[C_COMPILER, DPKG, UNSHARE, BUILDAH],
    make,
    check,
};

/// Docker's builder needs a running daemon; this one does not.
const BUILDAH: Requirement = Requirement {
    name: "buildah",
    present: || has("buildah"),
    packages: &["buildah"],
    remedy: "install buildah, which builds images without a service",
};

/// The user of the image, who owns nothing.
const USER: &str = "65532:65532";

fn path(context: &Context) -> PathBuf {
    let name = format!("strongroom-{}-x86_64-image.tar", context.version);
    context.artefacts.join(name)
}

fn tag(context: &Context) -> String {
    format!("localhost/strongroom:{}", context.version)
}

/// buildah with a separate store, so that the user's own images are neither seen nor changed.
fn buildah(context: &Context) -> Command {
    let mut command = program("buildah");
    command
        .args(["--storage-driver", "vfs", "--root"])
        .arg(context.scratch.join("images"))
        .arg("--runroot")
        .arg(context.scratch.join("images-run"));
    command
}

fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let folder = context.empty_folder("image")?;
    let built = build::static_program(musl::X86_64)?;
    fs::copy(built, folder.join("strongroom"))?;
    run_command(
        buildah(context)
            .args(["bud", "--quiet", "--isolation", "chroot"])
            .args(["--build-arg", "PROGRAM=released"])
            .args(["--file", "Dockerfile", "--tag", &tag(context)])
            .arg(&folder),
    )?;
    let path = path(context);
    if path.exists() {
        fs::remove_file(&path)?;
    }
    // The format of `docker load` and `podman load`.
    let archive = format!("docker-archive:{}:{}", path.display(), tag(context));
    run_command(buildah(context).args(["push", "--quiet", &tag(context), &archive]))?;
    Ok(vec![path])
}

fn check(context: &Context) -> anyhow::Result<String> {
    let archive = format!("docker-archive:{}", path(context).display());
    let container = read(buildah(context).args(["from", &archive]))?;
    let container = container.trim();
    let seen = check_container(context, container);
    run_command(
        buildah(context)
            .args(["rm", container])
            .stdout(std::process::Stdio::null()),
    )?;
    seen
}

fn check_container(context: &Context, container: &str) -> anyhow::Result<String> {
    let said = read(buildah(context).args(["inspect", container]))?;
    let inspected: Value = serde_json::from_str(&said)?;
    let config = &inspected["OCIv1"]["config"];
    ensure!(config["User"] == USER, "the user is {}", config["User"]);
    ensure!(
        config["Entrypoint"] == serde_json::json!(["/strongroom"]),
        "the entry point is {}",
        config["Entrypoint"]
    );
    let root = read(buildah(context).args(["mount", container]))?;
    let root = Path::new(root.trim());
    let files = files(root)?;
    ensure!(files == ["strongroom"], "the image holds {files:?}");
    let data = root.join("data");
    run_command(program("chown").arg(USER).arg(&data))?;
    let strongroom = |arguments: &[&str]| -> Command {
        let mut command = program("chroot");
        command
            .env_clear()
            .env("PATH", sandbox::PROGRAMS)
            .arg(format!("--userspec={USER}"))
            .arg(root)
            .arg("/strongroom")
            .args(arguments);
        command
    };
    sandbox::encrypts_and_reads_back(strongroom, "/data", &data)?;
    let bytes = fs::metadata(root.join("strongroom"))?.len();
    Ok(format!(
        "holds /strongroom ({bytes} bytes) and nothing else; in its root, as user {USER}, the \
         program encrypted a database and read it back"
    ))
}

/// The paths of all files in a tree.
fn files(root: &Path) -> anyhow::Result<Vec<String>> {
    let found = read(
        program("find")
            .arg(root)
            .args(["-type", "f", "-printf", "%P\\n"]),
    )
    .context("cannot list the files of the image")?;
    Ok(found.lines().map(str::to_owned).collect())
}
