//! Columns of enumerations, protected and plain, beside a twin.

use std::error::Error;
use std::io::{Read, Write};

use postgres::Client;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, Kind, ToSql, Type};

use crate::common::Setup;
use crate::common::texts::{Text, answer, assert_refused, code};

const RULES: &str = r#"
[columns.person]
feeling = { type = "enum mood" }
size = { type = "enum own.Size", default = "'M'" }
name = { type = "text" }
badge = { type = "integer", mode = "equality" }
moods = { type = "enum mood[]" }
sizes = { type = "enum own.Size[]", default = "'{M,NULL}'" }
"#;

const TYPES: &str = "
    CREATE SCHEMA own;
    CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
    CREATE TYPE own.\"Size\" AS ENUM ('S', 'M', 'L');
    CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
";

/// Protected columns, their twin, and a plain column of an enumeration in both.
fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    client.batch_execute(TYPES).expect("types");
    for table in ["person", "twin"] {
        let make = format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, feeling mood, \
             size own.\"Size\" DEFAULT 'M', name text, paint colour, \
             badge integer, moods mood[], sizes own.\"Size\"[] DEFAULT '{{M,NULL}}', \
             paints colour[])"
        );
        client.batch_execute(&make).expect(&make);
        let insert = format!(
            "INSERT INTO {table} (id, feeling, size, name, paint, badge) VALUES \
             (1, 'happy', 'S', 'Ann', 'green', 5), (2, 'sad', DEFAULT, 'Bob', 'red', 4), \
             (3, NULL, 'L', 'Cy', NULL, 3), (4, 'it''s ok', 'L', 'Di', 'blue', 2), \
             (5, 'sad'::mood, 'S'::own.\"Size\", 'Ed', 'red'::colour, 1)"
        );
        client.batch_execute(&insert).expect(&insert);
        let update = format!(
            "UPDATE {table} SET moods = '{{sad,NULL,\"it''s ok\"}}', paints = '{{red,blue}}' \
             WHERE id = 1; \
             UPDATE {table} SET moods = ARRAY['happy']::mood[], sizes = '{{L}}' WHERE id = 2; \
             UPDATE {table} SET moods = '{{}}', sizes = NULL WHERE id = 3"
        );
        client.batch_execute(&update).expect(&update);
    }
    Some((setup, client))
}

/// The rows, or the code of the error.
fn said(client: &mut Client, statement: &str) -> Result<Vec<String>, String> {
    answer(client, statement).map_err(|error| code(&error).to_owned())
}

#[track_caller]
fn assert_same(client: &mut Client, statement: &str) {
    let own = said(client, statement);
    let twin = said(client, &statement.replace("person", "twin"));
    assert_eq!(own, twin, "{statement}");
}

