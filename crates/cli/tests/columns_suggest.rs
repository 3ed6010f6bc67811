//! `strongroom columns suggest`: its rules for a database in clear.
#![cfg(unix)]

use std::fs;

use server_testkit::Postgres;
use tempfile::TempDir;

#[path = "support/columns_command.rs"]
mod columns_command;

use columns_command::{columns, configuration, text};

const TABLES: &str = "\
    CREATE TYPE mood AS ENUM ('sad', 'glad');
    CREATE TABLE customer (
        id integer PRIMARY KEY, code varchar(8) UNIQUE, name text, born date,
        sex char(1) UNIQUE, age smallint CHECK (age > 0)
        CONSTRAINT few CHECK (age < 150), mood mood,
        weight integer CHECK (weight > width), width integer,
        height integer CHECK (COALESCE(height, 1) > 0),
        state varchar(9) CHECK (state IN ('new', 'old')),
        born_at date CHECK (born_at < '2100-01-01'),
        serial_age serial CHECK (serial_age > 0), made_up text CHECK (made_up <> current_user),
        number serial, made timestamptz DEFAULT now(), level integer DEFAULT 3,
        tag text DEFAULT 'a''b'::text, twice integer GENERATED ALWAYS AS (2) STORED,
        \"Zip code\" varchar(5), mail text COLLATE \"C\");
    CREATE TABLE invoice (
        id bigint GENERATED ALWAYS AS IDENTITY, customer integer REFERENCES customer,
        code varchar(20) REFERENCES customer (code), total numeric(10,2), note text);
    CREATE INDEX ON invoice (lower(note));
    CREATE TABLE part (at date, body text) PARTITION BY RANGE (at);
    CREATE TABLE part_one PARTITION OF part DEFAULT;
    CREATE VIEW long AS SELECT length(name) FROM customer";

const LOG: &str = "\
2026-01-01 UTC [1] LOG:  statement: SELECT 1 FROM customer WHERE name = 'x'
2026-01-01 UTC [1] LOG:  execute <unnamed>: SELECT id FROM customer WHERE born > $1 ORDER BY level
2026-01-01 UTC [1] LOG:  statement: SELECT 1 FROM invoice i JOIN part p ON p.body = i.code
2026-01-01 UTC [1] LOG:  statement: this is no SQL
";

struct Bench {
    server: Postgres,
    _folder: TempDir,
    log: String,
}

impl Bench {
    fn start() -> Option<Self> {
        if !server_testkit::is_installed() {
            return None;
        }
        let server = Postgres::start();
        let created = server.connect().batch_execute(TABLES);
        created.expect("SQL of PostgreSQL");
        let folder = TempDir::new().expect("a temporary folder");
        let log = folder.path().join("log");
        fs::write(&log, LOG).expect("a file in the own folder");
        Some(Self {
            server,
            log: log.to_str().expect("a plain path").to_owned(),
            _folder: folder,
        })
    }

    /// What is proposed: the same twice, and rules that the program reads.
    #[track_caller]
    fn suggested(&self, arguments: &[&str]) -> String {
        let suggest = || {
            columns(
                &[&["suggest"], arguments].concat(),
                Some(&self.server.url()),
            )
        };
        let output = suggest();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(output.stdout, suggest().stdout);
        let rules = text(&output.stdout);
        let finish = "\n[finish]\nengine = \"postgres\"\n";
        let (_folder, path) = configuration(&format!("{rules}{finish}"));
        let checked = columns(&["check", "--config", &path], None);
        assert!(checked.status.success(), "{}", text(&checked.stderr));
        rules
    }
}

#[track_caller]
fn assert_has(rules: &str, lines: &[&str]) {
    for line in lines {
        assert!(
            rules.contains(&format!("\n{line}")),
            "no {line:?} in {rules}"
        );
    }
}

#[test]
fn a_column_gets_a_rule_or_the_reason_why_not() {
    let Some(bench) = Bench::start() else { return };
    let rules = bench.suggested(&[]);
    assert_has(
        &rules,
        &[
            "name = { type = \"text\" }\n",
            "born = { type = \"date\" }\n",
            "\"Zip code\" = { type = \"varchar(5)\" }\n",
            "code = { type = \"varchar(20)\", mode = \"equality\", domain = \"customer_code\" } \
             # foreign key invoice_code_fkey\n",
            "made = { type = \"timestamptz\", default = \"now()\" }\n",
            "level = { type = \"integer\", default = \"3\" }\n",
            "tag = { type = \"text\", default = \"'a''b'\" }\n",
            "# id: is a key that is only a number",
            "# sex: a text of one or two characters has few values",
            "# Rules with checks need a finisher: [finish] engine = \"postgres\".\n",
            "age = { type = \"smallint\", checks = { customer_age_check = \"(age > 0)\", few = \
             \"(age < 150)\" } }\n",
            "state = { type = \"varchar(9)\", checks = { customer_state_check = \"((state)::text = \
             ANY ((ARRAY['new'::character varying, 'old'::character varying])::text[]))\" } }\n",
            "born_at = { type = \"date\", checks = { customer_born_at_check = \"(born_at < \
             '2100-01-01'::date)\" } }\n",
            "# weight: the check customer_check would see ciphertext: it reads several columns",
            "# height: the check customer_height_check would see ciphertext: it is not clear",
            "# serial_age: the check customer_serial_age_check would see ciphertext: its values",
            "# made_up: the check customer_made_up_check would see ciphertext: it depends",
            "mood = { type = \"enum public.mood\" }\n",
            "number = { type = \"integer\", default = \"serial\" }\n",
            "id = { type = \"bigint\", default = \"GENERATED ALWAYS AS IDENTITY\" }\n",
            "# twice: the server computes it from other columns\n",
            "# mail: has the collation",
            "# note: the index invoice_lower_idx computes from it",
            "# at: decides on the partition of a row",
            "body = { type = \"text\" }\n",
            "# public.long\n",
        ],
    );
    assert!(!rules.contains("part_one"), "{rules}");
}

#[test]
fn keys_are_proposed_if_all_are_wanted() {
    let Some(bench) = Bench::start() else { return };
    let rules = bench.suggested(&["--all"]);
    assert_has(
        &rules,
        &[
            "id = { type = \"integer\", mode = \"equality\", domain = \"customer_id\" } #",
            "customer = { type = \"integer\", mode = \"equality\", domain = \"customer_id\" } #",
            "sex = { type = \"char(1)\", mode = \"equality\", accept_leakage = true } #",
        ],
    );
}

#[test]
fn statements_decide_on_modes() {
    let Some(bench) = Bench::start() else { return };
    let rules = bench.suggested(&["--queries", &bench.log]);
    assert_has(
        &rules,
        &[
            "name = { type = \"text\", mode = \"equality\" } # compared by =\n",
            "body = { type = \"text\", mode = \"equality\", domain = \"customer_code\" } # \
             compared with a column\n",
            "born = { type = \"date\" }\n",
        ],
    );
    let rules = bench.suggested(&["--order", "--queries", &bench.log]);
    assert_has(
        &rules,
        &[
            "born = { type = \"date\", mode = \"order\" } # bounds or sorting\n",
            "level = { type = \"integer\", mode = \"order\", default = \"3\" } # bounds or \
             sorting\n",
        ],
    );
}
