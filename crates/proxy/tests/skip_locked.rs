//! Rows that the finisher chooses and the server locks with `SKIP LOCKED`: with others at the same
//! moment, beside a plain table of the same server. What ordinary statements answer is in
//! `everyday/by_finisher.rs`.

use std::collections::BTreeSet;
use std::thread;

use postgres::Client;

use crate::common::Setup;
use crate::common::texts::{answer, code};

const RULES: &str = r#"
[columns.job]
rank = { type = "integer" }
note = { type = "text" }
"#;

/// The jobs of both tables, of which the second has no rules.
const TABLES: [&str; 2] = ["job", "plain"];

/// The tables, partitioned by a column that is not protected.
fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    for table in TABLES {
        let text = format!(
            "CREATE TABLE {table} (id integer, kind integer, rank integer, note text, PRIMARY KEY \
             (id, kind)) PARTITION BY LIST (kind); \
             CREATE TABLE {table}_1 PARTITION OF {table} FOR VALUES IN (1); \
             CREATE TABLE {table}_2 PARTITION OF {table} FOR VALUES IN (2)"
        );
        client.batch_execute(&text).expect(&text);
        for id in 1..=8 {
            let text = format!(
                "INSERT INTO {table} VALUES ({id}, {}, {}, '{} {}')",
                1 + id % 2,
                (id * 5) % 9,
                if table == "job" { "CANARY" } else { "clear" },
                ["odd", "even"][id % 2],
            );
            client.batch_execute(&text).expect(&text);
        }
    }
    Some(setup)
}

/// Takes so many jobs.
fn take(client: &mut Client, table: &str, count: usize) -> Vec<String> {
    let text = format!(
        "SELECT id, kind FROM {table} WHERE rank > 1 AND note LIKE '% %' ORDER BY rank \
         LIMIT {count} FOR UPDATE SKIP LOCKED"
    );
    answer(client, &text).expect(&text)
}

fn run(client: &mut Client, text: &str) {
    client.batch_execute(text).expect(text);
}

#[test]
fn each_session_takes_rows_that_no_other_has() {
    let Some(setup) = start() else { return };
    let taken = TABLES.map(|table| {
        let [mut first, mut second, mut third] = [(); 3].map(|()| setup.connect());
        let mut taken = Vec::new();
        run(&mut first, "BEGIN");
        run(&mut second, "BEGIN");
        taken.push(take(&mut first, table, 2));
        taken.push(take(&mut second, table, 3));
        // No other row is locked.
        let free = format!("SELECT id FROM {table} ORDER BY id FOR UPDATE SKIP LOCKED");
        taken.push(answer(&mut third, &free).expect(&free));
        taken.push(take(&mut first, table, 5));
        taken.push(take(&mut third, table, 5));
        run(&mut first, "ROLLBACK");
        taken.push(take(&mut third, table, 1));
        // Rows that OFFSET leaves out are locked, and the others are not.
        run(&mut third, "BEGIN");
        let prepared = format!(
            "SELECT id FROM {table} WHERE rank > $1 ORDER BY rank OFFSET $2 LIMIT $3 FOR SHARE \
             SKIP LOCKED"
        );
        let rows = third.query(&prepared, &[&2_i32, &1_i64, &1_i64]);
        let rows = rows.expect(&prepared);
        let ids = rows.iter().map(|row| row.get::<_, i32>(0).to_string());
        taken.push(ids.collect());
        taken.push(answer(&mut first, &free).expect(&free));
        taken
    });
    assert_eq!(taken[0], taken[1]);
    assert_eq!(
        taken[0].iter().map(Vec::len).collect::<Vec<_>>(),
        [2, 3, 3, 4, 0, 1, 1, 3]
    );
    setup.assert_unseen(&["CANARY odd", "CANARY even"]);
}

