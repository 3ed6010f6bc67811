//! Statements that are larger than the server takes once their values are sealed.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};

use super::lab::{both, connect};

#[track_caller]
fn assert_too_large(client: &mut Conn, text: &str, values: Vec<Value>) {
    let said = match values.is_empty() {
        true => client.query_drop(text),
        false => client.exec_drop(text, values),
    };
    let error = match said {
        Err(mysql::Error::MySqlError(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(error.code, 1153);
    assert!(
        error.message.contains("max_allowed_packet"),
        "{}",
        error.message
    );
    let shown: Vec<(String, u16, String)> = client.query("SHOW WARNINGS").expect("it lives");
    let [(level, 1153, _)] = &shown[..] else {
        panic!("{shown:?}");
    };
    assert_eq!(level, "Error");
}

#[test]
fn a_statement_that_only_sealed_values_make_too_large_is_refused() {
    const SIZE: usize = 64 * 1024;
    for mut lab in both() {
        let set = format!("SET GLOBAL max_allowed_packet = {SIZE}");
        lab.theirs.query_drop(set).expect("root's right");
        let mut ours = connect(lab.proxy.port(), "shop");
        let mut theirs = connect(lab.server.port(), "twin");
        // Sealed values are written by two digits a byte.
        let half = "x".repeat(SIZE / 2);
        let nearly = "y".repeat(SIZE - 32);
        let insert = format!("INSERT INTO person (id, name, note) VALUES (7, 'canary', '{half}')");
        let execute = "INSERT INTO person (id, name, note) VALUES (8, 'canary', ?)";
        theirs.query_drop(&insert).expect("a row");
        let value = Value::Bytes(nearly.into_bytes());
        theirs.exec_drop(execute, (value.clone(),)).expect("a row");
        assert_too_large(&mut ours, &insert, vec![]);
        assert_too_large(&mut ours, execute, vec![value]);
        // Within a transaction, what came before stays.
        ours.query_drop("BEGIN").expect("a transaction");
        ours.query_drop("INSERT INTO person (id, name) VALUES (1, 'canary one')")
            .expect("a row");
        assert_too_large(&mut ours, &insert, vec![]);
        ours.query_drop("COMMIT").expect("it is kept");
        // As a parameter the same value fits.
        let value = Value::Bytes(half.into_bytes());
        ours.exec_drop(execute, (value,)).expect("it fits");
        let rows: Vec<(u32, Option<usize>)> = ours
            .query_map("SELECT id, note FROM person ORDER BY id", |(id, note)| {
                let note: Option<String> = note;
                (id, note.map(|own| own.len()))
            })
            .expect("rows");
        assert_eq!(rows, [(1, None), (8, Some(SIZE / 2))]);
    }
}
