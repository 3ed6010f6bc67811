//! Functions and operators of PostgreSQL's own extensions over protected columns, as in a plain
//! twin: the finisher has the extensions that the server has.

use postgres::Client;
use server_testkit::Postgres;

use crate::common::Setup;
use crate::common::texts::{Text, answer, code};

const RULES: &str = r#"
[columns.item]
name = { type = "text" }
note = { type = "text" }
price = { type = "numeric(10,2)" }
"#;

const ROWS: &str = "(1, 'Hôtel grey', 'word', 1.5), (2, 'grey hostel', 'wort', 2), \
                    (3, 'Ærøskøbing grey', 'world', 3), (4, 'levens grey', 'Wórd', 4), \
                    (5, NULL, 'one word two', 5)";

/// A protected table `item`, its twin `plain`, and extensions in a schema that is on the path.
fn start(extensions: &[&str]) -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() || !Postgres::has_library("pg_trgm") {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    let mut make = |sql: &str| client.batch_execute(sql).expect(sql);
    make("CREATE SCHEMA \"Ext a\"");
    for extension in extensions {
        make(&format!("CREATE EXTENSION {extension} SCHEMA \"Ext a\""));
    }
    for table in ["item", "plain"] {
        make(&format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, name text, note text, price \
             numeric(10,2))"
        ));
        make(&format!("INSERT INTO {table} VALUES {ROWS}"));
    }
    make("SET search_path TO public, \"Ext a\"");
    Some((setup, client))
}

/// The rows, or the code of the error with its message and hint.
fn said(client: &mut Client, query: &str) -> Result<Vec<String>, (String, String)> {
    answer(client, query).map_err(|error| {
        let text = error.as_db_error().map(|error| {
            let hint = error.hint().unwrap_or_default();
            format!("{} {hint}", error.message())
        });
        (code(&error).to_owned(), text.unwrap_or_default())
    })
}

#[track_caller]
fn assert_same(client: &mut Client, query: &str) {
    let own = said(client, query);
    let twin = said(client, &query.replace("item", "plain"));
    assert_eq!(own, twin, "{query}");
}

#[track_caller]
fn assert_answered(client: &mut Client, query: &str) {
    let own = said(client, query);
    assert!(own.is_ok(), "{query}: {own:?}");
    assert_same(client, query);
}

#[track_caller]
fn assert_refused(client: &mut Client, query: &str, reason: &str) {
    let (code, text) = said(client, query).expect_err(query);
    assert_eq!(code, "0A000", "{query}: {text}");
    assert!(text.contains(reason), "{query}: {text}");
}

const ALIKE: &str = "SELECT id FROM item WHERE name % 'grey hotel' ORDER BY id";

