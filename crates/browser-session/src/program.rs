//! Browsers: how they are found, and how each is started headless with a fresh profile.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kind of browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Browser {
    /// Chromium, or Chrome.
    Chromium,
    /// Firefox.
    Firefox,
    /// The Chromium in Qt's `QtWebEngine`, through Python's `PyQt6`.
    QtChromium,
}

/// A browser installed on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    browser: Browser,
    /// The browser's program; for Qt's, the Python interpreter that has it.
    path: PathBuf,
}

/// Why a browser could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// A file of its profile could not be written.
    #[error("cannot use {path}", path = .path.display())]
    Profile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program could not be started.
    #[error("cannot start {program}", program = .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Disables network traffic and prompts.
const CHROMIUM_FLAGS: [&str; 15] = [
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    // Only our own pages are opened, and tests open tabs.
    "--disable-popup-blocking",
    "--disable-extensions",
    "--disable-sync",
    "--disable-dev-shm-usage",
    // Its crash handler leaves the process group, so nobody would end it.
    "--disable-breakpad",
    "--disable-crash-reporter",
];

/// Profile settings that disable background activity.
const FIREFOX_SETTINGS: &str = r#"user_pref("app.normandy.enabled", false);
user_pref("app.update.enabled", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.newtabpage.enabled", false);
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("dom.disable_open_during_load", false);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("network.proxy.type", 0);
user_pref("services.settings.server", "data:,#remote-settings-dummy/v1");
user_pref("toolkit.startup.max_resumed_crashes", -1);
user_pref("toolkit.telemetry.enabled", false);
user_pref("toolkit.telemetry.unified", false);
"#;

/// The program that shows a page in Qt's engine.
const QT_PROGRAM: &str = include_str!("qt.py");

/// A socket address has 108 bytes, and Chromium creates a socket in its temporary folder with a
/// name of about fifty.
const TEMPORARY_FOLDER_BYTES_MAX: usize = 56;

impl Browser {
    /// Its display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chromium => "Chromium",
            Self::Firefox => "Firefox",
            Self::QtChromium => "Qt's Chromium",
        }
    }

    /// The names of its program, and the environment variable that overrides it.
    fn names(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Chromium => (
                "STRONGROOM_CHROMIUM",
                &[
                    "chromium",
                    "chromium-browser",
                    "google-chrome",
                    "google-chrome-stable",
                ],
            ),
            Self::Firefox => ("STRONGROOM_FIREFOX", &["firefox-esr", "firefox"]),
            Self::QtChromium => ("STRONGROOM_QT_PYTHON", &[]),
        }
    }
}

impl Program {
    /// The browser named by an environment variable (`STRONGROOM_CHROMIUM`, `STRONGROOM_FIREFOX`,
    /// or `STRONGROOM_QT_PYTHON` for a Python with `PyQt6`), else the first on the search path.
    pub fn find(browser: Browser) -> Option<Self> {
        let (variable, names) = browser.names();
        if let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            return path.is_file().then_some(Self { browser, path });
        }
        let folders = env::var_os("PATH").unwrap_or_default();
        let path = env::split_paths(&folders)
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
            .find(|candidate| candidate.is_file())?;
        Some(Self { browser, path })
    }

    /// Qt's Chromium in this Python interpreter.
    pub fn qt(python: PathBuf) -> Self {
        Self {
            browser: Browser::QtChromium,
            path: python,
        }
    }

    /// A browser of that kind at this path, which may be a wrapper.
    pub fn at(browser: Browser, path: PathBuf) -> Self {
        Self { browser, path }
    }

    /// Its kind.
    pub fn browser(&self) -> Browser {
        self.browser
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The command that starts it on a page. All its files are in the folder, which is created if
    /// needed.
    pub(crate) fn command(&self, folder: &Path, url: &str) -> Result<Command, ProgramError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            |source| ProgramError::Profile { path, source }
        };
        let write = |path: PathBuf, text: &str| fs::write(&path, text).map_err(at(&path));
        let profile = folder.join("profile");
        let temporary = folder.join("t");
        for folder in [&profile, &temporary] {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        let mut command = Command::new(&self.path);
        match self.browser {
            Browser::Chromium => {
                command.args(CHROMIUM_FLAGS).args(no_sandbox());
                command.arg(flag("--user-data-dir=", &profile)).arg(url);
            }
            Browser::Firefox => {
                write(profile.join("user.js"), FIREFOX_SETTINGS)?;
                command.args(["--headless", "--no-remote", "--profile"]);
                command.arg(&profile).arg(url);
                command.env("MOZ_CRASHREPORTER_DISABLE", "1");
            }
            Browser::QtChromium => {
                let program = folder.join("page.py");
                write(program.clone(), QT_PROGRAM)?;
                command.arg(&program).arg(&profile).arg(url);
                let flags = [
                    "--disable-gpu",
                    "--no-proxy-server",
                    "--disable-dev-shm-usage",
                ];
                let flags = [&flags[..], no_sandbox()].concat().join(" ");
                command.env("QT_QPA_PLATFORM", "offscreen");
                command.env("QTWEBENGINE_CHROMIUM_FLAGS", flags);
                if !no_sandbox().is_empty() {
                    command.env("QTWEBENGINE_DISABLE_SANDBOX", "1");
                }
            }
        }
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
            command.env(variable, &profile);
        }
        if temporary.as_os_str().len() <= TEMPORARY_FOLDER_BYTES_MAX {
            command.env("TMPDIR", &temporary);
        }
        command.env_remove("DBUS_SESSION_BUS_ADDRESS");
        command.env_remove("DISPLAY");
        command.stdin(Stdio::null());
        Ok(command)
    }
}

/// Chromium refuses to run as root with a sandbox, unless told so explicitly.
fn no_sandbox() -> &'static [&'static str] {
    if nix::unistd::geteuid().is_root() {
        &["--no-sandbox"]
    } else {
        &[]
    }
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_browser_gets_a_profile_of_its_own_and_the_page() {
        for browser in [Browser::Chromium, Browser::Firefox, Browser::QtChromium] {
            let folder = tempfile::tempdir().unwrap();
            let path = PathBuf::from("/usr/bin/no-such-browser");
            let program = Program { browser, path };
            let command = program
                .command(folder.path(), "http://127.0.0.1:1/x/")
                .unwrap();
            let words: Vec<String> = command
                .get_args()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            assert_eq!(words.last().unwrap(), "http://127.0.0.1:1/x/");
            let profile = folder.path().join("profile");
            let profile = profile.to_string_lossy();
            assert!(
                words.iter().any(|word| word.ends_with(&*profile)),
                "{words:?}"
            );
            let home = command
                .get_envs()
                .find(|(name, _)| *name == "HOME")
                .unwrap();
            assert_eq!(home.1.unwrap().to_string_lossy(), profile);
        }
    }
}
