//! `upstream`: the servers that a proxy chooses from, and which of them it wants.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// More servers than a cluster has are a mistake.
const SERVERS_MAX: usize = 64;

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Upstream {
    /// Host and port.
    Tcp(String, u16),
    /// A socket of the file system.
    Unix(PathBuf),
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // An address of IPv6.
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// A text that names no upstream.
#[derive(Debug, thiserror::Error)]
#[error("upstream {0:?} is neither HOST:PORT nor an absolute path of a socket or its folder")]
pub struct UpstreamError(String);

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        if text.starts_with('/') {
            let path = Path::new(text);
            return Ok(Self::Unix(socket_path(path, 5432)));
        }
        let wrong = || UpstreamError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self::Tcp(
            host.to_owned(),
            port.parse().map_err(|_| wrong())?,
        ))
    }
}

/// The socket that is meant by its own path or by that of its folder, by PostgreSQL's names. Those
/// of MySQL end in `.sock`.
pub fn socket_path(path: &Path, port: u16) -> PathBuf {
    let is_socket = path.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.starts_with(".s.") || name.ends_with(".sock")
    });
    if is_socket {
        path.to_owned()
    } else {
        path.join(format!(".s.PGSQL.{port}"))
    }
}

impl TryFrom<String> for Upstream {
    type Error = UpstreamError;

    fn try_from(text: String) -> Result<Self, UpstreamError> {
        text.parse()
    }
}

/// A server of `upstream`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamServer {
    /// Where it is.
    pub address: Upstream,
    /// The name in its certificate. None: that of `[proxy.server_tls]`, or its host.
    pub tls_name: Option<String>,
}

/// All servers, in the order in which they are tried. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams(Vec<UpstreamServer>);

impl Upstreams {
    /// The servers.
    pub fn servers(&self) -> &[UpstreamServer] {
        &self.0
    }
}

/// A server as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    address: Upstream,
    tls_name: Option<String>,
}

impl<'de> Deserialize<'de> for UpstreamServer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ServerVisitor)
    }
}

struct ServerVisitor;

impl<'de> Visitor<'de> for ServerVisitor {
    type Value = UpstreamServer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, or a table with address and tls_name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<UpstreamServer, E> {
        Ok(UpstreamServer {
            address: text.parse().map_err(E::custom)?,
            tls_name: None,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<UpstreamServer, A::Error> {
        let table = ServerTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(UpstreamServer {
            address: table.address,
            tls_name: table.tls_name,
        })
    }
}

impl<'de> Deserialize<'de> for Upstreams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ServersVisitor)
    }
}

struct ServersVisitor;

impl<'de> Visitor<'de> for ServersVisitor {
    type Value = Upstreams;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the address of a server, or a list of servers")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Upstreams, E> {
        ServerVisitor
            .visit_str(text)
            .map(|one| Upstreams(vec![one]))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Upstreams, A::Error> {
        ServerVisitor.visit_map(map).map(|one| Upstreams(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Upstreams, A::Error> {
        let servers = Vec::<UpstreamServer>::deserialize(SeqAccessDeserializer::new(list))?;
        if servers.is_empty() || servers.len() > SERVERS_MAX {
            return Err(A::Error::custom(format!(
                "upstream is a list of 1 to {SERVERS_MAX} servers"
            )));
        }
        for (index, server) in servers.iter().enumerate() {
            if servers[..index]
                .iter()
                .any(|before| before.address == server.address)
            {
                let message = format!("upstream has {} twice", server.address);
                return Err(A::Error::custom(message));
            }
        }
        Ok(Upstreams(servers))
    }
}

/// Which servers of PostgreSQL sessions may be on, as libpq's parameter of this name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetSessionAttrs {
    /// All.
    #[default]
    Any,
    /// Those whose sessions may write: no standby, and `default_transaction_read_only` is off.
    ReadWrite,
    /// The others.
    ReadOnly,
    /// Those that are no standby.
    Primary,
    /// Those that are.
    Standby,
    /// Standbys, and any server where there is none.
    PreferStandby,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_are_hosts_or_sockets() {
        for (text, upstream) in [
            ("db:5432", Upstream::Tcp("db".to_owned(), 5432)),
            ("[::1]:1", Upstream::Tcp("::1".to_owned(), 1)),
            ("/run/x", Upstream::Unix("/run/x/.s.PGSQL.5432".into())),
            ("/run/.s.PGSQL.7", Upstream::Unix("/run/.s.PGSQL.7".into())),
            ("/run/a.sock", Upstream::Unix("/run/a.sock".into())),
        ] {
            assert_eq!(text.parse::<Upstream>().expect(text), upstream);
            let told = upstream.to_string();
            assert_eq!(told.parse::<Upstream>().expect(text), upstream);
        }
        for text in ["", "db", "db:x", ":5432", "run/x"] {
            assert!(text.parse::<Upstream>().is_err(), "{text}");
        }
    }

    #[derive(Debug, Deserialize)]
    struct File {
        upstream: Upstreams,
    }

    #[test]
    fn there_may_be_one_server_or_several() {
        let one = |text: &str| UpstreamServer {
            address: text.parse().expect(text),
            tls_name: None,
        };
        let named = |text: &str, name: &str| UpstreamServer {
            tls_name: Some(name.to_owned()),
            ..one(text)
        };
        for (text, servers) in [
            ("\"a:1\"", vec![one("a:1")]),
            (
                "{ address = \"a:1\", tls_name = \"x\" }",
                vec![named("a:1", "x")],
            ),
            ("[\"a:1\"]", vec![one("a:1")]),
            (
                "[\"a:1\", { address = \"b:2\", tls_name = \"y\" }, \"/run/x\"]",
                vec![one("a:1"), named("b:2", "y"), one("/run/x")],
            ),
        ] {
            let file: File = toml::from_str(&format!("upstream = {text}")).expect(text);
            assert_eq!(file.upstream.servers(), servers, "{text}");
        }
    }

    #[test]
    fn a_list_of_servers_that_is_wrong_is_said_to_be() {
        let many: Vec<String> = (0..=SERVERS_MAX)
            .map(|port| format!("\"a:{port}\""))
            .collect();
        let many = format!("[{}]", many.join(", "));
        for (text, word) in [
            ("[]", "list of 1 to 64"),
            (&many[..], "list of 1 to 64"),
            ("[\"a:1\", \"b:1\", \"a:1\"]", "a:1 twice"),
            ("[\"a\"]", "HOST:PORT"),
            ("\"a\"", "HOST:PORT"),
            ("3", "a list of servers"),
            ("[{ address = \"a:1\", name = \"x\" }]", "unknown field"),
            ("[{ tls_name = \"x\" }]", "missing field"),
        ] {
            let error = toml::from_str::<File>(&format!("upstream = {text}"));
            let message = error.expect_err(text).message().to_owned();
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
