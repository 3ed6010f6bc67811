//! Kills a browser in the middle of commits, and checks what is there after a restart.

use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use super::page::Page;

const NAME: &str = "power.db";

/// Kills the browser this many times, each time at another point.
pub fn run(page: &mut Page, times: u32) -> anyhow::Result<()> {
    let place = json!({"name": NAME});
    page.task("create", &place)?;
    let mut committed = 0;
    for time in 0..times {
        page.begin_commits(NAME, committed)?;
        thread::sleep(Duration::from_millis(u64::from(time * 13 % 97)));
        page.end_and_start_again()?;
        // What was reported before the browser ended.
        let reported = page.committed();
        let found = page
            .task("look", &place)
            .with_context(|| format!("after {time} ends"))?;
        let rows = found["rows"].as_u64().unwrap_or_default();
        ensure!(
            found["check"] == "ok",
            "after {time} ends: {}",
            found["check"]
        );
        // The last commit may not have been reported.
        ensure!(
            rows == reported || rows == reported + 1,
            "after {time} ends: {rows} rows where {reported} were committed"
        );
        committed = rows;
    }
    ensure!(
        committed >= u64::from(times),
        "only {committed} were committed"
    );
    Ok(())
}
