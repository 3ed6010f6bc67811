//! The statements that a connection has prepared.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use session_postgres::finisher::{Described, FinisherRequest};

use crate::moments;

/// More are closed, the one first that was not used for longest.
const COUNT_MAX: usize = 64;

/// How long a statement is kept that may have the offset of a moment in its constants.
const OFFSET_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// What distinguishes statements. The server reads the constants of a query when it prepares it:
/// `'1/2/2026'::date` is the day that `DateStyle` makes of it then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    query: Arc<str>,
    types: Arc<[u32]>,
    settings: Arc<[(String, String)]>,
}

impl Key {
    fn of(request: &FinisherRequest) -> Self {
        Self {
            query: Arc::clone(&request.query),
            types: Arc::clone(&request.parameter_types),
            settings: Arc::clone(&request.settings),
        }
    }
}

/// A prepared statement.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) name: String,
    pub(super) described: Arc<Described>,
    /// Whether it may read dates and times from the fields of a JSON or XML text.
    pub(super) reads_fields: bool,
    /// Whether it may take the offset of the moment.
    pub(super) takes_offset: bool,
    /// When it was prepared: then its constants were read.
    since: Instant,
    used: u64,
}

/// The statements of a connection.
#[derive(Debug, Default)]
pub(super) struct Statements {
    prepared: HashMap<Key, Statement>,
    /// Counts names, and uses.
    clock: u64,
}

impl Statements {
    /// The statement that was prepared for the same question.
    pub(super) fn find(&mut self, request: &FinisherRequest) -> Option<Statement> {
        self.clock += 1;
        let key = Key::of(request);
        let is_old = |own: &&Statement| own.takes_offset && own.since.elapsed() > OFFSET_KEPT;
        if self.prepared.get(&key).filter(is_old).is_some() {
            self.prepared.remove(&key);
        }
        let statement = self.prepared.get_mut(&key)?;
        statement.used = self.clock;
        Some(statement.clone())
    }

    /// Whether there is one.
    pub(super) fn has(&self, request: &FinisherRequest) -> bool {
        self.prepared.contains_key(&Key::of(request))
    }

    /// A name that no statement has had.
    pub(super) fn name(&mut self) -> String {
        self.clock += 1;
        format!("s{}", self.clock)
    }

    /// Takes out the one that has to be closed before another is prepared, and gives its name.
    pub(super) fn oldest(&mut self) -> Option<String> {
        if self.prepared.len() < COUNT_MAX {
            return None;
        }
        let oldest = self.prepared.iter().min_by_key(|(_, one)| one.used);
        let key = oldest.map(|(key, _)| key.clone())?;
        self.prepared.remove(&key).map(|statement| statement.name)
    }

    /// Keeps one that was prepared.
    pub(super) fn add(
        &mut self,
        request: &FinisherRequest,
        (name, takes_offset): (String, bool),
        described: Described,
    ) {
        self.clock += 1;
        let statement = Statement {
            name,
            reads_fields: moments::reads_fields(&request.query),
            takes_offset,
            since: Instant::now(),
            described: Arc::new(described),
            used: self.clock,
        };
        self.prepared.insert(Key::of(request), statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(query: &str, types: &[u32]) -> FinisherRequest {
        FinisherRequest {
            kind: Arc::default(),
            settings: Arc::default(),
            query: query.into(),
            parameter_types: types.into(),
            execution: None,
        }
    }

    fn add(statements: &mut Statements, request: &FinisherRequest) -> String {
        let described = Described {
            parameter_types: Vec::new(),
            row_description: Vec::new(),
        };
        let name = statements.name();
        statements.add(request, (name.clone(), false), described);
        name
    }

    #[test]
    fn the_same_text_with_other_types_is_another_statement() {
        let mut statements = Statements::default();
        let name = add(&mut statements, &request("SELECT $1", &[23]));
        let found = statements.find(&request("SELECT $1", &[23]));
        assert_eq!(found.map(|found| found.name), Some(name));
        assert!(statements.find(&request("SELECT $1", &[25])).is_none());
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_goes_first() {
        let mut statements = Statements::default();
        let mut names = Vec::new();
        for number in 0..COUNT_MAX {
            assert_eq!(statements.oldest(), None);
            names.push(add(
                &mut statements,
                &request(&format!("SELECT {number}"), &[]),
            ));
        }
        assert!(statements.find(&request("SELECT 0", &[])).is_some());
        assert_eq!(statements.oldest().as_ref(), names.get(1));
        assert!(!statements.has(&request("SELECT 1", &[])));
        assert_eq!(statements.oldest(), None);
    }
}
