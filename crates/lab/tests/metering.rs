//! Measurement of real processes. This file has a single test: children of other tests in the same
//! process would be measured too.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::Read;
use std::process::{Child, Command, Stdio};

use lab::engine::Server;
use lab::measure::{Meter, Sample, ServerPart, ServerUsage};

const BURN: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo burnt; read stay";

/// A process that uses processor time and then waits; returns when it waits.
fn burner() -> Child {
    let mut child = Command::new("sh")
        .args(["-c", BURN])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0u8; 6];
    let output = child.stdout.as_mut().unwrap();
    output.read_exact(&mut line).unwrap();
    child
}

fn measured(sample: Sample) -> ServerUsage {
    match sample.server {
        Some(ServerPart::Yes(part)) => part,
        other => panic!("{other:?}"),
    }
}

#[test]
fn work_of_processes_below_is_the_servers_whether_they_run_or_have_ended() {
    let meter = Meter::with(Server::Child);
    let mut running = burner();
    let part = measured(meter.stop());
    let burnt_ns = part.user_ns + part.system_ns;
    assert!(burnt_ns > 10_000_000, "{part:?}");
    assert!(
        part.memory_bytes > 50_000 && part.written_bytes >= 6,
        "{part:?}"
    );

    // The same process does nothing more, so what it did before no longer counts.
    let sample = Meter::with(Server::Child).stop();
    let idle = measured(sample);
    assert!(idle.user_ns + idle.system_ns < burnt_ns / 2, "{idle:?}");
    assert_eq!(
        sample.cpu_ns(),
        Some(sample.client_cpu_ns() + idle.user_ns + idle.system_ns)
    );

    // It exits, and what it did before does not count again.
    let meter = Meter::with(Server::Child);
    drop(running.stdin.take());
    running.wait().unwrap();
    let part = measured(meter.stop());
    assert!(part.user_ns + part.system_ns < burnt_ns / 2, "{part:?}");

    // A process that starts and exits within the interval.
    let meter = Meter::with(Server::Child);
    let mut short = burner();
    drop(short.stdin.take());
    short.wait().unwrap();
    let part = measured(meter.stop());
    assert!(part.user_ns + part.system_ns > 10_000_000, "{part:?}");
    assert!(
        part.written_bytes >= 6 && part.memory_bytes == 0,
        "{part:?}"
    );

    let elsewhere = Meter::with(Server::Elsewhere).stop();
    assert_eq!(elsewhere.cpu_ns(), None);
}
