//! One short adapter per engine.
//!
//! An engine belongs to a *family*, which is a file here: `sqlite` is the SQLite that is linked
//! into the program, as it comes; `strongroom` is the same SQLite on encrypted files; `library` is
//! an SQLite that is loaded at run time; `peers` are other products that encrypt SQLite. All of
//! them speak through [`connection`], so that nothing but the file layer or the library differs
//! between them. `postgres` and `mysql` are servers ([`server`]): a new one for each pass; `proxy`
//! is the first of them behind a proxy, `in_process` the same without the hop.
//! `browser` is SQLite in real browsers, a new profile for each pass.
//! `described` is any database with a shell that a file of the user's describes.
//!
//! Without the feature `servers` those that are servers, or stand before one, are left out.

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

/// The engines of a run for which none are named; the reference engine comes first.
pub const DEFAULT: [&str; 6] = [
    "sqlite",
    "strongroom",
    "sqlite-mmap",
    "sqlite-nosync",
    "strongroom-nosync",
    "sqlite-again",
];

/// Engines of the published comparison of SQLite in browsers by calls of SQLite's functions, and
/// ours beside them, where they are available.
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

/// The same for scripts, with WebSQL and its companions in the one browser that has it.
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

/// The engines of a run of workload `tpcc` for which none are named, where they are available; the
/// reference engine comes first.
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

/// The families of those that encrypt columns before PostgreSQL: no products of their own.
pub const COLUMN_FAMILIES: [&str; 2] = [names::PROXY_FAMILY, IN_PROCESS_FAMILY];

/// All engines there are, those that the user described among them.
pub fn all(options: &EngineOptions) -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    engines.extend(sqlite_engines(options).into_iter().map(boxed));
    #[cfg(feature = "servers")]
    {
        engines.extend(postgres::family().into_iter().map(boxed));
        engines.extend(proxy::family().map(boxed));
        engines.extend(in_process::family().map(boxed));
        engines.extend(mysql::family().into_iter().map(boxed));
        engines.extend(url_engine::family(options).into_iter().map(boxed));
    }
    engines.extend(browser::family().into_iter().map(boxed));
    engines.extend(described::family(options).into_iter().map(boxed));
    engines
}

/// Those of SQLite's interface.
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
