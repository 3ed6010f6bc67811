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
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON \"public\".people(name, note) \
             WHERE false",
        ),
        (
            "CREATE INDEX i ON people USING gin (note) WITH (fastupdate = off) TABLESPACE s WHERE \
             note LIKE 'hunter2%'",
            "CREATE INDEX i ON \"public\".people(note) TABLESPACE s WHERE false",
        ),
        (
            "CREATE INDEX i ON people USING hash (note) WITH (fillfactor = 70)",
            "CREATE INDEX i ON \"public\".people USING HASH (note) WITH (fillfactor = 70) \
             WHERE false",
        ),
        (
            "CREATE INDEX i ON people (lower(note), name gin_trgm_ops) INCLUDE (city)",
            "CREATE INDEX i ON \"public\".people(name) WHERE false",
        ),
        (
            "CREATE INDEX i ON people (lower(note))",
            "CREATE INDEX i ON \"public\".people(\"id\") WHERE false",
        ),
    ] {
        becomes(text, becomes_this);
    }
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
