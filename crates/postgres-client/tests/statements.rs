//! Protected columns of a real server, sealed in this process: what the program sees, and what the
//! server does not.

use crate::common::{INSERT, Setup, add, code};
use futures_util::future::try_join_all;
use strongroom_postgres::tokio_postgres::error::SqlState;
use strongroom_postgres::tokio_postgres::types::Type;
use strongroom_postgres::tokio_postgres::{Column, SimpleQueryMessage};

#[tokio::test]
async fn literals_and_parameters_come_back_and_never_reach_the_server() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    client
        .batch_execute(
            "INSERT INTO customer VALUES \
             (1, 'CANARYone', 'CANARYtown', 1000, '2001-02-03', 7), \
             (2, 'CANARYtwo', NULL, 2000, NULL, 8)",
        )
        .await
        .expect("inserted");
    let added = client.execute(INSERT, &[&3, &"CANARYtri", &"CANARYtown", &3000_i64, &9]);
    assert_eq!(added.await.expect("inserted"), 1);

    let select = "SELECT id, name, credit, born, plain FROM customer WHERE id = $1";
    let select = client.prepare(select).await.expect("prepared");
    assert_eq!(select.params(), [Type::INT4]);
    let types: Vec<&Type> = select.columns().iter().map(Column::type_).collect();
    let wanted = [
        Type::INT4,
        Type::VARCHAR,
        Type::INT8,
        Type::DATE,
        Type::INT4,
    ];
    assert_eq!(types, wanted.iter().collect::<Vec<_>>());
    for (id, name, credit, plain) in [(2, "CANARYtwo", 2000_i64, 8), (3, "CANARYtri", 3000, 9)] {
        let row = client.query_one(&select, &[&id]).await.expect("one row");
        assert_eq!(row.get::<_, i32>(0), id);
        assert_eq!(row.get::<_, &str>(1), name);
        assert_eq!(row.get::<_, i64>(2), credit);
        assert_eq!(row.get::<_, i32>(4), plain);
    }
    let town = "SELECT id FROM customer WHERE place = $1 ORDER BY credit DESC";
    let town = client.query(town, &[&"CANARYtown"]).await.expect("rows");
    let ids: Vec<i32> = town.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [3, 1]);
    let text = client
        .simple_query("SELECT name, born FROM customer WHERE id = 1")
        .await
        .expect("rows");
    let row = text.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((row.get(0), row.get(1))),
        _ => None,
    });
    assert_eq!(row, Some((Some("CANARYone"), Some("2001-02-03"))));

    assert!(setup.raw("SELECT name FROM customer").starts_with("\\x"));
    drop(client);
    setup.assert_unseen(&["CANARYone", "CANARYtwo", "CANARYtri", "CANARYtown"]);
}

#[tokio::test]
async fn rows_are_changed_and_deleted_by_key() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    for id in [1, 2] {
        assert_eq!(add(&client, id, "a", "x").await.expect("inserted"), 1);
    }
    let change = "UPDATE customer SET name = $1, plain = plain + 1 WHERE id = $2";
    let changed = client.execute(change, &[&"CANARYnew", &2]).await;
    assert_eq!(changed.expect("changed"), 1);
    let deleted = client.execute("DELETE FROM customer WHERE id = $1", &[&1]);
    assert_eq!(deleted.await.expect("deleted"), 1);
    let row = client
        .query_one("SELECT id, name, plain FROM customer", &[])
        .await
        .expect("one row");
    let row: (i32, &str, i32) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(row, (2, "CANARYnew", 3));
    setup.assert_unseen(&["CANARYnew"]);
}

