//! Constraints of a server that stand for checks of rules: how they come and go, and what is
//! written meanwhile.

use std::io::Read;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use postgres::Client;

use super::{TABLES, begin, told};
use crate::common::client_of;
use crate::common::texts::answer;
use crate::schema::until_checked;

#[test]
fn prepared_statements_follow_the_constraints() {
    let Some(mut twins) = begin() else {
        return;
    };
    let own = &mut twins.own;
    let text = "INSERT INTO item (id, mail, number) VALUES ($1, $2, 2)";
    let insert = own.prepare(text).expect("prepared");
    let run = |own: &mut Client, id: i32, mail: &str| {
        let done = own.execute(&insert, &[&id, &mail]);
        done.map_err(|error| told(&error))
    };
    assert_eq!(run(own, 71, "CANARY@"), Ok(1));
    let error = run(own, 72, "CANARY").expect_err("it fails");
    assert_eq!((&*error.0, error.2.as_deref()), ("23514", Some("has_at")));
    let mut other = client_of(&twins.setup.proxy);
    answer(&mut other, "TRUNCATE item").expect("empty");
    answer(&mut other, "ALTER TABLE item DROP CONSTRAINT has_at").expect("dropped");
    for mail in ["CANARY@", "CANARY"] {
        let error = run(own, 73, mail).expect_err("nobody would check it");
        assert!(error.1.contains("lacks the check has_at"), "{error:?}");
    }
    let text = "ALTER TABLE item ADD CONSTRAINT has_at CHECK (mail LIKE '%@%')";
    answer(&mut other, text).expect(text);
    assert_eq!(run(own, 74, "CANARY@"), Ok(1));
    let error = run(own, 75, "CANARY").expect_err("it fails");
    assert_eq!(error.2.as_deref(), Some("has_at"));
}

/// The proxy refuses a statement, with these words in its hint.
#[track_caller]
fn assert_refused(client: &mut Client, text: &str, hint: &str) {
    let error = answer(client, text).expect_err(text);
    let error = error.as_db_error().expect("of the proxy").clone();
    assert_eq!(error.code().code(), "0A000", "{text}: {error:?}");
    let said = error.hint().unwrap_or_default();
    assert!(said.contains(hint), "{text}: {error:?}");
}

#[test]
fn a_constraint_that_no_rule_names_is_refused() {
    let Some(mut twins) = begin() else {
        return;
    };
    for (text, hint) in [
        (
            "CREATE TABLE letter2 (id integer); ALTER TABLE letter ADD CHECK (mail <> '4711')",
            "`checks = { letter_mail_check = \"mail <> '4711'\" }`",
        ),
        (
            "ALTER TABLE item ADD CONSTRAINT other CHECK (price > 0 AND note <> '')",
            "one check for each",
        ),
        (
            "ALTER TABLE item ADD CONSTRAINT other CHECK (price < random())",
            "in the application",
        ),
        (
            "ALTER TABLE item RENAME CONSTRAINT b_small TO c_small",
            "rename it in the rule",
        ),
        (
            "ALTER TABLE letter ADD CONSTRAINT other CHECK (mail > 'a') NO INHERIT",
            "`checks = {",
        ),
        (
            "ALTER TABLE item ADD CONSTRAINT b_small CHECK (price < 1000) NO INHERIT",
            "Leave NO INHERIT",
        ),
        (
            "ALTER TABLE item ADD CONSTRAINT b_small CHECK (price < 1001)",
            "the same expression in both",
        ),
        (
            "ALTER TABLE item ADD CONSTRAINT b_small CHECK (item.price < 1000.0::real)",
            "the same expression in both",
        ),
    ] {
        assert_refused(&mut twins.own, text, hint);
    }
}

