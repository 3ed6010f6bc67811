//! What a statement means to the server, the proxy has to read too: the columns of `*`, operands of
//! several comparisons, operators without parentheses, rows of one value, and what only one
//! connection sees.

use crate::common::{assert_plan, assert_refused, assert_starts, describe, people};
use column_value::LogicalType;
use sql_plan::Plan;
use sql_rewrite::{Schema, plan};

/// The select list that the server is sent, in a statement that names a protected table.
#[track_caller]
fn assert_columns(from: &str, columns: &str) {
    let statement = format!("SELECT * FROM {from}");
    let plan = describe(&statement, &people());
    let start = format!("one: SELECT {columns} FROM ");
    assert!(plan.starts_with(&start), "{statement}\n{plan}");
}

#[test]
fn columns_that_a_join_merges_come_in_the_servers_order() {
    let a = "(SELECT amount, name, id FROM plain) a";
    let b = "(SELECT id, amount AS b FROM plain) b";
    let c = "(SELECT name, id AS c FROM plain) c";
    // By the left side, or by the clause.
    assert_columns(
        &format!("{a} NATURAL JOIN other.person"),
        "\"name\", \"id\", a.amount",
    );
    assert_columns(
        &format!("{a} JOIN other.person USING (id, name)"),
        "\"id\", \"name\", a.amount",
    );
    assert_columns(
        &format!("{a} JOIN other.person USING (id)"),
        "\"id\", a.amount, a.\"name\", person.\"name\"",
    );
    // Of the outermost join first.
    assert_columns(
        &format!("other.person JOIN {b} USING (id) JOIN {c} USING (name)"),
        "\"name\", \"id\", b.b, c.c",
    );
    assert_columns(
        &format!("{c} JOIN (other.person JOIN {b} USING (id)) USING (name)"),
        "\"name\", c.c, \"id\", b.b",
    );
    assert_columns(
        &format!("other.person JOIN {b} USING (id) CROSS JOIN {c}"),
        "\"id\", person.\"name\", b.b, c.\"name\", c.c",
    );
    // Each item of FROM by itself, and a column of another one is no side of the join.
    assert_columns(
        &format!("{c}, other.person JOIN {b} USING (id)"),
        "c.\"name\", c.c, \"id\", person.\"name\", b.b",
    );
    assert_columns(
        &format!("{b}, {a} NATURAL JOIN (SELECT plain.name, amount FROM plain, other.person) d"),
        "b.\"id\", b.b, amount, \"name\", a.\"id\"",
    );
}

#[test]
fn stored_columns_of_joins_are_not_swapped() {
    let join = "visit JOIN (SELECT id AS person_id, mail FROM person) p USING (person_id) \
                JOIN (SELECT id AS at, amount FROM plain) q USING (at)";
    assert_plan(
        &format!("SELECT * FROM {join}"),
        "one: SELECT \"at\", person_id, visit.visit_id, visit.note, p.mail, q.amount FROM \
         \"public\".visit JOIN (SELECT id AS person_id, mail FROM \"public\".person) p \
         USING(person_id) JOIN (SELECT id AS at, amount FROM \"public\".\"plain\") q USING(at)\n  \
         outputs: -, person_id, -, note, mail, -",
    );
    assert_refused(
        "INSERT INTO visit (person_id, at) SELECT * FROM (SELECT person_id FROM visit) v \
         JOIN (SELECT id AS person_id, active AS at FROM person) p USING (person_id) \
         JOIN (SELECT id AS at FROM plain) q USING (at)",
    );
    assert_starts(
        "INSERT INTO visit (at, person_id) SELECT * FROM (SELECT person_id FROM visit) v \
         JOIN (SELECT id AS person_id, active AS at FROM person) p USING (person_id) \
         JOIN (SELECT id AS at FROM plain) q USING (at)",
        "one: INSERT INTO \"public\".visit (at, person_id) SELECT \"at\", person_id FROM",
    );
    // `id` would be of both.
    assert_refused(
        "SELECT * FROM person, plain a JOIN plain b USING (id) JOIN visit USING (person_id)",
    );
    assert_refused("SELECT * FROM visit JOIN unknown USING (person_id)");
}

