//! What a session has set for its next transaction, what it counts, and how it sorts: the proxy's
//! own questions change none of it.

use mysql::prelude::Queryable as _;

use super::inserted::same;
use super::lab::{assert_refused, both, connect};

#[test]
fn set_transaction_holds_for_the_next_transaction() {
    for mut lab in both() {
        for begin in [
            "BEGIN WORK",
            "begin  work",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "START TRANSACTION READ ONLY",
            "BEGIN",
        ] {
            for client in [&mut lab.ours, &mut lab.theirs] {
                let set = "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED";
                client.query_drop(set).expect(set);
                client.query_drop(begin).expect(begin);
            }
            let insert = "INSERT INTO person (id, name) VALUES (77, 'new')";
            // Another session of the same kind writes what is not committed.
            let mut other = connect(lab.proxy.port(), "shop");
            other.query_drop("BEGIN").expect("a transaction");
            other.query_drop(insert).expect(insert);
            let seen: Option<u32> = lab
                .ours
                .query_first("SELECT COUNT(*) FROM person WHERE id = 77")
                .expect("a count");
            assert_eq!(seen, Some(1), "{begin}");
            other.query_drop("ROLLBACK").expect("rolled back");
            for client in [&mut lab.ours, &mut lab.theirs] {
                client.query_drop("COMMIT WORK").expect("committed");
            }
        }
    }
}

#[test]
fn rows_are_counted_as_by_the_server() {
    for mut lab in both() {
        for statement in [
            "INSERT INTO person (id, name, number, born) VALUES (1, 'a', 5, '2024-01-02'), (2, \
             'b', 6, NULL)",
            "SELECT ROW_COUNT() AS c",
            "UPDATE person SET name = 'x', number = 7 WHERE id = 1",
            "SELECT ROW_COUNT() AS c",
            "UPDATE person SET number = number + 1 WHERE id = 1",
            "SELECT ROW_COUNT() AS c",
            "UPDATE person SET city = 'y' WHERE born = '2024-01-02'",
            "SELECT ROW_COUNT()",
            "UPDATE plain SET note = 'y'",
            "SELECT ROW_COUNT() AS c",
            "SELECT ROW_COUNT() AS c",
            "DELETE FROM person WHERE number = 6",
            "SELECT ROW_COUNT() AS c",
        ] {
            same(&mut lab, statement, vec![]);
        }
    }
}

#[test]
fn a_session_that_sorts_by_few_bytes_sorts_no_sealed_values() {
    for mut lab in both() {
        let set = "SET max_sort_length = 64";
        same(&mut lab, set, vec![]);
        for statement in [
            "SELECT number FROM person ORDER BY number",
            "SELECT number, COUNT(*) FROM person GROUP BY number",
            "SELECT DISTINCT number FROM person",
        ] {
            assert_refused(&mut lab, statement);
        }
        same(&mut lab, "SELECT number FROM person WHERE id = 1", vec![]);
        same(&mut lab, "SET max_sort_length = DEFAULT", vec![]);
        same(&mut lab, "SELECT DISTINCT number FROM person", vec![]);
    }
}
