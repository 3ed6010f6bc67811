//! The verifier accepts and refuses hand-made statements, so that it does not depend on the
//! planner.

use column_value::LogicalType;

mod checked;
mod filled;
mod groups;
mod mysql;
mod sequences;
mod skip_locked;

use super::check;
use crate::{
    Column, ColumnId, Effects, FinisherMerge, FinisherQuery, Form, Hole, InsertedColumn,
    InsertedRows, Literal, MergeClause, Mode, Output, OutputKind, Piece, Plan, ProtectedColumn,
    Purpose, RelationKind, Schema, Source, Table, Template, Translated,
};
use sql_plan::{Draws, Element, FetchedColumnPlan, FetchedRelation};

const NAME: ColumnId = ColumnId(0);
const MAIL: ColumnId = ColumnId(1);
const NOTE: ColumnId = ColumnId(2);

fn protected(id: ColumnId, table: &str, column: &str, domain: &str) -> ProtectedColumn {
    ProtectedColumn {
        id,
        schema: "public".to_owned(),
        table: table.to_owned(),
        column: column.to_owned(),
        logical: LogicalType::Text,
        mode: Mode::Equality,
        domain: domain.to_owned(),
        form: crate::SealedForm::default(),
        default: None,
        draws: None,
        not_null: false,
        checks: Default::default(),
    }
}

fn table(name: &str, columns: &[(&str, Option<ColumnId>)]) -> Table {
    let column = |(number, (name, protected)): (i16, &(&str, Option<ColumnId>))| Column {
        name: (*name).to_owned(),
        written: None,
        number,
        not_null: false,
        has_default: false,
        is_generated: false,
        protected: *protected,
        physical: None,
    };
    Table {
        schema: "public".to_owned(),
        name: name.to_owned(),
        oid: 1,
        kind: RelationKind::Table,
        columns: (1..).zip(columns).map(column).collect(),
        unique_keys: Vec::new(),
        has_primary_key: false,
        opaque: false,
        has_triggers: false,
        has_column_privileges: false,
        rows: crate::RowRules::default(),
    }
}

/// `person(id, name, mail)` and `visit(id, note)`, where `name` and `note` have one domain, and a
/// plain table.
fn schema() -> Schema {
    let mut schema = Schema {
        search_path: vec!["public".to_owned()],
        protected: vec![
            protected(NAME, "person", "name", "texts"),
            protected(MAIL, "person", "mail", "column:public.person.mail"),
            protected(NOTE, "visit", "note", "texts"),
        ],
        ..Schema::default()
    };
    let tables = [
        table(
            "person",
            &[("id", None), ("name", Some(NAME)), ("mail", Some(MAIL))],
        ),
        table("visit", &[("id", None), ("note", Some(NOTE))]),
        table("plain", &[("id", None), ("label", None)]),
    ];
    for table in tables {
        let name = (table.schema.clone(), table.name.clone());
        schema.tables.insert(name, table);
    }
    schema
}

/// A plan as its text says it: `{name}` is a value sealed for that column, `{name[]}` an array of
/// such, `{name end}` the end of its token, `{1}` the first parameter in clear.
fn proved(text: &str, outputs: &[OutputKind]) -> Result<(), String> {
    proved_for(&schema(), text, outputs)
}

