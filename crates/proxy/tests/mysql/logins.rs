//! Logins by every method that the servers have.

use std::os::unix::fs::MetadataExt as _;

use super::setup::*;

const WITHOUT_TLS: &[&str] = &["--skip-ssl"];
const WITH_TLS: &[&str] = &["--ssl"];
const NO_TLS_AT_ALL: &str = "self_signed_tls = \"off\"";
const WHO: &str = "SELECT current_user()";
/// Empty where the server's leg has no TLS.
const CIPHER: &str = "SHOW STATUS LIKE 'Ssl_version'";

#[test]
fn mariadb_lets_in_by_native_password_and_ed25519_on_legs_of_every_kind() {
    let Some(server) = mariadb() else { return };
    for (more, version) in [
        (String::new(), "Ssl_version"),
        (server_tls(&server), "Ssl_version\tTLSv1.3"),
    ] {
        let proxy = Proxy::start(&server, &more);
        for user in ["nat", "ed"] {
            for tls in [WITHOUT_TLS, WITH_TLS] {
                let said = proxy.run(user, tls, WHO);
                said.assert_says(&format!("{user}@localhost"));
            }
        }
        proxy.run("nat", WITHOUT_TLS, CIPHER).assert_says(version);
    }
}

#[test]
fn a_client_is_told_what_the_client_leg_has() {
    let Some(server) = mariadb() else { return };
    let proxy = Proxy::start(&server, "");
    let status = |tls| proxy.run("nat", tls, "status").text;
    let (with, without) = (status(WITH_TLS), status(WITHOUT_TLS));
    assert!(with.contains("Cipher in use is"), "{with}");
    assert!(without.contains("Not in use"), "{without}");
    // Its certificate was made at the first start.
    assert!(proxy.folder.path().join("client-tls.pem").is_file());

    let required = Proxy::start(&server, "self_signed_tls = \"required\"");
    required.run("nat", WITHOUT_TLS, WHO).assert_fails(3159);
    required
        .run("nat", WITH_TLS, WHO)
        .assert_says("nat@localhost");
}

#[test]
fn a_wrong_password_is_the_servers_to_refuse() {
    for server in [mariadb(), mysql()].into_iter().flatten() {
        let proxy = Proxy::start(&server, "");
        for tls in [WITHOUT_TLS, WITH_TLS] {
            run_at(proxy.port(), "nat", "wrong", tls, WHO).assert_fails(1045);
        }
        // MySQL asks a user that is not there for the password.
        run_at(proxy.port(), "nobody_at_all", "wrong", WITH_TLS, WHO).assert_fails(1045);
    }
}

#[test]
fn mysql_lets_in_by_sha2_where_the_password_is_safe() {
    let Some(server) = mysql() else { return };
    // This MySQL speaks no TLS that the proxy does: passwords go to it encrypted with its key.
    let tap = Tap::before(server.port());
    let proxy = Proxy::before(&tap.address.to_string(), "");
    // Each time, and so it is never known.
    proxy
        .run("old_sha", WITH_TLS, WHO)
        .assert_says("old_sha@localhost");
    proxy.run("old_sha", WITHOUT_TLS, WHO).assert_fails(3159);
    // The server knows no hash yet; then it does.
    proxy.run("sha2", WITHOUT_TLS, WHO).assert_fails(3159);
    proxy
        .run("sha2", WITH_TLS, WHO)
        .assert_says("sha2@localhost");
    proxy
        .run("sha2", WITHOUT_TLS, WHO)
        .assert_says("sha2@localhost");
    proxy
        .run("nat", WITHOUT_TLS, WHO)
        .assert_says("nat@localhost");
    let wrong = run_at(proxy.port(), "old_sha", "wrong", WITH_TLS, WHO);
    wrong.assert_fails(1045);
    assert!(
        !contain(&tap.sent(), PASSWORD.as_bytes()),
        "it was sent in clear"
    );
}

#[test]
fn no_client_says_its_password_where_the_proxy_offers_no_tls() {
    let Some(server) = mysql() else { return };
    for more in [NO_TLS_AT_ALL, ""] {
        let proxy = Proxy::start(&server, more);
        let tap = Tap::before(proxy.port());
        // What it does by default; and what it does where it wants no TLS.
        let tls: [&[&str]; 2] = match more {
            "" => [WITHOUT_TLS; 2],
            _ => [&[], WITHOUT_TLS],
        };
        for arguments in tls {
            for user in ["fresh", "old_sha"] {
                let port = tap.address.port();
                let said = run_at(port, user, PASSWORD, arguments, WHO);
                said.assert_fails(3159);
                assert!(said.text.contains("connect with TLS"), "{}", said.text);
            }
        }
        let sent = tap.sent();
        assert!(contain(&sent, b"fresh") && contain(&sent, b"old_sha"));
        assert!(
            !contain(&sent, PASSWORD.as_bytes()),
            "the password was sent in clear"
        );
    }
}

#[test]
fn nobody_is_taken_for_the_user_of_the_proxy() {
    let Some(server) = mariadb() else { return };
    let socket = server.socket();
    let socket = socket.display();
    let proxy = Proxy::before(&socket.to_string(), "");
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root {
        // The server sees the user of the proxy, and lets him in if it need not ask.
        run_at(proxy.port(), "root", "", WITH_TLS, WHO).assert_fails(1045);
        let trusting = Proxy::before(&socket.to_string(), "accept_peer = true");
        run_at(trusting.port(), "root", "", WITH_TLS, WHO).assert_says("root@localhost");
    }
    for user in ["nat", "ed"] {
        proxy
            .run(user, WITH_TLS, WHO)
            .assert_says(&format!("{user}@localhost"));
    }
}

#[test]
fn a_proxy_that_would_not_do_what_is_asked_does_not_start() {
    let without_database = "[columns.person]\nname = { type = \"text\" }\n";
    let without_key = "[columns.\"shop.person\"]\nname = { type = \"text\" }\n";
    let by_collation =
        "[columns.\"shop.person\"]\nname = { type = \"text\", mode = \"equality\" }\n";
    for (more, wanted) in [
        (without_database, "needs the database before the table"),
        (without_key, "there is no key"),
        (by_collation, "collation = \"binary\""),
        ("logins = \"users\"", "logins is for PostgreSQL"),
        ("socket = \"/tmp\"", "the path of the socket itself"),
    ] {
        let started = Proxy::try_before("127.0.0.1:1", more);
        let error = started.err().expect("it does not start").to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let folder = Proxy::try_before("/run/mysqld", "")
        .err()
        .expect("no socket");
    assert!(folder.to_string().contains("mysqld.sock"), "{folder}");
}
