//! Connections to a database of a kind that wait for the next question.

use std::sync::Arc;

use session_postgres::finisher::{FinisherKind, FinisherRequest};

use crate::connection::{Connection, Kept};

/// Those of all kinds.
pub(crate) type Pool = finisher_core::Pool<Idle>;

/// One of them.
#[derive(Debug)]
pub(crate) struct Idle {
    kind: Arc<FinisherKind>,
    kept: Kept,
}

impl Idle {
    fn is_of(&self, kind: &Arc<FinisherKind>) -> bool {
        Arc::ptr_eq(&self.kind, kind) || self.kind == *kind
    }
}

/// A connection to the database of a question, for the holder of a place: one that has prepared the
/// statement, if there is one.
pub(crate) fn take(pool: &Pool, request: &FinisherRequest) -> Option<Connection> {
    loop {
        let is_of = |one: &Idle| one.is_of(&request.kind);
        let idle = pool.take(is_of, |one| one.kept.has(request))?;
        // One that its server has ended is dropped.
        if let Some(connection) = idle.kept.resume() {
            return Some(connection);
        }
    }
}

/// Keeps a connection for the next question. The holder gives its place back afterwards.
pub(crate) fn keep(pool: &Pool, kind: &Arc<FinisherKind>, connection: Connection) {
    if let Some(kept) = connection.keep() {
        let kind = Arc::clone(kind);
        pool.keep(Idle { kind, kept });
    }
}
