//! Cursors over queries that the finisher answers: the proxy keeps their rows, and the server
//! decides which cursors there are. Each script does the same on a plain twin of the table.

use postgres::error::SqlState;
use postgres::{Client, SimpleQueryMessage};
use wire_postgres::backend::{kind, read_row_description};
use wire_postgres::frontend::{
    Target, kind as sent, write_bind, write_execute, write_parse, write_target,
};

use crate::common::Setup;
use crate::common::wire::{SYNC, Session};

const RULES: &str = r#"
[columns.item]
name = { type = "text" }
price = { type = "numeric(10,2)" }
made = { type = "timestamp" }
"#;

fn start() -> Option<(Setup, Client)> {
    start_with("")
}

fn start_with(more: &str) -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with(RULES, &crate::common::with_finish(more));
    let mut client = setup.connect();
    for table in ["item", "twin"] {
        for text in [
            format!(
                "CREATE TABLE {table} (id integer, name text, price numeric(10,2), made timestamp)"
            ),
            format!(
                "INSERT INTO {table} SELECT n, 'word' || n, n / 4.0, '2020-01-01'::timestamp + n \
                 * interval '1 hour' FROM generate_series(1, 7) n"
            ),
            format!("INSERT INTO {table} VALUES (8, NULL, NULL, NULL)"),
        ] {
            client.batch_execute(&text).expect(&text);
        }
    }
    Some((setup, client))
}

/// The rows of an answer, and what was done.
fn said(client: &mut Client, text: &str) -> String {
    let mut said = Vec::new();
    match client.simple_query(text) {
        Ok(messages) => {
            for message in messages {
                said.push(match message {
                    SimpleQueryMessage::RowDescription(columns) => {
                        let names = columns.iter().map(|column| column.name());
                        names.collect::<Vec<_>>().join("|")
                    }
                    SimpleQueryMessage::Row(row) => {
                        let values = (0..row.len()).map(|index| row.get(index).unwrap_or("NULL"));
                        values.collect::<Vec<_>>().join("|")
                    }
                    SimpleQueryMessage::CommandComplete(count) => format!("done {count}"),
                    other => format!("{other:?}"),
                });
            }
        }
        Err(error) => {
            let told = error.as_db_error().expect("the server's");
            said.push(format!("{} {}", told.code().code(), told.message()));
        }
    }
    said.join("\n")
}

const QUERY: &str = "SELECT upper(name) AS name, round(price) AS price, made::date AS made, id \
                     FROM TABLE WHERE length(coalesce(name, '')) < 100 ORDER BY id";

/// Each line of a script is answered alike over both tables.
#[track_caller]
fn assert_alike(client: &mut Client, script: &[&str]) {
    let of_table = |table: &str, client: &mut Client| {
        let lines = script.iter().map(|line| {
            let line = line.replace("QUERY", QUERY).replace("TABLE", table);
            format!("{line}: {}", said(client, &line))
        });
        let lines: Vec<String> = lines.map(|line| line.replace(table, "TABLE")).collect();
        // Whatever is open ends.
        let _ = client.batch_execute("ROLLBACK");
        let _ = client.batch_execute("CLOSE ALL");
        lines
    };
    let twin = of_table("twin", client);
    let item = of_table("item", client);
    for (twin, item) in twin.iter().zip(&item) {
        assert_eq!(twin, item);
    }
}

