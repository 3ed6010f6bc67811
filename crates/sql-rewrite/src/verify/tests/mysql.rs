//! Plans for MySQL with one defect each, and the same plans without it.

use column_value::Collation;

use super::{MAIL, NAME, NOTE, OutputKind, Schema, proved_for, schema};
use crate::mysql::MySql;
use crate::{Dialect, Mode};

fn of_mysql() -> Schema {
    let mut schema = Schema {
        dialect: Dialect::MySql(MySql::default()),
        ..schema()
    };
    let all = schema.protected.iter().map(|column| column.id);
    schema.catalogue.binary_texts = all.collect();
    schema
}

const PLAIN: OutputKind = OutputKind::Plain;
const OPENED: OutputKind = OutputKind::Sealed(NAME);

/// The planner names the database of each table.
fn said(text: &str, outputs: &[OutputKind]) -> Result<(), String> {
    let mut text = text.to_owned();
    for table in ["person", "visit", "plain"] {
        text = text.replace(&format!(" {table}"), &format!(" public.{table}"));
    }
    proved_for(&of_mysql(), &text, outputs)
}

#[track_caller]
fn assert_proved(text: &str, outputs: &[OutputKind]) {
    assert_eq!(said(text, outputs), Ok(()), "{text}");
}

#[track_caller]
fn assert_refused(text: &str, outputs: &[OutputKind]) {
    let said = said(text, outputs);
    // For its own defect.
    assert!(
        said.is_err_and(|doubt| !doubt.contains("named with")),
        "{text}"
    );
}

#[test]
fn values_are_sealed_for_their_columns() {
    assert_proved(
        "INSERT INTO person (id, name) VALUES ({1}, {name}), (2, NULL)",
        &[],
    );
    assert_proved(
        "UPDATE `public`.`person` SET `name` = {note}, id = 5 WHERE name = {name}",
        &[],
    );
    assert_proved("DELETE FROM person WHERE NOT name IN ({name}, {note})", &[]);
    for text in [
        "INSERT INTO person (id, name) VALUES ({1}, 'x')",
        "INSERT INTO person (id, name) VALUES ({1}, {2})",
        "INSERT INTO person (id, name) VALUES ({1}, {mail})",
        "INSERT INTO person VALUES (1, {name}, 'x')",
        "INSERT INTO person (id, NAME) VALUES (1, 'x')",
        "INSERT INTO person (id, `Name`) VALUES (1, 'x')",
        "INSERT INTO plain (label) VALUES ({name})",
        "UPDATE person SET name = 'x'",
        "UPDATE person SET name = {1}",
        "UPDATE person SET name = {mail}",
        "UPDATE person SET name = mail",
        "UPDATE person SET mail = name",
        "UPDATE person SET id = name",
        "UPDATE person p SET p.name = id",
        "UPDATE person SET id = 1 WHERE name = 'x'",
        "DELETE FROM person WHERE name = {mail}",
        "DELETE FROM person WHERE name IN ({name}, 'x')",
    ] {
        assert_refused(text, &[]);
    }
}

#[test]
fn rows_that_are_there_get_what_is_sealed() {
    let insert = "INSERT INTO person (id, name) VALUES ({1}, {name}) ON DUPLICATE KEY UPDATE";
    for update in [
        "name = VALUES(name), id = id + VALUES(id)",
        "name = {name}, mail = {mail}",
        "name = name, id = VALUES(id)",
        "name = NULL",
    ] {
        assert_proved(&format!("{insert} {update}"), &[]);
    }
    for update in [
        "name = 'x'",
        "name = {1}",
        "name = {mail}",
        "name = VALUES(id)",
        "id = VALUES(name)",
        "id = name",
        "mail = VALUES(name)",
        "name = VALUES(name, id)",
        "name = LENGTH(VALUES(name))",
        "name = {name}, id = (SELECT 1)",
    ] {
        assert_refused(&format!("{insert} {update}"), &[]);
    }
    let text = format!("{insert} mail = VALUES(mail)").replace("person", "public.person");
    let mut schema = of_mysql();
    assert_eq!(proved_for(&schema, &text, &[]), Ok(()));
    schema
        .protected
        .iter_mut()
        .for_each(|own| own.not_null = true);
    let doubt = proved_for(&schema, &text, &[]).expect_err("it may be empty");
    assert!(doubt.contains("not given"), "{doubt}");
    assert_proved("REPLACE INTO person (id, name) VALUES ({1}, {name})", &[]);
    assert_refused("REPLACE INTO person (id, name) VALUES ({1}, 'x')", &[]);
    assert_proved(
        "INSERT INTO person (id, name) SELECT id, note FROM visit",
        &[],
    );
    assert_refused(
        "INSERT INTO person (id, name) SELECT id, label FROM plain",
        &[],
    );
    assert_refused(
        "INSERT INTO plain (id, label) SELECT id, name FROM person",
        &[],
    );
}

