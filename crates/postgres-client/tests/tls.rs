//! TLS to the server: when it is spoken, and whom it believes.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use crate::common::{CREATE, RULES, Setup, add, connect};
use rcgen::CertifiedKey;
use strongroom_postgres::tokio_postgres::config::{ChannelBinding, SslMode};
use strongroom_postgres::tokio_postgres::{Client, Config, Error};
use strongroom_postgres::{Connector, Key, Options};
use tempfile::TempDir;

/// A certificate for `localhost`, which is its own authority.
pub struct Certificate {
    folder: TempDir,
}

impl Certificate {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let certificate = Self { folder };
        crate::common::give_away(certificate.folder.path(), 0o755);
        for (path, text, mode) in [
            (certificate.path(), cert.pem(), 0o644),
            (certificate.key(), signing_key.serialize_pem(), 0o600),
        ] {
            std::fs::write(&path, text).expect("own folder");
            crate::common::give_away(&path, mode);
        }
        certificate
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("server.crt")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("server.key")
    }

    /// A server that shows it; None: there is none, or it is built without TLS.
    fn server(&self) -> Option<Setup> {
        self.server_as(None)
    }

    /// The same, with who may log in how.
    pub fn server_as(&self, access: Option<&str>) -> Option<Setup> {
        if !server_testkit::is_installed() {
            return None;
        }
        if !server_testkit::has_tls() {
            eprintln!("left out: this server is built without TLS");
            return None;
        }
        let (certificate, key) = (text(&self.path()), text(&self.key()));
        let settings = [
            ("ssl", "on"),
            ("ssl_cert_file", &*certificate),
            ("ssl_key_file", &*key),
        ];
        Setup::start_as(&settings, access)
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn options() -> Options {
    Options::with_key(RULES, Key::from_bytes([0x5a; 32])).expect("rules")
}

/// Believes who shows this certificate.
fn believer(certificate: &Certificate) -> Connector {
    let options = options().tls_root(&certificate.path()).expect("a root");
    Connector::new(options).expect("a connector")
}

fn config(setup: &Setup, host: &str, mode: SslMode) -> Config {
    let mut config = Config::new();
    config
        .host(host)
        .hostaddr([127, 0, 0, 1].into())
        .port(setup.server.port())
        .user("postgres")
        .ssl_mode(mode);
    config
}

async fn is_tls(client: &Client) -> bool {
    let query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let row = client.query_one(query, &[]).await.expect("a row");
    row.get(0)
}

fn reason(refused: Result<Client, Error>) -> String {
    let error = refused.expect_err("refused");
    error.source().expect("a reason").to_string()
}

#[tokio::test]
async fn tls_is_spoken_as_the_configuration_says() {
    let certificate = Certificate::new();
    let Some(setup) = certificate.server() else {
        return;
    };
    let believer = believer(&certificate);
    for (mode, wanted) in [
        (SslMode::Require, true),
        (SslMode::Prefer, true),
        (SslMode::Disable, false),
    ] {
        let config = config(&setup, "localhost", mode);
        let client = connect(&believer, &config).await.expect("connected");
        assert_eq!(is_tls(&client).await, wanted, "{mode:?}");
    }
    let config = config(&setup, "localhost", SslMode::Require);
    let client = connect(&believer, &config).await.expect("connected");
    client.batch_execute(CREATE).await.expect(CREATE);
    let large = "CANARY large ".repeat(50_000);
    add(&client, 1, "CANARYtls", &large)
        .await
        .expect("inserted");
    let row = client.query_one("SELECT name, place FROM customer", &[]);
    let row = row.await.expect("a row");
    assert_eq!(row.get::<_, &str>(0), "CANARYtls");
    assert!(row.get::<_, &str>(1) == large);
    believer
        .cancel(&config, &client.cancel_token())
        .await
        .expect("a request by TLS");
    setup.assert_unseen(&["CANARY"]);
}

#[tokio::test]
async fn a_server_that_cannot_be_believed_is_refused() {
    let certificate = Certificate::new();
    let Some(setup) = certificate.server() else {
        return;
    };
    let other = believer(&Certificate::new());
    for mode in [SslMode::Prefer, SslMode::Require] {
        let refused = connect(&other, &config(&setup, "localhost", mode)).await;
        let reason = reason(refused);
        assert!(reason.contains("certificate"), "{reason}");
    }
    let believer = believer(&certificate);
    let refused = connect(&believer, &config(&setup, "example", SslMode::Require)).await;
    let reason = reason(refused);
    assert!(reason.contains("certificate"), "{reason}");

    let options = options().tls_root(&certificate.path()).expect("a root");
    let named = Connector::new(options.tls_name("localhost")).expect("a connector");
    let client = connect(&named, &config(&setup, "example", SslMode::Require)).await;
    assert!(is_tls(&client.expect("connected")).await);
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_required() {
    let Some(setup) = Setup::start_empty() else {
        return;
    };
    let believer = believer(&Certificate::new());
    let refused = connect(&believer, &config(&setup, "localhost", SslMode::Require)).await;
    let reason = reason(refused);
    assert!(reason.contains("offers no TLS"), "{reason}");
    let client = connect(&believer, &config(&setup, "localhost", SslMode::Prefer)).await;
    assert!(!is_tls(&client.expect("connected")).await);
}

/// All but the superuser by SCRAM.
const ACCESS: &str =
    "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

/// The server knows a login that was bound to its certificate from one that was not; the client
/// refuses where it must bind and cannot.
#[tokio::test]
async fn a_login_is_bound_to_the_certificate_of_the_server() {
    let certificate = Certificate::new();
    let Some(setup) = certificate.server_as(Some(ACCESS)) else {
        return;
    };
    let role = "CREATE ROLE ann LOGIN PASSWORD 'right'";
    assert!(setup.raw(role).is_empty());
    let believer = believer(&certificate);
    for (binding, mode, password, is_let_in) in [
        (ChannelBinding::Require, SslMode::Require, "right", true),
        (ChannelBinding::Prefer, SslMode::Require, "right", true),
        (ChannelBinding::Disable, SslMode::Require, "right", true),
        (ChannelBinding::Require, SslMode::Require, "wrong", false),
        (ChannelBinding::Prefer, SslMode::Disable, "right", true),
        (ChannelBinding::Require, SslMode::Disable, "right", false),
    ] {
        let mut config = config(&setup, "localhost", mode);
        config
            .user("ann")
            .dbname("postgres")
            .password(password)
            .channel_binding(binding);
        let client = connect(&believer, &config).await;
        let refused = client.as_ref().err();
        assert_eq!(
            refused.is_none(),
            is_let_in,
            "{binding:?} {mode:?} {password} {refused:?}"
        );
        if let Ok(client) = client {
            let row = client.query_one("SELECT current_user::text", &[]).await;
            assert_eq!(row.expect("a row").get::<_, &str>(0), "ann");
        }
    }
}
