//! Which servers a session may be on, by what they say of themselves when it begins.

use sqlstate::SqlState;
use wire_postgres::backend::Failure;

/// Which servers a session may be on: libpq's `target_session_attrs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// All.
    #[default]
    Any,
    /// Those whose sessions may write by default.
    ReadWrite,
    /// The others.
    ReadOnly,
    /// Those that are no standby.
    Primary,
    /// Those that are.
    Standby,
}

/// What a server says of itself and of a session. None: it has not said it, as before
/// PostgreSQL 14.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Whether it is a standby.
    pub is_standby: Option<bool>,
    /// Whether transactions of the session cannot write unless they ask to.
    pub is_read_only: Option<bool>,
}

impl ServerFacts {
    /// Notes a parameter that the server reports.
    pub fn note(&mut self, name: &[u8], value: &[u8]) {
        let is_on = || Some(value == b"on");
        match name {
            b"in_hot_standby" => self.is_standby = is_on(),
            b"default_transaction_read_only" => self.is_read_only = is_on(),
            _ => {}
        }
    }
}

impl Target {
    /// Whether a server is wanted whose sessions are for reading.
    pub fn wants_standby(self) -> bool {
        matches!(self, Self::ReadOnly | Self::Standby)
    }

    /// Checks that the session may be on this server. The words are libpq's.
    ///
    /// # Errors
    /// It is the wrong one, or does not say what it is.
    pub fn check(self, facts: ServerFacts) -> Result<(), Failure> {
        if self == Self::Any {
            return Ok(());
        }
        let Some(is_standby) = facts.is_standby else {
            let message = "the server does not say whether it is a standby, as it does from \
                           PostgreSQL 14 on";
            let hint = "Set [proxy.monitor] or patroni_port in the configuration of the proxy, or \
                        target_session_attrs = \"any\".";
            let failure = Failure::fatal(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(failure.hint(hint));
        };
        let is_read_only = is_standby || facts.is_read_only == Some(true);
        let wrong = match self {
            Self::ReadWrite if is_read_only => "session is read-only",
            Self::ReadOnly if !is_read_only => "session is not read-only",
            Self::Primary if is_standby => "server is in hot standby mode",
            Self::Standby if !is_standby => "server is not in hot standby mode",
            _ => return Ok(()),
        };
        Err(Self::wrong_server(wrong))
    }

    /// The error where a session would be on the wrong server: connecting again may find the right
    /// one.
    pub fn wrong_server(message: &str) -> Failure {
        let hint = "The proxy has target_session_attrs set. Connect again: it tries other servers \
                    first now.";
        Failure::fatal(SqlState::CANNOT_CONNECT_NOW, message).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_judged_as_libpq_judges_them() {
        let facts = |standby: &[u8], read_only: &[u8]| {
            let mut facts = ServerFacts::default();
            facts.note(b"in_hot_standby", standby);
            facts.note(b"default_transaction_read_only", read_only);
            facts.note(b"TimeZone", b"on");
            facts
        };
        let primary = facts(b"off", b"off");
        let read_only_primary = facts(b"off", b"on");
        let standby = facts(b"on", b"off");
        for (target, wanted) in [
            (Target::Any, [true, true, true]),
            (Target::ReadWrite, [true, false, false]),
            (Target::ReadOnly, [false, true, true]),
            (Target::Primary, [true, true, false]),
            (Target::Standby, [false, false, true]),
        ] {
            let taken = [primary, read_only_primary, standby].map(|own| target.check(own).is_ok());
            assert_eq!(taken, wanted, "{target:?}");
        }
        let failure = Target::Primary.check(standby).expect_err("the wrong one");
        assert_eq!(failure.sqlstate, SqlState::CANNOT_CONNECT_NOW);
    }

    #[test]
    fn a_server_that_does_not_say_what_it_is_is_for_those_who_do_not_care() {
        let silent = ServerFacts::default();
        assert!(Target::Any.check(silent).is_ok());
        for target in [
            Target::ReadWrite,
            Target::ReadOnly,
            Target::Primary,
            Target::Standby,
        ] {
            let failure = target.check(silent).expect_err("it is not known");
            assert_eq!(failure.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
            assert!(
                failure
                    .hint
                    .is_some_and(|hint| hint.contains("patroni_port"))
            );
        }
    }
}