#[test]
fn first_rows_are_those_of_the_order_of_values() {
    assert_proved("UPDATE person SET name = {name} ORDER BY id LIMIT {1}", &[]);
    assert_proved(
        "DELETE FROM person WHERE id = 5 ORDER BY id DESC LIMIT 3",
        &[],
    );
    for text in [
        "DELETE FROM person ORDER BY name LIMIT 1",
        "UPDATE person SET id = 1 ORDER BY name",
        "DELETE FROM person LIMIT {name}",
    ] {
        assert_refused(text, &[]);
    }
    let text = "DELETE FROM public.person ORDER BY name LIMIT 1";
    let mut schema = of_mysql();
    schema.protected[0].mode = crate::Mode::Order;
    assert_eq!(proved_for(&schema, text, &[]), Ok(()));
}

#[test]
fn values_for_columns_of_joined_tables_are_sealed() {
    for text in [
        "UPDATE person p JOIN plain q ON q.id = p.id SET p.name = {name}, q.label = 'x' WHERE \
         p.name = {name}",
        "UPDATE person p CROSS JOIN visit v SET p.name = v.note",
        "DELETE p, q FROM person p JOIN plain q ON q.id = p.id WHERE p.name = {name}",
    ] {
        assert_proved(text, &[]);
    }
    for text in [
        "UPDATE person p JOIN plain q ON q.id = p.id SET p.name = 'x'",
        "UPDATE person p JOIN plain q ON q.id = p.id SET name = {1}",
        "UPDATE person p JOIN plain q ON q.id = p.id SET p.name = q.label",
        "UPDATE person p JOIN plain q ON q.id = p.id SET q.label = p.name",
        "UPDATE person p JOIN plain q ON q.id = p.id SET q.label = {name}",
        "UPDATE person p JOIN plain q ON q.label = p.name SET p.id = 1",
        "UPDATE person p JOIN plain q ON q.id = p.id SET p.id = 1 WHERE p.name = 'x'",
        "UPDATE person p CROSS JOIN visit v SET p.mail = v.note",
        "DELETE p FROM person p JOIN plain q ON q.label = p.name",
        "DELETE p FROM person p JOIN plain q ON q.id = p.id WHERE p.name = 'x'",
    ] {
        assert_refused(text, &[]);
    }
}

/// Says whether an `INSERT IGNORE` over a column that is NOT NULL is proved, with this change.
fn ignored(
    text: &str,
    change: impl FnOnce(&mut crate::Translated, &mut crate::Effects),
) -> Result<(), String> {
    let mut schema = of_mysql();
    let key = ("public".to_owned(), "person".to_owned());
    schema.search_path = vec!["public".to_owned()];
    let table = schema.tables.get_mut(&key).expect("a table");
    let place = table.position("name").expect("a column");
    table.columns[place].not_null = true;
    let planned = crate::plan(text, &schema).map_err(|refusal| refusal.message)?;
    let crate::Plan::One(mut translated, mut effects) = planned[0].plan.clone() else {
        panic!("{planned:?}");
    };
    change(&mut translated, &mut effects);
    let checked = super::check(&crate::Plan::One(translated, effects), &schema);
    checked.map_err(|doubt| doubt.0)
}

