//! Queries on PostgreSQL's catalogues. All columns are returned as text, so this crate needs no
//! protocol.
//!
//! A user who may create objects in a database could shadow what a query names, make it lie to the
//! proxy, or have it run with the privileges of the caller (CVE-2018-1058). So nothing here is
//! looked up by the search path: functions, types, tables and operators are those of `pg_catalog`,
//! and no syntax is used that names an operator silently, such as `IN` and `USING`. What the server
//! prints (the text of a view, the name of a type) depends on settings, which are pinned meanwhile.

mod changed;
mod configurations;
mod extensions;
mod functions;
mod named_types;

pub use changed::{ASKED_OF_CHANGED, changed_of, names_text};
pub use extensions::EXTENSIONS;

/// The rows of one query's answer: columns as text, None for NULL.
pub type Answer = Vec<Vec<Option<String>>>;

/// The queries whose answers [`crate::Schema::build`] takes, in this order.
pub const QUERIES: [&str; 12] = [
    SESSION,
    RELATIONS,
    COLUMNS,
    INDEXES,
    INHERITANCE,
    CONSTRAINTS,
    DEPENDENCIES,
    functions::FUNCTIONS,
    CATALOGUE_COLUMNS,
    configurations::CONFIGURATIONS,
    named_types::NAMED_TYPES,
    EXTENSIONS,
];

/// What is sent to ask all of [`QUERIES`]: these, and what pins settings and sets them back, which
/// is good for one transaction only. The first [`CHECKED`] of them change nothing, and tell whether
/// the others have new answers.
///
/// The answers have to be of one moment: a caller asks under `REPEATABLE READ`, or asks again
/// if the schema was changed meanwhile, as sessions of the proxy do.
pub const ASKED: [&str; QUERIES.len() + 3] = {
    let mut asked = [RESTORE; QUERIES.len() + 3];
    asked[0] = QUERIES[0];
    asked[1] = FINGERPRINT;
    asked[2] = PIN;
    let mut index = 1;
    while index < QUERIES.len() {
        asked[index + 2] = QUERIES[index];
        index += 1;
    }
    asked
};

/// How many of [`ASKED`] are enough to know whether the catalogues changed: facts of the session,
/// and the [`fingerprint_of`] the catalogues.
pub const CHECKED: usize = 2;

/// Of the answers to the first [`CHECKED`] of [`ASKED`], what changes with the catalogues. It is
/// asked before all that it stands for, so the next look sees what changes meanwhile.
pub fn fingerprint_of(asked: &[Answer]) -> Option<&str> {
    let row = asked.get(CHECKED - 1)?.first()?;
    row.first()?.as_deref()
}

/// Of the answers to [`ASKED`] those to [`QUERIES`].
pub fn answers_of(asked: Vec<Answer>) -> Vec<Answer> {
    let both = ASKED.iter().zip(asked);
    both.filter(|(query, _)| QUERIES.contains(query))
        .map(|(_, answer)| answer)
        .collect()
}

