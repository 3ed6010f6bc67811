//! What a value or a statement means is told by its declared type, the clock of the session, and
//! what else stands in its text: before a real server, beside a plain table.

use crate::common::texts::{Text, answer, assert_refused};
use crate::common::{Setup, with_twin};
use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Client, Error};

const RULES: &str = r#"
[columns.event]
seen = { type = "timestamptz", mode = "order" }
made = { type = "timestamp", mode = "order" }
born = { type = "date", mode = "order" }
same = { type = "timestamptz", mode = "equality" }
name = { type = "varchar(20)" }
fee = { type = "numeric(6,2)", default = "7" }

[columns.word]
padded = { type = "char(5)", mode = "equality" }
short = { type = "varchar(9)", mode = "equality" }
free = { type = "text", mode = "equality" }

[columns.amount]
rate = { type = "double precision", mode = "order" }
near = { type = "real", mode = "order" }
loose = { type = "double precision" }
big = { type = "bigint", mode = "order" }
price = { type = "numeric(10,2)", mode = "order" }
fine = { type = "numeric(18,4)", mode = "order" }
any_price = { type = "numeric", mode = "equality" }
"#;

const COLUMNS: &str = "(id integer, seen timestamptz, made timestamp, born date, same timestamptz)";

/// A new year's night in Berlin and in London, as a clock there shows it.
const ROWS: &str = "\
    (1, '2024-01-01 00:00+01', '2024-01-01 00:00', '2024-01-01', '2024-01-01 00:00+01'), \
    (2, '2024-01-01 00:30+01', '2023-12-31 23:30', '2023-12-31', '2024-01-01 00:30+01'), \
    (3, '2024-01-01 01:00+01', '2024-01-01 01:00', '2024-01-02', '2024-01-01 01:00+01'), \
    (4, '2024-10-27 04:00+01', '2024-10-27 04:00', '2024-10-27', '2024-10-27 04:00+01'), \
    (5, 'infinity', '-infinity', 'infinity', 'infinity')";

fn start() -> Option<(Setup, Client)> {
    start_of("event", COLUMNS, ROWS)
}

/// The table with its rows, a plain one with the same, and a client whose clock is in Berlin.
fn start_of(table: &str, columns: &str, rows: &str) -> Option<(Setup, Client)> {
    let (setup, mut client) = with_twin(RULES, table, columns, rows)?;
    let set = client.batch_execute("SET TimeZone TO 'Europe/Berlin'");
    set.expect("a zone");
    Some((setup, client))
}

fn found(client: &mut Client, sql: &str, declared: &Type, value: &str) -> Result<Vec<i32>, Error> {
    found_by(client, sql, std::slice::from_ref(declared), value)
}

