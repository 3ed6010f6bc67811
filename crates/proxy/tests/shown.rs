//! Errors of the server that show values: the client is shown its own, as a plain table beside
//! shows them, and never a sealed one. And numbers of processes, which are the server's.

use std::io::Write as _;

use crate::common::texts::{Text, answer};
use crate::common::{Setup, with_twin};
use postgres::error::DbError;
use postgres::{Client, Error};

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality", domain = "person" }
mail = { type = "text", mode = "equality" }
born = { type = "date", mode = "order" }
code = { type = "char(6)", mode = "equality" }
weight = { type = "numeric(6,2)", mode = "equality" }
data = { type = "bytea", mode = "equality" }
secret = { type = "text" }

[columns.visit]
person = { type = "integer", mode = "equality", domain = "person" }
"#;

const COLUMNS: &str = "(id integer PRIMARY KEY, mail text UNIQUE, born date UNIQUE, code char(6), \
                       weight numeric(6,2), data bytea UNIQUE, secret text, \
                       n integer CHECK (n > 0), remark text, UNIQUE (code, n), \
                       UNIQUE (weight, remark))";

const ROWS: &str = "(1, 'a@x', '2001-02-03', 'ab', 1.50, '\\x90616e6e', 'hidden', 1, 'a, b)'), \
                    (2, 'b@x', '2002-02-03', 'cd', 2.00, '\\x01', 'hidden', 2, NULL)";

fn start() -> Option<(Setup, Client)> {
    let (setup, mut client) = with_twin(RULES, "person", COLUMNS, ROWS)?;
    for (table, other) in [("visit", "person"), ("plain_visit", "plain")] {
        let statement = format!(
            "CREATE TABLE {table} (person integer REFERENCES {other}); \
             INSERT INTO {table} VALUES (1)"
        );
        client.batch_execute(&statement).expect(&statement);
    }
    Some((setup, client))
}

/// What an error says; names of the protected tables are those of the plain ones.
fn told(error: &Error) -> [String; 4] {
    let error: &DbError = error.as_db_error().expect("an answer");
    let parts = [
        Some(error.code().code()),
        Some(error.message()),
        error.detail(),
        error.where_(),
    ];
    parts.map(|part| {
        let part = part.unwrap_or_default();
        assert!(
            !part.contains("\\x90") || part.contains("\\x9061"),
            "{part}"
        );
        assert!(!part.contains("\\220") || part.contains("\\220a"), "{part}");
        let part = part
            .replace("person_", "plain_")
            .replace("visit_person_", "visit_plain_");
        part.replace("\"visit", "\"plain_visit")
            .replace("\"person\"", "\"plain\"")
    })
}

fn of_twin(statement: &str) -> String {
    let twin = statement.replace("visit", "plain_visit");
    twin.replace("INTO person", "INTO plain")
        .replace("UPDATE person", "UPDATE plain")
        .replace("FROM person", "FROM plain")
        .replace("ON person", "ON plain")
}

#[track_caller]
fn assert_same(client: &mut Client, statement: &str) {
    let wanted = answer(client, &of_twin(statement)).expect_err(statement);
    let given = answer(client, statement).expect_err(statement);
    let (wanted, given) = (told(&wanted), told(&given));
    assert!(wanted[2].contains(")=("), "{wanted:?}");
    assert_eq!(given[..3], wanted[..3], "{statement}");
}