/// What is fetched, and where to.
const FETCHED: &[&[&str]] = &[
    &[
        "BEGIN",
        "DECLARE c SCROLL CURSOR FOR QUERY",
        "FETCH c",
        "FETCH 2 FROM c",
        "FETCH PRIOR FROM c",
        "FETCH FORWARD 0 IN c",
        "MOVE 2 IN c",
        "FETCH RELATIVE -1 FROM c",
        "FETCH ABSOLUTE -1 FROM c",
        "FETCH NEXT FROM c",
        "FETCH NEXT FROM c",
        "FETCH BACKWARD 3 FROM c",
        "MOVE FORWARD ALL FROM c",
        "FETCH ALL FROM c",
        "FETCH BACKWARD ALL FROM c",
        "FETCH FIRST FROM c",
        "MOVE ABSOLUTE 0 IN c",
        "FETCH ALL c",
        "MOVE BACKWARD ALL IN c",
        "FETCH -2 FROM c",
        "FETCH +2 FROM \"c\"",
        "CLOSE c",
        "FETCH c",
    ],
    &[
        "BEGIN",
        "DECLARE c NO SCROLL CURSOR FOR QUERY",
        "FETCH 3 FROM c",
        "MOVE 0 FROM c",
        "FETCH ABSOLUTE 5 FROM c",
        "SAVEPOINT s",
        "FETCH PRIOR FROM c",
        "ROLLBACK TO s",
        "FETCH 0 FROM c",
        "ROLLBACK TO s",
        "FETCH 1 FROM c",
    ],
    &[
        "BEGIN",
        "DECLARE c NO SCROLL CURSOR FOR QUERY",
        "FETCH 2 FROM c",
        "FETCH LAST FROM c",
    ],
    // Without SCROLL the server decides by its plan; forward all go.
    &[
        "BEGIN",
        "DECLARE c CURSOR FOR QUERY",
        "FETCH 100 FROM c",
        "FETCH 1 FROM c",
        "COMMIT",
        "FETCH 1 FROM c",
    ],
    &[
        "DECLARE c CURSOR FOR QUERY",
        "FETCH c",
        "BEGIN",
        "DECLARE c CURSOR FOR QUERY",
        "DECLARE c CURSOR FOR QUERY",
        "ROLLBACK",
    ],
    // All at once.
    &[
        "BEGIN; DECLARE c CURSOR FOR QUERY; FETCH 2 FROM c; MOVE 1 FROM c; FETCH 2 FROM c; \
             CLOSE c; COMMIT",
        "BEGIN; DECLARE c CURSOR FOR QUERY; FETCH 2 FROM d; COMMIT",
    ],
    &[
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT lower(name) FROM TABLE WHERE price > 100",
        "FETCH c",
        "FETCH ALL FROM c",
        "MOVE ALL FROM c",
    ],
];

#[test]
fn rows_are_fetched_as_from_a_cursor_of_the_server() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for script in FETCHED {
        assert_alike(&mut client, script);
    }
}

/// How cursors end.
const ENDED: &[&[&str]] = &[
    // Savepoints.
    &[
        "BEGIN",
        "SAVEPOINT s",
        "DECLARE c CURSOR FOR QUERY",
        "FETCH 2 FROM c",
        "ROLLBACK TO s",
        "FETCH 1 FROM c",
        "ROLLBACK TO s",
        "DECLARE c CURSOR FOR SELECT lower(name) FROM TABLE ORDER BY price DESC NULLS LAST",
        "RELEASE s",
        "FETCH 2 FROM c",
        "SAVEPOINT t",
        "FETCH 1 FROM c",
        "CLOSE c",
        "ROLLBACK TO t",
        "FETCH 1 FROM c",
    ],
    // WITH HOLD.
    &[
        "BEGIN",
        "DECLARE c CURSOR WITH HOLD FOR QUERY",
        "FETCH 2 FROM c",
        "COMMIT",
        "FETCH 2 FROM c",
        "BEGIN",
        "FETCH 1 FROM c",
        "ROLLBACK",
        "FETCH 1 FROM c",
        "CLOSE c",
        "FETCH 1 FROM c",
    ],
    &[
        "BEGIN",
        "DECLARE c CURSOR WITH HOLD FOR QUERY",
        "ROLLBACK",
        "FETCH 1 FROM c",
        "DECLARE c CURSOR WITH HOLD FOR QUERY",
        "FETCH 1 FROM c",
        "CLOSE ALL",
        "FETCH 1 FROM c",
        "DECLARE c SCROLL CURSOR WITH HOLD FOR QUERY",
        "FETCH LAST FROM c",
        "DISCARD ALL",
        "FETCH 1 FROM c",
    ],
    // Another cursor of the same name.
    &[
        "BEGIN",
        "DECLARE c CURSOR FOR QUERY",
        "FETCH 1 FROM c",
        "CLOSE c",
        "DECLARE c CURSOR FOR SELECT 7 AS seven",
        "FETCH 1 FROM c",
        "SAVEPOINT s",
        "DECLARE c CURSOR FOR QUERY",
        "ROLLBACK TO s",
        "CLOSE c",
        "DECLARE c CURSOR FOR QUERY",
        "FETCH 1 FROM c",
        "COMMIT",
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT id FROM TABLE ORDER BY id",
        "FETCH 1 FROM c",
    ],
    &[
        "BEGIN",
        "DECLARE c CURSOR WITH HOLD FOR QUERY",
        "COMMIT",
        "SELECT 1 / 0; CLOSE c",
        "FETCH 1 FROM c",
        "CLOSE c; DECLARE c CURSOR WITH HOLD FOR SELECT 5 AS five",
        "FETCH 1 FROM c",
    ],
];

