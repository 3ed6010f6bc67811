//! Tests the example page as visitors use it: notes are written, locked, exported, deleted and
//! imported, and read after the server is gone.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use browser_session::{Running, Session};
use serde_json::json;

use super::debug::Debug;
use crate::wasm::{self, Built, PACKAGE};

/// Far more than the page needs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// A visitor's actions.
const UNLOCK: &str = "passphrase.value = 'correct horse'; unlock.requestSubmit()";
const NOTES: &[&str] = &[
    "Boarding passes are in the blue folder",
    "Dentist on Thursday at nine",
    "The spare key is with the neighbours",
];

/// Tests the page; saves pictures of it if a folder is given.
pub fn run(built: &Built, pictures: Option<&Path>) -> anyhow::Result<()> {
    let package = wasm::pack(built)?.with_file_name("package");
    let folder = tempfile::tempdir()?;
    let (program, mut debug) = Debug::program(folder.path())?;
    let example = Path::new(PACKAGE).join("example");
    let session = Session::start(Box::new(move |name: &str| {
        let path = match name.strip_prefix("sqlite/") {
            Some(name) => package.join("dist").join(name),
            None => example.join(name),
        };
        fs::read(path).ok()
    }))?;
    let profile = tempfile::tempdir()?;
    let _running = Running::start(&program, profile.path(), &session.url())?;
    let page = debug.page()?;
    let downloads = json!({"behavior": "allow", "downloadPath": folder.path()});
    debug.call(None, "Browser.setDownloadBehavior", &downloads)?;
    let size = json!({"width": 800, "height": 560, "deviceScaleFactor": 1, "mobile": false});
    debug.call(Some(&page), "Emulation.setDeviceMetricsOverride", &size)?;
    let mut visit = Visit { debug, page };

    visit.until("document.readyState === 'complete' && unlock.onsubmit")?;
    visit.picture(pictures, "locked")?;
    visit.act(UNLOCK)?;
    visit.until("!notes.hidden")?;
    for (index, note) in NOTES.iter().enumerate() {
        visit.act(&format!(
            "text.value = {}; add.requestSubmit()",
            json!(note)
        ))?;
        visit.until(&format!("list.children.length === {}", index + 1))?;
    }
    visit.picture(pictures, "notes")?;
    visit.act("document.getElementById('export').click()")?;
    let file = exported(&folder.path().join("notes.db"))?;
    visit.act("document.getElementById('close').click()")?;
    visit.until("notes.hidden && list.children.length === 0")?;
    visit.act("passphrase.value = 'a wrong one'; unlock.requestSubmit()")?;
    visit.until("said.textContent.includes('not the passphrase') && notes.hidden")?;

    visit.act(UNLOCK)?;
    visit.until("!notes.hidden")?;
    visit.act("remove.click(); setTimeout(() => remove.click(), 100)")?;
    visit.until("notes.hidden && said.textContent.includes('deleted')")?;
    visit.choose("#import", &file)?;
    visit.until("said.textContent.includes('is here now')")?;
    visit.act(UNLOCK)?;
    visit.until(&format!("list.children.length === {}", NOTES.len()))?;

    visit.until("navigator.serviceWorker.controller !== null")?;
    // The server is gone.
    drop(session);
    visit
        .debug
        .call(Some(&visit.page), "Page.reload", &json!({}))?;
    visit.until("document.readyState === 'complete' && !unlock.hidden && unlock.onsubmit")?;
    visit.act(UNLOCK)?;
    visit.until(&format!("list.children.length === {}", NOTES.len()))
}

/// The page in a browser.
struct Visit {
    debug: Debug,
    page: String,
}

impl Visit {
    /// Element names are global variables, except some with other meanings.
    fn expression(text: &str) -> String {
        const NAMES: &str = "const [passphrase, unlock, notes, add, text, list, said, remove] = \
            'passphrase unlock notes add text list said remove'.split(' ') \
            .map((name) => document.getElementById(name));";
        format!("(() => {{ {NAMES} {text} }})()")
    }

    fn act(&mut self, text: &str) -> anyhow::Result<()> {
        let expression = Self::expression(text);
        self.debug.evaluate(&self.page, &expression).map(drop)
    }

    /// Waits for a condition.
    fn until(&mut self, condition: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        let expression = Self::expression(&format!("return Boolean({condition})"));
        loop {
            // While a page is loading there is none, or it is empty.
            let holds = self.debug.evaluate(&self.page, &expression);
            if matches!(&holds, Ok(value) if value == true) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                let said = self
                    .debug
                    .evaluate(&self.page, "document.getElementById('said')?.textContent");
                bail!("{condition} does not come true: {holds:?}, the page says {said:?}");
            }
            thread::sleep(PAUSE);
        }
    }

    /// Chooses a file in a field.
    fn choose(&mut self, field: &str, file: &Path) -> anyhow::Result<()> {
        let page = Some(self.page.as_str());
        let document = self.debug.call(page, "DOM.getDocument", &json!({}))?;
        let place = json!({"nodeId": document["root"]["nodeId"], "selector": field});
        let node = self.debug.call(page, "DOM.querySelector", &place)?;
        let files = json!({"nodeId": node["nodeId"], "files": [file]});
        self.debug
            .call(page, "DOM.setFileInputFiles", &files)
            .map(drop)
    }

    fn picture(&mut self, folder: Option<&Path>, name: &str) -> anyhow::Result<()> {
        let Some(folder) = folder else {
            return Ok(());
        };
        let to = folder.join(format!("notes-{name}.png"));
        self.debug.picture(&self.page, None, &to)
    }
}

/// The exported file, which must be unreadable.
fn exported(path: &Path) -> anyhow::Result<std::path::PathBuf> {
    let began = Instant::now();
    while !path.is_file() {
        ensure!(began.elapsed() < PATIENCE, "nothing was exported");
        thread::sleep(PAUSE);
    }
    let bytes = fs::read(path).context("the exported file")?;
    ensure!(
        bytes.starts_with(b"Strongroom db"),
        "this is no encrypted database"
    );
    for note in NOTES {
        let is_there = bytes
            .windows(note.len())
            .any(|part| part == note.as_bytes());
        ensure!(!is_there, "a note can be read in the exported file");
    }
    Ok(path.to_owned())
}
