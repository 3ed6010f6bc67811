//! The query on extensions whose functions the finisher can evaluate.

/// Extensions: schema, version, and a digest of what they have, by which the finisher knows that
/// its own is the same. Then names of their functions and operators that others have, too. Not
/// those for types of users that no value becomes by itself, which nothing that the finisher knows
/// is: for a constant without a type the server prefers the type of the other operand, and `text`
/// (PostgreSQL, "Type Conversion"). Nor `<->` of btree_gist: it takes no texts, so it is never
/// meant where that of pg_trgm could be.
///
/// And kinds of indexes for which an extension has operators of bytes.
///
/// A digest depends on the search path, by which types are printed.
pub const EXTENSIONS: &str = "\
SELECT 'extension', e.extname::pg_catalog.text, n.nspname::pg_catalog.text, e.extversion,
       pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(own.parts, 'UTF8')), 'hex')
  FROM pg_catalog.pg_extension e
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
 CROSS JOIN LATERAL (
       SELECT pg_catalog.string_agg(part.text, pg_catalog.chr(10)
                                    ORDER BY pg_catalog.convert_to(part.text, 'UTF8')) AS parts
         FROM pg_catalog.pg_depend d
        CROSS JOIN LATERAL (
              SELECT pg_catalog.concat_ws(' ', p.proname, pg_catalog.oidvectortypes(p.proargtypes),
                                          p.prosrc, p.probin, l.lanname, p.provolatile,
                                          p.prosecdef, p.proconfig) AS text
                FROM pg_catalog.pg_proc p
                JOIN pg_catalog.pg_language l ON l.oid OPERATOR(pg_catalog.=) p.prolang
               WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
                 AND p.oid OPERATOR(pg_catalog.=) d.objid
               UNION ALL
              SELECT pg_catalog.concat_ws(' ', o.oprname, pg_catalog.format_type(o.oprleft, NULL),
                                          pg_catalog.format_type(o.oprright, NULL), p.proname)
                FROM pg_catalog.pg_operator o
                JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) o.oprcode
               WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_operator'::pg_catalog.regclass
                 AND o.oid OPERATOR(pg_catalog.=) d.objid
               UNION ALL
              SELECT pg_catalog.concat_ws(' ', pg_catalog.format_type(c.castsource, NULL),
                                          pg_catalog.format_type(c.casttarget, NULL),
                                          c.castcontext, c.castmethod, p.proname)
                FROM pg_catalog.pg_cast c
                LEFT JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) c.castfunc
               WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_cast'::pg_catalog.regclass
                 AND c.oid OPERATOR(pg_catalog.=) d.objid
               UNION ALL
              SELECT pg_catalog.concat_ws(' ', t.dictname, t.dictinitoption)
                FROM pg_catalog.pg_ts_dict t
               WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_ts_dict'::pg_catalog.regclass
                 AND t.oid OPERATOR(pg_catalog.=) d.objid
              ) AS part
        WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
          AND d.refobjid OPERATOR(pg_catalog.=) e.oid
          AND d.deptype OPERATOR(pg_catalog.=) 'e') AS own
 WHERE e.extname
     OPERATOR(pg_catalog.=) ANY ('{citext,fuzzystrmatch,hstore,pg_trgm,pgcrypto,unaccent}'
                                 ::pg_catalog.name[])
UNION ALL
SELECT DISTINCT 'clash', other.name, NULL, NULL, NULL
  FROM pg_catalog.pg_extension e
  JOIN pg_catalog.pg_depend d
    ON d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
   AND d.refobjid OPERATOR(pg_catalog.=) e.oid
   AND d.deptype OPERATOR(pg_catalog.=) 'e'
 CROSS JOIN LATERAL (
       SELECT p.proname::pg_catalog.text AS name, p.oid AS own, q.oid AS other, d.classid,
              q.proargtypes::pg_catalog.oid[] AS taken
         FROM pg_catalog.pg_proc p
         JOIN pg_catalog.pg_proc q ON q.proname OPERATOR(pg_catalog.=) p.proname
        WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
          AND p.oid OPERATOR(pg_catalog.=) d.objid
       UNION ALL
       SELECT o.oprname::pg_catalog.text, o.oid, q.oid, d.classid, ARRAY[q.oprleft, q.oprright]
         FROM pg_catalog.pg_operator o
         JOIN pg_catalog.pg_operator q ON q.oprname OPERATOR(pg_catalog.=) o.oprname
        WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_operator'::pg_catalog.regclass
          AND o.oid OPERATOR(pg_catalog.=) d.objid
      ) AS other
 WHERE e.extname
     OPERATOR(pg_catalog.=) ANY ('{citext,fuzzystrmatch,hstore,pg_trgm,pgcrypto,unaccent}'
                                 ::pg_catalog.name[])
   AND other.other OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
   AND NOT EXISTS (
       SELECT 1
         FROM pg_catalog.pg_depend m
         JOIN pg_catalog.pg_extension x ON x.oid OPERATOR(pg_catalog.=) m.refobjid
        WHERE m.classid OPERATOR(pg_catalog.=) other.classid
          AND m.objid OPERATOR(pg_catalog.=) other.other
          AND m.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
          AND x.extname
              OPERATOR(pg_catalog.=) ANY (
              '{btree_gist,citext,fuzzystrmatch,hstore,pg_trgm,pgcrypto,unaccent}'
              ::pg_catalog.name[])
          AND m.deptype OPERATOR(pg_catalog.=) 'e')
   AND NOT EXISTS (
       SELECT 1
         FROM pg_catalog.pg_type own
         JOIN pg_catalog.pg_type t
           ON t.oid OPERATOR(pg_catalog.=)
              CASE WHEN own.typelem OPERATOR(pg_catalog.=) '0'::pg_catalog.oid THEN own.oid
                   ELSE own.typelem END
        WHERE own.oid OPERATOR(pg_catalog.=) ANY (other.taken)
          AND t.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
          AND t.typtype OPERATOR(pg_catalog.=) 'b'::pg_catalog.\"char\"
          AND NOT t.typispreferred
          AND t.typname OPERATOR(pg_catalog.<>) ALL ('{citext,hstore}'::pg_catalog.name[])
          AND NOT EXISTS (
              SELECT 1
                FROM pg_catalog.pg_cast c
               WHERE c.casttarget OPERATOR(pg_catalog.=) t.oid
                 AND c.castcontext OPERATOR(pg_catalog.=) 'i'::pg_catalog.\"char\"))
UNION ALL
SELECT 'method', m.amname::pg_catalog.text, NULL, NULL, NULL
  FROM pg_catalog.pg_opclass c
  JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.opcmethod
 WHERE c.opcdefault
   AND c.opcintype OPERATOR(pg_catalog.=) 'pg_catalog.bytea'::pg_catalog.regtype::pg_catalog.oid
   AND c.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
 ORDER BY 1, 2";
