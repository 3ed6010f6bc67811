//! Confidential columns of PostgreSQL in a Rust program: `tokio-postgres`, and the engine of
//! Strongroom's proxy in the same process.
//!
//! Chosen columns are sealed before they leave the program, and opened when they come back. The
//! server is not modified and never has the key. Against the proxy this saves the way to another
//! process and back; what is protected, how, and what is refused is the same, and so are the
//! tables: programs with this crate and clients of the proxy can share them.
//!
//! ```no_run
//! use strongroom_postgres::{Connector, Options, tokio_postgres};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options::read("strongroom.toml".as_ref())?; // rules, and where the key is
//! let connector = Connector::new(options)?; // one for the whole program
//!
//! let config: tokio_postgres::Config = "host=localhost user=me dbname=shop".parse()?;
//! let (client, connection) = connector.connect(&config).await?;
//! tokio::spawn(async move {
//!     if let Err(error) = connection.await {
//!         eprintln!("the connection is lost: {error}");
//!     }
//! });
//!
//! let row = client
//!     .query_one("SELECT name FROM customer WHERE id = $1", &[&7])
//!     .await?;
//! let name: &str = row.get(0);
//! # let _ = name;
//! # Ok(())
//! # }
//! ```
//!
//! The client is [`tokio_postgres::Client`] itself: prepared statements, pipelining, transactions
//! and notifications are as they are there. Errors that the engine finds are
//! [`DbError`](tokio_postgres::error::DbError)s with the SQLSTATEs of the proxy. To cancel, call
//! [`Connector::cancel`]. The chapter `docs/in-process.md` says what else differs, and how a pool
//! of connections is made. [`Connector::serve`] serves drivers that speak the protocol themselves.
#![forbid(unsafe_code)]

mod connector;
mod finishing;
mod options;
mod pieces;
mod serve;
mod server_tls;
mod stream;
mod wire;

pub use connector::{ConnectError, Connection, Connector, connect};
pub use crypto::secret::Key;
pub use options::{Limits, Options, OptionsError};
pub use rustls;
pub use serve::{Refusal, ServeError, Server, ServerError};
pub use server_tls::ServerTls;
pub use tokio_postgres;
