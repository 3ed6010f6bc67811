//! One short adapter per engine.
//!
//! An engine belongs to a *family*, which is a module here: `sqlite` is the SQLite linked into the
//! program, unmodified; `strongroom` is the same SQLite on encrypted files; `library` is an SQLite
//! loaded at run time; `peers` are other products that encrypt SQLite. All of these use
//! [`connection`], so that they differ only in VFS or library. `postgres` and `mysql` are servers
//! ([`server`]), started anew for each pass; `proxy` is PostgreSQL behind a proxy, and `in_process`
//! the same without the hop. `browser` is SQLite in real browsers, with a new profile for each
//! pass. `described` is any database with a shell that the user describes in a file.
//!
//! Without the feature `servers` the families that need a server are left out.

mod browser;
mod connection;
mod described;
mod engine;
mod home;
#[cfg(feature = "servers")]
mod in_process;
pub mod install;
mod library;
#[cfg(feature = "servers")]
mod mysql;
mod names;
mod peers;
#[cfg(feature = "servers")]
mod postgres;
#[cfg(feature = "servers")]
mod proxy;
#[cfg_attr(
    not(feature = "servers"),
    allow(dead_code, reason = "what finds programs serves other engines too")
)]
mod server;
#[cfg(feature = "servers")]
mod server_engine;
pub mod shell;
mod sqlite;
mod strongroom;
#[cfg(feature = "servers")]
mod url_engine;

pub use browser::FAMILY as BROWSER_FAMILY;
pub use described::{DescriptionError, name_in as described_name};
pub use library::library_name;
pub use names::{IN_PROCESS_FAMILY, MYSQL, POSTGRES, is_left_out, needs_servers};

use lab::engine::{Engine, EngineOptions};

use engine::SqliteEngine;

/// The default engines of a run; the reference engine comes first.
pub const DEFAULT: [&str; 6] = [
    "sqlite",
    "strongroom",
    "sqlite-mmap",
    "sqlite-nosync",
    "strongroom-nosync",
    "sqlite-again",
];

/// The engines of the published comparison of SQLite in browsers in direct mode, and ours, if
/// available.
pub const BROWSERS_DIRECT: [&str; 19] = [
    "sqlite",
    "sqlite-again",
    "strongroom",
    "browser-memory",
    "browser-opfs",
    "browser-strongroom",
    "browser-official-memory",
    "browser-official-opfs",
    "browser-opfs-wl",
    "browser-sahpool",
    "browser-kvvfs-local",
    "browser-kvvfs-session",
    "browser-wasmfs",
    "browser-sqlite3mc",
    "browser-sqlite3mc-chacha20",
    "browser-sqlite3mc-sqlcipher",
    "browser-opfs-firefox",
    "browser-strongroom-firefox",
    "browser-sahpool-firefox",
];

/// The same in script mode, with WebSQL and its counterparts in the one browser that has it.
pub const BROWSERS_SCRIPT: [&str; 14] = [
    "sqlite",
    "browser-memory",
    "browser-opfs",
    "browser-strongroom",
    "browser-official-memory",
    "browser-official-opfs",
    "browser-sahpool",
    "browser-kvvfs-local",
    "browser-wasmfs",
    "browser-websql",
    "browser-official-memory-qt",
    "browser-wasmfs-qt",
    "browser-opfs-qt",
    "browser-strongroom-qt",
];

/// The default engines of workload `tpcc`, if available; the reference engine comes first.
pub const DEFAULT_TPCC: [&str; 11] = [
    "postgres",
    "proxy",
    "proxy-20",
    "proxy-50",
    "proxy-100",
    "proxy-20-sensitive",
    "in-process",
    "in-process-20",
    "in-process-50",
    "in-process-100",
    "in-process-20-sensitive",
];

/// The families that encrypt columns for a server; they are not separate products.
pub const COLUMN_FAMILIES: [&str; 4] = [
    names::PROXY_FAMILY,
    IN_PROCESS_FAMILY,
    names::MARIADB_PROXY_FAMILY,
    names::MYSQL_PROXY_FAMILY,
];

/// All engines, including those described by the user.
pub fn all(options: &EngineOptions) -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    engines.extend(sqlite_engines(options).into_iter().map(boxed));
    #[cfg(feature = "servers")]
    {
        engines.extend(postgres::family().into_iter().map(boxed));
        engines.extend(proxy::family().map(boxed));
        engines.extend(in_process::family().map(boxed));
        engines.extend(mysql::family().into_iter().map(boxed));
        engines.extend(proxy::family_of_mysql().map(boxed));
        engines.extend(url_engine::family(options).into_iter().map(boxed));
    }
    engines.extend(browser::family().into_iter().map(boxed));
    engines.extend(described::family(options).into_iter().map(boxed));
    engines
}

/// The SQLite-based engines.
fn sqlite_engines(options: &EngineOptions) -> Vec<SqliteEngine> {
    let mut engines = sqlite::family();
    engines.extend(strongroom::family());
    engines.extend(peers::family());
    engines.extend(library::family(options));
    engines
}

fn boxed<E: Engine + 'static>(engine: E) -> Box<dyn Engine> {
    Box::new(engine)
}

/// The engine of that name.
pub fn named(name: &str, options: &EngineOptions) -> Option<Box<dyn Engine>> {
    all(options)
        .into_iter()
        .find(|engine| engine.profile().name == name)
}
