//! The published comparison of SQLite in browsers beside runs of the lab.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use lab::comparison::{Comparison, compare};
use lab::engine::Mode;
use lab_report::export;
use lab_report::page::{Run, html};
use lab_report::terminal;

fn compared(sizes: &[u32], mode: Mode) -> Vec<Comparison> {
    common::browsers(sizes, mode).iter().map(compare).collect()
}

fn table(comparisons: &[Comparison]) -> String {
    export::browsers_markdown(&comparisons.iter().collect::<Vec<_>>())
}

/// The cells of the row of an engine.
fn row<'a>(text: &'a str, engine: &str) -> Vec<&'a str> {
    let name = format!(" {engine} ");
    let line = text.lines().find(|line| line.contains(&name)).unwrap();
    line.trim_matches('|').split(" | ").map(str::trim).collect()
}

#[test]
fn published_times_are_shown_beside_ours_by_size() {
    let text = table(&compared(&[10, 2], Mode::Direct));
    let head = text
        .lines()
        .find(|line| line.starts_with("| published"))
        .unwrap();
    assert!(
        head.contains("size 2, published | here | size 10, published | here"),
        "{head}"
    );
    let native = row(&text, "sqlite");
    assert_eq!(native[..3], ["C, native", "sqlite", "0.040 s, 1.00 ×"]);
    assert!(native[3].ends_with("s, 1.00 ×"), "{native:?}");
    // The mock engine takes 1.2 times as long.
    let opfs = row(&text, "browser-official-opfs");
    assert_eq!((opfs[0], opfs[2]), ("sqlite3_vfs", "0.270 s, 6.75 ×"));
    assert!(
        opfs[3].contains("s, 1.2") && opfs[5].contains("s, 1.2"),
        "{opfs:?}"
    );
    // Nothing was measured at size 25.
    assert_eq!(opfs[7], "–");
}

#[test]
fn engines_are_compared_within_the_same_round() {
    let mut comparisons = compared(&[10, 2], Mode::Direct);
    for comparison in &mut comparisons {
        // The mock engine takes 1.2 times as long as native SQLite.
        comparison.engines[1].profile.name = "browser-strongroom".into();
    }
    let text = table(&comparisons);
    let (_, pairs) = text.split_once("engine over engine").unwrap();
    assert!(
        pairs.contains("| engine | over | size 2 | size 10 |"),
        "{pairs}"
    );
    let line = pairs
        .lines()
        .find(|line| line.contains("| sqlite |"))
        .unwrap();
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    assert_eq!(cells[..2], ["browser-strongroom", "sqlite"]);
    assert!(
        cells[2].starts_with("1.2") && cells[3].starts_with("1.2"),
        "{line}"
    );
    // The other bases did not take part.
    assert!(!pairs.contains("browser-sahpool"), "{pairs}");
}

#[test]
fn impossible_tests_are_counted_or_end_the_row() {
    let comparisons = compared(&[2], Mode::Direct);
    let text = table(&comparisons);
    let websql = row(&text, "browser-websql");
    // Half of native SQLite's time, for the tests that both completed.
    assert!(
        websql[3].contains("s, 0.5") && websql[3].ends_with("without 1 test"),
        "{websql:?}"
    );
    let local = row(&text, "browser-kvvfs-local");
    assert_eq!(
        (local[0], local[3]),
        ("local or session storage", "database too large")
    );
    let whole = export::markdown(&comparisons[0]);
    let told = "browser-websql, test 1: not possible here: refused";
    assert!(whole.contains(told), "{whole}");
    assert!(!whole.contains("wrong"), "{whole}");
    let shown = terminal::table(&comparisons[0], 80).replace('\n', " ");
    assert!(shown.contains(told), "{shown}");
    let engine = comparisons[0].engine("browser-websql").unwrap();
    assert_eq!((engine.wall_total_s, engine.wrong_count()), (None, 0));
    assert!(engine.wall_mean.is_some());
}

#[test]
fn scripts_are_divided_by_direct_calls_of_the_same_size() {
    let scripts = compared(&[2, 10], Mode::Script);
    let alone = table(&scripts);
    let websql = row(&alone, "browser-websql");
    assert_eq!((websql[0], websql[2]), ("WebSQL", "2.230 s, 55.75 ×"));
    assert!(!websql[3].contains('×'), "{websql:?}");
    assert!(!alone.contains("| sqlite |"), "{alone}");
    let direct = compared(&[2], Mode::Direct);
    let both: Vec<Comparison> = scripts.into_iter().chain(direct).collect();
    let text = table(&both);
    let (_, scripts) = text.split_once("a text of SQL").unwrap();
    let websql = row(scripts, "browser-websql");
    assert!(
        websql[3].contains('×') && !websql[5].contains('×'),
        "{websql:?}"
    );
}

#[test]
fn runs_without_browsers_have_no_such_table() {
    let runs: Vec<Comparison> = common::sizes(&[2, 10]).iter().map(compare).collect();
    assert_eq!(table(&runs), "");
    let page = |comparisons: &[Comparison]| {
        let runs: Vec<Run<'_>> = comparisons
            .iter()
            .map(|comparison| Run {
                comparison,
                command: "",
                samples: "",
            })
            .collect();
        html(&runs).unwrap()
    };
    let words = "The published comparison of SQLite in browsers, repeated";
    assert!(!page(&runs).contains(words));
    let shown = page(&compared(&[2], Mode::Direct));
    assert!(shown.contains(words) && shown.contains("sqlite3_vfs"));
}
