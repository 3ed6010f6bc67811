//! Keys handed over within the process: the URI or pragma carries a number, never the secret.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use keyring::Credential;

#[derive(Default)]
struct Tokens {
    /// Sequence used if no random number is available.
    next: u64,
    held: HashMap<u64, Credential>,
}

impl Tokens {
    /// A free number that SQL from elsewhere cannot guess. It fits in a double, so that JavaScript
    /// numbers can hold it. Without entropy it is free but guessable.
    fn free_number(&mut self) -> u64 {
        /// 53 bits.
        const MASK: u64 = (1 << 53) - 1;
        loop {
            self.next += 1;
            let random = keyring::random_array().map(u64::from_le_bytes);
            let number = random.unwrap_or(self.next) & MASK;
            if number != 0 && !self.held.contains_key(&number) {
                return number;
            }
        }
    }
}

static TOKENS: LazyLock<Mutex<Tokens>> = LazyLock::new(Mutex::default);

/// A credential that the VFS may use while this value lives. Dropping it wipes the secret.
#[derive(Debug)]
pub struct KeyToken {
    number: u64,
}

impl KeyToken {
    /// Deposits a credential.
    pub fn new(credential: Credential) -> Self {
        let mut tokens = tokens();
        let number = tokens.free_number();
        tokens.held.insert(number, credential);
        KeyToken { number }
    }

    /// The number for `key_token=N` in a URI, or `token=N` in a pragma.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number alone, for callers that hold no Rust value: the credential stays until
    /// [`KeyToken::revoke`].
    pub fn into_number(self) -> u64 {
        let number = self.number;
        std::mem::forget(self);
        number
    }

    /// Wipes the credential behind a number. Does nothing if there is none.
    pub fn revoke(number: u64) {
        tokens().held.remove(&number);
    }
}

impl Drop for KeyToken {
    fn drop(&mut self) {
        KeyToken::revoke(self.number);
    }
}

/// A copy of a deposited credential.
pub(crate) fn redeem(number: &str) -> Option<Credential> {
    tokens()
        .held
        .get(&number.parse().ok()?)
        .map(Credential::duplicate)
}

fn tokens() -> MutexGuard<'static, Tokens> {
    TOKENS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_numbers_are_unpredictable() {
        let tokens: Vec<KeyToken> = (0..64)
            .map(|_| KeyToken::new(Credential::passphrase("horse")))
            .collect();
        let numbers = tokens.iter().map(KeyToken::number);
        let near = numbers.clone().zip(numbers.skip(1));
        assert!(
            near.into_iter()
                .all(|(one, other)| one.abs_diff(other) > 1 << 20)
        );
    }

    #[test]
    fn a_credential_is_there_until_its_token_is_dropped_or_revoked() {
        let token = KeyToken::new(Credential::passphrase("horse"));
        let number = token.number();
        assert!(redeem(&number.to_string()).is_some());
        drop(token);
        assert!(redeem(&number.to_string()).is_none());

        let number = KeyToken::new(Credential::passphrase("horse")).into_number();
        assert!(redeem(&number.to_string()).is_some());
        KeyToken::revoke(number);
        KeyToken::revoke(number);
        assert!(redeem(&number.to_string()).is_none());
    }
}
