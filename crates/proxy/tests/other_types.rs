//! Columns of types whose values the proxy keeps unread, beside a plain twin.

use std::io::{Read, Write};

use postgres::error::SqlState;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type};
use postgres::{Client, Error};

use crate::common::Setup;
use crate::common::raw::Raw;
use crate::common::texts::{Text, answer};

/// Columns of `thing`: name, type, and three values as programs write them.
const COLUMNS: &[(&str, &str, [&str; 3])] = &[
    (
        "j",
        "jsonb",
        [
            r#"{"b":[1, 2.50,null],"a":"x"}"#,
            r#"{"a":"y","a":"z"}"#,
            "[]",
        ],
    ),
    (
        "i",
        "interval",
        ["1 year 2 mons 3 days 04:05:06.789", "P1DT-2H", "-1 mon"],
    ),
    (
        "p",
        "interval(3)",
        ["00:00:01.23456", "1 day 23:59:59.9996", "-00:00:00.0005"],
    ),
    (
        "n",
        "inet",
        ["10.0.0.1/32", "2001:DB8:0:0::1/64", "::ffff:1.2.3.4"],
    ),
    ("c", "cidr", ["10/8", "2001:db8::/32", "192.168"]),
    (
        "m",
        "macaddr",
        ["08-00-2B-01-02-03", "0800.2b01.0204", "08002b010205"],
    ),
    (
        "e",
        "macaddr8",
        [
            "08:00:2b:01:02:03:04:05",
            "08002b010203",
            "08-00-2b-01-02-03-04-06",
        ],
    ),
    (
        "z",
        "time with time zone",
        ["04:05:06.789+02", "040506-0330", "24:00Z"],
    ),
    ("b", "bit(8)", ["10101010", "00000000", "11111111"]),
    ("v", "bit varying(9)", ["101", "", "111111111"]),
    ("r", "int4range", ["[1,5]", "empty", "(,7)"]),
    ("nr", "numrange", ["[1.50,2]", "empty", "(,)"]),
    (
        "tr",
        "tstzrange",
        [
            "[2001-02-03 04:05+00,2001-02-04 00:00+02)",
            "empty",
            "[2001-01-01,)",
        ],
    ),
    (
        "dr",
        "daterange",
        ["[2001-02-03,2001-02-05]", "empty", "(,2001-01-01)"],
    ),
    (
        "ta",
        "text[]",
        [r#"{a,"b c",NULL,"\"q\""}"#, "{}", "[0:1]={x,y}"],
    ),
    ("ia", "integer[]", ["{{1,2},{3,4}}", "{NULL}", "{ 7 , -8}"]),
    ("na", "numeric(6,2)[]", ["{1.005,2}", "{}", "{NULL,-3}"]),
    (
        "va",
        "character varying(4)[]",
        [r#"{abcd,"ab     ","\"q\\"}"#, "{}", "[0:1]={x,NULL}"],
    ),
    ("ba", "bit(3)[]", ["{101,000}", "{}", "{{111},{NULL}}"]),
    ("vb", "bit varying(3)[]", ["{101,0}", "{}", "{NULL,11}"]),
    (
        "tp",
        "timestamp(3) without time zone[]",
        [
            r#"{"2001-02-03 04:05:06.7895","1999-12-31 23:59:59.9995"}"#,
            "{}",
            "{infinity,NULL}",
        ],
    ),
    (
        "zp",
        "timestamp(1) with time zone[]",
        [r#"{"2001-02-03 04:05:06.45+00"}"#, "{}", "{-infinity,NULL}"],
    ),
    (
        "tt",
        "time(0) without time zone[]",
        ["{23:59:59.5,0:00}", "{}", "{NULL}"],
    ),
    (
        "ii",
        "interval(2)[]",
        ["{1.235 s}", "{}", "{NULL,-0.005 s}"],
    ),
    (
        "sa",
        "timestamp with time zone[]",
        [r#"{"2001-02-03 04:05+00"}"#, "{}", "{infinity,NULL}"],
    ),
    (
        "fa",
        "double precision[]",
        ["{0.1,1e300}", "{}", "{NaN,-0.30000000000000004}"],
    ),
    ("g", "point", ["(1,2.5)", "(0,-1e10)", "1,2"]),
    ("s", "tsvector", ["a fat cat", "'x':3A 'y':1", ""]),
];

fn rules() -> String {
    let mut rules = "\n[columns.thing]\n".to_owned();
    for (name, own, _) in COLUMNS {
        rules.push_str(&format!("{name} = {{ type = \"{own}\" }}\n"));
    }
    rules
}

fn definition() -> String {
    let columns = COLUMNS
        .iter()
        .map(|(name, own, _)| format!(", {name} {own}"));
    format!("(id integer PRIMARY KEY{})", columns.collect::<String>())
}

fn names() -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
    names.join(", ")
}

/// A parameter in binary, of whatever type it is asked for.
#[derive(Debug)]
struct Binary(Option<Vec<u8>>);

impl ToSql for Binary {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match &self.0 {
            None => Ok(IsNull::Yes),
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

/// The table `thing` with rules, and its twin `plain`, both empty.
fn start_empty() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(&rules());
    let mut client = setup.connect();
    for name in ["thing", "plain"] {
        let create = format!("CREATE TABLE {name} {}", definition());
        client.batch_execute(&create).expect(&create);
    }
    Some((setup, client))
}

/// The same with rows.
fn start() -> Option<(Setup, Client)> {
    let (setup, mut client) = start_empty()?;
    for name in ["thing", "plain"] {
        fill(&mut client, name).expect("the values are right");
    }
    Some((setup, client))
}

/// Inserts rows by constants, the last one of NULL alone.
fn fill(client: &mut Client, table: &str) -> Result<(), Error> {
    let rows: Vec<String> = (0..3)
        .map(|row| {
            let values = COLUMNS.iter();
            let values =
                values.map(|(_, _, values)| format!(", '{}'", values[row].replace('\'', "''")));
            format!("({row}{})", values.collect::<String>())
        })
        .collect();
    client.batch_execute(&format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
    client.batch_execute(&format!("INSERT INTO {table} (id) VALUES (9)"))
}

/// Rows as texts, of the protected table and of its twin.
fn both(client: &mut Client, query: &str) -> [Result<Vec<String>, String>; 2] {
    ["thing", "plain"].map(|name| {
        let query = query.replace("TABLE", name);
        answer(client, &query).map_err(|error| match error.as_db_error() {
            Some(error) => format!("{} {}", error.code().code(), error.message()),
            None => error.to_string(),
        })
    })
}

#[track_caller]
fn assert_same(client: &mut Client, query: &str) -> Vec<String> {
    let [ours, theirs] = both(client, query);
    assert_eq!(ours, theirs, "{query}");
    ours.unwrap_or_default()
}

fn all() -> String {
    format!("SELECT id, {} FROM TABLE ORDER BY id", names())
}

#[test]
fn values_come_back_as_the_server_writes_them() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    assert_eq!(assert_same(&mut client, &all()).len(), 4);
    let stored = answer(
        &mut setup.server.connect(),
        "SELECT pg_typeof(j), pg_typeof(ia) FROM thing",
    );
    assert_eq!(stored.expect("types")[0], "bytea|bytea");
    for settings in [
        "SET IntervalStyle TO 'sql_standard'; SET TimeZone TO 'Asia/Kathmandu'",
        "SET IntervalStyle TO 'iso_8601'; SET extra_float_digits TO 0",
        "SET IntervalStyle TO 'postgres_verbose'; SET DateStyle TO 'ISO, DMY'",
    ] {
        for setting in settings.split(';') {
            client.batch_execute(setting).expect(setting);
        }
        assert_same(&mut client, &all());
        for name in ["thing", "plain"] {
            client
                .batch_execute(&format!("DELETE FROM {name}"))
                .expect("emptied");
            fill(&mut client, name).expect("the values are right");
        }
        assert_same(&mut client, &all());
        client.batch_execute("RESET ALL").expect("reset");
        assert_same(&mut client, &all());
    }
    for query in [
        "SELECT count(*) FROM TABLE WHERE i IS NULL",
        "SELECT column_name, data_type, udt_name, datetime_precision FROM \
         information_schema.columns WHERE table_name = 'TABLE' ORDER BY ordinal_position",
        "SELECT pg_catalog.format_type(atttypid, atttypmod) FROM pg_attribute \
         WHERE attrelid = 'TABLE'::regclass AND attnum > 0 ORDER BY attnum",
        "UPDATE TABLE SET i = '2 hours', j = '{\"new\": [1 ,2]}'::jsonb WHERE id = 1 \
         RETURNING i, j, ia",
        "INSERT INTO TABLE (id, p, ta) VALUES (20, '1.23456 s'::interval, '{x}') RETURNING p, ta",
        "INSERT INTO TABLE (id, b, v, i, ta) VALUES (21, B'00001111', B'101', interval '2 min', \
         '{y}'::text[]) RETURNING b, v, i, ta",
        "BEGIN; DECLARE c CURSOR FOR SELECT i, ia FROM TABLE ORDER BY id; FETCH 2 FROM c; COMMIT",
    ] {
        assert!(!assert_same(&mut client, query).is_empty(), "{query}");
    }
    let secret = "INSERT INTO thing (id, j, ta) VALUES (10, '\"CANARY\"', '{CANARY}')";
    client.batch_execute(secret).expect("a row");
    let found = answer(&mut client, "SELECT j, ta FROM thing WHERE id = 10");
    assert_eq!(found.expect("a row"), ["\"CANARY\"|{CANARY}"]);
}

/// Types and binary values of a row.
type RawRow = (Vec<Type>, Vec<Option<Vec<u8>>>);

/// Those of all rows.
fn raw(client: &mut Client, table: &str) -> Vec<RawRow> {
    let query = format!("SELECT {} FROM {table} ORDER BY id", names());
    let rows = client.query(&query, &[]).expect(&query);
    let rows = rows.iter().map(|row| {
        let types = row.columns().iter().map(|own| own.type_().clone());
        let values = (0..COLUMNS.len()).map(|index| row.get::<_, Option<Raw>>(index));
        let values = values.map(|value| value.map(|raw| raw.0));
        (types.collect(), values.collect())
    });
    rows.collect()
}

#[test]
fn parameters_are_read_in_text_and_in_binary() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let theirs = raw(&mut client, "plain");
    assert_eq!(raw(&mut client, "thing"), theirs);
    let holes: Vec<String> = (2..=COLUMNS.len() + 1)
        .map(|number| format!("${number}"))
        .collect();
    for name in ["thing", "plain"] {
        client
            .batch_execute(&format!("DELETE FROM {name}"))
            .expect("emptied");
        let insert = format!("INSERT INTO {name} VALUES ($1, {})", holes.join(", "));
        for (id, (_, values)) in (0_i32..).zip(&theirs) {
            let values: Vec<Binary> = values.iter().cloned().map(Binary).collect();
            let mut own: Vec<&(dyn ToSql + Sync)> = vec![&id];
            own.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
            client.execute(&insert, &own).expect("binary");
        }
        for row in 0..3 {
            let id = row as i32 + 4;
            let values: Vec<Text> = COLUMNS.iter().map(|own| Text(own.2[row])).collect();
            let mut own: Vec<&(dyn ToSql + Sync)> = vec![&id];
            own.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
            client.execute(&insert, &own).expect("text");
        }
    }
    assert_eq!(raw(&mut client, "thing"), raw(&mut client, "plain"));
    assert_eq!(assert_same(&mut client, &all()).len(), 7);
    // A declared type without a modifier.
    for name in ["thing", "plain"] {
        let update = format!("UPDATE {name} SET p = $1, v = $2 WHERE id = 0");
        let update = client
            .prepare_typed(&update, &[Type::INTERVAL, Type::VARBIT])
            .expect("prepared");
        client
            .execute(&update, &[&Text("1.23456 s"), &Text("1011")])
            .expect("updated");
    }
    assert_same(&mut client, &all());
}

#[test]
fn bytes_that_are_no_values_are_refused() {
    let Some((_setup, mut client)) = start_empty() else {
        return;
    };
    for (column, bytes) in [
        ("j", vec![2, b'1']),
        ("j", vec![1, b'{']),
        ("i", vec![0; 15]),
        ("n", vec![2, 33, 0, 4, 1, 2, 3, 4]),
        ("n", vec![9, 32, 0, 4, 1, 2, 3, 4]),
        ("m", vec![0; 5]),
        ("b", vec![0, 0, 0, 7, 0]),
        ("v", vec![0, 0, 0, 10, 0, 0]),
        (
            "ia",
            vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 0, 0, 0, 0, 1],
        ),
        ("r", vec![0]),
    ] {
        let codes = ["thing", "plain"].map(|name| {
            let insert = format!("INSERT INTO {name} (id, {column}) VALUES (99, $1)");
            let error = client.execute(&insert, &[&Binary(Some(bytes.clone()))]);
            error.expect_err(&insert).code().cloned()
        });
        assert!(codes[0].is_some() && codes[1].is_some(), "{column}");
        let class = |code: &Option<SqlState>| code.as_ref().map(|code| code.code()[..2].to_owned());
        assert_eq!(
            class(&codes[0]),
            class(&codes[1]),
            "{column} {bytes:?} {codes:?}"
        );
    }
}

#[test]
fn what_is_no_value_is_refused_as_by_the_server() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (column, value) in [
        ("j", "{"),
        ("j", r#""\u0000""#),
        ("i", "1 fortnight"),
        ("i", "9999999999 days"),
        ("n", "10.0.0"),
        ("n", "1.2.3.4/33"),
        ("c", "10.0.0.1/8"),
        ("m", "08:00:2b"),
        ("z", "25:00"),
        ("b", "101"),
        ("b", "2"),
        ("v", "1010101010"),
        ("r", "[5,1]"),
        ("r", "[1,"),
        ("ia", "{a}"),
        ("ia", "{1,{2}}"),
        ("na", "{100000}"),
        ("va", "{abcd,abcde}"),
        ("ba", "{101,10}"),
        ("vb", "{1010}"),
        ("tp", "{2001-02-30}"),
        ("ta", "{"),
        ("g", "(1"),
    ] {
        let insert = format!("INSERT INTO TABLE (id, {column}) VALUES (99, '{value}')");
        let [ours, theirs] = both(&mut client, &insert);
        assert!(theirs.is_err(), "{insert}");
        assert_eq!(ours, theirs, "{insert}");
        let [ours, theirs] = both(&mut client, &format!("{insert}; SELECT 1"));
        assert_eq!(ours, theirs, "{insert}");
        let codes = ["thing", "plain"].map(|name| {
            let insert = format!("INSERT INTO {name} (id, {column}) VALUES (99, $1)");
            let error = client.execute(&insert, &[&Text(value)]);
            error.expect_err("no value").code().cloned()
        });
        assert_eq!(codes[0], codes[1], "{column} {value}");
    }
    let [ours, theirs] = both(&mut client, "INSERT INTO TABLE (id, i) VALUES (99, 5)");
    assert_eq!(
        ours.map_err(|text| text[..5].to_owned()),
        Err("42804".to_owned())
    );
    assert_eq!(
        theirs.map_err(|text| text[..5].to_owned()),
        Err("42804".to_owned())
    );
    let missing = "SELECT id FROM TABLE WHERE id = 99";
    assert_eq!(assert_same(&mut client, missing).len(), 0);
}

#[test]
fn copy_carries_them() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for name in ["thing", "plain"] {
        for row in 0..200 {
            let id = 100 + row;
            let insert = format!(
                "INSERT INTO {name} (id, i, ia, j) \
                 VALUES ({id}, '{row} min', '{{{row},1}}', '{row}')"
            );
            client.batch_execute(&insert).expect(&insert);
        }
    }
    for options in ["", " (FORMAT csv)", " (FORMAT binary)"] {
        let out = |client: &mut Client, table: &str| {
            let query = format!("COPY (SELECT * FROM {table} ORDER BY id) TO STDOUT{options}");
            let mut bytes = Vec::new();
            let mut reader = client.copy_out(&query).expect(&query);
            reader.read_to_end(&mut bytes).expect(&query);
            bytes
        };
        let theirs = out(&mut client, "plain");
        assert_eq!(out(&mut client, "thing"), theirs, "{options}");
        client.batch_execute("DELETE FROM thing").expect("emptied");
        let mut writer = client
            .copy_in(&format!("COPY thing FROM STDIN{options}"))
            .expect("begun");
        for piece in theirs.chunks(997) {
            writer.write_all(piece).expect("written");
            writer.flush().expect("sent");
        }
        assert_eq!(writer.finish().expect("copied"), 204);
        assert_eq!(out(&mut client, "thing"), theirs, "{options}");
    }
    let mut writer = client
        .copy_in("COPY thing (id, i) FROM STDIN")
        .expect("begun");
    writer.write_all(b"99\tnothing\n").expect("written");
    let error = writer.finish().expect_err("no interval");
    assert_eq!(error.code(), Some(&SqlState::INVALID_DATETIME_FORMAT));
    let missing = answer(&mut client, "SELECT id FROM thing WHERE id = 99");
    assert!(missing.expect("it goes on").is_empty());
}

#[test]
fn all_else_is_computed_by_the_finisher() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for query in [
        "SELECT j->>'a', j->'b'->1, jsonb_typeof(j) FROM TABLE ORDER BY id",
        "SELECT id FROM TABLE WHERE j @> '{\"a\": \"x\"}'",
        "SELECT id FROM TABLE WHERE j = '{\"a\": \"z\"}'",
        "SELECT id FROM TABLE ORDER BY i, id",
        "SELECT sum(i), min(i), max(i) FROM TABLE",
        "SELECT id FROM TABLE WHERE i = '-30 days' ORDER BY id",
        "SELECT id FROM TABLE WHERE i < '1 day' ORDER BY id",
        "SELECT i, count(*) FROM TABLE WHERE id > 1 GROUP BY i ORDER BY 2, 1",
        "SELECT DISTINCT i FROM TABLE WHERE id > 1 ORDER BY i",
        "SELECT timestamp '2001-02-03' + i FROM TABLE ORDER BY id",
        "SELECT id FROM TABLE WHERE n << '10.0.0.0/7' ORDER BY id",
        "SELECT id, host(n), masklen(c) FROM TABLE ORDER BY n, id",
        "SELECT id FROM TABLE WHERE c >>= '10.1.2.3' ORDER BY id",
        "SELECT trunc(m), m FROM TABLE ORDER BY m DESC NULLS LAST",
        "SELECT id FROM TABLE WHERE z < '04:05:06' ORDER BY z",
        "SELECT i::text, j::text, extract(epoch FROM i) FROM TABLE ORDER BY id",
        "SELECT a.id, b.id FROM TABLE a JOIN TABLE b ON a.i > b.i ORDER BY 1, 2",
        "SELECT id FROM TABLE WHERE 'b c' = ANY (ta) ORDER BY id",
        "SELECT id, ia[1], ia, cardinality(ta), fa FROM TABLE WHERE ia IS NOT NULL ORDER BY ia",
        "SELECT id, lower(r), r * int4range(2, 4), upper(dr) FROM TABLE ORDER BY r, id",
        "SELECT b & B'11110000', length(v) FROM TABLE ORDER BY b, id",
        "SELECT id FROM TABLE WHERE tr @> timestamptz '2001-02-03 05:00+00' ORDER BY id",
        "UPDATE TABLE SET i = i * 2, j = jsonb_set(j, '{a}', '1') WHERE j ? 'a'",
        "UPDATE TABLE SET n = n + 1, p = i, ia = ia || 5 WHERE i > '20 days'",
        "UPDATE TABLE SET i = '90 min', ta = '{done}' WHERE j @> '[]' RETURNING id, i, ta",
        "UPDATE TABLE SET v = v || B'1' WHERE id = 2",
        "DELETE FROM TABLE WHERE masklen(c) = 16",
        "UPDATE TABLE SET va = va || 'ab   ', tp = tp || timestamp '1999-12-31 23:59:59.9995' \
         WHERE id = 0",
        "UPDATE TABLE SET va = va || 'abcde' WHERE id = 0",
        "UPDATE TABLE SET ba = ba || B'11' WHERE id = 0",
        "SELECT id FROM TABLE WHERE 'abcd' = ANY (va) OR tp[1] = '1999-12-31' ORDER BY id",
        "SELECT id, va[1], ba || vb, tp[2], zp FROM TABLE ORDER BY va, id",
        "INSERT INTO TABLE (id, va, ba, b, i) VALUES (70, '{ab,\"c    \"}', '{101}', '10101010', \
         now() - now())",
        "INSERT INTO TABLE (id, va, i) VALUES (71, '{abcde}', now() - now())",
        "INSERT INTO TABLE (id, ba, i) VALUES (71, '{1011}', now() - now())",
        "INSERT INTO TABLE (id, b, i) VALUES (71, '101', now() - now())",
        "INSERT INTO TABLE (id, b, va) VALUES (72, '101'::bit(8), '{abcdef}'::varchar(4)[])",
        "INSERT INTO TABLE (id, vb, tp, p) SELECT id + 80, vb, tp, p FROM TABLE WHERE i > '1 day'",
        "INSERT INTO TABLE (id, i, ta, j) VALUES (30, age('2024-03-01', '2024-01-31'), \
         string_to_array('p,q', ','), jsonb_build_object('k', 1)), (31, NULL, ARRAY['r'], '7') \
         RETURNING id, i, ta, j",
        "INSERT INTO TABLE (id, i, ia, n, r) SELECT id + 40, i * 2, ia, n, r FROM TABLE WHERE id < \
         3",
        "INSERT INTO TABLE (id, p, ta) SELECT u.id, u.p, string_to_array(u.t, ',') FROM \
         UNNEST(ARRAY[50, 51], ARRAY['1.23456 s', NULL]::interval[], ARRAY['x,y', '']) AS u (id, \
         p, t)",
        "INSERT INTO TABLE (id, i) VALUES (60, now() - now()) ON CONFLICT (id) DO NOTHING",
    ] {
        assert_same(&mut client, query);
        assert_same(&mut client, &all());
    }
}

