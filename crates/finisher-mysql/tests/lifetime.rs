//! Servers start when they are needed, and leave nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use finisher_mysql::{FinisherOptions, Finishers};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use session_mysql::finisher::{FinisherAnswer, FinisherKind, is_mariadb};
use tokio::time::timeout;
use wire_mysql::answer::ErrorPacket;

use crate::common::{each, folders, lives, options, place, process, question, rows, wait_until};

#[tokio::test]
async fn a_server_is_private_and_gone_after_the_end() {
    let Some(place) = place() else {
        println!("left out: there is no /dev/shm");
        return;
    };
    let own = FinisherOptions {
        folder: Some(place.path().to_owned()),
        ..options()
    };
    for (finishers, kind) in each(&own) {
        is_private_and_leaves_nothing(&finishers, kind, place.path()).await;
    }
}

async fn is_private_and_leaves_nothing(finishers: &Finishers, kind: FinisherKind, place: &Path) {
    assert!(folders(place).is_empty(), "it starts when needed");
    assert_eq!(
        rows(finishers, question(kind, &[], "SELECT 1")).await,
        ["1"]
    );
    let [folder] = &folders(place)[..] else {
        panic!("one folder");
    };
    let mode = fs::metadata(folder).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(!folder.join("first.sql").exists(), "it has the password");
    let server = process(folder);
    // A server that was killed is started anew, and the question is asked again.
    kill(Pid::from_raw(server), Signal::SIGKILL).expect("it is ours");
    wait_until("dead", || !lives(server));
    assert_eq!(
        rows(finishers, question(kind, &[], "SELECT 2")).await,
        ["2"]
    );
    finishers.end().await;
    wait_until("empty", || folders(place).is_empty());
}

#[tokio::test]
async fn without_memory_there_is_none() {
    let place = tempfile::tempdir().expect("a folder");
    let own = FinisherOptions {
        folder: Some(place.path().to_owned()),
        ..options()
    };
    for (finishers, kind) in each(&own) {
        match finishers.ask(question(kind, &[], "SELECT 1")).await {
            FinisherAnswer::Failed(error) => {
                assert!(error.hint.expect("a remedy").contains("tmpfs"));
            }
            // The system's own folder for temporary files may be one in memory.
            FinisherAnswer::Rows(_) => {}
            other => panic!("{other:?}"),
        }
        finishers.end().await;
    }
}

/// How many sockets a process has open.
fn sockets(process: i32) -> usize {
    let open = fs::read_dir(format!("/proc/{process}/fd")).expect("it is ours");
    let targets = open.flatten().flat_map(|own| fs::read_link(own.path()));
    let is_socket = |own: &PathBuf| own.to_string_lossy().starts_with("socket:");
    targets.filter(is_socket).count()
}

#[tokio::test]
async fn a_write_has_a_bound_and_ends_with_who_waits_for_it() {
    let Some(place) = place() else {
        println!("left out: there is no /dev/shm");
        return;
    };
    let own = FinisherOptions {
        folder: Some(place.path().to_owned()),
        statement_timeout: Duration::from_secs(2),
        ..options()
    };
    for (finishers, kind) in each(&own) {
        writes_are_bounded(&finishers, kind, place.path()).await;
        finishers.end().await;
    }
}

async fn writes_are_bounded(finishers: &Finishers, kind: FinisherKind, place: &Path) {
    let tables = [
        "CREATE TEMPORARY TABLE shop.t (a int)",
        "INSERT INTO shop.t VALUES (1), (2)",
    ];
    let update = |value: &str| {
        let mut request = question(kind, &tables, &format!("UPDATE t SET a = {value}"));
        request.read_back = Some("SELECT a FROM t".to_owned());
        request
    };
    let code = match is_mariadb(kind.series) {
        true => 1969,
        false => 3024,
    };
    // The first answer opens a connection, and keeps it.
    for round in 0..2 {
        let FinisherAnswer::Changed(own) = finishers.ask(update("a + 5")).await else {
            panic!("it is done");
        };
        assert_eq!((own.affected_rows, own.read.rows.len()), (2, 2), "{round}");
        let FinisherAnswer::Refused(error) = finishers.ask(update("SLEEP(3600)")).await else {
            panic!("it has no bound");
        };
        assert_eq!(ErrorPacket::read(&error).expect("an error").code, code);
    }
    if is_mariadb(kind.series) {
        return;
    }
    let [folder] = &folders(place)[..] else {
        panic!("one folder");
    };
    let server = process(folder);
    until_nobody_is_connected(server).await;
    let asked = finishers.ask(update("SLEEP(3600)"));
    let asked = timeout(Duration::from_millis(700), asked).await;
    asked.expect_err("nobody waits for it any more");
    until_nobody_is_connected(server).await;
}

/// Waits while the runtime goes on.
async fn until_nobody_is_connected(server: i32) {
    let waited = tokio::task::spawn_blocking(move || {
        wait_until("ended", || sockets(server) == 1);
    });
    waited.await.expect("it listens, and does no more");
}
