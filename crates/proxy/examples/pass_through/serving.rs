//! The proxy in a process of its own, and what processes cost.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use configuration::Config;
use proxy::{Server, stop_signal};

/// Runs the proxy without rules in this process, and prints its port.
pub fn until_killed(protocol: &str, upstream: &str, workers: &str, socket: &str) {
    let mut text = format!(
        "[proxy]\nprotocol = \"{protocol}\"\nlisten = \"127.0.0.1:0\"\n\
         upstream = \"{upstream}\"\n"
    );
    if protocol == "postgres" {
        text += "accept_peer = true\n";
    }
    if workers != "0" {
        text += &format!("workers = {workers}\n");
    }
    if !socket.is_empty() {
        text += &format!("socket = \"{socket}\"\n");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("strongroom.toml");
    std::fs::write(&file, text).expect("a file in the own folder");
    let config = Config::read(&file).expect("the configuration");
    // Before MySQL it keeps a certificate beside the configuration.
    let server = Server::start(&config).expect("the proxy starts");
    drop(folder);
    let address = server.address().expect("a bound socket has an address");
    println!("{}", address.port());
    server.run(stop_signal());
}

/// This program with arguments by which it listens, and the port that it prints.
pub fn spawn(arguments: &[&str]) -> (Child, u16) {
    let mut child = Command::new(std::env::current_exe().expect("the own program"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the own program runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it says its port");
    let port = line.trim().parse().expect("a port");
    (child, port)
}

/// Processor time that the threads of a process have had.
pub fn processor_time(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let nanoseconds = threads.into_iter().flatten().flatten().map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat"));
        let text = text.unwrap_or_default();
        let first = text.split(' ').next().and_then(|word| word.parse().ok());
        first.unwrap_or(0)
    });
    Duration::from_nanos(nanoseconds.sum())
}
