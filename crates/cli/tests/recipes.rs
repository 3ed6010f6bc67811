//! The recipe for the proxy works as README.md and the manual of the proxy have it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/proxy_process.rs"]
mod proxy_process;

use std::fs;
use std::path::Path;
use std::process::Command;

use server_testkit::Postgres;

use proxy_process::{How, Proxy, plaintexts};

/// A document of the repository.
fn document(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).unwrap()
}

/// The text between two marks, the first time.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

/// The line of a command from this word on, up to a mark.
fn command_line<'a>(text: &'a str, from: &str) -> Vec<&'a str> {
    let place = text.find(from).unwrap();
    let line = text[place..].split(['\n', '`']).next().unwrap();
    line.split_whitespace().collect()
}

/// Follows the recipe in a folder, with the ports of this run.
fn follow(text: &str, server: &Postgres) -> (Proxy, Vec<String>) {
    let configuration = between(text, "[proxy]\n", "```");
    let folder = tempfile::tempdir().unwrap();
    let create_key = command_line(text, "strongroom columns create-key");
    let status = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args(&create_key[1..])
        .current_dir(folder.path())
        .status();
    assert!(status.unwrap().success());
    let start = command_line(text, "strongroom proxy --config");
    assert_eq!(
        start,
        ["strongroom", "proxy", "--config", "strongroom.toml"]
    );

    let upstream = format!("127.0.0.1:{}", server.port());
    let proxy = Proxy::start_in(folder, &How::default(), |address, metrics| {
        let ours = configuration
            .replace("127.0.0.1:6432", &address.to_string())
            .replace("127.0.0.1:5432", &upstream);
        format!("[proxy]\nmetrics = \"{metrics}\"\n{ours}")
    });
    let port = proxy.address.port().to_string();
    let psql = command_line(text, "psql -h");
    let psql = psql.iter().map(|word| word.replace("6432", &port));
    (proxy, psql.collect())
}

#[test]
fn the_recipe_for_the_proxy_keeps_columns_from_the_server() {
    if !server_testkit::is_installed() {
        return;
    }
    for (name, columns) in [
        ("README.md", "email varchar(100), phone text"),
        ("docs/proxy.md", "id integer PRIMARY KEY, name varchar(16)"),
    ] {
        let server = Postgres::start();
        let (proxy, psql) = follow(&document(name), &server);
        let last = if name == "README.md" { "phone" } else { "name" };
        let values = if name == "README.md" {
            "'a@example.com', 'CANARY'"
        } else {
            "1, 'CANARY'"
        };
        for (text, wanted) in [
            (format!("CREATE TABLE customer ({columns})"), ""),
            (format!("INSERT INTO customer VALUES ({values})"), ""),
            (format!("SELECT {last} FROM customer"), "CANARY\n"),
        ] {
            // Only the line itself names the proxy.
            let output = server
                .program(1, &psql[0])
                .env_remove("PGHOST")
                .args(&psql[1..])
                .args(["-XAtqc", &text])
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {text}: {errors}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "{name}");
        }
        drop(proxy);
        assert_eq!(plaintexts(&server), Vec::<String>::new(), "{name}");
    }
}