/// What a statement answers for which the server must wait before it locks rows: another session
/// changes rows in between.
fn meanwhile(
    setup: &Setup,
    begin: &str,
    statement: &str,
    changes: &str,
) -> Result<Vec<String>, String> {
    let mut other = setup.connect();
    let mut client = setup.connect();
    // It lets others read.
    run(&mut other, "BEGIN; LOCK TABLE job IN EXCLUSIVE MODE");
    run(&mut client, begin);
    let statement = statement.to_owned();
    let waiting = thread::spawn(move || {
        let answer = answer(&mut client, &statement).map_err(|error| code(&error).to_owned());
        let _ = client.batch_execute("ROLLBACK");
        answer
    });
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while answer(&mut other, waits).expect(waits) == ["0"] {
        assert!(!waiting.is_finished(), "it waits for the table");
        thread::yield_now();
    }
    run(&mut other, changes);
    run(&mut other, "COMMIT");
    waiting.join().expect("no panic")
}

#[test]
fn a_row_that_changes_meanwhile_is_skipped_or_fails() {
    let Some(setup) = start() else { return };
    let text = "SELECT id FROM job WHERE rank > 1 ORDER BY rank LIMIT 2 FOR UPDATE SKIP LOCKED";
    let mut client = setup.connect();
    let before = answer(&mut client, text).expect(text);
    assert_eq!(before, ["4", "6"], "ranks 2 and 3");
    let changes = "UPDATE job SET note = 'CANARY new' WHERE id = 4; DELETE FROM job WHERE id = 6; \
                   INSERT INTO job VALUES (9, 1, 0, 'CANARY late')";
    let repeatable = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job";
    let failed = meanwhile(
        &setup,
        repeatable,
        text,
        "UPDATE job SET note = 'CANARY' WHERE id = 4",
    );
    assert_eq!(failed, Err("40001".to_owned()));
    let taken = meanwhile(&setup, "BEGIN", text, changes);
    assert_eq!(taken.expect("taken"), ["8", "1"], "ranks 4 and 5");
    let after = answer(&mut client, text).expect(text);
    assert_eq!(after, ["4", "8"]);
    let changed = "UPDATE job SET note = 'CANARY done' WHERE id = (SELECT id FROM job WHERE rank > \
                   1 ORDER BY rank LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, note";
    assert_eq!(
        answer(&mut client, changed).expect(changed),
        ["4|CANARY done"]
    );
}

#[test]
fn many_sessions_take_each_row_once() {
    let Some(setup) = start() else { return };
    const CLIENTS: usize = 4;
    const JOBS: i32 = 60;
    let mut client = setup.connect();
    run(&mut client, "DELETE FROM job");
    let insert = "INSERT INTO job SELECT n, 1 + n % 2, n % 7, 'CANARY job' FROM \
                  generate_series(1, $1) AS n";
    client.execute(insert, &[&JOBS]).expect(insert);
    let ways = [
        "DELETE FROM job WHERE id = (SELECT id FROM job WHERE note LIKE '%job' ORDER BY rank LIMIT \
         1 FOR UPDATE SKIP LOCKED) RETURNING id",
        "WITH next AS (SELECT id FROM job WHERE note LIKE '%job' ORDER BY rank LIMIT 1 FOR UPDATE \
         SKIP LOCKED) UPDATE job SET note = $1 FROM next WHERE job.id = next.id RETURNING job.id",
    ];
    let taken = thread::scope(|scope| {
        let threads: Vec<_> = (0..CLIENTS)
            .map(|own| {
                let mut client = setup.connect();
                scope.spawn(move || {
                    let prepared = client.prepare(ways[own % 2]).expect("prepared");
                    let parameters: &[&(dyn postgres::types::ToSql + Sync)] = match own % 2 {
                        0 => &[],
                        _ => &[&"CANARY taken"],
                    };
                    let mut taken = Vec::new();
                    loop {
                        let rows = client.query(&prepared, parameters).expect("taken");
                        match rows.first() {
                            Some(row) => taken.push(row.get::<_, i32>(0)),
                            None => return taken,
                        }
                    }
                })
            })
            .collect();
        let taken = threads.into_iter().map(|one| one.join().expect("no panic"));
        taken.flatten().collect::<Vec<_>>()
    });
    // A row that another session holds at its end is skipped by the last statement of a session.
    let left = answer(&mut client, "SELECT id FROM job WHERE note LIKE '%job'").expect("left");
    let each: BTreeSet<i32> = taken.iter().copied().collect();
    assert_eq!(each.len(), taken.len(), "no row is taken twice");
    assert_eq!(
        taken.len() + left.len(),
        usize::try_from(JOBS).expect("few")
    );
}