fn proved_for(schema: &Schema, text: &str, outputs: &[OutputKind]) -> Result<(), String> {
    let mut holes = Vec::new();
    let mut pieces = Vec::new();
    for (index, part) in text.split(['{', '}']).enumerate() {
        if index % 2 == 0 {
            pieces.push(Piece::Text(part.to_owned()));
            continue;
        }
        let (part, purpose) = match part.strip_suffix(" end") {
            Some(part) => (part, Purpose::MatchEnd),
            None => (part, Purpose::Match),
        };
        let column = match part.trim_end_matches("[]") {
            "name" => Some(NAME),
            "mail" => Some(MAIL),
            "note" => Some(NOTE),
            _ => None,
        };
        let (source, form) = match (column, part.ends_with("[]")) {
            (None, _) => {
                let number: usize = part.parse().expect("the number of a parameter");
                (Source::Parameter(number - 1), Form::Plain)
            }
            (Some(column), false) => (secret(), Form::Sealed(column, purpose)),
            (Some(column), true) => (secret(), Form::SealedArray(column, purpose)),
        };
        pieces.push(Piece::Hole(holes.len()));
        holes.push(Hole { source, form });
    }
    let outputs = outputs.iter().map(|kind| Output::shown(*kind));
    let translated = Translated {
        template: Template { pieces },
        holes,
        outputs: outputs.collect(),
        parameter_types: Vec::new(),
        locks: None,
    };
    let plan = Plan::One(translated, Effects::default());
    check(&plan, schema).map_err(|doubt| doubt.0)
}

/// What is sealed in these plans.
fn secret() -> Source {
    Source::Literal(Literal::Text("secret".to_owned()))
}

const PERSON: &str = "SELECT person.id FROM public.person";

#[test]
fn plaintext_does_not_meet_ciphertext() {
    let conditions = [
        "name = 'x'",
        "name = {1}",
        "'x' = person.name",
        "name = {mail}",
        "name = mail",
        "name = id::text",
        "name IN ({name}, 'x')",
        "name IN (SELECT label FROM plain)",
        "name = (SELECT max(label) FROM plain)",
        "name = ANY ({1})",
        "name = ANY (ARRAY['x'])",
        "name BETWEEN {name} AND 'x'",
        "name LIKE {name}",
        "name || 'x' = {name}",
        "lower(name) = {name}",
        "COALESCE(name, 'x') = {name}",
        "NULLIF(name, 'x') IS NULL",
        "CASE name WHEN 'x' THEN true END",
        "CASE WHEN id = 1 THEN name ELSE 'x' END = {name}",
        "(id, name) = (1, 'x')",
        "(id, name) IN ((1, 'x'))",
        "(id, name) IN (SELECT id, label FROM plain)",
        "name IS DISTINCT FROM 'x'",
        "name::text = {name}",
        "EXISTS (SELECT 1 FROM plain WHERE label = name)",
        "EXISTS (SELECT 1 FROM public.visit WHERE note = 'x')",
        "id = {name}",
        "id IN (SELECT count(*) FROM (SELECT 'x' AS x) v WHERE v.x = person.name)",
        "name = (SELECT x FROM (VALUES ('x')) v(x))",
        "name = (WITH c(x) AS (SELECT {1}) SELECT x FROM c)",
        "person = person",
        "lower(person::text) = 'x'",
    ];
    for condition in conditions {
        let text = format!("{PERSON} WHERE {condition}");
        assert!(proved(&text, &[]).is_err(), "{text}");
    }
    let relations = [
        ", (SELECT 'x' AS x) v WHERE v.x = name",
        ", LATERAL (SELECT {1} AS x) v WHERE v.x = name",
        " JOIN (SELECT 'x' AS name) v USING (name)",
        " NATURAL JOIN (SELECT 'x' AS mail) v",
        " JOIN plain ON label = name",
        ", unnest(ARRAY['x']) AS v WHERE v = name",
        ", generate_series(1, 2) AS v(x) WHERE x::text = name",
        " UNION SELECT note FROM public.visit",
        " UNION SELECT id FROM plain WHERE id IN (SELECT id FROM public.person WHERE mail = 'x')",
        " WINDOW w AS (ORDER BY name = 'x')",
        " ORDER BY name = 'x'",
        " GROUP BY person.id, name || 'x'",
        " GROUP BY person.id HAVING max(name) = 'x'",
    ];
    for rest in relations {
        let text = format!("{PERSON}{rest}");
        assert!(proved(&text, &[]).is_err(), "{text}");
    }
}

