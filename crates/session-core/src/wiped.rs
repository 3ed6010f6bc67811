//! Memory for plaintext that leaves no copy behind when it grows or is given back.

use zeroize::{Zeroize, Zeroizing};

/// Makes room for more bytes. What the bytes were in before is wiped.
pub fn reserve(bytes: &mut Zeroizing<Vec<u8>>, more: usize) {
    if bytes.capacity() - bytes.len() >= more {
        return;
    }
    let size = (bytes.len() + more).max(2 * bytes.capacity());
    let mut grown = Zeroizing::new(Vec::with_capacity(size));
    grown.extend_from_slice(bytes);
    // The old memory is wiped when it is dropped.
    *bytes = grown;
}

/// Appends bytes.
pub fn extend(bytes: &mut Zeroizing<Vec<u8>>, more: &[u8]) {
    reserve(bytes, more.len());
    bytes.extend_from_slice(more);
}

/// Wipes values.
pub fn wipe(values: &mut [Option<Vec<u8>>]) {
    values.iter_mut().flatten().for_each(Zeroize::zeroize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_grow_in_new_memory_and_stay_the_same() {
        let mut bytes = Zeroizing::new(Vec::new());
        for round in 0..100_u8 {
            extend(&mut bytes, &[round; 7]);
            let room = bytes.capacity();
            reserve(&mut bytes, 3);
            assert!(bytes.capacity() >= room.max(bytes.len() + 3));
        }
        assert_eq!(bytes.len(), 700);
        assert!(
            bytes
                .chunks(7)
                .zip(0..)
                .all(|(seven, round)| seven == [round; 7])
        );
    }

    #[test]
    fn values_are_wiped() {
        let mut values = [Some(b"secret".to_vec()), None];
        wipe(&mut values);
        assert_eq!(values, [Some(Vec::new()), None]);
    }
}
