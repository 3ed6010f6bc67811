//! SQLite in a real browser: WebAssembly builds with various kinds of storage, and the SQLite that
//! browsers used to include (WebSQL).
//!
//! The worker serves a page, starts the browser on it with a fresh profile in the folder of the
//! pass, and gives it work ([`browser_session`]). The page's driver opens the database
//! (`browser/page/host.mjs` defines what a driver is); what an engine needs besides its driver is a
//! row of [`members::MEMBERS`].
//!
//! 1. A page has one connection, and the browser runs from the creation of the database until the
//!    engine is stopped.
//! 2. Time is measured by the page's own clock, around the statements only; the round trip to the
//!    page is recorded separately. Processor time and memory are those of all the browser's
//!    processes.

mod connection;
mod members;
mod pages;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use browser_session::{Browser, Program, Running, Session};
use lab::engine::{Cause, Connection, Engine, EngineError, Profile, Server};
use serde::de::DeserializeOwned;

use crate::install;
use connection::{BrowserConnection, PageError, Reply, Work};
use members::Member;

/// Family of the engines in browsers.
pub const FAMILY: &str = "browser";

/// Folder of the browser's files, in the folder of a pass. The name is short because the path of a
/// socket includes it.
const FOLDER: &str = "b";

/// How long a browser may take to open the database in its page.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// One kind of storage, in one browser.
pub(crate) struct BrowserEngine {
    profile: Profile,
    member: &'static Member,
    browser: Browser,
    page: Mutex<Option<Arc<Mutex<Page>>>>,
}

/// A browser with its page.
pub(crate) struct Page {
    session: Session,
    running: Running,
    member: &'static Member,
    /// Whether a connection uses it.
    taken: bool,
}

/// All members in all browsers that support them.
pub(crate) fn family() -> Vec<BrowserEngine> {
    members::family()
}

/// The browser, if it is installed.
fn program(browser: Browser) -> Option<Program> {
    let installed = || {
        let installable = install::named(install::QT).ok()?;
        (installable.find)(installable).map(Program::qt)
    };
    match browser {
        Browser::QtChromium => Program::find(browser).or_else(installed),
        Browser::Chromium | Browser::Firefox => Program::find(browser),
    }
}

impl BrowserEngine {
    fn page(&self) -> MutexGuard<'_, Option<Arc<Mutex<Page>>>> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder_of_files(&self) -> Result<Option<PathBuf>, String> {
        let Some(name) = self.member.installable else {
            return Ok(None);
        };
        let missing = || {
            let description = self.member.description;
            format!("{description}: it is not installed; `strongroom lab install {name}` gets it")
        };
        let installable = install::named(name).map_err(|error| error.to_string())?;
        (installable.find)(installable)
            .map(Some)
            .ok_or_else(missing)
    }

    fn program(&self) -> Result<Program, String> {
        program(self.browser).ok_or_else(|| {
            let name = self.browser.name();
            format!("{name} is not there; `strongroom lab install browser` gets it")
        })
    }

    /// The page in the browser, which is started if it is not running.
    fn ready(&self, folder: &Path) -> Result<Arc<Mutex<Page>>, Cause> {
        let mut page = self.page();
        if let Some(page) = &*page {
            return Ok(Arc::clone(page));
        }
        let files = pages::files(self.folder_of_files()?);
        let session = Session::start(files)?;
        let running = Running::start(&self.program()?, &folder.join(FOLDER), &session.url())?;
        let started = Arc::new(Mutex::new(Page {
            session,
            running,
            member: self.member,
            taken: false,
        }));
        Ok(Arc::clone(page.insert(started)))
    }

    /// Opens the database in the page.
    fn connect(&self, folder: &Path) -> Result<BrowserConnection, Cause> {
        let page = self.ready(folder)?;
        {
            let mut page = page.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::replace(&mut page.taken, true) {
                return Err("a page has one connection: leave out workloads with several".into());
            }
            let work = Work::Open {
                driver: self.member.driver,
                options: self.member.options(),
            };
            page.ask::<()>(&work, START_PATIENCE)?;
        }
        Ok(BrowserConnection::new(page))
    }
}

impl Page {
    fn ask<T: DeserializeOwned>(
        &mut self,
        work: &Work<'_>,
        patience: Duration,
    ) -> Result<T, PageError> {
        let Self {
            session, running, ..
        } = self;
        let text = serde_json::to_vec(&work.with_thread(self.member.thread))?;
        let answer = session.ask(text, patience, &|| running.is_alive());
        let answer = answer.map_err(|source| PageError::Silent {
            source,
            said: running.last_words(),
        })?;
        match serde_json::from_slice(&answer)? {
            Reply::Done(value) => Ok(value),
            Reply::Error(refused) => Err(PageError::Refused(refused)),
        }
    }
}

impl Engine for BrowserEngine {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn missing(&self) -> Option<String> {
        let files = self.folder_of_files().map(drop);
        self.program().map(drop).and(files).err()
    }

    fn server(&self) -> Server {
        Server::Child
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        let attempt = || -> Result<(), Cause> {
            let mut connection = self.connect(folder)?;
            connection.execute("PRAGMA user_version = 1")?;
            connection.end()?;
            Ok(())
        };
        attempt().map_err(EngineError::Create)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        let connection = self.connect(folder).map_err(EngineError::Open)?;
        Ok(Box::new(connection))
    }

    fn stop(&self) -> Result<(), EngineError> {
        if let Some(page) = self.page().take() {
            let page = page.lock().unwrap_or_else(PoisonError::into_inner);
            page.running.end();
        }
        Ok(())
    }
}