/// What [`crate::SessionFacts`] holds: schemas that unqualified names are looked up in, without a
/// second column; then temporary relations and types, the database's name and encoding, and
/// settings with their names. The name comes as it is stored, byte for byte, whatever the encoding
/// of the client is.
const SESSION: &str = "\
SELECT own.fact, own.kind
  FROM (SELECT path.name::pg_catalog.text AS fact, NULL::pg_catalog.text AS kind, path.place
          FROM pg_catalog.unnest(pg_catalog.current_schemas(false))
               WITH ORDINALITY AS path(name, place)
        UNION ALL
        SELECT c.relname::pg_catalog.text, 'temporary', 0
          FROM pg_catalog.pg_class c
         WHERE pg_catalog.pg_my_temp_schema() OPERATOR(pg_catalog.<>) 0
           AND c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
           AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}'::pg_catalog.\"char\"[])
        UNION ALL
        SELECT t.typname::pg_catalog.text, 'temporary type', 0
          FROM pg_catalog.pg_type t
         WHERE pg_catalog.pg_my_temp_schema() OPERATOR(pg_catalog.<>) 0
           AND t.typnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
        UNION ALL
        SELECT pg_catalog.encode(
                 pg_catalog.convert_to(pg_catalog.current_database()::pg_catalog.text,
                                       pg_catalog.getdatabaseencoding()), 'hex'), 'database', 0
        UNION ALL
        SELECT pg_catalog.getdatabaseencoding()::pg_catalog.text, 'encoding', 0
        UNION ALL
        SELECT pg_catalog.current_setting(setting.name, true), setting.name, 0
          FROM pg_catalog.unnest(ARRAY['TimeZone', 'DateStyle', 'client_encoding',
                                       'standard_conforming_strings', 'bytea_output',
                                       'extra_float_digits', 'IntervalStyle',
                                       'default_text_search_config', 'lc_monetary', 'lc_numeric',
                                       'lc_time', 'server_version_num',
                                       'transaction_isolation', 'timezone_abbreviations',
                                       'array_nulls', 'transform_null_equals',
                                       'quote_all_identifiers', 'xmlbinary', 'xmloption',
                                       'pg_trgm.similarity_threshold',
                                       'pg_trgm.word_similarity_threshold',
                                       'pg_trgm.strict_word_similarity_threshold'])
               AS setting(name)
        UNION ALL
        SELECT locale.fact, locale.kind, 0
          FROM pg_catalog.pg_database d
         CROSS JOIN LATERAL pg_catalog.to_jsonb(d) AS own(columns)
         CROSS JOIN LATERAL (
               SELECT COALESCE(own.columns OPERATOR(pg_catalog.->>) 'datlocprovider', 'c'),
                      'locale_provider'
               UNION ALL
               SELECT d.datcollate::pg_catalog.text, 'collate'
               UNION ALL
               SELECT d.datctype::pg_catalog.text, 'ctype'
               UNION ALL
               SELECT COALESCE(own.columns OPERATOR(pg_catalog.->>) 'daticulocale',
                               own.columns OPERATOR(pg_catalog.->>) 'datlocale'), 'icu_locale'
               UNION ALL
               SELECT own.columns OPERATOR(pg_catalog.->>) 'datcollversion', 'collation_version'
              ) AS locale(fact, kind)
         WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) AS own
 ORDER BY own.place, own.kind, own.fact";

