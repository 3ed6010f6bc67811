//! sqlx: its migrator, its pool, what it asks about statements, and what programs send with it.

use std::env;

use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use futures_util::TryStreamExt;
use interop_rust_mappers as data;
use interop_rust_mappers::{CANARY, text};
use serde::Serialize;
use sqlx::postgres::{PgColumn, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::types::Json;
use sqlx::{
    Acquire, Column, Encode, Error, Executor, FromRow, PgPool, Postgres, QueryBuilder, Row, Type,
    TypeInfo,
};
use uuid::Uuid;

/// Writes an answer, or the code of an error.
fn show<T: Serialize>(what: &str, answer: Result<T, Error>) {
    data::show(what, answer, |error| {
        eprintln!("{what}: {error:?}");
        match &error {
            Error::Database(error) => {
                let code = error.code().unwrap_or_default();
                format!("{code} {}", error.constraint().unwrap_or_default())
            }
            error => error.to_string(),
        }
    });
}

#[derive(Serialize, FromRow)]
struct Author {
    id: Uuid,
    name: String,
    mail: Option<String>,
    born: Option<NaiveDate>,
    active: bool,
    made: DateTime<Utc>,
}

#[derive(Serialize, FromRow)]
struct Book {
    id: i64,
    author_id: Option<Uuid>,
    title: String,
    price: Option<BigDecimal>,
    sold: i64,
    published: Option<NaiveDateTime>,
    facts: Option<Json<serde_json::Value>>,
    labels: Vec<String>,
    photo: Option<Vec<u8>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options: PgConnectOptions = env::var("STRONGROOM_URL").unwrap().parse().unwrap();
    let pool = PgPoolOptions::new()
        .max_connections(3)
        .connect_with(options.clone())
        .await
        .unwrap();
    for again in ["migrated", "migrated again"] {
        let done = sqlx::migrate!("migrations/sqlx").run(&pool).await;
        show(again, done.map_err(|error| Error::Migrate(error.into())));
    }
    written(&pool).await;
    described(&pool).await;
    read(&pool).await;
    computed(&pool).await;
    changed(&pool).await;
    // Without statements that are kept.
    let bare = PgPool::connect_with(options.statement_cache_capacity(0))
        .await
        .unwrap();
    let found = sqlx::query_as::<_, Author>("SELECT * FROM author ORDER BY name").persistent(false);
    show("not kept", found.fetch_all(&bare).await);
    bare.close().await;
    pool.close().await;
}

async fn written(pool: &PgPool) {
    for number in 0..5 {
        let (name, mail, born, active) = data::author(number);
        let insert = "INSERT INTO author (id, name, mail, born, active, made) VALUES ($1, $2, \
        $3, $4, $5, $6) RETURNING id";
        let made = sqlx::query_scalar::<_, Uuid>(insert)
            .bind(data::key(number))
            .bind(name)
            .bind(mail)
            .bind(born)
            .bind(active)
            .bind(data::made());
        show(&format!("author {number}"), made.fetch_one(pool).await);
    }
    let mut builder = QueryBuilder::new(
        "INSERT INTO book (author_id, title, price, sold, published, facts, labels, photo) ",
    );
    builder.push_values(0..20u32, |mut row, number| {
        row.push_bind(data::key(number % 3))
            .push_bind(data::title(number))
            .push_bind(data::price(number).map(|price| price.parse::<BigDecimal>().unwrap()))
            .push_bind(i64::from(number) * 1000)
            .push_bind(data::published(number))
            .push_bind(data::facts(number).map(Json))
            .push_bind(vec![text("l"), format!("n{number}")])
            .push_bind((number % 3 == 0).then(|| vec![0u8, 255, number as u8]));
    });
    builder.push(" RETURNING id");
    show(
        "many",
        builder.build_query_scalar::<i64>().fetch_all(pool).await,
    );
    let numbers: Vec<u32> = (20..24).collect();
    let unnested = sqlx::query(
        "INSERT INTO book (author_id, title, sold, published, labels)
        SELECT author, title, sold, published, '{}'::text[] FROM UNNEST($1::uuid[], $2::text[], \
        $3::bigint[], $4::timestamp[])
        AS of (author, title, sold, published)",
    )
    .bind(
        numbers
            .iter()
            .map(|number| data::key(number % 3))
            .collect::<Vec<_>>(),
    )
    .bind(
        numbers
            .iter()
            .map(|number| data::title(*number))
            .collect::<Vec<_>>(),
    )
    .bind(
        numbers
            .iter()
            .map(|number| i64::from(*number) * 1000)
            .collect::<Vec<_>>(),
    )
    .bind(
        numbers
            .iter()
            .map(|number| data::published(*number))
            .collect::<Vec<_>>(),
    );
    show(
        "unnested",
        unnested
            .execute(pool)
            .await
            .map(|done| done.rows_affected()),
    );
    let review = "INSERT INTO review (book_id, reader, stars, weight) VALUES ($1, $2, $3, $4)";
    for (number, stars) in [(1i64, 4i16), (2, 5), (3, 1)] {
        let done = sqlx::query(review)
            .bind(number)
            .bind(text("ann"))
            .bind(stars)
            .bind(f64::from(stars) / 3.0);
        show(
            &format!("review {number}"),
            done.execute(pool).await.map(|done| done.rows_affected()),
        );
    }
    let twice = sqlx::query(review)
        .bind(1i64)
        .bind(text("ann"))
        .bind(1i16)
        .bind(None::<f64>);
    show("key twice", twice.execute(pool).await.map(|_| ()));
    let orphan =
        sqlx::query("INSERT INTO book (author_id, title, sold, labels) VALUES ($1, $2, 0, '{}')")
            .bind(data::key(77))
            .bind(text("orphan"));
    show("no author", orphan.execute(pool).await.map(|_| ()));
    let null = sqlx::query("INSERT INTO author (id, name) VALUES ($1, $2)")
        .bind(data::key(78))
        .bind(None::<String>);
    show("null", null.execute(pool).await.map(|_| ()));
    for (what, action) in [
        ("ignored", "DO NOTHING"),
        (
            "replaced",
            "DO UPDATE SET stars = EXCLUDED.stars, note = EXCLUDED.note",
        ),
        (
            "counted up",
            "DO UPDATE SET stars = review.stars + EXCLUDED.stars",
        ),
    ] {
        let upsert = format!(
            "INSERT INTO review (book_id, reader, stars, note) VALUES ($1, $2, $3, $4)
            ON CONFLICT (book_id, reader) {action} RETURNING stars"
        );
        let done = sqlx::query_scalar::<_, i16>(&upsert)
            .bind(2i64)
            .bind(text("ann"))
            .bind(2i16)
            .bind(text("note"));
        // What the last one does is undone: no other answer depends on it.
        let mut transaction = pool.begin().await.unwrap();
        show(what, done.fetch_optional(&mut *transaction).await);
        match what {
            "counted up" => transaction.rollback().await.unwrap(),
            _ => transaction.commit().await.unwrap(),
        }
    }
    let mut connection = pool.acquire().await.unwrap();
    let mut copy = connection
        .copy_in_raw("COPY review (book_id, reader, stars, note) FROM STDIN")
        .await
        .unwrap();
    copy.send(format!("4\t{CANARY} cid\t3\t{CANARY} \\\\ ø\n5\t{CANARY} cid\t2\t\\N\n").as_bytes())
        .await
        .unwrap();
    show("copied in", copy.finish().await);
    let copied = connection
        .copy_out_raw("COPY review (reader, note) TO STDOUT")
        .await
        .unwrap();
    let rows: Result<Vec<_>, _> = copied
        .map_ok(|part| String::from_utf8_lossy(&part).into_owned())
        .try_collect()
        .await;
    show(
        "copied out",
        rows.map(|mut rows| {
            rows.sort();
            rows
        }),
    );
}

fn type_of(column: &PgColumn) -> String {
    column.type_info().name().to_owned()
}

/// What `query!` asks when it is compiled: types of parameters and columns, and what may be NULL.
async fn described(pool: &PgPool) {
    for (number, statement) in [
        "SELECT * FROM author WHERE mail = $1",
        "SELECT a.name, b.title, b.price FROM author a LEFT JOIN book b ON b.author_id = a.id \
        WHERE a.id = $1 AND b.sold > $2",
        "SELECT count(*), max(title), sum(price) FROM book WHERE title LIKE $1",
        "SELECT lower(name) AS small, born + 1 AS next FROM author WHERE born < $1",
        "INSERT INTO author (id, name, born) VALUES ($1, $2, $3) RETURNING id, made",
        "UPDATE book SET price = price * $1 WHERE title ILIKE $2 RETURNING id, price",
        "DELETE FROM review WHERE stars < $1",
    ]
    .into_iter()
    .enumerate()
    {
        let told = pool.describe(statement).await.map(|told| {
            let columns: Vec<_> = told
                .columns()
                .iter()
                .enumerate()
                .map(|(at, column)| (column.name().to_owned(), type_of(column), told.nullable(at)))
                .collect();
            (columns, format!("{:?}", told.parameters()))
        });
        show(&format!("described {number}"), told);
        let prepared = pool.prepare(statement).await.map(|told| {
            use sqlx::Statement;
            told.columns().iter().map(type_of).collect::<Vec<_>>()
        });
        show(&format!("prepared {number}"), prepared);
    }
}

async fn ids(
    what: &str,
    pool: &PgPool,
    condition: &str,
    value: impl for<'q> Encode<'q, Postgres> + Type<Postgres> + Send + 'static,
) {
    let query = format!("SELECT id FROM book WHERE {condition} ORDER BY id");
    show(
        what,
        sqlx::query_scalar::<_, i64>(&query)
            .bind(value)
            .fetch_all(pool)
            .await,
    );
}

async fn read(pool: &PgPool) {
    let one = sqlx::query_as::<_, Author>("SELECT * FROM author WHERE id = $1").bind(data::key(1));
    show("one", one.fetch_one(pool).await);
    let none = sqlx::query_as::<_, Author>("SELECT * FROM author WHERE name = $1").bind("nobody");
    show("none", none.fetch_one(pool).await);
    show(
        "books",
        sqlx::query_as::<_, Book>("SELECT * FROM book ORDER BY id LIMIT 4")
            .fetch_all(pool)
            .await,
    );
    ids("like", pool, "title LIKE $1", "%Almanac%").await;
    ids(
        "ilike",
        pool,
        "title ILIKE '%' || $1 || '%'",
        "NOVEL 1".to_owned(),
    )
    .await;
    ids("regular expression", pool, "title ~ $1", "novel 1[0-9]$").await;
    ids(
        "any",
        pool,
        "title = ANY($1)",
        vec![data::title(1), data::title(2)],
    )
    .await;
    ids(
        "all",
        pool,
        "sold <> ALL($1) AND sold < 5000",
        vec![1000i64, 2000],
    )
    .await;
    ids(
        "price",
        pool,
        "price > $1",
        "15.5".parse::<BigDecimal>().unwrap(),
    )
    .await;
    ids("published", pool, "published >= $1", data::published(15)).await;
    ids("day", pool, "published::date = $1", data::date(2003, 4, 3)).await;
    ids("JSON", pool, "facts->>'kind' = $1", text(1)).await;
    ids(
        "contained JSON",
        pool,
        "facts @> $1",
        Json(serde_json::json!({"pages": 50})),
    )
    .await;
    ids("label", pool, "$1 = ANY(labels)", "n7").await;
    ids(
        "labels",
        pool,
        "labels && $1",
        vec!["n3".to_owned(), "n4".to_owned()],
    )
    .await;
    ids("photo", pool, "photo = $1", vec![0u8, 255, 3]).await;
    ids(
        "optional",
        pool,
        "($1::text IS NULL OR title = $1)",
        None::<String>,
    )
    .await;
    ids(
        "optional value",
        pool,
        "($1::text IS NULL OR title = $1)",
        Some(data::title(3)),
    )
    .await;
    ids(
        "exists",
        pool,
        "EXISTS (SELECT FROM review r WHERE r.book_id = book.id AND r.stars > $1)",
        3i16,
    )
    .await;
    ids(
        "in a query",
        pool,
        "author_id IN (SELECT id FROM author WHERE name LIKE $1)",
        "%bbb",
    )
    .await;
    ids(
        "least",
        pool,
        "sold > $1 AND price = (SELECT min(price) FROM book WHERE sold > $1)",
        9000i64,
    )
    .await;
    let streamed: Result<Vec<i64>, _> = sqlx::query("SELECT sold FROM book ORDER BY sold DESC")
        .try_map(|row: PgRow| row.try_get::<i64, _>(0))
        .fetch(pool)
        .try_collect()
        .await;
    show("streamed", streamed);
    let mut connection = pool.acquire().await.unwrap();
    let both: Result<Vec<String>, _> = sqlx::raw_sql(
        "SELECT name FROM author ORDER BY name; SELECT title FROM book WHERE sold = 2000",
    )
    .fetch(&mut *connection)
    .map_ok(|row| row.get::<String, _>(0))
    .try_collect()
    .await;
    show("several statements", both);
    let page = "SELECT id, sold FROM book WHERE (sold, id) > ($1, $2) ORDER BY sold, id LIMIT $3";
    show(
        "keyset page",
        sqlx::query_as::<_, (i64, i64)>(page)
            .bind(5000i64)
            .bind(6i64)
            .bind(3i64)
            .fetch_all(pool)
            .await,
    );
    let joined = "SELECT b.title, a.name FROM book b JOIN author a ON a.id = b.author_id WHERE \
    a.mail = $1 ORDER BY b.id OFFSET $2";
    let joined = sqlx::query_as::<_, (String, String)>(joined)
        .bind(format!("{CANARY}2@example.com"))
        .bind(4i64);
    show("joined", joined.fetch_all(pool).await);
}

async fn computed(pool: &PgPool) {
    // As JSON, so that one function shows rows of any columns.
    for (number, query) in [
        "SELECT author_id, count(*), sum(price), avg(sold), max(published) FROM book GROUP BY \
        author_id ORDER BY author_id",
        "SELECT date_trunc('month', published) AS month, count(*) FROM book GROUP BY 1 HAVING \
        count(*) > 1 ORDER BY 1",
        "SELECT id, row_number() OVER (PARTITION BY author_id ORDER BY price DESC NULLS LAST, \
        id) AS place FROM book ORDER BY id LIMIT 6",
        "WITH dear AS (SELECT * FROM book WHERE price > 10) SELECT count(*), max(price) FROM dear",
        "SELECT DISTINCT ON (author_id) author_id, title, sold FROM book ORDER BY author_id, \
        sold DESC",
        "SELECT a.name, coalesce(string_agg(b.title, ', ' ORDER BY b.id), '-') FROM author a
            LEFT JOIN book b ON b.author_id = a.id AND b.sold < 5000 GROUP BY a.id, a.name ORDER \
            BY a.name",
        "SELECT name FROM author WHERE active UNION SELECT title FROM book WHERE sold < 2000 \
        ORDER BY 1",
        "SELECT a.name, last.title FROM author a CROSS JOIN LATERAL (SELECT title FROM book b \
        WHERE b.author_id = a.id
            ORDER BY published DESC LIMIT 1) AS last ORDER BY a.name",
        "SELECT extract(year FROM published) AS year, round(avg(price), 2) FROM book GROUP BY \
        year ORDER BY year",
        "SELECT title, CASE WHEN price > 10 THEN 'dear' WHEN price IS NULL THEN 'none' ELSE \
        'cheap' END AS is, age(published, '2000-01-01')
            FROM book ORDER BY id LIMIT 5",
        "SELECT jsonb_object_agg(facts->>'pages', sold) FROM book WHERE facts IS NOT NULL AND \
        sold < 6000",
    ]
    .into_iter()
    .enumerate()
    {
        let query = format!("SELECT to_jsonb(answer) FROM ({query}) AS answer");
        let rows = sqlx::query_scalar::<_, serde_json::Value>(&query)
            .fetch_all(pool)
            .await;
        show(&format!("computed {number}"), rows);
    }
}

