//! Made-up pages of each kind, and their sizes. `cargo xtask page` checks them in a browser.

mod common;

use std::env;
use std::fs;
use std::path::Path;

use lab::engine::Mode;
use lab::results::Results;

/// Environment variable for a folder in which the pages are kept for inspection.
const VARIABLE: &str = "STRONGROOM_PAGES";

fn pages() -> Vec<(&'static str, String)> {
    let of = |runs: &[Results]| common::pages(&runs.iter().collect::<Vec<_>>());
    vec![
        ("speed", common::page(&common::results(12))),
        ("few-rounds", common::page(&common::results(2))),
        ("many", common::page(&common::many(10))),
        ("sizes", of(&common::sizes(&[100, 2, 10]))),
        (
            "browsers",
            of(&common::browsers(&[2, 10, 25], Mode::Direct)),
        ),
        ("concurrent", common::page(&common::concurrent(2))),
        ("tpcc", common::page(&common::tpcc(2))),
    ]
}

#[test]
fn no_page_is_heavy() {
    for (name, page) in pages() {
        if let Some(folder) = env::var_os(VARIABLE) {
            let file = Path::new(&folder).join(name).with_extension("html");
            fs::write(file, &page).expect("the folder can be written to");
        }
        assert!(page.len() < 1_000_000, "{name}: {} bytes", page.len());
    }
}