#[test]
fn the_proxy_compares_a_case_operand_that_meets_several_values() {
    assert_starts(
        "SELECT CASE $1 WHEN mail THEN 'own' WHEN 'all' THEN 'all' ELSE 'none' END FROM person",
        "fetch: SELECT mail FROM \"public\".person\n",
    );
    assert_starts(
        "SELECT CASE $1 WHEN 'all' THEN 'all' WHEN mail THEN 'own' END FROM person",
        "fetch: SELECT mail FROM \"public\".person\n",
    );
    assert_starts(
        "SELECT CASE 'x' WHEN mail THEN 1 WHEN active THEN 2 END FROM person",
        "fetch: SELECT mail, active FROM",
    );
    assert_plan(
        "SELECT CASE mail WHEN 'a' THEN 1 WHEN $1 THEN 2 END FROM person",
        "one: SELECT CASE mail WHEN {constant match mail} THEN 1 WHEN {$1 match mail} THEN 2 END \
         FROM \"public\".person",
    );
    assert_plan(
        "SELECT CASE $1 WHEN mail THEN 1 WHEN mail THEN 2 END FROM person",
        "one: SELECT CASE {$1 match mail} WHEN mail THEN 1 WHEN mail THEN 2 END \
         FROM \"public\".person",
    );
    let mut schema = people();
    let mut columns = schema.protected.iter_mut();
    let born = columns.find(|own| own.column == "born").expect("it is");
    born.logical = column_value::LogicalType::Integer;
    let between = describe(
        "SELECT id FROM person WHERE $1 + 1 BETWEEN born AND active",
        &schema,
    );
    assert!(!between.contains("bound born}"), "{between}");
}

#[test]
fn signs_bind_as_the_server_reads_them() {
    for expression in [
        "-visits ^ 2",
        "- visits ^ 2 ^ 3",
        "2 ^ -visits ^ 2",
        "+visits ^ 2",
        "-2 ^ salary",
        // To the server these are of the whole sum.
        "@ amount + salary",
        "2 * @ amount - salary",
        "~ amount + visits",
    ] {
        let plan = describe(
            &format!("SELECT {expression} AS x FROM person, plain"),
            &people(),
        );
        assert!(plan.starts_with("refused"), "{expression}\n{plan}");
    }
    for (expression, computed) in [
        ("(-visits) ^ 2", "(-(#0) ^ constant::integer)"),
        ("-(visits ^ 2)", "-((#0 ^ constant::integer))"),
        ("-visits * 2", "(-(#0) * constant::integer)"),
        (
            "2 ^ (-visits) ^ 2",
            "((constant::integer ^ -(#0)) ^ constant::integer)",
        ),
    ] {
        let statement = format!("SELECT {expression} AS x FROM person, plain");
        let plan = describe(&statement, &people());
        assert!(plan.contains(&format!("x = {computed}")), "{plan}");
    }
}

fn holes(statement: &str) -> usize {
    let mut planned = plan(statement, &people()).expect("a plan");
    match planned.remove(0).plan {
        Plan::One(translated, _) => translated.holes.len(),
        other => panic!("{statement}\n{other:?}"),
    }
}

#[test]
fn each_stored_value_of_a_random_column_is_sealed_by_itself() {
    for (statement, count) in [
        (
            "INSERT INTO visit (visit_id, note) VALUES (1, $1), (2, $1), (3, $1)",
            3,
        ),
        (
            "INSERT INTO visit (visit_id, note) VALUES (1, 'x'), (2, 'x')",
            2,
        ),
        // The default of `visits`.
        ("INSERT INTO person (active) VALUES (1), (2), (3)", 3),
        ("INSERT INTO person (visits) VALUES (DEFAULT), (DEFAULT)", 2),
        ("UPDATE person SET name = $1 WHERE mail = $2", 2),
        // Whoever sees two of them knows as much without it.
        (
            "INSERT INTO person (id, mail, visits) VALUES ($1, 'x', 1), ($1, 'y', 1)",
            5,
        ),
    ] {
        assert_eq!(holes(statement), count, "{statement}");
    }
}

/// A session that makes what it makes in its own schema.
fn temporary() -> Schema {
    Schema {
        search_path: vec!["pg_temp_3".to_owned(), "public".to_owned()],
        suspect_functions: vec!["runs".to_owned()],
        ..people()
    }
}

