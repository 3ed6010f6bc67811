//! Arrays in binary format, as written by `array_send`.

use crate::reader::{Malformed, Reader};

/// The elements of an array with at most one dimension; `None` if it has another form. A NULL
/// element is `None`.
pub fn array_elements(
    bytes: &[u8],
) -> Option<impl Iterator<Item = Result<Option<&[u8]>, Malformed>>> {
    let mut reader = Reader::new(bytes);
    let count = count(&mut reader).ok()??;
    Some((0..count).map(move |_| {
        let size = reader.i32()?;
        match usize::try_from(size) {
            Ok(size) => reader.bytes(size).map(Some),
            Err(_) if size == -1 => Ok(None),
            Err(_) => Err(Malformed),
        }
    }))
}

/// Reads number of dimensions, NULL flag, element type; for each dimension size and lower bound.
fn count(reader: &mut Reader<'_>) -> Result<Option<usize>, Malformed> {
    let dimensions = reader.i32()?;
    reader.i32()?;
    reader.u32()?;
    match dimensions {
        0 => Ok(Some(0)),
        1 => {
            let count = reader.i32()?;
            reader.i32()?;
            Ok(usize::try_from(count).ok())
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(bytes: &[u8]) -> Option<Vec<Option<&[u8]>>> {
        array_elements(bytes)?.collect::<Result<_, _>>().ok()
    }

    #[test]
    fn elements_are_read_and_nulls_with_them() {
        let head = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 17, 0, 0, 0, 3, 0, 0, 0, 1];
        let body = [0, 0, 0, 2, 8, 9, 255, 255, 255, 255, 0, 0, 0, 0];
        let bytes = [&head[..], &body].concat();
        let expected: Vec<Option<&[u8]>> = vec![Some(&[8, 9]), None, Some(&[])];
        assert_eq!(elements(&bytes), Some(expected));
        for size in 0..bytes.len() {
            assert_eq!(
                elements(&bytes[..size]),
                None,
                "{size} bytes of {}",
                bytes.len()
            );
        }
    }

    #[test]
    fn an_empty_array_has_no_dimension() {
        assert_eq!(
            elements(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17]),
            Some(vec![])
        );
        let two = [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 17];
        assert_eq!(elements(&two), None);
    }
}
