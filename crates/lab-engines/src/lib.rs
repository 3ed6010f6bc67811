//! One short adapter per engine.
//!
//! An engine belongs to a *family*, which is a file here: `sqlite` is the SQLite that is linked
//! into the program, as it comes; `strongroom` is the same SQLite on encrypted files. Both speak
//! through [`connection`], so that nothing but the file layer differs between them.

mod connection;
mod sqlite;
mod strongroom;

use lab::engine::{Engine, EngineOptions};

/// The engines of a run for which none are named; the reference engine comes first.
pub const DEFAULT: [&str; 5] = [
    "sqlite",
    "strongroom",
    "sqlite-nosync",
    "strongroom-nosync",
    "sqlite-again",
];

/// All engines there are, those that the user described among them.
pub fn all(_options: &EngineOptions) -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    engines.extend(sqlite::family().into_iter().map(boxed));
    engines.extend(strongroom::family().into_iter().map(boxed));
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
