//! A bound for what a server does for a question, where it has none of its own:
//! `max_execution_time` of MySQL is for queries, and not for what changes rows.

use tokio::runtime::Handle;
use wire_mysql::answer::ErrorPacket;

use crate::server::Access;

/// What MySQL says of a query that takes too long: `ER_QUERY_TIMEOUT`.
pub(crate) fn too_late() -> Vec<u8> {
    let error = ErrorPacket {
        code: 3024,
        state: Some(*b"HY000"),
        message: b"Query execution was interrupted, maximum statement execution time exceeded",
    };
    let mut payload = Vec::new();
    error.write(&mut payload);
    payload
}

/// The connection of a question that is not answered yet. Dropped, it has the server end the
/// connection: a server that computes does not see that nobody waits for it.
#[derive(Debug)]
pub(crate) struct Unanswered {
    access: Access,
    connection: Option<u32>,
    runtime: Handle,
}

impl Unanswered {
    pub(crate) fn new(access: Access, connection: u32) -> Self {
        Self {
            access,
            connection: Some(connection),
            runtime: Handle::current(),
        }
    }

    /// The connection has answered, and does nothing.
    pub(crate) fn answered(mut self) {
        self.connection = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let Some(connection) = self.connection else {
            return;
        };
        let access = self.access.clone();
        self.runtime.spawn(async move {
            // It may have ended by itself.
            if let Err(error) = access.end_connection(connection).await {
                tracing::debug!(%error, "a connection to the finisher was not ended");
            }
        });
    }
}
