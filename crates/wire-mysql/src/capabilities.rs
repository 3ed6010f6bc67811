//! The flags by which client and server agree on the form of packets.
//!
//! 32 flags are common. MariaDB says by a cleared lowest flag that it has 32 more, in bytes that
//! MySQL leaves empty.

use std::ops::{BitAnd, BitOr, Not};

/// A set of flags: the common ones in the lower half, those of MariaDB in the upper half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// A server of MySQL, in the greeting; MariaDB clears it.
    pub const MYSQL: Self = Self(1);
    /// Affected rows are those found, also if they stay as they are.
    pub const FOUND_ROWS: Self = Self(1 << 1);
    /// The login names a database.
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// Compression by zlib.
    pub const COMPRESS: Self = Self(1 << 5);
    /// `LOAD DATA LOCAL`: the server may ask for a file of the client.
    pub const LOCAL_FILES: Self = Self(1 << 7);
    /// The protocol of version 4.1, without which nothing is done here.
    pub const PROTOCOL_41: Self = Self(1 << 9);
    /// TLS.
    pub const TLS: Self = Self(1 << 11);
    /// Status and warnings in answers.
    pub const TRANSACTIONS: Self = Self(1 << 13);
    /// Nonce and answers of the method from version 4.1.
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    /// A text may have several statements.
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    /// An answer may have several results.
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    /// So may that of a prepared statement.
    pub const PREPARED_MULTI_RESULTS: Self = Self(1 << 18);
    /// Methods of login have names.
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    /// The login has attributes of the client.
    pub const CONNECT_ATTRIBUTES: Self = Self(1 << 20);
    /// The answer of a login may be longer than 255 bytes.
    pub const LONG_LOGIN_ANSWER: Self = Self(1 << 21);
    /// A login with an expired password may go on, to change it.
    pub const EXPIRED_PASSWORD: Self = Self(1 << 22);
    /// OK says how the session's state has changed.
    pub const SESSION_TRACK: Self = Self(1 << 23);
    /// OK ends rows in place of EOF, and nothing ends definitions.
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    /// Definitions of columns may be left out. MariaDB gives the flag no meaning.
    pub const OPTIONAL_METADATA: Self = Self(1 << 25);
    /// Compression by Zstandard.
    pub const ZSTD: Self = Self(1 << 26);
    /// Queries may have named parameters. MariaDB gives the flag no meaning.
    pub const QUERY_ATTRIBUTES: Self = Self(1 << 27);
    /// A login may ask for several factors.
    pub const SEVERAL_FACTORS: Self = Self(1 << 28);

    /// MariaDB: packets that tell about progress.
    pub const PROGRESS: Self = Self(1 << 32);
    /// MariaDB: `COM_STMT_BULK_EXECUTE`.
    pub const BULK: Self = Self(1 << 34);
    /// MariaDB: definitions of columns name the type more precisely.
    pub const EXTENDED_METADATA: Self = Self(1 << 35);
    /// MariaDB: definitions of columns are left out where they have not changed.
    pub const CACHED_METADATA: Self = Self(1 << 36);
    /// MariaDB: a result for each row of `COM_STMT_BULK_EXECUTE`.
    pub const BULK_RESULTS: Self = Self(1 << 37);

    /// The common flags and those of MariaDB.
    pub const fn new(common: u32, of_mariadb: u32) -> Self {
        Self(common as u64 | (of_mariadb as u64) << 32)
    }

    /// The common flags.
    pub fn common(self) -> u32 {
        self.0 as u32
    }

    /// The flags of MariaDB.
    pub fn of_mariadb(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether all of these are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for Capabilities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Capabilities {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// The state of a session, in OK and EOF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u16);

impl Status {
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 1;
    /// Each statement is a transaction of its own.
    pub const AUTOCOMMIT: u16 = 1 << 1;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 1 << 3;
    /// The rows are behind a cursor.
    pub const CURSOR_EXISTS: u16 = 1 << 6;
    /// The cursor has no more rows.
    pub const LAST_ROW_SENT: u16 = 1 << 7;
    /// `NO_BACKSLASH_ESCAPES` is in the session's `sql_mode`.
    pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
    /// OK says how the session's state has changed.
    pub const SESSION_STATE_CHANGED: u16 = 1 << 14;

    /// Whether all of these are set.
    pub fn has(self, flags: u16) -> bool {
        self.0 & flags == flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_are_kept_apart() {
        let flags = Capabilities::new(1 << 31 | 1, 1);
        assert!(flags.has(Capabilities::MYSQL | Capabilities::PROGRESS));
        assert!(!flags.has(Capabilities::MYSQL | Capabilities::BULK));
        assert_eq!((flags.common(), flags.of_mariadb()), (1 << 31 | 1, 1));
        let without = flags & !Capabilities::PROGRESS;
        assert_eq!((without.common(), without.of_mariadb()), (1 << 31 | 1, 0));
    }
}
