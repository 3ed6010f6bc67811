//! Check constraints over protected columns, beside a twin in clear: by the text protocol, and
//! prepared with parameters as texts and in binary.

use std::io::Write;

use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::private::BytesMut;
use postgres::types::{Format, IsNull, ToSql, Type};
use postgres::{Client, Error};
use server_testkit::Postgres;

use crate::common::texts::answer;
use crate::common::{Setup, client_of};

mod constraints;

const RULES: &str = r#"
[columns.item]
price.type = "numeric(10,2)"
price.checks = { item_price_check = "price > 0", b_small = "price < 1000" }
mail.type = "varchar(60)"
mail.mode = "equality"
mail.domain = "mail"
mail.checks.has_at = "mail LIKE '%@%'"
state.type = "text"
state.checks.known_state = "state IN ('CANARY new', 'CANARY old')"
number.type = "integer"
number.mode = "order"
number.checks.zz_number = "number IS NOT NULL AND number % 2 = 0"
tags.type = "text[]"
tags.checks.few_tags = "cardinality(tags) < 3"
note.type = "text"
[columns.parted]
mail = { type = "varchar(60)", checks = { at = "mail LIKE '%@%'" } }
[columns.letter]
mail = { type = "varchar(60)", mode = "equality", domain = "mail" }
"#;

const TABLES: &[&str] = &[
    "CREATE TABLE item (id integer PRIMARY KEY, price numeric(10,2) CHECK (price > 0),
     mail varchar(60) CONSTRAINT has_at CHECK (mail LIKE '%@%'), state text, number integer
     DEFAULT NULL, tags text[], note text, plain integer CHECK (plain < 100),
     CONSTRAINT b_small CHECK (price < 1000), CONSTRAINT zz_number CHECK (number IS NOT NULL AND
     number % 2 = 0), CONSTRAINT few_tags CHECK (cardinality(tags) < 3))",
    "ALTER TABLE item ADD CONSTRAINT known_state CHECK (state IN ('CANARY new', 'CANARY old'))",
    "CREATE TABLE letter (id integer, mail varchar(60))",
    "INSERT INTO letter VALUES (1, 'CANARY a@b'), (2, 'CANARY none')",
    "INSERT INTO item VALUES (1, 5.5, 'CANARY a@b', 'CANARY new', 2, '{a,b}', 'CANARY', 1),
     (2, 7, 'CANARY c@d', 'CANARY old', 4, NULL, NULL, 2), (3, NULL, NULL, NULL, 6, '{}', NULL, 3)",
];

