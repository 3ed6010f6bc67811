//! Servers of the proxy's own that answer queries, by `[finish]`. None is started before it is
//! needed.

use std::sync::Arc;

use configuration::{FinishConfig, FinishEngine};
use finisher_core::FinisherCounters;

/// Of which product they are.
#[derive(Clone, Debug)]
pub enum Finishers {
    /// PostgreSQL.
    Postgres(Arc<finisher_postgres::Finishers>),
    /// MariaDB.
    MariaDb(Arc<finisher_mysql::Finishers>),
}

impl Finishers {
    /// Those of a configuration. None: it wants none.
    pub fn of(finish: &FinishConfig) -> Option<Self> {
        let (programs, run_as) = (finish.programs.clone(), finish.run_as.clone());
        let folder = finish.folder.clone();
        match finish.engine {
            FinishEngine::None => None,
            FinishEngine::Postgres => {
                let finishers =
                    finisher_postgres::Finishers::new(finisher_postgres::FinisherOptions {
                        programs,
                        run_as,
                        folder,
                        ..finisher_postgres::FinisherOptions::default()
                    });
                finishers.tell_versions();
                Some(Self::Postgres(Arc::new(finishers)))
            }
            FinishEngine::MariaDb => {
                let finishers = finisher_mysql::Finishers::new(finisher_mysql::FinisherOptions {
                    programs,
                    run_as,
                    folder,
                    ..finisher_mysql::FinisherOptions::default()
                });
                finishers.tell_versions();
                Some(Self::MariaDb(Arc::new(finishers)))
            }
        }
    }

    /// Whether there is one for servers of this version: PostgreSQL's major version, or 1011 of
    /// MariaDB 10.11.
    pub fn offers(&self, version: u16) -> bool {
        match self {
            Self::Postgres(own) => own.offers(version),
            Self::MariaDb(own) => own.offers(version),
        }
    }

    /// What was counted.
    pub fn counters(&self) -> &FinisherCounters {
        match self {
            Self::Postgres(own) => own.counters(),
            Self::MariaDb(own) => own.counters(),
        }
    }

    /// Ends the servers, and waits until their folders are gone.
    pub async fn end(&self) {
        match self {
            Self::Postgres(own) => own.end().await,
            Self::MariaDb(own) => own.end().await,
        }
    }
}
