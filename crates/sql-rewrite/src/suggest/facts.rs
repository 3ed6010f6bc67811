//! What the catalogues say about columns that might be protected.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Answer, LogicalType, Place, parse_default, text};
use crate::dialect::postgres::table_checks;
use crate::schema::NamedTypes;
use crate::schema::cells::{number, numbers, truth};
use sql_plan::{DEFAULT_SCHEMA, Draws};

/// Where rows of `COLUMNS` have the type.
pub(super) const COLUMN_TYPE: usize = 5;

/// What is asked beside [`crate::QUERIES`].
pub const QUERIES: [&str; 4] = [FILLED, COMPUTED, PRIMARY_KEYS, CHECKS];

/// Columns that the server fills: relation, number, how an identity is made, expression, the
/// sequence that belongs to the column.
const FILLED: &str = "\
SELECT a.attrelid::pg_catalog.text, a.attnum::pg_catalog.text, a.attidentity::pg_catalog.text,
       pg_catalog.pg_get_expr(d.adbin, d.adrelid),
       pg_catalog.pg_get_serial_sequence(
         a.attrelid::pg_catalog.regclass::pg_catalog.text, a.attname::pg_catalog.text)
  FROM pg_catalog.pg_attribute a
  LEFT JOIN pg_catalog.pg_attrdef d
    ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid AND d.adnum OPERATOR(pg_catalog.=) a.attnum
 WHERE a.attrelid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
   AND (a.attidentity OPERATOR(pg_catalog.<>) '' OR d.oid IS NOT NULL)
 ORDER BY a.attrelid, a.attnum";

/// Columns that an index of expressions or with a condition reads, or one of another kind than
/// btree and hash: relation, number, index.
const COMPUTED: &str = "\
SELECT DISTINCT d.refobjid::pg_catalog.text, d.refobjsubid::pg_catalog.text,
       c.relname::pg_catalog.text
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
  JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam
  JOIN pg_catalog.pg_depend d
    ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
   AND d.objid OPERATOR(pg_catalog.=) i.indexrelid
   AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
   AND d.refobjid OPERATOR(pg_catalog.=) i.indrelid
 WHERE d.refobjsubid OPERATOR(pg_catalog.>) 0
   AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL
        OR m.amname OPERATOR(pg_catalog.<>) ALL ('{btree,hash}'::pg_catalog.name[]))
 ORDER BY 1, 2, 3";

/// Primary keys: relation, columns.
const PRIMARY_KEYS: &str = "\
SELECT i.indrelid::pg_catalog.text, i.indkey::pg_catalog.text
  FROM pg_catalog.pg_index i
 WHERE i.indisprimary AND i.indrelid OPERATOR(pg_catalog.>=) '16384'::pg_catalog.oid
 ORDER BY i.indrelid";

/// Checks that children have too: number, expression.
const CHECKS: &str = "\
SELECT k.oid::pg_catalog.text, pg_catalog.pg_get_expr(k.conbin, k.conrelid)
  FROM pg_catalog.pg_constraint k
 WHERE k.contype OPERATOR(pg_catalog.=) 'c' AND k.conrelid OPERATOR(pg_catalog.<>) 0
   AND NOT k.connoinherit AND k.convalidated
 ORDER BY k.oid";

/// One column of a table.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub number: u16,
    /// The name of its type, as in a rule.
    type_name: String,
    /// Why it cannot be protected, if that is known without trying.
    reason: Option<String>,
    /// The expression of its default.
    default: Option<String>,
    /// Check constraints that the finisher can evaluate.
    pub checks: BTreeMap<String, String>,
    /// What needs equality.
    pub needs: BTreeSet<String>,
    /// Whether it is part of a primary key or of a foreign key.
    pub is_key: bool,
}

impl Found {
    /// Its type and its default, or why it gets no rule.
    pub fn left_out(&self) -> Result<(LogicalType, Option<String>), String> {
        if let Some(reason) = &self.reason {
            return Err(reason.clone());
        }
        let logical: LogicalType = match self.type_name.parse() {
            Ok(logical) => logical,
            Err(_) => return Err(format!("its type {} cannot be protected", self.type_name)),
        };
        let Some(expression) = &self.default else {
            return Ok((logical, None));
        };
        let is_drawn = Draws::parse(expression).is_some();
        let default = match is_drawn {
            true => expression,
            false => without_cast(expression),
        };
        match parse_default(default, logical) {
            Ok(_) => Ok((logical, Some(default.to_owned()))),
            Err(_) => Err("its default is computed by the server".to_owned()),
        }
    }
}

