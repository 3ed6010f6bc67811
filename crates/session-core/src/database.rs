//! The name of a session's database.

use sql_rewrite::SessionFacts;

use crate::statement_error::StatementError;

/// The database that a session asks for.
///
/// The server may have opened another one: it truncates long names, and a pooler may map names.
/// Sessions trust a shared schema without further checks, so a session shares it only if the server
/// confirms the name of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    name: Box<[u8]>,
    known_as: String,
}

impl Database {
    /// A database, where there is only one server.
    pub fn named(name: &[u8]) -> Self {
        Self {
            name: name.into(),
            // Other names stay others, whatever their encoding is.
            known_as: name.escape_ascii().to_string(),
        }
    }

    /// The same database at one of several servers.
    #[must_use]
    pub fn of(self, server: &str) -> Self {
        Self {
            known_as: format!("{server}/{}", self.known_as),
            ..self
        }
    }

    /// The name that the session asks for.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The key under which its schema is shared.
    pub fn known_as(&self) -> &str {
        &self.known_as
    }

    /// Checks that the session is in this database.
    ///
    /// # Errors
    /// It is in another one, or the server does not say in which.
    pub fn check(&self, session: &SessionFacts) -> Result<(), StatementError> {
        if session.database.as_deref() == Some(&*self.name) {
            return Ok(());
        }
        let opened = session.database.as_deref().unwrap_or_default();
        let message = format!(
            "the session asked for database \"{}\", and the server has opened \"{}\"",
            String::from_utf8_lossy(&self.name),
            String::from_utf8_lossy(opened)
        );
        Err(StatementError::rules(message).hint("Connect by the exact name of the database."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(name: &[u8]) -> SessionFacts {
        SessionFacts {
            database: Some(name.to_vec()),
            ..SessionFacts::default()
        }
    }

    #[test]
    fn different_names_have_different_keys() {
        let names: [&[u8]; 5] = [b"a", b"\xfe", b"\xff", b"\xef\xbf\xbd", b"\\xff"];
        for (index, one) in names.iter().enumerate() {
            for other in &names[..index] {
                let (one, other) = (Database::named(one), Database::named(other));
                assert_ne!(one.known_as(), other.known_as());
                assert!(one.check(&opened(&other.name)).is_err());
                assert_eq!(one.check(&opened(&one.name)), Ok(()));
            }
        }
        let of = |server: &str| Database::named(b"a").of(server);
        assert_ne!(of("x").known_as(), of("y").known_as());
    }

    #[test]
    fn the_error_about_another_database_names_it_and_a_remedy() {
        let long = "n".repeat(64);
        let failure = Database::named(long.as_bytes()).check(&opened(&long.as_bytes()[..63]));
        let failure = failure.expect_err("the server has cut it");
        assert_eq!(failure.sqlstate, "F0000");
        for name in [&long[..], &long[..63]] {
            let name = format!("\"{name}\"");
            assert!(failure.message.contains(&name), "{}", failure.message);
        }
        assert!(failure.hint.is_some_and(|hint| hint.contains("exact name")));
        let nothing = SessionFacts::default();
        assert!(Database::named(b"a").check(&nothing).is_err());
    }
}
