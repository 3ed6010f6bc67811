//! SQLSTATE, the five characters that tell a client what kind of error it got (ISO 9075-2, clause
//! 24; [PostgreSQL, appendix A](https://www.postgresql.org/docs/current/errcodes-appendix.html)).
//! Each code that PostgreSQL knows is a constant with the server's own name for it.
#![forbid(unsafe_code)]

/// A constant for each code, and the list of all with their names.
macro_rules! codes {
    ($($name:ident = $code:literal,)*) => {
        #[allow(missing_docs, reason = "each is the server's name of the code")]
        impl SqlState {
            $(pub const $name: Self = Self($code);)*
        }

        /// Every code, by its name.
        pub const ALL: &[(&str, SqlState)] = &[$((stringify!($name), SqlState::$name),)*];
    };
}

mod codes;

use std::fmt;

pub use codes::ALL;

/// A kind of error.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(&'static str);

impl SqlState {
    /// The five characters.
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The code of these five characters. None: PostgreSQL has no such code.
    pub fn find(code: &str) -> Option<Self> {
        ALL.iter().map(|(_, own)| *own).find(|own| own.0 == code)
    }

    /// The first two characters, which stand for the class of the error.
    pub fn class(self) -> &'static str {
        &self.0[..2]
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl PartialEq<str> for SqlState {
    fn eq(&self, code: &str) -> bool {
        self.0 == code
    }
}

impl PartialEq<&str> for SqlState {
    fn eq(&self, code: &&str) -> bool {
        self.0 == *code
    }
}
