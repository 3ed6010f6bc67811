//! The statement without a name, used again after what it means may have changed: in a transaction
//! that began since, under another search path, with another schema. A plain server is asked the
//! same and the answers are equal, or the proxy refuses (0A000; F0000 where a name without rules
//! hides a protected one) where a step says that it may.

use std::iter::empty;

use crate::common::Setup;
use crate::common::wire::{Answer, SYNC, Session, put};
use server_testkit::Postgres;
use wire_postgres::frontend::{self, Target, write_parse, write_target};

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(20)" }
visits = { type = "integer" }
"#;

/// What another session does; the tables of both schemas look the same to clients.
const CREATE: &str = "CREATE TABLE person (id integer PRIMARY KEY, name varchar(20), \
                      visits integer, plain integer)";
const FILL: &str = "INSERT INTO person VALUES (1, 'CANARYann', 10, 100), (2, 'CANARYbob', 20, 200)";
const OTHER: [&str; 3] = [
    "CREATE SCHEMA other",
    "CREATE TABLE other.person (id integer PRIMARY KEY, name varchar(20), visits integer, \
     plain integer)",
    "INSERT INTO other.person VALUES (1, 'other', 1, 100)",
];

const BY_KEY: &str = "SELECT name, visits, plain FROM person WHERE id = $1";
const ALL: &str = "SELECT id, name, visits, plain FROM person ORDER BY plain, id";

