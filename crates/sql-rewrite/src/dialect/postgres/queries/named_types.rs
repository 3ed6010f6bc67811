//! The query on types without fixed numbers.

/// Enumerations of users and types of known extensions, with what could be meant by their names
/// instead: schema, name, kind, number, number of the array type, label. Each label has a row, in
/// the order of the type.
pub(super) const NAMED_TYPES: &str = "\
SELECT n.nspname::pg_catalog.text, t.typname::pg_catalog.text,
       CASE WHEN EXISTS (
              SELECT 1
                FROM pg_catalog.pg_depend d
                JOIN pg_catalog.pg_extension x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
               WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass
                 AND d.objid OPERATOR(pg_catalog.=) t.oid
                 AND d.refclassid
                     OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
                 AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\"
                 AND x.extname OPERATOR(pg_catalog.=) t.typname)
            THEN 'extension' ELSE t.typtype::pg_catalog.text END,
       t.oid::pg_catalog.text, t.typarray::pg_catalog.text, l.enumlabel::pg_catalog.text
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
  LEFT JOIN pg_catalog.pg_enum l ON l.enumtypid OPERATOR(pg_catalog.=) t.oid
 WHERE (t.typname OPERATOR(pg_catalog.=) ANY ('{citext,hstore}'::pg_catalog.name[])
        OR t.typname OPERATOR(pg_catalog.=) ANY (
         ARRAY(SELECT e.typname
                 FROM pg_catalog.pg_type e
                WHERE e.typtype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\")))
   AND t.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
   AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
 ORDER BY t.oid, l.enumsortorder";
