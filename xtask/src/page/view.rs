//! A Chromium that shows pages of a folder, with a given window size and colour scheme, in DejaVu:
//! the widest of the usual fonts, and the same on each machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use browser_session::{Browser, Program, Running, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::debug::Debug;

/// Far more than a page needs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The preferred colour scheme.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Light => "light",
            Scheme::Dark => "dark",
        }
    }
}

/// The browser, on one page.
pub struct View {
    debug: Debug,
    page: String,
    url: String,
    _session: Session,
    _running: Running,
    _folder: TempDir,
}

impl View {
    /// Starts a browser with a server for the folder.
    pub fn open(pages: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (program, mut debug) = Debug::program(folder.path())?;
        let program = with_one_font(&program, folder.path())?;
        let pages = pages.to_owned();
        let session = Session::start(Box::new(move |name: &str| match name {
            EMPTY => Some(b"<!doctype html><title>empty</title>".to_vec()),
            name => fs::read(pages.join(name)).ok(),
        }))?;
        let url = session.url();
        let running = Running::start(&program, folder.path(), &format!("{url}{EMPTY}"))?;
        let page = debug.page()?;
        Ok(Self {
            debug,
            page,
            url,
            _session: session,
            _running: running,
            _folder: folder,
        })
    }

    /// Loads a page of the folder in a window of that size.
    pub fn show(
        &mut self,
        file: &str,
        (width, height): (u32, u32),
        scheme: Scheme,
    ) -> anyhow::Result<()> {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        self.call("Emulation.setScrollbarsHidden", &json!({"hidden": true}))?;
        let preferred = [json!({"name": "prefers-color-scheme", "value": scheme.name()})];
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({"features": preferred}),
        )?;
        // Navigates away first, so that the previous page is not mistaken for the new one.
        for name in [EMPTY, file] {
            let url = format!("{}{name}", self.url);
            self.call("Page.navigate", &json!({ "url": url }))?;
            self.wait_for(&url)?;
        }
        Ok(())
    }

    /// Enables or disables scripts in pages.
    pub fn set_scripts(&mut self, run: bool) -> anyhow::Result<()> {
        let value = json!({ "value": !run });
        self.call("Emulation.setScriptExecutionDisabled", &value)
    }

    /// Presses the space bar, which acts on the focused element.
    pub fn press_space(&mut self) -> anyhow::Result<()> {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": " ", "code": "Space", "text": " ", "windowsVirtualKeyCode": 32,
            });
            self.call("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// The value of an expression.
    pub fn evaluate(&mut self, expression: &str) -> anyhow::Result<Value> {
        self.debug.evaluate(&self.page, expression)
    }

    pub fn number(&mut self, expression: &str) -> anyhow::Result<u64> {
        let value = self.evaluate(expression)?;
        value
            .as_u64()
            .with_context(|| format!("{expression} is {value}"))
    }

    pub fn texts(&mut self, expression: &str) -> anyhow::Result<Vec<String>> {
        Ok(serde_json::from_value(self.evaluate(expression)?)?)
    }

    /// A screenshot of this size.
    pub fn picture(&mut self, to: &Path, size: (u32, u64)) -> anyhow::Result<()> {
        self.debug.picture(&self.page, Some(size), to)
    }

    fn call(&mut self, method: &str, parameters: &Value) -> anyhow::Result<()> {
        self.debug
            .call(Some(&self.page), method, parameters)
            .map(drop)
    }

    fn wait_for(&mut self, url: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        let there = format!("location.href === '{url}' && document.readyState === 'complete'");
        loop {
            // While a page is loading, nothing can be evaluated.
            if matches!(self.evaluate(&there), Ok(value) if value == true) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                bail!("{url} is not shown");
            }
            thread::sleep(PAUSE);
        }
    }
}

/// A page without anything.
const EMPTY: &str = "empty.html";

/// The program, with only the fonts of Debian's package fonts-dejavu-core.
fn with_one_font(program: &Program, folder: &Path) -> anyhow::Result<Program> {
    let fonts = folder.join("fonts.conf");
    let text = format!(
        "<?xml version=\"1.0\"?><fontconfig><dir>{FONTS}</dir><cachedir>{}</cachedir>\
         <include ignore_missing=\"yes\">{RULES}</include></fontconfig>",
        folder.join("fonts").display()
    );
    fs::write(&fonts, text)?;
    let script = folder.join("chromium-with-one-font");
    let text = format!(
        "#!/bin/sh\nFONTCONFIG_FILE='{}' exec '{}' \"$@\"\n",
        fonts.display(),
        program.path().display()
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
    Ok(Program::at(Browser::Chromium, script))
}

/// The folder of the fonts.
pub const FONTS: &str = "/usr/share/fonts/truetype/dejavu";

/// The system's fontconfig rules.
const RULES: &str = "/etc/fonts/conf.d";
