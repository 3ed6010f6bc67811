//! What sessions do besides their statements: other databases, users and tables.

use mysql::prelude::Queryable as _;
use mysql::{ChangeUserOpts, Conn, Value};
use server_testkit::mysql::Brand;

use super::differential::{as_text, prepared};
use super::lab::{Lab, both, connect};
use crate::mysql::setup::PASSWORD;

const INSERT: &str = "INSERT INTO person (name, number) VALUES ('anna', ?)";
const QUERY: &str = "SELECT name FROM person WHERE number = ?";

fn name(client: &mut Conn, number: u32) -> Option<String> {
    client.exec_first(QUERY, (number,)).expect("a query")
}

#[test]
fn names_mean_tables_of_the_database_in_use() {
    for mut lab in both() {
        lab.ours.exec_drop(INSERT, (1,)).expect("a row");
        lab.theirs
            .query_drop("INSERT INTO person (name, number) VALUES ('berta', 1)")
            .expect("a row");
        let mut client = connect(lab.proxy.port(), "shop");
        let prepared = client.prep(QUERY).expect("prepared");
        let check = |client: &mut Conn| {
            assert_eq!(name(client, 1), Some("berta".to_owned()));
            client
                .exec_first::<String, _, _>(&prepared, (1,))
                .expect_err("refused");
            for (table, wanted) in [("twin.person", "berta"), ("shop.person", "anna")] {
                let found: Option<String> = client
                    .query_first(format!("SELECT name FROM {table} WHERE number = 1"))
                    .expect("it is named");
                assert_eq!(found.as_deref(), Some(wanted));
            }
        };
        client.query_drop("USE twin").expect("it passes");
        check(&mut client);
        client.query_drop("USE shop").expect("it passes");
        assert_eq!(name(&mut client, 1), Some("anna".to_owned()));
        client.select_db("twin").expect("it passes");
        check(&mut client);
        client.select_db("shop").expect("it passes");
        assert_eq!(name(&mut client, 1), Some("anna".to_owned()));
        let again: Option<String> = client.exec_first(&prepared, (1,)).expect("as before");
        assert_eq!(again, Some("anna".to_owned()));
    }
}

#[test]
fn a_reset_or_another_login_forgets_the_session() {
    for lab in both() {
        let mut client = connect(lab.proxy.port(), "twin");
        client
            .query_drop("SET sql_mode = 'HIGH_NOT_PRECEDENCE,STRICT_ALL_TABLES'")
            .expect("it passes");
        client.query_drop("USE shop").expect("it passes");
        client
            .exec_drop(INSERT, (2,))
            .expect_err("the mode is not known");
        client.reset().expect("it is reset");
        client
            .exec_drop(INSERT, (2,))
            .expect("the mode is the server's again");
        client
            .query_drop("SET sql_mode = 'HIGH_NOT_PRECEDENCE,STRICT_ALL_TABLES'")
            .expect("it passes");
        let other = ChangeUserOpts::new()
            .with_user(Some("nat".to_owned()))
            .with_pass(Some(PASSWORD.to_owned()))
            .with_db_name(Some("shop".to_owned()));
        client.change_user(other).expect("it is let in");
        client
            .exec_drop(INSERT, (3,))
            .expect("the mode is the server's again");
        assert_eq!(name(&mut client, 3), Some("anna".to_owned()));
    }
}

/// Between `XA END` and the end of the transaction the server takes nothing else.
#[test]
fn distributed_transactions_end_as_past_the_proxy() {
    for mut lab in both() {
        let ends = [
            (&["XA PREPARE 'a'", "XA COMMIT 'a'"][..], Some("anna")),
            (&["XA COMMIT 'a' ONE PHASE"], Some("anna")),
            (&["XA PREPARE 'a'", "XA ROLLBACK 'a'"], None),
        ];
        for (number, (ends, found)) in (5..).zip(ends) {
            lab.ours.query_drop("XA START 'a'").expect("it begins");
            lab.ours.exec_drop(INSERT, (number,)).expect("a row");
            lab.ours.query_drop("XA END 'a'").expect("it ends");
            // The tables would be read again now.
            let mut other = connect(lab.proxy.port(), "shop");
            let text = format!("CREATE TABLE more{number} (id INT)");
            other.query_drop(text).expect("a table");
            for text in ends {
                lab.ours.query_drop(text).expect(text);
            }
            assert_eq!(name(&mut lab.ours, number).as_deref(), found, "{ends:?}");
        }
    }
}

