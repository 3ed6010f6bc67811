//! Indexes: what the server finds nothing by is left out.

use super::{becomes, passes, refused};

#[test]
fn indexes_leave_out_columns_that_the_server_cannot_compare() {
    becomes(
        "CREATE INDEX i ON people (city, name, note)",
        "CREATE INDEX i ON \"public\".people(city, name)",
    );
    becomes(
        "CREATE INDEX i ON people USING hash (name)",
        "CREATE INDEX i ON \"public\".people USING HASH (name)",
    );
    becomes(
        "CREATE INDEX i ON people (born DESC) INCLUDE (note) WHERE name IS NOT NULL",
        "CREATE INDEX i ON \"public\".people(born DESC) INCLUDE (note) WHERE name IS NOT NULL",
    );
    becomes(
        "CREATE INDEX i ON people (name varchar_pattern_ops)",
        "CREATE INDEX i ON \"public\".people(name)",
    );
    becomes(
        "CREATE INDEX i ON people (city) WHERE name = 'hunter2'",
        "CREATE INDEX i ON \"public\".people(city)",
    );
    becomes(
        "CREATE INDEX i ON people USING gin (city gin_trgm_ops, name gin_trgm_ops)",
        "CREATE INDEX i ON \"public\".people USING GIN (city gin_trgm_ops)",
    );
    becomes(
        "CREATE INDEX i ON people (city text_pattern_ops DESC NULLS LAST, note)",
        "CREATE INDEX i ON \"public\".people(city text_pattern_ops DESC NULLS LAST)",
    );
    passes("CREATE INDEX i ON plain (lower(b))");
}

#[test]
fn an_index_of_which_nothing_is_left_is_empty() {
    for (text, becomes_this) in [
        (
            "CREATE INDEX ON people (note)",
            "CREATE INDEX ON \"public\".people(note) WHERE false",
        ),
        (
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON people USING gin \
             (name gin_trgm_ops, note) WITH (fastupdate = off) WHERE note LIKE 'hunter2%'",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON \"public\".people USING GIN \
             ((CAST(NULL AS CHARACTER VARYING(40))) gin_trgm_ops, (CAST(NULL AS TEXT))) \
             WITH (fastupdate = off) WHERE false AND \"name\" IS NULL AND note IS NULL",
        ),
        (
            "CREATE INDEX i ON people USING gin (note) WITH (fastupdate = off) TABLESPACE s WHERE \
             note LIKE 'hunter2%'",
            "CREATE INDEX i ON \"public\".people USING GIN ((CAST(NULL AS TEXT))) \
             WITH (fastupdate = off) TABLESPACE s WHERE false AND note IS NULL",
        ),
        (
            "CREATE INDEX i ON people USING hash (note) WITH (fillfactor = 70)",
            "CREATE INDEX i ON \"public\".people USING HASH (note) WITH (fillfactor = 70) \
             WHERE false",
        ),
        (
            "CREATE INDEX i ON people (lower(note), name gin_trgm_ops) INCLUDE (city)",
            "CREATE INDEX i ON \"public\".people(lower((CAST(NULL AS TEXT))), name) \
             INCLUDE (city) WHERE false AND note IS NULL",
        ),
        (
            "CREATE INDEX i ON people (lower(note) text_pattern_ops DESC)",
            "CREATE INDEX i ON \"public\".people(lower((CAST(NULL AS TEXT))) text_pattern_ops \
             DESC) WHERE false AND note IS NULL",
        ),
        (
            "CREATE INDEX i ON people USING brin (note text_minmax_ops) WITH (pages_per_range = 4)",
            "CREATE INDEX i ON \"public\".people USING BRIN ((CAST(NULL AS TEXT)) \
             text_minmax_ops) WITH (pages_per_range = 4) WHERE false AND note IS NULL",
        ),
        (
            "CREATE INDEX i ON people USING brin (note) WITH (pages_per_range = 4)",
            "CREATE INDEX i ON \"public\".people USING BRIN (note) WITH (pages_per_range = 4) \
             WHERE false",
        ),
    ] {
        becomes(text, becomes_this);
    }
}

#[test]
fn no_constant_of_an_expression_is_left_in_an_index() {
    for (text, becomes_this) in [
        (
            "CREATE INDEX i ON people USING gin (to_tsvector('english'::regconfig, \
             coalesce(note, 'hunter2') || city || left(name, 4)))",
            "CREATE INDEX i ON \"public\".people USING GIN (to_tsvector(NULL::regconfig, \
             coalesce((CAST(NULL AS TEXT)), NULL) || city || \
             left((CAST(NULL AS CHARACTER VARYING(40))), (CAST(NULL AS INTEGER))))) \
             WHERE false AND \"name\" IS NULL AND note IS NULL",
        ),
        (
            "CREATE INDEX i ON people ((note LIKE 'hunter2' ESCAPE '!'))",
            "CREATE INDEX i ON \"public\".people(((CAST(NULL AS TEXT)) LIKE NULL ESCAPE NULL)) \
             WHERE false AND note IS NULL",
        ),
        (
            "CREATE INDEX i ON people USING gin ((note || U&'hunter2') gin_trgm_ops)",
            "CREATE INDEX i ON \"public\".people(\"id\") WHERE false",
        ),
    ] {
        becomes(text, becomes_this);
    }
}

#[test]
fn an_index_that_would_have_another_meaning_is_refused() {
    refused("CREATE INDEX ON people (lower(note))", "without a name");
    for text in [
        "CREATE UNIQUE INDEX i ON people (note)",
        "CREATE UNIQUE INDEX i ON people (lower(name))",
        "CREATE UNIQUE INDEX i ON people (name) WHERE note = 'x'",
        "CREATE UNIQUE INDEX i ON people (name gin_trgm_ops)",
    ] {
        refused(text, "protected");
    }
}
