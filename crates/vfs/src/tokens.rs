//! Keys handed over inside the process: the URI or pragma carries a number, never the secret.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use keyring::Credential;

#[derive(Default)]
struct Tokens {
    next: u64,
    held: HashMap<u64, Credential>,
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
        tokens.next += 1;
        let number = tokens.next;
        tokens.held.insert(number, credential);
        KeyToken { number }
    }

    /// The number for `key_token=N` in a URI, or `token=N` in a pragma.
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for KeyToken {
    fn drop(&mut self) {
        tokens().held.remove(&self.number);
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
