//! Temporary tables beside tables that the proxy knows.

use super::inserted::same;
use super::lab::{assert_refused, both};

#[test]
fn a_temporary_table_hides_no_table_that_the_proxy_knows() {
    for mut lab in both() {
        for statement in [
            "CREATE TEMPORARY TABLE person (id INT, name VARCHAR(20))",
            "CREATE TEMPORARY TABLE plain (id INT, name VARCHAR(20))",
            "CREATE TEMPORARY TABLE IF NOT EXISTS shop.`plain` SELECT 1 AS id",
            "CREATE TEMPORARY TABLE plain LIKE card",
            "CREATE PROCEDURE make_it() CREATE TEMPORARY TABLE plain (id INT)",
        ] {
            assert_refused(&mut lab, statement);
        }
        let create = "CREATE TEMPORARY TABLE other (id INT PRIMARY KEY, name VARCHAR(20))";
        same(&mut lab, create, vec![]);
        for statement in [
            "ALTER TABLE other RENAME TO plain",
            "ALTER TABLE other RENAME person",
            "RENAME TABLE other TO plain",
        ] {
            assert_refused(&mut lab, statement);
        }
        for statement in [
            "INSERT INTO other VALUES (1, 'a')",
            "SELECT * FROM other",
            "ALTER TABLE other RENAME TO another",
            "SELECT * FROM another",
            "DROP TEMPORARY TABLE another",
            "SELECT * FROM plain",
        ] {
            same(&mut lab, statement, vec![]);
        }
        // Beside a protected table it is not known, so nothing is judged by another's columns.
        same(&mut lab, create, vec![]);
        assert_refused(
            &mut lab,
            "SELECT p.name FROM person p JOIN other o ON o.id = p.id",
        );
    }
}
