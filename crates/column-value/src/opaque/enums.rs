//! Enumerations of users.
//!
//! Their numbers in `pg_type` differ from database to database. Within the proxy each has a number
//! of its own instead, which neither client nor server sees.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Base, Limits};

/// An enumeration.
#[derive(Debug, PartialEq, Eq)]
pub struct EnumType {
    /// The schema that it is in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its labels, in their order.
    pub labels: Vec<String>,
}

/// How many a configuration may have.
const ENUMS_MAX: usize = 256;
/// The first number. PostgreSQL counts upwards, and gives users numbers from 16384 on.
const OID_FIRST: u32 = 0xffff_f000;
/// Bytes of a label at most (`NAMEDATALEN` less one).
const LABEL_SIZE_MAX: usize = 63;
/// Labels of one at most.
const LABELS_MAX: usize = 10_000;

/// Those that rules have named. They stay, since types are copied freely.
static KNOWN: [OnceLock<(EnumType, Base)>; ENUMS_MAX] = [const { OnceLock::new() }; ENUMS_MAX];
static ADDING: Mutex<()> = Mutex::new(());

/// The enumeration of a place.
pub(super) fn at(place: usize) -> Option<&'static (EnumType, Base)> {
    KNOWN.get(place)?.get()
}

/// The place of one that has this number or the array of this number.
pub(super) fn of_oid(oid: u32) -> Option<usize> {
    let place = usize::try_from(oid.checked_sub(OID_FIRST)? / 2).ok()?;
    at(place).map(|_| place)
}

/// The place of an enumeration, which is remembered. None: there are too many, or it is none.
fn place(enumeration: EnumType) -> Option<usize> {
    let labels = &enumeration.labels;
    let are_right = !labels.is_empty()
        && labels.len() <= LABELS_MAX
        && labels.iter().all(|label| label.len() <= LABEL_SIZE_MAX);
    if !are_right {
        return None;
    }
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    for (place, known) in KNOWN.iter().enumerate() {
        match known.get() {
            Some((own, _)) if *own == enumeration => return Some(place),
            Some(_) => {}
            None => {
                let base = base(&enumeration, place)?;
                known.set((enumeration, base)).ok()?;
                return Some(place);
            }
        }
    }
    None
}

fn base(enumeration: &EnumType, place: usize) -> Option<Base> {
    let oid = OID_FIRST + 2 * u32::try_from(place).ok()?;
    let named: &'static str = enumeration.name.clone().leak();
    Some(Base {
        name: written(enumeration).leak(),
        others: vec![named].leak(),
        oid,
        array_oid: oid + 1,
        size: 4,
        limits: Limits::None,
        is_alone: true,
    })
}

/// `enum public.mood ('sad', 'ok')`
fn written(enumeration: &EnumType) -> String {
    let labels = enumeration.labels.iter();
    let labels: Vec<String> = labels
        .map(|label| format!("'{}'", label.replace('\'', "''")))
        .collect();
    format!(
        "enum {}.{} ({})",
        enumeration.schema,
        enumeration.name,
        labels.join(", ")
    )
}

/// Reads `enum mood ('sad', 'ok')`, with a schema before the name if it is not `public`.
pub(super) fn read(text: &str) -> Option<usize> {
    let rest = text.trim().strip_prefix("enum ")?;
    let (name, labels) = rest.split_once('(')?;
    let (schema, name) = match name.trim().split_once('.') {
        Some((schema, name)) => (schema, name),
        None => ("public", name.trim()),
    };
    // As in the catalogue: names of Prisma, for one, have capitals.
    let is_name = |name: &str| {
        let is_part = |letter: char| letter == '_' || letter == '$' || letter.is_alphanumeric();
        !name.is_empty() && name.len() <= LABEL_SIZE_MAX && name.chars().all(is_part)
    };
    if !is_name(schema) || !is_name(name) {
        return None;
    }
    place(EnumType {
        schema: schema.to_owned(),
        name: name.to_owned(),
        labels: read_labels(labels.trim_end().strip_suffix(')')?)?,
    })
}

fn read_labels(text: &str) -> Option<Vec<String>> {
    let mut labels: Vec<String> = Vec::new();
    let mut rest = text.trim();
    loop {
        rest = rest.strip_prefix('\'')?;
        let mut label = String::new();
        loop {
            let (part, behind) = rest.split_once('\'')?;
            label.push_str(part);
            match behind.strip_prefix('\'') {
                Some(more) => {
                    label.push('\'');
                    rest = more;
                }
                None => {
                    rest = behind.trim_start();
                    break;
                }
            }
        }
        if labels.contains(&label) {
            return None;
        }
        labels.push(label);
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() => return Some(labels),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let first = read("enum mood ( 'sad','it''s ok' , 'happy' )").expect("an enumeration");
        let (own, base) = at(first).expect("it is known");
        assert_eq!(own.schema, "public");
        assert_eq!(own.labels, ["sad", "it's ok", "happy"]);
        assert_eq!(base.name, "enum public.mood ('sad', 'it''s ok', 'happy')");
        assert_eq!(read(base.name), Some(first));
        assert_eq!(of_oid(base.oid), Some(first));
        assert_eq!(of_oid(base.array_oid), Some(first));
        let other = read("enum own.Mood ('sad')").expect("another one");
        assert_ne!(other, first);
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "enum mood",
            "enum mood ()",
            "enum mood ('a', 'a')",
            "enum mood ('a' 'b')",
            "enum mood ('a',)",
            "enum mood ('a)",
            "enum a.b.c ('a')",
            "enum mood (a)",
            "mood ('a')",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let long = format!("enum mood ('{}')", "x".repeat(LABEL_SIZE_MAX + 1));
        assert_eq!(read(&long), None);
    }
}