#[test]
fn tables_may_come_and_go_through_the_proxy() {
    for mut lab in both() {
        let mut other = connect(lab.proxy.port(), "shop");
        other.exec_drop(INSERT, (1,)).expect("a row");
        lab.ours
            .query_drop("DROP TABLE person")
            .expect("it is dropped");
        let error = other.exec_drop(INSERT, (2,)).expect_err("it is gone");
        assert!(error.to_string().contains("1146"), "{error}");
        lab.ours.query_drop(super::lab::TABLES[0]).expect("a table");
        other.exec_drop(INSERT, (2,)).expect("a row");
        assert_eq!(name(&mut other, 2), Some("anna".to_owned()));
        lab.ours
            .query_drop("TRUNCATE TABLE person")
            .expect("it is empty");
        assert_eq!(name(&mut other, 2), None);
    }
}

#[test]
fn tables_changed_past_the_proxy_are_noticed() {
    for mut lab in both() {
        lab.ours.exec_drop(INSERT, (1,)).expect("a row");
        let mut past = lab.past();
        past.query_drop("CREATE VIEW staff AS SELECT id, name FROM person")
            .expect("a view");
        let mut client = connect(lab.proxy.port(), "shop");
        // On a busy machine a look takes its time.
        let noticed = (0..20).any(|_| {
            wait_for_look();
            client.query_drop("SELECT * FROM staff").is_err()
        });
        assert!(noticed, "the view is not noticed");
        for text in ["SELECT * FROM staff", "UPDATE staff SET name = 'canary'"] {
            let error = client.query_drop(text).expect_err(text).to_string();
            assert!(error.contains("1235"), "{error}");
        }
        past.query_drop("DROP VIEW staff").expect("it is dropped");
        past.query_drop("ALTER TABLE person MODIFY name VARCHAR(50)")
            .expect_err("the guard, or its values, are no texts");
        past.query_drop("DROP TABLE person").expect("it is dropped");
        past.query_drop("CREATE TABLE person (name VARCHAR(20), number BIGINT)")
            .expect("a plain table");
        // Until a look has ended the server refuses the sealed value.
        let noticed = (0..20).any(|_| {
            wait_for_look();
            let error = client.exec_drop(INSERT, (2,)).expect_err("it is plain");
            let error = error.to_string();
            let is_noticed = error.contains("rules and server do not fit");
            let code = if is_noticed { "1105" } else { "1366" };
            assert!(error.contains(code), "{error}");
            is_noticed
        });
        assert!(noticed, "the change is not noticed");
    }
}

#[test]
fn rows_that_the_proxy_has_taken_are_not_counted() {
    for mut lab in both() {
        for number in 1..4 {
            lab.ours.exec_drop(INSERT, (number,)).expect("a row");
        }
        for query in [
            "SELECT id, number FROM person ORDER BY number LIMIT 2",
            "SELECT SUM(number) AS s FROM person",
        ] {
            lab.ours.query_drop(query).expect(query);
            let error = lab.ours.query_drop("SELECT FOUND_ROWS()");
            let error = error.expect_err("others are counted").to_string();
            assert!(error.contains("1235"), "{error}");
        }
        lab.ours.query_drop("SELECT id FROM person").expect("rows");
        let count: Option<u64> = lab.ours.query_first("SELECT FOUND_ROWS()").expect("a row");
        assert_eq!(count, Some(3));
    }
}

