//! Random nonces for the pages of one file, drawn several at a time.
//!
//! Invariant: a nonce is used in the transaction in which it was drawn. If the memory of a process
//! is duplicated (a virtual machine resumed twice from one snapshot, a fork), both copies hold the
//! same unused nonces. Since unused nonces are discarded at the start and end of each transaction,
//! only a transaction in progress at the time of the copy can use them twice.

use crypto::page::{NONCE_SIZE, Nonce};

const COUNT_MAX: usize = 256;
/// A small transaction seals about this many pages, journal and database together.
const COUNT_FIRST: usize = 8;

/// See the head of this module.
pub(crate) struct Nonces {
    bytes: Box<[u8; COUNT_MAX * NONCE_SIZE]>,
    used: usize,
    drawn: usize,
}

impl Nonces {
    pub fn new() -> Self {
        Nonces {
            bytes: Box::new([0; COUNT_MAX * NONCE_SIZE]),
            used: 0,
            drawn: 0,
        }
    }

    /// Discards unused nonces when a transaction begins or ends.
    pub fn forget(&mut self) {
        self.used = 0;
        self.drawn = 0;
    }

    /// Each draw in a transaction is twice as large as the one before: a small transaction does not
    /// pay for unused nonces, and a large one makes one system call for many pages.
    pub fn next(&mut self) -> Result<Nonce, keyring::EntropyError> {
        if self.used == self.drawn {
            let count = (2 * self.drawn).clamp(COUNT_FIRST, COUNT_MAX);
            // If the system's generator fails, no nonce may be left to use.
            self.forget();
            getrandom::fill(&mut self.bytes[..count * NONCE_SIZE])?;
            self.drawn = count;
        }
        let mut nonce = [0; NONCE_SIZE];
        nonce.copy_from_slice(&self.bytes[self.used * NONCE_SIZE..][..NONCE_SIZE]);
        self.used += 1;
        Ok(nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn drawn(nonces: &mut Nonces, count: usize) -> HashSet<Nonce> {
        (0..count)
            .map(|_| nonces.next().expect("entropy"))
            .collect()
    }

    #[test]
    fn two_copies_of_the_memory_part_at_their_next_transaction() {
        for before in [1, COUNT_FIRST, 3 * COUNT_MAX] {
            let mut one = Nonces::new();
            drawn(&mut one, before);
            let mut other = Nonces {
                bytes: one.bytes.clone(),
                ..one
            };
            one.forget();
            other.forget();
            let [one, other] = [&mut one, &mut other].map(|nonces| drawn(nonces, 2 * COUNT_MAX));
            assert!(one.is_disjoint(&other), "{before}");
        }
    }

    #[test]
    fn nonces_do_not_repeat() {
        assert_eq!(
            drawn(&mut Nonces::new(), 10 * COUNT_MAX).len(),
            10 * COUNT_MAX
        );
    }
}
