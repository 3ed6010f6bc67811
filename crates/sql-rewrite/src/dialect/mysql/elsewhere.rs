//! Statements that have the name of a protected table, and mean a table of that name in another
//! database. They pass.

use super::MySql;
use super::lexer::{self, Kind, Lexeme, Reading};
use super::shown::is_symbol;
use crate::Schema;
use crate::mention::Mentions;

/// First words of statements whose names without a database mean the current one.
const FIRST_WORDS: &[&str] = &[
    "select", "with", "insert", "replace", "update", "delete", "show", "describe", "desc",
    "explain", "truncate", "drop", "create", "alter",
];
/// What those that change the schema may be about: a stored program has names of its own database.
const OBJECTS: &[&str] = &["table", "index", "unique", "fulltext", "temporary"];
/// Words of these behind which a name may mean the database of another table.
const OF_OTHER_TABLES: &[&str] = &["references", "rename", "exchange", "like"];

/// Whether each name of a protected table in a text is that of a table of another database.
pub(super) fn is_meant(text: &str, mentions: &Mentions, schema: &Schema, own: MySql) -> bool {
    let Ok(mut found) = lexer::read(text, own, Reading::Names) else {
        return false;
    };
    while found.last().is_some_and(|last| is_symbol(last, ";")) {
        found.pop();
    }
    let Some(current) = current(&found, schema) else {
        return false;
    };
    found.iter().enumerate().all(|(index, lexeme)| {
        if is_symbol(lexeme, ";") {
            return false;
        }
        let is_variable = lexeme.kind == Kind::Word && lexeme.value.starts_with('@');
        if is_variable || mentions.find(&lexeme.value).is_none() {
            return true;
        }
        let database = match index.checked_sub(1).map(|before| &found[before]) {
            Some(point) if is_symbol(point, ".") => index.checked_sub(2).map(|at| &found[at]),
            _ => None,
        };
        match (lexeme.kind, database) {
            (Kind::Word | Kind::Name, Some(database)) => {
                // Behind a key word, a point means the current database.
                let is_name = match database.kind {
                    Kind::Word => !found[index - 1].is_apart,
                    kind => kind == Kind::Name,
                };
                is_name && is_of_others(&database.value, &lexeme.value, schema)
            }
            (Kind::Word | Kind::Name, None) => is_of_others(current, &lexeme.value, schema),
            // A constant may be run as SQL.
            _ => false,
        }
    })
}

/// The database of names that have none. None: they may be of several.
fn current<'t>(found: &'t [Lexeme], schema: &'t Schema) -> Option<&'t str> {
    let word = |index: usize| {
        let own = found.get(index).filter(|own| own.kind == Kind::Word);
        own.map_or("", |own| own.value.as_str())
    };
    if !FIRST_WORDS.contains(&word(0)) {
        return None;
    }
    let has = |words: &[&str]| {
        let mut names = found.iter().filter(|own| own.kind == Kind::Word);
        names.any(|own| words.contains(&own.value.as_str()))
    };
    if matches!(word(0), "drop" | "create" | "alter") && !OBJECTS.contains(&word(1))
        || matches!(word(0), "create" | "alter") && has(OF_OTHER_TABLES)
    {
        return None;
    }
    if word(0) == "show" && has(&["select"]) {
        return None;
    }
    if word(0) == "show" {
        // `SHOW COLUMNS FROM table FROM database`
        let is_from = |index: usize| matches!(word(index), "from" | "in");
        let first = (0..found.len()).find(|index| is_from(*index));
        if let Some(second) = first
            .map(|first| first + 2)
            .filter(|second| is_from(*second))
        {
            return found.get(second + 1).map(|own| own.value.as_str());
        }
    }
    schema.search_path.first().map(String::as_str)
}

/// Whether a table has no rule and shows nothing protected. Letters of names are not told apart by
/// their case, whatever the server does.
fn is_of_others(database: &str, name: &str, schema: &Schema) -> bool {
    let is_it = |own: (&str, &str)| {
        own.0.eq_ignore_ascii_case(database) && own.1.eq_ignore_ascii_case(name)
    };
    let mut rules = schema.protected.iter();
    let mut tables = schema.tables.values();
    let mut hidden = schema.hidden_defaults.keys();
    let mut functions = schema.suspect_functions.iter();
    !(rules.any(|own| is_it((&own.schema, &own.table)))
        || tables.any(|own| {
            let is_suspect = own.opaque || own.is_protected();
            is_suspect && is_it((&own.schema, &own.name))
        })
        || hidden.any(|(schema, name)| is_it((schema, name)))
        || functions.any(|own| own.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Table};

    fn passes(text: &str, database: &str) -> bool {
        let own = MySql::default();
        let mut schema = Schema {
            dialect: Dialect::MySql(own),
            search_path: vec![database.to_owned()],
            ..Schema::default()
        };
        for (database, is_protected) in [("shop", true), ("other", false)] {
            let name = (database.to_owned(), "person".to_owned());
            let table = Table {
                oid: 1,
                opaque: is_protected,
                ..Table::empty(&name)
            };
            schema.tables.insert(name, table);
        }
        is_meant(text, &Mentions::of(&schema), &schema, own)
    }

    #[test]
    fn a_name_means_the_database_before_it_or_the_current_one() {
        for (text, in_shop, in_other) in [
            ("SELECT person.name FROM person", false, true),
            ("SELECT * FROM other.person", true, true),
            ("SELECT * FROM `other` . `Person` p", true, true),
            ("SELECT * FROM Shop.person", false, false),
            ("SELECT shop.person.name FROM x", false, false),
            ("SELECT * FROM other.person, person", false, true),
            ("SELECT * FROM .person", false, false),
            ("SELECT 'person' FROM other.person", false, false),
            ("SELECT @person FROM other.person", true, true),
            ("SELECT /*! 1 + */ 1 FROM other.person", false, false),
            ("INSERT INTO other.person VALUES (?)", true, true),
            ("DELETE FROM other.person; DELETE FROM person", false, false),
            ("USE shop; DELETE FROM person", false, false),
            ("SHOW COLUMNS FROM person FROM shop", false, false),
            ("SHOW COLUMNS FROM person IN other", true, true),
            (
                "SHOW INDEX FROM other.person WHERE Key_name IN ('x')",
                true,
                true,
            ),
            (
                "SHOW INDEX FROM person WHERE Key_name IN ('x')",
                false,
                true,
            ),
            (
                "SHOW INDEX FROM other.person WHERE Key_name IN (SELECT name FROM x)",
                false,
                false,
            ),
            ("DESCRIBE other.person", true, true),
            ("CREATE TABLE other.person (id INT)", true, true),
            (
                "CREATE TABLE x (id INT REFERENCES person (id))",
                false,
                false,
            ),
            ("ALTER TABLE other.person ADD x INT", true, true),
            ("ALTER TABLE other.person RENAME TO person", false, false),
            ("CREATE VIEW shop.v AS SELECT * FROM person", false, false),
            (
                "CREATE TRIGGER shop.t BEFORE INSERT ON x FOR EACH ROW DELETE FROM person",
                false,
                false,
            ),
            ("CREATE PROCEDURE shop.p() DELETE FROM person", false, false),
            ("CALL other.person()", false, false),
        ] {
            assert_eq!(passes(text, "shop"), in_shop, "{text}");
            assert_eq!(passes(text, "other"), in_other, "{text}");
        }
    }
}
