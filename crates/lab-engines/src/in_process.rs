//! PostgreSQL with the proxy's engine in the process of the terminals: like `proxy`, without the
//! network hop. One engine has no rules, to show the cost of the engine itself; there is one more
//! for each set of columns of TPC-C.
//!
//! A terminal's bytes go through a session in its own thread, so the session's processor time
//! counts as the client's. Only terminals do this: queries for the server's settings or the
//! database's size go to the server directly.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crypto::secret::{KEY_SIZE, Key};
use lab::engine::{Cause, Connection, Engine, EngineError, Profile, ScriptCommand, Server};
use lab::tpcc::{Terminal, Terminals};
use session_core::{CHECK_INTERVAL, Database, Protection, Root};
use session_postgres::{Session, Terms};
use sql_plan::Rules;
use workloads::tpcc::Isolation;

use crate::names::IN_PROCESS_FAMILY;
use crate::postgres::{self, Postgres, PostgresTerminal, USER};
use crate::proxy::{VARIANTS, Variant, profile};
use crate::server_engine::ServerEngine;

/// The default of the proxy's configuration.
const MESSAGE_SIZE_MAX: usize = 256 << 20;

/// PostgreSQL, and sessions in this process.
pub(crate) struct InProcessEngine {
    profile: Profile,
    variant: Variant,
    server: ServerEngine<Postgres>,
    /// For the running server; each has a new key.
    protection: Mutex<Option<Arc<Protection>>>,
}

pub(crate) fn family() -> impl Iterator<Item = InProcessEngine> {
    VARIANTS.into_iter().map(|variant| {
        let words = variant.words;
        let words = format!("PostgreSQL, the proxy's engine in the client's process, {words}");
        let profile = profile(IN_PROCESS_FAMILY, variant.suffix, words);
        InProcessEngine {
            server: ServerEngine::new(profile.clone(), postgres::product()),
            profile,
            variant,
            protection: Mutex::new(None),
        }
    })
}

fn protection(rules: &str, guards: bool) -> Result<Protection, Cause> {
    let lines = |errors: Vec<sql_plan::RulesError>| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Cause::from(lines.join("; "))
    };
    let rules = Rules::from_toml(rules).map_err(lines)?;
    let mut key = [0; KEY_SIZE];
    getrandom::fill(&mut key).map_err(|error| Cause::from(error.to_string()))?;
    let root = Root::new(Key::from_bytes(key));
    let protection = Protection::new(rules, root, configuration::now);
    Ok(protection
        .with_guards(guards)
        .with_check_interval(CHECK_INTERVAL))
}

impl InProcessEngine {
    fn protection(&self) -> Result<Option<Arc<Protection>>, EngineError> {
        let Some(rules) = self.variant.rules else {
            return Ok(None);
        };
        let known = self.protection.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            let made = protection(rules, self.variant.guards);
            *known = Some(Arc::new(made.map_err(EngineError::Open)?));
        }
        Ok(known.clone())
    }

    fn session(&self) -> Result<Session, EngineError> {
        let protection = self.protection()?;
        let database = Database::named(USER.as_bytes());
        Ok(Session::new(Terms {
            message_size_max: MESSAGE_SIZE_MAX,
            protection: protection.map(|protection| (protection, database)),
            ..Terms::default()
        }))
    }
}

impl Engine for InProcessEngine {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn missing(&self) -> Option<String> {
        self.server.missing()
    }

    fn server(&self) -> Server {
        Server::Child
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        let known = self.protection.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = None;
        self.server.create(folder)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        self.server.open(folder)
    }

    fn stop(&self) -> Result<(), EngineError> {
        self.server.stop()
    }

    fn terminals(&self) -> Option<&dyn Terminals> {
        Some(self)
    }

    fn script_command(&self, _folder: &Path) -> Option<ScriptCommand> {
        None
    }
}

impl Terminals for InProcessEngine {
    fn open_terminal(
        &self,
        folder: &Path,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, EngineError> {
        let server = self.server.ready(folder)?;
        let address = server.address.clone();
        let session = Some(self.session()?);
        let terminal = PostgresTerminal::connect(&address, session, server, isolation);
        terminal.map_err(EngineError::Open)
    }

    fn gather_statistics(&self, table: &str) -> Result<(), EngineError> {
        self.server.gather_statistics(table)
    }

    fn settle(&self) -> Result<(), EngineError> {
        self.server.settle()
    }

    fn database_bytes(&self) -> Result<u64, EngineError> {
        self.server.database_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_columns_protects() {
        for engine in family() {
            let protection = engine.protection().unwrap();
            let tables = protection.map(|protection| protection.rules().tables.len());
            assert_eq!(tables.is_some(), engine.variant.rules.is_some());
            assert_ne!(tables, Some(0), "{}", engine.profile.name);
        }
    }
}
