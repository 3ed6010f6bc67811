//! The seam between values and a wire.

use std::fmt;

use column_types::{LogicalType, TextContext, Value, ValueError};
use finish::Elements;

/// How a value stands in a message: in PostgreSQL the code of a format, text or binary.
///
/// What is generic over it is compiled for each wire. A wire without arrays gives an error for
/// them: its plans have none.
pub trait ValueFormat: Copy + fmt::Debug + 'static {
    /// The format of values that the proxy asks for itself.
    const BINARY: Self;
    /// The format of constants in the text of a statement.
    const TEXT: Self;
    /// What a message to the server may have, in bytes.
    const MESSAGE_SIZE_MAX: usize;

    /// The type that a client has declared a parameter to have, by the wire's number for it.
    ///
    /// # Errors
    /// No protected column can have it.
    fn declared(number: u32) -> Result<LogicalType, ValueError>;

    /// The type of the elements of such an array.
    ///
    /// # Errors
    /// It is none, or no protected column can have its elements.
    fn declared_elements(number: u32) -> Result<LogicalType, ValueError>;

    /// Reads a value as one of a type.
    ///
    /// # Errors
    /// It is none, or the format is not known.
    fn read(
        self,
        bytes: &[u8],
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Value, ValueError>;

    /// Appends a value of a type.
    ///
    /// # Errors
    /// It cannot be written, or the format is not known.
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
    /// It is none, or has too many elements.
    fn read_array(
        self,
        bytes: &[u8],
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Elements, ValueError>;

    /// The bytes of a sealed value, which came in this format; `memory` has them where they had to
    /// be decoded. None: they are no bytes as this wire writes them.
    fn sealed<'a>(self, bytes: &'a [u8], memory: &'a mut Vec<u8>) -> Option<&'a [u8]>;

    /// Appends an array of sealed values, each written by `seal`; false: it is NULL.
    ///
    /// # Errors
    /// The first of `seal`.
    fn write_sealed_array(
        elements: &Elements,
        seal: impl FnMut(&Option<Value>, &mut Vec<u8>) -> Result<bool, ValueError>,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError>;

    /// The sealed values that the server has gathered in a field; NULL is an element of None. An
    /// element is an error where the bytes end before it, and all is None where they are no array.
    fn gathered(bytes: &[u8]) -> Option<impl Iterator<Item = Result<Option<&[u8]>, CutShort>>>;
}

/// The bytes end before the value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShort;
