//! What the holes of a text are filled with.

use std::cell::RefCell;

use column_types::TextContext;
use sql_plan::ColumnId;
use wire_postgres::Formats;
use wire_postgres::frontend::Bind;

use column_types::ValueError;
use sqlstate::SqlState;
use wire_postgres::values::Format;

/// What holes are filled with.
pub(super) struct Inputs<'a> {
    /// Which statement of the text it is for.
    pub index: usize,
    /// Parameters of the client.
    pub parameters: Vec<Option<&'a [u8]>>,
    /// How they are written.
    pub formats: Formats<'a>,
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
pub(super) struct SealedKeys {
    bytes: Vec<u8>,
    /// Parameter, column, and where its bytes end.
    ends: Vec<(usize, ColumnId, usize)>,
}

impl SealedKeys {
    pub(super) fn find(&self, wanted: (usize, ColumnId)) -> Option<&[u8]> {
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

    pub(super) fn keep(&mut self, (number, column): (usize, ColumnId), sealed: &[u8]) {
        self.bytes.extend_from_slice(sealed);
        self.ends.push((number, column, self.bytes.len()));
    }
}

impl<'a> Inputs<'a> {
    /// Parameters as the client bound them.
    pub(super) fn new(index: usize, bind: &Bind<'a>, context: &'a TextContext) -> Self {
        Self {
            index,
            parameters: bind.parameters.iter().collect(),
            formats: bind.formats,
            computed: &[],
            locators: &[],
            context,
            keys: None,
        }
    }

    /// The same, where the values that find the row are needed more than once.
    pub(super) fn with_keys(self, keys: &'a RefCell<SealedKeys>) -> Self {
        Self {
            keys: Some(keys),
            ..self
        }
    }

    /// The same with what was computed for a row, and with where it lies.
    pub(super) fn of_row<'b>(
        &self,
        computed: &'b [Option<Box<[u8]>>],
        locators: &'b [Option<&'b [u8]>],
    ) -> Inputs<'b>
    where
        'a: 'b,
    {
        Inputs {
            index: self.index,
            parameters: self.parameters.clone(),
            formats: self.formats,
            computed,
            locators,
            context: self.context,
            keys: self.keys,
        }
    }
}

/// The format of a code in Bind.
pub(super) fn format(code: i16) -> Result<Format, ValueError> {
    Format::of_code(code).ok_or_else(|| ValueError {
        sqlstate: SqlState::INVALID_PARAMETER_VALUE,
        message: format!("unsupported format code: {code}"),
    })
}