/// The same by a parameter that may have no declared type.
fn found_by(
    client: &mut Client,
    sql: &str,
    declared: &[Type],
    value: &str,
) -> Result<Vec<i32>, Error> {
    let statement = client.prepare_typed(sql, declared)?;
    let rows = client.query(&statement, &[&Text(value)])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// A parameter finds the same rows of a table as of the plain one.
#[track_caller]
fn assert_as_plain(client: &mut Client, sql: &str, table: &str, (declared, value): (&Type, &str)) {
    let plain = sql.replace(table, "plain");
    let wanted = found(client, &plain, declared, value).expect(&plain);
    let given = found(client, sql, declared, value).expect(sql);
    assert_eq!(given, wanted, "{sql}, {declared} {value}");
}

#[test]
fn moments_and_times_of_the_clock_meet_as_the_server_has_them_meet() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let values = [
        (Type::TIMESTAMP, "2024-01-01 00:00"),
        (Type::TIMESTAMP, "2023-12-31 23:30"),
        (Type::TIMESTAMP, "infinity"),
        (Type::TIMESTAMPTZ, "2024-01-01 00:00+01"),
        (Type::TIMESTAMPTZ, "2024-01-01 00:00+00"),
        (Type::TIMESTAMPTZ, "-infinity"),
        (Type::DATE, "2024-01-01"),
        (Type::DATE, "2023-12-31"),
    ];
    for column in ["seen", "made", "born", "same"] {
        for operator in ["=", "<>", "<", "<=", ">", ">="] {
            if column == "same" && !matches!(operator, "=" | "<>") {
                continue;
            }
            for (declared, value) in &values {
                let sql = format!("SELECT id FROM event WHERE {column} {operator} $1 ORDER BY id");
                let plain = sql.replace("event", "plain");
                let wanted = found(&mut client, &plain, declared, value).expect(&plain);
                let given = found(&mut client, &sql, declared, value).expect(&sql);
                assert_eq!(given, wanted, "{sql}, {declared} {value}");
            }
        }
    }
    for (column, declared, value) in [
        (
            "seen",
            Type::TIMESTAMP_ARRAY,
            "{2024-01-01 00:00,2024-01-01 01:00,NULL}",
        ),
        (
            "made",
            Type::TIMESTAMPTZ_ARRAY,
            "{2024-01-01 00:00Z,2023-12-31 22:30Z}",
        ),
        (
            "born",
            Type::TIMESTAMPTZ_ARRAY,
            "{2024-01-01 00:00Z,2024-01-01 00:00+01}",
        ),
        ("same", Type::DATE_ARRAY, "{2024-01-01}"),
    ] {
        let sql = format!("SELECT id FROM event WHERE {column} = ANY ($1) ORDER BY id");
        let plain = sql.replace("event", "plain");
        let wanted = found(&mut client, &plain, &declared, value).expect(&plain);
        assert!(!wanted.is_empty(), "{plain}");
        let given = found(&mut client, &sql, &declared, value).expect(&sql);
        assert_eq!(given, wanted, "{sql}, {declared} {value}");
    }
}

#[test]
fn a_moment_that_the_clock_does_not_show_alone_is_no_bound() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    // Twice 02:30 in Berlin.
    let (declared, value) = (Type::TIMESTAMPTZ, "2024-10-27 00:30Z");
    for column in ["made", "born"] {
        let sql = format!("SELECT id FROM event WHERE {column} >= $1");
        let error = found(&mut client, &sql, &declared, value).expect_err(&sql);
        assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
    }
    let sql = "SELECT id FROM event WHERE seen >= $1 ORDER BY id";
    assert_eq!(
        found(&mut client, sql, &declared, value).expect(sql),
        [4, 5]
    );
}

/// The server tells of a setting when all of the text is done.
#[test]
fn values_are_not_read_by_a_clock_that_the_same_text_changes() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let select = "SELECT seen FROM event WHERE id = 1";
    for before in [
        "SET TimeZone TO 'Asia/Tokyo'",
        "BEGIN; SET LOCAL \"timezone\" = 'Asia/Tokyo'; COMMIT",
        "SELECT set_config('TimeZone', 'Asia/Tokyo', false)",
        "DO $$ BEGIN SET TimeZone TO 'Asia/Tokyo'; END $$",
        "RESET ALL",
        // It may take back what an earlier text has set.
        "COMMIT",
        "SAVEPOINT a; ROLLBACK TO b",
    ] {
        assert_refused(&mut client, &format!("{before}; {select}"));
    }
    let here = answer(&mut client, select).expect("a row");
    assert_eq!(here, ["2024-01-01 00:00:00+01"]);
    let around =
        format!("BEGIN; SET application_name TO 'x'; SAVEPOINT a; ROLLBACK TO a; COMMIT; {select}");
    assert_eq!(answer(&mut client, &around).expect("a row"), here);
    answer(&mut client, "SET TimeZone TO 'Asia/Tokyo'").expect("by itself");
    let there = answer(&mut client, select).expect("a row");
    assert_eq!(there, ["2024-01-01 08:00:00+09"]);
}