#[test]
fn ciphertext_meets_ciphertext_of_its_domain() {
    let conditions = [
        "name = {name}",
        "name = {note}",
        "name IN ({name}, NULL)",
        "name = ANY ({name[]})",
        "name IN (SELECT note FROM public.visit)",
        "name IS NULL AND id = {1}",
        "(id, name) = (1, {name})",
        "COALESCE(name, NULL, {name}) IS NOT NULL",
        "EXISTS (SELECT 1 FROM public.visit v WHERE v.note = person.name AND v.id = 5)",
        "id IN (SELECT id FROM plain WHERE label = 'x' ORDER BY 1 LIMIT {1})",
        "id = (WITH c AS (SELECT note AS x FROM public.visit) \
         SELECT count(*) FROM c WHERE x = name)",
    ];
    for condition in conditions {
        let text = format!("{PERSON} WHERE {condition}");
        assert_eq!(proved(&text, &[]), Ok(()), "{text}");
    }
}

#[test]
fn what_is_stored_in_a_protected_column_is_sealed_for_it() {
    let stored = [
        "INSERT INTO public.person (id, name) VALUES (1, {name})",
        "INSERT INTO public.person VALUES (1, {name}, {mail}), ({2}, NULL, DEFAULT)",
        "INSERT INTO public.person (id, name) SELECT id, note FROM public.visit",
        "INSERT INTO public.person (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET \
         name = excluded.name, mail = {mail} WHERE person.id > 5",
        "UPDATE public.person SET name = {name}, id = 5 WHERE mail = {mail}",
        "UPDATE public.person SET (id, name) = (5, {name})",
        "UPDATE public.person p SET name = v.note FROM public.visit v WHERE v.id = p.id",
        "DELETE FROM public.person WHERE name = {name}",
    ];
    for text in stored {
        assert_eq!(proved(text, &[]), Ok(()), "{text}");
    }
    let refused = [
        "INSERT INTO public.person (id, name) VALUES (1, 'x')",
        "INSERT INTO public.person (id, name) VALUES (1, {mail})",
        "INSERT INTO public.person VALUES (1, {name}, {mail}), (1, {2}, NULL)",
        "INSERT INTO public.person (id, name) SELECT id, label FROM plain",
        "INSERT INTO public.person (id, name) SELECT id, 'x' FROM public.visit",
        "INSERT INTO public.person (id, name) (VALUES (1, 'x'))",
        "INSERT INTO public.person (id, name) WITH c AS (SELECT 1, 'x') SELECT * FROM c",
        "INSERT INTO plain (id, label) VALUES (1, {name})",
        "INSERT INTO public.person (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET name = 'x'",
        "INSERT INTO public.person (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET id = 1 \
         WHERE person.name = 'x'",
        "INSERT INTO public.person (id) VALUES (1) RETURNING name = 'x'",
        "UPDATE public.person SET name = 'x'",
        "UPDATE public.person SET name = name || 'x'",
        "UPDATE public.person SET (id, name) = (SELECT id, label FROM plain)",
        "UPDATE public.person SET id = 5 WHERE name = 'x'",
        "UPDATE plain SET label = name FROM public.person WHERE person.id = plain.id",
        "DELETE FROM public.person USING plain WHERE label = name",
        "DELETE FROM plain WHERE label IN (SELECT mail FROM public.person)",
        "WITH c AS (INSERT INTO public.person (name) VALUES ('x') RETURNING id) SELECT id FROM c",
        "WITH c AS (DELETE FROM public.person RETURNING name) SELECT 1 FROM c WHERE name = 'x'",
        // The search path could make it another table.
        "UPDATE person SET name = {name}",
    ];
    for text in refused {
        assert!(proved(text, &[]).is_err(), "{text}");
    }
}

#[test]
fn a_sealed_value_is_not_also_sent_in_clear() {
    let beside = |rest: &str| proved(&format!("{PERSON} WHERE name = {{name}} AND {rest}"), &[]);
    assert!(beside("upper('secret') <> 'y'").is_err());
    assert!(beside("'secret' IS DISTINCT FROM 'y'").is_err());
    // A plain column has it by the user's own word.
    assert_eq!(
        beside("id = (SELECT id FROM plain WHERE label = 'secret')"),
        Ok(())
    );
    assert_eq!(beside("upper('other') <> 'y'"), Ok(()));
}