#[test]
fn constraints_go_and_come_while_the_table_is_empty() {
    let Some(mut twins) = begin() else {
        return;
    };
    let own = &mut twins.own;
    let drop = "ALTER TABLE item DROP CONSTRAINT b_small";
    answer(own, drop).expect(drop);
    let right = "INSERT INTO item (id, price, number) VALUES (31, 5, 2)";
    let error = answer(own, right).expect_err("nobody would check it");
    let said = told(&error).1;
    assert!(said.contains("lacks the check b_small"), "{said}");
    let add = "ALTER TABLE item ADD CONSTRAINT b_small CHECK (price < 1000)";
    assert_refused(own, add, "copy the rows");
    assert_refused(own, &format!("{add} NOT VALID"), "copy the rows");
    answer(own, "TRUNCATE item").expect("empty");
    answer(own, &format!("{add} NOT VALID")).expect("added");
    let validate = "ALTER TABLE item VALIDATE CONSTRAINT b_small";
    answer(own, validate).expect(validate);
    answer(own, right).expect("it is right");
    let wrong = "INSERT INTO item (id, price, number) VALUES (32, 5000, 2)";
    let error = answer(own, wrong).expect_err("it is checked again");
    assert_eq!(told(&error).2.as_deref(), Some("b_small"));
    // The server has nothing of the expressions, and its own form is taken again, as of a dump.
    let printed = printed(&mut twins.setup.server.connect(), "b_small");
    assert!(!printed.contains("1000"), "{printed}");
    answer(own, "TRUNCATE item").expect("empty");
    answer(own, drop).expect(drop);
    let text = format!("ALTER TABLE item ADD CONSTRAINT b_small {printed}");
    answer(own, &text).expect(&text);
    answer(own, wrong).expect_err("it is checked again");
    // What a text creates is known in the same text.
    answer(own, "DROP TABLE item").expect("dropped");
    let create = TABLES[0];
    let text = format!("{create}; INSERT INTO item (id, price, number) VALUES (1, -1, 2)");
    let error = answer(own, &text).expect_err("it lacks one that comes later");
    let said = told(&error).1;
    assert!(said.contains("lacks the check known_state"), "{said}");
    let create = create.replace(
        "state text",
        "state text CONSTRAINT known_state CHECK (state IN \
                                 ('CANARY new', 'CANARY old'))",
    );
    let text = format!("{create}; INSERT INTO item (id, price, number) VALUES (1, -1, 2)");
    let error = answer(own, &text).expect_err("it is checked at once");
    assert_eq!(told(&error).2.as_deref(), Some("item_price_check"));
    let text = format!("{create}; INSERT INTO item (id, price, number) VALUES (1, 1, 2)");
    answer(own, &text).expect("it is right");
}

/// Longer than it takes until a change past the proxy is noticed on a busy machine.
const NOTICED_MAX: Duration = Duration::from_secs(60);

/// Sends a statement until it is refused with these words.
#[track_caller]
fn until_said(client: &mut Client, text: &str, says: &str) {
    let deadline = Instant::now() + NOTICED_MAX;
    loop {
        let said = client.batch_execute(text).map_err(|error| told(&error).1);
        match said {
            Err(said) if said.contains(says) => return,
            _ => assert!(Instant::now() < deadline, "{says}: {said:?}"),
        }
        sleep(Duration::from_millis(100));
    }
}

/// What the server has in the place of a check.
fn printed(client: &mut Client, name: &str) -> String {
    let text =
        format!("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = '{name}'");
    answer(client, &text).expect("a constraint").concat()
}