#[test]
fn a_limit_of_the_session_cuts_no_rows_that_the_proxy_finishes() {
    for mut lab in both() {
        for client in [&mut lab.ours, &mut lab.theirs] {
            for number in 1..4 {
                client.exec_drop(INSERT, (number,)).expect("a row");
            }
            client
                .query_drop("SET sql_select_limit = 2")
                .expect("it is set");
        }
        let plain = "SELECT id, number FROM person ORDER BY id";
        let ours: Vec<(u32, u32)> = lab.ours.query(plain).expect("rows");
        let theirs: Vec<(u32, u32)> = lab.theirs.query(plain).expect("rows");
        assert_eq!(ours, theirs);
        for query in [
            "SELECT SUM(number) AS s FROM person",
            "SELECT id, number FROM person ORDER BY number",
        ] {
            for error in [
                lab.ours.query_drop(query).expect_err("rows would miss"),
                lab.ours.exec_drop(query, ()).expect_err("rows would miss"),
            ] {
                assert!(error.to_string().contains("sql_select_limit"), "{error}");
            }
        }
        lab.ours
            .query_drop("SET sql_select_limit = DEFAULT")
            .expect("it is set");
        let sum: Option<u32> = lab
            .ours
            .query_first("SELECT SUM(number) AS s FROM person")
            .expect("a row");
        assert_eq!(sum, Some(6));
    }
}

#[test]
fn tables_and_triggers_of_other_engines_and_ordinary_functions_work() {
    for mut lab in both() {
        let set = "SET default_storage_engine = MyISAM";
        lab.ours.query_drop(set).expect("it is set");
        lab.ours.query_drop("DROP TABLE card").expect("dropped");
        let create = "CREATE TABLE card (number BIGINT NOT NULL, kind CHAR(3), person INT, PRIMARY \
                      KEY (number))";
        lab.ours.query_drop(create).expect(create);
        lab.ours
            .query_drop("INSERT INTO card VALUES (4242424201, 'abc', 1)")
            .expect("the table fits");
        let trigger = "CREATE TRIGGER pads BEFORE INSERT ON plain FOR EACH ROW SET NEW.note = \
                       LPAD(SUBSTRING_INDEX(NEW.note, '-', 1), 5, '0')";
        lab.past().query_drop(trigger).expect("a trigger");
        let mut client = connect(lab.proxy.port(), "shop");
        wait_for_look();
        client
            .query_drop("INSERT INTO plain VALUES (1, 'ab-c')")
            .expect("it reaches no protected table");
        let note: Option<String> = client.query_first("SELECT note FROM plain").expect("a row");
        assert_eq!(note.as_deref(), Some("000ab"));
        let calls = "CREATE TRIGGER calls BEFORE UPDATE ON plain FOR EACH ROW SET NEW.note = \
                     hidden(NEW.note)";
        lab.past().query_drop(calls).expect("a trigger");
        wait_for_look();
        let mut client = connect(lab.proxy.port(), "shop");
        client
            .query_drop("UPDATE plain SET note = 'x'")
            .expect_err("it may reach any table");
    }
}

#[test]
fn a_table_that_does_not_fit_stops_statements_over_itself_alone() {
    for mut lab in both() {
        lab.ours
            .query_drop("DROP TABLE card")
            .expect("it is dropped");
        let plain = "CREATE TABLE card (number BIGINT PRIMARY KEY, kind CHAR(3)) ENGINE=MyISAM";
        lab.past().query_drop(plain).expect("a plain table");
        let mut client = connect(lab.proxy.port(), "shop");
        wait_for_look();
        for text in [
            "INSERT INTO card VALUES (1, 'canary')",
            "SELECT p.name FROM person p JOIN card USING (number)",
            "SHOW CREATE TABLE card",
        ] {
            let error = client.query_drop(text).expect_err(text).to_string();
            assert!(error.contains("rules and server do not fit"), "{error}");
        }
        client.exec_drop(INSERT, (1,)).expect("a row");
        let shown: Option<(String, String)> = client
            .query_first("SHOW CREATE TABLE person")
            .expect("a table");
        let (_, shown) = shown.expect("a table");
        assert!(shown.contains("`name` varchar(20)"), "{shown}");
        client.query_drop("DROP TABLE card").expect("it is dropped");
        let fitting = "CREATE TABLE card (number BIGINT PRIMARY KEY, kind CHAR(3))";
        client.query_drop(fitting).expect(fitting);
        client
            .query_drop("INSERT INTO card VALUES (1, 'x')")
            .expect("a row");
    }
}

/// Sessions look at the tables this often.
fn wait_for_look() {
    std::thread::sleep(std::time::Duration::from_millis(1100));
}

