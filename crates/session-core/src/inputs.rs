//! What the holes of a statement are filled with.

use std::cell::RefCell;

use column_types::TextContext;
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
    /// Which statement of the text it is for.
    pub index: usize,
    /// Parameters of the client.
    pub parameters: Vec<Parameter<'a, F>>,
    /// What the proxy computed, sealed.
    pub computed: &'a [Option<Box<[u8]>>],
    /// Where a row lies.
    pub locators: &'a [Option<&'a [u8]>],
    /// Settings that texts depend on.
    pub context: &'a TextContext,
    /// None: no value is needed twice.
    pub keys: Option<&'a RefCell<SealedKeys>>,
}

/// Parameters that were sealed to find a row: its name needs them as the server does.
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
    /// Parameters for the statement at an index of a text.
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

    /// The same, where the values that find the row are needed more than once.
    #[must_use]
    pub fn with_keys(self, keys: &'a RefCell<SealedKeys>) -> Self {
        Self {
            keys: Some(keys),
            ..self
        }
    }

    /// The same with what was computed for a row, and with where it lies.
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

    /// The bytes of a parameter. None: it is NULL, or there is none.
    #[inline]
    pub(crate) fn bytes(&self, number: usize) -> Option<&'a [u8]> {
        self.parameters.get(number)?.bytes
    }
}
