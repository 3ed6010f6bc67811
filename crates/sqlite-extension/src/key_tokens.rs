//! C functions with which a program in another language hands keys over: it calls these functions
//! of the loaded library, and puts the number it gets into the URI, as `key_token=N`. So no SQL
//! text and no file name contains the secret.

use std::panic::catch_unwind;

use keyring::Credential;
use keyring::source::{SOURCE_SIZE_MAX, parse_raw_key};
use vfs::tokens::KeyToken;

/// Deposits a passphrase and returns its number; 0 if it is empty or longer than 4,096 bytes.
///
/// # Safety
///
/// `bytes` must be null, or point to `size` bytes that are not modified during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strongroom_token_from_passphrase(bytes: *const u8, size: usize) -> u64 {
    // SAFETY: by contract.
    let passphrase = unsafe { secret(bytes, size) };
    deposit(passphrase, |bytes| Some(Credential::passphrase(bytes)))
}

/// Deposits a key and returns its number; 0 unless it has 32 bytes or 64 hexadecimal digits.
///
/// # Safety
///
/// `bytes` must be null, or point to `size` bytes that are not modified during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strongroom_token_from_key(bytes: *const u8, size: usize) -> u64 {
    // SAFETY: by contract.
    let key = unsafe { secret(bytes, size) };
    deposit(key, |bytes| parse_raw_key(bytes).map(Credential::raw_key))
}

/// Wipes what was deposited. Databases that were opened with it stay open. An unknown number is not
/// an error.
#[unsafe(no_mangle)]
pub extern "C" fn strongroom_token_revoke(number: u64) {
    // A C caller cannot be told of a panic: the credential is gone, or there was none.
    let _ = catch_unwind(|| KeyToken::revoke(number));
}

/// # Safety
/// As for the functions above.
unsafe fn secret<'a>(bytes: *const u8, size: usize) -> Option<&'a [u8]> {
    if bytes.is_null() || size == 0 || size > SOURCE_SIZE_MAX {
        return None;
    }
    // SAFETY: by contract; the size is in bounds.
    Some(unsafe { std::slice::from_raw_parts(bytes, size) })
}

fn deposit(secret: Option<&[u8]>, credential: fn(&[u8]) -> Option<Credential>) -> u64 {
    let number = catch_unwind(|| Some(KeyToken::new(credential(secret?)?).into_number()));
    number.ok().flatten().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_passphrase(bytes: &[u8]) -> u64 {
        // SAFETY: a slice.
        unsafe { strongroom_token_from_passphrase(bytes.as_ptr(), bytes.len()) }
    }

    fn from_key(bytes: &[u8]) -> u64 {
        // SAFETY: a slice.
        unsafe { strongroom_token_from_key(bytes.as_ptr(), bytes.len()) }
    }

    #[test]
    fn every_secret_has_a_number_of_its_own() {
        let numbers = [
            from_passphrase(b"horse"),
            from_key(&[7; 32]),
            from_key(&[b'7'; 64]),
        ];
        for (index, number) in numbers.iter().enumerate() {
            assert_ne!(*number, 0);
            assert!(!numbers[..index].contains(number));
            strongroom_token_revoke(*number);
            strongroom_token_revoke(*number);
        }
    }

    #[test]
    fn values_that_are_no_secrets_get_no_number() {
        assert_eq!(from_passphrase(b""), 0);
        assert_eq!(from_passphrase(&vec![b'x'; SOURCE_SIZE_MAX + 1]), 0);
        for size in [0, 31, 33, 63, 64, 65] {
            assert_eq!(from_key(&vec![b'x'; size]), 0, "{size}");
        }
        // SAFETY: null is allowed.
        let number = unsafe { strongroom_token_from_passphrase(std::ptr::null(), 5) };
        assert_eq!(number, 0);
        strongroom_token_revoke(0);
    }
}
