//! The query on enumerations.

/// Enumerations of users, with what could be meant by their names instead: schema, name, kind,
/// number, number of the array type, label. Each label has a row, in the order of the type.
pub(super) const ENUMS: &str = "\
SELECT n.nspname::pg_catalog.text, t.typname::pg_catalog.text, t.typtype::pg_catalog.text,
       t.oid::pg_catalog.text, t.typarray::pg_catalog.text, l.enumlabel::pg_catalog.text
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
  LEFT JOIN pg_catalog.pg_enum l ON l.enumtypid OPERATOR(pg_catalog.=) t.oid
 WHERE t.typname OPERATOR(pg_catalog.=) ANY (
         ARRAY(SELECT e.typname
                 FROM pg_catalog.pg_type e
                WHERE e.typtype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\"))
   AND t.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
   AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
 ORDER BY t.oid, l.enumsortorder";