#[test]
fn temporary_objects_cannot_read_protected_tables() {
    let schema = people();
    let unseen = Schema {
        suspect_functions: vec!["runs".to_owned()],
        ..people()
    };
    let refused = |statement: &str, schema: &Schema| {
        let plan = describe(statement, schema);
        assert!(plan.starts_with("refused"), "{statement}\n{plan}");
    };
    for statement in [
        "CREATE VIEW pg_temp.v AS SELECT id, name FROM person",
        "CREATE VIEW pg_temp_3.v AS SELECT id, name FROM person",
        "CREATE VIEW \"pg_temp\".v AS SELECT id FROM plain WHERE EXISTS (SELECT 1 FROM person)",
        "CREATE OR REPLACE VIEW pg_temp.v AS SELECT id, name FROM ONLY person",
        "CREATE MATERIALIZED VIEW pg_temp.v AS SELECT id, name FROM person",
        "CREATE VIEW pg_temp.person AS SELECT 1 AS id",
    ] {
        refused(statement, &schema);
    }
    refused("CREATE VIEW v AS SELECT id, name FROM person", &temporary());
    for function in ["run", "pg_temp.run"] {
        for body in [
            "plpgsql AS 'BEGIN EXECUTE q; END'",
            "plpythonu AS 'x = 1'",
            "sql AS 'SELECT cron.schedule(''a'', ''b'', q)'",
            "sql AS 'SELECT runs(q)'",
        ] {
            let create = |kind| format!("CREATE {kind} {function}(q text) LANGUAGE {body}");
            for statement in [create("FUNCTION"), create("OR REPLACE PROCEDURE")] {
                refused(&statement, &temporary());
                if function != "run" {
                    refused(&statement, &unseen);
                }
            }
        }
    }
    refused(
        "SET search_path TO pg_temp; CREATE FUNCTION run() RETURNS int LANGUAGE plpgsql AS \
         'BEGIN EXECUTE 1; END'",
        &schema,
    );
    for statement in [
        "CREATE FUNCTION pg_temp.add(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1'",
        "CREATE FUNCTION run(q text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE q; END'",
        "CREATE VIEW pg_temp.v AS SELECT id FROM plain",
    ] {
        let plan = describe(statement, &schema);
        assert!(plan.starts_with("pass"), "{statement}\n{plan}");
    }
}

#[test]
fn a_view_has_no_query_within() {
    for query in [
        "SELECT id, ARRAY(SELECT name FROM person) AS a FROM plain",
        "SELECT plain.id, ARRAY(SELECT 1 FROM person) AS a FROM plain, visit",
        "SELECT visit_id FROM visit LIMIT (SELECT amount FROM plain)",
        "SELECT visit_id FROM visit OFFSET (SELECT amount FROM plain)",
        "SELECT visit_id, note FROM visit LIMIT length('x')",
        "SELECT name FROM person GROUP BY 1",
        "SELECT name FROM person ORDER BY 1",
        "SELECT name AS active FROM person ORDER BY active",
        "SELECT visit_id, (SELECT note) FROM visit",
        "SELECT visit_id, note FROM visit TABLESAMPLE SYSTEM (10)",
        "SELECT visit_id FROM visit, LATERAL (SELECT note) n",
        "SELECT count(*) FILTER (WHERE note IS NULL) FROM visit",
        "SELECT rank() OVER (ORDER BY person_id) FROM visit",
        "SELECT mode() WITHIN GROUP (ORDER BY person_id) FROM visit",
        "SELECT string_agg(at, ',' ORDER BY person_id) FROM visit",
        "SELECT at FROM visit GROUP BY GROUPING SETS ((at), (note))",
        "SELECT visit_id FROM visit, generate_series(1, at) s",
    ] {
        assert_refused(&format!("CREATE VIEW v AS {query}"));
    }
    for query in [
        "SELECT visit_id, note FROM visit LIMIT 5 OFFSET 2",
        "SELECT visit_id, note FROM visit ORDER BY 1 LIMIT '5'::bigint",
        "SELECT mail, count(*) FROM person GROUP BY 1",
        "SELECT born AS b FROM person ORDER BY b",
    ] {
        assert_starts(
            &format!("CREATE VIEW v AS {query}"),
            "one: CREATE VIEW \"public\".v AS",
        );
    }
}

