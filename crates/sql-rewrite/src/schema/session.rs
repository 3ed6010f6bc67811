//! The settings of a session that decide what names and texts mean.

use super::Answer;

/// What the server says of a session, in answer to the first of [`QUERIES`](crate::QUERIES).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// Schemas that unqualified names are looked up in, in their order.
    pub search_path: Vec<String>,
    /// What the session has of its own.
    pub temporary: TemporaryNames,
    /// The name of the database; None: the server did not say.
    pub database: Option<Vec<u8>>,
    /// Settings that texts depend on, and `transaction_isolation`: names and values.
    pub settings: Vec<(String, String)>,
}

/// Names in the schema of a session's own, which hide all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemporaryNames {
    /// Of relations.
    pub relations: Vec<String>,
    /// Of types, those of the relations among them.
    pub types: Vec<String>,
}

impl TemporaryNames {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.relations.iter().chain(&self.types)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty() && self.types.is_empty()
    }
}

impl SessionFacts {
    /// Reads the rows.
    pub fn read(answer: &Answer) -> Self {
        let mut facts = Self::default();
        for row in answer {
            let text = |index: usize| row.get(index).and_then(Option::as_ref);
            let Some(value) = text(0).cloned() else {
                continue;
            };
            match text(1).map(String::as_str) {
                None => facts.search_path.push(value),
                Some("temporary") => facts.temporary.relations.push(value),
                Some("temporary type") => facts.temporary.types.push(value),
                Some("database") => facts.database = bytes(&value),
                Some(name) => facts.settings.push((name.to_owned(), value)),
            }
        }
        facts
    }

    /// Whether texts of the database sort by their bytes. Of UTF-8 that is the order of the code
    /// points, which `C.UTF-8` of the C library has.
    pub fn sorts_by_bytes(&self) -> bool {
        let is_of_library = self.setting("locale_provider") == Some("c");
        let collate = self.setting("collate").map(str::to_ascii_lowercase);
        let by_bytes = ["c", "posix", "c.utf8", "c.utf-8"];
        is_of_library && collate.is_some_and(|own| by_bytes.contains(&own.as_str()))
    }

    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Bytes from their digits; None: these are none.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_facts_are_read_by_kind() {
        let row =
            |fact: &str, kind: Option<&str>| vec![Some(fact.to_owned()), kind.map(str::to_owned)];
        let answer = vec![
            row("app", None),
            row("database", None),
            row("c3a9ff", Some("database")),
            row("t", Some("temporary")),
            row("mood", Some("temporary type")),
            row("UTC", Some("TimeZone")),
        ];
        let facts = SessionFacts::read(&answer);
        assert_eq!(facts.search_path, ["app", "database"]);
        assert_eq!(facts.temporary.relations, ["t"]);
        assert_eq!(facts.temporary.types, ["mood"]);
        assert_eq!(facts.database.as_deref(), Some(&b"\xc3\xa9\xff"[..]));
        assert_eq!(facts.setting("TimeZone"), Some("UTC"));
        let wrong = SessionFacts::read(&vec![row("no", Some("database"))]);
        assert_eq!(wrong.database, None);
    }
}