#[test]
fn a_block_may_change_where_names_are_looked_for() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "CREATE SCHEMA other",
        "CREATE TABLE other.event (id integer, seen text)",
        "INSERT INTO other.event VALUES (1, 'elsewhere')",
        "SELECT seen FROM event",
        "DO $$ BEGIN SET search_path TO other; END $$",
    ] {
        answer(&mut client, statement).expect(statement);
    }
    let error = answer(
        &mut client,
        "SELECT seen FROM event WHERE seen = 'elsewhere'",
    );
    let error = error.expect_err("the protected table may be meant");
    assert_eq!(error.code().map(|code| code.code()), Some("F0000"));
    let found = answer(
        &mut client,
        "SELECT seen FROM other.event WHERE seen = 'elsewhere'",
    );
    assert_eq!(found.expect("a plain table"), ["elsewhere"]);
}

#[test]
fn no_definition_has_the_server_store_or_lose_a_value() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for text in [
        "CREATE TEMP TABLE kid () INHERITS (event)",
        "CREATE TABLE pg_temp.kid () INHERITS (event)",
        "ALTER TABLE event ALTER COLUMN id TYPE integer USING length(seen::text)",
        "ALTER TABLE event ADD COLUMN fee numeric(6,2) DEFAULT 7",
    ] {
        assert_refused(&mut client, text);
    }
    client
        .batch_execute("ALTER TABLE event ADD COLUMN fee numeric(6,2)")
        .expect("rows that are there have none");
    client
        .batch_execute("INSERT INTO event (id) VALUES (6)")
        .expect("this has that of the rule");
    let fees = answer(
        &mut client,
        "SELECT fee FROM event WHERE id >= 5 ORDER BY id",
    );
    assert_eq!(fees.expect("two rows"), ["NULL", "7.00"]);
    client
        .batch_execute("ALTER TABLE event ADD COLUMN name varchar(20) NOT NULL")
        .expect_err("there are rows");
    client
        .batch_execute("TRUNCATE event; ALTER TABLE event DROP COLUMN fee")
        .expect("no row is left");
    client
        .batch_execute("ALTER TABLE event ADD COLUMN fee numeric(6,2) DEFAULT 7 NOT NULL")
        .expect("no row lacks it");
    let insert = "INSERT INTO event (id) VALUES (1)";
    client.batch_execute(insert).expect("it has its default");
    assert_eq!(setup.psql("SELECT fee FROM event"), "7.00\n");
}

const WORDS: &str = "(id integer, padded char(5), short varchar(9), free text)";

const WORD_ROWS: &str = "(1, 'ab', 'ab', 'ab'), (2, 'ab', 'ab ', 'ab '), (3, '', '', ''), \
    (4, 'abcde', 'abcde', 'abcde'), (5, NULL, NULL, NULL)";

/// A `char` has no blanks at its end beside a `text`, and neither side has any beside a `varchar`.
#[test]
fn blanks_at_the_end_count_as_types_say() {
    let Some((_setup, mut client)) = start_of("word", WORDS, WORD_ROWS) else {
        return;
    };
    let declarations: [&[Type]; 4] = [&[], &[Type::TEXT], &[Type::VARCHAR], &[Type::BPCHAR]];
    for column in ["padded", "short", "free"] {
        for declared in declarations {
            for value in ["ab", "ab   ", "", " ", "abcde", "abcdefgh"] {
                for condition in [format!("{column} = $1"), format!("{column} <> $1")] {
                    let sql = format!("SELECT id FROM word WHERE {condition} ORDER BY id");
                    let given = found_by(&mut client, &sql, declared, value);
                    let is_refused = match (column, declared) {
                        ("padded", [Type::TEXT]) => value.ends_with(' '),
                        ("short", [Type::BPCHAR]) => true,
                        _ => false,
                    };
                    if is_refused {
                        let error = given.expect_err(&sql);
                        let code = error.code();
                        assert_eq!(code, Some(&SqlState::FEATURE_NOT_SUPPORTED), "{error:?}");
                        continue;
                    }
                    let plain = sql.replace("word", "plain");
                    let wanted = found_by(&mut client, &plain, declared, value).expect(&plain);
                    let given = given.expect(&sql);
                    assert_eq!(given, wanted, "{sql}, {declared:?} {value:?}");
                }
            }
        }
    }
}