/// What a session does.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Gives the statement without a name its text.
    Parse(&'static str),
    /// Binds a value to it, and executes it.
    Run(&'static str),
    /// The same, and the proxy may refuse.
    RunOrRefused(&'static str),
    /// Executes a text under a name of its own: the statement without a name stays.
    Do(&'static str),
    /// Executes a text by the simple protocol: the statement without a name is gone.
    Query(&'static str),
    /// Another session does it.
    Elsewhere(&'static str),
}

use Step::{Do, Elsewhere, Parse, Query, Run, RunOrRefused};

/// Takes a step.
fn take(session: &mut Session, step: Step, elsewhere: &mut Session) -> Answer {
    let mut messages = Vec::new();
    match step {
        Parse(text) => write_parse(b"", text.as_bytes(), empty(), &mut messages),
        Run(value) | RunOrRefused(value) => put(b"", &[value], &mut messages),
        Do(text) => {
            write_parse(b"do", text.as_bytes(), empty(), &mut messages);
            put(b"do", &[], &mut messages);
        }
        Query(text) => return session.query(text),
        Elsewhere(text) => return elsewhere.query(text),
    }
    messages.extend_from_slice(SYNC);
    let answer = session.say(&messages);
    if matches!(step, Do(_)) {
        messages.clear();
        write_target(
            frontend::kind::CLOSE,
            Target::Statement(b"do"),
            &mut messages,
        );
        messages.extend_from_slice(SYNC);
        session.say(&messages);
    }
    answer
}

/// A plain server, and another behind the proxy.
struct Twins {
    plain: Postgres,
    setup: Setup,
}

impl Twins {
    fn start() -> Option<Self> {
        server_testkit::is_installed().then(|| Self {
            plain: Postgres::start(),
            setup: Setup::start(RULES),
        })
    }

    /// Both take the same steps, on new tables.
    #[track_caller]
    fn compare(&self, steps: &[Step]) {
        let ports = [self.plain.port(), self.setup.proxy.address.port()];
        let mut sessions = ports.map(|port| {
            let mut elsewhere = Session::connect(port);
            let dropped = "DROP SCHEMA IF EXISTS other CASCADE";
            let made = ["DROP TABLE IF EXISTS person", dropped, CREATE, FILL];
            for text in made.into_iter().chain(OTHER) {
                assert_eq!(elsewhere.query(text).code, "", "{text}");
            }
            (Session::connect(port), elsewhere)
        });
        for step in steps {
            let [plain, proxy] = sessions
                .each_mut()
                .map(|(session, elsewhere)| take(session, *step, elsewhere));
            let is_refused = ["0A000", "F0000"].contains(&proxy.code.as_str());
            let may_differ = matches!(step, RunOrRefused(_)) && is_refused;
            let is_same =
                (&plain.rows, &plain.tag, &plain.code) == (&proxy.rows, &proxy.tag, &proxy.code);
            assert!(
                is_same || may_differ,
                "{step:?} of {steps:#?}\nplain: {plain:?}\nproxy: {proxy:?}"
            );
        }
    }
}

#[test]
fn in_a_transaction_that_began_since_it_does_the_same() {
    let Some(twins) = Twins::start() else { return };
    for (text, one, two) in [
        (BY_KEY, "1", "2"),
        (
            "SELECT id, plain FROM person WHERE name = $1",
            "CANARYann",
            "CANARYno",
        ),
        ("SELECT plain FROM person WHERE plain = $1", "100", "200"),
        (
            "UPDATE person SET visits = visits + 5 WHERE id = $1",
            "1",
            "2",
        ),
        (
            "UPDATE person SET name = $1 WHERE plain = 100",
            "CANARYnew",
            "CANARYtwo",
        ),
        (
            "INSERT INTO person (id, name) VALUES ($1, 'CANARYmade')",
            "7",
            "8",
        ),
        ("DELETE FROM person WHERE id = $1", "1", "2"),
    ] {
        for end in ["COMMIT", "ROLLBACK"] {
            twins.compare(&[
                Parse(text),
                Do("BEGIN"),
                Run(one),
                Run(two),
                Do(end),
                Run(one),
                Do(ALL),
                Run(two),
                Query(ALL),
                // It is gone, on both sides.
                Run(one),
            ]);
        }
    }
}

#[test]
fn with_another_schema_it_is_planned_again_or_refused() {
    const ADD: &str = "ALTER TABLE person ADD COLUMN more integer";
    let Some(twins) = Twins::start() else { return };
    twins.compare(&[
        Parse(BY_KEY),
        Do("BEGIN"),
        Do(ADD),
        Run("1"),
        Do("ROLLBACK"),
        Run("2"),
    ]);
    twins.compare(&[
        Parse(BY_KEY),
        Elsewhere(ADD),
        Do("BEGIN"),
        Run("1"),
        Do("COMMIT"),
    ]);
    // The server says of a statement that would give other columns what the proxy says.
    twins.compare(&[
        Parse("SELECT * FROM person WHERE id = $1"),
        Elsewhere(ADD),
        Run("1"),
    ]);
    twins.compare(&[
        Parse(BY_KEY),
        Elsewhere("ALTER TABLE person DROP COLUMN plain"),
        RunOrRefused("1"),
    ]);
    twins.compare(&[
        Parse(BY_KEY),
        Elsewhere("DROP TABLE person"),
        Elsewhere(CREATE),
        Elsewhere("INSERT INTO person VALUES (1, 'CANARYagain', 1, 1)"),
        Do("BEGIN"),
        RunOrRefused("1"),
    ]);
}

#[test]
fn under_another_search_path_it_means_another_table_or_is_refused() {
    const RENAME: &str = "UPDATE person SET name = $1 WHERE plain = 100";
    let Some(twins) = Twins::start() else { return };
    for text in [BY_KEY, "SELECT count(*) FROM person WHERE visits = $1"] {
        twins.compare(&[
            Parse(text),
            Do("BEGIN"),
            Do("SET LOCAL search_path TO other, public"),
            RunOrRefused("1"),
            Do("ROLLBACK"),
            Run("1"),
            Do("SET search_path TO other"),
            RunOrRefused("1"),
            Do("SET search_path TO public"),
            Run("1"),
        ]);
    }
    // What is sealed under one path would be in clear under the other.
    for value in ["CANARYpath", "CANARY far too long for this column"] {
        twins.compare(&[
            Parse(RENAME),
            Do("SET search_path TO other"),
            RunOrRefused(value),
            Do("SET search_path TO public"),
            Run("plain"),
            Do("SELECT name FROM person ORDER BY id"),
        ]);
    }
    twins.setup.assert_unseen(&["CANARY"]);
}
