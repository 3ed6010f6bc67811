//! `--finished`: what a query costs that a finisher answers, beside the same query over a plain
//! table of the same server. It groups 1, 100, 1,000 or 10,000 rows by month.

use std::time::Instant;

use strongroom_postgres::tokio_postgres::{Client, Statement};

use crate::quantile;

/// Sizes of the groups of rows, which are numbered in this order.
const SIZES: [i32; 4] = [1, 100, 1_000, 10_000];
const WARM_STEPS: usize = 50;

/// The rules for the table that is protected.
pub const RULES: &str = r#"
[columns.sealed_visit]
at = { type = "timestamp" }
name = { type = "text" }
"#;

/// Makes the tables and fills them, through the proxy.
async fn fill(client: &Client) {
    for table in ["visit", "sealed_visit"] {
        let create = format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, part integer, at timestamp, name text)"
        );
        client.batch_execute(&create).await.expect("created");
        let mut id = 0;
        for (part, size) in SIZES.into_iter().enumerate() {
            for first in (0..size).step_by(1_000) {
                let rows: Vec<String> = (first..size.min(first + 1_000))
                    .map(|row| {
                        id += 1;
                        let (month, day) = (row % 12 + 1, row % 28 + 1);
                        format!("({id}, {part}, '2024-{month}-{day} 10:20:30', 'visitor {row}')")
                    })
                    .collect();
                let insert = format!("INSERT INTO {table} VALUES {}", rows.join(", "));
                client.batch_execute(&insert).await.expect("inserted");
            }
        }
        let index = format!("CREATE INDEX ON {table} (part)");
        client.batch_execute(&index).await.expect("created");
        let analyze = format!("VACUUM ANALYZE {table}");
        client.batch_execute(&analyze).await.expect("analyzed");
    }
}

/// Asks directly and through the proxy in turn, for each size, and prints the latencies.
pub async fn measure(direct: &Client, through: &Client, steps: usize) {
    fill(through).await;
    let plain = prepare(direct, "visit").await;
    let sealed = prepare(through, "sealed_visit").await;
    println!("{steps} steps, groups by month; milliseconds");
    println!("  rows   direct p50    p99   proxy p50    p99   pairs: median added");
    for (part, size) in (0_i32..).zip(SIZES) {
        let (mut directly, mut finished, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..WARM_STEPS + steps {
            // The order alternates, so that what else the machine does meets both alike.
            let (mut first, mut second) = ((direct, &plain), (through, &sealed));
            let is_turned = step % 2 == 1;
            if is_turned {
                std::mem::swap(&mut first, &mut second);
            }
            let (first, rows) = ask_ms(first, part).await;
            let (second, other_rows) = ask_ms(second, part).await;
            assert_eq!(rows, other_rows, "both give the same answer");
            let (plainly, sealed) = match is_turned {
                true => (second, first),
                false => (first, second),
            };
            if step >= WARM_STEPS {
                directly.push(plainly);
                finished.push(sealed);
                added.push(sealed - plainly);
            }
        }
        println!(
            "{size:6} {:12.3} {:6.3} {:11.3} {:6.3} {:21.3}",
            quantile(&directly, 0.5),
            quantile(&directly, 0.99),
            quantile(&finished, 0.5),
            quantile(&finished, 0.99),
            quantile(&added, 0.5),
        );
    }
}

async fn prepare(client: &Client, table: &str) -> Statement {
    let query = format!(
        "SELECT date_trunc('month', at)::text, count(*), max(name) FROM {table} WHERE part = $1 \
         GROUP BY 1 ORDER BY 1"
    );
    client.prepare(&query).await.expect("prepared")
}

/// How long the answer took, and its groups.
async fn ask_ms((client, query): (&Client, &Statement), part: i32) -> (f64, Vec<(String, i64)>) {
    let start = Instant::now();
    let rows = client.query(query, &[&part]).await.expect("an answer");
    let latency_ms = start.elapsed().as_secs_f64() * 1e3;
    let groups = rows.iter().map(|row| (row.get(0), row.get(1)));
    (latency_ms, groups.collect())
}
