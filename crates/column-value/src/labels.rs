//! `ENUM` and `SET` of MySQL and MariaDB: a list of labels, of which a value has one, or any.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Labels of a list at most.
const LABELS_MAX: usize = 1024;
/// Bytes of a label at most; letters of a label, as the servers have it.
const LABEL_SIZE_MAX: usize = 255;
/// Bytes that are remembered of all lists.
const SIZE_MAX: usize = 4 << 20;
/// Labels of a set at most: each is a bit.
const SET_LABELS_MAX: usize = 64;
/// Bytes of the longest value of a set at most: all of one size then fit the greatest step of
/// padding.
const SET_SIZE_MAX: usize = 4095;

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
        Self::of_labels(&read_labels("enum", text)?)
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

/// A list of labels of which a value has any, each once. A value is a number with a bit for each
/// label, the lowest for the first.
///
/// No label is empty, and none has a comma, which stands between the labels of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetType {
    list: EnumType,
}

impl SetType {
    /// The type of these labels. None: there is none, for the reasons of [`EnumType::of_labels`],
    /// or values would be ambiguous or too long.
    pub fn of_labels(labels: &[&str]) -> Option<Self> {
        let is_label = |label: &&str| !label.is_empty() && !label.contains(',');
        let fits = labels.len() <= SET_LABELS_MAX && labels.iter().all(is_label);
        let list = fits.then(|| EnumType::of_labels(labels))??;
        Some(Self { list }).filter(|own| own.size_max() <= SET_SIZE_MAX)
    }

    /// The type of its name, as `set('new','paid')`. None: it is no such type.
    pub fn read(text: &str) -> Option<Self> {
        Self::of_labels(&read_labels("set", text)?)
    }

    /// Its labels.
    pub fn labels(self) -> impl Iterator<Item = &'static str> {
        self.list.labels()
    }

    /// Whether it has a label.
    pub fn has(self, label: &str) -> bool {
        self.labels().any(|own| own == label)
    }

    /// The value of a text, in which labels may come in any order, and more than once. None: one of
    /// them is no label.
    pub fn value_of(self, text: &str) -> Option<u64> {
        let bit = |label: &str| {
            let index = self.labels().position(|own| own == label)?;
            Some(1_u64 << index)
        };
        match text {
            "" => Some(0),
            text => text
                .split(',')
                .try_fold(0_u64, |all, own| Some(all | bit(own)?)),
        }
    }

    /// A value as servers write it: in the order of the list. None: it is none.
    pub fn text_of(self, value: u64) -> Option<String> {
        self.members(value).map(|own| own.join(","))
    }

    /// A value as it is sealed: in the order of bytes, which stays the same where the list gets
    /// another one. None: it is none.
    pub fn sealed_of(self, value: u64) -> Option<String> {
        let mut members = self.members(value)?;
        members.sort_unstable();
        Some(members.join(","))
    }

    /// The value of what [`Self::sealed_of`] gave. None: it is another text.
    pub fn value_of_sealed(self, text: &str) -> Option<u64> {
        let value = self.value_of(text)?;
        (self.sealed_of(value)? == text).then_some(value)
    }

    /// The labels of a value.
    fn members(self, value: u64) -> Option<Vec<&'static str>> {
        let has = |index: &usize| value >> index & 1 == 1;
        let labels: Vec<&str> = self.labels().collect();
        let beyond = value.checked_shr(u32::try_from(labels.len()).ok()?);
        let members = labels.iter().enumerate().filter(|(index, _)| has(index));
        match beyond {
            None | Some(0) => Some(members.map(|(_, label)| *label).collect()),
            Some(_) => None,
        }
    }

    /// Bytes of its longest value, which are as many letters: all labels, and commas between them.
    pub fn size_max(self) -> usize {
        self.labels().map(|own| own.len() + 1).sum::<usize>() - 1
    }
}

/// The labels of the name of a type, as `enum('new','paid')`. None: it has another form.
fn read_labels<'t>(word: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let (own, list) = text.trim().split_at_checked(word.len())?;
    if !own.eq_ignore_ascii_case(word) {
        return None;
    }
    let list = list.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    let mut labels = Vec::new();
    let mut rest = list.trim();
    loop {
        let (label, behind) = rest.strip_prefix('\'')?.split_once('\'')?;
        labels.push(label);
        rest = match behind.trim_start() {
            "" => return Some(labels),
            behind => behind.strip_prefix(',')?.trim_start(),
        };
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

impl fmt::Display for SetType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set({})", self.list.list)
    }
}

#[cfg(test)]
mod tests {
    use super::{EnumType, SetType};

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
    fn labels_of_a_set_are_bits() {
        let own = SetType::read("SET('zeta', 'Alpha' ,'2')").expect("a type");
        assert_eq!(own.to_string(), "set('zeta','Alpha','2')");
        assert_eq!(SetType::read(&own.to_string()), Some(own));
        for (text, value) in [
            ("", Some(0)),
            ("zeta", Some(1)),
            ("2,zeta,2", Some(5)),
            ("Alpha,other", None),
            ("alpha", None),
            ("zeta,", None),
            (",", None),
        ] {
            assert_eq!(own.value_of(text), value, "{text:?}");
        }
        assert_eq!(own.text_of(7).as_deref(), Some("zeta,Alpha,2"));
        assert_eq!(own.sealed_of(7).as_deref(), Some("2,Alpha,zeta"));
        assert_eq!((own.text_of(8), own.sealed_of(u64::MAX)), (None, None));
        assert_eq!(own.value_of_sealed("2,Alpha,zeta"), Some(7));
        assert_eq!(own.value_of_sealed(""), Some(0));
        for text in ["zeta,Alpha,2", "2,2", "other"] {
            assert_eq!(own.value_of_sealed(text), None, "{text:?}");
        }
        assert_eq!(own.size_max(), 12);
        let other = SetType::read("set('2','zeta','more','Alpha')").expect("a type");
        assert_eq!(other.value_of_sealed("2,Alpha,zeta"), Some(0b1011));
    }

    #[test]
    fn a_set_has_up_to_64_labels() {
        let labels: Vec<String> = (10..75).map(|number| number.to_string()).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        assert_eq!(SetType::of_labels(&labels), None);
        let own = SetType::of_labels(&labels[..64]).expect("a type");
        let all = own.text_of(u64::MAX).expect("a value");
        assert_eq!((all.len(), own.value_of(&all)), (191, Some(u64::MAX)));
        assert_eq!(own.size_max(), 191);
        let long: Vec<String> = (10..31).map(|number| format!("{number:0200}")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        assert_eq!(SetType::of_labels(&long), None);
        assert!(SetType::of_labels(&long[..20]).is_some());
        for text in [
            "set('')",
            "set('a,b')",
            "set('a','A')",
            "set()",
            "enum('a')",
        ] {
            assert_eq!(SetType::read(text), None, "{text}");
        }
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
