//! The kinds of storage for a database in a browser, and which browsers support them.

use browser_session::Browser;
use lab::engine::{Durability, Profile};
use serde_json::{Value, json};
use workloads::Dialect;

use super::connection::Thread;
use super::{BrowserEngine, FAMILY};
use crate::install;

/// One kind of storage in a browser.
pub(super) struct Member {
    /// The engine's name without `browser-`, in the first of its browsers.
    name: &'static str,
    pub(super) description: &'static str,
    /// The page's driver.
    pub(super) driver: &'static str,
    /// Whether it accepts a text of many statements.
    pub(super) takes_texts: bool,
    /// Where the driver runs.
    pub(super) thread: Thread,
    /// What `lab install` must have installed for it.
    pub(super) installable: Option<&'static str>,
    /// SQLite's script, in the folder of the installed package.
    pub(super) script: &'static str,
    /// The driver's option for where the database is.
    place: &'static str,
    /// Run first, to set a cipher and a key.
    pragmas: &'static [&'static str],
    /// A key passed to the driver itself, in hexadecimal.
    key: Option<&'static str>,
    cipher: Option<&'static str>,
    durability: Durability,
    /// The engine its times are divided by; in another browser, that engine in the same browser.
    base: Base,
    browsers: &'static [Browser],
}

