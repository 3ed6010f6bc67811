//! What clients do with a session.

use std::io::Write as _;

use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn, LocalInfileHandler, Value};

use super::setup::*;

/// Rules for a table that no statement names: everything passes.
const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.person\"]
name = { type = \"varchar(20)\" }
";

/// Runs a check before each server that is there, without and with rules.
fn each(check: impl Fn(&Proxy, Conn)) {
    for server in [mariadb(), mysql()].into_iter().flatten() {
        for rules in ["", RULES] {
            let proxy = Proxy::start(&server, rules);
            let client = proxy.connect("nat");
            check(&proxy, client);
        }
    }
}

#[test]
fn texts_and_prepared_statements_give_their_rows() {
    each(|_, mut client| {
        let table = "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, name VARCHAR(20), d DATETIME)";
        client.query_drop(table).expect(table);
        let insert = "INSERT INTO t VALUES (?, ?, ?)";
        let insert = client.prep(insert).expect(insert);
        for (id, name) in [(1, Some("anna")), (2, None)] {
            let moment = "2026-11-26 01:02:03";
            client
                .exec_drop(&insert, (id, name, moment))
                .expect("a row");
            assert_eq!(client.affected_rows(), 1);
        }
        client.close(insert).expect("it is forgotten");
        let rows = vec![(1, Some("anna".to_owned())), (2, None)];
        let query = "SELECT id, name FROM t ORDER BY id";
        let text: Vec<(i32, Option<String>)> = client.query(query).expect("a text");
        assert_eq!(text, rows);
        let prepared: Vec<(i32, Option<String>)> = client.exec(query, ()).expect("prepared");
        assert_eq!(prepared, rows);
        let error = client
            .query_drop("SELECT nothing FROM t")
            .expect_err("no such column");
        assert!(error.to_string().contains("1054"), "{error}");
        client
            .query_drop("UPDATE t SET name = 'berta' WHERE id = 1")
            .expect("a row");
        assert!(
            client.info_str().contains("Rows matched: 1"),
            "{}",
            client.info_str()
        );
        client.ping().expect("it answers");
    });
}

#[test]
fn a_text_may_give_several_results() {
    each(|_, mut client| {
        let text = "SELECT 1; DO 0; SELECT 2, 3; SELECT nothing; SELECT 4";
        let mut results = client.query_iter(text).expect("the first is there");
        let mut found = Vec::new();
        while let Some(result) = results.iter() {
            let rows = result.map(|row| row.map(|row| row.len()));
            match rows.collect::<Result<Vec<_>, _>>() {
                Ok(rows) => found.push(rows),
                Err(error) => assert!(error.to_string().contains("1054"), "{error}"),
            }
        }
        drop(results);
        assert_eq!(found[..3], [vec![1], vec![], vec![2]]);
        let next: Option<i32> = client.query_first("SELECT 5").expect("the session goes on");
        assert_eq!(next, Some(5));
    });
}

#[test]
fn values_of_more_than_16_mib_pass_both_ways() {
    each(|_, mut client| {
        let size = (16 << 20) + 100;
        let large: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
        client
            .query_drop("CREATE TEMPORARY TABLE large (v LONGBLOB)")
            .expect("a table");
        // The driver sends it by COM_STMT_SEND_LONG_DATA.
        client
            .exec_drop("INSERT INTO large VALUES (?)", (&large,))
            .expect("it is taken");
        let back: Option<Vec<u8>> = client.exec_first("SELECT v FROM large", ()).expect("a row");
        assert!(back.expect("a row") == large);
        let text: Option<Vec<u8>> = client.query_first("SELECT v FROM large").expect("a row");
        assert!(text.expect("a row") == large);
        let statement = format!("SELECT length('{}')", "x".repeat(size));
        let counted: Option<usize> = client.query_first(statement).expect("a long text");
        assert_eq!(counted, Some(size));
    });
}

#[test]
fn a_session_may_be_reset_or_given_to_another_user() {
    each(|_, mut client| {
        let variable = "SELECT @v";
        client.query_drop("SET @v = 7").expect("a variable");
        let value: Option<Value> = client.query_first(variable).expect("a row");
        assert_eq!(value, Some(Value::Bytes(b"7".to_vec())));
        client.reset().expect("it is reset");
        let value: Option<Value> = client.query_first(variable).expect("a row");
        assert_eq!(value, Some(Value::NULL));
        client.query_drop("SET @v = 7").expect("a variable");
        let other = ChangeUserOpts::new()
            .with_user(Some("nat".to_owned()))
            .with_pass(Some(PASSWORD.to_owned()))
            .with_db_name(Some("mysql".to_owned()));
        client.change_user(other).expect("it is let in");
        let now: Option<(Value, String)> =
            client.query_first("SELECT @v, database()").expect("a row");
        assert_eq!(now, Some((Value::NULL, "mysql".to_owned())));
        let wrong = ChangeUserOpts::new()
            .with_user(Some("nat".to_owned()))
            .with_pass(Some("wrong".to_owned()));
        let error = client
            .change_user(wrong)
            .expect_err("the password is wrong");
        assert!(error.to_string().contains("1045"), "{error}");
    });
}

#[test]
fn a_statement_can_be_killed_by_its_connections_number() {
    each(|proxy, mut client| {
        let sleeping: Option<u32> = client.query_first("SELECT connection_id()").expect("a row");
        let sleeping = sleeping.expect("a number");
        assert_eq!(client.connection_id(), sleeping);
        let mut other = proxy.connect("nat");
        let waiting = std::thread::spawn(move || {
            // No row of it comes before the error.
            let query = "SELECT sum(sleep(60)) FROM information_schema.tables";
            client.query_first::<i32, _>(query)
        });
        let looks = "SELECT count(*) FROM information_schema.processlist \
                     WHERE id = ? AND info LIKE 'SELECT sum(sleep%'";
        while other.exec_first(looks, (sleeping,)).expect("a row") != Some(1) {}
        other
            .query_drop(format!("KILL QUERY {sleeping}"))
            .expect("it is killed");
        let ended = waiting
            .join()
            .expect("no panic")
            .expect_err("it was killed");
        assert!(ended.to_string().contains("1317"), "{ended}");
    });
}

#[test]
fn a_file_of_the_client_is_read_where_there_are_rules() {
    for server in [mariadb(), mysql()].into_iter().flatten() {
        for (rules, has_rules) in [("", false), (RULES, true)] {
            let proxy = Proxy::start(&server, rules);
            let mut client = proxy.connect("nat");
            let file = LocalInfileHandler::new(|_, stream| stream.write_all(b"a\nb\n"));
            client.set_local_infile_handler(Some(file));
            client
                .query_drop("CREATE TEMPORARY TABLE f (v TEXT)")
                .expect("a table");
            let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE f";
            let said = client.query_drop(load);
            // Without rules the server has no such client; MySQL reads files by a setting alone.
            let is_read = said.is_ok();
            assert!(!is_read || has_rules, "{rules}");
            let count: Option<i32> = client.query_first("SELECT COUNT(*) FROM f").expect("a row");
            assert_eq!(count, Some(if is_read { 2 } else { 0 }));
        }
    }
}
