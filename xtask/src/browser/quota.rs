//! Exhausts an origin's quota, and checks what works after some space is freed.

use anyhow::{Context, ensure};
use browser_session::{Browser, Program};
use serde_json::json;

use super::debug::Debug;
use super::page::Page;
use crate::wasm::Built;

/// What the origin gets.
const QUOTA: u64 = 24 << 20;

/// Other data in the origin, which is removed to make room.
const BALLAST: u64 = 12 << 20;

pub fn run(browser: Browser, built: &Built) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut page = match browser {
        Browser::Firefox => {
            let program = Program::find(browser).context("Firefox is missing")?;
            Page::start(program, built, "127.0.0.1", Some(&settings()))?
        }
        _ => {
            let (program, mut debug) = Debug::program(folder.path())?;
            let mut page = Page::start(program, built, "127.0.0.1", None)?;
            page.names()?;
            let session = debug.page()?;
            let limit = json!({"origin": page.origin(), "quotaSize": QUOTA});
            debug.call(Some(&session), "Storage.overrideQuotaForOrigin", &limit)?;
            // The limit lasts as long as the connection.
            return fill(&mut page).map(|()| drop(debug));
        }
    };
    fill(&mut page)
}

fn fill(page: &mut Page) -> anyhow::Result<()> {
    for mode in ["delete", "wal"] {
        let step = json!({"mode": mode, "ballast": BALLAST});
        let rows = page.task("fill the quota", &step)?;
        ensure!(rows.as_u64() > Some(0), "{mode}: {rows} rows were written");
    }
    Ok(())
}

/// Firefox limits all origins together to this much, and a single one to a fifth of it, but at
/// least ten megabytes.
fn settings() -> String {
    let kibibytes = 5 * (QUOTA >> 10);
    format!("user_pref(\"dom.quotaManager.temporaryStorage.fixedLimit\", {kibibytes});\n")
}
