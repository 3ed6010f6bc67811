//! Queries that the proxy finishes, with the client's Sync sent at once. It makes the server
//! answer, so that the proxy needs no Flush and no round trip of its own. Nothing more is sent for
//! such a query after its rows have come.
//!
//! The query may still fail then. So Sync waits for the answer if it would commit what the client
//! has executed before: PostgreSQL commits all of a pipeline or nothing.

use session_core::StatementError;
use wire_postgres::backend;
use wire_postgres::frontend;

use super::{Outputs, Protected};
use crate::session::answers::{Expected, Unseen};
use crate::session::pipeline::Gate;
use crate::session::step::Step;

impl Protected {
    /// Waits for the client's Sync, then for the rows; for the rows alone if Sync may commit
    /// anything.
    pub(super) fn wait_with_sync(&mut self, step: Step, outputs: &mut Outputs<'_>) {
        if self.transaction.sync_may_commit() {
            return self.wait(step, outputs);
        }
        self.answers.push(Expected::Step(Box::new(step)));
        self.pipeline.expect_sync();
    }

    /// Notes that the client's Sync is sent after a step.
    pub(super) fn sync_step(&mut self) {
        if self.pipeline.gate() != Gate::SyncExpected {
            return;
        }
        self.pipeline.open();
        if let Some(Expected::Step(step)) = self.answers.back()
            && step.note_sync()
        {
            self.pipeline.wait();
        }
    }

    /// Sends Flush for the step: the client sent another message than Sync.
    pub(super) fn await_step(&mut self, outputs: &mut Outputs<'_>) {
        self.pipeline.wait();
        backend::write_empty(frontend::kind::FLUSH, outputs.to_server);
    }

    /// Makes the server fail in place of a step after which Sync was sent.
    pub(super) fn fail_synced(&mut self, failure: StatementError, outputs: &mut Outputs<'_>) {
        // The client gets the answer to the Sync after the error, not to the one after the step.
        if let Some(sync @ Expected::Sync) = self.answers.front() {
            *sync = Expected::Unseen(Unseen::Sync);
        }
        self.refuse(failure, outputs);
        backend::write_empty(frontend::kind::SYNC, outputs.to_server);
        self.answers.push(Expected::Sync);
    }
}
