//! How connections begin and end: hosts, sockets, cancelling, losses, what two of them share.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::poll_fn;

use crate::common::{CREATE, Setup, add, code, connect};
use strongroom_postgres::tokio_postgres::error::SqlState;
use strongroom_postgres::tokio_postgres::{AsyncMessage, Client, Config};

fn config(text: &str) -> Config {
    text.parse().expect("a configuration")
}

#[tokio::test]
async fn hosts_are_tried_in_turn_and_attributes_looked_at() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let port = setup.server.port();
    for text in [
        // Nobody listens at port 1.
        format!("host=127.0.0.1,127.0.0.1 port=1,{port} user=postgres"),
        format!("hostaddr=127.0.0.1 port={port} user=postgres"),
        format!("host=anything hostaddr=127.0.0.1 port={port} user=postgres"),
        format!("host=127.0.0.1 port={port} user=postgres target_session_attrs=read-write"),
        format!("host=127.0.0.1 port={port} user=postgres sslmode=disable connect_timeout=60"),
    ] {
        let client = connect(&setup.connector, &config(&text)).await;
        let client = client.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let rows = client.query("SELECT name FROM customer", &[]).await;
        assert_eq!(rows.expect("rows").len(), 0, "{text}");
    }
    let text = format!("host=127.0.0.1 port={port} user=postgres target_session_attrs=read-only");
    let refused = connect(&setup.connector, &config(&text)).await;
    assert!(refused.is_err(), "the server takes writes");
}

#[tokio::test]
async fn a_socket_of_the_file_system_is_as_good() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let mut config = Config::new();
    config
        .host_path(setup.socket())
        .port(setup.server.port())
        .user("postgres");
    let client = connect(&setup.connector, &config).await.expect("connected");
    add(&client, 1, "CANARYlocal", "x").await.expect("inserted");
    let code = cancelled(&setup, &config, &client).await;
    assert_eq!(code, SqlState::QUERY_CANCELED);
    setup.assert_unseen(&["CANARYlocal"]);

    let mut nowhere = Config::new();
    nowhere.host_path("/nowhere").user("postgres");
    let refused = connect(&setup.connector, &nowhere).await;
    let error = refused.expect_err("no such folder");
    let reason = error.source().expect("a reason").to_string();
    assert!(reason.contains("/nowhere/.s.PGSQL.5432"), "{reason}");
}

/// The failure of a statement that is cancelled while it runs.
async fn cancelled(setup: &Setup, config: &Config, client: &Client) -> SqlState {
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await;
    let process: i32 = row.expect("a row").get(0);
    let token = client.cancel_token();
    let watcher = setup.connect().await;
    let running = "SELECT count(*) FROM pg_stat_activity \
                   WHERE pid = $1 AND wait_event = 'PgSleep'";
    let cancelling = async {
        while watcher
            .query_one(running, &[&process])
            .await
            .expect("a row")
            .get::<_, i64>(0)
            == 0
        {}
        let asked = setup.connector.cancel(config, &token).await;
        asked.expect("the server is reached");
        std::future::pending::<Infallible>().await
    };
    let slept = tokio::select! {
        slept = client.batch_execute("SELECT pg_sleep(600)") => slept,
        never = cancelling => match never {},
    };
    code(slept)
}

#[tokio::test]
async fn a_statement_is_cancelled_and_the_client_goes_on() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    let code = cancelled(&setup, &setup.config, &client).await;
    assert_eq!(code, SqlState::QUERY_CANCELED);
    let rows = client.query("SELECT name FROM customer", &[]).await;
    assert_eq!(rows.expect("rows").len(), 0);
}

#[tokio::test]
async fn a_server_that_ends_the_connection_is_heard() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await;
    let process: i32 = row.expect("a row").get(0);
    let sleeping = client.batch_execute("SELECT pg_sleep(600)");
    let ending = async {
        let other = setup.connect().await;
        other
            .execute("SELECT pg_terminate_backend($1)", &[&process])
            .await
            .expect("ended");
        std::future::pending::<Infallible>().await
    };
    let slept = tokio::select! {
        slept = sleeping => slept,
        never = ending => match never {},
    };
    assert_eq!(code(slept), SqlState::ADMIN_SHUTDOWN);
    let next = client.query("SELECT 1", &[]).await;
    assert!(next.expect_err("it is gone").is_closed());
    assert!(client.is_closed());
}

#[tokio::test]
async fn a_client_that_is_dropped_leaves_no_session() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let (client, connection) = setup
        .connector
        .connect(&setup.config)
        .await
        .expect("connected");
    let serving = tokio::spawn(connection);
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await;
    let process: i32 = row.expect("a row").get(0);
    drop(client);
    serving.await.expect("no panic").expect("a good end");
    let watcher = setup.connect().await;
    let count = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
    loop {
        let row = watcher.query_one(count, &[&process]).await.expect("a row");
        if row.get::<_, i64>(0) == 0 {
            break;
        }
    }
}

#[tokio::test]
async fn schemas_are_shared_and_changes_are_seen_by_all() {
    let Some(setup) = Setup::start_empty() else {
        return;
    };
    let (one, two) = (setup.connect().await, setup.connect().await);
    // Both have looked; then the table appears.
    one.batch_execute("SELECT 1").await.expect("an answer");
    two.batch_execute("SELECT 1").await.expect("an answer");
    one.batch_execute(CREATE).await.expect("created");
    add(&two, 1, "CANARYtwo", "x").await.expect("inserted");
    let row = one.query_one("SELECT name FROM customer", &[]).await;
    assert_eq!(row.expect("a row").get::<_, &str>(0), "CANARYtwo");
    setup.assert_unseen(&["CANARYtwo"]);
}

#[tokio::test]
async fn notifications_come_through() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let (listener, mut connection) = setup
        .connector
        .connect(&setup.config)
        .await
        .expect("connected");
    assert!(connection.parameter("server_version").is_some());
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message {
                let _ = sender.send(notification.payload().to_owned());
            }
        }
    });
    listener
        .batch_execute("LISTEN news")
        .await
        .expect("listens");
    let speaker = setup.connect().await;
    speaker
        .batch_execute("NOTIFY news, 'hello'")
        .await
        .expect("said");
    assert_eq!(heard.recv().await.as_deref(), Some("hello"));
}

#[tokio::test]
async fn what_cannot_be_said_without_tls_is_not_said() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let mut config = setup.config.clone();
    config.ssl_mode(strongroom_postgres::tokio_postgres::config::SslMode::Require);
    let refused = connect(&setup.connector, &config).await;
    let error = refused.expect_err("there is nobody to check the server by");
    let reason = error.source().expect("a reason").to_string();
    assert!(reason.contains("tls_root"), "{reason}");
}
