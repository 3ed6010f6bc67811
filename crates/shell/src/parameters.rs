//! Named values for statement parameters.

use rusqlite::Statement;
use rusqlite::types::Value;
use std::collections::BTreeMap;

/// The values, by parameter name including its prefix.
#[derive(Debug, Default)]
pub(crate) struct Parameters(BTreeMap<String, Value>);

/// Whether a word can name a parameter (<https://www.sqlite.org/lang_expr.html#varparam>).
pub(crate) fn is_name(word: &str) -> bool {
    let mut characters = word.chars();
    match characters.next() {
        Some('?') => !word[1..].is_empty() && characters.all(|digit| digit.is_ascii_digit()),
        Some(':' | '@' | '$') => !word[1..].is_empty() && !word.contains(char::is_whitespace),
        _ => false,
    }
}

impl Parameters {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }

    /// Binds the values to a statement's parameters; those without a value stay NULL.
    pub(crate) fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        for index in 1..=statement.parameter_count() {
            let value = statement
                .parameter_name(index)
                .and_then(|name| self.0.get(name));
            if let Some(value) = value {
                statement.raw_bind_parameter(index, value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn statements_get_the_values_of_their_names() {
        let mut parameters = Parameters::default();
        parameters.set("@a", Value::Integer(5));
        parameters.set("?2", Value::Text("two".to_owned()));
        let connection = Connection::open_in_memory().unwrap();
        let mut statement = connection.prepare("SELECT @a, ?2, :none, @a").unwrap();
        parameters.bind(&mut statement).unwrap();
        let mut rows = statement.raw_query();
        let row = rows.next().unwrap().unwrap();
        let values: Vec<Value> = (0..4).map(|index| row.get(index).unwrap()).collect();
        let expected = [
            Value::Integer(5),
            Value::Text("two".to_owned()),
            Value::Null,
            Value::Integer(5),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn names_begin_with_a_sign() {
        for word in [":a", "@b1", "$c", "?1"] {
            assert!(is_name(word), "{word}");
        }
        for word in ["a", ":", "?", "?a", "@a b", ""] {
            assert!(!is_name(word), "{word}");
        }
    }
}