#[test]
fn a_cast_beside_a_char_means_what_it_says() {
    let Some((_setup, mut client)) = start_of("word", WORDS, WORD_ROWS) else {
        return;
    };
    for condition in [
        "padded = 'ab   '",
        "padded = 'ab'::text",
        "padded <> 'ab'::text",
        "padded = ''::text",
        "padded = 'ab   '::varchar",
        "padded = CAST('ab ' AS varchar)",
        "padded IN ('ab   ', 'abcde')",
        "padded IN ('ab   '::varchar, 'abcde'::varchar)",
        "short = 'ab '::text",
        "free = 'ab '::varchar",
    ] {
        let sql = format!("SELECT id FROM word WHERE {condition} ORDER BY id");
        let wanted = answer(&mut client, &sql.replace("word", "plain")).expect(condition);
        assert_eq!(answer(&mut client, &sql).expect(&sql), wanted, "{sql}");
    }
    for condition in ["padded = 'ab   '::text", "padded <> CAST('ab ' AS text)"] {
        assert_refused(
            &mut client,
            &format!("SELECT id FROM word WHERE {condition}"),
        );
    }
    let sql = "SELECT id FROM word WHERE padded = $1::text ORDER BY id";
    let declarations: [&[Type]; 4] = [&[], &[Type::TEXT], &[Type::VARCHAR], &[Type::BPCHAR]];
    for declared in declarations {
        let given = found_by(&mut client, sql, declared, "ab").expect(sql);
        assert_eq!(given, [1, 2], "{declared:?}");
        let given = found_by(&mut client, sql, declared, "ab   ");
        match declared {
            // The cast takes them away.
            [Type::BPCHAR] => assert_eq!(given.expect(sql), [1, 2]),
            _ => {
                let error = given.expect_err(sql);
                let code = error.code();
                assert_eq!(code, Some(&SqlState::FEATURE_NOT_SUPPORTED), "{error:?}");
            }
        }
    }
}

const AMOUNTS: &str = "(id integer, rate double precision, near real, loose double precision, \
    big bigint, price numeric(10,2), fine numeric(18,4), any_price numeric)";

const AMOUNT_ROWS: &str = "\
    (1, 0, 0, 0, 9007199254740993, 9.99, 9.99, 9.99), \
    (2, 1e-300, 1.5, 1e-300, 9007199254740992, 10, 99999999999.9999, 10), \
    (3, -1e300, -1e30, -1e300, -5, -3.5, -3.5, -3.5), \
    (4, 1.5, 3e38, 1.5, 7, 0, 0, 0)";

const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// A constant that no floating number is near is refused, as the server does it: it lies neither
/// above nor below all rows.
#[test]
fn a_number_that_is_no_float_finds_and_deletes_nothing() {
    let Some((_setup, mut client)) = start_of("amount", AMOUNTS, AMOUNT_ROWS) else {
        return;
    };
    let out_of_range = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    for column in ["rate", "near", "loose"] {
        for operator in OPERATORS {
            for value in ["1e-400", "-1e-400", "1e400", "-1e400"] {
                for table in ["plain", "amount"] {
                    let sql = format!("SELECT id FROM {table} WHERE {column} {operator} ");
                    let literal = format!("{sql}{value}");
                    let error = answer(&mut client, &literal).expect_err(&literal);
                    assert_eq!(error.code(), Some(&out_of_range), "{literal}: {error:?}");
                    let sql = format!("{sql}$1");
                    let error = found(&mut client, &sql, &Type::NUMERIC, value).expect_err(&sql);
                    assert_eq!(error.code(), Some(&out_of_range), "{sql} {value}: {error}");
                }
            }
            for value in ["1e-300", "0.0", "1.5", "-1e300", "0.1"] {
                let sql = format!("SELECT id FROM amount WHERE {column} {operator} $1 ORDER BY id");
                assert_as_plain(&mut client, &sql, "amount", (&Type::NUMERIC, value));
                let literal = sql.replace("$1", value);
                let plain = literal.replace("amount", "plain");
                let wanted = answer(&mut client, &plain).expect(&plain);
                let given = answer(&mut client, &literal).expect(&literal);
                assert_eq!(given, wanted, "{literal}");
            }
        }
    }
    for condition in ["rate < 1e-400", "rate > -1e-400", "near IN (1, 1e-400)"] {
        let sql = format!("DELETE FROM amount WHERE {condition}");
        let error = client.batch_execute(&sql).expect_err(&sql);
        assert_eq!(error.code(), Some(&out_of_range), "{sql}: {error:?}");
    }
    let left = answer(&mut client, "SELECT count(*) FROM amount").expect("a row");
    assert_eq!(left, ["4"]);
}

