//! The page with the tests, in one browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use browser_session::{Browser, Program, Running, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wasm::{Built, PACKAGE};

/// Far more than any test needs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// The folder of vectors, and the path at which the page requests the list of them.
const VECTORS: &str = "vectors/crypto";
const VECTOR_NAMES: &str = "names.json";

/// The request that a page makes after each commit: this, and the number of the commit.
pub const COMMITTED: &str = "committed";

/// A browser with the page of tests.
pub struct Page {
    program: Program,
    /// The browser's profile. It is kept, so that a restarted browser finds its files.
    profile: TempDir,
    session: Session,
    url: String,
    running: Running,
    committed: Arc<AtomicU64>,
    /// Files passed to the page.
    pub exchange: PathBuf,
    _folder: TempDir,
}

impl Page {
    pub fn open(browser: Browser, built: &Built) -> anyhow::Result<Self> {
        let program =
            Program::find(browser).with_context(|| format!("{} is missing", browser.name()))?;
        Self::start(program, built, "127.0.0.1", None)
    }

    /// The same with a given browser, host name, and additional Firefox settings.
    pub fn start(
        program: Program,
        built: &Built,
        host: &str,
        settings: Option<&str>,
    ) -> anyhow::Result<Self> {
        let (profile, folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
        if let Some(settings) = settings {
            let of_firefox = profile.path().join("profile");
            fs::create_dir_all(&of_firefox)?;
            fs::write(of_firefox.join("prefs.js"), settings)?;
        }
        let exchange = folder.path().to_owned();
        let committed = Arc::new(AtomicU64::new(0));
        let served = Served {
            built: built.clone(),
            exchange: exchange.clone(),
            committed: Arc::clone(&committed),
        };
        let session = Session::start(Box::new(move |name: &str| served.file(name)))?;
        let url = session.url().replace("127.0.0.1", host);
        let running = Running::start(&program, profile.path(), &url)?;
        Ok(Self {
            program,
            profile,
            session,
            url,
            running,
            committed,
            exchange,
            _folder: folder,
        })
    }

    /// The origin of the page.
    pub fn origin(&self) -> String {
        self.url
            .splitn(4, '/')
            .take(3)
            .collect::<Vec<_>>()
            .join("/")
    }

    /// The names of all tests.
    pub fn names(&mut self) -> anyhow::Result<Vec<String>> {
        let names = self.task("names", &Value::Null)?;
        Ok(serde_json::from_value(names)?)
    }

    /// The names of tests that run in the page itself.
    pub fn client_names(&mut self) -> anyhow::Result<Vec<String>> {
        let names = self.task("client names", &Value::Null)?;
        Ok(serde_json::from_value(names)?)
    }

    /// Runs a test.
    pub fn test(&mut self, name: &str) -> anyhow::Result<()> {
        self.value("test", name, &Value::Null).map(drop)
    }

    /// Runs a step of a longer test.
    pub fn task(&mut self, name: &str, argument: &Value) -> anyhow::Result<Value> {
        self.value("task", name, argument)
    }

    /// The same for an answer that is a file.
    pub fn bytes(&mut self, name: &str, argument: &Value) -> anyhow::Result<Vec<u8>> {
        self.ask("task", name, argument)
    }

    /// Runs a step in the page itself, for what workers cannot do.
    pub fn step(&mut self, name: &str, argument: &Value) -> anyhow::Result<Value> {
        self.value("step", name, argument)
    }

    /// Has the page end workers in the middle of commits.
    pub fn end_workers(&mut self, times: u32) -> anyhow::Result<()> {
        let committed = self.value("cut", "", &json!(times))?;
        if committed.as_u64() < Some(times.into()) {
            bail!("only {committed} transactions were committed");
        }
        Ok(())
    }

    /// Has a worker commit until it is ended; waits for its first commit after `committed`.
    pub fn begin_commits(&mut self, name: &str, committed: u64) -> anyhow::Result<()> {
        self.committed.store(committed, Ordering::SeqCst);
        let work = json!({
            "kind": "start", "name": "commit", "argument": {"name": name, "told": COMMITTED},
        });
        // It never answers.
        let committed = Arc::clone(&self.committed);
        let before = committed.load(Ordering::SeqCst);
        let running = &self.running;
        let waits = || running.is_alive() && committed.load(Ordering::SeqCst) == before;
        let result = self
            .session
            .ask(work.to_string().into_bytes(), PATIENCE, &waits);
        match result {
            Ok(answer) => bail!("the worker ended: {}", String::from_utf8_lossy(&answer)),
            Err(_) if self.committed() > before => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The last commit that the page has reported.
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::SeqCst)
    }

    /// Kills the browser's processes, and restarts it with the same profile.
    pub fn end_and_start_again(&mut self) -> anyhow::Result<()> {
        self.running.kill();
        self.running = Running::start(&self.program, self.profile.path(), &self.url)?;
        Ok(())
    }

    fn value(&mut self, kind: &str, name: &str, argument: &Value) -> anyhow::Result<Value> {
        let answer = self.ask(kind, name, argument)?;
        let mut answer: Value = serde_json::from_slice(&answer).context("no answer of a page")?;
        match answer.get("error") {
            Some(error) => Err(anyhow!("{}", error.as_str().unwrap_or_default())),
            None => Ok(answer["value"].take()),
        }
    }

    fn ask(&mut self, kind: &str, name: &str, argument: &Value) -> anyhow::Result<Vec<u8>> {
        let work = json!({"kind": kind, "name": name, "argument": argument});
        let running = &self.running;
        let is_alive = || running.is_alive();
        let answer = self
            .session
            .ask(work.to_string().into_bytes(), PATIENCE, &is_alive);
        answer.map_err(|error| anyhow!("{name}: {error}: {}", self.running.last_words()))
    }
}

/// What the page finds.
struct Served {
    built: Built,
    exchange: PathBuf,
    committed: Arc<AtomicU64>,
}

impl Served {
    fn file(&self, name: &str) -> Option<Vec<u8>> {
        let read = |path: &Path| fs::read(path).ok();
        match name.split_once('/') {
            None if name.ends_with(".html") => read(&Path::new(PACKAGE).join("tests").join(name)),
            None => {
                let modules = [&self.built.module, &self.built.probe];
                let module = modules.into_iter().find(|path| path.ends_with(name))?;
                read(module)
            }
            Some(("vectors", VECTOR_NAMES)) => vector_names(),
            Some(("vectors", file)) => read(&Path::new(VECTORS).join(file)),
            Some(("exchange", file)) => read(&self.exchange.join(file)),
            Some((COMMITTED, number)) => {
                self.committed.store(number.parse().ok()?, Ordering::SeqCst);
                Some(Vec::new())
            }
            Some(_) => read(&self.built.page.join(name)),
        }
    }
}

fn vector_names() -> Option<Vec<u8>> {
    let names: Vec<String> = fs::read_dir(VECTORS)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    serde_json::to_vec(&names).ok()
}
