//! Foreign drivers at the other end of a socket of this process.

use std::convert::Infallible;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::common::{RULES, Setup, add, code};
use crate::tls::Certificate;
use strongroom_postgres::tokio_postgres::config::SslMode;
use strongroom_postgres::tokio_postgres::error::SqlState;
use strongroom_postgres::tokio_postgres::{Client, Config, Error, NoTls};
use strongroom_postgres::{Connector, Key, Options, Refusal, ServeError, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

const START_TIME: Duration = Duration::from_secs(60);

/// Where the server of a test is.
fn server(setup: &Setup) -> Server {
    let text = format!("host=127.0.0.1 port={}", setup.server.port());
    Server::new(text.parse().expect("a connection string")).expect("a server")
}

/// A driver's end of a connection, and what serves it.
fn served(
    connector: &Connector,
    server: &Server,
    start_time: Duration,
) -> (tokio::net::UnixStream, JoinHandle<Result<(), ServeError>>) {
    let (ours, drivers) = UnixStream::pair().expect("a pair");
    let (connector, server) = (connector.clone(), server.clone());
    let serving = tokio::spawn(async move { connector.serve(&server, ours, start_time).await });
    drivers.set_nonblocking(true).expect("a socket");
    let drivers = tokio::net::UnixStream::from_std(drivers).expect("a socket");
    (drivers, serving)
}

/// tokio-postgres as a foreign driver would be: it knows nothing of rules.
async fn driver(connector: &Connector, server: &Server, config: &Config) -> Result<Client, Error> {
    let (socket, _) = served(connector, server, START_TIME);
    let (client, connection) = config.connect_raw(socket, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn ann() -> Config {
    let mut config = Config::new();
    config.user("postgres");
    config
}

async fn process_of(client: &Client) -> i32 {
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await;
    row.expect("a row").get(0)
}

/// Waits until what a query counts is so many.
async fn until(client: &Client, query: &str, process: i32, count: i64) {
    loop {
        let row = client.query_one(query, &[&process]).await.expect("a row");
        if row.get::<_, i64>(0) == count {
            return;
        }
    }
}

const SLEEPING: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'";
const THERE: &str = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";

#[tokio::test]
async fn a_driver_sees_plain_rows_and_the_server_sealed_ones() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let server = server(&setup);
    let client = driver(&setup.connector, &server, &ann()).await;
    let client = client.expect("connected");
    add(&client, 1, "CANARYname", "here")
        .await
        .expect("inserted");
    // More than fits into a socket, in both directions.
    let place = "CANARYlong ".repeat(200_000);
    add(&client, 2, "CANARYtwo", &place)
        .await
        .expect("inserted");
    let row = client.query_one("SELECT place FROM customer WHERE id = $1", &[&2]);
    assert!(row.await.expect("a row").get::<_, &str>(0) == place);
    let again = add(&client, 1, "CANARYagain", "here").await;
    assert_eq!(code(again), SqlState::UNIQUE_VIOLATION);
    let refused = client.query("SELECT md5(name) FROM customer", &[]).await;
    assert_eq!(code(refused), SqlState::FEATURE_NOT_SUPPORTED);

    // Its requests to cancel go the same way.
    let process = process_of(&client).await;
    let token = client.cancel_token();
    let cancelling = async {
        let watcher = setup.connect().await;
        until(&watcher, SLEEPING, process, 1).await;
        let (socket, serving) = served(&setup.connector, &server, START_TIME);
        let asked = token.cancel_query_raw(socket, NoTls).await;
        asked.expect("asked");
        serving.await.expect("no panic").expect("it was taken");
        std::future::pending::<Infallible>().await
    };
    let slept = tokio::select! {
        slept = client.batch_execute("SELECT pg_sleep(600)") => slept,
        never = cancelling => match never {},
    };
    assert_eq!(code(slept), SqlState::QUERY_CANCELED);

    // A driver that goes while it waits is not waited for.
    let sleeping = client.batch_execute("SELECT pg_sleep(600)");
    let watcher = setup.connect().await;
    tokio::select! {
        _ = sleeping => panic!("it sleeps for ten minutes"),
        () = until(&watcher, SLEEPING, process, 1) => {}
    }
    drop(client);
    setup.raw(&format!("SELECT pg_cancel_backend({process})"));
    until(&watcher, THERE, process, 0).await;
    setup.assert_unseen(&["CANARY"]);
}

#[tokio::test]
async fn a_driver_is_told_why_it_has_no_session() {
    let nowhere = Server::new(
        "host=127.0.0.1 port=1"
            .parse()
            .expect("a connection string"),
    );
    let nowhere = nowhere.expect("a server");
    let connector = crate::common::connector();
    let refused = driver(&connector, &nowhere, &ann()).await.err();
    let refused = refused.expect("nobody listens at port 1");
    let unreachable = &SqlState::SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION;
    assert_eq!(refused.code(), Some(unreachable));

    let body = b"\0\x03\0\0user\0ann\0replication\0database\0\0";
    let size = u32::try_from(4 + body.len()).expect("a small packet");
    let first = [&size.to_be_bytes()[..], body].concat();
    let said = said(&connector, &first, START_TIME).await;
    assert!(has(&said, "replication is refused"), "{said:?}");
}

/// What a socket says to these first bytes, until its end.
async fn said(connector: &Connector, first: &[u8], start_time: Duration) -> Vec<u8> {
    let nowhere = Server::new(
        "host=127.0.0.1 port=1"
            .parse()
            .expect("a connection string"),
    );
    let (mut socket, _) = served(connector, &nowhere.expect("a server"), start_time);
    socket.write_all(first).await.expect("it takes bytes");
    let mut said = Vec::new();
    // It may be reset, once what it said is read.
    let _ = socket.read_to_end(&mut said).await;
    said
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn what_is_no_first_packet_ends_with_an_error() {
    let connector = crate::common::connector();
    for first in [
        &b"\0\0\0\x07\0\x03\0\0"[..],
        b"\xff\xff\xff\xff",
        b"\0\0\0\x09\0\x03\0\0x",
        b"GET / HTTP/1.0\r\n\r\n",
    ] {
        let said = said(&connector, first, START_TIME).await;
        assert!(has(&said, "08P01"), "{first:?}: {said:?}");
    }
    // Requests for encryption, of each kind once, are declined.
    let tls = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let heard = said(&connector, &tls.repeat(3), START_TIME).await;
    assert!(
        heard.starts_with(b"NNE") && has(&heard, "08P01"),
        "{heard:?}"
    );
    let late = said(&connector, &tls[..5], Duration::from_millis(1)).await;
    assert!(has(&late, "57014"), "{late:?}");
}

#[tokio::test]
async fn who_is_refused_hears_it() {
    for (refusal, code) in [
        (Refusal::TooMany, "53300"),
        (Refusal::NotThisProcess, "28000"),
    ] {
        let (ours, others) = UnixStream::pair().expect("a pair");
        others.set_nonblocking(true).expect("a socket");
        let mut others = tokio::net::UnixStream::from_std(others).expect("a socket");
        let telling = tokio::spawn(refusal.tell(ours));
        let tls = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
        others.write_all(&tls).await.expect("it takes bytes");
        assert_eq!(others.read_u8().await.expect("an answer"), b'N');
        others.write_all(&[0; 100]).await.expect("it takes bytes");
        let mut said = Vec::new();
        others.read_to_end(&mut said).await.expect("it reads");
        assert!(has(&said, code), "{said:?}");
        drop(others);
        telling.await.expect("no panic");
        // Whoever is gone is not waited for.
        let (ours, others) = UnixStream::pair().expect("a pair");
        drop(others);
        refusal.tell(ours).await;
    }
}

#[tokio::test]
async fn tls_and_logins_of_the_server_hold() {
    let certificate = Certificate::new();
    let access = "local all all trust\nhost all postgres all trust\n\
                  hostssl all ann all scram-sha-256\n";
    let Some(setup) = certificate.server_as(Some(access)) else {
        return;
    };
    setup.raw("CREATE ROLE ann LOGIN PASSWORD 'of ann'");
    let options = Options::with_key(RULES, Key::from_bytes([0x5a; 32])).expect("rules");
    let options = options.tls_root(&certificate.path()).expect("a root");
    let connector = Connector::new(options).expect("a connector");
    let at = |host: &str, mode| {
        let mut config = Config::new();
        let address = [127, 0, 0, 1].into();
        let port = setup.server.port();
        config
            .host(host)
            .hostaddr(address)
            .port(port)
            .ssl_mode(mode);
        Server::new(config).expect("a server")
    };
    let mut ann = Config::new();
    ann.user("ann").dbname("postgres").password("of ann");
    let server = at("localhost", SslMode::Require);
    let client = driver(&connector, &server, &ann).await.expect("logged in");
    let is_tls = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let row = client.query_one(is_tls, &[]).await.expect("a row");
    assert!(row.get::<_, bool>(0));

    let wrong = driver(&connector, &server, ann.clone().password("x")).await;
    assert_eq!(code(wrong.map(drop)), SqlState::INVALID_PASSWORD);
    let plain = driver(&connector, &at("localhost", SslMode::Disable), &ann).await;
    let code_of_plain = code(plain.map(drop));
    assert_eq!(code_of_plain, SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    let other = driver(&connector, &at("elsewhere", SslMode::Require), &ann).await;
    let unreachable = SqlState::SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION;
    assert_eq!(code(other.map(drop)), unreachable);
}
