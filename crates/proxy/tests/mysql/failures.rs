//! What clients see when something is not there, ends, or says nothing.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;

use super::setup::*;

#[test]
fn a_server_that_is_not_there_is_said_to_be() {
    let proxy = Proxy::before("127.0.0.1:1", "");
    let error = Conn::new(proxy.options("nat"))
        .expect_err("nobody is there")
        .to_string();
    assert!(
        error.contains("1105") && error.contains("127.0.0.1:1"),
        "{error}"
    );
    let said = proxy.run("nat", &[], "SELECT 1");
    assert!(
        said.text.contains("strongroom: the proxy cannot reach"),
        "{}",
        said.text
    );
}

#[test]
fn a_client_whose_server_dies_sees_the_end_of_its_connection() {
    let Some(server) = mariadb() else { return };
    let tap = Tap::before(server.port());
    let proxy = Proxy::before(&tap.address.to_string(), "");
    let (mut asking, mut idle) = (proxy.connect("nat"), proxy.connect("nat"));
    let mut watching = proxy.connect("nat");
    let waiting = std::thread::spawn(move || asking.query_drop("SELECT sleep(60), 'dying'"));
    let looks = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%''dying'''";
    while watching.query_first(looks).expect("a row") != Some(1) {}
    tap.cut();
    let asking = waiting.join().expect("no panic");
    for ended in [asking, idle.query_drop("SELECT 1")] {
        let error = ended.expect_err("it is gone");
        assert!(!matches!(error, mysql::Error::MySqlError(_)), "{error}");
    }
    proxy
        .connect("nat")
        .query_drop("SELECT 1")
        .expect("a new one is served");
}

#[test]
fn a_client_that_says_nothing_is_sent_away_and_one_that_is_in_stays() {
    let Some(server) = mariadb() else { return };
    let proxy = Proxy::start(&server, "startup_timeout_seconds = 1\nmax_connections = 2");
    let mut client = proxy.connect("nat");
    let mut silent = TcpStream::connect(("127.0.0.1", proxy.port())).expect("it listens");
    let mut said = [0; 5];
    silent.read_exact(&mut said).expect("it is greeted");
    assert_eq!(said[4], 10);
    let error = Conn::new(proxy.options("nat"))
        .expect_err("it is full")
        .to_string();
    assert!(error.contains("1040"), "{error}");
    silent
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a timeout");
    silent
        .read_to_end(&mut Vec::new())
        .expect("it is sent away");
    client.query_drop("SELECT 1").expect("it stays");
    proxy
        .connect("nat")
        .query_drop("SELECT 1")
        .expect("there is a place again");
}
