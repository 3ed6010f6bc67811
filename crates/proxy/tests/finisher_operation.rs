//! The finisher as a process: what is counted of it, how it ends, and what ends its queries.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use postgres::NoTls;
use postgres::error::SqlState;
use tempfile::TempDir;

use crate::common::texts::answer;
use crate::common::wire::{SYNC, Session, put_text};
use crate::common::{Setup, with_finish};
use crate::connection_failures::{free_port, metric, wait_for};

const RULES: &str = r#"
[columns.item]
price = { type = "numeric(10,2)" }
"#;

/// A query that only the finisher can evaluate.
const ROUNDED: &str = "SELECT round(price) FROM item ORDER BY 1";
/// One that it does not end within the patience of any test.
const ENDLESS: &str = "SELECT sum(g) FROM (SELECT generate_series(1, 10000000000) AS g FROM item \
                       WHERE round(price) > 0) AS s";

/// A proxy with a finisher.
struct Finished {
    setup: Setup,
    metrics: u16,
    /// Where the folder of the finisher is made.
    place: TempDir,
}

impl Finished {
    fn start() -> Option<Self> {
        if !server_testkit::is_installed() {
            return None;
        }
        let place = tempfile::tempdir().expect("a folder");
        let mode = fs::Permissions::from_mode(0o711);
        fs::set_permissions(place.path(), mode).expect("own folder");
        if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            chown(place.path(), Some(65534), Some(65534)).expect("root gives away");
        }
        let metrics = free_port();
        let finish = with_finish(&format!("metrics = \"127.0.0.1:{metrics}\""));
        let setup = Setup::start_with(
            RULES,
            &format!("{finish}folder = \"{}\"\n", place.path().display()),
        );
        let mut client = setup.connect();
        let made = "CREATE TABLE item (id integer, price numeric(10,2)); \
                    INSERT INTO item VALUES (1, 1.5), (2, 2.5), (3, 3.5)";
        client.batch_execute(made).expect("made");
        Some(Self {
            setup,
            metrics,
            place,
        })
    }

    fn count(&self, name: &str) -> u64 {
        metric(self.metrics, &format!("finisher_{name}"))
    }

    /// The number of the first process of the finisher.
    fn process(&self) -> u32 {
        let lock = self.folder().join("data/postmaster.pid");
        let lock = fs::read_to_string(lock).expect("a server");
        let line = lock.lines().next().expect("a line");
        line.parse().expect("a number")
    }

    fn folder(&self) -> PathBuf {
        let mut folders = fs::read_dir(self.place.path()).expect("a folder");
        let folder = folders.next().expect("that of the finisher");
        folder.expect("an entry").path()
    }

    /// How many connections the finisher has.
    fn connections(&self) -> usize {
        let process = self.process();
        let children = format!("/proc/{process}/task/{process}/children");
        let children = fs::read_to_string(children).expect("Linux");
        let titles = children.split_whitespace().map(|child| {
            let title = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&title).into_owned()
        });
        titles
            .filter(|title| title.contains("strongroom_queries"))
            .count()
    }
}

fn lives(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

#[test]
fn what_the_finisher_does_is_counted() {
    let Some(proxy) = Finished::start() else {
        return;
    };
    assert_eq!(proxy.count("started_total"), 0);
    let mut client = proxy.setup.connect();
    assert_eq!(
        answer(&mut client, ROUNDED).expect("three"),
        ["2", "3", "4"]
    );
    assert_eq!(proxy.count("started_total"), 1);
    let asked = proxy.count("asked_total");
    assert!(asked > 0);
    assert_eq!(proxy.count("rows_total"), 3);
    let bytes = proxy.count("bytes_total");
    assert!(bytes > 0);
    assert!(proxy.count("microseconds_total") > 0);
    assert_eq!(proxy.count("failed_total"), 0);
    let error = answer(&mut client, "SELECT 1 / (round(price) - 2) FROM item");
    assert_eq!(
        error.expect_err("by zero").code(),
        Some(&SqlState::DIVISION_BY_ZERO)
    );
    assert_eq!(proxy.count("failed_total"), 1);
    assert_eq!(
        answer(&mut client, ROUNDED).expect("three"),
        ["2", "3", "4"]
    );
    assert!(proxy.count("asked_total") > asked);
    assert_eq!(proxy.count("rows_total"), 6);
    assert!(proxy.count("bytes_total") > bytes);
    assert_eq!(proxy.count("busy"), 0);
    assert_eq!(proxy.count("restarted_total"), 0);
    let process = proxy.process();
    let mut kill = Command::new("kill");
    let killed = kill.args(["-QUIT", &process.to_string()]);
    assert!(killed.status().expect("it is installed").success());
    // Questions may still reach the one that ends.
    wait_for(|| answer(&mut client, ROUNDED).is_ok() && proxy.count("restarted_total") == 1);
    assert_eq!(proxy.count("started_total"), 2);
}

#[test]
fn the_finisher_is_gone_before_the_proxy_is() {
    let Some(proxy) = Finished::start() else {
        return;
    };
    let mut client = proxy.setup.connect();
    assert_eq!(answer(&mut client, ROUNDED).expect("three").len(), 3);
    let process = proxy.process();
    assert!(lives(process));
    drop(client);
    let Finished { setup, place, .. } = proxy;
    drop(setup);
    assert!(!lives(process));
    let left = fs::read_dir(place.path()).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn a_query_of_the_finisher_is_cancelled_and_the_session_goes_on() {
    let Some(proxy) = Finished::start() else {
        return;
    };
    let mut client = proxy.setup.connect();
    let token = client.cancel_token();
    let (give, take) = mpsc::channel();
    let asking = thread::spawn(move || {
        let cancelled = answer(&mut client, ENDLESS).expect_err("cancelled");
        give.send(cancelled.code().cloned()).expect("it is awaited");
        answer(&mut client, ROUNDED).expect("it goes on")
    });
    wait_for(|| proxy.count("busy") == 1 && proxy.count("bytes_total") > 0);
    assert_eq!(
        take.recv_timeout(Duration::from_millis(300)),
        Err(mpsc::RecvTimeoutError::Timeout),
        "nobody has cancelled it"
    );
    token.cancel_query(NoTls).expect("the proxy takes it");
    let code = take.recv_timeout(Duration::from_secs(60));
    assert_eq!(code, Ok(Some(SqlState::QUERY_CANCELED)));
    assert_eq!(asking.join().expect("no panic"), ["2", "3", "4"]);
    assert_eq!(proxy.count("busy"), 0);
    // One for the query that went on.
    wait_for(|| proxy.connections() == 1);
}

#[test]
fn a_query_of_the_finisher_ends_with_its_client() {
    let Some(proxy) = Finished::start() else {
        return;
    };
    let mut session = Session::connect(proxy.setup.proxy.address.port());
    let mut messages = Vec::new();
    put_text(ENDLESS, &mut messages);
    messages.extend_from_slice(SYNC);
    session.send(&messages);
    wait_for(|| proxy.count("busy") == 1 && proxy.count("bytes_total") > 0);
    drop(session);
    wait_for(|| proxy.count("busy") == 0 && proxy.connections() == 0);
}