#[test]
fn texts_are_alike_as_in_the_server() {
    let Some((_setup, mut client)) = start(&["pg_trgm", "fuzzystrmatch"]) else {
        return;
    };
    let client = &mut client;
    for query in [
        ALIKE,
        "SELECT id, similarity(name, 'grey hotel') FROM item ORDER BY 2 DESC NULLS LAST, id",
        "SELECT id, \"Ext a\".similarity(name, note), show_trgm(note) FROM item ORDER BY id",
        "SELECT id FROM item WHERE 'word' <% note ORDER BY id",
        "SELECT id FROM item WHERE note %> 'word' ORDER BY id",
        "SELECT id FROM item WHERE note %>> 'word' OR 'wort' <<% note ORDER BY id",
        "SELECT id, name <-> note, note <->> 'word', 'word' <<-> note, note <->>> 'wor', \
         'wor' <<<-> note FROM item ORDER BY name <-> 'grey', id",
        "SELECT id FROM item WHERE name OPERATOR(\"Ext a\".%) 'hostel' ORDER BY id",
        "SELECT id FROM item WHERE price % 2 = 0 AND note % 'word' ORDER BY id",
        "SELECT word_similarity('word', note), strict_word_similarity(note, name) FROM item \
         ORDER BY id",
        "SELECT levenshtein(note, 'word'), levenshtein_less_equal(note, 'word', 1) FROM item \
         ORDER BY id",
        "SELECT soundex(note), difference(note, 'word'), metaphone(note, 4), dmetaphone(note), \
         dmetaphone_alt(note) FROM item ORDER BY id",
        "SELECT max(similarity(a.name, b.name)) FROM item a JOIN item b ON a.id < b.id",
        "UPDATE item SET note = soundex(note) || name WHERE name % 'grey hotel' RETURNING id, \
         note",
        "DELETE FROM item WHERE levenshtein(note, 'world') = 0 RETURNING id",
        "SELECT similarity(name, 1) FROM item",
    ] {
        assert_same(client, query);
        if !query.contains("name, 1)") {
            assert!(said(client, query).is_ok(), "{query}");
        }
    }
    let prepared = "SELECT id FROM item WHERE similarity(name, $1) > $2 ORDER BY id";
    let mut ids = |text: &str| -> Vec<i32> {
        let rows = client.query(text, &[&"grey hostel", &0.4_f32]);
        rows.expect("rows").iter().map(|row| row.get(0)).collect()
    };
    let own = ids(prepared);
    assert!(own.contains(&2));
    assert_eq!(own, ids(&prepared.replace("item", "plain")));
}

/// The catalogues name the kinds, the operator classes and the options that were asked for.
fn assert_kinds(client: &mut Client) {
    let kinds = client.query(
        "SELECT c.relname::text, am.amname::text, o.opcname::text, c.reloptions::text \
         FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam \
         JOIN pg_opclass o ON o.oid = i.indclass[0] WHERE i.indrelid = 'item'::regclass \
         AND c.relname IN ('item_gin', 'item_lower', 'item_brin') ORDER BY 1",
        &[],
    );
    let kinds: Vec<[Option<String>; 4]> = kinds
        .expect("rows")
        .iter()
        .map(|row| [0, 1, 2, 3].map(|index| row.get(index)))
        .collect();
    let own = |texts: [&str; 4]| texts.map(|text| (!text.is_empty()).then(|| text.to_owned()));
    assert_eq!(
        kinds,
        [
            own([
                "item_brin",
                "brin",
                "bytea_minmax_ops",
                "{autosummarize=on}"
            ]),
            own(["item_gin", "gin", "gin_trgm_ops", ""]),
            own(["item_lower", "btree", "text_ops", ""]),
        ]
    );
}

