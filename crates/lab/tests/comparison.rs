//! Evaluation of samples: which engine is slower, and which is wrong.

mod common;

use common::{header, pass, results};
use lab::answer::{Answers, Value};
use lab::comparison::{Comparison, compare};
use lab::results::{FORMAT, Pass, ReadError, Record, Results};

fn compared(passes: Vec<Pass>) -> Comparison {
    compare(&results(passes))
}

#[test]
fn times_are_medians_and_ratios_are_paired() {
    let comparison = compared(vec![
        pass(0, "plain", [10, 100]),
        pass(0, "sealed", [20, 100]),
        pass(1, "sealed", [60, 100]),
        pass(1, "plain", [30, 100]),
        pass(2, "plain", [10, 100]),
        pass(2, "sealed", [20, 100]),
    ]);
    let sealed = &comparison.engines[1];
    assert_eq!(sealed.cells[0].wall_s, Some(0.020));
    assert_eq!(sealed.cells[0].cpu_s, Some(0.010));
    assert!((sealed.cells[0].wall_ratio.unwrap().value - 2.0).abs() < 1e-9);
    assert!((sealed.wall_mean.unwrap().value - 2f64.sqrt()).abs() < 1e-9);
    assert!((sealed.cpu_mean.unwrap().value - 2f64.sqrt()).abs() < 1e-9);
    assert_eq!(comparison.engines[0].wall_mean, None);
    assert_eq!(comparison.rounds, 3);
}

#[test]
fn an_answer_unlike_the_reference_is_wrong_and_wins_nothing() {
    let mut wrong = pass(0, "sealed", [1, 100]);
    wrong.tests[0].answer = "another".into();
    let comparison = compared(vec![pass(0, "plain", [10, 100]), wrong]);
    let sealed = &comparison.engines[1];
    assert!(sealed.cells[0].wrong.as_ref().unwrap().contains("plain"));
    assert_eq!(sealed.cells[0].wall_ratio, None);
    assert_eq!(sealed.wrong_count(), 1);
    assert_eq!(sealed.answers_right, 1);
    // The mean is computed from the other test alone.
    assert!((sealed.wall_mean.unwrap().value - 1.0).abs() < 1e-9);
}

#[test]
fn an_average_with_fewer_digits_is_equal_and_a_different_one_is_reported_with_its_position() {
    let answer = |average: f64| {
        let mut answers = Answers::default();
        answers.push(Value::Integer(7));
        answers.push(Value::Real(average));
        answers.end_row();
        answers.end_statement();
        answers.recorded()
    };
    let compared = |average: f64| {
        let [one, two] = [answer(24_950.124_949), answer(average)];
        let mut passes = [pass(0, "plain", [10, 100]), pass(0, "sealed", [20, 100])];
        passes[0].tests[0].answer = one.name.clone();
        passes[1].tests[0].answer = two.name.clone();
        let mut results = results(passes.into());
        results.answers = [one, two]
            .map(|answer| (answer.name.clone(), answer))
            .into();
        compare(&results).engines[1].cells[0].clone()
    };
    let same = compared(24_950.125);
    assert_eq!(same.wrong, None);
    assert!(same.wall_ratio.is_some());
    assert_eq!(
        compared(24_951.0).wrong.unwrap(),
        "not the answer of plain: statement 1, row 1, number 2: 24951.0 instead of 24950.124949"
    );
}

#[test]
fn a_reference_that_contradicts_the_facts_is_wrong_itself() {
    let mut wrong = pass(0, "plain", [1, 100]);
    wrong.tests[0].contradiction = Some("3 instead of 4".into());
    wrong.tests[0].answer = "another".into();
    let comparison = compared(vec![wrong, pass(0, "sealed", [10, 100])]);
    assert!(comparison.engines[0].cells[0].wrong.is_some());
    assert_eq!(comparison.engines[1].cells[0].wrong, None);
    assert_eq!(comparison.engines[1].cells[0].wall_ratio, None);
}

#[test]
fn a_failed_pass_leaves_the_other_rounds() {
    let mut failed = pass(0, "sealed", [20, 100]);
    failed.tests.pop();
    failed.failure = Some("killed".into());
    let comparison = compared(vec![
        pass(0, "plain", [10, 100]),
        failed,
        pass(1, "plain", [10, 100]),
        pass(1, "sealed", [30, 100]),
    ]);
    let sealed = &comparison.engines[1];
    assert_eq!(sealed.failures, ["killed"]);
    assert_eq!(sealed.passes, 1);
    assert_eq!(sealed.cells[0].wall_ratio.unwrap().rounds, 2);
    assert_eq!(sealed.wall_mean.unwrap().rounds, 1);
}

#[test]
fn a_file_is_read_up_to_its_last_complete_line() {
    let one = pass(0, "plain", [10, 100]);
    let mut text = Record::Header(header()).to_line();
    text += &Record::Pass(one.clone()).to_line();
    let complete = text.len() as u64;
    text += "{\"record\":\"pass\",\"rou";
    let read = Results::parse(&text).unwrap();
    assert_eq!(read.passes, [one]);
    assert_eq!(read.complete_bytes, complete);
    assert!(read.has(0, "plain") && !read.has(0, "sealed") && !read.has(1, "plain"));
}

#[test]
fn damaged_files_are_distinguished() {
    let head = Record::Header(header()).to_line();
    assert!(matches!(Results::parse(""), Err(ReadError::NoHeader)));
    assert!(matches!(
        Results::parse("{}\n"),
        Err(ReadError::Line { line: 1, .. })
    ));
    assert!(matches!(
        Results::parse(&format!("{head}{head}")),
        Err(ReadError::SecondHeader { line: 2 })
    ));
    let other = FORMAT + 1;
    let newer = head.replace(
        &format!("\"format\":{FORMAT}"),
        &format!("\"format\":{other}"),
    );
    assert!(matches!(
        Results::parse(&newer),
        Err(ReadError::Format { found }) if found == other
    ));
}
