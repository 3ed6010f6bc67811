//! The types that a client declares for its parameters: values are computed with, answered and
//! refused as the server does it, beside a plain table.

use crate::common::raw::Raw;
use crate::common::texts::{Text, answer};
use crate::common::{Setup, with_twin};
use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, Error};

const RULES: &str = r#"
[columns.event]
seen = { type = "timestamptz" }
made = { type = "timestamp" }
born = { type = "date" }
name = { type = "varchar(20)" }
label = { type = "varchar(20)", mode = "equality" }
short = { type = "char(5)", mode = "equality" }
count = { type = "integer", mode = "equality" }
price = { type = "numeric(8,2)", mode = "equality" }
rate = { type = "double precision", mode = "equality" }
near = { type = "real", mode = "order" }
loose = { type = "double precision" }
"#;

const COLUMNS: &str = "(id integer PRIMARY KEY, seen timestamptz, made timestamp, born date, \
                       name varchar(20), label varchar(20), short char(5), count integer, \
                       price numeric(8,2), rate double precision, near real, \
                       loose double precision, n integer)";

const ROWS: &str = "(1, '2024-01-15 12:00Z', '2024-01-15 12:00', '2024-01-15', 'alpha', \
                     'beta', 'ab', 1, 1.5, 0, 0, 0, 7), \
                    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-0', '-0', '-0', 8), \
                    (3, '2024-07-15 12:00Z', '2024-07-15 12:00', '2024-07-15', '', '', '', 0, 0, \
                     -1, -1, -1, NULL)";

fn start() -> Option<(Setup, Client)> {
    let (setup, mut client) = with_twin(RULES, "event", COLUMNS, ROWS)?;
    let set = client.batch_execute("SET TimeZone TO 'Europe/Berlin'");
    set.expect("a zone");
    Some((setup, client))
}

/// Types and modifiers of an answer, and its values in binary; or the error.
type Answer = Result<(Vec<Type>, Vec<Vec<Option<Vec<u8>>>>), (String, String)>;

fn refused(error: &Error) -> (String, String) {
    let error = error.as_db_error().expect("an answer");
    (error.code().code().to_owned(), error.message().to_owned())
}

fn asked(client: &mut Client, sql: &str, declared: &[Type], values: &[&str]) -> Answer {
    let texts: Vec<Text> = values.iter().map(|value| Text(value)).collect();
    let values: Vec<&(dyn ToSql + Sync)> = texts.iter().map(|text| text as _).collect();
    let statement = client.prepare_typed(sql, declared);
    let statement = statement.map_err(|error| refused(&error))?;
    let types = statement.columns().iter();
    let types = types.map(|column| column.type_().clone()).collect();
    let rows = client.query(&statement, &values);
    let rows = rows.map_err(|error| refused(&error))?;
    let rows = rows.iter().map(|row| {
        let values = (0..row.len()).map(|place| row.get::<_, Option<Raw>>(place));
        values.map(|value| value.map(|raw| raw.0)).collect()
    });
    Ok((types, rows.collect()))
}

/// A statement is answered as that on the plain table is.
#[track_caller]
fn assert_same(client: &mut Client, sql: &str, declared: &[Type], values: &[&str]) {
    let plain = asked(client, &sql.replace("event", "plain"), declared, values);
    let given = asked(client, sql, declared, values);
    let plain = plain.map_err(|(code, message)| (code, message.replace("plain", "event")));
    assert_eq!(given, plain, "{sql}, {declared:?} {values:?}");
}

const MOMENTS: [(Type, &str); 4] = [
    (Type::TIMESTAMP, "2024-03-01 08:30"),
    (Type::TIMESTAMPTZ, "2024-03-01 08:30Z"),
    (Type::DATE, "2024-03-01"),
    (Type::TIMESTAMP, "infinity"),
];

