//! A cursor over a message body, and parts common to several messages.

/// The body does not have the structure of its message type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of the protocol is malformed; the connection cannot go on")]
pub struct Malformed;

/// A cursor over a message body.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    pub(crate) fn bytes(&mut self, size: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(size).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], Malformed> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, Malformed> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    /// Bytes up to a zero byte, without it.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let size = self.rest.iter().position(|&byte| byte == 0);
        let text = self.bytes(size.ok_or(Malformed)?)?;
        self.u8()?;
        Ok(text)
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Checks that nothing is left.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    pub(crate) fn formats(&mut self) -> Result<Formats<'a>, Malformed> {
        let count = usize::from(self.u16()?);
        Ok(Formats {
            codes: self.bytes(2 * count)?,
        })
    }

    /// Reads a count and that many values.
    pub(crate) fn values(&mut self) -> Result<Values<'a>, Malformed> {
        let count = self.u16()?;
        let start = self.rest;
        for _ in 0..count {
            self.value()?;
        }
        let size = start.len() - self.rest.len();
        Ok(Values {
            count,
            bytes: &start[..size],
        })
    }

    fn value(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            size => Ok(Some(
                self.bytes(usize::try_from(size).map_err(|_| Malformed)?)?,
            )),
        }
    }
}

/// Format codes: none (all text), one for all values, or one for each.
#[derive(Clone, Copy, Debug)]
pub struct Formats<'a> {
    codes: &'a [u8],
}

impl<'a> Formats<'a> {
    /// Codes of two bytes each.
    pub(crate) fn of_codes(codes: &'a [u8]) -> Self {
        Self { codes }
    }

    pub(crate) fn codes(&self) -> &'a [u8] {
        self.codes
    }

    /// How many codes there are.
    pub fn count(&self) -> usize {
        self.codes.len() / 2
    }

    /// Whether the number of codes is valid for this many values.
    pub fn fit(&self, values: usize) -> bool {
        self.count() <= 1 || self.count() == values
    }

    /// The code for the value at `index`: 0 is text, 1 binary. Text if there is no code.
    pub fn of(&self, index: usize) -> i16 {
        let index = if self.count() == 1 { 0 } else { index };
        self.iter().nth(index).unwrap_or(0)
    }

    /// The codes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i16> + use<'a> {
        self.codes
            .chunks_exact(2)
            .map(|code| i16::from_be_bytes([code[0], code[1]]))
    }
}

/// Values, with NULL as `None`.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    count: u16,
    /// Validated on reading: `count` times a size and that many bytes.
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// As many as were read from these bytes before.
    pub(crate) fn of_checked(count: u16, bytes: &'a [u8]) -> Self {
        Self { count, bytes }
    }

    pub(crate) fn count_in_message(&self) -> u16 {
        self.count
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Sizes and bytes as encoded in the message.
    pub fn raw(&self) -> &'a [u8] {
        self.bytes
    }

    /// One after the other.
    pub fn iter(&self) -> ValuesIter<'a> {
        ValuesIter { rest: self.bytes }
    }
}

/// [`Values::iter`]
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = Reader::new(self.rest);
        let value = reader.value().ok()?;
        self.rest = reader.rest();
        Some(value)
    }
}
