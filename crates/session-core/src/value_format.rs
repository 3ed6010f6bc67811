//! The seam between values and a wire.

use std::fmt;

use column_value::{LogicalType, Value, ValueError};
use finish::Elements;
use semantics_postgres::TextContext;
use sql_rewrite::ServerType;

/// How a value is encoded in a message. PostgreSQL has format codes: text or binary.
///
/// Code that is generic over it is compiled for each protocol. A protocol without arrays returns
/// errors for them: its plans contain none.
pub trait ValueFormat: Copy + fmt::Debug + 'static {
    /// The format of values that the proxy asks for itself.
    const BINARY: Self;
    /// The format of constants in the text of a statement.
    const TEXT: Self;
    /// What a message to the server may have, in bytes.
    const MESSAGE_SIZE_MAX: usize;

    /// The declared type of a parameter, by the protocol's number for it.
    ///
    /// # Errors
    /// No protected column can have it.
    fn declared(number: u32) -> Result<LogicalType, ValueError>;

    /// The type of the elements of a parameter that is declared as an array.
    ///
    /// # Errors
    /// It is not an array, or no protected column can have its elements.
    fn declared_elements(number: u32) -> Result<LogicalType, ValueError>;

    /// Reads a value of a type.
    ///
    /// # Errors
    /// The bytes are not a value of the type, or the format is unknown.
    fn read(
        self,
        bytes: &[u8],
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Value, ValueError>;

    /// Appends a value of a type.
    ///
    /// # Errors
    /// The value cannot be written, or the format is unknown.
    fn write(
        self,
        value: &Value,
        logical: LogicalType,
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError>;

    /// Reads an array of values of a type.
    ///
    /// # Errors
    /// The bytes are not such an array, or it has too many elements.
    fn read_array(
        self,
        bytes: &[u8],
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Elements, ValueError>;

    /// The bytes of a sealed value that came in this format, of a column of this type. They are
    /// decoded into `memory` if necessary. None: they cannot be decoded.
    fn sealed<'a>(
        self,
        server_type: ServerType,
        bytes: &'a [u8],
        memory: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]>;

    /// Appends an array of sealed values of a column of this type, each written by `seal`, which
    /// returns false for NULL.
    ///
    /// # Errors
    /// The first of `seal`.
    fn write_sealed_array(
        server_type: ServerType,
        elements: &Elements,
        seal: impl FnMut(&Option<Value>, &mut Vec<u8>) -> Result<bool, ValueError>,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError>;

    /// The sealed values that the server has gathered in a field, as an array. None: the bytes are
    /// not an array of one dimension. An element is None for NULL, and an error if the bytes end
    /// early.
    fn gathered(bytes: &[u8]) -> Option<impl Iterator<Item = Result<Option<&[u8]>, CutShort>>>;
}

/// The bytes end before the value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShort;
