//! `COPY` of a table with rules by tokio-postgres, in text and binary, both ways.

use crate::common::{Setup, code};
use futures_util::{SinkExt, StreamExt, TryStreamExt, pin_mut};
use strongroom_postgres::tokio_postgres::Client;
use strongroom_postgres::tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use strongroom_postgres::tokio_postgres::error::SqlState;
use strongroom_postgres::tokio_postgres::types::{ToSql, Type};

const COLUMNS: &str = "customer (id, name, place, credit, plain)";
const TYPES: [Type; 5] = [
    Type::INT4,
    Type::VARCHAR,
    Type::TEXT,
    Type::INT8,
    Type::INT4,
];

async fn copy_text(
    client: &Client,
    pieces: &[&str],
) -> Result<u64, strongroom_postgres::tokio_postgres::Error> {
    let copy = format!("COPY {COLUMNS} FROM STDIN");
    let sink = client.copy_in(&copy).await?;
    pin_mut!(sink);
    for piece in pieces {
        sink.send(bytes::Bytes::copy_from_slice(piece.as_bytes()))
            .await?;
    }
    sink.finish().await
}

async fn all_as_text(client: &Client, copy: &str) -> String {
    let stream = client.copy_out(copy).await.expect("it begins");
    let pieces: Vec<bytes::Bytes> = stream.try_collect().await.expect("rows");
    String::from_utf8(pieces.concat()).expect("text")
}

#[tokio::test]
async fn rows_in_text_go_in_sealed_and_come_out_open() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    // Pieces end where they like.
    let pieces = [
        "1\tCANARYone\tCANARYtown\t1000\t7\n2\tCANARY",
        "two\t\\N\t\\N\t8\n",
    ];
    assert_eq!(copy_text(&client, &pieces).await.expect("rows"), 2);
    let rows: Vec<String> = (3..2003)
        .map(|id| format!("{id}\tCANARY{id}\tCANARYtown\t{id}\t{id}\n"))
        .collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    assert_eq!(copy_text(&client, &rows).await.expect("rows"), 2000);

    let select = "SELECT name, credit FROM customer WHERE id = $1";
    let row = client.query_one(select, &[&1500]).await.expect("one row");
    assert_eq!((row.get(0), row.get(1)), ("CANARY1500", 1500_i64));
    let copy = format!("COPY {COLUMNS} TO STDOUT");
    let out = all_as_text(&client, &copy).await;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2002);
    assert_eq!(lines[0], "1\tCANARYone\tCANARYtown\t1000\t7");
    assert_eq!(lines[1], "2\tCANARYtwo\t\\N\t\\N\t8");
    assert_eq!(lines[2001], "2002\tCANARY2002\tCANARYtown\t2002\t2002");
    assert!(
        setup
            .raw("SELECT name FROM customer LIMIT 1")
            .starts_with("\\x")
    );
    setup.assert_unseen(&["CANARYone", "CANARYtown", "CANARY1500"]);
}

#[tokio::test]
async fn rows_in_binary_go_both_ways() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    let copy = format!("COPY {COLUMNS} FROM STDIN BINARY");
    let sink = client.copy_in(&copy).await.expect("it begins");
    let writer = BinaryCopyInWriter::new(sink, &TYPES);
    pin_mut!(writer);
    for id in 1..=500_i32 {
        let name = format!("CANARY{id}");
        let place = (id % 2 == 0).then_some("CANARYtown");
        let written = writer.as_mut();
        let credit = i64::from(id);
        let row: [&(dyn ToSql + Sync); 5] = [&id, &name, &place, &credit, &id];
        written.write(&row).await.expect("a row");
    }
    assert_eq!(writer.finish().await.expect("rows"), 500);

    let copy = format!("COPY {COLUMNS} TO STDOUT BINARY");
    let stream = client.copy_out(&copy).await.expect("it begins");
    let rows = BinaryCopyOutStream::new(stream, &TYPES);
    pin_mut!(rows);
    let mut id = 0;
    while let Some(row) = rows.next().await {
        let row = row.expect("a row");
        id += 1;
        assert_eq!(row.get::<i32>(0), id);
        assert_eq!(row.get::<&str>(1), format!("CANARY{id}"));
        let place: Option<&str> = row.get(2);
        assert_eq!(place, (id % 2 == 0).then_some("CANARYtown"));
        assert_eq!(row.get::<i64>(3), i64::from(id));
    }
    assert_eq!(id, 500);
    setup.assert_unseen(&["CANARY1", "CANARYtown"]);
}

#[tokio::test]
async fn a_row_that_the_rules_refuse_ends_the_copy_and_nothing_else() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let client = setup.connect().await;
    let long = "3\tCANARYmuchtoolongforit\tx\t1\t1\n";
    let refused = copy_text(&client, &["1\tCANARYone\tx\t1\t1\n", long]).await;
    assert_eq!(code(refused), SqlState::STRING_DATA_RIGHT_TRUNCATION);
    let none = client.query("SELECT id FROM customer", &[]).await;
    assert!(none.expect("it goes on").is_empty());
    // One that is given up on the way leaves nothing either, and the next goes through.
    let copy = format!("COPY {COLUMNS} FROM STDIN");
    {
        let sink = client.copy_in(&copy).await.expect("it begins");
        pin_mut!(sink);
        let row = bytes::Bytes::from_static(b"1\tCANARYone\tx\t1\t1\n");
        sink.send(row).await.expect("taken");
    }
    let good = copy_text(&client, &["2\tCANARYtwo\tx\t1\t1\n"]).await;
    assert_eq!(good.expect("a row"), 1);
    let rows = client.query("SELECT id FROM customer", &[]).await;
    let rows = rows.expect("rows");
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [2]);
    setup.assert_unseen(&["CANARY"]);
}
