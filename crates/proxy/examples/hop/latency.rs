//! How long one client waits for a row by its key.

use std::time::Instant;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::servers::{DATABASE, MariaDb, PASSWORD, ROWS, Server, USER};

/// Statements in a row through one hop.
const IN_A_ROW: u32 = 2_000;
const QUERY: &str = "SELECT c FROM sbtest1 WHERE id = ?";

/// All hops in turn, and what they add.
pub fn measure(server: &MariaDb, rounds: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hops = server.hops(folder.path());
    let mut clients: Vec<Conn> = hops.iter().map(|hop| connect(hop.port)).collect();
    let mut taken: Vec<Vec<f64>> = hops.iter().map(|_| Vec::new()).collect();
    // The first round warms all of them up.
    for round in 0..=rounds as usize {
        for place in 0..hops.len() {
            let at = (round + place) % hops.len();
            let times = ask(&mut clients[at]);
            if round > 0 {
                taken[at].extend(times);
            }
        }
    }
    println!();
    println!("SELECT by key, 1 client, \u{b5}s       p50      p99    added");
    let direct = percentiles(&mut taken[0]);
    for (hop, times) in hops.iter().zip(&mut taken) {
        let own = percentiles(times);
        let added = [own[0] - direct[0], own[1] - direct[1]];
        println!(
            "{:22} {:8.0} {:8.0} {:5.0} {:5.0}",
            hop.name, own[0], own[1], added[0], added[1]
        );
    }
}

/// A client in clear, as all hops can be asked.
pub fn connect(port: u16) -> Conn {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .prefer_socket(false)
        .user(Some(USER))
        .pass(Some(PASSWORD))
        .db_name(Some(DATABASE));
    Conn::new(options).expect("a connection")
}

fn ask(client: &mut Conn) -> Vec<f64> {
    let statement = client.prep(QUERY).expect(QUERY);
    let times = (0..IN_A_ROW).map(|number| {
        let since = Instant::now();
        let id = 1 + number * 7 % ROWS;
        let row: Option<String> = client.exec_first(&statement, (id,)).expect("a row");
        assert!(row.is_some(), "sysbench has filled the table");
        since.elapsed().as_secs_f64() * 1e6
    });
    let times = times.collect();
    client.close(statement).expect("it is closed");
    times
}

fn percentiles(times: &mut [f64]) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [50, 99].map(|percent| times[(times.len() - 1) * percent / 100])
}
