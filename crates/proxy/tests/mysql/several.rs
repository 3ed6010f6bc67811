//! Several servers: which one a session begins on, and whom `KILL` means. Several proxies: whether
//! they agree.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use mysql::Conn;
use mysql::prelude::Queryable;
use server_testkit::mysql::{Brand, MySql};

use super::setup::*;
use crate::connection_failures::{free_port, wait_for};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.person\"]
name = { type = \"varchar(20)\" }
";

/// Rules of a table that comes and goes.
pub const AGREED: &str = "
[columns.\"shop.person\"]
name = { type = \"varchar(20)\", mode = \"equality\", collation = \"binary\" }
mail = { type = \"varchar(20)\" }
";

/// Two servers. None: MariaDB is not installed.
fn two() -> Option<(MySql, MySql)> {
    if !Brand::MariaDb.is_installed() {
        println!("left out: MariaDB is not installed");
        return None;
    }
    let few = ["--max-connections=10"];
    Some((start_mariadb_with(&few), start_mariadb()))
}

fn mariadb_of_own() -> Option<MySql> {
    Brand::MariaDb.is_installed().then(start_mariadb)
}

fn port(client: &mut Conn) -> u16 {
    let port = client.query_first("SELECT @@port").expect("an answer");
    port.expect("a row")
}

#[test]
fn a_dead_server_is_passed_over_until_it_is_back() {
    let Some((mut first, second)) = two() else {
        return;
    };
    let created = |server: &MySql, columns: &str| {
        let options = options_at(server.port(), "nat");
        let mut direct = Conn::new(options).expect("the server runs");
        let create = format!("CREATE TABLE person ({columns})");
        direct.query_drop(create).expect("made");
    };
    // The tables of one say nothing of those of the other.
    created(&first, "name VARBINARY(200)");
    created(&second, "n INT, name VARBINARY(200)");
    let proxy = Proxy::before_all(&[&first, &second], RULES);
    let read = |client: &mut Conn| {
        client
            .query_drop("INSERT INTO person (name) VALUES ('anna')")
            .expect("inserted");
        let row: Option<mysql::Row> = client.query_first("SELECT * FROM person").expect("a row");
        let row = row.expect("a row");
        (row.len(), row.get::<String, _>("name"))
    };
    let mut client = proxy.connect("nat");
    assert_eq!(port(&mut client), first.port());
    assert_eq!(read(&mut client), (1, Some("anna".to_owned())));
    first.crash();
    wait_for(|| client.query_drop("SELECT 1").is_err());
    let mut client = proxy.connect("nat");
    assert_eq!(port(&mut client), second.port());
    assert_eq!(read(&mut client), (2, Some("anna".to_owned())));
    first.start_again();
    wait_for(|| port(&mut proxy.connect("nat")) == first.port());
    // A session stays where it is.
    assert_eq!(port(&mut client), second.port());
}

/// The status of `/ready`.
fn ready(port: u16) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let request = b"HEAD /ready HTTP/1.1\r\nHost: x\r\n\r\n";
    socket.write_all(request).expect("it is taken");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("text");
    text["HTTP/1.1 ".len()..][..3].to_owned()
}

#[test]
fn a_monitor_finds_out_by_itself_which_servers_can_be_used() {
    let Some(mut server) = mariadb_of_own() else {
        return;
    };
    let dead = free_port();
    let upstream = format!("[\"127.0.0.1:{dead}\", \"localhost:{}\"]", server.port());
    let started = |password: &str, tls: &str| {
        let metrics = free_port();
        let file = server.folder().join(format!("{metrics}.password"));
        std::fs::write(&file, password).expect("a file in the server's folder");
        let more = format!(
            "metrics = \"127.0.0.1:{metrics}\"\n[proxy.monitor]\nuser = \"nat\"\n\
             password = {{ file = \"{}\" }}\n{tls}",
            file.display()
        );
        let proxy = Proxy::configured(&upstream, &more).expect("the proxy starts");
        (proxy, metrics)
    };
    let (_by_tls, metrics) = started(PASSWORD, &server_tls(&server));
    wait_for(|| ready(metrics) == "200");
    let (_wrong, not_let_in) = started("wrong", "");
    let (proxy, metrics) = started(PASSWORD, "");
    wait_for(|| ready(metrics) == "200");
    proxy
        .connect("nat")
        .query_drop("SELECT 1")
        .expect("it is let in");
    assert_eq!(ready(not_let_in), "503");
    server.crash();
    wait_for(|| ready(metrics) == "503");
    server.start_again();
    wait_for(|| ready(metrics) == "200");
}

#[test]
fn a_monitor_logs_in_by_the_methods_of_mysql() {
    let Some(server) = mysql() else { return };
    // The server knows the hash once somebody has logged in with the password itself.
    let direct = Conn::new(options_at(server.port(), "sha2"));
    direct.expect("the driver encrypts the password");
    for user in ["nat", "sha2"] {
        let metrics = free_port();
        let file = server.folder().join("monitor.password");
        std::fs::write(&file, PASSWORD).expect("a file in the server's folder");
        let more = format!(
            "metrics = \"127.0.0.1:{metrics}\"\n[proxy.monitor]\nuser = \"{user}\"\n\
             password = {{ file = \"{}\" }}",
            file.display()
        );
        let _proxy = Proxy::start(&server, &more);
        wait_for(|| ready(metrics) == "200");
    }
}

/// Runs a statement until somebody kills it.
fn sleeps(mut client: Conn) -> thread::JoinHandle<Result<Option<i32>, mysql::Error>> {
    thread::spawn(move || {
        client.query_first("SELECT sum(sleep(60)) FROM information_schema.tables")
    })
}

fn wait_until_it_sleeps(server: &MySql, number: u32) {
    let options = options_at(server.port(), "nat");
    let mut direct = Conn::new(options).expect("the server runs");
    let looks = "SELECT count(*) FROM information_schema.processlist \
                 WHERE id = ? AND info LIKE 'SELECT sum(sleep%'";
    wait_for(|| direct.exec_first(looks, (number,)).expect("a row") == Some(1));
}

#[test]
fn a_full_server_is_passed_over_and_no_session_of_another_server_is_killed() {
    let Some((first, second)) = two() else { return };
    let direct = |server: &MySql| Conn::new(options_at(server.port(), "nat"));
    for rules in ["", RULES] {
        let proxy = Proxy::before_all(&[&first, &second], rules);
        // Numbers of the first server are greater.
        let greater = direct(&second).expect("a place").connection_id() + 20;
        while direct(&first).expect("a place").connection_id() < greater {}
        let on_first = proxy.connect("nat");
        let number = on_first.connection_id();
        let mut others = Vec::new();
        while let Ok(other) = direct(&first) {
            others.push(other);
        }
        // A session of the second server with the same number, and one with another.
        let on_second = loop {
            let mut client = proxy.connect("nat");
            assert_eq!(port(&mut client), second.port());
            if client.connection_id() == number {
                break client;
            }
            assert!(client.connection_id() < number, "the number has passed");
        };
        let other = proxy.connect("nat");
        let other_number = other.connection_id();
        drop(others);
        wait_for(|| port(&mut proxy.connect("nat")) == first.port());

        let mut killer = proxy.connect("nat");
        let sleeping = sleeps(on_first);
        wait_until_it_sleeps(&first, number);
        for kill in [
            format!("KILL QUERY {number}"),
            format!("/* x */ kill {number}"),
            format!("KILL {other_number}"),
        ] {
            let error = killer.query_drop(&kill).expect_err(&kill).to_string();
            assert!(
                error.contains("1094") && error.contains("another server"),
                "{error}"
            );
        }
        killer.query_drop("SELECT 1").expect("the session goes on");
        drop(on_second);
        // Once the number is that of one session alone, it means that one.
        let kill = format!("KILL QUERY {number}");
        wait_for(|| killer.query_drop(&kill).is_ok());
        let ended = sleeping
            .join()
            .expect("no panic")
            .expect_err("it was killed");
        assert!(ended.to_string().contains("1317"), "{ended}");
        drop(other);
    }
}

#[test]
fn where_no_server_can_be_used_the_client_is_told_why() {
    let Some((first, _)) = two() else { return };
    let dead = free_port();
    let upstream = format!("[\"127.0.0.1:{dead}\", \"127.0.0.1:{}\"]", first.port());
    let proxy = Proxy::configured(&upstream, "").expect("the proxy starts");
    let mut others = Vec::new();
    while let Ok(other) = Conn::new(options_at(first.port(), "nat")) {
        others.push(other);
    }
    let error = Conn::new(proxy.options("nat"))
        .expect_err("it is full")
        .to_string();
    assert!(
        error.contains("1040") && !error.contains("strongroom"),
        "{error}"
    );
    drop(others);
    wait_for(|| Conn::new(proxy.options("nat")).is_ok());
}

/// Clients of two proxies agree on a table that one of them makes and drops. Whatever the other
/// one knows of it at a moment, it stores no plaintext.
pub fn agree(clients: &mut [Conn; 2], servers: &mut [Conn]) {
    for round in 0..4 {
        let [one, other] = clients;
        let (maker, user) = match round % 2 {
            0 => (one, other),
            _ => (other, one),
        };
        let create = "CREATE TABLE person (id INT PRIMARY KEY AUTO_INCREMENT, \
                      name VARCHAR(20), mail VARCHAR(20))";
        maker.query_drop(create).expect(create);
        let insert = format!("INSERT INTO person (name, mail) VALUES ('CANARY {round}', 'CANARY')");
        // The first ones may be refused.
        wait_for(|| user.query_drop(&insert).is_ok());
        let read: Vec<(String, String)> =
            maker.query("SELECT name, mail FROM person").expect("rows");
        assert_eq!(read, [(format!("CANARY {round}"), "CANARY".to_owned())]);
        let found = format!("SELECT count(*) FROM person WHERE name = 'CANARY {round}'");
        for client in [&mut *maker, &mut *user] {
            assert_eq!(client.query_first(&found).expect("a row"), Some(1));
        }
        for server in &mut *servers {
            let sealed = "SELECT count(*) FROM person WHERE name LIKE '%CANARY%' \
                          OR mail LIKE '%CANARY%'";
            assert_eq!(server.query_first(sealed).expect("a row"), Some(0));
        }
        maker.query_drop("DROP TABLE person").expect("dropped");
    }
}

#[test]
fn two_proxies_before_one_server_agree() {
    let Some(server) = mariadb() else { return };
    let rules = format!("[keys]\nfile = \"columns.key\"\n{AGREED}");
    let proxies = [(); 2].map(|()| Proxy::start(&server, &rules));
    let mut clients = [0, 1].map(|index| proxies[index].connect("nat"));
    let direct = Conn::new(options_at(server.port(), "nat")).expect("the server runs");
    agree(&mut clients, &mut [direct]);
}
