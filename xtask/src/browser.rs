//! Runs the tests of the package for browsers in real browsers: `packages/sqlite/tests`, and those
//! of the packed package: `packages/sqlite/consumers`.
//!
//! Each test runs in a separate worker, in one page. This module does what a page cannot: it serves
//! vectors and files of the native program, and ends browsers in the middle of commits.

mod consumers;
pub mod debug;
mod example;
mod exchange;
mod page;
mod passkey;
mod power;
mod quota;
mod results;

use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use anyhow::{bail, ensure};
use browser_session::Browser;

use self::page::Page;
use self::results::Results;
use crate::wasm::{self, Built};

/// How much is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What belongs to every test.
    Slice,
    /// As often as the product promises.
    Whole,
}

impl Extent {
    /// How often a worker is ended in the middle of commits, in each browser.
    fn worker_ends(self) -> u32 {
        match self {
            Extent::Slice => 10,
            Extent::Whole => 75,
        }
    }

    /// How often a browser is ended.
    fn browser_ends(self) -> u32 {
        match self {
            Extent::Slice => 3,
            Extent::Whole => 25,
        }
    }

    /// How often a Node process is ended, for each kind of journal.
    fn process_ends(self) -> u32 {
        match self {
            Extent::Slice => 5,
            Extent::Whole => 50,
        }
    }
}

/// Which tests to run.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Run the tests whose names hold this text alone.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Run them as often as `cargo xtask test` does, on the module that takes less time to build.
    #[arg(long)]
    short: bool,
    /// Take pictures of the example page, into this folder.
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
}

/// Runs the part that belongs to `cargo xtask test`.
pub fn run_slice() -> anyhow::Result<()> {
    run(&Options {
        short: true,
        ..Options::default()
    })
}

/// Runs the tests in Chromium and Firefox.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let extent = match options.short {
        true => Extent::Slice,
        false => Extent::Whole,
    };
    let built = wasm::build(extent == Extent::Whole)?;
    type Test<'a> = &'a dyn Fn(&mut Results) -> anyhow::Result<()>;
    let part = |name: &str, test: Test<'_>| {
        let mut results = Results::new(options.name.clone());
        let start = Instant::now();
        test(&mut results)?;
        let (count, seconds) = (results.count(), start.elapsed().as_secs_f64());
        println!("{name}: {count} tests ({seconds:.1} s)");
        anyhow::Ok(results)
    };
    let package = part("the package", &|results| {
        consumers::run(&built, extent, results)
    })?;
    let example = part("the example", &|results| {
        results.run("the example page keeps notes", || {
            example::run(&built, options.pictures.as_deref())
        });
        Ok(())
    })?;
    // At the same time: each browser waits for its storage and for processes that are ended.
    let in_browser = |browser: Browser| {
        part(browser.name(), &|results| {
            run_in(browser, &built, extent, results)
        })
    };
    let (chromium, firefox) = thread::scope(|scope| {
        let firefox = scope.spawn(|| in_browser(Browser::Firefox));
        let chromium = in_browser(Browser::Chromium);
        (chromium, firefox.join().expect("tests do not panic"))
    });
    let parts = [package, example, chromium?, firefox?];
    ensure!(
        parts.iter().any(|results| results.count() > 0),
        "no test has such a name"
    );
    let failed: Vec<&str> = parts.iter().flat_map(Results::failed).collect();
    match failed.as_slice() {
        [] => Ok(()),
        failed => bail!("failed: {}", failed.join(", ")),
    }
}

/// Prints the cost of sealing and opening pages, of key derivation and of opening databases.
pub fn measure() -> anyhow::Result<()> {
    let built = wasm::build(true)?;
    for browser in [Browser::Chromium, Browser::Firefox] {
        let mut page = Page::open(browser, &built)?;
        let costs = page.task("costs", &serde_json::Value::Null)?;
        println!("{}", browser.name());
        for (name, cost) in costs.as_object().into_iter().flatten() {
            println!("{:>10.2}  {name}", cost.as_f64().unwrap_or_default());
        }
    }
    Ok(())
}

fn run_in(
    browser: Browser,
    built: &Built,
    extent: Extent,
    results: &mut Results,
) -> anyhow::Result<()> {
    let named = |name: &str| format!("{}: {name}", browser.name());
    let mut page = Page::open(browser, built)?;
    let (mut names, of_clients) = (page.names()?, page.client_names()?);
    ensure!(
        !names.is_empty() && !of_clients.is_empty(),
        "there are no tests"
    );
    names.extend(of_clients);
    for name in names {
        results.run(&named(&name), || page.test(&name));
    }
    let times = extent.worker_ends();
    results.run(
        &named(&format!("{times} ends of a worker in the midst of commits")),
        || page.end_workers(times),
    );
    let times = extent.browser_ends();
    results.run(
        &named(&format!(
            "{times} ends of the browser in the midst of commits"
        )),
        || power::run(&mut page, times),
    );
    results.run(
        &named("databases go to the native program and back"),
        || exchange::run(&mut page),
    );
    drop(page);
    results.run(&named("a quota is used up"), || quota::run(browser, built));
    if browser == Browser::Chromium {
        results.run(&named("passkeys"), || passkey::run(built));
    }
    Ok(())
}