/// Column, and values as `double precision` that are refused and that are not.
const FLOATS: [(&str, &[&str], &[&str]); 4] = [
    (
        "big",
        &["9007199254740992", "-1e16", "9223372036854775808"],
        &["9007199254740991", "7", "7.5", "1e19", "-1e300", "NaN"],
    ),
    (
        "price",
        &[],
        &["9.99", "9.985", "99999999.99", "1e300", "-1e300", "NaN"],
    ),
    (
        "fine",
        &["1e11", "-1e11", "-1e300", "1e300"],
        &["9.99", "99999999999.9999", "-3.5", "1e-5", "-Infinity"],
    ),
    ("any_price", &["9.99", "0"], &["NaN", "Infinity"]),
];

/// The server makes floating numbers of whole and decimal ones beside them. Where several become
/// one, what is sealed does not tell which are equal then.
#[test]
fn numbers_are_compared_as_floats_or_not_at_all() {
    let Some((_setup, mut client)) = start_of("amount", AMOUNTS, AMOUNT_ROWS) else {
        return;
    };
    for (column, refused, values) in FLOATS {
        for operator in OPERATORS {
            if column == "any_price" && !matches!(operator, "=" | "<>") {
                continue;
            }
            let sql = format!("SELECT id FROM amount WHERE {column} {operator} $1 ORDER BY id");
            for &value in refused {
                let error = found(&mut client, &sql, &Type::FLOAT8, value).expect_err(&sql);
                let code = error.code();
                assert_eq!(
                    code,
                    Some(&SqlState::FEATURE_NOT_SUPPORTED),
                    "{sql} {value}: {error:?}"
                );
            }
            for &value in values {
                assert_as_plain(&mut client, &sql, "amount", (&Type::FLOAT8, value));
            }
        }
    }
}

/// As Django writes times: the server forgets the zone in the text, and takes the clock's.
#[test]
fn a_text_cast_to_timestamp_is_a_time_of_the_sessions_zone() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for text in [
        "2024-01-01 00:30:00",
        "2024-01-01T00:30:00.000000",
        "2024-01-01 00:30:00+07",
        "2024-03-31 02:30:00",
        "2024-10-27 02:30:00",
        "2024-10-27 02:30:00-03",
    ] {
        for table in ["event", "plain"] {
            let insert = format!(
                "INSERT INTO {table} (id, seen, same) VALUES (90, '{text}'::timestamp, \
                 CAST('{text}' AS timestamp))"
            );
            client.batch_execute(&insert).expect(&insert);
        }
        for query in [
            format!(
                "SELECT id, seen, same FROM event WHERE seen = '{text}'::timestamp ORDER BY id"
            ),
            format!("SELECT id FROM event WHERE seen < '{text}'::timestamp ORDER BY id"),
            format!("SELECT id FROM event WHERE same = timestamp '{text}' ORDER BY id"),
        ] {
            let wanted = answer(&mut client, &query.replace("event", "plain"));
            let wanted = wanted.expect("a query of plain SQL");
            assert_eq!(
                answer(&mut client, &query).expect(&query),
                wanted,
                "{query}"
            );
        }
        client
            .batch_execute("DELETE FROM event WHERE id = 90; DELETE FROM plain WHERE id = 90")
            .expect("deleted");
    }
}
