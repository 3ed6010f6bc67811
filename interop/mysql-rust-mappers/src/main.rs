//! sqlx: its migrator, its pool, what it asks about statements, and what programs send with it.

mod changes;
mod computed;
mod data;
mod reads;

use std::env;

use chrono::{NaiveDate, NaiveDateTime};
use serde::Serialize;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlQueryResult};
use sqlx::types::Json;
use sqlx::{Error, FromRow, MySqlPool};

/// Writes an answer, or the code of an error.
fn show<T: Serialize>(what: &str, answer: Result<T, Error>) {
    let answer = match answer {
        Ok(answer) => serde_json::to_string(&answer).unwrap(),
        Err(Error::Database(error)) => {
            eprintln!("{what}: {error:?}");
            let code = error.code().unwrap_or_default();
            serde_json::to_string(&format!("{code} {:?}", error.kind())).unwrap()
        }
        Err(error) => {
            eprintln!("{what}: {error:?}");
            serde_json::to_string(&error.to_string()).unwrap()
        }
    };
    println!("{what}\t{answer}");
}

/// Affected rows and the key that the server drew.
fn done(result: MySqlQueryResult) -> (u64, u64) {
    (result.rows_affected(), result.last_insert_id())
}

#[derive(Serialize, FromRow)]
struct Author {
    id: i32,
    name: String,
    mail: Option<String>,
    born: Option<NaiveDate>,
    active: bool,
    made: NaiveDateTime,
}

#[derive(Serialize, FromRow)]
struct Book {
    id: i64,
    author_id: Option<i32>,
    title: String,
    price: Option<bigdecimal::BigDecimal>,
    sold: i64,
    published: Option<NaiveDateTime>,
    facts: Option<Json<serde_json::Value>>,
    photo: Option<Vec<u8>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let asked = |name: &str| env::var(name).unwrap();
    let options = MySqlConnectOptions::new()
        .host(&asked("STRONGROOM_HOST"))
        .port(asked("STRONGROOM_PORT").parse().unwrap())
        .username(&asked("STRONGROOM_USER"))
        .password(&asked("STRONGROOM_PASSWORD"))
        .database(&asked("STRONGROOM_DATABASE"));
    let pool = MySqlPoolOptions::new()
        .max_connections(3)
        .connect_with(options.clone())
        .await
        .unwrap();
    for again in ["migrated", "migrated again"] {
        let migrated = sqlx::migrate!("./migrations").run(&pool).await;
        show(
            again,
            migrated.map_err(|error| Error::Migrate(error.into())),
        );
    }
    changes::written(&pool).await;
    reads::described(&pool).await;
    reads::read(&pool).await;
    computed::computed(&pool).await;
    changes::changed(&pool).await;
    // Without statements that are kept.
    let bare = MySqlPool::connect_with(options.statement_cache_capacity(0))
        .await
        .unwrap();
    let found = sqlx::query_as::<_, Author>("SELECT * FROM author ORDER BY name").persistent(false);
    show("not kept", found.fetch_all(&bare).await);
    bare.close().await;
    pool.close().await;
}