#[test]
fn queries_answer_as_over_plain_columns() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for query in [
        "SELECT * FROM person ORDER BY id",
        "SELECT id FROM person WHERE feeling = 'sad' ORDER BY id",
        "SELECT id FROM person WHERE feeling > 'sad' ORDER BY id",
        "SELECT id FROM person WHERE feeling = 'sad'::mood ORDER BY id",
        "SELECT id FROM person WHERE feeling IN ('sad', 'happy') ORDER BY id",
        "SELECT id FROM person WHERE feeling = ANY ('{sad,happy}') ORDER BY id",
        "SELECT id FROM person WHERE feeling = ANY (ARRAY['sad']::mood[]) ORDER BY id",
        "SELECT id FROM person WHERE feeling::text LIKE '%ok' ORDER BY id",
        "SELECT id FROM person WHERE size = 'L' AND feeling IS NOT NULL",
        "SELECT id, feeling FROM person ORDER BY feeling DESC NULLS LAST, id",
        "SELECT feeling, count(*) FROM person GROUP BY feeling ORDER BY feeling",
        "SELECT min(feeling), max(feeling), count(DISTINCT size) FROM person",
        "SELECT array_agg(feeling ORDER BY id) FROM person",
        "SELECT json_agg(p ORDER BY id) FROM (SELECT id, feeling, size, paint FROM person) p",
        "SELECT coalesce(feeling, 'happy') FROM person ORDER BY id",
        "SELECT CASE WHEN size = 'S' THEN feeling END FROM person ORDER BY id",
        "SELECT id FROM person WHERE paint = 'red' AND name = 'Bob'",
        "SELECT paint, max(name) FROM person GROUP BY paint ORDER BY paint",
        "SELECT a.id, b.id FROM person a JOIN person b ON a.feeling = b.feeling AND a.id < b.id",
        "SELECT id, feeling::text FROM person ORDER BY badge LIMIT 3",
        "SELECT feeling::text, size::text AS s FROM person ORDER BY id",
        "SELECT DISTINCT feeling::text FROM person ORDER BY 1",
        "SELECT feeling::text FROM person UNION SELECT 'x' ORDER BY 1",
        "SELECT k FROM (SELECT id, feeling::text AS k FROM person) p WHERE k LIKE '%a%' \
         ORDER BY id",
        "SELECT k || 'x', id FROM (SELECT id, feeling::text AS k FROM person) p ORDER BY id",
        "SELECT id FROM person WHERE feeling = 'glad'",
        "SELECT id FROM person WHERE feeling = size",
        "SELECT feeling::own.\"Size\" FROM person",
        "SELECT 'sad'::mood, id FROM person WHERE name = 'Ann'",
        "SELECT pg_typeof(feeling), pg_typeof(size) FROM person WHERE name = 'Ann'",
        "SELECT enum_range(feeling), enum_first(size) FROM person WHERE name = 'Ann'",
        "SELECT id FROM person WHERE 'sad' = ANY (moods) AND moods @> '{sad}' ORDER BY id",
        "SELECT id FROM person WHERE moods = ARRAY['happy'::mood] OR sizes && '{S,M}' ORDER BY id",
        "SELECT moods[1], moods[3]::text, cardinality(sizes), sizes::text FROM person ORDER BY id",
        "SELECT id, m FROM person, unnest(moods) AS m ORDER BY m, id",
        "SELECT moods || 'sad'::mood, array_agg(feeling) FROM person GROUP BY moods ORDER BY 1",
        "SELECT id FROM person WHERE feeling = ANY (moods) OR moods = '{}' ORDER BY id",
        "SELECT id FROM person WHERE paints @> '{blue}' AND name LIKE 'A%'",
        "SELECT id FROM person WHERE moods = '{glad}'",
        "SELECT pg_typeof(moods), pg_typeof(sizes), moods = sizes FROM person",
        "SELECT json_agg(p ORDER BY id) FROM (SELECT id, moods, sizes FROM person) p",
    ] {
        assert_same(&mut client, query);
    }
}

#[test]
fn writes_do_what_they_do_to_plain_columns() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "INSERT INTO person (id, feeling) VALUES (10, 'glad')",
        "INSERT INTO person (id, feeling) VALUES (10, 'sad'::text)",
        "INSERT INTO person (id, feeling) VALUES (10, 'sad'::own.\"Size\")",
        "INSERT INTO person (id, feeling) VALUES (10, 1)",
        "INSERT INTO person (id, feeling) VALUES (10, 'happy') RETURNING feeling, size",
        "UPDATE person SET feeling = 'sad' WHERE feeling = 'happy' RETURNING id, feeling",
        "UPDATE person SET paint = 'red' WHERE id = 1 RETURNING feeling::text, paint::text",
        "INSERT INTO person (id, feeling) VALUES (11, 'sad') RETURNING feeling::text",
        "UPDATE person SET feeling = NULL, size = DEFAULT WHERE size > 'M' RETURNING id",
        "UPDATE person SET feeling = CASE WHEN id = 1 THEN 'happy' ELSE feeling END",
        "UPDATE person SET feeling = CASE WHEN id = 1 THEN 'happy'::mood ELSE feeling END",
        "UPDATE person SET feeling = (CASE WHEN id < 3 THEN 'happy' ELSE 'sad' END)::mood",
        "UPDATE person SET paint = 'blue' WHERE feeling = 'happy' RETURNING id",
        "INSERT INTO person (id, feeling, size) SELECT id + 20, feeling, size FROM person \
         WHERE feeling = 'happy' RETURNING id, feeling",
        "INSERT INTO person (id, feeling) VALUES (1, 'it''s ok') \
         ON CONFLICT (id) DO UPDATE SET feeling = excluded.feeling RETURNING feeling",
        "INSERT INTO person (id, moods) VALUES (12, '{glad}')",
        "INSERT INTO person (id, moods) VALUES (12, ARRAY['sad'::own.\"Size\"])",
        "INSERT INTO person (id, moods) VALUES (12, ARRAY['sad', NULL]::mood[]) RETURNING moods",
        "INSERT INTO person (id, sizes) VALUES (13, ARRAY['S'::own.\"Size\"]), (14, DEFAULT) \
         RETURNING sizes",
        "UPDATE person SET moods = array_append(moods, 'happy'), sizes = DEFAULT \
         WHERE 'sad' = ANY (moods) RETURNING id, moods, sizes",
        "DELETE FROM person WHERE feeling = 'sad' RETURNING id",
        "SELECT * FROM person ORDER BY id",
    ] {
        assert_same(&mut client, statement);
    }
}