/// A number that changes with every row of the catalogues that [`QUERIES`] read, by the
/// transactions which wrote them (`xmin`). Rows of the server itself, which begin below 16384
/// (`FirstNormalObjectId`), and of temporary relations do not count, but for those of text search,
/// which can be altered.
const FINGERPRINT: &str = "\
SELECT pg_catalog.concat_ws(
         ' ', pg_catalog.count(*),
         pg_catalog.sum(pg_catalog.hashtextextended(own.version, '0'::pg_catalog.int8)))
  FROM (SELECT pg_catalog.concat_ws(' ', 'namespace', n.oid, n.xmin)
          FROM pg_catalog.pg_namespace n
         WHERE n.nspname OPERATOR(pg_catalog.!~) '^pg_'
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', part.kind, c.oid, part.key, part.version)
          FROM pg_catalog.pg_class c
         CROSS JOIN LATERAL (
               SELECT 'class', 0, c.xmin
               UNION ALL
               SELECT 'attribute', a.attnum::pg_catalog.int4, a.xmin
                 FROM pg_catalog.pg_attribute a
                WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid
                  AND a.attnum OPERATOR(pg_catalog.>) 0
              ) AS part(kind, key, version)
         WHERE c.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
           AND c.relpersistence OPERATOR(pg_catalog.<>) 't'
           AND c.relkind OPERATOR(pg_catalog.<>) 't'
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', part.kind, part.relation, part.key, part.version)
          FROM (SELECT 'index', i.indrelid, i.indexrelid, i.xmin FROM pg_catalog.pg_index i
                UNION ALL
                SELECT 'parent', i.inhrelid, i.inhparent, i.xmin FROM pg_catalog.pg_inherits i
                UNION ALL
                SELECT 'constraint', k.conrelid, k.oid, k.xmin FROM pg_catalog.pg_constraint k
                UNION ALL
                SELECT 'rewrite', r.ev_class, r.oid, r.xmin FROM pg_catalog.pg_rewrite r
                UNION ALL
                SELECT 'trigger', t.tgrelid, t.oid, t.xmin FROM pg_catalog.pg_trigger t
                UNION ALL
                SELECT 'default', f.adrelid, f.oid, f.xmin FROM pg_catalog.pg_attrdef f
                UNION ALL
                SELECT 'policy', y.polrelid, y.oid, y.xmin FROM pg_catalog.pg_policy y
                UNION ALL
                SELECT 'partitioned', p.partrelid, p.partrelid, p.xmin
                  FROM pg_catalog.pg_partitioned_table p
                UNION ALL
                SELECT 'published', u.prrelid, u.oid, u.xmin FROM pg_catalog.pg_publication_rel u
               ) AS part(kind, relation, key, version)
          JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) part.relation
         WHERE c.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
           AND c.relpersistence OPERATOR(pg_catalog.<>) 't'
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'procedure', p.oid, p.xmin)
          FROM pg_catalog.pg_proc p
         WHERE p.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'operator', o.oid, o.xmin)
          FROM pg_catalog.pg_operator o
         WHERE o.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'extension', e.oid, e.xmin)
          FROM pg_catalog.pg_extension e
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'type', t.oid, t.xmin)
          FROM pg_catalog.pg_type t
         WHERE t.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
           AND t.typtype OPERATOR(pg_catalog.=) ANY ('{d,e,r}'::pg_catalog.\"char\"[])
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'label', l.oid, l.xmin)
          FROM pg_catalog.pg_enum l
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'cast', a.oid, a.xmin)
          FROM pg_catalog.pg_cast a
         WHERE a.oid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'configuration', part.kind, part.object, part.version)
          FROM (SELECT 'own', c.oid, c.xmin FROM pg_catalog.pg_ts_config c
                UNION ALL
                SELECT 'dictionary', d.oid, d.xmin FROM pg_catalog.pg_ts_dict d
                UNION ALL
                SELECT 'map', m.mapcfg, m.xmin FROM pg_catalog.pg_ts_config_map m
               ) AS part(kind, object, version)
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'publication', u.oid, u.xmin)
          FROM pg_catalog.pg_publication u
        UNION ALL
        SELECT pg_catalog.concat_ws(' ', 'schemas', d.objid, d.refobjid, d.xmin)
          FROM pg_catalog.pg_depend d
         WHERE d.classid OPERATOR(pg_catalog.=)
               pg_catalog.to_regclass('pg_catalog.pg_publication_namespace')) AS own(version)";

/// Sets, until the transaction ends, what the texts of views, functions and types depend on, and
/// that they are sent as UTF-8, whatever the client's encoding is. Names are looked up in
/// `pg_catalog` alone, so that all others are printed with their schemas: temporary ones too, which
/// come first unless they are named. What was set before is kept beside.
const PIN: &str = "\
SELECT pg_catalog.set_config('strongroom.search_path',
                             pg_catalog.current_setting('search_path'), true),
       pg_catalog.set_config('strongroom.standard_conforming_strings',
                             pg_catalog.current_setting('standard_conforming_strings'), true),
       pg_catalog.set_config('strongroom.quote_all_identifiers',
                             pg_catalog.current_setting('quote_all_identifiers'), true),
       pg_catalog.set_config('strongroom.client_encoding',
                             pg_catalog.current_setting('client_encoding'), true),
       pg_catalog.set_config('client_encoding', 'UTF8', true),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
       pg_catalog.set_config('standard_conforming_strings', 'on', true),
       pg_catalog.set_config('quote_all_identifiers', 'off', true)";

/// Sets back what [`PIN`] has set.
const RESTORE: &str = "\
SELECT pg_catalog.set_config('search_path',
                             pg_catalog.current_setting('strongroom.search_path'), true),
       pg_catalog.set_config('standard_conforming_strings',
                             pg_catalog.current_setting(
                               'strongroom.standard_conforming_strings'), true),
       pg_catalog.set_config('quote_all_identifiers',
                             pg_catalog.current_setting(
                               'strongroom.quote_all_identifiers'), true),
       pg_catalog.set_config('client_encoding',
                             pg_catalog.current_setting('strongroom.client_encoding'), true)";