#[test]
fn without_a_finisher_the_error_names_the_remedy() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(&rules());
    let mut client = setup.connect();
    let create = format!("CREATE TABLE thing {}", definition());
    client.batch_execute(&create).expect("a table");
    client
        .batch_execute("INSERT INTO thing (id) VALUES (1)")
        .expect("NULL needs nobody");
    for statement in [
        "INSERT INTO thing (id, j) VALUES (2, '{}')",
        "SELECT i FROM thing",
        "COPY thing TO STDOUT",
        "UPDATE thing SET id = 3 RETURNING ia",
        "SELECT id FROM thing ORDER BY i",
    ] {
        let error = answer(&mut client, statement).expect_err(statement);
        assert_eq!(
            error.code(),
            Some(&SqlState::FEATURE_NOT_SUPPORTED),
            "{statement}"
        );
    }
    let error = answer(&mut client, "SELECT i FROM thing").expect_err("no finisher");
    let hint = error
        .as_db_error()
        .and_then(|error| error.hint())
        .unwrap_or_default();
    assert!(hint.contains("[finish]"), "{hint}");
    assert_eq!(
        answer(&mut client, "SELECT j FROM thing").expect("jsonb"),
        ["NULL"]
    );
    let rows = client.query("SELECT i FROM thing", &[]).expect("binary");
    assert_eq!(rows.len(), 1);
}
