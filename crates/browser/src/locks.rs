//! Locks on one file, between the connections of one worker (sqlite.org/lockingv3.html).
//!
//! OPFS gives a file to one worker at a time, so no other process has to be considered.

/// A connection's lock level on a file, with SQLite's order and numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Neither reads nor writes.
    #[default]
    None,
    /// Reads, along with others.
    Shared,
    /// Will write; others may still read.
    Reserved,
    /// Waits for readers to finish; no new ones may start.
    Pending,
    /// Writes, exclusively.
    Exclusive,
}

impl Level {
    /// The level with SQLite's number.
    pub fn from_number(number: i32) -> Option<Self> {
        [
            Level::None,
            Level::Shared,
            Level::Reserved,
            Level::Pending,
            Level::Exclusive,
        ]
        .into_iter()
        .find(|level| *level as i32 == number)
    }
}

/// The locks of all connections on a file.
#[derive(Debug, Default)]
pub struct Locks {
    /// Connections that read, including the writer.
    readers: u32,
    /// The level of the one connection above `Shared`; `None` if there is none.
    writer: Level,
}

impl Locks {
    /// Raises a connection's level. Returns its new level, and whether that is the one it wanted. A
    /// writer that must wait for readers stays at `Pending`.
    pub fn raise(&mut self, from: Level, to: Level) -> (Level, bool) {
        if to <= from {
            return (from, true);
        }
        let mut level = from;
        if level == Level::None {
            if self.writer >= Level::Pending {
                return (level, false);
            }
            self.readers += 1;
            level = Level::Shared;
        }
        if to == Level::Shared {
            return (level, true);
        }
        if level == Level::Shared && self.writer > Level::None {
            return (level, false);
        }
        level = match to {
            Level::Exclusive if self.readers > 1 => Level::Pending,
            other => other,
        };
        self.writer = level;
        (level, level == to)
    }

    /// Lowers a connection's level to `Shared` or `None`.
    pub fn lower(&mut self, from: Level, to: Level) -> Level {
        if to >= from {
            return from;
        }
        if from > Level::Shared {
            self.writer = Level::None;
        }
        if to == Level::None {
            self.readers -= 1;
        }
        to
    }

    /// Whether some connection writes or is about to.
    pub fn is_reserved(&self) -> bool {
        self.writer > Level::None
    }
}

#[cfg(test)]
mod tests {
    use super::Level::{Exclusive, None, Pending, Reserved, Shared};
    use super::*;

    #[test]
    fn numbers_are_those_of_sqlite() {
        for (number, level) in [(0, None), (1, Shared), (2, Reserved), (3, Pending)] {
            assert_eq!(Level::from_number(number), Some(level));
        }
        assert_eq!(Level::from_number(4), Some(Exclusive));
        assert_eq!(Level::from_number(5), Option::None);
    }

    #[test]
    fn readers_share_and_one_writes() {
        let mut locks = Locks::default();
        assert_eq!(locks.raise(None, Shared), (Shared, true));
        assert_eq!(locks.raise(None, Shared), (Shared, true));
        assert_eq!(locks.raise(Shared, Reserved), (Reserved, true));
        assert_eq!(locks.raise(Shared, Reserved), (Shared, false));
        assert_eq!(locks.raise(None, Shared), (Shared, true));
        assert!(locks.is_reserved());
    }

    #[test]
    fn a_writer_waits_for_readers_and_no_new_reader_starts() {
        let mut locks = Locks::default();
        for _ in 0..2 {
            assert_eq!(locks.raise(None, Shared), (Shared, true));
        }
        assert_eq!(locks.raise(Shared, Reserved), (Reserved, true));
        assert_eq!(locks.raise(Reserved, Exclusive), (Pending, false));
        assert_eq!(locks.raise(None, Shared), (None, false));
        assert_eq!(locks.lower(Shared, None), None);
        assert_eq!(locks.raise(Pending, Exclusive), (Exclusive, true));
        assert_eq!(locks.raise(None, Shared), (None, false));
        assert_eq!(locks.lower(Exclusive, Shared), Shared);
        assert!(!locks.is_reserved());
        assert_eq!(locks.raise(None, Shared), (Shared, true));
    }

    #[test]
    fn a_hot_journal_is_played_back_from_shared_at_once() {
        let mut locks = Locks::default();
        assert_eq!(locks.raise(None, Shared), (Shared, true));
        assert_eq!(locks.raise(Shared, Exclusive), (Exclusive, true));
        assert_eq!(locks.lower(Exclusive, None), None);
        assert_eq!(locks.raise(None, Shared), (Shared, true));
    }

    #[test]
    fn a_level_already_held_changes_nothing() {
        let mut locks = Locks::default();
        assert_eq!(locks.raise(None, Shared), (Shared, true));
        assert_eq!(locks.raise(Shared, Shared), (Shared, true));
        assert_eq!(locks.lower(Shared, Shared), Shared);
        assert_eq!(locks.lower(Shared, None), None);
        assert_eq!(locks.lower(None, None), None);
        assert_eq!(locks.raise(None, Shared), (Shared, true));
        assert_eq!(locks.raise(Shared, Exclusive), (Exclusive, true));
    }
}
