//! Everyday SQL, as mappers and people write it: each statement on a plain server and through the
//! proxy, as one text and with parameters as texts and in binary. The answers and what they leave
//! in the tables are the same, or the proxy refuses with the words that the table says.

mod by_finisher;
mod inserted;
mod long;
mod merged;
mod returned;
mod rounded;
mod server_calls;
mod statements;
mod upserted;

use self::statements::STATEMENTS;
use crate::common::Setup;
use crate::common::raw::Raw;
use postgres::types::{Format, IsNull, ToSql, Type, private::BytesMut};
use postgres::{Client, SimpleQueryMessage};
use server_testkit::Postgres;

const RULES: &str = r#"
[columns.account]
id = { type = "integer", mode = "equality", domain = "account" }
name = { type = "varchar(12)", mode = "equality", domain = "name" }
note = { type = "text" }
amount = { type = "numeric(10,2)" }
day = { type = "date" }
place = { type = "integer", mode = "order", bits = 16 }
score = { type = "integer" }

[columns.entry]
account_id = { type = "integer", mode = "equality", domain = "account" }
value = { type = "bigint" }
memo = { type = "varchar(20)" }

[columns.archive]
id = { type = "integer", mode = "equality", domain = "account" }
name = { type = "varchar(12)", mode = "equality", domain = "name" }
note = { type = "text" }

[columns.visit]
at = { type = "timestamp(3)", mode = "order", default = "'2001-02-03 04:05:06.7895'" }
seen = { type = "timestamptz(1)" }
clock = { type = "time(0)", mode = "equality" }
made = { type = "timestamp(0)" }
whole = { type = "timestamp(6)" }
moment = { type = "timestamptz(6)", mode = "equality" }
late = { type = "timestamp(2)", mode = "equality" }
[columns.gone]
late = { type = "timestamp(2)" }

[columns.brief]
at = { type = "timestamp(0)", mode = "equality", domain = "at" }
word = { type = "varchar(5)", mode = "equality", domain = "word" }

[columns.lengthy]
at = { type = "timestamp(3)", mode = "equality", domain = "at" }
word = { type = "varchar(40)", mode = "equality", domain = "word" }
"#;

const CREATE: &[&str] = &[
    "CREATE TABLE account (id integer PRIMARY KEY, name varchar(12) NOT NULL, note text, \
     amount numeric(10,2), day date, place integer, score integer, plain integer, label text)",
    "CREATE TABLE entry (account_id integer REFERENCES account (id), number integer, \
     value bigint, memo varchar(20), PRIMARY KEY (account_id, number))",
    "CREATE TABLE archive (id integer PRIMARY KEY, name varchar(12), note text, at integer)",
    "CREATE TABLE open (id integer PRIMARY KEY, word text, tags text[])",
    "CREATE TABLE tag (code integer NOT NULL UNIQUE, title text)",
    "CREATE TABLE visit (id integer PRIMARY KEY, at timestamp(3) DEFAULT '2001-02-03 \
     04:05:06.7895', seen timestamptz(1), clock time(0), made timestamp(0) without time zone, \
     whole timestamp(6), moment timestamp(6) with time zone)",
    "CREATE TABLE brief (at timestamp(0), word varchar(5))",
    "CREATE TABLE lengthy (at timestamp(3), word varchar(40))",
    "INSERT INTO account VALUES \
     (1, 'CANARYann', 'CANARY first', 10.50, '2001-02-03', 10, 5, 1, 'a'), \
     (2, 'CANARYbob', 'CANARY Second', 20.25, '1999-12-31', 20, NULL, 2, 'b'), \
     (3, 'CANARYbob', NULL, NULL, NULL, NULL, 7, 3, NULL), \
     (4, 'CANARYeve', '', -0.01, '2001-02-03', 30, 5, NULL, 'd'), \
     (5, 'CANARYEve', 'CANARY first', 10.50, '2020-02-29', 10, -1, 5, 'a')",
    "INSERT INTO entry VALUES (1, 1, 100, 'CANARYx'), (1, 2, 200, NULL), (2, 1, NULL, 'CANARYy'), \
     (5, 1, 9000000000, 'CANARYx')",
    "INSERT INTO archive VALUES (9, 'CANARYold', 'CANARY kept', 1), (2, 'CANARYbob', NULL, 2)",
    "INSERT INTO open VALUES (1, 'one'), (2, 'two')",
    "INSERT INTO tag VALUES (1, 'one'), (5, 'five')",
    "INSERT INTO visit VALUES (1, '2001-02-03 04:05:06.78951', '2001-02-03 04:05:06.35Z', \
     '04:05:06.4', '2001-02-03 04:05:06.7', '2001-02-03 04:05:06.789', NULL), \
     (2, '1999-12-31 23:59:59.9994', '1999-12-31 23:59:59.95Z', '23:59:59.5', \
     '1999-12-31 23:59:59.4', NULL, 'infinity'), \
     (3, NULL, NULL, NULL, NULL, '2001-02-03', NULL), \
     (4, '2001-02-03 04:05:06.79', '2001-02-03 04:05:06.4Z', '00:00', '2001-02-03 04:05:06.5', \
     '1998-01-01 00:00:00.000001', NULL)",
    "INSERT INTO brief VALUES ('2001-02-03 04:05:06', 'first')",
    "INSERT INTO lengthy VALUES ('1999-12-31 23:59:59.9', 'CANARYlong'), \
     ('2001-02-03 04:05:06', 'first')",
];

