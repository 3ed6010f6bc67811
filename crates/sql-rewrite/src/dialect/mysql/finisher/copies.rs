//! Copies of tables for a finisher that reads no temporary table twice: MySQL's.
//!
//! The text names a copy in the place of the table, with the table's name as its alias. So columns
//! are found as before, also those with the database before them, and nothing but the definitions
//! of columns tells of the copy.

use super::super::lexer::{self, Lexeme, Reading};
use super::super::{MySql, names};
use super::places::{Place, ctes, is, is_alias, places, target};
use super::{Verb, verb};
use crate::Refusal;
use sql_plan::{FinisherTables, unsupported};

/// A text that names copies of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The text.
    pub text: String,
    /// The copies.
    pub copies: Vec<TableCopy>,
}

/// A copy of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCopy {
    /// The index of the table among those of the statement.
    pub table: usize,
    /// The name of the copy, in the table's database, without quotes.
    pub name: String,
    /// The name of the table, without database and quotes.
    pub original: String,
}

/// The text of a statement, with a copy for each further mention of a table. A table that is
/// written keeps its name, and so does the first mention of any other.
///
/// # Errors
/// The text is not one that the finisher evaluates.
pub fn copied(
    text: &str,
    own: MySql,
    database: Option<&str>,
    query: &FinisherTables,
) -> Result<Copied, Refusal> {
    let written = query.write.as_ref().map(|write| write.table);
    let inserted = query.insert.as_ref().map(|insert| insert.table);
    let names = query.tables.iter();
    let tables: Vec<Named> = names
        .map(|own| (own.database.as_str(), own.name.as_str()))
        .collect();
    of_tables(text, (own, database), &tables, (written, inserted))
}

/// A table's database, and its name with that, in quotes.
type Named<'a> = (&'a str, &'a str);

