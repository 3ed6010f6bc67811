//! What is computed of protected values. As texts, so that one function shows rows of any columns.

use sqlx::MySqlPool;

use super::show;

pub async fn computed(pool: &MySqlPool) {
    for (number, query) in [
        "SELECT author_id, count(*), sum(price), avg(sold), max(published) FROM book \
         GROUP BY author_id ORDER BY author_id",
        "SELECT date_format(published, '%Y-%m') AS month, count(*) FROM book \
         GROUP BY month HAVING count(*) > 1 ORDER BY month",
        "SELECT id, row_number() OVER (PARTITION BY author_id ORDER BY price DESC, id) FROM book \
         ORDER BY id LIMIT 6",
        "WITH dear AS (SELECT * FROM book WHERE price > 10) \
         SELECT count(*), max(price) FROM dear",
        "SELECT a.name, coalesce(group_concat(b.title ORDER BY b.id SEPARATOR ', '), '-') \
         FROM author a LEFT JOIN book b ON b.author_id = a.id AND b.sold < 5000 \
         GROUP BY a.id, a.name ORDER BY a.name",
        "SELECT name FROM author WHERE active UNION SELECT title FROM book WHERE sold < 2000 \
         ORDER BY 1",
        "SELECT year(published) AS year, round(avg(price), 2) FROM book GROUP BY year \
         ORDER BY year",
        "SELECT title, CASE WHEN price > 10 THEN 'dear' WHEN price IS NULL THEN 'none' \
         ELSE 'cheap' END, datediff(published, '2000-01-01') FROM book ORDER BY id LIMIT 5",
        "SELECT json_value(facts, '$.kind'), sum(sold) FROM book GROUP BY 1 ORDER BY 1",
    ]
    .into_iter()
    .enumerate()
    {
        let rows = sqlx::raw_sql(query).fetch_all(pool).await;
        show(&format!("computed {number}"), rows.map(|rows| texts(&rows)));
    }
}

/// The values of rows, as the text protocol has them.
fn texts(rows: &[sqlx::mysql::MySqlRow]) -> Vec<Vec<Option<String>>> {
    use sqlx::Row as _;
    let text = |row: &sqlx::mysql::MySqlRow, at: usize| {
        let bytes = row.try_get_unchecked::<Option<Vec<u8>>, _>(at).unwrap();
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let rows = rows.iter();
    rows.map(|row| (0..row.len()).map(|at| text(row, at)).collect())
        .collect()
}
