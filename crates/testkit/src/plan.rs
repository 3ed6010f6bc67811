//! The cases of a full run.

use crate::case::{Case, MODES, PAGE_SIZES, Scenario};
use crate::database::Side;

/// The properties that the unix VFS reports, without and with maps; and devices with weaker
/// guarantees. Their sectors are at most as large as a copy of Strongroom's header, since the two
/// copies must not share one. Nor may pages share a sector there, because pages that Strongroom
/// writes into a gap are not journaled.
const DEVICES: [&str; 4] = ["unix", "map", "bare512", "bare4096"];

/// One round: every kind of run once on each side. Page size and device rotate from kind to kind
/// and from seed to seed.
pub fn cases(seed: u64) -> Vec<Case> {
    let mut all = Vec::new();
    let mut turn = seed;
    for (mode, synchronous, scenario) in kinds() {
        turn += 1;
        for side in [Side::Strongroom, Side::Stock] {
            if side == Side::Stock && (has_keys(scenario) || !seed.is_multiple_of(4)) {
                // The cross-check needs fewer cases.
                continue;
            }
            let page_size = PAGE_SIZES[(turn % 3) as usize];
            let may_be_small = page_size < 4096 || scenario == Scenario::PageSizes;
            let device = match DEVICES[(turn / 3 % 4) as usize] {
                "bare4096" if may_be_small && side == Side::Strongroom => "bare512",
                device => device,
            };
            all.push(Case {
                side,
                mode,
                synchronous,
                page_size,
                device,
                scenario,
                seed,
            });
        }
    }
    all
}

/// Whether stock SQLite cannot run the scenario.
fn has_keys(scenario: Scenario) -> bool {
    matches!(scenario, Scenario::Keys | Scenario::Rotation)
}

/// Journal mode, `PRAGMA synchronous` and scenario of every kind of run.
pub fn kinds() -> Vec<(&'static str, &'static str, Scenario)> {
    let mut kinds = vec![("wal", "normal", Scenario::Plain)];
    for mode in MODES {
        for synchronous in ["full", "extra"] {
            kinds.push((mode, synchronous, Scenario::Plain));
        }
        kinds.push((mode, "full", Scenario::Keys));
        kinds.push((mode, "full", Scenario::Rotation));
        if mode != "wal" {
            kinds.push((mode, "full", Scenario::PageSizes));
            kinds.push((mode, "full", Scenario::Attached));
        }
    }
    kinds.push(("delete", "full", Scenario::Switching));
    kinds
}