/// What is left in the tables.
const LEFT: &[&str] = &[
    "SELECT * FROM account ORDER BY plain, id",
    "SELECT * FROM entry ORDER BY number, account_id, value",
    "SELECT * FROM archive ORDER BY at, id",
    "SELECT * FROM open ORDER BY id",
    "SELECT * FROM visit ORDER BY id",
    "SELECT * FROM brief",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Simple,
    Text,
    Binary,
}

/// A parameter, given as text.
#[derive(Debug)]
struct Parameter(Option<String>, Way);

impl Parameter {
    fn elements(text: &str) -> impl Iterator<Item = Option<&str>> {
        let inside = text.trim_matches(['{', '}']);
        let elements = inside.split(',').filter(|element| !element.is_empty());
        elements.map(|element| (element != "NULL").then(|| element.trim_matches('"')))
    }
}

impl ToSql for Parameter {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = &self.0 else {
            return Ok(IsNull::Yes);
        };
        if self.1 == Way::Text {
            out.extend_from_slice(text.as_bytes());
            return Ok(IsNull::No);
        }
        match *of {
            Type::INT4 => text.parse::<i32>()?.to_sql(of, out),
            Type::INT8 => text.parse::<i64>()?.to_sql(of, out),
            Type::INT4_ARRAY => {
                let elements = Self::elements(text).map(|one| one.map(str::parse).transpose());
                elements
                    .collect::<Result<Vec<Option<i32>>, _>>()?
                    .to_sql(of, out)
            }
            Type::TEXT_ARRAY | Type::VARCHAR_ARRAY => {
                Self::elements(text).collect::<Vec<_>>().to_sql(of, out)
            }
            _ => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, of: &Type) -> Format {
        let is_binary = matches!(
            *of,
            Type::INT4
                | Type::INT8
                | Type::TEXT
                | Type::VARCHAR
                | Type::INT4_ARRAY
                | Type::TEXT_ARRAY
                | Type::VARCHAR_ARRAY
        );
        match self.1 {
            Way::Binary if is_binary => Format::Binary,
            _ => Format::Text,
        }
    }

    postgres::types::to_sql_checked!();
}

/// What comes of a statement.
#[derive(Debug, PartialEq)]
struct Outcome {
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
    count: u64,
}

type Answer = Result<Outcome, (String, String)>;

