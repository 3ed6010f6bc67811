//! Catalogue queries of real clients, and the answers that they get.

use server_testkit::Postgres;

use super::{PEOPLE, TABLES, ask, rules, run, shown};

/// The queries that psql says it sends (`ECHO_HIDDEN`).
fn hidden_queries(said: &str) -> Vec<String> {
    // `********* QUERY **********` up to version 17, `/******** QUERY *********/` from 18 on.
    let mut queries = Vec::new();
    let mut query: Option<String> = None;
    for line in said.lines() {
        let is_frame = line.trim_matches('/').starts_with("****");
        match (&mut query, is_frame) {
            (None, true) if line.contains(" QUERY ") => query = Some(String::new()),
            (Some(_), true) => queries.extend(query.take()),
            (Some(query), false) => {
                query.push_str(line);
                query.push('\n');
            }
            (None, _) => {}
        }
    }
    queries
}

/// The statements that the server was sent (`log_statement = all`).
fn logged_statements(log: &str) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    let mut inside = false;
    for line in log.lines() {
        if let Some((_, statement)) = line.split_once("LOG:  statement: ") {
            statements.push(statement.to_owned());
            inside = true;
        } else if let (true, Some(more), Some(last)) =
            (inside, line.strip_prefix('\t'), statements.last_mut())
        {
            last.push('\n');
            last.push_str(more);
        } else {
            inside = false;
        }
    }
    statements
}

