//! How servers begin and end.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use finisher_postgres::{FinisherOptions, Finishers};
use nix::sys::signal::{Signal, kill as signal};
use nix::unistd::Pid;
use sqlstate::SqlState;

use crate::common::{
    failure, folders, kind, lives, options, place, process, question, rows, wait_until,
};

/// Names the place of a process that [`a_process_with_a_finisher`] is to be.
const PLACE: &str = "STRONGROOM_TEST_FINISHER_PLACE";

fn finishers_in(place: &Path) -> Option<Finishers> {
    let options = FinisherOptions {
        folder: Some(place.to_owned()),
        ..options()?
    };
    Some(Finishers::new(options))
}

async fn ask(finishers: &Finishers) {
    let request = question(&kind(finishers), "SELECT $1::int + 1", &["1"]);
    assert_eq!(rows(finishers, request).await, ["2"]);
}

fn kill(process: i32) {
    signal(Pid::from_raw(process), Signal::SIGKILL).expect("it is there");
}

#[tokio::test]
async fn a_server_that_was_killed_is_started_again() {
    let place = place();
    let Some(finishers) = finishers_in(place.path()) else {
        return;
    };
    for number in 1..=3 {
        ask(&finishers).await;
        let started = finishers.counters().rows().map(|row| row.3)[2];
        assert_eq!(started, number);
        // What the killed one left is gone by now, or soon.
        wait_until("cleared", || folders(place.path()).len() == 1);
        let server = process(&folders(place.path())[0]);
        kill(server);
        wait_until("killed", || !lives(server));
    }
    ask(&finishers).await;
}

#[tokio::test]
async fn a_connection_that_was_killed_is_opened_again() {
    let place = place();
    let Some(finishers) = finishers_in(place.path()) else {
        return;
    };
    ask(&finishers).await;
    let server = process(&folders(place.path())[0]);
    let children = format!("/proc/{server}/task/{server}/children");
    let children = fs::read_to_string(children).expect("Linux");
    let about = |child: &str, file: &str| fs::read_to_string(format!("/proc/{child}/{file}"));
    let connection = children.split_whitespace().find(|child| {
        let title = about(child, "cmdline").unwrap_or_default();
        title.contains("strongroom_queries")
    });
    let connection = connection.expect("one is kept");
    kill(connection.parse().expect("a number"));
    wait_until("noticed", || about(connection, "stat").is_err());
    // The server ends all its processes then, and begins anew.
    ask(&finishers).await;
    assert_eq!(process(&folders(place.path())[0]), server);
}

#[tokio::test]
async fn nothing_is_left_at_the_end() {
    let place = place();
    let Some(finishers) = finishers_in(place.path()) else {
        return;
    };
    ask(&finishers).await;
    let server = process(&folders(place.path())[0]);
    finishers.end().await;
    assert!(!lives(server));
    assert!(folders(place.path()).is_empty());
    // They can be asked again.
    ask(&finishers).await;
    let server = process(&folders(place.path())[0]);
    drop(finishers);
    wait_until("ended", || !lives(server));
    wait_until("cleared", || folders(place.path()).is_empty());
}

#[tokio::test]
async fn a_start_goes_on_when_nobody_waits() {
    let place = place();
    let Some(finishers) = finishers_in(place.path()) else {
        return;
    };
    let request = question(&kind(&finishers), "SELECT 1", &[]);
    let asked = tokio::time::timeout(Duration::from_millis(20), finishers.ask(request)).await;
    assert!(asked.is_err(), "no server starts so fast");
    ask(&finishers).await;
    assert_eq!(finishers.counters().rows().map(|row| row.3)[2], 1);
}

#[tokio::test]
async fn a_server_that_cannot_start_is_said_once() {
    let Some(options) = options() else {
        return;
    };
    let place = place();
    let finishers = Finishers::new(FinisherOptions {
        folder: Some(place.path().join("missing")),
        ..options
    });
    let kind = kind(&finishers);
    for _ in 0..2 {
        let error = failure(&finishers, question(&kind, "SELECT 1", &[])).await;
        assert_eq!(error.sqlstate, SqlState::SYSTEM_ERROR);
        assert!(!error.message.contains("missing"), "{error}");
    }
}