/// An index says nothing about the answers of queries, so migrations that make one work.
#[test]
fn indexes_by_which_the_server_finds_nothing_are_empty() {
    let Some((setup, mut client)) = start(&["pg_trgm"]) else {
        return;
    };
    let client = &mut client;
    if Postgres::has_library("btree_gist") {
        // Its operator takes no texts.
        let past = setup
            .server
            .connect()
            .batch_execute("CREATE EXTENSION btree_gist");
        past.expect("an extension of the server");
    }
    for text in [
        "CREATE INDEX item_gin ON item USING gin (name gin_trgm_ops, note gin_trgm_ops)",
        "CREATE INDEX IF NOT EXISTS item_gin ON item USING gin (name gin_trgm_ops)",
        "CREATE INDEX item_lower ON item (lower(name)) WHERE note LIKE 'CANARY%'",
        "CREATE INDEX ON item (name DESC)",
        "CREATE INDEX CONCURRENTLY item_brin ON item USING brin (name) WITH (autosummarize = on)",
    ] {
        client.batch_execute(text).expect(text);
    }
    assert_answered(
        client,
        "SELECT id, name <-> note FROM item WHERE name % 'grey hotel' ORDER BY 2, id",
    );
    assert_kinds(client);
    // BRIN has an entry for each range of pages, here one, which says that the range is empty.
    let entries = client.query(
        "SELECT c.relname::text, c.reltuples = (c.relname = 'item_brin')::int FROM pg_index i \
         JOIN pg_class c ON c.oid = i.indexrelid \
         WHERE i.indrelid = 'item'::regclass AND NOT i.indisunique ORDER BY 1",
        &[],
    );
    let are_empty: Vec<(String, bool)> = entries
        .expect("rows")
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    let names = ["item_brin", "item_gin", "item_lower", "item_name_idx"];
    assert_eq!(are_empty, names.map(|name| (name.to_owned(), true)));
    client
        .batch_execute(
            "ALTER INDEX item_lower RENAME TO item_other; DROP INDEX item_other, item_gin",
        )
        .expect("they are there");
    for text in [
        "CREATE UNIQUE INDEX item_unique ON item (name)",
        "CREATE UNIQUE INDEX item_unique ON item (lower(name))",
        "CREATE INDEX ON item (lower(name))",
        "ALTER TABLE item ADD CONSTRAINT apart EXCLUDE USING gist (name gist_trgm_ops WITH =)",
    ] {
        assert_refused_by_statement(client, text);
    }
    // It goes with its column.
    client
        .batch_execute(
            "CREATE INDEX item_note ON item USING gin (note gin_trgm_ops); \
             ALTER TABLE item DROP COLUMN note",
        )
        .expect("dropped");
    let left = answer(client, "SELECT to_regclass('item_note') IS NULL");
    assert_eq!(left.expect("a row"), ["t"]);
    setup.assert_unseen(&["CANARY"]);
}

#[track_caller]
fn assert_refused_by_statement(client: &mut Client, text: &str) {
    let error = client.batch_execute(text).expect_err(text);
    assert_eq!(
        error.code().expect("of the proxy").code(),
        "0A000",
        "{text}"
    );
}

#[test]
fn thresholds_are_those_of_the_session() {
    let Some((setup, mut client)) = start(&["pg_trgm"]) else {
        return;
    };
    let client = &mut client;
    let mut seen = Vec::new();
    for change in [
        "SELECT 1",
        "SET pg_trgm.similarity_threshold TO 0.8",
        "SELECT set_limit(0.1)",
        "SELECT set_config('pg_trgm.similarity_threshold', '0.5', false)",
        "SET pg_trgm.word_similarity_threshold TO 0.9; \
         SET pg_trgm.strict_word_similarity_threshold TO 0.95",
        "BEGIN; SET LOCAL pg_trgm.similarity_threshold TO 0.99",
        "ROLLBACK",
        "RESET pg_trgm.similarity_threshold",
    ] {
        client.batch_execute(change).expect(change);
        assert_answered(client, ALIKE);
        seen.push(said(client, ALIKE));
        assert_answered(
            client,
            "SELECT id FROM item WHERE 'worx' <% note OR note %>> 'wordx'",
        );
    }
    seen.dedup();
    assert!(seen.len() > 4, "the threshold matters: {seen:?}");
    // Another session has its own.
    let mut other = setup.connect();
    other
        .batch_execute("SET search_path TO public, \"Ext a\"; SET pg_trgm.similarity_threshold = 1")
        .expect("set");
    assert_answered(&mut other, ALIKE);
    assert_answered(client, ALIKE);
}

