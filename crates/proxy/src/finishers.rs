//! Servers of the proxy's own that answer queries, by `[finish]`. None is started before it is
//! needed.

use std::sync::Arc;

use configuration::{FinishConfig, FinishEngine};
use finisher_core::FinisherCounters;
use finisher_mysql::Product;

/// Of which product they are.
#[derive(Clone, Debug)]
pub enum Finishers {
    /// PostgreSQL.
    Postgres(Arc<finisher_postgres::Finishers>),
    /// MariaDB or MySQL.
    MySql(Arc<finisher_mysql::Finishers>),
}

impl Finishers {
    /// Those of a configuration. None: it wants none.
    pub fn of(finish: &FinishConfig) -> Option<Self> {
        match finish.engine {
            FinishEngine::None => None,
            FinishEngine::Postgres => {
                let finishers =
                    finisher_postgres::Finishers::new(finisher_postgres::FinisherOptions {
                        programs: finish.programs.clone(),
                        run_as: finish.run_as.clone(),
                        folder: finish.folder.clone(),
                        ..finisher_postgres::FinisherOptions::default()
                    });
                finishers.tell_versions();
                Some(Self::Postgres(Arc::new(finishers)))
            }
            FinishEngine::MariaDb => Some(Self::of_product(finish, Product::MariaDb)),
            FinishEngine::MySql => Some(Self::of_product(finish, Product::MySql)),
        }
    }

    fn of_product(finish: &FinishConfig, product: Product) -> Self {
        let finishers = finisher_mysql::Finishers::new(finisher_mysql::FinisherOptions {
            product,
            programs: finish.programs.clone(),
            run_as: finish.run_as.clone(),
            folder: finish.folder.clone(),
            ..finisher_mysql::FinisherOptions::default()
        });
        finishers.tell_versions();
        Self::MySql(Arc::new(finishers))
    }

    /// Whether there is one for servers of this version: PostgreSQL's major version, 1011 of
    /// MariaDB 10.11, or 804 of MySQL 8.4.
    pub fn offers(&self, version: u16) -> bool {
        match self {
            Self::Postgres(own) => own.offers(version),
            Self::MySql(own) => own.offers(version),
        }
    }

    /// What was counted.
    pub fn counters(&self) -> &FinisherCounters {
        match self {
            Self::Postgres(own) => own.counters(),
            Self::MySql(own) => own.counters(),
        }
    }

    /// Ends the servers, and waits until their folders are gone.
    pub async fn end(&self) {
        match self {
            Self::Postgres(own) => own.end().await,
            Self::MySql(own) => own.end().await,
        }
    }
}
