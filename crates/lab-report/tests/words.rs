//! Texts about a run.

mod common;

use lab::comparison::compare;
use lab::probe::{SyncCalls, Syncs};
use lab_report::{finding, terminal};
use workloads::Spec;

#[test]
fn the_sentence_names_both_ratios() {
    let sentence = finding::sentence(&common::comparison(12));
    assert!(
        sentence.contains("strongroom took 1.20 times as long as sqlite"),
        "{sentence}"
    );
    assert!(sentence.contains("95 % interval 1."), "{sentence}");
    assert_eq!(
        finding::headline(&common::comparison(12)),
        "Every page encrypted, for 20 % more time"
    );
}

#[test]
fn few_rounds_make_no_claim() {
    let comparison = common::comparison(3);
    assert!(finding::sentence(&comparison).contains("too few rounds"));
    assert!(finding::headline(&comparison).contains("from few rounds"));
    assert!(common::page(&common::results(3)).contains("too few rounds"));
}

/// A run in which the reference engine's second pass of a round takes `times` as long as its first.
fn noisy(rounds: u32, times: f64) -> lab::results::Results {
    let mut results = common::results(rounds);
    let passes = results.passes.iter_mut();
    for pass in passes.filter(|pass| pass.engine == "sqlite-again") {
        for test in &mut pass.tests {
            test.sample.wall_ns = (test.sample.wall_ns as f64 * times) as u64;
        }
    }
    results
}

#[test]
fn a_machine_that_is_too_busy_allows_no_conclusion() {
    for (rounds, times) in [(12, 1.49), (12, 0.8), (3, 1.2)] {
        let results = noisy(rounds, times);
        let comparison = compare(&results);
        assert_eq!(
            finding::headline(&comparison),
            "This machine was too busy to tell"
        );
        let sentence = finding::sentence(&comparison);
        assert!(
            sentence.starts_with("sqlite-again against sqlite, the same engine: "),
            "{sentence}"
        );
        let page = common::page(&results);
        assert!(page.contains("class=\"tiles grey\""));
        for word in [
            ">slower<",
            ">faster<",
            "class=\"slower\"",
            "class=\"faster\"",
        ] {
            assert!(!page.contains(word), "{word} at {times}");
        }
    }
    // A difference that all others must exceed, but not too noisy for conclusions.
    let quiet = compare(&noisy(12, 1.03));
    assert_eq!(
        finding::headline(&quiet),
        "Every page encrypted, for 20 % more time"
    );
}

#[test]
fn a_reference_is_never_slower_than_itself() {
    let results = noisy(12, 1.04);
    let comparison = compare(&results);
    let control = comparison.control().unwrap();
    let ratio = control.wall_mean.unwrap();
    assert!(ratio.excludes_one(), "{ratio:?}");
    let verdict = comparison.verdict(control, &ratio, |engine| engine.wall_mean);
    assert_eq!(finding::verdict_word(verdict), "no difference seen");
}

#[test]
fn stock_sqlite_with_a_map_is_shown_beside_the_encrypted_engine() {
    let mut results = common::results(12);
    for engine in &mut results.header.engines {
        match engine.name.as_str() {
            "strongroom" => engine.family = "strongroom".into(),
            "sqlite-nosync" => {
                engine.name = "sqlite-mmap".into();
                engine.base = Some("sqlite".into());
            }
            "strongroom-nosync" => engine.base = Some("sqlite".into()),
            _ => {}
        }
    }
    let passes = results.passes.iter_mut();
    for pass in passes.filter(|pass| pass.engine == "sqlite-nosync") {
        pass.engine = "sqlite-mmap".into();
    }
    let comparison = compare(&results);
    assert_eq!(
        finding::headline(&comparison),
        "Every page encrypted, for 20 % more time; a plain file through a map, in 50 % less time"
    );
    let sentence = finding::sentence(&comparison);
    assert!(
        sentence.contains("sqlite-mmap does too, without a cipher, and took 0.50 times"),
        "{sentence}"
    );
}

#[test]
fn a_wrong_answer_is_shouted_and_has_no_ratio() {
    let mut results = common::results(10);
    for pass in results
        .passes
        .iter_mut()
        .filter(|pass| pass.engine == "strongroom")
    {
        pass.tests[5].answer = "other".into();
        pass.tests[5].sample.wall_ns = 1;
    }
    let comparison = compare(&results);
    let table = terminal::table(&comparison, 160);
    assert!(
        table.contains("WRONG") && table.contains("wrong answer"),
        "{table}"
    );
    let page = common::page(&results);
    assert!(page.contains("strongroom gave a wrong answer in test 6"));
    assert!(page.contains("<strong>Wrong answers: 1</strong>"));
    assert!(finding::sentence(&comparison).contains("1 of its answers"));
}

#[test]
fn a_failure_is_reported_with_its_cause() {
    let mut results = common::results(10);
    let pass = results
        .passes
        .iter_mut()
        .find(|pass| pass.engine == "strongroom")
        .unwrap();
    pass.failure = Some("the worker ended early (signal: 9)".into());
    let comparison = compare(&results);
    assert!(terminal::table(&comparison, 160).contains("signal: 9"));
    assert!(common::page(&results).contains("failed in 1 of its passes"));
}