/// A label in binary form.
#[derive(Debug, PartialEq)]
struct Mood(String);

impl ToSql for Mood {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(own: &Type) -> bool {
        own.name() == "mood"
    }

    postgres::types::to_sql_checked!();
}

impl FromSql<'_> for Mood {
    fn from_sql(_: &Type, bytes: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(std::str::from_utf8(bytes)?.to_owned()))
    }

    fn accepts(own: &Type) -> bool {
        own.name() == "mood"
    }
}

fn mood(label: &str) -> Mood {
    Mood(label.to_owned())
}

/// The driver reads a type's labels in `pg_type` by its number.
#[track_caller]
fn assert_is_mood(kind: &Type) {
    assert_eq!(kind.name(), "mood");
    let labels = ["sad", "it's ok", "happy"].map(str::to_owned);
    assert_eq!(kind.kind(), &Kind::Enum(labels.into()));
}

#[test]
fn parameters_and_columns_have_the_number_of_the_type() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let update = client
        .prepare("UPDATE person SET feeling = $1 WHERE id = $2")
        .expect("prepared");
    assert_is_mood(&update.params()[0]);
    client
        .execute(&update, &[&mood("it's ok"), &1])
        .expect("updated");
    client
        .execute(&update, &[&Text("happy"), &2])
        .expect("updated");
    let error = client.execute(&update, &[&Text("glad"), &2]);
    assert_eq!(code(&error.expect_err("no label")), "22P02");
    let query = "SELECT feeling FROM person WHERE id = $1";
    let row = client.query_one(query, &[&1]).expect("a row");
    assert_is_mood(row.columns()[0].type_());
    assert_eq!(row.get::<_, Mood>(0), mood("it's ok"));
    let query = "SELECT id, feeling FROM person WHERE feeling = $1 ORDER BY id";
    let found = client.prepare(query).expect("prepared");
    assert_is_mood(&found.params()[0]);
    assert_is_mood(found.columns()[1].type_());
    let rows = client.query(&found, &[&mood("happy")]).expect("rows");
    let rows: Vec<(i32, Mood)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows, [(2, mood("happy"))]);
    client
        .execute(
            "UPDATE person SET moods = $1 WHERE id = 4",
            &[&vec![mood("happy"), mood("sad")]],
        )
        .expect("updated");
    let query = "SELECT moods FROM person WHERE id = $1";
    let row = client.query_one(query, &[&4]).expect("a row");
    assert_eq!(row.columns()[0].type_().name(), "_mood");
    assert_eq!(row.get::<_, Vec<Mood>>(0), ["happy", "sad"].map(mood));
    let query = "SELECT array_agg(feeling ORDER BY id) FROM person WHERE feeling = ANY ($1)";
    let row = client
        .query_one(query, &[&vec![mood("sad"), mood("it's ok")]])
        .expect("a row");
    let found = ["it's ok", "it's ok", "sad"].map(mood);
    assert_eq!(row.get::<_, Vec<Mood>>(0), found);
}

