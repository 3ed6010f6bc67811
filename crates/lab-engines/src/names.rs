//! Names of server engines, defined even in builds without them.

/// PostgreSQL on the command line.
pub const POSTGRES: &str = "postgres";
/// MySQL on the command line, also for MariaDB if a URL names the server.
pub const MYSQL: &str = "mysql";
/// A MariaDB started by the lab.
pub const MARIADB: &str = "mariadb";
/// The family of PostgreSQL behind the proxy.
pub const PROXY_FAMILY: &str = "proxy";
/// The family of MariaDB behind the proxy.
pub const MARIADB_PROXY_FAMILY: &str = "mariadb-proxy";
/// The family of MySQL behind the proxy.
pub const MYSQL_PROXY_FAMILY: &str = "mysql-proxy";
/// The family of PostgreSQL with the proxy's engine in the client's process.
pub const IN_PROCESS_FAMILY: &str = "in-process";

/// Whether the engine with that name is a server, or needs one.
pub fn needs_servers(name: &str) -> bool {
    let products = [POSTGRES, MYSQL, MARIADB, PROXY_FAMILY, IN_PROCESS_FAMILY];
    let is_variant = |rest: &str| rest.is_empty() || rest.starts_with('-');
    products
        .iter()
        .any(|product| name.strip_prefix(product).is_some_and(is_variant))
}

/// Whether this build lacks the engine because the feature `servers` is off.
pub fn is_left_out(name: &str) -> bool {
    !cfg!(feature = "servers") && needs_servers(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_their_names() {
        for name in [
            "postgres",
            "mariadb-nosync",
            "mysql-url",
            "proxy-20",
            "in-process",
        ] {
            assert!(needs_servers(name), "{name}");
        }
        for name in [
            "sqlite",
            "strongroom",
            "proxyless",
            "postgresql",
            "browser-memory",
        ] {
            assert!(!needs_servers(name), "{name}");
        }
    }
}