#[test]
fn readable_rows_of_an_encrypted_engine_are_an_alarm() {
    let mut results = common::results(10);
    for pass in results
        .passes
        .iter_mut()
        .filter(|pass| pass.engine == "strongroom")
    {
        pass.closing.as_mut().unwrap().readable_on_disk = true;
    }
    let page = common::page(&results);
    assert!(page.contains("strongroom left rows that can be read on the disk"));
}

#[test]
fn the_table_has_a_line_per_test_and_fits_its_width() {
    for (results, width) in [
        (common::results(12), 80),
        (common::results(12), 120),
        (common::many(2), 80),
        (common::many(2), 200),
    ] {
        let table = terminal::table(&compare(&results), width);
        for title in ["1 1000 INSERTs", "15 DROP TABLE", "sum of all tests"] {
            assert!(table.contains(title), "{table}");
        }
        assert!(
            table
                .lines()
                .all(|line| line.chars().count() <= usize::from(width)),
            "{table}"
        );
        assert!(
            table.contains("sqlite-again / sqlite, the noise"),
            "{table}"
        );
    }
}

#[test]
fn every_engine_has_its_column_and_what_it_was_seen_to_do() {
    let comparison = compare(&common::many(2));
    let table = terminal::table(&comparison, 80);
    assert_eq!(table.matches("sum of all tests").count(), 7);
    assert!(table.lines().any(|line| line.contains("strongroom ")
        && line.contains(" synced")
        && line.contains("4.0")
        && line.contains("not readable")));
}

#[test]
fn an_engine_that_breaks_its_word_is_warned_of_in_page_and_terminal() {
    let mut results = common::results(10);
    for probe in &mut results.probes {
        if probe.engine == "strongroom" {
            probe.syncs = Syncs::Counted(SyncCalls::default());
            for look in probe.open.iter_mut().chain(&mut probe.closed) {
                look.found_in = vec!["speed.db-wal".into()];
            }
        }
    }
    let table = terminal::table(&compare(&results), 80).replace('\n', " ");
    let page = common::page(&results);
    for warning in [
        "strongroom is said to wait for the disk, but 20 commits made 0 syncs",
        "strongroom is said to encrypt, but a stored text can be read in speed.db-wal",
    ] {
        assert!(table.contains(&format!("warning: {warning}")), "{table}");
        assert!(page.contains(warning));
    }
}

#[test]
fn a_failed_probe_is_reported_with_its_reason() {
    let mut results = common::results(10);
    for probe in &mut results.probes {
        probe.syncs = Syncs::NotProbed {
            reason: "not allowed here".into(),
        };
    }
    let comparison = compare(&results);
    assert!(
        comparison
            .engines
            .iter()
            .all(|one| one.contradictions.is_empty())
    );
    assert!(common::page(&results).contains("not probed: not allowed here"));
    results.probes.clear();
    assert!(common::page(&results).contains("not probed"));
}

#[test]
fn the_page_asks_for_nothing_from_elsewhere_and_escapes_what_it_shows() {
    let page = common::page(&common::results(12));
    for foreign in [
        "http:", "https:", "src=", "@import", "url(", "fetch(", "import(", "<link",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("Difference Engine &lt;No. 2&gt; &amp; sons"));
    assert!(page.contains("2000-02-29 00:00 UTC"));
    assert!(page.contains("cargo run --release -- compare"));
}

#[test]
fn published_figures_stand_beside_those_of_their_workload() {
    let page = common::page(&common::results(2));
    assert!(page.contains("Published in 2002") && page.contains("PostgreSQL 7.1.3"));
    let sizes = common::sizes(&[25]);
    let page = common::page(&sizes[0]);
    assert!(page.contains("Published for SQLite in browsers"));
    assert!(page.contains("177500") && page.contains("147626"));
    assert!(!page.contains("PostgreSQL 7.1.3"));
    let mut pinger = common::results(2);
    pinger.header.workload.spec = Spec::Pinger;
    pinger.header.workload.sha256 = "0".into();
    let page = common::page(&pinger);
    assert!(page.contains("MySQL 4.1.20") && page.contains("53.76"));
    assert!(page.contains("tests 5, 6, 7 together"));
}

#[test]
fn engines_with_several_connections_are_compared_by_operation_and_by_latency() {
    let comparison = compare(&common::concurrent(3));
    let strongroom = comparison.engine("strongroom").unwrap();
    for cell in &strongroom.cells {
        let ratio = cell.wall_ratio.unwrap().value;
        assert!((ratio - 1.2).abs() < 0.02, "{ratio}");
    }
    let wall_s = |place: usize| strongroom.cells[place].wall_s.unwrap();
    assert!((wall_s(0) * 1e6 - 12.0).abs() < 0.1);
    assert!((wall_s(1) * 1e6 - 6.0).abs() < 0.1);
    assert!((wall_s(5) * 1e6 - 120.0).abs() < 1.0);
    assert_eq!(strongroom.wall_total_s, None);
    assert!(terminal::table(&comparison, 80).contains("0.000012"));
}

#[test]
fn the_page_says_how_operations_came() {
    let mut results = common::concurrent(2);
    assert!(common::page(&results).contains("(Poisson arrivals)"));
    results.header.workload.spec = Spec::Concurrent {
        rate: 500,
        arrivals: workloads::concurrent::Arrivals::Even,
        seconds: 3,
    };
    let page = common::page(&results);
    assert!(page.contains("these times are at equal intervals") && !page.contains("Poisson"));
}