#[test]
fn a_copy_has_labels_in_every_format() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for format in ["text", "csv", "binary"] {
        let columns = "(id, feeling, size, moods, sizes)";
        let copy = |table: &str| format!("COPY {table} {columns} TO STDOUT (FORMAT {format})");
        let mut read = |table: &str| {
            let mut bytes = Vec::new();
            let mut reader = client.copy_out(&copy(table)).expect("a copy");
            reader.read_to_end(&mut bytes).expect("read");
            bytes
        };
        let bytes = read("person");
        assert_eq!(bytes, read("twin"), "{format}");
        client.batch_execute("DELETE FROM person").expect("emptied");
        let copy = format!("COPY person {columns} FROM STDIN (FORMAT {format})");
        let mut writer = client.copy_in(&copy).expect("a copy");
        writer.write_all(&bytes).expect("written");
        writer.finish().expect("copied");
        assert_same(
            &mut client,
            "SELECT id, feeling, size, moods, sizes FROM person ORDER BY id",
        );
    }
}

#[test]
fn labels_can_be_added_and_nothing_else_changed() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("ALTER TYPE mood ADD VALUE 'glad' AFTER 'sad'")
        .expect("added");
    for table in ["person", "twin"] {
        let update = format!("UPDATE {table} SET feeling = 'glad' WHERE id = 3");
        client.batch_execute(&update).expect(&update);
    }
    assert_same(&mut client, "SELECT id FROM person ORDER BY feeling, id");
    for change in [
        "DROP TYPE mood",
        "DROP TYPE IF EXISTS own.\"Size\" CASCADE",
        "ALTER TYPE mood RENAME TO spirit",
        "ALTER TYPE mood RENAME VALUE 'sad' TO 'low'",
        "ALTER TYPE mood SET SCHEMA own",
    ] {
        assert_refused(&mut client, change);
    }
    client
        .batch_execute("ALTER TYPE colour RENAME TO paint")
        .expect("plain");
    assert_same(&mut client, "SELECT paint FROM person WHERE name = 'Ann'");
    // Directly at the server: nothing reads the column until the type is there again.
    let mut direct = setup.server.connect();
    direct
        .batch_execute("ALTER TYPE mood RENAME TO spirit")
        .expect("renamed");
    let query = "SELECT id, feeling FROM person ORDER BY id";
    let error = wait_for(|| answer(&mut client, query).err());
    let message = error
        .as_db_error()
        .expect("an error of the proxy")
        .message();
    assert!(message.contains("not in this database"), "{message}");
    direct
        .batch_execute("ALTER TYPE spirit RENAME TO mood")
        .expect("renamed");
    wait_for(|| answer(&mut client, query).ok());
    assert_same(&mut client, query);
}

/// The proxy looks for such changes now and then.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the proxy does not notice the change");
}

#[test]
fn a_name_means_what_the_search_path_says() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("CREATE TYPE own.mood AS ENUM ('happy', 'sad')")
        .expect("another type of the name");
    for query in [
        "SELECT max(feeling::text::mood) FROM person WHERE feeling IN ('sad', 'happy')",
        "SELECT feeling = 'sad'::mood FROM person WHERE name = 'Bob'",
    ] {
        assert_same(&mut client, query);
        client
            .batch_execute("SET search_path = own, public")
            .expect("set");
        assert_same(&mut client, query);
        client.batch_execute("RESET search_path").expect("reset");
    }
    // The session's own hide all others.
    client
        .batch_execute("CREATE TYPE pg_temp.mood AS ENUM ('happy')")
        .expect("a type of the session");
    assert_refused(
        &mut client,
        "SELECT 'sad'::mood FROM person WHERE name = 'Bob'",
    );
    client.batch_execute("DISCARD TEMP").expect("dropped");
    assert_same(
        &mut client,
        "SELECT feeling = 'sad'::mood FROM person WHERE name = 'Bob'",
    );
    // A table has a type of its name.
    client
        .batch_execute("CREATE TABLE own.colour (a integer)")
        .expect("a table");
    client
        .batch_execute("SET search_path = own, public")
        .expect("set");
    assert_refused(
        &mut client,
        "SELECT 'red'::colour FROM person WHERE name = 'Bob'",
    );
}
