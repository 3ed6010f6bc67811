//! Of which product a finisher is. What the two need differently is here and in `walls`.

use std::path::Path;

use session_mysql::finisher::is_mariadb;

/// A product whose servers finish queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl Product {
    /// The product of a series.
    pub(crate) fn of(series: u16) -> Self {
        match is_mariadb(series) {
            true => Self::MariaDb,
            false => Self::MySql,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }

    /// The name of its server's program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadbd",
            Self::MySql => "mysqld",
        }
    }

    /// The first series with every setting that the server is started with.
    pub(crate) fn series_min(self) -> u16 {
        match self {
            Self::MariaDb => 1006,
            Self::MySql => 800,
        }
    }

    /// Whether a folder has what the server needs beside its program.
    pub(crate) fn is_share(self, folder: &Path) -> bool {
        match self {
            Self::MariaDb => folder.join("mysql_system_tables.sql").is_file(),
            Self::MySql => folder.join("english/errmsg.sys").is_file(),
        }
    }

    /// The plugin by which its users log in.
    pub(crate) fn plugin(self) -> &'static str {
        match self {
            Self::MariaDb => "mysql_native_password",
            // 9.0 has no other that needs no TLS.
            Self::MySql => "caching_sha2_password",
        }
    }
}

/// The product and version of a series: `MariaDB 10.11` of 1011.
pub(crate) fn name_of(series: u16) -> String {
    let product = Product::of(series).name();
    format!("{product} {}.{}", series / 100, series % 100)
}
