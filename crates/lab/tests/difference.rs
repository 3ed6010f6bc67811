//! Differences between two runs.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::{pass, results};
use lab::difference::{Difference, DifferenceError, difference};
use lab::results::{Pass, Results};

/// Twelve rounds in which `sealed` takes these milliseconds, with a little variation.
fn run(sealed: [u64; 2]) -> Results {
    let passes = (0..12u32).flat_map(|round| -> [Pass; 2] {
        let little = u64::from(round % 4);
        [
            pass(round, "plain", [1000 + little, 1000 + little]),
            pass(
                round,
                "sealed",
                sealed.map(|milliseconds| milliseconds + little),
            ),
        ]
    });
    results(passes.collect())
}

fn changed(before: &Results, after: &Results) -> Difference {
    difference(before, after, 0.05).unwrap()
}

#[test]
fn the_same_run_twice_has_no_regression() {
    let run = run([1000, 1000]);
    let changed = changed(&run, &run);
    assert_eq!(changed.regressions(), []);
    assert!(changed.facts.is_empty() && changed.unmatched.is_empty());
    assert_eq!(changed.rounds, (12, 12));
    let ratio = changed.engines[1].tests[0].change.wall.unwrap();
    assert!((ratio.value - 1.0).abs() < 1e-9, "{ratio:?}");
}

#[test]
fn more_time_than_the_threshold_is_a_regression_and_less_is_none() {
    let [before, slower] = [run([1000, 1000]), run([1000, 1200])];
    let worse = changed(&before, &slower);
    let found: Vec<(&str, Option<usize>)> = worse
        .regressions()
        .iter()
        .map(|(engine, test)| (engine.engine.as_str(), test.map(|test| test.number)))
        .collect();
    // Its mean grew by sqrt(1.2), which is beyond the threshold too.
    assert_eq!(found, [("sealed", None), ("sealed", Some(2))]);
    let better = changed(&slower, &before);
    assert_eq!(better.regressions(), []);
    assert!(better.engines[1].tests[1].change.improvement);
    // Below the threshold.
    assert_eq!(
        difference(&before, &slower, 0.25).unwrap().regressions(),
        []
    );
}

#[test]
fn noise_is_no_regression() {
    let mut after = run([1000, 1000]);
    for (place, pass) in after.passes.iter_mut().enumerate() {
        // In every third round everything takes three times as long.
        if place / 2 % 3 == 0 {
            for test in &mut pass.tests {
                test.sample.wall_ns *= 3;
            }
        }
    }
    assert_eq!(changed(&run([1000, 1000]), &after).regressions(), []);
}

#[test]
fn few_rounds_make_no_claim() {
    let [mut before, mut after] = [run([1000, 1000]), run([3000, 3000])];
    before.passes.truncate(6);
    after.passes.truncate(6);
    let changed = changed(&before, &after);
    assert!(changed.too_few_rounds());
    assert_eq!(changed.regressions(), []);
    assert!(changed.engines[1].tests[0].change.wall.unwrap().value > 2.9);
}

#[test]
fn an_answer_that_became_wrong_is_a_regression() {
    let before = run([1000, 1000]);
    let mut after = before.clone();
    for pass in after
        .passes
        .iter_mut()
        .filter(|pass| pass.engine == "sealed")
    {
        pass.tests[0].contradiction = Some("3 instead of 4".into());
    }
    let changed = changed(&before, &after);
    assert_eq!(changed.regressions().len(), 1);
    assert_eq!(
        changed.regressions()[0].1.unwrap().wrong.as_deref(),
        Some("3 instead of 4")
    );
}

#[test]
fn other_machines_programs_and_settings_are_reported() {
    let before = run([1000, 1000]);
    let mut after = before.clone();
    after.header.machine.cpu = "another".into();
    after.header.program.sha256 = "ff".into();
    for (results, value) in [(&before, "old"), (&after, "new")] {
        assert!(results.passes[0].settings.is_empty(), "{value}");
    }
    let mut before = before;
    // Every run has a new file identifier.
    let status = |id: &str, slots: u32| format!(r#"{{"file_id":"{id}","slots":{slots}}}"#);
    let settings = |cache: &str, id: &str, slots| {
        vec![
            ("cache".into(), cache.into()),
            ("status".into(), status(id, 1)),
            ("keys".into(), status(id, slots)),
        ]
    };
    before.passes[1].settings = settings("old", "0cf6", 1);
    after.passes[1].settings = settings("new", "94d2", 2);
    let changed = changed(&before, &after);
    let names: Vec<&str> = changed.facts.iter().map(|fact| fact.0.as_str()).collect();
    assert_eq!(
        names,
        ["program", "processor", "sealed: cache", "sealed: keys"]
    );
}

#[test]
fn only_two_runs_of_the_same_are_compared() {
    let before = run([1000, 1000]);
    let mut other = before.clone();
    other.header.workload.sha256 = "another workload".into();
    let error = difference(&before, &other, 0.05).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("only runs of the same can be compared"),
        "{error}"
    );
    let mut other = before.clone();
    for profile in &mut other.header.engines {
        profile.name += "-else";
    }
    assert!(matches!(
        difference(&before, &other, 0.05),
        Err(DifferenceError::Engines { .. })
    ));
    let empty = results(vec![]);
    assert_eq!(
        difference(&before, &empty, 0.05),
        Err(DifferenceError::Empty { which: "second" })
    );
}