#[tokio::test]
async fn transactions_end_as_they_should() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let mut client = setup.connect().await;
    let mut transaction = client.transaction().await.expect("begun");
    let added = transaction.execute(INSERT, &[&1, &"kept", &"x", &1_i64, &1]);
    added.await.expect("inserted");
    let point = transaction.savepoint("half").await.expect("a savepoint");
    let added = point.execute(INSERT, &[&2, &"undone", &"x", &1_i64, &1]);
    added.await.expect("inserted");
    point.rollback().await.expect("undone");
    transaction.commit().await.expect("kept");

    let transaction = client.transaction().await.expect("begun");
    let refused = "SELECT name FROM customer WHERE name > 'a' ORDER BY row_number() OVER ()";
    let refused = code(transaction.query(refused, &[]).await);
    assert_eq!(refused, SqlState::FEATURE_NOT_SUPPORTED);
    let next = code(transaction.query("SELECT 1", &[]).await);
    assert_eq!(next, SqlState::IN_FAILED_SQL_TRANSACTION);
    transaction.rollback().await.expect("undone");

    // Dropped without an end: undone by the next statement.
    let transaction = client.transaction().await.expect("begun");
    let added = transaction.execute(INSERT, &[&3, &"lost", &"x", &1_i64, &1]);
    added.await.expect("inserted");
    drop(transaction);
    let rows = client.query("SELECT name FROM customer", &[]).await;
    let rows = rows.expect("rows");
    let names: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["kept"]);
}

#[tokio::test]
async fn failures_have_the_codes_of_the_server_and_the_client_goes_on() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    let long = "CANARYmuchlongerthansixteen";
    let too_long = code(add(&client, 1, long, "x").await);
    assert_eq!(too_long, SqlState::STRING_DATA_RIGHT_TRUNCATION);
    let null = client.execute("INSERT INTO customer (id, name) VALUES (1, NULL)", &[]);
    assert_eq!(code(null.await), SqlState::NOT_NULL_VIOLATION);
    add(&client, 1, "a", "x").await.expect("inserted");
    let twice = code(add(&client, 1, "b", "x").await);
    assert_eq!(twice, SqlState::UNIQUE_VIOLATION);
    let syntax = code(client.batch_execute("SELEC name FROM customer").await);
    assert_eq!(syntax, SqlState::SYNTAX_ERROR);
    let rows = client.query("SELECT id FROM customer", &[]).await;
    assert_eq!(rows.expect("rows").len(), 1);
    setup.assert_unseen(&["CANARYmuchlonger"]);
}

#[tokio::test]
async fn statements_of_a_pipeline_are_answered_in_their_order() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    let insert = client.prepare(INSERT).await.expect("prepared");
    let add = async |id: i32| {
        let name = format!("name {id}");
        let values: [&(dyn strongroom_postgres::tokio_postgres::types::ToSql + Sync); 5] =
            [&id, &name, &"x", &i64::from(id), &id];
        client.execute(&insert, &values).await
    };
    try_join_all((0..200).map(add)).await.expect("inserted");
    let select = client.prepare("SELECT name FROM customer WHERE id = $1");
    let select = select.await.expect("prepared");
    let (client, select) = (&client, &select);
    let ask = async |id: i32| client.query_one(select, &[&id]).await;
    let rows = try_join_all((0..200).map(ask)).await.expect("rows");
    for (id, row) in rows.iter().enumerate() {
        assert_eq!(row.get::<_, String>(0), format!("name {id}"));
    }
}

#[tokio::test]
async fn large_values_go_both_ways() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    // More than what may wait on either side.
    let large = "CANARY large ".repeat(100_000);
    add(&client, 1, "a", &large).await.expect("inserted");
    let row = client
        .query_one("SELECT place FROM customer", &[])
        .await
        .expect("a row");
    assert!(row.get::<_, &str>(0) == large);
    setup.assert_unseen(&["CANARY large"]);
}

#[tokio::test]
async fn fifty_connections_at_once_keep_their_rows_apart() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let clients = try_join_all(
        (0..50).map(async |_| crate::common::connect(&setup.connector, &setup.config).await),
    );
    let clients = clients.await.expect("connected");
    let work = clients.iter().enumerate().map(async |(number, client)| {
        let number = i32::try_from(number).expect("a small number");
        for step in 0..20_i32 {
            let id = number * 100 + step;
            let name = format!("{number} {step}");
            let place = format!("place {number}");
            add(client, id, &name, &place).await?;
            let row = client
                .query_one("SELECT name FROM customer WHERE id = $1", &[&id])
                .await?;
            assert_eq!(row.get::<_, String>(0), name);
        }
        let place = format!("place {number}");
        let rows = client
            .query("SELECT id FROM customer WHERE place = $1", &[&place])
            .await?;
        assert_eq!(rows.len(), 20);
        Ok::<(), strongroom_postgres::tokio_postgres::Error>(())
    });
    try_join_all(work).await.expect("all go on");
}