#[test]
fn what_would_become_empty_is_refused() {
    use crate::{Literal, Source, Use};
    let text = "INSERT IGNORE INTO person (id, name) VALUES (1, 'x'), (2, ?)";
    assert_eq!(ignored(text, |_, _| {}), Ok(()));
    let is_text = |hole: &&mut crate::Hole| matches!(hole.source, Source::Literal(_));
    let said = [
        ignored(text, |own, _| {
            let mut holes = own.holes.iter_mut();
            holes.find(is_text).expect("a hole").source = Source::Literal(Literal::Null);
        }),
        ignored(text, |_, effects| {
            let all = std::mem::take(&mut effects.uses).into_iter();
            effects.uses = all.filter(|(_, what)| *what != Use::NeverNull).collect();
        }),
        ignored(text, |own, _| replace(own, "name", "mail")),
    ];
    for (number, said) in said.iter().enumerate() {
        assert!(said.is_err(), "defect {number}");
    }
    for text in [
        "INSERT IGNORE INTO person (id) VALUES (1)",
        "INSERT IGNORE INTO person (id, name) VALUES (1, NULL)",
        "INSERT IGNORE INTO person (id, name) SELECT id, note FROM visit",
    ] {
        assert!(ignored(text, |_, _| {}).is_err(), "{text}");
    }
}

#[test]
fn what_is_read_is_opened() {
    assert_proved(
        "SELECT `person`.`id`, `person`.`name`, MAIL FROM person WHERE name = {name}",
        &[PLAIN, OPENED, OutputKind::Sealed(MAIL)],
    );
    assert_proved(
        "SELECT p.id, P.name FROM person p WHERE id = {1} LIMIT {2}",
        &[PLAIN, OPENED],
    );
    assert_proved(
        "SELECT v.note FROM person p LEFT JOIN visit v ON v.note = p.name GROUP BY v.note",
        &[OPENED],
    );
    assert_proved("SELECT COUNT(name) AS c FROM person", &[]);
    assert_proved("DELETE FROM person WHERE id = 0x41", &[]);
    for (text, outputs) in [
        ("SELECT * FROM person", &[][..]),
        ("SELECT * FROM person", &[PLAIN, OPENED, PLAIN]),
        ("SELECT * FROM person", &[PLAIN, OPENED]),
        ("SELECT id, name FROM person", &[OPENED, PLAIN]),
        (
            "SELECT id, name FROM person",
            &[PLAIN, OutputKind::Sealed(MAIL)],
        ),
        ("SELECT name AS id FROM person", &[PLAIN]),
        ("SELECT CONCAT(name, 'x') AS c FROM person", &[PLAIN]),
        ("SELECT LENGTH(name) AS c FROM person", &[]),
        ("SELECT id FROM person WHERE name", &[]),
        ("SELECT id FROM person WHERE name LIKE 'x%'", &[]),
        (
            "SELECT id FROM person WHERE name BETWEEN {name} AND 'x'",
            &[],
        ),
        (
            "SELECT p.id FROM person p JOIN visit v ON v.note = p.mail",
            &[],
        ),
        (
            "SELECT p.id FROM person p JOIN plain l ON l.label = p.name",
            &[],
        ),
        (
            "SELECT person.id FROM person, plain WHERE label = 'x' OR name = 'x'",
            &[],
        ),
    ] {
        assert_refused(text, outputs);
    }
}

#[test]
fn only_what_the_server_reads_so_is_proved() {
    for text in [
        "UPDATE person SET id = 1 WHERE id = 1 || name = {name}",
        "UPDATE person SET id = 1 /*! , name = 'x' */",
        "UPDATE person SET id = 1; UPDATE person SET name = 'x'",
        "UPDATE person SET id = 1 WHERE id = \"x\" \"y\"",
        "DELETE FROM person WHERE name = 0x41",
    ] {
        assert_refused(text, &[]);
    }
}

#[test]
fn texts_are_compared_by_their_bytes_where_the_rule_says_so() {
    let text = "DELETE FROM public.person WHERE name = {name}";
    let mut schema = of_mysql();
    assert_eq!(proved_for(&schema, text, &[]), Ok(()));
    schema.catalogue.binary_texts.clear();
    let doubt = proved_for(&schema, text, &[]).expect_err("its collation is not known");
    assert!(doubt.contains("collation"), "{doubt}");
    let mut schema = of_mysql();
    schema.protected[0].mode = crate::Mode::Random;
    let doubt = proved_for(&schema, text, &[]).expect_err("equal values are not alike");
    assert!(doubt.contains("not alike"), "{doubt}");
}

#[test]
fn the_least_value_is_found_where_sealed_values_are_sorted() {
    let text = "SELECT MIN(name) AS m FROM public.person";
    let mut schema = of_mysql();
    assert!(proved_for(&schema, text, &[OPENED]).is_err());
    schema.protected[0].mode = crate::Mode::Order;
    assert_eq!(proved_for(&schema, text, &[OPENED]), Ok(()));
    assert!(proved_for(&schema, text, &[PLAIN]).is_err());
}

