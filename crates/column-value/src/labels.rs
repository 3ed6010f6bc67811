//! `ENUM` of MySQL and MariaDB: a list of labels, of which a column has one.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Labels of a list at most.
const LABELS_MAX: usize = 1024;
/// Bytes of a label at most; letters of a label, as the servers have it.
const LABEL_SIZE_MAX: usize = 255;
/// Bytes that are remembered of all lists.
const SIZE_MAX: usize = 4 << 20;

/// A list of labels, in its order. Types are copied freely, so each list that was met is remembered
/// as long as the process runs.
///
/// 1. A label is of the letters of ASCII, without quotes and backslashes, and has no blank at its
///    end: servers take one away.
/// 2. No two labels are alike but for the case of their letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnumType {
    /// As SQL writes it, without blanks: `'new','paid'`.
    list: &'static str,
}

impl EnumType {
    /// The type of these labels. None: one of them is not supported, two are alike, or there are
    /// too many.
    pub fn of_labels(labels: &[&str]) -> Option<Self> {
        let is_label = |label: &&str| {
            label.len() <= LABEL_SIZE_MAX
                && !label.ends_with(' ')
                && label.bytes().all(is_printable)
                && !label.contains(['\'', '"', '`', '\\'])
        };
        let distinct: BTreeSet<_> = labels.iter().map(|own| own.to_ascii_lowercase()).collect();
        let fits = (1..=LABELS_MAX).contains(&labels.len())
            && labels.iter().all(is_label)
            && distinct.len() == labels.len();
        let list = fits.then(|| format!("'{}'", labels.join("','")))?;
        remembered(list).map(|list| Self { list })
    }

    /// The type of its name, as `enum('new','paid')`. None: it is no such type.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (word, list) = text.split_at_checked(4)?;
        if !word.eq_ignore_ascii_case("enum") {
            return None;
        }
        let list = list.trim_start().strip_prefix('(')?.strip_suffix(')')?;
        let mut labels = Vec::new();
        let mut rest = list.trim();
        loop {
            let (label, behind) = rest.strip_prefix('\'')?.split_once('\'')?;
            labels.push(label);
            rest = match behind.trim_start() {
                "" => return Self::of_labels(&labels),
                behind => behind.strip_prefix(',')?.trim_start(),
            };
        }
    }

    /// Its labels.
    pub fn labels(self) -> impl Iterator<Item = &'static str> {
        let inside = self.list.get(1..self.list.len() - 1).unwrap_or_default();
        inside.split("','")
    }

    /// The number of a label, which servers count from 1. None: it is none.
    pub fn number_of(self, label: &str) -> Option<i64> {
        let index = self.labels().position(|own| own == label)?;
        i64::try_from(index + 1).ok()
    }

    /// The label of a number.
    pub fn label_of(self, number: i64) -> Option<&'static str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.labels().nth(index)
    }

    /// Bytes of its longest label, which are as many letters.
    pub fn size_max(self) -> usize {
        self.labels().map(str::len).max().unwrap_or(0)
    }
}

/// Whether a byte is a letter of ASCII, or a blank: no collation lets those out.
fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

/// The same text for as long as the process runs. None: there are too many.
fn remembered(list: String) -> Option<&'static str> {
    static KNOWN: Mutex<(BTreeSet<&'static str>, usize)> = Mutex::new((BTreeSet::new(), 0));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (lists, size) = &mut *known;
    if let Some(own) = lists.get(list.as_str()) {
        return Some(own);
    }
    *size = size
        .checked_add(list.len())
        .filter(|own| *own <= SIZE_MAX)?;
    let own: &'static str = list.leak();
    lists.insert(own);
    Some(own)
}

impl fmt::Display for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "enum({})", self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::EnumType;

    #[test]
    fn labels_are_read_in_their_order() {
        let own = EnumType::read("ENUM ( 'new' ,'sent off','a,b', '')").expect("a type");
        assert_eq!(own.to_string(), "enum('new','sent off','a,b','')");
        assert_eq!(EnumType::read(&own.to_string()), Some(own));
        assert_eq!(own.number_of("a,b"), Some(3));
        assert_eq!(own.number_of("New"), None);
        assert_eq!((own.label_of(4), own.label_of(0)), (Some(""), None));
        assert_eq!((own.label_of(5), own.label_of(-1)), (None, None));
        assert_eq!(own.size_max(), 8);
        let alone = EnumType::read("enum('')").expect("a type");
        assert_eq!(alone.labels().collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn other_lists_are_none() {
        let many: Vec<String> = (0..1025).map(|number| format!("'{number}'")).collect();
        for text in [
            "enum()",
            "enum",
            "enum('a'",
            "enum('a',)",
            "enum('a' 'b')",
            "enum('a','A')",
            "enum('a','a')",
            "enum('a ')",
            "enum('it''s')",
            "enum('a\\b')",
            "enum('größe')",
            "enum('a\tb')",
            "enum(\"a\")",
            "enumé",
            "set('a')",
            &format!("enum('{}')", "a".repeat(256)),
            &format!("enum({})", many.join(",")),
        ] {
            assert_eq!(EnumType::read(text), None, "{text}");
        }
    }
}
