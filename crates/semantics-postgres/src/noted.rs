//! Values that were sealed lately, by how the sealed value begins: where the server shows only the
//! beginning, nothing opens.
//!
//! Only values of tables with check constraints are noted, whose errors show whole rows. What is
//! noted is bounded, and forgotten when the server has answered everything.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use column_value::Value;

/// Bytes that tell a sealed value from every other, of those that a server shows of one
/// (PostgreSQL, `ExecBuildSlotValueDescription`: 64 characters, two for each byte behind `\\x`).
pub const NOTED_START: usize = 31;

/// Values that are noted at most.
const VALUES_MAX: usize = 4096;

/// Bytes of a long value that are kept: more than a server shows of one.
const BYTES_MAX: usize = 256;

type Start = [u8; NOTED_START];

#[derive(Default)]
struct Noted {
    /// None: several values begin so, as near ones in mode order.
    values: HashMap<Start, Option<(u32, Value)>>,
    /// The oldest first.
    order: VecDeque<Start>,
}

/// Values that were sealed lately. Copies share them. Its `Debug` shows none.
#[derive(Clone, Default)]
pub struct NotedValues {
    noted: Arc<Mutex<Noted>>,
}

impl fmt::Debug for NotedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotedValues")
    }
}

impl NotedValues {
    /// Notes the value of a column that was sealed.
    pub fn note(&self, sealed: &[u8], column: u32, value: &Value) {
        let Some(start) = sealed.first_chunk::<NOTED_START>() else {
            return;
        };
        let Some(value) = shortened(value) else {
            return;
        };
        let mut noted = lock(&self.noted);
        match noted.values.get_mut(start) {
            Some(known) => {
                let known_value = known.take().map(|(_, known)| known);
                *known = (known_value.as_ref() == Some(&value)).then_some((column, value));
            }
            None => {
                noted.values.insert(*start, Some((column, value)));
                noted.order.push_back(*start);
            }
        }
        if noted.order.len() > VALUES_MAX
            && let Some(oldest) = noted.order.pop_front()
        {
            noted.values.remove(&oldest);
        }
    }

    /// The value of a sealed one that begins so, and its column.
    pub fn find(&self, start: &[u8]) -> Option<(u32, Value)> {
        let start = start.first_chunk::<NOTED_START>()?;
        lock(&self.noted).values.get(start).cloned().flatten()
    }

    /// Forgets all.
    pub fn clear(&self) {
        *lock(&self.noted) = Noted::default();
    }
}

/// A value without the part that no server shows. None: its text is not known here.
fn shortened(value: &Value) -> Option<Value> {
    match value {
        Value::Text(text) if text.len() > BYTES_MAX => {
            let end = (0..=BYTES_MAX).rfind(|end| text.is_char_boundary(*end))?;
            Some(Value::Text(text[..end].to_owned()))
        }
        Value::Bytes(bytes) => Some(Value::Bytes(bytes[..bytes.len().min(BYTES_MAX)].to_vec())),
        Value::Opaque(_) => None,
        other => Some(other.clone()),
    }
}

fn lock(own: &Mutex<Noted>) -> MutexGuard<'_, Noted> {
    own.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let noted = NotedValues::default();
        let sealed = |number: usize| {
            let mut bytes = vec![0; 40];
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            bytes
        };
        for number in 0..=VALUES_MAX {
            let value = Value::Integer(i64::try_from(number).expect("a small one"));
            noted.note(&sealed(number), 7, &value);
        }
        assert_eq!(noted.find(&sealed(0)), None);
        assert_eq!(noted.find(&sealed(1)[..31]), Some((7, Value::Integer(1))));
        assert_eq!(noted.find(&sealed(1)[..30]), None);
        let long = Value::Text("ä".repeat(BYTES_MAX));
        noted.note(&[9; 40], 7, &long);
        let kept = Value::Text("ä".repeat(BYTES_MAX / 2));
        assert_eq!(noted.find(&[9; 31]), Some((7, kept)));
        noted.note(&[8; 40], 7, &Value::Opaque(vec![1]));
        assert_eq!(noted.find(&[8; 31]), None);
        noted.note(&sealed(2), 9, &Value::Integer(2));
        assert_eq!(noted.find(&sealed(2)), Some((9, Value::Integer(2))));
        for other in [3, 2] {
            noted.note(&sealed(2), 9, &Value::Integer(other));
            assert_eq!(noted.find(&sealed(2)), None);
        }
        noted.clear();
        assert_eq!(noted.find(&sealed(1)), None);
    }
}