/// Statements with their parameters; a line that ends with `## no detail` changes rows of which the
/// proxy does not know all values, or has values that it keeps unread.
const STATEMENTS: &[&str] = &[
    "INSERT INTO item (id, price, number) VALUES (11, $1, 2) ## 3.25",
    "INSERT INTO item (id, price, number) VALUES (11, $1, 2) ## -3.25",
    "INSERT INTO item (id, price, number) VALUES (11, $1, 2) ## 0.004",
    "INSERT INTO item (id, price, number) VALUES (11, $1, 2) ## 1000",
    "INSERT INTO item (id, price, number) VALUES (11, NULL, $1) ## 3",
    "INSERT INTO item (id, price, number) VALUES (11, NULL, $1) ## NULL",
    "INSERT INTO item (id, price) VALUES (11, $1) ## 5",
    "INSERT INTO item (id, mail, number) VALUES (11, $1, 2) ## CANARY at",
    "INSERT INTO item (id, mail, number) VALUES (11, $1, 2) ## CANARY@x",
    "INSERT INTO item (id, mail, number, plain) VALUES (11, $1, 2, 100) ## CANARY at",
    "INSERT INTO item (id, mail, number, plain) VALUES (11, $1, 2, 100) ## CANARY @",
    "INSERT INTO item (id, mail, number) VALUES (11, $1, 2), (12, 'CANARY y@', 3) ## CANARY@x",
    // Near values of mode order begin alike, and the server does not show more of them.
    "INSERT INTO item (id, price, number) VALUES (11, $1, 2), (12, 5, 4) ## -3 ## no detail",
    "INSERT INTO item (id, state, note, number) VALUES (11, $1, $2, 2) ## CANARY other \
     ## CANARY long long long long long long long long long long long long long long long ä long",
    "INSERT INTO item (id, tags, number) VALUES (11, $1, 2) ## {a,b,c} ## no detail",
    "INSERT INTO item (id, tags, number) VALUES (11, $1, 2) ## {a,b}",
    "INSERT INTO item (id, price, mail, state, number, tags) VALUES (11, $1, $2, $3, 3, '{}') \
     ## 2000 ## CANARY at ## CANARY other ## no detail",
    "INSERT INTO item (id, number) VALUES (1, 3)",
    // What is not written fails no check.
    "UPDATE item SET price = $1 WHERE false ## -1",
    "UPDATE item SET price = $1 WHERE id = 99 ## -1",
    "UPDATE item SET price = $1 WHERE id = 1 ## -1 ## no detail",
    "UPDATE item SET price = $1 WHERE id = 1 ## 99",
    "UPDATE item SET plain = 5",
    "UPDATE item SET mail = $1 WHERE plain > 1 ## CANARY at ## no detail",
    "UPDATE item SET number = DEFAULT WHERE id = 1 ## no detail",
    "UPDATE item SET number = NULL WHERE id = 99",
    "INSERT INTO item (id, price, number) VALUES (1, $1, 2) ON CONFLICT DO NOTHING ## -3",
    "INSERT INTO item (id, price, number) VALUES (1, $1, 2) ON CONFLICT (id) DO UPDATE SET price = \
     EXCLUDED.price ## 8",
    "INSERT INTO item (id, price, number) VALUES (1, $1, 2) ON CONFLICT (id) DO UPDATE SET price = \
     EXCLUDED.price ## -8",
    "INSERT INTO item (id, price, number) VALUES (1, 8, 2) ON CONFLICT (id) DO UPDATE SET price = \
     $1 ## -8 ## no detail",
    // Computed.
    "UPDATE item SET price = price - 6 ## no detail",
    "UPDATE item SET price = price + 1",
    "UPDATE item SET price = price - 6 WHERE price > 6",
    "UPDATE item SET number = number + $1 WHERE id = 1 ## 1 ## no detail",
    "UPDATE item SET number = number + $1 WHERE id = 1 ## 2",
    "UPDATE item SET mail = lower(mail) || $1 WHERE mail LIKE 'CANARY a%' ## x",
    "UPDATE item SET mail = replace(mail, '@', $1) WHERE mail LIKE 'CANARY a%' ## x ## no detail",
    "UPDATE item SET mail = letter.mail FROM letter WHERE letter.id = item.id ## no detail",
    "UPDATE item SET mail = letter.mail FROM letter WHERE letter.id = item.id AND item.id = 2 ## \
     no detail",
    "INSERT INTO item (id, mail, number) SELECT id + 100, mail, 2 FROM letter WHERE id = 1",
    "INSERT INTO item (id, mail, number) SELECT id + 100, mail, 2 FROM letter",
    "INSERT INTO item (id, price, number) SELECT * FROM UNNEST($1::int[], $2::numeric[], \
     '{2,4}'::int[]) ## {11,12} ## {5,6}",
    "INSERT INTO item (id, price, number) SELECT * FROM UNNEST($1::int[], $2::numeric[], \
     '{2,2000000}'::int[]) ## {11,12} ## {5,-6}",
    "INSERT INTO item (id, price, number) SELECT id + 10, price * -1, 2 FROM item",
    "INSERT INTO item (id, price, number) VALUES (1, 9, 2) ON CONFLICT (id) DO UPDATE SET price = \
     item.price - EXCLUDED.price ## no detail",
    "INSERT INTO item (id, price, number) VALUES (1, 9, 2) ON CONFLICT (id) DO UPDATE SET price = \
     item.price + EXCLUDED.price",
    "MERGE INTO item USING (SELECT 1 AS id, 3 AS much) s ON s.id = item.id WHEN MATCHED THEN \
     UPDATE SET price = item.price + s.much",
    "MERGE INTO item USING (SELECT 1 AS id, 30 AS much) s ON s.id = item.id WHEN MATCHED THEN \
     UPDATE SET price = item.price - s.much ## no detail",
    "SELECT id, price, mail, state, number, tags FROM item WHERE mail = $1 ## CANARY a@b",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Simple,
    Text,
    Binary,
}

