//! Refused: what the server would do with protected tables by itself, and unknown statements.

use super::{passes, refused};

#[test]
fn code_in_the_server_does_not_see_protected_tables() {
    refused(
        "CREATE TRIGGER t BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION f()",
        "sees ciphertext",
    );
    refused(
        "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM people'",
        "does not look into functions",
    );
    refused(
        "CREATE POLICY p ON people USING (name = current_user)",
        "sees ciphertext",
    );
    passes("CREATE TRIGGER t BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION f()");
    passes("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    passes("CREATE POLICY p ON plain USING (b = current_user)");
}

#[test]
fn an_unknown_table_is_not_changed() {
    refused("CREATE INDEX i ON visits (person)", "before it is there");
    refused(
        "ALTER TABLE app.later ADD COLUMN x int",
        "before it is there",
    );
    refused(
        "CREATE VIEW v AS SELECT secret FROM app.later",
        "a view may select",
    );
}

#[test]
fn constraints_of_a_table_that_may_be_missing_can_be_dropped() {
    passes("ALTER TABLE IF EXISTS visits DROP CONSTRAINT IF EXISTS a, DROP CONSTRAINT b CASCADE");
    passes("ALTER TABLE IF EXISTS app.later DROP CONSTRAINT a");
    for statement in [
        "ALTER TABLE visits DROP CONSTRAINT a",
        "ALTER TABLE IF EXISTS visits DROP CONSTRAINT a, ADD COLUMN reason text",
        "ALTER TABLE IF EXISTS visits DROP CONSTRAINT IF EXISTS strongroom_guard_1",
    ] {
        refused(statement, "before it is there");
    }
}

#[test]
fn rows_are_excluded_by_plain_columns_only() {
    for statement in [
        "ALTER TABLE people ADD CONSTRAINT e EXCLUDE USING gist (name WITH =)",
        "ALTER TABLE people ADD EXCLUDE USING gist (city WITH =, (id) WITH =)",
        "CREATE TABLE people (id int, name varchar(40), city text, EXCLUDE USING gist (name WITH \
         =))",
    ] {
        refused(statement, "EXCLUDE compares values by its operators");
    }
    for statement in [
        "ALTER TABLE people ADD EXCLUDE USING gist (lower(note) WITH =)",
        "ALTER TABLE people ADD EXCLUDE USING gist (city WITH =) WHERE (note > '')",
        "ALTER TABLE people ADD EXCLUDE (hashtext(people::text) WITH =)",
    ] {
        refused(statement, "EXCLUDE over protected columns");
    }
    refused(
        "ALTER TABLE people ADD CONSTRAINT strongroom_guard_1 EXCLUDE (city WITH =)",
        "strongroom_guard",
    );
}