/// A constant without the cast that the server prints behind it.
fn without_cast(expression: &str) -> &str {
    match expression.rsplit_once("'::") {
        Some((constant, _)) if constant.starts_with('\'') => &expression[..=constant.len()],
        _ => expression
            .split_once("::")
            .map_or(expression, |(constant, _)| constant),
    }
}

/// The name of a table as rules write it.
pub(super) fn rule_name(schema: &str, table: &str) -> String {
    match schema == DEFAULT_SCHEMA && !table.contains('.') {
        true => table.to_owned(),
        false => format!("{schema}.{table}"),
    }
}

/// The catalogues, as far as they matter here.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub columns: BTreeMap<Place, Found>,
    /// Columns that refer, and those referred to.
    pub foreign_keys: Vec<(Place, Place)>,
    /// The numbers of the constraints among [`Found::checks`].
    pub checked: BTreeSet<String>,
    places: HashMap<(u32, i16), Place>,
}

impl Facts {
    pub fn read(answers: &[Answer], more: &[Answer]) -> Self {
        let mut facts = Self::default();
        facts.read_columns(answers);
        facts.read_filled(&more[0]);
        for row in &more[1] {
            let reason = format!(
                "the index {} computes from it, has it in its condition, or is of a kind that \
                 does not work on ciphertext",
                text(row, 2)
            );
            facts.forbid(number(row, 0), number(row, 1), &reason);
        }
        for row in &more[2] {
            for column in numbers(row, 1) {
                if let Some(found) = facts.found(number(row, 0), column) {
                    found.is_key = true;
                }
            }
        }
        facts.read_indexes(&answers[3]);
        facts.read_constraints(&answers[5], &more[3]);
        facts.read_partitions(&answers[1]);
        facts
    }

    fn found(&mut self, relation: u32, column: i16) -> Option<&mut Found> {
        self.columns.get_mut(self.places.get(&(relation, column))?)
    }

    fn forbid(&mut self, relation: u32, column: i16, reason: &str) {
        if let Some(found) = self.found(relation, column) {
            found.reason.get_or_insert_with(|| reason.to_owned());
        }
    }

    fn need(&mut self, relation: u32, column: i16, what: String) {
        if let Some(found) = self.found(relation, column) {
            found.needs.insert(what);
        }
    }

    /// Columns of tables that have no parent: rules of a parent hold for its children.
    fn read_columns(&mut self, answers: &[Answer]) {
        let children: HashSet<u32> = answers[4].iter().map(|row| number(row, 0)).collect();
        let relations = answers[1].iter();
        let tables: HashMap<u32, (String, bool)> = relations
            .filter(|row| matches!(text(row, 3).as_str(), "r" | "p"))
            .map(|row| {
                let name = rule_name(&text(row, 1), &text(row, 2));
                (number(row, 0), (name, truth(row, 4)))
            })
            .filter(|(oid, _)| !children.contains(oid))
            .collect();
        let types = NamedTypes::read(&answers[10]);
        for row in &answers[2] {
            let (relation, in_table): (u32, i16) = (number(row, 0), number(row, 1));
            let Some((table, has_triggers)) = tables.get(&relation) else {
                continue;
            };
            let collation = text(row, 8);
            let reason = if *has_triggers {
                Some("triggers or rules of the table would see ciphertext".to_owned())
            } else if truth(row, 6) {
                Some("the server computes it from other columns".to_owned())
            } else if collation.is_empty() {
                None
            } else {
                Some(format!("has the collation {collation}"))
            };
            let printed = text(row, COLUMN_TYPE);
            let place = (table.clone(), text(row, 2));
            let found = Found {
                number: in_table.unsigned_abs(),
                type_name: match types.printed(&printed) {
                    Some(own) => own.to_string(),
                    None => printed,
                },
                reason,
                ..Found::default()
            };
            self.places.insert((relation, in_table), place.clone());
            self.columns.insert(place, found);
        }
    }