#[test]
fn keys_are_shown_as_the_client_knows_them() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for output in ["hex", "escape"] {
        let set = format!("SET bytea_output TO {output}");
        client.batch_execute(&set).expect("set");
        for statement in [
            "INSERT INTO person (id) VALUES (1)",
            "INSERT INTO person (id, mail) VALUES (3, 'b@x')",
            "UPDATE person SET mail = 'a@x' WHERE id = 2",
            "UPDATE person SET born = '2001-02-03' WHERE id = 2",
            "UPDATE person SET data = '\\x90616e6e' WHERE id = 2",
            "INSERT INTO person (id, code, n) VALUES (3, 'cd', 2)",
            "INSERT INTO person (id, weight, remark) VALUES (3, 1.5, 'a, b)')",
            "INSERT INTO visit VALUES (77)",
            "UPDATE visit SET person = 78",
            "DELETE FROM person WHERE id = 1",
            "UPDATE person SET id = 9 WHERE id = 1",
        ] {
            assert_same(&mut client, statement);
        }
    }
    let twice = "INSERT INTO person (id, code, n) VALUES (4, 'cd', 3)";
    for statement in [twice, &of_twin(twice)] {
        client.batch_execute(statement).expect(statement);
    }
    assert_same(
        &mut client,
        "CREATE UNIQUE INDEX plain_code_index ON person (code)",
    );
    let insert = "INSERT INTO person (id, mail) VALUES ($1, $2)";
    let mut told_by = |statement: &str| {
        let values: [&(dyn postgres::types::ToSql + Sync); 2] = [&7_i32, &Text("a@x")];
        told(&client.execute(statement, &values).expect_err(statement))
    };
    let wanted = told_by(&of_twin(insert));
    assert_eq!(told_by(insert), wanted);
    assert_eq!(wanted[2], "Key (mail)=(a@x) already exists.");
    // What stands in the protected table alone is nowhere else.
    let insert = "INSERT INTO person (id, mail) VALUES ($1, $2)";
    let mut insert_of = |id: i32| client.execute(insert, &[&id, &"CANARY@x"]);
    insert_of(8).expect("it is the first");
    let detail = told(&insert_of(9).expect_err("it is there"))[2].clone();
    assert_eq!(detail, "Key (mail)=(CANARY@x) already exists.");
}

/// The server cuts the values of a row, so most sealed ones do not open.
#[test]
fn rows_that_fail_a_check_show_no_ciphertext() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "INSERT INTO person (id, mail, n) VALUES (3, 'c', -1)",
        "UPDATE person SET n = 0",
        "INSERT INTO person (mail, secret) VALUES ('c', 'd')",
    ] {
        let wanted = told(&answer(&mut client, &of_twin(statement)).expect_err(statement));
        let given = told(&answer(&mut client, statement).expect_err(statement));
        assert_eq!(given[..2], wanted[..2], "{statement}");
        assert!(given[2].is_empty() || given[2] == wanted[2], "{given:?}");
    }
    // A row without a sealed value that is cut is shown.
    for statement in [
        "INSERT INTO visit VALUES (5)",
        "INSERT INTO person (id, n) VALUES (3, -1)",
        "INSERT INTO person (n, remark) VALUES (1, 'x')",
    ] {
        let wanted = told(&answer(&mut client, &of_twin(statement)).expect_err(statement));
        let given = told(&answer(&mut client, statement).expect_err(statement));
        assert_eq!(given[..3], wanted[..3], "{statement}");
    }
}

#[test]
fn a_line_of_copy_is_not_shown_sealed() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for rows in ["8\ta@x\t1\n", "8\tn\t-1\n", "8\tn\tx\n"] {
        let mut copied = |table: &str| {
            let copy = format!("COPY {table} (id, mail, n) FROM STDIN");
            let mut writer = client.copy_in(&copy).expect("it begins");
            writer.write_all(rows.as_bytes()).expect("it is taken");
            told(&writer.finish().expect_err(rows))
        };
        let (wanted, given) = (copied("plain"), copied("person"));
        assert_eq!(given[..2], wanted[..2], "{rows}");
        assert!(given[2].is_empty() || given[2] == wanted[2], "{given:?}");
        let context = wanted[3].split(": ").next().expect("the place");
        let context = context.replace("COPY plain", "COPY person");
        assert!(given[3].starts_with(&context), "{given:?}, {wanted:?}");
        assert!(!given[3].contains("x02"), "{given:?}");
    }
}
