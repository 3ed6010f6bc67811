//! The proxy's own connection to each database. Over it proxies tell each other that the schema has
//! changed. A client whose statement changed it gets its answer when all proxies know.
//!
//! The state that sessions share with it is `session_core::Watch`. Here are the connection and what
//! waits by a clock.

use std::sync::Arc;

use session_core::{Announced, Watch};
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;

pub(crate) mod connection;
mod listeners;
mod login;

pub(crate) use login::Guarded;

/// Ends when every proxy has confirmed the change, or when the lease has ended.
pub(crate) async fn wait(announced: Announced) {
    let lease = announced.lease();
    if timeout(lease, announced.all_confirmed()).await.is_err() {
        let seconds = lease.as_secs();
        tracing::warn!("not every proxy has confirmed a change within {seconds} s");
    }
}

/// Ends when the watch listens for changes, or when the lease has ended. A session that read the
/// schema earlier could miss a change whose client was not made to wait.
pub(crate) async fn listens(watch: Arc<Watch>) {
    // If it does not listen by then, statements are refused with the reason.
    let _ = timeout(watch.lease(), watch.until_heard()).await;
}

/// The rows of an answer in text form; None: NULL.
pub fn rows_of(messages: &[SimpleQueryMessage]) -> Vec<Vec<Option<String>>> {
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            let column = |index| row.get(index).map(str::to_owned);
            Some((0..row.len()).map(column).collect())
        }
        _ => None,
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn a_session_waits_for_the_watch_but_no_longer_than_a_lease() {
        let lease = Duration::from_millis(50);
        let begun = Instant::now();
        listens(Arc::new(Watch::new(b"base", "base", lease))).await;
        assert!(begun.elapsed() >= lease);

        let watch = Arc::new(Watch::new(b"base", "base", Duration::from_secs(600)));
        let waits = tokio::spawn(listens(Arc::clone(&watch)));
        tokio::task::yield_now().await;
        watch.note_heard(Instant::now());
        waits.await.expect("it was heard");
        listens(watch).await;
    }

    #[tokio::test]
    async fn without_the_connection_a_change_waits_for_the_lease_to_end() {
        let lease = Duration::from_millis(50);
        let watch = Watch::new(b"base", "base", lease);
        let begun = Instant::now();
        let announced = watch.announce();
        drop(watch.take_requests().expect("nobody has them"));
        wait(announced).await;
        assert!(begun.elapsed() >= lease);
    }

    #[tokio::test]
    async fn a_confirmed_change_ends_the_wait() {
        let watch = Watch::new(b"base", "base", Duration::from_secs(600));
        let announced = watch.announce();
        let mut requests = watch.take_requests().expect("nobody has them");
        let done = requests.recv().await.expect("a request");
        done.send(()).expect("somebody waits");
        wait(announced).await;
    }
}
