//! What extensions and users have added to the server, and the finisher does not know: it is
//! refused with a reason, and never evaluated otherwise.

use postgres::Client;

use crate::common::Setup;
use crate::common::texts::answer;

const RULES: &str = r#"
[columns.item]
name = { type = "text" }
price = { type = "numeric(10,2)" }
tags = { type = "integer[]" }
"#;

/// A protected table `item` and its twin `plain`.
fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    for table in ["item", "plain"] {
        let make = format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, name text, price numeric(10,2), tags \
             integer[])"
        );
        client.batch_execute(&make).expect(&make);
        let insert = format!(
            "INSERT INTO {table} VALUES (1, 'word one', 7.50, '{{1,2}}'), (2, 'word two', 8, \
             '{{3}}')"
        );
        client.batch_execute(&insert).expect(&insert);
    }
    Some((setup, client))
}

/// The rows, or the code of the error with its message and hint.
fn said(client: &mut Client, query: &str) -> Result<Vec<String>, (String, String)> {
    answer(client, query).map_err(|error| {
        let error = error.as_db_error().expect("an error of the server");
        let hint = error.hint().unwrap_or_default();
        let code = error.code().code().to_owned();
        (code, format!("{} {hint}", error.message()))
    })
}

#[track_caller]
fn assert_refused(client: &mut Client, query: &str, operator: &str) {
    let (code, text) = said(client, query).expect_err(query);
    assert_eq!(code, "0A000", "{query}: {text}");
    let named = format!("operator {operator} of an extension or of users");
    assert!(text.contains(&named), "{query}: {text}");
    assert!(text.contains("Write the condition with those"), "{text}");
}

#[track_caller]
fn assert_same(client: &mut Client, query: &str) {
    let own = said(client, query);
    let twin = said(client, &query.replace("item", "plain"));
    assert_eq!(own, twin, "{query}");
}

/// The operator of `pg_trgm`, and others like it.
const OPERATORS: &str = "
    CREATE FUNCTION is_alike(text, text) RETURNS boolean IMMUTABLE
        LANGUAGE sql AS 'SELECT left($1, 3) = left($2, 3)';
    CREATE OPERATOR % (LEFTARG = text, RIGHTARG = text, FUNCTION = is_alike);
    CREATE OPERATOR <%> (LEFTARG = text, RIGHTARG = text, FUNCTION = is_alike);
";

#[test]
fn operators_that_the_finisher_does_not_have_are_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let client = &mut client;
    // Nobody knows it yet.
    let unknown = "SELECT id FROM item WHERE name % 'word'";
    assert_eq!(said(client, unknown).expect_err("unknown").0, "42883");
    assert_same(client, unknown);
    client.batch_execute(OPERATORS).expect("made");
    for (query, operator) in [
        (unknown, "%"),
        ("SELECT id FROM item WHERE 'a' % 'b' OR price = 1", "%"),
        ("SELECT count(*) FROM item WHERE name <%> 'CAN'", "<%>"),
        ("UPDATE item SET price = 1 WHERE name % 'word'", "%"),
        ("DELETE FROM item WHERE name OPERATOR(public.%) 'word'", "%"),
    ] {
        assert_refused(client, query, operator);
    }
    // Where the server takes its own.
    for query in [
        "SELECT id, price % 3 FROM item ORDER BY id",
        "SELECT id FROM item WHERE price % 2 = 0 ORDER BY id",
    ] {
        assert!(said(client, query).is_ok(), "{query}");
        assert_same(client, query);
    }
    // Of whatever schema it is.
    let own = "SELECT id FROM item WHERE price OPERATOR(pg_catalog.%) 2 = 0 ORDER BY id";
    assert!(said(client, own).is_ok(), "{own}");
    assert_same(client, own);
    // An error that has nothing to do with it.
    assert_same(client, "SELECT id FROM item WHERE name - 1 > 0");
}

/// The server takes the operator for exactly these types.
#[test]
fn operators_that_the_server_prefers_to_its_own_are_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let client = &mut client;
    let overlap = "SELECT id FROM item WHERE tags && '{2,9}' ORDER BY id";
    let sum = "SELECT id, price + 1 FROM item WHERE price + 1 > 3 ORDER BY id";
    for query in [overlap, sum] {
        assert!(said(client, query).is_ok(), "{query}");
        assert_same(client, query);
    }
    let made = client.batch_execute(
        "CREATE FUNCTION never(integer[], integer[]) RETURNS boolean IMMUTABLE
             LANGUAGE sql AS 'SELECT false';
         CREATE OPERATOR && (LEFTARG = integer[], RIGHTARG = integer[], FUNCTION = never);
         CREATE FUNCTION nought(numeric, integer) RETURNS numeric IMMUTABLE
             LANGUAGE sql AS 'SELECT 0::numeric';
         CREATE OPERATOR + (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = nought)",
    );
    made.expect("made");
    assert_refused(client, overlap, "&&");
    assert_refused(client, sum, "+");
}

#[track_caller]
fn assert_answered(client: &mut Client, query: &str) {
    assert!(said(client, query).is_ok(), "{query}");
    assert_same(client, query);
}

#[track_caller]
fn assert_configuration_refused(client: &mut Client, query: &str) {
    let (code, text) = said(client, query).expect_err(query);
    assert_eq!(code, "0A000", "{query}: {text}");
    assert!(
        text.contains("a text search configuration of users"),
        "{query}: {text}"
    );
}

#[test]
fn text_search_configurations_of_users_and_altered_ones_are_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let client = &mut client;
    let by_cast = "SELECT id FROM item WHERE to_tsvector('english'::regconfig, name) @@ \
                   to_tsquery('english'::regconfig, 'words')";
    let by_name = "SELECT id, to_tsvector('english', name) FROM item ORDER BY id";
    let of_session = "SELECT id, to_tsvector(name) FROM item ORDER BY id";
    let headline = "SELECT ts_headline('english', name, plainto_tsquery('english', 'words')) FROM \
                    item ORDER BY id";
    let all = [by_cast, by_name, of_session, headline];
    for query in all {
        assert_answered(client, query);
    }
    assert_same(
        client,
        "SELECT to_tsvector('none'::regconfig, name) FROM item",
    );
    client
        .batch_execute("CREATE TEXT SEARCH CONFIGURATION own (COPY = simple)")
        .expect("made");
    assert_answered(client, by_cast);
    assert_answered(client, by_name);
    for query in [
        of_session,
        headline,
        "SELECT to_tsvector('own'::regconfig, name) FROM item",
        "SELECT to_tsvector('own', name) FROM item",
        "SELECT id FROM item WHERE to_tsvector(tags::text::regconfig, name) @@ 'word'",
    ] {
        assert_configuration_refused(client, query);
    }
    client
        .batch_execute(
            "ALTER TEXT SEARCH CONFIGURATION english ALTER MAPPING FOR asciiword WITH simple",
        )
        .expect("altered");
    for query in all {
        assert_configuration_refused(client, query);
    }
    let other = "SELECT id, to_tsvector('german', name) FROM item ORDER BY id";
    assert_answered(client, other);
    client
        .batch_execute("ALTER TEXT SEARCH DICTIONARY german_stem (StopWords)")
        .expect("altered");
    assert_configuration_refused(client, other);
}
