//! A column with check constraints takes what was checked for it, and nothing else.

use super::{MAIL, NAME, NOTE, check, found, schema, secret, sent};
use column_codec::CHECK_MARK_SIZE;

use crate::schema::ColumnCheck;
use crate::{
    Assignment, Copy, CopyFormat, Current, Effects, Expression, FinisherWrite, Form, Hole,
    InsertedColumn, InsertedRows, Output, OutputKind, Piece, Plan, Purpose, ReadModifyWrite,
    Schema, Source, Template,
};

/// The schema, where `person.name` has a check, and the table has the constraint or lacks it.
fn checked(is_there: bool) -> Schema {
    let mut schema = schema();
    schema.protected[0].checks.own = vec![ColumnCheck {
        name: "own".to_owned(),
        expression: "name <> ''".to_owned(),
        question: "(\"name\" <> '') IS NOT FALSE".to_owned(),
        refuses_null: false,
        mark: [7; CHECK_MARK_SIZE],
        is_there,
    }];
    schema
}

/// A statement as its text says it: `{name}` is a value that is sealed to be stored in that column,
/// `{name?}` one to be compared with it.
fn write(text: &str) -> Plan {
    let (mut holes, mut pieces) = (Vec::new(), Vec::new());
    for (index, part) in text.split(['{', '}']).enumerate() {
        if index % 2 == 0 {
            pieces.push(Piece::Text(part.to_owned()));
            continue;
        }
        let column = match part.trim_end_matches('?') {
            "name" => NAME,
            "mail" => MAIL,
            "note" => NOTE,
            other => panic!("{other} is no column"),
        };
        let purpose = match part.ends_with('?') {
            true => Purpose::Match,
            false => Purpose::Store,
        };
        pieces.push(Piece::Hole(holes.len()));
        holes.push(Hole {
            source: secret(),
            form: Form::Sealed(column, purpose),
        });
    }
    Plan::One(sent(pieces, holes, Vec::new()), Effects::default())
}

#[test]
fn what_is_stored_was_checked_for_its_column() {
    let (with, without) = (checked(true), schema());
    for text in [
        "UPDATE public.person SET name = {name}",
        "UPDATE public.person SET name = NULL",
        "UPDATE public.person SET name = name",
        "UPDATE public.person SET name = CASE WHEN id = 1 THEN {name} ELSE name END",
        "UPDATE public.person SET (id, name) = (1, {name})",
        "UPDATE public.person SET (id, name) = (SELECT o.id, o.name FROM public.person AS o)",
        "UPDATE public.person SET mail = {mail} WHERE name = {name?}",
        "UPDATE public.visit SET note = person.name FROM public.person",
        "INSERT INTO public.person (name) VALUES ({name}), (NULL)",
        "INSERT INTO public.person (name) SELECT name FROM public.person",
        "INSERT INTO public.person (name) VALUES ({name}) ON CONFLICT (id) DO UPDATE SET name = \
         excluded.name",
    ] {
        assert_eq!(check(&write(text), &with), Ok(()), "{text}");
    }
    for text in [
        "UPDATE public.person SET name = {name?}",
        "UPDATE public.person SET name = {note}",
        "UPDATE public.person SET name = note FROM public.visit",
        "UPDATE public.person SET name = CASE WHEN id = 1 THEN {note} ELSE name END",
        "UPDATE public.person SET name = CASE WHEN id = 1 THEN name ELSE {name?} END",
        "UPDATE public.person SET name = COALESCE(name, {note})",
        "UPDATE public.person SET (id, name) = (1, {note})",
        "UPDATE public.person SET (id, name) = (SELECT id, note FROM public.visit)",
        "UPDATE public.person SET name = (SELECT note FROM public.visit)",
        "INSERT INTO public.person (name) VALUES ({name}), ({note})",
        "INSERT INTO public.person (name) SELECT note FROM public.visit",
        "INSERT INTO public.person (name) SELECT name FROM public.person UNION ALL SELECT note \
         FROM public.visit",
        "INSERT INTO public.person (name) VALUES ({name}) ON CONFLICT (id) DO UPDATE SET name = \
         {name?}",
        "WITH c (x) AS (SELECT note FROM public.visit) UPDATE public.person SET name = x FROM c",
    ] {
        assert!(check(&write(text), &with).is_err(), "{text}");
        // Nothing else is wrong with it.
        assert_eq!(check(&write(text), &without), Ok(()), "{text}");
    }
}

#[test]
fn nothing_is_stored_where_a_check_is_missing() {
    for text in [
        "UPDATE public.person SET name = {name}",
        "UPDATE public.person SET name = NULL",
        "INSERT INTO public.person (name) VALUES ({name})",
    ] {
        let lacking = check(&write(text), &checked(false));
        assert!(lacking.is_err(), "{text}");
        assert_eq!(check(&write(text), &checked(true)), Ok(()), "{text}");
    }
    let other = "UPDATE public.person SET mail = {mail}";
    assert_eq!(check(&write(other), &checked(false)), Ok(()));
}