#[tokio::test]
async fn a_user_that_cannot_be_is_said() {
    let Some(options) = options() else {
        return;
    };
    for run_as in ["root", "no such user"] {
        let finishers = Finishers::new(FinisherOptions {
            run_as: Some(run_as.to_owned()),
            ..options.clone()
        });
        let kind = kind(&finishers);
        let error = failure(&finishers, question(&kind, "SELECT 1", &[])).await;
        assert!(error.hint.expect("a remedy").contains("run_as"), "{run_as}");
        assert_eq!(finishers.collation_version(&Arc::new(kind)).await, None);
    }
}

/// Not a test, unless [`PLACE`] is set: it is started as a process of its own, to be killed.
#[tokio::test]
async fn a_process_with_a_finisher() {
    let Some(place) = env::var_os(PLACE) else {
        return;
    };
    let finishers = finishers_in(Path::new(&place)).expect("PostgreSQL is installed");
    ask(&finishers).await;
    println!("\nasked");
    std::future::pending::<()>().await;
}

#[test]
fn a_server_ends_when_its_proxy_is_killed() {
    if options().is_none() {
        return;
    }
    for is_asking in [true, false] {
        let place = place();
        let mut child = Command::new(env::current_exe().expect("this program"))
            .args([
                "--exact",
                "lifetime::a_process_with_a_finisher",
                "--nocapture",
            ])
            .env(PLACE, place.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        if is_asking {
            let mut lines = output.lines().map_while(Result::ok);
            assert!(lines.any(|line| line == "asked"));
            let server = process(&folders(place.path())[0]);
            assert!(lives(server));
            child.kill().expect("killed");
            wait_until("ended", || !lives(server));
        } else {
            // While the server is being made.
            wait_until("begun", || {
                let folders = folders(place.path());
                folders.iter().any(|folder| folder.join("data").exists())
            });
            child.kill().expect("killed");
        }
        assert_eq!(child.wait().expect("it ended").signal(), Some(9));
        wait_until("cleared", || folders(place.path()).is_empty());
    }
}

#[tokio::test]
async fn a_server_ends_when_its_keeper_is_killed() {
    let place = place();
    let Some(finishers) = finishers_in(place.path()) else {
        return;
    };
    if !ends_with_its_keeper() {
        return;
    }
    ask(&finishers).await;
    let server = process(&folders(place.path())[0]);
    let status = fs::read_to_string(format!("/proc/{server}/status")).expect("Linux");
    let keeper = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    kill(keeper.expect("a parent").trim().parse().expect("a number"));
    wait_until("ended", || !lives(server));
    ask(&finishers).await;
    finishers.end().await;
    wait_until("cleared", || folders(place.path()).is_empty());
}

/// Whether the system has the program by which a server dies with its keeper.
fn ends_with_its_keeper() -> bool {
    let tried = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "true"])
        .output();
    tried.is_ok_and(|tried| tried.status.success())
}

#[tokio::test]
async fn what_a_dead_proxy_left_is_removed() {
    let place = place();
    let Some(finishers) = finishers_in(place.path()) else {
        return;
    };
    let Some(living) = finishers_in(place.path()) else {
        return;
    };
    ask(&living).await;
    let own = folders(place.path());
    let left = place.path().join("strongroom-finisher-1-0");
    fs::create_dir_all(left.join("data")).expect("made");
    fs::write(left.join("lock"), "").expect("written");
    if options().is_some_and(|options| options.run_as.is_some()) {
        std::os::unix::fs::chown(&left, Some(65534), Some(65534)).expect("root gives away");
    }
    ask(&finishers).await;
    assert!(!left.exists());
    assert!(own.iter().all(|folder| folder.exists()));
    assert_eq!(folders(place.path()).len(), 2);
    ask(&living).await;
}
