//! Clients that come by a socket of the file system.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use crate::common::{Setup, proxy};
use postgres::{Client, Config, NoTls};
use server_testkit::{Options, Postgres};

const RULES: &str = "[columns.person]\nname = { type = \"text\" }\n";

fn config(folder: &Path, port: u16) -> Config {
    let mut config = Config::new();
    config.host_path(folder).port(port);
    config.user("postgres").dbname("postgres");
    config
}

fn connect(folder: &Path, port: u16) -> Client {
    config(folder, port).connect(NoTls).expect("by the socket")
}

/// TLS is for wires: who must come by TLS elsewhere may come by the socket without.
#[test]
fn a_client_by_the_socket_is_served_as_one_by_the_port() {
    if !server_testkit::is_installed() {
        return;
    }
    let sockets = tempfile::tempdir().expect("a folder");
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let certified = certified.expect("a certificate");
    let write = |name: &str, text: String| {
        let path = sockets.path().join(name);
        fs::write(&path, text).expect("a file in the own folder");
        path.display().to_string()
    };
    let certificate = write("proxy.crt", certified.cert.pem());
    let key = write("proxy.key", certified.signing_key.serialize_pem());
    let more = format!(
        "socket = \"{}\"\nclient_tls = {{ certificate = \"{certificate}\", key = \"{key}\", \
         required = true }}",
        sockets.path().display()
    );
    let setup = Setup::start_with(RULES, &more);
    let port = setup.proxy.address.port();
    let file = sockets.path().join(format!(".s.PGSQL.{port}"));
    let mode = fs::metadata(&file)
        .expect("the socket")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o777, "other users cannot reach it");

    let mut client = connect(sockets.path(), port);
    client
        .batch_execute("CREATE TABLE person (id integer PRIMARY KEY, name text)")
        .expect("it is made");
    let name = format!("{} by the socket", crate::common::leaks::CANARY);
    client
        .execute("INSERT INTO person VALUES (1, $1)", &[&name])
        .expect("it is sealed");
    let row = client.query_one("SELECT name FROM person", &[]);
    assert_eq!(row.expect("a row").get::<_, String>(0), name);

    let by_port = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let error = Client::connect(&by_port, NoTls).err().expect("without TLS");
    assert_eq!(error.code().map(|code| code.code()), Some("28000"));

    let token = client.cancel_token();
    let (done, is_done) = mpsc::channel::<()>();
    let canceller = std::thread::spawn(move || {
        // The statement may not have begun when the first comes.
        while is_done.recv_timeout(Duration::from_millis(50)).is_err() {
            token.cancel_query(NoTls).expect("by the socket as well");
        }
    });
    let error = client.batch_execute("SELECT pg_sleep(600)");
    let error = error.expect_err("it is cancelled");
    done.send(()).expect("it waits for this");
    canceller.join().expect("requests to cancel are taken");
    assert_eq!(error.code().map(|code| code.code()), Some("57014"));
    drop(setup);
    assert!(!file.exists(), "the socket outlives the proxy");
}

#[test]
fn a_second_proxy_does_not_take_the_socket_of_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join(".s.PGSQL.1");
    let more = format!("socket = \"{}\"", socket.display());
    let first = proxy(&folder, "127.0.0.1:1", "", &more);
    let text = format!("[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n{more}\n");
    let config = configuration::Config::read(&{
        let file = folder.path().join("second.toml");
        fs::write(&file, text).expect("a file in the own folder");
        file
    });
    let config = config.expect("the configuration");
    let error = proxy::Running::start(config.clone())
        .err()
        .expect("it is taken");
    assert!(
        error.to_string().contains(&socket.display().to_string()),
        "{error}"
    );
    drop(first);
    proxy::Running::start(config).expect("now it is free");
}

/// Over its socket the server may take every client for the user of the proxy's process.
#[test]
fn a_server_that_asks_nothing_over_its_socket_lets_nobody_in_unless_that_is_accepted() {
    const ACCESS: &str = "local all ann scram-sha-256\nlocal all all trust\n\
                          host all postgres 127.0.0.1/32 trust\n";
    if !server_testkit::is_installed() {
        return;
    }
    let sockets = tempfile::tempdir().expect("a folder");
    // The server may run as another user.
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(sockets.path(), everybody).expect("an own folder");
    let path = sockets.path().display().to_string();
    let server = Postgres::start_as(&Options {
        settings: &[("unix_socket_directories", &path)],
        access: Some(ACCESS),
        ..Options::default()
    });
    let make = "CREATE ROLE ann LOGIN PASSWORD 'secret'";
    server.connect().batch_execute(make).expect("it is made");
    let upstream = format!("{path}/.s.PGSQL.{}", server.port());
    for accepts in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let more = if accepts { "accept_peer = true" } else { "" };
        let proxy = proxy(&folder, &upstream, "", more);
        let connect = |user: &str| {
            Config::new()
                .host("127.0.0.1")
                .port(proxy.address.port())
                .user(user)
                .password("secret")
                .dbname("postgres")
                .connect(NoTls)
        };
        connect("ann").expect("she is asked for her password");
        match connect("postgres") {
            Ok(_) => assert!(accepts, "nobody was asked"),
            Err(error) => {
                let error = error.as_db_error().expect("the proxy says why");
                assert!(!accepts, "{error}");
                assert_eq!(error.code().code(), "28000");
                assert!(
                    error
                        .hint()
                        .is_some_and(|hint| hint.contains("accept_peer"))
                );
            }
        }
    }
}
