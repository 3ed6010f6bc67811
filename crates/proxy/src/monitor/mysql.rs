//! The monitor's connection to MySQL or MariaDB, and what a node of Galera says of itself.

use std::io;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use configuration::MonitorConfig;
use tokio::io::AsyncWriteExt;
use wire_mysql::Capabilities;
use wire_mysql::answer::{ERR, ErrorPacket, OK, Start, ends_rows};
use wire_mysql::command::{kind, write_text};
use wire_mysql::greeting::{Greeting, NONCE_SIZE};
use wire_mysql::login::{Head, Login, MORE, SWITCH, Switch};
use wire_mysql::packet;
use wire_mysql::row::TextRow;
use zeroize::Zeroizing;

use super::MonitorError;
use crate::mysql::read_payload;
use crate::servers::{Server, Verdict};
use crate::stream::Stream;
use crate::upstream;

const NATIVE: &[u8] = b"mysql_native_password";
const CACHING_SHA2: &[u8] = b"caching_sha2_password";
/// `caching_sha2_password`: the server knows the password's hash; OK follows.
const FAST_OK: &[u8] = &[MORE, 3];
/// `caching_sha2_password`: the server needs the password itself.
const FULL: &[u8] = &[MORE, 4];
/// `utf8mb4_general_ci`
const COLLATION: u8 = 45;

/// A node that can serve answers so; each of these is a variable of the server or a status.
const QUESTIONS: [&str; 2] = [
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_reject_queries')",
    "SHOW GLOBAL STATUS WHERE Variable_name IN \
     ('wsrep_ready', 'wsrep_local_state', 'wsrep_cluster_status')",
];

/// An open connection.
pub(super) struct Connection {
    stream: Stream,
    /// The number of the next packet.
    sequence: u8,
}

impl Connection {
    pub(super) async fn open(
        server: &Server,
        account: &MonitorConfig,
        password: &[u8],
    ) -> Result<Self, MonitorError> {
        let mut own = Self {
            stream: upstream::reach(server).await?,
            sequence: 0,
        };
        // An error in the place of the greeting is not about the account.
        let said = own.read().await.map_err(|error| match error {
            MonitorError::Refused(said) => MonitorError::CannotServe(said),
            other => other,
        })?;
        let greeting = Greeting::read(&said).map_err(|_| not_understood())?;
        let mut taken = Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::MYSQL;
        if server.connector.is_some() {
            taken = taken | Capabilities::TLS;
        }
        if !greeting.capabilities.has(taken & !Capabilities::MYSQL) {
            let message = "it offers no TLS, which [proxy.server_tls] asks for, or is too old";
            return Err(MonitorError::Refused(message.to_owned()));
        }
        let head = Head {
            capabilities: taken,
            packet_size_max: 1 << 24,
            collation: COLLATION,
        };
        own = own.encrypted(server, head).await?;
        // The server asks for the account's method, where it is another one.
        let plugin = match greeting.plugin {
            CACHING_SHA2 => CACHING_SHA2,
            _ => NATIVE,
        };
        let answer = proof(plugin, password, &greeting.nonce)?;
        let login = Login::new(head, account.user.as_bytes(), (plugin, &answer));
        own.send(|out| login.write(out)).await?;
        own.log_in(password).await?;
        Ok(own)
    }

    async fn encrypted(mut self, server: &Server, head: Head) -> Result<Self, MonitorError> {
        let Some(connector) = &server.connector else {
            return Ok(self);
        };
        self.send(|out| head.write_tls_request(out)).await?;
        let Stream::Tcp(socket) = self.stream else {
            return Err(io::Error::from(io::ErrorKind::Unsupported).into());
        };
        self.stream = connector.connect(socket).await?;
        Ok(self)
    }

    /// Answers what the server asks until it lets the monitor in.
    async fn log_in(&mut self, password: &[u8]) -> Result<(), MonitorError> {
        loop {
            let said = self.read().await?;
            match said.first() {
                Some(&OK) => return Ok(()),
                Some(&SWITCH) => {
                    let switch = Switch::read(&said).map_err(|_| not_understood())?;
                    let nonce = switch.nonce().ok_or_else(not_understood)?;
                    let answer = proof(switch.plugin.unwrap_or_default(), password, &nonce)?;
                    self.send(|out| out.extend_from_slice(&answer)).await?;
                }
                _ if said == FAST_OK => {}
                _ if said == FULL && (self.stream.is_tls() || self.stream.is_local()) => {
                    let word = Zeroizing::new([password, &[0]].concat());
                    self.send(|out| out.extend_from_slice(&word)).await?;
                }
                _ if said == FULL => {
                    let message = "the server asks for the monitor's password itself \
                                   (caching_sha2_password): set [proxy.server_tls], or give the \
                                   account mysql_native_password";
                    return Err(MonitorError::Refused(message.to_owned()));
                }
                _ => return Err(not_understood()),
            }
        }
    }

    /// Whether the server is a node of Galera, and whether it can serve.
    pub(super) async fn ask(&mut self) -> Result<(bool, Verdict), MonitorError> {
        let mut said = Vec::new();
        for question in QUESTIONS {
            said.extend(self.query(question).await?);
        }
        Ok(verdict(&said))
    }