#[test]
fn values_moved_past_the_proxy_end_the_session() {
    for mut lab in both() {
        let Lab { ours: client, .. } = &mut lab;
        client.exec_drop(INSERT, (1,)).expect("a row");
        client.exec_drop(INSERT, (2,)).expect("a row");
        let before: Vec<Value> = client.query("SELECT number FROM person").expect("rows");
        assert_eq!(before.len(), 2);
        let mut past = connect(lab.server.port(), "shop");
        past.query_drop("UPDATE person SET small = number WHERE id = 1")
            .expect("a value of another column");
        let query = "SELECT small FROM person WHERE id = 1";
        let error = lab.ours.query::<Value, _>(query);
        let error = error.expect_err("it does not open").to_string();
        assert!(
            error.contains("1105") && error.contains("does not open"),
            "{error}"
        );
        lab.ours
            .query_drop("SELECT 1")
            .expect_err("the session has ended");
    }
}

#[test]
fn the_program_mariadb_sees_plain_values() {
    for mut lab in both() {
        lab.ours.exec_drop(INSERT, (1,)).expect("a row");
        let query = "INSERT INTO person (name) VALUES ('berta'); SELECT 2";
        lab.proxy.run("nat", &["--ssl"], query).assert_says("2");
        let query = "SELECT name, number, born FROM person ORDER BY id";
        let said = lab.proxy.run("nat", &["--ssl"], query);
        said.assert_says("anna\t1\tNULL\nberta\tNULL\tNULL");
        let said = lab
            .proxy
            .run("nat", &["--ssl"], "SELECT MAX(name) FROM person");
        said.assert_fails(1235);
    }
}

#[test]
fn an_expired_password_can_be_changed() {
    // MySQL lets such an account in only by an option that it is started with.
    let Some(lab) = Lab::start(Brand::MariaDb) else {
        return;
    };
    let mut past = lab.past();
    for text in [
        "SET GLOBAL disconnect_on_expired_password = OFF",
        "ALTER USER nat@localhost PASSWORD EXPIRE",
    ] {
        past.query_drop(text).expect(text);
    }
    let mut client = connect(lab.proxy.port(), "shop");
    for text in [
        "SELECT 1",
        "SELECT name FROM shop.person",
        "SET @x = 1; SELECT 2",
    ] {
        let error = client.query_drop(text).expect_err(text);
        let mysql::Error::MySqlError(own) = error else {
            panic!("{text}: {error}");
        };
        assert_eq!(own.code, 1820, "{text}: {}", own.message);
    }
    client
        .query_drop("SET PASSWORD = PASSWORD('another')")
        .expect("it is changed");
    let name: Option<String> = client
        .query_first("SELECT name FROM shop.person")
        .expect("the session goes on");
    assert_eq!(name, None);
    let options = lab.proxy.options("nat").pass(Some("another"));
    Conn::new(options).expect("by the new password");
}

#[test]
fn texts_are_bytes_where_the_session_says_so() {
    for mut lab in both() {
        for text in [
            "SET NAMES binary",
            "INSERT INTO person (id, name, number, paid, seen, note, face, city) VALUES (1, \
             'canary é', 4242424201, 7.5, '2020-01-01 01:02:03.5', 'canary ü', 'bytes', 'ö')",
            "SELECT * FROM person",
            "SELECT id FROM person WHERE number = 4242424201 AND city = 'Ö'",
            "UPDATE person SET name = 'canary ß', city = CONCAT(city, 'x') WHERE id = 1",
            "SELECT name, MAX(number) AS m FROM person GROUP BY id, name",
            "SHOW COLUMNS FROM person",
            "SET NAMES utf8mb4",
            "SELECT name, note, city FROM person",
        ] {
            if text.contains("GROUP BY") {
                lab.ours.query_drop(text).expect_err("mode random");
                continue;
            }
            let ours = as_text(&mut lab.ours, text);
            assert_eq!(ours, as_text(&mut lab.theirs, text), "{text}");
        }
        let text = "INSERT INTO person (id, name) VALUES (?, ?)";
        let name = Value::Bytes("canary ä".as_bytes().to_vec());
        for client in [&mut lab.ours, &mut lab.theirs] {
            client.query_drop("SET NAMES binary").expect("it passes");
            client.exec_drop(text, (2, &name)).expect("a row");
        }
        let all = "SELECT name FROM person ORDER BY id";
        let ours = prepared(&mut lab.ours, all, Vec::new());
        assert_eq!(ours, prepared(&mut lab.theirs, all, Vec::new()));
    }
}
