//! Numbers of types of extensions in a database of the finisher: those that they have in the
//! server.
//!
//! So no message between session and client needs another number, nor does an array, which has the
//! number of its elements' type in it. The server says itself where its catalogues have numbers of
//! types (`pg_get_catalog_foreign_keys`), from PostgreSQL 14.

use column_value::{NamedKind, OpaqueType};
use finisher_core::HostError;
use session_postgres::finisher::FinisherKind;

use crate::connection::Connection;
use crate::error::FinisherError;
use crate::walls::refused;

/// The first version that tells where its catalogues have numbers of types.
pub(crate) const SINCE: u16 = 14;

/// Types that are not the server's own: number, schema, name.
const TYPES: &str = "SELECT t.oid::text, n.nspname, t.typname FROM pg_type t \
                     JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid >= 16384";

/// Where the catalogues have numbers of types: table, column, and the type of the column.
const PLACES: &str = "SELECT f.fktable::text, c.name, format_type(a.atttypid, NULL) \
                      FROM pg_get_catalog_foreign_keys() f, unnest(f.fkcols) c (name), \
                      pg_attribute a WHERE f.pktable = 'pg_type'::regclass \
                      AND a.attrelid = f.fktable AND a.attname = c.name";

/// The first of the numbers that types take which have none in the server. Servers give numbers
/// from
/// 16384 upwards.
const NUMBERS_OF_OTHERS: u32 = 0xfff0_0000;

/// Gives all types that are there other numbers: those of the server, and to the others numbers
/// that no type of the server has. Enumerations are not there yet.
///
/// # Errors
/// The server refuses it.
pub(crate) async fn take(owner: &mut Connection, kind: &FinisherKind) -> Result<(), FinisherError> {
    let types = &kind.named_types;
    if types.is_empty() || kind.major < SINCE {
        return Ok(());
    }
    let rows = owner.simple(TYPES).await.map_err(refused)?;
    if rows.is_empty() {
        return Ok(());
    }
    let mut steps = [Vec::new(), Vec::new()];
    for (row, parked) in rows.into_iter().zip(NUMBERS_OF_OTHERS..) {
        let Ok([Some(oid), Some(schema), Some(name)]) = <[_; 3]>::try_from(row) else {
            return Err(HostError::Late.into());
        };
        // A number may be that of another type until that has its own.
        steps[0].push(format!("({oid}::oid, {parked}::oid)"));
        if let Some(own) = number_in_server(types, &schema, &name) {
            steps[1].push(format!("({parked}::oid, {own}::oid)"));
        }
    }
    let places = owner.simple(PLACES).await.map_err(refused)?;
    let mut sql = "SET allow_system_table_mods = on; BEGIN;".to_owned();
    for step in steps.iter().filter(|step| !step.is_empty()) {
        let numbers = format!("(VALUES {}) AS n (old, new)", step.join(", "));
        for place in &places {
            let [Some(table), Some(column), Some(kind)] = place.as_slice() else {
                return Err(HostError::Late.into());
            };
            sql.push_str(&renumbered(table, column, kind, &numbers));
        }
        sql.push_str(&format!(
            "UPDATE pg_depend d SET objid = n.new FROM {numbers} \
             WHERE d.classid = 'pg_type'::regclass AND d.objid = n.old; \
             UPDATE pg_depend d SET refobjid = n.new FROM {numbers} \
             WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = n.old; \
             UPDATE pg_type t SET oid = n.new FROM {numbers} WHERE t.oid = n.old;"
        ));
    }
    sql.push_str("COMMIT; RESET allow_system_table_mods");
    owner.simple(&sql).await.map_err(refused)?;
    Ok(())
}

/// The number that the server has for a type of an extension, or for the array of one, whose name
/// is the type's with a line before it.
fn number_in_server(types: &[OpaqueType], schema: &str, name: &str) -> Option<u32> {
    let own = types.iter().filter_map(|own| own.named());
    let mut own = own.filter(|own| own.schema == schema);
    own.find_map(|own| {
        let NamedKind::Extension(extension) = own.kind else {
            return None;
        };
        let known = own.known.as_ref()?;
        match name.strip_prefix('_') {
            _ if name == extension.name() => Some(known.oid),
            Some(element) if element == extension.name() => Some(known.array_oid),
            _ => None,
        }
    })
}

/// Puts new numbers into a column of a catalogue: numbers, or lists of them.
fn renumbered(table: &str, column: &str, kind: &str, numbers: &str) -> String {
    let list = match kind {
        "oid" => {
            return format!(
                "UPDATE {table} c SET {column} = n.new FROM {numbers} WHERE c.{column} = n.old;"
            );
        }
        "oidvector" => "string_agg(coalesce(n.new, o.own)::text, ' ' ORDER BY o.place)::oidvector",
        _ => "array_agg(coalesce(n.new, o.own) ORDER BY o.place)",
    };
    format!(
        "UPDATE {table} c SET {column} = (SELECT {list} \
         FROM unnest(c.{column}::oid[]) WITH ORDINALITY AS o (own, place) \
         LEFT JOIN {numbers} ON n.old = o.own) \
         WHERE EXISTS (SELECT FROM {numbers} WHERE n.old = ANY (c.{column}::oid[]));"
    )
}
