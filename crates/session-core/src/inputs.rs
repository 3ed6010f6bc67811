//! What the holes of a statement are filled with.

use std::cell::RefCell;

use semantics_postgres::TextContext;
use sql_plan::ColumnId;

/// A parameter as the client bound it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a, F> {
    /// None: NULL.
    pub bytes: Option<&'a [u8]>,
    /// How it is written.
    pub format: F,
}

/// What holes are filled with.
pub struct Inputs<'a, F> {
    /// The index of the statement in its text.
    pub index: usize,
    /// Parameters of the client.
    pub parameters: Vec<Parameter<'a, F>>,
    /// Values that the proxy computed, sealed.
    pub computed: &'a [Option<Box<[u8]>>],
    /// The locator of a row.
    pub locators: &'a [Option<&'a [u8]>],
    /// Settings that the text form of values depends on.
    pub context: &'a TextContext,
    /// Where sealed keys are kept, if they are needed twice.
    pub keys: Option<&'a RefCell<SealedKeys>>,
}

/// Parameters that were sealed to find a row. The server needs them, and so does [`RowName`].
///
/// [`RowName`]: crate::RowName
#[derive(Default)]
pub struct SealedKeys {
    bytes: Vec<u8>,
    /// Parameter, column, and where its bytes end.
    ends: Vec<(usize, ColumnId, usize)>,
}

impl SealedKeys {
    pub(crate) fn find(&self, wanted: (usize, ColumnId)) -> Option<&[u8]> {
        let index = self
            .ends
            .iter()
            .position(|(number, column, _)| (*number, *column) == wanted)?;
        let start = match index {
            0 => 0,
            index => self.ends[index - 1].2,
        };
        Some(&self.bytes[start..self.ends[index].2])
    }

    pub(crate) fn keep(&mut self, (number, column): (usize, ColumnId), sealed: &[u8]) {
        self.bytes.extend_from_slice(sealed);
        self.ends.push((number, column, self.bytes.len()));
    }
}

impl<'a, F: Copy> Inputs<'a, F> {
    /// The parameters of the statement at an index of a text.
    pub fn new(index: usize, parameters: Vec<Parameter<'a, F>>, context: &'a TextContext) -> Self {
        Self {
            index,
            parameters,
            computed: &[],
            locators: &[],
            context,
            keys: None,
        }
    }

    /// Keeps the sealed values that find the row, for those who need them again.
    #[must_use]
    pub fn with_keys(self, keys: &'a RefCell<SealedKeys>) -> Self {
        Self {
            keys: Some(keys),
            ..self
        }
    }

    /// The same parameters with the computed values and the locator of a row.
    pub fn of_row<'b>(
        &self,
        computed: &'b [Option<Box<[u8]>>],
        locators: &'b [Option<&'b [u8]>],
    ) -> Inputs<'b, F>
    where
        'a: 'b,
    {
        Inputs {
            index: self.index,
            parameters: self.parameters.clone(),
            computed,
            locators,
            context: self.context,
            keys: self.keys,
        }
    }

    /// The bytes of a parameter. None: it is NULL or missing.
    #[inline]
    pub(crate) fn bytes(&self, number: usize) -> Option<&'a [u8]> {
        self.parameters.get(number)?.bytes
    }
}