/// Relations of users: number, schema, name, kind, whether triggers fire or rules rewrite, text
/// of a view, how and by which columns it is partitioned, the rules of its rows: whether policies
/// apply, constraints other than guards are not validated, and foreign keys with actions lead back
/// to it.
const RELATIONS: &str = "\
WITH acting (own, other) AS (
       SELECT k.conrelid, k.confrelid FROM pg_catalog.pg_constraint k
        WHERE pg_catalog.translate(pg_catalog.concat(k.confdeltype, k.confupdtype), 'ar ', '')
              OPERATOR(pg_catalog.<>) '')
SELECT c.oid::pg_catalog.text, n.nspname::pg_catalog.text, c.relname::pg_catalog.text,
       c.relkind::pg_catalog.text,
       (EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t
                 WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND NOT t.tgisinternal)
        OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r
                    WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid
                      AND r.rulename OPERATOR(pg_catalog.<>) '_RETURN'))::pg_catalog.text,
       CASE WHEN c.relkind OPERATOR(pg_catalog.=) ANY ('{v,m}'::pg_catalog.\"char\"[])
            THEN pg_catalog.pg_get_viewdef(c.oid) END,
       p.partstrat::pg_catalog.text, p.partattrs::pg_catalog.text,
       c.relrowsecurity::pg_catalog.text,
       (EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k
                 WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid
                   AND NOT k.convalidated
                   AND NOT pg_catalog.starts_with(
                           pg_catalog.ltrim(k.conname::pg_catalog.text, '~'),
                           'strongroom_guard')))::pg_catalog.text,
       (EXISTS (WITH RECURSIVE led (other) AS (
                     SELECT a.other FROM acting a WHERE a.own OPERATOR(pg_catalog.=) c.oid
                      UNION
                     SELECT a.other FROM led
                       JOIN acting a ON a.own OPERATOR(pg_catalog.=) led.other)
                SELECT 1 FROM led WHERE led.other OPERATOR(pg_catalog.=) c.oid))::pg_catalog.text
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
  LEFT JOIN pg_catalog.pg_partitioned_table p ON p.partrelid OPERATOR(pg_catalog.=) c.oid
 WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}'::pg_catalog.\"char\"[])
   AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
 ORDER BY c.oid";

/// Their columns: relation, number, name, NOT NULL, whether the server fills it, type, whether the
/// server computes it from others, whether it has privileges of its own, its collation unless it
/// is that of the type, whether by its collation texts of other bytes may be equal.
const COLUMNS: &str = "\
SELECT a.attrelid::pg_catalog.text, a.attnum::pg_catalog.text, a.attname::pg_catalog.text,
       a.attnotnull::pg_catalog.text,
       (a.atthasdef OR a.attidentity OPERATOR(pg_catalog.<>) '')::pg_catalog.text,
       pg_catalog.format_type(a.atttypid, a.atttypmod),
       (a.attgenerated OPERATOR(pg_catalog.<>) '')::pg_catalog.text,
       (a.attacl IS NOT NULL)::pg_catalog.text,
       CASE WHEN a.attcollation OPERATOR(pg_catalog.<>) t.typcollation
            THEN a.attcollation::pg_catalog.regcollation::pg_catalog.text END,
       (NOT l.collisdeterministic)::pg_catalog.text
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
  JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
  LEFT JOIN pg_catalog.pg_collation l ON l.oid OPERATOR(pg_catalog.=) a.attcollation
 WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}'::pg_catalog.\"char\"[])
   AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
   AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
 ORDER BY a.attrelid, a.attnum";

/// Their indexes: number, name, relation, columns (0: an expression), how many of them are keys,
/// whether it is unique, whether it holds for every row at every moment, and whether it is the
/// primary key.
const INDEXES: &str = "\
SELECT i.indexrelid::pg_catalog.text, x.relname::pg_catalog.text, i.indrelid::pg_catalog.text,
       i.indkey::pg_catalog.text, i.indnkeyatts::pg_catalog.text, i.indisunique::pg_catalog.text,
       (i.indisvalid AND i.indimmediate AND i.indpred IS NULL
        AND i.indexprs IS NULL)::pg_catalog.text,
       i.indisprimary::pg_catalog.text
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class x ON x.oid OPERATOR(pg_catalog.=) i.indexrelid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) x.relnamespace
 WHERE n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
 ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid";