#[test]
fn psql_describes_logical_types() {
    let Some((server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(PEOPLE);
    run(&mut client, &rules, TABLES);
    let schema = run(
        &mut client,
        &rules,
        &[
            "CREATE INDEX by_name ON people (name)",
            "CREATE VIEW named AS SELECT name AS title FROM people",
        ],
    );
    for (command, expected) in [
        ("\\d people", "character varying(40)"),
        ("\\d+ people", "character varying(40)"),
        ("\\d named", "character varying(40)"),
        ("\\d+ named", "character varying(40)"),
        ("\\d by_name", "character varying(40)"),
        ("\\d people_pkey", "integer"),
    ] {
        let output = server.run("psql", &["-X", "-E", "-c", command]);
        let said = String::from_utf8(output.stdout).expect("psql speaks UTF-8");
        let queries = hidden_queries(&said);
        assert!(queries.len() > 2, "{said}");
        let mut cells = Vec::new();
        for query in queries {
            let rows = ask(&mut client, &shown(&query, &schema));
            cells.extend(rows.into_iter().flatten().flatten());
        }
        assert!(
            cells.iter().any(|cell| cell == expected),
            "{command}: {cells:#?}"
        );
        assert!(
            !cells.iter().any(|cell| cell == "bytea"),
            "{command}: {cells:#?}"
        );
    }
}

#[test]
fn every_describing_command_of_psql_is_a_query_on_catalogues() {
    let Some((server, mut client)) = server_testkit::connected() else {
        return;
    };
    let schema = run(&mut client, &rules(PEOPLE), TABLES);
    for command in [
        "\\d",
        "\\dt+",
        "\\di+",
        "\\dv",
        "\\ds",
        "\\dn+",
        "\\df",
        "\\df+ people",
        "\\du",
        "\\dp people",
        "\\dT",
        "\\dD",
        "\\dx",
        "\\db",
        "\\do =",
        "\\da sum",
        "\\dC",
        "\\dF",
        "\\dRp",
        "\\dX",
        "\\dP",
        "\\dd people",
        "\\l",
        "\\dy",
        "\\det",
        "\\sv nothing",
        "\\sf nothing",
        "\\z people",
    ] {
        let output = server.run("psql", &["-X", "-E", "-c", command]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        for query in hidden_queries(&said) {
            ask_or_fail_alike(&mut client, &query, &shown(&query, &schema));
        }
    }
}

/// Both texts give the same rows, or the same error.
fn ask_or_fail_alike(client: &mut postgres::Client, query: &str, other: &str) {
    let mut tell = |text: &str| match client.simple_query(text) {
        Ok(rows) => rows.len().to_string(),
        Err(error) => {
            let code = error.code().map(|code| code.code().to_owned());
            code.expect("an error of the server")
        }
    };
    assert_eq!(tell(query), tell(other), "{query}\n{other}");
}

#[test]
fn pg_dump_sees_logical_types() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start_with(&[("log_statement", "all")]);
    let mut client = server.connect();
    let schema = run(&mut client, &rules(PEOPLE), TABLES);
    let before = logged_statements(&server.log()).len();
    let output = server.run("pg_dump", &["--schema-only"]);
    assert!(output.status.success(), "{output:?}");
    let statements = logged_statements(&server.log()).split_off(before);
    let mut described = 0;
    for statement in &statements {
        let lower = statement.to_lowercase();
        let reads = lower.starts_with("select") || lower.starts_with("with");
        if !reads || !lower.contains("pg_attribute") {
            continue;
        }
        let cells: Vec<String> = ask(&mut client, &shown(statement, &schema))
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        if cells.iter().any(|cell| cell == "note") {
            described += 1;
            assert!(
                cells.iter().any(|cell| cell == "character varying(40)"),
                "{statement}"
            );
            assert!(!cells.iter().any(|cell| cell == "bytea"), "{statement}");
        }
    }
    assert!(described > 0, "{statements:#?}");
}

/// A column of each type.
const KINDS: &str = r#"
[columns.kinds]
boolean = { type = "boolean" }
small = { type = "smallint" }
whole = { type = "integer" }
big = { type = "bigint" }
single = { type = "real" }
double = { type = "double precision" }
exact = { type = "numeric(12,3)" }
any_exact = { type = "numeric" }
text = { type = "text" }
short = { type = "varchar(16)" }
any_short = { type = "varchar" }
padded = { type = "char(9)" }
bytes = { type = "bytea" }
day = { type = "date" }
time = { type = "time" }
moment = { type = "timestamp", default = "CURRENT_TIMESTAMP" }
instant = { type = "timestamptz" }
key = { type = "uuid" }
json = { type = "json" }
"#;

#[test]
fn information_schema_shows_logical_types() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(KINDS);
    let columns: Vec<String> = rules.tables["kinds"]
        .iter()
        .map(|(name, rule)| {
            let default = rule
                .default
                .as_deref()
                .map(|text| format!(" DEFAULT {text}"));
            format!(
                "\"{name}\" {} NOT NULL{}",
                rule.logical,
                default.unwrap_or_default()
            )
        })
        .collect();
    let create = format!("CREATE TABLE kinds ({})", columns.join(", "));
    let schema = run(&mut client, &rules, &[&create]);
    ask(
        &mut client,
        &format!("CREATE SCHEMA plain; SET search_path = plain; {create}"),
    );
    ask(&mut client, "SET search_path = public");
    // The same table in clear: all that clients are told of it is the same.
    for query in [
        "SELECT * FROM information_schema.columns WHERE table_schema = '$' ORDER BY column_name",
        "SELECT a.attname, a.atttypid, a.atttypmod, a.attlen, a.attbyval, a.attalign, \
         a.attstorage, \
         a.attcollation, a.attnotnull, format_type(a.atttypid, a.atttypmod) \
         FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n \
         ON n.oid = c.relnamespace WHERE n.nspname = '$' AND a.attnum > 0 ORDER BY a.attname",
    ] {
        let mut tell = |place: &str| {
            let text = shown(&query.replace('$', place), &schema);
            let mut rows = ask(&mut client, &text);
            for row in &mut rows {
                row.retain(|cell| cell.as_deref() != Some(place));
            }
            rows
        };
        let (protected, plain) = (tell("public"), tell("plain"));
        assert_eq!(protected.len(), columns.len());
        assert_eq!(protected, plain, "{query}");
    }
}
