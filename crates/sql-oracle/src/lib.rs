//! PostgreSQL's own reading of a text of SQL, to compare others with. For tests only.
//!
//! The server's grammar is compiled from its source by the crate `pg_query`. What it gives is a
//! tree of several hundred kinds of nodes; here it is walked as one of names and values, so that no
//! kind can be forgotten, nor one that a later version brings.
//!
//! In one thing `pg_query` is laxer than the server: it reads `$1a` as `$1 a`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What the server sees in a text, before it looks anything up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What each statement is, by the name of its node: `InsertStmt`, `DoStmt`.
    pub kinds: Vec<String>,
    /// The statements themselves, without their places: two texts that the server takes for the
    /// same have the same.
    pub tree: Value,
    /// Relations and names like them, in their order. Names of rows to be locked are not among
    /// them: these are aliases.
    pub relations: Vec<Relation>,
    /// Constants, in their order, without those of types (`20` of `varchar(20)`).
    pub constants: Vec<Constant>,
    /// Numbers of parameters: 1 for `$1`.
    pub parameters: BTreeSet<u64>,
    /// Names of prepared statements that are executed, in whatever statement.
    pub executed: Vec<String>,
    /// Bodies of functions and of `DO`.
    pub bodies: Vec<String>,
    /// Every text of the tree: names of all objects and columns, constants, bodies, options.
    pub texts: BTreeSet<String>,
}

/// A name where a relation stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// The schema that is named with it.
    pub schema: Option<String>,
    /// Its own name: folded and cut as the server does.
    pub name: String,
    /// Whether it is that of a query of `WITH`, which is seen at this place.
    pub is_of_with: bool,
}

/// A constant of an expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Constant {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`
    Boolean(bool),
    /// A number: its digits as they were written, or as an `integer` has them.
    Number(String),
    /// What a quoted constant means, its escapes resolved.
    Text(String),
    /// Digits of a bit string, behind `b` or `x`.
    Bits(String),
}

/// Why a text was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The server's grammar refuses it, in these words.
    Refused(String),
    /// The server may read it, and the tree is too deep to be handed over here.
    Unknown(String),
}

/// Reads a text as a server does whose encoding is UTF-8, with `standard_conforming_strings`.
///
/// # Errors
/// The server would refuse the text before it does any of it.
pub fn read(text: &str) -> Result<Reading, Unread> {
    let parsed = pg_query::parse(text, 0).map_err(|error| match error {
        pg_query::Error::Decode(_) => Unread::Unknown(error.to_string()),
        error => Unread::Refused(error.to_string()),
    })?;
    let mut tree = serde_json::to_value(&parsed.protobuf)
        .map_err(|error| Unread::Unknown(error.to_string()))?;
    let mut reading = Reading::default();
    for statement in tree["stmts"].as_array().into_iter().flatten() {
        let kind = statement["stmt"]["node"].as_object();
        let kind = kind.and_then(|node| node.keys().next());
        reading.kinds.push(kind.cloned().unwrap_or_default());
        reading.walk(statement, &[]);
    }
    remove_places(&mut tree);
    reading.tree = tree["stmts"].take();
    Ok(reading)
}

fn remove_places(node: &mut Value) {
    match node {
        Value::Array(nodes) => nodes.iter_mut().for_each(remove_places),
        Value::Object(fields) => {
            let places = ["location", "stmt_len", "list_start", "list_end"];
            fields.retain(|name, _| !places.iter().any(|place| name.ends_with(place)));
            fields.values_mut().for_each(remove_places);
        }
        _ => {}
    }
}

impl Reading {
    /// The relations without those of `WITH`.
    pub fn stored(&self) -> impl Iterator<Item = &Relation> {
        self.relations.iter().filter(|one| !one.is_of_with)
    }

    /// Schema and name of each of [`Self::stored`]; where none is named it is `public`.
    pub fn names(&self) -> BTreeSet<(String, String)> {
        let named = self.stored().map(|one| {
            let schema = one.schema.as_deref().unwrap_or("public");
            (schema.to_owned(), one.name.clone())
        });
        named.collect()
    }

