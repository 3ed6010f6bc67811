//! Types that have no fixed number: enumerations of users, and types of PostgreSQL's own
//! extensions.
//!
//! A rule names one; its number in `pg_type` and its labels are those of the database at hand. A
//! type is copied freely, so each that was met is remembered as long as the process runs.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::{Base, Limits};

/// A type that has no fixed number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedType {
    /// The schema that it is in. Empty in the rule of a type of an extension, which a database has
    /// once at most.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NamedKind,
    /// What it is in a database. None: that is not known, as in a rule.
    pub known: Option<KnownType>,
}

/// What such a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedKind {
    /// An enumeration of users.
    Enumeration,
    /// The type of the extension of its name.
    Extension(ExtensionType),
}

/// A type of one of PostgreSQL's own extensions, which has the extension's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtensionType {
    /// Texts that are compared without regard to case. Values are sent as their texts.
    Citext,
    /// Keys with texts.
    Hstore,
}

/// Numbers of types that PostgreSQL has none of (its own begin with 16): they stand in sealed
/// values for types without a fixed number, and for their arrays.
const SEALED_HSTORE: [u32; 2] = [1, 2];
const SEALED_CITEXT: [u32; 2] = [3, 4];
/// `anyenum`, and `anyarray`.
const SEALED_ENUM: [u32; 2] = [3500, 2277];

impl ExtensionType {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Citext, Self::Hstore];

    /// The name of the type and of its extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Citext => "citext",
            Self::Hstore => "hstore",
        }
    }

    /// The type of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }
}

impl NamedKind {
    /// What stands in sealed values for the type, and for its arrays.
    pub(super) fn sealed_numbers(self) -> [u32; 2] {
        match self {
            Self::Enumeration => SEALED_ENUM,
            Self::Extension(ExtensionType::Citext) => SEALED_CITEXT,
            Self::Extension(ExtensionType::Hstore) => SEALED_HSTORE,
        }
    }
}

/// A type in a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KnownType {
    /// Its number in `pg_type`.
    pub oid: u32,
    /// The number of its array type.
    pub array_oid: u32,
    /// The labels of an enumeration, in their order.
    pub labels: Vec<String>,
}

/// How many are remembered.
const TYPES_MAX: usize = 16_384;
/// Bytes that are remembered of their names and labels.
const SIZE_MAX: usize = 16 << 20;
/// Bytes of a name or label at most (`NAMEDATALEN` less one).
const NAME_SIZE_MAX: usize = 63;

/// Those that were met.
#[derive(Default)]
struct Known {
    all: Vec<&'static (NamedType, Base)>,
    places: HashMap<&'static NamedType, usize>,
    /// The last that was met with a number, or whose array has it.
    numbers: HashMap<u32, usize>,
    size: usize,
}

static KNOWN: RwLock<Option<Known>> = RwLock::new(None);

fn known() -> RwLockReadGuard<'static, Option<Known>> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner)
}

/// The type of a place.
pub(super) fn at(place: usize) -> Option<&'static (NamedType, Base)> {
    known().as_ref()?.all.get(place).copied()
}

/// The place of the last that was met with this number or the array of this number.
pub(super) fn of_oid(oid: u32) -> Option<usize> {
    known().as_ref()?.numbers.get(&oid).copied()
}

/// The place of a type that was met before.
pub(super) fn met(own: &NamedType) -> Option<usize> {
    known().as_ref()?.places.get(own).copied()
}

