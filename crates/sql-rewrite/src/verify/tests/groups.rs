//! The server has the values of columns that are sealed together in the first of them, and does
//! nothing with them.

use super::{MAIL, NAME, check, schema, secret, sent};
use crate::schema::ColumnGroup;
use crate::{
    ColumnId, Effects, Form, Hole, Mode, Output, OutputKind, Piece, Plan, Purpose, Schema, Source,
};

/// The schema, where `person.name` and `person.mail` are sealed together, into `name`.
fn grouped() -> Schema {
    let mut schema = schema();
    schema.catalogue.groups.push(ColumnGroup {
        schema: "public".to_owned(),
        table: "person".to_owned(),
        name: "profile".to_owned(),
        members: vec![NAME, MAIL],
        has_column_privileges: false,
    });
    for (id, domain) in [(NAME, "column:name"), (MAIL, "column:mail")] {
        let own = &mut schema.protected[id.0 as usize];
        own.mode = Mode::Random;
        domain.clone_into(&mut own.domain);
        own.form.group = Some(0);
    }
    schema
}

/// A statement as its text says it: `{both}` is a value for both columns, `{one}` one for the first
/// alone, `{few}` one for too few members, `{other}` one for the other column, `{sought}` one to be
/// compared.
fn proved(text: &str, outputs: &[ColumnId]) -> Result<(), String> {
    let (mut holes, mut pieces) = (Vec::new(), Vec::new());
    for (index, part) in text.split(['{', '}']).enumerate() {
        if index % 2 == 0 {
            pieces.push(Piece::Text(part.to_owned()));
            continue;
        }
        let members = |count| Source::Members(vec![secret(); count]);
        let (source, column, purpose) = match part {
            "both" => (members(2), NAME, Purpose::Store),
            "one" => (secret(), NAME, Purpose::Store),
            "few" => (members(1), NAME, Purpose::Store),
            "other" => (members(2), MAIL, Purpose::Store),
            "sought" => (members(2), NAME, Purpose::Match),
            other => panic!("{other} is no value"),
        };
        pieces.push(Piece::Hole(holes.len()));
        holes.push(Hole {
            source,
            form: Form::Sealed(column, purpose),
        });
    }
    let outputs = outputs
        .iter()
        .map(|own| Output::shown(OutputKind::Sealed(*own)));
    let plan = Plan::One(sent(pieces, holes, outputs.collect()), Effects::default());
    check(&plan, &grouped()).map_err(|doubt| doubt.0)
}

#[test]
fn members_are_written_together_and_read_from_the_first() {
    for text in [
        "INSERT INTO public.person (id, name, mail) VALUES (1, {both}, '')",
        "INSERT INTO public.person (id, name) VALUES (1, NULL)",
        "INSERT INTO public.person (id, name, mail) VALUES (1, {both}, '') \
         ON CONFLICT (id) DO UPDATE SET mail = '', name = {both}",
        "UPDATE public.person SET name = {both}, mail = ''",
        "DELETE FROM public.person WHERE id = 1",
    ] {
        assert_eq!(proved(text, &[]), Ok(()), "{text}");
    }
    for outputs in [[NAME, MAIL], [MAIL, MAIL]] {
        let text = "SELECT name, name AS mail FROM public.person";
        assert_eq!(proved(text, &outputs), Ok(()));
        let nested = "SELECT x.a, x.b FROM (SELECT name AS a, name AS b FROM public.person) x";
        assert_eq!(proved(nested, &outputs), Ok(()));
    }
}

#[test]
fn nothing_else_is_done_with_them() {
    for text in [
        "INSERT INTO public.person (id, name) VALUES (1, {both})",
        "INSERT INTO public.person (id, name, mail) VALUES (1, {both}, NULL)",
        "INSERT INTO public.person (id, name, mail) VALUES (1, {both}, 'x')",
        "INSERT INTO public.person (id, name, mail) VALUES (1, {one}, '')",
        "INSERT INTO public.person (id, name, mail) VALUES (1, {few}, '')",
        "INSERT INTO public.person (id, name, mail) VALUES (1, {both}, '') \
         ON CONFLICT (id) DO UPDATE SET name = {both}",
        "UPDATE public.person SET name = {both}",
        "UPDATE public.person SET name = NULL",
        "UPDATE public.person SET name = {both}, mail = NULL",
        "INSERT INTO public.person (id, mail) VALUES (1, {both})",
        "INSERT INTO public.person (id, mail) VALUES (1, {other})",
        "UPDATE public.person SET mail = {other}",
        "UPDATE public.person SET name = {both}, mail = {other}",
        "UPDATE public.person SET mail = name",
        "UPDATE public.person SET name = mail",
        "DELETE FROM public.person WHERE name IS NULL",
        "DELETE FROM public.person WHERE mail IS NOT NULL",
        "DELETE FROM public.person WHERE name = {sought}",
        "SELECT count(name) FROM public.person",
        "SELECT count(mail) FROM public.person",
        "SELECT id FROM public.person ORDER BY mail",
    ] {
        assert!(proved(text, &[]).is_err(), "{text}");
    }
    for text in [
        "SELECT mail FROM public.person",
        "SELECT coalesce(name, name) FROM public.person",
        "SELECT x.m FROM (SELECT mail AS m FROM public.person) x",
    ] {
        assert!(proved(text, &[MAIL]).is_err(), "{text}");
    }
}