fn run(client: &mut Client, text: &str, values: &[Option<&str>], way: Way) -> Answer {
    let done = match way {
        Way::Simple => simple(client, &with_literals(text, values)),
        Way::Text | Way::Binary => extended(client, text, values, way),
    };
    let mut outcome = done.map_err(|error| match error.as_db_error() {
        Some(told) => (told.code().code().to_owned(), told.message().to_owned()),
        None => ("ended".to_owned(), error.to_string()),
    })?;
    if !text.contains("ORDER BY") || text.contains("OVER") {
        outcome.rows.sort();
    }
    Ok(outcome)
}

fn with_literals(text: &str, values: &[Option<&str>]) -> String {
    let mut text = text.to_owned();
    for (index, value) in values.iter().enumerate().rev() {
        let literal = match value {
            None => "NULL".to_owned(),
            Some(value) => format!("'{}'", value.replace('\'', "''")),
        };
        text = text.replace(&format!("${}", index + 1), &literal);
    }
    text
}

fn extended(
    client: &mut Client,
    text: &str,
    values: &[Option<&str>],
    way: Way,
) -> Result<Outcome, postgres::Error> {
    let prepared = client.prepare(text)?;
    let values: Vec<Parameter> = values
        .iter()
        .map(|value| Parameter(value.map(str::to_owned), way))
        .collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|one| one as _).collect();
    let columns = prepared.columns().iter();
    let columns: Vec<String> = columns
        .map(|column| format!("{} {}", column.name(), column.type_()))
        .collect();
    if columns.is_empty() {
        let count = client.execute(&prepared, &values)?;
        return Ok(Outcome {
            columns,
            rows: Vec::new(),
            count,
        });
    }
    let rows = client.query(&prepared, &values)?;
    let rows = rows.iter().map(|row| {
        let values = (0..row.len()).map(|index| row.get::<_, Option<Raw>>(index));
        values
            .map(|value| value.map(|raw| raw.0.escape_ascii().to_string()))
            .collect()
    });
    Ok(Outcome {
        columns,
        rows: rows.collect(),
        count: 0,
    })
}

fn simple(client: &mut Client, text: &str) -> Result<Outcome, postgres::Error> {
    let mut outcome = Outcome {
        columns: Vec::new(),
        rows: Vec::new(),
        count: 0,
    };
    for message in client.simple_query(text)? {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                outcome.columns = columns.iter().map(|one| one.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                let field = |index| row.get(index).map(str::to_owned);
                outcome.rows.push((0..row.len()).map(field).collect());
            }
            SimpleQueryMessage::CommandComplete(count) => outcome.count = count,
            _ => {}
        }
    }
    Ok(outcome)
}

/// A plain server, and another behind the proxy.
struct Pair {
    plain: Client,
    proxy: Client,
}

impl Pair {
    /// The answers to a statement, and what it leaves behind.
    fn ask(&mut self, text: &str, values: &[Option<&str>], way: Way) -> [(Answer, Vec<Answer>); 2] {
        [&mut self.plain, &mut self.proxy].map(|client| {
            client.batch_execute("BEGIN").expect("a transaction");
            let answer = run(client, text, values, way);
            let left = match answer.is_ok() && !text.starts_with("SELECT") {
                true => LEFT
                    .iter()
                    .map(|left| run(client, left, &[], Way::Simple))
                    .collect(),
                false => Vec::new(),
            };
            client.batch_execute("ROLLBACK").expect("nothing stays");
            (answer, left)
        })
    }

    /// Each statement is answered as on the plain server, or refused as its line says.
    #[track_caller]
    fn assert_all(&mut self, statements: &[&str]) {
        let mut wrong = Vec::new();
        let wanted = std::env::var("STRONGROOM_STATEMENT").unwrap_or_default();
        for line in statements.iter().filter(|line| line.contains(&wanted)) {
            for way in [Way::Simple, Way::Text, Way::Binary] {
                wrong.extend(self.check(line, way));
            }
        }
        let count = wrong.len();
        assert!(wrong.is_empty(), "{count} wrong\n{}", wrong.join("\n"));
    }

