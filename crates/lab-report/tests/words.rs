//! What is said about a run.

mod common;

use lab::comparison::compare;
use lab_report::{finding, page, terminal};

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
    assert!(
        page::html(&comparison, "again")
            .unwrap()
            .contains("too few rounds")
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
    let page = page::html(&comparison, "again").unwrap();
    assert!(page.contains("strongroom gave a wrong answer in test 6"));
    assert!(page.contains("<strong>Wrong answers: 1</strong>"));
    assert!(finding::sentence(&comparison).contains("1 of its answers"));
}

#[test]
fn a_failure_is_told_with_its_cause() {
    let mut results = common::results(10);
    let pass = results
        .passes
        .iter_mut()
        .find(|pass| pass.engine == "strongroom")
        .unwrap();
    pass.failure = Some("the worker ended early (signal: 9)".into());
    let comparison = compare(&results);
    assert!(terminal::table(&comparison, 160).contains("signal: 9"));
    assert!(
        page::html(&comparison, "again")
            .unwrap()
            .contains("failed in 1 of its passes")
    );
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
    let page = page::html(&compare(&results), "again").unwrap();
    assert!(page.contains("strongroom left rows that can be read on the disk"));
}

#[test]
fn the_table_has_a_line_per_test_and_fits_its_width() {
    let table = terminal::table(&common::comparison(12), 120);
    for title in ["1 1000 INSERTs", "15 DROP TABLE", "sum of all tests"] {
        assert!(table.contains(title), "{table}");
    }
    assert!(
        table.lines().all(|line| line.chars().count() <= 120),
        "{table}"
    );
    assert!(
        table.contains("sqlite-again / sqlite, the noise"),
        "{table}"
    );
}

#[test]
fn the_page_asks_for_nothing_from_elsewhere_and_escapes_what_it_shows() {
    let page = page::html(&common::comparison(12), "cargo run -- compare").unwrap();
    for foreign in [
        "http:", "https:", "src=", "@import", "url(", "<script", "<link",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("Difference Engine &lt;No. 2&gt; &amp; sons"));
    assert!(page.contains("2000-02-29 00:00 UTC"));
    assert!(page.contains("cargo run -- compare"));
}
