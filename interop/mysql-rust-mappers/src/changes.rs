//! What is written and changed.

use bigdecimal::BigDecimal;
use sqlx::types::Json;
use sqlx::{Acquire as _, MySqlPool, QueryBuilder};

use super::{Book, data, done, show};

pub async fn written(pool: &MySqlPool) {
    for number in 0..5 {
        let insert = "INSERT INTO author (id, name, mail, born, active, made) \
                      VALUES (?, ?, ?, ?, ?, ?)";
        let letter = char::from(b'a' + number as u8).to_string();
        let made = sqlx::query(insert)
            .bind(number)
            .bind(data::text(letter.repeat(3)))
            .bind(data::mail(number))
            .bind(data::born(number))
            .bind(number % 2 == 0)
            .bind(data::made());
        show(
            &format!("author {number}"),
            made.execute(pool).await.map(done),
        );
    }
    let mut builder = QueryBuilder::new(
        "INSERT INTO book (author_id, title, price, sold, published, facts, photo) ",
    );
    builder.push_values(0..20u32, |mut row, number| {
        row.push_bind(number % 3)
            .push_bind(data::title(number))
            .push_bind(data::price(number))
            .push_bind(i64::from(number) * 1000)
            .push_bind(data::published(number))
            .push_bind(data::facts(number).map(Json))
            .push_bind((number % 3 == 0).then(|| vec![0u8, 255, number as u8]));
    });
    show("many", builder.build().execute(pool).await.map(done));
    let review = "INSERT INTO review (book_id, reader, stars, weight) VALUES (?, ?, ?, ?)";
    for (number, stars) in [(1i64, 4i16), (2, 5), (3, 1)] {
        let own = sqlx::query(review)
            .bind(number)
            .bind(data::text("ann"))
            .bind(stars)
            .bind(f64::from(stars) / 3.0);
        show(
            &format!("review {number}"),
            own.execute(pool).await.map(done),
        );
    }
    let twice = sqlx::query(review)
        .bind(1i64)
        .bind(data::text("ann"))
        .bind(1i16)
        .bind(None::<f64>);
    show("key twice", twice.execute(pool).await.map(done));
    let orphan = sqlx::query("INSERT INTO book (author_id, title, sold) VALUES (?, ?, 0)");
    let orphan = orphan.bind(77).bind(data::text("orphan"));
    show("no author", orphan.execute(pool).await.map(done));
    let null = sqlx::query("INSERT INTO author (id, name, made) VALUES (?, ?, ?)");
    let null = null.bind(78).bind(None::<String>).bind(data::made());
    show("null", null.execute(pool).await.map(done));
    upserted(pool).await;
}

async fn upserted(pool: &MySqlPool) {
    for (what, verb, action) in [
        ("ignored", "INSERT IGNORE", ""),
        ("replaced", "REPLACE", ""),
        (
            "upserted",
            "INSERT",
            "ON DUPLICATE KEY UPDATE stars = VALUES(stars), note = VALUES(note)",
        ),
    ] {
        let text = format!(
            "{verb} INTO review (book_id, reader, stars, note) VALUES (?, ?, ?, ?) {action}"
        );
        let own = sqlx::query(&text)
            .bind(2i64)
            .bind(data::text("ann"))
            .bind(2i16)
            .bind(data::text(what));
        show(what, own.execute(pool).await.map(done));
        let stars = sqlx::query_as::<_, (i16, Option<String>)>(
            "SELECT stars, note FROM review WHERE book_id = 2 AND reader = ?",
        );
        let stars = stars.bind(data::text("ann")).fetch_all(pool).await;
        show(&format!("then {what}"), stars);
    }
    let drawn = "INSERT INTO book (title, sold) VALUES (?, ?) RETURNING id";
    let drawn = sqlx::query_scalar::<_, i64>(drawn)
        .bind(data::text("drawn"))
        .bind(1i64);
    show("returned", drawn.fetch_one(pool).await);
}

pub async fn changed(pool: &MySqlPool) {
    let dearer = sqlx::query("UPDATE book SET price = price * ? + 0.25 WHERE title LIKE ?")
        .bind(BigDecimal::from(2))
        .bind("%Almanac%");
    show("dearer", dearer.execute(pool).await.map(done));
    let sold = sqlx::query("UPDATE book SET sold = sold + ? WHERE id = ?")
        .bind(5i64)
        .bind(3i64);
    show("sold", sold.execute(pool).await.map(done));
    let kept = sqlx::query("UPDATE author SET name = coalesce(?, name), mail = ? WHERE id = ?")
        .bind(None::<String>)
        .bind(None::<String>)
        .bind(3);
    show("kept", kept.execute(pool).await.map(done));
    let facts = sqlx::query("UPDATE book SET facts = json_set(facts, '$.pages', ?) WHERE id = 2");
    // What it does is undone: no other answer depends on it.
    let mut transaction = pool.begin().await.unwrap();
    let facts = facts.bind(77i32).execute(&mut *transaction).await;
    show("facts", facts.map(done));
    transaction.rollback().await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    let gone = sqlx::query("DELETE FROM review WHERE note IS NULL");
    show("gone", gone.execute(&mut *transaction).await.map(done));
    let mut inner = transaction.begin().await.unwrap();
    let failed = sqlx::query("INSERT INTO author (id, name, made) VALUES (?, ?, ?)")
        .bind(1)
        .bind(data::text("twice"))
        .bind(data::made());
    show(
        "in a savepoint",
        failed.execute(&mut *inner).await.map(done),
    );
    inner.rollback().await.unwrap();
    let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM review");
    show(
        "in the transaction",
        left.fetch_one(&mut *transaction).await,
    );
    transaction.rollback().await.unwrap();
    let locked = "SELECT id FROM book WHERE author_id = ? ORDER BY id LIMIT 2 FOR UPDATE";
    let locked = sqlx::query_scalar::<_, i64>(locked).bind(1);
    show("locked", locked.fetch_all(pool).await);
    let deleted = "DELETE FROM book WHERE title LIKE '%novel%' AND sold > ?";
    let deleted = sqlx::query(deleted).bind(12000i64);
    show("deleted", deleted.execute(pool).await.map(done));
    let cascaded = sqlx::query("DELETE FROM author WHERE id = ?").bind(2);
    show("cascaded", cascaded.execute(pool).await.map(done));
    let left = sqlx::query_as::<_, Book>("SELECT * FROM book ORDER BY id");
    show("books left", left.fetch_all(pool).await);
}
