//! The query on functions and operators that PostgreSQL itself does not have.

/// Functions and procedures that hold SQL: name, text, whether a call with values of the server's
/// own types may mean it. Of an aggregate, the text is the names of the functions that it calls.
///
/// A call cannot mean a function like one of the server's own but for types of users in place of
/// `text`: no value becomes such a type by itself, and for a constant without a type the server
/// prefers `text` (PostgreSQL, "Type Conversion: Functions"). The functions of `citext` are so.
///
/// Then operators that are not the server's own, with nothing in place of the text: whether
/// operands of the server's own types may mean it where the server itself has one for them, too.
/// Their fourth column is not NULL, and empty for operators of extensions whose types the finisher
/// has.
///
/// Then functions of names that the server itself does not have, and of which none is volatile,
/// with `steady` in the fourth column.
///
/// Then `::` for each cast of users from one of the server's own types to another one, and `::
/// unasked` for each that the server applies by itself.
pub(super) const FUNCTIONS: &str = "\
SELECT o.oprname::pg_catalog.text, ''::pg_catalog.text,
       (o.oprleft OPERATOR(pg_catalog.<) '16384'::pg_catalog.oid
        AND o.oprright OPERATOR(pg_catalog.<) '16384'::pg_catalog.oid
        AND EXISTS (
            SELECT 1
              FROM pg_catalog.pg_operator own
              LEFT JOIN pg_catalog.pg_type l ON l.oid OPERATOR(pg_catalog.=) own.oprleft
              LEFT JOIN pg_catalog.pg_type r ON r.oid OPERATOR(pg_catalog.=) own.oprright
             WHERE own.oprname OPERATOR(pg_catalog.=) o.oprname
               AND own.oprnamespace OPERATOR(pg_catalog.=)
                   'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid
               AND (own.oprleft OPERATOR(pg_catalog.=) o.oprleft
                    OR l.typtype OPERATOR(pg_catalog.=) 'p'::pg_catalog.\"char\"
                    OR EXISTS (SELECT 1
                                 FROM pg_catalog.pg_cast c
                                WHERE c.castsource OPERATOR(pg_catalog.=) o.oprleft
                                  AND c.casttarget OPERATOR(pg_catalog.=) own.oprleft
                                  AND c.castcontext OPERATOR(pg_catalog.=)
                                      'i'::pg_catalog.\"char\"))
               AND (own.oprright OPERATOR(pg_catalog.=) o.oprright
                    OR r.typtype OPERATOR(pg_catalog.=) 'p'::pg_catalog.\"char\"
                    OR EXISTS (SELECT 1
                                 FROM pg_catalog.pg_cast c
                                WHERE c.castsource OPERATOR(pg_catalog.=) o.oprright
                                  AND c.casttarget OPERATOR(pg_catalog.=) own.oprright
                                  AND c.castcontext OPERATOR(pg_catalog.=)
                                      'i'::pg_catalog.\"char\"))))::pg_catalog.text,
       CASE WHEN EXISTS (
              SELECT 1
                FROM pg_catalog.pg_depend d
                JOIN pg_catalog.pg_extension x ON x.oid OPERATOR(pg_catalog.=) d.refobjid
               WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_operator'::pg_catalog.regclass
                 AND d.objid OPERATOR(pg_catalog.=) o.oid
                 AND d.refclassid
                     OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
                 AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\"
                 AND x.extname OPERATOR(pg_catalog.=) ANY ('{citext,hstore}'::pg_catalog.name[]))
            THEN '' ELSE 'operator' END, o.oid
  FROM pg_catalog.pg_operator o
 WHERE o.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
UNION ALL
SELECT p.proname::pg_catalog.text, '', 'false', 'steady', p.oid
  FROM pg_catalog.pg_proc p
 WHERE p.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
   AND NOT EXISTS (SELECT 1
                     FROM pg_catalog.pg_proc own
                    WHERE own.proname OPERATOR(pg_catalog.=) p.proname
                      AND (own.provolatile OPERATOR(pg_catalog.=) 'v'::pg_catalog.\"char\"
                           OR own.oid OPERATOR(pg_catalog.<) '16384'::pg_catalog.oid))
UNION ALL
SELECT kind.name, '', 'true', '', c.oid
  FROM pg_catalog.pg_cast c
  JOIN (VALUES ('::', 'aei'), (':: unasked', 'ai')) AS kind(name, contexts)
    ON pg_catalog.strpos(kind.contexts, c.castcontext::pg_catalog.text)
       OPERATOR(pg_catalog.>) '0'::pg_catalog.int4
 WHERE c.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
   AND c.castsource OPERATOR(pg_catalog.<) '16384'::pg_catalog.oid
   AND c.casttarget OPERATOR(pg_catalog.<) '16384'::pg_catalog.oid
UNION ALL
SELECT p.proname::pg_catalog.text,
       CASE WHEN a.aggfnoid IS NULL THEN pg_catalog.pg_get_functiondef(p.oid)
            ELSE pg_catalog.concat_ws(' ', a.aggtransfn, a.aggfinalfn, a.aggcombinefn,
                                      a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
                                      a.aggminvtransfn, a.aggmfinalfn) END,
       (p.provariadic OPERATOR(pg_catalog.<>) '0'::pg_catalog.oid
        OR p.pronargdefaults OPERATOR(pg_catalog.>) '0'::pg_catalog.int2
        OR NOT EXISTS (
           SELECT 1
             FROM pg_catalog.pg_proc own
            WHERE own.proname OPERATOR(pg_catalog.=) p.proname
              AND own.pronamespace OPERATOR(pg_catalog.=)
                  'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid
              AND own.pronargs OPERATOR(pg_catalog.=) p.pronargs
              AND NOT EXISTS (
                  SELECT 1
                    FROM pg_catalog.generate_series(
                           0, p.pronargs::pg_catalog.int4 OPERATOR(pg_catalog.-) 1) AS at(place)
                   WHERE own.proargtypes[at.place] OPERATOR(pg_catalog.<>)
                         p.proargtypes[at.place]
                     AND NOT (own.proargtypes[at.place] OPERATOR(pg_catalog.=)
                              'pg_catalog.text'::pg_catalog.regtype::pg_catalog.oid
                              AND EXISTS (
                         SELECT 1
                           FROM pg_catalog.pg_type t
                          WHERE t.oid OPERATOR(pg_catalog.=) p.proargtypes[at.place]
                            AND t.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
                            AND t.typtype OPERATOR(pg_catalog.=) 'b'::pg_catalog.\"char\"
                            AND NOT t.typispreferred
                            AND NOT EXISTS (
                                SELECT 1
                                  FROM pg_catalog.pg_cast c
                                 WHERE c.casttarget OPERATOR(pg_catalog.=) t.oid
                                   AND c.castcontext OPERATOR(pg_catalog.=)
                                       'i'::pg_catalog.\"char\"))))))::pg_catalog.text,
       NULL::pg_catalog.text, p.oid
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
  JOIN pg_catalog.pg_language l ON l.oid OPERATOR(pg_catalog.=) p.prolang
  LEFT JOIN pg_catalog.pg_aggregate a ON a.aggfnoid OPERATOR(pg_catalog.=) p.oid
 WHERE (a.aggfnoid IS NOT NULL
        OR l.lanname OPERATOR(pg_catalog.<>) ALL ('{c,internal}'::pg_catalog.name[]))
   AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
 ORDER BY 5";
