//! Queries the server's catalogues.

use std::path::Path;

use anyhow::{Context, bail};
use configuration::Parts;
use postgres::config::{Host, SslMode};
use postgres::{Client, Config, IsolationLevel, NoTls};
use sql_rewrite::{ASKED, Answer, answers_of};
use strongroom_postgres::ServerTls;

/// Environment variable with the server's URL, including user and password. Never an argument,
/// which other users could see.
pub const DATABASE_URL: &str = "STRONGROOM_DATABASE_URL";

/// Queries the server; `None` if no server is named. `file` is the path of the configuration.
pub fn ask(file: &Path, parts: &Parts) -> anyhow::Result<Option<Vec<Answer>>> {
    match connect(file, parts)? {
        Some(mut client) => ask_by(&mut client).map(Some),
        None => Ok(None),
    }
}

/// Connects to the server; `None` if no server is named. `file` is the path of the configuration.
pub fn connect(file: &Path, parts: &Parts) -> anyhow::Result<Option<Client>> {
    let Ok(url) = std::env::var(DATABASE_URL) else {
        return Ok(None);
    };
    // The error's text may repeat the URL, and with it a password.
    let Ok(config) = url.parse::<Config>() else {
        bail!("{DATABASE_URL} is no URL of PostgreSQL: write postgres://USER@HOST:PORT/DATABASE");
    };
    connect_by(config, tls(file, parts)?).map(Some)
}

/// Runs the queries on a server.
pub fn ask_by(client: &mut Client) -> anyhow::Result<Vec<Answer>> {
    // One snapshot for all queries, read-only.
    let mut transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()?;
    let mut answers = Vec::new();
    for query in ASKED {
        let messages = transaction.simple_query(query)?;
        answers.push(proxy::rows_of(&messages));
    }
    Ok(answers_of(answers))
}

/// The certificate authorities in `[proxy.server_tls]`, which the proxy uses to verify the server.
fn tls(file: &Path, parts: &Parts) -> anyhow::Result<Option<ServerTls>> {
    let proxy = parts.proxy.as_ref();
    let Some(tls) = proxy.and_then(|proxy| proxy.server_tls.as_ref()) else {
        return Ok(None);
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let tls = ServerTls::new(&folder.join(&tls.root), tls.name.clone());
    Ok(Some(tls.context("[proxy.server_tls]")?))
}

/// Uses TLS if the proxy would; never without it, unless the URL says so.
fn connect_by(mut config: Config, tls: Option<ServerTls>) -> anyhow::Result<Client> {
    let Some(tls) = tls else {
        return config.connect(NoTls).with_context(|| {
            format!(
                "cannot connect to the server of {DATABASE_URL}, without TLS: [proxy.server_tls] \
                 of the configuration names no authorities"
            )
        });
    };
    let hosts = config.get_hosts();
    let is_local = !hosts.is_empty() && hosts.iter().all(|host| !matches!(host, Host::Tcp(_)));
    if config.get_ssl_mode() == SslMode::Prefer && !is_local {
        config.ssl_mode(SslMode::Require);
    }
    config.connect(tls).with_context(|| {
        format!(
            "cannot connect to the server of {DATABASE_URL} by the authorities of \
             [proxy.server_tls]"
        )
    })
}
