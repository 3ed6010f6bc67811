//! The tests of the package for browsers, in real browsers: `packages/sqlite/tests`, and of the
//! packed package: `packages/sqlite/consumers`.
//!
//! Each test runs in a worker of its own, in one page. What a page cannot do is done here: to serve
//! vectors and files of the native program, and to end browsers in the midst of commits.

mod consumers;
mod exchange;
mod page;
mod power;

use std::time::Instant;

use anyhow::{bail, ensure};
use browser_session::Browser;

use self::page::Page;
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
    /// How often a worker is ended in the midst of commits, in each browser.
    fn worker_ends(self) -> u32 {
        match self {
            Extent::Slice => 10,
            Extent::Whole => 75,
        }
    }

    /// How often a browser is.
    fn browser_ends(self) -> u32 {
        match self {
            Extent::Slice => 3,
            Extent::Whole => 25,
        }
    }

    /// How often a process of Node is, for each kind of journal.
    fn process_ends(self) -> u32 {
        match self {
            Extent::Slice => 5,
            Extent::Whole => 50,
        }
    }
}

/// Runs everything in Chromium and Firefox.
pub fn run(extent: Extent) -> anyhow::Result<()> {
    let built = wasm::build(extent == Extent::Whole)?;
    let mut failed = Vec::new();
    let start = Instant::now();
    let count = consumers::run(&built, extent, &mut failed)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("the package: {count} consumers ({seconds:.1} s)");
    for browser in [Browser::Chromium, Browser::Firefox] {
        let start = Instant::now();
        let count = run_in(browser, &built, extent, &mut failed)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{}: {count} tests ({seconds:.1} s)", browser.name());
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Prints what sealing and opening of pages, key derivation and opening of databases cost.
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
    failed: &mut Vec<String>,
) -> anyhow::Result<usize> {
    let mut page = Page::open(browser, built)?;
    let (mut names, of_clients) = (page.names()?, page.client_names()?);
    ensure!(
        !names.is_empty() && !of_clients.is_empty(),
        "there are no tests"
    );
    names.extend(of_clients);
    let mut results: Vec<(String, anyhow::Result<()>)> = Vec::new();
    for name in names {
        let result = page.test(&name);
        results.push((name, result));
    }
    results.push((
        format!(
            "{} ends of a worker in the midst of commits",
            extent.worker_ends()
        ),
        page.end_workers(extent.worker_ends()),
    ));
    results.push((
        format!(
            "{} ends of the browser in the midst of commits",
            extent.browser_ends()
        ),
        power::run(&mut page, extent.browser_ends()),
    ));
    results.push((
        "databases go to the native program and back".to_owned(),
        exchange::run(&mut page),
    ));
    let count = results.len();
    for (name, result) in results {
        if let Err(error) = result {
            println!("FAIL {}: {name}: {error:#}", browser.name());
            failed.push(format!("{}: {name}", browser.name()));
        }
    }
    Ok(count)
}
