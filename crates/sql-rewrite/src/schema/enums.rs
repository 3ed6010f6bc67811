//! Enumerations of users, which the finisher gets too.

use std::collections::{BTreeMap, BTreeSet};

use column_value::{EnumType, KnownEnum, LogicalType, OpaqueType};

use super::Answer;
use super::cells::{number, text};

/// How many of a database are known, and labels of all of them. With more, none is.
const ENUMS_MAX: usize = 500;
const LABELS_MAX: usize = 10_000;

/// Enumerations of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enums {
    /// By schema and name.
    known: BTreeMap<(String, String), OpaqueType>,
    /// Other types, by schema and name, that have the name of an enumeration.
    others: BTreeSet<(String, String)>,
}

impl Enums {
    /// Reads the catalogue's answer.
    pub(crate) fn read(answer: &Answer) -> Self {
        let mut enums = Self::default();
        let mut read: BTreeMap<(String, String), KnownEnum> = BTreeMap::new();
        for row in answer {
            let name = (text(row, 0), text(row, 1));
            // SQL of ours looks for these characters in names of types.
            let is_plain = ![&name.0, &name.1]
                .iter()
                .any(|name| name.contains(['(', ')', '[', ']']));
            if text(row, 2) != "e" || !is_plain {
                enums.others.insert(name);
                continue;
            }
            let known = read.entry(name).or_insert_with(|| KnownEnum {
                oid: number(row, 3),
                array_oid: number(row, 4),
                labels: Vec::new(),
            });
            known.labels.extend(row.get(5).cloned().flatten());
        }
        // A value that is not known yet is an empty one elsewhere.
        let (read, empty): (BTreeMap<_, _>, BTreeMap<_, _>) = read
            .into_iter()
            .partition(|(_, own)| own.labels.iter().all(|label| !label.is_empty()));
        enums.others.extend(empty.into_keys());
        let labels: usize = read.values().map(|own| own.labels.len()).sum();
        if read.len() > ENUMS_MAX || labels > LABELS_MAX {
            enums.others.extend(read.into_keys());
            return enums;
        }
        for ((schema, name), known) in read {
            let own = OpaqueType::enum_type(EnumType {
                schema: schema.clone(),
                name: name.clone(),
                known: Some(known),
            });
            match own {
                Some(own) => drop(enums.known.insert((schema, name), own)),
                None => drop(enums.others.insert((schema, name))),
            }
        }
        enums
    }

    /// All of them, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = OpaqueType> {
        self.known.values().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether a schema has one.
    pub fn has_in(&self, schema: &str) -> bool {
        self.known.keys().any(|(own, _)| own == schema)
    }

    /// Whether another type has the name of one.
    pub(crate) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// The one of a schema and a name.
    pub(crate) fn get(&self, schema: &str, name: &str) -> Option<OpaqueType> {
        self.known
            .get(&(schema.to_owned(), name.to_owned()))
            .copied()
    }

    /// Whether a schema has another type of this name.
    pub(crate) fn has_other(&self, schema: &str, name: &str) -> bool {
        self.others.contains(&(schema.to_owned(), name.to_owned()))
    }

    /// The type that the server has printed with its schema. None: it is none of them.
    pub(crate) fn printed(&self, text: &str) -> Option<OpaqueType> {
        let own = EnumType::parse(text)?;
        self.get(&own.schema, &own.name)
    }

    /// How SQL names a type that the server has printed, or an array of one.
    pub(crate) fn sql_name(&self, text: &str) -> Option<String> {
        let (element, brackets) = match text.strip_suffix("[]") {
            Some(element) => (element, "[]"),
            None => (text, ""),
        };
        let own = self.printed(element)?;
        Some(format!("{}{brackets}", own.sql_name()))
    }

    /// The type of a rule, as the database has it. None: it is not there.
    pub(crate) fn of_rule(&self, logical: LogicalType) -> Option<LogicalType> {
        match logical.opaque().and_then(OpaqueType::enumeration) {
            Some(own) => self.get(&own.schema, &own.name).map(LogicalType::Opaque),
            None => Some(logical),
        }
    }
}