#[test]
fn moments_become_results_as_the_server_has_them() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (declared, value) in MOMENTS {
        for column in ["seen", "made", "born"] {
            for sql in [
                "SELECT COALESCE(COLUMN, $1) FROM event ORDER BY id",
                "SELECT COALESCE($1, COLUMN) FROM event ORDER BY id",
                "SELECT CASE WHEN n = 7 THEN COLUMN ELSE $1 END FROM event ORDER BY id",
                "SELECT CASE WHEN n = 7 THEN $1 ELSE COLUMN END FROM event ORDER BY id",
                "SELECT NULLIF(COLUMN, $1) FROM event ORDER BY id",
                "SELECT NULLIF($1, COLUMN) FROM event ORDER BY id",
            ] {
                let sql = sql.replace("COLUMN", column);
                assert_same(&mut client, &sql, std::slice::from_ref(&declared), &[value]);
            }
        }
    }
    for sql in [
        "SELECT COALESCE(count, $1) FROM event ORDER BY id",
        "SELECT COALESCE($1, count) FROM event ORDER BY id",
        "SELECT COALESCE(seen, $1) FROM event ORDER BY id",
    ] {
        assert_same(&mut client, sql, &[Type::TEXT], &["1"]);
    }
}

#[test]
fn moments_are_written_by_the_clock_of_the_session() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (declared, value) in MOMENTS {
        for column in ["seen", "made", "born"] {
            for sql in [
                "UPDATE event SET COLUMN = COALESCE($1, COLUMN)",
                "UPDATE event SET COLUMN = CASE WHEN n = 7 THEN $1 ELSE COLUMN END",
                "UPDATE event SET COLUMN = COALESCE(NULLIF(COLUMN, $1), $1)",
                "UPDATE event SET COLUMN = $1",
            ] {
                let sql = sql.replace("COLUMN", column);
                assert_same(&mut client, &sql, std::slice::from_ref(&declared), &[value]);
                let all = "SELECT seen, made, born FROM event ORDER BY id";
                assert_same(&mut client, all, &[], &[]);
            }
        }
    }
}

#[test]
fn parameters_of_a_select_list_keep_their_types() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (declared, value) in [
        (Type::BOOL, "t"),
        (Type::INT4, "5"),
        (Type::INT8, "5"),
        (Type::DATE, "2024-03-01"),
        (Type::TIMESTAMPTZ, "2024-03-01 08:30Z"),
        (Type::NUMERIC, "1.50"),
        (Type::FLOAT8, "0.1"),
        (Type::UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (Type::TEXT, "x"),
        (Type::BYTEA, "\\x00ff"),
    ] {
        for sql in [
            "SELECT id, $1 AS flag FROM event WHERE name = $2",
            "SELECT DISTINCT $1 AS flag FROM event WHERE name = $2",
            "SELECT COALESCE($1, $1) AS flag, id FROM event WHERE name = $2",
            "SELECT CASE WHEN name = $2 THEN $1 END AS flag, id FROM event ORDER BY id",
            "SELECT $1 AS flag, count(*) FROM event WHERE name = $2",
        ] {
            let declared = [declared.clone(), Type::VARCHAR];
            assert_same(&mut client, sql, &declared, &[value, "alpha"]);
        }
    }
    let sql = "SELECT id, $1 AS flag FROM event WHERE name = $2";
    assert_same(&mut client, sql, &[], &["x", "alpha"]);
}

#[test]
fn a_parameter_without_a_type_is_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (sql, values) in [
        (
            "SELECT id FROM event WHERE name = 'alpha' AND $1 IS NULL",
            &["x"][..],
        ),
        ("SELECT id FROM event WHERE name = $2", &["x", "alpha"]),
        ("SELECT id FROM event WHERE label = $2", &["x", "beta"]),
        (
            "SELECT id FROM event WHERE name = $1 OR $1 IS NULL",
            &["alpha"],
        ),
        ("SELECT concat(name, $1) FROM event ORDER BY id", &["x"]),
        (
            "UPDATE event SET name = name || 'x' WHERE $1 IS NULL",
            &["x"],
        ),
        (
            "SELECT id FROM event WHERE name = 'alpha' AND n = $1",
            &["7"],
        ),
    ] {
        assert_same(&mut client, sql, &[], values);
    }
    let sql = "SELECT id FROM event WHERE name = 'alpha' AND $1 IS NOT NULL";
    assert_same(&mut client, sql, &[Type::INT4], &["1"]);
    let error = client.prepare("SELECT id FROM event WHERE $1 IS NULL AND name = 'x'");
    let error = error.err().and_then(|error| error.code().cloned());
    assert_eq!(error, Some(SqlState::INDETERMINATE_DATATYPE));
}