/// A parameter that is written as the way says.
#[derive(Debug)]
struct Value(Option<String>, Way);

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = &self.0 else {
            return Ok(IsNull::Yes);
        };
        if self.1 == Way::Binary && *of == Type::INT4 {
            return text.parse::<i32>()?.to_sql(of, out);
        }
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, of: &Type) -> Format {
        let is_binary = matches!(*of, Type::INT4 | Type::TEXT | Type::VARCHAR);
        match self.1 == Way::Binary && is_binary {
            true => Format::Binary,
            false => Format::Text,
        }
    }

    postgres::types::to_sql_checked!();
}

struct Twins {
    own: Client,
    twin: Client,
    setup: Setup,
    _other: Postgres,
}

/// What an error says: code, message, constraint, table, detail.
type Told = (
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
);

fn told(error: &Error) -> Told {
    let error = error.as_db_error().expect("of a server");
    (
        error.code().code().to_owned(),
        error.message().to_owned(),
        error.constraint().map(str::to_owned),
        error.table().map(str::to_owned),
        error.detail().map(str::to_owned),
    )
}

fn begin() -> Option<Twins> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let other = Postgres::start();
    let mut twins = Twins {
        own: client_of(&setup.proxy),
        twin: other.connect(),
        _other: other,
        setup,
    };
    for table in TABLES {
        twins.own.batch_execute(table).expect(table);
        twins.twin.batch_execute(table).expect(table);
    }
    Some(twins)
}

fn run(client: &mut Client, text: &str, values: &[&str], way: Way) -> Result<Vec<String>, Error> {
    if way == Way::Simple {
        let mut text = text.to_owned();
        for (index, value) in values.iter().enumerate() {
            let literal = match *value {
                "NULL" => "NULL".to_owned(),
                value => format!("'{value}'"),
            };
            text = text.replace(&format!("${}", index + 1), &literal);
        }
        return answer(client, &text);
    }
    let values: Vec<Value> = values
        .iter()
        .map(|value| Value((*value != "NULL").then(|| (*value).to_owned()), way))
        .collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    let statement = client.prepare(text)?;
    match text.starts_with("SELECT") {
        true => client
            .query(&statement, &values)
            .map(|rows| vec![format!("{} rows", rows.len())]),
        false => client
            .execute(&statement, &values)
            .map(|count| vec![count.to_string()]),
    }
}

const LEFT: &str = "SELECT id, price, mail, state, number, tags, note, plain FROM item ORDER BY id";

