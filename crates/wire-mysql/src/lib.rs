//! The client/server protocol of MySQL and MariaDB, version 4.1 and later: parses and writes
//! packets.
//!
//! Readers borrow from the input and check every length once, when a packet is read; afterwards
//! their accessors cannot fail. They accept arbitrary bytes and never panic. Writers append a
//! payload to the output buffer; [`packet::write`] frames it.
//!
//! What a packet is depends on the state of the connection, not on its first byte alone: 0x00 is
//! OK, the answer to a prepared statement, or a row. So the caller chooses the reader, and none of
//! them guesses.
//!
//! Sources: the protocol's documentation of [MySQL] and [MariaDB]. Where the two differ, the
//! comments say so.
//!
//! Why no library is used: `mysql_common` is made for clients, has no readers of commands, and
//! allocates for each value. The tests use it as a second implementation.
//!
//! No I/O, no SQL, no keys.
//!
//! [MySQL]: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html
//! [MariaDB]: https://mariadb.com/docs/server/reference/clientserver-protocol
#![forbid(unsafe_code)]

pub mod answer;
pub mod bulk;
pub mod capabilities;
pub mod column;
pub mod command;
pub mod execute;
pub mod greeting;
pub mod login;
pub mod packet;
mod reader;
pub mod row;
pub mod value;

pub use capabilities::Capabilities;
pub use reader::Malformed;
