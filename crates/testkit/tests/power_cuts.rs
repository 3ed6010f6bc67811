//! A sample of the power cuts of `cargo xtask faults`: every kind of run; `STRONGROOM_TEST_SEED`
//! selects other seeds.

use testkit::cut::{Failure, sweep};
use testkit::database::Side;
use testkit::plan::cases;
use testkit::random::seeds;

fn assert_survived(side: Side, rounds: std::ops::Range<u64>, one_in: u64) {
    let mut failures: Vec<Failure> = Vec::new();
    let (mut cuts, mut runs) = (0, 0);
    for seed in seeds(rounds) {
        for case in cases(seed).into_iter().filter(|case| case.side == side) {
            let outcome = sweep(&case, one_in, 1).unwrap_or_else(|what| panic!("{what}"));
            cuts += outcome.cuts;
            runs += 1;
            failures.extend(outcome.failures);
        }
    }
    let shown: Vec<String> = failures.iter().take(10).map(Failure::to_string).collect();
    assert!(
        failures.is_empty(),
        "{} of {cuts} power cuts in {runs} runs:\n{}",
        failures.len(),
        shown.join("\n")
    );
}

/// If this fails, the harness expects more than SQLite guarantees.
#[test]
fn stock_sqlite_keeps_its_promise_on_this_disk() {
    assert_survived(Side::Stock, 0..1, 6);
}

#[test]
fn strongroom_keeps_the_promise_of_sqlite() {
    assert_survived(Side::Strongroom, 0..3, 4);
}
