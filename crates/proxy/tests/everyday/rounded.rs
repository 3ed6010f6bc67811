//! Times whose type says how many digits a second has: values are rounded where they are stored,
//! and nowhere else.

use super::{LEFT, Pair, Way, pair_with, run};
use crate::common::Setup;
use crate::common::raw::Raw;
use crate::common::texts::Text;
use postgres::types::{IsNull, ToSql, Type, private::BytesMut};
use std::io::{Read, Write};

pub const STATEMENTS: &[&str] = &[
    // Rounded half away from zero, counted from 2000-01-01.
    "INSERT INTO visit (id, at) VALUES (11, '2001-02-03 04:05:06.7895'), \
     (12, '1999-02-03 04:05:06.7895'), (13, '1999-12-31 23:59:59.9995'), \
     (14, '2000-01-01 00:00:00.000499'), (15, '1999-12-31 23:59:59.999501'), (16, 'infinity'), \
     (17, '-infinity'), (18, NULL)",
    "INSERT INTO visit (id, seen) VALUES (11, '2001-02-03 04:05:06.45+02'), \
     (12, '1999-12-31 23:59:59.95Z'), (13, '1999-02-03 04:05:06.449999 Europe/Berlin'), \
     (14, 'infinity'), (15, '2024-02-29 23:59:59.96')",
    "INSERT INTO visit (id, clock, made) VALUES (11, '23:59:59.5', '1999-12-31 23:59:59.5'), \
     (12, '00:00:00.499999', '1999-12-31 23:59:59.499999'), (13, '24:00', '2023-12-31 23:59:59.5')",
    "INSERT INTO visit (id, whole, moment) VALUES (11, '2001-02-03 04:05:06.1234565', \
     '2001-02-03 04:05:06.1234564+01')",
    "INSERT INTO visit (id, at, seen, clock, made, whole) VALUES ($1, $2, $3, $4, $5, $6) \
     RETURNING * \
     ## 11 ## 2001-02-03 04:05:06.0005 ## 2001-02-03 04:05:06.05Z ## 01:02:03.5 \
     ## 2001-02-03 04:05:06.5 ## 2001-02-03 04:05:06.000001",
    "INSERT INTO visit VALUES (11, DEFAULT, DEFAULT, '1:02:03'), (12, '2001-02-03', DEFAULT, NULL) \
     RETURNING *",
    "INSERT INTO visit (id, at) VALUES (11, '294276-12-31 23:59:59.9994'), (12, '4714-11-24 BC')",
    "INSERT INTO visit (id, at) VALUES (11, '2001-02-30')",
    "INSERT INTO visit (id, at) VALUES (11, 5)",
    // Casts and other types.
    "INSERT INTO visit (id, at, made) VALUES (11, '2001-02-03 04:05:06.7895'::timestamp(3), \
     '2001-02-03 04:05:06.45'::timestamp)",
    "INSERT INTO visit (id, at) VALUES (11, '2001-02-03 04:05:06.4996'::timestamp(6))",
    "INSERT INTO visit (id, made) VALUES (11, '2001-02-03 04:05:06.4996'::timestamp(3))",
    "INSERT INTO visit (id, at) VALUES (11, $1::timestamp(3)) ## 2001-02-03 04:05:06.7895",
    "INSERT INTO visit (id, seen) VALUES (11, $1::timestamptz) ## 2001-02-03 04:05:06.75Z",
    // Other rows.
    "UPDATE visit SET at = '2001-02-03 04:05:06.7895', clock = '00:00:01.5' WHERE id = 1 RETURNING \
     at, clock",
    "UPDATE visit SET at = $1, seen = $2 WHERE id = $3 RETURNING * ## 2001-02-03 04:05:06.7895 \
     ## 2001-02-03 04:05:06.75+05:30 ## 2",
    "UPDATE visit SET at = COALESCE($1, at) ## 2001-02-03 04:05:06.7895",
    "INSERT INTO visit (id, at) VALUES (1, '2001-02-03 04:05:06.7895') ON CONFLICT (id) DO UPDATE \
     SET at = EXCLUDED.at RETURNING at",
    "INSERT INTO visit (id, at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET at = $2 RETURNING at \
     ## 2001-02-03 04:05:06.7895 ## 2002-02-03 04:05:06.7895",
    "INSERT INTO visit (id, at, clock) SELECT id + 100, at, clock FROM visit",
    "INSERT INTO visit (id, at) SELECT 11, '2001-02-03 04:05:06.7895'",
    "DELETE FROM visit WHERE at = '2001-02-03 04:05:06.79'",
    // What a value is compared with is not rounded.
    "SELECT id FROM visit WHERE at = '2001-02-03 04:05:06.79'",
    "SELECT id FROM visit WHERE at = '2001-02-03 04:05:06.7899'",
    "SELECT id FROM visit WHERE at = $1 ## 2001-02-03 04:05:06.7899",
    "SELECT id FROM visit WHERE at > '2001-02-03 04:05:06.7899' ORDER BY id",
    "SELECT id FROM visit WHERE at < '2001-02-03 04:05:06.7901' ORDER BY id",
    "SELECT id FROM visit WHERE at >= $1 AND at < $2 ORDER BY at, id ## 2001-02-03 04:05:06.7899 \
     ## 2001-02-03 04:05:06.7901",
    "SELECT id FROM visit WHERE at = '2001-02-03 04:05:06.7899'::timestamp(3)",
    "SELECT id FROM visit WHERE at = '2001-02-03 04:05:06.7899'::timestamp",
    "SELECT id FROM visit WHERE clock = '04:05:06'",
    "SELECT id FROM visit WHERE clock = '04:05:06.4'",
    "SELECT id FROM visit WHERE clock IN ('04:05:06', '04:05:06.4', '00:00')",
    "SELECT id FROM visit WHERE made = '2001-02-03 04:05:07' OR made = $1 ## 1999-12-31 23:59:59",
    "SELECT id FROM visit WHERE made < '2001-02-03 04:05:06.9' ORDER BY made",
    "SELECT id FROM visit WHERE seen = '2001-02-03 04:05:06.4Z'",
    "SELECT id FROM visit WHERE seen = $1 ## 2001-02-03 04:05:06.45Z",
    "SELECT id FROM visit WHERE made = ANY($1) ## {\"2001-02-03 04:05:07\",\"2001-02-03 \
     04:05:06.7\"}",
    "SELECT a.id, b.id FROM visit a JOIN visit b ON a.at = b.at ORDER BY 1, 2",
    // Answers.
    "SELECT * FROM visit ORDER BY id",
    "SELECT id, at, made FROM visit ORDER BY made DESC NULLS LAST, id",
    "SELECT min(at), max(at), min(made), max(seen), count(DISTINCT clock) FROM visit",
    "SELECT made, count(*) FROM visit GROUP BY made ORDER BY made",
    "SELECT DISTINCT clock FROM visit ORDER BY clock",
    "SELECT id, at::text FROM visit ORDER BY id",
    "SELECT id, at::timestamp(0), whole::timestamp(2), clock::time(3) FROM visit ORDER BY id",
    "SELECT id, seen::timestamp(3), at::date, made::time FROM visit ORDER BY id",
    "SELECT id, COALESCE(at, whole), COALESCE(made, $1) FROM visit ORDER BY id \
     ## 2001-02-03 04:05:06.7899",
    "SELECT CASE WHEN at > made THEN at ELSE made END FROM visit ORDER BY id",
    "SELECT NULLIF(made, '2001-02-03 04:05:06.7'::timestamp) FROM visit ORDER BY id",
    // What clients ask the catalogues.
    "SELECT column_name, data_type, udt_name, datetime_precision FROM information_schema.columns \
     WHERE table_name = 'visit' ORDER BY ordinal_position",
    "SELECT attname, pg_catalog.format_type(atttypid, atttypmod), atttypmod FROM pg_attribute \
     WHERE attrelid = 'visit'::regclass AND attnum > 0 ORDER BY attnum",
];

