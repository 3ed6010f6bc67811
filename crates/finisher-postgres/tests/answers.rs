//! Questions and their answers.

use std::time::Duration;

use finisher_postgres::Finishers;
use session_core::Fault;
use session_postgres::finisher::{FinisherAnswer, FinisherKind};
use sqlstate::SqlState;
use wire_postgres::backend;

use crate::common::{
    describe, description, failure, finishers, kind, options, question, rows, with_settings,
};

const GROUPS: &str = "SELECT a, count(*) FROM unnest($1::int4[], $2::text[]) AS t(a, b) \
                      GROUP BY a ORDER BY a";

#[tokio::test]
async fn a_query_is_described_and_computed() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    let described = describe(&finishers, description(&kind, GROUPS)).await;
    assert_eq!(described.parameter_types, [1007, 1009]);
    let columns = backend::read_row_description(&described.row_description).expect("columns");
    let columns: Vec<_> = columns
        .iter()
        .map(|column| (column.name, column.type_oid, column.format))
        .collect();
    assert_eq!(columns, [(&b"a"[..], 23, 0), (&b"count"[..], 20, 0)]);
    let request = question(&kind, GROUPS, &["{2,1,2,NULL}", "{x,y,z,w}"]);
    assert_eq!(rows(&finishers, request).await, ["1|1", "2|2", "-|1"]);
    let request = question(&kind, GROUPS, &["{}", "{}"]);
    assert!(rows(&finishers, request).await.is_empty());
}

#[tokio::test]
async fn values_are_binary_where_the_question_says_so() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    let mut request = question(&kind, "SELECT $1, $1 + 1, $2", &["", "text"]);
    request.parameter_types = [23, 25].into();
    let execution = request.execution.as_mut().expect("one with values");
    execution.formats = vec![1, 0];
    execution.values[0] = Some(7_i32.to_be_bytes().to_vec());
    execution.result_formats = Box::new([1, 0, 0]);
    let computed = rows(&finishers, request.clone()).await;
    assert_eq!(computed, ["\0\0\0\u{7}|8|text"]);
    request.execution.as_mut().expect("one with values").values[0] = None;
    assert_eq!(rows(&finishers, request).await, ["-|-|text"]);
}

#[tokio::test]
async fn statements_without_rows_are_described_and_not_executed() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    let described = describe(&finishers, description(&kind, "BEGIN")).await;
    assert!(described.row_description.is_empty());
    let error = failure(&finishers, question(&kind, "BEGIN", &[])).await;
    assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
}

#[tokio::test]
async fn errors_are_the_servers_and_the_connection_goes_on() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    let json = question(&kind, "SELECT $1::json", &["{\"a\":}"]);
    let error = failure(&finishers, json).await;
    assert_eq!(error.fault, Fault::Statement);
    assert_eq!(error.sqlstate, SqlState::INVALID_TEXT_REPRESENTATION);
    assert_eq!(error.message, "invalid input syntax for type json");
    let detail = error.detail.expect("a detail");
    assert!(detail.contains("but found \"}\""), "{detail}");
    let error = failure(&finishers, question(&kind, "SELECT 1 / $1::int", &["0"])).await;
    assert_eq!(error.sqlstate, SqlState::DIVISION_BY_ZERO);
    let error = failure(&finishers, question(&kind, "SELECT abc('x')", &[])).await;
    assert_eq!(error.sqlstate, SqlState::UNDEFINED_FUNCTION);
    assert!(error.hint.is_some());
    let error = failure(&finishers, description(&kind, "SELEC")).await;
    assert_eq!(error.sqlstate, SqlState::SYNTAX_ERROR);
    assert_eq!(
        rows(&finishers, question(&kind, "SELECT 1", &[])).await,
        ["1"]
    );
    let counters = finishers.counters().rows().map(|row| row.3);
    assert_eq!(counters[..3], [5, 4, 1]);
}