#[test]
fn only_what_is_sealed_is_opened() {
    let all = "SELECT id, name FROM public.person";
    let plain = OutputKind::Plain;
    assert_eq!(proved(all, &[plain, OutputKind::Sealed(NAME)]), Ok(()));
    assert_eq!(proved(all, &[plain, OutputKind::Sealed(NOTE)]), Ok(()));
    for outputs in [
        vec![],
        vec![plain],
        vec![plain, plain],
        vec![plain, OutputKind::Sealed(MAIL)],
        vec![OutputKind::Sealed(NAME), OutputKind::Sealed(NAME)],
    ] {
        assert!(proved(all, &outputs).is_err(), "{outputs:?}");
    }
}

const TARGET: &str = "strongroom_0 (ctid, tableoid, id, name) AS (SELECT ctid, tableoid, id, name \
                      FROM unnest(CAST($1 AS tid[]), CAST($2 AS oid[]), CAST($3 AS integer[]), \
                      CAST($4 AS text[])) AS strongroom_rows (ctid, tableoid, id, name))";

/// Text and holes of the server, without anything else.
fn sent(pieces: Vec<Piece>, holes: Vec<Hole>, outputs: Vec<Output>) -> Translated {
    Translated {
        template: Template { pieces },
        holes,
        outputs,
        parameter_types: Vec::new(),
        locks: None,
    }
}

/// A query of the finisher over the rows of one relation, fetched in these columns.
fn found(fetch: &str, kinds: &[OutputKind], text: &str) -> FinisherQuery {
    let columns = (0..kinds.len()).map(|output| FetchedColumnPlan {
        output,
        element: Element::Binary,
    });
    let outputs = kinds.iter().map(|kind| Output::shown(*kind));
    FinisherQuery {
        fetch: sent(
            vec![Piece::Text(fetch.to_owned())],
            Vec::new(),
            outputs.collect(),
        ),
        has_index: false,
        is_of_no_row: false,
        relations: vec![FetchedRelation {
            columns: columns.collect(),
        }],
        text: text.to_owned(),
        parameters: 0,
        declared: Vec::new(),
        returned_by: None,
        effects: Effects::default(),
    }
}

/// A query of the finisher over pairs of rows of a source and of `person`.
fn pairs(source: &str, value: &str) -> FinisherQuery {
    let kinds = [
        OutputKind::Plain,
        OutputKind::Plain,
        OutputKind::Plain,
        OutputKind::Sealed(NAME),
    ];
    let fetch = "SELECT t.ctid, t.tableoid, t.id, t.name FROM public.person AS t FOR UPDATE";
    let text = format!(
        "WITH {TARGET} SELECT t.ctid, t.tableoid, strongroom_clause.number, {value} FROM \
         {source} LEFT JOIN strongroom_0 AS t ON t.name = 'x' CROSS JOIN LATERAL (SELECT CASE \
         WHEN t.ctid IS NULL THEN 0 ELSE 1 END AS number) AS strongroom_clause"
    );
    found(fetch, &kinds, &text)
}

