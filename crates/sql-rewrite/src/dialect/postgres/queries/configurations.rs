//! The query on text search configurations.

/// Configurations: name, a digest of what they do. Those of users have their schema before the
/// name, and no digest.
pub(super) const CONFIGURATIONS: &str = "\
SELECT c.cfgname::pg_catalog.text,
       pg_catalog.encode(
         pg_catalog.sha256(
           pg_catalog.convert_to(
             pg_catalog.string_agg(
               pg_catalog.concat_ws(' ', p.prsname, m.maptokentype, m.mapseqno, d.dictname,
                                    t.tmplname, d.dictinitoption),
               pg_catalog.chr(10) ORDER BY m.maptokentype, m.mapseqno),
             'UTF8')),
         'hex')
  FROM pg_catalog.pg_ts_config c
  JOIN pg_catalog.pg_ts_parser p ON p.oid OPERATOR(pg_catalog.=) c.cfgparser
  LEFT JOIN pg_catalog.pg_ts_config_map m ON m.mapcfg OPERATOR(pg_catalog.=) c.oid
  LEFT JOIN pg_catalog.pg_ts_dict d ON d.oid OPERATOR(pg_catalog.=) m.mapdict
  LEFT JOIN pg_catalog.pg_ts_template t ON t.oid OPERATOR(pg_catalog.=) d.dicttemplate
 WHERE c.oid OPERATOR(pg_catalog.<) '16384'::pg_catalog.oid
 GROUP BY c.oid, c.cfgname
UNION ALL
SELECT c.cfgname::pg_catalog.text, ''
  FROM pg_catalog.pg_ts_config c
 WHERE c.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
 ORDER BY 1, 2";