#[test]
fn accents_are_taken_off_as_by_the_server() {
    let Some((_setup, mut client)) = start(&["unaccent"]) else {
        return;
    };
    let client = &mut client;
    let query = "SELECT unaccent(name), \"Ext a\".unaccent(note) FROM item ORDER BY id";
    let like = "SELECT id FROM item WHERE unaccent(name) LIKE '%' || unaccent('hôt') || '%' OR \
                unaccent(note) ILIKE 'word' ORDER BY id";
    assert_answered(client, query);
    assert_answered(client, like);
    // A dictionary may be any.
    assert_refused(
        client,
        "SELECT unaccent('simple', name) FROM item",
        "function unaccent",
    );
    client
        .batch_execute(
            "CREATE TEXT SEARCH DICTIONARY other (TEMPLATE = \"Ext a\".unaccent, RULES = unaccent)",
        )
        .expect("made");
    assert_answered(client, query);
    // Its options are not those that the extension has.
    client
        .batch_execute("ALTER TEXT SEARCH DICTIONARY \"Ext a\".unaccent (RULES = 'xsyn_sample')")
        .expect("altered");
    assert_refused(client, query, "(not unaccent 1.1)");
    client
        .batch_execute("ALTER TEXT SEARCH DICTIONARY \"Ext a\".unaccent (RULES = 'unaccent')")
        .expect("altered");
    assert_answered(client, query);
}

#[test]
fn keys_and_plaintexts_of_pgcrypto_stay_with_the_finisher() {
    let Some((setup, mut client)) = start(&["pgcrypto"]) else {
        return;
    };
    let client = &mut client;
    for query in [
        "SELECT id, digest(name, 'sha256'), encode(digest(note::bytea, 'md5'), 'hex') FROM item \
         ORDER BY id",
        "SELECT id FROM item WHERE hmac(name, 'SESAMEKEY', 'sha1') = \
         hmac('grey hostel', 'SESAMEKEY', 'sha1')",
        "SELECT pgp_sym_decrypt(pgp_sym_encrypt(name, 'SESAMEKEY'), 'SESAMEKEY') FROM item \
         ORDER BY id",
        "SELECT crypt(note, '$1$SESAMEKEY') FROM item ORDER BY id",
        "SELECT decrypt(encrypt(name::bytea, 'SESAMEKEY', 'aes'), 'SESAMEKEY', 'aes') FROM item \
         ORDER BY id",
        "SELECT id FROM item WHERE crypt(note, gen_salt('md5')) LIKE '$1$%' ORDER BY id",
        "SELECT count(DISTINCT pgp_sym_encrypt(note, 'SESAMEKEY')) FROM item",
    ] {
        assert_answered(client, query);
    }
    // The twin's statements went to the server as they were.
    let before = setup.tap.sent().len();
    for query in [
        "SELECT count(*) FROM item WHERE id > 1 AND pgp_sym_encrypt(name, 'SESAMEKEY') IS NOT NULL",
        "UPDATE item SET note = encode(digest(name, 'sha1'), 'hex') || \
         pgp_sym_decrypt(pgp_sym_encrypt(note, 'SESAMEKEY'), 'SESAMEKEY') WHERE id < 3",
        "INSERT INTO item (id, name) VALUES (9, \
         pgp_sym_decrypt(pgp_sym_encrypt('CANARY', 'SESAMEKEY'), 'SESAMEKEY'))",
    ] {
        let own = said(client, query);
        assert!(own.is_ok(), "{query}: {own:?}");
        let sent = &setup.tap.sent()[before..];
        assert!(!server_testkit::contains(sent, b"SESAMEKEY"), "{query}");
    }
    let row = "SELECT name, length(note) FROM item WHERE id = 9 OR id = 1 ORDER BY id";
    let rows = answer(client, row).expect("rows");
    assert_eq!(rows, ["Hôtel grey|44", "CANARY|NULL"]);
}

