//! Chromium's debug protocol, for what no page can do: virtual authenticators and quotas.
//!
//! Messages are JSON, each followed by a zero byte, through pipes that the browser has as
//! descriptors 3 and 4 (chromedevtools.github.io/devtools-protocol).

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use browser_session::{Browser, Program};
use serde_json::{Value, json};

use crate::command::run as run_command;

/// The browser answers at once, or when a script has ended: on a busy machine, axe-core has taken
/// more than a minute for a page.
const PATIENCE: Duration = Duration::from_secs(300);

/// A connection to a Chromium's debug protocol.
pub struct Debug {
    to: File,
    from: Receiver<Value>,
    number: u64,
}

impl Debug {
    /// A Chromium that is started with pipes in a folder, and the connection to it.
    pub fn program(folder: &Path) -> anyhow::Result<(Program, Self)> {
        let chromium = Program::find(Browser::Chromium).context("Chromium is missing")?;
        let (requests, answers) = (folder.join("requests"), folder.join("answers"));
        run_command(Command::new("mkfifo").args([&requests, &answers]))?;
        // Opened for reading and writing, so that neither side waits for the other.
        let open = |path: &Path| File::options().read(true).write(true).open(path);
        let (to, answers_read) = (open(&requests)?, open(&answers)?);
        let script = folder.join("chromium");
        let text = format!(
            "#!/bin/sh\nexec '{}' --remote-debugging-pipe \"$@\" 3<'{}' 4>'{}'\n",
            chromium.path().display(),
            requests.display(),
            answers.display()
        );
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
        let (sender, from) = mpsc::channel();
        thread::spawn(move || {
            let mut input = BufReader::new(answers_read);
            let mut message = Vec::new();
            while input.read_until(0, &mut message).is_ok_and(|size| size > 0) {
                message.pop();
                let value = serde_json::from_slice(&message);
                if value.is_ok_and(|value| sender.send(value).is_err()) {
                    return;
                }
                message.clear();
            }
        });
        let debug = Self {
            to,
            from,
            number: 0,
        };
        Ok((Program::at(Browser::Chromium, script), debug))
    }

    /// Sends a command, in the session of a page if one is given.
    pub fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> anyhow::Result<Value> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.to.write_all(format!("{message}\0").as_bytes())?;
        loop {
            let mut answer = self
                .from
                .recv_timeout(PATIENCE)
                .with_context(|| format!("Chromium does not answer {method}"))?;
            // Events have no number.
            if answer["id"] != self.number {
                continue;
            }
            return match answer["error"].take() {
                Value::Null => Ok(answer["result"].take()),
                error => Err(anyhow!("{method}: {error}")),
            };
        }
    }

    /// The value of a JavaScript expression in the page, which may be a promise.
    pub fn evaluate(&mut self, page: &str, expression: &str) -> anyhow::Result<Value> {
        let what = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true,
            "userGesture": true,
        });
        let mut answer = self.call(Some(page), "Runtime.evaluate", &what)?;
        match answer["exceptionDetails"].take() {
            Value::Null => Ok(answer["result"]["value"].take()),
            details => Err(anyhow!(
                "{expression}: {}",
                details["exception"]["description"]
            )),
        }
    }

    /// A screenshot of the page as PNG: its window, or a given size from the top.
    pub fn picture(
        &mut self,
        page: &str,
        size: Option<(u32, u64)>,
        to: &Path,
    ) -> anyhow::Result<()> {
        let mut kind = json!({"format": "png"});
        if let Some((width, height)) = size {
            kind["captureBeyondViewport"] = true.into();
            kind["clip"] = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        }
        let taken = self.call(Some(page), "Page.captureScreenshot", &kind)?;
        let encoded = to.with_extension("base64");
        fs::write(&encoded, taken["data"].as_str().unwrap_or_default())?;
        let mut decode = Command::new("base64");
        decode
            .arg("--decode")
            .arg(&encoded)
            .stdout(File::create(to)?);
        run_command(&mut decode)?;
        fs::remove_file(encoded).with_context(|| format!("cannot tidy up by {}", to.display()))
    }

    /// The session of the page that the browser shows.
    pub fn page(&mut self) -> anyhow::Result<String> {
        let targets = self.call(None, "Target.getTargets", &json!({}))?;
        let pages = targets["targetInfos"].as_array().into_iter().flatten();
        for target in pages.filter(|target| target["type"] == "page") {
            let place = json!({"targetId": target["targetId"], "flatten": true});
            let attached = self.call(None, "Target.attachToTarget", &place)?;
            if let Some(session) = attached["sessionId"].as_str() {
                return Ok(session.to_owned());
            }
        }
        bail!("Chromium shows no page");
    }
}