#[test]
fn nothing_is_written_where_a_constraint_is_missing_or_another() {
    let Some(mut twins) = begin() else {
        return;
    };
    let mut past = twins.setup.server.connect();
    let own = printed(&mut past, "has_at");
    let writes = [
        "UPDATE item SET plain = plain",
        "INSERT INTO item (id, number) VALUES (41, 2)",
        "INSERT INTO item (id, mail, number) VALUES (41, 'x@', 2)",
        "UPDATE item SET mail = 'x@'",
        "UPDATE item SET plain = 7",
        "UPDATE item SET price = price + 1 WHERE price > 2",
        "WITH w AS (UPDATE item SET plain = 7 RETURNING id) SELECT * FROM w",
        "MERGE INTO item USING (SELECT 1 AS id) s ON s.id = item.id WHEN MATCHED THEN UPDATE SET \
         plain = 7",
        "COPY item (id, mail, number) FROM STDIN",
    ];
    let mut change = |text: &str, client: &mut Client, says: &str| {
        past.batch_execute(text).expect(text);
        until_said(client, writes[0], says);
        for text in writes {
            let error = client.batch_execute(text).expect_err(text);
            let said = told(&error).1;
            assert!(said.contains(says), "{text}: {said}");
        }
    };
    let drop = "ALTER TABLE item DROP CONSTRAINT has_at";
    change(drop, &mut twins.own, "lacks the check has_at");
    let text = "SELECT mail FROM item WHERE id = 1";
    assert_eq!(answer(&mut twins.own, text).expect(text), ["CANARY a@b"]);
    let text = "DELETE FROM item WHERE mail = 'CANARY none'";
    answer(&mut twins.own, text).expect(text);
    for another in [
        "CHECK (substr(mail, 3, 16) <> '\\x00')",
        "CHECK (substr(mail, 3, 16) = '\\x00') NO INHERIT NOT VALID",
        &own.replacen("mail", "price", 1),
        &own.replacen("3", "4", 1),
        &own.replacen("<>", ">", 1),
        &own.replacen("CHECK (", "CHECK (id > 0 OR ", 1),
        &format!("{own} NO INHERIT NOT VALID"),
    ] {
        let add = format!("ALTER TABLE item ADD CONSTRAINT has_at {another}");
        change(&add, &mut twins.own, "constraint has_at");
        change(drop, &mut twins.own, "lacks the check has_at");
    }
    // One of that name over a plain column checks nothing of ours.
    let add = "ALTER TABLE item ADD CONSTRAINT has_at CHECK (plain > 0)";
    change(add, &mut twins.own, "lacks the check has_at");
    past.batch_execute(&format!(
        "{drop}; ALTER TABLE item ADD CONSTRAINT has_at {own}"
    ))
    .expect("as it was");
    let deadline = Instant::now() + NOTICED_MAX;
    while let Err(error) = twins.own.batch_execute("UPDATE item SET plain = 7") {
        assert!(Instant::now() < deadline, "{error:?}");
        sleep(Duration::from_millis(100));
    }
    let text = "UPDATE item SET mail = 'x@' WHERE id = 1";
    answer(&mut twins.own, text).expect(text);
    let text = "UPDATE item SET mail = 'x' WHERE id = 1";
    let error = answer(&mut twins.own, text).expect_err("it is checked");
    assert_eq!(told(&error).2.as_deref(), Some("has_at"));
}

#[test]
fn a_value_with_a_mark_is_never_shown() {
    let Some(mut twins) = begin() else {
        return;
    };
    let mut past = twins.setup.server.connect();
    let own = printed(&mut past, "has_at");
    let mark = own.split('\'').nth(1).expect("a constant").to_owned();
    let guard = answer(&mut past, GUARD).expect("names").concat();
    // As if the constraint were dropped while a value that fails it is on its way, without a guard.
    past.batch_execute(&format!(
        "ALTER TABLE item DROP CONSTRAINT has_at, DROP CONSTRAINT \"{guard}\"; UPDATE item SET \
         mail = '\\x8f' || '{mark}'::bytea || substr(mail, 2) WHERE id = 1"
    ))
    .expect("marked");
    until_checked(&twins.setup, &mut twins.own);
    for text in [
        "SELECT mail FROM item WHERE id = 1",
        "SELECT id FROM item WHERE lower(mail) = 'canary a@b'",
        "COPY item (mail) TO STDOUT",
    ] {
        // The session ends with the value.
        let mut own = client_of(&twins.setup.proxy);
        let said = match text.starts_with("COPY") {
            false => answer(&mut own, text).expect_err(text).to_string(),
            true => {
                let mut shown = String::new();
                let said = match own.copy_out(text) {
                    Ok(mut reader) => match reader.read_to_string(&mut shown) {
                        Ok(_) => panic!("{shown}"),
                        Err(error) => error.to_string(),
                    },
                    Err(error) => error.to_string(),
                };
                assert!(!shown.contains("a@b"), "{shown}");
                said
            }
        };
        assert!(!said.contains("a@b"), "{text}: {said}");
    }
    let text = "SELECT id FROM item WHERE mail = 'CANARY a@b'";
    let mut own = client_of(&twins.setup.proxy);
    assert_eq!(answer(&mut own, text).expect(text), [""; 0]);
    // What the manual says to make it the value that it was.
    let mend = "UPDATE item SET mail = '\\x90' || substr(mail, 18) WHERE substr(mail, 1, 1) = \
                '\\x8f'";
    past.batch_execute(mend).expect(mend);
    assert_eq!(answer(&mut own, text).expect(text), ["1"]);
}