/// The plan of an increment, with one change.
fn modified(change: impl FnOnce(&mut crate::ReadModifyWrite)) -> Result<(), String> {
    let mut schema = of_mysql();
    schema.protected[0].logical = column_value::LogicalType::Integer;
    schema.protected[0].mode = crate::Mode::Random;
    let key = ("public".to_owned(), "person".to_owned());
    schema.search_path = vec!["public".to_owned()];
    let table = schema.tables.get_mut(&key).expect("a table");
    table.unique_keys = vec![vec![0]];
    let text = "UPDATE person SET name = name + ?, id = id WHERE id = ?";
    let planned = crate::plan(text, &schema).expect("a plan");
    let crate::Plan::ReadModifyWrite(mut modify) = planned[0].plan.clone() else {
        panic!("{planned:?}");
    };
    change(&mut modify);
    let checked = super::check(&crate::Plan::ReadModifyWrite(modify), &schema);
    checked.map_err(|doubt| doubt.0)
}

fn replace(translated: &mut crate::Translated, from: &str, to: &str) {
    let mut texts = translated
        .template
        .pieces
        .iter_mut()
        .filter_map(|piece| match piece {
            crate::Piece::Text(text) if text.contains(from) => Some(text),
            _ => None,
        });
    let found = texts.next().expect("it is there");
    *found = found.replace(from, to);
}

#[test]
fn a_row_is_written_where_it_has_what_was_computed_from() {
    use crate::{Form, Purpose, Source};
    assert_eq!(modified(|_| {}), Ok(()));
    let is_given = |hole: &&mut crate::Hole| matches!(hole.source, Source::Locator(_));
    let is_computed = |hole: &&mut crate::Hole| matches!(hole.source, Source::Computed(_));
    let said = [
        modified(|own| replace(&mut own.write, "<=>", "=")),
        modified(|own| replace(&mut own.write, " AND ", " OR ")),
        modified(|own| replace(&mut own.read, " FOR UPDATE", "")),
        modified(|own| own.current.push(crate::Current::Sealed(MAIL))),
        modified(|own| own.assignments[0].column = MAIL),
        modified(|own| {
            let mut holes = own.write.holes.iter_mut();
            let hole = holes.find(is_given).expect("a hole");
            hole.form = Form::Plain;
        }),
        modified(|own| {
            let mut holes = own.write.holes.iter_mut();
            let hole = holes.find(is_computed).expect("a hole");
            hole.form = Form::Plain;
        }),
        modified(|own| {
            let mut holes = own.write.holes.iter_mut();
            let hole = holes.find(is_computed).expect("a hole");
            hole.form = Form::Sealed(MAIL, Purpose::Store);
        }),
    ];
    for (number, said) in said.iter().enumerate() {
        assert!(said.is_err(), "defect {number}");
    }
}

#[test]
fn a_question_to_information_schema_is_sent_as_it_came() {
    use crate::{Form, Hole, Source, Template, Translated};
    let sent = |text: &str| {
        let mut pieces = Vec::new();
        let mut holes = Vec::new();
        for (index, part) in text.split('?').enumerate() {
            if index > 0 {
                pieces.push(crate::Piece::Hole(holes.len()));
                holes.push(Hole {
                    source: Source::Parameter(holes.len()),
                    form: Form::Plain,
                });
            }
            pieces.push(crate::Piece::Text(part.to_owned()));
        }
        Translated {
            template: Template { pieces },
            parameter_types: vec![None; holes.len()],
            holes,
            outputs: Vec::new(),
            locks: None,
        }
    };
    let check =
        |text: &str, to: &str| super::super::check_information(text, &sent(to), MySql::default());
    let query = "(SELECT COLUMN_NAME AS COLUMN_NAME FROM information_schema.columns)";
    let text = "SELECT column_name FROM information_schema.`Columns` WHERE table_name = ? LIMIT 7";
    let other = |from: &str, to: &str| {
        let good =
            format!("SELECT column_name FROM {query} AS `Columns` WHERE table_name = ? LIMIT 7");
        check(text, &good.replace(from, to))
    };
    assert_eq!(other("", ""), Ok(()));
    for (from, to) in [
        ("SELECT column_name FROM", "SELECT column_type FROM"),
        ("LIMIT 7", ""),
        ("LIMIT 7", "LIMIT 70"),
        (" AS `Columns`", " AS other"),
        ("FROM information_schema.columns)", "FROM shop.person)"),
        (
            "FROM information_schema.columns)",
            "FROM information_schema.columns JOIN shop.person)",
        ),
        (
            "FROM information_schema.columns)",
            "FROM information_schema.tables)",
        ),
        ("(SELECT COLUMN_NAME AS", "(SELECT ? AS"),
        ("table_name = ?", "table_name = 'person'"),
        (query, "shop.person"),
    ] {
        assert!(other(from, to).is_err(), "{from} {to}");
    }
    let mut sealed = sent(text);
    sealed.holes[0].form = Form::Sealed(NAME, crate::Purpose::Match);
    assert!(super::super::check_information(text, &sealed, MySql::default()).is_err());
}