#[test]
fn a_cursor_ends_as_that_of_the_server() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for script in ENDED {
        assert_alike(&mut client, script);
    }
}

/// What the failure of a statement leaves of cursors that were there before it.
const FAILED: &[&[&str]] = &[
    &[
        "BEGIN; DECLARE c CURSOR FOR SELECT 7 AS seven; SAVEPOINT s",
        "DECLARE c CURSOR FOR QUERY",
        "ROLLBACK TO s",
        "FETCH c",
    ],
    &[
        "DECLARE c CURSOR WITH HOLD FOR SELECT name, price FROM TABLE ORDER BY id",
        "FETCH c",
        "SELECT 1 / 0; CLOSE c",
        "FETCH c",
        "BEGIN",
        "DISCARD ALL",
        "ROLLBACK",
        "FETCH c",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 7 AS seven",
        "FETCH c",
        "DECLARE c CURSOR WITH HOLD FOR QUERY",
        "FETCH c",
        "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM TABLE ORDER BY id; SELECT 1",
        "FETCH c",
        "CLOSE d",
        "FETCH c",
        "SELECT 1 / 0; CLOSE ALL",
        "FETCH c",
        "CLOSE c; DECLARE c CURSOR WITH HOLD FOR SELECT 7 AS seven; SELECT 1 / 0",
        "FETCH c",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 8 AS eight; SELECT 1",
        "FETCH c",
    ],
    &[
        "DECLARE c CURSOR WITH HOLD FOR QUERY",
        "FETCH c",
        "DECLARE c CURSOR WITH HOLD FOR SELECT name FROM TABLE ORDER BY id",
        "FETCH c",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 7 AS seven",
        "FETCH c",
        "DECLARE c CURSOR WITH HOLD FOR QUERY",
        "FETCH c",
        "SELECT 1 / 0; CLOSE ALL",
        "FETCH c",
        "CLOSE ALL",
        "FETCH c",
    ],
    &[
        "BEGIN; DECLARE c CURSOR FOR SELECT name FROM TABLE ORDER BY id",
        "SAVEPOINT s",
        "DECLARE c CURSOR FOR SELECT id FROM TABLE ORDER BY id",
        "ROLLBACK TO s",
        "FETCH c",
        "CLOSE d",
        "ROLLBACK TO s",
        "FETCH c",
        "COMMIT",
    ],
];

#[test]
fn a_statement_that_fails_leaves_cursors_as_they_were() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for script in FAILED {
        assert_alike(&mut client, script);
    }
}

#[test]
fn a_cursor_that_cannot_be_kept_is_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let query = QUERY.replace("TABLE", "item");
    for text in [
        format!("BEGIN; DECLARE c SCROLL CURSOR FOR {query} FOR UPDATE"),
        format!("BEGIN; DECLARE c CURSOR WITH HOLD FOR {query} FOR UPDATE"),
        format!("BEGIN; DECLARE c BINARY CURSOR FOR {query}"),
        format!("BEGIN; DECLARE c CURSOR FOR {query}; FETCH SOME FROM c"),
    ] {
        let error = client.batch_execute(&text).expect_err(&text);
        let code = error.code().map(SqlState::code);
        assert!(matches!(code, Some("0A000" | "42601")), "{text}: {error}");
        client.batch_execute("ROLLBACK").expect("ended");
    }
}

#[test]
fn a_cursor_with_parameters_gives_texts_and_binary_values() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for table in ["item", "twin"] {
        let mut transaction = client.transaction().expect("begun");
        let text = format!(
            "DECLARE c CURSOR FOR SELECT upper(name), price, id FROM {table} WHERE price > $1 AND \
             name LIKE $2 ORDER BY price"
        );
        let prepared = transaction.prepare_typed(
            &text,
            &[postgres::types::Type::INT4, postgres::types::Type::TEXT],
        );
        // To the server DECLARE has no parameters that are not declared.
        let prepared = prepared.expect("prepared");
        let done = transaction.execute(&prepared, &[&1_i32, &"word%"]);
        assert_eq!(done.expect("declared"), 0, "{table}");
        let rows = transaction.query("FETCH 2 FROM c", &[]).expect("fetched");
        let rows: Vec<(String, i32)> = rows.iter().map(|row| (row.get(0), row.get(2))).collect();
        assert_eq!(rows, [("WORD5".to_owned(), 5), ("WORD6".to_owned(), 6)]);
        let moved = transaction.execute("MOVE BACKWARD 5 FROM c", &[]);
        assert_eq!(moved.expect("moved"), 1);
        let rows = transaction.query("FETCH ALL FROM c", &[]).expect("fetched");
        assert_eq!(rows.len(), 3);
        transaction.commit().expect("committed");
    }
}

