//! Arrays of the values of columns, in PostgreSQL's binary format (`array_recv`).

use std::convert::Infallible;
use std::ops::Range;

use session_core::{Changed, wiped};
use zeroize::Zeroizing;

/// Numbers of types in `pg_type`.
const TID: u32 = 27;
const OID: u32 = 26;

/// An array while its elements come. They are wiped when it is dropped.
pub(super) struct ArrayBuilder {
    element_type: u32,
    count: u32,
    has_null: bool,
    elements: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for ArrayBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The elements are plaintext.
        write!(f, "ArrayBuilder({} elements)", self.count)
    }
}

impl ArrayBuilder {
    /// An empty array of elements of a type, by its number in the catalogue.
    pub(super) fn new(element_type: u32) -> Self {
        Self {
            element_type,
            count: 0,
            has_null: false,
            elements: Zeroizing::default(),
        }
    }

    /// Appends an element, written by `value`, of about so many bytes. False: it is NULL.
    pub(super) fn push<E>(
        &mut self,
        size: usize,
        value: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut is_null = false;
        wiped::reserve(&mut self.elements, size + 4);
        let written = wire_postgres::backend::write_value(&mut self.elements, |out| {
            let has_value = value(out)?;
            is_null = !has_value;
            Ok(has_value)
        });
        self.has_null |= is_null;
        self.count += 1;
        written
    }

    /// How many bytes its elements take.
    pub(super) fn size(&self) -> usize {
        self.elements.len()
    }

    /// The array as the value of a parameter.
    pub(super) fn into_value(self) -> Vec<u8> {
        let dimensions = u32::from(self.count > 0);
        let mut value = Vec::with_capacity(20 + self.elements.len());
        for number in [dimensions, u32::from(self.has_null), self.element_type] {
            value.extend_from_slice(&number.to_be_bytes());
        }
        if dimensions > 0 {
            value.extend_from_slice(&self.count.to_be_bytes());
            // The lower bound.
            value.extend_from_slice(&1_u32.to_be_bytes());
        }
        value.extend_from_slice(&self.elements);
        value
    }
}

/// The rows as one: an array for each locator and each computed value, of elements of these types.
pub(super) fn spread(rows: &[Changed], elements: &[u32]) -> Changed {
    let array = |element: u32, of: &dyn Fn(&Changed) -> Option<&[u8]>| {
        let mut array = ArrayBuilder::new(element);
        for row in rows {
            let value = of(row);
            let Ok(()) = array.push::<Infallible>(value.map_or(0, <[u8]>::len), |out| {
                out.extend_from_slice(value.unwrap_or_default());
                Ok(value.is_some())
            });
        }
        Some(array.into_value().into_boxed_slice())
    };
    let locators = [0, 1].map(|index| {
        let element = [TID, OID][index];
        array(element, &|row| row.locators[index].as_deref())
    });
    let computed = elements
        .iter()
        .enumerate()
        .map(|(index, element)| array(*element, &|row| row.computed.get(index)?.as_deref()));
    Changed {
        locators,
        computed: computed.collect(),
    }
}

/// Where the elements of an array lie that [`ArrayBuilder::into_value`] has made. None: it is
/// another.
pub(super) fn elements_of(array: &[u8]) -> Option<Vec<Option<Range<usize>>>> {
    let number = |at: usize| -> Option<i32> {
        let bytes = array.get(at..at.checked_add(4)?)?;
        Some(i32::from_be_bytes(bytes.try_into().ok()?))
    };
    if number(0)? == 0 {
        return Some(Vec::new());
    }
    let count = usize::try_from(number(12)?).ok()?;
    let mut elements = Vec::new();
    let mut at = 20;
    for _ in 0..count {
        let size = number(at)?;
        at += 4;
        elements.push(match usize::try_from(size) {
            Err(_) => None,
            Ok(size) => {
                let start = at;
                at = at.checked_add(size).filter(|end| *end <= array.len())?;
                Some(start..at)
            }
        });
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_the_bytes_of_the_server() {
        let mut array = ArrayBuilder::new(23);
        assert_eq!(
            ArrayBuilder::new(23).into_value(),
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 23]
        );
        let one = |out: &mut Vec<u8>| {
            out.extend_from_slice(&[0, 0, 0, 7]);
            Ok::<bool, ()>(true)
        };
        array.push(4, one).expect("a value");
        array.push(0, |_| Ok::<bool, ()>(false)).expect("NULL");
        // SELECT encode(array_send(ARRAY[7, NULL]), 'hex')
        let server = "00000001000000010000001700000002000000010000000400000007ffffffff";
        let bytes: String = array
            .into_value()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(bytes, server);
    }

    #[test]
    fn elements_are_found_again() {
        let mut array = ArrayBuilder::new(25);
        for value in [Some("one"), None, Some(""), Some("four")] {
            let Ok(()) = array.push::<std::convert::Infallible>(8, |out| {
                out.extend_from_slice(value.unwrap_or_default().as_bytes());
                Ok(value.is_some())
            });
        }
        let bytes = array.into_value();
        let found = elements_of(&bytes).expect("an array");
        let texts = found
            .iter()
            .map(|range| range.clone().map(|range| &bytes[range]));
        let texts: Vec<_> = texts.collect();
        assert_eq!(texts, [Some(&b"one"[..]), None, Some(b""), Some(b"four")]);
        assert_eq!(
            elements_of(&ArrayBuilder::new(25).into_value()),
            Some(Vec::new())
        );
        assert_eq!(elements_of(&bytes[..bytes.len() - 1]), None);
        assert_eq!(elements_of(&[]), None);
    }
}
