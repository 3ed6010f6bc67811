//! Whether a server runs: it is started when it is first needed, and again when it has died.

use std::sync::Arc;
use std::time::{Duration, Instant};

use session_core::counters::add;
use tokio::task::spawn_blocking;

use crate::counters::FinisherCounters;
use crate::keeper::Keeper;

/// What failed is not tried again at once: questions may come by thousands.
pub const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// A server that runs.
pub trait Kept {
    /// Who ends it.
    fn keeper(&self) -> &Keeper;
    /// The same, to end it.
    fn into_keeper(self) -> Keeper;
}

/// A server that may run.
#[derive(Debug)]
pub struct Starting<R, E> {
    running: Option<R>,
    /// It has run before, and has not been told to end.
    has_run: bool,
    /// When the last start failed, and why.
    failed: Option<(Instant, Arc<E>)>,
}

impl<R, E> Default for Starting<R, E> {
    fn default() -> Self {
        Self {
            running: None,
            has_run: false,
            failed: None,
        }
    }
}

impl<R: Kept, E> Starting<R, E> {
    /// The server, if it runs.
    pub fn running(&mut self) -> Option<&mut R> {
        self.give_up(|own| own.keeper().is_over());
        self.running.as_mut()
    }

    /// Forgets a server that is of no use any more.
    pub fn give_up(&mut self, is_useless: impl FnOnce(&R) -> bool) {
        self.running = self.running.take().filter(|own| !is_useless(own));
    }

    /// The server, which is started if it does not run.
    ///
    /// # Errors
    /// It does not start, or did not a moment ago.
    pub async fn started(
        &mut self,
        start: impl Future<Output = Result<R, E>>,
        counters: &FinisherCounters,
    ) -> Result<&mut R, Arc<E>> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start(start, counters).await?,
        };
        Ok(self.running.insert(running))
    }

    async fn start(
        &mut self,
        start: impl Future<Output = Result<R, E>>,
        counters: &FinisherCounters,
    ) -> Result<R, Arc<E>> {
        if let Some((when, error)) = &self.failed
            && when.elapsed() < FAILURE_PAUSE
        {
            return Err(Arc::clone(error));
        }
        let running = start.await.map_err(|error| {
            let error = Arc::new(error);
            self.failed = Some((Instant::now(), Arc::clone(&error)));
            error
        })?;
        if std::mem::replace(&mut self.has_run, true) {
            add(&counters.restarted, 1);
        }
        Ok(running)
    }

    /// The server, to end it: another one is not started in its place, but anew.
    pub fn take(&mut self) -> Option<R> {
        self.has_run = false;
        self.running.take()
    }
}

/// Ends a server, and waits for that.
pub async fn end(running: impl Kept) {
    let keeper = running.into_keeper();
    // It fails when the runtime ends, and then nobody waits.
    drop(spawn_blocking(move || keeper.end()).await);
}
