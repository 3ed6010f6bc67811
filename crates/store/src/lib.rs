//! Operations on whole files: encrypt, decrypt, verify, keys, inspect.