/// See [`Member::base`].
enum Base {
    /// SQLite outside of browsers.
    Native,
    /// Another member.
    Member(&'static str),
}

const ALL: &[Browser] = &[Browser::Chromium, Browser::Firefox, Browser::QtChromium];

/// 32 bytes, in hexadecimal; they protect nothing, since the databases live only as long as a pass.
macro_rules! raw_key {
    () => {
        "2b7e151628aed2a6abf7158809cf4f3c603deb1015ca71be2b73aef0857d7781"
    };
}

/// SQLite's own build, with the database in memory: the others are variants of it.
const OFFICIAL: Member = Member {
    name: "official-memory",
    description: "SQLite's own build for browsers, in memory",
    driver: "wasm",
    takes_texts: true,
    thread: Thread::Worker,
    installable: Some(install::SQLITE_WASM),
    script: "index.mjs",
    place: "memory",
    pragmas: &[],
    key: None,
    cipher: None,
    durability: Durability::None,
    base: Base::Native,
    browsers: ALL,
};

/// SQLite3MultipleCiphers' build of it, without a key.
const CIPHERS: Member = Member {
    name: "sqlite3mc",
    description: "SQLite3MultipleCiphers in a pool of OPFS files, without a key",
    installable: Some(install::SQLITE3MC_WASM),
    script: "sqlite3.mjs",
    place: "sahpool",
    durability: Durability::Full,
    ..OFFICIAL
};

/// Strongroom's module without its VFS, with the database in memory.
const OURS: Member = Member {
    name: "memory",
    description: "Strongroom's build for browsers, plain, in memory",
    driver: "strongroom",
    installable: Some(install::STRONGROOM_WASM),
    script: "page/src/sync.js",
    ..OFFICIAL
};

/// The same module on an OPFS file.
const OURS_OPFS: Member = Member {
    name: "opfs",
    description: "Strongroom's build for browsers, plain, in a file of OPFS",
    place: "opfs",
    durability: Durability::Full,
    ..OURS
};

pub(super) const MEMBERS: &[Member] = &[
    OURS,
    OURS_OPFS,
    Member {
        name: "strongroom",
        description: "Strongroom's build for browsers, in an encrypted file of OPFS",
        key: Some(raw_key!()),
        cipher: Some("xchacha20-poly1305"),
        base: Base::Member(OURS_OPFS.name),
        ..OURS_OPFS
    },
    OFFICIAL,
    Member {
        name: "official-opfs",
        description: "SQLite's own build for browsers, on OPFS by another thread",
        place: "opfs",
        durability: Durability::Full,
        ..OFFICIAL
    },
    Member {
        name: "opfs-wl",
        description: "SQLite's own build for browsers, on OPFS by another thread, with Web Locks",
        place: "opfs-wl",
        durability: Durability::Full,
        ..OFFICIAL
    },
    Member {
        name: "sahpool",
        description: "SQLite's own build for browsers, in a pool of OPFS files",
        place: "sahpool",
        durability: Durability::Full,
        ..OFFICIAL
    },
    Member {
        name: "kvvfs-local",
        description: "SQLite's own build for browsers, in local storage",
        thread: Thread::Page,
        place: "local",
        ..OFFICIAL
    },
    Member {
        name: "kvvfs-session",
        description: "SQLite's own build for browsers, in session storage",
        thread: Thread::Page,
        place: "session",
        ..OFFICIAL
    },
    Member {
        name: "wasmfs",
        description: "SQLite built here with WASMFS on OPFS",
        installable: Some(install::WASMFS),
        script: "sqlite3-wasmfs.mjs",
        place: "wasmfs",
        durability: Durability::Full,
        ..OFFICIAL
    },
    Member {
        name: "websql",
        description: "WebSQL, the SQLite within Chromium 118",
        driver: "websql",
        takes_texts: false,
        thread: Thread::Page,
        installable: None,
        script: "",
        place: "",
        durability: Durability::Full,
        browsers: &[Browser::QtChromium],
        ..OFFICIAL
    },
    CIPHERS,
    Member {
        name: "sqlite3mc-chacha20",
        description: "SQLite3MultipleCiphers in a pool of OPFS files, ChaCha20-Poly1305",
        place: "sealed-sahpool",
        pragmas: &[
            "cipher = 'chacha20'",
            concat!("key = 'raw:", raw_key!(), "'"),
        ],
        cipher: Some("chacha20-poly1305"),
        base: Base::Member("sqlite3mc"),
        ..CIPHERS
    },
    Member {
        name: "sqlite3mc-sqlcipher",
        description: "SQLite3MultipleCiphers in a pool of OPFS files, SQLCipher's AES-256-CBC",
        place: "sealed-sahpool",
        pragmas: &[
            "cipher = 'sqlcipher'",
            concat!("key = \"x'", raw_key!(), "'\""),
        ],
        cipher: Some("aes-256-cbc with HMAC"),
        base: Base::Member("sqlite3mc"),
        ..CIPHERS
    },
];

pub(super) fn family() -> Vec<BrowserEngine> {
    let of = |member: &'static Member| {
        let engine = move |&browser: &Browser| BrowserEngine {
            profile: member.profile(browser),
            member,
            browser,
            page: None.into(),
        };
        member.browsers.iter().map(engine)
    };
    MEMBERS.iter().flat_map(of).collect()
}

impl Member {
    /// The first browser of a member has no suffix.
    fn suffix(&self, browser: Browser) -> &'static str {
        if self.browsers.first() == Some(&browser) {
            return "";
        }
        match browser {
            Browser::Chromium => "-chromium",
            Browser::Firefox => "-firefox",
            Browser::QtChromium => "-qt",
        }
    }

    fn profile(&self, browser: Browser) -> Profile {
        let suffix = self.suffix(browser);
        let base = match self.base {
            Base::Native => "sqlite".to_owned(),
            Base::Member(base) => format!("{FAMILY}-{base}{suffix}"),
        };
        Profile {
            name: format!("{FAMILY}-{}{suffix}", self.name),
            description: format!("{}, in {}", self.description, browser.name()),
            family: FAMILY.to_owned(),
            dialect: Dialect::Sqlite,
            base: Some(base),
            durability: self.durability,
            cipher: self.cipher.map(str::to_owned),
            control: false,
        }
    }

    /// The options that its driver is opened with.
    pub(super) fn options(&self) -> Value {
        json!({
            "module": format!("{}{}", super::pages::PACKAGE, self.script),
            "place": self.place,
            "pragmas": self.pragmas,
            "key": self.key,
        })
    }
}
