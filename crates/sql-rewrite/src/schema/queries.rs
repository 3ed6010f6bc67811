//! What is asked of PostgreSQL's catalogues. All columns come as text, so that no protocol has to
//! be known here.

/// The rows of one query's answer: columns as text, None for NULL.
pub type Answer = Vec<Vec<Option<String>>>;

/// The queries whose answers [`crate::Schema::build`] takes, in this order.
///
/// They are to tell of one moment: who asks does so in one transaction (`REPEATABLE READ`), or asks
/// again if the schema was changed meanwhile, as sessions of the proxy do.
pub const QUERIES: [&str; 9] = [
    SESSION,
    RELATIONS,
    COLUMNS,
    INDEXES,
    INHERITANCE,
    CONSTRAINTS,
    DEPENDENCIES,
    FUNCTIONS,
    CATALOGUE_COLUMNS,
];

/// What [`crate::SessionFacts`] holds: schemas that unqualified names are looked up in, without a
/// second column; then temporary relations, the database's name, and settings with their names.
/// The name comes as it is stored, byte for byte, whatever the encoding of the client is.
const SESSION: &str = "\
SELECT own.fact, own.kind
  FROM (SELECT path.name::text AS fact, NULL::text AS kind, path.place
          FROM pg_catalog.unnest(pg_catalog.current_schemas(false))
               WITH ORDINALITY AS path(name, place)
        UNION ALL
        SELECT c.relname::text, 'temporary', 0
          FROM pg_catalog.pg_class c
         WHERE pg_catalog.pg_my_temp_schema() <> 0
           AND c.relnamespace = pg_catalog.pg_my_temp_schema()
           AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        UNION ALL
        SELECT pg_catalog.encode(pg_catalog.convert_to(pg_catalog.current_database()::text,
                                                       pg_catalog.getdatabaseencoding()),
                                 'hex'), 'database', 0
        UNION ALL
        SELECT pg_catalog.current_setting(setting.name), setting.name, 0
          FROM pg_catalog.unnest(ARRAY['TimeZone', 'DateStyle', 'client_encoding',
                                       'standard_conforming_strings', 'bytea_output',
                                       'extra_float_digits',
                                       'transaction_isolation']) AS setting(name)) AS own
 ORDER BY own.place, own.kind, own.fact";

/// Relations of users: number, schema, name, kind, whether triggers fire or rules rewrite, text
/// of a view, how and by which columns it is partitioned, whether all of its rows are its own and
/// nothing else asks who may write them: no policy, no privilege on a single column, and no
/// publication, which refuses what it could not tell its subscribers. Those of whole schemas
/// (PostgreSQL 15) are found by what depends on the schema.
const RELATIONS: &str = "\
SELECT c.oid::text, n.nspname::text, c.relname::text, c.relkind::text,
       (EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t
                 WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
        OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r
                    WHERE r.ev_class = c.oid AND r.rulename <> '_RETURN'))::text,
       CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END,
       p.partstrat::text, p.partattrs::text,
       (c.relkind = 'r' AND NOT c.relhassubclass AND NOT c.relispartition
        AND NOT c.relrowsecurity
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a
                         WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_publication u WHERE u.puballtables)
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_publication_rel u WHERE u.prrelid = c.oid)
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                         WHERE d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
                           AND d.refobjid = c.relnamespace
                           AND d.classid = pg_catalog.to_regclass(
                                               'pg_catalog.pg_publication_namespace')))::text
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = c.oid
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
   AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 ORDER BY c.oid";

/// Their columns: relation, number, name, NOT NULL, whether the server fills it, type, whether the
/// server computes it from others.
const COLUMNS: &str = "\
SELECT a.attrelid::text, a.attnum::text, a.attname::text, a.attnotnull::text,
       (a.atthasdef OR a.attidentity <> '')::text,
       pg_catalog.format_type(a.atttypid, a.atttypmod), (a.attgenerated <> '')::text
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
   AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 ORDER BY a.attrelid, a.attnum";

/// Their indexes: number, name, relation, columns (0: an expression), how many of them are keys,
/// whether it is unique, and whether it holds for every row at every moment.
const INDEXES: &str = "\
SELECT i.indexrelid::text, x.relname::text, i.indrelid::text, i.indkey::text,
       i.indnkeyatts::text, i.indisunique::text,
       (i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL)::text
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = x.relnamespace
 WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid";

/// Partitions and children: child, parent.
const INHERITANCE: &str = "\
SELECT i.inhrelid::text, i.inhparent::text
  FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
 WHERE c.relkind IN ('r', 'p', 'f')
 ORDER BY i.inhrelid, i.inhseqno";

/// Constraints over columns: name, kind, relation, columns, relation and columns referred to.
const CONSTRAINTS: &str = "\
SELECT k.conname::text, k.contype::text, k.conrelid::text,
       pg_catalog.array_to_string(k.conkey, ' '), k.confrelid::text,
       pg_catalog.array_to_string(k.confkey, ' ')
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
 WHERE k.contype IN ('c', 'f', 'x') AND k.conrelid <> 0
   AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 ORDER BY k.oid";

/// What reads columns inside the server: kind (view, default or generated column, policy), the
/// relation that it belongs to, the relation and column that are read. Column 0: the whole.
const DEPENDENCIES: &str = "\
SELECT DISTINCT CASE WHEN r.oid IS NOT NULL THEN 'view'
                     WHEN f.oid IS NOT NULL THEN 'default' ELSE 'policy' END,
       COALESCE(r.ev_class, f.adrelid, y.polrelid)::text, d.refobjid::text, d.refobjsubid::text
  FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_class c ON c.oid = d.refobjid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_rewrite r
    ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND r.oid = d.objid
  LEFT JOIN pg_catalog.pg_attrdef f
    ON d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND f.oid = d.objid
  LEFT JOIN pg_catalog.pg_policy y
    ON d.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass AND y.oid = d.objid
 WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
   AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
   AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
   AND (r.ev_class <> d.refobjid OR f.oid IS NOT NULL OR y.oid IS NOT NULL)
 ORDER BY 1, 2, 3, 4";

/// Functions and procedures that hold SQL: name, text. Of an aggregate, the names of the functions
/// that it calls.
const FUNCTIONS: &str = "\
SELECT p.proname::text,
       CASE WHEN a.aggfnoid IS NULL THEN pg_catalog.pg_get_functiondef(p.oid)
            ELSE pg_catalog.concat_ws(' ', a.aggtransfn, a.aggfinalfn, a.aggcombinefn,
                                      a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
                                      a.aggminvtransfn, a.aggmfinalfn) END
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang
  LEFT JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = p.oid
 WHERE (a.aggfnoid IS NOT NULL OR l.lanname NOT IN ('c', 'internal'))
   AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 ORDER BY p.oid";

/// Columns of the catalogues themselves.
const CATALOGUE_COLUMNS: &str = "\
SELECT c.relname::text, a.attname::text
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
 WHERE a.attrelid IN ('pg_catalog.pg_attribute'::pg_catalog.regclass,
                      'information_schema.columns'::pg_catalog.regclass)
   AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY 1, a.attnum";
