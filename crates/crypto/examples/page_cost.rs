//! Benchmark of sealing and opening one page: `cargo run --release --example page_cost`.
//!
//! Prints nanoseconds per page of 4,064 bytes (4,096 less nonce, tag and epoch) for every cipher:
//! for one page that stays in the cache, and, for opening, also for pages in an order that defeats
//! caches and prefetchers. Below those are the alternatives that `page.rs` did not choose: AEGIS
//! without a copy, and XChaCha20-Poly1305 from a single library.

use std::hint::black_box;
use std::time::Instant;

use aegis::aegis256::Aegis256;
use aegis::aegis256x2::Aegis256X2;
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use crypto::cipher::Cipher;
use crypto::page::{PageSealer, Place, Tag};
use crypto::secret::Key;

const PAGE_SIZE: usize = 4064;
const PAGE_PITCH: usize = 4096;
/// 128 MiB of pages, more than any cache. A power of two, so that an odd step visits every page.
const COLD_PAGES: usize = 32_768;
const STEP: usize = 7919;
const PAGES_PER_ROUND: usize = 8_192;
const ROUNDS: usize = 31;

const KEY: [u8; 32] = [1; 32];
const ASSOCIATED: [u8; 40] = [2; 40];
const NONCE: [u8; 32] = [4; 32];

/// An implementation to measure, which seals and opens a numbered page.
trait Subject {
    fn seal(&mut self, number: u64, plaintext: &[u8], ciphertext: &mut [u8]) -> Tag;
    fn open(&mut self, number: u64, ciphertext: &[u8], tag: &Tag, plaintext: &mut [u8]) -> bool;
}

fn main() {
    println!("nanoseconds per page of {PAGE_SIZE} bytes, median of {ROUNDS} rounds (fastest)\n");
    println!(
        "{:<42}{:>14}{:>14}{:>18}",
        "", "seal, hot", "open, hot", "open, in memory"
    );
    for cipher in Cipher::ALL {
        report(
            cipher.name(),
            PageSealer::new(cipher, &Key::from_bytes(KEY)),
        );
    }
    println!();
    report("aegis-256x2, source to destination", DirectAegis256X2);
    report("aegis-256, source to destination", DirectAegis256);
    report(
        "xchacha20-poly1305, one library",
        XChaCha20Poly1305::new(&KEY.into()),
    );
}

fn report(name: &str, mut subject: impl Subject) {
    let plaintext = vec![3; PAGE_SIZE];
    let mut page = vec![0; PAGE_SIZE];
    let seal = nanoseconds(|_| subject.seal(0, black_box(&plaintext), &mut page));

    let mut pages = vec![0; COLD_PAGES * PAGE_PITCH];
    let tags: Vec<Tag> = (0..)
        .zip(pages.chunks_exact_mut(PAGE_PITCH))
        .map(|(number, page)| subject.seal(number, &plaintext, &mut page[..PAGE_SIZE]))
        .collect();
    let mut open = |number: usize| {
        let ciphertext = &pages[number * PAGE_PITCH..][..PAGE_SIZE];
        let is_authentic = subject.open(number as u64, ciphertext, &tags[number], &mut page);
        assert!(is_authentic, "page {number} was sealed here");
    };
    let hot = nanoseconds(|_| open(black_box(0)));
    let cold = nanoseconds(|index| open(index * STEP % COLD_PAGES));
    println!("{name:<42}{seal:>14}{hot:>14}{cold:>18}");
}

/// Median and fastest round of `work`, as text.
fn nanoseconds<T>(mut work: impl FnMut(usize) -> T) -> String {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let first = round * PAGES_PER_ROUND;
            let start = Instant::now();
            for index in first..first + PAGES_PER_ROUND {
                black_box(work(index));
            }
            start.elapsed().as_nanos() as f64 / PAGES_PER_ROUND as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    format!("{:.0} ({:.0})", rounds[ROUNDS / 2], rounds[0])
}

/// The associated data is that of a database page: file id and epoch; the sealer adds the place.
impl Subject for PageSealer {
    fn seal(&mut self, number: u64, plaintext: &[u8], ciphertext: &mut [u8]) -> Tag {
        let place = Place {
            kind: 1,
            location: number,
            context: 0,
        };
        Self::seal(
            self,
            &[4; 12],
            place,
            &ASSOCIATED[..20],
            plaintext,
            ciphertext,
        )
    }

    fn open(&mut self, number: u64, ciphertext: &[u8], tag: &Tag, plaintext: &mut [u8]) -> bool {
        let place = Place {
            kind: 1,
            location: number,
            context: 0,
        };
        Self::open(
            self,
            &[4; 12],
            place,
            &ASSOCIATED[..20],
            ciphertext,
            tag,
            plaintext,
        )
        .is_ok()
    }
}

struct DirectAegis256X2;

impl Subject for DirectAegis256X2 {
    fn seal(&mut self, _: u64, plaintext: &[u8], ciphertext: &mut [u8]) -> Tag {
        let mut encryptor = Aegis256X2::new(&KEY, black_box(&NONCE)).encryptor(&ASSOCIATED);
        encryptor.update(plaintext, ciphertext);
        encryptor.finalize()
    }

    fn open(&mut self, _: u64, ciphertext: &[u8], tag: &Tag, plaintext: &mut [u8]) -> bool {
        let mut decryptor =
            Aegis256X2::new(&KEY, black_box(&NONCE)).decryptor(&ASSOCIATED, plaintext);
        decryptor.update(ciphertext).is_ok() && decryptor.finalize(tag).is_ok()
    }
}

struct DirectAegis256;

impl Subject for DirectAegis256 {
    fn seal(&mut self, _: u64, plaintext: &[u8], ciphertext: &mut [u8]) -> Tag {
        let mut encryptor = Aegis256::new(&KEY, black_box(&NONCE)).encryptor(&ASSOCIATED);
        encryptor.update(plaintext, ciphertext);
        encryptor.finalize()
    }

    fn open(&mut self, _: u64, ciphertext: &[u8], tag: &Tag, plaintext: &mut [u8]) -> bool {
        let mut decryptor =
            Aegis256::new(&KEY, black_box(&NONCE)).decryptor(&ASSOCIATED, plaintext);
        decryptor.update(ciphertext).is_ok() && decryptor.finalize(tag).is_ok()
    }
}

impl Subject for XChaCha20Poly1305 {
    fn seal(&mut self, _: u64, plaintext: &[u8], ciphertext: &mut [u8]) -> Tag {
        ciphertext.copy_from_slice(plaintext);
        self.encrypt_inout_detached(&[4; 24].into(), &ASSOCIATED, ciphertext.into())
            .expect("a page is shorter than the limit of the cipher")
            .into()
    }

    fn open(&mut self, _: u64, ciphertext: &[u8], tag: &Tag, plaintext: &mut [u8]) -> bool {
        plaintext.copy_from_slice(ciphertext);
        self.decrypt_inout_detached(&[4; 24].into(), &ASSOCIATED, plaintext.into(), tag.into())
            .is_ok()
    }
}