#[tokio::test]
async fn settings_decide_how_values_are_read_and_written() {
    // One connection, so that each question finds what another has set.
    let Some(mut options) = options() else {
        return;
    };
    options.connections_max = 1;
    let finishers = Finishers::new(options);
    let kind = kind(&finishers);
    // The second constant is read when the statement is prepared.
    let query = "SELECT $1::timestamptz, '2026-01-02 00:00'::timestamptz AT TIME ZONE 'UTC'";
    let ask = async |settings: &[(&str, &str)]| {
        let request = question(&kind, query, &["2026-01-02 00:00+00"]);
        rows(&finishers, with_settings(request, settings)).await
    };
    let plain = ["2026-01-02 00:00:00+00|2026-01-02 00:00:00"];
    let tokyo = ["2026-01-02 09:00:00+09|2026-01-01 15:00:00"];
    let german = ["02.01.2026 00:00:00 UTC|02.01.2026 00:00:00"];
    for _ in 0..2 {
        assert_eq!(ask(&[]).await, plain);
        assert_eq!(ask(&[("TimeZone", "Asia/Tokyo")]).await, tokyo);
        assert_eq!(ask(&[("DateStyle", "German, DMY")]).await, german);
    }
    let quoted = with_settings(
        question(&kind, "SELECT 'a\\b'", &[]),
        &[("standard_conforming_strings", "off"), ("TimeZone", "UTC")],
    );
    assert_eq!(rows(&finishers, quoted).await, ["a\u{8}"]);
    let wrong = with_settings(question(&kind, "SELECT 1", &[]), &[("TimeZone", "a'b\\")]);
    let error = failure(&finishers, wrong).await;
    assert_eq!(error.sqlstate, SqlState::INVALID_PARAMETER_VALUE);
    let unknown = with_settings(question(&kind, "SELECT 1", &[]), &[("work_mem", "1GB")]);
    let error = failure(&finishers, unknown).await;
    assert_eq!(error.fault, Fault::Proxy);
    assert_eq!(ask(&[]).await, plain);
}

#[tokio::test]
async fn more_statements_than_are_kept_are_answered() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    for _ in 0..2 {
        for number in 0..70 {
            let request = question(&kind, &format!("SELECT {number} + $1::int"), &["1"]);
            let sum = (number + 1).to_string();
            assert_eq!(rows(&finishers, request).await, [sum]);
        }
    }
}

#[tokio::test]
async fn an_answer_over_its_limit_is_an_error() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    let many = "SELECT repeat('x', 100) FROM generate_series(1, $1)";
    let long = "SELECT repeat('x', $1)";
    for (query, least) in [(many, "10"), (long, "900")] {
        let mut request = question(&kind, query, &[least]);
        request.parameter_types = [23].into();
        let execution = request.execution.as_mut().expect("one with values");
        execution.answer_size_max = 1200;
        assert!(!rows(&finishers, request.clone()).await.is_empty());
        let execution = request.execution.as_mut().expect("one with values");
        execution.values[0] = Some(b"100000".to_vec());
        let error = failure(&finishers, request).await;
        assert_eq!(error.fault, Fault::Limit);
        assert_eq!(error.sqlstate, SqlState::PROGRAM_LIMIT_EXCEEDED);
    }
}

#[tokio::test]
async fn a_question_ends_at_its_time_limit() {
    let Some(mut options) = options() else {
        return;
    };
    options.statement_timeout = Duration::from_millis(100);
    let finishers = Finishers::new(options);
    let kind = kind(&finishers);
    let endless = "SELECT max(a) FROM (SELECT generate_series(1, 1000000000000) AS a) AS t";
    let error = failure(&finishers, question(&kind, endless, &[])).await;
    assert_eq!(error.sqlstate, SqlState::QUERY_CANCELED);
    assert_eq!(
        rows(&finishers, question(&kind, "SELECT 1", &[])).await,
        ["1"]
    );
}

#[tokio::test]
async fn values_larger_than_a_socket_holds_come_through() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = kind(&finishers);
    let text = "0123456789".repeat(300_000);
    let request = question(&kind, "SELECT length($1::text)", &[&text]);
    assert_eq!(rows(&finishers, request).await, ["3000000"]);
    let mut request = question(&kind, "SELECT $1::text", &[&text]);
    let execution = request.execution.as_mut().expect("one with values");
    execution.answer_size_max = 4 << 20;
    let FinisherAnswer::Rows(answer) = finishers.ask(request).await else {
        panic!("no rows");
    };
    assert_eq!(answer.messages.len(), 5 + 2 + 4 + text.len());
}

#[tokio::test]
async fn a_version_that_is_not_installed_is_said() {
    let finishers = Finishers::new(options().unwrap_or_default());
    assert!(!finishers.offers(99) && !finishers.offers(9));
    let kind = FinisherKind {
        major: 99,
        ..FinisherKind::default()
    };
    let error = failure(&finishers, question(&kind, "SELECT 1", &[])).await;
    assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
    assert!(
        error
            .hint
            .expect("a hint")
            .contains("Install PostgreSQL 99")
    );
}

#[tokio::test]
async fn what_no_message_can_carry_is_refused() {
    let finishers = Finishers::new(options().unwrap_or_default());
    let kind = FinisherKind::default();
    let error = failure(&finishers, question(&kind, "SELECT 1\0, 2", &[])).await;
    assert_eq!(error.fault, Fault::Proxy);
    let mut request = question(&kind, "SELECT $1", &["1"]);
    request
        .execution
        .as_mut()
        .expect("one with values")
        .formats
        .clear();
    assert_eq!(failure(&finishers, request).await.fault, Fault::Proxy);
}