    fn read_filled(&mut self, answer: &Answer) {
        for row in answer {
            let (relation, column) = (number(row, 0), number(row, 1));
            let default = match (text(row, 2).as_str(), &row[3]) {
                ("a", _) => Some("GENERATED ALWAYS AS IDENTITY".to_owned()),
                ("d", _) => Some("GENERATED BY DEFAULT AS IDENTITY".to_owned()),
                (_, Some(drawn)) if drawn.contains("nextval(") && !text(row, 4).is_empty() => {
                    Some("serial".to_owned())
                }
                (_, default) => default.clone(),
            };
            if let Some(found) = self.found(relation, column) {
                found.default = default;
            }
        }
    }

    fn read_indexes(&mut self, answer: &Answer) {
        for row in answer {
            let (relation, columns): (u32, Vec<i16>) = (number(row, 2), numbers(row, 3));
            let keys = number::<usize>(row, 4).min(columns.len());
            let kind = if truth(row, 5) {
                "unique index"
            } else {
                "index"
            };
            for column in &columns[..keys] {
                self.need(relation, *column, format!("{kind} {}", text(row, 1)));
            }
        }
    }

    fn read_constraints(&mut self, answer: &Answer, checks: &Answer) {
        let texts: HashMap<String, String> = checks
            .iter()
            .map(|row| (text(row, 0), text(row, 1)))
            .collect();
        for row in answer {
            let (name, kind) = (text(row, 0), text(row, 1));
            let (relation, columns): (u32, Vec<i16>) = (number(row, 2), numbers(row, 3));
            let (referred, others): (u32, Vec<i16>) = (number(row, 4), numbers(row, 5));
            for (position, column) in columns.iter().enumerate() {
                match kind.as_str() {
                    "f" => self.note_reference(
                        (relation, *column),
                        (referred, others.get(position).copied().unwrap_or_default()),
                        &name,
                    ),
                    "c" => {
                        let own = texts.get(&text(row, 6)).map_or("", String::as_str);
                        let kept = match columns.len() {
                            1 => self.keep_check((relation, *column), &name, own),
                            _ => Err("it reads several columns".to_owned()),
                        };
                        match kept {
                            Ok(()) => drop(self.checked.insert(text(row, 6))),
                            Err(wrong) => {
                                let reason =
                                    format!("the check {name} would see ciphertext: {wrong}");
                                self.forbid(relation, *column, &reason);
                            }
                        }
                    }
                    _ => {
                        let reason = format!("the constraint {name} would see ciphertext");
                        self.forbid(relation, *column, &reason);
                    }
                }
            }
        }
    }

    /// Keeps a check over one column for the finisher, or says why it cannot evaluate it.
    fn keep_check(&mut self, place: (u32, i16), name: &str, own: &str) -> Result<(), String> {
        let column = self.places.get(&place).map(|(_, column)| column.clone());
        // Columns of children are those of their parents.
        let Some(column) = column else {
            return Ok(());
        };
        let Some(found) = self.found(place.0, place.1) else {
            return Ok(());
        };
        // A column that is left out needs none.
        if let Ok((logical, default)) = found.left_out() {
            let is_drawn = default.is_some_and(|own| Draws::parse(&own).is_some());
            if is_drawn {
                return Err("its values come from a sequence".to_owned());
            }
            table_checks::read((&column, logical), name, own)?;
            found.checks.insert(name.to_owned(), own.to_owned());
        }
        Ok(())
    }

    fn note_reference(&mut self, own: (u32, i16), other: (u32, i16), name: &str) {
        for (relation, column) in [own, other] {
            self.need(relation, column, format!("foreign key {name}"));
            if let Some(found) = self.found(relation, column) {
                found.is_key = true;
            }
        }
        if let (Some(own), Some(other)) = (self.places.get(&own), self.places.get(&other)) {
            self.foreign_keys.push((own.clone(), other.clone()));
        }
    }

    fn read_partitions(&mut self, answer: &Answer) {
        for row in answer {
            if text(row, 6) == "h" {
                for column in numbers(row, 7) {
                    self.need(number(row, 0), column, "partition key".to_owned());
                }
            }
            // An expression, whose columns are not told.
            if numbers(row, 7).contains(&0) {
                let relation: u32 = number(row, 0);
                let all: Vec<(u32, i16)> = self.places.keys().copied().collect();
                for (own, column) in all.into_iter().filter(|(own, _)| *own == relation) {
                    self.forbid(
                        own,
                        column,
                        "an expression decides on the partition of a row",
                    );
                }
            }
        }
    }
}