#[test]
fn a_value_of_another_type_is_not_assigned() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for value in [
        "count = CAST(count AS text)",
        "count = CAST(count AS varchar(5))",
        "count = name",
        "price = CAST(price AS text)",
        "rate = CAST(rate AS text)",
        "born = CAST(born AS text)",
        "made = CAST(made AS text)",
        "count = name || 'x'",
        "count = CASE WHEN name = 'alpha' THEN 'x' END",
        "born = count + 1",
        "name = CAST(count AS text)",
        "count = price + 1",
        "price = count",
        "count = count = 1",
    ] {
        for condition in ["", " WHERE n = 99"] {
            let sql = format!("UPDATE event SET {value}{condition}");
            let plain = asked(&mut client, &sql.replace("event", "plain"), &[], &[]);
            match asked(&mut client, &sql, &[], &[]) {
                // Not every expression is computed.
                Err((code, _)) if code == "0A000" => {
                    assert!(value != "count = CAST(count AS text)")
                }
                given => assert_eq!(given, plain, "{sql}"),
            }
        }
    }
}

#[test]
fn texts_that_are_compared_are_of_the_type_text() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for sql in [
        "SELECT NULLIF(name, 'x') AS x FROM event ORDER BY id",
        "SELECT NULLIF(label, 'beta') AS x FROM event ORDER BY id",
        "SELECT NULLIF(short, 'ab') AS x FROM event ORDER BY id",
        "SELECT NULLIF(price, 1.5) AS x FROM event ORDER BY id",
        "SELECT NULLIF(label, '') AS x FROM event ORDER BY id",
        "SELECT x FROM (SELECT NULLIF(label, '') AS x, id FROM event) AS s ORDER BY id",
        "SELECT NULLIF(label, '') AS x FROM event WHERE name = 'alpha'",
        "SELECT CASE WHEN n = 7 THEN label ELSE NULLIF(label, '') END AS x FROM event ORDER BY id",
        "SELECT COALESCE(NULLIF(name, ''), 'none') AS x FROM event ORDER BY id",
        "SELECT label AS x FROM event ORDER BY id",
    ] {
        assert_same(&mut client, sql, &[], &[]);
    }
}

/// Modes `equality` and `order` keep no sign of 0, since what is equal has one ciphertext.
#[test]
fn negative_zero_is_zero() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for column in ["rate", "near", "loose"] {
        for sql in [
            "SELECT id FROM event WHERE COLUMN = 0 ORDER BY id",
            "SELECT id FROM event WHERE COLUMN = '-0' ORDER BY id",
            "SELECT id FROM event WHERE COLUMN = -0.0 ORDER BY id",
            "SELECT id FROM event WHERE COLUMN >= 0 ORDER BY id",
            "SELECT id FROM event WHERE COLUMN < 0 ORDER BY id",
            "SELECT id FROM event ORDER BY COLUMN DESC, id",
            "SELECT count(DISTINCT COLUMN) FROM event",
            "SELECT count(*) FROM event GROUP BY COLUMN ORDER BY 1",
            "SELECT abs(COLUMN) FROM event ORDER BY id",
        ] {
            let sql = sql.replace("COLUMN", column);
            if column == "rate" && answer(&mut client, &sql).is_err() {
                continue;
            }
            assert_same(&mut client, &sql, &[], &[]);
        }
    }
    assert_same(&mut client, "SELECT loose FROM event ORDER BY id", &[], &[]);
    let twice = "CREATE UNIQUE INDEX ON event (rate)";
    let error = answer(&mut client, twice).expect_err("0 and -0");
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
}

/// The second row of those that are found by 0.1.
const TENTH: &str = "INSERT INTO event (id, count, near, price, born) VALUES (4, 5, 0.1, 6, \
                     '2024-03-01')";

fn with_tenth() -> Option<(Setup, Client)> {
    let (setup, mut client) = start()?;
    for text in [TENTH.to_owned(), TENTH.replace("event", "plain")] {
        client.batch_execute(&text).expect("a row");
    }
    Some((setup, client))
}