#[test]
fn drivers_describe_a_cursor_as_a_portal_and_fetch_in_portions() {
    let Some((setup, _client)) = start() else {
        return;
    };
    let mut session = Session::connect(setup.proxy.address.port());
    let mut kinds = Vec::new();
    for table in ["twin", "item"] {
        session.query("BEGIN");
        let text = format!("DECLARE c CURSOR FOR {}", QUERY.replace("TABLE", table));
        let answer = session.query(&text);
        assert_eq!(answer.tag, "DECLARE CURSOR\0", "{answer:?}");
        let mut messages = Vec::new();
        write_target(sent::DESCRIBE, Target::Portal(b"c"), &mut messages);
        messages.extend_from_slice(SYNC);
        session.send(&messages);
        let described = session.messages();
        let columns = described
            .iter()
            .find(|(own, _)| *own == kind::ROW_DESCRIPTION);
        let fields = read_row_description(&columns.expect("columns").1).expect("well formed");
        let fields: Vec<_> = fields
            .iter()
            .map(|field| (field.name.to_vec(), field.type_oid, field.format))
            .collect();
        // FETCH as a prepared statement, by two rows of its portal.
        let mut messages = Vec::new();
        write_parse(b"f", b"FETCH 5 FROM c", std::iter::empty(), &mut messages);
        write_target(sent::DESCRIBE, Target::Statement(b"f"), &mut messages);
        let nothing = |_: &mut Vec<u8>| Ok::<(), ()>(());
        let formats = std::iter::empty();
        let binary = [1].into_iter();
        write_bind((b"p", b"f"), formats, nothing, binary, &mut messages).expect("bound");
        write_target(sent::DESCRIBE, Target::Portal(b"p"), &mut messages);
        for _ in 0..3 {
            write_execute(b"p", 2, &mut messages);
        }
        messages.extend_from_slice(SYNC);
        session.send(&messages);
        kinds.push((fields, session.messages()));
        let answer = session.query("COMMIT");
        assert_eq!(answer.tag, "COMMIT\0", "{answer:?}");
        session.query("DEALLOCATE f");
    }
    let [twin, item] = <[_; 2]>::try_from(kinds).expect("two");
    assert_eq!(twin.0, item.0);
    let plain = |messages: Vec<(u8, Vec<u8>)>| {
        let shown = messages.into_iter().map(|(own, body)| match own {
            // Columns of an answer have no table.
            kind::ROW_DESCRIPTION => (own, Vec::new()),
            own => (own, body),
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(plain(twin.1), plain(item.1));
}

#[test]
fn a_portal_of_a_finished_query_gives_its_rows_in_portions() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for table in ["twin", "item"] {
        let text = QUERY.replace("TABLE", table);
        let mut transaction = client.transaction().expect("begun");
        let portal = transaction.bind(&text, &[]).expect("bound");
        let mut counts = Vec::new();
        for rows_max in [3, 3, 3, 3] {
            let rows = transaction.query_portal(&portal, rows_max).expect("rows");
            counts.push((rows.len(), rows.first().map(|row| row.get::<_, i32>(3))));
        }
        let expected = [(3, Some(1)), (3, Some(4)), (2, Some(7)), (0, None)];
        assert_eq!(counts, expected, "{table}");
    }
}

#[test]
fn the_rows_of_all_cursors_together_are_limited() {
    let Some((_setup, mut client)) = start_with("max_finish_bytes = 4096") else {
        return;
    };
    let named = "UPDATE item SET name = 'CANARY'";
    client.batch_execute(named).expect(named);
    let text = "SELECT repeat('word', 100) || upper(name) FROM item WHERE id < 3";
    client.batch_execute("BEGIN").expect("begun");
    let declared = (0..20).map(|number| {
        let text = format!("DECLARE c{number} CURSOR FOR {text}");
        client.batch_execute(&text)
    });
    let error = declared.filter_map(Result::err).next().expect("too many");
    let code = error.code().map(SqlState::code);
    assert_eq!(code, Some("54000"), "{error}");
    client.batch_execute("ROLLBACK").expect("they are gone");
    client.batch_execute("BEGIN").expect("begun");
    let text = format!("DECLARE c CURSOR FOR {text}");
    client.batch_execute(&text).expect("there is room again");
}
