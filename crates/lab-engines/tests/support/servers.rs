//! The servers that are installed on this machine.

use std::path::Path;

use lab::engine::{Engine, EngineOptions, Server};

use crate::databases::odd_folder;

/// Set if all of them must be installed.
const ALL_REQUIRED: &str = "STRONGROOM_LAB_SERVERS";

/// Runs the check for each wanted server, with a folder; servers that are not installed are printed
/// and skipped.
pub fn each(wanted: impl Fn(&dyn Engine) -> bool, check: impl Fn(&dyn Engine, &Path)) {
    for engine in lab_engines::all(&EngineOptions::default()) {
        // The tests of the program `strongroom` cover its own engines, and browsers have separate
        // tests.
        let family = engine.profile().family.as_str();
        let is_ours = lab_engines::COLUMN_FAMILIES.contains(&family);
        let is_ours = is_ours || family == lab_engines::BROWSER_FAMILY;
        if engine.server() != Server::Child || is_ours || !wanted(engine.as_ref()) {
            continue;
        }
        let name = &engine.profile().name;
        if let Some(missing) = engine.missing() {
            println!("left out: {name}: {missing}");
            assert!(
                std::env::var_os(ALL_REQUIRED).is_none(),
                "{name}: {missing}"
            );
            continue;
        }
        println!("engine {name}");
        check(engine.as_ref(), odd_folder().path());
    }
}
