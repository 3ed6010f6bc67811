//! Servers start when they are needed, and leave nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use finisher_mysql::{FinisherOptions, Finishers};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use session_mysql::finisher::{FinisherAnswer, FinisherKind};

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