#[test]
fn functions_that_run_a_text_later_are_refused() {
    let scheduled = "cron.schedule('a', '* * * * *', 'UPDATE person SET name = ''x''')";
    for statement in [
        format!("SELECT {scheduled}"),
        format!("SELECT * FROM {scheduled} AS t"),
        "SELECT cron.schedule('a', '* * * * *', $1)".to_owned(),
        "SELECT \"cron\" . \"schedule\" ('a', 'b', 'SELECT 1')".to_owned(),
        "SELECT cron.alter_job(1, command := 'x')".to_owned(),
    ] {
        assert_refused(&statement);
    }
    let on_path = Schema {
        search_path: vec!["public".to_owned(), "cron".to_owned()],
        ..people()
    };
    for statement in ["SELECT schedule('a', 'b', $1)", "SELECT schedule('person')"] {
        let plan = describe(statement, &on_path);
        assert!(plan.starts_with("refused"), "{statement}\n{plan}");
    }
    assert_starts("INSERT INTO schedule (id) VALUES (1)", "pass");
    assert_starts("SELECT timetable.schedule('x')", "pass");
}

#[test]
fn copy_leaves_out_what_the_server_computes() {
    let mut schema = people();
    let visit = ("public".to_owned(), "visit".to_owned());
    let columns = &mut schema.tables.get_mut(&visit).expect("it is there").columns;
    columns[3].is_generated = true;
    for (statement, start) in [
        ("COPY visit FROM STDIN", "(visit_id, person_id, note)"),
        ("COPY visit TO STDOUT", "(visit_id, person_id, note)"),
        ("COPY visit (at, note) FROM STDIN", "(\"at\", note)"),
    ] {
        let plan = describe(statement, &schema);
        let start = format!("COPY \"public\".visit {start}");
        assert!(plan.contains(&start), "{statement}\n{plan}");
    }
}

#[test]
fn a_set_operation_gives_values_of_one_type() {
    let mut schema = people();
    let union = "SELECT id FROM person UNION SELECT person_id FROM visit";
    let all = "SELECT id FROM person UNION ALL SELECT person_id FROM visit";
    for statement in [union, all] {
        let plan = describe(statement, &schema);
        assert!(plan.starts_with("one:"), "{plan}");
    }
    let [one, other] = ["id", "person_id"].map(|name| {
        let mut columns = schema.protected.iter();
        columns.find(|own| own.column == name).expect("a column").id
    });
    let mut plan = |types: [LogicalType; 2], statement: &str| {
        for (id, logical) in [one, other].into_iter().zip(types) {
            let column = schema.protected.iter_mut().find(|own| own.id == id);
            column.expect("a column").logical = logical;
        }
        describe(statement, &schema)
    };
    for statement in [union, all] {
        let plan = plan([LogicalType::Integer, LogicalType::BigInt], statement);
        assert!(plan.starts_with("refused 0A000"), "{plan}");
        assert!(plan.contains("different types"), "{plan}");
    }
    for types in [
        [LogicalType::Text, LogicalType::Varchar(Some(20))],
        [
            LogicalType::Varchar(Some(40)),
            LogicalType::Varchar(Some(20)),
        ],
    ] {
        assert!(plan(types, union).starts_with("one:"), "{types:?}");
        assert!(plan(types, all).starts_with("one:"), "{types:?}");
    }
    let digits = [(10, 2), (12, 4)].map(|digits| LogicalType::Numeric(Some(digits)));
    assert!(plan(digits, all).starts_with("refused 0A000"));
}

