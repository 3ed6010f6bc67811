//! Values of PostgreSQL's protocol, for what knows no message.

use column_value::{LogicalType, Value, ValueError};
use finish::Elements;
use semantics_postgres::TextContext;
use session_core::{CutShort, ValueFormat};
use sql_rewrite::ServerType;
use sqlstate::SqlState;
use wire_postgres::backend;
use wire_postgres::values::{self, Format};

use crate::server_types;

/// The code of a format as messages have it. What it means is looked for when a value is read or
/// written: a value that only passes may have one that the proxy does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormatCode(pub i16);

impl FormatCode {
    /// # Errors
    /// It is not known.
    fn known(self) -> Result<Format, ValueError> {
        Format::of_code(self.0).ok_or_else(|| ValueError {
            sqlstate: SqlState::INVALID_PARAMETER_VALUE,
            message: format!("unsupported format code: {}", self.0),
        })
    }
}

impl ValueFormat for FormatCode {
    const BINARY: Self = Self(1);
    const TEXT: Self = Self(0);
    /// PostgreSQL takes little more; tests reach less.
    const MESSAGE_SIZE_MAX: usize = if cfg!(test) {
        1 << 18
    } else {
        backend::LENGTH_MAX - (1 << 20)
    };

    fn declared(number: u32) -> Result<LogicalType, ValueError> {
        values::logical(number, -1).ok_or_else(|| ValueError {
            sqlstate: SqlState::DATATYPE_MISMATCH,
            message: format!(
                "a parameter of type number {number} meets a protected column: cast it"
            ),
        })
    }

    fn declared_elements(number: u32) -> Result<LogicalType, ValueError> {
        values::element(number).ok_or_else(|| ValueError {
            sqlstate: SqlState::WRONG_OBJECT_TYPE,
            message: format!(
                "a parameter of type number {number} is looked through for a protected column: op \
                 ANY/ALL (array) requires array on right side"
            ),
        })
    }

    #[inline]
    fn read(
        self,
        bytes: &[u8],
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Value, ValueError> {
        values::read(bytes, logical, self.known()?, context)
    }

    #[inline]
    fn write(
        self,
        value: &Value,
        logical: LogicalType,
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        values::write(value, logical, self.known()?, context, out)
    }

    fn read_array(
        self,
        bytes: &[u8],
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Elements, ValueError> {
        values::read_array(bytes, logical, self.known()?, context)
    }

    #[inline]
    fn sealed<'a>(
        self,
        server_type: ServerType,
        bytes: &'a [u8],
        memory: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        if self != Self::TEXT {
            return Some(bytes);
        }
        memory.clear();
        server_types::read_text(server_type, bytes, memory).then_some(memory)
    }

    fn write_sealed_array(
        server_type: ServerType,
        elements: &Elements,
        seal: impl FnMut(&Option<Value>, &mut Vec<u8>) -> Result<bool, ValueError>,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        values::write_sealed_array(server_types::number(server_type), elements, seal, out)
    }

    fn gathered(bytes: &[u8]) -> Option<impl Iterator<Item = Result<Option<&[u8]>, CutShort>>> {
        let elements = values::array_elements(bytes)?;
        Some(elements.map(|element| element.map_err(|_| CutShort)))
    }
}
