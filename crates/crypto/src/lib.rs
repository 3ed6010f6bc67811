//! Ciphers, key derivation and key wrapping behind typed seal and open; no I/O.