/// The place of a type, which is remembered. None: there are too many.
pub(super) fn place(own: NamedType) -> Option<usize> {
    let met = known().as_ref().and_then(|known| known.find(&own));
    if met.is_some() {
        return met;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().add(own)
}

impl Known {
    /// The place of one that was met last with its number.
    fn find(&self, named: &NamedType) -> Option<usize> {
        let place = *self.places.get(named)?;
        let is_last = |own: &KnownType| self.numbers.get(&own.oid) == Some(&place);
        named.known.as_ref().is_none_or(is_last).then_some(place)
    }

    fn add(&mut self, named: NamedType) -> Option<usize> {
        let place = match self.places.get(&named) {
            Some(place) => *place,
            None => self.remember(named)?,
        };
        if let Some(own) = &self.all[place].0.known {
            self.numbers.insert(own.oid, place);
            self.numbers.insert(own.array_oid, place);
        }
        Some(place)
    }

    fn remember(&mut self, named: NamedType) -> Option<usize> {
        let labels = named.known.iter().flat_map(|own| &own.labels);
        let sizes = labels.map(String::len).sum::<usize>();
        let size = self.size + sizes + named.schema.len() + named.name.len();
        if self.all.len() == TYPES_MAX || size > SIZE_MAX {
            return None;
        }
        self.size = size;
        let place = self.all.len();
        let base = base(&named);
        let own: &'static (NamedType, Base) = Box::leak(Box::new((named, base)));
        self.all.push(own);
        self.places.insert(&own.0, place);
        Some(place)
    }
}

fn base(own: &NamedType) -> Base {
    let known = own.known.as_ref();
    let name: &'static str = own.name.clone().leak();
    Base {
        name: written(own).leak(),
        others: vec![name].leak(),
        oid: known.map_or(0, |own| own.oid),
        array_oid: known.map_or(0, |own| own.array_oid),
        size: match own.kind {
            NamedKind::Enumeration => 4,
            NamedKind::Extension(_) => -1,
        },
        limits: Limits::None,
        is_alone: true,
    }
}

/// `enum public.mood`, `hstore`
fn written(own: &NamedType) -> String {
    if let NamedKind::Extension(own) = own.kind {
        return own.name().to_owned();
    }
    let part = |name: &str| match is_bare(name) {
        true => name.to_owned(),
        false => quoted(name),
    };
    let (schema, name) = (part(&own.schema), part(&own.name));
    format!("enum {schema}.{name}")
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether a rule may write a name without quotes. It means letters as they are, as in the
/// catalogue: names that Prisma gives have capitals.
fn is_bare(name: &str) -> bool {
    let is_part = |letter: char| letter == '_' || letter == '$' || letter.is_alphanumeric();
    !name.is_empty() && name.chars().all(is_part)
}

/// Reads `enum mood`, with a schema before the name if it is not `public`, or `hstore`.
pub(super) fn read(text: &str) -> Option<NamedType> {
    let text = text.trim();
    match ExtensionType::of_name(&text.to_ascii_lowercase()) {
        Some(own) => Some(NamedType {
            schema: String::new(),
            name: own.name().to_owned(),
            kind: NamedKind::Extension(own),
            known: None,
        }),
        None => NamedType::parse(text.strip_prefix("enum ")?.trim_start()),
    }
}

impl NamedType {
    /// Reads the name of an enumeration, in double quotes if it has other characters than letters
    /// and digits, with a schema before it if it is not in `public`.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, rest) = read_name(text)?;
        let (schema, name) = match rest.strip_prefix('.') {
            Some(rest) => {
                let (name, rest) = read_name(rest)?;
                rest.is_empty().then_some((first, name))?
            }
            None => rest.is_empty().then(|| ("public".to_owned(), first))?,
        };
        let are_names = [&schema, &name].iter().all(|name| {
            let is_named = !name.is_empty() && name.len() <= NAME_SIZE_MAX;
            is_named && !name.contains('\0')
        });
        are_names.then_some(NamedType {
            schema,
            name,
            kind: NamedKind::Enumeration,
            known: None,
        })
    }
}

/// A name, in quotes or not, and what follows it.
fn read_name(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find('.').unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        return is_bare(name).then(|| (name.to_owned(), rest));
    };
    let mut name = String::new();
    loop {
        let (part, behind) = rest.split_once('"')?;
        name.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (text, schema, name) in [
            ("enum mood", "public", "mood"),
            ("enum own.Mood", "own", "Mood"),
            ("enum \"my own\".\"a \"\"b\"\".c\"", "my own", "a \"b\".c"),
        ] {
            let own = read(text).expect("an enumeration");
            assert_eq!((own.schema.as_str(), own.name.as_str()), (schema, name));
            assert_eq!(read(&written(&own)), Some(own), "{text}");
        }
        for own in ExtensionType::ALL {
            let read = read(own.name()).expect("a type of an extension");
            assert_eq!(read.kind, NamedKind::Extension(own));
            assert_eq!(written(&read), own.name());
        }
    }

    #[test]
    fn other_texts_are_none() {
        let long = format!("enum {}", "x".repeat(NAME_SIZE_MAX + 1));
        for text in [
            "enum",
            "enum ",
            "enum a.b.c",
            "enum a b",
            "enum a.",
            "enum .a",
            "enum \"a",
            "enum \"\"",
            "mood",
            "own.hstore",
            &long,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_means_what_was_met_last_with_it() {
        let own = |name: &str, labels: &[&str]| NamedType {
            schema: "public".to_owned(),
            name: name.to_owned(),
            kind: NamedKind::Enumeration,
            known: Some(KnownType {
                oid: 4_000_000_000,
                array_oid: 4_000_000_001,
                labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            }),
        };
        let first = place(own("first", &["a"])).expect("few are known");
        assert_eq!(of_oid(4_000_000_000), Some(first));
        let second = place(own("second", &["a"])).expect("few are known");
        assert_ne!(second, first);
        assert_eq!(of_oid(4_000_000_001), Some(second));
        assert_eq!(place(own("first", &["a"])), Some(first));
        assert_eq!(of_oid(4_000_000_000), Some(first));
        let longer = place(own("first", &["a", "b"]));
        assert_ne!(longer, Some(first));
    }
}
