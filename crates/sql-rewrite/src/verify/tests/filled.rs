//! A plan for the finisher before MariaDB with one defect each, and the same plan without it.

use super::{MAIL, Mode, NAME, Schema, schema};
use crate::mysql::MySql;
use crate::{
    DeclaredColumn, DeclaredKey, Dialect, FilledInsert, FilledWrite, FinisherTables, Form, Literal,
    Piece, Plan, Purpose, Source,
};

fn of_mariadb() -> Schema {
    let own = MySql {
        is_mariadb: true,
        version: 101_119,
        ..MySql::default()
    };
    let mut schema = Schema {
        dialect: Dialect::MySql(own),
        ..schema()
    };
    for column in &mut schema.protected {
        column.mode = Mode::Random;
    }
    let facts = &mut schema.catalogue.finisher;
    facts.is_there = true;
    for number in 1..=3 {
        let column = DeclaredColumn {
            type_name: "int(11)".to_owned(),
            ..DeclaredColumn::default()
        };
        facts.declared_columns.insert((1, number), column);
    }
    let key = DeclaredKey {
        name: "PRIMARY".to_owned(),
        is_primary: true,
        is_unique: true,
        columns: vec![(0, None)],
    };
    facts.declared_keys.insert(1, vec![key]);
    schema
}

fn changed(change: impl FnOnce(&mut FinisherTables)) -> Result<(), String> {
    let schema = of_mariadb();
    let text = "UPDATE person SET name = UPPER(mail) WHERE mail LIKE 'x%'";
    let planned = crate::plan(text, &schema).expect("a plan");
    let Plan::FinisherTables(mut query) = planned[0].plan.clone() else {
        panic!("{planned:?}");
    };
    change(&mut query);
    let checked = super::check(&Plan::FinisherTables(query), &schema);
    checked.map_err(|doubt| doubt.0)
}

fn written(query: &mut FinisherTables) -> &mut FilledWrite {
    query.write.as_mut().expect("it writes")
}

/// The hole of the computed value, or that of the key.
fn hole(query: &mut FinisherTables, is_computed: bool) -> &mut crate::Hole {
    let mut holes = written(query).write.holes.iter_mut();
    let found = holes.find(|hole| matches!(hole.source, Source::Computed(_)) == is_computed);
    found.expect("a hole")
}

#[test]
fn what_is_computed_is_stored_sealed_in_its_own_column_of_its_row() {
    assert_eq!(changed(|_| {}), Ok(()));
    let said = [
        changed(|own| hole(own, true).form = Form::Plain),
        changed(|own| hole(own, true).form = Form::Sealed(MAIL, Purpose::Store)),
        changed(|own| hole(own, true).form = Form::Sealed(NAME, Purpose::Match)),
        changed(|own| hole(own, true).source = Source::Computed(1)),
        changed(|own| {
            let one = Literal::Number("1".to_owned());
            hole(own, false).source = Source::Literal(one);
        }),
        changed(|own| hole(own, false).form = Form::Sealed(NAME, Purpose::Match)),
        changed(|own| written(own).key = vec![1]),
        changed(|own| written(own).computed[0].1 = MAIL),
        changed(|own| written(own).computed[0].0 = 0),
        changed(|own| written(own).table = 1),
        changed(|own| written(own).deletes = true),
        changed(|own| own.tables[0].columns[0].sealed = Some(NAME)),
        changed(|own| {
            let fetch = own.tables[0].fetch.as_mut().expect("it is read");
            let pieces = &mut fetch.template.pieces;
            pieces.push(Piece::Text(" WHERE 'x%' <> ''".to_owned()));
        }),
        changed(|own| {
            let pieces = &mut written(own).write.template.pieces;
            pieces.push(Piece::Text(" AND `mail` <> ''".to_owned()));
        }),
    ];
    for (number, said) in said.iter().enumerate() {
        assert!(said.is_err(), "defect {number}");
    }
}

fn put(change: impl FnOnce(&mut FinisherTables)) -> Result<(), String> {
    let schema = of_mariadb();
    let text = "INSERT INTO person (id, name) SELECT id + 1, UPPER(mail) FROM person WHERE mail \
                LIKE 'x%'";
    let planned = crate::plan(text, &schema).expect("a plan");
    let Plan::FinisherTables(mut query) = planned[0].plan.clone() else {
        panic!("{planned:?}");
    };
    change(&mut query);
    let checked = super::check(&Plan::FinisherTables(query), &schema);
    checked.map_err(|doubt| doubt.0)
}

fn inserted(query: &mut FinisherTables) -> &mut FilledInsert {
    query.insert.as_mut().expect("it inserts")
}

#[test]
fn what_is_inserted_is_sealed_in_its_own_column_or_plain_in_its_source() {
    assert_eq!(put(|_| {}), Ok(()));
    let said = [
        put(|own| inserted(own).write.holes[1].form = Form::Plain),
        put(|own| inserted(own).write.holes[1].form = Form::Sealed(MAIL, Purpose::Store)),
        put(|own| inserted(own).write.holes[1].source = Source::Computed(0)),
        put(|own| inserted(own).write.holes[0].source = Source::Computed(1)),
        put(|own| inserted(own).columns.swap(0, 1)),
        put(|own| inserted(own).columns[1] = 2),
        put(|own| inserted(own).columns.truncate(1)),
        put(|own| inserted(own).row.end -= 2),
        put(|own| inserted(own).row.start += 2),
        put(|own| inserted(own).table = 1),
        put(|own| {
            let text = own.text.replace("id + 1", "LENGTH(mail)");
            own.text = text;
        }),
        put(|own| {
            let text = own.text.replace("(id, name)", "(name, id)");
            own.text = text;
        }),
        put(|own| {
            let pieces = &mut inserted(own).write.template.pieces;
            pieces.push(Piece::Text(
                " ON DUPLICATE KEY UPDATE name = 'x%'".to_owned(),
            ));
        }),
    ];
    for (number, said) in said.iter().enumerate() {
        assert!(said.is_err(), "defect {number}");
    }
}