/// A `MERGE` with one clause that writes `person.id`, which is plain, or `person.name`.
fn merged(
    (source, value): (&str, &str),
    (column, form): (&str, Form),
    values: InsertedColumn,
) -> Result<(), String> {
    let write = sent(
        vec![
            Piece::Text("MERGE INTO public.person AS t USING UNNEST(CAST(".to_owned()),
            Piece::Hole(0),
            Piece::Text(" AS tid[]), ".to_owned()),
            Piece::Hole(1),
            Piece::Text(", ".to_owned()),
            Piece::Hole(2),
            Piece::Text(format!(
                ") AS r (c0, c1, c2) ON t.ctid = r.c0 WHEN MATCHED AND r.c1 = 1 THEN UPDATE SET \
                 {column} = r.c2"
            )),
        ],
        vec![
            Hole {
                source: Source::Locator(0),
                form: Form::Plain,
            },
            Hole {
                source: Source::Computed(0),
                form: Form::Plain,
            },
            Hole {
                source: Source::Computed(1),
                form,
            },
        ],
        Vec::new(),
    );
    let clause = MergeClause {
        inserts: false,
        values: 1..2,
    };
    let plan = Plan::FinisherMerge(Box::new(FinisherMerge {
        query: pairs(source, value),
        clauses: vec![clause],
        rows: InsertedRows {
            width: 4,
            columns: vec![InsertedColumn::Plain(FinisherMerge::NUMBER), values],
        },
        write,
    }));
    check(&plan, &schema()).map_err(|doubt| doubt.0)
}

#[test]
fn merge_stores_in_clear_only_what_is_made_of_plain_columns() {
    let rows = "(VALUES (1, 'y')) AS s (id, word)";
    let plain = |source: &str, value: &str| {
        let value = format!("CASE WHEN strongroom_clause.number = 1 THEN {value} END");
        let written = ("id", Form::Plain);
        merged((source, &value), written, InsertedColumn::Plain(3))
    };
    for value in ["s.id", "t.id + s.id", "7", "word", "length(s.word)"] {
        assert_eq!(plain(rows, value), Ok(()), "{value}");
    }
    for value in [
        "length(t.name)",
        "length(name)",
        "length(t::text)",
        "length((t).name)",
        "strongroom_clause.number",
        "CASE WHEN t.name = 'a' THEN 1 END",
        "(SELECT max(length(name)) FROM strongroom_0)",
        "count(t.id)",
        "s.id + length(t.name)",
    ] {
        assert!(plain(rows, value).is_err(), "{value}");
    }
    for source in [
        "(SELECT length(name) AS id FROM strongroom_0) AS s",
        "strongroom_0 AS s",
        "(VALUES ((SELECT max(length(name)) FROM strongroom_0))) AS s (id)",
        "(SELECT 1 AS id) AS t",
        "generate_series(1, (SELECT count(*) FROM strongroom_0)) AS s (id)",
    ] {
        let is_proved = plain(source, "s.id").is_ok();
        // A column of a relation is known by itself.
        assert_eq!(is_proved, source == "strongroom_0 AS s", "{source}");
    }
    // What is evaluated where another clause applies, or for all rows, is not known.
    for value in [
        "s.id",
        "CASE WHEN strongroom_clause.number = 2 THEN s.id END",
        "CASE WHEN strongroom_clause.number = 1 THEN s.id ELSE length(t.name) END",
        "CASE WHEN length(t.name) = 1 THEN s.id END",
    ] {
        let written = ("id", Form::Plain);
        let done = merged((rows, value), written, InsertedColumn::Plain(3));
        assert!(done.is_err(), "{value}");
    }
}

#[test]
fn merge_seals_each_value_for_its_column() {
    let rows = ("(VALUES ('y')) AS s (word)", "t.name || s.word");
    let sealed =
        |column: &str, form, id| merged(rows, (column, form), InsertedColumn::Sealed(3, id));
    let stored = |id| Form::SealedArray(id, Purpose::Store);
    assert_eq!(sealed("name", stored(NAME), NAME), Ok(()));
    assert!(sealed("name", Form::Plain, NAME).is_err());
    assert!(sealed("name", stored(MAIL), NAME).is_err());
    assert!(sealed("name", stored(MAIL), MAIL).is_err());
    assert!(sealed("name", Form::Sealed(NAME, Purpose::Store), NAME).is_err());
    assert!(sealed("id", stored(NAME), NAME).is_err());
    let as_plain = merged(rows, ("name", Form::Plain), InsertedColumn::Plain(3));
    assert!(as_plain.is_err());
}