async fn changed(pool: &PgPool) {
    let affected = |done: sqlx::postgres::PgQueryResult| done.rows_affected();
    let dearer = sqlx::query("UPDATE book SET price = price * $1 + 0.25 WHERE title LIKE $2")
        .bind(BigDecimal::from(2))
        .bind("%Almanac%");
    show("dearer", dearer.execute(pool).await.map(affected));
    let sold = sqlx::query_scalar::<_, i64>(
        "UPDATE book SET sold = sold + $1 WHERE id = $2 RETURNING sold",
    )
    .bind(5i64)
    .bind(3i64);
    show("sold", sold.fetch_one(pool).await);
    let from = sqlx::query(
        "UPDATE book SET title = book.title || ' by ' || a.name FROM author a \
    WHERE a.id = book.author_id AND a.born > $1",
    )
    .bind(data::date(1960, 1, 1));
    show("from another", from.execute(pool).await.map(affected));
    let kept = sqlx::query("UPDATE author SET name = coalesce($1, name), mail = $2 WHERE id = $3")
        .bind(None::<String>)
        .bind(None::<String>)
        .bind(data::key(3));
    show("kept", kept.execute(pool).await.map(affected));
    let facts = sqlx::query(
        "UPDATE book SET facts = jsonb_set(facts, '{pages}', \
    to_jsonb($1::int)), labels = array_append(labels, $2) WHERE id = 2",
    )
    .bind(77i32)
    .bind(text("more"));
    show("facts", facts.execute(pool).await.map(affected));
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("DELETE FROM review WHERE note IS NULL")
        .execute(&mut *transaction)
        .await
        .unwrap();
    let mut inner = transaction.begin().await.unwrap();
    let failed = sqlx::query("INSERT INTO author (id, name) VALUES ($1, $2)")
        .bind(data::key(1))
        .bind(text("twice"));
    show(
        "in a savepoint",
        failed.execute(&mut *inner).await.map(affected),
    );
    inner.rollback().await.unwrap();
    let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM review")
        .fetch_one(&mut *transaction)
        .await;
    show("in the transaction", left);
    transaction.rollback().await.unwrap();
    let locked = "SELECT id FROM book WHERE title LIKE '%novel%' AND price IS NOT NULL ORDER BY \
    id LIMIT 2 FOR UPDATE";
    show(
        "locked",
        sqlx::query_scalar::<_, i64>(locked).fetch_all(pool).await,
    );
    let deleted = sqlx::query_scalar::<_, i64>(
        "DELETE FROM book USING author a WHERE a.id = \
    author_id AND a.name = $1 AND sold > $2 RETURNING book.id",
    )
    .bind(text("aaa"))
    .bind(10000i64);
    show(
        "deleted",
        deleted.fetch_all(pool).await.map(|mut ids| {
            ids.sort();
            ids
        }),
    );
    let moved = "WITH gone AS (DELETE FROM review WHERE stars < 2 RETURNING book_id) SELECT \
    count(*) FROM gone";
    show(
        "gone",
        sqlx::query_scalar::<_, i64>(moved).fetch_one(pool).await,
    );
    show(
        "books left",
        sqlx::query_as::<_, Book>("SELECT * FROM book ORDER BY id")
            .fetch_all(pool)
            .await,
    );
}
