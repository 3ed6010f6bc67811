//! A pool takes the connector as its way to connect.

use std::future::Future;
use std::pin::Pin;

use crate::common::{INSERT, Setup};
use deadpool_postgres::{Connect, Manager, ManagerConfig, Pool};
use strongroom_postgres::Connector;
use strongroom_postgres::tokio_postgres::{Client, Config, Error};
use tokio::task::{JoinHandle, JoinSet};

type Connecting<'a> =
    Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + 'a>>;

struct Sealed(Connector);

impl Connect for Sealed {
    fn connect(&self, config: &Config) -> Connecting<'_> {
        let config = config.clone();
        Box::pin(async move {
            let (client, connection) = self.0.connect(&config).await?;
            let serving = tokio::spawn(async move {
                // Whoever waits for an answer is told.
                let _ = connection.await;
            });
            Ok((client, serving))
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_of_several_threads_share_a_pool() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let sealed = Sealed(setup.connector.clone());
    let config = ManagerConfig::default();
    let manager = Manager::from_connect(setup.config.clone(), sealed, config);
    let pool = Pool::builder(manager).max_size(4).build();
    let pool = pool.expect("a pool");
    let mut tasks = JoinSet::new();
    for id in 0..40 {
        let pool = pool.clone();
        tasks.spawn(async move {
            let client = pool.get().await.expect("a client");
            let insert = client.prepare_cached(INSERT).await.expect("prepared");
            let name = format!("CANARY {id}");
            client
                .execute(&insert, &[&id, &name, &"x", &1_i64, &id])
                .await
                .expect("inserted");
            let select = "SELECT name FROM customer WHERE id = $1";
            let select = client.prepare_cached(select).await.expect("prepared");
            let row = client.query_one(&select, &[&id]).await.expect("a row");
            assert_eq!(row.get::<_, String>(0), name);
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("no task fails");
    }
    assert!(pool.status().size <= 4);
    setup.assert_unseen(&["CANARY"]);
}
