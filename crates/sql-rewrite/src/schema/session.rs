//! What a session's own state says about names and texts.

use super::queries::Answer;

/// What the server says of a session, in answer to the first of [`QUERIES`](crate::QUERIES).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// Schemas that unqualified names are looked up in, in their order.
    pub search_path: Vec<String>,
    /// Relations of the session's own, which hide all others of their names.
    pub temporary: Vec<String>,
    /// Settings that texts depend on, and `transaction_isolation`: names and values.
    pub settings: Vec<(String, String)>,
}

impl SessionFacts {
    /// Reads the rows.
    pub fn read(answer: &Answer) -> Self {
        let mut facts = Self::default();
        for row in answer {
            let text = |place: usize| row.get(place).and_then(Option::as_ref);
            let Some(value) = text(0).cloned() else {
                continue;
            };
            match text(1).map(String::as_str) {
                None => facts.search_path.push(value),
                Some("temporary") => facts.temporary.push(value),
                Some(name) => facts.settings.push((name.to_owned(), value)),
            }
        }
        facts
    }

    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}
