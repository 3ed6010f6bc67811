//! A real server, a proxy before it, and a tap between both that keeps what the server is sent.
//! Whatever a test did: in its end no plaintext of a protected column is to be found.

use std::path::Path;

use configuration::Config;
use postgres::{Client, NoTls};
use proxy::Running;
use server_testkit::{Options, Postgres};

pub mod leaks;
pub mod raw;
pub mod tap;
pub mod texts;
pub mod wire;

use leaks::CANARY;
use tap::Tap;

/// Server, tap and proxy. Values of protected columns hold the word `CANARY`, which is looked for
/// when it is dropped.
pub struct Setup {
    /// Dropped first: sessions end before their server does.
    pub proxy: Running,
    pub tap: Tap,
    pub server: Postgres,
    /// Whether it is searched when it is dropped.
    pub is_searched: bool,
    _folder: tempfile::TempDir,
}

impl Setup {
    /// A proxy with these rules (TOML, below `[columns]`).
    pub fn start(rules: &str) -> Self {
        Self::start_with(rules, "")
    }

    /// The same with more lines of `[proxy]`.
    pub fn start_with(rules: &str, more: &str) -> Self {
        Self::start_among(None, rules, more)
    }

    /// The same with a finisher.
    pub fn start_with_finisher(rules: &str) -> Self {
        Self::start_with(rules, &with_finish(""))
    }

    /// The same, with a server that has other locales than those of the system.
    pub fn start_among(locales: Option<&Path>, rules: &str, more: &str) -> Self {
        let mut settings = vec![("log_statement", "all"), ("max_connections", "50")];
        let has_statistics = Postgres::has_library("pg_stat_statements");
        if has_statistics {
            settings.push(("shared_preload_libraries", "pg_stat_statements"));
            settings.push(("pg_stat_statements.track", "all"));
        }
        let server = Postgres::start_as(&Options {
            settings: &settings,
            locales,
            ..Options::default()
        });
        if has_statistics {
            let made = server
                .connect()
                .batch_execute("CREATE EXTENSION pg_stat_statements");
            made.expect("its library is loaded");
        }
        let tap = Tap::start(server.port());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let proxy = proxy(&folder, &tap.address.to_string(), rules, more);
        Self {
            proxy,
            tap,
            server,
            is_searched: true,
            _folder: folder,
        }
    }

    /// A client of the proxy.
    pub fn connect(&self) -> Client {
        client_of(&self.proxy)
    }

    /// What `psql` prints for a script, through the proxy. Errors are among it.
    pub fn psql(&self, script: &str) -> String {
        let port = self.proxy.address.port();
        let said = self.server.run_at(port, "psql", &["-XAtq", "-c", script]);
        let mut text = String::from_utf8_lossy(&said.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&said.stderr));
        text
    }

    /// No `canary` stands in what the server was sent, nor in any of its files.
    #[track_caller]
    pub fn assert_unseen(&self, canaries: &[&str]) {
        let places = leaks::find(&self.server, &self.tap, canaries);
        assert!(places.is_empty(), "{}", places.join("\n"));
    }
}

/// The programs of the server run as somebody else.
pub fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(path, mode).expect("it is our own");
}

impl Drop for Setup {
    fn drop(&mut self) {
        if self.is_searched && !std::thread::panicking() {
            self.assert_unseen(&[CANARY]);
        }
    }
}

/// More lines of `[proxy]`, and a finisher.
pub fn with_finish(more: &str) -> String {
    use std::os::unix::fs::MetadataExt;
    // PostgreSQL does not run as root.
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let run_as = match is_root {
        true => "run_as = \"nobody\"\n",
        false => "",
    };
    format!("{more}\n[finish]\nengine = \"postgres\"\n{run_as}")
}

/// A client of a proxy.
pub fn client_of(proxy: &Running) -> Client {
    let port = proxy.address.port();
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    Client::connect(&url, NoTls).expect("the proxy runs")
}

/// A protected table with its rows, a table `plain` with the same, and who made them; None: there
/// is no server to be started.
pub fn with_twin(rules: &str, table: &str, columns: &str, rows: &str) -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(rules);
    let mut client = setup.connect();
    for name in [table, "plain"] {
        for statement in [
            format!("CREATE TABLE {name} {columns}"),
            format!("INSERT INTO {name} VALUES {rows}"),
        ] {
            client.batch_execute(&statement).expect(&statement);
        }
    }
    Some((setup, client))
}

/// The rules with compact equality wherever a column can have it, so that all tests can be run with
/// it.
pub fn compacted(rules: &str) -> String {
    const TYPES: [&str; 5] = ["smallint", "integer", "bigint", "date", "time"];
    const EQUALITY: &str = "mode = \"equality\"";
    let compacted = |line: &str| {
        let is_number = TYPES
            .iter()
            .any(|name| line.contains(&format!("type = \"{name}")));
        match is_number && !line.contains("checks") && !line.contains("equality = ") {
            true => line.replace(EQUALITY, "mode = \"equality\", equality = \"compact\""),
            false => line.to_owned(),
        }
    };
    rules.lines().map(|line| compacted(line) + "\n").collect()
}

/// A proxy with a key, before a server at an address.
pub fn proxy(folder: &tempfile::TempDir, upstream: &str, rules: &str, more: &str) -> Running {
    proxy_before(folder, &format!("\"{upstream}\""), rules, more)
}

/// The same before several servers: `upstream` is TOML.
pub fn proxy_before(
    folder: &tempfile::TempDir,
    upstream: &str,
    rules: &str,
    more: &str,
) -> Running {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file in the own folder");
        path
    };
    write("columns.key", &[0x5a; 32]);
    let keys = match rules {
        "" => "",
        _ => "[keys]\nfile = \"columns.key\"\n",
    };
    let rules = match std::env::var_os("STRONGROOM_TEST_COMPACT") {
        Some(_) => compacted(rules),
        None => rules.to_owned(),
    };
    let text = format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = {upstream}\nworkers = 1\n\
         drain_seconds = 0\n{more}\n{keys}{rules}"
    );
    let file = write("strongroom.toml", text.as_bytes());
    let config = Config::read(&file).expect("the configuration");
    Running::start(config).expect("the proxy starts")
}