/// In a text, blanks at the end count; the proxy has to know that it is one.
#[test]
fn a_cast_to_text_stays_beside_a_char() {
    let mut schema = people();
    let mut columns = schema.protected.iter_mut();
    let mail = columns.find(|own| own.column == "mail").expect("a column");
    mail.logical = LogicalType::Char(5);
    let plan = |condition: &str| {
        let statement = format!("SELECT active FROM person WHERE {condition}");
        describe(&statement, &schema)
    };
    for (condition, hole) in [
        ("mail = $1", "{$1 match mail}"),
        ("mail = $1::varchar", "{$1 match mail}"),
        ("mail = $1::text", "{calculated match mail}"),
        ("mail = 'ab '", "{constant match mail}"),
        ("mail = 'ab '::varchar", "{constant match mail}"),
        ("mail = 'ab'::text", "{constant match mail}"),
        ("mail = 'ab '::text", "{calculated match mail}"),
        ("mail <> CAST('ab ' AS text)", "{calculated match mail}"),
    ] {
        let plan = plan(condition);
        assert!(plan.contains(hole), "{condition}\n{plan}");
    }
    let array = plan("mail = ANY($1::text[])");
    assert!(array.starts_with("fetch: "), "{array}");
    let stored = describe("UPDATE person SET mail = $1::text", &schema);
    assert!(stored.contains("{$1 store mail}"), "{stored}");
}

/// A name that is no column of the query in FROM would mean one of the query around it.
#[test]
fn columns_without_a_name_have_that_of_the_server() {
    let outer = "SELECT 1 FROM (SELECT name AS mail FROM plain) o WHERE EXISTS";
    let case = "SELECT CASE WHEN p.id IS NOT NULL THEN p.mail ELSE p.mail END FROM person p";
    let set = "SELECT (SELECT mail FROM person UNION SELECT mail FROM person) FROM plain";
    for query in [case, set] {
        for statement in [
            format!("{outer} (SELECT 1 FROM ({query}) s WHERE mail = 'x')"),
            format!("WITH s AS ({query}) {outer} (SELECT 1 FROM s WHERE mail = 'x')"),
        ] {
            let plan = describe(&statement, &people());
            assert!(plan.contains("mail = {constant match mail}"), "{plan}");
        }
    }
    let plan = describe(
        "SELECT 1 FROM person, (SELECT amount + 1, CAST(1 AS integer) FROM plain) s",
        &people(),
    );
    let sent = "SELECT amount + 1 AS \"?column?\", CAST(1 AS INTEGER) AS \"int4\" FROM";
    assert!(plan.contains(sent), "{plan}");
}

#[test]
fn null_beside_a_constant_is_not_always_null() {
    assert_starts(
        "SELECT visit_id, (NULL OR TRUE), (NULL AND FALSE), (NULL = 1) FROM visit",
        "one: SELECT visit_id, (NULL OR true), (NULL AND false), (CAST(NULL AS BOOLEAN)) FROM \
         \"public\".visit",
    );
}

#[test]
fn isnull_is_no_alias() {
    assert_starts(
        "SELECT mail ISNULL, mail AS isnull FROM person",
        "one: SELECT mail IS NULL, mail AS isnull FROM \"public\".person",
    );
    assert_starts(
        "SELECT id FROM person WHERE mail isnull",
        "one: SELECT id FROM \"public\".person WHERE mail IS NULL",
    );
}

#[test]
fn an_aggregate_of_another_schema_is_not_taken_for_the_builtin() {
    for name in ["avg", "sum", "min", "count"] {
        assert_refused(&format!("SELECT stats.{name}(salary) FROM person"));
        assert_refused(&format!(
            "SELECT pg_catalog.sum(salary), stats.{name}(salary) FROM person"
        ));
    }
    assert_starts("SELECT pg_catalog.avg(salary) FROM person", "fetch: ");
}

/// Written row by row, they would be seen by the query for the next row.
#[test]
fn a_query_sees_no_row_that_its_own_update_has_written() {
    let update = "UPDATE person SET visits = visits + 1";
    for rest in [
        ", active = (SELECT max(active) FROM person) + 1",
        ", active = (SELECT max(active) FROM person) WHERE born = $1",
        ", active = ARRAY(SELECT amount FROM plain)",
        " RETURNING (SELECT max(active) FROM person)",
        " RETURNING active, EXISTS (SELECT 1 FROM plain)",
    ] {
        assert_refused(&format!("{update}{rest}"));
    }
    for rest in [
        ", active = (SELECT max(active) FROM person) + 1 WHERE mail = $1",
        " WHERE id = $1 AND born > $2 RETURNING (SELECT max(amount) FROM plain)",
        ", active = active + 1 WHERE id IN (SELECT person_id FROM visit)",
    ] {
        let plan = describe(&format!("{update}{rest}"), &people());
        assert!(!plan.starts_with("refused"), "{rest}\n{plan}");
    }
}
