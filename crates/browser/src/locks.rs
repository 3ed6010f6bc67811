//! Locks of one file, among the connections of one worker (sqlite.org/lockingv3.html).
//!
//! OPFS gives a file to one worker at a time, so nobody else has to be asked.

/// How much one connection has of a file. In SQLite's order, and with its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Neither reads nor writes.
    #[default]
    None,
    /// Reads, beside others.
    Shared,
    /// Will write; others may read.
    Reserved,
    /// Waits for readers to end; none begins.
    Pending,
    /// Writes, alone.
    Exclusive,
}

impl Level {
    /// The level of a number of SQLite's.
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

/// What all connections together have of a file.
#[derive(Debug, Default)]
pub struct Locks {
    /// Connections that read, the writer among them.
    readers: u32,
    /// The level of the one connection that is above `Shared`; `None` where there is none.
    writer: Level,
}

impl Locks {
    /// Takes a connection from its level to a higher one; the level that it then has, and whether
    /// that is the one it wanted. A writer that readers are in the way of stays at `Pending`.
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

    /// Takes a connection from its level down to `Shared` or `None`.
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

    /// Whether some connection will write or writes.
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
    fn a_writer_waits_for_readers_and_no_reader_begins() {
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
    fn what_is_had_already_changes_nothing() {
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