/// Partitions and children: child, parent.
const INHERITANCE: &str = "\
SELECT i.inhrelid::pg_catalog.text, i.inhparent::pg_catalog.text
  FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid
 WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,f}'::pg_catalog.\"char\"[])
 ORDER BY i.inhrelid, i.inhseqno";

/// Constraints over columns: name, kind, relation, columns, relation and columns referred to; then
/// number, and of one that has the name of a guard its condition as it is stored, whether the rows
/// that are there were looked at, and whether it holds for all rows and children. That a check may
/// hold for none (`NOT ENFORCED`), PostgreSQL 18 has a column for, and others have not. Last, what
/// an update does to those that refer.
///
/// Of checks that compare bytes by `<>`, as [`crate::dialect::postgres::table_checks`] has them,
/// the condition is told too. What the server prints of a check is not asked: it would lock the
/// table, and so wait for whoever has changed it.
const CONSTRAINTS: &str = "\
SELECT k.conname::pg_catalog.text, k.contype::pg_catalog.text, k.conrelid::pg_catalog.text,
       pg_catalog.array_to_string(k.conkey, ' '), k.confrelid::pg_catalog.text,
       pg_catalog.array_to_string(k.confkey, ' '), k.oid::pg_catalog.text,
       CASE WHEN own.is_known THEN k.conbin::pg_catalog.text END,
       k.convalidated::pg_catalog.text,
       CASE WHEN own.is_known
            THEN (NOT k.connoinherit
                  AND COALESCE(pg_catalog.to_jsonb(k) OPERATOR(pg_catalog.->>) 'conenforced',
                               'true') OPERATOR(pg_catalog.=) 'true')::pg_catalog.text END,
       k.confupdtype::pg_catalog.text
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) k.connamespace
 CROSS JOIN LATERAL (
       SELECT pg_catalog.starts_with(pg_catalog.ltrim(k.conname::pg_catalog.text, '~'),
                                     'strongroom_guard')
              OR pg_catalog.strpos(k.conbin::pg_catalog.text, ':opno 1956 ')
                 OPERATOR(pg_catalog.>) 0 AS is_known) own
 WHERE k.contype OPERATOR(pg_catalog.=) ANY ('{c,f,x}'::pg_catalog.\"char\"[])
   AND k.conrelid OPERATOR(pg_catalog.<>) 0
   AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
 ORDER BY k.oid";

/// What reads columns inside the server: kind (view, default or generated column, policy), the
/// relation that it belongs to, the relation and column that are read. Column 0: the whole.
const DEPENDENCIES: &str = "\
SELECT DISTINCT CASE WHEN r.oid IS NOT NULL THEN 'view'
                     WHEN f.oid IS NOT NULL THEN 'default' ELSE 'policy' END,
       COALESCE(r.ev_class, f.adrelid, y.polrelid)::pg_catalog.text,
       d.refobjid::pg_catalog.text, d.refobjsubid::pg_catalog.text
  FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) d.refobjid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
  LEFT JOIN pg_catalog.pg_rewrite r
    ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass
   AND r.oid OPERATOR(pg_catalog.=) d.objid
  LEFT JOIN pg_catalog.pg_attrdef f
    ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass
   AND f.oid OPERATOR(pg_catalog.=) d.objid
  LEFT JOIN pg_catalog.pg_policy y
    ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_policy'::pg_catalog.regclass
   AND y.oid OPERATOR(pg_catalog.=) d.objid
 WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
   AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}'::pg_catalog.\"char\"[])
   AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
   AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
   AND (r.ev_class OPERATOR(pg_catalog.<>) d.refobjid OR f.oid IS NOT NULL OR y.oid IS NOT NULL)
 ORDER BY 1, 2, 3, 4";

