//! A cursor over a payload, and the writers of the same parts.

/// The payload does not have the structure of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet of the protocol is malformed; the connection cannot go on")]
pub struct Malformed;

/// First byte of a length-encoded integer: two bytes follow.
const IN_2_BYTES: u8 = 0xfc;
/// Three bytes follow.
const IN_3_BYTES: u8 = 0xfd;
/// Eight bytes follow.
const IN_8_BYTES: u8 = 0xfe;

/// A cursor over a payload.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub(crate) fn bytes(&mut self, size: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(size).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    pub(crate) fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], Malformed> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next byte, which stays.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// A length-encoded integer. NULL and the mark of an error are malformed here.
    ///
    /// Longer forms than needed are accepted, as servers and clients do.
    pub(crate) fn integer(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            IN_2_BYTES => self.u16().map(u64::from),
            IN_3_BYTES => {
                let [a, b, c] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            IN_8_BYTES => self.array().map(u64::from_le_bytes),
            _ => Err(Malformed),
        }
    }

    /// Bytes behind their length.
    pub(crate) fn counted(&mut self) -> Result<&'a [u8], Malformed> {
        let size = usize::try_from(self.integer()?).map_err(|_| Malformed)?;
        self.bytes(size)
    }

    /// Bytes up to a zero byte, without it.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let size = self.rest.iter().position(|&byte| byte == 0);
        let text = self.bytes(size.ok_or(Malformed)?)?;
        self.u8()?;
        Ok(text)
    }

    /// Bytes up to a zero byte, or to the end where there is none.
    pub(crate) fn text_or_rest(&mut self) -> &'a [u8] {
        match self.text() {
            Ok(text) => text,
            Err(Malformed) => std::mem::take(&mut self.rest),
        }
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that nothing is left.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed)
        }
    }
}

/// Writes a length-encoded integer in its shortest form.
pub(crate) fn put_integer(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(IN_2_BYTES);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(IN_3_BYTES);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(IN_8_BYTES);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Writes bytes behind their length.
pub(crate) fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put_integer(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes bytes and a zero byte. Bytes behind a zero byte in them would be read as the next part,
/// so they are left out.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let end = text.iter().position(|&byte| byte == 0);
    out.extend_from_slice(&text[..end.unwrap_or(text.len())]);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_in_the_shortest_form_and_read_back() {
        let sizes = [
            (0, 1),
            (0xfa, 1),
            (0xfb, 3),
            (0xffff, 3),
            (0x1_0000, 4),
            (0xff_ffff, 4),
            (0x100_0000, 9),
            (u64::MAX, 9),
        ];
        for (value, size) in sizes {
            let mut out = Vec::new();
            put_integer(&mut out, value);
            assert_eq!(out.len(), size, "{value}");
            let mut reader = Reader::new(&out);
            assert_eq!(reader.integer(), Ok(value));
            assert_eq!(reader.end(), Ok(()));
            for cut in 0..size {
                assert!(
                    Reader::new(&out[..cut]).integer().is_err(),
                    "{value}, {cut}"
                );
            }
        }
    }

    #[test]
    fn null_and_the_mark_of_an_error_are_no_integers() {
        for mark in [0xfb, 0xff] {
            assert!(
                Reader::new(&[mark, 0, 0, 0, 0, 0, 0, 0, 0])
                    .integer()
                    .is_err()
            );
        }
    }

    #[test]
    fn a_length_beyond_the_payload_is_malformed() {
        let mut huge = vec![IN_8_BYTES];
        huge.extend(u64::MAX.to_le_bytes());
        for bytes in [&huge[..], &[3, b'a', b'b'], &[IN_2_BYTES, 1]] {
            assert!(Reader::new(bytes).counted().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_text_ends_with_its_zero_byte() {
        let mut reader = Reader::new(b"ab\0cd");
        assert_eq!(reader.text(), Ok(&b"ab"[..]));
        assert_eq!(reader.clone().text(), Err(Malformed));
        assert_eq!(reader.text_or_rest(), b"cd");
        assert!(reader.is_at_end());
        let mut out = Vec::new();
        put_text(&mut out, b"ab\0cd");
        assert_eq!(out, b"ab\0");
    }
}