/// The guard of a table, by the name that the server has for it.
const GUARD: &str = "SELECT conname FROM pg_constraint WHERE conrelid = 'item'::regclass AND \
                     conname LIKE '%strongroom_guard%'";

#[test]
fn a_value_whose_constraint_goes_while_it_is_on_its_way_is_not_stored() {
    let Some(mut twins) = begin() else {
        return;
    };
    let proxy = &twins.setup.proxy;
    let mut past = twins.setup.server.connect();
    let guard = answer(&mut past, GUARD).expect("names");
    assert!(matches!(&guard[..], [name] if name.starts_with("~strongroom_guard_")));
    let mut id = 80;
    for (name, wrong) in [("has_at", "'CANARY', 2"), ("zz_number", "'CANARY@', 3")] {
        let drop = format!("ALTER TABLE item DROP CONSTRAINT {name}");
        let again = format!(
            "ALTER TABLE item ADD CONSTRAINT {name} {}",
            printed(&mut past, name)
        );
        for mut dropping in [client_of(proxy), twins.setup.server.connect()] {
            id += 1;
            let text = format!("INSERT INTO item (id, mail, number) VALUES ({id}, {wrong})");
            let mut writing = client_of(proxy);
            answer(&mut writing, "SELECT mail FROM item").expect("rows");
            dropping.batch_execute("BEGIN").expect("begun");
            dropping.batch_execute(&drop).expect(&drop);
            let waiting = thread::spawn(move || {
                let said = answer(&mut writing, &text).map_err(|error| told(&error));
                (writing, said)
            });
            let waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query \
                         LIKE '%INTO%item%'";
            let deadline = Instant::now() + NOTICED_MAX;
            while answer(&mut past, waits).expect("activity").is_empty() {
                assert!(Instant::now() < deadline, "nothing waits");
                sleep(Duration::from_millis(20));
            }
            dropping.batch_execute("COMMIT").expect("committed");
            let (mut writing, said) = waiting.join().expect("no panic");
            let said = said.expect_err("nobody checks it");
            assert_eq!(
                (&*said.0, said.2.as_deref()),
                ("23514", Some(&*guard[0])),
                "{said:?}"
            );
            let rows = answer(
                &mut writing,
                "SELECT id FROM item WHERE mail LIKE 'CANARY%'",
            );
            assert_eq!(rows.expect("they open"), ["1", "2"]);
            past.batch_execute(&again).expect(&again);
            until_checked(&twins.setup, &mut twins.own);
        }
    }
}

