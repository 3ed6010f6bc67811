//! libFuzzer around one target, which `STRONGROOM_FUZZ_TARGET` names.
//!
//! One program for all targets: it links SQLite, the ciphers and the sanitizer once.
#![no_main]

use std::sync::OnceLock;

use fuzz_targets::{Target, target};
use libfuzzer_sys::fuzz_target;

fn chosen() -> &'static Target {
    static CHOSEN: OnceLock<&'static Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("STRONGROOM_FUZZ_TARGET").unwrap_or_default();
        target(&name).unwrap_or_else(|| panic!("STRONGROOM_FUZZ_TARGET names no target: {name:?}"))
    })
}

fuzz_target!(|bytes: &[u8]| (chosen().run)(bytes));