/// Statements with a cast parameter, its value and the type that is declared for it.
const CAST: &[(&str, (&str, Type))] = &[
    (
        "SELECT id FROM event WHERE born = $1::date",
        ("2024-03-01 08:30", Type::TIMESTAMP),
    ),
    (
        "SELECT $1::date AS d, name || 'x' AS n FROM event ORDER BY id",
        ("2024-03-01 08:30", Type::TIMESTAMP),
    ),
    (
        "SELECT id FROM event WHERE count = $1::int",
        ("4.7", Type::NUMERIC),
    ),
    (
        "SELECT id FROM event WHERE count = $1::int",
        ("5", Type::INT2),
    ),
    (
        "SELECT id FROM event WHERE count = $1::int",
        ("5", Type::INT8),
    ),
    (
        "SELECT id FROM event WHERE count = $1::int",
        ("5", Type::TEXT),
    ),
    (
        "SELECT id FROM event WHERE count = $1::bigint",
        ("5", Type::INT4),
    ),
    (
        "SELECT id FROM event WHERE count IN ($1::int, 1) ORDER BY id",
        ("4.7", Type::NUMERIC),
    ),
    (
        "SELECT id FROM event WHERE count = ANY($1::int[])",
        ("{4.7}", Type::NUMERIC_ARRAY),
    ),
    (
        "SELECT id FROM event WHERE price = $1::int",
        ("5.7", Type::NUMERIC),
    ),
    (
        "SELECT id FROM event WHERE near = $1::real",
        ("0.1", Type::FLOAT8),
    ),
    (
        "SELECT id FROM event WHERE near < $1::real ORDER BY id",
        ("0.1", Type::FLOAT8),
    ),
    (
        "SELECT id FROM event WHERE label = $1::varchar ORDER BY id",
        ("beta", Type::TEXT),
    ),
    (
        "INSERT INTO event (id, price) VALUES (9, $1::int) RETURNING price",
        ("7.7", Type::NUMERIC),
    ),
    (
        "SELECT id FROM event WHERE count = $1::int OR $1::int IS NULL",
        ("4.7", Type::NUMERIC),
    ),
];

#[test]
fn parameters_are_cast_from_the_type_that_is_declared() {
    let Some((_setup, mut client)) = with_tenth() else {
        return;
    };
    for (sql, (value, declared)) in CAST {
        assert_same(&mut client, sql, std::slice::from_ref(declared), &[*value]);
        let whole = value.replace(".7", "").replace("0.1", "0");
        assert_same(&mut client, sql, &[], &[&whole]);
    }
    let mixed = "SELECT id FROM event WHERE count = $1::int OR price = $1";
    assert_same(&mut client, mixed, &[Type::INT2], &["5"]);
    let error = asked(&mut client, mixed, &[Type::NUMERIC], &["4.7"]);
    assert_eq!(error.expect_err("two types").0, "0A000");
}

#[test]
fn constants_are_cast_as_the_server_does() {
    let Some((_setup, mut client)) = with_tenth() else {
        return;
    };
    for sql in [
        "SELECT id FROM event WHERE near = 0.1::real",
        "SELECT id FROM event WHERE near = CAST(0.1 AS real)",
        "SELECT id FROM event WHERE near >= 0.1::real",
        "SELECT id FROM event WHERE near = 0.1",
        "SELECT id FROM event WHERE count = 5::int",
        "SELECT id FROM event WHERE count = 4.7::int",
        "SELECT id FROM event WHERE price = 6::int",
        "SELECT id, NULL = 1, 'x' IS NULL, 1 = 1 FROM event ORDER BY id",
        "SELECT id FROM event WHERE (1 = 1 OR count = 1) AND near = 0.1::real",
    ] {
        assert_same(&mut client, sql, &[], &[]);
    }
}

#[test]
fn arguments_of_execute_are_of_the_types_of_parameters() {
    let Some((_setup, mut client)) = with_tenth() else {
        return;
    };
    let mut found = |condition: &str, argument: &str| {
        let answers = ["event", "plain"].map(|table| {
            let text = format!(
                "PREPARE found AS SELECT id FROM {table} WHERE {condition} ORDER BY id; EXECUTE \
                 found({argument}); DEALLOCATE found"
            );
            let messages = client.simple_query(&text).expect(&text);
            let rows = messages.iter().filter_map(|message| match message {
                postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
            rows.collect::<Vec<_>>()
        });
        assert_eq!(answers[0], answers[1], "{condition} {argument}");
        answers[0].len()
    };
    assert_eq!(found("near = $1", "0.1"), 1);
    assert_eq!(found("near = $1", "-1"), 1);
    assert_eq!(found("count = $1", "5"), 1);
    assert_eq!(found("price = $1", "6.0"), 1);
    assert_eq!(found("price > $1 AND n IS NULL", "5.5"), 1);
}
