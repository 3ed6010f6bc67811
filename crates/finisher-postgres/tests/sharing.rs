//! Many questions at a time, and few connections.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use finisher_postgres::{FinisherOptions, Finishers};
use session_postgres::finisher::FinisherKind;
use tempfile::TempDir;

use crate::common::{folders, kind, options, place, process, question, rows};

const CONNECTIONS: usize = 4;

fn few() -> Option<(Finishers, TempDir)> {
    let place = place();
    let options = FinisherOptions {
        connections_max: CONNECTIONS,
        folder: Some(place.path().to_owned()),
        ..options()?
    };
    Some((Finishers::new(options), place))
}

/// How many connections questions have, by the names of the server's processes.
fn connections(place: &TempDir) -> usize {
    let server = process(&folders(place.path())[0]);
    let children = format!("/proc/{server}/task/{server}/children");
    let children = fs::read_to_string(children).expect("Linux");
    let titles = children.split_whitespace().map(|child| {
        let title = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&title).into_owned()
    });
    titles
        .filter(|title| title.contains("strongroom_queries"))
        .count()
}

async fn one(finishers: Finishers, kind: Arc<FinisherKind>, number: usize) {
    let (number, product) = (number.to_string(), (number * 3).to_string());
    let request = question(&kind, "SELECT $1::int * 3, $1::text", &[&number]);
    let answer = format!("{product}|{number}");
    assert_eq!(rows(&finishers, request).await, [answer]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_questions_share_four_connections() {
    let Some((finishers, place)) = few() else {
        return;
    };
    let kind = Arc::new(kind(&finishers));
    let questions = (0..200).map(|number| {
        let (finishers, kind) = (finishers.clone(), Arc::clone(&kind));
        tokio::spawn(one(finishers, kind, number))
    });
    for question in questions.collect::<Vec<_>>() {
        question.await.expect("an answer");
    }
    assert!((1..=CONNECTIONS).contains(&connections(&place)));
    assert_eq!(
        finishers.counters().rows().map(|row| row.3)[..3],
        [200, 0, 1]
    );
}

#[tokio::test]
async fn databases_share_the_connections() {
    let Some((finishers, place)) = few() else {
        return;
    };
    let first = kind(&finishers);
    for round in 0..2 {
        for provider in ["c", ""] {
            // The same rules by another name: a database of its own.
            let kind = Arc::new(FinisherKind {
                locale_provider: provider.to_owned(),
                ..first.clone()
            });
            let all = (0..8).map(|number| {
                let (finishers, kind) = (finishers.clone(), Arc::clone(&kind));
                tokio::spawn(one(finishers, kind, number + 8 * round))
            });
            for question in all.collect::<Vec<_>>() {
                question.await.expect("an answer");
            }
        }
    }
    crate::common::wait_until("closed", || connections(&place) <= CONNECTIONS);
}

/// As the workers of a proxy do, each of which has a runtime of its own.
#[test]
fn runtimes_share_the_connections() {
    let Some((finishers, place)) = few() else {
        return;
    };
    let kind = Arc::new(kind(&finishers));
    let workers = (0..3).map(|worker| {
        let (finishers, kind) = (finishers.clone(), Arc::clone(&kind));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            for number in 0..50 {
                let question = one(finishers.clone(), Arc::clone(&kind), number * 3 + worker);
                runtime.block_on(question);
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.join().expect("no panic");
    }
    assert!(connections(&place) <= CONNECTIONS);
}

#[tokio::test]
async fn who_stops_waiting_gets_no_answer_and_disturbs_none() {
    let place = place();
    let Some(options) = options() else {
        return;
    };
    let finishers = Finishers::new(FinisherOptions {
        connections_max: 1,
        folder: Some(place.path().to_owned()),
        ..options
    });
    let kind = kind(&finishers);
    let first = question(&kind, "SELECT 'first'", &[]);
    assert_eq!(rows(&finishers, first).await, ["first"]);
    let endless = "SELECT max(a) FROM (SELECT generate_series(1, 1000000000000) AS a) AS t";
    for _ in 0..3 {
        let asked = finishers.ask(question(&kind, endless, &[]));
        let waited = tokio::time::timeout(Duration::from_millis(50), asked).await;
        assert!(waited.is_err());
        let next = question(&kind, "SELECT 'next'", &[]);
        assert_eq!(rows(&finishers, next).await, ["next"]);
    }
    if kind.major >= 14 {
        crate::common::wait_until("closed", || connections(&place) <= 1);
    }
}