    /// What is wrong with a statement; None: nothing.
    fn check(&mut self, line: &str, way: Way) -> Option<String> {
        let mut parts = line.split(" ## ");
        let text = parts.next().unwrap_or_default();
        let (mut values, mut refusal) = (Vec::new(), None);
        for part in parts {
            match part.strip_prefix("refused: ") {
                Some(words) => refusal = Some(words),
                None if part == "NULL" => values.push(None),
                None => values.push(Some(part)),
            }
        }
        let [(plain, plain_left), (proxy, proxy_left)] = self.ask(text, &values, way);
        let wrong = match (&refusal, &proxy) {
            (Some(words), Err((code, message))) if code == "0A000" => !message.contains(words),
            (Some(_), _) => true,
            (None, Err((code, _))) => plain.as_ref().err().map(|(own, _)| own) != Some(code),
            (None, Ok(_)) => plain != proxy || plain_left != proxy_left,
        };
        wrong.then(|| {
            format!(
                "{way:?}: {line}\n  plain: {plain:?}\n  proxy: {proxy:?}\n  left: {:?}",
                plain_left
                    .iter()
                    .zip(&proxy_left)
                    .find(|(plain, proxy)| plain != proxy)
            )
        })
    }
}

#[test]
fn everyday_statements_answer_as_on_a_plain_server_or_say_why_not() {
    if let Some((_server, _setup, mut pair)) = pair_with(Setup::start) {
        pair.assert_all(STATEMENTS);
    }
}

/// A plain server and a proxy, both with the tables and their rows.
fn pair_with(start: impl Fn(&str) -> Setup) -> Option<(Postgres, Setup, Pair)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let (server, setup) = (Postgres::start(), start(RULES));
    let mut pair = Pair {
        plain: server.connect(),
        proxy: setup.connect(),
    };
    for statement in CREATE {
        pair.plain.batch_execute(statement).expect("made");
        pair.proxy.batch_execute(statement).expect("made");
    }
    Some((server, setup, pair))
}

#[track_caller]
fn assert_all_with_finisher(statements: &[&str]) {
    if let Some((_server, _setup, mut pair)) = pair_with(Setup::start_with_finisher) {
        pair.assert_all(statements);
    }
}

#[test]
fn the_finisher_answers_as_a_plain_server() {
    assert_all_with_finisher(by_finisher::STATEMENTS);
}

#[test]
fn rows_that_the_finisher_computes_are_inserted_as_by_a_plain_server() {
    assert_all_with_finisher(inserted::STATEMENTS);
}

#[test]
fn rows_that_are_there_get_what_the_finisher_computes_as_on_a_plain_server() {
    assert_all_with_finisher(upserted::STATEMENTS);
}

#[test]
fn rows_are_merged_as_by_a_plain_server() {
    assert_all_with_finisher(merged::STATEMENTS);
}

#[test]
fn what_a_write_returns_is_computed_as_on_a_plain_server() {
    assert_all_with_finisher(returned::STATEMENTS);
}

#[test]
fn calls_that_only_the_server_can_make_are_refused_where_they_are_evaluated() {
    assert_all_with_finisher(server_calls::STATEMENTS);
}

#[test]
fn a_finisher_changes_no_answer_of_everyday_statements() {
    let Some((_server, _setup, mut pair)) = pair_with(Setup::start_with_finisher) else {
        return;
    };
    let mut wrong = Vec::new();
    let mut refused = Vec::new();
    for line in STATEMENTS {
        for way in [Way::Simple, Way::Text, Way::Binary] {
            let answered = match line.split_once(" ## refused: ") {
                None => pair.check(line, way),
                Some((line, _)) => pair.check(line, way).filter(|wrong| {
                    // It may still be refused, and not answered otherwise.
                    let is_refused = wrong.contains("proxy: Err((\"0A000\"");
                    refused.extend(is_refused.then_some(line));
                    !is_refused
                }),
            };
            wrong.extend(answered);
        }
    }
    refused.dedup();
    eprintln!("still refused:\n{}", refused.join("\n"));
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Server and proxy with the tables and their rows.
fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    for statement in CREATE {
        client.batch_execute(statement).expect("made");
    }
    Some(setup)
}

