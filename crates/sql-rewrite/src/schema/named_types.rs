//! Types without fixed numbers that the finisher gets too: enumerations of users, and types of
//! PostgreSQL's own extensions.

use std::collections::{BTreeMap, BTreeSet};

use column_value::{ExtensionType, KnownType, LogicalType, NamedKind, NamedType, OpaqueType};

use super::Answer;
use super::cells::{number, text};

/// How many of a database are known, and labels of all of them. With more, none is.
const TYPES_MAX: usize = 500;
const LABELS_MAX: usize = 10_000;

/// Such types of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedTypes {
    /// By schema and name.
    known: BTreeMap<(String, String), OpaqueType>,
    /// Other types, by schema and name, that have the name of one.
    others: BTreeSet<(String, String)>,
}

impl NamedTypes {
    /// Reads the catalogue's answer.
    pub(crate) fn read(answer: &Answer) -> Self {
        let mut types = Self::default();
        let mut read: BTreeMap<(String, String), KnownType> = BTreeMap::new();
        let mut kinds: BTreeMap<(String, String), NamedKind> = BTreeMap::new();
        for row in answer {
            let name = (text(row, 0), text(row, 1));
            // SQL of ours looks for these characters in names of types.
            let is_plain = ![&name.0, &name.1]
                .iter()
                .any(|name| name.contains(['(', ')', '[', ']']));
            let kind = match text(row, 2).as_str() {
                "e" => Some(NamedKind::Enumeration),
                "extension" => ExtensionType::of_name(&name.1).map(NamedKind::Extension),
                _ => None,
            };
            let Some(kind) = kind.filter(|_| is_plain) else {
                types.others.insert(name);
                continue;
            };
            kinds.insert(name.clone(), kind);
            let known = read.entry(name).or_insert_with(|| KnownType {
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
        types.others.extend(empty.into_keys());
        let labels: usize = read.values().map(|own| own.labels.len()).sum();
        if read.len() > TYPES_MAX || labels > LABELS_MAX {
            types.others.extend(read.into_keys());
            return types;
        }
        for (place, known) in read {
            let own = NamedType {
                kind: kinds[&place],
                schema: place.0.clone(),
                name: place.1.clone(),
                known: None,
            };
            // Statements name it without what only the database knows.
            let is_met = OpaqueType::named_type(own.clone()).is_some();
            let known = Some(known);
            match OpaqueType::named_type(NamedType { known, ..own }) {
                Some(own) if is_met => drop(types.known.insert(place, own)),
                _ => drop(types.others.insert(place)),
            }
        }
        types
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
        let element = text.strip_suffix("[]");
        let own = NamedType::parse(element.unwrap_or(text))?;
        let found = self.get(&own.schema, &own.name)?;
        Some(match element {
            Some(_) => found.array(),
            None => found,
        })
    }

    /// How SQL names a type that the server has printed, or an array of one.
    pub(crate) fn sql_name(&self, text: &str) -> Option<String> {
        self.printed(text).map(OpaqueType::sql_name)
    }

    /// The type of an extension, in whatever schema it is.
    fn of_extension(&self, extension: ExtensionType) -> Option<OpaqueType> {
        let kind = NamedKind::Extension(extension);
        let is_own = |own: &OpaqueType| own.named().is_some_and(|own| own.kind == kind);
        self.all().find(is_own)
    }

    /// The type of a rule, as the database has it. None: it is not there.
    pub(crate) fn of_rule(&self, logical: LogicalType) -> Option<LogicalType> {
        let Some(opaque) = logical.opaque() else {
            return Some(logical);
        };
        let found = match opaque.named() {
            Some(own) => match own.kind {
                NamedKind::Enumeration => self.get(&own.schema, &own.name),
                NamedKind::Extension(extension) => self.of_extension(extension),
            },
            None => return Some(logical),
        };
        let found = match opaque.is_array() {
            true => found?.array(),
            false => found?,
        };
        Some(LogicalType::Opaque(found))
    }
}