/// Statements that only the finisher answers.
const FINISHED: &[&str] = &[
    "INSERT INTO visit (id, made) VALUES (11, $1::date) ## 2001-02-03",
    "SELECT at FROM visit WHERE id = 1 UNION ALL SELECT whole FROM visit WHERE id = 1 ORDER BY 1",
    "SELECT id, date_trunc('minute', at), extract(microseconds FROM at) FROM visit ORDER BY id",
    "SELECT id, at + interval '0.0004 s', clock + interval '0.4 s' FROM visit ORDER BY id",
    "SELECT id, row_number() OVER (ORDER BY made DESC, id) FROM visit ORDER BY id",
    "SELECT id FROM visit WHERE at + interval '1 s' > made ORDER BY id",
    "UPDATE visit SET at = at + interval '0.0005 s', made = made + interval '0.5 s'",
    "UPDATE visit SET at = at + $1 WHERE made < $2 ## 0.0015 s ## 2001-02-03 04:05:06.7899",
    "INSERT INTO visit (id, at, clock) SELECT id + 100, at + interval '0.0006 s', clock + interval \
     '0.6 s' FROM visit",
    "INSERT INTO visit (id, at) SELECT * FROM UNNEST($1::int[], $2::timestamp[]) ## {11,12} \
     ## {\"2001-02-03 04:05:06.7895\",NULL}",
    "INSERT INTO visit (id, at) VALUES (1, '2001-02-03 04:05:06.7895') ON CONFLICT (id) DO UPDATE \
     SET at = visit.at + interval '0.0005 s' RETURNING at",
    "INSERT INTO visit (id, made, at) VALUES (11, timestamp '2001-02-03' + interval '0.5 s', \
     '2001-02-03 04:05:06.7895') RETURNING *",
    "SELECT id FROM visit WHERE seen = $1::timestamptz(0) ## 2001-02-03 04:05:06.1Z",
];