#[test]
fn a_guard_from_before_the_checks_comes_after_them_once_they_are_added() {
    let Some(mut twins) = begin() else {
        return;
    };
    let mut past = twins.setup.server.connect();
    let last = answer(&mut past, GUARD).expect("names").concat();
    let first = last.trim_start_matches('~').to_owned();
    // As a table that was made before the rules had checks.
    past.batch_execute(&format!(
        "TRUNCATE item; ALTER TABLE item DROP CONSTRAINT zz_number; ALTER TABLE item RENAME \
         CONSTRAINT \"{last}\" TO {first}"
    ))
    .expect("as before");
    until_checked(&twins.setup, &mut twins.own);
    let own = &mut twins.own;
    let text =
        "ALTER TABLE item ADD CONSTRAINT zz_number CHECK (number IS NOT NULL AND number % 2 = 0)";
    answer(own, text).expect(text);
    let guards = answer(&mut past, GUARD).expect("names");
    assert!(matches!(&guards[..], [name] if name.starts_with("~strongroom_guard_")));
    let valid = "SELECT convalidated FROM pg_constraint WHERE conname LIKE '~%'";
    assert_eq!(answer(&mut past, valid).expect("one"), ["t"]);
    let wrong = "INSERT INTO item (id, number) VALUES (91, 3)";
    let error = answer(own, wrong).expect_err("it is checked");
    assert_eq!(told(&error).2.as_deref(), Some("zz_number"));
    let right = "INSERT INTO item (id, number) VALUES (91, 4)";
    answer(own, right).expect(right);
    let text = "SELECT conname FROM pg_constraint WHERE conname LIKE '%guard%'";
    assert_eq!(answer(own, text).expect("names"), [""; 0]);
}

#[test]
fn no_key_gives_new_values_to_a_column_that_is_checked() {
    let Some(mut twins) = begin() else {
        return;
    };
    let own = &mut twins.own;
    for text in [
        "ALTER TABLE letter ADD UNIQUE (mail)",
        "INSERT INTO letter VALUES (3, 'CANARY c@d')",
    ] {
        answer(own, text).expect(text);
    }
    let key =
        "ALTER TABLE item ADD CONSTRAINT to_letter FOREIGN KEY (mail) REFERENCES letter (mail)";
    assert_refused(
        own,
        &format!("{key} ON UPDATE CASCADE"),
        "ON UPDATE CASCADE",
    );
    let text = "CREATE TABLE item2 (mail varchar(60) REFERENCES letter (mail) ON UPDATE CASCADE)";
    answer(own, text).expect_err("its other column is plain");
    answer(own, &format!("{key} ON UPDATE SET NULL")).expect("the server sees to NULL");
    let drop = "ALTER TABLE item DROP CONSTRAINT to_letter";
    answer(own, drop).expect(drop);
    let mut past = twins.setup.server.connect();
    past.batch_execute(&format!("{key} ON UPDATE CASCADE"))
        .expect("past the proxy");
    until_said(
        own,
        "UPDATE letter SET mail = 'CANARY' WHERE id = 3",
        "ON UPDATE CASCADE",
    );
}

#[test]
fn what_is_rolled_back_is_not_relied_on() {
    let Some(mut twins) = begin() else {
        return;
    };
    let own = &mut twins.own;
    let add = "ALTER TABLE item ADD CONSTRAINT has_at CHECK (mail LIKE '%@%')";
    let wrong = "INSERT INTO item (id, mail, number) VALUES (81, 'CANARY', 2)";
    for text in [
        "TRUNCATE item",
        "ALTER TABLE item DROP CONSTRAINT has_at",
        "BEGIN",
        "SAVEPOINT s",
        add,
        "ROLLBACK TO s",
    ] {
        answer(own, text).expect(text);
    }
    let error = answer(own, wrong).expect_err("nobody would check it");
    assert!(
        told(&error).1.contains("lacks the check has_at"),
        "{error:?}"
    );
    answer(own, "ROLLBACK").expect("rolled back");
    answer(own, add).expect(add);
    // One text, whose statements are planned before the first is sent.
    let drop = "ALTER TABLE item DROP CONSTRAINT has_at";
    answer(own, &format!("{drop}; {wrong}")).expect_err("nobody would check it");
    assert_eq!(answer(own, "SELECT id FROM item").expect("rows"), [""; 0]);
    let text = "ALTER TABLE item ADD COLUMN own integer, ADD CONSTRAINT zz2 CHECK (mail <> 'x')";
    assert_refused(own, text, "`checks = { zz2");
}