/// Columns of the catalogues themselves: those of which single columns are shown otherwise.
const CATALOGUE_COLUMNS: &str = "\
SELECT c.relname::pg_catalog.text, a.attname::pg_catalog.text
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) a.attrelid
 WHERE (a.attrelid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attribute'::pg_catalog.regclass
        OR a.attrelid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
        OR a.attrelid OPERATOR(pg_catalog.=) 'information_schema.columns'::pg_catalog.regclass)
   AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
 ORDER BY 1, a.attnum";

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use crate::dialect::postgres::parse::statements;
    use crate::walk;
    use sqlparser::ast::{
        AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, Expr, ObjectName, Query,
        UnaryOperator, Visitor,
    };

    use super::*;

    fn is_bound(name: &ObjectName) -> bool {
        ["pg_catalog.", "information_schema."]
            .iter()
            .any(|schema| name.to_string().starts_with(schema))
    }

    fn is_bound_type(data_type: &DataType) -> bool {
        match data_type {
            DataType::Custom(name, _) => is_bound(name),
            DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => is_bound_type(element),
            _ => false,
        }
    }

    fn is_bound_operator(operator: &BinaryOperator) -> bool {
        match operator {
            BinaryOperator::And | BinaryOperator::Or => true,
            BinaryOperator::PGCustomBinaryOperator(parts) => {
                matches!(parts.as_slice(), [schema, _] if schema == "pg_catalog")
            }
            _ => false,
        }
    }

    /// Breaks at what the server would look up by the search path.
    #[derive(Default)]
    struct Unbound {
        /// Names that a `WITH` before gives.
        given: Vec<String>,
    }

    impl Visitor for Unbound {
        type Break = String;

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
            let given = query.with.iter().flat_map(|with| &with.cte_tables);
            self.given
                .extend(given.map(|own| own.alias.name.to_string()));
            ControlFlow::Continue(())
        }

        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<String> {
            if is_bound(name) || self.given.contains(&name.to_string()) {
                return ControlFlow::Continue(());
            }
            ControlFlow::Break(name.to_string())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
            let is_bound = match expr {
                Expr::Identifier(_)
                | Expr::CompoundIdentifier(_)
                | Expr::Value(_)
                | Expr::Nested(_)
                | Expr::IsNull(_)
                | Expr::IsNotNull(_)
                | Expr::Exists { .. }
                | Expr::Array(_)
                | Expr::Case { operand: None, .. } => true,
                Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
                Expr::BinaryOp { op, .. } => is_bound_operator(op),
                Expr::Cast { data_type, .. } => is_bound_type(data_type),
                // An element of an array or a vector.
                Expr::CompoundFieldAccess { access_chain, .. } => {
                    access_chain.iter().all(|part| match part {
                        AccessExpr::Subscript(_) => true,
                        AccessExpr::Dot(column) => matches!(column, Expr::Identifier(_)),
                    })
                }
                // COALESCE and ARRAY are syntax, not functions.
                Expr::Function(call) => {
                    is_bound(&call.name) || ["COALESCE", "ARRAY"].contains(&&*call.name.to_string())
                }
                _ => false,
            };
            if is_bound {
                return ControlFlow::Continue(());
            }
            ControlFlow::Break(expr.to_string())
        }
    }

    /// The first part of a query that is not bound to the catalogue.
    fn unbound(query: &str) -> Option<String> {
        // Which the parser knows behind plain operators alone.
        let query = query.replace(") ANY (", ") pg_catalog.any(");
        let query = query.replace(") ALL (", ") pg_catalog.all(");
        let statements = statements(&query).expect("a query");
        walk::visit(&statements, &mut Unbound::default()).break_value()
    }

    #[test]
    fn nothing_is_looked_up_by_the_search_path() {
        let of_changed = super::ASKED_OF_CHANGED.iter().map(String::as_str);
        for query in ASKED.into_iter().chain(of_changed) {
            assert_eq!(unbound(query), None, "{query}");
            for word in [" USING ", " NATURAL ", " BETWEEN ", " LIKE ", " IN "] {
                assert!(!query.contains(word), "{word}: {query}");
            }
        }
    }

    #[test]
    fn every_name_in_the_queries_is_checked() {
        for part in [
            "a = 1",
            "a IN (1)",
            "a::text = b",
            "f(a)",
            "a OPERATOR(public.=) 1",
            "CASE a WHEN 1 THEN true END",
            "a IS DISTINCT FROM b",
            "a = ANY (pg_catalog.f())",
            "EXISTS (SELECT 1 FROM t)",
        ] {
            let query = format!("SELECT 1 FROM pg_catalog.pg_class WHERE {part}");
            assert!(unbound(&query).is_some(), "{part}");
        }
    }
}