#[test]
fn texts_that_differ_are_compared_by_their_tokens_alone() {
    let mut schema = of_mysql();
    schema.catalogue.binary_texts.clear();
    for id in [NAME, NOTE] {
        let own = &mut schema.protected[id.0 as usize];
        own.mode = Mode::Random;
        own.form.tokens = Some(Collation::GeneralCi);
    }
    let said = |condition: &str, schema: &Schema| {
        let text = format!(
            "SELECT p.id FROM public.person p JOIN public.visit v ON p.id = v.id WHERE {condition}"
        );
        proved_for(schema, &text, &[])
    };
    for condition in [
        "p.name BETWEEN {name} AND {name end}",
        "NOT (p.name NOT BETWEEN {name} AND {name end}) OR v.note BETWEEN {note} AND {note end}",
        "LEFT(p.name, 18) = LEFT(v.note, 18)",
        "p.name BETWEEN LEFT(v.note, 18) AND CONCAT(LEFT(v.note, 18), _binary \
         X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF')",
        "p.name IS NULL",
    ] {
        assert_eq!(said(condition, &schema), Ok(()), "{condition}");
    }
    for condition in [
        "p.name = {name}",
        "p.name <> {name}",
        "p.name IN ({name}, {note})",
        "p.name = v.note",
        "p.name <=> {name}",
        "p.name BETWEEN {name} AND {name}",
        "p.name BETWEEN {name end} AND {name}",
        "p.name BETWEEN {name} AND {note end}",
        "p.name BETWEEN {mail} AND {mail end}",
        "p.mail BETWEEN {name} AND {name end}",
        "p.id BETWEEN {name} AND {name end}",
        "LEFT(p.name, 18) BETWEEN {name} AND {name end}",
        "LEFT(p.name, 18) = {name}",
        "LEFT(p.name, 18) = v.note",
        "LEFT(p.name, 17) = LEFT(v.note, 17)",
        "LEFT(p.name, 18) = LEFT(p.mail, 18)",
        "LEFT(p.mail, 18) = LEFT(p.mail, 18)",
        "LEFT(p.name, 18) = 'x'",
        "p.name >= {name}",
        "p.name BETWEEN LEFT(v.note, 18) AND CONCAT(LEFT(v.note, 18), _binary X'FF')",
        "p.name BETWEEN LEFT(v.note, 18) AND CONCAT(LEFT(p.name, 18), _binary \
         X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF')",
        "p.id BETWEEN LEFT(v.note, 18) AND CONCAT(LEFT(v.note, 18), _binary \
         X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF')",
        "p.mail BETWEEN LEFT(v.note, 18) AND CONCAT(LEFT(v.note, 18), _binary \
         X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF')",
    ] {
        let said = said(condition, &schema);
        // For its own defect.
        assert!(
            said.is_err_and(|doubt| !doubt.contains("named with")),
            "{condition}"
        );
    }
    // Columns of two collations share no tokens.
    schema.protected[NOTE.0 as usize].form.tokens = Some(Collation::UnicodeCi);
    assert!(said("LEFT(p.name, 18) = LEFT(v.note, 18)", &schema).is_err());
    for text in [
        "INSERT INTO public.person (id, name) VALUES (1, {name})",
        "UPDATE public.person SET name = LEFT(name, 18)",
    ] {
        assert!(proved_for(&schema, text, &[]).is_err(), "{text}");
    }
}
