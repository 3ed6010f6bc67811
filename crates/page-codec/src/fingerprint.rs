//! The fingerprint: one digest of a whole database file (`docs/page-format.md`, section 9).
//!
//! The tag in a trailer authenticates its page, so header and trailers together represent every
//! byte of the file. An older copy of a page, header or file is authentic, but has a different
//! fingerprint.

use crypto::mac::Checksum;

use crate::header::COPY_SIZE;
use crate::page::TRAILER_SIZE;

/// Domain separation from other uses of SHA-256.
const DOMAIN: &[u8] = b"strongroom fingerprint 1";
/// Bytes of the header in the digest: all but the checksum, which depends on them.
const HEADER_SIZE: usize = COPY_SIZE - 32;

/// A digest in progress.
#[derive(Clone)]
pub struct Fingerprint(Checksum);

impl Fingerprint {
    /// Starts with the header copy in force and the number of pages.
    pub fn new(header_copy: &[u8; COPY_SIZE], page_count: u64) -> Self {
        let mut digest = Checksum::default();
        digest.add(DOMAIN);
        digest.add(&header_copy[..HEADER_SIZE]);
        digest.add(&page_count.to_le_bytes());
        Fingerprint(digest)
    }

    /// Adds the trailers of the next pages, starting from page 1.
    pub fn add(&mut self, trailers: &[u8]) {
        debug_assert!(trailers.len().is_multiple_of(TRAILER_SIZE));
        self.0.add(trailers);
    }

    /// The digest.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_count_and_each_trailer_matter() {
        let digest = |header: &[u8; COPY_SIZE], count, trailers: &[u8]| {
            let mut fingerprint = Fingerprint::new(header, count);
            fingerprint.add(trailers);
            fingerprint.finish()
        };
        let (header, trailers) = ([7; COPY_SIZE], [1; 2 * TRAILER_SIZE]);
        let first = digest(&header, 2, &trailers);
        for at in [0, HEADER_SIZE - 1] {
            let mut other = header;
            other[at] ^= 1;
            assert_ne!(
                digest(&other, 2, &trailers),
                first,
                "byte {at} of the header"
            );
        }
        assert_ne!(digest(&header, 3, &trailers), first);
        for at in 0..trailers.len() {
            let mut other = trailers;
            other[at] ^= 1;
            assert_ne!(
                digest(&header, 2, &other),
                first,
                "byte {at} of the trailers"
            );
        }
    }

    #[test]
    fn the_checksum_of_the_header_does_not_matter() {
        let (one, mut other) = ([7; COPY_SIZE], [7; COPY_SIZE]);
        other[COPY_SIZE - 1] = 8;
        assert_eq!(
            Fingerprint::new(&one, 0).finish(),
            Fingerprint::new(&other, 0).finish()
        );
    }
}