#[test]
fn a_prepare_that_the_server_has_not_taken_is_not_remembered() {
    let Some(setup) = start() else { return };
    let script = "BEGIN; SELECT 1/0";
    let mut client = setup.connect();
    client.batch_execute(script).expect_err("by zero");
    let first = "PREPARE find AS SELECT name FROM account WHERE id = 1";
    client
        .batch_execute(first)
        .expect_err("the transaction has failed");
    client.batch_execute("ROLLBACK").expect("rolled back");
    let error = client.simple_query("EXECUTE find").expect_err("not there");
    assert_eq!(error.code().map(|code| code.code()), Some("26000"));
    let second = "PREPARE find AS SELECT name FROM account WHERE id = 2";
    client.batch_execute(second).expect("prepared");
    client.batch_execute(first).expect_err("it is there");
    let rows = simple(&mut client, "EXECUTE find").expect("executed").rows;
    assert_eq!(rows, [[Some("CANARYbob".to_owned())]]);
}

#[test]
fn rows_are_fetched_from_portals_and_cursors_in_plain_or_not_at_all() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut transaction = client.transaction().expect("begun");
    let text = "SELECT name FROM account WHERE id = ANY($1) ORDER BY plain";
    let portal = transaction.bind(text, &[&vec![1, 2, 3]]).expect("bound");
    let name = |rows: Vec<postgres::Row>| {
        let rows = rows.into_iter().map(|row| row.get::<_, String>(0));
        rows.collect::<Vec<_>>()
    };
    let first = transaction.query_portal(&portal, 1).expect("a row");
    assert_eq!(name(first), ["CANARYann"]);
    // The driver names portals p0, p1, …
    let found = (0..20).find_map(|number| {
        let mut inner = transaction.transaction().expect("a savepoint");
        let fetched = inner.simple_query(&format!("FETCH 1 FROM p{number}"));
        fetched.ok()
    });
    let row = found
        .expect("a portal")
        .into_iter()
        .find_map(|said| match said {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
    assert_eq!(row.as_deref(), Some("CANARYbob"));
    drop(transaction);

    let mut transaction = client.transaction().expect("begun");
    let declare = "DECLARE c CURSOR FOR SELECT name FROM account ORDER BY plain";
    let early = "DECLARE c CURSOR FOR SELECT word FROM open";
    transaction.batch_execute(early).expect("declared");
    let fetch = transaction.prepare("FETCH 1 FROM c").expect("prepared");
    transaction
        .batch_execute(&format!("CLOSE c; {declare}"))
        .expect("declared anew");
    let error = transaction.query(&fetch, &[]).expect_err("other columns");
    assert_eq!(error.code().map(|code| code.code()), Some("0A000"));
    drop(transaction);
}

#[test]
fn a_query_with_constants_is_copied() {
    use std::io::Read as _;
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut copied = |query: &str| {
        let mut text = String::new();
        let mut reader = client.copy_out(&format!("COPY ({query}) TO STDOUT"))?;
        reader.read_to_string(&mut text).expect("rows");
        Ok::<_, postgres::Error>(text)
    };
    let text = "SELECT name, plain FROM account WHERE name = 'CANARYbob' AND id IN (2, 3) \
                ORDER BY plain";
    assert_eq!(
        copied(text).expect("copied"),
        "CANARYbob\t2\nCANARYbob\t3\n"
    );
    let empty = "SELECT name FROM account WHERE id = ANY('{}')";
    assert_eq!(copied(empty).expect("copied"), "");
    let error = copied("SELECT name FROM account WHERE id = 'x'").expect_err("no number");
    assert_eq!(error.code().map(|code| code.code()), Some("22P02"));
    let simple = "COPY (SELECT note FROM account WHERE id = 1) TO STDOUT";
    assert_eq!(setup.psql(simple), "CANARY first\n");
}
