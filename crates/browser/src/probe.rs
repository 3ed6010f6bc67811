//! Ciphers without a database: for checking browsers against known answers, and for benchmarks.

use crypto::cipher::Cipher;
use crypto::kdf::{Argon2idParameters, derive_from_passphrase};
use crypto::page::{Nonce, PageSealer, Place, Tag};
use crypto::secret::{Key, SecretBytes};

/// Size of the tag, which precedes the ciphertext in the output of a sealing.
const TAG_SIZE: usize = size_of::<Tag>();

/// The arguments from JavaScript for one unit: addresses of fields of fixed size, and of data with
/// their sizes.
#[repr(C)]
struct Unit {
    cipher: u32,
    kind: u32,
    location: u64,
    context: u64,
    key: *const [u8; 32],
    nonce: *const Nonce,
    associated: *const u8,
    associated_size: usize,
    input: *const u8,
    output: *mut u8,
    size: usize,
}

impl Unit {
    fn sealer(&self) -> Option<PageSealer> {
        let cipher = Cipher::from_code(u8::try_from(self.cipher).ok()?)?;
        // SAFETY: JavaScript passes the address of 32 bytes.
        let key = Key::from_slice(unsafe { &*self.key })?;
        Some(PageSealer::new(cipher, &key))
    }

    fn place(&self) -> Place {
        Place {
            kind: self.kind as u8,
            location: self.location,
            context: self.context,
        }
    }
}

/// Seals `input` `count` times; `output` receives tag and ciphertext. Returns 1 on success.
///
/// # Safety
///
/// Addresses and sizes must be as described in [`Unit`].
#[unsafe(no_mangle)]
unsafe extern "C" fn probe_seal(unit: &Unit, count: u32) -> u32 {
    // SAFETY: by contract.
    let (nonce, associated, input, output) = unsafe {
        (
            &*unit.nonce,
            std::slice::from_raw_parts(unit.associated, unit.associated_size),
            std::slice::from_raw_parts(unit.input, unit.size),
            std::slice::from_raw_parts_mut(unit.output, TAG_SIZE + unit.size),
        )
    };
    let Some(mut sealer) = unit.sealer() else {
        return 0;
    };
    let (tag, output) = output.split_at_mut(TAG_SIZE);
    for _ in 0..count {
        tag.copy_from_slice(&sealer.seal(nonce, unit.place(), associated, input, output));
    }
    1
}

/// Opens `input`, a tag and ciphertext, `count` times. Returns 1 if it is authentic.
///
/// # Safety
///
/// Addresses and sizes must be as described in [`Unit`].
#[unsafe(no_mangle)]
unsafe extern "C" fn probe_open(unit: &Unit, count: u32) -> u32 {
    // SAFETY: by contract.
    let (nonce, associated, input, output) = unsafe {
        (
            &*unit.nonce,
            std::slice::from_raw_parts(unit.associated, unit.associated_size),
            std::slice::from_raw_parts(unit.input, TAG_SIZE + unit.size),
            std::slice::from_raw_parts_mut(unit.output, unit.size),
        )
    };
    let (Some(mut sealer), Some((tag, input))) = (unit.sealer(), input.split_first_chunk()) else {
        return 0;
    };
    let mut opens = || {
        sealer
            .open(nonce, unit.place(), associated, input, tag, output)
            .is_ok()
    };
    u32::from((0..count).all(|_| opens()))
}

/// Derives one key from a passphrase; returns 1 on success.
#[unsafe(no_mangle)]
extern "C" fn probe_argon2id(memory_kib: u32, passes: u32) -> u32 {
    let parameters = Argon2idParameters {
        memory_kib,
        passes,
        lanes: 1,
    };
    let secret = SecretBytes::new(b"correct horse".to_vec());
    u32::from(derive_from_passphrase(&secret, &[1; 16], parameters).is_ok())
}