#[test]
fn what_is_not_the_extensions_own_is_refused() {
    let Some((setup, mut client)) = start(&["pg_trgm", "pgcrypto"]) else {
        return;
    };
    let client = &mut client;
    let query = "SELECT similarity(name, 'grey') FROM item ORDER BY id";
    assert_answered(client, query);
    for refused in [
        "SELECT set_limit(0.3), name || 'x' FROM item",
        "SELECT pgp_armor_headers(name) FROM item",
        "SELECT gen_random_uuid(name) FROM item",
        "SELECT public.similarity(name, 'x') FROM item",
    ] {
        assert!(said(client, refused).is_err(), "{refused}");
    }
    // Off the path the server does not find it.
    client
        .batch_execute("SET search_path TO public")
        .expect("set");
    assert_refused(client, query, "function similarity");
    let operator = said(client, ALIKE).expect_err("off the path");
    assert_eq!(operator.0, "0A000", "{operator:?}");
    assert_answered(
        client,
        "SELECT \"Ext a\".similarity(name, note) FROM item ORDER BY id",
    );
    client
        .batch_execute("SET search_path TO public, \"Ext a\"")
        .expect("set");
    // Functions and operators of users that the server may take.
    let mut own = |make: &str, query: &str, reason: &str, drop: &str| {
        client.batch_execute(make).expect(make);
        assert_refused(client, query, reason);
        client.batch_execute(drop).expect(drop);
        assert_answered(client, query);
    };
    own(
        "CREATE FUNCTION similarity(text, text) RETURNS real IMMUTABLE LANGUAGE sql AS \
         'SELECT 0::real'",
        query,
        "function similarity",
        "DROP FUNCTION public.similarity",
    );
    own(
        "CREATE FUNCTION alike(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'; \
         CREATE OPERATOR % (LEFTARG = text, RIGHTARG = text, FUNCTION = alike)",
        ALIKE,
        "operator %",
        "DROP OPERATOR public.% (text, text); DROP FUNCTION alike",
    );
    // One of the extension that was written anew.
    let server = &mut setup.server.connect();
    server
        .batch_execute(
            "CREATE OR REPLACE FUNCTION \"Ext a\".similarity(text, text) RETURNS real IMMUTABLE \
             STRICT PARALLEL SAFE LANGUAGE sql AS 'SELECT 0::real'",
        )
        .expect("replaced");
    client
        .batch_execute("CREATE TABLE other (a int)")
        .expect("made");
    client
        .batch_execute("DO 'BEGIN END'")
        .expect("looked at again");
    assert_refused(client, query, "(not pg_trgm 1.6)");
}

#[test]
fn an_extension_comes_and_goes_and_moves() {
    let Some((_setup, mut client)) = start(&[]) else {
        return;
    };
    let client = &mut client;
    let query = "SELECT soundex(name) FROM item ORDER BY id";
    assert_refused(client, query, "function soundex");
    let mut change = |sql: &str| client.batch_execute(sql).expect(sql);
    change("CREATE EXTENSION fuzzystrmatch");
    assert_answered(client, query);
    let mut change = |sql: &str| client.batch_execute(sql).expect(sql);
    change("ALTER EXTENSION fuzzystrmatch SET SCHEMA \"Ext a\"");
    assert_answered(client, query);
    assert_refused(client, "SELECT public.soundex(name) FROM item", "soundex");
    let mut change = |sql: &str| client.batch_execute(sql).expect(sql);
    change("ALTER SCHEMA \"Ext a\" RENAME TO b; SET search_path TO b, public");
    assert_answered(client, query);
    // Renamed again and again: old databases of the finisher go.
    for number in 0..40 {
        let sql = format!("ALTER SCHEMA b RENAME TO c; SET search_path TO c{number}, public; ");
        let back = format!("ALTER SCHEMA c RENAME TO c{number}");
        client.batch_execute(&(sql + &back)).expect("renamed");
        assert_answered(client, query);
        let sql = format!("ALTER SCHEMA c{number} RENAME TO b");
        client.batch_execute(&sql).expect("renamed");
    }
    client
        .batch_execute("SET search_path TO b, public")
        .expect("set");
    assert_answered(client, query);
    client
        .batch_execute("DROP EXTENSION fuzzystrmatch")
        .expect("dropped");
    assert_refused(client, query, "function soundex");
    let text = "SELECT id FROM item WHERE name = $1";
    let rows = client.query(text, &[&Text("grey")]).expect("goes on");
    assert!(rows.is_empty());
}