/// The same for these tables, of which one is changed or gets rows.
fn of_tables(
    text: &str,
    (own, database): (MySql, Option<&str>),
    tables: &[Named<'_>],
    (written, inserted): (Option<usize>, Option<usize>),
) -> Result<Copied, Refusal> {
    let read = lexer::read(text, own, Reading::Names);
    let found = read.map_err(|unread| unread.refusal())?;
    let verb = verb(&found).ok_or_else(|| unsupported("a statement of this kind"))?;
    let mut begin = 0;
    if verb == Verb::Insert {
        (_, begin) = target(&found, text, own)?;
    }
    let mut mentions = places(&found[begin..end_of_rows(&found)], text, own);
    mentions.iter_mut().for_each(|place| place.behind += begin);
    let ctes = ctes(&found, text, own);
    let full = |(of, name): &(Option<String>, String)| {
        let of = of.as_deref().or(database)?;
        Some(format!("{}.{}", names::quote(of), names::quote(name)))
    };
    let mut is_read = vec![false; tables.len()];
    // Rows that are inserted are those of the table as it was before.
    if let Some(inserted) = inserted.filter(|_| is_of_query(&found, begin)) {
        is_read[inserted] = true;
    }
    let mut copied = Copied::default();
    let mut done = 0;
    for place in mentions {
        let is_cte = place.named.0.is_none() && ctes.contains(&place.named.1.to_lowercase());
        let name = full(&place.named).filter(|_| !is_cte);
        let table = tables.iter().position(|own| Some(own.1) == name.as_deref());
        let Some(table) = table.filter(|table| Some(*table) != written) else {
            continue;
        };
        if !std::mem::replace(&mut is_read[table], true) {
            continue;
        }
        let copy = TableCopy {
            table,
            name: format!("strongroom copy {}", copied.copies.len() + 1),
            original: place.named.1.clone(),
        };
        copied
            .text
            .push_str(text.get(done..place.span.start).unwrap_or_default());
        copied
            .text
            .push_str(&naming(&copy, &place, &found, tables[table].0));
        done = place.span.end;
        copied.copies.push(copy);
    }
    copied.text.push_str(text.get(done..).unwrap_or_default());
    Ok(copied)
}

/// The index of what ends the rows of an `INSERT`.
fn end_of_rows(found: &[Lexeme]) -> usize {
    let is_end = |three: &[Lexeme]| {
        is(&three[0], "on") && is(&three[1], "duplicate") && is(&three[2], "key")
    };
    found.windows(3).position(is_end).unwrap_or(found.len())
}

/// Whether an `INSERT` takes the rows of a query, which may read its own table: of values in which
/// a query does that, the server says that it may not.
fn is_of_query(found: &[Lexeme], begin: usize) -> bool {
    let mut depth = 0_usize;
    for lexeme in &found[begin..] {
        if is(lexeme, "(") {
            depth += 1;
        } else if is(lexeme, ")") {
            depth = depth.saturating_sub(1);
        }
        if is(lexeme, "select") || is(lexeme, "with") {
            return true;
        }
        if depth == 0
            && ["values", "value", "set"]
                .iter()
                .any(|word| is(lexeme, word))
        {
            return false;
        }
    }
    false
}

/// What stands in the place of a name.
fn naming(copy: &TableCopy, place: &Place, found: &[Lexeme], database: &str) -> String {
    let name = format!("{}.{}", names::quote(database), names::quote(&copy.name));
    match is_alias(found.get(place.behind)) {
        true => name,
        false => format!("{name} AS {}", names::quote(&copy.original)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, written: Option<usize>, inserted: Option<usize>) -> String {
        let tables = [("shop", "`shop`.`t`"), ("shop", "`shop`.`u`")];
        let own = (MySql::default(), Some("shop"));
        let copied = of_tables(text, own, &tables, (written, inserted)).expect("it is read");
        copied.text.replace("`shop`.`strongroom copy ", "`#")
    }

    #[test]
    fn further_mentions_of_a_table_name_copies() {
        for (text, wanted) in [
            ("SELECT * FROM t", "SELECT * FROM t"),
            ("SELECT * FROM t a, t b", "SELECT * FROM t a, `#1` b"),
            (
                "SELECT t.x FROM t WHERE t.y IN (SELECT `t`.y FROM shop.`t` WHERE t.z = 1)",
                "SELECT t.x FROM t WHERE t.y IN (SELECT `t`.y FROM `#1` AS `t` WHERE t.z = 1)",
            ),
            (
                "SELECT x FROM t UNION SELECT x FROM t ORDER BY x",
                "SELECT x FROM t UNION SELECT x FROM `#1` AS `t` ORDER BY x",
            ),
            (
                "SELECT 1 FROM u JOIN t ON 1 JOIN t AS b USING (x) NATURAL JOIN u `c`",
                "SELECT 1 FROM u JOIN t ON 1 JOIN `#1` AS b USING (x) NATURAL JOIN `#2` `c`",
            ),
            (
                "WITH t AS (SELECT 1 FROM u) SELECT * FROM t, t b, other.u, u",
                "WITH t AS (SELECT 1 FROM u) SELECT * FROM t, t b, other.u, `#1` AS `u`",
            ),
        ] {
            assert_eq!(of(text, None, None), wanted, "{text}");
        }
    }

    #[test]
    fn a_table_that_is_written_keeps_its_name() {
        let write = "UPDATE t SET x = (SELECT MAX(y) FROM u) WHERE z IN (SELECT z FROM u) OR z = \
                     (SELECT 1 FROM t)";
        assert_eq!(
            of(write, Some(0), None),
            "UPDATE t SET x = (SELECT MAX(y) FROM u) WHERE z IN (SELECT z FROM `#1` AS `u`) OR z \
             = (SELECT 1 FROM t)"
        );
        for (text, wanted) in [
            (
                "INSERT INTO t (x) SELECT x FROM t, u ON DUPLICATE KEY UPDATE x = \
                 (SELECT 1 FROM u)",
                "INSERT INTO t (x) SELECT x FROM `#1` AS `t`, u ON DUPLICATE KEY UPDATE x = \
                 (SELECT 1 FROM u)",
            ),
            (
                "INSERT INTO t VALUES ((SELECT MAX(x) FROM t))",
                "INSERT INTO t VALUES ((SELECT MAX(x) FROM t))",
            ),
        ] {
            assert_eq!(of(text, None, Some(0)), wanted, "{text}");
        }
    }
}
