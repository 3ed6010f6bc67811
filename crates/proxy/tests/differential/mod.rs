//! The same random statements on a plain server and through the proxy: rows, types, counts and
//! error codes are equal. What the proxy refuses (0A000) is left out on the plain server, too.
//!
//! A failure is shrunk: statements are dropped while it still fails. `STRONGROOM_SEED` and
//! `STRONGROOM_CASES` choose other runs.

mod statements;

use std::collections::BTreeMap;
use std::fmt;

use self::statements::{MessageAction, Random, Statement};
use crate::common::Setup;
use crate::common::raw::Raw;
use postgres::types::{Format, IsNull, ToSql, Type};
use postgres::{Client, SimpleQueryMessage};
use server_testkit::Postgres;

const RULES: &str = r#"
[columns.account]
id = { type = "integer", mode = "equality", domain = "account" }
name = { type = "varchar(12)", mode = "equality" }
note = { type = "text" }
amount = { type = "numeric(10,2)" }
day = { type = "date" }
place = { type = "integer", mode = "order", bits = 16 }

[columns.entry]
account_id = { type = "integer", mode = "equality", domain = "account" }
value = { type = "bigint" }
"#;

const CREATE: [&str; 2] = [
    "CREATE TABLE account (id integer PRIMARY KEY, name varchar(12) NOT NULL, note text, \
     amount numeric(10,2), day date, place integer, plain integer)",
    "CREATE TABLE entry (account_id integer REFERENCES account (id), number integer, \
     value bigint, PRIMARY KEY (account_id, number))",
];

/// What comes of a statement.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// Names and types of columns, and the rows.
    Rows(Vec<(String, String)>, Vec<Vec<Option<Vec<u8>>>>),
    Count(u64),
    Error(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Rows(columns, rows) = self else {
            return write!(out, "{self:?}");
        };
        writeln!(out, "columns {columns:?}")?;
        for row in rows {
            let values = row.iter().map(|value| {
                let value = value
                    .as_deref()
                    .map(|bytes| bytes.escape_ascii().to_string());
                value.unwrap_or_else(|| "NULL".to_owned())
            });
            writeln!(out, "  {}", values.collect::<Vec<_>>().join(" | "))?;
        }
        Ok(())
    }
}

/// A parameter as text, of whatever type the server infers.
#[derive(Debug)]
struct Text<'a>(&'a Option<String>);

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match self.0 {
            None => IsNull::Yes,
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    postgres::types::to_sql_checked!();
}

/// A parameter in binary, where that is simple; else as text.
#[derive(Debug)]
struct Binary<'a>(&'a Option<String>);

impl ToSql for Binary<'_> {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = self.0 else {
            return Ok(IsNull::Yes);
        };
        match *of {
            Type::INT4 => out.extend_from_slice(&text.parse::<i32>()?.to_be_bytes()),
            Type::INT8 => out.extend_from_slice(&text.parse::<i64>()?.to_be_bytes()),
            _ => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, of: &Type) -> Format {
        match *of {
            Type::INT4 | Type::INT8 | Type::TEXT | Type::VARCHAR => Format::Binary,
            _ => Format::Text,
        }
    }

    postgres::types::to_sql_checked!();
}

fn run(client: &mut Client, statement: &Statement) -> Outcome {
    let result = match statement.way {
        MessageAction::Simple => simple(client, &statement.with_literals()),
        MessageAction::Text => {
            let values: Vec<Text<'_>> = statement.values.iter().map(Text).collect();
            extended(
                client,
                statement,
                &values.iter().map(|one| one as _).collect::<Vec<_>>(),
            )
        }
        MessageAction::Binary => {
            let values: Vec<Binary<'_>> = statement.values.iter().map(Binary).collect();
            extended(
                client,
                statement,
                &values.iter().map(|one| one as _).collect::<Vec<_>>(),
            )
        }
    };
    let mut outcome = result.unwrap_or_else(|error| {
        let code = error.code().map(|code| code.code().to_owned());
        Outcome::Error(code.unwrap_or_else(|| error.to_string()))
    });
    if let (Outcome::Rows(_, rows), false) = (&mut outcome, statement.is_ordered) {
        rows.sort();
    }
    outcome
}

fn extended(
    client: &mut Client,
    statement: &Statement,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Outcome, postgres::Error> {
    let prepared = client.prepare(&statement.text)?;
    if prepared.columns().is_empty() {
        return client.execute(&prepared, values).map(Outcome::Count);
    }
    let columns = prepared.columns().iter();
    let columns = columns
        .map(|column| (column.name().to_owned(), column.type_().to_string()))
        .collect();
    let rows = client.query(&prepared, values)?;
    let rows = rows.iter().map(|row| {
        let values = (0..row.len()).map(|index| row.get::<_, Option<Raw>>(index));
        values.map(|value| value.map(|raw| raw.0)).collect()
    });
    Ok(Outcome::Rows(columns, rows.collect()))
}

fn simple(client: &mut Client, text: &str) -> Result<Outcome, postgres::Error> {
    let mut outcome = Outcome::Count(0);
    for message in client.simple_query(text)? {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                let columns = columns.iter();
                let columns = columns.map(|column| (column.name().to_owned(), String::new()));
                outcome = Outcome::Rows(columns.collect(), Vec::new());
            }
            SimpleQueryMessage::Row(row) => {
                let values = (0..row.len()).map(|index| row.get(index));
                let values = values.map(|value| value.map(|text| text.as_bytes().to_vec()));
                if let Outcome::Rows(_, rows) = &mut outcome {
                    rows.push(values.collect());
                }
            }
            SimpleQueryMessage::CommandComplete(count) => {
                if let Outcome::Count(all) = &mut outcome {
                    *all = count;
                }
            }
            _ => {}
        }
    }
    Ok(outcome)
}