    /// `with`: names of the queries of `WITH` that are seen here.
    fn walk(&mut self, node: &Value, with: &[String]) {
        match node {
            Value::String(text) if !text.is_empty() => drop(self.texts.insert(text.clone())),
            Value::Array(nodes) => nodes.iter().for_each(|node| self.walk(node, with)),
            Value::Object(fields) => self.object(fields, with),
            _ => {}
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, with: &[String]) {
        if fields.contains_key("relpersistence") && fields.contains_key("relname") {
            self.relation(fields, with);
        }
        if let Some(constant) = fields.get("AConst") {
            self.constants.extend(constant_of(constant));
        }
        if let Some(number) = fields
            .get("ParamRef")
            .and_then(|node| node["number"].as_u64())
        {
            self.parameters.insert(number);
        }
        if let Some(execute) = fields.get("ExecuteStmt") {
            let name = execute["name"].as_str().unwrap_or_default();
            self.executed.push(name.to_owned());
        }
        if fields.get("defname").is_some_and(|name| name == "as") {
            let mut body = Reading::default();
            body.walk(&fields["arg"], with);
            self.bodies.extend(body.texts);
        }
        let mut seen = with.to_vec();
        if let Some(clause) = fields
            .get("with_clause")
            .filter(|clause| clause.is_object())
        {
            self.with_clause(clause, &mut seen);
        }
        for (name, node) in fields {
            match name.as_str() {
                "with_clause" => {}
                "locked_rels" | "typmods" => self.aside(node),
                _ => self.walk(node, &seen),
            }
        }
    }

    fn relation(&mut self, fields: &Map<String, Value>, with: &[String]) {
        let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
        let (schema, name) = (text("schemaname"), text("relname"));
        let schema = Some(schema).filter(|schema| !schema.is_empty());
        self.relations.push(Relation {
            is_of_with: schema.is_none() && with.contains(&name),
            schema,
            name,
        });
    }

    /// A query of `WITH` sees those before it; all of them and itself behind `RECURSIVE`.
    fn with_clause(&mut self, clause: &Value, seen: &mut Vec<String>) {
        let name = |query: &Value| {
            let name = &query["node"]["CommonTableExpr"]["ctename"];
            name.as_str().unwrap_or_default().to_owned()
        };
        let queries: Vec<&Value> = clause["ctes"].as_array().into_iter().flatten().collect();
        let is_recursive = clause["recursive"] == true;
        if is_recursive {
            seen.extend(queries.iter().map(|query| name(query)));
        }
        for query in queries {
            self.walk(query, seen);
            if !is_recursive {
                seen.push(name(query));
            }
        }
    }

    /// What has texts, and neither relations nor constants.
    fn aside(&mut self, node: &Value) {
        let mut inner = Reading::default();
        inner.walk(node, &[]);
        self.texts.extend(inner.texts);
    }
}

fn constant_of(node: &Value) -> Option<Constant> {
    if node["isnull"] == true {
        return Some(Constant::Null);
    }
    let (kind, value) = node["val"].as_object()?.iter().next()?;
    let inner = value.as_object()?.values().next()?;
    let text = || inner.as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "Ival" => Some(Constant::Number(inner.to_string())),
        "Fval" => Some(Constant::Number(text())),
        "Boolval" => Some(Constant::Boolean(inner == true)),
        "Sval" => Some(Constant::Text(text())),
        "Bsval" => Some(Constant::Bits(text())),
        other => panic!("a constant of the kind {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(Option<String>, String, bool)> {
        let reading = read(text).unwrap();
        let relations = reading.relations.into_iter();
        relations
            .map(|one| (one.schema, one.name, one.is_of_with))
            .collect()
    }

    fn name(schema: Option<&str>, name: &str, is_of_with: bool) -> (Option<String>, String, bool) {
        (schema.map(str::to_owned), name.to_owned(), is_of_with)
    }

    #[test]
    fn relations_are_named_as_the_server_names_them() {
        let long = "K".repeat(70);
        let text =
            format!("SELECT 1 FROM S.Tab, \"Q\".\"x y\", U&\"\\0074\", {long} FOR UPDATE OF z");
        assert_eq!(
            names(&text),
            [
                name(Some("s"), "tab", false),
                name(Some("Q"), "x y", false),
                name(None, "t", false),
                name(None, &"k".repeat(63), false),
            ]
        );
        assert_eq!(
            names("INSERT INTO a SELECT 1; DROP INDEX x; ALTER INDEX i RENAME TO j"),
            [name(None, "a", false), name(None, "i", false)]
        );
    }

    #[test]
    fn a_query_of_with_is_seen_where_it_is_and_nowhere_else() {
        let own = "WITH a AS (SELECT 1 FROM a), b AS (SELECT 1 FROM a) SELECT 1 FROM b, s.b";
        let mut found = names(own);
        found.sort();
        assert_eq!(
            found,
            [
                name(None, "a", false),
                name(None, "a", true),
                name(None, "b", true),
                name(Some("s"), "b", false),
            ]
        );
        let inner = names("SELECT (WITH a AS (SELECT 1) SELECT 1 FROM a) FROM a");
        assert_eq!(
            inner.iter().filter(|(.., is_of_with)| *is_of_with).count(),
            1
        );
        let recursive = names("WITH RECURSIVE a AS (SELECT 1 FROM b), b AS (SELECT 1) TABLE a");
        assert!(recursive.iter().all(|(.., is_of_with)| *is_of_with));
    }

    #[test]
    fn constants_parameters_and_bodies_are_read() {
        let text = "SELECT 1, -2, 3.50, 'a''b', E'\\x63\\s', U&'\\0063', 'x'\n'y', $$z$$, NULL, \
                    true, b'01', $2, CAST($1 AS varchar(20))";
        let reading = read(text).unwrap();
        let texts = ["a'b", "cs", "c", "xy", "z"];
        let mut expected: Vec<_> = ["1", "-2", "3.50"]
            .map(|digits| Constant::Number(digits.to_owned()))
            .into();
        expected.extend(texts.map(|text| Constant::Text(text.to_owned())));
        expected.extend([Constant::Null, Constant::Boolean(true)]);
        expected.push(Constant::Bits("b01".to_owned()));
        assert_eq!(reading.constants, expected);
        assert_eq!(reading.parameters, BTreeSet::from([1, 2]));
        let text = "DO E'cu\\stomer'; CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'";
        let reading = read(text).unwrap();
        assert_eq!(reading.bodies, ["customer", "SELECT 1"]);
        assert_eq!(reading.kinds, ["DoStmt", "CreateFunctionStmt"]);
        assert!(reading.texts.contains("f") && reading.texts.contains("sql"));
    }

    #[test]
    fn what_is_executed_is_named() {
        let text =
            "EXECUTE A(1); EXPLAIN EXECUTE \"function\"; CREATE TABLE t AS EXECUTE U&\"\\0062\"";
        assert_eq!(read(text).unwrap().executed, ["a", "function", "b"]);
    }

    #[test]
    fn what_means_the_same_has_the_same_tree() {
        let tree = |text: &str| read(text).unwrap().tree;
        let plain = tree("SELECT a FROM t WHERE b IN ('c')");
        assert_eq!(
            plain,
            tree("select A/* ; */ from\n\"t\" where b in(E'\\x63');")
        );
        assert_ne!(plain, tree("SELECT a FROM \"T\" WHERE b IN ('c')"));
    }

    #[test]
    fn what_the_server_refuses_is_refused() {
        for text in [
            "SELECT FROM FROM",
            "SELECT 'a",
            "SELECT 1a",
            "SELECT E'\\u12'",
        ] {
            assert!(matches!(read(text), Err(Unread::Refused(_))), "{text}");
        }
    }
}
