//! Keys, indexes and checks of the server over protected columns, and whether they work on
//! ciphertext.

use std::collections::{BTreeMap, HashSet};

use super::{Answer, Building, Name};
use crate::dialect::postgres::table_guard;
use crate::schema::Column;
use crate::schema::cells::{number, numbers, text, truth};
use crate::{ColumnId, Mode, ProtectedColumn};

impl Building<'_> {
    pub(super) fn name(&self, oid: u32) -> Option<Name> {
        self.names.get(&oid).cloned()
    }

    /// The protected column at a number of the catalogue.
    pub(super) fn protected_at(&self, oid: u32, column: i16) -> Option<&ProtectedColumn> {
        let mut columns = self.table(oid)?.columns.iter();
        let id = columns.find(|own| own.number == column)?.protected?;
        Some(self.schema.column(id))
    }

    pub(super) fn read_indexes(&mut self, answer: &Answer) {
        for row in answer {
            let (index, index_name): (u32, String) = (number(row, 0), text(row, 1));
            let (relation, columns): (u32, Vec<i16>) = (number(row, 2), numbers(row, 3));
            let keys = number::<usize>(row, 4).min(columns.len());
            let unique = truth(row, 5);
            for (position, column) in columns.iter().enumerate() {
                let Some(protected) = self.protected_at(relation, *column) else {
                    continue;
                };
                let (id, mode, name) = (protected.id, protected.mode, protected.column.clone());
                let number = i16::try_from(position + 1).expect("an index has at most 32 columns");
                self.schema
                    .catalogue
                    .index_columns
                    .push((index, number, id));
                if unique && position < keys && mode == Mode::Random {
                    self.unique_over_random(relation, &name, &index_name);
                }
            }
            if unique && truth(row, 6) {
                self.add_key(relation, &columns[..keys], truth(row, 7));
            }
        }
    }

    fn unique_over_random(&mut self, relation: u32, column: &str, index: &str) {
        if let Some(table) = self.name(relation) {
            self.error(
                &table,
                column,
                format!(
                    "is in the unique index {index}, and equal values of mode \"random\" are not \
                     equal in the server: use mode \"equality\", or drop the index"
                ),
            );
        }
    }

    fn add_key(&mut self, relation: u32, columns: &[i16], is_primary: bool) {
        if let Some(table) = self.table_mut(relation) {
            let index = |number: &i16| {
                let mut own = table.columns.iter();
                own.position(|column| column.number == *number)
            };
            if let Some(key) = columns.iter().map(index).collect() {
                table.unique_keys.push(key);
                table.has_primary_key |= is_primary;
            }
        }
    }

    pub(super) fn check_constraints(&mut self, answer: &Answer) {
        for row in answer {
            if self.is_guard(row) || self.understood.contains(&number(row, 6)) {
                continue;
            }
            let (constraint, kind) = (text(row, 0), text(row, 1));
            let (relation, columns): (u32, Vec<i16>) = (number(row, 2), numbers(row, 3));
            let (referred, referred_columns): (u32, Vec<i16>) = (number(row, 4), numbers(row, 5));
            let Some(table) = self.name(relation) else {
                continue;
            };
            for (position, column) in columns.iter().enumerate() {
                let own = self.protected_at(relation, *column);
                let problem = if kind == "f" {
                    let other = referred_columns.get(position).copied().unwrap_or_default();
                    let is_given_on = text(row, 10) == "c";
                    foreign_key_problem(own, self.protected_at(referred, other))
                        .or_else(|| own.and_then(|own| own.cascade_problem(is_given_on)))
                } else if own.is_some() && table_guard::is_name(&constraint) {
                    Some(
                        "it has the name of a guard, and is none for these columns by these rules: \
                         drop it at the server (ALTER TABLE … DROP CONSTRAINT …), then run \
                         `strongroom columns guard`",
                    )
                } else if own.is_some_and(|own| own.has_check(&constraint)) {
                    Some(
                        "it has the name of a check of the rule, and is not what stands for it: \
                         drop it at the server (ALTER TABLE … DROP CONSTRAINT …), and add it \
                         through the proxy",
                    )
                } else if own.is_some() {
                    Some("the server would check ciphertext: drop it")
                } else {
                    None
                };
                if let Some(problem) = problem {
                    let column = self.column_name(relation, *column);
                    let message = format!("is in the constraint {constraint}: {problem}");
                    let other = referred_columns.get(position).copied().unwrap_or_default();
                    let other = (self.name(referred), self.column_name(referred, other));
                    let is_own = self.is_in_clear(&table, &column)
                        || (other.0).is_some_and(|table| self.is_in_clear(&table, &other.1));
                    self.note_error(&table, &column, message, is_own);
                }
            }
        }
    }

    fn column_name(&self, relation: u32, number: i16) -> String {
        let columns = self.table(relation).map(|table| table.columns.as_slice());
        let found = |columns: &[Column]| {
            let mut own = columns.iter();
            own.find(|column| column.number == number)
                .map(|column| column.name.clone())
        };
        columns.and_then(found).unwrap_or_else(|| "*".to_owned())
    }

    /// Ciphertexts have no meaning for bounds and lists; hashes of equal values are equal.
    pub(super) fn check_partitions(&mut self, answer: &Answer) {
        for row in answer {
            let (relation, strategy): (u32, String) = (number(row, 0), text(row, 6));
            let Some(table) = self.name(relation) else {
                continue;
            };
            for column in numbers(row, 7) {
                let Some(protected) = self.protected_at(relation, column) else {
                    continue;
                };
                let by_hash = strategy == "h" && protected.mode != Mode::Random;
                let name = protected.column.clone();
                if !by_hash {
                    self.error(
                        &table,
                        &name,
                        "decides on the partition of a row: only PARTITION BY HASH over a column \
                         of mode \"equality\" or \"order\" works on ciphertext",
                    );
                }
            }
        }
    }

    /// Names defaults, generated columns and policies over protected columns; returns for each
    /// view the relations that it reads.
    pub(super) fn check_dependencies(&mut self, answer: &Answer) -> BTreeMap<u32, HashSet<u32>> {
        let mut views: BTreeMap<u32, HashSet<u32>> = BTreeMap::new();
        for row in answer {
            let (reader, read): (u32, u32) = (number(row, 1), number(row, 2));
            let kind = text(row, 0);
            if kind == "view" {
                views.entry(reader).or_default().insert(read);
                continue;
            }
            let Some(protected) = self.protected_at(read, number(row, 3)) else {
                continue;
            };
            let id: ColumnId = protected.id;
            // Its own default has been named with the column.
            let own_default = kind == "default" && self.has_default(id);
            if let (false, Some(table)) = (own_default, self.name(read)) {
                let column = self.schema.column(id).column.clone();
                let problem = if kind == "default" {
                    "a generated column is computed from it, and would hold what is computed from \
                     ciphertext: drop that column"
                } else {
                    "a policy of row-level security reads it, and sees ciphertext: drop the policy"
                };
                self.error(&table, &column, problem);
            }
        }
        views
    }

    fn has_default(&self, id: ColumnId) -> bool {
        let protected = self.schema.column(id);
        let name = (protected.schema.clone(), protected.table.clone());
        let columns = self
            .schema
            .tables
            .get(&name)
            .map(|table| table.columns.as_slice());
        let own = columns
            .unwrap_or_default()
            .iter()
            .find(|own| own.protected == Some(id));
        own.is_some_and(|own| own.has_default)
    }
}

/// Why a foreign key between two columns cannot work, where it cannot.
pub(crate) fn foreign_key_problem(
    own: Option<&ProtectedColumn>,
    other: Option<&ProtectedColumn>,
) -> Option<&'static str> {
    match (own, other) {
        (None, None) => None,
        (Some(own), Some(other)) => {
            if own.mode == Mode::Random || other.mode == Mode::Random {
                Some("a foreign key needs mode \"equality\" or \"order\" on both sides")
            } else if own.domain != other.domain {
                Some("give both columns of the foreign key the same `domain`")
            } else {
                None
            }
        }
        (Some(_), None) => {
            Some("the column that it refers to is not protected: protect both or none")
        }
        (None, Some(_)) => Some("it refers to a protected column: protect both or none"),
    }
}
