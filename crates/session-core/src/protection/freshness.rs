//! When the catalogues of a database are checked again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A check may take at most one part in this many of the time until the next one.
const SHARE: u32 = 20;

/// When a database is checked next. All its sessions share this: the first that has a statement to
/// plan then checks for all. If no answer came for one more interval, as after a time without
/// statements, each session checks for itself.
#[derive(Debug)]
pub struct Freshness {
    interval: Duration,
    began: Instant,
    /// When one session is to check, in milliseconds since `began`.
    due_ms: AtomicU64,
    /// When each session is to check.
    old_ms: AtomicU64,
}

impl Freshness {
    /// Checks are this far apart, or farther if they take long.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            began: Instant::now(),
            due_ms: AtomicU64::new(0),
            old_ms: AtomicU64::new(0),
        }
    }

    /// Whether it is time for a check, which nobody may have begun.
    pub fn is_due(&self, now: Instant) -> bool {
        let now_ms = self.since(now);
        let is_past = |time_ms: &AtomicU64| now_ms >= time_ms.load(Ordering::Relaxed);
        is_past(&self.due_ms) || is_past(&self.old_ms)
    }

    /// Whether the caller is to check now.
    pub fn claim(&self, now: Instant) -> bool {
        let now_ms = self.since(now);
        let due_ms = self.due_ms.load(Ordering::Relaxed);
        let next_ms = now_ms + millis(self.interval);
        let is_first = now_ms >= due_ms
            && self
                .due_ms
                .compare_exchange(due_ms, next_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        is_first || now_ms >= self.old_ms.load(Ordering::Relaxed)
    }

    /// Notes a check that was done.
    pub fn note_look(&self, asked: Instant, answered: Instant) {
        let took = answered.saturating_duration_since(asked);
        let pause = self.interval.max(took * SHARE);
        let next_ms = self.since(answered) + millis(pause);
        self.due_ms.fetch_max(next_ms, Ordering::Relaxed);
        let old_ms = next_ms + millis(self.interval);
        self.old_ms.fetch_max(old_ms, Ordering::Relaxed);
    }

    fn since(&self, now: Instant) -> u64 {
        millis(now.saturating_duration_since(self.began))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_checks_in_each_interval() {
        let freshness = Freshness::new(Duration::from_secs(1));
        let at = |seconds: f64| freshness.began + Duration::from_secs_f64(seconds);
        for _ in 0..2 {
            assert!(freshness.claim(at(0.0)), "nobody has looked");
        }
        freshness.note_look(at(0.5), at(0.51));
        assert!(!freshness.is_due(at(1.4)) && !freshness.claim(at(1.4)));
        assert!(freshness.is_due(at(1.6)) && freshness.is_due(at(1.6)));
        assert!(freshness.claim(at(1.6)));
        assert!(!freshness.is_due(at(2.4)));
        assert!(!freshness.claim(at(2.4)), "another one looks");
        for _ in 0..2 {
            assert!(freshness.claim(at(2.6)), "whoever looked had no answer");
        }
    }

    #[test]
    fn slow_checks_are_rare() {
        let freshness = Freshness::new(Duration::from_secs(1));
        let at = |seconds: f64| freshness.began + Duration::from_secs_f64(seconds);
        assert!(freshness.claim(at(0.0)));
        freshness.note_look(at(0.0), at(0.5));
        assert!(!freshness.claim(at(10.0)));
        assert!(freshness.claim(at(10.6)));
    }
}