/// A plain server, and another behind the proxy.
struct Pair {
    plain: Postgres,
    setup: Setup,
}

struct Difference {
    index: usize,
    plain: Outcome,
    proxy: Outcome,
}

impl Pair {
    /// Runs all statements on new tables. Counts, by the kind of statement, those that ran and
    /// those that were refused.
    fn compare(
        &self,
        statements: &[Statement],
        counts: &mut BTreeMap<&'static str, (u32, u32)>,
    ) -> Option<Difference> {
        let (mut plain, mut proxy) = (self.plain.connect(), self.setup.connect());
        for client in [&mut plain, &mut proxy] {
            client
                .batch_execute("DROP TABLE IF EXISTS entry, account")
                .expect("dropped");
            for create in CREATE {
                client.batch_execute(create).expect("made");
            }
        }
        for (index, statement) in statements.iter().enumerate() {
            let by_proxy = run(&mut proxy, statement);
            let count = counts.entry(statement.kind).or_default();
            if by_proxy == Outcome::Error("0A000".to_owned()) {
                count.1 += 1;
                // In a transaction it fails, as by any other error; outside of one nothing is.
                let _ = plain.batch_execute("SELECT 1/0");
                continue;
            }
            count.0 += 1;
            let by_plain = run(&mut plain, statement);
            if by_plain != by_proxy {
                return Some(Difference {
                    index,
                    plain: by_plain,
                    proxy: by_proxy,
                });
            }
        }
        None
    }

    /// Drops statements while it still fails.
    fn shrink(&self, mut statements: Vec<Statement>) -> (Vec<Statement>, Difference) {
        let mut difference = None;
        let mut size = statements.len();
        while size > 0 {
            let mut at = statements.len();
            while at > 0 {
                let from = at.saturating_sub(size);
                let mut fewer = statements.clone();
                fewer.drain(from..at);
                if let Some(found) = self.compare(&fewer, &mut BTreeMap::new()) {
                    fewer.truncate(found.index + 1);
                    statements = fewer;
                    difference = Some(found);
                }
                at = from.min(statements.len());
            }
            size /= 2;
        }
        let difference = difference.or_else(|| self.compare(&statements, &mut BTreeMap::new()));
        (statements, difference.expect("it failed before"))
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn the_proxy_answers_as_a_plain_server_does() {
    if !server_testkit::is_installed() {
        return;
    }
    let pair = Pair {
        plain: Postgres::start(),
        setup: Setup::start(RULES),
    };
    let (seed, cases) = (number("STRONGROOM_SEED", 1), number("STRONGROOM_CASES", 20));
    let mut counts = BTreeMap::new();
    for case in seed..seed + cases {
        let mut random = Random::new(case);
        let statements: Vec<Statement> = (0..60).map(|_| Statement::random(&mut random)).collect();
        let Some(found) = pair.compare(&statements, &mut counts) else {
            continue;
        };
        let (least, difference) = pair.shrink(statements[..=found.index].to_vec());
        let texts = least
            .iter()
            .map(|one| format!("{:?}: {}", one.way, one.with_literals()));
        panic!(
            "STRONGROOM_SEED={case} STRONGROOM_CASES=1: after\n{}\nplain: {}\nproxy: {}",
            texts.collect::<Vec<_>>().join("\n"),
            difference.plain,
            difference.proxy
        );
    }
    println!("kind: compared, refused");
    for (kind, (compared, refused)) in &counts {
        println!("{kind}: {compared}, {refused}");
    }
    for kind in statements::NEVER_REFUSED {
        let (compared, refused) = counts[kind];
        assert!(
            compared > 0 && refused == 0,
            "{kind}: {refused} were refused"
        );
    }
}

#[test]
fn a_difference_is_found_and_shrunk() {
    if !server_testkit::is_installed() {
        return;
    }
    // Behind the proxy, a trigger changes what is written: the defect.
    let mut pair = Pair {
        plain: Postgres::start(),
        setup: Setup::start("[columns.other]\nx = { type = \"text\" }\n"),
    };
    // Its tables have no rules.
    pair.setup.is_searched = false;
    let planted = "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS \
                   $$ BEGIN NEW.plain := NEW.plain + 1; RETURN NEW; END $$; \
                   CREATE FUNCTION plant() RETURNS event_trigger LANGUAGE plpgsql AS \
                   $$ BEGIN IF to_regclass('account') IS NOT NULL THEN CREATE OR REPLACE TRIGGER \
                   change BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION change(); \
                   END IF; END $$; \
                   CREATE EVENT TRIGGER plant ON ddl_command_end WHEN TAG IN ('CREATE TABLE') \
                   EXECUTE FUNCTION plant()";
    let made = pair.setup.server.connect().batch_execute(planted);
    made.expect("the superuser may");
    let mut found = None;
    for seed in 1.. {
        let mut random = Random::new(seed);
        let statements: Vec<Statement> = (0..60).map(|_| Statement::random(&mut random)).collect();
        if pair.compare(&statements, &mut BTreeMap::new()).is_some() {
            found = Some(statements);
            break;
        }
        assert!(seed < 20, "the defect is not found");
    }
    let (least, difference) = pair.shrink(found.expect("the loop ends with it"));
    assert_ne!(difference.plain, difference.proxy);
    assert!(least.len() <= 4, "{least:#?}");
}