#[test]
fn seconds_are_rounded_as_on_a_plain_server() {
    let Some((_server, _setup, mut pair)) = pair_with(Setup::start) else {
        return;
    };
    pair.assert_all(STATEMENTS);
    let Some((_server, _setup, mut pair)) = pair_with(Setup::start_with_finisher) else {
        return;
    };
    pair.assert_all(STATEMENTS);
    pair.assert_all(FINISHED);
}

/// A parameter in binary.
#[derive(Debug)]
struct Binary(Vec<u8>);

impl ToSql for Binary {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

fn both<T>(pair: &mut Pair, mut ask: impl FnMut(&mut postgres::Client) -> T) -> [T; 2] {
    [ask(&mut pair.plain), ask(&mut pair.proxy)]
}

#[test]
fn times_in_binary_are_rounded_as_on_a_plain_server() {
    let Some((_server, _setup, mut pair)) = pair_with(Setup::start) else {
        return;
    };
    let moments = [
        499,
        500,
        501,
        -499,
        -500,
        -501,
        999_500,
        -999_500,
        1_500_000,
        -1_500_000,
        500_000,
        -500_000,
        50_000,
        -50_000,
        i64::MAX,
        i64::MIN,
        49_999,
        -49_999,
    ];
    let [plain, proxy] = both(&mut pair, |client| {
        let insert = client
            .prepare(
                "INSERT INTO visit (id, at, seen, made, whole, clock) \
                 VALUES ($1, $2, $3, $4, $5, $6)",
            )
            .expect("prepared");
        for (id, moment) in (20_i32..).zip(moments) {
            let value = Binary(moment.to_be_bytes().to_vec());
            let time = Binary(moment.rem_euclid(86_400_000_000).to_be_bytes().to_vec());
            client
                .execute(&insert, &[&id, &value, &value, &value, &value, &time])
                .expect("inserted");
        }
        let rows = client.query("SELECT * FROM visit ORDER BY id", &[]);
        let rows = rows.expect("rows").into_iter().map(|row| {
            let values = (0..row.len()).map(|place| row.get::<_, Option<Raw>>(place));
            values
                .map(|value| value.map(|raw| raw.0))
                .collect::<Vec<_>>()
        });
        rows.collect::<Vec<_>>()
    });
    assert_eq!(proxy, plain);
    assert!(proxy.len() > moments.len());
}

#[test]
fn copied_times_are_rounded_as_on_a_plain_server() {
    let Some((_server, _setup, mut pair)) = pair_with(Setup::start) else {
        return;
    };
    for (options, rows) in [
        (
            "",
            "30\t2001-02-03 04:05:06.7895\t1999-12-31 23:59:59.95Z\t23:59:59.5\n31\t\\N\t\\N\t\
             \\N\n",
        ),
        (
            " (FORMAT csv)",
            "32,2001-02-03 04:05:06.7895,-infinity,00:00:00.5\n",
        ),
    ] {
        let [plain, proxy] = both(&mut pair, |client| {
            let copy = format!("COPY visit (id, at, seen, clock) FROM STDIN{options}");
            let mut writer = client.copy_in(&copy).expect("begun");
            writer.write_all(rows.as_bytes()).expect("written");
            let count = writer.finish().expect("copied");
            let mut bytes = Vec::new();
            let out = format!("COPY (SELECT * FROM visit ORDER BY id) TO STDOUT{options}");
            let mut reader = client.copy_out(&out).expect("begun");
            reader.read_to_end(&mut bytes).expect("read");
            (count, String::from_utf8(bytes).expect("text"))
        });
        assert_eq!(proxy, plain, "{options}");
    }
    // A binary copy of microseconds into columns of fewer digits.
    let [plain, proxy] = both(&mut pair, |client| {
        let mut bytes = Vec::new();
        let out = "COPY (SELECT id + 100, timestamp '1999-12-31 23:59:59.9995', \
                   timestamptz '2001-02-03 04:05:06.75Z', time '00:00:00.5' FROM generate_series( \
                   1, \
                   3) AS g (id)) TO STDOUT (FORMAT binary)";
        let mut reader = client.copy_out(out).expect("begun");
        reader.read_to_end(&mut bytes).expect("read");
        drop(reader);
        let copy = "COPY visit (id, at, seen, clock) FROM STDIN (FORMAT binary)";
        let mut writer = client.copy_in(copy).expect("begun");
        writer.write_all(&bytes).expect("written");
        writer.finish().expect("copied")
    });
    assert_eq!((plain, proxy), (3, 3));
    let left = LEFT.last().expect("visit");
    let [plain, proxy] = both(&mut pair, |client| run(client, left, &[], Way::Simple));
    assert_eq!(proxy, plain);
}

#[test]
fn a_column_of_fewer_digits_can_be_added() {
    let Some((_server, _setup, mut pair)) = pair_with(Setup::start) else {
        return;
    };
    for statement in [
        "ALTER TABLE visit ADD COLUMN late timestamp(2) without time zone",
        "INSERT INTO visit (id, late) VALUES (40, '2001-02-03 04:05:06.785')",
    ] {
        both(&mut pair, |client| {
            client.batch_execute(statement).expect(statement)
        });
    }
    let [plain, proxy] = both(&mut pair, |client| {
        let insert = "INSERT INTO visit (id, late) VALUES (41, $1) RETURNING late";
        let row = client.query_one(insert, &[&Text("2001-02-03 04:05:06.784999")]);
        let late: std::time::SystemTime = row.expect("inserted").get(0);
        let all = run(
            client,
            "SELECT id, late FROM visit ORDER BY id",
            &[],
            Way::Simple,
        );
        (late, all)
    });
    assert_eq!(proxy, plain);
    let other = "CREATE TABLE gone (id integer, late timestamp(1))";
    pair.proxy
        .batch_execute(other)
        .expect_err("the rule has other digits");
}
