//! Tests the package as users get it: packed, installed into projects outside of the tree, and
//! built by bundlers, in Node, and without a build step (`packages/sqlite/consumers`).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use browser_session::{Browser, Program, Running, Session};
use serde_json::Value;
use tempfile::TempDir;

use super::Extent;
use super::results::Results;
use crate::command::{program, run as run_command};
use crate::npm;
use crate::wasm::{self, Built, PACKAGE};

/// Far more than a page needs for its databases on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The expected answers of the pages.
const EXPECTED: &str = "expected.json";

/// The parts that need other libraries, which a page without a bundler does not load.
const OF_LIBRARIES: &[&str] = &["kysely", "drizzle"];

/// Settings of TypeScript that consumers have.
const SETTINGS: &[&str] = &[
    "types/bundler.json",
    "types/node16.json",
    "types/drizzle.json",
];

const NODE: &str = "Node";

/// How each page is built into `built/NAME`.
const PAGES: &[(&str, &[&str])] = &[
    (
        "vite",
        &[
            "node_modules/vite/bin/vite.js",
            "build",
            "vite",
            "--logLevel=warn",
        ],
    ),
    ("webpack", &["webpack/build.js"]),
    ("plain", &["plain/build.js"]),
];

/// Prefix of these tests' names.
const PART: &str = "package: ";

/// Tests the packed package.
pub fn run(built: &Built, extent: Extent, results: &mut Results) -> anyhow::Result<()> {
    let names = SETTINGS.iter().chain(PAGES.iter().map(|(name, _)| name));
    if !names
        .chain([&NODE])
        .any(|name| results.wants(&format!("{PART}{name}")))
    {
        return Ok(());
    }
    let project = install(&wasm::pack(built)?)?;
    let folder = project.path();
    for settings in SETTINGS {
        let compiler = ["node_modules/typescript/bin/tsc", "--project", settings];
        results.run(&format!("{PART}{settings}"), || node(folder, &compiler));
    }
    results.run(&format!("{PART}{NODE}"), || tests_of_node(folder, extent));
    let expected: Value = serde_json::from_slice(&fs::read(folder.join(EXPECTED))?)?;
    for (name, builder) in PAGES {
        results.run(&format!("{PART}{name}"), || {
            node(folder, builder)?;
            compare(folder, name, &expected)
        });
    }
    Ok(())
}

/// A project outside of the tree, so that it finds nothing of the tree by accident.
fn install(tarball: &Path) -> anyhow::Result<TempDir> {
    let project = tempfile::tempdir()?;
    copy(&Path::new(PACKAGE).join("consumers"), project.path())?;
    run_command(&mut npm::command("ci", project.path()))
        .context("the bundlers that packages/sqlite is tested with cannot be had")?;
    let mut install = npm::command("install", project.path());
    // Installs the versions of the lock file.
    install
        .args(["--no-save", "--no-package-lock"])
        .arg(tarball);
    run_command(&mut install).context("the packed package cannot be installed")?;
    Ok(project)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true if entry.file_name() == "node_modules" => {}
            true => copy(&path, &target)?,
            false => fs::copy(&path, &target).map(drop)?,
        }
    }
    Ok(())
}

fn node(folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    run_command(program("node").args(arguments).current_dir(folder))
}

fn tests_of_node(folder: &Path, extent: Extent) -> anyhow::Result<()> {
    let tests = ["node/scenario.test.js", "node/files.test.js"];
    run_command(
        program("node")
            .args(["--test", "--test-reporter=dot"])
            .args(tests)
            .env("STRONGROOM_KILLS", extent.process_ends().to_string())
            .current_dir(folder),
    )
}

/// Opens a built page in Chromium, and compares its answers.
fn compare(folder: &Path, name: &str, expected: &Value) -> anyhow::Result<()> {
    let root = folder.join("built").join(name);
    let found = answer(root)?;
    let mut expected = expected.clone();
    if found.get(OF_LIBRARIES[0]).is_none()
        && let Some(parts) = expected.as_object_mut()
    {
        ensure!(
            name == "plain",
            "{name} did not run what needs other libraries"
        );
        parts.retain(|part, _| !OF_LIBRARIES.contains(&part.as_str()));
    }
    ensure!(found == expected, "the page found {found}");
    Ok(())
}

fn answer(root: PathBuf) -> anyhow::Result<Value> {
    let program = Program::find(Browser::Chromium).context("Chromium is missing")?;
    let mut session = Session::start(Box::new(move |name: &str| fs::read(root.join(name)).ok()))?;
    let profile = tempfile::tempdir()?;
    let running = Running::start(&program, profile.path(), &session.url())?;
    let is_alive = || running.is_alive();
    let answer = session
        .ask(b"{}".to_vec(), PATIENCE, &is_alive)
        .map_err(|error| anyhow!("{error}: {}", running.last_words()))?;
    let mut answer: Value = serde_json::from_slice(&answer)?;
    match answer["error"].take() {
        Value::Null => Ok(answer["value"].take()),
        error => Err(anyhow!("{error}")),
    }
}
