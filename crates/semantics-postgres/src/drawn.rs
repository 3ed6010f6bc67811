//! Values that the server has drawn from sequences, for protected columns.
//!
//! The proxy asks for them before it processes a message that stores some, and each is used once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values by the number of the column that they are for.
type ByColumn = HashMap<u32, VecDeque<i64>>;

/// Values that wait to be stored. Copies share them.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    values: Arc<Mutex<ByColumn>>,
    /// Counts what is taken by column, and gives 0 for each.
    counted: Option<Arc<Mutex<HashMap<u32, usize>>>>,
}

impl Drawn {
    /// Takes the next value for a column. None: there is none left.
    pub fn take(&self, column: u32) -> Option<i64> {
        if let Some(counted) = &self.counted {
            *lock(counted).entry(column).or_default() += 1;
            return Some(0);
        }
        lock(&self.values).get_mut(&column)?.pop_front()
    }

    /// How many there are for a column.
    pub fn count(&self, column: u32) -> usize {
        lock(&self.values).get(&column).map_or(0, VecDeque::len)
    }

    /// Replaces those for a column.
    pub fn set(&self, column: u32, values: Vec<i64>) {
        lock(&self.values).insert(column, values.into());
    }

    /// Takes all, so that they outlive what is cleared here.
    pub fn take_all(&self) -> Self {
        let values = std::mem::take(&mut *lock(&self.values));
        Self {
            values: Arc::new(Mutex::new(values)),
            counted: None,
        }
    }

    /// Forgets all.
    pub fn clear(&self) {
        lock(&self.values).clear();
    }

    /// Takes none, and counts how many would be taken.
    pub fn counting() -> Self {
        Self {
            values: Arc::default(),
            counted: Some(Arc::default()),
        }
    }

    /// How many would have been taken, by column.
    pub fn counted(&self) -> Vec<(u32, usize)> {
        let Some(counted) = &self.counted else {
            return Vec::new();
        };
        let mut counted: Vec<(u32, usize)> = lock(counted)
            .iter()
            .map(|(column, count)| (*column, *count))
            .collect();
        counted.sort_unstable();
        counted
    }
}

fn lock<T>(own: &Mutex<T>) -> MutexGuard<'_, T> {
    own.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Drawn;

    #[test]
    fn each_value_is_given_once() {
        let drawn = Drawn::default();
        drawn.set(1, vec![7, 8]);
        let copy = drawn.clone();
        assert_eq!(
            (drawn.take(1), copy.take(1), drawn.take(1)),
            (Some(7), Some(8), None)
        );
        assert_eq!(drawn.take(2), None);
        let counting = Drawn::counting();
        counting.take(1);
        counting.take(1);
        assert_eq!(counting.counted(), [(1, 2)]);
    }
}
