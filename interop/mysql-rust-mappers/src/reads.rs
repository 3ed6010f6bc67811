//! What sqlx learns of statements, and what it reads.

use futures_util::TryStreamExt as _;
use sqlx::mysql::MySqlRow;
use sqlx::{Column, Encode, Executor, MySql, MySqlPool, Row, Statement, Type, TypeInfo};

use super::{Author, Book, data, show};

/// What `query!` asks when it is compiled: types of columns, and what may be NULL.
pub async fn described(pool: &MySqlPool) {
    for (number, statement) in [
        "SELECT * FROM author WHERE mail = ?",
        "SELECT a.name, b.title, b.price FROM author a LEFT JOIN book b ON b.author_id = a.id \
         WHERE a.id = ? AND b.sold > ?",
        "SELECT count(*), max(title), sum(price) FROM book WHERE title LIKE ?",
        "SELECT lower(name) AS small FROM author WHERE born < ?",
        "INSERT INTO author (id, name, born, made) VALUES (?, ?, ?, ?)",
        "UPDATE book SET price = price * ? WHERE title LIKE ?",
        "DELETE FROM review WHERE stars < ?",
    ]
    .into_iter()
    .enumerate()
    {
        let told = pool.describe(statement).await.map(|told| {
            let columns = told.columns().iter().enumerate();
            let columns = columns.map(|(at, own)| {
                let name = own.name().to_owned();
                (name, own.type_info().name().to_owned(), told.nullable(at))
            });
            (
                columns.collect::<Vec<_>>(),
                format!("{:?}", told.parameters()),
            )
        });
        show(&format!("described {number}"), told);
        let prepared = pool.prepare(statement).await.map(|told| {
            let types = told.columns().iter();
            types
                .map(|own| own.type_info().name().to_owned())
                .collect::<Vec<_>>()
        });
        show(&format!("prepared {number}"), prepared);
    }
}

async fn ids(
    what: &str,
    pool: &MySqlPool,
    condition: &str,
    value: impl for<'q> Encode<'q, MySql> + Type<MySql> + Send + 'static,
) {
    let query = format!("SELECT id FROM book WHERE {condition} ORDER BY id");
    let found = sqlx::query_scalar::<_, i64>(&query).bind(value);
    show(what, found.fetch_all(pool).await);
}

pub async fn read(pool: &MySqlPool) {
    let one = sqlx::query_as::<_, Author>("SELECT * FROM author WHERE id = ?").bind(1);
    show("one", one.fetch_one(pool).await);
    let none = sqlx::query_as::<_, Author>("SELECT * FROM author WHERE name = ?").bind("nobody");
    show("none", none.fetch_one(pool).await);
    let books = sqlx::query_as::<_, Book>("SELECT * FROM book ORDER BY id LIMIT 4");
    show("books", books.fetch_all(pool).await);
    ids("like", pool, "title LIKE ?", "%Almanac%").await;
    ids(
        "concatenated",
        pool,
        "title LIKE '%' || ? || '%'",
        "novel 1",
    )
    .await;
    ids(
        "regular expression",
        pool,
        "title REGEXP ?",
        "novel 1[0-9]$",
    )
    .await;
    ids(
        "price",
        pool,
        "price > ?",
        "15.5".parse::<bigdecimal::BigDecimal>().unwrap(),
    )
    .await;
    ids("published", pool, "published >= ?", data::published(15)).await;
    ids("day", pool, "DATE(published) = ?", data::date(2003, 4, 3)).await;
    ids("photo", pool, "photo = ?", vec![0u8, 255, 3]).await;
    ids("author", pool, "author_id = ?", 1).await;
    ids(
        "optional",
        pool,
        "(? IS NULL OR title IS NOT NULL)",
        None::<String>,
    )
    .await;
    let inner = "EXISTS (SELECT 1 FROM review r WHERE r.book_id = book.id AND r.stars > ?)";
    ids("exists", pool, inner, 3i16).await;
    let inner = "author_id IN (SELECT id FROM author WHERE name LIKE ?)";
    ids("in a query", pool, inner, "%bbb").await;
    let inner = "price = (SELECT min(price) FROM book WHERE sold > ?)";
    ids("least", pool, inner, 9000i64).await;
    streamed(pool).await;
}

async fn streamed(pool: &MySqlPool) {
    let streamed: Result<Vec<i64>, _> = sqlx::query("SELECT sold FROM book ORDER BY sold DESC")
        .try_map(|row: MySqlRow| row.try_get::<i64, _>(0))
        .fetch(pool)
        .try_collect()
        .await;
    show("streamed", streamed);
    let text = "SELECT name FROM author ORDER BY name; SELECT title FROM book WHERE sold = 2000";
    let mut connection = pool.acquire().await.unwrap();
    let both: Result<Vec<String>, _> = sqlx::raw_sql(text)
        .fetch(&mut *connection)
        .map_ok(|row| row.get::<String, _>(0))
        .try_collect()
        .await;
    show("several statements", both);
    let page = "SELECT id, sold FROM book WHERE (sold, id) > (?, ?) ORDER BY sold, id LIMIT ?";
    let page = sqlx::query_as::<_, (i64, i64)>(page)
        .bind(5000i64)
        .bind(6i64)
        .bind(3i64);
    show("keyset page", page.fetch_all(pool).await);
    let joined = "SELECT b.title, a.name FROM book b JOIN author a ON a.id = b.author_id \
                  WHERE a.mail = ? ORDER BY b.id LIMIT 10 OFFSET ?";
    let joined = sqlx::query_as::<_, (String, String)>(joined)
        .bind(data::mail(2))
        .bind(4i64);
    show("joined", joined.fetch_all(pool).await);
}
