//! Queries that the proxy finishes, behind which the client's Sync is sent at once: it makes the
//! server answer, so that no Flush and no round trip of the proxy's own is needed. Nothing more is
//! sent for such a query once its rows have come.

use session_core::StatementError;
use wire_postgres::backend;
use wire_postgres::frontend;

use super::{Outputs, Protected};
use crate::session::answers::{Expected, Unseen};
use crate::session::pipeline::Gate;
use crate::session::step::Step;

impl Protected {
    /// Rows are awaited, and the client's Sync before them.
    pub(super) fn wait_with_sync(&mut self, step: Step) {
        self.answers.push(Expected::Step(Box::new(step)));
        self.pipeline.expect_sync();
    }

    /// The client's Sync is sent behind a step.
    pub(super) fn sync_step(&mut self) {
        if self.pipeline.gate() != Gate::SyncExpected {
            return;
        }
        self.pipeline.open();
        if let Some(Expected::Step(step)) = self.answers.back()
            && let Step::Finish(finishing) = &mut **step
        {
            finishing.is_synced = true;
            self.pipeline.wait();
        }
    }

    /// Something else came than Sync: the step is asked for by itself.
    pub(super) fn await_step(&mut self, outputs: &mut Outputs<'_>) {
        self.pipeline.wait();
        backend::write_empty(frontend::kind::FLUSH, outputs.to_server);
    }

    /// Makes the server fail in place of a step behind which Sync was sent.
    pub(super) fn fail_synced(&mut self, failure: StatementError, outputs: &mut Outputs<'_>) {
        // The Sync behind the step is answered to nobody: the one behind the failure is the
        // client's.
        if let Some(sync @ Expected::Sync) = self.answers.front() {
            *sync = Expected::Unseen(Unseen::Sync);
        }
        self.refuse(failure, outputs);
        backend::write_empty(frontend::kind::SYNC, outputs.to_server);
        self.answers.push(Expected::Sync);
    }
}