#[test]
fn checks_refuse_what_a_plain_server_refuses_in_every_protocol() {
    let Some(mut twins) = begin() else {
        return;
    };
    let mut wrong = Vec::new();
    for line in STATEMENTS {
        let mut parts: Vec<&str> = line.split(" ## ").collect();
        let has_detail = parts.last() != Some(&"no detail");
        parts.retain(|part| *part != "no detail");
        for way in [Way::Simple, Way::Text, Way::Binary] {
            let [own, twin] = [&mut twins.own, &mut twins.twin].map(|client| {
                client.batch_execute("BEGIN").expect("begun");
                let said = run(client, parts[0], &parts[1..], way).map_err(|error| told(&error));
                let left = said.is_ok().then(|| answer(client, LEFT).expect("rows"));
                client.batch_execute("ROLLBACK").expect("rolled back");
                (said, left)
            });
            let mut twin = twin;
            if let (false, Err(told)) = (has_detail, &mut twin.0) {
                told.4 = None;
            }
            if own != twin {
                wrong.push(format!("{way:?}: {line}\n  {own:?}\n  {twin:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn copied_rows_are_checked() {
    let Some(mut twins) = begin() else {
        return;
    };
    for (options, rows) in [
        ("", "21\t5\tCANARY e@f\t2\n22\t\\N\t\\N\t4\n"),
        (
            "",
            "23\t5\tCANARY e@f\t2\n24\t-1\t\\N\t2000000\n25\t3\t\\N\t2\n",
        ),
        (" (FORMAT csv)", "26,5,CANARY at,2\n"),
        (" (FORMAT csv)", "27,5,CANARY@,2\n"),
        ("", "28\t5\tCANARY e@f\t\\N\n"),
    ] {
        let [own, twin] = [&mut twins.own, &mut twins.twin].map(|client| {
            let copy = format!("COPY item (id, price, mail, number) FROM STDIN{options}");
            let mut writer = client.copy_in(&copy).expect("begun");
            writer.write_all(rows.as_bytes()).expect("written");
            let said = writer.finish().map_err(|error| told(&error));
            (said, answer(client, LEFT).expect("rows"))
        });
        assert_eq!(own, twin, "{options} {rows}");
    }
}

#[test]
fn rows_that_are_copied_in_binary_are_checked() {
    let Some(mut twins) = begin() else {
        return;
    };
    for (id, mail) in [(61, "CANARY@b"), (62, "CANARY"), (63, "CANARY@c")] {
        let [own, twin] = [&mut twins.own, &mut twins.twin].map(|client| {
            let copy = "COPY item (id, mail, number) FROM STDIN (FORMAT binary)";
            let writer = client.copy_in(copy).expect("begun");
            let types = [Type::INT4, Type::VARCHAR, Type::INT4];
            let mut writer = BinaryCopyInWriter::new(writer, &types);
            for (more, mail) in [(0, "CANARY@a"), (100, mail)] {
                writer.write(&[&(id + more), &mail, &2]).expect("written");
            }
            let said = writer.finish().map_err(|error| told(&error));
            (said, answer(client, LEFT).expect("rows"))
        });
        assert_eq!(own, twin, "{mail}");
    }
}

#[test]
fn rows_of_children_and_partitions_are_checked() {
    let Some(mut twins) = begin() else {
        return;
    };
    for text in [
        "CREATE TABLE child () INHERITS (item)",
        "CREATE TABLE parted (place integer, mail varchar(60) CONSTRAINT at CHECK (mail LIKE \
         '%@%')) PARTITION BY LIST (place)",
        "CREATE TABLE part_one PARTITION OF parted FOR VALUES IN (1)",
        "CREATE TABLE part_two PARTITION OF parted FOR VALUES IN (2)",
        "INSERT INTO child (id, mail, number) VALUES (51, 'CANARY @', 2)",
        "INSERT INTO child (id, mail, number) VALUES (51, 'CANARY', 2)",
        "INSERT INTO parted VALUES (1, 'CANARY @1')",
        "INSERT INTO parted VALUES (2, 'CANARY')",
        "INSERT INTO part_two VALUES (2, 'CANARY')",
        "UPDATE parted SET place = 2",
        "UPDATE parted SET place = 1, mail = 'CANARY'",
        "UPDATE item SET mail = 'CANARY' WHERE id = 51",
    ] {
        let [own, twin] = [&mut twins.own, &mut twins.twin]
            .map(|client| answer(client, text).map_err(|error| told(&error)));
        match (own, twin) {
            // What the proxy does not know of a row, it leaves out.
            (Err(own), Err(twin)) => {
                assert_eq!(
                    (&own.0, &own.1, &own.2),
                    (&twin.0, &twin.1, &twin.2),
                    "{text}"
                );
                assert_eq!(own.3, twin.3, "{text}");
            }
            (own, twin) => assert_eq!(own, twin, "{text}"),
        }
    }
}

#[test]
fn checks_without_a_finisher_stop_the_start() {
    use configuration::Config;
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("columns.key"), [0x5a; 32]).expect("a key");
    let file = folder.path().join("strongroom.toml");
    let start = |rules: &str| {
        let text = format!(
            "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n[keys]\nfile = \
             \"columns.key\"\n{rules}"
        );
        std::fs::write(&file, text).expect("a file");
        let config = Config::read(&file).expect("the configuration");
        proxy::Running::start(config)
            .err()
            .map(|error| error.to_string())
    };
    let said = start(RULES).expect("it does not start");
    assert!(said.contains("[finish] engine"), "{said}");
    let wrong = "[columns.t]\na = { type = \"text\", checks = { own = \"a > b\" } }\n\
                 [finish]\nengine = \"postgres\"\n";
    let said = start(wrong).expect("it does not start");
    assert!(said.contains("it reads b"), "{said}");
    let wrong = "[columns.t]\na = { type = \"integer\", mode = \"equality\", default = \"serial\", \
                 checks = { own = \"a > 0\" } }\n[finish]\nengine = \"postgres\"\n";
    let said = start(wrong).expect("it does not start");
    assert!(said.contains("values of a sequence"), "{said}");
}