    /// Names and values.
    async fn query(&mut self, text: &str) -> Result<Vec<(String, String)>, MonitorError> {
        self.sequence = 0;
        self.send(|out| write_text(kind::QUERY, text.as_bytes(), out))
            .await?;
        let start = self.read().await?;
        let Ok(Start::Columns(columns @ 2)) = Start::read(&start) else {
            return Err(not_understood());
        };
        // Definitions, and what ends them.
        for _ in 0..=columns {
            self.read().await?;
        }
        let mut rows = Vec::new();
        loop {
            let payload = self.read().await?;
            if ends_rows(&payload, Capabilities::default()) {
                return Ok(rows);
            }
            let row = TextRow::read(&payload, 2).map_err(|_| not_understood())?;
            let mut values = row.iter().map(|value| {
                let value = value.unwrap_or_default();
                String::from_utf8_lossy(value).into_owned()
            });
            if let (Some(name), Some(value)) = (values.next(), values.next()) {
                rows.push((name.to_ascii_lowercase(), value));
            }
        }
    }

    async fn send(&mut self, payload: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut out = Zeroizing::new(Vec::new());
        packet::write(&mut self.sequence, &mut out, payload);
        self.stream.write_all(&out).await?;
        self.stream.flush().await
    }

    /// A payload that is no error.
    async fn read(&mut self) -> Result<Vec<u8>, MonitorError> {
        let payload = read_payload(&mut self.stream, self.sequence).await?;
        self.sequence = self.sequence.wrapping_add(1);
        if payload.first() != Some(&ERR) {
            return Ok(payload);
        }
        let error = ErrorPacket::read(&payload).map_err(|_| not_understood())?;
        let message = String::from_utf8_lossy(error.message);
        Err(MonitorError::Refused(format!("{}: {message}", error.code)))
    }
}

fn not_understood() -> MonitorError {
    MonitorError::Refused("the server says what the monitor does not understand".to_owned())
}

/// What proves to the server that the monitor knows the password, without giving it away.
fn proof(
    plugin: &[u8],
    password: &[u8],
    nonce: &[u8; NONCE_SIZE],
) -> Result<Vec<u8>, MonitorError> {
    let (algorithm, nonce_is_first) = match plugin {
        _ if password.is_empty() => return Ok(Vec::new()),
        NATIVE => (&SHA1_FOR_LEGACY_USE_ONLY, true),
        CACHING_SHA2 => (&SHA256, false),
        other => {
            let name = String::from_utf8_lossy(&other[..other.len().min(64)]).into_owned();
            return Err(MonitorError::Refused(format!(
                "the server asks for the monitor's login by {name}: give the account \
                 mysql_native_password or caching_sha2_password"
            )));
        }
    };
    // Whoever has the first hash can log in.
    let once = Zeroizing::new(digest(algorithm, password).as_ref().to_vec());
    let twice = digest(algorithm, &once);
    let mask = match nonce_is_first {
        true => digest(algorithm, &[nonce, twice.as_ref()].concat()),
        false => digest(algorithm, &[twice.as_ref(), nonce].concat()),
    };
    let bytes = once.iter().zip(mask.as_ref());
    Ok(bytes.map(|(one, other)| one ^ other).collect())
}

/// What a server is, by its variables and statuses: whether it is a node of Galera, and whether it
/// can serve.
fn verdict(said: &[(String, String)]) -> (bool, Verdict) {
    /// <https://galeracluster.com/library/documentation/monitoring-cluster.html>
    const SYNCED: &str = "4";
    const DONOR: &str = "2";

    let value = |name: &str| {
        let found = said.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    if !value("wsrep_on").eq_ignore_ascii_case("on") {
        return (false, Verdict::Serves { is_standby: false });
    }
    let takes_queries = value("wsrep_ready").eq_ignore_ascii_case("on")
        && value("wsrep_cluster_status").eq_ignore_ascii_case("primary")
        && value("wsrep_reject_queries").eq_ignore_ascii_case("none");
    let verdict = match value("wsrep_local_state") {
        SYNCED if takes_queries => Verdict::Serves { is_standby: false },
        DONOR if takes_queries => Verdict::IsBusy,
        _ => Verdict::IsOut,
    };
    (true, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_serves_if_it_is_synced_and_among_the_most() {
        let node = |changes: &[(&str, &str)]| {
            let said = [
                ("wsrep_on", "ON"),
                ("wsrep_reject_queries", "NONE"),
                ("wsrep_ready", "ON"),
                ("wsrep_local_state", "4"),
                ("wsrep_cluster_status", "Primary"),
            ];
            let said = said.map(|(name, value)| {
                let change = changes.iter().find(|(own, _)| *own == name);
                let value = change.map_or(value, |(_, value)| value);
                (name.to_owned(), value.to_owned())
            });
            verdict(&said)
        };
        let serves = Verdict::Serves { is_standby: false };
        assert_eq!(node(&[]), (true, serves));
        assert_eq!(node(&[("wsrep_local_state", "2")]), (true, Verdict::IsBusy));
        for out in [
            ("wsrep_local_state", "1"),
            ("wsrep_local_state", "3"),
            ("wsrep_local_state", ""),
            ("wsrep_ready", "OFF"),
            ("wsrep_cluster_status", "non-Primary"),
            ("wsrep_reject_queries", "ALL"),
        ] {
            assert_eq!(node(&[out]), (true, Verdict::IsOut), "{out:?}");
        }
        assert_eq!(node(&[("wsrep_on", "OFF")]), (false, serves));
        assert_eq!(verdict(&[]), (false, serves));
    }
}
