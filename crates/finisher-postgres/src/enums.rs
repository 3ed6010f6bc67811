//! The server's enumerations in a database of the finisher.
//!
//! They get the numbers that they have in the server. So no message between session and client
//! needs another number, nor does an array, which has the number of its elements' type in it.

use column_value::{KnownType, NamedKind, NamedType, OpaqueType};
use finisher_core::HostError;

use crate::connection::Connection;
use crate::error::FinisherError;
use crate::walls::{QUERIES, literal, quoted, refused};

/// Creates them, on a connection of the superuser to the database.
pub(crate) async fn create(
    owner: &mut Connection,
    types: &[OpaqueType],
) -> Result<(), FinisherError> {
    let named = types.iter().filter_map(|own| own.named());
    for own in named.filter(|own| own.kind == NamedKind::Enumeration) {
        if let Some(known) = &own.known {
            create_one(owner, own, known).await?;
        }
    }
    Ok(())
}

async fn create_one(
    owner: &mut Connection,
    own: &NamedType,
    known: &KnownType,
) -> Result<(), FinisherError> {
    let schema = quoted(&own.schema);
    let name = format!("{schema}.{}", quoted(&own.name));
    let labels: Vec<String> = known.labels.iter().map(|label| literal(label)).collect();
    let sql = format!(
        "SET standard_conforming_strings = on; \
         CREATE SCHEMA IF NOT EXISTS {schema}; \
         GRANT USAGE ON SCHEMA {schema} TO {QUERIES}; \
         CREATE TYPE {name} AS ENUM ({}); \
         SELECT oid::text, typarray::text FROM pg_type WHERE oid = {}::regtype",
        labels.join(", "),
        literal(&name)
    );
    let rows = owner.simple(&sql).await.map_err(refused)?;
    let mut numbers = rows.into_iter().flatten().flatten();
    let (Some(oid), Some(array)) = (numbers.next(), numbers.next()) else {
        return Err(HostError::Late.into());
    };
    let sql = renumbered((&oid, &array), (known.oid, known.array_oid));
    owner.simple(&sql).await.map_err(refused)?;
    Ok(())
}

/// Gives a type and its array other numbers. They stand in three catalogues ("pg_type", "pg_enum"
/// and "pg_depend" in PostgreSQL's documentation), and nothing else refers to the type yet.
fn renumbered((oid, array): (&str, &str), (own_oid, own_array): (u32, u32)) -> String {
    format!(
        "SET allow_system_table_mods = on; \
         BEGIN; \
         UPDATE pg_depend SET objid = CASE objid WHEN {oid} THEN {own_oid} ELSE {own_array} END \
         WHERE classid = 'pg_type'::regclass AND objid IN ({oid}, {array}); \
         UPDATE pg_depend SET refobjid = {own_oid} \
         WHERE refclassid = 'pg_type'::regclass AND refobjid = {oid}; \
         UPDATE pg_enum SET enumtypid = {own_oid} WHERE enumtypid = {oid}; \
         UPDATE pg_type SET oid = {own_array}, typelem = {own_oid} WHERE oid = {array}; \
         UPDATE pg_type SET oid = {own_oid}, typarray = {own_array} WHERE oid = {oid}; \
         COMMIT; \
         RESET allow_system_table_mods"
    )
}