#[test]
fn copied_fields_are_sealed_for_their_column() {
    let copy = |kind| {
        Plan::Copy(Box::new(Copy {
            template: Template {
                pieces: vec![Piece::Text(
                    "COPY public.person (name) FROM STDIN".to_owned(),
                )],
            },
            holes: Vec::new(),
            into_server: true,
            table: ("public".to_owned(), "person".to_owned()),
            columns: vec!["name".to_owned()],
            fields: vec![kind],
            format: CopyFormat::Binary,
            added: Vec::new(),
            groups: Vec::new(),
            effects: Effects::default(),
        }))
    };
    let (own, other) = (OutputKind::Sealed(NAME), OutputKind::Sealed(NOTE));
    assert_eq!(check(&copy(own), &checked(true)), Ok(()));
    assert_eq!(check(&copy(other), &schema()), Ok(()));
    assert!(check(&copy(other), &checked(true)).is_err());
    assert!(check(&copy(own), &checked(false)).is_err());
}

#[test]
fn the_proxy_computes_no_value_that_is_checked() {
    let locator = |number, text: &str| {
        let hole = Hole {
            source: Source::Locator(number),
            form: Form::Plain,
        };
        (Piece::Text(text.to_owned()), hole)
    };
    let read = sent(
        vec![Piece::Text(
            "SELECT ctid, tableoid, name FROM public.person".to_owned(),
        )],
        Vec::new(),
        vec![
            Output::shown(OutputKind::Plain),
            Output::shown(OutputKind::Plain),
            Output::shown(OutputKind::Sealed(NAME)),
        ],
    );
    let (end, found) = locator(0, " WHERE ctid = ");
    let write = sent(
        vec![
            Piece::Text("UPDATE public.person SET name = ".to_owned()),
            Piece::Hole(0),
            end,
            Piece::Hole(1),
        ],
        vec![
            Hole {
                source: Source::Computed(0),
                form: Form::Sealed(NAME, Purpose::Store),
            },
            found,
        ],
        Vec::new(),
    );
    let plan = Plan::ReadModifyWrite(Box::new(ReadModifyWrite {
        read,
        current: vec![Current::Sealed(NAME)],
        assignments: vec![Assignment {
            column: NAME,
            value: Expression::Column(2),
        }],
        write,
        write_all: None,
        write_by_key: None,
        locks: None,
        effects: Effects::default(),
    }));
    assert_eq!(check(&plan, &schema()), Ok(()));
    assert!(check(&plan, &checked(true)).is_err());
}

/// Rows of `visit.note` that the finisher computes, stored in `person.name` as they come.
fn computed(write: [&str; 2], form: Form, rows: Option<InsertedRows>, schema: &Schema) -> bool {
    let column = match form {
        Form::Sealed(column, _) | Form::SealedArray(column, _) => column,
        Form::Plain => panic!("it is sealed"),
    };
    let [before, after] = write.map(|text| Piece::Text(text.to_owned()));
    let query = found(
        "SELECT visit.note FROM public.visit AS visit",
        &[OutputKind::Sealed(NOTE)],
        "WITH strongroom_0 (note) AS (SELECT note FROM unnest(CAST($1 AS text[])) AS \
         strongroom_rows (note)) SELECT visit.note FROM strongroom_0 AS visit",
    );
    let hole = Hole {
        source: Source::Computed(0),
        form,
    };
    let plan = Plan::FinisherWrite(Box::new(FinisherWrite {
        query,
        columns: vec![column],
        inserted: rows,
        upsert: None,
        write: sent(vec![before, Piece::Hole(0), after], vec![hole], Vec::new()),
        returning: None,
        verb: "INSERT",
    }));
    check(&plan, schema).is_ok()
}

#[test]
fn what_the_finisher_computes_is_checked_for_its_column() {
    let insert = [
        "INSERT INTO public.person (name) SELECT r.c0 FROM UNNEST(",
        ") AS r (c0)",
    ];
    let update = [
        "UPDATE public.person SET name = r.c0 FROM UNNEST(",
        ") AS r (c0)",
    ];
    let rows = |column| {
        Some(InsertedRows {
            width: 1,
            columns: vec![InsertedColumn::Sealed(0, column)],
        })
    };
    for (column, is_right) in [(NAME, true), (NOTE, false)] {
        let all = Form::SealedArray(column, Purpose::Store);
        assert!(computed(insert, all, rows(column), &schema()));
        assert!(computed(update, all, None, &schema()));
        assert_eq!(
            computed(insert, all, rows(column), &checked(true)),
            is_right
        );
        assert_eq!(computed(update, all, None, &checked(true)), is_right);
    }
    let array = Form::SealedArray(NAME, Purpose::Store);
    assert!(!computed(insert, array, rows(NAME), &checked(false)));
}
